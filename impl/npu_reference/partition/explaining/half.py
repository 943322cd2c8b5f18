"""Which constants of GEOPs do not fit float16: too large for it, or so small that they become zero."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set

from npu_reference.partition.model import Note
from npu_reference.partition.structure.calls import called_functions

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["LARGEST", "SMALLEST", "Misfit", "half_notes", "misfit"]

#: The largest finite float16 (IEEE 754 binary16).
LARGEST = 65504.0
#: Half of the smallest subnormal float16, 2^-24: this and anything nearer to zero is rounded to zero.
SMALLEST = 2.0**-25

#: Elements beyond which numpy is asked, where it is loaded: about a millisecond's work without it.
_LARGE = 10000

_FLOAT, _BFLOAT16 = 1, 14  # numbers of DT_FLOAT and DT_BFLOAT16, the types a device computes in float16 instead


class Misfit(NamedTuple):
    """What of one tensor does not fit: how many elements of how many, and the worst value of each kind."""

    elements: int
    overflows: int
    largest: float
    underflows: int
    smallest: float


def half_notes(graph: Graph, groups: Sequence[int], copied: Sequence[int]) -> List[Note]:
    """Notes FP16_OVERFLOW and FP16_UNDERFLOW, in graph order, functions that GEOPs call after the graph itself.

    Whether the device computes a GEOP in float16 is a matter of precision_mode; this says what would be lost then.
    O(nodes + elements of float constants).

    Args:
        groups: the GEOP of every node, -1 on the host.
        copied: constants of the host that some GEOP holds a copy of.
    """
    copies = set(copied)
    notes: List[Note] = []
    called: Dict[str, None] = {}
    for node in graph.nodes:
        if groups[node.id] < 0 and node.id not in copies:
            continue
        if node.op == "Const":
            notes.extend(_notes(node.name, node.proto))
        elif graph.functions:
            called.update(dict.fromkeys(_called(graph, node.proto)))
    for function in _closure(graph, called):
        for proto in graph.functions[function].proto.node_def:
            if proto.op == "Const":
                notes.extend(_notes(f"{function}/{proto.name}", proto))
    return notes


def _called(graph: Graph, proto: Any) -> Iterator[str]:
    if proto.op in graph.functions and proto.op not in graph.functions.operators:
        yield proto.op
    yield from called_functions(proto.attr)


def _closure(graph: Graph, names: Dict[str, None]) -> List[str]:
    """The functions named, and those they call in turn, each once."""
    found: List[str] = []
    seen: Set[str] = set()
    pending = list(names)[::-1]
    while pending:
        name = pending.pop()
        if name in seen or name not in graph.functions:
            continue
        seen.add(name)
        found.append(name)
        for proto in graph.functions[name].proto.node_def:
            pending.extend(_called(graph, proto))
    return found


def _notes(name: str, proto: Any) -> Iterator[Note]:
    if "value" not in proto.attr:
        return
    found = misfit(proto.attr["value"].tensor)
    if found is None:
        return
    if found.overflows:
        limit = f"beyond {LARGEST:.0f}, the largest float16"
        what = _part(found.overflows, found.elements, limit, "the largest", found.largest)
        message = f"{what}. Keep what reads it in float32."
        yield Note("FP16_OVERFLOW", message, name)
    if found.underflows:
        what = _part(found.underflows, found.elements, "zero in float16", "the smallest", found.smallest)
        message = f"{what}. Keep what reads it in float32."
        yield Note("FP16_UNDERFLOW", message, name)


def _part(count: int, elements: int, what: str, which: str, value: float) -> str:
    if elements == 1:
        return f"the constant {value:.6g} is {what}"
    return f"{count} of {elements} elements are {what}, {which} is {value:.6g}"


def misfit(tensor: Any) -> Optional[Misfit]:
    """What of a TensorProto's float32 or bfloat16 elements does not fit float16; None where all do.

    Infinities and NaNs count as fitting: float16 has them. Elements a tensor only implies (its last one, repeated)
    count once.
    """
    values = _values(tensor)
    if not values:
        return None
    numpy = sys.modules.get("numpy")  # where TensorFlow is loaded; never imported for this alone
    if numpy is not None and len(values) > _LARGE:
        return _count_at_once(numpy, numpy.asarray(values, dtype=numpy.float32))
    magnitudes = array("f", map(abs, values))
    # A NaN in front makes both comparisons false; anywhere else max and min pass over it.
    if max(magnitudes) <= LARGEST and min(filter(None, magnitudes), default=1.0) > SMALLEST:
        return None
    return _count(values)


def _count(values: Sequence[float]) -> Optional[Misfit]:
    infinity = float("inf")
    large = [value for value in values if LARGEST < abs(value) < infinity]
    small = [value for value in values if 0 < abs(value) <= SMALLEST]
    if not large and not small:
        return None
    return Misfit(
        len(values), len(large), max(large, key=abs, default=0.0), len(small), min(small, key=abs, default=0.0)
    )


def _count_at_once(numpy: Any, values: Any) -> Optional[Misfit]:
    """:func:`_count` in numpy: weights of a frozen model hold tens of millions of elements."""
    magnitudes = numpy.abs(values)
    large = values[(magnitudes > LARGEST) & numpy.isfinite(values)]
    small = values[(magnitudes > 0) & (magnitudes <= SMALLEST)]
    if not large.size and not small.size:
        return None
    largest = float(large[numpy.abs(large).argmax()]) if large.size else 0.0
    smallest = float(small[numpy.abs(small).argmin()]) if small.size else 0.0
    return Misfit(len(values), int(large.size), largest, int(small.size), smallest)


def _values(tensor: Any) -> Sequence[float]:
    if tensor.dtype == _FLOAT:
        return _floats(tensor.tensor_content) if tensor.tensor_content else tensor.float_val
    if tensor.dtype == _BFLOAT16:
        if tensor.tensor_content:
            return _widened(_words(tensor.tensor_content))
        return _widened(array("H", (value & 0xFFFF for value in tensor.half_val)))
    return ()


def _floats(content: bytes) -> array:
    return _little_endian(array("f"), content)


def _words(content: bytes) -> array:
    return _little_endian(array("H"), content)


def _little_endian(into: array, content: bytes) -> array:
    """Whole elements of `content`; what a damaged tensor has beyond them is left out."""
    into.frombytes(content[: len(content) // into.itemsize * into.itemsize])
    if sys.byteorder == "big":
        into.byteswap()
    return into


def _widened(words: array) -> array:
    """bfloat16 as float32: the upper half of its bits."""
    bits = array("I", (word << 16 for word in words))
    return array("f", bits.tobytes())
