"""``npu-conformance explain``: what an error code, a reading, a requirement or an option means, in full."""

from __future__ import annotations

import textwrap
from typing import Sequence

import click

from npu_conformance.commands.shared import FORMAT, echo_json
from npu_reference.errors import ExitStatus

__all__ = ["explain"]

_WIDTH = 100


@click.command()
@click.argument("word", metavar="CODE|READING|REQUIREMENT|OPTION")
@FORMAT
def explain(word: str, form: str) -> int:
    """Print in full what stands behind a word of an answer: an error or warning code, a row of the readings such as
    A19, a requirement with the cases that see it, or an option."""
    from npu_conformance.library import explaining

    found = explaining.explain(word)
    if form == "json":
        from npu_conformance.protocol import schema

        echo_json({"schema": schema.header("explain"), **found.to_json()})
        return ExitStatus.OK
    click.echo(click.style(found.name, bold=True) + f" ({found.kind})")
    for label, text in found.facts.items():
        _paragraph(label, text)
    _names("Readings", found.readings)
    _names("Requirements", found.requirements)
    _names("Cases", found.cases)
    return ExitStatus.OK


def _paragraph(label: str, text: str) -> None:
    for line in f"{label}: {text}".splitlines():
        wrapped = textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        click.echo("\n".join(wrapped) or "")


def _names(label: str, names: Sequence[str]) -> None:
    if names:
        click.echo(f"{label}:")
    for name in names:
        click.echo(f"  {name}")
