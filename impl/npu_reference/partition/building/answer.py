"""Turns a plan into the partition that is answered: names, borders, reasons with their chains, the minimum."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from npu_reference.graphs.shaping.inference import infer_shapes
from npu_reference.partition.borders.crossing import Crossing, cross, sources_by_group
from npu_reference.partition.building.names import GeopNames
from npu_reference.partition.explaining.half import half_notes
from npu_reference.partition.explaining.minimum import least_geops
from npu_reference.partition.model import Argument, Border, Copy, Geop, HostNode, Partition, Step
from npu_reference.partition.policies.adapter import AdapterPlan
from npu_reference.partition.reasons import Cause, Reason, remedy_of
from npu_reference.printing import listed

__all__ = ["answer", "host_nodes"]

#: Longest chain shown in a witness; beyond it the middle is left out.
_MAX_STEPS = 12


def answer(plan: AdapterPlan, policy: str, shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None) -> Partition:
    """The partition of a plan; with `shapes` of tensors, bytes of borders that follow from them. O(nodes + edges)."""
    count = max(plan.group, default=-1) + 1
    crossing = cross(plan.wires, plan.group, count, plan.copies)
    geops = _geops(plan, crossing, count)
    return Partition(
        plan.graph,
        plan.group,
        geops,
        host_nodes(plan),
        _borders(plan, geops, shapes),
        _least(plan),
        [*plan.notes, *half_notes(plan.graph, plan.group, [node for node, _ in plan.copies.constants])],
        policy,
        plan.wires,
    )


def _geops(plan: AdapterPlan, crossing: Crossing, count: int) -> List[Geop]:
    graph = plan.graph
    members: List[List[int]] = [[] for _ in range(count)]
    for node, home in enumerate(plan.group):
        if home >= 0:
            members[home].append(node)
    names = GeopNames(graph)
    geop_names = [names.fresh(f"GeOp_{number}") for number in range(count)]
    copied = sources_by_group(plan.copies)
    geops = []
    for number in range(count):
        copies = []
        for node, kind in copied.get(number, ()):
            name = graph.nodes[node].name
            copies.append(Copy(node, name if kind == "variable" else f"{name}_copied", kind))
        geops.append(
            Geop(
                geop_names[number],
                tuple(members[number]),
                tuple(_argument(plan, source, slot, "arg") for source, slot in crossing.args[number]),
                tuple(_argument(plan, source, slot, "retval") for source, slot in crossing.rets[number]),
                tuple(copies),
                tuple(crossing.control_in[number]),
            )
        )
    return geops


def _argument(plan: AdapterPlan, source: int, slot: int, role: str) -> Argument:
    name = plan.graph.nodes[source].name
    return Argument(source, slot, plan.graph.output_dtypes(source)[slot].base, f"{name}_{slot}_{role}")


def _least(plan: AdapterPlan) -> int:
    wires = plan.wires
    src: List[int] = []
    dst: List[int] = []
    nodes = plan.graph.nodes
    for source, target in zip(wires.src, wires.dst):
        if nodes[source].op not in ("NextIteration", "RefNextIteration"):
            src.append(source)
            dst.append(target)
    return least_geops(len(nodes), src, dst, [int(home >= 0) for home in plan.group])


# -- reasons ------------------------------------------------------------------------------------------------------


def host_nodes(plan: AdapterPlan) -> List[HostNode]:
    """The operators that a plan leaves on the host, each with its reason, what led to it, and a remedy."""
    nodes = plan.graph.nodes
    found = []
    for node, home in enumerate(plan.group):
        if home < 0:
            cause = plan.cause.get(node) or _late_cause(plan, node)
            witness = _witness(plan, node, cause)
            remedy = cause.remedy or remedy_of(cause.reason, nodes[node].op)
            found.append(HostNode(nodes[node].name, nodes[node].op, cause.reason, witness, remedy))
    return found


def _late_cause(plan: AdapterPlan, node: int) -> Cause:
    """Why a node is on the host although nothing ever evicted it."""
    op = plan.graph.nodes[node].op
    if not plan.candidate[node] and op == "Const":
        readers = {plan.graph.nodes[plan.wires.dst[edge]].name for edge in plan.graph.out_edges(node)}
        return Cause(Reason.HOST_CONST, f"it is used by {listed(sorted(readers))}" if readers else "nothing uses it")
    if op in ("NoOp", "Identity"):
        return Cause(Reason.ISOLATED, f"no two operators that could be offloaded are neighbours, and this is a {op}")
    return Cause(Reason.SMALLER_REGION, "it is in none of the regions kept by full offload")


def _witness(plan: AdapterPlan, node: int, cause: Cause) -> Tuple[Step, ...]:
    nodes = plan.graph.nodes
    steps = [Step(nodes[node].name, cause.detail)]
    seen = {node}
    while cause.via >= 0 and cause.via not in seen and len(steps) < _MAX_STEPS:
        node = cause.via
        seen.add(node)
        cause = plan.cause.get(node) or _late_cause(plan, node)
        steps.append(Step(nodes[node].name, cause.detail))
    return tuple(steps)


# -- borders ------------------------------------------------------------------------------------------------------


def _borders(
    plan: AdapterPlan, geops: Sequence[Geop], shapes: Optional[Mapping[str, Sequence[Optional[int]]]]
) -> List[Border]:
    """Every tensor that is copied, once each direction (M24), in edge order."""
    group, wires, nodes = plan.group, plan.wires, plan.graph.nodes
    consumers: Dict[Tuple[int, int, str], Dict[str, None]] = {}
    for edge, (source, target) in enumerate(zip(wires.src, wires.dst)):
        home, goal = group[source], group[target]
        slot = wires.src_slot[edge]
        if home == goal or slot < 0 or plan.copies.serve(source, goal, wires.kind[edge]):
            continue
        direction = "h2d" if home < 0 else "d2h" if goal < 0 else "d2d"
        reader = geops[goal].name if goal >= 0 else nodes[target].name
        consumers.setdefault((source, slot, direction), {})[reader] = None
    graph = plan.graph
    bytes_of = graph.static_bytes if shapes is None else infer_shapes(graph, feeds=shapes).bytes
    return [
        Border(
            f"{nodes[source].name}:{slot}",
            graph.output_dtypes(source)[slot].base,
            direction,
            tuple(readers),
            bytes_of(source, slot),
        )
        for (source, slot, direction), readers in consumers.items()
    ]
