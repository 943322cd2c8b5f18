"""What stands behind handles: variables, stacks, tensor arrays and tensor lists."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from npu_reference.graphs.shaping.dims import Shape, merged
from npu_reference.graphs.shaping.facts import UNKNOWN, ElementsOf, Fact, GradientOf, ListOf, NodeCall
from npu_reference.graphs.shaping.values import Value, bounded

__all__ = ["Cells", "INNER", "INNER_OF_ALL", "READERS"]


class Cells:
    """The stacks and tensor arrays of one graph, by the node that makes each.

    Args:
        look_again: is called with each node that reads what has changed.
    """

    def __init__(self, look_again: Callable[[int], None]) -> None:
        self._cells: Dict[int, ElementsOf] = {}
        self._look_again = look_again

    def cell(self, number: int, stated: Shape, size: Value) -> ElementsOf:
        cell = self._cells.get(number)
        if cell is None or cell.size != size:
            cell = self._cells[number] = ElementsOf(stated, size)
        return cell

    def write(self, number: int, handle: Any, fact: Fact) -> None:
        if not isinstance(handle, ElementsOf):
            return
        if handle.put(number, fact):
            for reader in handle.readers:
                self._look_again(reader)

    def read(self, number: int, handle: Any) -> Fact:
        if isinstance(handle, GradientOf):
            return Fact(self.read(number, handle.of).shape)
        if not isinstance(handle, ElementsOf):
            return UNKNOWN
        handle.readers.add(number)
        return handle.element


def _variable(cells: Cells, number: int, call: NodeCall) -> Any:
    shape = call.attr("shape")
    return shape if isinstance(shape, tuple) else None


def _read_variable(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    inner = call.inner(0)
    return [Fact(inner if isinstance(inner, tuple) and not isinstance(inner, ListOf) else None)]


def _scalars(cells: Cells, number: int, call: NodeCall) -> Any:
    return ()


def _same_inner(cells: Cells, number: int, call: NodeCall) -> Any:
    return call.inner(0)


def _stack(cells: Cells, number: int, call: NodeCall) -> Any:
    return cells.cell(number, None, None)


def _array(cells: Cells, number: int, call: NodeCall) -> Any:
    shape = call.attr("element_shape")
    size = None if call.attr("dynamic_size", False) else call.value(0)
    return cells.cell(number, shape if isinstance(shape, tuple) else None, size)


def _gradient(cells: Cells, number: int, call: NodeCall) -> Any:
    cell = call.inner(0)
    return GradientOf(cell) if isinstance(cell, ElementsOf) else cell


def _push(cells: Cells, number: int, call: NodeCall) -> Any:
    cells.write(number, call.inner(0), call.facts[1]._replace(inner=None))


def _write(cells: Cells, number: int, call: NodeCall) -> Any:
    cells.write(number, call.inner(0), Fact(call.shape(2)))


def _scatter(cells: Cells, number: int, call: NodeCall) -> Any:
    shape = call.shape(2)
    cells.write(number, call.inner(0), Fact(shape[1:] if shape else None))


def _pop(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    return [cells.read(number, call.inner(0))]


def _array_read(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    return [Fact(cells.read(number, call.inner(0)).shape)]


def _array_gather(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle, indices = call.facts[:2]
    stated = call.attr("element_shape")
    element = merged(stated if isinstance(stated, tuple) else None, cells.read(number, handle.inner).shape)
    count = indices.shape[0] if indices.shape else None
    return [Fact(None if element is None else (count, *element))]


def _array_size(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle = call.inner(0)
    handle = handle.of if isinstance(handle, GradientOf) else handle
    return [Fact((), handle.size if isinstance(handle, ElementsOf) else None)]


def _shape_of(fact: Fact) -> Shape:
    """The shape that a list of sizes tells; a lone -1 says nothing, not even the rank."""
    if fact.value is None or fact.shape == ():
        return None
    return tuple(None if size is None or size < 0 else size for size in fact.value)


def _new_list(cells: Cells, number: int, call: NodeCall) -> Any:
    count = 0 if call.op == "EmptyTensorList" else (call.value(1) or (None,))[0]
    return ListOf(_shape_of(call.facts[0]), None, True, count)


def _list_from_tensor(cells: Cells, number: int, call: NodeCall) -> Any:
    shape = call.shape(0)
    return ListOf(_shape_of(call.facts[1]), shape[1:] if shape else None, False, shape[0] if shape else None)


def _list_added(cells: Cells, number: int, call: NodeCall) -> Any:
    """A list with its last input put in."""
    handle = call.inner(0)
    if not isinstance(handle, ListOf):
        return None
    pushed = call.op == "TensorListPushBack"
    stays = not pushed and not call.attr("resize_if_index_out_of_bounds", False)
    last = call.count - 1
    return handle.added(call.shape(last), handle.length if stays else None, call.value(last) if pushed else None)


def _list_popped(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle, shape = call.facts[:2]
    rest = handle.inner._replace(length=None) if isinstance(handle.inner, ListOf) else None
    value = rest.value if rest is not None else None
    return [Fact((), None, rest), Fact(_list_element(handle.inner, shape), value)]


def _list_item(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle, _, shape = call.facts[:3]
    return [Fact(_list_element(handle.inner, shape))]


def _list_stacked(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle, shape = call.facts[:2]
    element = _list_element(handle.inner, shape)
    stated = call.attr("num_elements", -1)
    count = stated if stated >= 0 else handle.inner.length if isinstance(handle.inner, ListOf) else None
    return [Fact(None if element is None else (count, *element))]


def _list_element(handle: Any, stated: Fact) -> Shape:
    return merged(_shape_of(stated), handle.shape() if isinstance(handle, ListOf) else None)


def _list_element_shape(cells: Cells, number: int, call: NodeCall) -> List[Fact]:
    handle = call.inner(0)
    shape = handle.shape() if isinstance(handle, ListOf) else None
    return [UNKNOWN if shape is None else Fact((len(shape),), bounded(shape))]


#: Operators whose output leads to something: what stands behind it.
INNER = {
    "VarHandleOp": _variable,
    **dict.fromkeys(("HashTable", "HashTableV2"), _scalars),
    **dict.fromkeys((
        "Identity", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "Switch", "RefSwitch",
        "StopGradient",
    ), _same_inner),
    "StackV2": _stack,
    "StackPushV2": _push,
    "TensorArrayV3": _array,
    "TensorArrayGradV3": _gradient,
    "TensorArrayWriteV3": _write,
    "TensorArrayScatterV3": _scatter,
    **dict.fromkeys(("EmptyTensorList", "TensorListReserve"), _new_list),
    "TensorListFromTensor": _list_from_tensor,
    "TensorListPushBack": _list_added,
    "TensorListSetItem": _list_added,
}  # fmt: skip
INNER_OF_ALL = frozenset({"Switch", "RefSwitch"})

#: Operators that read what stands behind a handle, or a part of it: what is known of their outputs.
READERS = {
    "ReadVariableOp": _read_variable,
    "StackPopV2": _pop,
    "TensorArrayReadV3": _array_read,
    "TensorArrayGatherV3": _array_gather,
    "TensorArraySizeV3": _array_size,
    "TensorListPopBack": _list_popped,
    "TensorListGetItem": _list_item,
    "TensorListStack": _list_stacked,
    "TensorListElementShape": _list_element_shape,
}
