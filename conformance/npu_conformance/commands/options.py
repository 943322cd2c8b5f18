"""``npu-conformance options``: what options do."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Sequence, Tuple

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["options"]

_MOST = 1 << 20  # bytes of assignments from standard input (assumed)


def _environment(variables: Sequence[str], inherit: bool) -> Dict[str, str]:
    """The whole environment that options may see: none of the process's own unless that is asked for."""
    env = dict(os.environ) if inherit else {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise NpuError("USAGE", f"--env {text!r}", "is no variable with a value", "Write NAME=VALUE.")
        env[name] = value
    return env


def _lines() -> List[str]:
    """Assignments from standard input, one a line; empty lines and those that begin with # are left out."""
    try:
        lines = [line.strip() for line in shared.read_stdin(_MOST).decode("utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        raise NpuError("USAGE", "standard input", "is no UTF-8.", "Write name=value, one a line.") from None
    return [line for line in lines if line and not line.startswith("#")]


@click.command(
    epilog=shared.examples(
        "options precision_mode=allow_mix_precision hccl_timeout=600", "options - --strict < options.txt"
    )
)
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
@click.option(
    "--no-files",
    "unseen",
    is_flag=True,
    help="Do not look at the paths that options name: for a machine where those of the device host do not exist.",
)
@click.option("--all", "every", is_flag=True, help="Show the options that have their defaults, too.")
@shared.STRICT
@shared.SURFACE
@shared.EDITION
@shared.FORMAT
def options(
    assignments: Tuple[str, ...], variables: Tuple[str, ...], inherit: bool, unseen: bool, every: bool, strict: bool,
    surface: str, edition: str, form: str,
) -> int:  # fmt: skip
    """Show what options mean: effective values, where they come from, what is wrong, and what the documents say."""
    from npu_reference.options import parse_assignments, resolve
    from npu_reference.options.fileview import Unseen

    env = _environment(variables, inherit)
    if shared.STDIN in assignments:
        assignments = tuple(one for word in assignments for one in (_lines() if word == shared.STDIN else [word]))
    values = parse_assignments(assignments)
    files = Unseen() if unseen else None
    resolution = resolve(values, surface=surface, edition=edition, env=env, files=files)
    answer = _answer(resolution, surface)
    if form == "json":
        shared.echo_json(answer)
    else:
        from npu_conformance.report import text_options as render

        render.options(answer, shared.MISNAMED, list(values), every)
        for error in answer["errors"]:
            click.echo(render.refusal(error), err=True)
    misnamed = [warning for warning in resolution.warnings if warning.code in shared.MISNAMED]
    if strict and misnamed and form == "text":
        click.echo(f"error[USAGE] --strict: {shared.refused(misnamed[0])}", err=True)
    return ExitStatus.BAD_INPUT if resolution.errors or (strict and misnamed) else ExitStatus.OK


def _answer(resolution: Any, surface: str) -> Dict[str, Any]:
    """The answer in JSON: every error, warning and note with the rule and the requirement behind it."""
    from npu_conformance.library import citing
    from npu_conformance.protocol import schema
    from npu_reference.options.directives import directives
    from npu_reference.options.meaning import meanings

    def cited(code: str, option: str, rule: str) -> Dict[str, str]:
        return {"rule": rule, **citing.cite(code, option, rule, surface, resolution.edition).to_json()}

    return {
        "schema": schema.header("options"),
        "effective": {
            name: {"value": one["value"], "origin": one["origin"], "rule": one["rule"]}
            for name, one in resolution.to_json()["effective"].items()
        },
        "errors": [{**error.to_json(), **cited(error.code, error.subject, error.rule)} for error in resolution.errors],
        "warnings": [
            {"option": one.option, "code": one.code, "message": one.message, **cited(one.code, one.option, one.rule)}
            for one in resolution.warnings
        ],
        "notes": [
            {"option": one.option, "message": one.message, **cited("", one.option, one.rule)}
            for one in resolution.notes
        ],
        "meaning": meanings(resolution),
        "directives": directives(resolution.typed),
    }
