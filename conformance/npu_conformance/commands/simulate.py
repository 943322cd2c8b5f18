"""``npu-conformance simulate``: runs a script."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from npu_reference.errors import ExitStatus

__all__ = ["simulate"]


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--device-precision",
    type=click.Choice(["off", "on"]),
    help="on computes at the dtypes that the precision options give; off, the default, as TensorFlow does.",
)
@click.option(
    "--edition",
    type=click.Choice(["legacy", "current"]),
    help="Edition of the options; default as the script's environment says.",
)
@click.option("--trace", "trace_file", type=click.Path(), help="Write what ran where as JSON.")
@click.argument("script", type=click.Path())
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[args]...")
def simulate(
    device_precision: Optional[str],
    edition: Optional[str],
    trace_file: Optional[str],
    script: str,
    arguments: Tuple[str, ...],
) -> int:
    """Run SCRIPT unchanged on the simulated device; its exit status is the script's."""
    from npu_reference.runtime.scripts.simulate import simulate as execute

    execute(script, list(arguments), device_precision=device_precision, edition=edition, trace_file=trace_file)
    return ExitStatus.OK
