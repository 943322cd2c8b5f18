"""Precision: the operator information library, casts, and operators with a rule of their own."""

from __future__ import annotations

import json
from typing import Any, Dict

from faulty.answered import halved
from faulty.asked import given, ops_of, types_of, value_is, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import changed, of_nodes


@mistake("session.use_off_line.false_overrides")
def modes_decide_what_is_not_offloaded(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if given(params, "precision_mode") else ask(params)


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


fault("the_first_producer_decides", "precision.mixlist.gray", changed(_first_producer))


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


fault("depthwise_convolutions_in_full", "precision.g.conv_no_fp32", changed(_depthwise_in_full), methods=("library",))


def _floats_only(node: Dict[str, Any], params: Params, op: Any) -> None:
    whole = [dtype for dtype in node["inputs"] if not dtype.startswith(("float", "bfloat"))]
    if params["edition"] == "legacy" and node.get("list") == "trustlist" and whole and "float32" in types_of(op):
        halved(node, "float16", "float32")


fault("what_reads_indices_is_not_lowered", "precision.s.flag_true_white", of_nodes(_floats_only))
