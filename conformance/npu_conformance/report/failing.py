"""Decides what is told of a case that failed, wherever that is: what was asked, what is demanded, what came, and the
command that asks it again."""

from __future__ import annotations

import shlex
from typing import List, NamedTuple, Optional, Tuple

from npu_conformance.judging.records import Record, Report
from npu_conformance.library import telling
from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_reference.printing import counted

__all__ = ["TWINS", "Account", "account", "command", "repeat", "run_command", "text"]

#: What a twin changes.
TWINS = {"rename": "asked with every operator under another name", "reorder": "asked with the nodes in another order"}

_LINES = 20  # of one part, say a graph (assumed): `npu-conformance case` has all
_CHARACTERS = 1600  # of what was asked, and of what is expected (assumed)
_DIFFERENCES = 20


class Account(NamedTuple):
    """asked: as :func:`telling.brief` has it; demanded: requirements with their sentences; expected, came: lines."""

    asked: str
    demanded: Tuple[Tuple[str, str], ...]
    expected: Tuple[str, ...]
    came: Tuple[str, ...]
    repeat: str


def account(
    library: Library, report: Report, record: Record, lines: int = _LINES, characters: int = _CHARACTERS
) -> Account:
    """Everything about one failure, bounded: `lines` of one part of what was asked, `characters` of all of it."""
    instance, result = record.instance, record.result
    case = instance.case
    parts = telling.question(case, library.fixtures)
    if instance.twin:
        parts.insert(1, telling.Part("Twin", TWINS[instance.twin]))
    came = [f"{entry.kind}: {entry.fact}" for entry in result.differences[:_DIFFERENCES]]
    if len(result.differences) > _DIFFERENCES:
        came.append(f"… {len(result.differences) - _DIFFERENCES} more")
    return Account(
        telling.brief(parts, characters, lines),
        tuple((name, " ".join(library.requirements[name].statement.split())) for name in case.requirements),
        tuple(_some(telling.expected(case, instance.edition), lines)),
        tuple(came or [result.detail]),
        repeat(report, record),
    )


def text(told: Account) -> str:
    """All of it as text."""
    lines = [told.asked, "Demanded:", *(f"  {name}: {sentence}" for name, sentence in told.demanded)]
    lines += ["Expected:", *(f"  {one}" for one in told.expected), "Came:", *(f"  {one}" for one in told.came)]
    return "\n".join([*lines, f"Repeat: {told.repeat}"])


def repeat(report: Report, record: Record) -> str:
    """The command that asks for this one case again."""
    selection = report.header["selection"]
    laws = (selection.get("laws", 0) if selection.get("thorough", True) is True else None, selection.get("law_seed", 0))
    return command(record.instance, report.header["backend"]["spec"], laws)


def run_command(report: Report) -> str:
    """The command that asks the same again, from what the report says was asked.

    What a report cannot say again is not in it: where an earlier report lay, known failures, and how many workers.
    """
    selection, spec = report.header.get("selection", {}), report.header["backend"]["spec"]
    words = [] if spec == "reference" else ["--backend", spec]
    words += [word for area in selection.get("areas", ()) for word in ("--area", area)]
    words += [word for edition in selection.get("editions", ()) for word in ("--edition", edition)]
    for option, key in (("-k", "keyword"), ("--shard", "shard")):
        if selection.get(key):
            words += [option, selection[key]]
    if selection.get("laws"):
        words += ["--laws", selection["laws"]] if selection.get("thorough", True) is True else []
        words += ["--law-seed", selection.get("law_seed", 0)]
    return " ".join(shlex.quote(str(word)) for word in ("npu-conformance", "run", *words))


def command(instance: Instance, spec: str, laws: Tuple[Optional[int], int]) -> str:
    """The command that asks a backend about an instance; ``laws``: how many random graphs, or None where nothing was
    said of that, and their seed."""
    backend = "" if spec == "reference" else f" --backend {shlex.quote(spec)}"
    if instance.case.topic == "laws":
        backend += f" --law-seed {laws[1]}" if laws[0] is None else f" --laws {laws[0]} --law-seed {laws[1]}"
    return f"npu-conformance run{backend} --edition {instance.edition} -k {instance.case.id}@"


def _some(lines: List[str], most: int) -> List[str]:
    return lines if len(lines) <= most else [*lines[:most], f"… {counted(len(lines) - most, 'more line')}"]
