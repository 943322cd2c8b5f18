"""``npu-conformance library``: the built-in operator information library, to be looked up, edited and given back."""

from __future__ import annotations

import os
from typing import Optional

import click

from npu_conformance.commands.shared import EDITION, FORMAT, echo_json, examples
from npu_conformance.files import reading
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["library"]

_LARGEST = 16 << 20  # bytes of a file that is compared with what would be written


@click.command(epilog=examples("library /usr/local/Ascend/opp"))
@click.argument("directory", type=click.Path())
@click.option("--ops-info", "ops_info", type=click.Path(), help="Your own file, laid over what is built in.")
@EDITION
@FORMAT
def library(directory: str, ops_info: Optional[str], edition: str, form: str) -> int:
    """Write the built-in operator information library below DIRECTORY, where an installation has it.

    The file cannot be written until it is made so (chmod u+w), as documents say. Once edited, `--ops-info FILE` of
    precision, profile and partition takes it back. A file that is there and differs is left alone.
    """
    from npu_conformance.files import output
    from npu_conformance.models import precise
    from npu_conformance.protocol import schema
    from npu_reference.artifacts import library as built_in
    from npu_reference.catalog import Catalog

    if not directory:
        raise NpuError("USAGE", "DIRECTORY", "it is no path.", "Name a directory; . is the one you are in.")
    catalog = Catalog.built_in()
    if ops_info is not None:
        catalog = catalog.with_ops_info(precise.read_ops_info(ops_info), ops_info)
    written = []
    for one in built_in.files(catalog, edition):
        path = os.path.join(directory, *one.path.split("/"))
        if os.path.lexists(path) and _text(path) != one.text:
            remedy = "Take another directory, or remove it first."
            raise NpuError("OUTPUT", path, "is there and says something else; it may be yours.", remedy)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as problem:
            raise NpuError("OUTPUT", os.path.dirname(path), f"cannot be made: {problem.strerror}.") from None
        if not os.path.lexists(path):
            output.write_file(path, one.text)
            os.chmod(path, one.mode)
        written.append(path)
    if form == "json":
        echo_json({"schema": schema.header("library"), "files": written})
        return ExitStatus.OK
    for path in written:
        click.echo(path)
    click.echo(f"To change it: chmod u+w {written[0]}, edit it, and give it back: --ops-info {written[0]}")
    return ExitStatus.OK


def _text(path: str) -> Optional[str]:
    try:
        return reading.content(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return None
