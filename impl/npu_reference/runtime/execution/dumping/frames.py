"""What is written of an operator: its description and the bytes of its tensors."""

from __future__ import annotations

import json
import sys
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.dumps.form import Description, Tensor, opening, packed
from npu_reference.dumps.names import file_name
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Dtypes", "FileFrame", "Meta", "meta_of", "tensor_of"]

#: Dtypes that an operator's inputs and outputs are computed at, and its engine.
Dtypes = Tuple[Tuple[str, ...], Tuple[str, ...], str]

_BYTE = np.dtype(np.uint8)

#: Dtypes whose arrays the system takes as they are; NumPy hands no buffer out of others, such as bfloat16.
_OWN = frozenset("?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"])


class Meta(NamedTuple):
    """What a callback knows of its operator; dtypes are the graph's.

    Attributes:
        op: its name; in the body of a function that is called, below the call's.
        function, node: the function, empty for a GEOP, and what the operator is called there: whatever is decided of it
            is so for all calls.
    """

    op: str
    function: str
    node: str
    op_type: str
    task: int
    inputs: Tuple[int, ...]  # their positions among all inputs
    outputs: Tuple[int, ...]
    format: str


class FileFrame:
    """What is the same of all files of one operator, and of most of them: all but time and values."""

    def __init__(self, meta: Meta, dtypes: Optional[Dtypes]) -> None:
        self.meta = meta
        self.name = file_name(meta.op_type, meta.op, meta.task, 0, 0)[:-1]
        ends = [(0, position) for position in meta.inputs] + [(1, slot) for slot in meta.outputs]
        # Where the device computes at float16 the values are the graph's float32 ones still.
        self._wanted = tuple(_at(dtypes[side], at) if dtypes is not None else "" for side, at in ends)
        self._as_given = "float16" not in self._wanted
        self._known: Optional[List[Any]] = None
        self._start, self._buffers = b"", False

    def parts(self, arrays: Sequence[Any], stamp: int) -> List[Any]:
        """A whole file: its description, and the bytes of every tensor."""
        key = [(array.dtype, array.shape) for array in arrays]
        if key == self._known:
            start = self._start + packed(stamp)
            return [start, *arrays] if self._buffers else [start, *map(_bytes_of, arrays)]
        meta = self.meta
        count = len(meta.inputs)
        found = [
            tensor_of(array, wanted, meta.format, *(("", 0) if at < count else (meta.op, meta.outputs[at - count])))
            for at, (array, wanted) in enumerate(zip(arrays, self._wanted))
        ]
        tensors = tuple(tensor for tensor, _ in found)
        start = opening(Description(meta.op, 0, tensors[:count], tensors[count:]))
        if self._as_given and all(_is_plain(array) for array in arrays):
            self._known, self._start = key, start
            self._buffers = all(array.dtype.char in _OWN for array in arrays)
        return [start + packed(stamp), *(data for _, data in found)]


def _bytes_of(array: Any) -> Any:
    return array.reshape(-1).view(_BYTE)


def _is_plain(array: Any) -> bool:
    """Whether an array's memory is what a file has: in one piece and little-endian."""
    return bool(array.flags.c_contiguous) and array.dtype.isnative and sys.byteorder == "little"


def _at(dtypes: Sequence[str], position: int) -> str:
    return dtypes[position] if position < len(dtypes) else ""


def tensor_of(array: Any, dtype: str, layout: str, source: str, slot: int) -> Tuple[Tensor, Any]:
    """A tensor's description and its bytes, little-endian.

    Args:
        dtype: what the device computes it at; float16 makes float32 values float16 ones, which they are already.
    """
    array = np.asarray(array)
    if dtype == "float16" and array.dtype == np.float32:
        with np.errstate(over="ignore"):
            array = np.clip(array, -65504.0, 65504.0).astype(np.float16)
    name = array.dtype.name if array.dtype.name in BY_NAME else str(tensorflow().v1.as_dtype(array.dtype).name)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    tensor = Tensor(name, tuple(array.shape), array.nbytes, layout if array.ndim == 4 else "ND", source, slot)
    return tensor, array.reshape(-1).view(_BYTE)


def meta_of(text: bytes) -> Meta:
    op, function, node, op_type, task, inputs, outputs, layout = json.loads(text.decode("ascii"))
    return Meta(op, function, node, op_type, task, tuple(inputs), tuple(outputs), layout)
