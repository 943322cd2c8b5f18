"""Judges an outcome against what a case asserts: status, differences, and the signature of a failure."""

from __future__ import annotations

import functools
import json
import math
import re
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.judging import tolerance
from npu_conformance.library import inventory
from npu_conformance.library.library import Case, Expect, Instance
from npu_conformance.observing import forms, observe, tensors, timeline, values
from npu_conformance.protocol import client
from npu_reference.errors import NpuError
from npu_reference.printing import clipped, shorten

__all__ = [
    "ORDER", "NEGATIVE", "SETTLED", "Claims", "Difference", "Result", "judge", "judge_facts", "applicable", "worst",
    "matches", "sees", "verdict", "Pattern",
]  # fmt: skip

#: Statuses, the worst first. `not-run` stands outside: no result at all.
ORDER = (
    "harness-error", "protocol-error", "crash", "timeout", "xpass", "fail", "overclaim", "unstable", "blocked",
    "xfail", "unsupported", "pass", "not-run",
)  # fmt: skip

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


class Difference(NamedTuple):
    """One way in which an answer is not what the case asserts.

    kind: missing, unexpected, forbidden, no-alternative, bound, compared, value, not-finite, accepted, ignored,
    spelling, refused, code, subject, unrelated, message, after, tensor; fact: the fact or sentence concerned; aspect:
    its side of the answer.
    """

    kind: str
    fact: str
    aspect: str


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
    if isinstance(outcome, client.Unsupported) and in_part:
        return _not_seen(case, shorten(outcome.feature, _LONGEST), ())
    text = shorten(client.describe(outcome), _LONGEST)
    status = {
        client.Unsupported: "overclaim",
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
    if case.method == "options" and not (in_part and "effective" in ok.get("unseen", ())):
        found = _in_its_words(case, edition, found + _unset(case.expect, edition, found))
    texts = tuple(observe.texts(found))
    if case.method == "options" and not tells_origins:
        case = _without_origins(case)
        if not _asserts(case.expect):
            detail = "the answer tells the origin of no value, which the protocol leaves to it"
            return Result("unsupported", detail, (), texts, f"{case.method}/unsupported")
    if case.expect.rejected is not None and not case.expect.ignorable:
        codes, kind = " or ".join(case.expect.rejected[0]), "accepted"
        if case.method == "options" and not case.expect.error:
            if _ignored(case, ok):
                kind = "ignored"
            elif tolerance.is_spelling(case, edition, ok):
                kind = "spelling"
        difference = Difference(kind, f"{_TAKEN.get(kind, kind)}; it should be refused with {codes}", "rejected")
        return _result(case, edition, [difference], texts)
    differences = list(_unanswered(case, ok))
    differences += [
        Difference("forbidden", fact.text, fact.aspect) for fact in found if fact.aspect == "contradictions"
    ]
    differences += _exact(case, edition, found)
    differences += _patterns(case, texts)
    differences += _bounds(case.expect, texts)
    differences += _compared(case.expect, texts)
    differences += _values(case.expect, ok, folder)
    if differences and case.expect.ignorable and case.method == "options" and not case.expect.error:
        # Where it may be ignored, so may what is wrong in a file, and a value may be read as a documented one.
        in_force = all(one.kind == "forbidden" and one.fact.startswith("origin ") for one in differences)
        if in_force and (_ignored(case, ok) or tolerance.is_spelling(case, edition, ok)):
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
_EFFECTIVE = re.compile(r"effective (\S+) = (.*)")


def _in_its_words(case: Case, edition: str, found: List[observe.Fact]) -> List[observe.Fact]:
    """The facts of an answer, with values of options written as the case writes them where they mean the same.

    What has no default by any document may have any value where nobody gives it one.
    """
    expect = case.expect
    groups = (expect.golden.get(edition, ()), expect.contains, *expect.any_of)
    lines = {line for group in groups for line in group}
    wanted: Dict[str, List[str]] = {}
    for match in filter(None, map(_EFFECTIVE.fullmatch, lines)):
        wanted.setdefault(match[1], []).append(match[2])
    replaced: Dict[str, str] = {}
    for fact in found:
        if fact.aspect != "effective" or fact.text in lines:
            continue
        told = fact.text.partition(" = ")[2]
        for value in wanted.get(fact.subject, ()):
            if "*" not in value and _means(case, edition, fact.subject, value, told):
                replaced[fact.subject] = value
                break
    if not replaced:
        return found
    kept = []
    for fact in found:
        if fact.aspect == "effective" and fact.subject in replaced:
            fact = fact._replace(text=f"effective {fact.subject} = {replaced[fact.subject]}")
        elif fact.aspect == "origins" and replaced.get(fact.subject) == "null":
            fact = fact._replace(text=f"origin {fact.subject} = default")
        kept.append(fact)
    return kept


def _means(case: Case, edition: str, option: str, wanted: str, told: str) -> bool:
    """Whether a value that is told means what the case has, both as JSON."""
    try:
        value, other = json.loads(wanted), json.loads(told)
    except ValueError:
        return False
    nobody_gives_it = values.unwrapped(case.params["values"].get(option)) is None
    if nobody_gives_it and value is None and ((edition, option) in case.expect.unset or other in values.NOTHING):
        return True
    if nobody_gives_it and edition == "current" and case.params["surface"] == "session":
        either = [json.dumps(one) for one in values.OF_A_SESSION.get(option, ())]
        if json.dumps(value) in either and json.dumps(other) in either:
            return True
    return values.same(option, value, other, str(case.params.get("env", {}).get("HOME", "~")))


_NULL = re.compile(r"effective (\S+) = null")


def _unset(expect: Expect, edition: str, found: Sequence[observe.Fact]) -> List[observe.Fact]:
    """Facts of options that the case says have no value, and the answer leaves out: that is the same."""
    told = {fact.subject for fact in found if fact.aspect == "effective"}
    lines = [*expect.golden.get(edition, ()), *expect.contains, *(line for group in expect.any_of for line in group)]
    names = {match[1] for match in map(_NULL.fullmatch, lines) if match} - told
    unset = [observe.Fact("effective", name, f"effective {name} = null") for name in sorted(names)]
    return unset + [observe.Fact("origins", name, f"origin {name} = default") for name in sorted(names)]


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
        if "code" not in unseen and body["code"] not in codes:
            differences.append(Difference("code", f"{fact.text}; expected code {' or '.join(codes)}", "rejected"))
        if "subject" not in unseen and not matches(subject, str(body["subject"])):
            kind = "subject" if _is_involved(case, codes, subject, body) else "unrelated"
            differences.append(Difference(kind, f"{fact.text}; expected subject {subject}", "rejected"))
        if "message" not in unseen and not matches(message, str(body["message"])):
            said = clipped(str(body["message"]), _LONGEST)
            differences.append(Difference("message", f"{said}; expected {message}", "rejected"))
        differences.extend(_too_early_or_late(case.expect.after, body.get("after_ns")))
    return _result(case, edition, differences, (fact.text,))


def _ignored(case: Case, ok: Mapping[str, Any]) -> bool:
    """Whether what should be refused was ignored aloud: with a warning of an option whose given value is not in force.

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
    return False


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
        yield Difference("after", f"refused without after_ns; expected {wanted} s", "rejected")
    elif wanted is not None and after // 10**9 != wanted:
        yield Difference("after", f"refused after {after:,} ns; expected {wanted} s", "rejected")


#: Kinds of differences that never fail a `must`: another code, another subject that is involved, other words,
#: and a value that is ignored aloud or read as a documented one.
_ADVISORY = frozenset(("code", "subject", "message", "ignored", "spelling"))

#: Aspects of which more than the golden has never fails a `must`: what is said, and what is left.
_MORE_IS_SAID = frozenset(("warnings", "advice", "notices", "notes", "log", "file_notes"))
_NAMED_FILE = re.compile(r"\.(o|cce|json)( x \d+)?$")
_MORE_IS_LEFT = frozenset(("files", "wrote", "left"))


def _is_advisory(case: Case, edition: str, difference: Difference) -> bool:
    """Whether a difference is one that a `must` allows (docs/write-a-backend.md)."""
    if difference.kind not in ("unexpected", "forbidden"):
        return difference.kind in _ADVISORY
    if difference.kind == "unexpected" and difference.aspect in _MORE_IS_LEFT:
        # Without such a line nothing is written by the case; files that documents name are where they say.
        golden = case.expect.golden.get(edition, ())
        written = any(forms.aspect_of(case.method, line) == difference.aspect for line in golden)
        return written and not _NAMED_FILE.search(difference.fact)
    return difference.aspect in _MORE_IS_SAID


_PLACED = re.compile(r"(?:run \d+ )?(?:host|device|geop \S+ node) (\S+)")
_PLACEHOLDERS = frozenset(("Placeholder", "PlaceholderV2"))


def _is_of_an_input(case: Case, difference: Difference) -> bool:
    """Whether a difference is only where a placeholder is: it computes nothing, and no document places it."""
    match = _PLACED.fullmatch(difference.fact)
    if match is None or difference.kind not in ("missing", "unexpected", "forbidden"):
        return False
    return match[1] in _inputs(str(case.params.get("graph", "")))


@functools.lru_cache(maxsize=1 << 10)
def _inputs(path: str) -> FrozenSet[str]:
    """Names of a graph's placeholders; none where there is no graph that can be read."""
    from npu_reference.graphs import load_graph  # judging options, which is most of it, needs no graphs

    try:
        return frozenset(node.name for node in load_graph(path).nodes if node.op in _PLACEHOLDERS)
    except NpuError:
        return frozenset()


#: What is told of GEOPs one by one, and of what passes between them.
_OF_GEOPS = frozenset(("geops", "count", "signature", "copies", "borders", "min_geops"))
_NUMBER_OF_GEOPS = re.compile(r"geops (\d+)")


def _is_finer(case: Case, edition: str, differences: Sequence[Difference], facts: Sequence[str]) -> bool:
    """Whether a partition differs only in that GEOPs are cut into more: documents promise no least number of them."""
    of_geops = all(one.kind == "bound" or (one.aspect in _OF_GEOPS and one.kind != "forbidden") for one in differences)
    if case.method != "partition" or not of_geops:
        return False
    told = max((int(match[1]) for match in map(_NUMBER_OF_GEOPS.fullmatch, facts) if match), default=0)
    golden = case.expect.golden.get(edition, ())
    lines = (*golden, *case.expect.contains, *(line for group in case.expect.any_of for line in group))
    wanted = [int(match[1]) for match in map(_NUMBER_OF_GEOPS.fullmatch, lines) if match]
    wanted += [most for name, (_, most) in case.expect.bounds.items() if name == "geops" and most is not None]
    grouped = {line.split(" ")[1] for line in golden if line.startswith("geop ")}
    fewest = max(wanted, default=len(grouped))
    if not fewest or told <= fewest:
        return False
    # What stands in a GEOP by the case stands in one, and what is on the host by an exact golden is there.
    offloaded = {line[len("device ") :] for line in facts if line.startswith("device ")}
    wanted_there = {line.split(" ")[3] for line in lines if re.match(r"geop \S+ node [^*]+$", line)}
    exact = any(aspect == "geops" and subject == "*" for aspect, subject in case.expect.observe)
    return offloaded == wanted_there if exact else offloaded >= wanted_there


def _result(case: Case, edition: str, differences: Sequence[Difference], facts: Tuple[str, ...]) -> Result:
    """The result of an answer that was judged; differences that a `must` allows are told and fail nothing."""
    if not differences:
        return Result("pass", "", (), facts, "")
    serious = list(differences)
    if case.level == inventory.LEVELS[0]:
        serious = [one for one in differences if not _is_advisory(case, edition, one)]
        serious = [one for one in serious if not _is_of_an_input(case, one)]
        serious = [] if serious and _is_finer(case, edition, serious, facts) else serious
    first = (serious or differences)[0]
    detail = f"{first.kind}: {first.fact}" + (f" (and {len(differences) - 1} more)" if len(differences) > 1 else "")
    if not serious:
        return Result("pass", clipped(f"{_ADVICE}{detail}", _LONGEST), (), facts, "")
    ordered = tuple(serious) + tuple(one for one in differences if one not in serious)
    return Result("fail", clipped(detail, _LONGEST), ordered, facts, f"{case.method}/{first.kind}/{first.aspect}")


class Pattern:
    """A text in which ``*`` stands for any text and nothing else is special; found in time that grows evenly."""

    __slots__ = ("_parts",)

    def __init__(self, text: str) -> None:
        first, *middle = text.split("*")
        last = middle[-1:]
        self._parts = [first, *filter(None, middle[:-1]), *last]

    def fits(self, subject: str) -> bool:
        """Whether ``subject`` as a whole fits."""
        first, *middle = self._parts
        if not middle:
            return subject == first
        last = middle.pop()
        at, end = len(first), len(subject) - len(last)
        if end < at or not subject.startswith(first) or not subject.endswith(last):
            return False
        for part in middle:
            at = subject.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


def matches(text: str, subject: str) -> bool:
    """Whether ``subject`` as a whole fits the pattern ``text``."""
    return Pattern(text).fits(subject)


def _exact(case: Case, edition: str, found: Sequence[observe.Fact]) -> Iterator[Difference]:
    """Differences from the golden, in the order of the facts' texts."""
    expect = case.expect
    if not expect.observe:
        return
    wanted: Dict[str, List[Pattern]] = {}
    for aspect, subject in expect.observe:
        wanted.setdefault(aspect, []).append(Pattern(subject))
    observed = [fact for fact in found if any(subject.fits(fact.subject) for subject in wanted.get(fact.aspect, ()))]
    seen = {fact.text: fact.aspect for fact in observed}
    # Two aspects may share a fact (`host x`); only copies are counted.
    counts = _counts([fact.text for fact in observed if fact.aspect in observe.COUNTED])
    counts.update({text: 1 for text in seen if text not in counts})
    golden = _counts(expect.golden[edition])
    default = expect.observe[0][0]
    for text in sorted(set(counts) | set(golden)):
        missing, extra = golden.get(text, 0) - counts.get(text, 0), counts.get(text, 0) - golden.get(text, 0)
        if missing > 0:
            yield Difference("missing", text, _aspect_of(case, text, default))
        elif extra > 0:
            yield Difference("unexpected", text, seen[text])


def _counts(texts: Sequence[str]) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return counts


def _aspect_of(case: Case, text: str, default: str) -> str:
    aspect = forms.aspect_of(case.method, text)
    if aspect == "host" and "host" not in [observed for observed, _ in case.expect.observe]:
        return "placement"
    return aspect or default


def _unanswered(case: Case, ok: Mapping[str, Any]) -> Iterator[Difference]:
    """Variants that were asked for and are not there; nothing that is forbidden could show in them."""
    for name in case.params.get("variants", {}):
        if name not in ok.get("variants", {}):
            yield Difference("missing", f"variant {name}", "variants")


def _compared(expect: Expect, texts: Sequence[str]) -> Iterator[Difference]:
    known = set(texts)
    for variant, measures in expect.compare.items():
        for measure, allowed in measures.items():
            aspect, words = timeline.MEASURES[measure]
            about = f"{aspect} {variant}" + ("" if aspect == measure else f" {measure}")
            found = [f"{about} {word}" for word in words if f"{about} {word}" in known]
            if not any(f"{about} {word}" in found for word in allowed):
                shown = found[0] if found else f"{about} is not told"
                yield Difference("compared", f"{shown}; expected {' or '.join(allowed)}", aspect)


def _patterns(case: Case, texts: Sequence[str]) -> Iterator[Difference]:
    expect = case.expect
    for wanted in expect.contains:
        if not _any(wanted, texts):
            yield Difference("missing", wanted, _aspect_of(case, wanted, "contains"))
    for unwanted in expect.forbid:
        for text in _fitting(unwanted, texts):
            yield Difference("forbidden", text, _aspect_of(case, text, "forbid"))
    if expect.any_of and not any(all(_any(one, texts) for one in group) for group in expect.any_of):
        shown = " | ".join(" and ".join(group) for group in expect.any_of)
        yield Difference("no-alternative", f"none of the allowed alternatives holds: {shown}", "any_of")


def _any(wanted: str, texts: Sequence[str]) -> bool:
    return any(True for _ in _fitting(wanted, texts))


def _fitting(wanted: str, texts: Sequence[str]) -> Iterator[str]:
    """The texts that fit a pattern; most patterns are plain texts, which stand once among facts or not at all."""
    if "*" in wanted:
        yield from filter(Pattern(wanted).fits, texts)
    elif wanted in texts:
        yield from (text for text in texts if text == wanted)


def _bounds(expect: Expect, texts: Sequence[str]) -> Iterator[Difference]:
    for name, (low, high) in expect.bounds.items():
        found = [text for text in texts if re.fullmatch(re.escape(name) + r" \d+", text)]
        allowed = f"{name} from {low if low is not None else 0} to {high if high is not None else 'any'}"
        if not found:
            yield Difference("missing", f"{name} N; expected {allowed}", name)
        for text in found:
            number = int(text.rsplit(" ", 1)[1])
            if (low is not None and number < low) or (high is not None and number > high):
                yield Difference("bound", f"{text}; expected {allowed}", name)


# Values


def _values(expect: Expect, ok: Mapping[str, Any], folder: Optional[str]) -> Iterator[Difference]:
    fetches = ok.get("fetches", {})
    for name in expect.finite:
        if name not in fetches:
            yield Difference("missing", f"fetch {name}", "fetches")
            continue
        tensor = fetches[name]
        raw = tensors.decode_bytes(tensor, folder)
        bad = sum(
            1
            for numbers in tensors.parts(tensor["dtype"], raw)
            for number in numbers
            if isinstance(number, float) and not math.isfinite(number)
        )
        if bad:
            yield Difference("not-finite", f"fetch {name} has {bad} values that are NaN or infinite", "fetches")
    for name, wanted in expect.values.items():
        if name not in fetches:
            yield Difference("missing", f"fetch {name}", "fetches")
            continue
        difference = _value_difference(name, wanted, fetches[name], folder)
        if difference:
            yield Difference("value", difference, "fetches")


def _value_difference(
    name: str, wanted: Mapping[str, Any], tensor: Mapping[str, Any], folder: Optional[str]
) -> Optional[str]:
    for key in ("dtype", "shape"):
        if tensor[key] != wanted[key]:
            return f"fetch {name} has {key} {tensor[key]}, expected {wanted[key]}"
    found = tensors.values(tensor["dtype"], tensors.decode_bytes(tensor, folder))
    expected = tensors.values(wanted["dtype"], wanted["raw"])
    bad = [
        (position, got, want)
        for position, (got, want) in enumerate(zip(found, expected))
        if not _close(got, want, wanted["atol"], wanted["rtol"])
    ]
    if not bad:
        return None
    position, got, want = bad[0]
    return (
        f"fetch {name}: {len(bad)} of {len(expected)} values are out of bounds; the first at {position} is {got!r}, "
        f"expected {want!r} (atol {wanted['atol']:g}, rtol {wanted['rtol']:g})"
    )


def _close(got: Any, want: Any, atol: float, rtol: float) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        if math.isnan(want) or math.isnan(got):
            return math.isnan(want) and math.isnan(got)
        if math.isinf(want) or math.isinf(got):
            return got == want
        return abs(got - want) <= atol + rtol * abs(want)
    if isinstance(want, int) and isinstance(got, int) and not isinstance(want, bool):
        return abs(got - want) <= atol + rtol * abs(want)
    return bool(got == want)


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
