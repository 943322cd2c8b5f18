"""Miniature backends, each good or bad in one way. Standard library only; nothing of the suite is imported.

``python miniatures.py NAME`` speaks the protocol itself; ``py:miniatures:NAME`` is hosted by the suite's worker.
Each knows one graph's partition by heart: GEOP {a, b}, host {x}.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading


def above(pid):
    """Process id of the parent of a process."""
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)]))


def suite():
    """Process id of what judges: the parent of what keeps this worker."""
    return above(os.getppid())


class Honest:
    """Answers rightly."""

    features = ["partition", "options"]
    protocol = 1

    def hello(self, params):
        return {
            "protocol": self.protocol,
            "backend": {"name": type(self).__name__, "version": "1"},
            "capabilities": {"areas": ["small"], "editions": ["current"], "features": self.features},
        }

    def partition(self, params):
        return {"geops": [{"name": "any", "nodes": ["b", "a"]}], "host": [{"node": "x"}]}

    def options(self, params):
        return {"effective": {name: {"value": value} for name, value in params["values"].items()}, "warnings": []}

    def answer(self, request):
        """Lines to write for one request, as bytes."""
        method = getattr(self, request["method"], None)
        if request["method"] in ("reset", "shutdown"):
            body = {"ok": {}}
        elif method is None:
            body = {"unsupported": {"feature": request["method"]}}
        else:
            body = {"ok": method(request["params"])}
        return json.dumps({"id": request["id"], **body}).encode() + b"\n"


class OtherwiseOrdered(Honest):
    """Names and orders its GEOPs in a way of its own, which no fact shows."""

    def partition(self, params):
        return {"geops": [{"name": "cluster-99", "nodes": ["a", "b"]}], "host": [{"node": "x", "reason": "whatever"}]}


class Lies(Honest):
    """Puts x on the device."""

    def partition(self, params):
        return {"geops": [{"nodes": ["a", "b", "x"]}], "host": []}


class Crashes(Honest):
    """Dies of a segmentation fault when asked for a partition."""

    def partition(self, params):
        sys.stderr.write("about to read address zero\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)


class LosesConnection(Honest):
    """Ends the process of the ssh server that brought it here when asked for a partition."""

    def partition(self, params):
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)


class ReallyReadsAddressZero(Honest):
    """Dies inside native code when asked for a partition."""

    def partition(self, params):
        ctypes.string_at(0)


class Exits(Honest):
    """Ends with status 0 instead of an answer when asked for a partition."""

    def partition(self, params):
        os._exit(0)


class Hangs(Honest):
    """Never answers when asked for a partition."""

    def partition(self, params):
        threading.Event().wait()


class HangsAndIgnoresSigterm(Hangs):
    """Never answers when asked for a partition, and does not end when asked to."""

    def partition(self, params):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Event().wait()


class HangsWithChild(Honest):
    """Never answers when asked for a partition, and leaves a child process that holds its output open."""

    def partition(self, params):
        subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        threading.Event().wait()


class Prints(Honest):
    """Prints to stdout while it works."""

    def partition(self, params):
        print("partitioning ...", flush=True)
        return super().partition(params)


class WritesDescriptorOne(Honest):
    """Writes to file descriptor 1 as native code does, and through a child process."""

    def partition(self, params):
        os.write(1, b'{"id": 1, "ok": "not me"}\n')
        subprocess.check_call([sys.executable, "-c", "print('nor me')"])
        return super().partition(params)


class ReadsStdin(Honest):
    """Reads its stdin while it works, which must not eat requests."""

    def partition(self, params):
        sys.stdin.read()
        return super().partition(params)


class Raises(Honest):
    """Raises an exception of its own when asked for a partition."""

    def partition(self, params):
        raise KeyError("no such thing")


class Refuses(Honest):
    """Refuses every graph by an exception with code, message and subject."""

    def partition(self, params):
        error = ValueError("no")
        error.code, error.message, error.subject = "GRAPH_LIMIT", "it is too large", "g"
        raise error


class Overclaims(Honest):
    """Claims partition, then raises NotImplementedError."""

    def partition(self, params):
        raise NotImplementedError("partition of anything")


class Modest(Honest):
    """Claims no partition, and has none."""

    features = ["options"]
    partition = None


class Leaks(Honest):
    """Answers rightly once, wrongly afterwards: state leaks between requests."""

    asked = 0

    def partition(self, params):
        self.asked += 1
        return super().partition(params) if self.asked == 1 else {"geops": [], "host": []}


class CrashesOnSecond(Honest):
    """Dies at the second partition of its life."""

    asked = 0

    def partition(self, params):
        self.asked += 1
        if self.asked == 2:
            os._exit(3)
        return super().partition(params)


class OldProtocol(Honest):
    """Speaks protocol 0."""

    protocol = 0


class NeverStarts(Honest):
    """Ends before it says hello."""

    def hello(self, params):
        sys.stderr.write("no device found\n")
        sys.stderr.flush()
        os._exit(7)


class NotJson(Honest):
    """Answers a partition in prose."""

    def answer(self, request):
        return b"two GEOPs, I think\n" if request["method"] == "partition" else super().answer(request)


class NotUtf8(Honest):
    """Answers a partition with bytes that are no text."""

    def answer(self, request):
        return b"\xff\xfe{}\n" if request["method"] == "partition" else super().answer(request)


class WrongId(Honest):
    """Answers a partition under another request's id."""

    def answer(self, request):
        if request["method"] == "partition":
            request = {**request, "id": request["id"] + 1000}
        return super().answer(request)


class TwoMembers(Honest):
    """Answers a partition with ok and error at once."""

    def answer(self, request):
        if request["method"] != "partition":
            return super().answer(request)
        return json.dumps({"id": request["id"], "ok": self.partition({}), "error": {"message": "?"}}).encode() + b"\n"


class Twice(Honest):
    """Answers a partition twice, in one write."""

    def answer(self, request):
        return super().answer(request) * (2 if request["method"] == "partition" else 1)


class WrongShape(Honest):
    """Answers a partition whose nodes are a number."""

    def partition(self, params):
        return {"geops": [{"nodes": 2}], "host": []}


class Deep(Honest):
    """Answers a partition nested a hundred thousand deep."""

    def answer(self, request):
        return b"[" * 100000 + b"\n" if request["method"] == "partition" else super().answer(request)


class Huge(Honest):
    """Answers a partition with a line of 17 MiB."""

    def answer(self, request):
        return b" " * (17 << 20) + b"\n" if request["method"] == "partition" else super().answer(request)


class Endless(Honest):
    """Answers a partition with a line that never ends."""

    def answer(self, request):
        if request["method"] != "partition":
            return super().answer(request)
        while True:
            os.write(1, b"x" * (1 << 16))


class ClosesOutput(Honest):
    """Closes its output when asked for a partition and lives on."""

    def answer(self, request):
        if request["method"] == "partition":
            os.close(1)
            threading.Event().wait()
        return super().answer(request)


class Chatty(Honest):
    """Writes megabytes to stderr while it works."""

    def partition(self, params):
        for _ in range(64):
            os.write(2, b"y" * (1 << 16))
        return super().partition(params)


class HostileNames(Honest):
    """Answers with node names full of markup, control characters and text beyond ASCII."""

    def partition(self, params):
        nodes = ["</script><script>alert(1)</script>", "a\x1b[31m\x00\n", "名前\u2028", "{{ 7*7 }}"]
        return {"geops": [{"nodes": nodes}], "host": [{"node": "<img src=x onerror=alert(2)>"}]}


class Environment(Honest):
    """Answers the option `seen` with the names of its environment variables."""

    def options(self, params):
        return {"effective": {"seen": {"value": sorted(os.environ)}}, "warnings": []}


class StopsTheSuite(Honest):
    """Claims everything, sends the suite the signal named on its command line when asked, and hangs."""

    features = ["partition", "options", "op_list"]

    def hello(self, params):
        answer = super().hello(params)
        answer["capabilities"]["areas"] = ["mixed"]
        return answer

    def partition(self, params):
        os.kill(suite(), int(sys.argv[2]))
        threading.Event().wait()


class StopsTheSuiteAbove(StopsTheSuite):
    """The same, of whatever started the process that judges; of several workers the first to be asked."""

    def partition(self, params):
        try:
            os.close(os.open(sys.argv[3], os.O_CREAT | os.O_EXCL))
            os.kill(above(suite()), int(sys.argv[2]))
        except FileExistsError:
            pass
        threading.Event().wait()


class KillsItsJudge(Honest):
    """Kills the process that judges it when it is asked for a partition."""

    def partition(self, params):
        os.kill(suite(), signal.SIGKILL)
        threading.Event().wait()


def main(name):
    backend = globals()[name]()
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            answer = backend.answer(request)
        except ValueError as error:
            request = {}
            answer = json.dumps({"id": None, "error": {"message": str(error)}}).encode() + b"\n"
        try:
            while answer:
                answer = answer[os.write(1, answer) :]
        except BrokenPipeError:
            return
        if request.get("method") == "shutdown":
            return


if __name__ == "__main__":
    main(sys.argv[1])
