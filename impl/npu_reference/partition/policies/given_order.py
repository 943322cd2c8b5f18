"""Tells a plan in the order of the graph that was given: planning numbers nodes as TensorFlow makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List

from npu_reference.partition.borders.crossing import Copies
from npu_reference.partition.policies.adapter import AdapterPlan
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["in_given_order"]


def in_given_order(plan: AdapterPlan, graph: Graph) -> AdapterPlan:
    """The plan with the node ids of `graph`, its groups numbered by their first node in it.

    The plan itself where its graph is `graph`, or has other operators: then some were rewritten. O(nodes + edges).
    """
    if plan.graph is graph or plan.graph.index.keys() != graph.index.keys():
        return plan
    place = [graph.index[node.name] for node in plan.graph.nodes]
    candidate = bytearray(len(place))
    group = [-1] * len(place)
    for node, target in enumerate(place):
        candidate[target] = plan.candidate[node]
        group[target] = plan.group[node]
    numbers: Dict[int, int] = {}
    groups: List[int] = [-1 if home < 0 else numbers.setdefault(home, len(numbers)) for home in group]
    variables, constants, handles_only = plan.copies
    return plan._replace(
        graph=graph,
        wires=Wires(graph),
        candidate=candidate,
        cause={
            place[node]: cause._replace(via=place[cause.via]) if cause.via >= 0 else cause
            for node, cause in plan.cause.items()
        },
        group=groups,
        copies=Copies(
            {(place[node], numbers[home]) for node, home in variables},
            {(place[node], numbers[home]) for node, home in constants},
            handles_only,
        ),
    )
