"""The laws of precision: what must hold of every answer to `precision`, whatever the graph and the mode."""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.library.operator_flags import kernels_of
from npu_conformance.observing import observe
from npu_conformance.observing.text_files import json_object
from npu_conformance.strength.laws.law import Law
from npu_reference.catalog import Catalog, Descriptor
from npu_reference.graphs import Graph

__all__ = [
    "ALIKE", "LISTS", "MODES", "PRECISION", "SECOND", "Precise", "facts", "library_of", "listable", "moved",
    "unlike_the_library",
]  # fmt: skip

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

#: Modes that lower and keep the same in both editions (A8 to A11 are about the others).
ALIKE = frozenset({"force_fp16", "allow_mix_precision"})

#: What precision_mode_v2 calls a mode (003 L326-341 and L354-372 say the same of each).
SECOND: Mapping[str, str] = {
    "force_fp16": "fp16",
    "must_keep_origin_dtype": "origin",
    "cube_fp16in_fp32out": "cube_fp16in_fp32out",
    "allow_mix_precision": "mixed_float16",
    "allow_mix_precision_fp16": "mixed_float16",
}

#: What modes choose among (document 003: float32 and float16, and bfloat16 where a kernel has nothing else).
_CHOSEN = ("float16", "float32", "bfloat16")


#: Lists of modify_mixlist, each with the way of asking that adds a type to it, and whether precision may rise by that.
LISTS: Mapping[str, Tuple[str, bool]] = {
    "with a type on the blocklist": ("black-list", True),
    "with a type on the trustlist": ("white-list", False),
}


class Precise(NamedTuple):
    """An answer to `precision`, with what was asked: the graph as the pass sees it, the mode, and the partition.

    given: whether the request gives the kernels and lists of :func:`library_of`, which are the hardware's otherwise.
    customised: whether a file gives operators dtypes of their own.
    """

    graph: Graph
    mode: str
    answer: Mapping[str, Any]
    edition: str = "current"
    given: bool = False
    customised: bool = False


def _nodes(reading: Precise) -> Dict[int, Mapping[str, Any]]:
    """What is told of the graph's operators; of those told with other numbers of ends, `_once` speaks alone."""
    return {node: one for node, one in _told(reading).items() if _counts(reading.graph, node) == _ends(one)}


def _told(reading: Precise) -> Dict[int, Mapping[str, Any]]:
    index = reading.graph.index
    return {index[one["node"]]: one for one in reading.answer["nodes"] if one["node"] in index}


def _counts(graph: Graph, node: int) -> Tuple[int, int]:
    return len(graph.input_dtypes(node)), len(graph.output_dtypes(node))


def _ends(one: Mapping[str, Any]) -> Tuple[int, int]:
    return len(one["inputs"]), len(one["outputs"])


def _named(dtypes: Any) -> List[str]:
    return [dtype.base.name for dtype in dtypes]


def _once(reading: Precise) -> List[str]:
    faults, seen = [], set()
    for one in reading.answer["nodes"]:
        if one["node"] in seen:
            faults.append(f"{one['node']} is told twice")
        seen.add(one["node"])
    for node, one in _told(reading).items():
        counts = _counts(reading.graph, node)
        if counts != _ends(one):
            faults.append(f"{one['node']} has {counts[0]} inputs and {counts[1]} outputs, other numbers are told")
    return faults


def _only_floats(reading: Precise) -> List[str]:
    if reading.customised:
        return []  # a file may give whole numbers another type
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


@functools.lru_cache(maxsize=2048)
def _demanded(op: str, mode: str, edition: str, fused: bool = False) -> Optional[Tuple[str, str]]:
    """At which dtype a mode has the float inputs and outputs of an operator of the AI Core, "kept" for the graph's.

    None where more than the mode decides: what stands before it, or which engine there is.
    """
    descriptor = _kernel(op, fused)
    if descriptor is None or descriptor.engine not in _AI_CORE or op == "Cast":
        return None  # a Cast is there for its dtypes
    floats = [{dtype for dtype in (*one.inputs, *one.outputs) if dtype in _CHOSEN} for one in descriptor.columns]
    some, flag = {dtype for found in floats for dtype in found}, descriptor.flag
    cubes = descriptor.fp16_priority and edition == "current"  # A8, A11
    if {"float16"} in floats and {"float32"} in floats:
        if cubes and mode == "allow_fp32_to_fp16":
            return "float16", "float16"
        if cubes and mode in ("force_fp32", "cube_fp16in_fp32out"):
            return ("float16" if _widens(descriptor) else "float32"), "float32"
        wanted = _WANTED.get((mode, flag or "")) or _WANTED.get((mode, ""))
        return (wanted, wanted) if wanted is not None else None
    if some == {"float32"}:
        return None if (mode, edition) == ("must_keep_origin_dtype", "legacy") else ("float32", "float32")
    if some == {"float16"} and (mode in _LOWERING or (mode in _MIXED and flag == "trustlist")):
        return "float16", "float16"
    return None


def _widens(descriptor: Descriptor) -> bool:
    """Whether a kernel takes float16 throughout and gives float32 throughout."""
    return any(
        {dtype for dtype in one.inputs if dtype in _CHOSEN} == {"float16"}
        and {dtype for dtype in one.outputs if dtype in _CHOSEN} == {"float32"}
        for one in descriptor.columns
    )


_LOWERING = ("allow_fp32_to_fp16", "force_fp16")
_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16")


@functools.lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return Catalog.built_in()


def library_of(graph: Graph) -> str:
    """Operator information with the kernels and lists of what a graph becomes."""
    return json.dumps(kernels_of(node.op for node in graph.nodes))


def _as_the_mode_says(reading: Precise) -> List[str]:
    """What the mode alone decides, in the documents' words: of operators that support both types, or only one."""
    faults: List[str] = []
    for node, one in _nodes(reading).items() if reading.given and reading.mode else ():
        op = reading.graph.nodes[node].op
        fused = _is_fused(reading.graph, node)
        demanded = None if fused is None else _demanded(op, reading.mode, reading.edition, fused)
        if demanded is None or reading.graph.nodes[node].attr(_KEPT, 0) or _stores(reading, node):
            continue
        stated = _named(reading.graph.input_dtypes(node)), _named(reading.graph.output_dtypes(node))
        if one.get("engine", "vector") not in _AI_CORE:
            if stated[0] and all(dtype in _MOVED for dtype in stated[0]):
                faults.append(f"{one['node']} ({op}) is not on the AI Core, which supports it under {reading.mode}")
            continue
        for wanted, graphs, told in zip(demanded, stated, (one["inputs"], one["outputs"])):
            right = [given if wanted == "kept" or given not in _MOVED else wanted for given in graphs]
            if any(given in _MOVED and it != other for given, it, other in zip(graphs, told, right)):
                words = f"{' '.join(told)} instead of {' '.join(right)}"
                faults.append(f"{one['node']} ({one['op']}) has {words} under {reading.mode}")
                break
    return faults


_MOVED = ("float16", "float32")

#: Operators that compute nothing: who reads one of them reads what it reads.
_THROUGH = frozenset({"Identity", "PlaceholderWithDefault", "PreventGradient", "Snapshot", "StopGradient"})

#: Where tensors begin: no producers that a gray operator could follow (P2).
_BEGINNINGS = frozenset(
    {
        "Const", "Placeholder", "PlaceholderV2", "ReadVariableOp", "TemporaryVariable", "Variable", "VariableV2",
        "VarHandleOp", "_Arg",
    }
)  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _kernel(op: str, fused: bool) -> Optional[Descriptor]:
    """What is known of an operator before graph fusion, or after it."""
    descriptor = _catalog().get(op)
    return descriptor.after_fusion() if fused and descriptor is not None else descriptor


def _is_fused(graph: Graph, node: int) -> Optional[bool]:
    """Whether graph fusion makes another kernel of an operator: what becomes an attribute is a constant (P36).

    None where that is no question of constants alone.
    """
    op = graph.nodes[node].op
    descriptor = _catalog().get(op)
    if descriptor is None or descriptor.fused is None:
        return False
    if op == "TopKV2":
        return None
    reads, args = _reads(graph).get(node, {}), graph.op_def(node).inputs
    for dropped in descriptor.fused.drops:
        behind = any(arg.is_list for arg in args[:dropped])
        source = reads.get(len(graph.input_dtypes(node)) + dropped - len(args) if behind else dropped)
        if source is None or graph.nodes[source[0]].op != "Const":
            return False
    return True


_READS: Dict[int, Tuple[Graph, Dict[int, Dict[int, Tuple[int, int]]]]] = {}


def _reads(graph: Graph) -> Dict[int, Dict[int, Tuple[int, int]]]:
    """Node to the source and slot of each of its inputs; of the graph asked about last."""
    found = _READS.get(0)
    if found is None or found[0] is not graph:
        table: Dict[int, Dict[int, Tuple[int, int]]] = {}
        edges = graph.edges
        for source, slot, target, at in zip(edges.src, edges.src_slot, edges.dst, edges.dst_slot):
            if slot >= 0:
                table.setdefault(target, {})[at] = source, slot
        found = _READS[0] = graph, table
    return found[1]


def _voices(graph: Graph, node: int, kernel: Descriptor) -> List[bool]:
    """For every input whether the kernel has it in float16 (P1)."""
    args, count = graph.op_def(node).inputs, len(graph.input_dtypes(node))
    positions: List[int] = []
    for arg, position in zip(args, kernel.takes_in or range(len(args))):
        positions += [position] * (count - len(args) + 1 if arg.is_list else 1)
    return [any(one.inputs[at : at + 1] == ("float16",) for one in kernel.columns if at >= 0) for at in positions]


def _gray(reading: Precise) -> List[str]:
    """A gray operator that has both types is lowered where everything that has a say gives it float16 (P1, P2, P37)."""
    if not reading.given or reading.mode not in _MIXED:
        return []
    graph, told, faults = reading.graph, _nodes(reading), []
    if not all(one.get("geop") for one in told.values()):
        return []  # what begins at a border is not told

    def begins(source: int, node: int) -> bool:
        if source not in told or _geop(told, source) != _geop(told, node) or graph.nodes[source].op in _BEGINNINGS:
            return True
        return graph.nodes[source].op in _THROUGH and all(
            begins(before, source) for before, _ in _reads(graph).get(source, {}).values()
        )

    for node, one in told.items():
        op, fused = graph.nodes[node].op, _is_fused(graph, node)
        kernel = None if fused is None else _kernel(op, fused)
        if kernel is None or kernel.flag != "graylist" or one.get("engine", "vector") not in _AI_CORE:
            continue
        args = graph.op_def(node).inputs
        floats = [{dtype for dtype in (*each.inputs, *each.outputs) if dtype in _CHOSEN} for each in kernel.columns]
        both = {"float16"} in floats and {"float32"} in floats
        if not both or op in _CYCLE or graph.nodes[node].attr(_KEPT, 0) or _stores(reading, node):
            continue
        if sum(arg.is_list for arg in args) > 1:
            continue  # which tensor is of which argument is a question of its own
        stated, voices, given = _named(graph.input_dtypes(node)), _voices(graph, node, kernel), []
        says = [at for at, dtype in enumerate(stated) if dtype == "float32" and voices[at]]
        for at in says:
            source, slot = _reads(graph)[node][at]
            if not begins(source, node):
                cast = graph.nodes[source].op == "Cast"  # no document says whether what it casts up may go down again
                given.append("?" if cast else told[source]["outputs"][slot])
        if "?" in given or len(set(given)) != 1:
            continue  # which of several producers counts is a choice (P1), and so is what none decides (P2)
        wanted = "float16" if given[0] == "float16" else "float32"
        if any(one["inputs"][at] != wanted for at in says):
            faults.append(f"{one['node']} ({op}) reads {' '.join(one['inputs'])} where its producers give {given}")
    return faults


#: Of a loop's own operators the dtype is a matter of all that meets in them (P4).
_CYCLE = frozenset({"Merge", "RefMerge"})

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


def _with_a_kernel(reading: Precise) -> List[str]:
    """What the AI Core computes has the dtypes of one of its kernels, in the tensors that the kernel has."""
    if not reading.given:
        return []
    faults = []
    for node, one in _nodes(reading).items():
        if one.get("engine") not in _AI_CORE:
            continue
        kernels = _kernels(reading.graph.nodes[node].op)
        told = tuple(one["inputs"]), tuple(one["outputs"])
        if told[0] == told[1] and reading.graph.nodes[node].op == "Cast":
            continue  # a Cast to the same dtype is removed
        if kernels and not any(_matches(reading.graph, node, told, kernel) for kernel in kernels):
            words = " ".join([*told[0], "->", *told[1]])
            faults.append(f"{one['node']} is computed on the AI Core with {words}, of which its library has no kernel")
    return faults


_AI_CORE = ("cube", "vector")


@functools.lru_cache(maxsize=512)
def _kernels(op: str) -> Tuple[Descriptor, ...]:
    """What is known of an operator's kernels of the AI Core, before and after graph fusion."""
    descriptor = _catalog().get(op)
    if descriptor is None:
        return ()
    return tuple(one for one in (descriptor, descriptor.after_fusion()) if one.columns)


def _matches(graph: Graph, node: int, told: Tuple[Tuple[str, ...], ...], kernel: Descriptor) -> bool:
    """Whether some column has all tensors of the kernel as they are told; a list repeats its position.

    What is given besides floats follows from what is taken, but for a Cast.
    """
    op_def = graph.op_def(node)
    free_out = _HANDLES if graph.nodes[node].op == "Cast" else None
    sides = (
        (op_def.inputs, kernel.takes_in, _named(graph.input_dtypes(node)), _HANDLES),
        (op_def.outputs, kernel.takes_out, _named(graph.output_dtypes(node)), free_out),
    )
    wanted: List[List[Tuple[int, str]]] = []
    for (args, takes, stated, free), dtypes in zip(sides, told):
        lists = any(arg.is_list for arg in args)
        if lists and len(args) > 1:
            return True  # which tensor is of which argument is a question of its own
        positions = [0] * len(stated) if lists else list(takes or range(len(stated)))
        pairs = zip(positions, stated, dtypes)
        wanted.append([
            (position, dtype) for position, graphs, dtype in pairs
            if position >= 0 and (graphs in _CHOSEN if free is None else graphs not in free)
        ])  # fmt: skip
    return any(
        all(side[position : position + 1] in ((dtype,), ()) for side, pairs in zip(column, wanted)
            for position, dtype in pairs)
        for column in kernel.columns
    )  # fmt: skip


_HANDLES = ("resource", "variant")


def listable(graph: Graph, number: int) -> Optional[str]:
    """A type of the device that some operator of the graph becomes, and that a list may name; chosen by a number."""
    names = set()
    for node in graph.nodes:
        descriptor = _catalog().get(node.op)
        dtypes = _named((*graph.input_dtypes(node.id), *graph.output_dtypes(node.id)))
        if descriptor is not None and descriptor.columns and descriptor.flag is not None and "float32" in dtypes:
            names.add(descriptor.ge_op)
    return sorted(names)[number % len(names)] if names else None


def moved(plain: Precise, other: Precise, way: str, listed: str) -> List[str]:
    """How the answer with a type on a list goes the wrong way: up with one on the trustlist, down on the blocklist.

    002 L770-774, 004 L15-17: what is listed may, or may not, be lowered, and gray operators do as those before them.
    """
    rises, graph = LISTS[way][1], plain.graph
    before, faults = _nodes(plain), []
    for node, one in _nodes(other).items():
        if node not in before:
            continue
        pairs = [*zip(before[node]["inputs"], one["inputs"]), *zip(before[node]["outputs"], one["outputs"])]
        wrong = ("float32", "float16") if rises else ("float16", "float32")
        if wrong in pairs:
            faults.append(f"{one['node']} goes from {wrong[0]} to {wrong[1]} when {listed} is put on that list")
        descriptor = _catalog().get(graph.nodes[node].op)
        becomes = one.get("op", descriptor.ge_op if descriptor is not None else "")  # by the kernels that there are
        if rises and descriptor is not None and becomes == descriptor.ge_op == listed and descriptor.fused is None:
            stated = [*_named(graph.input_dtypes(node)), *_named(graph.output_dtypes(node))]
            if ("float32", "float16") in zip(stated, (*one["inputs"], *one["outputs"])):
                faults.append(f"{one['node']} is lowered, although {listed} is on the blocklist")
    return faults


#: The list of mixed precision that a flag of the operator information library puts an operator on; None without one.
_LIST_OF = {"true": "trustlist", "false": "blocklist", None: "graylist"}


def unlike_the_library(reading: Precise, told: Mapping[str, Any]) -> List[str]:
    """Operators on another list than their flag in the built-in library says (003 L405-416, 004 L15-17).

    An operator that is part of another one is left out. One whose type the library does not have, nor one that begins
    alike (``ReduceSumD`` is one of ReduceSum), has no flag, and is on neither the blocklist nor the trustlist.
    """
    flags: Dict[str, Any] = {}
    for one in told["files"]:
        for name, entry in (json_object(one["text"].encode("utf-8", "replace")) or {}).items():
            if isinstance(entry, dict):
                reduced = entry.get("precision_reduce")
                flags[name] = reduced.get("flag") if isinstance(reduced, dict) else None
    faults = []
    for node, one in sorted(_nodes(reading).items()):
        descriptor = _catalog().get(reading.graph.nodes[node].op)
        if descriptor is None or descriptor.fused is not None:
            continue
        if descriptor.ge_op not in flags:
            alike = any(name.startswith(descriptor.ge_op) or descriptor.ge_op.startswith(name) for name in flags)
            if not alike and one.get("list") in ("blocklist", "trustlist"):
                faults.append(f"{one['node']} is on the {one['list']}, and the library has no {descriptor.ge_op}")
            continue
        stated = _LIST_OF.get(flags[descriptor.ge_op])
        if one.get("list") is not None and stated is not None and one["list"] != stated:
            faults.append(
                f"{one['node']} is on the {one['list']}, and the library puts {descriptor.ge_op} on the {stated}"
            )
    return faults


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
        ("precision.s.force_fp16", "precision.s.force_fp32", "precision.s.must_keep"), ("ops_info",), _as_the_mode_says,
        "precision", True),
    Law("precision-gray", "A gray operator is lowered exactly where its producers are",
        ("precision.s.gray_follow_both_ways", "precision.mixlist.gray"), ("ops_info",), _gray, "precision", True),
    Law("precision-kernels", "What the AI Core computes has dtypes that one of its kernels has",
        ("precision.domain",), ("engines", "ops_info"), _with_a_kernel, "precision", True),
    Law("precision-lists", "A type more on the blocklist lowers no operator, one more on the trustlist raises none",
        ("precision.s.flag_false_black", "precision.s.flag_true_white", "precision.mixlist.gray"), (), None,
        "precision"),
    Law("precision-library", "An operator is on the list that its flag in the operator information library says",
        ("precision.mixlist.query_path", "precision.g.flag_absent"), ("library", "lists"), None, "precision"),
    Law("precision-casts", "A cast stands exactly where the two ends of an edge disagree",
        ("precision.g.only_fp32_to_fp16",), ("casts",), _casts, "precision", True),
    Law("precision-renaming", "Other names give the same dtypes", ("precision.domain",), (), None, "precision"),
]  # fmt: skip
