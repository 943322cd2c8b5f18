"""What lies in a folder of dumps, found and read in the order in which operators ran."""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_reference.dumps.form import Record, read
from npu_reference.dumps.names import LONGEST, MAPPING, FileName, parse
from npu_reference.errors import NpuError

__all__ = ["MAX_FILES", "DumpFile", "files", "records"]

#: Files of one folder that are looked at (assumed: ten thousand operators over a hundred steps).
MAX_FILES = 1_000_000

_MAX_DEPTH = 16


class DumpFile(NamedTuple):
    """One dump file, by its place: what its name and the folders around it say.

    Attributes:
        path: of the file.
        relative: the same, from the folder that was asked for.
        model, model_id, step: from the folders; empty and None where it lies in none, as exception dumps do.
    """

    path: str
    relative: str
    name: FileName
    model: str
    model_id: str
    step: Optional[int]


def files(folder: str) -> List[DumpFile]:
    """The dump files below a folder, in the order in which their operators ran.

    What is aside (names that begin with a dot) and links are passed over, and so is what has no dump's name.

    Raises:
        NpuError: DUMP_FILE, when there is no such folder, or it is too large.
    """
    if not os.path.isdir(folder):
        raise NpuError("DUMP_FILE", folder, "there is no such folder.")
    found: List[DumpFile] = []
    for place, names in _walk(folder):
        mapping = _mapping(os.path.join(place, MAPPING)) if MAPPING in names else {}
        around = os.path.relpath(place, folder).split(os.sep)
        model, model_id, step = _model(os.path.abspath(place).split(os.sep))
        for name in names:
            said = parse(mapping.get(name, name))
            if said is None:
                continue
            relative = os.path.join(*around, name) if around != ["."] else name
            found.append(DumpFile(os.path.join(place, name), relative, said, model, model_id, step))
            if len(found) > MAX_FILES:
                raise NpuError("DUMP_FILE", folder, f"it has more than {MAX_FILES} dump files.", "Name a part of it.")
    return _in_order(found)


def _in_order(found: List[DumpFile]) -> List[DumpFile]:
    """By step; in a step models as they began, in a model by task, and where a loop ran one often by time.

    Operators without an order between them run at the same time, and their times say nothing; a task's number does.
    """
    begun: Dict[str, int] = {}
    for one in found:
        place = os.path.dirname(one.path)
        begun[place] = min(begun.get(place, one.name.time), one.name.time)
    return sorted(
        found,
        key=lambda one: (
            begun[os.path.dirname(one.path)],
            os.path.dirname(one.path),
            one.name.task,
            one.name.time,
            one.relative,
        ),
    )


def records(found: List[DumpFile]) -> Iterator[Tuple[DumpFile, Record]]:
    """The files with their descriptions. Raises NpuError DUMP_FILE."""
    for one in found:
        yield one, read(one.path)


def _walk(folder: str) -> Iterator[Tuple[str, List[str]]]:
    pending = [(folder, 0)]
    while pending:
        place, depth = pending.pop()
        names = []
        try:
            with os.scandir(place) as entries:
                for entry in sorted(entries, key=lambda one: one.name):
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _MAX_DEPTH:
                            pending.append((entry.path, depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(entry.name)
        except OSError as error:
            raise NpuError("DUMP_FILE", place, f"it cannot be read: {error.strerror}.") from None
        if names:
            yield place, names


def _model(parts: List[str]) -> Tuple[str, str, Optional[int]]:
    """Model, its number and the step of a folder ``…/{time}/{device}/{model}/{model id}/{step}``."""
    if len(parts) < 3 or not (_is_number(parts[-1]) and _is_number(parts[-2])) or _is_number(parts[-3]):
        return "", "", None
    return parts[-3], parts[-2], int(parts[-1])


def _is_number(text: str) -> bool:
    return text.isdigit() and text.isascii() if hasattr(text, "isascii") else text.isdigit()


def _mapping(path: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream.read(64 << 20).splitlines():
                short, comma, long = line.partition(",")
                if comma and len(short) <= LONGEST:
                    found[short] = long
    except OSError as error:
        raise NpuError("DUMP_FILE", path, f"it cannot be read: {error.strerror}.") from None
    return found
