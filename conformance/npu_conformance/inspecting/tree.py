"""What a folder holds, by names: no link is followed, and no more is looked at than is bearable."""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_conformance.files import reading
from npu_reference.errors import NpuError

__all__ = ["TreePlace", "Tree", "json_object", "parsed", "size_of", "tree_of"]

#: Names of one folder that are looked at (assumed: ten thousand operators over a hundred steps), and how deep.
_MOST_NAMES = 1_000_000
_DEEPEST = 16

_LARGEST = 64 << 20  # bytes of a JSON file (assumed; ours are far smaller)
_DIGITS = 40  # of a number in one: longer ones take forever to read


class TreePlace(NamedTuple):
    """A folder somewhere in a tree.

    Attributes:
        path: as a file system has it; parts: the names below the tree's own folder that lead to it.
        name: of the folder itself, the tree's own included.
        folders, files: names of what is in it, sorted; links and what is neither are left out.
    """

    path: str
    parts: Tuple[str, ...]
    name: str
    folders: Tuple[str, ...]
    files: Tuple[str, ...]

    @property
    def relative(self) -> str:
        return "/".join(self.parts)


class Tree(NamedTuple):
    """A folder with everything below it, parents before what is in them."""

    folder: str
    places: Tuple[TreePlace, ...]

    def at(self, parts: Tuple[str, ...]) -> str:
        """The path of a folder below."""
        return os.path.join(self.folder, *parts)


def tree_of(folder: str) -> Tree:
    """What lies below a folder; folders that cannot be read are as if they were empty, and so are those with a dot
    before their names, where writers keep what is not whole yet.

    Raises:
        NpuError: INSPECT_FOLDER, when it is none, cannot be read, or holds too much.
    """
    _check(folder)
    found: List[TreePlace] = []
    count = 0
    top = os.path.basename(os.path.abspath(folder))
    waiting: List[Tuple[str, Tuple[str, ...], str]] = [(folder, (), top)]
    while waiting:
        path, parts, name = waiting.pop()
        folders: List[str] = []
        files: List[str] = []
        for entry, is_folder in _entries(path):
            count += 1
            if count > _MOST_NAMES:
                reason = f"it holds more than {_MOST_NAMES} files."
                raise NpuError("INSPECT_FOLDER", folder, reason, "Name a part of it.")
            (folders if is_folder else files).append(entry)
        folders.sort()
        found.append(TreePlace(path, parts, name, tuple(folders), tuple(sorted(files))))
        if len(parts) < _DEEPEST:
            waiting += [(os.path.join(path, one), (*parts, one), one) for one in reversed(folders) if one[:1] != "."]
    return Tree(folder, tuple(found))


def _check(folder: str) -> None:
    try:
        if not os.path.isdir(folder):
            there = os.path.lexists(folder)
            reason = "is no folder." if there else "there is no such folder."
            raise NpuError("INSPECT_FOLDER", folder, reason, "Name the folder that an option names, or one in it.")
        os.listdir(folder)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "it is no path"
        raise NpuError("INSPECT_FOLDER", folder, f"it cannot be read: {why}.") from None


def _entries(path: str) -> Iterator[Tuple[str, bool]]:
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        yield entry.name, True
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.name, False
                except OSError:
                    continue
    except OSError:
        return


def size_of(path: str) -> int:
    """Bytes of a file; 0 where it is gone."""
    try:
        about = os.lstat(path)
    except (OSError, ValueError):
        return 0
    return about.st_size if stat.S_ISREG(about.st_mode) else 0


def json_object(path: str) -> Tuple[Dict[str, Any], Optional[str]]:
    """The JSON object that a file holds, empty where it holds none, and then why: a clause."""
    try:
        return parsed(reading.content(path, _LARGEST))
    except reading.Unfit as problem:
        return {}, f"is a file {problem}"
    except OSError as problem:
        return {}, f"cannot be read: {problem.strerror}"
    except ValueError:
        return {}, "has no name that can be read"


def parsed(data: bytes) -> Tuple[Dict[str, Any], Optional[str]]:
    """The JSON object that bytes hold, empty where they hold none, and then why: a clause."""
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_int=_integer, parse_constant=_refused)
    except RecursionError:
        return {}, "is nested too deeply"
    except ValueError:
        return {}, "is no JSON"
    return (value, None) if isinstance(value, dict) else ({}, "is no JSON object")


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no number")
