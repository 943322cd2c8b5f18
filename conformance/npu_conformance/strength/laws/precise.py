"""The laws of precision: what must hold of every answer to `precision`, whatever the graph and the mode."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.observing import observe
from npu_conformance.strength.laws.checks import Law
from npu_reference.catalog import Catalog
from npu_reference.graphs import Graph

__all__ = ["MODES", "PRECISION", "Precise", "facts"]

#: Marks an operator of keep_dtype_scope.
_KEPT = "_keep_dtype"

#: Modes by turns, by edition: those that its document lists.
MODES: Mapping[str, Tuple[str, ...]] = {
    "legacy": (
        "allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision",
    ),
    "current": (
        "allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision",
        "cube_fp16in_fp32out", "allow_mix_precision_fp16",
    ),
}  # fmt: skip

#: What modes choose among (document 003: float32 and float16, and bfloat16 where a kernel has nothing else).
_CHOSEN = ("float16", "float32", "bfloat16")


class Precise(NamedTuple):
    """An answer to `precision`, with what was asked: the graph as the pass sees it, the mode, and the partition."""

    graph: Graph
    mode: str
    answer: Mapping[str, Any]
    edition: str = "current"


def _nodes(reading: Precise) -> Dict[int, Mapping[str, Any]]:
    index = reading.graph.index
    return {index[one["node"]]: one for one in reading.answer["nodes"] if one["node"] in index}


def _named(dtypes: Any) -> List[str]:
    return [dtype.base.name for dtype in dtypes]


def _once(reading: Precise) -> List[str]:
    faults, seen = [], set()
    for one in reading.answer["nodes"]:
        if one["node"] in seen:
            faults.append(f"{one['node']} is told twice")
        seen.add(one["node"])
    for node, one in _nodes(reading).items():
        counts = len(reading.graph.input_dtypes(node)), len(reading.graph.output_dtypes(node))
        if counts != (len(one["inputs"]), len(one["outputs"])):
            faults.append(f"{one['node']} has {counts[0]} inputs and {counts[1]} outputs, other numbers are told")
    return faults


def _only_floats(reading: Precise) -> List[str]:
    faults = []
    for node, one in _nodes(reading).items():
        pairs = [*zip(_named(reading.graph.input_dtypes(node)), one["inputs"])]
        pairs += zip(_named(reading.graph.output_dtypes(node)), one["outputs"])
        for stated, told in pairs:
            if told != stated and not (stated in _CHOSEN and told in _CHOSEN):
                faults.append(f"{one['node']} is computed with {told} where the graph says {stated}")
    return faults


def _kept(reading: Precise) -> List[str]:
    if reading.mode != "must_keep_origin_dtype":
        return []
    return [
        f"{one['node']} has {told}, the graph {stated}, under {reading.mode}"
        for node, one in _nodes(reading).items()
        for stated, told in zip(_named(reading.graph.output_dtypes(node)), one["outputs"])
        if told != stated and stated == "float32"  # float16 may have to be computed in a higher precision
    ]


def _casts(reading: Precise) -> List[str]:
    """A cast stands where the two ends of an edge disagree, and nowhere else; borders have the graph's dtype."""
    graph, edges, told = reading.graph, reading.graph.edges, _nodes(reading)
    if not all(one.get("geop") for one in told.values()):
        return []  # which tensors cross a border is not told
    expected = set()
    for source, slot, target, at in zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot):
        if slot < 0 or (source not in told and target not in told):
            continue
        name = f"{graph.nodes[source].name}:{slot}", f"{graph.nodes[target].name}:{at}"
        between = graph.output_dtypes(source)[slot].base.name
        given = told[source]["outputs"][slot] if source in told else between
        wanted = told[target]["inputs"][at] if target in told else between
        one_geop = source in told and target in told and _geop(told, source) == _geop(told, target)
        steps = [(given, wanted)] if one_geop else [(given, between), (between, wanted)]
        expected |= {(*name, one, other) for one, other in steps if one != other}
    index = graph.index
    found = {
        (cast["source"], cast["target"], cast["from"], cast["to"])
        for cast in reading.answer.get("casts", [])
        if cast["source"].rpartition(":")[0] in index and cast["target"].rpartition(":")[0] in index
    }
    faults = [f"no cast on {a} -> {b} from {c} to {d}" for a, b, c, d in sorted(expected - found)]
    return faults + [f"a cast on {a} -> {b} from {c} to {d} without need" for a, b, c, d in sorted(found - expected)]


def _both(op: str) -> Optional[str]:
    """The list of a vector operator whose kernel has float16 throughout and float32 throughout; None for all others."""
    descriptor = _catalog().get(op)
    if descriptor is None or descriptor.engine != "vector" or descriptor.fused is not None or op == "Cast":
        return None  # fusion makes another kernel of it, and a Cast is there for its dtypes
    floats = [
        {dtype for dtype in (*column.inputs, *column.outputs) if dtype in _CHOSEN} for column in descriptor.columns
    ]
    return descriptor.flag if {"float16"} in floats and {"float32"} in floats else None


@functools.lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return Catalog.built_in()


def _as_the_mode_says(reading: Precise) -> List[str]:
    """Of an operator that supports both types the mode decides, in the documents' words; those of others go by more."""
    faults = []
    for node, one in _nodes(reading).items():
        listed = _both(reading.graph.nodes[node].op)
        stated = _named(reading.graph.input_dtypes(node)), _named(reading.graph.output_dtypes(node))
        if listed is None or reading.graph.nodes[node].attr(_KEPT, 0) or _stores(reading, node):
            continue
        wanted = _WANTED.get((reading.mode, listed)) or _WANTED.get((reading.mode, ""))
        if wanted is None:
            continue
        for given, told in (*zip(stated[0], one["inputs"]), *zip(stated[1], one["outputs"])):
            if given not in ("float16", "float32"):
                continue
            right = given if wanted == "kept" else wanted
            if told != right:
                faults.append(f"{one['node']} ({one['op']}) has {told} instead of {right} under {reading.mode}")
                break
    return faults


#: Mode, and list where it matters, to the type of an operator that supports both: 002 L162-168, 003 L322-341.
_WANTED = {
    ("allow_fp32_to_fp16", ""): "kept",
    ("must_keep_origin_dtype", ""): "kept",
    ("force_fp16", ""): "float16",
    ("force_fp32", ""): "float32",
    ("cube_fp16in_fp32out", ""): "float32",
    ("allow_mix_precision", "trustlist"): "float16",
    ("allow_mix_precision", "blocklist"): "kept",
    ("allow_mix_precision_fp16", "trustlist"): "float16",
    ("allow_mix_precision_fp16", "blocklist"): "kept",
}


def _stores(reading: Precise, node: int) -> bool:
    """Whether an operator writes a variable, which keeps its dtype (P14)."""
    dtypes = reading.graph.input_dtypes(node)
    return any(dtype.is_ref for dtype in dtypes) or any(dtype.base.name == "resource" for dtype in dtypes)


def _geop(told: Mapping[int, Mapping[str, Any]], node: int) -> Optional[str]:
    found: Optional[str] = told[node].get("geop")
    return found


def facts(answer: Mapping[str, Any]) -> List[str]:
    """What an answer says, for comparing two."""
    return observe.facts("precision", answer)


PRECISION = [
    Law("precision-answered", "Every graph that is partitioned gets dtypes in every mode",
        ("precision.domain",), (), None, "precision"),
    Law("precision-once", "Every device operator has its dtypes once, as many as it has inputs and outputs",
        ("precision.domain",), (), _once, "precision", True),
    Law("precision-floats", "A mode changes float32 and float16 alone",
        ("precision.domain",), (), _only_floats, "precision", True),
    Law("precision-kept", "Under must_keep_origin_dtype what is float32 stays float32",
        ("precision.must_keep.basic",), (), _kept, "precision", True),
    Law("precision-modes", "Of an operator that supports float16 and float32 the mode decides",
        ("precision.s.force_fp16", "precision.s.force_fp32", "precision.s.must_keep"), (), _as_the_mode_says,
        "precision", True),
    Law("precision-casts", "A cast stands exactly where the two ends of an edge disagree",
        ("precision.g.only_fp32_to_fp16",), ("casts",), _casts, "precision", True),
    Law("precision-renaming", "Other names give the same dtypes", ("precision.domain",), (), None, "precision"),
]  # fmt: skip
