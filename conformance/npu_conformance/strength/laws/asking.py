"""Asks a backend what laws are about, and judges its answers by them.

What is asked comes in kinds (:mod:`kinds`): random graphs, the graphs of the cases, what cases say under conditions,
options in company, effects in company, small graphs that run. The questions are dealt to parts, which any worker may
ask; the answers are kept, so that they can be judged again.
"""

from __future__ import annotations

import functools
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.judging import judge
from npu_conformance.judging.records import Record
from npu_conformance.library.case import Instance
from npu_conformance.observing import observe, tensors, timeline
from npu_conformance.protocol import client
from npu_conformance.running.lanes import Settings
from npu_conformance.strength.laws import answers, examples, scheduling
from npu_conformance.strength.laws.answers import FILE, graphs, load, whole
from npu_conformance.strength.laws.asker import Asker, ended_badly
from npu_conformance.strength.laws.kinds import KINDS, random_graphs
from npu_conformance.strength.laws.plans import DEFAULT, PARTS, Asked, LawFinding, Plan, drawn_by, edition_of, shelved
from npu_conformance.strength.laws.table import LAWS, OF_CONDITIONS, OF_EFFECTS, apart, instances, law_of
from npu_reference.errors import NpuError
from npu_reference.printing import clipped

__all__ = [
    "DEFAULT", "FILE", "LAWS", "Plan", "Questions", "apart", "concerns", "drawn_by", "findings", "graphs", "instances",
    "law_of", "load", "records", "run", "whole",
]  # fmt: skip

_SHOWN = 20  # graphs whose faults a record lists
_LONGEST = 1000  # characters of a fault, which quotes the backend
_TOGETHER = 5000  # characters of all faults that a record lists (assumed)

#: What a law holds of, by its method.
_OF = {"partition": "graphs", "precision": "graphs", "options": "sets of values", "run": "graphs", "timeline": "graphs"}

#: How a question breaks laws, by law.
_Broken = Mapping[str, LawFinding]

#: Questions that break a law, by law and edition.
_ByLaw = Mapping[Tuple[str, str], List[LawFinding]]


# -- judging ----------------------------------------------------------------------------------------------------------


def findings(plan: Plan, claims: judge.Claims, asked: Asked) -> _Broken:
    """How the answers to one question break laws, by law."""
    try:
        return KINDS[asked.kind].faults(plan, claims, asked)
    except Exception as error:  # noqa: BLE001  whatever an answer does to us may cost its law, not the run
        law = next(law.name for law in LAWS.values() if concerns(plan, law.name, asked))
        ours = not isinstance(error, (observe.TooMuch, tensors.BadTensor, timeline.BadTimeline))
        fault = f"reading the answer ended in {type(error).__name__}: {error}" if ours else str(error)
        return {law: LawFinding(asked, fault, asked.outcomes.get("first"), unread=ours)}


def concerns(plan: Plan, law: str, asked: Asked) -> bool:
    """Whether the answers to a question are judged by the law of this name."""
    return KINDS[asked.kind].concerns(plan, LAWS[law], asked)


def _by_law(judged: Iterable[Tuple[Asked, _Broken]]) -> _ByLaw:
    found: Dict[Tuple[str, str], List[LawFinding]] = {}
    for asked, broken in judged:
        for law, finding in broken.items():
            found.setdefault((law, asked.edition), []).append(finding)
    return found


def _has_answer(asked: Asked) -> bool:
    """Whether the backend said anything to a question, so that a law can hold of it."""
    return any(outcome is not None and not ended_badly(outcome) for outcome in asked.outcomes.values())


def records(
    plan: Plan, claims: judge.Claims, asked: Sequence[Asked], broken: Optional[_ByLaw] = None
) -> List[Record]:  # fmt: skip
    """A record of every law; the same answers give the same records. `broken`: the findings, where they are known."""
    if broken is None:
        broken = _by_law((one, findings(plan, claims, one)) for one in asked)
    return [_judged(plan, claims, instance, asked, broken) for instance in plan.instances]


def _judged(
    plan: Plan, claims: judge.Claims, instance: Instance, asked: Sequence[Asked], broken: _ByLaw
) -> Record:  # fmt: skip
    law = law_of(instance)
    lacking = judge.applicable(instance, claims)
    if lacking is not None:
        return _record(instance, "unsupported", f"the backend does not claim {lacking}")
    concerned = [one for one in asked if one.edition == instance.edition and concerns(plan, law.name, one)]
    count = sum(1 for one in concerned if law.name.endswith("answered") or _has_answer(one))
    found = broken.get((law.name, instance.edition), [])
    of_cases = law.name in OF_CONDITIONS | OF_EFFECTS
    of = "cases under conditions" if of_cases else _OF[law.method]
    if found:
        detail = f"broken by {len(found)} of {len(concerned)} {of}: {clipped(found[0].fault, _LONGEST)}"
        shown = found[:_SHOWN]
        longest = min(_LONGEST, _TOGETHER // len(shown))
        told = [f"{KINDS[one.asked.kind].named(plan, one)}: {clipped(one.fault, longest)}" for one in shown]
        differences = tuple(judge.Difference("law", text, law.name) for text in told)
        status = "harness-error" if all(one.unread for one in found) else "fail"
        return _record(instance, status, detail, differences)
    if count:
        return _record(instance, "pass", "", facts=(f"law {law.name} holds of {count} {of}",))
    if concerned:
        return _record(instance, "not-run", "nothing that was asked had an answer")
    if of_cases:
        return _record(instance, "unsupported", "of the cases that the backend claims none is in this edition")
    return _record(instance, "not-run", "no graph was asked in this edition; ask for more")


def _record(
    instance: Instance,
    status: str,
    detail: str,
    differences: Tuple[judge.Difference, ...] = (),
    facts: Tuple[str, ...] = (),
) -> Record:
    method = instance.case.method
    signature = "" if status == "pass" else f"{method}/law/{law_of(instance).name}"
    if status in ("unsupported", "not-run"):
        signature = f"{method}/{status}"
    return Record(instance, judge.Result(status, detail, differences, facts, signature), None, "", "", 0.0)


# -- asking -----------------------------------------------------------------------------------------------------------


class Common(NamedTuple):
    """What every part of the questions needs: whatever process asks it."""

    plan: Plan
    claims: judge.Claims
    editions: Tuple[str, ...]
    methods: Mapping[str, FrozenSet[str]]  # by kind of question, those that a law is about; a kind without is not asked


class Told(NamedTuple):
    """What came of a part: every question with how its answers break laws, outcomes of graphs asked again, or how the
    suite failed."""

    judged: Sequence[Tuple[Asked, _Broken]] = ()
    repeated: Mapping[int, Optional[client.Outcome]] = {}
    lost: str = ""


def _judged_one_by_one(
    part: int, common: Common, worker: client.Client, tick: Optional[Callable[[], None]] = None
) -> Iterator[Tuple[Asked, _Broken]]:
    """Asks the questions of one part, and judges each as it is answered."""
    plan, claims, editions, methods = common
    asker = Asker(plan, worker, claims, part, tick)
    for name in methods:
        for asked, broken in KINDS[name].ask(asker, editions, methods[name]):
            yield asked, findings(plan, claims, asked) if broken is None else broken


def _ask_part(part: int, common: Common, worker: client.Client, tick: Optional[Callable[[], None]]) -> Told:
    """Asks the questions of one part, and judges each; `tick` is called after every random graph. Of one in which the
    suite fails nothing is told but how."""
    try:
        return Told(list(_judged_one_by_one(part, common, worker, tick)))
    except (NpuError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  whatever an answer does to us may cost the laws, not the run
        worker.fresh()
        return Told(lost=f"asking part {part} ended in {type(error).__name__}: {error}")


def ask_again(common: Common, worker: client.Client, tick: Optional[Callable[[], None]]) -> Told:
    """Asks some graphs once more, in a fresh worker and the opposite order."""
    if worker.served:
        worker.fresh()
    plan = common.plan
    asker = Asker(plan, worker, common.claims)
    repeated = {}
    for number in reversed(range(0, plan.graphs, random_graphs.REPEATED)):
        if not plan.takes(number // random_graphs.TOGETHER):
            continue
        repeated[number] = random_graphs.once(
            asker, random_graphs.drawn(plan, number), number, edition_of(common.editions, number)
        )
    return Told(repeated=repeated)


class Questions:
    """All questions of a plan, in parts that any workers may ask in any order and in any process, and what came of
    them."""

    def __init__(self, plan: Plan, claims: judge.Claims) -> None:
        self._plan, self._claims = plan, claims
        usable = [one for one in plan.instances if judge.applicable(one, claims) is None]
        editions = tuple(dict.fromkeys(one.edition for one in usable))
        laws = {law.name: law for law in map(law_of, usable)}
        about = {
            name: frozenset(law.method for law in laws.values() if kind.may_concern(law))
            for name, kind in KINDS.items()
        }  # fmt: skip
        self._methods = {name: methods for name, methods in about.items() if methods}
        self._repeats = "repeating" in laws
        #: What each part takes, of the library no more than is asked.
        self.common = Common(plan._replace(library=shelved(plan)), claims, editions, self._methods)
        self._told: List[Tuple[Asked, _Broken]] = []
        self._repeated: Dict[int, Optional[client.Outcome]] = {}
        self._lost = ""
        cases = shelved(plan).case
        self._parts_of = {one.id: scheduling.part_of(one.case.params["graph"], PARTS) for one in cases}

    def same(self, one: Instance) -> Optional[int]:
        """The place of the part that asks the same as an instance of a case, where one does."""
        return self._parts_of.get(one.id) if self._methods else None

    @property
    def parts(self) -> List[Callable[..., Told]]:
        """What to call, each once with `common`, any worker and what to call after a random graph; then `take` what it
        returns."""
        return [functools.partial(_ask_part, part) for part in range(PARTS)] if self._methods else []

    def first_broken(self, worker: client.Client) -> Optional[LawFinding]:
        """Asks no further than to the first answer that breaks one of the laws by itself: how, or None."""
        laws = [law_of(one).name for one in self.common.plan.instances]
        for part in range(PARTS):
            for _, broken in _judged_one_by_one(part, self.common, worker):
                found = next((broken[law] for law in laws if law in broken), None)
                if found is not None:
                    return found
        return None

    @property
    def fresh(self) -> List[Callable[..., Told]]:
        """What to call likewise, and begins with a fresh worker: a lane that has asked nothing yet has one."""
        return [ask_again] if self._repeats else []

    def take(self, told: Told) -> None:
        """What came of one part."""
        self._told += told.judged
        self._repeated.update(told.repeated)
        self._lost = self._lost or told.lost

    def lost(self, reason: str) -> None:
        """Of one part nothing can be known, by a fault of the suite."""
        self._lost = reason

    def _all(self) -> List[Tuple[Asked, _Broken]]:
        """Every question with its answers and how they break laws, by kind and number."""
        order = {kind: place for place, kind in enumerate(KINDS)}
        found = []
        for asked, broken in sorted(self._told, key=lambda one: (order[one[0].kind], one[0].number)):
            if asked.kind == "graph" and asked.number in self._repeated:
                again = self._repeated[asked.number]
                differs = again != asked.outcomes["first"]
                asked = asked._replace(outcomes={**asked.outcomes, "repeated": again})
                broken = findings(self._plan, self._claims, asked) if differs else broken
            found.append((asked, broken))
        return found

    def records(self, start: Callable[[], client.Client]) -> List[Record]:
        """The record of every law, once all parts are asked: the answers and examples, made small, lie in the folder.

        Args:
            start: makes the client of a worker, for what an example needs.
        Raises:
            NpuError: BACKEND_UNAVAILABLE, OUTPUT.
        """
        plan, claims = self._plan, self._claims
        if not self._methods:
            return records(plan, claims, [])
        if self._lost:
            return [_record(instance, "harness-error", self._lost) for instance in plan.instances]
        judged = self._all()
        asked, broken = [one for one, _ in judged], _by_law(judged)
        answers.write(plan.folder, asked)
        made = records(plan, claims, asked, broken)
        shown = list(_to_show(made, broken))
        if shown:
            with start() as worker:
                asker = Asker(plan, worker, claims)
                for record, finding in shown:
                    examples.leave(asker, record, finding)
        return made


def _to_show(made: Sequence[Record], broken: _ByLaw) -> Iterator[Tuple[Record, LawFinding]]:
    """Broken laws, each with the first random graph that breaks it: of a case the graph is at hand."""
    for record in made:
        if record.result.status == "fail":
            found = broken[law_of(record.instance).name, record.instance.edition]
            drawn_ones = [one for one in found if one.asked.kind in examples.SHOWN]
            if drawn_ones:
                yield record, drawn_ones[0]


def run(plan: Plan, spec: str, settings: Settings, claims: judge.Claims) -> List[Record]:
    """Asks everything in one worker, judges, and leaves answers and examples in the plan's folder.

    Raises:
        NpuError: BACKEND_UNAVAILABLE, OUTPUT.
    """
    questions = Questions(plan, claims)
    parts = [*questions.parts, *questions.fresh]
    if parts:
        with settings.client(spec) as worker:
            for part in parts:
                questions.take(part(questions.common, worker, None))
    return questions.records(lambda: settings.client(spec))
