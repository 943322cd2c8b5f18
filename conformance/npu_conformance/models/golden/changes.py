"""Says in words what moved between two records: places, dtypes, counts, the step; of each the largest first."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from npu_conformance.models.golden.record import GoldenPlace, GoldenRecord, Kernels, Precision
from npu_reference.printing import counted

__all__ = ["MOST_NAMES", "NAMED_DTYPES", "NAMED_KERNELS", "NAMED_MOVES", "Change", "changes"]

#: Operators named one by one in a change before the rest is counted: what a reader takes in at a glance.
NAMED_MOVES = 20

#: The same for dtypes: one option changes those of many.
NAMED_DTYPES = 3

#: Types of kernels named where the time of a step moved.
NAMED_KERNELS = 5

#: Names that one change keeps beside its words, for who reads JSON or opens the page.
MOST_NAMES = 10_000

Moves = Dict[Tuple[str, str], List[str]]


class Change(NamedTuple):
    """One difference in words, e.g. ``dense/MatMul: GEOP 3 -> host, REF_EDGE via Assign``.

    Attributes:
        about: ``costs`` (counts, the step), ``places``, ``dtypes``, or ``files`` that were recorded with the model.
        names: the first :data:`MOST_NAMES` of what the words only count.
    """

    text: str
    about: str
    names: Tuple[str, ...] = ()


class _Counted(NamedTuple):
    text: str
    names: Sequence[str]


Told = Union[str, _Counted]


def changes(before: GoldenRecord, after: GoldenRecord, tolerance: float = 0.0) -> List[Change]:
    """What moved between two records. Linear in the operators.

    GEOPs are matched by their largest overlap, so that a new GEOP in front does not look like a move of all others.
    What only one of them holds, such as the dtypes that a record of form 1 has not, is not compared.

    Args:
        tolerance: percent by which times and sizes of a step may differ.
    """
    files: List[Told] = [
        f"{field}: the file has other contents than when this was recorded"
        for field in sorted(before.digests)
        if after.digests.get(field) != before.digests[field]
    ]
    costs: List[Told] = []
    both = set(before.counts) | (set(after.counts) if before.precision or not after.precision else set())
    if not before.precision:
        both.discard("casts")
    for name in sorted(both):
        old, new = before.counts.get(name, 0), after.counts.get(name, 0)
        if old != new:
            costs.append(f"{name}: {old} -> {new}")
    if before.step and after.unknown:
        costs.append(f"a step's time and memory: known -> unknown, {after.unknown}")
    elif before.step and after.step:
        costs += _step(before, after, tolerance)
    dtypes = _retyped(before.precision, after.precision) if before.precision and after.precision else []
    parts = {"files": files, "places": _placement(before, after), "dtypes": dtypes, "costs": costs}
    return [_change(one, about) for about, told in parts.items() for one in told]


def _change(one: Told, about: str) -> Change:
    return Change(one, about) if isinstance(one, str) else Change(one.text, about, tuple(one.names[:MOST_NAMES]))


def _placement(before: GoldenRecord, after: GoldenRecord) -> List[Told]:
    twin = _matching(before.places, after.places)
    moves: Moves = defaultdict(list)
    for name in sorted(set(before.places) | set(after.places)):
        old, new = before.places.get(name), after.places.get(name)
        if old == new and (old is None or old.geop <= 0):
            continue
        if old is not None and new is not None and old.geop > 0 and twin.get(old.geop) == new.geop:
            continue
        moves[_place(old), _place(new)].append(name)
    return _told(moves, Counter(_place(place) for place in before.places.values() if place.geop > 0))


def _told(moves: Moves, whole: Mapping[str, int]) -> List[Told]:
    """The moves, most operators first; ``whole``: how many operators a GEOP has that may have moved as one."""
    found: List[Told] = []
    for (was, now), names in sorted(moves.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(names) > 1 and len(names) == whole.get(was):
            found.append(_Counted(f"all {len(names)} operators of {was} ({names[0]}, ...): {was} -> {now}", names))
            continue
        found.extend(f"{name}: {was} -> {now}" for name in names[:NAMED_MOVES])
        if len(names) > NAMED_MOVES:
            found.append(_more(names[NAMED_MOVES:], f"{was} -> {now}"))
    return found


def _more(names: Sequence[str], how: str) -> _Counted:
    return _Counted(f"and {counted(len(names), 'more operator')}: {how}", names)


def _place(place: Optional[GoldenPlace]) -> str:
    if place is None:
        return "not in the graph"
    if place.geop > 0:
        return f"GEOP {place.geop}"
    return f"host, {place.reason}" + (f" via {place.via}" if place.via else "")


def _matching(before: Mapping[str, GoldenPlace], after: Mapping[str, GoldenPlace]) -> Dict[int, int]:
    overlap: Counter = Counter()
    for name, old in before.items():
        new = after.get(name)
        if new is not None and old.geop > 0 and new.geop > 0:
            overlap[old.geop, new.geop] += 1
    twin: Dict[int, int] = {}
    taken = set()
    for (old_geop, new_geop), _ in sorted(overlap.items(), key=lambda item: (-item[1], item[0])):
        if old_geop not in twin and new_geop not in taken:
            twin[old_geop] = new_geop
            taken.add(new_geop)
    return twin


def _retyped(before: Mapping[str, Precision], after: Mapping[str, Precision]) -> List[Told]:
    """Operators of the device in both records that are computed otherwise; those that came or went have moved."""
    moves: Dict[str, List[str]] = defaultdict(list)
    for name in sorted(set(before) & set(after)):
        if before[name] != after[name]:
            moves[_precision(before[name], after[name])].append(name)
    found: List[Told] = []
    for words, names in sorted(moves.items(), key=lambda item: (-len(item[1]), item[0])):
        found.extend(f"{name}: {words}" for name in names[:NAMED_DTYPES])
        if len(names) > NAMED_DTYPES:
            found.append(_more(names[NAMED_DTYPES:], words))
    return found


def _precision(old: Precision, new: Precision) -> str:
    """What differs, such as ``float16 -> float32 of inputs 0, 1 and output 0; engine cube -> vector``."""
    slots: Dict[Tuple[str, str], List[str]] = defaultdict(list)
    for label, was, now in (("input", old.inputs, new.inputs), ("output", old.outputs, new.outputs)):
        changed: Dict[Tuple[str, str], List[str]] = defaultdict(list)
        for number in range(max(len(was), len(now))):
            pair = (was[number] if number < len(was) else "none", now[number] if number < len(now) else "none")
            if pair[0] != pair[1]:
                changed[pair].append(str(number))
        for pair, numbers in changed.items():
            slots[pair].append(f"{label}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
    words = [f"{was} -> {now} of {' and '.join(where)}" for (was, now), where in slots.items()]
    for label in ("engine", "list", "mode"):
        before, after = getattr(old, label) or "none", getattr(new, label) or "none"
        if before != after:
            words.append(f"{label} {before} -> {after}")
    return "; ".join(words)


def _step(before: GoldenRecord, after: GoldenRecord, tolerance: float) -> List[Told]:
    found: List[Told] = []
    for name in sorted(set(before.step) | set(after.step)):
        old, new = before.step.get(name, 0), after.step.get(name, 0)
        bounds = tolerance if name.endswith((" ns", " bytes")) else 0.0
        if old != new and abs(new - old) * 100 > bounds * old:
            found.append(f"a step's {_measure(name, old, new)}")
    if not any(str(text).startswith("a step's time") for text in found):
        return found
    moved = []
    for name in sorted(set(before.kernels) | set(after.kernels)):
        was, now = before.kernels.get(name, Kernels(0, 0)), after.kernels.get(name, Kernels(0, 0))
        if _kernels(was) != _kernels(now):
            moved.append((-abs(now.nanoseconds - was.nanoseconds), name, was, now))
    moves = ((" on ".join(name.rsplit(" ", 1)), was, now) for _, name, was, now in sorted(moved))
    told = [f"{name}: {_kernels(was)} -> {_kernels(now)}" for name, was, now in moves]
    found += [f"kernels {one}" for one in told[:NAMED_KERNELS]]
    rest = told[NAMED_KERNELS:]
    return [*found, _Counted(f"and kernels of {counted(len(rest), 'more type')}", rest)] if rest else found


def _kernels(one: Kernels) -> str:
    return f"{one.number} in {one.nanoseconds / 1000:.1f} us"


def _measure(name: str, old: int, new: int) -> str:
    """A number of a step in the unit people read, with the share by which it moved."""
    label, _, unit = name.rpartition(" ")
    if unit == "ns":
        digits = 1 if f"{old / 1000:.1f}" != f"{new / 1000:.1f}" else 3
        told = f"{label}: {old / 1000:.{digits}f} -> {new / 1000:.{digits}f} us"
    elif unit == "bytes":
        told = f"{label}: {old} -> {new} bytes"
    else:
        return f"{name}: {old} -> {new}"
    return f"{told} ({100 * (new - old) / old:+.1f} %)" if old else told
