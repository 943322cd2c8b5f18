"""Which constants lose their value where the assignment computes what reads them in float16."""

from __future__ import annotations

from typing import Dict, List, Optional

from npu_reference.graphs import Node
from npu_reference.partition.explaining.half import LARGEST, Misfit, misfit
from npu_reference.precision.decide import Walk
from npu_reference.precision.model import Cast, PrecisionNote
from npu_reference.precision.operators import CONSTANTS, TRANSPARENT

__all__ = ["range_notes"]


def range_notes(walk: Walk, casts: List[Cast]) -> List[PrecisionNote]:
    """Notes fp16_overflow and fp16_underflow for constants that a cast makes float16, each once, in order of casts.

    O(casts + elements of the constants cast).
    """
    notes: List[PrecisionNote] = []
    seen: Dict[str, None] = {}
    for cast in casts:
        if cast.to_dtype != "float16":
            continue
        node = _constant(walk, cast.source[len(walk.prefix) :].rpartition(":")[0])
        name = "" if node is None else walk.prefix + node.name
        if node is None or name in seen:
            continue
        seen[name] = None
        found = misfit(node.proto.attr["value"].tensor)
        if found is not None:
            notes.extend(_notes(name, found, cast.target.rpartition(":")[0]))
    return notes


def _constant(walk: Walk, name: str) -> Optional[Node]:
    """The constant that a node is or only hands on, or None."""
    node = walk.graph.node(name)
    for _ in range(64):
        if node.op in CONSTANTS:
            return node if node.has_attr("value") else None
        reads = walk.wiring.inputs[node.id]
        if node.op not in TRANSPARENT or not reads:
            return None
        node = walk.graph.nodes[reads[0][0]]
    return None


def _notes(name: str, found: Misfit, reader: str) -> List[PrecisionNote]:
    notes = []
    if found.overflows:
        what = _what(found.overflows, found.elements, found.largest, f"beyond {LARGEST:.0f}, the largest float16")
        notes.append(PrecisionNote("fp16_overflow", f"{what}, and {reader} reads it in float16.", name))
    if found.underflows:
        what = _what(found.underflows, found.elements, found.smallest, "so small that float16 makes it zero")
        notes.append(PrecisionNote("fp16_underflow", f"{what}, and {reader} reads it in float16.", name))
    return notes


def _what(count: int, elements: int, value: float, what: str) -> str:
    if elements == 1:
        return f"the constant {value:.6g} is {what}"
    return f"{count} of {elements} elements, such as {value:.6g}, are {what}"
