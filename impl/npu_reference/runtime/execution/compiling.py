"""What the timing plane makes of a signature that runs: compiled for the sizes of its real feeds, once for each."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler import Compiled
from npu_reference.device.timing import Profile, profile
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph, Shapes, infer_shapes
from npu_reference.hardware import Device
from npu_reference.options import Resolution
from npu_reference.partition import Partition
from npu_reference.runtime.observing.trace import TracedCopy

__all__ = ["Compiling", "Timed"]

#: Signatures with their sizes that are kept; of more, those not run for longest are compiled again (assumed).
_KEPT = 64

_Shape = Tuple[Optional[int], ...]


class Timed(NamedTuple):
    """One signature at one set of sizes: its step, or why the model knows none.

    Attributes:
        profile: None where there is an error.
        error: DEVICE_SIZES, DEVICE_MODEL, DEVICE_MEMORY or PRECISION_*; INTERNAL for a defect of the model.
        shapes: by ``node:slot``, what it was compiled for beside what the graph states.
    """

    profile: Optional[Profile]
    error: Optional[NpuError] = None
    shapes: Mapping[str, _Shape] = {}

    @property
    def compiled(self) -> Optional[Compiled]:
        return None if self.profile is None else self.profile.compiled

    @property
    def reason(self) -> str:
        """Why there is no profile; empty where there is one. A size that a command could be told has no such remedy."""
        if self.error is None:
            return ""
        return f"{self.error.subject}: {self.error.reason}" if self.error.code == "DEVICE_SIZES" else self.error.message


class Compiling:
    """The compiled signatures of one session. Thread-safe.

    Args:
        resolution: the session's effective options.
        device: what they are compiled for.
        tf_graph: the user's tf.Graph, which may know shapes that the graph alone does not tell.
        together: tells the ranks that run it together, as ``device.timing.profile`` takes them.
    """

    def __init__(
        self, resolution: Resolution, device: Device, tf_graph: Any, together: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        self.device = device
        self._together = together
        self._resolution = resolution
        self._tf_graph = tf_graph
        self._lock = threading.Lock()
        self._known: OrderedDict[Any, Timed] = OrderedDict()

    def of(
        self, signature: Any, parts: Partition, feeds: Mapping[str, Any], copies: Sequence[TracedCopy] = ()
    ) -> Timed:
        """The step of a signature. Never raises for what the model does not know.

        Args:
            signature: a plan.Signature, whose partition is ``parts``.
            feeds: tensor to the value fed.
            copies: of a run that has ended: bytes that crossed tell sizes that the graph leaves open.
        """
        fed = tuple((name, tuple(getattr(value, "shape", ()))) for name, value in sorted(feeds.items()))
        crossed = tuple(copy.bytes for copy in copies if copy.times == 1)
        key = (signature, fed, crossed)
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._compile(signature, parts, dict(fed), copies)
                self._known[key] = found
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
            return found

    def _compile(
        self, signature: Any, parts: Partition, fed: Mapping[str, _Shape], copies: Sequence[TracedCopy]
    ) -> Timed:
        shapes: Dict[str, _Shape] = {}
        try:
            shapes = _sizes(signature, parts, fed, copies, self._tf_graph)
            step = profile(parts, self._resolution, self.device, shapes, **self._together())
            return Timed(step, None, shapes)
        except NpuError as error:
            return Timed(None, error, shapes)
        except Exception as error:  # noqa: BLE001  a defect of the model ends no run of a script; it is told
            text = f"the model of the device failed: {type(error).__name__}: {error}."
            return Timed(None, NpuError("INTERNAL", "simulated device", text, "Please report it."), shapes)


def _sizes(
    signature: Any, parts: Partition, fed: Mapping[str, _Shape], copies: Sequence[TracedCopy], tf_graph: Any
) -> Dict[str, _Shape]:
    """Shapes by ``node:slot``: of what is fed as it is fed, of what else crosses a border as TensorFlow has inferred
    it, a size that is open then as the bytes of a run tell it."""
    graph = parts.graph
    sizes: Dict[str, _Shape] = {}
    for node in graph.nodes:
        if node.op == "_Arg" and isinstance(node.attr("index"), int):
            sizes[node.name] = fed.get(signature.feeds[node.attr("index")], ())
    known = None
    crossed = {copy.tensor: copy.bytes for copy in copies if copy.times == 1}
    for border in parts.borders:
        name, _, slot = border.source.rpartition(":")
        if border.direction != "h2d" or name not in graph.index or name in sizes:
            continue
        known = infer_shapes(graph, feeds=sizes) if known is None else known
        at = graph.index[name]
        shape = known.of(at, int(slot))
        if shape is not None and None not in shape:
            continue
        shape = _better(shape, _inferred(tf_graph, name, int(slot)))
        if shape is None:
            shape = _written(graph, known, at, int(slot))
        shape = _solved(shape, crossed.get(border.source), graph.output_dtypes(at)[int(slot)].base.size)
        if shape is not None and None not in shape:
            sizes[border.source] = shape
    return sizes


def _inferred(tf_graph: Any, name: str, slot: int) -> Optional[_Shape]:
    try:
        shape = tf_graph.get_operation_by_name(name).outputs[slot].get_shape()
        return tuple(shape.as_list())
    except (KeyError, ValueError, IndexError):  # made by the partitioner, or of unknown rank
        return None


def _written(graph: Graph, known: Shapes, node: int, slot: int) -> Optional[_Shape]:
    """The shape of the variable that a tensor is written to as it is, such as one that a checkpoint gives."""
    edges = graph.edges
    for edge in graph.out_edges(node):
        reader, place = edges.dst[edge], edges.dst_slot[edge]
        if edges.src_slot[edge] != slot:
            continue
        op = graph.nodes[reader].op
        if op == "Identity":
            return _written(graph, known, reader, 0)
        if op == "Assign" and place == 1:
            return known.input(reader, 0)
        if op == "AssignVariableOp" and place == 1:
            handle, _ = known.sources(reader)[0]
            shape = graph.nodes[handle].attr("shape") if graph.nodes[handle].op == "VarHandleOp" else None
            return shape if isinstance(shape, tuple) else None
    return None


def _better(one: Optional[_Shape], other: Optional[_Shape]) -> Optional[_Shape]:
    """What two say of one shape together."""
    if one is None or other is None or len(one) != len(other):
        return other if one is None else one
    return tuple(size if size is not None else second for size, second in zip(one, other))


def _solved(shape: Optional[_Shape], size: Optional[int], width: Optional[int]) -> Optional[_Shape]:
    """The shape with its one open size as the bytes of the whole tell it."""
    if shape is None or size is None or not width or shape.count(None) != 1:
        return shape
    rest = width
    for known in shape:
        rest *= 1 if known is None else known
    if rest <= 0 or size % rest:
        return shape
    return tuple(size // rest if known is None else known for known in shape)
