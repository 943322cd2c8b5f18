"""``npu-conformance case``: everything about one case: what it asks and expects, why, and how to repeat it."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError
from npu_reference.printing import counted
from npu_reference.spelling import several

__all__ = ["case"]

_LINES = 100  # of one part that are shown (assumed); --format json has all
_LINE = 100  # characters of an object or a list that is told in one line (assumed)
_INNERMOST = re.compile(r"[{\[][^{}\[\]]*[}\]]")
_TRACED = 20000  # characters of a request or an answer that are shown (assumed)


@click.command(epilog=shared.examples("case rc-hccl-600", "case rc-hccl-600 --trace"))
@click.argument("name", metavar="ID")
@click.option("--trace", is_flag=True, help="Also ask the backend, and print request and answer; exit 1 unless passed.")
@shared.BACKEND
@shared.WORKERS
@shared.FORMAT
def case(
    name: str, trace: bool, spec: str, jobs: Optional[int], factor: float, variables: Tuple[str, ...], python: str,
    form: str,
) -> int:  # fmt: skip
    """Tell all of one case: what it asks, what is expected by which sentences, and the command that repeats it.

    ID is that of a case, or of one of its instances, as reports and `run --list` have them: `case@edition+twin`.
    """
    from npu_conformance import backends
    from npu_conformance.library import library, telling
    from npu_conformance.report import failing
    from npu_conformance.strength.laws import asking

    backends.check(spec)
    shelf = library.load()
    known = [*shelf.instances(), *asking.instances()]
    instance, others = _find(known, name)
    one = instance.case
    level, why = telling.level(instance, shelf.requirements)
    parts = telling.question(one, shelf.fixtures)
    if instance.twin:
        parts.insert(1, telling.Part("Twin", failing.TWINS[instance.twin]))
    answer: Dict[str, Any] = {
        "id": instance.id,
        "title": one.title,
        "area": one.area,
        "method": one.method,
        "level": level,
        "level_because": why,
        "why": one.why,
        "instances": [found.id for found in others],
        "question": [{"label": part.label, "text": part.text} for part in parts],
        "expected": telling.expected(one, instance.edition),
        "requirements": [_requirement(shelf, found) for found in one.requirements],
        "readings": _readings(shelf, one),
        "needs": sorted(one.needs),
        "requires": list(one.requires),
        "control": one.control,
        "repeat": failing.command(instance, spec, (asking.DEFAULT, 0)),
    }
    if trace:
        shared.stop_on_signals()
        answer["trace"] = _trace(shelf, instance, spec, shared.worker_settings(jobs, factor, variables, python))
    if form == "json":
        from npu_conformance.protocol import schema

        shared.echo_json({"schema": schema.header("case"), **answer})
    else:
        _tell(answer)
    return ExitStatus.OK if not trace or answer["trace"]["status"] == "pass" else ExitStatus.NEGATIVE


def _find(known: List[Any], name: str) -> Tuple[Any, List[Any]]:
    """The instance of this name, that of a bare case in its newest edition, and all instances of its case.

    Raises:
        NpuError: USAGE, with the nearest ids.
    """
    bare = name.strip()
    found = [one for one in known if one.id == bare] or [one for one in known if one.case.id == bare and not one.twin]
    if found:
        return found[-1], [one for one in known if one.case.id == found[-1].case.id]
    stem = bare.partition("@")[0]
    same = [one.id for one in known if one.case.id == stem]
    if same:
        remedy = f"Of this case there are {', '.join(same)}."
        raise NpuError("USAGE", repr(name[:80]), "there is no such instance.", remedy)
    near = several(stem, (one.case.id for one in known), 0.6)
    remedy = f"{near} All: npu-conformance run --list".lstrip()
    raise NpuError("USAGE", repr(name[:80]), "there is no case of this id.", remedy)


def _requirement(shelf: Any, name: str) -> Dict[str, Any]:
    one = shelf.requirements[name]
    document = " ".join((one.document, one.anchor)).strip()
    sentence = " ".join(one.statement.split())
    return {"id": name, "document": document, "level": one.level, "sentence": sentence, "readings": list(one.readings)}


def _readings(shelf: Any, one: Any) -> List[Dict[str, Any]]:
    """Rows of docs/readings.md that the case or a requirement of it cites."""
    from npu_conformance.library import explaining, telling

    rows = explaining.readings()
    return [
        {"name": name, "cells": [{"label": label, "text": text} for label, text in rows[name].cells]}
        for name in telling.cited(one, shelf.requirements)
        if name in rows
    ]


def _trace(shelf: Any, instance: Any, spec: str, settings: Any) -> Dict[str, Any]:
    """What a backend is asked and answers, and how that is judged."""
    from npu_conformance.files import packing
    from npu_conformance.judging import judge
    from npu_conformance.protocol import requests
    from npu_conformance.running.lanes import Lane

    if instance.case.topic == "laws":
        reason = "is a law, about random graphs: there is no one request"
        raise NpuError("USAGE", f"--trace {instance.id}", reason, "Repeat it, and look at the graph its report keeps.")
    with settings.client(spec) as worker:
        claims = judge.Claims.of(worker.hello())
        asked = requests.prepare(instance, worker.room()).params  # room() is of one name: the same is asked below
        record = Lane(worker, claims, shelf.fixtures, repeat=False).record(instance)
    answer = None if record.written is None else json.loads(packing.plain(record.written.observation))
    return {
        "request": {"method": instance.case.method, "params": asked} if record.written is not None else None,
        "response": answer,
        "status": record.result.status,
        "detail": record.result.detail,
        "differences": [list(one) for one in record.result.differences],
    }


# As text


def _tell(answer: Mapping[str, Any]) -> None:
    from npu_conformance.report.terminal import Terminal, line, plain

    console = Terminal()

    def told(text: str, indent: int = 0) -> None:
        line(console, plain(" " * indent + text), indent + 2)

    click.echo(click.style(answer["id"], bold=True))
    told(f"{answer['title']}.", 2)
    if answer["why"]:
        told(answer["why"], 2)
    told(f"Level: {answer['level']}; {answer['level_because']}.", 2)
    others = [name for name in answer["instances"] if name != answer["id"]]
    if others:
        told(f"Other instances: {', '.join(others)}", 2)
    for label, key in (("Says nothing unless these pass", "requires"), ("Asked of who claims", "needs")):
        if answer[key]:
            told(f"{label}: {', '.join(answer[key])}", 2)
    if answer["control"]:
        told(f"Accepted in: {answer['control']}", 2)
    told("Asks")
    for part in answer["question"]:
        _block(told, part["label"], part["text"])
    told("Expects")
    for text in _first(answer["expected"]):
        told(text, 2)
    told("Demanded by")
    for one in answer["requirements"]:
        told(f"{one['id']} ({one['document']}, {one['level']}): {one['sentence']}", 2)
    for row in answer["readings"]:
        told(f"Reading {row['name']}")
        for cell in row["cells"]:
            told(f"{cell['label']}: {cell['text']}", 2)
    if "trace" in answer:
        _tell_trace(told, answer["trace"])
    told("Repeat")
    console.print(plain(f"  {answer['repeat']}"), soft_wrap=True)  # to be copied


def _block(told: Any, label: str, text: str) -> None:
    """A part of a question: what has one line behind its label, more below it."""
    lines = text.splitlines() or [""]
    if len(lines) == 1:
        told(f"{label}: {lines[0]}", 2)
        return
    told(f"{label}:", 2)
    for one in _first(lines):
        told(one, 4)


def _first(lines: List[str]) -> List[str]:
    if len(lines) <= _LINES:
        return lines
    return [*lines[:_LINES], f"… {counted(len(lines) - _LINES, 'more line')}; --format json has all."]


def _in_one_line(innermost: Any) -> str:
    """A small object or list without its line ends, which no text of JSON holds."""
    text = re.sub(r"\n *", " ", innermost.group())
    return text if len(text) <= _LINE else str(innermost.group())


def _tell_trace(told: Any, trace: Mapping[str, Any]) -> None:
    for label, key in (("Request", "request"), ("Answer", "response")):
        if trace[key] is not None:
            told(label)
            text = _INNERMOST.sub(_in_one_line, json.dumps(trace[key], indent=2, ensure_ascii=False))
            for one in _first(text[:_TRACED].splitlines()):
                told(one, 2)
            if len(text) > _TRACED:
                told(f"… {len(text) - _TRACED} more characters; --format json has all.", 2)
    differ = [fact if fact.startswith(kind) else f"{kind}: {fact}" for kind, fact, _ in trace["differences"]]
    first, *others = differ or [trace["detail"]]
    told(f"Judged {trace['status']}" + (f": {first}" if first else ""))
    for one in others:
        told(one, 2)
