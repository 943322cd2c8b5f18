"""Decides how constants leave the graph: one file for each content, held as long as a model of the session uses it."""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Iterator, List, NamedTuple, Set

from npu_reference.artifacts.folder import Folder
from npu_reference.compiler.functions import flatten
from npu_reference.graphs import DType
from npu_reference.partition import Partition

__all__ = ["CONSTANTS", "Constant", "Weights", "constants"]

CONSTANTS = ("Const", "Constant")
_CHUNK = 1 << 20

#: struct's letter for the elements of a TensorProto's lists, by the name of the dtype.
_LISTS = {
    "float32": ("float_val", "f"), "float64": ("double_val", "d"), "int32": ("int_val", "i"), "int16": ("int_val", "h"),
    "int8": ("int_val", "b"), "uint8": ("int_val", "B"), "uint16": ("int_val", "H"), "qint8": ("int_val", "b"),
    "quint8": ("int_val", "B"), "qint16": ("int_val", "h"), "quint16": ("int_val", "H"), "qint32": ("int_val", "i"),
    "int64": ("int64_val", "q"), "uint32": ("uint32_val", "I"), "uint64": ("uint64_val", "Q"),
    "bool": ("bool_val", "?"),
    "float16": ("half_val", "H"), "bfloat16": ("half_val", "H"), "complex64": ("scomplex_val", "f"),
    "complex128": ("dcomplex_val", "d"),
}  # fmt: skip


class Constant(NamedTuple):
    """A constant of the device: its node, what it is once compiled (Const, FileConstant), its file, its bytes."""

    node: str
    op: str
    file: str
    bytes: int


class Weights:
    """The weight files of one session: equal contents are one file, whichever model has them (D25)."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._ours: Set[str] = set()

    def add(self, partition: Partition) -> List[Constant]:
        """Writes the constants of a model.

        Raises:
            NpuError: FILES_LEFT.
        """
        found = []
        self._folder.make()
        for node in _on_device(partition):
            tensor = node.proto.attr["value"].tensor
            if node.attr("dtype").base not in _PACKED:
                found.append(Constant(node.name, node.op, "", 0))  # texts have no bytes on the device
                continue
            digest, size = hashlib.sha256(), 0
            for piece in _pieces(tensor):
                digest.update(piece)
                size += len(piece)
            name = f"weight_{digest.hexdigest()}"
            if name not in self._ours:
                self._folder.write(name, _pieces(tensor))
                self._ours.add(name)
            found.append(Constant(node.name, "FileConstant", name, size))
        return found

    def unload(self) -> None:
        """Removes the files of this session, and its directory once it is empty (files.external_weight.cleanup)."""
        for name in sorted(self._ours):
            self._folder.remove(name)
        self._ours.clear()
        self._folder.drop()


def constants(partition: Partition) -> List[Constant]:
    """The constants of a model whose weights stay in its graph."""
    return [Constant(node.name, node.op, "", 0) for node in _on_device(partition)]


_PACKED = frozenset(DType.of(name) for name in _LISTS)


def _on_device(partition: Partition) -> Iterator[Any]:
    """Constants that a GEOP has: its members, and copies of those that the host reads as well."""
    flat = flatten(partition)
    copied = {partition.graph.nodes[copy.node].name for geop in partition.geops for copy in geop.copies}
    for node in flat.graph.nodes:
        if node.op in CONSTANTS and (flat.assignment[node.id] >= 0 or node.name in copied):
            yield node


def _pieces(tensor: Any) -> Iterator[bytes]:
    """The elements of a TensorProto, little-endian, in pieces of bounded size; a value that stands for many is
    repeated."""
    if tensor.tensor_content:
        content = tensor.tensor_content
        for start in range(0, len(content), _CHUNK):
            yield content[start : start + _CHUNK]
        return
    name = DType.of(tensor.dtype).base.name
    field, letter = _LISTS[name]
    parts = 2 if name.startswith("complex") else 1
    listed = getattr(tensor, field)
    count = parts
    for dim in tensor.tensor_shape.dim:
        count *= max(dim.size, 0)
    form = struct.Struct("<" + letter)
    values = list(listed)[:count]
    if values:
        yield b"".join(form.pack(value) for value in values)
    last = b"".join(form.pack(value) for value in (values[-parts:] or [0] * parts))
    missing = (count - len(values)) // parts
    each = max(_CHUNK // max(len(last), 1), 1)
    while missing > 0:
        taken = min(missing, each)
        yield last * taken
        missing -= taken
