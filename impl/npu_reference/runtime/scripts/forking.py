"""Answers the protocol's ``run`` with ``ranks``: a process that has TensorFlow, and forks the ranks of each request.

The one who asks keeps it (:class:`Forker`) and speaks with it over its stdin and stdout, a JSON document a line. It
ends when its stdin does.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any, Dict, List, Mapping, Optional

from npu_reference.collection import collect_no_more
from npu_reference.errors import NpuError

__all__ = ["Forker", "answer"]

#: Bytes that the answer of one rank may have (assumed: far above what cases have ranks answer).
_LARGEST = 64 << 20

#: Ranks that one request may ask for (assumed).
_MOST = 16

_FAILURE_CHARS = 2000


class Forker:
    """The process that ranks are forked from, made when it is first needed and kept."""

    def __init__(self) -> None:
        self._process: Optional[subprocess.Popen[bytes]] = None

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

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "npu_reference.runtime.scripts.forking"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process


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


def main() -> int:
    """Answer one request a line until there are no more."""
    from npu_reference.runtime.scripts.simulate import prefer_keras_2
    from npu_reference.runtime.tf_api import tensorflow

    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints is no answer
    prefer_keras_2(lambda line: None)
    v1 = tensorflow().v1
    # The ranks of a request import none of this again: the simulated device, and what every script of theirs imports,
    # as it does within a graph. There the drop-in leaves TensorFlow's switches as they are.
    from npu_reference.runtime.scripts import runner  # noqa: F401
    from npu_reference.runtime.sessions import activation

    activation.activate()
    with v1.Graph().as_default():
        importlib.import_module("npu_bridge.npu_init")
    for line in sys.stdin.buffer:
        try:
            body: Dict[str, Any] = {"ok": answer(json.loads(line.decode("utf-8")))}
        except NpuError as error:
            told = error.to_json()
            body = {"refused": {name: told[name] for name in ("code", "subject", "reason", "remedy")}}
        out.write(json.dumps(body).encode("utf-8") + b"\n")
        out.flush()
    collect_no_more()
    return 0


if __name__ == "__main__":
    sys.exit(main())
