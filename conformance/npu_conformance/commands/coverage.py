"""``npu-conformance coverage``: which requirements have cases."""

from __future__ import annotations

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["coverage"]


@click.command(epilog=examples("coverage --missing --prefix session."))
@click.option("--prefix", default="", help="Only requirements whose id begins with this.")
@click.option("--missing", is_flag=True, help="List those without a case or a written reason; exit 1 if there are any.")
@FORMAT
def coverage(prefix: str, missing: bool, form: str) -> int:
    """Say which requirements have cases, mutants, or a reason why no case can see them."""
    from npu_conformance.library import library
    from npu_conformance.report import text as render
    from npu_conformance.strength import coverage as counting

    rows = [row for row in counting.rows(library.load()) if row.id.startswith(prefix)]
    if form == "json":
        echo_json(counting.answer(rows))
    else:
        render.coverage(rows, missing)
    return ExitStatus.NEGATIVE if missing and not all(row.covered for row in rows) else ExitStatus.OK
