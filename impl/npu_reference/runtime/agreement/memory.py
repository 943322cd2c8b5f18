"""Whether what a run needs of the device's memory fits the sizes that its session sets (document 002; A22)."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

from npu_reference.errors import NpuError
from npu_reference.options import Resolution
from npu_reference.partition import Partition

__all__ = ["Need", "check", "need"]

_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")


class Need(NamedTuple):
    """The least a run needs on the device, in bytes; what has no static shape counts nothing.

    Attributes:
        static: constants of the GEOPs.
        dynamic: inputs and outputs of the largest operator of a GEOP.
        variables: variables that GEOPs use.
    """

    static: int
    dynamic: int
    variables: int


def need(parts: Partition, tf_graph: Any) -> Need:
    """Add up what a partition puts on the device, by the shapes that ``tf_graph`` knows. O(V + E)."""
    graph = parts.graph
    sizes: Dict[str, int] = {}
    static = dynamic = variables = 0
    for geop in parts.geops:
        for member in geop.nodes:
            node = graph.nodes[member]
            operation = _operation(tf_graph, node.name)
            if operation is None:
                continue
            written = {tensor.name: _bytes(tensor) for tensor in operation.outputs}
            read = {tensor.name: _bytes(tensor) for tensor in operation.inputs}
            if node.op in _VARIABLES:
                sizes[node.name] = _variable_bytes(operation)
            elif node.op == "Const":
                static += sum(written.values())
            else:
                dynamic = max(dynamic, sum({**read, **written}.values()))
    variables = sum(sizes.values())
    return Need(static, dynamic, variables)


def _operation(tf_graph: Any, name: str) -> Any:
    try:
        return tf_graph.get_operation_by_name(name)
    except (KeyError, ValueError):  # made by the partitioner
        return None


def _bytes(tensor: Any) -> int:
    count = tensor.shape.num_elements()
    return 0 if count is None else int(count) * _width(tensor.dtype)


def _width(dtype: Any) -> int:
    try:
        return int(dtype.base_dtype.size)
    except (TypeError, ValueError):  # strings, variants
        return 0


def _variable_bytes(operation: Any) -> int:
    count = 1
    for dim in operation.get_attr("shape").dim:
        count *= max(dim.size, 0)
    return count * _width(operation.get_attr("dtype"))


def check(found: Need, options: Resolution) -> None:
    """Refuse what does not fit.

    Raises:
        NpuError: DEVICE_MEMORY, naming the option and both sizes in bytes.
    """
    sizes = {"graph_memory_max_size": found.static + found.dynamic, "variable_memory_max_size": found.variables}
    for (name, needed), allowed in zip(sizes.items(), options.typed.compiler.memory):
        if allowed is not None and needed > allowed:
            reason = f"at least {needed} bytes are needed, but {allowed} bytes are allowed."
            raise NpuError("DEVICE_MEMORY", name, reason, "Allow more, or make the network smaller.")
