"""A backend that claims some features, and answers nothing that it does not claim."""

from __future__ import annotations

from typing import Any, Collection, Dict, Mapping, Sequence, Tuple

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
    """The answer without what no feature covers; it shares the rest with what is given."""
    found: Dict[str, Any] = dict(answer)
    for path, feature in _MEMBERS[method]:
        if feature not in features:
            found = _without(found, path.split("."))
    if method == "run" and "files" in found:
        found["files"] = {
            name: content
            for name, content in found["files"].items()
            if not any(part in name and feature not in features for part, feature in _FILES)
        }
    return found


def _without(value: Any, parts: Sequence[str]) -> Any:
    """A copy without the member at the end of a path; only what the path leads through is copied."""
    first, *rest = parts
    if first == "*" and isinstance(value, dict):
        return {name: _without(one, rest) for name, one in value.items()}
    if first == "*":
        return [_without(one, rest) for one in value] if value else value
    if not isinstance(value, dict) or first not in value:
        return value
    return {name: _without(one, rest) if name == first else one for name, one in value.items() if rest or name != first}


def judged(instance: Instance, outcome: client.Outcome, features: Collection[str], folder: str) -> judge.Result:
    """The judgement of a reference's answer, from a backend that claims these features and gives nothing else."""
    claims = judge.Claims(
        frozenset([instance.case.area]), frozenset([instance.edition]), frozenset(features), frozenset()
    )
    assert judge.applicable(instance, claims) is None
    if isinstance(outcome, client.Answered):
        outcome = outcome._replace(ok=covered(instance.case.method, outcome.ok, features))
    return judge.judge(instance, outcome, folder, claims)
