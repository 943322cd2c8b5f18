"""What is refused, asked where something is compiled, or where the option shows: alone, in later programs and steps."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from npu_conformance.files import resources
from npu_conformance.judging import judge
from npu_conformance.library.case import Case, Expect, Instance
from npu_conformance.library.library import Library
from npu_conformance.strength.laws.effects.declared import SECOND
from npu_conformance.strength.laws.effects.request import HERE, KeptEffect
from npu_conformance.strength.laws.effects.selection import digest

__all__ = ["refused", "refused_alone"]

#: What asks about a graph, and is not executed.
_SHOWING = ("compile", "timeline", "partition", "precision")
_OTHER_MODEL, _FLOW = "another model before", "a variable, a text, a loop and a call in the graph"

#: So many refusals are asked as programs of one folder, or as steps, one after the other (assumed: little is compiled
#: for them, and a backend that gives up early is told so few times).
_PACK = 24

#: Graphs that options are refused for, with what is fed and fetched: of float16, and of float32.
_COMPILED: Tuple[Tuple[str, List[str], List[str]], ...] = (
    ("apart", ["x:0", "w:0", "y:0"], ["product:0", "total:0"]),
    ("company", ["company/x:0", "company/y:0"], ["company/most:0"]),
    ("dense", ["x:0"], ["relu:0"]),
)


def refused(library: Library, draw: str = "0") -> List[KeptEffect]:
    """What options or precisions are refused for: one question of each option and error, beside operators of every
    kind or after another model; and of each requirement too, in a later program and a later step, many in one request.

    No session of them is made, so that nothing can be compiled in it.
    """
    shown = _shown(library)
    kept: List[KeptEffect] = []
    for key, one in _one_of_each(library, draw).items():
        number = digest(draw, one.id)[0]
        if one.case.method == "precision":
            kept += [_asked_of(one, "compile", number, laid) for laid in ((), (_OTHER_MODEL,), (SECOND.name,))]
            continue
        of = shown.get(key[1].strip("*"), {})
        most = max(sorted(of), key=lambda method: of[method], default="compile")
        if most != "compile" or number % 2:
            kept.append(_asked_of(one, most, number, (_FLOW,) if number % 4 else ()))
        if number % 6 == 0 or (most == "compile" and number % 3 == 0):
            kept.append(_asked_of(one, "compile", number, ()))
        if not _may_be_packed(one):
            kept.append(_asked_of(one, "compile", number, (SECOND.name,)))
    finely = _one_of_each(library, draw, finely=True).values()
    return kept + _later([one for one in finely if one.case.method == "options"], draw)


def _one_of_each(library: Library, draw: str, finely: bool = False) -> Dict[Tuple[Any, ...], Instance]:
    """A case of each option and error on each surface and in each edition, and of each requirement of precision; of
    each requirement of options too, where they are looked at finely."""
    found: Dict[Tuple[Any, ...], Instance] = {}
    for one in library.instances():
        case, rejected = one.case, one.case.expect.rejected
        if rejected is None or one.twin or case.level != "must" or case.expect.ignorable:
            continue
        plain = case.method == "options" and set(rejected[0]) != {"OPTION_FILE"}  # here other folders are there
        if plain or (case.method == "precision" and rejected[0][0].startswith("PRECISION_")):
            key = (
                *rejected[:2],
                case.params["surface"],
                one.edition,
                case.requirements[0] if finely or not plain else "",
            )
            first = found.setdefault(key, one)
            if digest(draw, one.id) < digest(draw, first.id):
                found[key] = one
    return found


def _shown(library: Library) -> Mapping[str, Mapping[str, int]]:
    """Of every option how many cases of each method give it."""
    shown: Dict[str, Dict[str, int]] = {}
    for one in library.instances():
        if one.case.expect.rejected is None and one.case.method in _SHOWING:
            for name in one.case.params["values"]:
                of = shown.setdefault(name, {})
                of[one.case.method] = of.get(one.case.method, 0) + 1
    return shown


def _asked_of(one: Instance, method: str, number: int, laid: Tuple[str, ...]) -> KeptEffect:
    """What is refused, asked of another method; of a graph, where the case has none."""
    asked = {"feeds": [], "fetches": [], **one.case.params}
    if "graph" not in asked:
        asked.update(_graph(number))
    needs = one.case.needs - {one.case.method} | {method}
    moved = one._replace(case=one.case._replace(method=method, params=asked, needs=needs))
    return KeptEffect(moved, laid, ((one, ""),))


def _graph(number: int) -> Dict[str, Any]:
    name, feeds, fetches = _COMPILED[number % len(_COMPILED)]
    path = os.path.join(resources.fixtures(), "graphs", "artifacts", f"{name}.pbtxt")
    return {"graph": path, "feeds": feeds, "fetches": fetches}


# -- in later programs and steps --------------------------------------------------------------------------------------


def _may_be_packed(one: Instance) -> bool:
    """Whether values and files are all that it gives."""
    case = one.case
    return not case.params.get("env") and case.needs <= {"options"}


def _misses_file(one: Instance) -> bool:
    """Whether it may be refused for a file that is not there."""
    return one.case.expect.rejected is not None and "OPTION_FILE" in one.case.expect.rejected[0]


def _later(options: Sequence[Instance], draw: str) -> List[KeptEffect]:
    """Every refusal in a program, and in a step, after others; the last program gives nothing, and is answered."""
    groups: Dict[Tuple[str, str], List[Instance]] = {}
    for one in sorted(filter(_may_be_packed, options), key=lambda one: digest(draw, one.id)):
        groups.setdefault((one.case.params["surface"], one.edition), []).append(one)
    kept = []
    for group in groups.values():
        for number, start in enumerate(range(0, len(group), _PACK)):
            pack = group[start : start + _PACK]
            kept.append(_programs(pack, number))
            steps = [one for one in pack if not one.case.params.get("files") and not _misses_file(one)]
            kept += [_steps(steps, number)] if steps else []
    return kept


def _programs(pack: Sequence[Instance], number: int) -> KeptEffect:
    turns: List[Dict[str, Any]] = [{}]
    given: Dict[str, None] = {}
    there: Dict[str, None] = {}
    for one in pack:
        values, files = one.case.params["values"], one.case.params.get("files", {})
        turns.append({"values": {**given, **values}, "files": {**there, **files}})
        given.update(dict.fromkeys(values))
        there = dict.fromkeys(files)
    turns.append({"values": given, "files": there})
    # Codes and subjects are their own cases' matter.
    told = [f"turn {turn} rejected *" for turn in range(1, len(pack) + 1)]
    forbid = ["turn 0 rejected *", f"turn {len(pack) + 1} rejected *"]
    expect = _EMPTY._replace(contains=tuple(told), forbid=tuple(forbid))
    return _pack(pack, "compile", {"values": {}, "turns": turns}, number, told, expect)


def _steps(pack: Sequence[Instance], number: int) -> KeptEffect:
    steps = {f"{HERE}-{place}": one.case.params["values"] for place, one in enumerate(pack)}
    steps[HERE] = {}
    told = [f"ended {HERE}-{place} done" for place in range(len(pack))]
    params = {"values": {}, "variants": steps}
    answered = [f"ended {HERE}-{place} *" for place in range(len(pack))]
    expect = _EMPTY._replace(contains=("ended base done", *answered, f"ended {HERE} done"), forbid=tuple(told))
    return _pack(pack, "timeline", params, number, told, expect)


_EMPTY = Expect((), {}, (), (), (), {}, {}, (), None)


def _pack(
    pack: Sequence[Instance],
    method: str,
    params: Mapping[str, Any],
    number: int,
    told: Sequence[str],
    expect: Expect,
) -> KeptEffect:
    """One question of many refusals, each with the fact that tells it, called as the first of them."""
    case: Case = pack[0].case
    asked = {"surface": case.params["surface"], "env": {}, **_graph(number), **params}
    needs = frozenset({method})
    whole = pack[0]._replace(case=case._replace(method=method, params=asked, needs=needs, expect=expect))
    return KeptEffect(whole, (), tuple(zip(pack, told)))


def refused_alone(kept: KeptEffect, claims: judge.Claims, refuses: Callable[[Instance], bool]) -> Optional[KeptEffect]:
    """The question without what a backend does not refuse by itself, which a case of options judges: a value that the
    documents do not list may be ignored with a warning. None where nothing is left."""
    gone = [
        (one, fact)
        for one, fact in kept.refusals
        if not one.case.expect.error and (one.case.method not in claims.features or not refuses(one))
    ]
    if not gone:
        return kept
    facts = {fact for _, fact in gone}
    left = tuple(one for one in kept.refusals if one not in gone)
    case = kept.instance.case
    contains = tuple(fact for fact in case.expect.contains if fact not in facts)
    forbid = tuple(fact for fact in case.expect.forbid if fact not in facts)
    expect = case.expect._replace(contains=contains, forbid=forbid)
    whole = kept.instance._replace(case=case._replace(expect=expect))
    return kept._replace(instance=whole, refusals=left) if left else None
