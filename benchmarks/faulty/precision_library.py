"""Precision: the operator information library, casts, and operators with a rule of their own."""

from __future__ import annotations

import json
import re
from typing import Any, Dict

from faulty.answered import halved, retyped
from faulty.asked import given, is_about, ops_of, texts, types_of, value_is, with_values
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, node_change
from faulty.mistakes_graphs import each_node, library_flags


@broken("precision", "002 L20: with use_off_line False there is nothing that other options act on")
def modes_decide_what_is_not_offloaded(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if given(params, "precision_mode") else ask(params)


@broken("precision", "the precision mode is not looked at where graph_run_mode is 0")
def inference_ignores_the_mode(ask: Any, params: Params) -> Answer:
    if params["values"].get("graph_run_mode") == 0:
        return ask(with_values(params, precision_mode=None, precision_mode_v2=None))
    return ask(params)


def _depthwise(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and is_about(params, edition="legacy") and op.op == "DepthwiseConv2dNative":
        retyped(node, "float16", "float32")


node_change("depthwise_convolutions_are_single", "004: DepthwiseConv2D does not support float32", _depthwise)


@broken("precision", "004: precision_reduce is edited in the operator information library")
def the_library_is_as_it_was_shipped(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


def _first_producer(answer: Answer, params: Params) -> None:
    mixed = value_is(params, "precision_mode", "allow_mix_precision", "allow_mix_precision_fp16")
    if not mixed and not value_is(params, "precision_mode_v2", "mixed_float16"):
        return
    nodes, ops = {node["node"]: node for node in answer["nodes"]}, ops_of(params)
    for node in answer["nodes"]:
        inputs = [text for text in ops[node["node"]].inputs if not text.startswith("^")] if node["node"] in ops else []
        if node.get("list") != "graylist" or len(inputs) < 2 or node["inputs"][:1] != ["float32"]:
            continue
        first = nodes.get(inputs[0].split(":")[0])
        if first and first["outputs"][:1] == ["float16"]:
            for side in ("inputs", "outputs"):
                node[side] = ["float16" if dtype == "float32" else dtype for dtype in node[side]]


changed("precision", "the_first_producer_decides", "002, 003, P1: every float32 producer has to agree", _first_producer)


def _depthwise_in_full(answer: Answer, params: Params) -> None:
    if params["edition"] == "legacy":
        for one in answer["files"]:
            try:
                content = json.loads(one["text"])
            except ValueError:
                continue
            for name in content:
                if name.startswith("DepthwiseConv2D") and "Backprop" not in name:
                    for part in content[name].values():
                        if isinstance(part, dict) and "float16" in str(part.get("dtype")):
                            part["dtype"] = "float16,float"
            one["text"] = json.dumps(content)


changed(
    "precision",
    "depthwise_convolutions_in_full",
    "004 L4: DepthwiseConv2D does not support float32",
    _depthwise_in_full,
    "library",
)


def _floats_only(node: Dict[str, Any], params: Params, op: Any) -> None:
    whole = [dtype for dtype in node["inputs"] if not dtype.startswith(("float", "bfloat"))]
    if params["edition"] == "legacy" and node.get("list") == "trustlist" and whole and "float32" in types_of(op):
        halved(node, "float16", "float32")


node_change("what_reads_indices_is_not_lowered", "002 L772: true: float32 may be lowered to float16", _floats_only)


def _first_of_type(params: Params) -> Params:
    seen: Dict[str, str] = {}
    for name, op in ops_of(params).items():
        seen.setdefault(op.op, name)
    return texts(
        params,
        "customize_dtypes",
        lambda text: re.sub(
            r"^OpType::(\w+):", lambda found: f"{seen.get(found[1], found[1])}::", text, flags=re.MULTILINE
        ),
    )


asks("a_type_is_its_first_operator", "003 L448: every operator of the type", "precision", _first_of_type)


@broken("precision", "no casts are told")
def no_casts(ask: Any, params: Params) -> Answer:
    return {**ask(params), "casts": []}


library_flags(
    "flags_turned_round",
    "004: true allows precision reduction, false forbids it",
    lambda flag: {"true": "false", "false": "true"}.get(flag, flag),
)


@broken("precision", "004: the operator information library may be modified")
def operator_file_is_ignored(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


each_node(
    "cubes_are_vectors",
    "003: cube operators, vector operators",
    lambda node, params: {**node, "engine": "vector"} if node.get("engine") == "cube" else None,
)
node_change(
    "depthwise_convolutions_keep_float32",
    "004: DepthwiseConv2D does not support float32",
    lambda node, params, op: (
        node.update(inputs=["float32" for _ in node["inputs"]], outputs=["float32"])
        if op is not None and op.op == "DepthwiseConv2dNative"
        else None
    ),
)


# precision.g.only_fp32_to_fp16, precision.s.allow_mix_only_fp32
def _raised(node: Dict[str, Any], params: Params, op: Any) -> None:
    mixed = value_is(params, "precision_mode", "allow_mix_precision", "allow_mix_precision_fp16")
    if mixed and node.get("list") == "blocklist":
        retyped(node, "float16", "float32")


node_change(
    "what_is_on_the_blocklist_is_raised",
    "In mixed precision operators of float32 are lowered to float16, and nothing else is changed",
    _raised,
)
