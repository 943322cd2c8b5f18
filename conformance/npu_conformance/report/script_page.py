"""Decides what the page of one script shows: sessions with their options, signatures, and each signature's own pages.

The page is one self-contained HTML file. The pages of partition and precision are those of the commands, held as texts
and shown in a frame when asked for, so that a signature of 50 000 operators is as readable as there.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

from npu_conformance.models import profiling
from npu_conformance.models import script as scripts
from npu_conformance.models.precise import given
from npu_conformance.report import partition_page, precision_page, profile_page
from npu_conformance.report.page import Made, render_page

__all__ = ["page"]

#: Signatures with pages of their own, those that ran most operators first, and operators of all of them together: what
#: a browser opens in a moment (assumed).
_PAGES = 40
_PAGE_NODES = 200000


def page(told: scripts.ScriptTold, made: Optional[Made] = None) -> str:
    """The HTML text for what was told of a script; `made` is None inside another page."""
    script = str(told.answer["script"])
    return render_page(
        "script.html", title=os.path.basename(script), made=made, data={**told.answer, "pages": _pages(told.account)}
    )


def _pages(account: Any) -> Dict[str, Dict[str, str]]:
    """``session/signature`` (positions from 0) to the texts of its pages."""
    ranked: List[Tuple[int, int, int, Any, Any]] = []
    for number, session in enumerate(account.sessions):
        for position, one in enumerate(session.signatures.values()):
            weight = max(one.runs, 1) * len(one.partition.graph.nodes)
            ranked.append((-weight, number, position, session, one))
    ranked.sort(key=lambda entry: entry[:3])
    pages: Dict[str, Dict[str, str]] = {}
    nodes = 0
    for _, number, position, session, one in ranked[:_PAGES]:
        nodes += len(one.partition.graph.nodes)
        if nodes > _PAGE_NODES and pages:
            break
        pages[f"{number}/{position}"] = _of(session, one)
    return pages


def _of(session: Any, one: Any) -> Dict[str, str]:
    names = [*one.fetches, *one.targets]
    title = f"session {session.number}, run of {', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
    options = given(session.settings.resolution)
    answer = scripts.partition_answer(one, session)
    precision = scripts.precision_answer(one, session)
    nodes = precision["nodes"] if precision is not None else ()
    graph = one.partition.graph
    found = {"partition": partition_page.page(graph, answer, title=title, options=options, precise=nodes)}
    if precision is not None:
        found["precision"] = precision_page.page(precision, title=title, options=options)
    if one.time is not None and one.time.profile is not None:
        asked = [profiling.ProfileRequest(one.time.profile, session.settings.resolution)]
        step = profiling.answer(asked)
        found["timeline"] = profile_page.page(one.time.profile, step, title=title, options=options)
    return found
