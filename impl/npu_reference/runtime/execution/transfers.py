"""What crosses the borders of GEOPs in a run, and how many bytes each crossing has."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.partition import Partition
from npu_reference.runtime.execution.execution_graph import Placed, Shadow
from npu_reference.runtime.execution.node_order import WiredInput
from npu_reference.runtime.observing.trace import TracedCopy

__all__ = ["Crossings", "TransferRule", "crossings", "value_bytes"]


class TransferRule(NamedTuple):
    """How the size of one crossing is found.

    Attributes:
        tensor, direction: as in :class:`npu_reference.runtime.observing.trace.Copy`.
        how: ``static`` (``arg`` is its bytes), ``feed`` (of the tensor fed under this name), ``fetch`` (of the result
            with index ``arg``), ``probe`` (the probe with index ``arg`` has its number of elements, ``size`` bytes
            each), ``metered`` (the GEOP itself counts) or ``unknown``.
    """

    tensor: str
    direction: str
    how: str
    arg: int = 0
    size: int = 0


class Crossings(NamedTuple):
    """The rules of one plan, and the extra tensors its runs fetch."""

    rules: Tuple[TransferRule, ...]
    probes: Tuple[Any, ...]

    def copies(
        self, feeds: Mapping[str, Any], results: Sequence[Any], metered: Mapping[Any, Any]
    ) -> Tuple[TracedCopy, ...]:
        """The copies of one run.

        Args:
            feeds: value of each fed tensor.
            results: values fetched, the probes' after the script's own.
            metered: (tensor, direction) to (bytes, times), of what the GEOPs counted themselves.
        """
        first_probe = len(results) - len(self.probes)
        copies = []
        for rule in self.rules:
            if rule.how == "static":
                copies.append(TracedCopy(rule.tensor, rule.direction, rule.arg))
            elif rule.how == "probe":
                copies.append(TracedCopy(rule.tensor, rule.direction, int(results[first_probe + rule.arg]) * rule.size))
            elif rule.how == "feed":
                copies.append(TracedCopy(rule.tensor, rule.direction, value_bytes(feeds[rule.tensor])))
            elif rule.how == "fetch":
                copies.append(TracedCopy(rule.tensor, rule.direction, value_bytes(results[rule.arg])))
            elif rule.how == "metered":
                size, times = metered.get((rule.tensor, rule.direction), (0, 0))
                copies.append(TracedCopy(rule.tensor, rule.direction, size, times))
            else:
                copies.append(TracedCopy(rule.tensor, rule.direction, None))
        return tuple(copies)


def value_bytes(value: Any) -> Optional[int]:
    """Bytes of a NumPy value; of strings, their characters. None where the value is something else."""
    if getattr(value, "dtype", None) is None:
        return len(value) if isinstance(value, bytes) else None
    if value.dtype.kind in "OSU":
        items = value.ravel().tolist() if hasattr(value, "ravel") else [value]
        return sum(len(item if isinstance(item, bytes) else str(item).encode("utf-8")) for item in items)
    return int(value.nbytes)


def crossings(
    partition: Partition,
    placed: Placed,
    shadow: Shadow,
    feeds: Sequence[str],
    fetches: Sequence[str],
    unsteady: Optional[Sequence[bool]],
) -> Crossings:
    """The rules for one plan; one for each border of the partition (M24).

    Sizes known from the user's graph cost nothing at run time, those of feeds and fetches next to nothing; for others
    the number of elements is fetched as well, if the tensor has exactly one value in every run.
    """
    finder = _Finder(partition, placed, shadow, feeds, fetches, unsteady)
    rules = [finder.rule(border) for border in partition.borders]
    return Crossings(tuple(rules), tuple(shadow.probes(list(finder.probed))))


class _Finder:
    def __init__(
        self,
        partition: Partition,
        placed: Placed,
        shadow: Shadow,
        feeds: Sequence[str],
        fetches: Sequence[str],
        unsteady: Optional[Sequence[bool]],
    ) -> None:
        self.graph = partition.graph
        self.placed = placed
        self.shadow = shadow
        self.feeds = feeds
        self.fetched = {name: position for position, name in enumerate(fetches)}
        self.unsteady = unsteady
        #: Tensors to be probed, and which of the probes is theirs.
        self.probed: Dict[WiredInput, int] = {}
        self.returned: Dict[str, WiredInput] = {}
        for geop in partition.geops:
            for position, ret in enumerate(geop.rets):
                source = f"{self.graph.nodes[ret.node].name}:{ret.slot}"
                self.returned[source] = placed.returns[geop.name][position]

    def rule(self, border: Any) -> TransferRule:
        name, _, slot = border.source.rpartition(":")
        node = self.graph.nodes[self.graph.index[name]] if name in self.graph.index else None
        if node is not None and node.op == "_Arg":
            return TransferRule(self.feeds[node.attr("index")], border.direction, "feed")
        if node is not None and self.unsteady is not None and self.unsteady[node.id]:
            return TransferRule(border.source, border.direction, "metered")
        size = self._static(name, int(slot))
        if size is None:
            size = border.bytes
        if size is not None:
            return TransferRule(border.source, border.direction, "static", size)
        if border.source in self.fetched:
            return TransferRule(border.source, border.direction, "fetch", self.fetched[border.source])
        return self._probe(border.source, border.direction, WiredInput(name, int(slot)))

    def _static(self, name: str, slot: int) -> Optional[int]:
        """Bytes by the shape that TensorFlow inferred in the user's graph."""
        try:
            tensor = self.shadow.user_graph.get_operation_by_name(name).outputs[slot]
        except (KeyError, ValueError, IndexError):
            return None
        shape = tensor.get_shape()
        if not shape.is_fully_defined() or not tensor.dtype.is_numpy_compatible or tensor.dtype.base_dtype.size == 0:
            return None
        if tensor.dtype.base_dtype.name in ("string", "resource", "variant"):
            return None
        return int(shape.num_elements()) * int(tensor.dtype.base_dtype.size)

    def _probe(self, source: str, direction: str, at: WiredInput) -> TransferRule:
        """Fetch the number of elements beside the script's own fetches."""
        where = self.returned.get(source)
        if where is None and at.node in self.placed.returns:
            where = self.placed.returns[at.node][at.slot]
        elif where is None and at.node in self.placed.nodes:
            where = WiredInput(self.placed.nodes[at.node], at.slot)
        if where is None:
            return TransferRule(source, direction, "unknown")
        tensor = self.shadow.tensor(where)
        dtype = tensor.dtype.base_dtype
        if dtype.name in ("resource", "variant"):
            return TransferRule(source, direction, "unknown")
        number = self.probed.setdefault(where, len(self.probed))
        return TransferRule(source, direction, "probe", number, 1 if dtype.name == "string" else int(dtype.size))
