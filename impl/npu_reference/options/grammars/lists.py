"""Which items the comma lists name: engines with numbers, operator types, passes, devices, tuning algorithms."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Tuple

from npu_reference.options.grammars.scanner import Scanner, ScannerNote, few, taken

__all__ = [
    "Bytes",
    "Devices",
    "NameList",
    "Parallelism",
    "parse_bytes",
    "parse_algorithms",
    "parse_devices",
    "parse_names",
    "parse_optypes",
    "parse_parallelism",
    "parse_scope_passes",
]

_BLANKS = re.compile(r"[ \t]*")
_WORD = re.compile(r"[^\s,;:=\x00-\x1f]+")
_MAX_BYTES = 256 * 1024**3
#: ``assumed``; the documents' own products have four.
_MAX_FACTORS = 8

#: Operator types with a choice of implementation, by document 002 and 003 § optypelist_for_implmode.
IMPLMODE_TYPES = ("Pooling", "SoftmaxV2", "LRN", "ROIAlign")
ALGORITHMS = ("RL", "GA")

#: The scope fusion passes that documents 002 and 003 name; a program may register passes of its own.
SCOPE_PASSES = ("ScopeLayerNormPass", "ScopeClipBoxesPass")


class NameList(NamedTuple):
    """Names in order; ``notes`` are about those that are ignored."""

    names: Tuple[str, ...]
    notes: Tuple[ScannerNote, ...] = ()


def _comma(scanner: Scanner, expected: str = "','") -> bool:
    """Move over a comma and the blanks around it; whether there were any, which the documents' lists have not."""
    before = scanner.position
    scanner.match(_BLANKS, "")
    scanner.take(",", expected)
    scanner.match(_BLANKS, "")
    return scanner.position - before > 1


def _blanks(found: bool) -> Tuple[ScannerNote, ...]:
    return (taken("blanks beside its commas are read over."),) if found else ()


def parse_names(text: str) -> NameList:
    """A comma list of names; blanks beside the commas are noted.

    Raises:
        GrammarError: an empty item.
    """
    scanner = Scanner(text, "Write names separated by commas.")
    names = [scanner.match(_WORD, "a name")]
    blanks = False
    while not scanner.done:
        blanks |= _comma(scanner, "',' after a name")
        names.append(scanner.match(_WORD, "a name"))
    return NameList(tuple(names), _blanks(blanks))


def parse_scope_passes(text: str) -> NameList:
    """The passes of ``enable_scope_fusion_passes``; those that are not registered are noted (D22)."""
    names, notes = parse_names(text)
    unknown = (
        ScannerNote(f"there is no scope fusion pass {name} here; it has to be registered.")
        for name in dict.fromkeys(names)
        if name not in SCOPE_PASSES
    )
    return NameList(names, (*notes, *few(unknown)))


def parse_optypes(text: str) -> NameList:
    """The operator types of ``optypelist_for_implmode``; others than the documented four are ignored (P26)."""
    names, notes = parse_names(text)
    known = ", ".join(IMPLMODE_TYPES)
    unknown = (
        ScannerNote(f"operator type {name} has no choice of implementation and is ignored; known are {known}.")
        for name in dict.fromkeys(names)
        if name not in IMPLMODE_TYPES
    )
    return NameList(tuple(name for name in names if name in IMPLMODE_TYPES), (*notes, *few(unknown)))


def parse_algorithms(text: str) -> NameList:
    """The algorithms of ``auto_tune_mode``.

    Raises:
        GrammarError: an unknown one (T28).
    """
    names = parse_names(text)
    for name in names.names:
        if name not in ALGORITHMS:
            scanner = Scanner(text, f"Known are {' and '.join(ALGORITHMS)}, separated by a comma.")
            scanner.refuse(f"there is no tuning algorithm {name}.", text.index(name))
    return names


class Devices(NamedTuple):
    """Numbers of devices, in order."""

    devices: Tuple[int, ...]
    notes: Tuple[ScannerNote, ...] = ()


def parse_devices(text: str) -> Devices:
    """The device numbers of ``local_device_list``.

    Raises:
        GrammarError: anything but numbers separated by commas, or one given twice.
    """
    scanner = Scanner(text, 'Write device numbers separated by commas, such as "0,1".')
    devices: Dict[int, None] = {}
    blanks = False
    while True:
        start = scanner.position
        device = scanner.integer("a device number")
        if device in devices:
            scanner.refuse(f"device {device} is given twice.", start)
        devices[device] = None
        if scanner.done:
            return Devices(tuple(devices), _blanks(blanks))
        blanks |= _comma(scanner)


class Parallelism(NamedTuple):
    """Engine to its number of parallel streams, every engine of the edition included."""

    engines: Dict[str, int]
    notes: Tuple[ScannerNote, ...] = ()


def parse_parallelism(text: str, limits: Dict[str, int], aliases: Dict[str, str]) -> Parallelism:
    """The engines of ``stream_max_parallel_num``.

    Args:
        text: ``ENGINE:n,ENGINE:n``.
        limits: engine of this edition to its highest number.
        aliases: the other edition's name of an engine to this edition's; accepted with a note (A25).

    Raises:
        GrammarError: an unknown engine, one given twice, a number outside 1 to its limit.
    """
    form = "Write " + ",".join(f"{engine}:1" for engine in limits) + " with numbers of your own."
    scanner = Scanner(text, form)
    given: Dict[str, int] = {}
    notes: List[ScannerNote] = []
    blanks = False
    while True:
        start = scanner.position
        name = scanner.match(_WORD, "the name of an engine")
        engine = aliases.get(name, name)
        if engine not in limits:
            scanner.refuse(f"there is no engine {name}.", start)
        if engine in given:
            scanner.refuse(f"engine {name} is given twice.", start)
        if engine != name:
            notes.append(taken(f"engine {name} is the other edition's name of {engine}, which is meant."))
        scanner.take(":", f"':' after engine {name}")
        given[engine] = _streams(scanner, limits[engine])
        if scanner.done:
            engines = {engine: given.get(engine, 1) for engine in limits}
            return Parallelism(engines, (*_blanks(blanks), *notes))
        blanks |= _comma(scanner)


def _streams(scanner: Scanner, limit: int) -> int:
    start = scanner.position
    number = scanner.integer("a number of streams")
    if not 1 <= number <= limit:
        scanner.refuse(f"{number} is outside 1 to {limit}.", start)
    return number


class Bytes(NamedTuple):
    """A size in bytes."""

    size: int
    notes: Tuple[ScannerNote, ...] = ()


_TIMES = re.compile(r"[ \t]*\*[ \t]*")


def parse_bytes(text: str) -> Bytes:
    """A memory size in bytes (T12): decimal text, or a product such as document 002 writes in its own range (T34).

    Raises:
        GrammarError: anything else, or more than 256 GiB.
    """
    scanner = Scanner(text, f"Write a number of bytes from 0 to {_MAX_BYTES}.")
    size = scanner.integer("a decimal number of bytes")
    factors = 1
    while not scanner.done:
        if not _TIMES.match(text, scanner.position):
            scanner.unexpected("only digits")
        if factors == _MAX_FACTORS:
            scanner.refuse(f"it has more than {_MAX_FACTORS} factors.", scanner.position)
        scanner.match(_TIMES, "'*'")
        size *= scanner.integer("a decimal number")
        factors += 1
    if size > _MAX_BYTES:
        scanner.refuse(f"{size} bytes are more than 256 GiB.", 0)
    return Bytes(size, (taken(f"the product is read as {size} bytes."),) if factors > 1 else ())
