"""Which faults a simulated device can be asked to have, and how what a user writes is read as some of them.

No device has a fault unless it was asked for: by the protocol's ``faults``, ``simulate --fault``, or the Python API.
Whatever comes of one says so.
"""

from __future__ import annotations

import errno
import os
import re
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from npu_reference import reading, strict_json
from npu_reference.errors import NpuError
from npu_reference.spelling import did_you_mean

__all__ = ["ASKED", "FIELDS", "KINDS", "NONE", "DiskFault", "Fault", "FaultKind", "Faults", "parse", "parse_text"]

#: What every message that comes of a fault ends with, so that nobody looks for a defect where there is none.
ASKED = "This fault was asked for"

_MOST = 100  # faults of one request (assumed: more than anybody tells apart)
_LARGEST_FILE = 1 << 20


class FaultKind(NamedTuple):
    """A kind of fault: what it is, the fields it must have, and those it may have beside ``rank``."""

    name: str
    meaning: str
    needs: Tuple[str, ...] = ()
    takes: Tuple[str, ...] = ()


#: Every kind, once. The protocol's schema, the command line's help and the pages are made from it.
KINDS: Mapping[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind("hang", "a kernel does not end, or ends that many seconds late", (), ("node", "at", "seconds")),
        FaultKind(
            "unmatched_flag", "a kernel waits for a signal between its pipes that nobody sets", (), ("node", "at")
        ),
        FaultKind(
            "lost_event",
            "a kernel's stream waits for an event that is not recorded, or that many seconds late",
            (),
            ("node", "at", "seconds"),
        ),
        FaultKind(
            "stalled_stream", "the host waits for the stream, which ends seconds late or never", (), ("at", "seconds")
        ),
        FaultKind(
            "stalled_event", "the host waits for an event, which comes seconds late or never", (), ("at", "seconds")
        ),
        FaultKind(
            "out_of_bounds",
            "a kernel writes past the end of its output, by one byte or by `past`; 0 ends exactly there",
            (),
            ("node", "at", "past"),
        ),
        FaultKind("overflow", "a kernel's result overflows and sets the float status", (), ("node", "at")),
        FaultKind(
            "lost_peer",
            "a rank does not come to collectives, from the one after `after` on, or comes seconds late",
            (),
            ("after", "seconds"),
        ),
        FaultKind(
            "disk_full", "the disk is full once `after` bytes of files of the device are written", (), ("after",)
        ),
        FaultKind("kernel_failure", "a kernel fails to compile", (), ("node",)),
    )
}


class _Field(NamedTuple):
    meaning: str
    least: Optional[int]  # None: text
    whole: bool = True


#: Every field of a fault but its kind.
FIELDS: Mapping[str, _Field] = {
    "node": _Field("the operator; without it the first kernel of the step", None),
    "rank": _Field("the rank that has it; without it every one, and of lost_peer the last one", 0),
    "at": _Field("only that execution of the operator, from 1; of a loop each iteration counts", 1),
    "after": _Field("how many come before it: collectives, or bytes", 0),
    "seconds": _Field("how late, on the virtual clock; without it for ever", 0, False),
    "past": _Field("bytes past the end of the buffer", 0),
}

_NODE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]{0,999}\Z")


class Fault(NamedTuple):
    """One fault, see :data:`KINDS` and :data:`FIELDS`. What is None was not said."""

    kind: str
    node: Optional[str] = None
    rank: Optional[int] = None
    at: Optional[int] = None
    after: Optional[int] = None
    seconds: Optional[float] = None
    past: Optional[int] = None

    def of(self, rank: int) -> bool:
        """Whether the device of this rank has it."""
        return self.rank is None or self.rank == rank

    def during(self, first: int, last: int) -> bool:
        """Whether one of these executions has it; from 1, both ends included."""
        return self.at is None or first <= self.at <= last

    @property
    def nanoseconds(self) -> Optional[int]:
        """How late; None: for ever."""
        return None if self.seconds is None else round(self.seconds * 10**9)

    @property
    def asked(self) -> str:
        """The sentence that says that it was asked for, with its text as ``--fault`` takes it."""
        return f"{ASKED}: {self.text}."

    @property
    def text(self) -> str:
        """As :func:`parse_text` reads it."""
        where = ("" if self.node is None else f":{self.node}") + ("" if self.at is None else f"@{self.at}")
        rest = [(name, getattr(self, name)) for name in ("rank", "after", "seconds", "past")]
        return self.kind + where + "".join(f",{name}={value}" for name, value in rest if value is not None)

    def to_json(self) -> Dict[str, object]:
        """As the protocol has it."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Faults(NamedTuple):
    """What a device was asked to suffer; none of it, by default."""

    items: Tuple[Fault, ...] = ()

    def of(self, *kinds: str, rank: int = 0) -> List[Fault]:
        """Those of some kinds that the device of a rank has, in the order given."""
        return [fault for fault in self.items if fault.kind in kinds and fault.of(rank)]

    def without(self, *kinds: str) -> Faults:
        """Those of other kinds."""
        return Faults(tuple(fault for fault in self.items if fault.kind not in kinds))

    def nodes(self) -> Iterator[str]:
        """Operators that they name."""
        return (fault.node for fault in self.items if fault.node is not None)

    def check_nodes(self, known: Iterable[str]) -> None:
        """See that every operator named exists.

        Raises:
            NpuError: FAULT_VALUE with the name that is nearest.
        """
        names = set(known)
        for fault in self.items:
            if fault.node is not None and fault.node not in names:
                remedy = did_you_mean(fault.node, names)
                raise NpuError("FAULT_VALUE", fault.text, "there is no operator of this name.", remedy)

    def disk(self, rank: int = 0) -> DiskFault:
        """The disk that files of the device are written to."""
        full = self.of("disk_full", rank=rank)
        return DiskFault(full[0] if full else None)

    def to_json(self) -> List[Dict[str, object]]:
        """As the protocol has it."""
        return [fault.to_json() for fault in self.items]


#: What every device has that nobody asked for anything else.
NONE = Faults()


class DiskFault:
    """Takes bytes until the fault says that it is full, over all files; without one for ever."""

    def __init__(self, fault: Optional[Fault] = None) -> None:
        self._fault = fault
        self._left = None if fault is None else fault.after or 0

    @property
    def fault(self) -> Optional[Fault]:
        return self._fault

    def write(self, stream: BinaryIO, data: bytes) -> None:
        """Write what fits.

        Raises:
            OSError: ENOSPC, as of a real disk, when not all did; what fitted is written.
        """
        if self._left is None or self._fault is None:
            stream.write(data)
            return
        fits = min(self._left, len(data))
        self._left -= fits
        stream.write(data[:fits])
        if fits < len(data):
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}. {self._fault.asked}")


def parse(given: Union[str, os.PathLike[str], Sequence[Any], None]) -> Faults:
    """Faults as the protocol has them.

    Args:
        given: a list of objects, or the path of a JSON file that holds one; None for none.

    Raises:
        NpuError: FAULT_VALUE: an entry is no fault, and what would be right.
    """
    if given is None:
        return NONE
    where = "faults"
    if isinstance(given, (str, os.PathLike)):
        where = os.fspath(given)
        given = _read(where)
    if not isinstance(given, (list, tuple)):
        raise NpuError("FAULT_VALUE", where, "a list of faults belongs here.", 'For example [{"kind": "hang"}].')
    if len(given) > _MOST:
        raise NpuError("FAULT_VALUE", where, f"{len(given)} faults are more than the {_MOST} that can be asked for.")
    return Faults(tuple(_fault(entry, f"{where}[{number}]") for number, entry in enumerate(given)))


def parse_text(texts: Iterable[str]) -> Faults:
    """Faults as the command line has them: ``KIND[:NODE][@EXECUTION][,FIELD=NUMBER ...]``, or the path of a file that
    ends in ``.json``.

    Raises:
        NpuError: FAULT_VALUE.
    """
    found: List[Fault] = []
    for text in texts:
        if text.endswith(".json"):
            found.extend(parse(text).items)
            continue
        head, *rest = text.split(",")
        head, _, at = head.partition("@")
        kind, _, node = head.partition(":")
        entry: Dict[str, Any] = {"kind": kind}
        if node or ":" in head:
            entry["node"] = node
        if "@" in text.split(",")[0]:
            entry["at"] = _number(at)
        for part in rest:
            name, equals, value = part.partition("=")
            if not equals:
                raise NpuError("FAULT_VALUE", text, f"{part!r} is no field with a value.", _FORM)
            if name in entry:
                raise NpuError("FAULT_VALUE", text, f"{name} is given twice.")
            entry[name] = value if name == "node" else _number(value)
        found.append(_fault(entry, text))
    return parse([fault.to_json() for fault in found])


_FORM = "A fault is written as hang, hang:dense/MatMul, hang:dense/MatMul@2 or hang,seconds=60."


def _number(text: str) -> Any:
    """The number that a text is; the text itself where it is none, for the message."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _read(path: str) -> Any:
    try:
        return strict_json.loads(reading.text(path, _LARGEST_FILE))
    except reading.FileProblem as problem:
        raise NpuError("FAULT_VALUE", path, f"the file cannot be read: it {problem}.") from None
    except strict_json.Repeated as error:
        raise NpuError("FAULT_VALUE", path, f"{error}.", "Write it once.") from None
    except (ValueError, RecursionError) as error:
        raise NpuError("FAULT_VALUE", path, f"the file is no JSON: {error}.") from None


def _fault(entry: Any, where: str) -> Fault:
    if not isinstance(entry, dict):
        raise NpuError(
            "FAULT_VALUE", where, "a fault is an object.", 'For example {"kind": "hang", "node": "dense/MatMul"}.'
        )
    name = entry.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        hint = did_you_mean(str(name), KINDS)
        raise NpuError(
            "FAULT_VALUE", where, f"there is no kind of fault {name!r}." if name is not None else "it has no kind.",
            f"{hint} Kinds are {', '.join(KINDS)}.".lstrip(),
        )  # fmt: skip
    allowed = ("rank", *kind.needs, *kind.takes)
    for field in entry:
        if field != "kind" and field not in allowed:
            raise NpuError("FAULT_VALUE", where, f"{name} has no field {field!r}.", f"It takes {', '.join(allowed)}.")
    for field in kind.needs:
        if field not in entry:
            raise NpuError("FAULT_VALUE", where, f"{name} needs {field}: {FIELDS[field].meaning}.")
    return Fault(kind.name, **{field: _value(entry[field], field, where) for field in entry if field != "kind"})


def _value(value: Any, name: str, where: str) -> Any:
    field = FIELDS[name]
    if field.least is None:
        if not isinstance(value, str) or not _NODE.match(value):
            raise NpuError("FAULT_VALUE", where, f"{name} is {value!r}, and not the name of an operator.")
        return value
    right = isinstance(value, int) or (isinstance(value, float) and not field.whole)
    if isinstance(value, bool) or not right or not field.least <= value <= _LARGEST:
        kind = "whole number" if field.whole else "number"
        raise NpuError(
            "FAULT_VALUE", where, f"{name} is {value!r}, and not a {kind} from {field.least} to {_LARGEST:,}."
        )
    return value


_LARGEST = 10**12
