"""Decides what ``simulate --ranks`` tells of all ranks together: one answer, and one page with the page of each rank.

Each rank is a process. It leaves what is told of it as files in a folder that all share, and whoever started them joins
those. A rank that was ended from outside leaves nothing, and the answer says so.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional

from npu_conformance.files import output
from npu_conformance.models import script as scripts
from npu_conformance.report import script_page
from npu_conformance.report.page import Made, render_page

__all__ = ["answer", "leave", "page"]

#: Characters of ranks' pages on one page: what a browser opens in a moment (assumed).
_LONGEST = 64 << 20


def leave(folder: str, rank: int, account: Any, script: str, status: int, paged: bool) -> None:
    """Writes what is told of one rank, in that rank's process.

    Args:
        folder: exists, and is the same for all ranks.
        account: of the rank's sessions.
        status: exit status of its script.
        paged: whether its page is wanted too.
    """
    told = scripts.tell(account, script, status)
    if paged:
        output.write_file(_path(folder, rank, "html"), script_page.page(told))
    output.write_file(_path(folder, rank, "json"), output.dumps(told.answer))


def answer(folder: str, script: str, ended: Any) -> Dict[str, Any]:
    """The JSON answer for all ranks, from what they left.

    Args:
        ended: how they ended, of :mod:`npu_reference.runtime.scripts.launching`.
    """
    ranks = [
        {"rank": rank, "status": status, "answer": _left(folder, rank)} for rank, status in enumerate(ended.statuses)
    ]
    return {"script": script, "status": ended.status, "first_to_fail": ended.first, "ranks": ranks}


def page(folder: str, told: Dict[str, Any], made: Optional[Made] = None) -> str:
    """The HTML text: a row a rank, and the page of one at a time."""
    pages: Dict[str, str] = {}
    left = _LONGEST
    for one in told["ranks"]:
        text = _read(folder, one["rank"], "html")
        if text is not None and len(text) <= left:
            pages[str(one["rank"])] = text
            left -= len(text)
    data = {**told, "ranks": [_row(one) for one in told["ranks"]], "pages": pages}
    return render_page("ranks.html", title=os.path.basename(told["script"]), made=made, data=data)


def _row(one: Dict[str, Any]) -> Dict[str, Any]:
    found = one["answer"]
    row = {"rank": one["rank"], "status": one["status"], "told": found is not None}
    if found is not None:
        kept = [signature for session in found["sessions"] for signature in session["signatures"]]
        row["sessions"] = len(found["sessions"]) + found["more_sessions"]
        row["runs"] = sum(session["runs"] for session in found["sessions"])
        row["on_device"] = sum(signature["on_device"] for signature in kept)
        row["operators"] = sum(signature["operators"] for signature in kept)
        row["geops"] = sum(signature["geops"] for signature in kept)
        row["failure"] = None if found["failure"] is None else found["failure"]["message"]
    return row


def _left(folder: str, rank: int) -> Optional[Dict[str, Any]]:
    text = _read(folder, rank, "json")
    return None if text is None else json.loads(text)


def _read(folder: str, rank: int, kind: str) -> Optional[str]:
    try:
        with open(_path(folder, rank, kind), encoding="utf-8") as stream:
            return stream.read()
    except OSError:  # its rank was ended before it had written it
        return None


def _path(folder: str, rank: int, kind: str) -> str:
    return os.path.join(folder, f"rank{rank}.{kind}")
