"""Facts of dump files: where they lie, of which steps and operators they are, and what they describe."""

from __future__ import annotations

import re
import struct
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.observing import tensors
from npu_conformance.observing.left_files import About, Left, Triples, kind
from npu_conformance.observing.naming import brief
from npu_reference.dumps import form, names
from npu_reference.errors import NpuError

__all__: List[str] = []

_PLACE = re.compile(r"(?:(?P<base>.+)/)?(?P<time>\d{14})/(?P<device>\d+)/[^/]+/\d+/(?P<step>\d+)\Z")
_SHOWN = 300  # characters of a tensor's bits
_NUMBER = re.compile(r"\d{8,}")
_DEVICE = re.compile(r"(.*extra-info/data-dump/)(\d+)\Z")


def _recognises(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    # A name too long for a file is a number; the operator's own is in the description.
    if names.parse(base) is not None or base == names.MAPPING or _NUMBER.fullmatch(base):
        return True
    return _PLACE.match(folder) is not None or _DEVICE.match(folder) is not None


@kind("dump", _recognises)
def _dumps(found: Sequence[Left], about: About) -> Triples:
    fetched = _fetched(about.answer)
    for one in found:
        folder, _, name = one.name.rpartition("/")
        if name == names.MAPPING:
            continue
        said = names.parse(name)
        placed = _PLACE.match(folder)
        read = _read(one)
        op = brief(read[0].op_name if read is not None else said.op_name if said is not None else name)
        device = _DEVICE.match(folder)
        if placed is not None:
            base = brief(placed["base"] or ".")
            words = f"dump {base} step {placed['step']} {op}"
            yield "dump_steps", placed["step"], f"dump {base} step {placed['step']}"
            yield "dump_devices", placed["device"], f"dump {base} of device {placed['device']}"
        elif (said is None and (device or read)) or (said is not None and said.stream is None):
            nameless = brief(f"{device.group(1)}<device>" if device is not None else folder or ".")
            words = f"exception_dump {nameless} {op}"
            if device is not None:
                yield "dump_devices", device.group(2), f"exception_dump {nameless} of device {device.group(2)}"
        else:
            yield "files", one.name, f"file {one.name} elsewhere"
            continue
        aspect = "dump" if placed is not None else "exception_dump"
        if read is None:
            # Of a large file only its size is told.
            size = f"{words} bytes {one.size}" if one.content is None else f"{words} unreadable"
            yield (f"{aspect}_sizes" if one.content is None else aspect), op, size
            continue
        if name.startswith("Opdebug."):
            yield "overflow_dump", "", words.replace(op, "overflow status", 1)
            continue
        yield from _tensors(aspect, words, *read, fetched)


def _tensors(
    aspect: str, words: str, description: form.Description, data: Sequence[bytes], fetched: Mapping[Any, str]
) -> Triples:
    op = brief(description.op_name)
    ends = [("input", *pair) for pair in enumerate(description.inputs)]
    ends += [("output", *pair) for pair in enumerate(description.outputs)]
    for (side, number, tensor), raw in zip(ends, data):
        if aspect == "exception_dump" and tensor.shape is None:
            yield aspect, op, f"{words} {side} {number} without shape"
        else:
            shape = "?" if tensor.shape is None else ",".join(str(size) for size in tensor.shape)
            layout = f" {tensor.format}" if aspect == "exception_dump" else ""
            yield aspect, op, f"{words} {side} {number} {tensor.dtype} [{shape}]{layout}"
        if tensor.size and (side == "input" or aspect == "dump"):  # of what failed no result was written
            # A lite dump describes no tensor: its bytes stand as they lie there.
            known = tensor.shape is not None and tensor.dtype in tensors.DTYPES
            shown = tensors.bits(tensor.dtype, raw) if known else raw.hex()
            if len(shown) <= _SHOWN:
                yield f"{aspect}_bits", op, f"{words} {side} {number} holds {shown}"
        name = fetched.get((tensor.dtype, tensor.shape, raw))
        if side == "output" and aspect == "dump" and name is not None and tensor.size:
            yield "dump_values", op, f"{words} {side} {number} is fetch {name}"
    if aspect == "exception_dump":
        if description.spaces:
            yield aspect, op, f"{words} workspace"
        if description.attr("tiling"):
            yield aspect, op, f"{words} tiling"


def _read(one: Left) -> Optional[Tuple[form.Description, List[bytes]]]:
    """The description of a file and the bytes of its tensors; None where it is none, or was not told whole."""
    if one.content is None or len(one.content) < 8:
        return None
    length = struct.unpack("<Q", one.content[:8])[0]
    if length > len(one.content) - 8:
        return None
    try:
        description = form.decode(one.content[8 : 8 + length])
    except NpuError:
        return None
    at, data = 8 + length, []
    for tensor in (*description.inputs, *description.outputs):
        data.append(one.content[at : at + tensor.size])
        at += tensor.size
    at += sum(space.size for space in description.spaces)
    return (description, data) if at == len(one.content) else None


def _fetched(answer: Mapping[str, Any]) -> Dict[Any, str]:
    found = {}
    for name, tensor in sorted(answer.get("fetches", {}).items()):
        if "b64" in tensor and tensor["dtype"] != "string":
            found[tensor["dtype"], tuple(tensor["shape"]), tensors.decode_bytes(tensor, None)] = name
    return found
