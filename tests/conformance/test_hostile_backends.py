"""A backend that attacks the suite costs its cases at most: the run ends in time, holds, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any, Dict

import pytest

from npu_conformance.files import output, scratch
from npu_conformance.judging import records
from npu_conformance.observing import tensors
from npu_conformance.protocol import client
from npu_conformance.report import verify, write
from npu_conformance.running import lanes
from npu_reference.errors import NpuError
from tests.conformance.shelves import BACKENDS, QUICK, Shelf, details, judged, statuses
from tests.depth import at_night

pytestmark = pytest.mark.oldest_at_night

HOSTILE = os.path.join(BACKENDS, "hostile.py")
FAST = QUICK._replace(factor=0.03)  # 0.3 s an answer
UNTOUCHED = {"small-options": "pass", "small-what-follows": "pass"}


def attacking(name: str, *arguments: str) -> str:
    return " ".join([f"exec:{sys.executable}", HOSTILE, name, *arguments])


def attacked(shelf: Shelf, spec: str, settings: lanes.Settings = QUICK) -> records.Report:
    """The report of a run, whose folder can be written and holds; nobody of this backend lives on."""
    folder = shelf.path("report")
    with output.replaced_folder(folder) as aside:
        report = judged(shelf, spec, settings, keep=aside)
        write.write(shelf.load(), report, aside)
    assert verify.verify(shelf.load(), folder).faults == ()
    listing = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert spec.split()[-1] not in [word for line in listing.splitlines() for word in line.split()]
    return report


@pytest.fixture(autouse=True)
def nothing_is_left(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Any:
    os.mkdir(shelf.path("temporary"))
    monkeypatch.setattr("tempfile.tempdir", shelf.path("temporary"))
    yield
    assert os.listdir(shelf.path("temporary")) == []


@pytest.mark.parametrize(
    "name, status, says",
    [
        ("LeavesADaemon", "pass", ""),
        ("DiesBesideItsDaemon", "crash", "with status 4"),
        ("HangsBesideItsDaemon", "timeout", "no answer within 0.3 s"),
        ("KillsItsKeeper", "crash", "SIGKILL"),
        ("StopsItsKeeper", "timeout", "no answer within 0.3 s"),
        ("Nested", "protocol-error", "nested deeper than 64"),
        ("HalfACharacter", "protocol-error", "half a character"),
        at_night("HalfACharacterInAName", "protocol-error", "half a character"),
        at_night("ThousandsOfDigits", "protocol-error", "more than 64 bits"),
        at_night("BeyondDoubles", "protocol-error", "beyond what 64 bits hold"),
        at_night("NotANumber", "protocol-error", "NaN is not JSON"),
        ("TooManyValues", "protocol-error", "more than 2000000 values"),
        ("Nothing", "fail", ""),
        at_night("LongFault", "protocol-error", "is not of type"),
        at_night("WithoutDevice", "pass", ""),
        at_night("StrangeDevice", "pass", ""),
        ("FillsItsFolder", "pass", ""),
        ("ReplacesItsFolder", "pass", ""),
    ],
)
def test_an_attack_costs_its_cases_and_nothing_else(shelf: Shelf, name: str, status: str, says: str) -> None:
    report = attacked(shelf, attacking(name), FAST if status == "timeout" else QUICK)
    found = statuses(report)
    assert found == {**UNTOUCHED, "small-partition": status, "small-partition-again": status}
    assert all(says in text and len(text) < 1100 for text in details(report)), details(report)
    assert report.header["backend"]["spec"] == attacking(name)


def test_what_came_of_a_worker_that_killed_its_keeper_is_ended_by_its_lane(shelf: Shelf) -> None:
    report = attacked(shelf, attacking("KillsItsKeeperBesideItsDaemon"), QUICK._replace(jobs=2))
    assert statuses(report) == {**UNTOUCHED, "small-partition": "crash", "small-partition-again": "crash"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_suite_that_is_killed_takes_the_daemons_of_its_worker_along(shelf: Shelf, jobs: int) -> None:
    lock = shelf.write("lock", "")
    program = (
        "import sys\n"
        "from tests.conformance.shelves import QUICK, Shelf, judged\n"
        "judged(Shelf(sys.argv[1]), sys.argv[2], QUICK._replace(jobs=int(sys.argv[3])))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment["TMPDIR"] = shelf.path("temporary")
    spec = attacking("KillsTheSuite", lock, str(jobs))
    words = [sys.executable, "-c", program, shelf.folder, spec, str(jobs)]
    ended = subprocess.run(words, env=environment, timeout=60, stderr=subprocess.DEVNULL).returncode
    assert ended == -signal.SIGKILL
    # Whoever of them lives holds it.
    waits = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'r+'), fcntl.LOCK_EX)"
    subprocess.run([sys.executable, "-c", waits, lock], timeout=30, check=True)
    scratch._swept.clear()
    scratch._sweep(shelf.path("temporary"), "npu-worker-")  # as the next run does


def test_half_a_character_in_hello_is_said_to_be_that(shelf: Shelf) -> None:
    with pytest.raises(NpuError) as caught:
        judged(shelf, attacking("HalfAName"), FAST)
    assert caught.value.code == "BACKEND_UNAVAILABLE"
    assert "half a character" in caught.value.message


def test_a_missing_field_of_hello_is_named(shelf: Shelf) -> None:
    from npu_conformance.protocol.messages import ok_fault

    assert ok_fault("hello", {"protocol": 1, "backend": {"name": "x"}}) == "ok: has no 'capabilities'"
    long = {"protocol": 1, "backend": {"name": "x" * 300, "version": ""}, "capabilities": {}}
    assert ok_fault("hello", long) == "ok.backend.name: has more than 200 characters"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.nightly
def test_a_signal_ends_a_run_whose_backend_left_a_daemon(shelf: Shelf, number: int) -> None:
    folder = shelf.path("temporary")
    spec = attacking("StopsTheSuiteBesideItsDaemon", str(int(number)), folder)
    done = subprocess.run(
        [sys.executable, "-m", "npu_conformance", "run", "-n", "1", "--backend", spec, "--out", "report"],
        capture_output=True, cwd=folder, env={**client.environment(QUICK.env), "TMPDIR": folder}, timeout=60,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (130, [b"interrupted"])
    listing = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert folder not in listing


def test_no_name_of_a_backend_is_obeyed_by_a_terminal_or_makes_a_line(shelf: Shelf, capsys: Any) -> None:
    from npu_conformance.report import summary, text

    report = attacked(shelf, attacking("FakesAVerdict"))
    text.run(shelf.load(), report, summary.areas(report), "report\x1b[1m", False)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\r\x1b\x07\u202e\u2028")
    assert [line for line in shown.splitlines() if line.startswith("conformant")] == []


def test_a_backend_that_writes_without_end_costs_bounded_memory(shelf: Shelf) -> None:
    program = (
        "import sys\n"
        "from tests.conformance.shelves import Shelf, judged\n"
        "from tests.conformance.test_hostile_backends import FAST, attacking\n"
        "print(judged(Shelf(sys.argv[1]), attacking('EndlessLines'), FAST).verdict)\n"
        # What getrusage says includes what the process was before it became this program.
        "status = open('/proc/self/status').read()\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, shelf.folder], stdout=subprocess.PIPE, check=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    verdict, kilobytes = done.stdout.decode().splitlines()
    assert verdict == "not conformant"
    assert int(kilobytes) < 250 << 10


# Tensors that come as files


def wire(**more: Any) -> Dict[str, Any]:
    return {"dtype": "float32", "shape": [2], **more}


@pytest.mark.parametrize(
    "tensor, says",
    [
        (wire(file="/dev/zero"), "outside the worker's folder"),
        (wire(file="../secret"), "outside the worker's folder"),
        (wire(file="link"), "outside the worker's folder"),
        (wire(file="pipe"), "no regular file"),
        (wire(file="."), "no regular file"),
        (wire(file="sparse"), "its shape needs 8"),
        (wire(file="sparse", shape=[1 << 38]), "more than 256 MiB"),
        (wire(file="sparse", dtype="string"), "more than 256 MiB"),
        (wire(file="a\0b"), "whose name is none"),
        (wire(file="a\ud800"), "none"),
        (wire(file="a" * 5000), "cannot be read"),
        (wire(b64="", shape=[1 << 62] * 254), "more than 256 MiB"),
        (wire(b64="", shape=[1 << 62] * 200000), "200000 dimensions"),
        (wire(b64="AAAA", shape=[1, 0, 1 << 62]), "its shape needs 0"),
        (wire(b64="\u00e4", shape=[]), "neither valid b64 nor a file"),
    ],
)  # fmt: skip
def test_a_tensor_is_a_regular_file_in_the_folder_of_the_size_it_needs(tmp_path, tensor: Any, says: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(str(folder / "pipe"))
    with open(str(folder / "sparse"), "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(tensors.BadTensor) as caught:
        tensors.decode_bytes(tensor, str(folder))
    assert says in str(caught.value)


RUN = """
[defaults]
editions = ["current"]

[[case]]
id = "small-run"
title = "a is what it is"
requirements = ["small.one"]
method = "run"
params = { graph = "small.pbtxt", fetches = ["a:0"] }
expect = { finite = ["a:0"] }
"""


def test_a_tensor_that_is_none_costs_its_case_and_the_report_still_holds(shelf: Shelf) -> None:
    shelf.write("cases/small/run.toml", RUN)
    answer = shelf.write("answer.json", json.dumps(wire(file="/dev/zero")))
    report = attacked(shelf, attacking("Fetches", answer))
    assert {**statuses(report)}["small-run"] == "protocol-error"
    assert details(report) == [
        "no answer of the protocol: a tensor of the answer has a file outside the worker's folder"
    ]
