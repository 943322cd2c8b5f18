"""Lists what the suite never asks beside each other: for every method what cases are about, and what stands beside it.

Usage: python benchmarks/unasked.py [--method METHOD ...] [--laws N] [--law-seed SEED] [--list] [--details]

A subject is what a case's requirement is about (an option, a file, a family of rules), as each method shows it; beside
it stand options and variables, and what else a request says: run mode, mixed computing, surface, edition, a second
program, model or step, a condition of the laws by its name. Cases are read as they are, and under all that the laws
deal to them. Without --list every kind is told with how many subjects it stood beside, the rarest first; with it every
subject that it never stood beside, too. With --details a subject is what a requirement says of it, on its surface and
in an edition. That two never met is no hole where documents relate them.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "..", "impl"), os.path.join(_HERE, "..", "conformance")]

from npu_conformance.library import library  # noqa: E402
from npu_conformance.library.case import Instance  # noqa: E402
from npu_conformance.library.library import Library  # noqa: E402
from npu_conformance.strength.laws import asking, company, conditions, dealing, effects, idle  # noqa: E402

#: How many of its own pairs a kind has at most on a line.
_SHOWN = 12


class Asked(NamedTuple):
    """A case, and what its request says; under conditions of the laws those, too."""

    instance: Instance
    kinds: Set[str]


def subjects(one: Instance, details: bool = False) -> Set[str]:
    """What a case is about: subjects, or what is said of them in its edition."""
    if details:
        return {f"{'.'.join(name.split('.')[:3])} {one.edition}" for name in one.case.requirements}
    found = set()
    for requirement in one.case.requirements:
        room, subject, *_ = f"{requirement}.".split(".")
        found.add(subject if room in ("session", "runconfig", "env") else f"{room}.{subject}")
    return found


def kinds(params: Mapping[str, Any], edition: str) -> Set[str]:
    """What a request says, in words."""
    turns = params.get("turns") or [{}]
    laid = [params.get("values", {}), *(params.get("variants") or {}).values()]
    laid += [one.get("values") or {} for one in turns]
    values = {name: value for one in laid for name, value in one.items() if value is not None}
    found = {*values, *params.get("env", {}), edition, f"{edition} {params.get('surface')}"}
    plain = {name: value.get("value") if isinstance(value, dict) else value for name, value in values.items()}
    told = (
        ("in online inference", plain.get("graph_run_mode") == 0),
        ("in mixed computing", plain.get("mix_compile_mode") is True),
        ("a second program", len(turns) > 1),
        ("a second model", bool(params.get("models"))),
        ("several steps", params.get("steps", 1) > 1 or len(params.get("variants") or ()) > 1),
        ("several ranks", "ranks" in params),
        ("a script", "script" in params),
    )
    return found | {name for name, holds in told if holds}


def of_cases(shelf: Library) -> Iterator[Asked]:
    for one in shelf.instances():
        if one.case.level == "must":
            yield Asked(one, kinds(one.case.params, one.edition))


def of_laws(shelf: Library, graphs: int, seed: int) -> Iterator[Asked]:
    rounds = max(graphs // asking.DEFAULT, 1)
    for dealt in dealing.deal(shelf, seed, 8, rounds):
        table = [conditions.CONDITIONS[name] for name in dealt.conditions if name in conditions.CONDITIONS]
        names = [name for name in dealt.conditions if name not in conditions.CONDITIONS]
        gives = {name: value for each in table for name, value in each.gives.items()}
        for one in (one for group in dealt.graphs for one in group):
            surface = next((each.surface for each in table if each.surface), one.case.params["surface"])
            values = {**gives, **one.case.params["values"]}
            laid = idle.beside_of(
                names, {**one.case.params, "surface": surface, "edition": one.edition, "values": values}
            )
            yield Asked(one, kinds(laid, one.edition) | set(dealt.conditions))
    for kept in effects.questions(shelf, seed, rounds):
        one = kept.instance
        laid = effects.asked_for(kept.conditions, {**one.case.params, "edition": one.edition})
        yield Asked(one, kinds(laid, one.edition) | set(kept.conditions))
    members, companies = company.drawn(shelf, seed, rounds)
    for there in companies:
        found = kinds(company.request(there, members, there.parts), members[there.members[0]].edition)
        for number in there.members[:1] if there.refused else there.members:
            yield Asked(members[number], found | set(there.conditions))


def beside(asked: Iterator[Asked], details: bool = False) -> Dict[str, Dict[str, Set[str]]]:
    """Of every method its kinds, each with the subjects that it stood beside."""
    found: Dict[str, Dict[str, Set[str]]] = {}
    for one in asked:
        of = found.setdefault(one.instance.case.method, {})
        for subject in subjects(one.instance, details):
            of.setdefault("", set()).add(subject)
            for kind in one.kinds:
                of.setdefault(kind, set()).add(subject)
    return found


def table(method: str, of: Mapping[str, Set[str]], listed: bool) -> List[str]:
    """The lines about a method: how many of all pairs there were, and every kind, the rarest first."""
    everything = of[""]
    rows: List[Tuple[int, str]] = sorted((len(found), kind) for kind, found in of.items() if kind)
    met, possible = sum(number for number, _ in rows), len(rows) * len(everything)
    lines = [f"{method}: {met} of {possible} pairs, {100 * met // max(possible, 1)} %"]
    for number, kind in rows:
        lacking: Sequence[str] = sorted(everything - of[kind] - {kind})
        more = f", and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        told = f"  never beside {', '.join(lacking[:_SHOWN])}{more}" if listed and lacking else ""
        lines.append(f"  {number:4} of {len(everything):4} {kind}{told}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--laws", type=int, default=asking.DEFAULT)
    parser.add_argument("--law-seed", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--details", action="store_true")
    asked = parser.parse_args()
    shelf = library.load()

    def everything() -> Iterator[Asked]:
        yield from of_cases(shelf)
        yield from of_laws(shelf, asked.laws, asked.law_seed)

    for method, of in sorted(beside(everything(), asked.details).items()):
        if not asked.method or method in asked.method:
            print("\n".join(table(method, of, asked.list)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
