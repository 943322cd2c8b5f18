"""Which items the comma lists name: engines with numbers, operator types, passes, devices, tuning algorithms."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Tuple

from npu_reference.options.grammars.scanner import Scanner, few

__all__ = [
    "Names",
    "Parallelism",
    "bytes_of_decimal",
    "parse_algorithms",
    "parse_devices",
    "parse_names",
    "parse_optypes",
    "parse_parallelism",
    "parse_scope_passes",
    "write_names",
    "write_parallelism",
]

_WORD = re.compile(r"[^\s,;:=\x00-\x1f]+")
_MAX_BYTES = 256 * 1024**3

#: Operator types with a choice of implementation, by document 002 and 003 § optypelist_for_implmode.
IMPLMODE_TYPES = ("Pooling", "SoftmaxV2", "LRN", "ROIAlign")
ALGORITHMS = ("RL", "GA")

#: The scope fusion passes that documents 002 and 003 name; a program may register passes of its own.
SCOPE_PASSES = ("ScopeLayerNormPass", "ScopeClipBoxesPass")


class Names(NamedTuple):
    """Names in order; ``notes`` are about those that are ignored."""

    names: Tuple[str, ...]
    notes: Tuple[str, ...] = ()


def parse_names(text: str) -> Names:
    """A comma list of names without blanks.

    Raises:
        GrammarError: an empty item.
    """
    scanner = Scanner(text, "Write names separated by commas.")
    names = [scanner.match(_WORD, "a name")]
    while not scanner.done:
        scanner.take(",", "',' after a name")
        names.append(scanner.match(_WORD, "a name"))
    return Names(tuple(names))


def parse_scope_passes(text: str) -> Names:
    """The passes of ``enable_scope_fusion_passes``; those that are not registered are noted (D22)."""
    names = parse_names(text).names
    unknown = (name for name in dict.fromkeys(names) if name not in SCOPE_PASSES)
    return Names(names, few(f"there is no scope fusion pass {name} here; it has to be registered." for name in unknown))


def parse_optypes(text: str) -> Names:
    """The operator types of ``optypelist_for_implmode``; others than the documented four are ignored (P26)."""
    names = parse_names(text).names
    notes = few(
        f"operator type {name} has no choice of implementation and is ignored; known are {', '.join(IMPLMODE_TYPES)}."
        for name in dict.fromkeys(names)
        if name not in IMPLMODE_TYPES
    )
    return Names(tuple(name for name in names if name in IMPLMODE_TYPES), notes)


def parse_algorithms(text: str) -> Names:
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


def parse_devices(text: str) -> Tuple[int, ...]:
    """The device numbers of ``local_device_list``.

    Raises:
        GrammarError: anything but numbers separated by commas, or one given twice.
    """
    scanner = Scanner(text, 'Write device numbers separated by commas, such as "0,1".')
    devices: Dict[int, None] = {}
    while True:
        start = scanner.position
        device = scanner.integer("a device number")
        if device in devices:
            scanner.refuse(f"device {device} is given twice.", start)
        devices[device] = None
        if scanner.done:
            return tuple(devices)
        scanner.take(",", "','")


def write_names(names: Names) -> str:
    """The text that :func:`parse_names` reads as ``names``."""
    return ",".join(names.names)


class Parallelism(NamedTuple):
    """Engine to its number of parallel streams, every engine of the edition included."""

    engines: Dict[str, int]
    notes: Tuple[str, ...] = ()


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
    notes: List[str] = []
    while True:
        start = scanner.position
        name = scanner.match(_WORD, "the name of an engine")
        engine = aliases.get(name, name)
        if engine not in limits:
            scanner.refuse(f"there is no engine {name}.", start)
        if engine in given:
            scanner.refuse(f"engine {name} is given twice.", start)
        if engine != name:
            notes.append(f"engine {name} is the other edition's name of {engine}.")
        scanner.take(":", f"':' after engine {name}")
        given[engine] = _streams(scanner, limits[engine])
        if scanner.done:
            return Parallelism({engine: given.get(engine, 1) for engine in limits}, tuple(notes))
        scanner.take(",", "','")


def _streams(scanner: Scanner, limit: int) -> int:
    start = scanner.position
    number = scanner.integer("a number of streams")
    if not 1 <= number <= limit:
        scanner.refuse(f"{number} is outside 1 to {limit}.", start)
    return number


def write_parallelism(parallelism: Parallelism) -> str:
    """The text that :func:`parse_parallelism` reads as ``parallelism``."""
    return ",".join(f"{engine}:{number}" for engine, number in parallelism.engines.items())


def bytes_of_decimal(text: str) -> int:
    """The number of bytes of a memory size, given as decimal text (T12).

    Raises:
        GrammarError: not a decimal number, or more than 256 GiB.
    """
    scanner = Scanner(text, f"Write a number of bytes from 0 to {_MAX_BYTES}.")
    size = scanner.integer("a decimal number of bytes")
    if not scanner.done:
        scanner.unexpected("only digits")
    if size > _MAX_BYTES:
        scanner.refuse(f"{size} is more than 256 GiB.", 0)
    return size
