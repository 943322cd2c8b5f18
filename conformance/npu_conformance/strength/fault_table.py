"""Decides how the table option by kind of fault reads: what was killed, what lives, what cannot be and why."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.backends.mutants import Mutant, fault_kinds
from npu_conformance.strength.killing import Kill
from npu_reference.options import OPTIONS

__all__ = ["Cell", "Table", "answer", "gaps", "reasons", "status", "table", "whole"]


class Cell(NamedTuple):
    """Faults of one kind in one option on one surface; without any, ``reason`` says why there is none."""

    mutants: Tuple[str, ...]
    reason: str


#: Surface to option to kind.
Table = Dict[str, Dict[str, Dict[str, Cell]]]


def table(mutants: Iterable[Mutant]) -> Table:
    """Every option of each surface's document with every kind of fault, in the order of the option table."""
    found: Dict[Tuple[str, str, str], List[str]] = {}
    for mutant in mutants:
        for surface in fault_kinds.EDITIONS:
            if mutant.kind and mutant.surface in ("", surface):
                for option in mutant.options:
                    found.setdefault((surface, option, mutant.kind), []).append(mutant.name)
    return {
        surface: {
            option: {kind: _cell(surface, option, kind, found) for kind in fault_kinds.KINDS}
            for option in OPTIONS
            if option in facets
        }
        for surface, facets in ((surface, fault_kinds.facets(surface)) for surface in fault_kinds.EDITIONS)
    }


def _cell(surface: str, option: str, kind: str, found: Mapping[Tuple[str, str, str], Sequence[str]]) -> Cell:
    names = tuple(found.get((surface, option, kind), ()))
    return Cell(names, "" if names else fault_kinds.reason_without(surface, option, kind))


def gaps(rows: Table) -> List[str]:
    """Cells with neither a mutant nor a reason, as ``surface option kind``."""
    return [
        f"{surface} {option} {kind}"
        for surface, options in rows.items()
        for option, kinds in options.items()
        for kind, cell in kinds.items()
        if not cell.mutants and not cell.reason
    ]


def reasons(rows: Mapping[str, Mapping[str, Cell]]) -> Dict[str, Dict[str, List[str]]]:
    """Of one surface: kind to reason to the options that lack it for that reason."""
    found: Dict[str, Dict[str, List[str]]] = {kind: {} for kind in fault_kinds.KINDS}
    for option, kinds in rows.items():
        for kind, cell in kinds.items():
            if not cell.mutants:
                found[kind].setdefault(cell.reason or "missing", []).append(option)
    return found


def whole(found: Sequence[Kill], mutants: Iterable[Mutant]) -> bool:
    """Whether every mutant of the table was asked about; of a few names there is no table."""
    return {one.name for one in mutants if one.kind} <= {one.name for one in found}


def status(cell: Cell, kills: Mapping[str, Kill]) -> str:
    """``killed``, ``alive``, ``unjudged`` or ``not applicable``; of several mutants the worst."""
    if not cell.mutants:
        return "not applicable" if cell.reason else "missing"
    found = [kills[name] for name in cell.mutants]
    if any(one.alive for one in found):
        return "alive"
    return "killed" if all(one.killed_by for one in found) else "unjudged"


def answer(found: Sequence[Kill]) -> Dict[str, Any]:
    """The table as JSON."""
    kills = {one.name: one for one in found}
    return {
        surface: {
            option: {
                kind: {"status": status(cell, kills), "mutants": list(cell.mutants), "reason": cell.reason or None}
                for kind, cell in kinds.items()
            }
            for option, kinds in options.items()
        }
        for surface, options in table(one.mutant for one in found).items()
    }
