"""``npu-conformance site``: a static site of several runs' reports."""

from __future__ import annotations

from typing import Tuple

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["site"]


@click.command(epilog=examples("site reference/ mine/ --out site"))
@click.argument("reports", nargs=-1, required=True, type=click.Path(), metavar="REPORT...")
@click.option(
    "--out",
    default="npu-conformance-site",
    show_default=True,
    type=click.Path(),
    help="Folder of the site: empty, absent, or an earlier site, which is replaced.",
)
@FORMAT
def site(reports: Tuple[str, ...], out: str, form: str) -> int:
    """Build a static site of the REPORTs, folders of runs: requirements by backends, what failed and why, badges.

    Reports of one backend are its versions, in the order given: the oldest first. The site shows what the reports
    state; verify judges a report again.
    """
    from npu_conformance.files import output
    from npu_conformance.library import library
    from npu_conformance.report import site as site_
    from npu_conformance.report import text as render

    with output.replaced_folder(out, site_.MARK) as folder:
        entries = site_.write(library.load(), reports, folder)
    if form == "json":
        echo_json(site_.answer(entries))
    else:
        render.site(entries, out)
    return ExitStatus.OK
