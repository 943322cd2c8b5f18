"""Decides how the operators whose fp16 costs a script most accuracy are told."""

from __future__ import annotations

import json
from typing import Any, Mapping, Sequence

import click

from npu_reference.printing import counted, printable

__all__ = ["report"]


def report(script: str, values: Mapping[str, Any], edition: str, executions: int, form: str) -> None:
    """Run a script both ways and print what was found.

    Args:
        script: its file.
        values: options that replace those of the script's own config; empty for the script's.
        edition: of the options.
        executions: of the script, at most.
        form: text or json.

    Raises:
        NpuError: what is wrong with the script.
    """
    from npu_conformance.protocol import schema
    from npu_reference.runtime.scripts.bisection import bisect

    found = bisect(script, edition=edition, executions=executions, values=dict(values) or None)
    if form == "json":
        click.echo(json.dumps({"schema": schema.header("bisection"), **found.to_json()}, indent=2, sort_keys=True))
        return
    lowered, asked = counted(found.lowered, "operator"), counted(found.executions, "execution")
    click.echo(printable(script) + f": {lowered} at fp16, {asked}, simulated")
    click.echo(f"relative error of what it fetches: {found.error:.3g} (of TensorFlow with itself: {found.noise:.3g})")
    if not found.suspects:
        click.echo("Nothing is computed at fp16.")
        return
    click.echo("With only these at fp16:")
    for suspect in found.suspects:
        click.echo(printable(f"  {suspect.error:9.3g}  {suspect.op:<22} {_names(suspect.nodes)}"))


def _names(nodes: Sequence[str]) -> str:
    if len(nodes) == 1:
        return nodes[0]
    return f"{nodes[0]} to {nodes[-1]}, {len(nodes)} operators"
