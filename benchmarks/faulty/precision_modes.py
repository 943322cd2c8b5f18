"""Precision: the dtypes that each mode selects."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List

from faulty.answered import retyped
from faulty.asked import (
    FLOAT,
    HALF,
    SESSION,
    all_values,
    given,
    in_inference,
    is_about,
    is_ranked,
    mapped,
    ops_of,
    plain,
    types_of,
    value_is,
    value_of,
    with_values,
)
from faulty.making import REFERENCE, Answer, Params, broken
from faulty.mistakes import asks, changed, node_change
from faulty.mistakes_graphs import each_node
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def, infer_shapes, load_graph

asks(  # precision.force_fp16.both_supported
    "vectors_are_not_forced_to_half",
    "003 precision_mode: force_fp16, of operators that support both",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode", lambda value: "allow_fp32_to_fp16"))
        if is_about(params, edition="current") and value_is(params, "precision_mode", "force_fp16")
        else params
    ),
    "precision",
)


@broken("precision", "004: a Conv2D of float16 is what the hardware has", "precision")
def every_convolution_is_refused_where_dtypes_are_kept(ask: Any, params: Params) -> Answer:
    """precision.g.must_keep_conv_fp16_ok."""
    answer = dict(ask(params))
    are_kept = is_about(params, edition="legacy") and value_is(params, "precision_mode", "must_keep_origin_dtype")
    for node in answer["nodes"]:
        if are_kept and node.get("op") == "Conv2D":
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "a Conv2D keeps no dtype")
    return answer


@broken("precision", "003 must_keep_origin_dtype: float32 where the kernel has float32 and bfloat16 alone")
def a_half_without_a_kernel_is_refused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    keeps = value_of(params, "precision_mode") == "must_keep_origin_dtype"
    ops = ops_of(params) if keeps and params["edition"] == "current" else {}
    for node in answer["nodes"]:
        kinds = types_of(ops[node["node"]]) if node["node"] in ops else []
        if kinds and set(kinds) == {"float16"} and "float16" not in node["inputs"] and "float32" in node["inputs"]:
            raise NpuError("PRECISION_NO_KERNEL", node["node"], "has no kernel at float16")
    return answer


def _half_vectors(node: Dict[str, Any], params: Params, op: Any) -> None:
    forced = {"force_fp32", "cube_fp16in_fp32out"} & {
        str(value_of(params, name)) for name in ("precision_mode", "precision_mode_v2")
    }
    half = op is not None and set(types_of(op)) == {"float16"}
    if forced and params["edition"] == "current" and node.get("engine") == "vector" and half:
        retyped(node, "float32", "float16")


node_change(
    "half_vectors_stay_half", "003 force_fp32: float32, even if the original precision is float16", _half_vectors
)


@broken("precision", "003 L333: where no kernel is left, an error is reported")
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


node_change(
    "products_of_batches_are_lowered_as_they_are_now",
    "002, 004 allow_fp32_to_fp16: float32 is kept where an operator supports it",
    _batches,
)


@broken("precision", "002 precision_mode: allow_fp32_to_fp16 or None", "precision")
def no_mode_keeps_the_precision_of_the_graph(ask: Any, params: Params) -> Answer:
    """precision.s.none_alias."""
    if not SESSION(params) or in_inference(params) or not value_is(params, "precision_mode", None, "None", ""):
        return dict(ask(params))
    return dict(ask(with_values(params, precision_mode="must_keep_origin_dtype")))


@broken("precision", "003 must_keep_origin_dtype: an error where the AI CPU has no such operator", "precision")
def what_cannot_be_kept_is_computed_all_the_same(ask: Any, params: Params) -> Answer:
    """precision.must_keep.fp16_only_bf16_error."""
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL" or "bfloat16" not in str(params.get("ops_info", "")):
            raise
        if not value_is(params, "precision_mode", "must_keep_origin_dtype"):
            raise
        return dict(ask({name: value for name, value in params.items() if name != "ops_info"}))


asks(
    "a_text_of_none_is_half",
    "002 precision_mode None: the same as allow_fp32_to_fp16",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode", lambda value: "force_fp16" if value == "None" else value))
        if params["edition"] == "legacy"
        else params
    ),
)


def _precise_each(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for node in answer["nodes"]:
            change(node, params)

    changed("precision", name, sentence, edit)


def _on_the_core(node: Dict[str, Any], when: bool) -> None:
    if when and node.get("engine") == "aicpu" and FLOAT in (*node["inputs"], *node["outputs"]):
        node["engine"] = "vector"
        retyped(node, FLOAT, HALF)


_precise_each(  # pair 8
    "a_cache_keeps_operators_on_the_ai_core",
    "003 precision_mode_v2 origin: float32 that the AI Core has in float16 alone is of the AI CPU",
    lambda node, params: _on_the_core(
        node, value_is(params, "precision_mode_v2", "origin") and given(params, "op_compiler_cache_mode")
    ),
)
_precise_each(  # pair 22
    "ranks_keep_operators_on_the_ai_core",
    "003 must_keep_origin_dtype: float32 that the AI Core has in float16 alone is of the AI CPU",
    lambda node, params: _on_the_core(
        node, value_is(params, "precision_mode", "must_keep_origin_dtype") and is_ranked(params)
    ),
)


def _narrow_cubes(node: Dict[str, Any], params: Params, op: Any) -> None:
    reads_half = node.get("engine") == "cube" and HALF in node["inputs"]
    if reads_half and value_is(params, "precision_mode_v2", "cube_fp16in_fp32out"):
        retyped(node, FLOAT, HALF, "outputs")


node_change(  # precision.v2.cube
    "cubes_that_read_float16_write_float16",
    "003 precision_mode_v2: cube_fp16in_fp32out reads float16 and writes float32",
    _narrow_cubes,
)


def _origin(params: Params) -> bool:
    return value_is(params, "precision_mode_v2", "origin")


_BRAIN = "bfloat16"


def _brains(node: Dict[str, Any], params: Params, op: Any) -> None:
    half = op is not None and any(getattr(op.attrs[name], "name", "") == HALF for name in op.attrs)
    if _origin(params) and half and node.get("engine") in ("cube", "vector"):
        retyped(node, FLOAT, _BRAIN)


node_change(  # precision.v2.origin.fp16_to_fp32
    "sixteen_bits_stay_sixteen_at_the_origin",
    "003 precision_mode_v2 origin: float32 for float16 where there is float32 and bfloat16 alone",
    _brains,
)


def _flat(params: Params) -> bool:
    """Whether every tensor of the graph that is known has two dimensions."""
    try:
        graph = load_graph(params["graph"])
    except (KeyError, NpuError):
        return True
    shapes = infer_shapes(graph_from_def(graph.to_def()))
    found = [shapes.of(node.id) for node in graph.nodes if graph.output_dtypes(node.id)]
    return all(shape is not None and len(shape) == 2 for shape in found)


asks(  # pair 5
    "an_alias_is_weaker_beyond_matrices",
    "004: allow_mix_precision_fp16 is allow_mix_precision",
    "precision",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda mode: "allow_fp32_to_fp16" if mode == "allow_mix_precision_fp16" else mode),
        )
        if value_is(params, "precision_mode", "allow_mix_precision_fp16") and not _flat(params)
        else params
    ),
    "precision",
    "timeline",
    "compile",
)


def _precise(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        answer["nodes"] = [change(node, params) or node for node in answer["nodes"]]
        return answer

    fault.__name__ = name
    broken("precision", sentence)(fault)


_precise(
    "variables_are_lowered",
    "variables are held in float16 under force_fp16",
    lambda node, params: (
        {**node, "outputs": ["float16" if one == "float32" else one for one in node["outputs"]]}
        if node["op"] in ("VariableV2", "ReadVariableOp") and "force_fp16" in str(params["values"])
        else node
    ),
)


def _mode(params: Params) -> Any:
    return value_of(params, "precision_mode") or value_of(params, "precision_mode_v2")


def _conv(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in (None, "allow_fp32_to_fp16") and origin is not None and origin.op == "DepthwiseConv2dNative":
        retyped(node, "float16", "float32")


node_change("depthwise_keeps_float32", "004 allow_fp32_to_fp16: DepthwiseConv2D has no float32", _conv)


def _only_cube(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in ("force_fp16", "fp16") and node.get("engine") == "vector":
        retyped(node, "float16", "float32")


node_change("only_cubes_forced", "003 force_fp16: operators that support both", _only_cube)


def _halves_kept(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if _mode(params) in ("force_fp32", "cube_fp16in_fp32out") and origin is not None and node.get("engine") == "vector":
        half = "float16" in str(origin.attr("T", ""))
        retyped(node, "float32", "float16" if half else "float32")


node_change("half_vectors_kept", "003 cube_fp16in_fp32out: float32 even if the original is float16", _halves_kept)


def _no_aicpu(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("engine") == "aicpu" and _mode(params) in ("must_keep_origin_dtype", "origin"):
        retyped(node, "float32", "float16")
        node["engine"] = "vector"


node_change(
    "half_instead_of_aicpu", "003 must_keep_origin_dtype: AI CPU of float32 where there is only float16", _no_aicpu
)


def as_mode(
    name: str, sentence: str, given: str, meant: Any, edition: str = "", option: str = "precision_mode"
) -> None:
    """One mode is treated as another."""

    def fault(ask: Any, params: Params) -> Answer:
        if edition in ("", params["edition"]) and plain(params["values"].get(option)) == given:
            return ask(with_values(params, **{option: meant}))
        return ask(params)

    fault.__name__ = name
    broken("precision", sentence)(fault)


as_mode("force_fp16_mixes", "003 force_fp16: forces float16", "force_fp16", "allow_mix_precision", "current")
as_mode(
    "allow_forces",
    "003 allow_fp32_to_fp16: vectors preserve the original precision",
    "allow_fp32_to_fp16",
    "force_fp16",
    "current",
)
as_mode(
    "legacy_allow_keeps",
    "002 allow_fp32_to_fp16: float16 where float32 is not supported",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "legacy",
)
as_mode("legacy_force_fp32_allows", "002 force_fp32: forces float32", "force_fp32", "allow_fp32_to_fp16", "legacy")
as_mode(
    "new_mixing_forces",
    "003 allow_mix_precision_fp16: the same as allow_mix_precision",
    "allow_mix_precision_fp16",
    "force_fp16",
)
as_mode("cube_out_is_fp16", "003 cube_fp16in_fp32out: the same as force_fp32", "cube_fp16in_fp32out", "force_fp16")
as_mode(
    "second_cube_out_allows",
    "003 v2 cube_fp16in_fp32out: float32 is selected for vectors",
    "cube_fp16in_fp32out",
    None,
    "",
    "precision_mode_v2",
)
as_mode("second_origin_allows", "003 v2 origin: retains the precision", "origin", None, "", "precision_mode_v2")
as_mode("second_fp16_mixes", "003 v2 fp16: forces float16", "fp16", "mixed_float16", "", "precision_mode_v2")
as_mode(
    "second_mixing_forces", "003 v2 mixed_float16: some operators", "mixed_float16", "fp16", "", "precision_mode_v2"
)


@broken("precision", "003 must_keep_origin_dtype: an error where no kernel has the precision")
def keeping_never_fails(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL":
            raise
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16", precision_mode_v2=None))


each_node(
    "counts_are_lowered",
    "003: float32 and float16 alone",
    lambda node, params: {
        **node,
        "inputs": [one.replace("int64", "int32") for one in node["inputs"]],
        "outputs": [one.replace("int64", "int32") for one in node["outputs"]],
    },
)
each_node(
    "no_ai_cpu",
    "003: the AI CPU operator is used",
    lambda node, params: {**node, "engine": "vector"} if node.get("engine") == "aicpu" else None,
)
each_node(
    "outputs_keep_their_dtypes",
    "003 force_fp16: forces float16",
    lambda node, params: {**node, "outputs": ["float32" if one == "float16" else one for one in node["outputs"]]},
)
node_change(
    "gradients_of_convolutions_keep_float32",
    "004: convolution operators do not support float32",
    lambda node, params, op: (
        node.update(inputs=["float32" if d == "float16" else d for d in node["inputs"]], outputs=["float32"])
        if op is not None and op.op.startswith("Conv2DBackprop")
        else None
    ),
)


def of_halves(params: Params) -> List[Dict[str, Any]]:
    """What the device computes at float16 as the graph says."""
    request = {name: one for name, one in params.items() if name not in ("ops_info", "variants", "turns")}
    try:
        found = REFERENCE.precision(request)
    except NpuError:
        return []
    return [node for node in found["nodes"] if "float16" in node["inputs"] and node.get("kernel")]


def bfloat16_alone(params: Params) -> Params:
    keeps = value_is(params, "precision_mode", "must_keep_origin_dtype") or value_is(
        params, "precision_mode_v2", "origin"
    )
    try:
        told = json.loads(params.get("ops_info") or "{}")
    except ValueError:
        return params
    if not keeps or not isinstance(told, dict):
        return params
    halves = [node["kernel"] for node in of_halves(params)]
    for kernel, entry in told.items():
        for _, said in entry.items() if isinstance(entry, dict) and kernel in halves else ():
            dtypes = [one.strip() for one in str(said.get("dtype", "")).split(",")] if isinstance(said, dict) else []
            if "bfloat16" in dtypes and "float16" not in dtypes and set(dtypes) <= {"bfloat16", "float", "float32"}:
                said["dtype"] = ",".join("bfloat16" for one in dtypes)
    return {**params, "ops_info": json.dumps(told)} if told else params


# precision.must_keep.fp16_to_fp32, precision.v2.origin.fp16_to_fp32
asks(
    "a_half_goes_to_the_aicpu_before_float32_is_tried",
    "float16 in the graph, float32 and bfloat16 on the device: float32 is used.",
    "precision",
    bfloat16_alone,
    "precision",
)
