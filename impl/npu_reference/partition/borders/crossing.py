"""What crosses the borders of GEOPs: copies of variables and constants, arguments, returns, control edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.errors import NpuError
from npu_reference.partition.structure.wires import CONTROL, REF, RESOURCE, Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = [
    "Copies",
    "Crossing",
    "copy_constants",
    "copy_variables",
    "cross",
    "first_ref_border",
    "ref_border_error",
    "sources_by_group",
    "stray_readers",
    "stray_variable_error",
]

VARIABLES = ("VariableV2", "VarHandleOp")
_HOST = -1


class Copies(NamedTuple):
    """`variables` and `constants` hold (node, group) for every copy of a node in a group that is not its own.

    With `handles_only` a variable's copy serves whoever takes its reference or handle, while its value still crosses
    the border: the adapter's way.
    """

    variables: Set[Tuple[int, int]]
    constants: Set[Tuple[int, int]]
    handles_only: bool = False

    def __contains__(self, key: object) -> bool:
        return key in self.variables or key in self.constants

    def serve(self, source: int, group: int, kind: int) -> bool:
        """Whether what an edge of this kind takes from `source` comes from a copy in `group`."""
        if kind == CONTROL or group == _HOST:
            return False
        key = source, group
        return key in self.constants or (key in self.variables and (kind in (REF, RESOURCE) or not self.handles_only))


class Crossing(NamedTuple):
    """For every group its arguments and returns, as (node, slot) in edge order, and the nodes it waits for."""

    args: List[List[Tuple[int, int]]]
    rets: List[List[Tuple[int, int]]]
    control_in: List[List[int]]


def copy_variables(graph: Graph, wires: Wires, group: Sequence[int]) -> Set[Tuple[int, int]]:
    """A variable is copied, under its own name, into each other group that takes its reference or handle."""
    copies: Set[Tuple[int, int]] = set()
    nodes = graph.nodes
    for edge, kind in enumerate(wires.kind):
        if kind in (REF, RESOURCE):
            source, target = wires.src[edge], group[wires.dst[edge]]
            if target != _HOST and group[source] != target and nodes[source].op in VARIABLES:
                copies.add((source, target))
    return copies


def stray_readers(graph: Graph, wires: Wires, group: Sequence[int]) -> List[int]:
    """Host operators that take a variable's reference or handle, by variable."""
    return [
        wires.dst[edge]
        for node in graph.nodes
        if node.op in VARIABLES
        for edge in graph.out_edges(node.id)
        if wires.kind[edge] in (REF, RESOURCE) and group[wires.dst[edge]] == _HOST
    ]


def copy_constants(
    graph: Graph, wires: Wires, group: Sequence[int], for_controls: bool = False
) -> Set[Tuple[int, int]]:
    """A constant is copied into each group that uses it without holding it; the copy waits for the original.

    With `for_controls` also where the group only waits for it: the adapter's way.
    """
    copies: Set[Tuple[int, int]] = set()
    nodes = graph.nodes
    for edge, source in enumerate(wires.src):
        home, target = group[source], group[wires.dst[edge]]
        if home == target or target == _HOST or nodes[source].op != "Const":
            continue
        if for_controls or wires.kind[edge] != CONTROL:
            copies.add((source, target))
    return copies


def first_ref_border(graph: Graph, wires: Wires, group: Sequence[int], copies: Copies) -> Optional[Tuple[int, bool]]:
    """The first edge that takes a reference over a border, and whether it leaves a GEOP (else it enters one)."""
    for edge, kind in enumerate(wires.kind):
        if kind == REF:
            source, target = wires.src[edge], wires.dst[edge]
            if group[source] != group[target] and (source, group[target]) not in copies:
                return edge, group[source] != _HOST
    return None


def cross(wires: Wires, group: Sequence[int], count: int, copies: Copies) -> Crossing:
    """Arguments and returns of every group, one for each distinct tensor, in the order of the edges."""
    args: List[List[Tuple[int, int]]] = [[] for _ in range(count)]
    rets: List[List[Tuple[int, int]]] = [[] for _ in range(count)]
    waits: List[List[int]] = [[] for _ in range(count)]
    seen: Set[Tuple[int, int, int]] = set()
    returned: Set[Tuple[int, int]] = set()
    slots = wires.src_slot
    for edge, (source, target) in enumerate(zip(wires.src, wires.dst)):
        home, goal = group[source], group[target]
        if home == goal:
            continue
        slot = slots[edge]
        copied = copies.serve(source, goal, wires.kind[edge])
        if goal != _HOST and (source, slot, goal) not in seen and not copied:
            seen.add((source, slot, goal))
            if slot < 0:
                waits[goal].append(source)
            else:
                args[goal].append((source, slot))
        if home != _HOST and slot >= 0 and not copied and (source, slot) not in returned:
            returned.add((source, slot))
            rets[home].append((source, slot))
    for node, goal in sorted(copies.constants):  # the copy waits for the original
        if (node, -1, goal) not in seen:
            seen.add((node, -1, goal))
            waits[goal].append(node)
    return Crossing(args, rets, waits)


def stray_variable_error(graph: Graph, node: int) -> NpuError:
    name = graph.nodes[node].name
    return NpuError("REF_BORDER", "", f"Ref Tensors (e.g., Variables) output: {name} is not in white list")


def ref_border_error(graph: Graph, wires: Wires, edge: int, leaves: bool) -> NpuError:
    source, target = graph.nodes[wires.src[edge]].name, graph.nodes[wires.dst[edge]].name
    role = "results" if leaves else "args"
    return NpuError(
        "REF_BORDER",
        "",
        f"Ref Tensors (e.g., Variables) are not supported as {role}: "
        f"tensor {source}:{wires.src_slot[edge]}, dst is {target}",
    )


def sources_by_group(copies: Copies) -> Dict[int, List[Tuple[int, str]]]:
    """(node, kind) of the copies in each group, by node."""
    found: Dict[int, List[Tuple[int, str]]] = {}
    for nodes, kind in ((copies.variables, "variable"), (copies.constants, "constant")):
        for node, goal in sorted(nodes):
            found.setdefault(goal, []).append((node, kind))
    return found
