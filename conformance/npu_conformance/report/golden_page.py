"""Decides what the page of ``golden check`` shows: of each model what moved, before and after."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from npu_conformance.models.golden.many import GoldenAnswer
from npu_conformance.report.page import Made, render_page

__all__ = ["page", "sides"]

#: What changes are about, and how the page calls it.
_ABOUT = {"files": "Files", "places": "Places", "dtypes": "Dtypes", "costs": "Costs"}


def page(answers: Sequence[GoldenAnswer], made: Made) -> str:
    """The HTML text.

    Raises:
        NpuError: OUTPUT without jinja2.
    """
    models = []
    for answer in answers:
        parts = [(one.about, (sides(one.text), one.names)) for one in answer.moved]
        groups = {about: [found for name, found in parts if name == about] for about in _ABOUT}
        models.append({"name": answer.model, "error": answer.error, "moved": len(answer.moved), "groups": groups})
    return render_page("golden.html", made=made, models=models, titles=_ABOUT)


def sides(text: str) -> List[str]:
    """What moved, before, and after; what has no two sides is told whole."""
    if " -> " not in text:
        return [text]
    what = text.partition(" -> ")[0].rpartition(": ")[0]
    words = text[len(what) :].lstrip(": ")
    several = words.split("; ")
    sides = [_sides(part) for part in (several if all(" -> " in part for part in several) else [words])]
    return [what, *("; ".join(side) for side in zip(*sides))]


def _sides(part: str) -> Tuple[str, str]:
    """A part of a change, before and after; what it is of stands on both sides."""
    before, _, after = part.partition(" -> ")
    label = before.partition(" ")[0] if before.startswith(("engine ", "list ", "mode ")) else ""
    return before, f"{label} {after}".lstrip()
