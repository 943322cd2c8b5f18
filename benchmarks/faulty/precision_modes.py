"""Precision: the dtypes that each mode selects."""

from __future__ import annotations

from typing import Any, Dict

from faulty.answered import retyped
from faulty.asked import FLOAT, HALF, SESSION, Change, given, in_inference, is_ranked, value_is, value_of, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, of_nodes
from npu_reference.errors import NpuError


@mistake("precision.cube.order4_error")
def whatever_there_is_will_do(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or value_of(params, "precision_mode_v2") is None:
            raise
        return ask(with_values(params, precision_mode_v2=None))


def _batches(node: Dict[str, Any], params: Params, found: Any) -> None:
    mode = value_of(params, "precision_mode")
    trains = params["edition"] == "legacy" and value_of(params, "graph_run_mode") != 0
    if trains and mode in (None, "allow_fp32_to_fp16") and found is not None and found.op.startswith("BatchMatMul"):
        for side in ("inputs", "outputs"):
            node[side] = ["float16" if one == "float32" else one for one in node[side]]


fault("products_of_batches_are_lowered_as_they_are_now", "precision.g.allow_fp32_to_fp16", of_nodes(_batches))


@mistake("precision.s.none_alias")
def no_mode_keeps_the_precision_of_the_graph(ask: Any, params: Params) -> Answer:
    """precision.s.none_alias."""
    if not SESSION(params) or in_inference(params) or not value_is(params, "precision_mode", None, "None", ""):
        return dict(ask(params))
    return dict(ask(with_values(params, precision_mode="must_keep_origin_dtype")))


def _on_the_core(node: Dict[str, Any], when: bool) -> None:
    if when and node.get("engine") == "aicpu" and FLOAT in (*node["inputs"], *node["outputs"]):
        node["engine"] = "vector"
        retyped(node, FLOAT, HALF)


fault(
    "a_cache_keeps_operators_on_the_ai_core",
    "precision.v2.origin.fp32_aicpu",
    of_nodes(
        lambda node, params, op: _on_the_core(
            node, value_is(params, "precision_mode_v2", "origin") and given(params, "op_compiler_cache_mode")
        )
    ),
)
fault(
    "ranks_keep_operators_on_the_ai_core",
    "precision.must_keep.fp32_only_fp16_aicpu",
    of_nodes(
        lambda node, params, op: _on_the_core(
            node, value_is(params, "precision_mode", "must_keep_origin_dtype") and is_ranked(params)
        )
    ),
)


def _narrow_cubes(node: Dict[str, Any], params: Params, op: Any) -> None:
    reads_half = node.get("engine") == "cube" and HALF in node["inputs"]
    if reads_half and value_is(params, "precision_mode_v2", "cube_fp16in_fp32out"):
        retyped(node, FLOAT, HALF, "outputs")


fault("cubes_that_read_float16_write_float16", "precision.v2.cube", of_nodes(_narrow_cubes))


def _origin(params: Params) -> bool:
    return value_is(params, "precision_mode_v2", "origin")


_BRAIN = "bfloat16"


def _brains(node: Dict[str, Any], params: Params, op: Any) -> None:
    half = op is not None and any(getattr(op.attrs[name], "name", "") == HALF for name in op.attrs)
    if _origin(params) and half and node.get("engine") in ("cube", "vector"):
        retyped(node, FLOAT, _BRAIN)


fault("sixteen_bits_stay_sixteen_at_the_origin", "precision.v2.origin.fp16_to_fp32", of_nodes(_brains))


def _mode(params: Params) -> Any:
    return value_of(params, "precision_mode") or value_of(params, "precision_mode_v2")


def _no_aicpu(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("engine") == "aicpu" and _mode(params) in ("must_keep_origin_dtype", "origin"):
        retyped(node, "float32", "float16")
        node["engine"] = "vector"


fault("half_instead_of_aicpu", "precision.must_keep.fp32_only_fp16_aicpu", of_nodes(_no_aicpu))


def as_mode(given: str, meant: str, edition: str = "", option: str = "precision_mode") -> Change:
    """One mode is treated as another."""

    def change(params: Params) -> Params:
        is_given = edition in ("", params["edition"]) and value_is(params, option, given)
        return with_values(params, **{option: meant}) if is_given else params

    return change


fault(
    "force_fp16_mixes",
    "precision.force_fp16.both_supported",
    asks(as_mode("force_fp16", "allow_mix_precision", "current")),
)
fault(
    "allow_forces",
    "precision.allow_fp32_to_fp16.vector_keep",
    asks(as_mode("allow_fp32_to_fp16", "force_fp16", "current")),
)
fault("legacy_force_fp32_allows", "precision.s.force_fp32", asks(as_mode("force_fp32", "allow_fp32_to_fp16", "legacy")))
fault("new_mixing_forces", "precision.mix.alias", asks(as_mode("allow_mix_precision_fp16", "force_fp16")))
fault("cube_out_is_fp16", "precision.force_fp32.alias_cube", asks(as_mode("cube_fp16in_fp32out", "force_fp16")))
fault("second_fp16_mixes", "precision.v2.fp16", asks(as_mode("fp16", "mixed_float16", "", "precision_mode_v2")))
fault(
    "counts_are_lowered",
    "precision.force_fp16.both_supported",
    of_nodes(
        lambda node, params, op: {
            **node,
            "inputs": [one.replace("int64", "int32") for one in node["inputs"]],
            "outputs": [one.replace("int64", "int32") for one in node["outputs"]],
        }
    ),
)
fault(
    "no_ai_cpu",
    "precision.must_keep.fp32_only_fp16_aicpu",
    of_nodes(lambda node, params, op: {**node, "engine": "vector"} if node.get("engine") == "aicpu" else None),
)
fault(
    "outputs_keep_their_dtypes",
    "precision.force_fp16.both_supported",
    of_nodes(
        lambda node, params, op: {
            **node,
            "outputs": ["float32" if one == "float16" else one for one in node["outputs"]],
        }
    ),
)
fault(
    "gradients_of_convolutions_keep_float32",
    "precision.g.conv_no_fp32",
    of_nodes(
        lambda node, params, op: (
            node.update(inputs=["float32" if d == "float16" else d for d in node["inputs"]], outputs=["float32"])
            if op is not None and op.op.startswith("Conv2DBackprop")
            else None
        )
    ),
)
