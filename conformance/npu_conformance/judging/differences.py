"""In which ways an answer is not what a case asserts."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from npu_conformance.library.case import Case, Expect
from npu_conformance.observing import forms, observe, tensors, timeline

__all__ = ["Difference", "Pattern", "matches", "differences"]


class Difference(NamedTuple):
    """One way in which an answer is not what the case asserts.

    kind: missing, unexpected, forbidden, no-alternative, bound, compared, value, not-finite, accepted, ignored,
    spelling, refused, code, subject, unrelated, message, unnamed, endless, after, tensor; fact: the fact or sentence
    concerned; aspect: its side of the answer.
    """

    kind: str
    fact: str
    aspect: str


def differences(
    case: Case,
    edition: str,
    ok: Mapping[str, Any],
    found: Sequence[observe.Fact],
    texts: Sequence[str],
    folder: Optional[str] = None,
) -> List[Difference]:
    """All in which an answer is not what the case asserts, in the order of what it asserts.

    Args:
        ok: the answer, valid against the protocol; found, texts: its facts, and their texts without duplicates.
        folder: the worker's folder, for tensors that came as files.
    """
    expect = case.expect
    forbidden = [Difference("forbidden", fact.text, fact.aspect) for fact in found if fact.aspect == "contradictions"]
    return [
        *_unanswered(case, ok),
        *forbidden,
        *_exact(case, edition, found),
        *_patterns(case, texts),
        *_bounds(expect, texts),
        *_compared(expect, texts),
        *_values(expect, ok, folder),
    ]


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
