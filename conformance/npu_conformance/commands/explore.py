"""``npu-conformance explore``: looks for differences from the reference that no case asks about."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["explore"]

_OUT = "npu-conformance-drafts"
_SCHEMA = {"name": "npu-conformance/explore", "version": 1}


@click.command(epilog=shared.examples("explore --backend py:my.backend:Backend --seconds 300 --out found"))
@shared.BACKEND
@click.option(
    "--seconds",
    type=shared.Number(0.1, 1e6),
    default=60.0,
    show_default=True,
    metavar="N",
    help="How long to ask, and to make small what was found.",
)
@click.option(
    "--questions", "most", type=click.IntRange(1, 10**9), default=None, metavar="N", help="Ask at most so many."
)
@click.option(
    "--seed", default="0", show_default=True, metavar="SEED|fresh", help="Which questions; 'fresh' draws a seed."
)
@click.option(
    "--area",
    "areas",
    multiple=True,
    type=click.Choice(["options", "partition", "precision", "timeline"]),
    help="Only questions of this method; may be repeated.",
)
@shared.EDITIONS
@shared.WORKERS
@click.option(
    "--out",
    default=_OUT,
    show_default=True,
    type=click.Path(),
    help="Folder of the draft cases; an earlier one is replaced.",
)
@click.option(
    "--again", default=None, type=click.Path(), metavar="DIR", help="Ask the drafts of this folder again, and no more."
)
@shared.FORMAT
def explore(
    spec: str, seconds: float, most: Optional[int], seed: str, areas: Tuple[str, ...], editions: Tuple[str, ...],
    jobs: Optional[int], factor: float, variables: Tuple[str, ...], python: str, out: str, again: Optional[str],
    form: str,
) -> int:  # fmt: skip
    """Ask a backend and the reference random questions; exit 1 if they differ.

    What differs is made small and written as draft cases.
    """
    from npu_conformance import backends
    from npu_conformance.files import output
    from npu_conformance.library import library
    from npu_conformance.report import explored as render
    from npu_conformance.strength.exploring import drafts, questions, searching

    shared.stop_on_signals()
    backends.check(spec)
    settings = shared.worker_settings(jobs, factor, variables, python)
    if again is not None:
        return _again(again, spec, settings, form)
    number = shared.seed_of("--seed", seed)
    plan = searching.SearchPlan(
        seconds, number, areas or questions.METHODS, editions or ("legacy", "current"), most or 0
    )
    with output.replaced_folder(out, drafts.MARK) as folder:
        found = searching.explore(library.load(), spec, settings, plan, _progress())
        made = drafts.of(found.findings)
        drafts.write(made, folder, found.claims)
    answer: Dict[str, Any] = {
        "schema": _SCHEMA,
        "backend": spec,
        "seed": number,
        "questions": found.asked,
        "unanswered": found.left,
        "stopped": list(found.stopped),
        "findings": [draft.to_json() for draft in made],
    }
    if form == "json":
        shared.echo_json(answer)
    else:
        render.exploration(answer, out)
    return ExitStatus.NEGATIVE if made else ExitStatus.OK


def _progress() -> Any:
    """Lines on stderr, one whenever questions have doubled or a cause was found."""
    said = [100, 0]

    def say(asked: int, causes: int) -> None:
        if asked >= said[0] or causes > said[1]:
            said[0] = max(said[0], 2 * asked if asked >= said[0] else said[0])
            said[1] = causes
            sys.stderr.write(f"asked {asked}, causes of differences {causes}\n")
            sys.stderr.flush()

    return say


def _again(folder: str, spec: str, settings: Any, form: str) -> int:
    from npu_conformance.report import explored as render
    from npu_conformance.running import runner
    from npu_conformance.strength.exploring import drafts

    shelf = drafts.load(folder)
    report = runner.run(shelf, shelf.instances(), spec, settings)
    rows: List[Dict[str, str]] = [
        {"case": one.instance.case.id, "status": one.result.status, "words": one.instance.case.title}
        for one in report.records
    ]
    if not rows:
        raise NpuError("USAGE", folder, "holds no draft")
    if form == "json":
        shared.echo_json({"schema": _SCHEMA, "backend": spec, "drafts": rows})
    else:
        render.drafts(rows)
    return ExitStatus.OK if all(row["status"] == "pass" for row in rows) else ExitStatus.NEGATIVE
