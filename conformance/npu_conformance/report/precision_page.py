"""Decides what the page of one assignment shows: operators by kind and scope, casts, warnings and comparisons.

The page is one self-contained HTML file in the style of the partition's.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Dict, List, Mapping, Optional, Tuple

from npu_conformance.report.page import Made, render_page

__all__ = ["page", "page_data"]

#: Members of a node's row after its name, in the order the page reads them.
_FIELDS = ("op", "kernel", "geop", "engine", "inputs", "outputs", "list", "impl_mode", "why")


def page(answer: Mapping[str, Any], *, title: str, options: Mapping[str, Any], made: Optional[Made] = None) -> str:
    """The HTML text for an answer of ``precision``.

    Args:
        answer: ``nodes``, ``casts``, ``warnings``, ``summary``, ``work`` and ``compared``.
        title: what the reader calls the graph, its file's name.
        options: the effective options that differ from their defaults.
        made: how the page was made; None inside another page.
    """
    return render_page("precision.html", title=title, made=made, data=page_data(answer), options=dict(options))


def page_data(answer: Mapping[str, Any]) -> Dict[str, Any]:
    """The data the page embeds: texts that repeat stand once in `words`, rows refer to them."""
    words: Dict[str, int] = {}
    kinds: Dict[Tuple[Any, ...], int] = {}
    first: List[int] = []
    nodes: List[List[Any]] = []
    for node in answer["nodes"]:
        row: List[Any] = [node["node"]]
        row.extend(words.setdefault(_text(node[field]), len(words)) for field in _FIELDS)
        kind = tuple(row[1 + _FIELDS.index(field)] for field in ("op", "kernel", "engine", "inputs", "outputs", "list"))
        if kind not in kinds:
            kinds[kind] = len(kinds)
            first.append(len(nodes))
        row.append(kinds[kind])
        nodes.append(row)
    return {
        "words": list(words),
        "nodes": nodes,
        "kinds": first,
        "casts": [[cast["source"], cast["target"], cast["from"], cast["to"]] for cast in answer["casts"]],
        "warnings": answer["warnings"],
        "summary": answer["summary"],
        "work": answer["work"],
        "compared": answer["compared"],
    }


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_run(dtype, list(run)) for dtype, run in groupby(value))
    return value or ""


def _run(dtype: str, run: List[str]) -> str:
    return f"{dtype} ×{len(run)}" if len(run) > 2 else ", ".join([dtype] * len(run))
