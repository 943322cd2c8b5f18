"""Where the two ends of an edge disagree on the dtype, so that a Cast stands between them (P13)."""

from __future__ import annotations

from typing import List

from npu_reference.precision.decide import Walk
from npu_reference.precision.model import Cast

__all__ = ["casts_of"]


def casts_of(walk: Walk) -> List[Cast]:
    """The casts of one graph, by target. Borders have the graph's dtype on their far side."""
    found: List[Cast] = []
    member, decided = walk.member, walk.decided
    for node, reads in enumerate(walk.wiring.inputs):
        own = decided[node]
        wanted = own.inputs if own is not None else None
        for slot, (src, src_slot) in enumerate(reads):
            inside = member[src] == member[node]
            if decided[src] is None and wanted is None:
                continue
            given = decided[src].outputs[src_slot] if decided[src] is not None else None  # type: ignore[union-attr]
            if given is None or not inside:
                # Across a border the tensor has the graph's dtype: each side casts for itself.
                between = walk.graph_outputs(src)[src_slot]
                if given is not None and given != between:
                    found.append(_cast(walk, src, src_slot, node, slot, given, between))
                given = between
            if wanted is not None and wanted[slot] != given:
                found.append(_cast(walk, src, src_slot, node, slot, given, wanted[slot]))
    return found


def _cast(walk: Walk, src: int, src_slot: int, node: int, slot: int, given: str, wanted: str) -> Cast:
    names = walk.graph.nodes
    source, target = f"{walk.prefix}{names[src].name}:{src_slot}", f"{walk.prefix}{names[node].name}:{slot}"
    return Cast(source, target, given, wanted)
