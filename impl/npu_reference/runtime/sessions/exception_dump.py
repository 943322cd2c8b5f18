"""What is written when an operator of a GEOP fails: its tensors, where they can be had."""

from __future__ import annotations

import json
import logging
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference import graphs
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.dumps.form import SIMULATED, Buffer, Description, Tensor, encode
from npu_reference.dumps.names import exception_name
from npu_reference.dumps.settings import ExceptionDump
from npu_reference.dumps.writing import PROCESS_CLOCK, write_alone
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.runtime.config import Places
from npu_reference.runtime.execution.dumping.frames import tensor_of
from npu_reference.runtime.observing.log import Notice, say

__all__ = ["Operator", "Read", "dump", "is_exception", "readable"]

#: What ends a dataset, and what was told to stop, is no exception of an operator.
_NO_EXCEPTION = ("OutOfRangeError", "CancelledError", "AbortedError", "UnavailableError")


class Operator(NamedTuple):
    """An operator that failed.

    Attributes:
        name: in the user's graph; of one in a function, below the calls that lead to it, as in data dumps.
        graph: in which it stands: the user's, or a function's body.
        number: its node there.
        task: where in its model it stands.
        device_dtypes: dtypes that the device computes its inputs and outputs at; empty for the graph's own.
        shapes: what was fed, or is known otherwise, by tensor of the graph.
    """

    name: str
    graph: Graph
    number: int
    task: int
    device_dtypes: Tuple[Tuple[str, ...], Tuple[str, ...]] = ((), ())
    shapes: Mapping[str, Tuple[int, ...]] = {}


class Read(NamedTuple):
    """What it read.

    Attributes:
        values: by position; None where they cannot be had.
        note: why not.
    """

    values: Optional[Mapping[int, Any]]
    note: str = ""


def is_exception(error: BaseException) -> bool:
    """Whether what a run raised is about an operator that failed."""
    return not any(kind.__name__ in _NO_EXCEPTION for kind in type(error).__mro__)


def readable(graph: Graph, number: int) -> List[int]:
    """Positions of an operator's inputs that a dump can hold."""
    dtypes = graph.input_dtypes(number)
    return [at for at, dtype in enumerate(dtypes) if dtype.base.name in BY_NAME]


def dump(
    wanted: ExceptionDump, operator: Operator, read: Read, places: Places, device: int, session: int
) -> Optional[str]:
    """Write the dump of an operator that failed; answers its path, None where it cannot be written.

    It raises nothing: what failed is more important. What cannot be written is told in the log.

    Args:
        device: the number that its folder is called by.
    """
    stamp = PROCESS_CLOCK.stamp()
    node = operator.graph.nodes[operator.number]
    inputs = _inputs(operator, read)
    outputs = _outputs(operator)
    attrs = [SIMULATED, ("exception_dump", "2" if wanted.lite else "1"), ("op_type", node.op)]
    if read.note:
        attrs.append(("note", read.note))
    if wanted.lite:
        attrs.append(("tiling", _tiling(outputs)))
        inputs = [(_without_description(tensor), data) for tensor, data in inputs]
        outputs = [(_without_description(tensor), data) for tensor, data in outputs]
    description = Description(
        operator.name,
        stamp,
        tuple(tensor for tensor, _ in inputs),
        tuple(tensor for tensor, _ in outputs),
        (Buffer("workspace", 0),),  # no kernel of the model needs one
        tuple(attrs),
    )
    parts = encode(description, [data for _, data in inputs], [data for _, data in outputs])
    name = exception_name(node.op, operator.name, operator.task, stamp)
    try:
        path = write_alone(places.of(wanted.base), wanted.folders(device), name, parts, option=wanted.option)
    except NpuError as error:
        text = f"its exception dump: {error.message}"
        say(logging.WARNING, Notice("exception_dump", operator.name, text), session=session)
        return None
    text = f"[AIC_INFO] the operator failed; its inputs and outputs are in {path}."
    say(logging.ERROR, Notice("exception_dump", operator.name, text), session=session)
    return path


_Part = Tuple[Tensor, Any]


def _inputs(operator: Operator, read: Read) -> List[_Part]:
    graph, number = operator.graph, operator.number
    dtypes = graph.input_dtypes(number)
    found: List[_Part] = []
    for slot in readable(graph, number):
        if read.values is None or slot not in read.values:
            found.append((Tensor(dtypes[slot].base.name, None, 0), b""))
            continue
        computed = operator.device_dtypes[0][slot] if slot < len(operator.device_dtypes[0]) else ""
        found.append(tensor_of(read.values[slot], computed, _layout(graph, number), "", 0))
    return found


def _outputs(operator: Operator) -> List[_Part]:
    """The outputs' memory: the operator did not come to write it, so it is zeros."""
    graph, number = operator.graph, operator.number
    shapes = graphs.infer_shapes(graph, feeds=operator.shapes)
    found = []
    for slot, dtype in enumerate(graph.output_dtypes(number)):
        if dtype.base.name not in BY_NAME:
            continue
        computed = operator.device_dtypes[1][slot] if slot < len(operator.device_dtypes[1]) else ""
        name = computed if computed in BY_NAME else dtype.base.name
        shape = shapes.known(number, slot)
        if shape is None:
            found.append((Tensor(name, None, 0, "", operator.name, slot), b""))
            continue
        size = BY_NAME[name].size * int(np.prod(shape, dtype=np.int64))
        found.append((Tensor(name, tuple(shape), size, _layout(graph, number), operator.name, slot), bytes(size)))
    return found


def _layout(graph: Graph, number: int) -> str:
    return str(graph.nodes[number].text("data_format", "") or "ND")


def _tiling(outputs: Sequence[_Part]) -> str:
    """How a kernel of this size is cut: one block for each 32 KiB of its results, at most 32 (assumed)."""
    size = sum(tensor.size for tensor, _ in outputs)
    return json.dumps({"block_dim": max(1, min(32, -(-size // (32 << 10)))), "bytes": size})


def _without_description(tensor: Tensor) -> Tensor:
    return tensor._replace(shape=None, format="")
