"""Reads files and folders, one or many at a time, and answers in the same order whoever read them."""

from __future__ import annotations

import io
import os
import re
import traceback
import warnings
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.lint import workers
from npu_conformance.lint.editing import applied
from npu_conformance.lint.finding import DEFECT, Edit, Finding, Fix, Replacement
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, Rule
from npu_conformance.lint.source import LARGEST, Places, Source, Unreadable
from npu_conformance.lint.suppressing import silence
from npu_reference import notebooks
from npu_reference.collection import no_collection
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["LintAnswer", "LintTask", "check_text", "files_of", "run"]

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


class LintTask(NamedTuple):
    """What is asked of every file: the codes of the rules, their settings, and whether to mend.

    ``named`` are paths that the user wrote out: of those that are no Python, somebody has to be told. ``unsafe`` says
    that fixes are made, too, that may change what the program means.
    """

    codes: Tuple[str, ...]
    settings: LintSettings
    mend: bool = False
    named: FrozenSet[str] = frozenset()
    unsafe: bool = False
    spell: bool = False


class LintAnswer(NamedTuple):
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
        import difflib

        old, new = (_lines(data) for data in (self.before, self.after))
        parts = difflib.unified_diff(old, new, self.path, self.path, lineterm="\n")
        return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def _lines(data: bytes) -> List[str]:
    try:
        text = Source("", data).text
    except Unreadable:
        text = data.decode("utf-8", "replace")
    return io.StringIO(text, newline="\n").readlines()


def files_of(paths: Sequence[str]) -> List[str]:
    """The files to be read: those named, and the scripts and notebooks below the folders named, sorted, each once.

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
            if name.endswith((".py", notebooks.SUFFIX)) and os.path.isfile(path):
                yield os.path.normpath(path)


def run(paths: Sequence[str], task: LintTask, jobs: int = 0) -> Iterator[LintAnswer]:
    """The answer of every file, in the order of the paths, whichever process read it.

    A file that ends the process that reads it, or never ends, is told as a defect; all others are read.
    """
    jobs = min(jobs or _processors(), max(1, len(paths) // _FEW + 1))
    if workers.CONTEXT is None and jobs == 1:
        for path in paths:
            yield _read(path, task)
        return
    yield from workers.answers(paths, jobs, _Reader(task), _ended)


class _Reader:
    def __init__(self, task: LintTask) -> None:
        self.task = task

    def __call__(self, path: str) -> LintAnswer:
        return _read(path, self.task)


def _ended(path: str, reason: str) -> LintAnswer:
    return LintAnswer(path, (_defect(path, f"The process that read this file {reason}."),))


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _read(path: str, task: LintTask) -> LintAnswer:
    try:
        with open(path, "rb") as stream:
            data = stream.read((notebooks.LARGEST if path.endswith(notebooks.SUFFIX) else LARGEST) + 1)
    except (OSError, ValueError) as problem:
        reason = f"The file cannot be read: {getattr(problem, 'strerror', None) or problem}."
        return LintAnswer(path, _unreadable(path, Unreadable("E002", 1, 1, reason), task, ""))
    if path in task.named and not _is_script(path, data):
        try:
            Source(path, data)
        except Unreadable as problem:
            return LintAnswer(path, (), skipped=problem.message)
        except RecursionError:
            return LintAnswer(path, (), skipped=_TOO_DEEP)
    return check_text(path, data, task)


def _is_script(path: str, data: bytes) -> bool:
    """Whether a file says itself that it is Python, by its name or its first line: then it is held to that."""
    first = data[:200].split(b"\n", 1)[0]
    return path.endswith((".py", ".pyi", ".pyw", notebooks.SUFFIX)) or (first.startswith(b"#!") and b"python" in first)


def check_text(path: str, data: bytes, task: LintTask) -> LintAnswer:
    """What is found in the bytes of one file; ``path`` is its name and where files it names are looked for.

    Whatever goes wrong in lint itself is a finding of the code :data:`DEFECT`; no exception leaves here.
    """
    try:
        with no_collection(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (_of_notebook if path.endswith(notebooks.SUFFIX) else _answer)(path, data, task)
    except RecursionError:
        return LintAnswer(path, _unreadable(path, Unreadable("E001", 1, 1, _TOO_DEEP), task, ""))
    except Exception as problem:  # noqa: BLE001 - one file costs itself only
        return LintAnswer(path, (_defect(path, f"Lint failed on this file: {_told(problem)}."),))


def _answer(path: str, data: bytes, task: LintTask, places: Places = ()) -> LintAnswer:
    if not task.mend:
        return _checked(path, data, task, places)[0]
    try:
        return _mended(path, data, task, places)
    except RecursionError:
        raise
    except Exception as problem:  # noqa: BLE001
        told = _defect(path, f"Lint failed at mending this file, which stays as it is: {_told(problem)}.")
        found = _checked(path, data, task, places)[0]
        return found._replace(findings=(told, *found.findings))


def _defect(path: str, message: str) -> Finding:
    return Finding(path, 1, 1, DEFECT, f"{message} It is a defect of lint: please report it.")


def _told(problem: BaseException) -> str:
    """An exception and the line of ours that it came from, as one clause."""
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {shorten(str(problem))}{where}"


def _checked(
    path: str, data: bytes, task: LintTask, places: Places = ()
) -> Tuple[LintAnswer, Optional[Source], List[Tuple[Finding, Optional[Fix]]]]:
    if not _worth_reading(data):
        return LintAnswer(path, ()), None, []
    try:
        source = Source(path, data, places)
    except Unreadable as problem:
        text = data.decode("utf-8", "replace")
        return LintAnswer(path, _unreadable(path, problem, task, text)), None, []
    module = Module(source)
    quiet = silence(source.text)
    found: Dict[Any, Tuple[Finding, Optional[Fix]]] = {}
    broken: Dict[str, List[str]] = {}  # the rules that failed, by how
    for one in _rules(task.codes):
        try:
            for report in one.check(module, task.settings):
                line, column = _place(source, report)
                unsafe = report.fix is not None and not report.safe
                finding = Finding(
                    path, line, column, one.code, report.message, report.fix is not None, unsafe, report.hint
                )
                if not quiet.covers(line, one.code):
                    found.setdefault(finding[:5], (finding, report.fix))
        except RecursionError:
            raise
        except Exception as problem:  # noqa: BLE001 - a rule that fails takes no other with it
            broken.setdefault(_told(problem), []).append(one.code)
    for told, codes in broken.items():
        rule = f"Rule {codes[0]}" if len(codes) == 1 else f"Rules {', '.join(codes)}"
        finding = _defect(path, f"{rule} failed on this file: {told}.")
        found[finding[:5]] = (finding, None)
    ordered = sorted(found.values(), key=lambda pair: (pair[0].line, pair[0].column, pair[0].code, pair[0].message))
    if task.spell:
        ordered = [(finding._replace(replacements=_spelt(source, fix)), fix) for finding, fix in ordered]
    return LintAnswer(path, tuple(finding for finding, _ in ordered)), source, ordered


# -- notebooks ------------------------------------------------------------------------------------------------------
def _of_notebook(path: str, data: bytes, task: LintTask) -> LintAnswer:
    task = task._replace(spell=False)  # places in cells are none in the file
    try:
        notebook = notebooks.read(data)
        bad = _cells_that_cannot_be_read(path, notebook)
        if bad:
            notebook = notebooks.read(data, left_out=[cell for cell, _ in bad])
    except notebooks.OtherLanguage as problem:
        return LintAnswer(path, (), skipped=str(problem))
    except notebooks.NotebookError as problem:
        return LintAnswer(path, _unreadable(path, Unreadable("E002", 1, 1, str(problem)), task, ""))
    answer = _answer(path, notebook.text.encode("utf-8"), task, notebook.places)
    found = []
    for finding in answer.findings:
        cell, line = notebook.places[min(finding.line, len(notebook.places)) - 1] if notebook.places else (0, 1)
        found.append(finding if finding.code == DEFECT else finding._replace(cell=cell, line=max(line, 1)))
    for cell, unreadable in bad:
        found += [one._replace(cell=cell) for one in _unreadable(path, unreadable, task, notebook.text)]
    after = None
    if answer.after is not None:
        try:
            after = notebooks.rewritten(data, notebook.changed(answer.after.decode("utf-8")))
        except notebooks.NotebookError as problem:
            told = _defect(path, f"This notebook could not be written back, and stays as it is. {problem}")
            return LintAnswer(path, (told, *_of_notebook(path, data, task._replace(mend=False)).findings))
    if found:
        lines = notebooks.lines_of(data)
        found = [one._replace(file_line=lines.get((one.cell, one.line), 1)) for one in found]
    found.sort(key=lambda one: (one.cell, one.line, one.column, one.code, one.message))
    return answer._replace(findings=tuple(found), before=data, after=None if after == data else after)


def _cells_that_cannot_be_read(path: str, notebook: notebooks.Notebook) -> List[Tuple[int, Unreadable]]:
    """The cells that are no Python, each by itself; empty where all of them together can be read, or are not asked."""
    whole = notebook.text.encode("utf-8")
    if not _worth_reading(whole):
        return []
    try:
        Source(path, whole)
        return []
    except Unreadable:
        pass
    found: List[Tuple[int, Unreadable]] = []
    for number, text in notebook.shown():
        try:
            Source(path, text.encode("utf-8"))
        except Unreadable as problem:
            found.append((number, problem))
    return found


def _worth_reading(data: bytes) -> bool:
    """Whether a rule could say anything of a file: most files need no syntax tree to know that none can."""
    if any(word in data for word in _ADAPTER):
        return True
    return any(word in data for word in _PACKAGES) and any(word in data for word in _CALLS)


def _unreadable(path: str, problem: Unreadable, task: LintTask, text: str) -> Tuple[Finding, ...]:
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


def _place(source: Source, report: LintReport) -> Tuple[int, int]:
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


def _mended(path: str, data: bytes, task: LintTask, places: Places = ()) -> LintAnswer:
    """Mends what can be mended, round by round, and says what is left; a round that would break the file is undone."""
    now, mended = data, 0
    for _ in range(_ROUNDS):
        _, source, found = _checked(path, now, task, places)
        if source is None:
            break
        fixes = [fix for finding, fix in found if fix is not None and (task.unsafe or not finding.unsafe)]
        new, count = _applied(source, fixes)
        if new is None:
            # One of them would break the file: those that do not by themselves are made.
            new, count = _applied(source, [fix for fix in fixes if _applied(source, [fix])[0] is not None])
        if new is None or new == now:
            break
        now, mended = new, mended + count
    left = _checked(path, now, task, places)[0].findings
    return LintAnswer(path, left, mended, data, None if now == data else now)


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


def _spelt(source: Source, fix: Optional[Fix]) -> Tuple[Replacement, ...]:
    """One fix by itself as replacements; empty where it cannot be made, or would break the file."""
    if fix is None or _applied(source, [fix])[0] is None:
        return ()
    edits, _ = _edits(source, [fix])
    spans = [(*source.place_of(edit.start), *source.place_of(edit.end), edit.text) for edit in sorted(edits)]
    return tuple(Replacement(*span) for span in spans)


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
