"""What is written when an operator of a GEOP fails: its tensors, found by running again what it reads."""

from __future__ import annotations

import json
import logging
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from npu_reference import graphs
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.dumps.form import SIMULATED, Buffer, Description, Tensor, encode
from npu_reference.dumps.names import exception_name
from npu_reference.dumps.settings import ExceptionDump
from npu_reference.dumps.writing import PROCESS_CLOCK, write_alone
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.partition import Partition
from npu_reference.runtime.config import Places
from npu_reference.runtime.execution.dumping import tensor_of
from npu_reference.runtime.observing.log import Notice, say

__all__ = ["Failure", "dump"]

#: Operators that have state and still give, run again, what they gave before.
_REPEATABLE = frozenset(
    (
        *("_Arg", "Placeholder", "PlaceholderV2", "NoOp", "Assert"),
        *("Variable", "VariableV2", "VarHandleOp", "ReadVariableOp", "VarIsInitializedOp"),
    )
)

#: What ends a dataset, and what was told to stop, is no exception of an operator.
_NO_EXCEPTION = ("OutOfRangeError", "CancelledError", "AbortedError", "UnavailableError")

#: Values of tensors by name ``node:slot``; None where they cannot be had.
Again = Callable[[Sequence[str]], Optional[List[Any]]]


class Failure(NamedTuple):
    """An operator that failed.

    Attributes:
        op: its name in the user's graph.
        partition: of the run that failed.
        device_dtypes: dtypes that the device computes its inputs and outputs at; empty for the graph's own.
        feeds: shapes of what was fed, by tensor.
    """

    op: str
    partition: Partition
    device_dtypes: Tuple[Tuple[str, ...], Tuple[str, ...]] = ((), ())
    feeds: Mapping[str, Tuple[int, ...]] = {}


def is_exception(error: BaseException) -> bool:
    """Whether what a run raised is about an operator that failed."""
    return not any(kind.__name__ in _NO_EXCEPTION for kind in type(error).__mro__)


def dump(
    wanted: ExceptionDump, failure: Failure, again: Again, places: Places, device: int, session: int
) -> Optional[str]:
    """Write the dump of an operator that failed; answers its path, None where it is no operator of a GEOP.

    It raises nothing: what failed is more important. What cannot be written is told in the log.

    Args:
        again: gives values of tensors of the run that failed, computed once more.
        device: the number that its folder is called by.
    """
    partition = failure.partition
    graph = partition.graph
    number = graph.index.get(failure.op)
    if number is None or partition.assignment[number] < 0:
        return None
    stamp = PROCESS_CLOCK.stamp()
    node = graph.nodes[number]
    inputs, note = _inputs(graph, number, failure, again)
    outputs = _outputs(graph, number, failure)
    attrs = [SIMULATED, ("exception_dump", "2" if wanted.lite else "1"), ("op_type", node.op)]
    if note:
        attrs.append(("note", note))
    if wanted.lite:
        attrs.append(("tiling", _tiling(outputs)))
        inputs = [(_without_description(tensor), data) for tensor, data in inputs]
        outputs = [(_without_description(tensor), data) for tensor, data in outputs]
    description = Description(
        failure.op,
        stamp,
        tuple(tensor for tensor, _ in inputs),
        tuple(tensor for tensor, _ in outputs),
        (Buffer("workspace", 0),),  # no kernel of the model needs one
        tuple(attrs),
    )
    parts = encode(description, [data for _, data in inputs], [data for _, data in outputs])
    name = exception_name(node.op, failure.op, number + 1, stamp)
    try:
        path = write_alone(places.of(wanted.base), wanted.folders(device), name, parts, option=wanted.option)
    except NpuError as error:
        text = f"its exception dump: {error.message}"
        say(logging.WARNING, Notice("exception_dump", failure.op, text), session=session)
        return None
    text = f"[AIC_INFO] the operator failed; its inputs and outputs are in {path}."
    say(logging.ERROR, Notice("exception_dump", failure.op, text), session=session)
    return path


_Part = Tuple[Tensor, Any]


def _inputs(graph: Graph, number: int, failure: Failure, again: Again) -> Tuple[List[_Part], str]:
    edges = graph.edges
    reads: Dict[int, str] = {}
    for edge in graph.in_edges(number):
        if edges.dst_slot[edge] >= 0:
            reads[edges.dst_slot[edge]] = _tensor_name(graph, edges.src[edge], edges.src_slot[edge], failure)
    dtypes = graph.input_dtypes(number)
    wanted = [slot for slot in sorted(reads) if slot < len(dtypes) and dtypes[slot].base.name in BY_NAME]
    keeper = _keeps_no_record(graph, number)
    values = again([reads[slot] for slot in wanted]) if wanted and not keeper else None
    if wanted and values is None:
        why = f"{keeper} gives other values when it runs again" if keeper else "they cannot be computed again"
        unknown = [(Tensor(dtypes[slot].base.name, None, 0), b"") for slot in wanted]
        return unknown, f"values of inputs are missing: {why}"
    found = []
    for slot, value in zip(wanted, values or ()):
        computed = failure.device_dtypes[0][slot] if slot < len(failure.device_dtypes[0]) else ""
        found.append(tensor_of(value, computed, _layout(graph, number), "", 0))
    return found, ""


def _tensor_name(graph: Graph, node: int, slot: int, failure: Failure) -> str:
    """As the user's graph has it: an ``_Arg`` stands for a tensor that was fed, in the order of their names."""
    index = graph.nodes[node].attr("index", -1) if graph.nodes[node].op == "_Arg" else -1
    fed = sorted(failure.feeds)
    return fed[index] if 0 <= index < len(fed) else f"{graph.nodes[node].name}:{slot}"


def _keeps_no_record(graph: Graph, number: int) -> str:
    """The first operator before this one whose values are gone: a dataset, a queue, a random draw; empty for none."""
    seen: Set[int] = set()
    waiting = [graph.edges.src[edge] for edge in graph.in_edges(number)]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        node = graph.nodes[at]
        if node.op not in _REPEATABLE and (graph.op_def(at).is_stateful or _is_control_flow(node.op)):
            return str(node.name)
        waiting.extend(graph.edges.src[edge] for edge in graph.in_edges(at))
    return ""


def _is_control_flow(op: str) -> bool:
    return op in ("Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "RefMerge", "NextIteration", "Exit", "RefExit")


def _outputs(graph: Graph, number: int, failure: Failure) -> List[_Part]:
    """The outputs' memory: the operator did not come to write it, so it is zeros."""
    shapes = graphs.infer_shapes(graph, feeds=_shapes_of_arguments(graph, failure))
    found = []
    for slot, dtype in enumerate(graph.output_dtypes(number)):
        if dtype.base.name not in BY_NAME:
            continue
        computed = failure.device_dtypes[1][slot] if slot < len(failure.device_dtypes[1]) else ""
        name = computed if computed in BY_NAME else dtype.base.name
        shape = shapes.known(number, slot)
        if shape is None:
            found.append((Tensor(name, None, 0, "", failure.op, slot), b""))
            continue
        size = BY_NAME[name].size * int(np.prod(shape, dtype=np.int64))
        found.append((Tensor(name, tuple(shape), size, _layout(graph, number), failure.op, slot), bytes(size)))
    return found


def _shapes_of_arguments(graph: Graph, failure: Failure) -> Dict[str, Tuple[int, ...]]:
    """Shapes of the ``_Arg`` nodes that stand for what was fed, in the order of the feeds' names."""
    fed = [failure.feeds[name] for name in sorted(failure.feeds)]
    found = {}
    for node in graph.nodes:
        if node.op == "_Arg" and 0 <= node.attr("index", -1) < len(fed):
            found[node.name] = tuple(fed[node.attr("index", -1)])
    return found


def _layout(graph: Graph, number: int) -> str:
    return str(graph.nodes[number].text("data_format", "") or "ND")


def _tiling(outputs: Sequence[_Part]) -> str:
    """How a kernel of this size is cut: one block for each 32 KiB of its results, at most 32 (assumed)."""
    size = sum(tensor.size for tensor, _ in outputs)
    return json.dumps({"block_dim": max(1, min(32, -(-size // (32 << 10)))), "bytes": size})


def _without_description(tensor: Tensor) -> Tensor:
    return tensor._replace(shape=None, format="")
