"""How processes write what they exchange: a JSON header, then the tensors' bytes, all of it bounded."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from npu_reference.runtime.tf_api import tensorflow

__all__ = ["dtype_of", "know_dtype", "read", "write"]

_LENGTH = struct.Struct("!I")

#: Bounds of one message, assumed: far above what any collective of a graph that TensorFlow can hold needs.
_LARGEST_HEADER = 1 << 20
_MOST_ARRAYS = 4096
_LARGEST_ARRAY = 4 << 30

#: Types that NumPy knows no name of; TensorFlow tells them.
_DTYPES: Dict[str, Any] = {}


def know_dtype(name: str, dtype: Any) -> None:
    """Remember a type that NumPy itself does not have (bfloat16)."""
    _DTYPES[name] = np.dtype(dtype)


def dtype_of(name: str) -> Any:
    """The type of a name; ValueError where there is none that is numbers."""
    if name == "bfloat16" and name not in _DTYPES:
        # Who only hands it on, or is handed the first, has met no array of it yet.
        know_dtype(name, tensorflow().v1.bfloat16.as_numpy_dtype)
    if name in _DTYPES:
        return _DTYPES[name]
    try:
        dtype = np.dtype(name)
    except TypeError as error:
        raise ValueError(f"no type {name!r}: {error}") from None
    if dtype.kind not in "biufc":
        raise ValueError(f"{name!r} is no type of numbers")
    return dtype


def write(stream: socket.socket, header: Dict[str, Any], arrays: Sequence[Any] = ()) -> None:
    """Send a message; OSError when the other side is gone."""
    plain = [_plain(array) for array in arrays]
    header = {**header, "arrays": [entry for entry, _ in plain]}
    text = json.dumps(header).encode("utf-8")
    if len(text) > _LARGEST_HEADER or len(plain) > _MOST_ARRAYS:
        raise ValueError("the message is larger than an exchange takes")
    stream.sendall(_LENGTH.pack(len(text)) + text)
    for _, content in plain:
        if len(content):
            stream.sendall(content)


def read(stream: socket.socket) -> Optional[Tuple[Dict[str, Any], List[Any]]]:
    """The next message; None at the end of the stream. ValueError for what is no message."""
    head = _take(stream, _LENGTH.size)
    if head is None:
        return None
    length = _LENGTH.unpack(bytes(head))[0]
    if length > _LARGEST_HEADER:
        raise ValueError("a header is too long")
    text = _take(stream, length)
    if text is None:
        return None
    try:
        header = json.loads(bytes(text).decode("utf-8"))
        entries = header.pop("arrays")
        if len(entries) > _MOST_ARRAYS:
            raise ValueError("too many tensors")
        arrays = []
        for entry in entries:
            array = _array(stream, entry)
            if array is None:
                return None
            arrays.append(array)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no message: {error}") from None
    return header, arrays


def _plain(array: Any) -> Tuple[Dict[str, Any], Any]:
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        texts = [one if isinstance(one, bytes) else str(one).encode("utf-8") for one in array.reshape([-1]).tolist()]
        lengths = np.array([len(one) for one in texts], np.int64)
        entry = {"dtype": "bytes", "shape": list(array.shape), "bytes": sum(lengths.tolist())}
        return entry, lengths.tobytes() + b"".join(texts)
    content = np.ascontiguousarray(array).reshape([-1]).view(np.uint8)
    return {"dtype": array.dtype.name, "shape": list(array.shape)}, content.data


def _array(stream: socket.socket, entry: Dict[str, Any]) -> Any:
    shape = [int(size) for size in entry["shape"]]
    count = 1
    for size in shape:
        if size < 0:
            raise ValueError("a negative size")
        count *= size
    if entry["dtype"] == "bytes":
        total = int(entry["bytes"])
        _check(8 * count + total)
        content = _take(stream, 8 * count + total)
        if content is None:
            return None
        lengths = np.frombuffer(content, np.int64, count).tolist()
        if any(length < 0 for length in lengths) or sum(lengths) != total:
            raise ValueError("texts whose lengths contradict each other")
        ends = np.cumsum([8 * count, *lengths]).tolist()
        texts = np.empty([count], object)
        texts[:] = [bytes(content[begin:end]) for begin, end in zip(ends, ends[1:])]
        return texts.reshape(shape)
    dtype = dtype_of(entry["dtype"])
    _check(count * dtype.itemsize)
    content = _take(stream, count * dtype.itemsize)
    return None if content is None else np.frombuffer(content, np.uint8).view(dtype).reshape(shape)


def _check(size: int) -> None:
    if not 0 <= size <= _LARGEST_ARRAY:
        raise ValueError("a tensor is too large")


def _take(stream: socket.socket, count: int) -> Optional[bytearray]:
    content = bytearray(count)
    view, got = memoryview(content), 0
    while got < count:
        read_now = stream.recv_into(view[got:], min(count - got, 1 << 24))
        if not read_now:
            return None
        got += read_now
    return content
