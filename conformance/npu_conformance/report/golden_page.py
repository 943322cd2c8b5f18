"""Decides what the page of ``golden check`` shows: of each model what moved, before and after."""

from __future__ import annotations

from typing import Sequence

from npu_conformance.models.golden.many import GoldenAnswer
from npu_conformance.report.page import Made, render_page

__all__ = ["page"]

#: What changes are about, and how the page calls it.
_ABOUT = {"files": "Files", "places": "Places", "dtypes": "Dtypes", "costs": "Costs"}


def page(answers: Sequence[GoldenAnswer], made: Made) -> str:
    """The HTML text.

    Raises:
        NpuError: OUTPUT without jinja2.
    """
    models = []
    for answer in answers:
        parts = [(one.about, (_parts(one.text), one.names)) for one in answer.moved]
        groups = {about: [found for name, found in parts if name == about] for about in _ABOUT}
        models.append({"name": answer.model, "error": answer.error, "moved": len(answer.moved), "groups": groups})
    return render_page("golden.html", made=made, models=models, titles=_ABOUT)


def _parts(text: str) -> Sequence[str]:
    """What moved, before, and after; what has no two sides is told whole."""
    if " -> " not in text:
        return [text]
    before, _, after = text.partition(" -> ")
    what, _, before = before.rpartition(": ")
    return [what, before, after]
