"""Where the files that options name are read from: the disk, or contents that the caller gives instead."""

from __future__ import annotations

import os
import posixpath
import stat
from collections import abc
from typing import Dict, Mapping, Optional

from npu_reference import reading
from npu_reference.errors import NpuError
from npu_reference.options.domains import echo
from npu_reference.reading import MISSING, FileProblem

__all__ = ["Disk", "FileProblem", "FileView", "Given", "NotLookedAt", "Unseen"]

#: Largest file that is read, in bytes; ``assumed``, far above any real option file.
LARGEST = 4 << 20


class NotLookedAt(Exception):
    """Files are not to be looked at: whether one exists, and what it says, is not known."""


class FileView:
    """What rules may ask about paths."""

    def read(self, path: str) -> str:
        """The text of a file.

        Raises:
            FileProblem: it is missing, unreadable, no file, too large or no UTF-8.
            NotLookedAt: files are not to be looked at.
        """
        return reading.decoded(self._bytes(path), LARGEST)

    def _bytes(self, path: str) -> bytes:
        raise NotImplementedError

    def directory_problem(self, path: str) -> Optional[str]:
        """Why a path is no directory that can be read and written; None when it is.

        Raises:
            NotLookedAt: files are not to be looked at.
        """
        raise NotImplementedError


class Disk(FileView):
    """The file system; relative paths count from the current directory."""

    def _bytes(self, path: str) -> bytes:
        return reading.content(path, LARGEST)

    def directory_problem(self, path: str) -> Optional[str]:
        try:
            if not stat.S_ISDIR(os.stat(path).st_mode):
                return "is not a directory"
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
                return "cannot be read and written"
        except (OSError, ValueError) as problem:
            return reading.reason(problem)
        return None


class Unseen(FileView):
    """Nothing is looked at: options for another machine, whose paths are not here."""

    def _bytes(self, path: str) -> bytes:
        raise NotLookedAt

    def directory_problem(self, path: str) -> Optional[str]:
        raise NotLookedAt


class Given(FileView):
    """Contents by path. A path ending in ``/`` is a directory, and so is whatever a given path lies in.

    Instead of its content, ``{"access": "r"}`` says that a path exists with these permissions alone.
    """

    def __init__(self, contents: Mapping[str, object]) -> None:
        self._files: Dict[str, object] = {}
        self._directories: Dict[str, str] = {}
        for path, content in contents.items():
            if not isinstance(path, str) or not isinstance(content, (str, bytes, abc.Mapping, type(None))):
                raise NpuError("USAGE", "files", f"{echo(path)} has no text as its content.", "Give path to text.")
            access = str(content.get("access", "")) if isinstance(content, abc.Mapping) else "rw"
            place = posixpath.normpath(path)
            if path.endswith("/"):
                self._directories[place] = access
            else:
                self._files[place] = content
            while place not in ("/", ".", "..", "//", ""):
                place = posixpath.dirname(place) or "."
                if place in self._directories:  # so is all above it
                    break
                self._directories[place] = "rw"

    def _bytes(self, path: str) -> bytes:
        place = posixpath.normpath(path)
        if place in self._directories and place not in self._files:
            raise FileProblem("is not a file")
        if place not in self._files:
            raise FileProblem(MISSING)
        content = self._files[place]
        if isinstance(content, bytes):
            return content
        if isinstance(content, str):
            try:
                return content.encode("utf-8")
            except UnicodeEncodeError:
                raise FileProblem("is not UTF-8") from None
        raise FileProblem("cannot be used: Permission denied")

    def directory_problem(self, path: str) -> Optional[str]:
        place = posixpath.normpath(path)
        if place in self._files:
            return "is not a directory"
        if place not in self._directories:
            return MISSING
        return None if set("rw") <= set(self._directories[place]) else "cannot be read and written"
