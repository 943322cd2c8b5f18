"""``npu-conformance golden``: golden-graph regression of a user's own models."""

from __future__ import annotations

from typing import Tuple

import click

from npu_conformance.commands.shared import EDITION, FORMAT, SURFACE, echo_json
from npu_reference.errors import ExitStatus
from npu_reference.printing import printable

__all__ = ["golden"]


@click.group()
def golden() -> None:
    """Record how your own models are partitioned, and check later that nothing moved."""


@golden.command("update")
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@click.option("-o", "assignments", multiple=True, metavar="k=v", help="An option; may be repeated.")
@click.option(
    "--policy",
    type=click.Choice(["documented", "adapter"]),
    default="documented",
    show_default=True,
    help="As the documents say, or exactly as the adapter's own pass.",
)
@click.option(
    "--flavour", type=click.Choice(["tf1", "tf2"]), default="tf1", show_default=True, help="Which build of the adapter."
)
@click.option("--feed", "feeds", multiple=True, metavar="NAME:SLOT", help="A tensor that is fed; may be repeated.")
@click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME[:SLOT]",
    help="A tensor that is fetched, or an operator that is run; may be repeated.",
)
@SURFACE
@EDITION
@FORMAT
def golden_update(
    models: Tuple[str, ...],
    assignments: Tuple[str, ...],
    policy: str,
    flavour: str,
    feeds: Tuple[str, ...],
    fetches: Tuple[str, ...],
    surface: str,
    edition: str,
    form: str,
) -> int:
    """Record the partition of each MODEL beside it, with the options it was made with."""
    from npu_conformance.models import golden_graph
    from npu_conformance.protocol import schema
    from npu_reference.options import parse_assignments

    values = parse_assignments(assignments)
    question = golden_graph.Question(values, surface, edition, policy, flavour, tuple(feeds), tuple(fetches))
    written = [str(golden_graph.update(model, question)) for model in models]
    if form == "json":
        echo_json({"schema": schema.header("golden"), "recorded": dict(zip(models, written))})
    else:
        for path in written:
            click.echo(printable(f"recorded {path}"))
    return ExitStatus.OK


@golden.command("check")
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@FORMAT
def golden_check(models: Tuple[str, ...], form: str) -> int:
    """Compare each MODEL with its record; exit 1 and say what moved if anything did."""
    from npu_conformance.models import golden_graph
    from npu_conformance.protocol import schema

    moved = {model: [change.text for change in golden_graph.check(model)] for model in models}
    if form == "json":
        echo_json({"schema": schema.header("golden"), "changes": moved})
    else:
        for model, texts in moved.items():
            click.echo(printable(f"{model}: ") + ("unchanged" if not texts else f"{len(texts)} changes"))
            for text in texts:
                click.echo(printable(f"  {text}"))
    return ExitStatus.NEGATIVE if any(moved.values()) else ExitStatus.OK
