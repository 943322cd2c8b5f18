"""The one way in: a partition and options give an assignment."""

from __future__ import annotations

from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from npu_reference.catalog import Catalog, Unmatched, unmatched
from npu_reference.collection import no_collection
from npu_reference.graphs import Function
from npu_reference.options.resolution import Resolution
from npu_reference.partition.model import Partition
from npu_reference.precision.casts import casts_of
from npu_reference.precision.decide import Policy, Walk
from npu_reference.precision.half_range import range_notes
from npu_reference.precision.implementation import Implementations
from npu_reference.precision.lists import Lists
from npu_reference.precision.model import Assignment, Cast, NodePrecision, PrecisionNote
from npu_reference.precision.modes import mode_of
from npu_reference.precision.refusals import refusal

__all__ = ["assign"]

_MAX_NOTES = 20


@no_collection()
def assign(
    partition: Partition,
    options: Resolution,
    *,
    catalog: Optional[Catalog] = None,
    entries: Optional[Sequence[Unmatched]] = None,
    idle: FrozenSet[str] = frozenset(),
) -> Assignment:
    """Give every operator of the device its engine, dtypes and implementation mode.

    Args:
        partition: a graph divided into GEOPs.
        options: resolved options.
        catalog: the operator library; the built-in one without it.
        entries: what is told of entries of option files that match no operator; without it, of those that match none
            of the partition's graph.
        idle: reductions that sizes show to be over no axis; they are removed before precision is decided, so what
            reads them follows what they read.

    Raises:
        NpuError: the first error of `options`; PRECISION_NO_KERNEL, PRECISION_DTYPES, one for all operators.
    """
    options.raise_first()
    library = Catalog.built_in() if catalog is None else catalog
    precision = options.typed.precision
    lists = Lists(library, precision.mixlist)
    policy = Policy(library, mode_of(options), lists, precision.dtypes)
    walks = _walks(partition, policy, idle)
    refused = refusal([walk for walk, _, _ in walks])
    if refused is not None:
        raise refused
    implementations = Implementations(options.typed.implementation, library)
    nodes: List[NodePrecision] = []
    casts: List[Cast] = []
    losses: List[PrecisionNote] = []
    for walk, geop, function in walks:
        nodes.extend(_nodes(walk, partition, geop, function, implementations))
        found = casts_of(walk)
        casts.extend(found)
        losses.extend(range_notes(walk, found))
    listed = unmatched(options, partition.graph, library) if entries is None else entries
    warnings = [PrecisionNote(one.code, one.message, one.subject) for one in listed if one.level == "warning"]
    told = {(note.code, note.subject) for note in warnings}
    without_effect = [*_not_customised(policy, nodes), *implementations.notes()]
    warnings += lists.notes
    warnings += [note for note in without_effect if (note.code, note.subject) not in told]
    warnings += _unset(nodes)
    warnings += [PrecisionNote("ops_info_unknown", text) for text in library.notes]
    warnings += losses
    notes = [PrecisionNote(one.code, one.message, one.subject) for one in listed if one.level == "info"]
    return Assignment(policy.mode.name, options.edition, nodes, casts, warnings, notes)


_Walked = Tuple[Walk, int, Optional[str]]


def _walks(partition: Partition, policy: Policy, idle: FrozenSet[str]) -> List[_Walked]:
    """The graph, then each function that a GEOP calls, once, in the order of the first call."""
    top = Walk(partition.graph, partition.assignment, policy, idle=idle).run()
    walks: List[_Walked] = [(top, -1, None)]
    seen: Dict[str, None] = {}
    position = 0
    while position < len(walks):
        walk, geop, _ = walks[position]
        position += 1
        for node, decided in enumerate(walk.decided):
            if decided is None or decided.engine != "local":
                continue
            for name, attrs in _called(walk, node):
                if name in walk.graph.functions and name not in seen:
                    seen[name] = None
                    inner = walk.member[node] if geop < 0 else geop
                    walks.append((_body(walk.graph.functions[name], attrs, policy, idle), inner, name))
    return walks


def _called(walk: Walk, node: int) -> Iterator[Tuple[str, Any]]:
    """The functions a node calls, with the attributes it gives them."""
    proto = walk.graph.nodes[node].proto
    for key in sorted(proto.attr):
        value = proto.attr[key]
        field = value.WhichOneof("value")
        functions = [value.func] if field == "func" else value.list.func if field == "list" else ()
        for function in functions:
            yield function.name, function.attr
    if proto.op in walk.graph.functions and proto.op not in walk.graph.functions.operators:
        yield proto.op, proto.attr


def _body(function: Function, attrs: Any, policy: Policy, idle: FrozenSet[str]) -> Walk:
    """A function's body decided; one called with several types is decided for those of its first call."""
    body = function.instantiate(attrs) if attrs else function.body
    name = function.name
    member = [-1 if node.op in ("_Arg", "_Retval") else 0 for node in body.nodes]
    return Walk(body, member, policy, f"{name}/", idle).run()


def _nodes(
    walk: Walk, partition: Partition, geop: int, function: Optional[str], implementations: Implementations
) -> List[NodePrecision]:
    found = []
    for node, decided in enumerate(walk.decided):
        if decided is None:
            continue
        one = walk.graph.nodes[node]
        name = walk.prefix + one.name
        mode = implementations.mode(name, decided.kernel, one.op, decided.modes)
        place = walk.member[node] if geop < 0 else geop
        found.append(
            NodePrecision(
                name,
                one.op,
                decided.kernel,
                partition.geops[place].name,
                decided.engine,
                decided.inputs,
                decided.outputs,
                decided.list,
                mode,
                decided.why,
                function,
            )
        )
    return found


def _not_customised(policy: Policy, nodes: List[NodePrecision]) -> List[PrecisionNote]:
    """Names in customize_dtypes that no operator with a kernel has (document 003: fusion may rename operators)."""
    if policy.custom is None:
        return []
    named = {node.node for node in nodes if node.engine in ("cube", "vector", "aicpu")}
    notes = [
        PrecisionNote("customize_no_node", f"customize_dtypes: the device computes no operator {name}.", name)
        for name in policy.custom.by_name
        if name not in named
    ]
    return notes[:_MAX_NOTES]


def _unset(nodes: List[NodePrecision]) -> List[PrecisionNote]:
    notes = [
        PrecisionNote("no_kernel_known", f"{node.node} ({node.op}): {node.why}.", node.node)
        for node in nodes
        if node.engine == "unset"
    ]
    return notes[:_MAX_NOTES]
