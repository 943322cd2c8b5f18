"""``npu-conformance options``: what options do."""

from __future__ import annotations

import os
from typing import Dict, Sequence, Tuple

import click

from npu_conformance.commands.shared import EDITION, FORMAT, SURFACE, echo_json
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["options"]


def _environment(variables: Sequence[str], inherit: bool) -> Dict[str, str]:
    """The whole environment that options may see: none of the process's own unless that is asked for."""
    env = dict(os.environ) if inherit else {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise NpuError("USAGE", f"--env {text!r}", "is no variable with a value", "Write NAME=VALUE.")
        env[name] = value
    return env


@click.command()
@click.argument("assignments", nargs=-1, metavar="[k=v]...")
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="An environment variable that options may see; may be repeated. Without one they see none.",
)
@click.option(
    "--env-from-process",
    "inherit",
    is_flag=True,
    help="Let options see the environment of this process, --env over it.",
)
@SURFACE
@EDITION
@FORMAT
def options(
    assignments: Tuple[str, ...], variables: Tuple[str, ...], inherit: bool, surface: str, edition: str, form: str
) -> int:
    """Show the effective value of every option, where it comes from, and what is wrong."""
    from npu_reference.options import parse_assignments, resolve

    env = _environment(variables, inherit)
    resolution = resolve(parse_assignments(assignments), surface=surface, edition=edition, env=env)
    if form == "json":
        from npu_conformance.protocol import schema

        echo_json(
            {
                "schema": schema.header("options"),
                "effective": {
                    name: {"value": one.value, "origin": one.origin, "rule": one.rule}
                    for name, one in resolution.effective.items()
                },
                "errors": [error.to_json() for error in resolution.errors],
                "warnings": [warning._asdict() for warning in resolution.warnings],
            }
        )
    else:
        from npu_conformance.report import text as render

        render.options(resolution)
    return ExitStatus.BAD_INPUT if resolution.errors else ExitStatus.OK
