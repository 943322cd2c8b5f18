"""Reads device files: which devices there are, and what is wrong with a user's own file, by line."""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

import tomli

from npu_reference import reading
from npu_reference.errors import NpuError
from npu_reference.hardware.device import ORIGINS, PARAMETERS, Device, Figure, out_of_range
from npu_reference.place import FOLDER
from npu_reference.spelling import did_you_mean

__all__ = ["built_in", "load", "names"]

_BUILT_IN = os.path.join(FOLDER, "hardware", "data", "devices.toml")
_MAX_BYTES = 1 << 20
_DEFAULT = "Ascend910A"
_LARGEST = 1e18  # beyond what any quantity of a device is (assumed), and exact in none of its sums


@functools.lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Device]:
    return _read(_BUILT_IN, {})


def names() -> Tuple[str, ...]:
    """The devices that ship, the default first."""
    return tuple(sorted(_shipped(), key=lambda name: (name != _DEFAULT, name)))


def built_in(name: str = _DEFAULT) -> Device:
    """A device by name. NpuError DEVICE_FILE when there is none."""
    found = _shipped().get(name)
    if found is None:
        raise NpuError("DEVICE_FILE", name, "there is no device of this name.", f"There are {', '.join(names())}.")
    return found


def load(spec: str) -> Device:
    """The device that ``NAME``, ``FILE.toml`` or ``FILE.toml:NAME`` stands for.

    Raises:
        NpuError: DEVICE_FILE with file and line: no such device or file, no TOML, an unknown or missing key, a wrong
            unit, a value that cannot be.
    """
    path, _, name = spec.partition(":") if ".toml" in spec else ("", "", spec)
    if not path:
        return built_in(name)
    devices = _read(path, _shipped())
    if name:
        if name not in devices:
            raise NpuError("DEVICE_FILE", path, f"it has no device {name!r}.", f"It has {', '.join(sorted(devices))}.")
        return devices[name]
    if len(devices) != 1:
        raise NpuError("DEVICE_FILE", path, "it has several devices.", f"Name one: {path}:{sorted(devices)[0]}.")
    return next(iter(devices.values()))


def _read(path: str, known: Mapping[str, Device]) -> Dict[str, Device]:
    text = _text(path)
    try:
        document = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError) as error:
        raise NpuError("DEVICE_FILE", path, f"it is no TOML: {error}.") from None
    lines = _Lines(text)
    found: Dict[str, Device] = {}
    for name, table in document.items():
        where = f"{path}:{lines.of(name)}"
        if not isinstance(table, dict):
            raise NpuError("DEVICE_FILE", where, f"{name} is no table.", f"Write [{name}] and its keys below.")
        found[name] = _device(name, table, {**known, **found}, path, lines)
    if not found:
        raise NpuError("DEVICE_FILE", path, "it has no device.", 'Write [NAME], like = "Ascend910A" and what differs.')
    return found


def _text(path: str) -> str:
    try:
        return reading.text(path, _MAX_BYTES)
    except reading.FileProblem as problem:
        raise NpuError("DEVICE_FILE", path, f"it cannot be read: it {problem}.") from None


def _device(name: str, table: Dict[str, Any], known: Mapping[str, Device], path: str, lines: _Lines) -> Device:
    table = dict(table)
    like = table.pop("like", None)
    figures: Dict[str, Figure] = {}
    if like is not None:
        if like not in known:
            where = f"{path}:{lines.of(name, 'like')}"
            raise NpuError("DEVICE_FILE", where, f"there is no device {like!r}.", f"There are {', '.join(known)}.")
        figures.update(known[like].figures)
    for key, value in table.items():
        where = f"{path}:{lines.of(name, key)}"
        if key not in PARAMETERS:
            remedy = did_you_mean(key, PARAMETERS, "All are in: npu-conformance docs device.")
            raise NpuError("DEVICE_FILE", where, f"{key} is no parameter of a device.", remedy)
        figures[key] = _figure(key, value, where)
    missing = [key for key in PARAMETERS if key not in figures]
    if missing:
        where = f"{path}:{lines.of(name)}"
        remedy = f'Give it in {PARAMETERS[missing[0]].unit}, or begin with like = "{_DEFAULT}".'
        raise NpuError("DEVICE_FILE", where, f"{name} has no {missing[0]}.", remedy)
    return Device(name, figures)


def _figure(key: str, value: Any, where: str) -> Figure:
    declared = PARAMETERS[key]
    form = f'Write {key} = {{ value = 1, unit = "{declared.unit}", origin = "user" }}.'
    if not isinstance(value, dict) or set(value) - {"value", "unit", "origin"} or "value" not in value:
        raise NpuError("DEVICE_FILE", where, f"{key} is no table of value, unit and origin.", form)
    if value.get("unit") != declared.unit:
        raise NpuError("DEVICE_FILE", where, f"{key} is in {value.get('unit')!r}, not in {declared.unit}.", form)
    origin = value.get("origin", "user")
    if origin not in ORIGINS:
        raise NpuError("DEVICE_FILE", where, f"{origin!r} is no origin.", f"Origins are {', '.join(ORIGINS)}.")
    number = value["value"]
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) <= _LARGEST:
        raise NpuError("DEVICE_FILE", where, f"the value of {key} is no number of a device.", form)
    wrong, right = out_of_range(key, number)
    if wrong:
        raise NpuError("DEVICE_FILE", where, f"{key} cannot be {number:g} {declared.unit}: {right}.", form)
    return Figure(number, origin)


class _Lines:
    """Lines of a TOML text on which its tables and their keys stand; the parser does not tell."""

    _TABLE = re.compile(r"\s*\[\s*\"?([^\]\"]+?)\"?\s*\]")
    _KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*=")

    def __init__(self, text: str) -> None:
        self._found: Dict[Tuple[str, Optional[str]], int] = {}
        table = ""
        rows: List[str] = text.split("\n")
        for number, line in enumerate(rows, 1):
            header = self._TABLE.match(line)
            key = self._KEY.match(line)
            if header:
                table = header.group(1)
                self._found.setdefault((table, None), number)
            elif key:
                self._found.setdefault((table, key.group(1)), number)
                self._found.setdefault((key.group(1), None), number)

    def of(self, table: str, key: Optional[str] = None) -> int:
        """The line, or 1 where it is written in a way this does not follow."""
        return self._found.get((table, key), self._found.get((table, None), 1))
