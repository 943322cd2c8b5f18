"""The table of device parameters in docs/device.md, made from their declarations.

``python -m npu_reference.hardware.page docs/device.md`` puts it between the page's marks.
"""

from __future__ import annotations

import sys

from npu_reference.hardware.device import PARAMETERS
from npu_reference.hardware.reading import built_in, names

__all__ = ["BEGIN", "END", "inserted", "table"]

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
        keys = [key for key in PARAMETERS if getattr(device, key) != getattr(first, key)]
        other = [f"`{key}` {_number(getattr(device, key))}" for key in keys]
        rows.append(f"| `{name}` | {', '.join(other)} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def inserted(page: str) -> str:
    """A page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        _page = inserted(stream.read())
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        stream.write(_page)
