"""What kind of thing every edge carries, as eviction and copying ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

if TYPE_CHECKING:
    from npu_reference.graphs.graph import Graph

__all__ = ["CONTROL", "PLAIN", "REF", "RESOURCE", "STRING", "VARIANT", "Wires"]

PLAIN, CONTROL, REF, RESOURCE, VARIANT, STRING = range(6)

#: types.proto numbers of the types that are not plain data.
_KIND = {7: STRING, 20: RESOURCE, 21: VARIANT}


class Wires:
    """The edges of a graph with their kinds.

    `kind[edge]` is CONTROL, else REF where the reader takes a reference, else RESOURCE, VARIANT, STRING or PLAIN by
    the (base) type of the tensor. `outputs[node]` has the kinds of a node's outputs where any is not plain, and
    `ref_outputs` the nodes that give a reference.
    """

    __slots__ = ("dst", "dst_slot", "kind", "outputs", "ref_inputs", "ref_outputs", "src", "src_slot")

    def __init__(self, graph: Graph) -> None:
        edges = graph.edges
        self.src, self.src_slot, self.dst, self.dst_slot = edges.src, edges.src_slot, edges.dst, edges.dst_slot
        self.outputs: Dict[int, Tuple[int, ...]] = {}
        self.ref_outputs: Set[int] = set()
        self.ref_inputs: Dict[int, Set[int]] = {}
        self._scan_nodes(graph)
        self.kind = self._kinds()

    def _scan_nodes(self, graph: Graph) -> None:
        plans: Dict[int, _Plan] = {}
        for node in graph.nodes:
            i = node.id
            op_def = graph.op_def(i)
            plan = plans.get(id(op_def))
            if plan is None:
                plan = plans[id(op_def)] = _Plan(op_def)
            if plan.ref_inputs:
                types = graph.input_dtypes(i)
                self.ref_inputs[i] = {slot for slot, dtype in enumerate(types) if dtype.is_ref}
            if plan.special or (plan.attrs and _special_attr(node.proto.attr, plan.attrs)):
                self._add_outputs(i, graph)

    def _add_outputs(self, i: int, graph: Graph) -> None:
        types = graph.output_dtypes(i)
        if any(dtype.is_ref for dtype in types):
            self.ref_outputs.add(i)
        kinds = tuple(_KIND.get(dtype.base.number, PLAIN) for dtype in types)
        if any(kinds):
            self.outputs[i] = kinds

    def _kinds(self) -> bytearray:
        kind = bytearray(len(self.src))
        outputs, ref_inputs = self.outputs, self.ref_inputs
        for edge, slot in enumerate(self.src_slot):
            if slot < 0:
                kind[edge] = CONTROL
        if not outputs and not ref_inputs:
            return kind
        for edge, source in enumerate(self.src):
            if kind[edge] == CONTROL:
                continue
            takes = ref_inputs.get(self.dst[edge])
            if takes is not None and self.dst_slot[edge] in takes:
                kind[edge] = REF
            elif source in outputs:
                kind[edge] = outputs[source][self.src_slot[edge]]
        return kind


class _Plan:
    """What has to be looked at in every node of one operator."""

    __slots__ = ("attrs", "ref_inputs", "special")

    def __init__(self, op_def: Any) -> None:
        self.ref_inputs = any(arg.is_ref or (arg.dtype is not None and arg.dtype.is_ref) for arg in op_def.inputs)
        self.special = any(
            arg.is_ref or (arg.dtype is not None and (arg.dtype.is_ref or arg.dtype.number in _KIND))
            for arg in op_def.outputs
        )
        self.attrs: List[str] = sorted(
            {name for arg in op_def.outputs for name in (arg.type_attr, arg.type_list_attr) if name}
        )


def _special_attr(attrs: Any, names: List[str]) -> bool:
    for name in names:
        if name in attrs:
            value = attrs[name]
            number: Optional[int] = value.type
            if number in _KIND or number > 100:  # type: ignore[operator]
                return True
            if not number and any(item in _KIND or item > 100 for item in value.list.type):
                return True
        else:
            return True  # a default of the operator's: let the graph say
    return False
