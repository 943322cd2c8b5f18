"""Answers the protocol's ``run`` with ``ranks``: a process that has TensorFlow, and forks the ranks of each request.

The one who asks keeps it (:class:`Forker`) and speaks with it over its stdin and stdout, a JSON document a line. It
ends when its stdin does. It may be a copy of the one who asks, which has to have TensorFlow anyhow: importing it takes
longer than all that most ranks do.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from typing import Any, BinaryIO, Dict, List, Mapping, NamedTuple, Optional, Union

from npu_reference.collection import collect_no_more
from npu_reference.errors import NpuError
from npu_reference.runtime.scripts.forked import act_and_leave

__all__ = ["Forker", "answer"]

#: Bytes that the answer of one rank may have (assumed: far above what cases have ranks answer).
_LARGEST = 64 << 20

#: Ranks that one request may ask for (assumed).
_MOST = 16

_FAILURE_CHARS = 2000

#: Where Linux tells what a process holds open; nowhere else a process is copied here.
_DESCRIPTORS = "/proc/self/fd"


class Forker:
    """The process that ranks are forked from, made when it is first needed and kept."""

    def __init__(self) -> None:
        self._process: Union[subprocess.Popen[bytes], _Copy, None] = None

    def copy_this(self) -> None:
        """Import TensorFlow, and let the process be a copy of this one as it is then.

        Nothing happens where TensorFlow is there already, since it may have threads, which are not copied; nor where
        this process has threads of its own. A process is started anew then, once ranks are asked for.

        Raises:
            NpuError: TENSORFLOW_MISSING.
        """
        if not os.path.isdir(_DESCRIPTORS) or "tensorflow" in sys.modules or threading.active_count() > 1:
            return
        _import()
        self._process = _copied()

    def ask(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """The protocol's ``ok`` for a request with ``ranks``.

        Raises:
            NpuError: as :func:`answer`; RUN_FAILED where that process is gone.
        """
        process = self._alive()
        assert process.stdin is not None and process.stdout is not None
        line = b""
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(params).encode("utf-8") + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith(b"\n"):
            self.close()
            raise NpuError("RUN_FAILED", "ranks", "the process that starts them is gone.")
        body: Dict[str, Any] = json.loads(line.decode("utf-8"))
        if "refused" in body:
            raise NpuError(**body["refused"])
        made: Dict[str, Any] = body["ok"]
        return made

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.kill()
            process.wait()

    def _alive(self) -> Union[subprocess.Popen[bytes], _Copy]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "npu_reference.runtime.scripts.forking"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process


class _Copy(NamedTuple):
    """A copy of this process that answers, to be handled as a Popen."""

    pid: int
    stdin: BinaryIO
    stdout: BinaryIO

    def poll(self) -> Optional[int]:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return 0  # it has ended, and somebody has been told
        return status if pid else None

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def answer(params: Mapping[str, Any]) -> Dict[str, Any]:
    """Run the script of a request as so many ranks.

    Args:
        params: of the protocol, with ``ranks``.

    Returns:
        The protocol's ``ok``: ``ranks`` has ``ok`` or ``rejected`` for each, and nothing has ``fetches``.

    Raises:
        NpuError: SYSTEM, OPTION_VALUE; RUN_FAILED where a rank ends without an answer, and nobody waited for it.
    """
    from npu_reference.runtime.scripts.launching import launch

    size = int(params["ranks"])
    if not 1 <= size <= _MOST:
        raise NpuError("OPTION_VALUE", "ranks", f"{size} ranks are not run here.", f"Ask for 1 to {_MOST}.")
    said: List[Dict[str, bytearray]] = [{"out": bytearray(), "err": bytearray()} for _ in range(size)]

    def hear(rank: int, kind: str, block: bytes) -> None:
        said[rank][kind] += block
        if len(said[rank][kind]) > _LARGEST:
            raise NpuError("RUN_FAILED", f"rank {rank}", "it says more than an answer may hold.")

    ended = launch(size, lambda rank: _act(rank, params), hear, lines=False)
    answers: List[Dict[str, Any]] = []
    for rank, status in enumerate(ended.statuses):
        try:
            answers.append(json.loads(bytes(said[rank]["out"]).decode("utf-8")))
        except ValueError:
            tail = bytes(said[rank]["err"]).decode("utf-8", "replace").strip()[-_FAILURE_CHARS:]
            reason = f"it ended with {status}: {' | '.join(tail.splitlines()[-3:])}."
            answers.append({"rejected": NpuError("RUN_FAILED", f"rank {rank}", reason).to_json()})
    return {"fetches": {}, "ranks": answers}


def _act(rank: int, params: Mapping[str, Any]) -> int:
    """In the process of a rank: its answer, on stdout."""
    from npu_reference.runtime.scripts import runner

    given = {name: value for name, value in params.items() if name != "ranks"}
    names = ("RANK_SIZE", "RANK_ID", "DEVICE_ID", "ASCEND_DEVICE_ID", "JOB_ID")
    given["env"] = {**{name: os.environ[name] for name in names}, **given.get("env", {})}
    status = 0
    try:
        body: Dict[str, Any] = {"ok": runner.run_script(given)}
    except NpuError as error:
        body, status = {"rejected": error.to_json()}, 1
    # Whatever the script has left of sys.stdout: the answer goes where the one who asked reads.
    text = json.dumps(body).encode("utf-8")
    while text:
        text = text[os.write(1, text) :]
    return status


def _import() -> None:
    from npu_reference.runtime.scripts.environment import prefer_keras_2
    from npu_reference.runtime.tf_api import tensorflow

    prefer_keras_2(lambda line: None)
    tensorflow()


def _copied() -> Optional[_Copy]:
    """A copy of this process that answers; None where the system has none to give."""
    asked, answered = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries: none of them holds a lock of ours
        try:
            pid = os.fork()
        except OSError:
            for descriptor in (*asked, *answered):
                os.close(descriptor)
            return None
    if pid == 0:

        def serve() -> int:
            os.dup2(asked[0], 0)
            os.dup2(answered[1], 1)
            _let_go()
            _serve(os.fdopen(0, "rb", closefd=False))
            return 0

        act_and_leave(serve)
    os.close(asked[0])
    os.close(answered[1])
    return _Copy(pid, os.fdopen(asked[1], "wb"), os.fdopen(answered[0], "rb"))


def _let_go() -> None:
    """Give up every pipe and socket but the standard streams: whoever is at the other end sees the process that was
    copied end, and this one, which holds an end of its own stdin, sees it too. The numbers stay taken, for objects that
    were copied believe in them.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in [int(name) for name in os.listdir(_DESCRIPTORS)]:
        with suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            if descriptor > 2 and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)


def _serve(requests: BinaryIO) -> None:
    """Answer one request a line until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints is no answer
    made = False
    for line in requests:
        if not made:
            _prepare()
            made = True
        try:
            body: Dict[str, Any] = {"ok": answer(json.loads(line.decode("utf-8")))}
        except NpuError as error:
            told = error.to_json()
            body = {"refused": {name: told[name] for name in ("code", "subject", "reason", "remedy")}}
        out.write(json.dumps(body).encode("utf-8") + b"\n")
        out.flush()


def _prepare() -> None:
    """Import and read what the ranks of every request need: the simulated device and its tables, and what every script
    of theirs imports, as it does within a graph. There the drop-in leaves TensorFlow's switches as they are.
    """
    from npu_reference.catalog import Catalog, OpList
    from npu_reference.graphs import OPS
    from npu_reference.runtime.scripts import runner  # noqa: F401
    from npu_reference.runtime.sessions import activation
    from npu_reference.runtime.tf_api import tensorflow

    activation.activate()
    with tensorflow().v1.Graph().as_default():
        importlib.import_module("npu_bridge.npu_init")
    OPS.get("NoOp")
    OpList.built_in()
    Catalog.built_in()


def main() -> int:
    """Answer what is asked on stdin."""
    _import()
    _serve(sys.stdin.buffer)
    collect_no_more()
    return 0


if __name__ == "__main__":
    sys.exit(main())
