"""What lies in one dump file: a length, a description in protobuf's wire form, and the bytes of the tensors.

The form is that of the field's tools: eight bytes, little-endian, with the length of the description; the description,
a message ``DumpData``; then the bytes of all inputs, outputs, buffers and workspaces that state a size, in this order.
Every file of ours has an attribute that says that it was simulated.
"""

from __future__ import annotations

import functools
import os
import stat
import struct
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from npu_reference.dumps.dtypes import BY_NAME, BY_NUMBER, FORMAT_NUMBERS, FORMATS
from npu_reference.errors import NpuError

__all__ = [
    "MAX_HEADER",
    "SIMULATED",
    "Buffer",
    "Description",
    "Record",
    "Tensor",
    "decode",
    "encode",
    "opening",
    "packed",
    "read",
]

#: Attribute of every file of ours: nothing here comes from a device.
SIMULATED = ("simulated", "npu_reference")

#: Largest description that is read, in bytes; ``assumed``, a thousand tensors take a tenth of it.
MAX_HEADER = 1 << 20

_MAX_TENSORS, _MAX_RANK = 4096, 64
_VERSION = "2.0"

#: Bytes of a part: whatever has them in one piece, a NumPy array of uint8 too.
Bytes = Union[bytes, bytearray, memoryview, Any]

_LENGTH = struct.Struct("<Q")
_TIME = b"\x10"  # field 2, a number
_TIME_BYTES = 8  # of a number of microseconds, from 1987 to 4253


class Tensor(NamedTuple):
    """One tensor of a dump.

    Attributes:
        dtype: TensorFlow's name of the element type; empty where the file does not say.
        shape: its sizes; None where the file does not say (the lite exception dump).
        size: bytes.
        format: memory layout, such as ``ND``; empty where the file does not say.
        source: the operator's output it is, by name in the user's graph; empty where the file does not say.
        slot: which output of ``source``.
    """

    dtype: str
    shape: Optional[Tuple[int, ...]]
    size: int
    format: str = "ND"
    source: str = ""
    slot: int = 0


class Buffer(NamedTuple):
    """Bytes beside the tensors: what they are (``workspace``), and how many."""

    kind: str
    size: int


class Description(NamedTuple):
    """What a dump file says before the bytes.

    Attributes:
        op_name: the operator, by name in the user's graph.
        time: when, in microseconds since 1970; of ours strictly rising within a process.
        inputs, outputs: its tensors.
        spaces: its workspaces.
        attrs: name to text, in the file's order.
    """

    op_name: str
    time: int
    inputs: Tuple[Tensor, ...]
    outputs: Tuple[Tensor, ...]
    spaces: Tuple[Buffer, ...] = ()
    attrs: Tuple[Tuple[str, str], ...] = (SIMULATED,)
    version: str = _VERSION

    def attr(self, name: str) -> Optional[str]:
        """The text of an attribute; None without it."""
        return dict(self.attrs).get(name)


class Record(NamedTuple):
    """A dump file as read: its description, and where the bytes of each tensor begin."""

    path: str
    description: Description
    offsets: Dict[Tuple[str, int], int]

    def data(self, side: str, number: int) -> bytes:
        """The bytes of one tensor; ``side`` is ``input`` or ``output``.

        Raises:
            NpuError: DUMP_FILE, when the file has gone or shrunk meanwhile.
        """
        tensors = self.description.inputs if side == "input" else self.description.outputs
        found = bytearray(tensors[number].size)
        with self.bytes_of(side, number) as stream:
            stream.into(found)
        return bytes(found)

    def bytes_of(self, side: str, number: int) -> Stream:
        """The bytes of one tensor, to be read a piece at a time; a context manager.

        Raises:
            NpuError: DUMP_FILE, when the file has gone meanwhile.
        """
        return Stream(self.path, self.offsets[side, number])


class Stream:
    """Bytes of a file from a place on."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by __exit__
            self._file.seek(offset)
        except OSError as error:
            raise _bad(path, f"cannot be read: {error.strerror}.") from None

    def into(self, buffer: Bytes) -> None:
        """Fill a buffer with what comes next.

        Raises:
            NpuError: DUMP_FILE, when the file has shrunk meanwhile.
        """
        view = memoryview(buffer)
        try:
            while len(view):
                count = self._file.readinto(view)
                if not count:
                    raise _bad(self.path, "has become shorter while it was read.")
                view = view[count:]
        except OSError as error:
            raise _bad(self.path, f"cannot be read: {error.strerror}.") from None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *ended: object) -> None:
        self._file.close()


# -- writing ---------------------------------------------------------------------------------------------------------


def encode(description: Description, inputs: Sequence[Bytes], outputs: Sequence[Bytes]) -> List[Bytes]:
    """The parts of a dump file, to be written one after the other.

    Args:
        description: the sizes of its tensors are those of the bytes given.
        inputs, outputs: the bytes of the tensors.
    """
    message = b"".join(_description(description)) + _number(2, description.time)
    spaces = [bytes(space.size) for space in description.spaces if space.size]
    return [_LENGTH.pack(len(message)) + message, *inputs, *outputs, *spaces]


def opening(description: Description) -> bytes:
    """What a file without workspaces begins with, up to its time; then follow :func:`packed` and the tensors' bytes.

    Two dumps of tensors of the same shapes differ in their time only.
    """
    message = b"".join(_description(description)) + _TIME
    return _LENGTH.pack(len(message) + _TIME_BYTES) + message


def packed(time: int) -> bytes:
    """A time in microseconds since 1970."""
    high, low = _high(time >> 21), time & 0x1FFFFF
    return bytes((low & 127 | 128, low >> 7 & 127 | 128, low >> 14 | 128)) + high


@functools.lru_cache(maxsize=4)
def _high(time: int) -> bytes:
    """The upper bits, which change every two seconds."""
    return bytes([time >> 7 * at & 127 | 128 for at in range(_TIME_BYTES - 4)]) + bytes([time >> 7 * (_TIME_BYTES - 4)])


def _description(description: Description) -> Iterator[bytes]:
    yield _text(1, description.version)
    for tensor in description.outputs:
        yield _block(3, _tensor(tensor, is_output=True))
    for tensor in description.inputs:
        yield _block(4, _tensor(tensor, is_output=False))
    yield _text(6, description.op_name)
    for name, value in description.attrs:
        yield _block(7, [_text(1, name), _text(2, value)])
    for space in description.spaces:
        yield _block(8, [_number(1, 0), _number(3, space.size)])


def _tensor(tensor: Tensor, is_output: bool) -> Iterator[bytes]:
    yield _number(1, BY_NAME[tensor.dtype].number if tensor.dtype else 0)
    if tensor.shape is not None:
        yield _number(2, FORMAT_NUMBERS.get(tensor.format, 2))
        dims = b"".join(_varint(size) for size in tensor.shape)
        shape = _block(1, [dims]) if dims else b""
        yield _block(3, [shape])
    if is_output:
        if tensor.source:
            yield _block(4, [_text(1, tensor.source), _number(2, tensor.slot)])
        yield _number(6, tensor.size)
        if tensor.shape is not None:
            yield _block(7, [shape])
    else:
        yield _number(5, tensor.size)
        if tensor.shape is not None:
            yield _block(6, [shape])


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, parts: Iterable[bytes]) -> bytes:
    content = b"".join(parts)
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _block(field, [text.encode("utf-8", "surrogateescape")])


# -- reading ---------------------------------------------------------------------------------------------------------


def read(path: str) -> Record:
    """Read the description of a dump file; the bytes of its tensors are left on disk.

    Raises:
        NpuError: DUMP_FILE, when it cannot be read, or is no whole dump file.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _bad(path, "is no file.")
        with open(path, "rb") as stream:
            whole = os.fstat(stream.fileno()).st_size
            head = stream.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else -1
            if not 0 < length <= min(MAX_HEADER, whole - 8):
                raise _bad(path, "is no dump file: its first eight bytes are not the length of a description.")
            message = stream.read(length)
    except OSError as error:
        raise _bad(path, f"cannot be read: {error.strerror}.") from None
    return _placed(path, decode(message, path), 8 + length, whole)


def _placed(path: str, description: Description, start: int, whole: int) -> Record:
    offsets: Dict[Tuple[str, int], int] = {}
    at = start
    for side, tensors in (("input", description.inputs), ("output", description.outputs)):
        for number, tensor in enumerate(tensors):
            offsets[side, number] = at
            at += tensor.size
    at += sum(space.size for space in description.spaces)
    if at != whole:
        raise _bad(path, f"is cut off or changed: it describes {at} bytes and has {whole}.")
    return Record(path, description, offsets)


def decode(message: bytes, path: str = "<dump>") -> Description:
    """The description in a message ``DumpData``; fields that are not known are passed over.

    Raises:
        NpuError: DUMP_FILE.
    """
    try:
        return _decoded(message)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise _bad(path, f"has a description that is broken: {error}.") from None


_Fields = List[Tuple[int, Union[int, bytes]]]


def _decoded(message: bytes) -> Description:
    texts = {1: "", 6: ""}
    time, inputs, outputs, spaces, attrs = 0, [], [], [], []
    for field, value in _fields(message):
        if field in texts:
            texts[field] = _as_bytes(value).decode("utf-8", "surrogateescape")
        elif field == 2:
            time = _as_number(value)
        elif field == 3:
            outputs.append(_read_tensor(_as_bytes(value), is_output=True))
        elif field == 4:
            inputs.append(_read_tensor(_as_bytes(value), is_output=False))
        elif field == 7:
            inner = dict(_fields(_as_bytes(value)))
            name, text = (_as_bytes(inner.get(key, b"")).decode("utf-8", "replace") for key in (1, 2))
            attrs.append((name, text))
        elif field == 8:
            spaces.append(Buffer("workspace", _as_number(dict(_fields(_as_bytes(value))).get(3, 0))))
        if max(len(inputs), len(outputs), len(spaces), len(attrs)) > _MAX_TENSORS:
            raise ValueError(f"it has more than {_MAX_TENSORS} tensors")
    return Description(texts[6], time, tuple(inputs), tuple(outputs), tuple(spaces), tuple(attrs), texts[1])


def _read_tensor(message: bytes, is_output: bool) -> Tensor:
    fields = dict(_fields(message))
    number = _as_number(fields.get(1, 0))
    element = BY_NUMBER.get(number)
    shape = None if 3 not in fields else _shape(_as_bytes(fields[3]))
    size = _as_number(fields.get(6 if is_output else 5, 0))
    if element is not None and shape is not None:
        count = 1
        for dim in shape:
            count *= dim
        if count * element.size != size:
            raise ValueError(f"a tensor {element.name}{list(shape)} has {size} bytes")
    source, slot = "", 0
    if is_output and 4 in fields:
        origin = dict(_fields(_as_bytes(fields[4])))
        source = _as_bytes(origin.get(1, b"")).decode("utf-8", "surrogateescape")
        slot = _as_number(origin.get(2, 0))
    layout = "" if shape is None else FORMATS.get(_as_number(fields.get(2, 0)), "?")
    name = element.name if element is not None else ("" if number == 0 else f"type {number}")
    return Tensor(name, shape, size, layout, source, slot)


def _shape(message: bytes) -> Tuple[int, ...]:
    dims: List[int] = []
    for field, value in _fields(message):
        if field != 1:
            continue
        if isinstance(value, int):
            dims.append(value)
            continue
        at = 0
        while at < len(value):
            size, at = _read_varint(value, at)
            dims.append(size)
    if len(dims) > _MAX_RANK:
        raise ValueError(f"a tensor has more than {_MAX_RANK} dimensions")
    return tuple(dims)


def _fields(message: bytes) -> _Fields:
    found: _Fields = []
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _read_varint(message, at)
            found.append((field, value))
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            length, at = _read_varint(message, at)
            if at + length > len(message):
                raise ValueError("a field goes beyond its end")
            found.append((field, message[at : at + length]))
            at += length
        else:
            raise ValueError(f"it has a field of wire type {kind}")
        if at > len(message):
            raise ValueError("a field goes beyond its end")
    return found


def _read_varint(message: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("a number goes beyond its end")
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


def _as_bytes(value: Union[int, bytes]) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where bytes should")
    return value


def _as_number(value: Union[int, bytes]) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes stand where a number should")
    return value


def _bad(path: str, reason: str) -> NpuError:
    return NpuError("DUMP_FILE", path, f"it {reason}")
