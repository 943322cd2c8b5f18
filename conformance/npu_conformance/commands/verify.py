"""``npu-conformance verify``: judges a report again."""

from __future__ import annotations

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["verify"]


@click.command(epilog=examples("verify report"))
@click.argument("folder", type=click.Path())
@FORMAT
def verify(folder: str, form: str) -> int:
    """Judge a report FOLDER again from its raw observations; exit 1 if it does not hold."""
    from npu_conformance.library import library
    from npu_conformance.report import text as render
    from npu_conformance.report import verify as verification

    found = verification.verify(library.load(), folder)
    if form == "json":
        echo_json(verification.answer(found))
    else:
        render.verification(found)
    return ExitStatus.OK if found.holds and found.verdict == "conformant" else ExitStatus.NEGATIVE
