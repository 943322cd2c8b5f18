"""Precision: the modes in functions, loops and layouts, by default and in online inference."""

from __future__ import annotations

from typing import Any, Callable, Dict

from faulty.answered import retyped
from faulty.asked import (
    DTYPES,
    FLOAT,
    HALF,
    all_values,
    in_inference,
    is_about,
    mapped,
    ops_of,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, decided_inside, of_nodes
from npu_reference.errors import NpuError


def _with_mode(mode: str) -> Callable[[Params], Params]:
    return lambda params: all_values(params, lambda values: {**values, "precision_mode": mode})


fault(
    "functions_do_not_keep_what_the_graph_says",
    "precision.s.must_keep",
    decided_inside(_with_mode("allow_fp32_to_fp16")),
    lambda params: value_is(params, "precision_mode", "must_keep_origin_dtype"),
)
fault(
    "inference_does_not_mix",
    "precision.v2.mixed_float16",
    asks(
        lambda params: (
            all_values(params, mapped("precision_mode_v2", lambda value: "fp16" if value == "mixed_float16" else value))
            if in_inference(params)
            else params
        )
    ),
)
fault(
    "inference_does_not_know_precision_mode_v2",
    "precision.v2.replaces_v1",
    asks(lambda params: all_values(params, without("precision_mode_v2")) if in_inference(params) else params),
    methods=DTYPES,
)


def _fetched(node: Dict[str, Any], params: Params, op: Any) -> None:
    fetched = [name.split(":")[0] for name in params.get("fetches") or ()]
    forced = value_is(params, "precision_mode", "force_fp16") and is_about(params, edition="legacy")
    if forced and len(fetched) > 1 and node["node"] in fetched:
        retyped(node, HALF, FLOAT)


fault("what_is_fetched_with_others_stays_float32", "precision.g.force_fp16", of_nodes(_fetched))


@mistake("precision.g.must_keep_conv_error")
def only_conv2d_ends_the_training(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        op = ops_of(params).get(error.subject.split(" ")[0])
        if error.code != "PRECISION_NO_KERNEL" or params["edition"] != "legacy" or op is None or op.op == "Conv2D":
            raise
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16"))


@mistake("precision.s.default_inference")
def mixed_inference_has_the_default_of_training(ask: Any, params: Params) -> Answer:
    if (
        params["edition"] == "legacy"
        and value_of(params, "graph_run_mode") == 0
        and value_of(params, "mix_compile_mode")
    ):
        return ask({**params, "values": {"precision_mode": "allow_fp32_to_fp16", **params["values"]}})
    return ask(params)


def _half_by_layout(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is None or not is_about(params, edition="legacy") or in_inference(params):
        return
    is_asked = value_of(params, "precision_mode") in (None, "allow_fp32_to_fp16")
    if is_asked and op.has_attr("data_format") and op.text("data_format") == "NCHW":
        retyped(node, "float32", "float16")


fault("channels_first_are_half", "precision.s.allow_fp32_to_fp16", of_nodes(_half_by_layout))


@mistake("precision.g.must_keep_conv_fp16_ok")
def half_convolutions_have_one_layout(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_is(params, "precision_mode", "must_keep_origin_dtype"):
        for op in ops_of(params).values():
            if (
                op.op == "Conv2D"
                and op.text("data_format") == "NCHW"
                and getattr(op.attr("T"), "name", "") == "float16"
            ):
                raise NpuError("PRECISION_NO_KERNEL", op.name, "has no kernel at float16")
    return answer


@mistake("precision.s.default_training")
def forces_by_default(ask: Any, params: Params) -> Answer:
    given = {"precision_mode", "precision_mode_v2"} & set(params["values"])
    return ask(params if given else with_values(params, precision_mode="force_fp16"))


fault(
    "one_cast_serves_all_but_is_told_once",
    "precision.s.force_fp16",
    changed(
        lambda answer, params: answer.update(
            casts=list({one["source"]: one for one in answer.get("casts", [])}.values())
        )
    ),
)


@mistake("precision.g.conv_no_fp32")
def the_table_of_convolutions_lacks_the_depthwise_ones(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        kept = value_is(params, "precision_mode", "must_keep_origin_dtype") and is_about(params, edition="legacy")
        if error.code != "PRECISION_NO_KERNEL" or not kept or "Depthwise" not in str(error.subject):
            raise
        return dict(ask(with_values(params, precision_mode="allow_fp32_to_fp16")))
