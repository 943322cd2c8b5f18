"""Decides how a graph is written for a person: an operator a line, what it reads, what it gives, and its marks."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

from npu_conformance.observing import tensors
from npu_reference.errors import NpuError
from npu_reference.graphs.attrs import UNKNOWN_RANK
from npu_reference.graphs.dtypes import DType
from npu_reference.printing import shorten

__all__ = ["lines"]

_SHOWN = 8  # elements of a constant that are written out (assumed)
_LONGEST = 80  # characters of an attribute, and of a constant (assumed)


def lines(graph: Any, most: int = 10000) -> List[str]:
    """``name = Op(inputs) -> dtypes  attributes``, in the order of the file, then every function with its body.

    Args:
        most: operators that are written; of more their number is said.
    """
    found: List[str] = []
    for text in _all(graph):
        if len(found) == most:
            total = len(graph.nodes) + sum(len(one.proto.node_def) + 1 for one in graph.functions.values())
            return [*found, f"… {total - most} more"]
        found.append(text)
    return found


def _all(graph: Any) -> Iterator[str]:
    for node in graph.nodes:
        yield _node(graph, node)
    for name in graph.functions:
        function = graph.functions[name]
        yield f"function {shorten(name)}({', '.join(function.arg_names)}) -> {', '.join(function.ret_names)}"
        try:
            body = function.body
        except NpuError as error:
            yield f"    {shorten(error.reason)}"
            continue
        for node in body.nodes:
            yield f"    {_node(body, node)}"


def _node(graph: Any, node: Any) -> str:
    text = f"{shorten(node.name)} = {shorten(node.op)}({', '.join(map(shorten, node.inputs))})"
    gives = [_output(graph, node, slot, dtype) for slot, dtype in enumerate(_dtypes(graph, node))]
    text += f" -> {', '.join(gives)}" if gives else ""
    told = [_attribute(graph, node, name) for name in sorted(node.attrs)]
    told += [f"device={shorten(node.device)}"] if node.device else []
    return "  ".join([text, *(one for one in told if one)])


def _dtypes(graph: Any, node: Any) -> Any:
    try:
        return graph.output_dtypes(node.id)
    except NpuError:  # the caller of a body decides
        return ()


def _output(graph: Any, node: Any, slot: int, dtype: Any) -> str:
    name = dtype.name
    shape = graph.static_shape(node.id, slot)
    return name if shape is None else f"{name}{_shape(shape)}"


def _shape(shape: Any) -> str:
    return "[?]" if shape is UNKNOWN_RANK else "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


def _attribute(graph: Any, node: Any, name: str) -> str:
    """An attribute that the operator's types, shapes and defaults do not say already."""
    declared = graph.op_def(node.id).attrs.get(name)
    proto = node.proto.attr[name]
    if name in ("shape", "_output_shapes") or (declared is not None and declared.type in ("type", "list(type)")):
        return ""
    if declared is not None and declared.default is not None and declared.default == proto:
        return ""
    value = _constant(proto.tensor) if proto.WhichOneof("value") == "tensor" else _value(node.attr(name))
    return f"{shorten(name)}={value}"


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return shorten(value.decode("utf-8", "backslashreplace"), _LONGEST)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is UNKNOWN_RANK:
        return "[?]"
    if isinstance(value, tuple):
        name = getattr(value, "name", None)  # a function
        return shorten(name if name is not None else "[" + ", ".join(map(_value, value)) + "]", _LONGEST)
    return shorten(str(value), _LONGEST)


def _constant(proto: Any) -> str:
    """A few elements are written out; of more there is only the shape, which stands with the output."""
    elements = _elements(proto)
    shape = _shape([dim.size for dim in proto.tensor_shape.dim])
    return shorten(f"{elements}", _LONGEST) if elements is not None else f"of shape {shape}"


def _elements(proto: Any) -> Optional[List[Any]]:
    try:
        dtype = DType.of(proto.dtype).name
    except ValueError:
        return None
    if proto.tensor_content:
        size = tensors.DTYPES.get(dtype, (0, "", 0))[0]
        if not 0 < len(proto.tensor_content) <= _SHOWN * size:
            return None
        return tensors.values(dtype, proto.tensor_content)
    for field, value in proto.ListFields():
        if field.name.endswith("_val") and field.name != "half_val":
            return list(value) if 0 < len(value) <= _SHOWN else None
    return None
