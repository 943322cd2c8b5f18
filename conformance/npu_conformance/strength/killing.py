"""Decides which cases kill which mutants, and whether a kill is specific to the requirement that is broken."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_conformance.backends.mutants import Mutant
from npu_conformance.backends.reference import tensorflow_version
from npu_conformance.files import scratch
from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.protocol import schema
from npu_conformance.running import lanes, runner
from npu_conformance.strength import hosting
from npu_reference.errors import NpuError

__all__ = ["NEEDS_TENSORFLOW", "Kill", "answer", "can_show", "in_area", "kill", "listing"]

#: Why nothing can be said of a mutant whose cases only a Python with TensorFlow can run.
NEEDS_TENSORFLOW = "needs TensorFlow, which is missing here"


class Kill(NamedTuple):
    """What became of a mutant.

    killed_by: cases with a wrong answer, in the library's order; specific: one of them cites the requirement;
    only: no case but those that cite the requirement fails; unjudged: why no case that cites it could be asked here,
    empty when one could.
    """

    mutant: Mutant
    killed_by: Tuple[str, ...]
    specific: bool
    only: bool
    unjudged: str

    @property
    def name(self) -> str:
        return self.mutant.name

    @property
    def judged(self) -> bool:
        return not self.unjudged

    @property
    def alive(self) -> bool:
        """Whether the mutant shows that the suite is too weak: it survived, or has no case that could kill it."""
        return not self.killed_by and self.unjudged != NEEDS_TENSORFLOW


def in_area(library: Library, mutants: Sequence[Mutant], wanted: Sequence[str]) -> List[Mutant]:
    """The mutants of some areas: those of options, and those that break what a case of the area cites.

    Raises:
        NpuError: USAGE for an area that does not exist.
    """
    known = sorted({case.area for case in library.cases.values()})
    for area in wanted:
        if area not in known:
            raise NpuError("USAGE", f"--area {area}", "there is no such area", f"Areas are {', '.join(known)}.")
    of = _areas(library)
    return [one for one in mutants if set(wanted) & set(("options",) if one.kind else of.get(one.requirement, ()))]


def _areas(library: Library) -> Dict[str, Tuple[str, ...]]:
    """Requirement to the areas of the cases that cite it."""
    found: Dict[str, List[str]] = {}
    for case in library.cases.values():
        for name in case.requirements:
            if case.area not in found.setdefault(name, []):
                found[name].append(case.area)
    return {name: tuple(sorted(of)) for name, of in found.items()}


def kill(
    library: Library,
    mutants: Sequence[Mutant],
    settings: lanes.Settings,
    progress: Optional[Callable[[Kill], None]] = None,
) -> List[Kill]:
    """Runs the cases against each mutant; cases the reference itself does not pass count for nothing.

    A mutant is asked in the edition of the requirement it breaks, and twins are left out. A ``run`` case, which
    imports TensorFlow, is asked only of mutants of a requirement it cites, in a worker; all others are asked in this
    process, since a mutant is the reference but for its fault.

    Raises:
        NpuError: BACKEND_UNAVAILABLE when a mutant does not start, which is no kill.
    """
    for mutant in mutants:
        if mutant.requirement not in library.requirements:
            raise NpuError("CASE_FILE", f"mutant {mutant.name}", f"{mutant.requirement!r} is not in the inventory")
    cited = {mutant.requirement for mutant in mutants}
    plain = [instance for instance in library.instances() if not instance.twin]
    near = {area for name, of in _areas(library).items() if name in cited for area in of}
    here = [one for one in plain if one.case.method not in hosting.WORKER_METHODS and one.case.area in near]
    there = [one for one in plain if one.case.method in hosting.WORKER_METHODS and cited & set(one.case.requirements)]
    with contextlib.closing(scratch.Scratch("npu-conformance-")) as temporary:
        hosted = hosting.Panel(here, temporary.path)
        sound = hosted.sound
        if there:
            control = runner.run(library, there, "reference", settings)
            sound = sound + [record.instance for record in control.records if record.result.status == "pass"]
        one_worker = settings._replace(jobs=1, repeat=False)  # what leaks is another requirement's business
        found: Dict[str, Kill] = {}

        def done(one: Kill) -> None:
            found[one.name] = one
            if progress is not None:
                progress(one)

        slow: List[Tuple[Mutant, List[Instance]]] = []
        for mutant in mutants:
            wanted = _asked(library, mutant, sound)
            if any(one.case.method in hosting.WORKER_METHODS for one in wanted):
                slow.append((mutant, wanted))
            else:
                done(_kill(library, mutant, wanted, hosted, one_worker, plain))
        with ThreadPoolExecutor(settings.jobs) as pool:
            futures = [
                pool.submit(_kill, library, mutant, wanted, hosted, one_worker, plain) for mutant, wanted in slow
            ]
            for future in futures:
                done(future.result())
    return [found[mutant.name] for mutant in mutants]


def _kill(
    library: Library,
    mutant: Mutant,
    wanted: Sequence[Instance],
    hosted: hosting.Panel,
    settings: lanes.Settings,
    plain: Sequence[Instance],
) -> Kill:
    killers = []
    backend = mutant.factory()
    there = []
    for one in wanted:
        if one.case.method in hosting.WORKER_METHODS:
            there.append(one)
        elif one.case not in killers and hosted.kills(backend, one):
            killers.append(one.case)
    if there:
        for record in runner.run(library, there, f"mutant:{mutant.name}", settings).records:
            # A crash or an error message shows that the mutant is broken, not that the case sees the fault.
            seen = record.result.status == "fail" and record.result.differences
            if seen and record.instance.case not in killers:
                killers.append(record.instance.case)
    citing = [case for case in killers if mutant.requirement in case.requirements]
    only = len(citing) == len(killers) > 0
    asked = any(mutant.requirement in one.case.requirements for one in wanted)
    unjudged = "" if asked else _unjudged(mutant, plain)
    return Kill(mutant, tuple(case.id for case in killers), bool(citing), only, unjudged)


def _unjudged(mutant: Mutant, plain: Sequence[Instance]) -> str:
    """Why no case that cites the requirement could be asked."""
    methods = {one.case.method for one in plain if mutant.requirement in one.case.requirements}
    methods = {method for method in methods if can_show(mutant, method)}
    if not methods:
        return "no case cites the requirement"
    if methods <= hosting.WORKER_METHODS and tensorflow_version() is None:
        return NEEDS_TENSORFLOW
    return "the reference does not pass its cases"


def can_show(mutant: Mutant, method: str) -> bool:
    """Whether the fault can show in this method: one of running alone shows where something runs."""
    faulty = {name for name in vars(mutant.factory) if not name.startswith("_")}
    return faulty != hosting.WORKER_METHODS or method in hosting.WORKER_METHODS


def _asked(library: Library, mutant: Mutant, sound: Sequence[Instance]) -> List[Instance]:
    """Cases that cite the requirement, and those without TensorFlow that stand in an area with one that does.

    What cases of other areas see of the fault would be incidental. On another surface than the fault's, and outside
    ``options`` where it is one of an option's, there is nothing to be seen.
    """
    edition = library.requirements[mutant.requirement].edition
    citing = {one.id for one in sound if mutant.requirement in one.case.requirements}
    near = {one.case.area for one in sound if one.id in citing}

    def surface(one: Instance) -> str:
        return str(one.case.params.get("surface", ""))

    def shows(one: Instance) -> bool:
        method = one.case.method
        return method == "options" if mutant.kind else method not in hosting.WORKER_METHODS

    return [
        one
        for one in sound
        if can_show(mutant, one.case.method)
        and (one.id in citing or (one.case.area in near and shows(one)))
        and (one.edition == edition or one.case.editions == (one.edition,))
        and ("" in (mutant.surface, surface(one)) or surface(one) == mutant.surface)
    ]


def answer(found: Sequence[Kill], faults: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """What ``mutants --format json`` prints; ``faults`` is the table of options, when all its mutants were asked."""
    return {
        "schema": schema.header("mutants"),
        "total": len(found),
        "killed": sum(1 for one in found if one.killed_by),
        "alive": [one.name for one in found if one.alive],
        **({"faults": faults} if faults is not None else {}),
        "mutants": {
            one.mutant.name: {
                "requirement": one.mutant.requirement,
                "fault": one.mutant.fault,
                "killed_by": list(one.killed_by),
                "specific": one.specific,
                "only_its_requirement": one.only,
                "judged": one.judged,
                "unjudged": one.unjudged or None,
            }
            for one in found
        },
    }


def listing(mutants: Sequence[Mutant]) -> Dict[str, Any]:
    """What ``mutants --list --format json`` prints."""
    return {
        "schema": schema.header("mutant-list"),
        "mutants": {one.name: {"requirement": one.requirement, "fault": one.fault} for one in mutants},
    }
