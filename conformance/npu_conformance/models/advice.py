"""Decides what to tell who asked for a partition: which fetches to name, which sizes to give, what to change first."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.graphs import Graph, infer_shapes
from npu_reference.partition import HostNode, Partition, Reason
from npu_reference.partition.model import Blame
from npu_reference.precision.flops import CUBE_OPERATORS, operations_of
from npu_reference.printing import counted

__all__ = ["NO_LOSS", "Conclusion", "Proposal", "conclude", "open_inputs", "propose"]

#: Operators that stay on the host for these reasons are nobody's loss: feeds, fetches, and what needs no device.
NO_LOSS = (Reason.FEED, Reason.FETCH, Reason.HOST_CONST, Reason.ISOLATED)

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_INPUTS = (*_PLACEHOLDERS, "_Arg", "IteratorGetNext", "QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2")
_APPLIES = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
_FILES = ("SaveV2", "RestoreV2", "Save", "Restore", "MergeV2Checkpoints", "ShardedFilename")
_LOSSES = ("loss", "cost")
_PROPOSED_SINKS = 3
_RANKED = 64  # ends of a graph that are weighed against each other

#: What holds or passes on values: neither side of a border gains by it.
_NO_COMPUTATION = frozenset(
    ["Const", "Identity", "IdentityN", "NoOp", "Placeholder", "PlaceholderV2", "VarHandleOp", "Variable", "VariableV2",
     "_Arg", "_Retval"]
)  # fmt: skip


# -- fetches ----------------------------------------------------------------------------------------------------------


class Proposal(NamedTuple):
    """What could be fetched: "train", "loss" or "output", the feeds it needs, and the command line that asks for it."""

    kind: str
    fetch: str
    feeds: Tuple[str, ...]
    command: str

    def to_json(self) -> Dict[str, Any]:
        return {"kind": self.kind, "fetch": self.fetch, "feeds": list(self.feeds), "command": self.command}


def propose(graph: Graph, words: Sequence[str]) -> List[Proposal]:
    """Fetches that a session.run of this graph may name, the train op first; none where the graph is closed already.

    A train op is what runs most of the operators that apply gradients; a loss a floating-point scalar called so; where
    there is neither, an output is what depends on an input, and nothing reads. `words` is the command that was given.
    O(nodes + edges).
    """
    if any(node.op in ("_Arg", "_Retval") for node in graph.nodes):
        return []
    wanted = []
    train = _train(graph)
    if train is not None:
        wanted.append(("train", train))
    inputs = [node.id for node in graph.nodes if node.op in _INPUTS]
    behind = _reached(graph, inputs, forward=True)
    loss = _loss(graph, behind)
    if loss is not None:
        wanted.append(("loss", loss))
    if not wanted:
        wanted.extend(("output", i) for i in _outputs(graph, behind))
    return [_proposal(graph, kind, i, words) for kind, i in wanted]


def _proposal(graph: Graph, kind: str, node: int, words: Sequence[str]) -> Proposal:
    name = graph.nodes[node].name
    fetch = f"{name}:0" if graph.output_dtypes(node) else name
    needed = _reached(graph, [node], forward=False)
    feeds = tuple(f"{n.name}:0" for n in graph.nodes if n.op in _PLACEHOLDERS and n.id in needed)
    more = [word for feed in feeds for word in ("--feed", feed)] + ["--fetch", fetch]
    return Proposal(kind, fetch, feeds, " ".join(shlex.quote(word) for word in [*words, *more]))


def _reached(graph: Graph, starts: Iterable[int], forward: bool) -> Set[int]:
    ends, edges_of = (graph.edges.dst, graph.out_edges) if forward else (graph.edges.src, graph.in_edges)
    seen = set(starts)
    pending = list(seen)
    while pending:
        for edge in edges_of(pending.pop()):
            node = ends[edge]
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return seen


def _applies(graph: Graph) -> List[int]:
    return [node.id for node in graph.nodes if node.op.startswith(_APPLIES)]


def _train(graph: Graph) -> Optional[int]:
    """Of the operators behind those that apply gradients, and of these themselves, the last that runs the most."""
    applies = _applies(graph)
    if not applies:
        return None
    wanted = set(applies)
    ends = [i for i in _reached(graph, applies, forward=True) if not graph.out_edges(i)]
    ranked = []
    for i in sorted(ends)[:_RANKED]:
        ranked.append((-len(_reached(graph, [i], forward=False) & wanted), len(graph.nodes[i].name), i))
    return min(ranked)[2] if ranked else None


def _loss(graph: Graph, behind: Set[int]) -> Optional[int]:
    named = []
    for place, i in enumerate(graph.creation):
        node = graph.nodes[i]
        name = node.name.lower()
        if i not in behind or "gradients/" in name or node.op == "L2Loss" or not any(word in name for word in _LOSSES):
            continue
        dtypes = graph.output_dtypes(i)
        if dtypes and dtypes[0].base.name in ("float32", "float16", "bfloat16", "float64"):
            last = name.rpartition("/")[2]
            likeness = (last not in _LOSSES, not last.endswith(_LOSSES), not any(word in last for word in _LOSSES))
            named.append((*likeness, -place, i))
    if not named:
        return None
    shapes = infer_shapes(graph)
    scalars = [one for one in named if shapes.of(one[-1]) == ()] or [
        one for one in named if shapes.of(one[-1]) is None and not one[0]
    ]
    return min(scalars)[-1] if scalars else None


def _outputs(graph: Graph, behind: Set[int]) -> List[int]:
    """Of the operators whose tensors nobody reads those behind most of the graph; none that reads or writes files."""
    kept = [node.id for node in graph.nodes if node.op in _FILES or node.op.startswith("Assign")]
    left_out = _reached(graph, kept, forward=True)
    found = []
    for node in graph.nodes:
        i = node.id
        if graph.out_edges(i) or i not in behind or i in left_out or node.op in _PLACEHOLDERS:
            continue
        dtypes = graph.output_dtypes(i)
        if dtypes:
            text = dtypes[0].base.name in ("string", "resource", "variant")
            found.append((text, i))
    # assumed: the first of so many say enough
    ranked = [(text, -len(_reached(graph, [i], forward=False)), i) for text, i in found[:_RANKED]]
    return [i for _, _, i in sorted(ranked)[:_PROPOSED_SINKS]]


# -- sizes ------------------------------------------------------------------------------------------------------------


def open_inputs(graph: Graph, given: Iterable[str]) -> List[str]:
    """What to give of inputs of open sizes, as `--shape` takes it, a letter for each size; `given` have theirs."""
    known = {name.rpartition(":")[0] or name for name in given}
    found = []
    for node in graph.nodes:
        if node.op not in _PLACEHOLDERS or node.name in known:
            continue
        shape = node.attr("shape")
        if not isinstance(shape, tuple):
            found.append(f"{node.name}:…")
        elif any(size is None for size in shape):
            letters = iter("NABCDEFGHIJKLMOPQRSTUVWXYZ")
            sizes = [next(letters, "?") if size is None else str(size) for size in shape]
            found.append(f"{node.name}:{','.join(sizes)}")
    return found


# -- the end ----------------------------------------------------------------------------------------------------------


#: Reasons that an option, or another run, decides whatever the operator is.
_WHATEVER_OPERATOR = (
    Reason.GRAPH_EXCLUDED, Reason.MODE_OFF, Reason.RANGE_INSIDE, Reason.RANGE_OUTSIDE, Reason.SCOPE,
    Reason.SMALLER_REGION,
)  # fmt: skip


class Conclusion(NamedTuple):
    """One line on a partition.

    Attributes:
        operators, on_device: operators that compute anything, and those of them in GEOPs.
        work, work_on_device: their operations, None where those of a matrix product or convolution are not known.
        geops, min_geops: GEOPs, and the fewest possible.
        first: what to change first, or what costs most; empty where nothing is lost.
        curable: whether anything can be done about it.
    """

    operators: int
    on_device: int
    work: Optional[int]
    work_on_device: Optional[int]
    geops: int
    min_geops: int
    first: str
    curable: bool

    def to_json(self) -> Dict[str, Any]:
        return {
            "compute_operators": self.operators,
            "compute_operators_on_device": self.on_device,
            "operations": self.work,
            "operations_on_device": self.work_on_device,
            "geops": self.geops,
            "min_geops": self.min_geops,
            "change_first": self.first if self.curable else "",
            "line": self.line(),
        }

    def line(self) -> str:
        if not self.operators:
            return "Nothing computes anything here."
        share = f"{_percent(self.on_device, self.operators)} of {counted(self.operators, 'compute operator')}"
        if self.work:
            share += f" ({_percent(self.work_on_device or 0, self.work)} of the operations)"
        fewest = " (the fewest possible)" if self.geops == self.min_geops else f" where {self.min_geops} would do"
        text = f"On the device: {share}, in {counted(self.geops, 'GEOP')}{fewest if self.geops else ''}."
        if not self.first:
            return f"{text} Nothing to change."
        return f"{text} {'Change first' if self.curable else 'What keeps most, and no option changes'}: {self.first}"


def _percent(part: int, whole: int) -> str:
    """Rounded so that only all is 100 % and only none is 0 %."""
    share = 100 * part / whole
    if part in (0, whole):
        return f"{share:.0f} %"
    return f"{min(99.9, max(0.1, share)):.1f} %"


def conclude(
    found: Partition, ranking: Sequence[Blame], sizes: Dict[str, Any], *, count_work: bool = True
) -> Conclusion:
    """The line on a partition; `ranking` is what `blame` found, `sizes` the shapes it was divided with."""
    nodes = found.graph.nodes
    harmless = {entry.node for entry in found.host if entry.reason in NO_LOSS}
    compute = [node.id for node in nodes if node.op not in _NO_COMPUTATION and node.name not in harmless]
    inside = [i for i in compute if found.assignment[i] >= 0]
    work = _work(found, compute, sizes) if count_work else None
    return Conclusion(
        len(compute),
        len(inside),
        None if work is None else sum(work.values()),
        None if work is None else sum(work[i] for i in inside if i in work),
        len(found.geops),
        found.min_geops,
        *_first(found, ranking),
    )


def _work(found: Partition, compute: Sequence[int], sizes: Dict[str, Any]) -> Optional[Dict[int, int]]:
    shapes = infer_shapes(found.graph, feeds=sizes)
    work: Dict[int, int] = {}
    cube = 0
    for i in compute:
        operations = operations_of(shapes, i)
        if found.graph.nodes[i].op in CUBE_OPERATORS:
            cube += 1
            if operations is None:
                return None
        if operations is not None:
            work[i] = operations
    return work if cube else None  # elements alone say little of the work


def _first(found: Partition, ranking: Sequence[Blame]) -> Tuple[str, bool]:
    """The cause of most, and whether it can be cured: by what the device would save where that was weighed, else by
    operators."""
    lost = [entry for entry in found.host if entry.reason not in NO_LOSS]
    if not lost:
        return "", False
    by_name = {entry.node: entry for entry in found.host}
    roots: Counter = Counter()
    example: Dict[Tuple[str, Reason], HostNode] = {}
    for entry in lost:
        root = by_name.get(entry.witness[-1].node, entry)
        key = ("" if root.reason in _WHATEVER_OPERATOR else root.op, root.reason)
        roots[key] += 1
        example.setdefault(key, root)
    useful = [row for row in ranking if row.geops_saved > 0 or row.copies_saved > 0]
    for row in useful:
        for key in sorted(roots, key=lambda one: (-roots[one], one)):
            if key[0] == row.op:
                what = f"{row.op} ({counted(row.nodes, 'operator')} on the host; without: {_saves(row)})"
                return _cured(what, example[key].remedy)
    key = min(roots, key=lambda one: (example[one].remedy.startswith("None"), -roots[one], one))
    what = f"{key[0]} ({key[1].value}, keeps" if key[0] else f"{key[1].value} (keeps"
    return _cured(f"{what} {counted(roots[key], 'operator')} on the host)", example[key].remedy)


def _cured(what: str, remedy: str) -> Tuple[str, bool]:
    if remedy.startswith("None"):
        return f"{what}: {remedy.partition(': ')[2]}", False
    return f"{what}. {remedy}", True


def _saves(row: Blame) -> str:
    parts = []
    if row.geops_saved > 0:
        parts.append(f"{counted(row.geops_saved, 'GEOP')} less")
    if row.copies_saved > 0:
        parts.append(f"{counted(row.copies_saved, 'copy')} a step less")
    return ", ".join(parts)
