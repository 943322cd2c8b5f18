"""Turns what a backend answered into canonical facts: one a line, sorted, ASCII, free of GEOP names."""

from __future__ import annotations

import itertools
import json
import operator
import re
from collections import Counter
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.observing import device_runs, dump_files, files, left_files, profile_files, tensors, timeline
from npu_conformance.observing.naming import brief

__all__ = [
    "ASPECTS", "COUNTED", "WITHIN", "Aspect", "Fact", "facts", "observations", "rejection", "ascii_line", "tensor_name",
    "texts", "TooMuch",
]  # fmt: skip


_ = (dump_files, profile_files)  # importing a kind registers it

_MAX_FETCHED = 16 << 20  # bytes of all tensors of one answer, those of its ranks among them (assumed)
_MAX_TEXT = 4 << 20  # characters of all facts of one answer (assumed: forty times those of the reference)
_MAX_FACTS = 200_000
_AT_ONCE = 32  # facts looked at together


class TooMuch(ValueError):
    """The facts of an answer are more than is bearable; the text says so."""


class Fact(NamedTuple):
    """One observed fact.

    aspect: key of :data:`ASPECTS`; subject: what it is about; text: the line in a golden.
    """

    aspect: str
    subject: str
    text: str


class Aspect(NamedTuple):
    """One side of an answer that a case may observe exactly.

    feature: what a backend must claim before it is asked for this; empty when every backend must have it.
    """

    name: str
    method: str
    feature: str


_ASPECTS = [
    Aspect("effective", "options", ""),
    Aspect("origins", "options", ""),
    Aspect("warnings", "options", ""),
    Aspect("meaning", "options", "meaning"),
    Aspect("directives", "options", "directives"),
    Aspect("advice", "options", "advice"),
    Aspect("geops", "partition", ""),
    Aspect("count", "partition", ""),
    Aspect("placement", "partition", ""),
    Aspect("host", "partition", ""),
    Aspect("reasons", "partition", "reasons"),
    Aspect("signature", "partition", "signature"),
    Aspect("copies", "partition", "copies"),
    Aspect("borders", "partition", "borders"),
    Aspect("min_geops", "partition", "min_geops"),
    Aspect("notes", "partition", "notes"),
    Aspect("dtypes", "precision", ""),
    Aspect("engines", "precision", "engines"),
    Aspect("lists", "precision", "lists"),
    Aspect("impl_modes", "precision", "impl_modes"),
    Aspect("casts", "precision", "casts"),
    Aspect("notices", "precision", "notices"),
    Aspect("kernels", "compile", ""),
    Aspect("joined_kernels", "compile", ""),
    Aspect("cached", "compile", ""),
    Aspect("wrote", "compile", ""),
    Aspect("left", "compile", ""),
    Aspect("contents", "compile", ""),
    Aspect("passes", "compile", "compile.passes"),
    Aspect("switches", "compile", "compile.switches"),
    Aspect("sizes", "compile", "compile.sizes"),
    Aspect("constants", "compile", "compile.constants"),
    Aspect("weights", "compile", "compile.constants"),
    Aspect("file_notes", "compile", "compile.notes"),
    Aspect("turns", "compile", ""),
    Aspect("library_files", "library", ""),
    Aspect("library_modes", "library", ""),
    Aspect("library_flags", "library", ""),
    Aspect("library_dtypes", "library", ""),
    Aspect("fetches", "run", ""),
    Aspect("engine", "run", "trace"),
    Aspect("run_geops", "run", "trace"),
    Aspect("transfers", "run", "trace"),
    Aspect("on_device", "run", "devices"),
    Aspect("collectives", "run", "collectives"),
    Aspect("run_placement", "run", "trace"),
    Aspect("log", "run", "log"),
    Aspect("output", "run", "output"),
    Aspect("files", "run", ""),
    Aspect("run_launches", "run", "run.timeline"),
    Aspect("run_exchanges", "run", "run.timeline"),
    Aspect("run_elapsed", "run", "run.timeline"),
    Aspect("run_moved", "run", "run.transfers"),
    Aspect("run_memory", "run", "run.memory"),
    Aspect("failed", "run", "may_fail"),
    Aspect("dump", "run", "dump"),
    Aspect("dump_steps", "run", "dump"),
    Aspect("dump_devices", "run", ""),
    Aspect("dump_sizes", "run", "dump"),
    Aspect("exception_dump_sizes", "run", "exception_dump"),
    Aspect("dump_values", "run", "dump"),
    Aspect("dump_bits", "run", "dump"),
    Aspect("overflow_dump", "run", "dump"),
    Aspect("exception_dump", "run", "exception_dump"),
    Aspect("exception_dump_bits", "run", "exception_dump"),
    Aspect("ended", "timeline", ""),
    Aspect("contradictions", "timeline", ""),
    Aspect("lasted", "timeline", ""),
    Aspect("speed", "timeline", ""),
    Aspect("launches", "timeline", "timeline.launches"),
    Aspect("iterations", "timeline", "timeline.launches"),
    Aspect("moved", "timeline", "timeline.transfers"),
    Aspect("transfer_counts", "timeline", "timeline.transfers"),
    Aspect("ran_on", "timeline", "timeline.device"),
    Aspect("dataset", "timeline", "timeline.dataset"),
    Aspect("overlap", "timeline", "timeline.tasks"),
    Aspect("beside", "timeline", "timeline.tasks"),
    Aspect("order", "timeline", "timeline.tasks"),
    Aspect("sequence", "timeline", "timeline.tasks"),
    Aspect("concurrency", "timeline", "timeline.tasks"),
    Aspect("joined", "timeline", "timeline.tasks"),
    Aspect("streams", "timeline", "timeline.streams"),
    Aspect("stream_nodes", "timeline", "timeline.streams"),
    Aspect("memory", "timeline", "timeline.memory"),
    Aspect("fusions", "timeline", "timeline.fusion"),
    Aspect("profile", "timeline", "timeline.files"),
    Aspect("profile_operators", "timeline", "timeline.files"),
    Aspect("profile_points", "timeline", "timeline.files"),
    Aspect("profile_faults", "timeline", "timeline.files"),
    Aspect("tuning", "timeline", "timeline.files"),
    Aspect("tuned", "timeline", "timeline.tuning"),
    Aspect("rejected", "", ""),
]

#: Every aspect by name; the documentation's table and the features of `hello` follow from it.
ASPECTS: Mapping[str, Aspect] = {aspect.name: aspect for aspect in _ASPECTS}

#: Features of parts of what another feature is about.
WITHIN: Mapping[str, str] = {"timeline.streams": "timeline.tasks", "devices": "trace", "collectives": "trace"}

#: Aspects of which the same fact twice is another answer than once: copies.
COUNTED = frozenset({"transfers", "moved", "run_moved"})


def ascii_line(text: object) -> str:
    """``text`` on one line of printable ASCII; everything else is escaped."""
    line = text if isinstance(text, str) else str(text)
    return line if _plain_line(line) else line.encode("unicode_escape").decode("ascii")


def _plain_line(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def facts(method: str, answer: Mapping[str, Any], folder: Optional[str] = None) -> List[str]:
    """The canonical facts of a valid ``ok`` answer, sorted."""
    return texts(observations(method, answer, folder))


def texts(found: Iterable[Fact]) -> List[str]:
    """The lines of some facts, sorted; one that two aspects share stands once, a transfer made twice stands twice."""
    aspect_of: Dict[str, str] = {}
    return sorted(fact.text for fact in found if aspect_of.setdefault(fact.text, fact.aspect) == fact.aspect)


def observations(method: str, answer: Mapping[str, Any], folder: Optional[str] = None) -> List[Fact]:
    """The facts with their aspects, sorted by text.

    Args:
        method: the protocol method asked.
        answer: its ``ok``, already valid against the protocol.
        folder: the worker's folder, for tensors that came as files.
    Raises:
        tensors.BadTensor: a fetched tensor is malformed.
        left_files.BadFile: a file of the answer cannot be read.
        timeline.BadTimeline: a step contradicts itself.
        TooMuch: there are forty times as many facts as of any case.
    """
    found: List[Fact] = []
    room, plain = _MAX_TEXT, True
    told = iter(_OBSERVERS[method](answer, folder))
    while True:
        part = list(map(Fact._make, itertools.islice(told, _AT_ONCE)))
        if not part:
            break
        found += part
        text = "".join([fact.text for fact in part])
        room -= len(text)
        plain = plain and _plain_line(text)  # nearly all are, so they are looked at together
        if room < 0 or len(found) > _MAX_FACTS:
            most = f"{_MAX_FACTS} facts, or {_MAX_TEXT >> 20} MiB of them"
            raise TooMuch(f"the answer says more than is looked at: {most}")
    if not plain:
        found = [fact._replace(text=ascii_line(fact.text)) for fact in found]
    return sorted(found, key=operator.attrgetter("text"))


def rejection(body: Mapping[str, Any]) -> Fact:
    """The fact that a backend refused, from the body of ``rejected``."""
    subject = str(body.get("subject", ""))
    return Fact("rejected", subject, ascii_line(f"rejected {body.get('code', '')} {subject}".rstrip()))


_Triples = Iterator[Tuple[str, str, str]]


_ENCODER = json.JSONEncoder(sort_keys=True)


def _json(value: Any) -> str:
    """A value as JSON; the encoder itself is slow to begin, and most values are single ones."""
    if value is None or value is True or value is False:
        return _WORDS[value]
    return str(value) if type(value) is int else _ENCODER.encode(value)


_WORDS = {None: "null", True: "true", False: "false"}


def _options(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    for name, effective in answer["effective"].items():
        yield "effective", name, f"effective {name} = {_json(effective['value'])}"
        if "origin" in effective:
            yield "origins", name, f"origin {name} = {effective['origin']}"
    for option, code in sorted({(warning["option"], warning["code"]) for warning in answer.get("warnings", [])}):
        yield "warnings", option, f"warning {option} {code}"
    for name, told in answer.get("meaning", {}).items():
        plain = _plain(told, name in _SETS, name in _FILES)
        for text in _leaves(f"meaning {brief(name)}", plain) if plain != {} or name not in _FILES else ():
            yield "meaning", name, text
    for topic, told in answer.get("directives", {}).items():
        for text in _leaves(f"directive {brief(topic)}", _plain(told, topic == "tuning", False)):
            yield "directives", topic, text
    for option in sorted({note["option"] for note in answer.get("notes", [])}):
        yield "advice", option, f"advice {option}"


#: Options whose files say something of what stands in them, and nothing of the rest: an empty part is left out (G24).
_FILES = frozenset(
    {
        "aoe_config_file", "customize_dtypes", "fusion_switch_file", "modify_mixlist", "op_debug_config",
        "op_precision_mode",
    }
)  # fmt: skip
#: Options whose lists stand in no order (G24).
_SETS = frozenset(
    {
        "aoe_config_file", "auto_tune_mode", "enable_scope_fusion_passes", "modify_mixlist", "op_debug_config",
        "optypelist_for_implmode",
    }
)  # fmt: skip


def _plain(told: Any, unordered: bool, sparse: bool) -> Any:
    """What is told without what nobody has to tell: the order of names, and parts that say nothing."""
    if isinstance(told, dict):
        parts = {key: _plain(part, unordered, sparse) for key, part in told.items()}
        return {key: part for key, part in parts.items() if not sparse or part not in ([], {})}
    if unordered and isinstance(told, list) and all(isinstance(one, str) for one in told):
        return sorted(told)
    return told


def _leaves(words: str, told: Any) -> Iterator[str]:
    """A line for every leaf of nested tables; a list is a leaf."""
    if not isinstance(told, dict) or not told:
        yield f"{words} = {_json(told)}"
        return
    for key, part in told.items():
        yield from _leaves(f"{words} {brief(key)}", part)


def _partition(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    yield "count", "", f"geops {len(answer['geops'])}"
    for geop in answer["geops"]:
        nodes = sorted(geop["nodes"])
        first = brief(nodes[0]) if nodes else "(empty)"
        for node in nodes:
            yield "geops", node, f"geop {first} node {node}"
            yield "placement", node, f"device {node}"
        for key, word in (("args", "arg"), ("rets", "ret")):
            for tensor in sorted({tensor_name(name) for name in geop.get(key, [])}):
                yield "signature", tensor, f"geop {first} {word} {tensor}"
        for node in sorted({copy if isinstance(copy, str) else copy["node"] for copy in geop.get("copies", [])}):
            yield "copies", node, f"geop {first} copy {node}"
    for host in answer["host"]:
        node = host["node"]
        yield "host", node, f"host {node}"
        yield "placement", node, f"host {node}"
        if host.get("reason"):
            yield "reasons", node, f"host {node} because {host['reason']}"
    borders = {
        (border["source"], f"border {border['direction']} {border['source']} {border.get('dtype', '')}".rstrip())
        for border in answer.get("borders", [])
    }
    for source, text in sorted(borders):
        yield "borders", source, text
    if answer.get("min_geops") is not None:
        yield "min_geops", "", f"min_geops {answer['min_geops']}"
    for code, subject in sorted({(note["code"], note.get("subject", "")) for note in answer.get("notes", [])}):
        yield "notes", code, f"note {code} {subject}".rstrip()


def tensor_name(name: str) -> str:
    """``node:slot`` of an argument or return, which the adapter calls ``<node>_<slot>_arg`` or ``_retval``."""
    found = re.fullmatch(r"(.+)_([0-9]{1,9})_(?:arg|retval)", name)
    return f"{found[1]}:{found[2]}" if found else name


def _precision(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    for one in answer["nodes"]:
        node = one["node"]
        inputs, outputs = " ".join(one["inputs"]), " ".join(one["outputs"])
        yield "dtypes", node, f"dtypes {node} {inputs} -> {outputs}".replace("  ", " ").rstrip()
        if one.get("engine"):
            yield "engines", node, f"engine {node} {one['engine']}"
        if one.get("list"):
            yield "lists", node, f"list {node} {one['list']}"
        if one.get("impl_mode"):
            yield "impl_modes", node, f"impl_mode {node} {one['impl_mode']}"
    for source, target, ends in sorted(
        {(cast["source"], cast["target"], f"{cast['from']} {cast['to']}") for cast in answer.get("casts", [])}
    ):
        yield "casts", source, f"cast {source} -> {target} {ends}"
    for code, subject in sorted({(one["code"], one.get("subject", "")) for one in answer.get("warnings", [])}):
        yield "notices", code, f"notice {code} {subject}".rstrip()


def _run(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    yield from _of_run(answer, folder, [_MAX_FETCHED])


def _of_run(answer: Mapping[str, Any], folder: Optional[str], room: List[int]) -> _Triples:
    """What a run answered, or one of its ranks; ``room``: bytes that tensors may still have."""
    for name, tensor in answer.get("fetches", {}).items():
        shape = ",".join(str(size) for size in tensor["shape"])
        raw = tensors.decode_bytes(tensor, folder, room[0])
        room[0] -= len(raw)
        shown = tensors.bits(tensor["dtype"], raw)
        yield "fetches", name, f"fetch {name} {tensor['dtype']} [{shape}] {shown}".rstrip()
    trace = answer.get("trace")
    if trace is not None:
        ran = any(record.get("engine") and record.get("geops", 0) > 0 for record in trace)
        yield "engine", "", "engine ran" if ran else "engine absent"
    for number, record in enumerate(trace or []):
        yield "run_geops", str(number), f"run {number} geops {record.get('geops', 0)}"
        for copy in record.get("copies", []):
            if copy.get("times", 1) == 0:
                continue  # it lies in a branch that was not taken
            size = "?" if copy["bytes"] is None else copy["bytes"]
            text = f"run {number} copy {copy['direction']} {copy['tensor']} {size}"
            yield "transfers", copy["tensor"], text
        if record.get("device") is not None:
            yield "on_device", str(number), f"run {number} on device {record['device']}"
        for one in record.get("collectives", []):
            group = ",".join(str(rank) for rank in one["ranks"])
            part = f" part {one['part']}" if one.get("part") is not None else ""
            yield "collectives", one["tensor"], f"run {number} {one['kind']} {one['tensor']} among {group}{part}"
        partition = record.get("partition") or {}
        for geop in partition.get("geops", []):
            for node in geop["nodes"]:
                yield "run_placement", node, f"run {number} device {node}"
        for host in partition.get("host", []):
            yield "run_placement", host["node"], f"run {number} host {host['node']}"
    yield from device_runs.facts_of(answer)
    for level, code, subject in sorted(
        {(entry["level"], entry["code"], entry.get("subject", "")) for entry in answer.get("log", [])}
    ):
        yield "log", code, f"log {level} {code} {subject}".rstrip()
    printed = Counter(answer.get("output", "").splitlines())
    for line, times in printed.items():
        yield "output", line, f"printed {line}".rstrip()
        if times > 1 and line.strip():  # facts are a set: what a script prints again is one of its own
            yield "output", line, f"printed {times} times {line}".rstrip()
    yield from left_files.observations(answer)
    if "failed" in answer:
        yield "failed", answer["failed"]["subject"], f"failed {answer['failed']['code']} {answer['failed']['subject']}"
    for rank, told in enumerate(answer.get("ranks", [])):
        for aspect, subject, text in _rank(told, folder, room):
            yield aspect, subject, f"rank {rank} {text}"


def _rank(told: Mapping[str, Any], folder: Optional[str], room: List[int]) -> _Triples:
    """What one of several ranks answered."""
    if "rejected" in told:
        fact = rejection(told["rejected"])
        yield fact.aspect, fact.subject, fact.text
    else:
        yield from _of_run(told["ok"], folder, room)


def _compile(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    return files.compile_facts(answer)


def _library(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    return files.library_facts(answer)


def _timeline(answer: Mapping[str, Any], folder: Optional[str]) -> _Triples:
    return timeline.facts_of(answer)


_OBSERVERS: Dict[str, Callable[[Mapping[str, Any], Optional[str]], _Triples]] = {
    "compile": _compile,
    "library": _library,
    "options": _options,
    "partition": _partition,
    "precision": _precision,
    "run": _run,
    "timeline": _timeline,
}
