"""What a `must` allows: differences that fail nothing, and facts that mean what the case has in other words.

docs/write-a-backend.md states these rules.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Dict, FrozenSet, List, Sequence, Tuple

from npu_conformance.judging.differences import Difference
from npu_conformance.library import inventory
from npu_conformance.library.case import Case, Expect
from npu_conformance.observing import forms, observe, values
from npu_reference.errors import NpuError

__all__ = ["in_its_words", "serious", "told_otherwise"]


def serious(case: Case, edition: str, differences: Sequence[Difference], facts: Sequence[str]) -> List[Difference]:
    """The differences that fail a case; of one that is no `must`, all of them.

    Args:
        facts: the texts of all that the answer tells.
    """
    if case.level != inventory.LEVELS[0]:
        return list(differences)
    found = [one for one in differences if not _is_advisory(case, edition, one)]
    doubles = _doubles(case, found)
    found = [one for one in found if not _is_of_an_input(case, one) and _node_of(one) not in doubles]
    return [] if found and _is_finer(case, edition, found, facts) else found


#: Kinds of differences that never fail a `must`: another code, another subject that is involved, other words, a value
#: that is ignored aloud or read as a documented one, and bytes that are not counted.
_ADVISORY = frozenset(("code", "subject", "message", "ignored", "spelling", "unknown"))
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
    if difference.aspect == "passes" and difference.fact.endswith(" effective 0"):
        return True  # a pass that is off may be told with what it found
    if difference.kind == "unexpected" and difference.aspect == "output":
        return not _is_of_the_script(case, edition, difference.fact)
    return difference.aspect in _MORE_IS_SAID


_PRINTED = re.compile(r"(?:rank \d+ )?printed (?:\d+ times )?([^\s(:=]+)")


def _is_of_the_script(case: Case, edition: str, fact: str) -> bool:
    """Whether the script may have printed a line, as its first word is the script's: a runtime prints others."""
    match = _PRINTED.match(fact)
    if match is None:
        return True
    wanted = map(_PRINTED.match, case.expect.golden.get(edition, ()))
    words = {one[1] for one in wanted if one is not None}  # some are made as the script runs
    return match[1] in words or match[1] in _text_of(str(case.params.get("script", "")))


@functools.lru_cache(maxsize=1 << 8)
def _text_of(path: str) -> str:
    """The text of a script; empty where there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return ""


_PLACED = re.compile(r"(?:run \d+ )?(?:host|device|geop \S+ node) (\S+)|border h2d (\S+):0 \S+")
_PLACEHOLDERS = frozenset(("Placeholder", "PlaceholderV2"))


def _is_of_an_input(case: Case, difference: Difference) -> bool:
    """Whether a difference is only where a placeholder is, or that it is fed: it computes nothing."""
    match = _PLACED.fullmatch(difference.fact)
    if match is None or difference.kind not in ("missing", "unexpected", "forbidden"):
        return False
    return (match[1] or match[2]) in _inputs(str(case.params.get("graph", "")))


@functools.lru_cache(maxsize=1 << 10)
def _inputs(path: str) -> FrozenSet[str]:
    """Names of a graph's placeholders; none where there is no graph that can be read."""
    from npu_reference.graphs import load_graph  # judging options, which is most of it, needs no graphs

    try:
        return frozenset(node.name for node in load_graph(path).nodes if node.op in _PLACEHOLDERS)
    except NpuError:
        return frozenset()


_DTYPES = re.compile(r"dtypes (\S+) .*")


def _node_of(difference: Difference) -> str:
    """The operator whose types differ; empty for any other difference."""
    match = _DTYPES.fullmatch(difference.fact) if difference.kind in ("missing", "unexpected") else None
    return match[1] if match else ""


def _doubles(case: Case, differences: Sequence[Difference]) -> FrozenSet[str]:
    """Operators that should have float64 and have not, in a mode about shorter types: no document forbids it."""
    if case.method != "precision":
        return frozenset()
    modes = [values.unwrapped(case.params["values"].get(name)) for name in ("precision_mode", "precision_mode_v2")]
    if any(mode == keeping for mode in modes for keeping in _KEEPING):
        return frozenset()
    wanted = (one for one in differences if one.kind == "missing" and "float64" in one.fact)
    return frozenset(filter(None, map(_node_of, wanted)))


#: Precision modes that keep every type.
_KEEPING = ("must_keep_origin_dtype", "origin")

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


def in_its_words(case: Case, edition: str, found: List[observe.Fact]) -> List[observe.Fact]:
    """The facts of an answer, written as the case writes them where they mean the same."""
    if case.method == "options":
        return _values_in_its_words(case, edition, found + _unset(case.expect, edition, found))
    if case.method == "compile":
        return _weights_in_its_number(case, edition, found)
    return _in_their_place(case, edition, found) if case.method == "run" else found


_WEIGHTS = re.compile(r"(?P<where>.*/weight_<hash>)(?: x (?P<number>\d+))?")


def _weights_in_its_number(case: Case, edition: str, found: List[observe.Fact]) -> List[observe.Fact]:
    """The facts of a compilation, with as many files of weights as the case has: one may hold several (003 L78)."""
    wanted = {match["where"]: match for match in map(_WEIGHTS.fullmatch, _lines(case.expect, edition)) if match}
    told = []
    for fact in found:
        match = _WEIGHTS.fullmatch(fact.text) if wanted else None
        most = wanted.get(match["where"]) if match else None
        if match and most and int(match["number"] or 1) <= int(most["number"] or 1):
            fact = fact._replace(text=most[0])
        told.append(fact)
    return told


def _lines(expect: Expect, edition: str) -> Tuple[str, ...]:
    """All facts and patterns that a case asserts."""
    return (*expect.golden.get(edition, ()), *expect.contains, *(line for group in expect.any_of for line in group))


_EFFECTIVE = re.compile(r"effective (\S+) = (.*)")


def _values_in_its_words(case: Case, edition: str, found: List[observe.Fact]) -> List[observe.Fact]:
    """The facts of an answer, with values of options written as the case writes them where they mean the same.

    What has no default by any document may have any value where nobody gives it one.
    """
    expect = case.expect
    lines = set(_lines(expect, edition))
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
    given = values.unwrapped(case.params["values"].get(option))
    if value is None and edition == "current" and option in values.WITHOUT_EFFECT and values.same(option, other, given):
        return True
    nobody_gives_it = given is None
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
    lines = _lines(expect, edition)
    names = {match[1] for match in map(_NULL.fullmatch, lines) if match} - told
    unset = [observe.Fact("effective", name, f"effective {name} = null") for name in sorted(names)]
    return unset + [observe.Fact("origins", name, f"origin {name} = default") for name in sorted(names)]


_DUMPED = re.compile(r"exception_dump (\S+) (.*)")
_PLACE = re.compile(r"exception_dump (\S*extra-info/data-dump/<device>) .*")


def _in_their_place(case: Case, edition: str, found: List[observe.Fact]) -> List[observe.Fact]:
    """The facts of a run, with exception dumps where the case has them if no document says where they are.

    Documents give the folder of mode 2. Of mode 1 and of NPU_COLLECT_PATH they give the one above it (003 L163, L171),
    of sessions none, so a dump may be anywhere below.
    """
    expect, env = case.expect, case.params.get("env", {})
    places = {match[1] for match in map(_PLACE.fullmatch, _lines(expect, edition)) if match}
    above, other = (str(env.get(name, "")).strip("/") for name in ("NPU_COLLECT_PATH", "ASCEND_WORK_PATH"))
    open_to = above or case.params["surface"] == "session" or case.params["values"].get("enable_exception_dump") == 1
    if len(places) != 1 or not open_to:
        return found
    moved = []
    for fact in found:
        match = _DUMPED.fullmatch(fact.text)
        if match and (_is_below(match[1], above) if above else not _is_below(match[1], other)):
            fact = fact._replace(text=f"exception_dump {min(places)} {match[2]}")
        moved.append(fact)
    return moved


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; nothing lies in one that has no name."""
    return bool(folder) and (path == folder or path.startswith(folder + "/"))


_FAILURE = re.compile(
    r"(?P<what>(?:rank \d+ )?(?:failed|rejected)|ended \S+(?= (?!done|DEVICE_ENDLESS))) (?P<code>\S+).*"
)
_COPY = re.compile(r"(?P<what>(?:rank \d+ )?run \d+ copy .+) (?P<bytes>\d+|\?)")


def told_otherwise(differences: Sequence[Difference], facts: Sequence[str]) -> List[Difference]:
    """Differences of a run or step, with one instead of a missing fact where the answer tells the same event otherwise.

    A failure may have another code or another subject, and the bytes of a copy may be unknown.

    Args:
        facts: the texts of all that the answer tells.
    """
    found = []
    same = set()
    for one in differences:
        if one.kind == "missing":
            for told in facts:
                kind = _same_event(one.fact, told)
                if kind:
                    same.add(told)
                    one = Difference(kind, f"{told}; expected {one.fact}", one.aspect)
                    break
        found.append(one)
    return [one for one in found if one.kind != "unexpected" or one.fact not in same]


def _same_event(wanted: str, told: str) -> str:
    """The kind of difference between two facts of one event; empty if they are about two."""
    for form in (_FAILURE, _COPY):
        one, other = form.fullmatch(wanted), form.fullmatch(told)
        if one is None or other is None or one["what"] != other["what"]:
            continue
        if form is _FAILURE:
            return "subject" if one["code"] == other["code"] else "code"
        return "unknown" if other["bytes"] == "?" else ""
    return ""
