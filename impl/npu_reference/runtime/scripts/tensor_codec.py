"""How tensors of the worker protocol become NumPy arrays, and back."""

from __future__ import annotations

import base64
import binascii
import os
import struct
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from npu_reference.errors import NpuError
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["from_wire", "to_wire"]

#: Tensors above this size travel as a file (worker protocol 1).
_INLINE_BYTES = 64 << 10


def from_wire(name: str, tensor: Mapping[str, Any]) -> np.ndarray:
    """The array a feed stands for; strings are bytes objects.

    Raises:
        NpuError: PROTOCOL, when content, dtype and shape do not fit together.
    """
    raw = _content(name, tensor)
    shape = tuple(tensor["shape"])
    try:
        if tensor["dtype"] == "string":
            return np.array(_strings(raw), dtype=object).reshape(shape)
        dtype = np.dtype(tensorflow().v1.as_dtype(tensor["dtype"]).as_numpy_dtype)
        if dtype.byteorder == "=" and dtype.kind in "iufc":
            dtype = dtype.newbyteorder("<")
        return np.frombuffer(raw, dtype).reshape(shape)
    except (TypeError, ValueError, struct.error) as error:
        raise NpuError("PROTOCOL", f"feed {name}", f"its content does not fit dtype and shape: {error}.") from None


def to_wire(name: str, value: Any, folder: Optional[str] = None) -> Dict[str, Any]:
    """A fetched value for the protocol; in a file of ``folder`` above 64 KiB, if there is one."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        items = [item if isinstance(item, bytes) else str(item).encode("utf-8") for item in array.ravel().tolist()]
        dtype, raw = "string", b"".join(struct.pack("<I", len(item)) + item for item in items)
    else:
        dtype = str(tensorflow().v1.as_dtype(array.dtype).name)
        little = array.dtype.newbyteorder("<") if array.dtype.kind in "iufc" else array.dtype
        raw = np.ascontiguousarray(array.astype(little, copy=False)).tobytes()
    head: Dict[str, Any] = {"dtype": dtype, "shape": list(array.shape)}
    if len(raw) <= _INLINE_BYTES or folder is None:
        head["b64"] = base64.b64encode(raw).decode("ascii")
        return head
    path = os.path.join(folder, "".join(c if c.isalnum() else "_" for c in name) + ".bin")
    with open(path, "wb") as stream:
        stream.write(raw)
    head["file"] = path
    return head


def _content(name: str, tensor: Mapping[str, Any]) -> bytes:
    try:
        if "file" in tensor:
            with open(tensor["file"], "rb") as stream:
                return stream.read()
        return base64.b64decode(tensor["b64"], validate=True)
    except (OSError, KeyError, TypeError, ValueError, binascii.Error) as error:
        raise NpuError("PROTOCOL", f"feed {name}", f"it has neither valid b64 nor a readable file: {error}.") from None


def _strings(raw: bytes) -> List[bytes]:
    found, at = [], 0
    while at < len(raw):
        length = struct.unpack_from("<I", raw, at)[0]
        found.append(raw[at + 4 : at + 4 + length])
        at += 4 + length
    return found
