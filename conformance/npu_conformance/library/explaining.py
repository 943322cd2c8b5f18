"""Decides what there is to say about one word of the suite: an error code, a reading, a requirement or an option."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import resources
from npu_conformance.library import citing, inventory
from npu_reference.errors import CATALOGUE, NpuError

__all__ = ["Explanation", "Reading", "find", "known", "readings"]

_ROW = re.compile(r"^\| ([A-Z]\d+) \|")
_SPLIT = re.compile(r"(?<!\\)\|")


class Reading(NamedTuple):
    """One row of docs/readings.md: its letter and number, the heading it stands under, and its cells by column."""

    name: str
    heading: str
    cells: Tuple[Tuple[str, str], ...]


class Explanation(NamedTuple):
    """What is known about a word.

    kind: error, warning, reading, requirement, option, or one that ``report.words`` adds; name: as it
    is really spelt; facts: label to text, in the order in which they are told; requirements, readings, cases: names
    that belong to it.
    """

    kind: str
    name: str
    facts: Mapping[str, str]
    requirements: Sequence[str] = ()
    readings: Sequence[str] = ()
    cases: Sequence[str] = ()

    def to_json(self) -> Dict[str, Any]:
        """The body of ``explain --format json``."""
        return {
            "kind": self.kind,
            "name": self.name,
            "facts": [{"label": label, "text": text} for label, text in self.facts.items()],
            "requirements": list(self.requirements),
            "readings": list(self.readings),
            "cases": list(self.cases),
        }


def readings() -> Dict[str, Reading]:
    """Every row of docs/readings.md, by its letter and number.

    Raises:
        NpuError: CASE_FILE, when the page cannot be read.
    """
    path = os.path.join(resources.docs(), "readings.md")
    try:
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except OSError as error:
        raise NpuError("CASE_FILE", path, f"cannot be read: {error.strerror}") from None
    return {row.name: row for row in _rows(lines)}


def _rows(lines: Sequence[str]) -> Iterator[Reading]:
    heading, columns = "", []  # type: Tuple[str, List[str]]
    for number, line in enumerate(lines):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and number + 1 < len(lines) and lines[number + 1].startswith("|---"):
            columns = _cells(line)
        elif _ROW.match(line):
            cells = _cells(line)
            named = zip(columns[1:], cells[1:])
            yield Reading(cells[0], heading, tuple((column, cell) for column, cell in named if cell))


def _cells(line: str) -> List[str]:
    return [cell.strip().replace("\\|", "|") for cell in _SPLIT.split(line.strip().strip("|"))]


def find(word: str) -> Optional[Explanation]:
    """What there is to say about a word, in whatever case it is written; None where nothing here is called so."""
    exact = (
        (_code, _option) if word in CATALOGUE else (_option, _code)
    )  # INPUT_SHAPE is an error, input_shape an option
    for teller in (*exact, _reading, _requirement):
        found = teller(word)
        if found is not None:
            return found
    return None


def _option(word: str) -> Optional[Explanation]:
    from npu_reference.options import OPTIONS
    from npu_reference.options.page import described

    option = OPTIONS.get(word) or OPTIONS.get(word.lower())
    if option is None:
        return None
    facts, prefixes = dict(described(option)), tuple(f"{prefix}." for prefix in option.requirements)
    stated = [name for name in inventory.load() if name.startswith(prefixes) or f"Rule {name}" in facts]
    return Explanation("option", option.name, facts, stated, option.readings)


def _code(word: str) -> Optional[Explanation]:
    from npu_reference.options.outcome import WARNING_CODES

    error = CATALOGUE.get(word.upper())
    if error is not None:
        facts = {"Meaning": error.meaning, "Exit status": str(error.exit_status)}
        return Explanation("error", error.code, facts)
    if word.lower() not in WARNING_CODES:
        return None
    meaning = WARNING_CODES[word.lower()]
    cited = re.findall(r"\b[A-Z]\d+\b", meaning)
    return Explanation("warning", word.lower(), {"Meaning": meaning}, readings=cited)


def _reading(word: str) -> Optional[Explanation]:
    row = readings().get(word.upper())
    if row is None:
        return None
    requirements = [one.id for one in inventory.load().values() if row.name in one.readings]
    force = inventory.forces()[row.name]
    told = {
        "Force": force.force, "Necessary": force.necessary, "Choice": force.choice, "Document": force.document,
        "Judged so": force.because,
    }  # fmt: skip
    facts = {"Under": row.heading, **dict(row.cells), **{label: text for label, text in told.items() if text}}
    return Explanation("reading", row.name, facts, requirements, (), citing.cases("readings", row.name))


def _requirement(word: str) -> Optional[Explanation]:
    if citing.find(word) is None:
        return None
    one = inventory.load()[word]
    facts = {
        "Sentence": " ".join(one.statement.split()),
        "Document": " ".join((one.document, one.anchor)).strip(),
        "Edition": one.edition,
        "Level": f"{one.level} ({one.kind})",
        "Check": " ".join(one.check.split()),
        "Refused": " ".join(one.negative.split()),
        "Without a case": " ".join(one.excused.split()),
    }
    told = {label: text for label, text in facts.items() if text}
    return Explanation("requirement", one.id, told, (), one.readings, citing.cases("requirements", word))


def known() -> List[str]:
    """Every word that :func:`find` knows, as it is really spelt."""
    from npu_reference.options import OPTIONS
    from npu_reference.options.outcome import WARNING_CODES

    return [*OPTIONS, *CATALOGUE, *WARNING_CODES, *readings(), *inventory.load()]
