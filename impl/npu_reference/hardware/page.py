"""The table of device parameters in docs/device.md, made from their declarations.

``python -m npu_reference.hardware.page`` puts it between the page's marks.
"""

from __future__ import annotations

import sys
from typing import Dict, List, Sequence

from npu_reference.derived_page import between, write_page
from npu_reference.hardware.device import ORIGINS, PARAMETERS
from npu_reference.hardware.reading import built_in, names

__all__ = ["BEGIN", "END", "inserted", "main", "table"]

BEGIN, END = "<!-- parameters -->", "<!-- /parameters -->"


def table() -> str:
    """Every parameter with its value, unit, origin and meaning; then what the other devices have otherwise."""
    first = built_in()
    rows = ["| parameter | value | unit | origin | meaning |", "|---|---|---|---|---|"]
    for key, parameter in PARAMETERS.items():
        figure = first.figures[key]
        rows.append(f"| `{key}` | {_number(figure.value)} | {parameter.unit} | {figure.origin} | {parameter.meaning} |")
    rows += ["", "| device | differs in |", "|---|---|"]
    for name in names()[1:]:
        device = built_in(name)
        keys = [key for key in PARAMETERS if device.figures[key] != first.figures[key]]
        other: Dict[str, List[str]] = {origin: [] for origin in ORIGINS}
        for key in keys:
            other[device.figures[key].origin].append(f"`{key}` {_number(getattr(device, key))}")
        rows.append(f"| `{name}` | {'; '.join(f'{key}: ' + ', '.join(told) for key, told in other.items() if told)} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def inserted(page: str) -> str:
    """A page with the table between its marks."""
    return between(page, BEGIN, END, f"\n{table()}\n")


def main(arguments: Sequence[str]) -> int:
    """Bring the page up to date; returns the exit status."""
    return write_page(arguments, "npu_reference.hardware.page", "docs/device.md", inserted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
