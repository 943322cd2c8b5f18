"""Writes and reads ``results.jsonl``: a header, one record an instance, and a footer without which it is invalid.

What an answer says, and the answer itself, stand in its record where they are short, else in ``answers.jsonl.xz``.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import output, packing, reading
from npu_conformance.judging import judge
from npu_conformance.judging.records import Record, Report, counts
from npu_conformance.protocol import outcomes, schema
from npu_reference import strict_json
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = [
    "ANSWERS", "FIRST", "Failures", "Read", "failures", "footer", "is_evidence", "is_of_laws", "lines", "record_json",
    "write", "read",
]  # fmt: skip

#: The form of the file that is still read: each long answer is compressed within its record.
FIRST = 1
#: Answers that are long: a line each, with the id of the record.
ANSWERS = "answers.jsonl.xz"
_SHORT = 256  # characters of answer and facts that stand in the record (assumed)

_MAX_LINE = 64 << 20  # assumed: an observation of 16 MiB, its facts and differences
_MAX_UNPACKED = 512 << 20  # assumed: four times what the answers to all cases may take
_MAX_BYTES = 1 << 30  # assumed bound of the whole file

#: Members of a record that stand elsewhere where they are long, and what stands in their place where nobody asks.
_WITHOUT: Mapping[str, Any] = {"facts": [], "observation": None}


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


def lines(record: Record) -> Tuple[str, str]:
    """One record as its line, and facts and answer as theirs; where these are short they stand in the first, and the
    second is empty."""
    told = record_json(record)
    written = record.written
    if written is None:
        facts, observation = output.dumps(told["facts"]), output.dumps(told["observation"])
    else:
        facts, observation = packing.plain(written.facts), packing.plain(written.observation)
    if len(facts) + len(observation) > _SHORT:
        del told["facts"], told["observation"]
        answer = f'{{"facts": {facts}, "id": {output.dumps(record.instance.id)}, "observation": {observation}}}'
        return output.dumps(told), answer
    if written is not None:
        told.update(facts=json.loads(facts), observation=json.loads(observation))
    return output.dumps(told), ""


def write(report: Report, path: str) -> None:
    """Writes the file, and that of long answers beside it; the same report gives the same bytes.

    Raises:
        NpuError: OUTPUT, or SYSTEM where Python has no lzma.
    """
    folder = os.path.dirname(path)
    told = [output.dumps(report.header)]

    def answers() -> Iterator[str]:
        for record in report.records:
            line, answer = lines(record)
            told.append(line)
            if answer:
                yield answer

    content = packing.compressed(answers())
    if content:
        output.write_bytes(os.path.join(folder, ANSWERS), content)
    told.append(output.dumps(footer(report, _evidence(folder))))
    output.write_file(path, "\n".join(told) + "\n")


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
    """Whether a judgement rests on a file of this name: long answers, and what laws leave."""
    return name == ANSWERS or is_of_laws(name)


def is_of_laws(name: str) -> bool:
    """Whether a file of this name is what laws leave: their answers, and graphs that break one."""
    return name in ("laws.jsonl.xz", "laws.jsonl") or (name.startswith("law-") and name.endswith(".pbtxt"))


def _evidence(folder: str) -> Dict[str, str]:
    found = {}
    for name in sorted(filter(is_evidence, os.listdir(folder or os.curdir))):
        with open(os.path.join(folder, name), "rb") as stream:
            found[name] = hashlib.sha256(stream.read()).hexdigest()
    return found


def read(folder: str, answers: bool = True) -> Read:
    """Reads ``folder/results.jsonl`` (or the file itself).

    Args:
        answers: else every record has no facts and no observation, which takes a fraction of the time.
    Raises:
        NpuError: OUTPUT, naming the line, when it is not complete or not in this form; SYSTEM where Python has no lzma.
    """
    path = folder
    found: List[Mapping[str, Any]] = []
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
                found.append(_line(raw, f"{path}:{len(found) + 1}", room if answers else None))
    except reading.Unfit:
        raise NpuError("OUTPUT", path, "is no regular file", "Name the folder of a report.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise NpuError("OUTPUT", path, reason, "Name the folder of a report.") from None
    if len(found) < 2 or found[0].get("kind") != "header" or found[-1].get("kind") != "footer":
        raise NpuError("OUTPUT", path, "is not complete: a header, records and a footer are required")
    _check_types(found[0], f"{path}:1")
    _check_types(found[-1], f"{path}:{len(found)}")
    records = tuple(found[1:-1])
    for number, record in enumerate(records, 2):
        if record.get("kind") != "case" or not isinstance(record.get("id"), str):
            raise NpuError("OUTPUT", f"{path}:{number}", "is no record of a case")
        status = record.get("status")
        if not isinstance(status, str) or status not in judge.ORDER:
            raise NpuError("OUTPUT", f"{path}:{number}", f"{record.get('status')!r} is no status")
    folder = os.path.dirname(os.path.abspath(path))
    if answers and found[0].get("schema") != schema.header("results", FIRST):
        records = _with_answers(records, os.path.join(folder, ANSWERS))
    return Read(found[0], records, found[-1], folder)


def _with_answers(records: Sequence[Mapping[str, Any]], path: str) -> Tuple[Mapping[str, Any], ...]:
    """The records with those answers that stand in the file of long ones.

    Raises:
        NpuError: OUTPUT, where they do not stand there each once, in the order of the records.
    """
    away = [number for number, record in enumerate(records) if not _WITHOUT.keys() & record.keys()]
    if not away:
        return tuple(records)
    whole = list(records)
    place = 0
    try:
        with reading.opened(path) as stream:
            for place, raw in enumerate(packing.lines(stream, _MAX_UNPACKED, _MAX_LINE), 1):
                if place > len(away):
                    raise ValueError("it is the answer of no record")
                record = records[away[place - 1]]
                found = strict_json.finite(raw.decode("ascii"))
                if not isinstance(found, dict) or set(found) != {"id", *_WITHOUT} or found["id"] != record["id"]:
                    raise ValueError(f"it is not the answer of {shorten(record['id'])}")
                whole[away[place - 1]] = {**record, **found}
    except (ValueError, RecursionError) as error:
        where = f"{path}:{place + 1}" if not isinstance(error, reading.Unfit) else path
        raise NpuError("OUTPUT", where, f"cannot be read: {shorten(str(error), 200)}") from None
    except OSError as error:
        raise NpuError("OUTPUT", path, f"cannot be read: {error.strerror or error}") from None
    if place < len(away):
        raise NpuError("OUTPUT", path, f"has no answer of {shorten(records[away[place]]['id'])}")
    return tuple(whole)


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
    found = read(folder, answers=False)
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


def _line(raw: bytes, where: str, room: Optional[packing.Room]) -> Mapping[str, Any]:
    if len(raw) > _MAX_LINE:
        raise NpuError("OUTPUT", where, "the line is too long")
    try:
        value = strict_json.finite(raw.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise NpuError("OUTPUT", where, f"is not JSON: {shorten(str(error), 200)}") from None
    if not isinstance(value, dict):
        raise NpuError("OUTPUT", where, "is no JSON object")
    if room is None:
        return {**value, **_WITHOUT} if value.get("kind") == "case" else value
    for name in _WITHOUT.keys() & value.keys():
        try:
            value[name] = packing.unpack(value[name], room)
        except (ValueError, RecursionError) as error:
            raise NpuError("OUTPUT", where, f"its {name} cannot be read: {shorten(str(error), 200)}") from None
    return value
