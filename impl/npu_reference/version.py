"""Which source this is: the release, and whatever a release does not say, the commit.

A build writes ``_built.py`` beside this file (``hatch_build.py``). Where there is none, as in a checkout, an editable
install or an archive that git made, the commit is looked up without running git, since every command pays for it.
"""

from __future__ import annotations

import os
import re

__all__ = ["RELEASE", "commit", "of_checkout", "of_commit"]

#: The release that this source becomes; without ``.dev0`` in the commit that is tagged ``v<RELEASE>``, and only there.
RELEASE = "0.2.0.dev0"

#: ``git archive`` puts the commit here (.gitattributes).
_ARCHIVED = "$Format:%H$"

_SHOWN = 12  # digits of a commit, as many as stay unique in a large repository
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def of_checkout() -> str:
    """The version of a source that nobody built; files of a checkout may have been changed since its commit."""
    if _COMMIT.fullmatch(_ARCHIVED):
        return of_commit(_ARCHIVED) if ".dev" in RELEASE else RELEASE
    found = commit(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    return of_commit(found, "checkout") if found else f"{RELEASE}+unknown"


def of_commit(name: str, state: str = "") -> str:
    """The version of a commit; ``state`` says what its files may have beside it, by a word."""
    return f"{RELEASE}+g{name[:_SHOWN]}" + (f".{state}" if state else "")


def commit(folder: str) -> str:
    """The commit that is checked out in ``folder``; empty where git left no trace of one."""
    try:
        place = os.path.join(folder, ".git")
        if os.path.isfile(place):  # a linked work tree, or a submodule
            place = os.path.join(folder, _read(place)[len("gitdir: ") :])
        head = _read(os.path.join(place, "HEAD"))
        if not head.startswith("ref: "):
            return head if _COMMIT.fullmatch(head) else ""
        name = head[len("ref: ") :]
        common = os.path.join(place, "commondir")
        if os.path.exists(common):
            place = os.path.join(place, _read(common))
        loose = os.path.join(place, *name.split("/"))
        if os.path.exists(loose):
            found = _read(loose)
        else:
            lines = _read(os.path.join(place, "packed-refs")).splitlines()
            found = next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")
        return found if _COMMIT.fullmatch(found) else ""
    except (OSError, ValueError):
        return ""


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read().strip()
