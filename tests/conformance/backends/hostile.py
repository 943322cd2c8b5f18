"""Backends that attack the suite, each in one way: its pipes, its memory, its folder, its terminal.

``python hostile.py NAME`` speaks the protocol; the loop and the good answers are those of ``miniatures.py``.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import threading

import miniatures
from miniatures import Honest


def daemon():
    """Leaves a process in a session of its own, which ignores SIGTERM and holds stdin, stdout and stderr open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.execv(sys.executable, [sys.executable, "-S", "-c", "import signal; signal.pause()", *sys.argv[1:]])
        os._exit(0)
    os.wait()


class LeavesADaemon(Honest):
    """Starts a device daemon at the first request, and answers rightly."""

    running = False

    def partition(self, params):
        if not self.running:
            daemon()
            self.running = True
        return super().partition(params)


class DiesBesideItsDaemon(Honest):
    """Starts a daemon and dies."""

    def partition(self, params):
        daemon()
        os._exit(4)


class HangsBesideItsDaemon(Honest):
    """Starts a daemon and hangs, ignoring SIGTERM."""

    def partition(self, params):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        daemon()
        threading.Event().wait()


class StopsTheSuiteBesideItsDaemon(miniatures.StopsTheSuite):
    """Starts a daemon, then sends the suite a signal and hangs."""

    def partition(self, params):
        daemon()
        return super().partition(params)


class KillsItsKeeper(Honest):
    """Kills the process that keeps it, and ignores every end of input."""

    def partition(self, params):
        os.kill(os.getppid(), signal.SIGKILL)
        threading.Event().wait()


class KillsItsKeeperBesideItsDaemon(KillsItsKeeper):
    """The same with a daemon in a session of its own."""

    def partition(self, params):
        daemon()
        return super().partition(params)


class StopsItsKeeper(Honest):
    """Stops the process that keeps it, starts a daemon and hangs."""

    def partition(self, params):
        daemon()
        os.kill(os.getppid(), signal.SIGSTOP)
        threading.Event().wait()


class KillsTheSuite(Honest):
    """Starts a daemon, then kills what judges, or what started that, and hangs; the daemon holds the lock of the file
    that is named."""

    def partition(self, params):
        held = os.open(sys.argv[2], os.O_RDWR)
        fcntl.flock(held, fcntl.LOCK_EX)
        os.set_inheritable(held, True)
        daemon()
        judging = miniatures.suite()
        os.kill(miniatures.above(judging) if sys.argv[3] == "2" else judging, signal.SIGKILL)
        threading.Event().wait()


class Raw(Honest):
    """Answers a partition with the bytes ``raw``, in which ID is the request's."""

    raw = b""

    def answer(self, request):
        if request["method"] == "partition":
            return self.raw.replace(b"ID", str(request["id"]).encode()) + b"\n"
        return super().answer(request)


_GOOD = b'"geops": [{"nodes": ["a", "b"]}], "host": [{"node": "x"}]'


class Nested(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "new": ' + b"[" * 500 + b"]" * 500 + b"}}"


class HalfACharacter(Raw):
    raw = b'{"id": ID, "rejected": {"code": "GRAPH_FILE", "message": "\\ud800", "subject": ""}}'


class HalfACharacterInAName(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "new": {"\\udc00": 1}}}'


class ThousandsOfDigits(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "min_geops": ' + b"9" * 200000 + b"}}"


class BeyondDoubles(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "new": 1e999}}'


class NotANumber(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "new": NaN}}'


class TooManyValues(Raw):
    raw = b'{"id": ID, "ok": {' + _GOOD + b', "new": [' + b"[]," * 5000000 + b"[]]}}"


class Nothing(Raw):
    raw = b'{"id": ID, "ok": {"geops": [], "host": [{"node": "\\u0000"}]}}'


class LongFault(Raw):
    """Its fault quotes a megabyte."""

    raw = b'{"id": ID, "ok": {"geops": [{"nodes": 1, "' + b"k" * (1 << 20) + b'": 1}], "host": 2}}'


class WithoutDevice(Honest):
    """Says nothing of its device."""

    runtime = {}

    def hello(self, params):
        return {**super().hello(params), "runtime": self.runtime}


class StrangeDevice(WithoutDevice):
    """Says of its device what nobody expects, and claims to be asked by another SPEC."""

    runtime = {"device": ["simulated"], "python": 3}

    def hello(self, params):
        return {**super().hello(params), "spec": "reference"}


class HalfAName(Honest):
    """Its name is half a character."""

    def answer(self, request):
        return super().answer(request).replace(b'"HalfAName"', b'"\\ud800"')


class FakesAVerdict(Honest):
    """Its name moves the cursor, turns the direction of reading and writes a line of its own."""

    def hello(self, params):
        answer = super().hello(params)
        answer["backend"]["name"] = "x\r\nconformant: other 1\x1b[2K\u202e"
        return answer

    def partition(self, params):
        return {"geops": [{"nodes": ["a\x1b]0;title\x07", "b\u2028"]}], "host": []}


class FillsItsFolder(Honest):
    """Puts a file where the suite makes a folder, and folders deeper than a program can go back."""

    def partition(self, params):
        here = os.getcwd()
        self.asked = getattr(self, "asked", 0) + 1
        os.mkdir(f"folders{self.asked}")
        for name in ("case",):
            os.path.lexists(name) and os.rename(name, f"moved{self.asked}-{name}")
        with open("case", "w") as stream:
            stream.write("mine")
        os.chdir(f"folders{self.asked}")
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(here)
        return super().partition(params)


class ReplacesItsFolder(Honest):
    """Puts a link where its folder was."""

    def partition(self, params):
        here = os.getcwd()
        os.rename(here, here + "-gone")
        os.symlink("/", here)
        return super().partition(params)


class Escapes(Honest):
    """Says what it could do: read, write and remove what lies elsewhere, connect, fill its folder."""

    def options(self, params):
        outside, port = sys.argv[2], int(sys.argv[3])

        def write(path):
            with open(path, "w") as stream:
                stream.write("mine")

        deeds = {
            "inside": lambda: write("inside"),
            "reads": lambda: open(outside).close(),
            "writes": lambda: write(outside),
            "adds": lambda: write(outside + "-more"),
            "removes": lambda: os.unlink(outside),
            "above": lambda: write(os.path.join(os.pardir, "above")),
            "links": lambda: os.symlink("/", os.path.join(os.pardir, "link")),
            "connects": lambda: socket.create_connection(("127.0.0.1", port), 5).close(),
        }
        done = []
        for name, deed in deeds.items():
            with contextlib.suppress(OSError):
                deed()
                done.append(name)
        return {"effective": {"done": {"value": sorted(done)}}, "warnings": []}


class EndlessLines(Honest):
    """Writes lines without end, and ignores SIGTERM."""

    def answer(self, request):
        if request["method"] != "partition":
            return super().answer(request)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            os.write(1, b"x" * ((16 << 20) - 1) + b"\n")


class Fetches(Honest):
    """Answers `run` with the tensors of the JSON file named on its command line."""

    features = ["partition", "options", "run"]

    def run(self, params):
        with open(sys.argv[2]) as stream:
            return {"fetches": {"a:0": json.load(stream)}}


if __name__ == "__main__":
    vars(miniatures).update({name: value for name, value in globals().items() if not name.startswith("__")})
    miniatures.main(sys.argv[1])
