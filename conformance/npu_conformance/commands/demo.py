"""``npu-conformance demo``: files to try the commands on, and the commands."""

from __future__ import annotations

import click

from npu_conformance.commands.shared import FORMAT, echo_json, examples
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["demo"]


@click.command(epilog=examples("demo first-steps"))
@click.argument("directory", type=click.Path(), metavar="DIR")
@FORMAT
def demo(directory: str, form: str) -> int:
    """Write a small ported script, a model, option files and a faulty backend into DIR, and print what to try on them.

    DIR is empty or absent. Each command that is printed can be pasted as it stands, in any directory.
    """
    from npu_conformance.models import demonstration

    if not directory:
        raise NpuError("USAGE", "DIR", "it is no path.", "Name a directory that is empty or absent.")
    written = demonstration.write(directory)
    trials = demonstration.trials(directory)
    if form == "json":
        from npu_conformance.protocol import schema

        told = [
            {"command": one.line, "about": one.about, "status": one.status, "tensorflow": one.tensorflow}
            for one in trials
        ]
        echo_json({"schema": schema.header("demo"), "files": list(written), "commands": told})
        return ExitStatus.OK
    from npu_reference.printing import printable

    click.echo(printable(f"In {directory}: {', '.join(written)}"))
    for one in trials:
        notes = [f"exit status {one.status}"] if one.status else []
        notes += ["needs TensorFlow"] if one.tensorflow else []
        click.echo(f"\n{one.about}" + (f" ({', '.join(notes)}):" if notes else ":"))
        click.echo(f"  {one.line}")
    return ExitStatus.OK
