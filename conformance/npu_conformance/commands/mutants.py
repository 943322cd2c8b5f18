"""``npu-conformance mutants``: whether the cases notice faulty backends."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from npu_conformance.commands.shared import FORMAT, WORKERS, echo_json, examples, stop_on_signals, worker_settings
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["mutants"]


@click.command(epilog=examples("mutants --list", "mutants --area options"))
@click.argument("names", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the mutants without running them.")
@click.option("--area", "areas", multiple=True, help="Only mutants of this area; may be repeated.")
@WORKERS
@FORMAT
def mutants(
    names: Tuple[str, ...],
    listed: bool,
    areas: Tuple[str, ...],
    jobs: Optional[int],
    factor: float,
    variables: Tuple[str, ...],
    python: str,
    form: str,
) -> int:
    """Run the cases against faulty backends (all, or NAMES); exit 1 if one survives.

    With all mutants of options it ends with a table of options and kinds of faults.
    """
    from npu_conformance.backends import mutants as mutation
    from npu_conformance.library import library
    from npu_conformance.report import text as render
    from npu_conformance.running import progress
    from npu_conformance.strength import fault_table, killing

    registry = mutation.registry()
    unknown = [name for name in names if name not in registry]
    if unknown:
        raise NpuError("USAGE", unknown[0], "there is no mutant of this name", "See: npu-conformance mutants --list")
    chosen = [registry[name] for name in (names or sorted(registry))]
    shelf = library.load() if areas or not listed else None
    if areas and shelf is not None:
        chosen = killing.in_area(shelf, chosen, areas)
    if listed or shelf is None:
        if form == "json":
            echo_json(killing.listing(chosen))
        else:
            render.mutant_list(chosen)
        return ExitStatus.OK
    stop_on_signals()
    with progress.bar(len(chosen)) as advance:
        found = killing.kill(shelf, chosen, worker_settings(jobs, factor, variables, python), advance)
    whole = fault_table.whole(found, registry.values())
    if form == "json":
        echo_json(killing.answer(found, fault_table.answer(found) if whole else None))
    else:
        render.killing(found)
        if whole:
            render.faults(found)
    return ExitStatus.NEGATIVE if not found or any(one.alive for one in found) else ExitStatus.OK
