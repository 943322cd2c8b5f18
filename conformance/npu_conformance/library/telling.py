"""Decides how a case is told to a person: what it asks, what it expects, and how strictly."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.files import reading
from npu_conformance.library import inventory, listing
from npu_conformance.library.case import Case, Instance
from npu_conformance.library.library import left_open
from npu_conformance.library.operator_flags import operator_flags
from npu_conformance.observing import tensors
from npu_reference.errors import NpuError
from npu_reference.printing import clipped, counted

__all__ = ["Part", "brief", "cited", "expected", "level", "question"]

_LARGEST = 4 << 20  # bytes of a file whose content is told (assumed)
_SHOWN = 16  # elements of a tensor that are written out (assumed)
_REMEMBERED = 256  # files whose text is kept

#: Parameters that are told by a sentence of their own, in this order; others follow as JSON.
_LABELS = {
    "values": "Options",
    "variants": "Variants",
    "turns": "Turns",
    "env": "Environment",
    "files": "File",
    "op_list": "Operator list",
    "ops_info": "Operator information",
    "graph": "Graph",
    "models": "Model",
    "script": "Script",
    "args": "Arguments",
    "shapes": "Shapes",
    "feeds": "Fed",
    "fetches": "Fetched",
    "init": "Run before",
}


class Part(NamedTuple):
    """One part of a question. label: what it is, with the name of a file; text: lines of any length."""

    label: str
    text: str


def question(case: Case, fixtures: str) -> List[Part]:
    """Everything that a case asks with, each part whole.

    Args:
        fixtures: the library's folder of fixtures; paths below it are told from there on.
    """
    if case.topic == "laws":
        return [Part("Method", f"{case.method}, about random graphs")]
    params = case.params
    surface = f", with options on the surface {params['surface']}" if params.get("values") else ""
    parts = [Part("Method", case.method + surface)]
    for key, label in _LABELS.items():
        if key in params and params[key] not in ({}, []):
            parts += _TELLERS.get(key, _plainly)(label, params[key], fixtures)
    rest = [key for key in params if key not in _LABELS and key != "surface"]
    parts += [Part(key.replace("_", " ").capitalize(), _json(params[key])) for key in rest]
    return parts


def brief(parts: Sequence[Part], most: int, lines: int) -> str:
    """The parts in some lines: what is short stands behind its label, what has several lines below it.

    Args:
        most: characters of all; lines: of one part. What is left out is said.
    """
    told: List[str] = []
    for part in parts:
        inner = part.text.splitlines() or [""]
        if len(inner) == 1:
            told.append(f"{part.label}: {inner[0]}")
            continue
        told.append(f"{part.label}:")
        told += [f"  {one}" for one in inner[:lines]]
        if len(inner) > lines:
            told.append(f"  … {counted(len(inner) - lines, 'more line')}")
    kept: List[str] = []
    room = most - 2  # for the mark of what is left out
    for text in told:
        text = clipped(text, max(most // 2, 80))
        if len(text) > room:
            return "\n".join([*kept, "…"])
        room -= len(text) + 1
        kept.append(text)
    return "\n".join(kept)


# What is asked


def _values(label: str, values: Mapping[str, Any], fixtures: str) -> List[Part]:
    return [Part(label, "\n".join(_assignments(values)))]


def _assignments(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and set(value) == {"field", "value"}:
            name, value = f"{name}.{value['field']}", value["value"]
        yield f"{name} = {_json(value)}"


def _variants(label: str, variants: Mapping[str, Any], fixtures: str) -> List[Part]:
    lines = [f"{name}: {'; '.join(_assignments(values)) or 'the same'}" for name, values in variants.items()]
    return [Part(label, "\n".join(lines))]


def _turns(label: str, turns: Sequence[Mapping[str, Any]], fixtures: str) -> List[Part]:
    return [Part(label, "\n".join(f"{number}. {_json(turn)}" for number, turn in enumerate(turns, 1)))]


def _env(label: str, env: Mapping[str, str], fixtures: str) -> List[Part]:
    return [Part(label, "\n".join(f"{name}={value}" for name, value in env.items()))]


def _files(label: str, files: Mapping[str, Any], fixtures: str) -> List[Part]:
    return [Part(f"{label} {name}", entry if isinstance(entry, str) else _json(entry)) for name, entry in files.items()]


def _op_list(label: str, given: Any, fixtures: str) -> List[Part]:
    text = _json(given) if isinstance(given, dict) else _place(given, fixtures)
    return [Part(label, text)]


def _ops_info(label: str, text: str, fixtures: str) -> List[Part]:
    """The operators that the case itself describes; the lists of all others stand in every question of this kind."""
    try:
        told = json.loads(text)
        flags = operator_flags()
        own = {name: entry for name, entry in told.items() if flags.get(name) != entry}
        others = len(told) - len(own)
    except (ValueError, AttributeError):
        return [Part(label, text)]
    if others < len(flags) // 2:
        return [Part(label, text)]
    more = f"the lists of {counted(others, 'operator')}, as in fixtures/operator_flags.json"
    return [Part(label, f"{json.dumps(own, indent=2)}\nand {more}" if own else more)]


def _graph(label: str, path: str, fixtures: str) -> List[Part]:
    return [Part(f"{label} {_place(path, fixtures)}", _graph_text(path))]


def _models(label: str, models: Sequence[Mapping[str, Any]], fixtures: str) -> List[Part]:
    parts = []
    for number, model in enumerate(models, 1):
        rest = {key: value for key, value in model.items() if key != "graph" and value}
        told = "\n".join(f"{key} = {_json(value)}" for key, value in rest.items())
        text = "\n".join(filter(None, (_graph_text(model["graph"]), told)))
        parts.append(Part(f"{label} {number} {_place(model['graph'], fixtures)}", text))
    return parts


def _script(label: str, path: str, fixtures: str) -> List[Part]:
    return [Part(f"{label} {_place(path, fixtures)}", _file_text(path) or "")]


def _feeds(label: str, feeds: Any, fixtures: str) -> List[Part]:
    if not isinstance(feeds, dict):
        return _plainly(label, feeds, fixtures)
    return [Part(label, "\n".join(f"{name} = {_tensor(tensor)}" for name, tensor in feeds.items()))]


def _plainly(label: str, value: Any, fixtures: str) -> List[Part]:
    listed = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return [Part(label, ", ".join(value) if listed else _json(value))]


_TELLERS: Mapping[str, Any] = {
    "values": _values,
    "variants": _variants,
    "turns": _turns,
    "env": _env,
    "files": _files,
    "op_list": _op_list,
    "ops_info": _ops_info,
    "graph": _graph,
    "models": _models,
    "script": _script,
    "feeds": _feeds,
}


@functools.lru_cache(maxsize=_REMEMBERED)
def _graph_text(path: str) -> str:
    """The graph an operator a line; of a file that holds none its text, and why."""
    from npu_reference.graphs import load_graph

    try:
        return "\n".join(listing.lines(load_graph(path)))
    except NpuError as error:
        why = f"{error.code}: {error.reason}"
    text = _file_text(path)
    return f"{text}\n({why})" if text else why


@functools.lru_cache(maxsize=_REMEMBERED)
def _file_text(path: str) -> Optional[str]:
    """A file's text; None where it is none, or is large."""
    try:
        text = reading.content(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return None
    return text if "\0" not in text else None


def _tensor(tensor: Mapping[str, Any]) -> str:
    shape = "[" + ", ".join(map(str, tensor["shape"])) + "]"
    raw = tensor["raw"]
    size = max(tensors.DTYPES[tensor["dtype"]][0], 4)
    if len(raw) > _SHOWN * size:
        return f"{tensor['dtype']}{shape} of {len(raw)} bytes"
    told = [one.decode("utf-8", "backslashreplace") if isinstance(one, bytes) else one
            for one in tensors.values(tensor["dtype"], raw)]  # fmt: skip
    return f"{tensor['dtype']}{shape} {told}"


def _place(path: str, fixtures: str) -> str:
    return os.path.join("fixtures", os.path.relpath(path, fixtures)).replace(os.sep, "/")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda one: f"{len(one)} bytes")


# What is expected


def expected(case: Case, edition: str) -> List[str]:
    """What an answer must say, a sentence or a fact a line; facts are indented below what is said of them."""
    expect = case.expect
    if case.topic == "laws":
        return [f"{case.title}."]
    lines: List[str] = []
    if expect.rejected is not None:
        codes, subject, message = expect.rejected
        about = [f"subject {subject}"] if subject != "*" else []
        about += [f"message {message}"] if message != "*" else []
        about += [f"naming {expect.names}"] if expect.names else []
        about += [f"after {expect.after} s on the device's clock"] if expect.after is not None else []
        more = f" ({'; '.join(about)})" if about else ""
        lines.append(f"Refused with {' or '.join(codes)}{more}.")
        if expect.ignorable:
            lines.append("Or ignored, and then:")
        elif not expect.error:
            lines.append("Or ignored with a warning of that option, and another value in force.")
    if expect.observe:
        sides = ", ".join(name if subject == "*" else f"{name} of {subject}" for name, subject in expect.observe)
        facts = expect.golden.get(edition, ())
        lines.append(f"Exactly these facts of {sides}:" if facts else f"No fact of {sides}.")
        lines += [f"  {fact}" for fact in facts]
    lines += _listed("These facts:", expect.contains)
    lines += _listed("Not these:", expect.forbid)
    for number, group in enumerate(expect.any_of):
        lines += _listed("Or these:" if number else "Either these facts:", group)
    for name, (least, most) in expect.bounds.items():
        limits = [f"at least {least}"] if least is not None else []
        limits += [f"at most {most}"] if most is not None else []
        lines.append(f"{name}: {' and '.join(limits)}.")
    for variant, measures in expect.compare.items():
        for measure, words in measures.items():
            lines.append(f"Variant {variant}: {measure} {' or '.join(words)}.")
    for name, tensor in expect.values.items():
        lines.append(f"{name} = {_tensor(tensor)}, within {tensor['atol']:g} + {tensor['rtol']:g} x value.")
    lines += _listed("Finite:", expect.finite)
    return lines


def _listed(head: str, facts: Sequence[str]) -> List[str]:
    return [head, *(f"  {fact}" for fact in facts)] if facts else []


def level(instance: Instance, requirements: Mapping[str, inventory.Requirement]) -> Tuple[str, str]:
    """The level of a case in an edition, and why it is that."""
    case = instance.case
    choice = left_open(case, instance.edition, _choices())
    if choice:
        return case.level, f"it rests on a choice that the documents leave: {choice}"
    levels: Dict[str, List[str]] = {}
    for name in case.requirements:
        levels.setdefault(requirements[name].level, []).append(name)
    strongest = min(levels, key=inventory.LEVELS.index)
    if case.level == strongest:
        return case.level, f"as {', '.join(levels[strongest])} is"
    return case.level, f"the case asks for less than its requirements, which are a {strongest}"


def cited(case: Case, requirements: Mapping[str, inventory.Requirement]) -> List[str]:
    """The readings that a case rests on: its own, and those of its requirements."""
    of_requirements = (row for name in case.requirements for row in requirements[name].readings)
    return list(dict.fromkeys([*case.readings, *of_requirements]))


@functools.lru_cache(maxsize=1)
def _choices() -> Mapping[str, str]:
    return inventory.choices()
