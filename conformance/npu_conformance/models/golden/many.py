"""Asks many models, in several processes, and answers in the order of the models whichever process was first."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.models import golden
from npu_conformance.models.golden.record import GoldenQuestion
from npu_reference.errors import NpuError

__all__ = ["GoldenAnswer", "check", "models_of", "unrecorded", "update"]

_END = ".golden.txt"


class GoldenAnswer(NamedTuple):
    """What came of one model.

    Attributes:
        model: its path.
        moved: what moved; nothing of an update.
        facts: of an update, what was recorded.
        record: path of the record that an update wrote.
        error: why there is no answer, or "".
        note: what the record does not hold, and why.
    """

    model: str
    moved: Tuple[golden.Change, ...] = ()
    facts: Tuple[str, ...] = ()
    record: str = ""
    error: str = ""
    note: str = ""


def models_of(paths: Sequence[str], only_recorded: bool = False) -> List[str]:
    """The models that `paths` name, each once: a model, its record, or a folder with all that is recorded below it.

    Raises:
        NpuError: USAGE, for a folder in which nothing is recorded.
    """
    found: List[str] = []
    seen: Set[str] = set()
    for path in paths:
        if path.endswith(_END):
            new = [path[: -len(_END)]]
        elif os.path.isdir(path) and not _is_model(path):
            new = list(_below(path))
            if not new and not only_recorded:
                raise NpuError("USAGE", path, "nothing is recorded below this folder.", "Name models, or record some.")
        else:
            new = [path]
        for model in new:
            if model not in seen and (not only_recorded or golden.record_path(model).exists()):
                seen.add(model)
                found.append(model)
    return found


def _is_model(folder: str) -> bool:
    """Whether this is a SavedModel, or was one when it was recorded."""
    if golden.record_path(os.path.abspath(folder)).exists():
        return True
    return any(os.path.exists(os.path.join(folder, name)) for name in ("saved_model.pb", "saved_model.pbtxt"))


def _below(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(_END):
                yield os.path.join(here, name[: -len(_END)])


def unrecorded(paths: Sequence[str]) -> List[str]:
    """Models below the folders of `paths` that no check asks, since nothing is recorded of them."""
    found: List[str] = []
    for path in paths:
        for here, folders, names in os.walk(path) if os.path.isdir(path) else ():
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            models = [os.path.join(here, name) for name in sorted(names) if name.endswith((".pb", ".pbtxt"))]
            if any(name.startswith("saved_model.pb") for name in names):
                models, folders[:] = [here], []
            found += [model for model in models if not golden.record_path(model).exists()]
    return found


def check(models: Sequence[str], jobs: int, tolerance: float = 0.0) -> Iterator[GoldenAnswer]:
    """What moved in each of the models since it was recorded."""
    return _each(_Check(tolerance), models, jobs)


def update(models: Sequence[str], jobs: int, question: Optional[GoldenQuestion]) -> Iterator[GoldenAnswer]:
    """Record each of the models, as `question` says, or as its record does where that is None.

    A question without facts records all that the sizes of the model allow.
    """
    return _each(_Update(question), models, jobs)


def _each(work: Callable[[str], GoldenAnswer], models: Sequence[str], jobs: int) -> Iterator[GoldenAnswer]:
    jobs = min(jobs, len(models))
    if jobs <= 1:
        yield from map(work, models)
        return
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(jobs, _start) as pool:
        yield from pool.imap(work, models)


def _start() -> None:
    """Whoever asked hears the keyboard, and ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Check:
    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def __call__(self, model: str) -> GoldenAnswer:
        try:
            return GoldenAnswer(model, tuple(golden.check(model, self.tolerance)))
        except NpuError as error:
            return GoldenAnswer(model, error=str(error))


class _Update:
    def __init__(self, question: Optional[GoldenQuestion]) -> None:
        self.question = question

    def __call__(self, model: str) -> GoldenAnswer:
        try:
            question, note = self._asked(model)
            path = golden.update(model, question)
        except NpuError as error:
            return GoldenAnswer(model, error=str(error))
        return GoldenAnswer(model, facts=question.facts, record=str(path), note=note)

    def _asked(self, model: str) -> Tuple[GoldenQuestion, str]:
        if self.question is None:
            return golden.recorded(model).question, ""
        return golden.settled(model, _moved(self.question, model))


def _moved(question: GoldenQuestion, model: str) -> GoldenQuestion:
    """Paths, as they are written on a command line, seen from the folder of the model."""
    paths: Dict[str, Any] = {}
    for field in ("op_list", "ops_info", "device"):
        path = getattr(question, field)
        if path is not None and (field != "device" or ".toml" in path):
            paths[field] = os.path.relpath(path, os.path.dirname(model) or os.curdir)
    return question._replace(**paths)
