"""A backend that claims some features, and answers nothing that it does not claim."""

from __future__ import annotations

import copy
from typing import Any, Collection, Dict, Iterator, Mapping, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client

__all__ = ["covered", "judged"]

#: By method: members of an answer and the feature that they belong to; `*` stands for every entry.
_MEMBERS: Mapping[str, Sequence[Tuple[str, str]]] = {
    "options": [("meaning", "meaning"), ("notes", "advice"), ("directives", "directives")],
    "partition": [
        ("host.*.reason", "reasons"), ("geops.*.args", "signature"), ("geops.*.rets", "signature"),
        ("geops.*.copies", "copies"), ("borders", "borders"), ("min_geops", "min_geops"), ("notes", "notes"),
    ],
    "precision": [
        ("nodes.*.engine", "engines"), ("nodes.*.list", "lists"), ("nodes.*.impl_mode", "impl_modes"),
        ("casts", "casts"), ("warnings", "notices"),
    ],
    "compile": [
        ("turns.*.fusion", "compile.passes"), ("turns.*.kernels.*.switches", "compile.switches"),
        ("turns.*.kernels.*.bytes", "compile.sizes"), ("turns.*.constants", "compile.constants"),
        ("turns.*.notes", "compile.notes"),
    ],
    "library": [],
    "timeline": [
        (f"{step}{member}", feature)
        for step in ("base.", "variants.*.")
        for member, feature in (
            ("launches", "timeline.launches"), ("iterations", "timeline.launches"),
            ("transfers", "timeline.transfers"), ("memory", "timeline.memory"), ("fusion", "timeline.fusion"),
            ("device", "timeline.device"), ("dataset", "timeline.dataset"), ("files", "timeline.files"),
            ("tuned", "timeline.tuning"), ("tasks.*.stream", "timeline.streams"), ("tasks", "timeline.tasks"),
        )
    ],
    "run": [
        (f"{rank}{member}", feature)
        for rank in ("", "ranks.*.ok.")
        for member, feature in (
            ("trace.*.device", "devices"), ("trace.*.collectives", "collectives"), ("trace", "trace"), ("log", "log"),
            ("output", "output"), ("timeline", "run.timeline"), ("memory", "run.memory"),
            ("transfers", "run.transfers"),
        )
    ],
}  # fmt: skip

#: Files of a run by what their paths hold, and the feature that they belong to.
_FILES = (("PROF_", "run.profile"),)


def covered(method: str, answer: Mapping[str, Any], features: Collection[str]) -> Dict[str, Any]:
    """The answer without what no feature covers."""
    found: Dict[str, Any] = copy.deepcopy(dict(answer))
    for path, feature in _MEMBERS[method]:
        if feature not in features:
            *parts, last = path.split(".")
            for holder in _holders(found, parts):
                holder.pop(last, None)
    if method == "run":
        for files in (holder["files"] for holder in _holders(found, []) if "files" in holder):
            for name in [one for one in files if any(part in one and f not in features for part, f in _FILES)]:
                del files[name]
    return found


def _holders(value: Any, parts: Sequence[str]) -> Iterator[Dict[str, Any]]:
    if not parts:
        if isinstance(value, dict):
            yield value
        return
    first, *rest = parts
    if first != "*":
        if isinstance(value, dict) and first in value:
            yield from _holders(value[first], rest)
        return
    for one in list(value.values()) if isinstance(value, dict) else list(value or ()):
        yield from _holders(one, rest)


def judged(instance: Instance, outcome: client.Outcome, features: Collection[str], folder: str) -> judge.Result:
    """The judgement of a reference's answer, from a backend that claims these features and gives nothing else."""
    claims = judge.Claims(
        frozenset([instance.case.area]), frozenset([instance.edition]), frozenset(features), frozenset()
    )
    assert judge.applicable(instance, claims) is None
    if isinstance(outcome, client.Answered):
        outcome = outcome._replace(ok=covered(instance.case.method, outcome.ok, features))
    return judge.judge(instance, outcome, folder, claims)
