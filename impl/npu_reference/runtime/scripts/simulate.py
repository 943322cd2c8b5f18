"""Runs a script as ``__main__`` with the simulated device switched on, and says at the end what ran there."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import sys
import traceback
import types
from contextlib import contextmanager, suppress
from typing import Any, Callable, Container, Iterator, List, Optional, Sequence, Set, TextIO, Union

from npu_reference.device.faults import NONE, Faults
from npu_reference.dumps.settings import DataDump
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.runtime.config import (
    EDITION_VARIABLE,
    OPTIMIZER,
    PRECISIONS,
    current_overrides,
    overriding,
)
from npu_reference.runtime.config import device_precision as checked_precision
from npu_reference.runtime.observing.account import Account, keeping
from npu_reference.runtime.observing.log import Entry, listening
from npu_reference.runtime.observing.trace import Totals, Trace, process_trace
from npu_reference.runtime.scripts import ending
from npu_reference.runtime.scripts.complaint import complaint, failure_of
from npu_reference.runtime.scripts.modules import reading
from npu_reference.runtime.scripts.sources import Names, Source, read_for
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["LAUNCHER", "PRECISIONS", "prefer_keras_2", "simulate"]

#: What launch scripts export for one device, and scripts read without a default.
LAUNCHER = {"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "0", "JOB_ID": "10087"}

#: Notes for who asks about a saved graph; a script's runs name their feeds and fetches themselves.
_FOR_SAVED_GRAPHS = ("PLACEHOLDER_AS_FEED",)

#: Warnings that say why a session was not taken over.
_NOT_TAKEN_OVER = ("remote_target", "near_spelling")


def simulate(
    script: str,
    argv: Sequence[str] = (),
    *,
    log: Union[Callable[[str], None], TextIO, None] = None,
    device_precision: Optional[str] = None,
    edition: Optional[str] = None,
    trace_file: Optional[str] = None,
    adapt_imports: bool = True,
    account: Optional[Account] = None,
    dump_plain: Optional[str] = None,
    clock: Optional[bool] = None,
    device: Optional[Device] = None,
    faults: Faults = NONE,
) -> Trace:
    """Run a script the way ``python script argv`` would, on the simulated device, which is left switched on.

    Args:
        script: its file.
        argv: its arguments.
        log: a function or stream that takes each line the simulator has to say; without it they go to stderr.
        device_precision: one of :data:`PRECISIONS`; else the environment's, else ``off``.
        edition: of the options, for sessions of this script; else the environment's (G14).
        trace_file: where to write the trace as JSON.
        adapt_imports: under TensorFlow 2, read ``import tensorflow as tf`` of a script that uses names of TensorFlow 1
            as ``import tensorflow.compat.v1 as tf``, and its modules likewise. No file is changed.
        account: filled with what happens, session by session, for whoever wants to tell of it.
        dump_plain: a folder that takes the outputs of all operators of GEOPs as plain TensorFlow computes them, to hold
            another dump against; made where it is missing. Options of the script about dumps do not count then.
        clock: whether every run is told its time and memory on the device (docs/device.md); else as it is around.
        device: the simulated device, for its time and memory; else the default one.
        faults: what the device suffers.

    What a launch script exports for one device is set while the script runs, where it is unset (:data:`LAUNCHER`).

    Returns:
        The trace of the process.

    Raises:
        NpuError: SCRIPT_FILE, TENSORFLOW_MISSING, USAGE, OUTPUT.
        SystemExit: as the script does; 1, with the script's own traceback on stderr, when it raises anything else.
    """
    say = _speaker(log)
    if device_precision is not None:
        checked_precision(device_precision)
    text = _read(script)
    if trace_file is not None:
        _check_writable(trace_file)
    around = current_overrides()
    if device_precision is not None:
        around = around._replace(device_precision=device_precision)
    if dump_plain is not None:
        around = around._replace(
            device_precision="off",
            dump=DataDump(_folder(dump_plain, device_precision), None, "output", option="--dump-plain"),
        )
    if clock is not None:
        around = around._replace(clock=clock)
    if device is not None:
        around = around._replace(device=device)
    if faults.items:
        around = around._replace(faults=faults)
    heard: Set[str] = set()
    hear = _hearer(say, heard)
    with _edition(edition), _launched(), overriding(around), listening(hear), keeping(account) as kept:
        prefer_keras_2(say)
        activation.activate()
        read = _reader(say) if adapt_imports and tensorflow().major >= 2 else _unchanged
        source = _source(text, script, read)
        before = process_trace().totals
        try:
            with reading(read):
                _run(source, script, list(argv), kept)
        finally:
            _report(say, before, kept, around.faults, heard)
            if trace_file is not None:
                _write(trace_file)
    return process_trace()


def _folder(path: str, device_precision: Optional[str]) -> str:
    """The absolute path of a folder for a plain dump, which is there afterwards."""
    if device_precision == "on":
        reason = "plain TensorFlow does not compute at the device's precision."
        raise NpuError("USAGE", "dump_plain", reason, "Leave the device precision off.")
    try:
        if not os.path.isdir(path):
            os.mkdir(path)
    except OSError as error:
        raise NpuError("OUTPUT", path, f"the folder cannot be made: {error.strerror}.") from None
    return os.path.abspath(path)


def _speaker(log: Union[Callable[[str], None], TextIO, None]) -> Callable[[str], None]:
    if callable(log):
        return log

    def write(line: str) -> None:
        stream = log or sys.stderr
        _flush_output()
        stream.write(line + "\n")
        stream.flush()

    return write


def _hearer(say: Callable[[str], None], codes: Set[str]) -> Callable[[Entry], None]:
    """Says every entry once, whichever session it comes from first, and none that is for another reader.

    ``codes`` takes those of all that was heard.
    """
    said = set()

    def hear(entry: Entry) -> None:
        codes.add(entry.code)
        key = (entry.level, entry.code, entry.subject, entry.said)
        if entry.code not in _FOR_SAVED_GRAPHS and key not in said:
            said.add(key)
            say(f"{entry.level}: {entry.text}")

    return hear


@contextmanager
def _launched() -> Iterator[None]:
    """The environment of a launch script, where it is not there."""
    added = [name for name in LAUNCHER if name not in os.environ]
    if os.environ.get("RANK_SIZE", "1") != "1":
        # Which of several ranks this is, if any, nobody but a launch script knows.
        added = [name for name in added if name not in ("RANK_ID", "DEVICE_ID")]
    os.environ.update({name: LAUNCHER[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _flush_output() -> None:
    """What the script has printed comes before what we say; a script may have closed its stdout, or put it away."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _read(script: str) -> bytes:
    try:
        with open(script, "rb") as file:
            return file.read()
    except OSError as error:
        raise NpuError("SCRIPT_FILE", script, f"it cannot be read: {error.strerror}.") from error


def _source(text: bytes, script: str, read: Callable[[bytes, str], Source]) -> Source:
    try:
        return read(text, script)
    except SyntaxError as error:
        sys.stderr.write("".join(traceback.format_exception_only(type(error), error)))
        raise SystemExit(1) from None
    except ValueError as error:  # a NUL byte
        raise NpuError("SCRIPT_FILE", script, f"it is no Python source: {error}.") from None


def _unchanged(text: bytes, path: str) -> Source:
    return Source(ast.parse(text, path), "")


def _reader(say: Callable[[str], None]) -> Callable[[bytes, str], Source]:
    """How the script and its modules are read under TensorFlow 2; says of the first that is changed what is."""
    v1 = tensorflow().v1
    v2 = sys.modules["tensorflow"]
    changed: List[str] = []

    def only_v1(names: Names) -> bool:
        return _has(v1, names) and not _has(v2, names)

    def in_v1(names: Names) -> bool:
        return _has(v1, names, into_keras=True)

    def read(text: bytes, path: str) -> Source:
        source = read_for(text, path, only_v1, in_v1)
        if source.changed:
            if not changed:
                say(f"{path}: {source.changed} All that it imports from modules of its own is read so.")
            changed.append(path)
            v1.disable_v2_behavior()
        return source

    return read


def _has(module: Any, names: Sequence[str], into_keras: bool = False) -> bool:
    """Whether a dotted name leads somewhere; Keras is not looked into without need, which would load it."""
    for name in names:
        if name == "keras" and not into_keras:
            return True
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
        if not isinstance(module, types.ModuleType):
            return True
    return True


def prefer_keras_2(say: Callable[[str], None]) -> None:
    """TensorFlow decides at import which Keras it has; sessions need version 2, which tf_keras brings from 2.16 on."""
    if "tensorflow" in sys.modules or "TF_USE_LEGACY_KERAS" in os.environ:
        return
    if importlib.util.find_spec("tf_keras") is not None:
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        say("TF_USE_LEGACY_KERAS=1 is set: Keras sessions need Keras 2, which the installed tf_keras provides.")


def _run(source: Source, script: str, argv: List[str], account: Account) -> None:
    """Execute as ``__main__``; what Python would print of an exception is printed, without the simulator's frames."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__)
    code = compile(source.tree, script, "exec", dont_inherit=True)
    with _as_main(module, script, argv):
        try:
            exec(code, module.__dict__)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a script raises ends it
            _flush_output()
            account.failure = failure_of(error)
            sys.stderr.write(complaint(error))
            raise SystemExit(1) from None


@contextmanager
def _as_main(module: types.ModuleType, script: str, argv: List[str]) -> Iterator[None]:
    """``sys.modules['__main__']``, ``sys.argv`` and ``sys.path[0]`` as the script expects them."""
    folder = os.path.dirname(os.path.abspath(script))
    main, old_argv, old_path = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"] = module
    sys.argv = [script, *argv]
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        sys.argv = old_argv
        sys.path[:] = old_path


@contextmanager
def _edition(edition: Optional[str]) -> Iterator[None]:
    """The edition for the script's sessions and for ``npu_bridge``, which reads the variable too."""
    before = os.environ.get(EDITION_VARIABLE)
    if edition is not None:
        os.environ[EDITION_VARIABLE] = edition
    try:
        yield
    finally:
        if edition is not None:
            if before is None:
                os.environ.pop(EDITION_VARIABLE, None)
            else:
                os.environ[EDITION_VARIABLE] = before


def _report(
    say: Callable[[str], None], before: Totals, account: Account, faults: Faults, heard: Container[str]
) -> None:
    totals = process_trace().totals
    # What stopped a script has been said, or a session from being taken over; a script that came this far without a
    # session, or a run, deserves a hint.
    if account.failure is not None or any(code in heard for code in _NOT_TAKEN_OVER):
        pass
    elif totals.sessions == before.sessions:
        say(
            "warning: no session was taken over, so nothing ran on the simulated NPU. A session's config must name"
            f" {OPTIMIZER} (custom_optimizers.add().name = '{OPTIMIZER}'); TensorFlow ignores every other name"
            " silently."
        )
    elif totals.runs == before.runs:
        say(
            "warning: no session that was taken over ran anything, so nothing ran on the simulated NPU. Keras runs in a"
            " session of its own unless it is given one: tf.keras.backend.set_session(session), of the tf.keras that"
            " the model is made of."
        )
    for fault in faults.items:
        if fault.kind in ending.TOLD_FAULTS and fault not in account.faced:
            say(f"warning: the fault {fault.text} was asked for and did not happen: no run computed what it names.")
    for line in ending.lines(account):
        say(line)
    say(totals.summary())


def _check_writable(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise NpuError("OUTPUT", path, "its folder does not exist.", "Create it first.")


def _write(path: str) -> None:
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(process_trace().to_json(), file, indent=1)
            file.write("\n")
        os.replace(aside, path)
    except OSError as error:
        raise NpuError("OUTPUT", path, f"the trace cannot be written: {error.strerror}.") from error
