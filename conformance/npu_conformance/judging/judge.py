"""Judges an outcome against what a case asserts: status, differences, and the signature of a failure."""

from __future__ import annotations

from typing import Any, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.judging import differences as differing
from npu_conformance.judging import leeway, tolerance
from npu_conformance.judging.differences import Difference, matches
from npu_conformance.library.case import Case, Expect, Instance
from npu_conformance.observing import forms, observe, tensors, timeline, values
from npu_conformance.protocol import client
from npu_reference.printing import clipped, shorten

__all__ = [
    "MEANINGS", "ORDER", "NEGATIVE", "SETTLED", "Claims", "Difference", "Result", "judge", "judge_facts",
    "applicable", "worst", "sees", "verdict",
]  # fmt: skip

#: Every status and what it means, the worst first. `not-run` stands outside: no result at all.
MEANINGS: Mapping[str, str] = {
    "harness-error": "the suite itself is at fault",
    "protocol-error": "the answer does not follow the protocol",
    "crash": "the worker ends without an answer, twice",
    "timeout": "no answer in time, twice",
    "xpass": "a known failure that passes, or fails otherwise",
    "fail": "not what the documents demand",
    "overclaim": "claimed, then answered unsupported",
    "unstable": "another result in a fresh worker",
    "blocked": "a case that this one requires did not pass",
    "xfail": "a known failure, as listed",
    "unsupported": "not claimed, or not to be asked of this backend; never a pass",
    "pass": "every assertion held",
    "not-run": "no result",
}
ORDER = tuple(MEANINGS)

_RANK = {status: place for place, status in enumerate(ORDER)}

#: Statuses that make a verdict negative whatever the level of the case.
NEGATIVE = frozenset(["harness-error", "protocol-error", "crash", "timeout", "xpass", "overclaim", "unstable"])

#: Statuses that leave nothing to mend.
SETTLED = frozenset(["pass", "unsupported", "xfail"])


_ADVICE = "advice: "  # begins the detail of a pass that differs in what a `must` allows
_LONGEST = 1000  # characters of what a status is explained by, which quotes the backend


class Claims(NamedTuple):
    """What a backend says in ``hello`` it can do; ``in_part``: methods of which it can only be asked some."""

    areas: FrozenSet[str]
    editions: FrozenSet[str]
    features: FrozenSet[str]
    in_part: FrozenSet[str] = frozenset()

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> Claims:
        given = hello["capabilities"]
        named = [frozenset(given.get(key, ())) for key in ("areas", "editions", "features", "in_part")]
        return cls(*named)


class Result(NamedTuple):
    """The judgement of one instance.

    signature: class of the first difference, ``method/kind/aspect``; known failures name it.
    facts: what the answer says, as facts; empty without an answer.
    """

    status: str
    detail: str
    differences: Tuple[Difference, ...]
    facts: Tuple[str, ...]
    signature: str


def sees(result: Result) -> bool:
    """Whether a case tells what an answer does otherwise, be it as a failure or as advice."""
    return bool(result.differences) if result.status == "fail" else result.detail.startswith(_ADVICE)


def worst(statuses: Sequence[str]) -> str:
    """The worst of some statuses; `not-run` when there are none."""
    return min(statuses, key=_RANK.__getitem__) if statuses else "not-run"


def applicable(instance: Instance, claims: Claims) -> Optional[str]:
    """Why the backend need not be asked, as the claim it does not make; None when it claims all that is needed."""
    if instance.case.area not in claims.areas:
        return f"area {instance.case.area}"
    if instance.edition not in claims.editions:
        return f"edition {instance.edition}"
    missing = sorted(instance.case.needs - claims.features)
    return f"feature {', '.join(missing)}" if missing else None


def judge(
    instance: Instance, outcome: client.Outcome, folder: Optional[str] = None, claims: Optional[Claims] = None
) -> Result:
    """Judges the answer to one applicable instance; for a twin, the outcome with the names mapped back.

    Args:
        folder: the worker's folder, for tensors that came as files.
        claims: the backend's; without them it answers whatever it is asked in full.
    """
    case = instance.case
    in_part = claims is not None and case.method in claims.in_part
    if isinstance(outcome, client.Answered):
        return _answered(case, instance.edition, outcome.ok, folder, in_part)
    if isinstance(outcome, client.Rejected):
        return _rejected(case, instance.edition, outcome.body, in_part)
    if isinstance(outcome, client.UnsupportedOutcome) and in_part:
        return _not_seen(case, shorten(outcome.feature, _LONGEST), ())
    text = shorten(client.describe(outcome), _LONGEST)
    status = {
        client.UnsupportedOutcome: "overclaim",
        client.Failed: "fail",
        client.Crashed: "crash",
        client.TimedOut: "timeout",
        client.Nonsense: "protocol-error",
    }[type(outcome)]
    return Result(status, text, (), (), f"{case.method}/{'error' if status == 'fail' else status}")


def _answered(case: Case, edition: str, ok: Mapping[str, Any], folder: Optional[str], in_part: bool) -> Result:
    try:
        found = observe.observations(case.method, ok, folder)
    except tensors.BadTensor as error:
        return Result("protocol-error", f"a tensor of the answer {error}", (), (), f"{case.method}/protocol-error")
    except (timeline.BadTimeline, observe.TooMuch) as error:
        return Result("protocol-error", str(error), (), (), f"{case.method}/protocol-error")
    return judge_facts(case, edition, ok, found, folder, in_part)


def judge_facts(
    case: Case,
    edition: str,
    ok: Mapping[str, Any],
    found: List[observe.Fact],
    folder: Optional[str] = None,
    in_part: bool = False,
) -> Result:
    """Judges an answer by the facts that were observed of it, all of them or those that the case is about.

    Args:
        ok: the answer, valid against the protocol.
        folder, in_part: as :func:`judge` has them: the worker's folder, and whether only parts can be asked.
    """
    tells_origins = any(fact.aspect == "origins" for fact in found)
    if not (in_part and "effective" in ok.get("unseen", ())):
        found = leeway.in_its_words(case, edition, found)
    texts = tuple(observe.texts(found))
    if case.method == "options" and not tells_origins:
        case = _without_origins(case)
        if not _asserts(case.expect):
            detail = "the answer tells the origin of no value, which the protocol leaves to it"
            return Result("unsupported", detail, (), texts, f"{case.method}/unsupported")
    if case.expect.rejected is not None and not case.expect.ignorable:
        codes, kind = " or ".join(case.expect.rejected[0]), "accepted"
        if case.method == "options" and not case.expect.error:
            if _ignored(case, edition, ok):
                kind = "ignored"
            elif tolerance.is_spelling(case, edition, ok):
                kind = "spelling"
        difference = Difference(kind, f"{_TAKEN.get(kind, kind)}; it should be refused with {codes}", "rejected")
        return _result(case, edition, [difference], texts)
    differences = differing.differences(case, edition, ok, found, texts, folder)
    if case.method in ("run", "timeline"):
        differences = leeway.told_otherwise(differences, texts)
    if differences and case.expect.ignorable and case.method == "options" and not case.expect.error:
        # Where it may be ignored, so may what is wrong in a file, and a value may be read as a documented one.
        in_force = all(one.kind == "forbidden" and one.fact.startswith("origin ") for one in differences)
        if in_force and (_ignored(case, edition, ok) or tolerance.is_spelling(case, edition, ok)):
            differences = [one._replace(kind="spelling") for one in differences]
    unseen = _Unseen(case.method, ok.get("unseen", ()), found) if in_part else None
    if unseen is None:
        return _result(case, edition, differences, texts)
    differences = [one for one in differences if not unseen.excuses(one, case.expect)]
    hidden = unseen.of(case.expect)
    return _not_seen(case, hidden, texts) if hidden and not differences else _result(case, edition, differences, texts)


def _not_seen(case: Case, what: str, facts: Tuple[str, ...]) -> Result:
    """Of a backend that said it can be asked only in part: neither a pass nor a failure."""
    return Result("unsupported", f"the backend cannot be asked for {what}", (), facts, f"{case.method}/unsupported")


class _Unseen:
    """Sides of an answer that tell only some subjects; of the others nothing is known."""

    def __init__(self, method: str, aspects: Sequence[str], found: Sequence[observe.Fact]) -> None:
        self._method, self._aspects = method, frozenset(aspects)
        self._told = {(fact.aspect, fact.subject) for fact in found}

    def excuses(self, difference: Difference, expect: Expect) -> bool:
        """Whether it is about something unseen."""
        if difference.kind == "no-alternative":
            return any(self._hides(text) for group in expect.any_of for text in group)
        return difference.kind == "missing" and self._hides(difference.fact)

    def of(self, expect: Expect) -> str:
        """What a case asserts that is unseen; empty where all of it is seen."""
        asserted = [*expect.contains, *expect.forbid, *(text for group in expect.any_of for text in group)]
        hidden = [text for text in asserted if self._hides(text)]
        hidden += [one for one, subject in expect.observe if one in self._aspects and (one, subject) not in self._told]
        return hidden[0] if hidden else ""

    def _hides(self, text: str) -> bool:
        aspect = forms.aspect_of(self._method, text)
        words = text.split(" ")
        place = 3 if aspect == "run_placement" else 1  # "run 0 host NODE"
        subject = words[place] if len(words) > place else ""
        return aspect in self._aspects and (aspect, subject) not in self._told


_TAKEN = {"spelling": "read as a documented value"}


def _without_origins(case: Case) -> Case:
    """The case without what it says of origins, which an answer may leave out."""

    def kept(lines: Iterable[str]) -> Tuple[str, ...]:
        return tuple(line for line in lines if not line.startswith("origin "))

    expect = case.expect
    groups = tuple(kept(group) for group in expect.any_of)
    return case._replace(
        expect=expect._replace(
            observe=tuple(one for one in expect.observe if one[0] != "origins"),
            golden={edition: kept(lines) for edition, lines in expect.golden.items()},
            contains=kept(expect.contains),
            forbid=kept(expect.forbid),
            any_of=groups if all(groups) else (),
        )
    )


def _asserts(expect: Expect) -> bool:
    """Whether anything is asserted of an answer."""
    return bool(expect.observe or expect.contains or expect.forbid or expect.any_of or expect.bounds) or (
        expect.rejected is not None
    )


def _rejected(case: Case, edition: str, body: Mapping[str, Any], in_part: bool) -> Result:
    fact = observe.rejection(body)
    expected = case.expect.rejected
    differences = []
    if expected is None:
        differences.append(Difference("refused", f"{fact.text}: {clipped(str(body['message']), _LONGEST)}", "rejected"))
    else:
        codes, subject, message = expected
        unseen = frozenset(body.get("unseen", ())) if in_part else frozenset()
        if body["code"] == "DEVICE_ENDLESS" and body["code"] not in codes:
            differences.append(Difference("endless", f"{fact.text}; expected {' or '.join(codes)}", "rejected"))
        elif "code" not in unseen and body["code"] not in codes:
            differences.append(Difference("code", f"{fact.text}; expected code {' or '.join(codes)}", "rejected"))
        if "subject" not in unseen and not matches(subject, str(body["subject"])):
            kind = "subject" if _is_involved(case, codes, subject, body) else "unrelated"
            differences.append(Difference(kind, f"{fact.text}; expected subject {subject}", "rejected"))
        if "message" not in unseen and not matches(message, str(body["message"])):
            said = clipped(str(body["message"]), _LONGEST)
            differences.append(Difference("message", f"{said}; expected {message}", "rejected"))
        if "message" not in unseen and case.expect.names not in f"{body['code']} {body['subject']} {body['message']}":
            differences.append(Difference("unnamed", f"{fact.text}; expected {case.expect.names}", "rejected"))
        differences.extend(_too_early_or_late(case.expect.after, body.get("after_ns")))
    return _result(case, edition, differences, (fact.text,))


def _ignored(case: Case, edition: str, ok: Mapping[str, Any]) -> bool:
    """Whether what should be refused is not in force: with a warning of an option, or as if it had not been given.

    What stands in a file may be ignored in part, so an option that names a file keeps its value.
    """
    given = {name: values.unwrapped(value) for name, value in case.params["values"].items()}
    files = list(case.params.get("files", {}))
    effective = ok.get("effective", {})
    for name in {warning["option"] for warning in ok.get("warnings", ()) if warning["code"] not in _OF_ANY_VALUE}:
        if name not in given:
            if case.params.get("env"):  # a variable may say what an option has
                return True
        elif name not in effective or given[name] in files or not _is_in_force(effective[name], given[name]):
            return True
    return tolerance.is_left_out(case, edition, ok)


#: Codes of warnings that say nothing of the value.
_OF_ANY_VALUE = frozenset(("training_only", "inference_only", "advice", "undocumented", "deprecated", "incomplete"))


def _is_in_force(effective: Mapping[str, Any], given: Any) -> bool:
    """Whether a value that is given is the effective one, and not one that happens to be equal."""
    value = effective["value"]
    return effective.get("origin", "given") == "given" and type(value) is type(given) and value == given


#: Codes of a refusal that is about several options or about a file: any of them may be its subject.
_OF_SEVERAL = frozenset(("OPTION_CONFLICT", "OPTION_FILE"))
_OF_EACH_OTHER = 2  # so many options of a question are about each other: either may be named
_OF_ANY_REFUSAL = 5  # codes of a case that leaves open why an option is refused


def _is_involved(case: Case, codes: Sequence[str], subject: str, body: Mapping[str, Any]) -> bool:
    """Whether a refusal is about what should be refused, though its subject is another one.

    The message may name it, or the subject be its value or a file; of a conflict, any option or variable of the
    question; of a graph, an operator.
    """
    said, told = str(body["message"]), str(body["subject"])
    expected = [part for part in subject.split("*") if part]
    if expected and all(part in said for part in expected):
        return True
    params = case.params
    if case.method not in ("options", "library"):
        return bool(told)
    named = {*params.get("files", {}), *(str(values.unwrapped(value)) for value in params["values"].values())}
    of_several = not _OF_SEVERAL.isdisjoint(codes) and len(codes) < _OF_ANY_REFUSAL
    few = len(set(params["values"]) - {"graph_run_mode"}) <= _OF_EACH_OTHER
    if few or of_several or body["code"] == "OPTION_CONFLICT":
        named.update(params["values"], params.get("env", {}))
    return told in named


def _too_early_or_late(wanted: Optional[int], after: Any) -> Iterator[Difference]:
    """Whole seconds of the device's clock, as documents give timeouts; the step before what was late takes less."""
    if wanted is not None and after is None:
        yield Difference("unknown", f"refused without after_ns; expected {wanted} s", "rejected")
    elif wanted is not None and after // 10**9 != wanted:
        yield Difference("after", f"refused after {after:,} ns; expected {wanted} s", "rejected")


def _result(case: Case, edition: str, differences: Sequence[Difference], facts: Tuple[str, ...]) -> Result:
    """The result of an answer that was judged; differences that a `must` allows are told and fail nothing."""
    if not differences:
        return Result("pass", "", (), facts, "")
    serious = leeway.serious(case, edition, differences, facts)
    first = (serious or differences)[0]
    detail = f"{first.kind}: {first.fact}" + (f" (and {len(differences) - 1} more)" if len(differences) > 1 else "")
    if not serious:
        return Result("pass", clipped(f"{_ADVICE}{detail}", _LONGEST), (), facts, "")
    ordered = tuple(serious) + tuple(one for one in differences if one not in serious)
    return Result("fail", clipped(detail, _LONGEST), ordered, facts, f"{case.method}/{first.kind}/{first.aspect}")


# Values


def verdict(statuses: Sequence[Tuple[str, str]]) -> str:
    """The verdict over (status, level) of every instance.

    ``conformant``: at least one pass, no `must` failure and nothing of :data:`NEGATIVE`;
    ``incomplete``: nothing wrong, but something did not run or nothing was judged; else ``not conformant``.
    """
    if any(status in NEGATIVE or (status == "fail" and level == "must") for status, level in statuses):
        return "not conformant"
    if any(status == "not-run" for status, _ in statuses) or not any(status == "pass" for status, _ in statuses):
        return "incomplete"
    if any(status == "blocked" and level == "must" for status, level in statuses):
        return "incomplete"
    return "conformant"
