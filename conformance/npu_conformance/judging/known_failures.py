"""Applies a list of known failures: each must still fail, in the way it says, before the day it expires."""

from __future__ import annotations

import datetime
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import toml_file as _toml
from npu_conformance.judging import differences
from npu_conformance.judging.records import Record
from npu_conformance.library.case import Instance
from npu_reference.errors import NpuError

__all__ = ["Entry", "load", "apply", "OUTCOMES"]

#: Statuses that may be known.
OUTCOMES = ("fail", "crash", "timeout", "protocol-error", "overclaim", "unstable")
_MAX_MATCHES = 20  # a wider pattern hides more than it says
_KEYS = {"id", "outcome", "signature", "reason", "expires", "issue", "owner"}


class Entry(NamedTuple):
    """One known failure.

    id: pattern over instance ids; outcome: status it has; signature: class of its first difference, as in
    results.jsonl; expires: last day it may stand.
    """

    id: str
    outcome: str
    signature: str
    reason: str
    expires: datetime.date
    issue: str
    owner: str

    def to_json(self) -> Dict[str, str]:
        found = {key: str(value) for key, value in self._asdict().items() if value}
        found["expires"] = self.expires.isoformat()
        return found


def load(path: str, instances: Sequence[Instance]) -> List[Entry]:
    """The entries of a TOML file of ``[[known]]``.

    Args:
        instances: every instance of the library, which patterns are checked against.
    Raises:
        NpuError: CASE_FILE for a malformed entry, one that matches nothing or too much, or two that overlap.
    """
    document = _toml.load(path)
    unknown = sorted(set(document) - {"known"})
    entries = document.get("known", [])
    if unknown or not isinstance(entries, list):
        raise NpuError(
            "CASE_FILE", f"{path}: {(unknown or ['known'])[0]}", "a known-failures file holds [[known]] only"
        )
    found = [_entry(entry, f"{path}: known {number}") for number, entry in enumerate(entries, 1)]
    taken: Dict[str, str] = {}
    for entry in found:
        _check_matches(entry, [instance.id for instance in instances], path, taken)
    return found


def _entry(entry: Any, where: str) -> Entry:
    if not isinstance(entry, dict):
        raise NpuError("CASE_FILE", where, "is no table")
    where = f"{where} ({entry.get('id', 'without id')})"
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise NpuError("CASE_FILE", f"{where}: {unknown[0]}", "unknown key", f"Known are {', '.join(sorted(_KEYS))}.")
    for key in ("id", "outcome", "signature", "reason"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise NpuError("CASE_FILE", f"{where}: {key}", "a non-empty text is required")
    if entry["outcome"] not in OUTCOMES:
        raise NpuError("CASE_FILE", f"{where}: outcome", f"{entry['outcome']!r} is none of {', '.join(OUTCOMES)}")
    expires = entry.get("expires")
    if not isinstance(expires, datetime.date) or isinstance(expires, datetime.datetime):
        raise NpuError("CASE_FILE", f"{where}: expires", "must be a date", "Write expires = 2030-01-31, unquoted.")
    for key in ("issue", "owner"):
        if not isinstance(entry.get(key, ""), str):
            raise NpuError("CASE_FILE", f"{where}: {key}", "must be a text")
    return Entry(
        entry["id"], entry["outcome"], entry["signature"], entry["reason"], expires, entry.get("issue", ""),
        entry.get("owner", ""),
    )  # fmt: skip


def _check_matches(entry: Entry, identifiers: Sequence[str], path: str, taken: Dict[str, str]) -> None:
    matched = list(filter(differences.Pattern(entry.id).fits, identifiers))
    where = f"{path}: {entry.id}"
    if not matched:
        raise NpuError("CASE_FILE", where, "matches no case", "Remove the entry, or correct its id.")
    if len(matched) > _MAX_MATCHES:
        raise NpuError(
            "CASE_FILE", where, f"matches {len(matched)} cases, more than {_MAX_MATCHES}", "Name them closer."
        )
    for identifier in matched:
        if identifier in taken:
            raise NpuError("CASE_FILE", where, f"matches {identifier}, as does {taken[identifier]}")
        taken[identifier] = entry.id


def apply(
    entries: Sequence[Entry], records: Sequence[Record], today: Optional[datetime.date] = None
) -> Tuple[List[Record], List[str]]:
    """The records with known failures as `xfail` or `xpass`, and one text for every expired entry.

    Entries about instances that were not run, or that the backend does not claim, are left alone.
    """
    today = today or datetime.date.today()
    errors = [
        f"{entry.id}: this known failure expired on {entry.expires.isoformat()}"
        for entry in entries
        if entry.expires < today
    ]
    found = []
    patterns = [(differences.Pattern(entry.id), entry) for entry in entries]
    for record in records:
        entry = next((one for pattern, one in patterns if pattern.fits(record.instance.id)), None)
        found.append(record if entry is None else _known(entry, record))
    return found, errors


def _known(entry: Entry, record: Record) -> Record:
    result = record.result
    if result.status in ("unsupported", "not-run", "blocked", "harness-error"):
        return record
    if result.status == entry.outcome and differences.matches(entry.signature, result.signature):
        changed = result._replace(status="xfail", detail=f"{entry.reason} ({result.detail})")
    elif result.status == "pass":
        changed = result._replace(status="xpass", detail="listed as a known failure, but it passes: remove the entry")
    else:
        expected = f"{entry.outcome} with signature {entry.signature}"
        got = f"{result.status} with signature {result.signature}"
        changed = result._replace(status="xpass", detail=f"known as {expected}, but it is {got}: {result.detail}")
    return record._replace(result=changed, known=entry.id)


def signatures(records: Sequence[Record]) -> Mapping[str, str]:
    """Instance id -> signature of everything that did not pass, to begin a known-failures file with."""
    return {record.instance.id: record.result.signature for record in records if record.result.status in OUTCOMES}
