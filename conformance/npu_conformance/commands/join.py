"""``npu-conformance join``: one report of all shards of a run."""

from __future__ import annotations

from typing import Tuple

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["join"]


@click.command(epilog=examples("join shard-1 shard-2 --out report"))
@click.argument("folders", nargs=-1, required=True, type=click.Path())
@click.option(
    "--out",
    default="npu-conformance-report",
    show_default=True,
    type=click.Path(),
    help="Folder of the report; an earlier report is replaced.",
)
@FORMAT
def join(folders: Tuple[str, ...], out: str, form: str) -> int:
    """Join the reports of all shards, FOLDERS, into one: verdict, page, and statement as of one run."""
    from npu_conformance.files import output
    from npu_conformance.library import library
    from npu_conformance.report import answering, joining, summary, write
    from npu_conformance.report import text as render

    shelf = library.load()
    with output.replaced_folder(out) as aside:
        report = joining.join(shelf, folders, aside)
        missing = write.write(shelf, report, aside)
    if form == "json":
        echo_json(answering.answer(shelf, report))
    else:
        render.run(shelf, report, summary.areas(report), out, bool(missing))
    if missing:
        click.echo(f"note: {missing}", err=True)
    return ExitStatus.OK if report.verdict == "conformant" else ExitStatus.NEGATIVE
