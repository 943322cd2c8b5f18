"""Writes and reads ``results.jsonl``: a header, one record an instance, and a footer without which it is invalid."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.files import output, packing, reading
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, Written, counts
from npu_conformance.protocol import outcomes
from npu_reference import strict_json
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["Failures", "Read", "failures", "footer", "is_evidence", "record_json", "record_line", "write", "read"]

_MAX_LINE = 64 << 20  # assumed: an observation of 16 MiB, its facts and differences
_MAX_UNPACKED = 512 << 20  # assumed: four times what the answers to all cases may take
_MAX_BYTES = 1 << 30  # assumed bound of the whole file

#: Members of a record that are compressed where they are long.
_PACKED = {"facts", "observation"}


class Read(NamedTuple):
    """A results file as it stands, unpacked: nothing in it is trusted before :mod:`..verify` has judged again."""

    header: Mapping[str, Any]
    records: Tuple[Mapping[str, Any], ...]
    footer: Mapping[str, Any]
    folder: str


def record_json(record: Record) -> Dict[str, Any]:
    """One record as its line says it; long facts and observations are compressed there."""
    instance, result = record.instance, record.result
    return {
        "kind": "case",
        "id": instance.id,
        "case": instance.case.id,
        "edition": instance.edition,
        "twin": instance.twin,
        "area": instance.case.area,
        "level": instance.case.level,
        "requirements": list(instance.case.requirements),
        "status": result.status,
        "detail": result.detail,
        "signature": result.signature,
        "differences": [list(difference) for difference in result.differences],
        "facts": list(result.facts),
        "first_attempt": record.first,
        "known_failure": record.known,
        "observation": outcomes.outcome_json(record.outcome),
    }


def record_line(record: Record) -> str:
    """One record as its line."""
    told = record_json(record)
    written = record.written or Written.of(told["facts"], told["observation"])
    names, parts, at = sorted(told), [], 0
    for name, text in (("facts", written.facts), ("observation", written.observation)):
        place = names.index(name)
        parts += [_members(told, names[at:place]), f'"{name}": {text}']
        at = place + 1
    parts.append(_members(told, names[at:]))
    return "{" + ", ".join(filter(None, parts)) + "}"


def _members(told: Mapping[str, Any], names: Sequence[str]) -> str:
    """Some members of a record, as its line has them."""
    return output.dumps({name: told[name] for name in names})[1:-1]


def write(report: Report, path: str) -> None:
    """Writes the file; the same report gives the same bytes."""
    lines = [output.dumps(report.header)]
    lines += map(record_line, report.records)
    lines.append(output.dumps(footer(report, _evidence(os.path.dirname(path)))))
    output.write_file(path, "\n".join(lines) + "\n")


def footer(report: Report, files: Mapping[str, str]) -> Dict[str, Any]:
    """The last line; ``files``: name to digest of what beside the observations a judgement rests on."""
    line: Dict[str, Any] = {
        "kind": "footer",
        "verdict": report.verdict,
        "counts": counts(report.records),
        "errors": list(report.errors),
    }
    if files:
        line["files"] = dict(files)
    return line


def is_evidence(name: str) -> bool:
    """Whether a file of this name is what laws leave: their answers, and graphs that break one."""
    return name == "laws.jsonl" or (name.startswith("law-") and name.endswith(".pbtxt"))


def _evidence(folder: str) -> Dict[str, str]:
    found = {}
    for name in sorted(filter(is_evidence, os.listdir(folder or os.curdir))):
        with open(os.path.join(folder, name), "rb") as stream:
            found[name] = hashlib.sha256(stream.read()).hexdigest()
    return found


def read(folder: str) -> Read:
    """Reads ``folder/results.jsonl`` (or the file itself).

    Raises:
        NpuError: OUTPUT, naming the line, when it is not complete or not in this form.
    """
    path = folder
    lines: List[Mapping[str, Any]] = []
    room = packing.Room(_MAX_UNPACKED)
    try:
        if os.path.isdir(folder):
            path = os.path.join(folder, output.MARK)
        with reading.opened(path) as stream:
            if os.fstat(stream.fileno()).st_size > _MAX_BYTES:
                raise NpuError("OUTPUT", path, f"has more than {_MAX_BYTES >> 20} MiB")
            while True:
                raw = stream.readline(_MAX_LINE + 1)
                if not raw:
                    break
                lines.append(_line(raw, f"{path}:{len(lines) + 1}", room))
    except reading.Unfit:
        raise NpuError("OUTPUT", path, "is no regular file", "Name the folder of a report.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise NpuError("OUTPUT", path, reason, "Name the folder of a report.") from None
    if len(lines) < 2 or lines[0].get("kind") != "header" or lines[-1].get("kind") != "footer":
        raise NpuError("OUTPUT", path, "is not complete: a header, records and a footer are required")
    _check_types(lines[0], f"{path}:1")
    _check_types(lines[-1], f"{path}:{len(lines)}")
    records = tuple(lines[1:-1])
    for number, record in enumerate(records, 2):
        if record.get("kind") != "case" or not isinstance(record.get("id"), str):
            raise NpuError("OUTPUT", f"{path}:{number}", "is no record of a case")
        status = record.get("status")
        if not isinstance(status, str) or status not in judge.ORDER:
            raise NpuError("OUTPUT", f"{path}:{number}", f"{record.get('status')!r} is no status")
    return Read(lines[0], records, lines[-1], os.path.dirname(os.path.abspath(path)))


class Failures(NamedTuple):
    """What did not pass in a report, by instance id; laws, law_seed, thorough: what its laws were asked of."""

    ids: Tuple[str, ...]
    laws: int
    law_seed: int
    thorough: bool = True


def failures(folder: str) -> Failures:
    """What the report in `folder` states as neither passed nor unsupported nor a known failure.

    Raises:
        NpuError: OUTPUT, as :func:`read`.
    """
    found = read(folder)
    selection = found.header.get("selection", {})
    numbers = [selection.get(name, 0) for name in ("laws", "law_seed")]
    thorough = selection.get("thorough", True)
    if type(thorough) is not bool or not all(type(number) is int and number >= 0 for number in numbers):
        raise NpuError("OUTPUT", folder, "its selection names no laws", "It is none that a run has written.")
    ids = [str(record["id"]) for record in found.records if record["status"] not in judge.SETTLED]
    return Failures(tuple(ids), numbers[0], numbers[1], thorough)


#: What members of a header and a footer are, so that they can be read at all; what they say is judged elsewhere.
_TYPES = {
    "suite": dict, "backend": dict, "platform": dict, "sandbox": dict, "selection": dict, "known_failures": list,
    "counts": dict, "errors": list, "files": dict,
}  # fmt: skip


def _check_types(line: Mapping[str, Any], where: str) -> None:
    """NpuError OUTPUT where a member of a header or footer is of another type than a run writes."""
    told = [(name, line[name], kind) for name, kind in _TYPES.items() if name in line]
    if isinstance(line.get("backend"), dict) and "backend" in line["backend"]:
        told.append(("backend.backend", line["backend"]["backend"], dict))
    for name, value, kind in told:
        if not isinstance(value, kind):
            reason = f"{name} is no {'object' if kind is dict else 'array'}"
            raise NpuError("OUTPUT", where, reason, "It is none that a run has written.")


def _line(raw: bytes, where: str, room: packing.Room) -> Mapping[str, Any]:
    if len(raw) > _MAX_LINE:
        raise NpuError("OUTPUT", where, "the line is too long")
    try:
        value = strict_json.finite(raw.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise NpuError("OUTPUT", where, f"is not JSON: {shorten(str(error), 200)}") from None
    if not isinstance(value, dict):
        raise NpuError("OUTPUT", where, "is no JSON object")
    for name in _PACKED & value.keys():
        try:
            value[name] = packing.unpack(value[name], room)
        except (ValueError, RecursionError) as error:
            raise NpuError("OUTPUT", where, f"its {name} cannot be read: {shorten(str(error), 200)}") from None
    return value
