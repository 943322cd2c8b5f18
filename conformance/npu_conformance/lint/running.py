"""Reads files and folders, one or many at a time, and answers in the same order whoever read them."""

from __future__ import annotations

import difflib
import gc
import os
import re
import warnings
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.lint.editing import applied
from npu_conformance.lint.finding import Edit, Finding, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import Report, Rule, Settings
from npu_conformance.lint.source import Source, Unreadable
from npu_conformance.lint.suppressing import silence
from npu_reference.errors import NpuError

__all__ = ["Answer", "Task", "check_text", "files_of", "run"]

#: Folders that hold no scripts of the user's own.
SKIPPED = frozenset(
    ["__pycache__", "node_modules", "venv", "env", "site-packages", "dist-packages", "build", "dist", "_build"]
)

#: Words of which a file that uses the adapter has one.
_ADAPTER = (b"npu_", b"NPU", b"Npu", b"hccl", b"parameter_map")

#: Packages and calls of which a file has one each, for a suggestion to be possible.
_PACKAGES = (b"tensorflow", b"keras", b"horovod")
_CALLS = (b"Session(", b"Estimator(", b"Classifier(", b"Regressor(", b"ropout(", b"gelu", b"batch(", b"horovod",
          b".fit(", b"fit_generator(", b"train_on_batch(", b"Session (", b"batch (", b"ropout (")  # fmt: skip

#: Fewer files than this are read in this process.
_FEW = 48

_TOO_DEEP = "It is nested too deeply to be read."

#: Rounds of mending one file: each may uncover the next.
_ROUNDS = 6


class Task(NamedTuple):
    """What is asked of every file: the codes of the rules, their settings, and whether to mend.

    ``named`` are paths that the user wrote out: of those that are no Python, somebody has to be told.
    """

    codes: Tuple[str, ...]
    settings: Settings
    mend: bool = False
    named: FrozenSet[str] = frozenset()


class Answer(NamedTuple):
    """What was found in one file; after mending what is left, and the file's new bytes if they differ.

    ``skipped`` says of a file that was not linted why: a sentence.
    """

    path: str
    findings: Tuple[Finding, ...]
    mended: int = 0
    before: bytes = b""
    after: Optional[bytes] = None
    skipped: str = ""

    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        if self.after is None:
            return ""
        old, new = (_lines(data) for data in (self.before, self.after))
        parts = difflib.unified_diff(old, new, self.path, self.path, lineterm="\n")
        return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def _lines(data: bytes) -> List[str]:
    try:
        text = Source("", data).text
    except Unreadable:
        text = data.decode("utf-8", "replace")
    import io

    return io.StringIO(text, newline="\n").readlines()


def files_of(paths: Sequence[str]) -> List[str]:
    """The files to be read: those named, and the ``.py`` files below the folders named, sorted, each once.

    Raises:
        NpuError: USAGE, for a path where nothing is.
    """
    found: List[str] = []
    seen: Set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            new = list(_below(path))
        elif os.path.exists(path):
            new = [path]
        else:
            raise NpuError("USAGE", path, "there is no such file or folder.", "Name Python files, or folders of them.")
        for one in new:
            if one not in seen:
                seen.add(one)
                found.append(one)
    return found


def _below(folder: str) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.endswith(".py") and os.path.isfile(path):
                yield os.path.normpath(path)


def run(paths: Sequence[str], task: Task, jobs: int = 0) -> Iterator[Answer]:
    """The answer of every file, in the order of the paths, whichever process read it."""
    jobs = min(jobs or _processors(), max(1, len(paths) // _FEW + 1))
    if jobs == 1:
        for path in paths:
            yield _read(path, task)
        return
    import multiprocessing

    with multiprocessing.Pool(jobs, _start) as pool:
        size = max(1, min(32, len(paths) // (jobs * 8) + 1))
        yield from pool.imap(_Reader(task), paths, size)


class _Reader:
    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, path: str) -> Answer:
        return _read(path, self.task)


def _start() -> None:
    """A worker makes many trees and no circles worth looking for while it does."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _read(path: str, task: Task) -> Answer:
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as problem:
        reason = f"The file cannot be read: {problem.strerror}."
        return Answer(path, (Finding(path, 1, 1, "E002", reason),) if "E002" in task.codes else ())
    if path in task.named and not _is_script(path, data):
        try:
            Source(path, data)
        except Unreadable as problem:
            return Answer(path, (), skipped=problem.message)
        except RecursionError:
            return Answer(path, (), skipped=_TOO_DEEP)
    return check_text(path, data, task)


def _is_script(path: str, data: bytes) -> bool:
    """Whether a file says itself that it is Python, by its name or its first line: then it is held to that."""
    first = data[:200].split(b"\n", 1)[0]
    return path.endswith((".py", ".pyi", ".pyw")) or (first.startswith(b"#!") and b"python" in first)


def check_text(path: str, data: bytes, task: Task) -> Answer:
    """What is found in the bytes of one file; ``path`` is its name and where files it names are looked for."""
    enabled = gc.isenabled()
    gc.disable()  # nothing below lives long enough to be worth looking at
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _mended(path, data, task) if task.mend else _checked(path, data, task)[0]
    except RecursionError:
        return Answer(path, _unreadable(path, Unreadable("E001", 1, 1, _TOO_DEEP), task, ""))
    finally:
        if enabled:
            gc.enable()


def _checked(
    path: str, data: bytes, task: Task
) -> Tuple[Answer, Optional[Source], List[Tuple[Finding, Optional[Fix]]]]:
    if not _worth_reading(data):
        return Answer(path, ()), None, []
    try:
        source = Source(path, data)
    except Unreadable as problem:
        text = data.decode("utf-8", "replace")
        return Answer(path, _unreadable(path, problem, task, text)), None, []
    module = Module(source)
    quiet = silence(source.text)
    found: Dict[Any, Tuple[Finding, Optional[Fix]]] = {}
    for one in _rules(task.codes):
        for report in one.check(module, task.settings):
            line, column = _place(source, report)
            finding = Finding(path, line, column, one.code, report.message, report.fix is not None)
            if not quiet.covers(line, one.code):
                found.setdefault(finding[:5], (finding, report.fix))
    ordered = sorted(found.values(), key=lambda pair: (pair[0].line, pair[0].column, pair[0].code, pair[0].message))
    return Answer(path, tuple(finding for finding, _ in ordered)), source, ordered


def _worth_reading(data: bytes) -> bool:
    """Whether a rule could say anything of a file: most files need no syntax tree to know that none can."""
    if any(word in data for word in _ADAPTER):
        return True
    return any(word in data for word in _PACKAGES) and any(word in data for word in _CALLS)


def _unreadable(path: str, problem: Unreadable, task: Task, text: str) -> Tuple[Finding, ...]:
    finding = Finding(path, problem.line, problem.column, problem.code, problem.message)
    if problem.code not in task.codes or silence(text).covers(finding.line, finding.code):
        return ()
    return (finding,)


_CHOSEN: Dict[Tuple[str, ...], List[Rule]] = {}


def _rules(codes: Tuple[str, ...]) -> List[Rule]:
    from npu_conformance.lint.registry import rules

    if codes not in _CHOSEN:
        _CHOSEN[codes] = [one for one in rules() if one.code in codes]
    return _CHOSEN[codes]


def _place(source: Source, report: Report) -> Tuple[int, int]:
    where = report.where
    if isinstance(where, tuple):
        return where
    if not hasattr(where, "lineno"):  # a keyword, before Python 3.9
        value = where.value
        line, offset = value.lineno, value.col_offset
        text = source.lines[line - 1].encode("utf-8", "replace")[: max(offset, 0)].decode("utf-8", "replace")
        written = re.search(r"(\w+)\s*=\s*[(\s]*$", text)
        return line, written.start() + 1 if written else source.column(line, offset)
    return where.lineno, source.column(where.lineno, where.col_offset)


def _mended(path: str, data: bytes, task: Task) -> Answer:
    """Mends what can be mended, round by round, and says what is left; a round that would break the file is undone."""
    now, mended = data, 0
    for _ in range(_ROUNDS):
        _, source, found = _checked(path, now, task)
        if source is None:
            break
        fixes = [fix for _, fix in found if fix is not None]
        new, count = _applied(source, fixes)
        if new is None:
            # One of them would break the file: those that do not by themselves are made.
            new, count = _applied(source, [fix for fix in fixes if _applied(source, [fix])[0] is not None])
        if new is None or new == now:
            break
        now, mended = new, mended + count
    left = _checked(path, now, task)[0].findings
    return Answer(path, left, mended, data, None if now == data else now)


def _applied(source: Source, fixes: Sequence[Fix]) -> Tuple[Optional[bytes], int]:
    """The file with fixes made, and how many; None where it could not be read any more."""
    edits, count = _edits(source, fixes)
    if not edits:
        return None, 0
    try:
        new = source.encoded(applied(source.tokens, edits))
        Source(source.path, new)
    except (Unreadable, UnicodeEncodeError):
        return None, 0
    return new, count


def _edits(source: Source, fixes: Iterable[Fix]) -> Tuple[List[Edit], int]:
    """The edits of all fixes that do not touch each other; a line that several add is added once."""
    made: List[Edit] = []
    count = 0
    for fix in fixes:
        try:
            edits = fix(source.tokens)
        except ValueError:  # tokens that do not give the text again: nothing is touched
            return [], 0
        if not edits:
            continue
        new = [edit for edit in edits if not (edit.start == edit.end and edit in made)]
        if any(_touch(one, other) for one in new for other in made):
            continue
        made += new
        count += 1
    return made, count


def _touch(one: Edit, other: Edit) -> bool:
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    if one.start == one.end:
        return other.start < one.start < other.end
    if other.start == other.end:
        return one.start < other.start < one.end
    return one.start < other.end and other.start < one.end
