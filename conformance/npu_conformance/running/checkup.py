"""Checks that a backend speaks worker protocol 1, for the authors of backends; judges nothing it says.

Each check that fails says what was expected, what came and what to change (`hints`).
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.files import resources, scratch
from npu_conformance.protocol import client, schema
from npu_conformance.protocol import messages as protocol
from npu_conformance.protocol.process import Ended, Late, Mute, Process
from npu_conformance.running import hints
from npu_conformance.running.hints import HintedFault
from npu_conformance.running.lanes import Settings
from npu_reference.errors import NpuError
from npu_reference.printing import shorten

__all__ = ["Check", "check", "answer"]

_SECONDS = 10.0
_GRACE_SECONDS = 0.2


class Check(NamedTuple):
    """One thing the protocol demands, and what the backend did instead, if anything.

    detail to at: of :class:`hints.HintedFault`; empty where the check passed.
    """

    name: str
    passed: bool
    detail: str
    expected: str = ""
    came: str = ""
    remedy: str = ""
    path: str = ""
    at: str = ""


_LONGEST = 500  # characters of what is told of a fault


def answer(found: List[Check]) -> Dict[str, Any]:
    """What ``worker-check --format json`` prints."""
    return {
        "schema": schema.header("worker-check"),
        "passed": all(one.passed for one in found),
        "checks": [one._asdict() for one in found],
    }


def check(spec: str, settings: Settings) -> List[Check]:
    """All checks, each with a fresh worker; when it does not say hello, only that one.

    Raises:
        NpuError: BACKEND_SPEC or BACKEND_UNAVAILABLE when the command cannot be started at all.
    """
    found: List[Check] = []
    for number, (name, make) in enumerate(_CHECKS):
        with _Wire(spec, settings) as wire:
            fault = make(wire)
        told = [shorten(text, _LONGEST) for text in fault] if fault is not None else [""]
        found.append(Check(name, fault is None, *told))
        if number == 0 and fault is not None:
            break
    return found


#: What a request brought: the message, and what is wrong with it.
Answered = Tuple[Mapping[str, Any], Optional[HintedFault]]


class _Wire:
    """A worker and its raw lines."""

    def __init__(self, spec: str, settings: Settings) -> None:
        self.spec = spec
        self.command = client.command(spec, settings.python)
        self.env = client.environment(settings.env)
        self.seconds = _SECONDS * settings.factor

    def __enter__(self) -> _Wire:
        self.folder = scratch.Scratch("npu-worker-")
        try:
            self.process = Process(self.command, self.folder.path, self.env, _GRACE_SECONDS)
        except OSError as error:
            self.folder.close()
            reason = f"cannot be started: {error.strerror or error}"
            raise NpuError("BACKEND_UNAVAILABLE", self.spec, reason) from None
        except BaseException:
            self.folder.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.process.close()
        self.folder.close()

    def send(self, line: bytes) -> None:
        self.process.send(line)

    def ask(self, identifier: int, method: str, params: Mapping[str, Any]) -> Answered:
        """(answer, fault) of one request."""
        self.send(protocol.encode({"id": identifier, "method": method, "params": params}))
        return self.read(method, identifier)

    def read(self, method: str, identifier: Optional[int]) -> Answered:
        """(answer, fault) of what comes next."""
        spoken = method or "a line that is no request"
        try:
            line = self.process.line(self.seconds)
        except Late:
            return {}, hints.late(spoken, self.seconds, self.process.unfinished(), self.process.stderr())
        except Mute:
            status = self.process.wait(_GRACE_SECONDS)
            return {}, hints.mute(spoken) if status is None else self._ended(spoken, status)
        except Ended as error:
            return {}, self._ended(spoken, error.status)
        try:
            message = protocol.decode(line)
        except protocol.ProtocolFault as error:
            return {}, hints.line(spoken, line, str(error))
        why = protocol.answer_fault(message, method, identifier)
        return message, hints.message(spoken, message, why, identifier) if why else None

    def _ended(self, method: str, status: int) -> HintedFault:
        return hints.ended(method, status, self.process.stderr())


def _hello(wire: _Wire, **more: Any) -> Answered:
    message, fault = wire.ask(1, "hello", {"protocol": protocol.VERSION, **more})
    if fault is None and "ok" not in message:
        fault = hints.failed("hello", message, "ok with what it claims")
    return message, fault


def _says_hello(wire: _Wire) -> Optional[HintedFault]:
    return _hello(wire)[1]


def _ignores_unknown_fields(wire: _Wire) -> Optional[HintedFault]:
    return _hello(wire, something_new={"from": "a later version"})[1]


def _refuses_unknown_method(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    message, fault = wire.ask(2, "no-such-method", {})
    if fault is None and "unsupported" not in message:
        return hints.failed("no-such-method", message, "unsupported")
    return fault


def _survives_malformed_line(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    wire.send(b"this is not JSON\n")
    message, fault = wire.read("", None)
    if fault is None and "error" not in message:
        fault = hints.failed("a line that is no request", message, 'error, with "id": null')
    return fault or wire.ask(3, "reset", {})[1]


def _writes_one_line_an_answer(wire: _Wire) -> Optional[HintedFault]:
    """A further line would be taken for the answer to the next request."""
    _hello(wire)
    wire.send(protocol.encode({"id": 2, "method": "reset", "params": {}}))
    try:
        line = wire.process.line(wire.seconds)
    except (Late, Mute, Ended):
        return None  # what became of reset is asked elsewhere
    try:
        found = protocol.decode(line)
    except protocol.ProtocolFault:
        return hints.extra("hello", line)
    if found.get("id") == 1 or (found.get("id") is None and "error" not in found):
        return hints.extra("hello", line)
    return hints.extra("reset", wire.process.line(wire.seconds)) if wire.process.more() else None


def _takes_unicode(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    text = "名前 \u2028 \U0001f642 \\u0000"
    raw = ('{"id": 2, "method": "no-such-method", "params": {"text": "' + text + '"}}\n').encode("utf-8")
    wire.send(raw)
    return wire.read("no-such-method", 2)[1]


def _takes_long_lines(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    return wire.ask(2, "no-such-method", {"text": "x" * (1 << 20)})[1]


def _resets(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    message, fault = wire.ask(2, "reset", {})
    if fault is None and "ok" not in message:
        return hints.failed("reset", message, '"ok": {}')
    return fault


def _answers_alike(wire: _Wire) -> Optional[HintedFault]:
    first, fault = _hello(wire)
    second, fault_again = wire.ask(1, "hello", {"protocol": protocol.VERSION})
    if fault or fault_again:
        return fault or fault_again
    if first == second:
        return None
    return hints.other(
        "two equal requests have different answers",
        shorten(json.dumps(first), 200),
        shorten(json.dumps(second), 200),
        "Take times, counters and addresses out of answers: a case is asked again in a fresh worker and compared.",
    )


def _keeps_inside(wire: _Wire) -> Optional[HintedFault]:
    """Of a backend that claims `compile`: paths of files that it left lie in the folder of the programs."""
    hello, fault = _hello(wire)
    if fault or "compile" not in hello["ok"]["capabilities"]["features"]:
        return fault
    params = {
        "graph": resources.fixture("graphs/artifacts/apart.pbtxt", where="worker-check"),
        "surface": "session", "edition": "current",
        "feeds": ["x:0", "w:0", "y:0"], "fetches": ["product:0", "total:0"], "env": {},
        "values": {"op_debug_level": 3, "debug_dir": "/tmp/x"},
    }  # fmt: skip
    message, fault = wire.ask(2, "compile", params)
    if fault is not None or "ok" not in message:
        return fault or hints.failed("compile", message, "ok with turns")
    for turn in message["ok"]["turns"]:
        for path in [*turn.get("files", {}), *turn.get("left", {})]:
            if path.startswith("/") or ".." in path.split("/"):
                return HintedFault(
                    shorten(f"the path {path} does not lie in the folder of the programs", 400),
                    "paths below the folder of the programs",
                    shorten(path, 200),
                    "Lay absolute paths of options below the folder: /tmp/x is tmp/x there.",
                    "answer.ok.turns",
                )
    return None


def _answers_what_it_claims(wire: _Wire) -> Optional[HintedFault]:
    """Each method among the features is asked about a graph that does not exist: refused, but not ``unsupported``.

    All but ``run``, whose first answer may take as long as a whole framework does to be imported.
    """
    hello, fault = _hello(wire)
    if fault:
        return fault
    claims = hello["ok"]["capabilities"]
    edition = (claims["editions"] or ["current"])[0]
    claimed = set(claims["features"]) & set(protocol.methods()) - {"run"}
    for number, method in enumerate(sorted(claimed), 2):
        params = {"surface": "session", "edition": edition, "values": {}}
        if method != "options":
            params["graph"] = f"{wire.folder.path}/case/missing.pb"
        message, fault = wire.ask(number, method, params)
        if fault is None and ("unsupported" in message or (method == "options" and "error" in message)):
            fault = hints.failed(method, message, "ok, or rejected where the input is wrong")
        if fault:
            return fault._replace(text=f"{method}: {fault.text}")
    return None


def _ends_on_shutdown(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    wire.send(protocol.encode({"id": 2, "method": "shutdown", "params": {}}))
    _, fault = wire.read("shutdown", 2)
    return fault or _ends(wire)


def _ends_on_eof(wire: _Wire) -> Optional[HintedFault]:
    _hello(wire)
    wire.process.close_input()
    return _ends(wire)


def _ends(wire: _Wire) -> Optional[HintedFault]:
    status = wire.process.wait(wire.seconds)
    if status is None:
        return hints.other(
            "the worker keeps running", f"its end within {wire.seconds:g} s", "nothing",
            "Leave the loop after the answer to shutdown and at the end of input, and join or end threads of yours.",
        )  # fmt: skip
    if status == 0:
        return None
    fault = hints.ended("shutdown", status, wire.process.stderr())
    return fault._replace(text=f"the worker ends with status {status}", expected="status 0")


_CHECKS: List[Tuple[str, Callable[[_Wire], Optional[HintedFault]]]] = [
    ("says hello with what it claims", _says_hello),
    ("ignores fields it does not know", _ignores_unknown_fields),
    ("answers unsupported to an unknown method", _refuses_unknown_method),
    ("answers error with id null to a line that is not JSON, and goes on", _survives_malformed_line),
    ("takes any Unicode text", _takes_unicode),
    ("takes a line of 1 MiB", _takes_long_lines),
    ("writes one line an answer", _writes_one_line_an_answer),
    ("answers reset", _resets),
    ("answers equal requests alike", _answers_alike),
    ("leaves files of compile inside its folder", _keeps_inside),
    ("answers each method it claims", _answers_what_it_claims),
    ("ends on shutdown", _ends_on_shutdown),
    ("ends at the end of input", _ends_on_eof),
]
