"""Decides which compiled kernels are taken from disk, which are stored there, and which of them age.

An entry is a kernel's description and its .o. It counts only when all of it is what it says: its own digest, the .o's,
the form, the version, and everything the kernel is compiled from. Anything else is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from npu_reference.artifacts import binaries
from npu_reference.artifacts.folder import Folder, Found
from npu_reference.errors import NpuError
from npu_reference.options.files import op_cache

fcntl: Any
try:
    import fcntl
except ImportError:  # no POSIX system: clearing and ageing are not kept apart
    fcntl = None

__all__ = ["AGES_AFTER", "ENTRY", "INI", "USES", "Counts", "KernelCache", "Use", "flaw", "uses"]

INI = "op_cache.ini"

#: Seconds a file has not been used before it may age: document 003 § op_compiler_cache_mode.
AGES_AFTER = 1800

#: Where each compilation adds a line: when, kernels taken from the cache, kernels compiled. Nothing depends on it.
USES = ".npu-uses"

#: Name of an entry's file: the kernel, and which of its two files.
ENTRY = re.compile(r"(te_[a-z0-9_]+_[0-9a-f]{64})(\.o|\.json)\Z")
_LOCK = ".npu-lock"
_MEGABYTE = 1 << 20
_LONGEST = 1 << 16  # bytes of USES, about two thousand compilations; the older half goes (assumed)
_USE = re.compile(rb"([0-9]{1,18}) ([0-9]{1,9}) ([0-9]{1,9})\Z")


class Counts(NamedTuple):
    """What became of the kernels of one compilation: taken from the cache, compiled, and why entries were passed over
    (kernel to one sentence)."""

    hits: int
    misses: int
    refused: Dict[str, str]


class Use(NamedTuple):
    """One compilation with a cache: seconds since the epoch, kernels taken, kernels compiled."""

    when: int
    hits: int
    misses: int


def uses(data: bytes) -> List[Use]:
    """The compilations that a :data:`USES` file tells of; what is no such line says nothing."""
    found = [_USE.match(line) for line in data.split(b"\n")]
    return [Use(*(int(number) for number in line.groups())) for line in found if line]


class KernelCache:
    """A kernel cache on disk, of one chip.

    Args:
        data: the folder of the entries; home: that of op_cache.ini, or None.
        limits: MB, -1 for no ageing; percentage that stays.
        at_limit: whether a cache of exactly the limit is too large already (B33).
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        data: Folder,
        home: Optional[Folder],
        limits: Tuple[int, int],
        *,
        at_limit: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.data, self.home, self.limits = data, home, limits
        self._at_limit, self._clock = at_limit, clock

    def get(self, binary: binaries.Binary) -> Optional[str]:
        """Takes a kernel from the cache: None, or why its entry is not taken; empty where there is none."""
        description = self.data.read(f"{binary.stem}.json")
        code = self.data.read(f"{binary.stem}.o")
        if description is None:
            return ""  # a .o alone: somebody is writing the entry, or was ended as he did
        if code is None:
            return "its .o is missing."
        refusal = _refusal(description, code, binary)
        if refusal is None and self.limits[0] != -1:  # files.op_cache_ini.minus_one: then nothing is recorded
            now = self._clock()
            for kind in (".o", ".json"):
                self.data.touch(binary.stem + kind, now)
        return refusal

    def put(self, binary: binaries.Binary) -> None:
        """Stores a kernel: its .o first, so that the description that vouches for it never stands alone.

        Raises:
            NpuError: FILES_LEFT.
        """
        now = self._clock()
        for kind in (".o", ".json"):
            self.data.write(binary.stem + kind, iter([binaries.content(binary, kind)]))
            self.data.touch(binary.stem + kind, now)

    def record(self, hits: int, misses: int) -> None:
        """Adds a compilation to :data:`USES`; what cannot be recorded is not. Nothing is where nothing ages."""
        if self.limits[0] == -1 or not (hits or misses):
            return
        line = b"%d %d %d\n" % (int(self._clock()), hits, misses)
        with contextlib.suppress(OSError, NpuError):
            size = self.data.append(USES, line)
            if size > _LONGEST:
                whole = self.data.read(USES) or b""
                self.data.write(USES, iter([whole[-_LONGEST // 2 :].partition(b"\n")[2]]))

    def clear(self) -> None:
        """Removes every entry, and nothing else (force).

        Raises:
            NpuError: FILES_LEFT.
        """
        self.data.make()
        with self._alone():
            for one in self.data.files():
                if ENTRY.match(one.name):
                    self.data.remove(one.name)

    def age(self) -> List[str]:
        """Removes entries not used for more than half an hour while the cache is too large, those longest unused
        first, as long as the share of it that must stay does (C4); the names removed. Never in the way of a
        compilation: what cannot be removed stays."""
        ratio = self.limits[1]
        if not self._is_full(self._entries()):
            return []
        gone: List[str] = []
        with self._alone():
            entries = self._entries()
            if not self._is_full(entries):
                return []
            total = sum(one.size for files in entries.values() for one in files)
            oldest = self._clock() - AGES_AFTER
            idle = sorted((max(one.used for one in files), stem) for stem, files in entries.items())
            left = total
            for used, stem in idle:
                weight = sum(one.size for one in entries[stem])
                if used >= oldest or (left - weight) * 100 < total * ratio:
                    break
                for one in entries[stem]:
                    self.data.remove(one.name)
                    gone.append(one.name)
                left -= weight
        return gone

    def settle(self) -> None:
        """Leaves an op_cache.ini with the defaults where there is none; one made by hand stays as it is (B8, C8).

        Raises:
            NpuError: FILES_LEFT.
        """
        if self.home is None or os.path.lexists(os.path.join(self.home.path, INI)):
            return
        self.home.write(INI, iter([op_cache.write(op_cache.DEFAULT).encode("ascii")]))

    def _is_full(self, entries: Dict[str, List[Found]]) -> bool:
        limit = self.limits[0] * _MEGABYTE
        total = sum(one.size for files in entries.values() for one in files)
        return limit >= 0 and (total > limit or (total == limit and self._at_limit))

    def _entries(self) -> Dict[str, List[Found]]:
        found: Dict[str, List[Found]] = {}
        for one in self.data.files():
            entry = ENTRY.match(one.name)
            if entry:
                found.setdefault(entry.group(1), []).append(one)
        return found

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time clears or ages a directory (C7); its death ends that."""
        if fcntl is None:
            yield
            return
        handle = None
        with contextlib.suppress(OSError):  # a file system without locks, or one that cannot be written
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
            handle = os.open(os.path.join(self.data.path, _LOCK), flags, 0o666)
            fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)


def _refusal(description: bytes, code: bytes, binary: binaries.Binary) -> Optional[str]:
    """Why an entry is not what it says, or not for this kernel; None for one that may be taken."""
    wrong, value = _checked(description, code)
    if wrong is None and value.get("digest") != binary.digest:
        return "it was compiled from something else."
    return wrong


def flaw(stem: str, description: bytes, code: bytes) -> Optional[str]:
    """Why the entry of this name can be taken for no kernel at all; None for one that is whole.

    Reads only what the files say: nothing is compiled.
    """
    wrong, value = _checked(description, code)
    if wrong is None and value.get("kernelName") != stem:
        return "it has the name of another kernel."
    if wrong is None and not stem.endswith(f"_{value.get('digest')}"):
        return "it was compiled from something else."
    return wrong


def _checked(description: bytes, code: bytes) -> Tuple[Optional[str], Dict[str, Any]]:
    try:
        value = json.loads(description.decode("ascii"), parse_int=_integer)
    except (ValueError, RecursionError):
        return "its description is no JSON.", {}
    if not isinstance(value, dict):
        return "its description is no JSON object.", {}
    if value.get("form") != binaries.FORM or value.get("version") != binaries.version():
        return "it is of another version.", value
    try:
        seal = binaries.seal_of(value)
    except (ValueError, RecursionError):
        return "its description cannot be checked.", value
    if value.get("seal") != seal:
        return "its description is not as it was written.", value
    if value.get("sha256") != hashlib.sha256(code).hexdigest():
        return "its .o is not as it was written.", value
    return None, value


def _integer(digits: str) -> int:
    """Long numbers take forever to read."""
    if len(digits) > 40:
        raise ValueError("a number is too large")
    return int(digits)
