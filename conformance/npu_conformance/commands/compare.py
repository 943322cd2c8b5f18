"""``npu-conformance compare``: what became worse between two reports."""

from __future__ import annotations

from typing import Optional

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples, how_made
from npu_reference.errors import ExitStatus

__all__ = ["compare"]


@click.command(epilog=examples("compare before/ after/", "compare before/ after/ --html moved.html"))
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@click.option("--html", type=click.Path(), help="Also write one self-contained page.")
@FORMAT
def compare(before: str, after: str, html: Optional[str], form: str) -> int:
    """Compare the reports in the folders BEFORE and AFTER: what moved by cause, requirement and result.

    Exit 1 if any result became worse.
    """
    from npu_conformance.files import output
    from npu_conformance.library import library
    from npu_conformance.report import comparison, comparison_page
    from npu_conformance.report import text as render

    if html:
        output.check_writable(html)
    shelf = library.load()
    found = comparison.compare(shelf, before, after)
    if html:
        output.write_file(html, comparison_page.page(shelf, found, how_made()))
    if form == "json":
        echo_json(comparison.answer(found))
    else:
        render.comparison(found)
    return ExitStatus.NEGATIVE if found.worse else ExitStatus.OK
