"""The folder a run has to itself: what is laid into it before, and what is found in it afterwards."""

from __future__ import annotations

import base64
import os
import posixpath
import shutil
import stat
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional

from npu_reference.errors import NpuError

__all__ = ["RunFolder", "run_folder"]

#: A file above this size is told by its size alone; all contents together stay below the second bound.
_INLINE, _TOGETHER = 64 << 10, 16 << 20

_MOST_FILES = 20_000


class RunFolder:
    """Where a run takes place. Absolute paths that its options name lie in it, too.

    Attributes:
        path: of the folder.
    """

    def __init__(self, path: str, files: Mapping[str, object]) -> None:
        self.path = os.path.realpath(path)
        self._before: Dict[str, bytes] = {}
        for name, content in files.items():
            self._lay(name, content)

    def _lay(self, name: str, content: object) -> None:
        relative = posixpath.normpath(name.lstrip("/") or ".")
        if relative.startswith(".."):
            return  # above the folder there is nothing of a run's
        place = os.path.join(self.path, relative)
        try:
            if name.endswith("/"):
                os.makedirs(place, exist_ok=True)
                if isinstance(content, Mapping):
                    os.chmod(place, 0o500 if content.get("access") == "r" else 0o300)
                return
            os.makedirs(os.path.dirname(place), exist_ok=True)
            data = content.encode("utf-8") if isinstance(content, str) else b""
            with open(place, "wb") as stream:
                stream.write(data)
            self._before[relative] = data
        except (OSError, ValueError) as error:
            raise NpuError("SYSTEM", "the run's folder", f"{name} cannot be made: {error}.") from None

    def files(self) -> Dict[str, Dict[str, object]]:
        """What the run has left, by name: ``{"b64": …}``, or ``{"bytes": n}`` for what is large."""
        found: Dict[str, Dict[str, object]] = {}
        together = 0
        for name in self._names():
            place = os.path.join(self.path, name)
            size = os.lstat(place).st_size
            if size > _INLINE or together + size > _TOGETHER:
                found[name] = {"bytes": size}
                continue
            with open(place, "rb") as stream:
                data = stream.read(_INLINE)
            if self._before.get(name) == data:
                continue
            together += len(data)
            found[name] = {"b64": base64.b64encode(data).decode("ascii")}
        return found

    def _names(self) -> List[str]:
        names = []
        for place, folders, files in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not os.path.islink(os.path.join(place, name)))
            for name in sorted(files):
                path = os.path.join(place, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    names.append(os.path.relpath(path, self.path).replace(os.sep, "/"))
            if len(names) > _MOST_FILES:
                raise NpuError("RUN_FAILED", "files", f"the run left more than {_MOST_FILES} files.")
        return names

    def without(self, value: Any) -> Any:
        """The same with the folder's path as ``.``."""
        if isinstance(value, str):
            return value.replace(self.path, ".") if os.sep in value else value
        if isinstance(value, dict):
            return {key: self.without(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.without(item) for item in value]
        return value


@contextmanager
def run_folder(files: Optional[Mapping[str, object]]) -> Iterator[RunFolder]:
    """A folder of its own as the current directory, with the files of a request in it; removed afterwards."""
    here = os.getcwd()
    path = tempfile.mkdtemp(prefix="npu-run-")
    try:
        folder = RunFolder(path, files or {})
        os.chdir(folder.path)
        try:
            yield folder
        finally:
            os.chdir(here)
    finally:
        shutil.rmtree(path, ignore_errors=True)
