"""Precision: the modes in functions, loops and layouts, by default and in online inference."""

from __future__ import annotations

from typing import Any, Callable, Dict

from faulty.answered import has_function, retyped
from faulty.asked import (
    DTYPES,
    FLOAT,
    HALF,
    all_values,
    given,
    graph_of,
    in_inference,
    is_about,
    mapped,
    ops_of,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, node_change
from faulty.mistakes_graphs import decided_otherwise
from npu_reference.errors import NpuError


def _with_mode(mode: str) -> Callable[[Params], Params]:
    return lambda params: all_values(params, lambda values: {**values, "precision_mode": mode})


decided_otherwise(
    "functions_do_not_keep_what_the_graph_says",
    "002 must_keep_origin_dtype: the precision of the graph is kept",
    (),
    lambda params: value_is(params, "precision_mode", "must_keep_origin_dtype"),
    _with_mode("allow_fp32_to_fp16"),
)


def _as_in_graph(one: Dict[str, Any], graph: Any, node: int) -> None:
    one["inputs"] = [dtype.base.name for dtype in graph.input_dtypes(node)]
    one["outputs"] = [dtype.base.name for dtype in graph.output_dtypes(node)]


def _channels(one: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and op.text("data_format") == "NCHW":
        graph = graph_of(params)
        _as_in_graph(one, graph, graph.index[one["node"]])


node_change(
    "channels_first_stay_as_they_are",
    "002 precision_mode: of operators with both types, whatever their format",
    _channels,
)
asks(
    "inference_does_not_mix",
    "003 precision_mode_v2 mixed_float16: automatic mixed precision",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode_v2", lambda value: "fp16" if value == "mixed_float16" else value))
        if in_inference(params)
        else params
    ),
    "precision",
)


def _in_bodies(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("list") != "trustlist" or not is_about(params, edition="current") or not has_function(node, params):
        return
    graph = graph_of(params)
    bodies = {one.attr("body") for one in graph.nodes if one.op in ("While", "StatelessWhile")}
    names = {getattr(body, "name", str(body)) for body in bodies}
    if node["node"].split("/")[0] in names:
        retyped(node, "float16", "float32")


node_change("bodies_of_loops_are_kept", "003 trustlist: precision is reduced, in loops too", _in_bodies)


def _lowered_inside(node: Dict[str, Any], params: Params, op: Any) -> None:
    if node.get("list") == "blocklist" and op is None:
        retyped(node, "float32", "float16")


node_change("functions_lower_the_blocklist", "002, 003 precision_reduce false, in functions too", _lowered_inside)


def _raised(node: Dict[str, Any]) -> None:
    for side in ("inputs", "outputs"):
        node[side] = ["float32" if dtype == "float16" else dtype for dtype in node[side]]


def _functions_single(node: Dict[str, Any], params: Params, op: Any) -> None:
    asked = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    default = asked in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)
    if default and op is None and "/" in node["node"] and node.get("engine") == "vector":
        _raised(node)


node_change(
    "vectors_in_functions_are_computed_at_float32",
    "003 allow_fp32_to_fp16: vector operators keep their precision, in functions too",
    _functions_single,
)
asks(
    "half_is_not_forced_in_training",
    "002, 004 force_fp16: float16 for what supports both, in training too",
    "precision",
    lambda params: (
        with_values(params, precision_mode="allow_fp32_to_fp16")
        if params["edition"] == "legacy"
        and not in_inference(params)
        and value_is(params, "precision_mode", "force_fp16")
        else params
    ),
)


def _defaulted(params: Params) -> bool:
    """Whether the mode is that of training by default."""
    asked = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    return asked in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)


def _turned(node: Dict[str, Any], kind: str, found: str) -> None:
    for side in ("inputs", "outputs"):
        node[side] = [found if dtype == kind else dtype for dtype in node[side]]


def _vectors_lowered(node: Dict[str, Any], params: Params, op: Any) -> None:
    if _defaulted(params) and node.get("engine") == "vector":
        _turned(node, "float32", "float16")


node_change(
    "vectors_are_lowered_by_default", "003, 004 allow_fp32_to_fp16: float32 where it is supported", _vectors_lowered
)


def _functions_kept(node: Dict[str, Any], params: Params, op: Any) -> None:
    unset = not given(params, "precision_mode") and not given(params, "precision_mode_v2")
    if unset and in_inference(params) and op is None and node.get("engine") == "vector":
        _turned(node, "float16", "float32")


node_change(
    "functions_infer_at_float32", "002: force_fp16 by default in online inference, in functions", _functions_kept
)
# precision.v2.replaces_v1
asks(
    "inference_does_not_know_precision_mode_v2",
    "precision_mode_v2 is the operator precision mode",
    "precision",
    lambda params: all_values(params, without("precision_mode_v2")) if in_inference(params) else params,
    *DTYPES,
)


def _unforced_inside(name: str, sentence: str, mode: str, forced: str, other: str) -> None:
    """A mode that forces one type leaves the bodies of functions in the other."""

    def change(node: Dict[str, Any], params: Params, op: Any) -> None:
        if has_function(node, params) and value_is(params, "precision_mode", mode) and node.get("engine") == "vector":
            retyped(node, forced, other)

    node_change(name, sentence, change)


# precision.s.force_fp32
_unforced_inside(
    "forced_float32_stops_at_functions",
    "force_fp32 raises the operators in the body of a function, too",
    "force_fp32",
    "float32",
    "float16",
)


def _fetched(node: Dict[str, Any], params: Params, op: Any) -> None:
    fetched = [name.split(":")[0] for name in params.get("fetches") or ()]
    forced = value_is(params, "precision_mode", "force_fp16") and is_about(params, edition="legacy")
    if forced and len(fetched) > 1 and node["node"] in fetched:
        retyped(node, HALF, FLOAT)


node_change(
    "what_is_fetched_with_others_stays_float32",
    "004: force_fp16 selects float16 for operators that support both",
    _fetched,
)


@broken("precision", "004 L6: an operator that has float16 alone ends the training, whichever it is")
def only_conv2d_ends_the_training(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        op = ops_of(params).get(error.subject.split(" ")[0])
        if error.code != "PRECISION_NO_KERNEL" or params["edition"] != "legacy" or op is None or op.op == "Conv2D":
            raise
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16"))


@broken("precision", "002 precision_mode: force_fp16 by default in online inference, in mixed computing too")
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


node_change(
    "channels_first_are_half",
    "002 allow_fp32_to_fp16: float16 where float32 is not supported, whatever the layout",
    _half_by_layout,
)


def _cubes_of_functions(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    lowers = modes in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)
    if lowers and params["edition"] == "current" and node["engine"] == "cube" and has_function(node, params):
        retyped(node, "float16", "float32")


node_change(
    "cubes_of_functions_stay_single",
    "003 allow_fp32_to_fp16: cube operators use float16, in functions too",
    _cubes_of_functions,
)


@broken("precision", "004 must_keep_origin_dtype: a float16 Conv2D is computed at float16, in either layout")
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


@broken("precision", "002: online inference has force_fp16 by default, training allow_fp32_to_fp16")
def one_default_for_both_run_modes(ask: Any, params: Params) -> Answer:
    given = {"precision_mode", "precision_mode_v2"} & set(params["values"])
    return ask(params if given else with_values(params, precision_mode="allow_fp32_to_fp16"))


@broken("precision", "002: training has allow_fp32_to_fp16 by default")
def forces_by_default(ask: Any, params: Params) -> Answer:
    given = {"precision_mode", "precision_mode_v2"} & set(params["values"])
    return ask(params if given else with_values(params, precision_mode="force_fp16"))


def _casts(name: str, sentence: str, change: Callable[[Any, Params], Any]) -> None:
    changed(
        "precision", name, sentence, lambda answer, params: {**answer, "casts": change(answer.get("casts", []), params)}
    )


_CAST = "a cast stands where the ends of an edge disagree"


def _not_at_borders(casts: Any, params: Params) -> Any:
    graph = graph_of(params)
    given = {node.name for node in graph.nodes if node.op in ("Placeholder", "_Arg", "Const", "VariableV2")}
    return [one for one in casts if one["source"].rpartition(":")[0] not in given]


_casts("inputs_without_casts", _CAST, _not_at_borders)


def _bodies(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if origin is None:
        for side in ("inputs", "outputs"):
            node[side] = ["float32" if one == "float16" else one for one in node[side]]


node_change("functions_keep_float32", "003: precision of operators wherever they stand", _bodies)
changed(
    "precision",
    "one_cast_serves_all_but_is_told_once",
    "004: a cast stands wherever the ends of an edge disagree",
    lambda answer, params: answer.update(casts=list({one["source"]: one for one in answer.get("casts", [])}.values())),
)


@broken(  # precision.g.must_keep_conv_error, precision.g.conv_no_fp32
    "precision", "004: float32 is supported neither by Conv2D nor by DepthwiseConv2D; training is interrupted"
)
def the_table_of_convolutions_lacks_the_depthwise_ones(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        kept = value_is(params, "precision_mode", "must_keep_origin_dtype") and is_about(params, edition="legacy")
        if error.code != "PRECISION_NO_KERNEL" or not kept or "Depthwise" not in str(error.subject):
            raise
        return dict(ask(with_values(params, precision_mode="allow_fp32_to_fp16")))
