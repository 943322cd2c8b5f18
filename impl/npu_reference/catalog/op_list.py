"""Which TensorFlow operators the device has: the built-in list, or one in the adapter's own JSON form."""

from __future__ import annotations

import csv
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference import reading
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["OpEntry", "OpList"]

_BUILT_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "operators.csv")

#: Bounds on a list from a user (assumed: the built-in list has about a thousand operators and 100 KB).
_MAX_BYTES = 16 << 20
_FORM = 'Write {"Operator": {"isGray": false, "isHeavy": false}, …}.'


class OpEntry(NamedTuple):
    """One operator of the device: `is_gray` keeps it on the host in mixed computing, `is_heavy` marks it costly."""

    is_gray: bool = False
    is_heavy: bool = False


class OpList:
    """The operators the device has, by TensorFlow name; immutable."""

    __slots__ = ("_entries", "name")

    _built_in: Optional[OpList] = None

    def __init__(self, entries: Mapping[str, OpEntry], name: str) -> None:
        self._entries: Dict[str, OpEntry] = dict(entries)
        self.name = name

    def get(self, op: str) -> Optional[OpEntry]:
        """The operator's entry, or None: the device has no such operator."""
        return self._entries.get(op)

    def __contains__(self, op: object) -> bool:
        return op in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def with_operator(self, op: str) -> OpList:
        """The list with one more operator, neither gray nor heavy."""
        return OpList({**self._entries, op: OpEntry()}, self.name)

    @staticmethod
    def built_in() -> OpList:
        """The list of the simulated device; `data/operators.csv` names the source of every line."""
        if OpList._built_in is None:
            with open(_BUILT_IN, encoding="ascii", newline="") as stream:
                rows = csv.reader(stream)
                op, gray, heavy = map(next(rows).index, ("op", "gray", "heavy"))
                entries = {row[op]: OpEntry(row[gray] != "", row[heavy] != "") for row in rows}
            OpList._built_in = OpList(entries, "the built-in operator list")
        return OpList._built_in

    @staticmethod
    def load(path: str) -> OpList:
        """A list from a JSON file; NpuError OP_LIST."""
        try:
            text = reading.text(path, _MAX_BYTES)
        except reading.FileProblem as problem:
            raise NpuError("OP_LIST", shorten(str(path), 400), f"it cannot be read: it {problem}.") from None
        return OpList.parse(text, str(path))

    @staticmethod
    def parse(text: str, subject: str = "<op_list>") -> OpList:
        """A list from JSON text; NpuError OP_LIST with the place of what is wrong."""
        try:
            root = json.loads(text, object_pairs_hook=_Pairs, parse_int=_number)
        except RecursionError:
            raise NpuError("OP_LIST", subject, "it is nested too deeply.", _FORM) from None
        except ValueError as problem:
            line = getattr(problem, "lineno", None)
            where = f"{subject}:{line}" if line else subject
            raise NpuError("OP_LIST", where, f"it is not JSON: {getattr(problem, 'msg', problem)}.", _FORM) from None
        return OpList(_entries(root, subject), subject)

    def to_json(self) -> Dict[str, Dict[str, bool]]:
        """The list in the adapter's form."""
        return {op: {"isGray": e.is_gray, "isHeavy": e.is_heavy} for op, e in sorted(self._entries.items())}


def _number(digits: str) -> float:
    """A number is as wrong here as any other, however many digits it has."""
    return float(digits)


class _Pairs(List[Tuple[str, Any]]):
    """A JSON object with its duplicates."""


def _entries(root: Any, subject: str) -> Dict[str, OpEntry]:
    if not isinstance(root, _Pairs):
        raise NpuError("OP_LIST", subject, f"it is {_kind(root)}, not an object.", _FORM)
    entries: Dict[str, OpEntry] = {}
    for op, value in root:
        if op in entries:
            raise NpuError("OP_LIST", f"{subject}: {op}", "the operator is listed twice.")
        entries[op] = _entry(op, value, subject)
    return entries


def _entry(op: str, value: Any, subject: str) -> OpEntry:
    where = f"{subject}: {op}"
    if not op:
        raise NpuError("OP_LIST", subject, "an operator has no name.", _FORM)
    if not isinstance(value, _Pairs):
        raise NpuError("OP_LIST", where, f"its entry is {_kind(value)}, not an object.", _FORM)
    flags = {"isGray": False, "isHeavy": False}
    names = [key for key, _ in value]
    for key, flag in value:
        if key in flags:
            if names.count(key) > 1:
                raise NpuError("OP_LIST", where, f"{key} is given twice.", "Write it once.")
            if not isinstance(flag, bool):
                raise NpuError("OP_LIST", where, f"{key} is {_kind(flag)}, not true or false.")
            flags[key] = flag
    return OpEntry(flags["isGray"], flags["isHeavy"])


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, word in ((bool, "a truth value"), (_Pairs, "an object"), (list, "a list"), (str, "a text")):
        if isinstance(value, kind):
            return word
    return "a number"
