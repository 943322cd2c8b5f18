"""``npu-conformance explain``: what a word of an answer means, in full."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus

__all__ = ["explain"]


@click.command(epilog=examples("explain OPTION_VALUE", "explain W101", "explain PyFunc"))
@click.argument("word", required=False)
@FORMAT
def explain(word: Optional[str], form: str) -> int:
    """Print in full what stands behind WORD of an answer.

    WORD is an error or warning code, a status, a row of the readings such as A19, a requirement, an option, a rule of
    lint, a reason or note of a partition or of precision, an aspect of facts, a case, a mutant, a law, or an operator.
    KIND:WORD, such as law:reasons, says which is meant where several are called so. Without WORD the kinds are listed.
    """
    from npu_conformance.report import words

    found = words.kinds() if word is None else words.explain(word)
    if form == "json":
        from npu_conformance.protocol import schema

        echo_json({"schema": schema.header("explain"), **found.to_json()})
        return ExitStatus.OK
    from npu_conformance.report.terminal import Terminal

    console = Terminal()
    click.echo(click.style(found.name, bold=True) + f" ({found.kind})")
    for label, text in found.facts.items():
        _paragraph(console, label, text)
    _names("Readings", found.readings)
    if found.requirements:
        from npu_conformance.library import inventory

        click.echo("Requirements:")
        for name in found.requirements:
            _paragraph(console, f"  {name}", " ".join(inventory.load()[name].statement.split()))
    _names("Cases", found.cases)
    return ExitStatus.OK


def _paragraph(console: Any, label: str, text: str) -> None:
    from npu_conformance.report.terminal import line, plain

    for one in f"{label}: {text}".splitlines():
        line(console, plain(one), indent=2)


def _names(label: str, names: Sequence[str]) -> None:
    if names:
        click.echo(f"{label}:")
    for name in names:
        click.echo(f"  {name}")
