"""Writes the table of names into docs/npu_bridge.md: ``python -m npu_reference.surface.page``."""

from __future__ import annotations

import sys
from typing import Iterator, Sequence

from npu_reference.derived_page import between, write_page
from npu_reference.surface.declaration import REFUSED, STAR, Name
from npu_reference.surface.modules import MODULES
from npu_reference.surface.table import NAMES

__all__ = ["BEGIN", "END", "main", "table", "with_table"]

#: The lines of the page between which the table stands.
BEGIN = "<!-- The table of names, written by python -m npu_reference.surface.page -->"
END = "<!-- End of the table -->"


def table() -> str:
    """The names of every module that has any, as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for module in MODULES:
        names = [name for name in NAMES if name.module == module and name.kind != "module"]
        modules = [name for name in NAMES if name.module == module and name.kind == "module" and module == STAR]
        if not names and not modules:
            continue
        yield f"### `{module}`\n"
        yield "| name | here | what it does | says |"
        yield "|---|---|---|---|"
        for name in [*names, *modules]:
            yield _row(name)
        yield ""


def _row(name: Name) -> str:
    told = name.behaviour
    if name.status == REFUSED:
        told = f"{told}. {name.remedy}"
    if name.successor:
        told = f"{told}; replaced by `{name.successor}`"
    star = " *" if name.star else ""
    return f"| `{name.name}`{star} | {name.status} | {told} | {name.source} |"


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    return between(page, BEGIN + "\n", END + "\n", f"\n{table()}")


def main(arguments: Sequence[str]) -> int:
    """Bring the page up to date; returns the exit status."""
    return write_page(arguments, "npu_reference.surface.page", "docs/npu_bridge.md", with_table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
