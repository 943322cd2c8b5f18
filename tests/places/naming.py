"""Tries every option and variable that names a directory or a file, in each condition that a path may be in.

`test_named_paths.py` runs it as a program, ``python -m tests.places.naming FOLDER``, so that it can give up its
privileges and limit its own files. It uses each path as a session would, and prints what became of it as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import stat
import sys
import tokenize  # noqa: F401 (what a traceback reads its lines with)
import traceback
from typing import Any, Callable, Dict, Mapping, NamedTuple, Tuple

from npu_reference import profiling, tuning
from npu_reference.artifacts import FolderPlace, Model, Program
from npu_reference.compiler import compile_graph, settings_of
from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import Tile
from npu_reference.device import faults
from npu_reference.device.timing import profile
from npu_reference.dumps import form, names, settings
from npu_reference.dumps.writing import Target, write_alone
from npu_reference.errors import NpuError
from npu_reference.graphs import arg_shapes, close_over
from npu_reference.hardware import built_in
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import assign
from tests.artifacts.making import dense

__all__ = ["CONDITIONS", "DIRECTORIES", "FILES"]

NOBODY = 65534


# -- what a session does with what options name ------------------------------------------------------------------------


class _Session(NamedTuple):
    """Options under which a graph is compiled, run and closed."""

    surface: str
    values: Mapping[str, Any]
    env: Mapping[str, str]


def _run(session: _Session, full: bool) -> Tuple[str, ...]:
    """Everything a session leaves; codes of what somebody is told.

    Raises:
        NpuError: what it is refused for.
    """
    resolution = resolve(dict(session.values), surface=session.surface, edition="current", env=dict(session.env))
    resolution.raise_first()
    told = [f"{one.option}: {one.message}" for one in resolution.warnings]
    suffered = faults.parse([{"kind": "disk_full", "after": 0}] if full else [])
    graph, feeds, fetches = dense()
    shapes = arg_shapes(graph, feeds, {})
    cut = partition(close_over(graph, feeds, fetches, []), resolution, shapes=shapes)
    device, here = built_in(), os.getcwd()
    if session.surface == "runconfig":
        _, complaint = tuning.read(os.path.join(here, resolution.typed.tuning.work_path), device)
        told += [complaint] if complaint else []
    assignment = assign(cut, resolution)
    compiled = compile_graph(cut, assignment, device, settings_of(resolution), shapes)
    program = Program(FolderPlace("", here), process="1", asked_only=True, faults=suffered)
    left = program.compile(Model(cut, assignment, compiled, shapes), resolution, session.env)
    told += [f"{note.subject}: {note.message}" for note in left.notes]
    _dump(resolution, session.env, here, _refusing if full else _taking)
    made = profile(cut, resolution, device, shapes)
    wanted, plan = resolution.typed.profiling, tuning.plan_of(resolution)
    if wanted is not None:
        content = profiling.files([profiling.ProfiledRun(made)], wanted)
        profiling.write(os.path.join(here, wanted.output), content, suffered.disk())
    if plan is not None:
        bank = {Gemm(1, 16, 16, 16, 2, 2): Tile(16, 16)}
        results = tuning.result_files(plan, tuning.tune([made.compiled], plan), device, bank)
        for name, data in results.items():
            tuning.write(os.path.join(here, plan.work_path, name), data, suffered.disk())
    told += [f"{note.subject}: {note.message}" for note in program.end()]
    return tuple(told)


def _taking(size: int) -> None:
    del size


def _refusing(size: int) -> None:
    raise OSError(28, os.strerror(28))


def _dump(resolution: Any, env: Mapping[str, str], here: str, disk: Callable[[int], None]) -> None:
    data = resolution.typed.dump
    tensor = form.Tensor("float32", (1,), 4, "ND", "relu", 0)
    parts = form.encode(form.Description("relu", 5, (), (tensor,)), [], [b"1234"])
    if data is not None:
        target = Target(os.path.join(here, data.path), disk=disk, option=data.option)
        target.open()
        try:
            files = target.step("GeOp_0", 1, 0)
            files.write(names.file_name("Relu", "relu", 1, 0, 5), parts)
            files.publish()
        finally:
            target.close()
    failed = settings.exception_dump(resolution, env, "current", unasked=False)
    if failed is not None:
        name = names.exception_name("Relu", "relu", 1, 5)
        write_alone(os.path.join(here, failed.base), failed.folders(0), name, parts, disk, option=failed.option)


def _values(**values: Any) -> Callable[[str], _Session]:
    return lambda path: _Session("runconfig", {**_QUIET, **_filled(values, path)}, {})


def _session(**values: Any) -> Callable[[str], _Session]:
    return lambda path: _Session("session", {"export_compile_stat": 0, **_filled(values, path)}, {})


def _variable(name: str, **values: Any) -> Callable[[str], _Session]:
    return lambda path: _Session("runconfig", {**_QUIET, **values}, {name: path})


def _filled(values: Mapping[str, Any], path: str) -> Dict[str, Any]:
    return {name: value(path) if callable(value) else value for name, value in values.items()}


#: Nothing is left but what is asked for.
_QUIET = {"op_compiler_cache_mode": "disable", "export_compile_stat": 0}


def _itself(path: str) -> str:
    return path


def _output(path: str) -> str:
    return json.dumps({"output": path, "task_trace": "on"})


#: Option or variable that names a directory -> the session that uses it.
DIRECTORIES: Dict[str, Callable[[str], _Session]] = {
    "dump_path": _session(enable_dump=True, dump_path=_itself),
    "debug_dir": _values(debug_dir=_itself, op_debug_level=3),
    "op_compiler_cache_dir": _values(op_compiler_cache_dir=_itself, op_compiler_cache_mode="enable"),
    "ASCEND_CACHE_PATH": _variable("ASCEND_CACHE_PATH", op_compiler_cache_mode="enable"),
    "ASCEND_WORK_PATH": _variable("ASCEND_WORK_PATH", op_debug_level=3, export_compile_stat=2, external_weight=True),
    "NPU_COLLECT_PATH": _variable("NPU_COLLECT_PATH"),
    "profiling_options": _session(profiling_mode=True, profiling_options=_output),
    "work_path": _values(aoe_mode="2", work_path=_itself),
}  # fmt: skip

#: Option that names a file -> the session that reads it, and a file that it takes.
FILES: Dict[str, Tuple[Callable[[str], _Session], str]] = {
    "fusion_switch_file": (_values(fusion_switch_file=_itself), '{"Switch": {"GraphFusion": {"ALL": "on"}}}'),
    "aoe_config_file": (_values(aoe_mode="2", aoe_config_file=_itself), '{"tune_ops_name": ["matmul"]}'),
    "op_debug_config": (_values(op_debug_config=_itself), "op_debug_config = dump_cce"),
    "modify_mixlist": (
        _values(modify_mixlist=_itself, precision_mode="allow_mix_precision"),
        '{"black-list": {"to-add": ["Relu"]}}',
    ),
    "customize_dtypes": (_values(customize_dtypes=_itself), "OpType::Relu:InputDtype:float16,OutputDtype:float16"),
    "op_precision_mode": (_values(op_precision_mode=_itself), "[ByOpType]\nRelu=high_precision\n"),
}  # fmt: skip


# -- conditions --------------------------------------------------------------------------------------------------------


def _plain(base: str, name: str = "there") -> str:
    path = os.path.join(base, name)
    os.makedirs(path, exist_ok=True)
    return path


def _missing(base: str) -> str:
    return os.path.join(base, "missing")


def _below_missing(base: str) -> str:
    return os.path.join(base, "missing", "deeper")


def _other(base: str) -> str:
    """A file where a directory should be."""
    path = os.path.join(base, "other")
    with open(path, "w", encoding="ascii") as stream:
        stream.write("mine")
    return path


def _below_other(base: str) -> str:
    return os.path.join(_other(base), "deeper")


def _closed(base: str) -> str:
    path = _plain(base, "closed")
    os.chmod(path, 0o555)
    return path


def _unreadable(base: str) -> str:
    path = _plain(base, "unreadable")
    os.chmod(path, 0)
    return path


def _linked(base: str) -> str:
    path = os.path.join(base, "link")
    os.symlink(os.path.join(os.path.dirname(base), "outside"), path)
    return path


def _dangling(base: str) -> str:
    path = os.path.join(base, "dangling")
    os.symlink(os.path.join(base, "nowhere"), path)
    return path


def _looping(base: str) -> str:
    path = os.path.join(base, "loop")
    os.symlink(path, path)
    return path


def _pipe(base: str) -> str:
    path = os.path.join(base, "pipe")
    os.mkfifo(path)
    return path


#: Names that we use below the directories that options name.
_FOLDERS = ("kernel_meta", "kernel_cache", "kernel_cache_0", "FE", "tmp_weight_1_0", "extra-info")
_FILES = (tuning.BANK, "aoe_config.json", "aoe_result_opat.json", "op_cache.ini", "fusion_result.json")


def _inside_linked(base: str) -> str:
    """A directory in which the names that we would use are links that lead out of it."""
    path = _plain(base, "inside")
    out = os.path.join(os.path.dirname(base), "outside")
    for name in (*_FOLDERS, *_FILES):
        os.symlink(os.path.join(out, name) if "." in name else out, os.path.join(path, name))
    return path


def _inside_taken(base: str) -> str:
    """A directory in which the names that we would use are files."""
    path = _plain(base, "taken")
    for name in _FOLDERS:
        with open(os.path.join(path, name), "w", encoding="ascii") as stream:
            stream.write("mine")
    for name in _FILES:
        os.mkdir(os.path.join(path, name))
    return path


CONDITIONS: Dict[str, Callable[[str], str]] = {
    "there": _plain,
    "twice": _plain,  # two runs into one directory
    "full": _plain,
    "file too large": _plain,
    "missing": _missing,
    "below missing": _below_missing,
    "a file": _other,
    "below a file": _below_other,
    "unwritable": _closed,
    "unreadable": _unreadable,
    "below unwritable": lambda base: os.path.join(_closed(base), "deeper"),
    "link": _linked,
    "dangling link": _dangling,
    "link to itself": _looping,
    "pipe": _pipe,
    "links in it": _inside_linked,
    "files in it": _inside_taken,
    "long name": lambda base: os.path.join(base, "x" * 300),
    "long path": lambda base: os.path.join(base, *["x" * 200] * 22),
    "not ASCII": lambda base: _plain(base, "größe 目录"),
    "line end": lambda base: _plain(base, "two\nlines"),
    "terminal": lambda base: _plain(base, "a\x1b[31mred"),
    "no text": lambda base: _plain(base, os.fsdecode(b"\xff\xfe")),
    "NUL": lambda base: base + "/a\0b",
    "empty": lambda base: "",
    "blank": lambda base: " ",
}


#: The same for files: what stands where the file should be; its content is one the option takes, or else says so.
def file_at(condition: str, base: str, content: str) -> str:
    """Where a file lies in a condition that is one of :data:`CONDITIONS`."""
    if condition in ("there", "twice", "full", "file too large", "not ASCII", "line end", "terminal", "no text"):
        folder = CONDITIONS[condition](base)
        return _written(os.path.join(folder, "file"), content)
    if condition in ("unwritable", "unreadable"):
        path = _written(os.path.join(base, "file"), content)
        os.chmod(path, 0o444 if condition == "unwritable" else 0)
        return path
    if condition == "a file":  # a directory where a file should be
        return _plain(base, "folder")
    if condition == "link":
        path = os.path.join(base, "link")
        os.symlink(_written(os.path.join(base, "target"), content), path)
        return path
    return CONDITIONS[condition](base)


def _written(path: str, content: str) -> str:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(content)
    return path


# -- one try -----------------------------------------------------------------------------------------------------------


def state(folder: str) -> Dict[str, str]:
    """Path to what is there: content, kind, where a link leads."""
    found: Dict[str, str] = {}
    for place, inner, files in os.walk(folder):
        for name in sorted([*inner, *files]):
            path = os.path.join(place, name)
            about = os.lstat(path)
            shown = os.path.relpath(path, folder)
            if stat.S_ISLNK(about.st_mode):
                found[shown] = "link"
            elif stat.S_ISREG(about.st_mode):
                found[shown] = f"file {about.st_size} {about.st_mtime_ns}"
            else:
                found[shown] = "folder" if stat.S_ISDIR(about.st_mode) else "other"
    return found


def tried(option: str, condition: str, base: str) -> Dict[str, Any]:
    """What becomes of a session whose option names something in a condition, in a folder of its own."""
    inside = os.path.join(base, "inside")
    for name in ("inside", "outside", "here"):
        os.makedirs(os.path.join(base, name))
    with open(os.path.join(base, "outside", "theirs"), "w", encoding="ascii") as stream:
        stream.write("theirs")
    os.chdir(os.path.join(base, "here"))
    if option in FILES:
        made, content = FILES[option]
        path = file_at(condition, inside, content)
    else:
        made, path = DIRECTORIES[option], CONDITIONS[condition](inside)
    before = {name: state(os.path.join(base, name)) for name in ("inside", "outside", "here")}
    told: Dict[str, Any] = {"path": path, "error": None, "told": []}
    for _ in range(2 if condition == "twice" else 1):
        try:
            with _limited(condition == "file too large"):
                told["told"] = list(_run(made(path), condition == "full"))
        except NpuError as problem:
            told["error"] = {**problem.to_json()}
        except BaseException as problem:  # noqa: BLE001 (the table says that there is none)
            told["crash"] = "".join(traceback.format_exception(type(problem), problem, problem.__traceback__))[-800:]
    after = {name: state(os.path.join(base, name)) for name in before}
    told["outside"] = before["outside"] == after["outside"]
    for name, where in (("left", "inside"), ("here", "here")):
        new = sorted(set(after[where]) - set(before[where]))
        told[name] = {path: after[where][path].split()[0] for path in new}
    told["spoilt"] = sorted(
        name for name, what in before["inside"].items() if what.startswith("file") and after["inside"].get(name) != what
    )
    return told


@contextlib.contextmanager
def _limited(on: bool) -> Any:
    """No file may become larger than a few bytes, as where a quota is used up."""
    if not on:
        yield
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def main(folder: str) -> None:
    for option in (*DIRECTORIES, *FILES):  # everything is imported that a run imports
        for condition in ("there", "missing", "NUL", "terminal"):
            tried(option, condition, os.path.join(folder, f"first-{option}-{condition}"))
    if os.geteuid() == 0:  # what root may do says nothing of permissions; packages that only root may read stay loaded
        os.chmod(folder, 0o777)
        os.setgroups([])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    found: Dict[str, Dict[str, Any]] = {}
    for option in (*DIRECTORIES, *FILES):
        found[option] = {}
        for number, condition in enumerate(CONDITIONS):
            base = os.path.join(folder, f"{option}-{number}")
            found[option][condition] = tried(option, condition, base)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
