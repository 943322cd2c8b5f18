"""What the record of a model holds, and how it is written beside the model: one fact a line, sorted.

Form 1 held the placement alone, and is read still. Where an operator lies is compared by GEOP membership, never by a
GEOP's name.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference import strict_json
from npu_reference.errors import NpuError

__all__ = [
    "ALWAYS", "FACTS", "Kernels", "GoldenPlace", "Precision", "GoldenQuestion", "GoldenRecord", "record_path",
    "recorded", "written",
]  # fmt: skip

_FORM_1 = "npu-conformance golden graph 1"
#: --again would read the record that cannot be read.
_AGAIN = "Record it again with golden update and its options."
_FORM_2 = "npu-conformance golden graph 2"

#: What a record may hold: where operators lie; dtypes, engine, list and mode of each; time and memory of one step.
FACTS = ("placement", "precision", "step")

#: What every graph has. A step needs sizes.
ALWAYS = ("placement", "precision")


class GoldenQuestion(NamedTuple):
    """What a model is asked; kept in the record.

    Attributes:
        values: options; surface, edition, policy, flavour, feeds, fetches: as for ``partition``.
        facts: those of :data:`FACTS` that are recorded.
        shapes: of first outputs, by node; batch: the first size of other inputs that leave it open.
        device: name of the simulated device, or a file of the user's own.
        op_list, ops_info: the user's own files. Paths are relative to the folder of the model.
    """

    values: Mapping[str, Any]
    surface: str = "session"
    edition: str = "current"
    policy: str = "documented"
    flavour: str = "tf1"
    feeds: Tuple[str, ...] = ()
    fetches: Tuple[str, ...] = ()
    facts: Tuple[str, ...] = ("placement",)
    shapes: Mapping[str, Tuple[int, ...]] = {}
    batch: Optional[int] = None
    device: str = "Ascend910A"
    op_list: Optional[str] = None
    ops_info: Optional[str] = None

    def to_json(self) -> Dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        shapes = {name: list(shape) for name, shape in self.shapes.items()}
        return {**self._asdict(), **lists, "values": dict(self.values), "shapes": shapes}


_LISTS = ("feeds", "fetches", "facts")


class GoldenPlace(NamedTuple):
    """Where one operator is: the number of its GEOP, or -1 with the reason and the operator that caused it."""

    geop: int
    reason: str = ""
    via: str = ""


class Precision(NamedTuple):
    """How one operator of the device is computed: dtypes of inputs and outputs, engine, list, implementation mode."""

    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    engine: str
    list: str = ""
    mode: str = ""


class Kernels(NamedTuple):
    """All kernels of one type on one engine: how many, and nanoseconds of a step in them."""

    number: int
    nanoseconds: int


class GoldenRecord(NamedTuple):
    """What a golden holds.

    Attributes:
        question: what was asked.
        places: of every operator; counts: what a reader looks at first.
        precision: of every operator of the device, by name; empty where it is not recorded.
        step: numbers of one step by name; those in time end in " ns", those of memory in " bytes".
        kernels: of the step, by ``type engine``.
        digests: of the user's files that the question names, by field.
        unknown: why the step asked for is not known, or "".
    """

    question: GoldenQuestion
    places: Mapping[str, GoldenPlace]
    counts: Mapping[str, int]
    precision: Mapping[str, Precision] = {}
    step: Mapping[str, int] = {}
    kernels: Mapping[str, Kernels] = {}
    digests: Mapping[str, str] = {}
    unknown: str = ""


def record_path(model: str) -> pathlib.Path:
    """Where the record of `model` stands: beside it."""
    path = pathlib.Path(model)
    if not path.name:
        raise NpuError("GRAPH_FILE", model, "names no file.")
    return path.with_name(path.name + ".golden.txt")


def recorded(model: str) -> GoldenRecord:
    """The record beside `model`.

    Raises:
        NpuError: GRAPH_FILE when there is no such model, OUTPUT when nothing was recorded, CASE_FILE when the record is
            damaged.
    """
    path = record_path(model)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not os.path.exists(model):
            raise NpuError(
                "GRAPH_FILE", model, "there is no such file.", "Name the file that golden update was given."
            ) from None
        raise NpuError(
            "OUTPUT", model, "has no golden beside it.", f"Record one: npu-conformance golden update {model}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a NUL in the name
        raise NpuError("CASE_FILE", str(path), f"cannot be read: {error}.") from None
    return _read(text, str(path))


def written(record: GoldenRecord) -> str:
    """The record's text: a header, the question as JSON, counts, then one operator a line, sorted."""
    lines = [_FORM_2, json.dumps(record.question.to_json(), sort_keys=True, ensure_ascii=True)]
    lines += [f"file {field} = {digest}" for field, digest in sorted(record.digests.items())]
    lines += [f"count {name} = {value}" for name, value in sorted(record.counts.items())]
    lines += [f"step {name} = {value}" for name, value in sorted(record.step.items())]
    lines += [f"kernels {name} = {one.number} {one.nanoseconds}" for name, one in sorted(record.kernels.items())]
    for name, place in sorted(record.places.items()):
        where = f"geop {place.geop}" if place.geop > 0 else f"host {place.reason} {place.via}".rstrip()
        one = record.precision.get(name)
        lines.append(f"node {name} {where}" + (f" as {_told(one)}" if one is not None and place.geop > 0 else ""))
    # Operators of functions' bodies have no place of their own.
    inside = sorted(name for name in record.precision if name not in record.places or record.places[name].geop <= 0)
    lines += [f"inside {name} as {_told(record.precision[name])}" for name in inside]
    return "\n".join(lines) + "\n"


def _told(one: Precision) -> str:
    return f"{_joined(one.inputs)} {_joined(one.outputs)} {one.engine or '-'} {one.list or '-'} {one.mode or '-'}"


def _joined(names: Sequence[str]) -> str:
    return ",".join(names) or "-"


def _read(text: str, subject: str) -> GoldenRecord:
    lines = text.splitlines()
    if not lines or lines[0] not in (_FORM_1, _FORM_2):
        raise NpuError("CASE_FILE", subject, f"does not begin with {_FORM_2!r}.", _AGAIN)
    try:
        question = _question(strict_json.loads(lines[1]))
    except (IndexError, ValueError, TypeError, KeyError, RecursionError):
        raise NpuError("CASE_FILE", f"{subject}:2", "does not hold the options of the record as JSON.") from None
    record = GoldenRecord(question, {}, {}, {}, {}, {}, {})
    for number, line in enumerate(lines[2:], start=3):
        try:
            _fact(line, record)
        except (ValueError, IndexError):
            raise NpuError("CASE_FILE", f"{subject}:{number}", f"{line[:80]!r} is no fact.", _AGAIN) from None
    return record


def _question(raw: Mapping[str, Any]) -> GoldenQuestion:
    given = {**raw, "feeds": tuple(raw["feeds"]), "fetches": tuple(raw["fetches"])}
    if "facts" in raw:
        given["facts"] = tuple(raw["facts"])
        given["shapes"] = {name: tuple(int(size) for size in shape) for name, shape in raw["shapes"].items()}
    question = GoldenQuestion(**given)
    texts = [question.surface, question.edition, question.policy, question.flavour, question.device]
    texts += [*question.feeds, *question.fetches, *(p for p in (question.op_list, question.ops_info) if p is not None)]
    if not isinstance(question.values, dict) or not all(isinstance(text, str) for text in texts):
        raise ValueError("a member of another type")
    if not question.facts or not set(question.facts) <= set(FACTS) or isinstance(question.batch, (bool, str, float)):
        raise ValueError("facts or batch")
    return question


def _fact(line: str, record: GoldenRecord) -> None:
    """Put the fact of one line where it belongs. ValueError, IndexError where it is none."""
    kind, rest = line.split(" ", 1)
    one: Dict[str, Dict[str, Any]] = {"file": record.digests, "count": record.counts, "step": record.step}  # type: ignore[dict-item]
    if kind in one:
        name, text = rest.rsplit(" = ", 1)
        one[kind][name] = text if kind == "file" else int(text)
    elif kind == "kernels":
        name, text = rest.rsplit(" = ", 1)
        number, nanoseconds = text.split(" ")
        _into(record.kernels, name, Kernels(int(number), int(nanoseconds)))
    elif kind in ("node", "inside"):
        where, _, dtypes = rest.partition(" as ")
        words: List[str] = where.split(" ")
        if dtypes or kind == "inside":
            inputs, outputs, *told = dtypes.split(" ")
            engine, listed, mode = ("" if text == "-" else text for text in told)
            _into(record.precision, words[0], Precision(_split(inputs), _split(outputs), engine, listed, mode))
        if kind == "node" and words[1] == "geop" and len(words) == 3:
            _into(record.places, words[0], GoldenPlace(int(words[2])))
        elif kind == "node" and words[1] == "host" and len(words) in (3, 4):
            _into(record.places, words[0], GoldenPlace(-1, *words[2:]))
        elif kind == "node" or len(words) != 1:
            raise ValueError(line)
    else:
        raise ValueError(line)


def _into(facts: Mapping[str, Any], name: str, value: Any) -> None:
    assert isinstance(facts, dict)
    facts[name] = value


def _split(text: str) -> Tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))
