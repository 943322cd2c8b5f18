"""Asks one backend in a worker process of its own, and says what came of it: each way to end is a class."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from npu_conformance.files import resources, scratch
from npu_conformance.protocol import messages as protocol
from npu_conformance.protocol import sandbox as sandboxes
from npu_conformance.protocol.answers import Answers, Kept
from npu_conformance.protocol.process import Ended, Late, Mute, Process
from npu_reference.errors import NpuError

__all__ = [
    "Answered", "UnsupportedOutcome", "Rejected", "Failed", "Crashed", "TimedOut", "Nonsense", "Outcome", "Client",
    "command", "describe", "environment", "read", "HELLO_SECONDS",
]  # fmt: skip

#: Time to start and say hello (assumed; a vendor's driver may have to wake a device).
HELLO_SECONDS = 60.0
_GRACE_SECONDS = 2.0  # between SIGTERM and SIGKILL, and for an asked worker to end (assumed)


class Answered(NamedTuple):
    """``ok``: an observation that follows the protocol."""

    ok: Mapping[str, Any]


class UnsupportedOutcome(NamedTuple):
    """The backend says it lacks ``feature``."""

    feature: str


class Rejected(NamedTuple):
    """The backend refuses the input: ``body`` has code, message, subject."""

    body: Mapping[str, Any]


class Failed(NamedTuple):
    """The backend reports an error of its own and lives on."""

    message: str


class Crashed(NamedTuple):
    """The worker ended without an answer: ``status`` as of subprocess, negative for a signal."""

    status: int
    stderr: str


class TimedOut(NamedTuple):
    """No answer in time; the worker was killed."""

    seconds: float
    stderr: str


class Nonsense(NamedTuple):
    """What came is no answer of the protocol; the worker was killed."""

    fault: str


Outcome = Union[Answered, UnsupportedOutcome, Rejected, Failed, Crashed, TimedOut, Nonsense]


def command(spec: str, python: str = "") -> List[str]:
    """The command line that starts a worker for SPEC.

    Args:
        python: interpreter for backends that our worker hosts; default the running one.
    Raises:
        NpuError: BACKEND_SPEC.
    """
    if spec.startswith("exec:"):
        try:
            parts = shlex.split(spec[len("exec:") :])
        except ValueError as error:
            raise NpuError("BACKEND_SPEC", spec, f"the command line cannot be split: {error}") from None
        if not parts:
            raise NpuError("BACKEND_SPEC", spec, "names no command")
        found = shutil.which(parts[0])
        if found is None:
            raise NpuError("BACKEND_UNAVAILABLE", spec, f"there is no command {parts[0]!r}")
        return [os.path.abspath(found)] + [_absolute(part) for part in parts[1:]]
    if _is_adapter(spec):
        named = spec[len("adapter:") :] or python or sys.executable
        found = shutil.which(named)
        if found is None:
            raise NpuError("BACKEND_UNAVAILABLE", spec, f"there is no interpreter {named!r}")
        # Its folder of installed packages is known by the path, so links stay as they are.
        script = os.path.join(resources.PACKAGE, "backends", "installed_adapter", "__main__.py")
        return [os.path.abspath(found), script]
    return [python or sys.executable, "-m", "npu_conformance.backends.worker", spec]


def _is_adapter(spec: str) -> bool:
    """Whether SPEC means the adapter that an environment has installed, which has no use for our packages."""
    return spec.partition(":")[0] == "adapter"


def _here() -> str:
    """The working directory; nothing where it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _absolute(part: str) -> str:
    """An argument that names an existing file, as an absolute path: the worker has a folder of its own."""
    return os.path.abspath(part) if os.path.exists(part) else part


#: Passed on from our environment when set; a backend sees nothing else of it.
_PASSED = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV",
    "TF_CPP_MIN_LOG_LEVEL", "TF_ENABLE_ONEDNN_OPTS", "TF_USE_LEGACY_KERAS", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip


def environment(extra: Optional[Mapping[str, str]] = None, packaged: bool = True) -> Dict[str, str]:
    """The whole environment of a worker: few variables of ours, our packages if ``packaged``, and ``extra``."""
    found = {name: os.environ[name] for name in _PASSED if name in os.environ}
    packages = os.path.dirname(resources.PACKAGE)
    import npu_reference

    reference = os.path.dirname(os.path.dirname(os.path.abspath(npu_reference.__file__)))
    given = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    ours = [packages, reference] if packaged else []
    paths = list(dict.fromkeys(ours + given + [_here()]))
    found["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    found.update(extra or {})
    return found


class Client:
    """One worker process at a time, in its own process group and its own folder.

    It is started by the first request and again after it died; ``hello`` is asked after each start.

    Args:
        spec: backend SPEC.
        factor: multiplies every time limit.
        env: further variables for the worker.
        python: interpreter for hosted backends.
        sandbox: what shuts the worker in, of :func:`sandbox.means`; None: nothing.
    """

    def __init__(
        self,
        spec: str,
        *,
        factor: float = 1.0,
        env: Optional[Mapping[str, str]] = None,
        python: str = "",
        sandbox: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.spec = spec
        self.factor = factor
        self._grace = max(_GRACE_SECONDS * min(factor, 1.0), 0.2)
        self._command = command(spec, python)
        self._env = environment(env, packaged=not _is_adapter(spec))
        self._scratch = scratch.Scratch("npu-worker-")
        self.folder = self._scratch.path
        self._env["TMPDIR"] = self.folder
        if sandbox is not None:
            self._command = sandboxes.command(sandbox, self.folder, self._command)
        self._process: Optional[Process] = None
        self._identifier = 0
        self._aborted = False
        self.served = 0  # requests the running worker has answered since it started
        self._answers = Answers(self.folder)
        self._looked_for: Optional[Tuple[str, Mapping[str, Any], bytes]] = None  # by `known`: to be written once

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def hello(self) -> Mapping[str, Any]:
        """What the backend claims, from a fresh worker.

        Raises:
            NpuError: BACKEND_UNAVAILABLE with the reason and the worker's last words.
        """
        self.stop()
        outcome = self._start()
        if isinstance(outcome, Answered):
            return outcome.ok
        raise NpuError("BACKEND_UNAVAILABLE", self.spec, f"did not say hello: {describe(outcome)}")

    def request(self, method: str, params: Mapping[str, Any], seconds: float) -> Outcome:
        """Asks once; starts a worker when none runs."""
        if self._process is None:
            outcome = self._start()
            if not isinstance(outcome, Answered):
                return outcome
        outcome = self._ask(method, params, seconds * self.factor)
        self.served += 1
        return outcome

    def known(self, method: str, params: Mapping[str, Any]) -> Optional[Outcome]:
        """What the running worker has answered to the same question, if that leaves nothing behind and is kept."""
        line = _line(0, method, params)
        self._looked_for = (method, params, line)
        kept = self._answers.recall(method, line)
        return None if kept is None else read(kept.line, method, kept.identifier)

    def fresh(self) -> None:
        """Makes the next request start a new worker."""
        self.stop()

    def abort(self) -> None:
        """From another thread: ends the worker at once, and lets no other start."""
        self._aborted = True
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        """Ends the worker: asks it to, then kills everything that came of it."""
        process = self._process
        if process is None:
            return
        if process.status is None and not self._aborted:
            with contextlib.suppress(protocol.ProtocolFault):
                process.send(_line(self._next(), "shutdown", {}))
                process.close_input()
                process.wait(self._grace)
        self._kill()

    def close(self) -> None:
        """Ends the worker and removes its folder."""
        try:
            self.stop()
        finally:
            self._scratch.close()

    def room(self) -> str:
        """A new, empty folder for the files of one case, always of one name: a path in an answer is the same each time.

        What the backend has made of its folder meanwhile is removed.

        Raises:
            OSError: it cannot be made.
        """
        scratch.folder(self.folder)
        place = os.path.join(self.folder, "case")
        scratch.empty(place)
        return place

    # Inside

    def _next(self) -> int:
        self._identifier += 1
        return self._identifier

    def _start(self) -> Outcome:
        if self._aborted:
            raise NpuError("BACKEND_UNAVAILABLE", self.spec, "was stopped")
        try:
            scratch.folder(self.folder)
            self._process = Process(self._command, self.folder, self._env, self._grace)
        except OSError as error:
            reason = f"cannot be started: {error.strerror or error}"
            raise NpuError("BACKEND_UNAVAILABLE", self.spec, reason) from None
        if self._aborted:  # meanwhile: whoever aborts saw no process yet
            self._kill()
            raise NpuError("BACKEND_UNAVAILABLE", self.spec, "was stopped")
        self.served = 0
        return self._ask("hello", {"protocol": protocol.VERSION}, HELLO_SECONDS * self.factor)

    def _ask(self, method: str, params: Mapping[str, Any], seconds: float) -> Outcome:
        process = self._process
        assert process is not None
        identifier = self._next()
        asked = self._line_of(identifier, method, params)
        process.send(asked)
        try:
            line = process.line(seconds)
        except Late:
            self._kill()
            return TimedOut(seconds, process.stderr())
        except Ended as ended:
            self._kill()
            return Crashed(ended.status, process.stderr())
        except Mute:
            status = process.wait(self._grace)
            self._kill()
            if status is None:
                return Nonsense("the worker closed its output and kept running")
            return Crashed(status, process.stderr())
        outcome = read(line, method, identifier)
        if not isinstance(outcome, Nonsense) and process.more():
            outcome = Nonsense("more than one line in answer to one request")
        if isinstance(outcome, Nonsense):
            self._kill()
        elif isinstance(outcome, (Answered, Rejected)):
            self._answers.keep(method, asked, Kept(identifier, line))
        return outcome

    def _line_of(self, identifier: int, method: str, params: Mapping[str, Any]) -> bytes:
        """The line of a request: that of :meth:`known` with its own number, where it has just been looked for."""
        before = self._looked_for
        if before is None or before[0] != method or before[1] is not params:
            return _line(identifier, method, params)
        self._looked_for = None
        return b'{"id":%d%s' % (identifier, before[2][before[2].index(b",") :])

    def _kill(self) -> None:
        process, self._process = self._process, None
        self._answers.clear()
        if process is not None:
            process.stop()
            process.close()


def _line(identifier: int, method: str, params: Mapping[str, Any]) -> bytes:
    return protocol.encode({"id": identifier, "method": method, "params": params})


def read(line: bytes, method: str, identifier: int) -> Outcome:
    """What one line says in answer to a request."""
    if method == "reset" and line == b'{"id":%d,"ok":{}}\n' % identifier:
        return Answered({})  # every second answer, which need not be parsed
    try:
        message = protocol.decode(line)
        fault = protocol.answer_fault(message, method, identifier)
    except protocol.ProtocolFault as error:
        fault = str(error)
    most = protocol.kept_bytes(method)
    if not fault and len(line) > most:
        fault = f"the answer has more than {most >> 10} KiB, which is more than a report keeps of one"
    if fault:
        return Nonsense(fault)
    if "ok" in message:
        return Answered(message["ok"])
    if "unsupported" in message:
        return UnsupportedOutcome(message["unsupported"]["feature"])
    if "rejected" in message:
        return Rejected(message["rejected"])
    return Failed(message["error"]["message"])


def describe(outcome: Outcome) -> str:
    """One line about an outcome, for a person."""
    if isinstance(outcome, Answered):
        return "answered"
    if isinstance(outcome, UnsupportedOutcome):
        return f"unsupported: {outcome.feature}"
    if isinstance(outcome, Rejected):
        return f"refused: [{outcome.body['code']}] {outcome.body['message']}"
    if isinstance(outcome, Failed):
        return f"its own error: {outcome.message}"
    if isinstance(outcome, TimedOut):
        return f"no answer within {outcome.seconds:g} s{_words(outcome.stderr)}"
    if isinstance(outcome, Nonsense):
        return f"no answer of the protocol: {outcome.fault}"
    how = f"by signal {_signal(-outcome.status)}" if outcome.status < 0 else f"with status {outcome.status}"
    if outcome.status == _SSH_STATUS and _LOST.search(outcome.stderr):
        return f"the connection was lost: ssh ended {how}{_words(outcome.stderr)}"
    return f"the worker ended {how}{_words(outcome.stderr)}"


#: With which ssh ends when itself had an error, and what it says of a connection that was there before (ssh(1)).
_SSH_STATUS = 255
_LOST = re.compile(r"closed by remote host|Broken pipe|Connection (reset|closed|timed out)|not responding")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _words(stderr: str) -> str:
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    return f"; its last line of stderr: {lines[-1][:300]}" if lines else ""
