"""Hosts one backend and speaks worker protocol 1 over the process's stdin and stdout."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, BinaryIO, Dict, Iterator, Mapping, Optional, Tuple

from npu_conformance.protocol import messages as protocol
from npu_reference.collection import collect_seldom
from npu_reference.errors import NpuError

__all__ = ["main", "serve"]

_ABOUT_OPTIONS = ("options", "partition", "precision", "timeline", "compile", "run")
_ABOUT_OPTIONS_DEFAULTS: Mapping[str, Any] = {"surface": "session", "edition": "current", "values": {}}


#: A reset as the suite writes it.
_RESET = re.compile(rb'\{"id":([1-9][0-9]{0,17}),"method":"reset","params":\{\}\}\n')


def main(spec: str = "reference") -> int:
    """Runs until ``shutdown`` or the end of input.

    File descriptor 1 is moved away before any backend code is loaded and points to stderr from then on, so that
    neither ``print`` nor a write by native code can break the stream. Likewise stdin is empty for the backend.
    Returns the exit status.
    """
    collect_seldom()
    requests = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        from npu_conformance.backends import open_backend

        backend = open_backend(spec)
    except NpuError as error:
        sys.stderr.write(f"error{error}\n")
        return error.exit_status
    serve(backend, requests, answers)
    return 0


def serve(backend: object, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers each line of ``requests``, one at a time, until ``shutdown`` or the end."""
    for line in _lines(requests):
        message, done = _answer(backend, line)
        if not _write(answers, message) or done:
            return


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines of at most the protocol's length; the rest of a longer one is dropped."""
    while True:
        line = stream.readline(protocol.MAX_LINE + 1)
        if not line:
            return
        if len(line) > protocol.MAX_LINE and not line.endswith(b"\n"):
            while True:
                rest = stream.readline(1 << 20)
                if not rest or rest.endswith(b"\n"):
                    break
        if line.strip():
            yield line


def _answer(backend: object, line: bytes) -> Tuple[Dict[str, Any], bool]:
    from npu_conformance.backends.base import answer

    identifier: Optional[int] = None
    plain = _RESET.fullmatch(line)
    if plain is not None:  # every second request, which need not be parsed
        return answer(backend, int(plain.group(1)), "reset", {}), False
    try:
        request = protocol.decode(line)
        given = request.get("id")
        identifier = given if isinstance(given, int) and not isinstance(given, bool) else None
        request = _completed(request)
        fault = protocol.request_fault(request)
    except protocol.ProtocolFault as error:
        fault = str(error)
    except NpuError as error:
        return {"id": identifier, "rejected": error.to_json()}, False
    if fault:
        return {"id": identifier, "error": {"message": f"malformed request: {fault}"}}, False
    return answer(backend, identifier, request["method"], request["params"]), request["method"] == "shutdown"


def _completed(request: Dict[str, Any]) -> Dict[str, Any]:
    """The request as the suite itself would send it: what a person leaves out at a terminal has its default, and an
    operator list may be named by its path.

    Raises:
        NpuError: the operator list cannot be read, or is none.
    """
    params = request.get("params", {})
    if request.get("method") not in _ABOUT_OPTIONS or not isinstance(params, dict):
        return request
    params = {**_ABOUT_OPTIONS_DEFAULTS, **params}
    if isinstance(params.get("op_list"), str):
        from npu_reference.catalog import OpList

        params["op_list"] = OpList.load(params["op_list"]).to_json()
    return {**request, "params": params}


def _write(stream: BinaryIO, message: Dict[str, Any]) -> bool:
    """Writes one answer; False when nobody reads any more."""
    try:
        line = protocol.encode(message)
    except protocol.ProtocolFault as error:
        line = protocol.encode({"id": message["id"], "error": {"message": f"the answer is {error}"}})
    view = memoryview(line)
    try:
        while view:
            view = view[stream.write(view) :]
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
