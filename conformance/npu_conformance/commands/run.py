"""``npu-conformance run``: judges a backend."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["run"]

_OUT = "npu-conformance-report"
_MOST_LAWS = 1000000


class _Wanted(NamedTuple):
    """What is to be asked. asked: the selection as the report says it; graphs: how many random ones, of which seed;
    thorough: whether all that laws ask is asked."""

    instances: List[Any]
    laws: Tuple[Any, ...]
    asked: Dict[str, Any]
    graphs: int
    seed: int
    thorough: bool


@click.command(
    epilog=shared.examples(
        "run --backend py:my.backend:Backend --out report", "run --failed report --backend py:my.backend:Backend"
    )
)
@shared.BACKEND
@click.option("--area", "areas", multiple=True, help="Only cases of this area; may be repeated.")
@click.option(
    "-k",
    "keyword",
    default="",
    metavar="EXPR",
    help="Only instances whose id or requirement contains this; with and, or, not, ().",
)
@shared.EDITIONS
@click.option(
    "--failed",
    type=click.Path(),
    metavar="REPORT",
    help="Only what did not pass in the report of this folder; not what was unsupported or a known failure.",
)
@click.option("--list", "listing", is_flag=True, help="Print the ids of what would be asked, and ask nothing.")
@click.option("--shard", default="", metavar="I/N", help="Only the I-th of N parts of what is selected.")
@click.option(
    "--shard-times",
    "times",
    type=click.Path(),
    help="Folder of an earlier report: parts take equally long by what it recorded.",
)
@shared.WORKERS
@click.option(
    "--known-failures",
    "known",
    type=click.Path(),
    help="TOML of failures that are known, each with signature and expiry.",
)
@click.option(
    "--laws",
    type=click.IntRange(0, _MOST_LAWS),
    default=None,
    metavar="N",
    help="Also ask about N random graphs, and judge the answers by laws; 0 for none.  [default: a third of 200]",
)
@click.option("--thorough", is_flag=True, help="Ask all that laws ask, not a third; as --laws N does.")
@click.option(
    "--law-seed",
    "--laws-seed",
    default=None,
    metavar="SEED|fresh",
    help="Which random graphs; 'fresh' draws a seed that nobody knew before, and prints it.  [default: 0]",
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
@shared.FORMAT
def run(
    spec: str, areas: Tuple[str, ...], keyword: str, editions: Tuple[str, ...], failed: Optional[str], listing: bool,
    shard: str, times: Optional[str], jobs: Optional[int], factor: float, variables: Tuple[str, ...], python: str,
    known: Optional[str], laws: Optional[int], thorough: bool, law_seed: Optional[str], out: str, shut_in: bool,
    form: str,
) -> int:  # fmt: skip
    """Judge a backend by all cases; exit 0 if it conforms, 1 if not."""
    from npu_conformance import backends
    from npu_conformance.files import output, packing
    from npu_conformance.judging import known_failures
    from npu_conformance.library import library
    from npu_conformance.report import answering, summary, write
    from npu_conformance.report import text as render
    from npu_conformance.running import progress, runner, seats
    from npu_conformance.strength.laws import asking
    from npu_reference.collection import collect_seldom

    shared.stop_on_signals()
    collect_seldom()
    packing.check()
    backends.check(spec)
    settings = shared.worker_settings(jobs, factor, variables, python)

    def chosen(shelf: Any) -> _Wanted:
        return _chosen(shelf, areas, editions, keyword, failed, shard, times, laws, thorough, law_seed)

    if listing:
        _list(chosen(library.load()), form)
        return ExitStatus.OK
    if shut_in:
        settings = settings._replace(sandbox=shared.sandbox_here())
    # Where the report is to lie is looked at first; then a backend starts while the library is read.
    with output.replaced_folder(out) as folder, seats.seat(spec, settings, early=True) as first:
        shelf = library.load()
        instances, lawful, asked, graphs, seed, thorough = chosen(shelf)
        lawlike = asking.instances() if laws != 0 else []
        entries = known_failures.load(known, [*shelf.instances(), *lawlike]) if known else []
        draw, third = asking.drawn_by(seed, thorough)
        plan = asking.Plan(graphs, draw, lawful, folder, shelf, third)

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
        with progress.bar(len(instances) + sum(1 for _ in asking.graphs(plan))) as advance:
            report = runner.run(
                shelf, instances, spec, settings, entries, asked, advance, folder, beside, first, asking.apart
            )
        missing = write.write(shelf, report, folder)
    if form == "json":
        shared.echo_json(answering.answer(shelf, report))
    else:
        render.run(shelf, report, summary.areas(report), out, bool(missing))
    if graphs and not thorough:
        click.echo(f"note: laws were asked of a third, that of --law-seed {seed}; --thorough asks all", err=True)
    if law_seed == "fresh" and graphs:
        click.echo(f"note: the random graphs were those of --law-seed {seed}", err=True)
    if missing:
        click.echo(f"note: {missing}", err=True)
    return ExitStatus.OK if report.verdict == "conformant" else ExitStatus.NEGATIVE


def _chosen(
    shelf: Any, areas: Tuple[str, ...], editions: Tuple[str, ...], keyword: str, failed: Optional[str], shard: str,
    times: Optional[str], laws: Optional[int], thorough: bool, law_seed: Optional[str],
) -> _Wanted:  # fmt: skip
    """What the options select.

    Raises:
        NpuError: USAGE where that is nothing, OUTPUT for an earlier report that cannot be read.
    """
    from npu_conformance.library import selection, sharding
    from npu_conformance.report import junit, results
    from npu_conformance.strength.laws import asking

    before = results.failures(failed) if failed is not None else None
    if before is not None and not before.ids:
        raise NpuError("USAGE", f"--failed {failed}", "everything in this report passed", "There is nothing to repeat.")
    if before is not None and before.laws > _MOST_LAWS:
        raise NpuError("OUTPUT", str(failed), "its laws are too many", "It is none that a run has written.")
    usual, first_seed = (before.laws, str(before.law_seed)) if before is not None else (asking.DEFAULT, "0")
    graphs = usual if laws is None else laws
    thorough = thorough or laws is not None or (before is not None and before.thorough)
    seed = shared.seed_of("--law-seed", first_seed if law_seed is None else law_seed)
    more = asking.instances() if graphs else []
    only = None if before is None else before.ids
    wanted = selection.select(shelf, areas=areas, editions=editions, keyword=keyword, more=more, only=only)
    if not wanted and before is not None:
        reason = f"nothing that did not pass in {failed} is selected"
        raise NpuError("USAGE", "npu-conformance run", reason, "Leave --area, --edition and -k out.")
    if not wanted:
        raise NpuError("USAGE", "npu-conformance run", "the selection matches no case")
    if laws and not any(instance in more for instance in wanted):
        remedy = "Laws are of the areas partition, precision, options and run."
        raise NpuError("USAGE", f"--laws {laws}", "the selection leaves no law", remedy)
    asked: Dict[str, Any] = {"areas": list(areas), "editions": list(editions), "keyword": keyword}
    if before is not None:  # nobody can select again by a report that is elsewhere
        asked["instances"] = [one.id for one in wanted]
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
    lawful = tuple(instance for instance in wanted if instance in more)
    graphs = graphs if lawful else 0
    if graphs:
        asked.update(laws=graphs, law_seed=seed, thorough=thorough)
    return _Wanted([instance for instance in wanted if instance not in more], lawful, asked, graphs, seed, thorough)


def _list(wanted: _Wanted, form: str) -> None:
    ids = [instance.id for instance in (*wanted.instances, *wanted.laws)]
    if form == "json":
        from npu_conformance.protocol import schema

        shared.echo_json({"schema": schema.header("run-list"), "instances": ids})
        return
    click.echo("\n".join(ids))
