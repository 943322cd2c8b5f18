"""Decides which cases kill which mutants, and whether a kill is specific to the requirement that is broken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.errors import NpuError

from . import runner, schema
from .library import Instance, Library
from .mutation import Mutant

__all__ = ["Kill", "kill", "answer", "listing"]


class Kill(NamedTuple):
    """What became of a mutant.

    killed_by: cases with a wrong answer, in the library's order; specific: one of them cites the requirement;
    only: no case but those that cite the requirement fails; judged: a case that cites it could be asked here.
    """

    mutant: Mutant
    killed_by: Tuple[str, ...]
    specific: bool
    only: bool
    judged: bool

    @property
    def name(self) -> str:
        return self.mutant.name


def kill(
    library: Library,
    mutants: Sequence[Mutant],
    settings: runner.Settings,
    progress: Optional[Callable[[Kill], None]] = None,
) -> List[Kill]:
    """Runs the cases against each mutant; cases the reference itself does not pass count for nothing.

    A mutant is asked in the edition of the requirement it breaks, and twins are left out. A ``run`` case, which
    imports TensorFlow, is asked only of mutants of a requirement it cites.

    Raises:
        NpuError: BACKEND_UNAVAILABLE when a mutant does not start, which is no kill.
    """
    for mutant in mutants:
        if mutant.requirement not in library.requirements:
            raise NpuError("CASE_FILE", f"mutant {mutant.name}", f"{mutant.requirement!r} is not in the inventory")
    cited = {mutant.requirement for mutant in mutants}
    plain = [instance for instance in library.instances() if not instance.twin]
    wanted = [one for one in plain if one.case.method != "run" or cited & set(one.case.requirements)]
    control = runner.run(library, wanted, "reference", settings)
    sound = [record.instance for record in control.records if record.result.status == "pass"]
    one_worker = settings._replace(jobs=1, repeat=False)  # what leaks is another requirement's business
    with ThreadPoolExecutor(settings.jobs) as pool:
        futures = [pool.submit(_kill, library, mutant, sound, one_worker) for mutant in mutants]
        found = []
        for future in futures:
            found.append(future.result())
            if progress is not None:
                progress(found[-1])
    return found


def _kill(library: Library, mutant: Mutant, sound: Sequence[Instance], settings: runner.Settings) -> Kill:
    edition = library.requirements[mutant.requirement].edition
    wanted = [one for one in _asked(mutant, sound) if one.edition == edition or one.case.editions == (one.edition,)]
    report = runner.run(library, wanted, f"mutant:{mutant.name}", settings)
    killers = []
    for record in report.records:
        # A crash or an error message shows that the mutant is broken, not that the case sees the fault.
        seen = record.result.status == "fail" and record.result.differences
        if seen and record.instance.case not in killers:
            killers.append(record.instance.case)
    citing = [case for case in killers if mutant.requirement in case.requirements]
    only = len(citing) == len(killers) > 0
    judged = any(mutant.requirement in one.case.requirements for one in wanted)
    return Kill(mutant, tuple(case.id for case in killers), bool(citing), only, judged)


def _asked(mutant: Mutant, sound: Sequence[Instance]) -> List[Instance]:
    """Cases that cite the requirement, and those without TensorFlow that stand in an area with one that does.

    What cases of other areas see of the fault would be incidental, and asking all would take minutes.
    """
    citing = {one.id for one in sound if mutant.requirement in one.case.requirements}
    areas = {one.case.area for one in sound if one.id in citing}
    return [one for one in sound if one.id in citing or (one.case.area in areas and one.case.method != "run")]


def answer(found: Sequence[Kill]) -> Dict[str, Any]:
    """What ``mutants --format json`` prints."""
    return {
        "schema": schema.header("mutants"),
        "total": len(found),
        "killed": sum(1 for one in found if one.killed_by),
        "mutants": {
            one.mutant.name: {
                "requirement": one.mutant.requirement,
                "fault": one.mutant.fault,
                "killed_by": list(one.killed_by),
                "specific": one.specific,
                "only_its_requirement": one.only,
                "judged": one.judged,
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
