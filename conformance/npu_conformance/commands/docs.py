"""``npu-conformance docs``: the pages of the documentation, which an installed package has with it."""

from __future__ import annotations

import os
from typing import Optional

import click

from npu_conformance.commands import shared
from npu_reference.errors import ExitStatus, NpuError

__all__ = ["docs"]


@click.command(epilog=shared.examples("docs", "docs device", "docs tutorial-port.zh-CN"))
@click.argument("page", required=False)
@click.option("--path", is_flag=True, help="Print the path of the file instead.")
def docs(page: Optional[str], path: bool) -> int:
    """Print PAGE of the documentation, in Markdown; without one list the pages, each with its title."""
    from npu_conformance.files import resources
    from npu_reference.spelling import several

    folder = resources.docs()
    names = sorted(name[: -len(".md")] for name in os.listdir(folder) if name.endswith(".md"))
    if page is not None and page not in names:
        remedy = f"{several(page, names, 0.6)} All: npu-conformance docs".lstrip()
        raise NpuError("USAGE", repr(page[:80]), "there is no such page.", remedy)
    for name in names if page is None else [page]:
        file = os.path.join(folder, f"{name}.md")
        with open(file, encoding="utf-8") as stream:
            text = stream.readline().strip("# \n") if page is None else stream.read().rstrip("\n")
        click.echo(file if path else f"{name:24}  {text}" if page is None else text)
    return ExitStatus.OK
