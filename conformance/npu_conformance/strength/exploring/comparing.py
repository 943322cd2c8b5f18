"""Where two answers to one question differ, told by cause, with the requirement that bears on it."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.judging.judge import Claims
from npu_conformance.library import citing
from npu_conformance.observing import observe
from npu_conformance.protocol import client
from npu_conformance.strength.exploring.questions import ExploreQuestion

__all__ = ["Disagreement", "cite", "differences"]

#: What of an answer is compared, by method, with the group that folds it and how much the documents say of it.
#: GEOPs are not compared: how operators are grouped is free, and a matter of laws.
_COMPARED: Mapping[str, Mapping[str, Tuple[str, str]]] = {
    "options": {
        "effective": ("value", "must"), "origins": ("value", "should"), "meaning": ("meaning", "must"),
        "directives": ("directive", "must"), "warnings": ("warning", "should"),
    },
    "partition": {"placement": ("placement", "must"), "reasons": ("reason", "should")},
    "precision": {
        "dtypes": ("dtypes", "must"), "engines": ("engine", "should"), "lists": ("list", "should"),
        "impl_modes": ("implementation mode", "should"), "notices": ("warning", "should"),
    },
    # Orders and counts that documents state whatever a device's durations are.
    "timeline": {
        "ended": ("end", "must"), "launches": ("launches", "must"), "iterations": ("iterations", "must"),
        "moved": ("copies", "must"), "transfer_counts": ("copies", "must"), "ran_on": ("device", "must"),
        "dataset": ("data", "must"), "tuned": ("tuning", "must"), "tuning": ("tuning", "must"),
        "profile": ("profile", "must"), "profile_operators": ("profile", "must"),
    },
}  # fmt: skip
_LEVELS = ("must", "should")
_STANDS_FOR = ("_arg_", "_retval_")


class Disagreement(NamedTuple):
    """One cause by which a backend answers otherwise than the reference.

    Attributes:
        cause: what folds differences: method, kind, and the option, operator or ending it is about.
        level: a guess at how binding a case about it would be.
        missing, extra: facts of the reference alone, and of the backend alone.
        refused: what the reference refuses (an option), where it does.
        told: what the backend did, in words.
    """

    cause: Tuple[str, str, str]
    level: str
    missing: Tuple[str, ...]
    extra: Tuple[str, ...]
    refused: str = ""
    told: str = ""

    @property
    def words(self) -> str:
        """The difference in one line."""
        _, kind, about = self.cause
        if kind == "accepted":
            return f"{about} is accepted; the reference refuses it: {self.told}"
        if kind in ("refused", "ended"):
            return f"{self.told}"
        parts = [f"not {fact}" for fact in self.missing[:1]] + [f"but {fact}" for fact in self.extra[:1]]
        return f"the {kind} of {about}: " + ", ".join(parts)


def differences(
    question: ExploreQuestion, told: client.Outcome, ours: client.Outcome, claims: Claims, ops: Mapping[str, str] = {}
) -> List[Disagreement]:
    """How a backend's outcome differs from the reference's; none where either is not able to answer.

    Args:
        ops: operator of every node of the graph, which folds what is said of nodes.
    """
    method = question.method
    if isinstance(told, client.UnsupportedOutcome) or not isinstance(ours, (client.Answered, client.Rejected)):
        return []
    if not isinstance(told, (client.Answered, client.Rejected)):
        words = client.describe(told)
        return [Disagreement((method, "ended", type(told).__name__.lower()), "must", (), (), "", words)]
    if isinstance(ours, client.Rejected):
        if isinstance(told, client.Rejected):
            return []
        subject = _subject(ours, ops)
        words = str(ours.body.get("message", ""))
        return [Disagreement((method, "accepted", subject), "must", (), (), str(ours.body.get("subject", "")), words)]
    if isinstance(told, client.Rejected):
        missing = _first_facts(question, ours.ok)
        return [Disagreement((method, "refused", _subject(told, ops)), "must", missing, (), "", client.describe(told))]
    return _of_answers(question, told.ok, ours.ok, claims, ops)


def _topic(question: ExploreQuestion) -> str:
    """What a step is about, which folds what differs: the option of its case's first requirement."""
    parts = question.requirements[0].split(".") if question.requirements else [""]
    return parts[1] if len(parts) > 2 else ".".join(parts)


def _subject(outcome: client.Rejected, ops: Mapping[str, str]) -> str:
    subject = str(outcome.body.get("subject", ""))
    return ops.get(subject, subject)


def _first_facts(question: ExploreQuestion, answer: Mapping[str, Any]) -> Tuple[str, ...]:
    """What a case can ask of a question that must not be refused."""
    found = observe.observations(question.method, answer)
    if question.method == "options":
        names = set(question.params["values"])
        found = [fact for fact in found if fact.aspect == "effective" and fact.subject in names] or found
    aspects = _COMPARED[question.method]
    return tuple(fact.text for fact in found if fact.aspect in aspects)[:3]


def _of_answers(
    question: ExploreQuestion, told: Mapping[str, Any], ours: Mapping[str, Any], claims: Claims, ops: Mapping[str, str]
) -> List[Disagreement]:
    method = question.method
    known = set(ours.get("effective", ()))
    said, meant = (_facts(method, answer, claims, known) for answer in (told, ours))
    if method in claims.in_part:  # of such a backend only what it tells is compared
        seen = {(fact.aspect, fact.subject) for fact in said}
        meant = {fact for fact in meant if (fact.aspect, fact.subject) in seen}
    if method == "options" and not any(fact.aspect == "origins" for fact in said):
        meant = {fact for fact in meant if fact.aspect != "origins"}  # an answer may leave them out (G23)
    if method == "precision":  # where an operator is, is a matter of partition
        nodes = {one["node"] for one in told["nodes"]} & {one["node"] for one in ours["nodes"]}
        said, meant = (
            {one for one in some if one.subject in nodes or one.aspect == "notices"} for some in (said, meant)
        )
    if method == "timeline":  # of a step that ends otherwise, nothing else can be the same
        ends = {fact.text.split(" ")[1] for fact in said ^ meant if fact.aspect == "ended"}
        said, meant = (
            {one for one in some if one.aspect == "ended" or one.text.split(" ")[1] not in ends}
            for some in (said, meant)
        )
    groups: Dict[Tuple[str, str, str], Tuple[List[str], List[str], Set[str]]] = {}
    texts = [{fact.text for fact in observe.observations(method, answer)} for answer in (told, ours)]
    for place, facts in enumerate((meant - said, said - meant)):
        for fact in sorted((one for one in facts if one.text not in texts[place]), key=lambda one: one.text):
            kind, level = _COMPARED[method][fact.aspect]
            about = _topic(question) if method == "timeline" else ops.get(fact.subject, fact.subject)
            group = groups.setdefault((method, kind, about), ([], [], set()))
            (group[0] if place == 0 else group[1]).append(fact.text)
            group[2].add(level)
    return [
        Disagreement(cause, min(levels, key=_LEVELS.index), tuple(missing), tuple(extra))
        for cause, (missing, extra, levels) in sorted(groups.items())
    ]


def _facts(method: str, answer: Mapping[str, Any], claims: Claims, known: Set[str]) -> Set[observe.Fact]:
    return {
        fact
        for fact in observe.observations(method, answer)
        if fact.aspect in _COMPARED[method]
        and _claimed(fact.aspect, claims)
        and not fact.subject.startswith(_STANDS_FOR)
        and not (fact.aspect in ("effective", "origins") and fact.subject not in known)
        # An option without a value, and one left out of an answer, are the same (G21).
        and not fact.text.endswith(" = null")
        and not (fact.aspect == "origins" and answer["effective"][fact.subject]["value"] is None)
    }


def _claimed(aspect: str, claims: Claims) -> bool:
    feature = observe.ASPECTS[aspect].feature
    return not feature or feature in claims.features


def cite(question: ExploreQuestion, difference: Disagreement) -> Optional[citing.Citation]:
    """The requirement that bears on a difference, as far as one can be named."""
    return next((found for found in map(citing.find, _candidates(question, difference)) if found), None)


def _candidates(question: ExploreQuestion, difference: Disagreement) -> Sequence[str]:
    method, kind, about = difference.cause
    option = about or next(iter(question.params["values"]), "")
    surfaces = [question.surface, "session" if question.surface == "runconfig" else "runconfig"]
    if method == "timeline" and question.requirements:
        return question.requirements
    if method == "partition":
        if "in_out_pair" in question.params["values"]:
            flag = question.params["values"].get("in_out_pair_flag", True)
            return ["in_out_pair.flag_true.device" if flag else "in_out_pair.flag_false.host"]
        return ["mixed.purpose.host_fallback"]
    if method == "precision":
        mode = question.params["values"].get("precision_mode", "")
        stem = {"must_keep_origin_dtype": "must_keep", "allow_mix_precision_fp16": "allow_mix"}.get(mode, mode)
        return [f"precision.s.{stem}", f"precision.{stem}", f"precision.{stem}.basic", "precision.domain"]
    code = {"accepted": "OPTION_VALUE", "refused": "OPTION_VALUE", "meaning": "OPTION_SYNTAX"}.get(kind, "")
    cited = citing.cite(code, option, "", question.surface, question.edition) if code else citing.NOTHING
    words = ["effect", "default", "domain", "range", "type"]
    if any(f"origin {option} = default" == fact for fact in difference.missing):
        words.insert(0, "default")
    if kind == "warning":
        words = ["scope", "deprecated", "unsupported", *words]
    found = [f"{surface}.{option}.{word}" for surface in surfaces for word in words]
    other = next(iter(sorted(question.params["values"])), "")
    return [cited.requirement, *found, *(f"{one}.{other}.{word}" for one in surfaces for word in words),
            "session.table.unlisted_reserved"]  # fmt: skip
