"""How the operators that read and clear the overflow flag become calls of this session's device."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Tuple

from npu_reference.device.numerics.editing import become_py_func, read_instead
from npu_reference.device.numerics.gates import Gates
from npu_reference.device.numerics.kinds import STATUS_OPS
from npu_reference.device.numerics.status import FloatStatus
from npu_reference.graphs import DType, Graph

__all__ = ["install", "owners"]

_FLOAT, _INT32 = DType.FLOAT.number, DType.INT32.number
_RESULTS = {
    "AllocFloatStatus": (_FLOAT,),
    "GetFloatStatus": (_FLOAT,),
    "ClearFloatStatus": (_FLOAT,),
    "GetFloatStatusV2": (_INT32,),
    "ClearFloatStatusV2": (),
}
_HANDS_ON = ("Identity", "Switch", "Merge", "Enter", "Snapshot", "StopGradient")


def owners(graph: Graph) -> Dict[str, str]:
    """For every node that takes a status tensor, the NPUAllocFloatStatus it comes from.

    NPUGetFloatStatus writes into the very tensor it is given, so it must be known which one that is.
    """
    found: Dict[str, str] = {}
    for node in graph.nodes:
        if STATUS_OPS.get(node.op) in ("GetFloatStatus", "ClearFloatStatus"):
            found[node.name] = _origin(graph, node.id)
    return found


def _origin(graph: Graph, i: int) -> str:
    while True:
        node = graph.nodes[i]
        if STATUS_OPS.get(node.op) == "AllocFloatStatus":
            return str(node.name)
        passes = node.op in _HANDS_ON or node.op in STATUS_OPS
        sources = [edge for edge in graph.in_edges(i) if graph.edges.dst_slot[edge] == 0]
        if not passes or not sources:
            return str(node.name)
        i = graph.edges.src[sources[0]]


def install(function: Any, status: FloatStatus, owned: Mapping[str, str]) -> List[str]:
    """Replace the status operators of a body, in place; answers their names.

    What reads the tensor of an NPUAllocFloatStatus reads it when all that it waits for has run, so that an
    NPUGetFloatStatus it waits for has written to it, as it does on the device.
    """
    nodes = [node for node in function.node_def if node.op in STATUS_OPS]
    if not nodes:
        return []
    tensors: Dict[str, str] = {}
    renamed: Dict[str, str] = {}
    for node in nodes:
        kind = STATUS_OPS[node.op]
        token, types = _token(node, kind, status, owned)
        controls = [text for text in node.input if text.startswith("^")]
        data = [text for text in node.input if not text.startswith("^")]
        become_py_func(node, token, [_FLOAT] * len(data), types)
        del node.input[:]
        node.input.extend(data + controls)
        for arg in ("float_status", "cleared_float_status", "data"):
            renamed[f"{node.name}:{arg}:0"] = f"{node.name}:output:0"
        if kind == "AllocFloatStatus":
            tensors[f"{node.name}:output:0"] = node.name
    read_instead(function, renamed)
    _read_late(function, tensors, {node.name for node in nodes}, status)
    return [node.name for node in nodes]


def _token(node: Any, kind: str, status: FloatStatus, owned: Mapping[str, str]) -> Tuple[bytes, Tuple[int, ...]]:
    if kind == "AllocFloatStatus":
        token = status.allocator(node.name)
    elif kind == "GetFloatStatus":
        token = status.getter(owned.get(node.name, node.name))
    elif kind == "GetFloatStatusV2":
        token = status.getter_v2()
    else:
        token = status.clearer(_RESULTS[kind])
    return token, _RESULTS[kind]


def _read_late(function: Any, tensors: Mapping[str, str], operators: Any, status: FloatStatus) -> None:
    gates = Gates(function, status)
    names = {node.name for node in function.node_def}
    for node in list(function.node_def):
        if node.name in operators or not any(text in tensors for text in node.input):
            continue
        sources = [text.lstrip("^").split(":", 1)[0] for text in node.input if text not in tensors]
        waits = [f"^{source}" for source in dict.fromkeys(sources) if source in names]
        for position, text in enumerate(node.input):
            if text in tensors:
                node.input[position] = _reader(gates, f"{node.name}/npu_status", text, tensors[text], waits, status)
    for name, text in list(function.ret.items()):
        if text in tensors:
            waits = [f"^{operator}" for operator in sorted(operators) if operator != tensors[text]]
            function.ret[name] = _reader(gates, f"{name}/npu_status", text, tensors[text], waits, status)


def _reader(gates: Gates, name: str, text: str, alloc: str, waits: List[str], status: FloatStatus) -> str:
    node = gates.call(name, status.reader(alloc), [text, *waits], [_FLOAT], [_FLOAT])
    return f"{node.name}:output:0"
