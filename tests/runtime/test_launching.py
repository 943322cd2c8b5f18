"""Ranks as processes: one program started as several, what each says, and that all end when one does."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from npu_conformance.protocol import schema
from npu_reference.errors import NpuError
from npu_reference.runtime.scripts.forking import Forker

pytestmark = [pytest.mark.not_between, pytest.mark.newest_at_night]

SCRIPTS = pathlib.Path(__file__).parents[2] / "fixtures" / "scripts" / "cases"
BOUND = 240  # seconds; a process imports TensorFlow


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RANK_", "NPU_REFERENCE_"))}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "2", **more}


def finished(process):
    """What a process of its own group says, and its status; whatever happens, nothing of it stays."""
    try:
        out, err = process.communicate(timeout=BOUND)
        return process.returncode, out.decode(), err.decode()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def start(arguments, module="npu_reference", **more):
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**more),
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def forker():
    made = Forker()
    yield made
    made.close()


def asked(forker, source, ranks=2, **more):
    params = {"source": source, "surface": "session", "edition": "current", "values": {}, "ranks": ranks, **more}
    return forker.ask(params)["ranks"]


def test_ranks_find_imported_what_they_import_and_tensorflow_as_they_would_have_it(forker):
    source = """
import sys
print("npu_bridge.npu_init" in sys.modules)
import tensorflow as tf
v1 = tf.compat.v1
print([v1.resource_variables_enabled(), v1.control_flow_v2_enabled()] == 2 * [not tf.__version__.startswith("1.")])
"""
    assert [one["ok"]["output"] for one in asked(forker, source)] == 2 * ["True\nTrue\n"]


@pytest.mark.nightly
def test_eight_processes_train_what_one_device_makes_of_the_joined_batch():
    status, out, err = finished(start(["--ranks", "8", SCRIPTS / "data_parallel.py"]))
    assert status == 0, err
    said = [line for line in out.splitlines() if "joined batch" in line]
    assert sorted(said) == [f"[rank {rank}] as one device with the joined batch: True" for rank in range(8)]


@pytest.mark.nightly
def test_processes_that_a_launch_script_starts_find_each_other(tmp_path):
    """As many launch scripts do it: one process a rank, started apart, which share JOB_ID and nothing else."""
    tmp_path = tmp_path / ("a folder whose name is longer than the address of a socket may be " * 2)
    tmp_path.mkdir()
    processes = [
        start([SCRIPTS / "collectives.py"], RANK_SIZE="2", RANK_ID=rank, JOB_ID="of this test", TMPDIR=str(tmp_path))
        for rank in ("1", "0")
    ]
    found = [finished(process) for process in processes]
    assert [status for status, _, _ in found] == [0, 0], found
    assert all("sum: [10, 12, 14, 16]" in out for _, out, _ in found)
    assert "reduce_scatter: [14, 16]" in found[0][1] and "reduce_scatter: [10, 12]" in found[1][1]
    assert not list(tmp_path.glob("npu_reference*")), "what they met at is still there"


HEAD = """
import os, sys
from npu_bridge.npu_init import *
rank = int(os.environ["RANK_ID"])
y = hccl_ops.allreduce(tf.constant([1.0 + rank]), "sum")
"""
RUN = """
with tf.Session(config=npu_config_proto()) as session:
    print(session.run(y))
"""


def test_each_rank_has_its_environment(forker):
    names = ("RANK_SIZE", "RANK_ID", "DEVICE_ID", "ASCEND_DEVICE_ID", "JOB_ID")
    for rank, told in enumerate(asked(forker, f"import os\nfor name in {names!r}: print(name, os.environ[name])")):
        lines = dict(line.split() for line in told["ok"]["output"].splitlines())
        assert lines == {
            "RANK_SIZE": "2", "RANK_ID": str(rank), "DEVICE_ID": str(rank), "ASCEND_DEVICE_ID": str(rank),
            "JOB_ID": "10087",
        }  # fmt: skip


def test_the_collector_of_a_rank_walks_nothing_of_what_all_ranks_share(forker):
    for told in asked(forker, "import gc\nprint(gc.get_freeze_count(), gc.isenabled())"):
        apart, enabled = told["ok"]["output"].split()
        assert int(apart) > 100_000 and enabled == "True"  # TensorFlow's modules


def test_records_say_the_device_the_rank_and_what_was_exchanged(forker):
    for rank, told in enumerate(asked(forker, HEAD + RUN)):
        record = told["ok"]["trace"][0]
        assert told["ok"]["output"].strip() == "[3.]" and (record["device"], record["rank"]) == (rank, rank)
        (one,) = record["collectives"]
        assert (one["kind"], one["ranks"], one["bytes"]) == ("allreduce", [0, 1], 4)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("os.kill(os.getpid(), 9)", "its process died"),
        ("raise ValueError('no')", "rank 1 has failed"),
        ("sys.exit(0)", "rank 1 has ended"),
    ],
)
def test_who_waits_for_a_rank_that_is_gone_is_told_at_once(forker, end, said):
    told = "try:\n    tf.Session(config=npu_config_proto()).run(y)\nexcept tf.errors.OpError as error: print(error)"
    first, second = asked(forker, f"{HEAD}\nif rank == 1: {end}\n{told}")
    assert "COLLECTIVE_TIMEOUT" in first["ok"]["output"] and said in first["ok"]["output"]
    assert ("ok" in second) == (end == "sys.exit(0)")


def test_a_rank_that_would_go_on_for_ever_is_ended_with_the_one_that_failed(forker):
    first, second = asked(
        forker, f"{HEAD}\nif rank == 1: raise ValueError('no')\nimport threading; threading.Event().wait()"
    )
    assert "ended with -" in first["rejected"]["message"] and "no" in second["rejected"]["message"]


def test_a_number_of_ranks_that_cannot_be_is_refused(forker):
    with pytest.raises(NpuError, match="Ask for 1 to 16"):
        asked(forker, "", ranks=17)


def test_one_answer_and_one_page_tell_of_every_rank(tmp_path):
    """Of one that failed what ended it, of one that was ended with it that nothing is told."""
    script, page = tmp_path / "script.py", tmp_path / "page.html"
    last = "if rank == 1: raise KeyError('</script><b>')\nimport threading; threading.Event().wait()\n"
    script.write_text(f"{HEAD}{RUN}{last}")
    words = ["simulate", "--ranks", "2", "--format", "json", "--html", page, script]
    status, out, err = finished(start(words, module="npu_conformance"))
    assert status == 1, err
    answer = json.loads(out.splitlines()[-1])
    assert schema.fault(answer, schema.load("simulate-ranks"), schema.load("simulate-ranks")) is None
    assert (answer["first_to_fail"], [one["rank"] for one in answer["ranks"]]) == (1, [0, 1])
    ended, failed = (one["answer"] for one in answer["ranks"])
    assert ended is None and failed["failure"]["kind"] and failed["sessions"][0]["runs"] == 1
    text = page.read_text(encoding="utf-8")
    assert "KeyError" in text and "</script><b>" not in text and not list(tmp_path.glob("npu-conformance*"))


def test_nothing_outlives_what_started_it(tmp_path):
    """Not even where it is killed, and the ranks have started processes of their own."""
    source = (
        "import os, subprocess, sys, threading\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])\n"
        f"open(os.path.join({str(tmp_path)!r}, os.environ['RANK_ID']), 'w').write('%d %d' % (os.getpid(), child.pid))\n"
        f"os.mkfifo(os.path.join({str(tmp_path)!r}, 'fifo' + os.environ['RANK_ID']))\n"
        "threading.Event().wait()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(source)
    process = start(["--ranks", "2", script])
    try:
        limit = time.monotonic() + BOUND
        while not all((tmp_path / f"fifo{rank}").exists() for rank in (0, 1)):
            assert time.monotonic() < limit and process.poll() is None
            time.sleep(0.05)
        pids = [int(pid) for rank in (0, 1) for pid in (tmp_path / str(rank)).read_text().split()]
    finally:
        process.kill()
        process.communicate()
    limit = time.monotonic() + 30
    while [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < limit, "a rank, or what it started, is still there"
        time.sleep(0.05)


COPIED = """
import os, select, subprocess, sys
from npu_reference.runtime.scripts.forking import Forker

reads, writes = os.pipe()  # somebody waits for its end
forker = Forker()
forker.copy_this()
os.close(writes)
assert select.select([reads], [], [], 30)[0], "the copy holds what is not its own"
copy = forker._process.pid
other = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
import tensorflow as tf
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    session.list_devices()  # TensorFlow has threads here from now on
params = {"source": "import os; print(os.getppid(), os.getpgid(os.getppid()))", "ranks": 2}
ranks = forker.ask({"surface": "session", "edition": "current", "values": {}, **params})["ranks"]
assert [one["ok"]["output"] for one in ranks] == 2 * ["%d %d\\n" % (copy, os.getpgid(0))], ranks
print(copy, flush=True)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no process is copied here")
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("forker._process.stdin.close(); assert os.waitpid(copy, 0)[1] == 0; forker.close(); other.kill()", 0),
        ("forker.close(); assert not os.path.exists('/proc/%d' % copy); other.kill()", 0),
    ],
    ids=["killed", "closes its end", "closes"],
)
def test_a_copy_of_the_one_who_asks_answers_and_ends_with_it(end, status):
    """In its process group, and whatever else was started meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error::DeprecationWarning:npu_reference", "-c", COPIED + end],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        copy = int(process.stdout.readline() or 0)
        ended = process.wait(60)
        limit = time.monotonic() + 30
        while copy and is_running(copy):
            assert time.monotonic() < limit, "the copy is still there"
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what else was started holds its streams
        _, err = process.communicate()
    assert (ended, copy > 0) == (status, True), err.decode()


def test_a_process_that_has_tensorflow_is_not_copied():
    """It may have threads, and they are not copied."""
    importlib.import_module("tensorflow")
    made = Forker()
    made.copy_this()
    assert made._process is None


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
