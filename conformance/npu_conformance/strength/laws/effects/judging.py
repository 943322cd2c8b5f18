"""The request of a case under conditions, and whether its answer is what the case asserts."""

from __future__ import annotations

import functools
import os
from typing import AbstractSet, Any, Callable, Mapping, Optional, Sequence, Tuple

from npu_conformance.files import descriptors
from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength.laws.effects.answers import copied
from npu_conformance.strength.laws.effects.changes import is_refused
from npu_conformance.strength.laws.effects.declared import BY_NAME, SECOND
from npu_conformance.strength.laws.effects.request import HERE, KeptEffect, Params
from npu_conformance.strength.laws.law import Law
from npu_reference.graphs import load_graph

__all__ = ["EFFECTS", "asked_for", "fault", "read_back", "spared"]


def asked_for(conditions: Sequence[str], params: Mapping[str, Any], folder: str = "") -> Params:
    """The request of a question under conditions; a graph that they change is written into a folder."""
    found: Params = dict(params)
    for name in conditions:
        found = BY_NAME[name].lay(found)
    changes = tuple(name for name in conditions if BY_NAME[name].graph is not None)
    if changes and folder:
        found["graph"] = os.path.join(folder, f"{HERE}.pb")
        content = _changed(params["graph"], changes).SerializeToString(deterministic=True)
        descriptors.write(found["graph"], content)  # whatever a backend has put in its place
    return found


@functools.lru_cache(maxsize=64)
def _changed(path: str, conditions: Tuple[str, ...]) -> Any:
    graph = load_graph(path).to_def()
    for name in conditions:
        change = BY_NAME[name].graph
        if change is not None:
            change(graph)
    return graph


def read_back(conditions: Sequence[str], outcome: client.Outcome) -> client.Outcome:
    """What came of it, read without the conditions."""
    if not isinstance(outcome, client.Answered):
        return outcome
    last = (outcome.ok.get("turns") or [{}])[-1]
    if SECOND.name in conditions and last.get("rejected"):
        return client.Rejected(last["rejected"])
    answer = copied(outcome.ok)
    for name in reversed(conditions):
        answer = BY_NAME[name].back(answer)
    return client.Answered(answer)


def fault(kept: KeptEffect, outcome: client.Outcome, claims: judge.Claims) -> str:
    """How the answer to a case under its conditions is not what the case asserts; empty where it is."""
    result = judge.judge(kept.instance, read_back(kept.conditions, outcome), None, claims)
    return "" if result.status in ("pass", "unsupported") else f"{result.status}: {result.detail}"


def spared(
    kept: KeptEffect,
    outcome: Optional[client.Outcome],
    divided: Optional[client.Outcome],
    refused: Callable[[Sequence[str]], AbstractSet[str]],
) -> KeptEffect:
    """The question without the conditions that a backend is spared, by its answer, its partition, and what options it
    refuses."""
    gone = {name for name in kept.conditions for test in (BY_NAME[name].spared,) if test and test(outcome, divided)}
    if kept.instance.case.expect.rejected is None and is_refused(outcome):
        gone |= refused(kept.conditions)
    return kept._replace(conditions=tuple(name for name in kept.conditions if name not in gone))


EFFECTS = [
    Law("files-in-company", "What compilation leaves is left beside effects that no document relates to it, too",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.debug_dir.priority"), (), None, "compile", area="artifacts"),
    Law("time-in-company", "Profiles, tuning and the order of a step are as they are beside what no document relates",
        ("session.profiling_mode.true", "runconfig.work_path.contents"), (), None, "timeline", area="timing"),
    Law("placed-in-company", "What options are refused for is refused where operators are placed",
        ("session.mix_compile_mode.type",), (), None, "partition"),
    Law("precise-in-company", "What options are refused for is refused where dtypes are told",
        ("session.precision_mode.type",), (), None, "precision"),
    Law("runs-in-company", "Values, errors and dumps of a run are as they are beside what no document relates",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.external_weight.numerics"), (), None, "run", area="run"),
]  # fmt: skip
