"""``npu-conformance compare``: what became worse between two reports."""

from __future__ import annotations

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["compare"]


@click.command(epilog=examples("compare before/ after/"))
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@FORMAT
def compare(before: str, after: str, form: str) -> int:
    """Compare two report folders; exit 1 if anything became worse."""
    from npu_conformance.report import comparison
    from npu_conformance.report import text as render

    found = comparison.compare(before, after)
    if form == "json":
        echo_json(comparison.answer(found))
    else:
        render.comparison(found)
    return ExitStatus.NEGATIVE if found.worse else ExitStatus.OK
