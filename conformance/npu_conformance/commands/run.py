"""``npu-conformance run``: judges a backend."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import click

from npu_conformance.commands.shared import (
    BACKEND,
    EDITIONS,
    FORMAT,
    WORKERS,
    echo_json,
    sandbox_here,
    seed_of,
    stop_on_signals,
    worker_settings,
)
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["run"]

_OUT = "npu-conformance-report"


@click.command()
@BACKEND
@click.option("--area", "areas", multiple=True, help="Only cases of this area; may be repeated.")
@click.option(
    "-k",
    "keyword",
    default="",
    metavar="EXPR",
    help="Only instances whose id or requirement contains this; with and, or, not, ().",
)
@EDITIONS
@click.option("--shard", default="", metavar="I/N", help="Only the I-th of N parts of what is selected.")
@click.option(
    "--shard-times",
    "times",
    type=click.Path(),
    help="Folder of an earlier report: parts take equally long by what it recorded.",
)
@WORKERS
@click.option(
    "--known-failures",
    "known",
    type=click.Path(),
    help="TOML of failures that are known, each with signature and expiry.",
)
@click.option(
    "--laws",
    type=click.IntRange(0, 1000000),
    default=None,
    metavar="N",
    help="Also ask about N random graphs, and judge the answers by laws; 0 for none.  [default: 200]",
)
@click.option(
    "--law-seed",
    "--laws-seed",
    default="0",
    show_default=True,
    metavar="SEED|fresh",
    help="Which random graphs; 'fresh' draws a seed that nobody knew before, and prints it.",
)
@click.option(
    "--out",
    default=_OUT,
    show_default=True,
    type=click.Path(),
    help="Folder of the report; an earlier report is replaced.",
)
@click.option(
    "--sandbox",
    "shut_in",
    is_flag=True,
    help="Shut workers in: they write into their folders alone, and have no network.",
)
@FORMAT
def run(
    spec: str,
    areas: Tuple[str, ...],
    keyword: str,
    editions: Tuple[str, ...],
    shard: str,
    times: Optional[str],
    jobs: Optional[int],
    factor: float,
    variables: Tuple[str, ...],
    python: str,
    known: Optional[str],
    laws: Optional[int],
    law_seed: str,
    out: str,
    shut_in: bool,
    form: str,
) -> int:
    """Judge a backend by all cases; exit 0 if it conforms, 1 if not."""
    from npu_conformance import backends
    from npu_conformance.files import output
    from npu_conformance.judging import known_failures
    from npu_conformance.library import library, selection, sharding
    from npu_conformance.report import answering, junit, summary, write
    from npu_conformance.report import text as render
    from npu_conformance.running import progress, runner, seats
    from npu_conformance.strength.laws import asking
    from npu_reference.collection import collect_seldom

    stop_on_signals()
    collect_seldom()
    backends.check(spec)
    settings = worker_settings(jobs, factor, variables, python)
    if shut_in:
        settings = settings._replace(sandbox=sandbox_here())
    # Where the report is to lie is looked at first; then a backend starts while the library is read.
    with output.replaced_folder(out) as folder, seats.seat(spec, settings, early=True) as first:
        shelf = library.load()
        seed = seed_of("--law-seed", law_seed)
        demanded = laws is not None
        graphs = asking.DEFAULT if laws is None else laws
        more = asking.instances() if graphs else []
        wanted = selection.select(shelf, areas=areas, editions=editions, keyword=keyword, more=more)
        if not wanted:
            raise NpuError("USAGE", "npu-conformance run", "the selection matches no case")
        if demanded and graphs and not any(instance in more for instance in wanted):
            remedy = "Laws are of the areas partition, precision, options and run."
            raise NpuError("USAGE", f"--laws {laws}", "the selection leaves no law", remedy)
        asked: Dict[str, Any] = {"areas": list(areas), "editions": list(editions), "keyword": keyword}
        if times is not None and not shard:
            raise NpuError("USAGE", "--shard-times", "divides nothing", "Give --shard as well.")
        if shard:
            part = sharding.parse(shard)
            wanted = sharding.share(wanted, part, junit.seconds(times) if times is not None else None)
            if not wanted:
                raise NpuError("USAGE", f"--shard {shard}", "the selection has fewer parts", "Ask for fewer shards.")
            asked["shard"] = str(part)
            if times is not None:  # nobody can divide again by times that are elsewhere
                asked["cases"] = list(dict.fromkeys(one.case.id for one in wanted if one not in more))
        instances = [instance for instance in wanted if instance not in more]
        lawful = tuple(instance for instance in wanted if instance in more)
        graphs = graphs if lawful else 0
        entries = known_failures.load(known, [*shelf.instances(), *more]) if known else []
        if graphs:
            asked.update(laws=graphs, law_seed=seed)
        plan = asking.Plan(graphs, seed, lawful, folder, shelf)

        def further(claims: Any) -> runner.Further:
            questions = asking.Questions(plan, claims)
            return runner.Further(
                questions.common,
                questions.parts,
                questions.take,
                questions.lost,
                questions.records,
                questions.fresh,
                questions.same,
            )

        beside = further if graphs else None
        with progress.bar(len(instances) + graphs) as advance:
            report = runner.run(
                shelf, instances, spec, settings, entries, asked, advance, folder, beside, first, asking.apart
            )
        missing = write.write(shelf, report, folder)
    if form == "json":
        echo_json(answering.answer(shelf, report))
    else:
        render.run(shelf, report, summary.areas(report), out, bool(missing))
    if law_seed == "fresh" and graphs:
        click.echo(f"note: the random graphs were those of --law-seed {seed}", err=True)
    if missing:
        click.echo(f"note: {missing}", err=True)
    return ExitStatus.OK if report.verdict == "conformant" else ExitStatus.NEGATIVE
