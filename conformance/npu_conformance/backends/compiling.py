"""How the reference answers ``compile``: programs run one after the other in a folder of their own."""

from __future__ import annotations

import base64
import fnmatch
import os
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from npu_conformance.files import scratch
from npu_reference.errors import NpuError
from npu_reference.options import fileview

__all__ = ["FilesOfFolder", "Turns", "files_below"]

#: Files up to this size are answered whole, others by their size; so are those that hold no text (assumed).
_WHOLE = 256 << 10
_MOST = 4 << 20  # bytes of all files answered whole
_WEIGHTLESS = (".o",)
_MOST_FILES = 10_000
_LARGEST_FILLER = 1 << 30


class FilesOfFolder(fileview.Disk):
    """Option files and directories as they lie in a folder that stands for the whole machine.

    Args:
        place: where names count from.
        denied: permissions of paths that the user of the run may not use in full.
    """

    def __init__(self, place: Any, denied: Mapping[str, str]) -> None:
        self._place = place
        self._denied = {place.path(name): access for name, access in denied.items()}

    def _bytes(self, path: str) -> bytes:
        where = self._place.path(path)
        if "r" not in self._denied.get(where, "r"):
            raise fileview.FileProblem("cannot be used: Permission denied")
        return super()._bytes(where)

    def directory_problem(self, path: str) -> Optional[str]:
        where = self._place.path(path)
        if not set("rw") <= set(self._denied.get(where, "rw")):
            return "cannot be read and written"
        return super().directory_problem(where)


class Turns:
    """Programs in one folder, each with what was changed there before it started."""

    def __init__(self, backend: Any, params: Mapping[str, Any]) -> None:
        self._backend, self._params = backend, params
        self._denied: Dict[str, str] = {}
        self._made: Dict[int, Tuple[Any, Any, Any]] = {}  # place of a model -> what it was compiled with, and became

    def run(self) -> Dict[str, Any]:
        """The answer: what every program compiled, and which files lay there before it ended and after.

        Raises:
            NpuError: what the only program was refused for; that of one among several is its answer.
        """
        from npu_reference.artifacts import FolderPlace

        turns = list(self._params.get("turns") or [{}])
        answers: List[Dict[str, Any]] = []
        room = scratch.Scratch("npu-compile-")
        try:
            place = FolderPlace(room.path, room.path)
            self._lay(place, self._params.get("files", {}))
            merged: Dict[str, Dict[str, Any]] = {key: dict(self._params.get(key, {})) for key in ("values", "env")}
            for number, turn in enumerate(turns):
                self._prepare(place, turn)
                for key, found in merged.items():
                    found.update(turn.get(key, {}))
                    merged[key] = {name: value for name, value in found.items() if value is not None}
                try:
                    answers.append(self._turn(place, {**self._params, **merged}, turn, number))
                except NpuError as error:
                    if len(turns) == 1:
                        raise
                    answers.append({"rejected": error.to_json(), "left": files_below(room.path)})
        finally:
            room.close()
        return {"turns": answers}

    def _turn(self, place: Any, params: Mapping[str, Any], turn: Mapping[str, Any], number: int) -> Dict[str, Any]:
        resolution = self._backend.resolve_in(params, FilesOfFolder(place, self._denied)).raise_first()
        program = self._backend.program(params, place, 1000 + number)
        kernels: List[Dict[str, Any]] = []
        fusion: Dict[Tuple[str, str], List[int]] = {}
        constants: List[Dict[str, Any]] = []
        answer: Dict[str, Any] = {"hits": 0, "misses": 0, "notes": []}
        tuner = _Tuner(self._backend, place, params, resolution)
        if tuner.complaint:
            answer["notes"].append({"code": "BANK", "subject": "work_path", "message": tuner.complaint})
        for place_of, model in enumerate(({}, *params.get("models", []))):
            made = self._model(place_of, {**params, **model}, resolution, tuner.tiles)
            tuner.take(made)
            left = program.compile(made, resolution, params.get("env", {}))
            for kernel in left.kernels:
                named = kernel._asdict()
                kernels.append({**named, "nodes": list(kernel.nodes), "switches": list(kernel.switches)})
            for count in left.fusion:
                counts = fusion.setdefault((count.section, count.name), [0, 0])
                counts[0] += count.match_times
                counts[1] += count.effect_times
            constants += [constant._asdict() for constant in left.constants]
            answer["hits"] += left.hits
            answer["misses"] += left.misses
            answer["notes"] += [note._asdict() for note in left.notes]
        answer["kernels"], answer["constants"] = kernels, constants
        answer["fusion"] = [
            {"section": section, "name": name, "matched": counts[0], "effective": counts[1]}
            for (section, name), counts in fusion.items()
            if counts[0]
        ]
        answer["files"] = files_below(place.root)
        if turn.get("ends", "normal") == "normal":
            tuner.leave()
            answer["notes"] += [note._asdict() for note in program.end()]
        answer["left"] = files_below(place.root)
        return answer

    def _model(self, place: int, params: Mapping[str, Any], resolution: Any, tiles: Mapping[Any, Any]) -> Any:
        """A model as a program compiles it: as the program before did, where options and tiles are what they were."""
        before, cut, made = self._made.get(place, (None, None, None))
        same = before is not None and cut == tiles and before.effective == resolution.effective
        if not same or before.parsed != resolution.parsed:
            made = self._backend.model(params, resolution, tiles)
            self._made[place] = (resolution, tiles, made)
        return made

    # -- the folder before a program --------------------------------------------------------------------------------

    def _prepare(self, place: Any, turn: Mapping[str, Any]) -> None:
        self._lay(place, turn.get("files", {}))
        for damage in turn.get("damage", []):
            _damage(place.root, damage["files"], damage["how"])
        seconds = turn.get("age_seconds", 0)
        if seconds:
            now = time.time()
            for path in _paths(place.root):
                used = min(os.stat(path).st_mtime, now) - seconds
                os.utime(path, (used, used))

    def _lay(self, place: Any, files: Mapping[str, Any]) -> None:
        for name, content in files.items():
            path = place.path(name)
            if name.endswith("/"):
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            if content is None:
                scratch.remove(path)
            elif isinstance(content, str) and not name.endswith("/"):
                with open(path, "w", encoding="utf-8", newline="") as stream:
                    stream.write(content)
            elif isinstance(content, dict) and "bytes" in content:
                _filler(path, content["bytes"])
            elif isinstance(content, dict) and "link" in content:
                os.symlink(place.path(content["link"]), path)
            elif isinstance(content, dict) and not name.endswith("/"):
                with open(path, "w", encoding="utf-8"):
                    pass
            if isinstance(content, dict) and "access" in content:
                self._denied[name] = content["access"]


class _Tuner:
    """Tuning in one program: what earlier ones found is compiled with, what this one finds is left when it ends."""

    def __init__(self, backend: Any, place: Any, params: Mapping[str, Any], resolution: Any) -> None:
        from npu_reference import hardware, tuning

        self._backend, self._place = backend, place
        self._device = hardware.load(params.get("device", "Ascend910A"))
        self._plan = tuning.plan_of(resolution)
        self._models: List[Any] = []
        self.tiles: Mapping[Any, Any] = {}
        self.complaint: Optional[str] = None
        if resolution.surface == "runconfig":
            self.tiles, self.complaint = backend.bank(place.path(resolution.typed.tuning.work_path), self._device)

    def take(self, model: Any) -> None:
        """A model that this program compiles."""
        self._models.append(model)

    def leave(self) -> None:
        """The program ends."""
        from npu_reference import tuning

        if self._plan is None:
            return
        tuned = [one for model in self._models for one in self._backend.tuned(model, self._plan)]
        folder = self._place.path(self._plan.work_path)
        for name, content in tuning.result_files(self._plan, tuned, self._device, self.tiles).items():
            tuning.write(os.path.join(folder, name), content)


def _filler(path: str, size: int) -> None:
    """A file of so many zero bytes; its holes take no room on the disk."""
    if not 0 <= size <= _LARGEST_FILLER:
        raise NpuError("USAGE", "files", f"{size} bytes are no size for a file.", f"At most {_LARGEST_FILLER}.")
    with open(path, "wb") as stream:
        stream.truncate(size)


def _damage(root: str, pattern: str, how: str) -> None:
    """Spoils files as a crash or a forger would: cut in the middle, a byte changed, or empty."""
    for path in list(_paths(root)):
        if not fnmatch.fnmatchcase(os.path.relpath(path, root), pattern):
            continue
        with open(path, "rb") as stream:
            data = stream.read()
        middle = len(data) // 2
        spoilt = {"cut": data[:middle], "empty": b"", "flip": data}[how]
        if how == "flip" and data:
            spoilt = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        with open(path, "wb") as stream:
            stream.write(spoilt)


def _paths(root: str) -> Iterator[str]:
    """Regular files below a folder, in order; links are not followed."""
    for folder, inner, names in os.walk(root):
        inner.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield path


def files_below(root: str) -> Dict[str, Any]:
    """What lies below a folder, by path: content of small texts, sizes of everything else. Names that begin with a
    dot are the writer's own business; an empty directory is told with a slash at its end.
    """
    found: Dict[str, Any] = {}
    total = 0
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(root, below)) as listed:
                entries = sorted(listed, key=lambda one: one.name)
        except OSError:  # nobody can look into it
            continue
        if not entries and below:
            found[below] = {"bytes": 0}
        # A name tells its kind when it is listed: to ask of each file what it is would take longer than to read it.
        inner = [f"{below}{one.name}/" for one in entries if one.is_dir() and not one.is_symlink()]
        waiting += reversed(inner)
        for entry in entries:
            name, path = entry.name, entry.path
            if name.startswith(".") or not entry.is_file(follow_symlinks=False):
                continue
            shown, size = below + name, entry.stat(follow_symlinks=False).st_size
            if name.endswith(_WEIGHTLESS) or "." not in name or size > _WHOLE or total + size > _MOST:
                found[shown] = {"bytes": size}
            else:
                total += size
                with open(path, "rb") as stream:
                    found[shown] = {"b64": base64.b64encode(stream.read()).decode("ascii")}
            if len(found) > _MOST_FILES:
                raise NpuError("FILES_LEFT", "files", f"more than {_MOST_FILES} files were left.")
    return found
