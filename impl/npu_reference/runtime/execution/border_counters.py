"""How GEOPs in branches and loops count what crosses their borders: nobody outside can, for no fetch gets there."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.partition import Partition

__all__ = ["Gauge", "Meter", "gauges"]


class Gauge(NamedTuple):
    """One border tensor to be counted by a GEOP.

    Attributes:
        tensor, direction: as in a Copy.
        returned: whether it is a return of the GEOP; else an argument.
        position: among the arguments or returns.
        size: bytes an element; 0 for strings, whose characters are counted.
    """

    tensor: str
    direction: str
    returned: bool
    position: int
    size: int


def gauges(parts: Partition, unsteady: Optional[Sequence[bool]]) -> Dict[str, Tuple[Gauge, ...]]:
    """What each GEOP has to count: the border tensors that do not have exactly one value in a run."""
    if unsteady is None:
        return {}
    nodes = parts.graph.nodes
    directions: Dict[str, List[str]] = {}
    for border in parts.borders:
        directions.setdefault(border.source, []).append(border.direction)
    found: Dict[str, Tuple[Gauge, ...]] = {}
    for geop in parts.geops:
        own = []
        for returned, ends in ((False, geop.args), (True, geop.rets)):
            for position, end in enumerate(ends):
                source = f"{nodes[end.node].name}:{end.slot}"
                if not unsteady[end.node] or end.dtype.base.name in ("resource", "variant"):
                    continue
                for direction in directions.get(source, ()):
                    # A tensor between two GEOPs is counted where it leaves.
                    if (direction == "h2d") != returned:
                        own.append(Gauge(source, direction, returned, position, int(end.dtype.base.size or 0)))
        if own:
            found[geop.name] = tuple(own)
    return found


class Meter:
    """The counts of one session's GEOPs since they were last taken. Thread-safe.

    Two runs of one signature at the same time cannot be told apart: the first to end takes the counts of both.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Dict[str, Dict[Tuple[str, str], Tuple[int, int]]] = {}
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    def install(self, function: Any, name: str, wanted: Sequence[Gauge]) -> None:
        """Add to a FunctionDef, in place, a call that counts; ``name`` is what :meth:`take` will be asked for."""

        def count(*sizes: Any) -> None:
            with self._lock:
                counts = self._counts.setdefault(name, {})
                for gauge, size in zip(wanted, sizes):
                    found, times = counts.get((gauge.tensor, gauge.direction), (0, 0))
                    counts[gauge.tensor, gauge.direction] = (found + _bytes(gauge, size), times + 1)

        self._alive.append(count)
        script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
        call = function.node_def.add(name="npu_meter", op="PyFunc")
        call.attr["token"].s = script_ops._py_funcs.insert(count).encode()
        call.attr["Tout"].list.SetInParent()
        for number, gauge in enumerate(wanted):
            text, dtype = _tensor(function, gauge)
            if gauge.size:
                size = function.node_def.add(name=f"npu_meter/size_{number}", op="Size")
                size.input.append(text)
                size.attr["T"].type = dtype
                size.attr["out_type"].type = _INT64
                text, dtype = f"{size.name}:output:0", _INT64
            call.input.append(text)
            call.attr["Tin"].list.type.append(dtype)

    def take(self, names: Iterable[str]) -> Dict[Tuple[str, str], Tuple[int, int]]:
        """(tensor, direction) to (bytes, times) of some GEOPs, and start again from zero.

        A tensor that several GEOPs read crosses once for all of them (M24), so the one that read it most often counts.
        """
        result: Dict[Tuple[str, str], Tuple[int, int]] = {}
        with self._lock:
            for name in names:
                for key, found in self._counts.pop(name, {}).items():
                    result[key] = max(found, result.get(key, (0, 0)), key=lambda count: count[1])
        return result


_INT64 = 9  # DataType.DT_INT64


def _bytes(gauge: Gauge, size: Any) -> int:
    if gauge.size:
        return int(size) * gauge.size
    return sum(len(item) for item in size.ravel().tolist())


def _tensor(function: Any, gauge: Gauge) -> Tuple[str, int]:
    """How the body names the tensor, and its type."""
    if gauge.returned:
        arg = function.signature.output_arg[gauge.position]
        return function.ret[arg.name], arg.type
    arg = function.signature.input_arg[gauge.position]
    return arg.name, arg.type
