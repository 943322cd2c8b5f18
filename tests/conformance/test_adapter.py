"""An installed adapter is judged with nothing to write: our drop-in as if it were a vendor's, and a broken copy."""

from __future__ import annotations

import base64
import os
import struct
import sys
from typing import Any, Set

import pytest

from npu_conformance.backends.reference import tensorflow_version
from npu_conformance.judging.records import Report
from npu_conformance.library import selection
from npu_conformance.protocol import client
from npu_conformance.report import verify, write
from npu_conformance.running import runner
from npu_reference.errors import NpuError
from tests.cases.corpus import corpus
from tests.conformance.shelves import BACKENDS

pytestmark = [pytest.mark.tensorflow, pytest.mark.not_between, pytest.mark.not_newest]

#: Values that are taken and that are refused, on both surfaces, and a script.
ASKED = "precision-domain or runconfig-iterations or session-device-id or session-of-another"

#: Placement, as RunMetadata shows it.
PLACED = "sample-001-true"

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Add" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""

#: Scripts are asked of TensorFlow 1 alone, and one environment shows what a whole run shows.
one_environment = pytest.mark.skipif((tensorflow_version() or (0,))[0] != 1, reason="judged with TensorFlow 1")


def settings(kind: str, features: str = "") -> runner.Settings:
    folder, _, fault = kind.partition(":")
    env = {"PYTHONPATH": os.path.join(BACKENDS, "adapters", folder), "TF_CPP_MIN_LOG_LEVEL": "2", "NPU_CHANGED": fault}
    env["NPU_ADAPTER_FEATURES"] = features
    return runner.Settings(factor=3.0, repeat=False, env=env)


def judged(kind: str, keep: str = "", keyword: str = ASKED, features: str = "") -> Report:
    shelf = corpus()
    asked = {"areas": [], "editions": [], "keyword": keyword}
    wanted = selection.select(shelf, keyword=keyword)
    how = settings(kind, features)
    return runner.run(shelf, wanted, f"adapter:{sys.executable}", how, selection=asked, keep=keep or None)


def statuses(report: Report) -> Set[str]:
    return {record.result.status for record in report.records}


def doubled(kind: str, tmp_path: Any) -> float:
    """What ``y`` is of a session that is fed 3."""
    path = tmp_path / "double.pbtxt"
    path.write_text(GRAPH)
    fed = {"dtype": "float32", "shape": [], "b64": base64.b64encode(struct.pack("<f", 3.0)).decode()}
    values = {"use_off_line": True, "mix_compile_mode": True}
    params = {"graph": str(path), "surface": "session", "edition": "current", "values": values}
    with settings(kind).client("adapter") as worker:
        outcome = worker.request("run", {**params, "feeds": {"x:0": fed}, "fetches": ["y:0"]}, 60.0)
    assert isinstance(outcome, client.Answered), client.describe(outcome)
    return struct.unpack("<f", base64.b64decode(outcome.ok["fetches"]["y:0"]["b64"]))[0]


@one_environment
def test_our_drop_in_is_conformant_as_a_vendors_adapter_and_the_report_holds(tmp_path: Any) -> None:
    report = judged("good", str(tmp_path))
    assert [record.instance.id for record in report.records if record.result.status == "fail"] == []
    assert statuses(report) == {"pass", "unsupported"}
    assert sum(record.result.status == "pass" for record in report.records) >= 10
    assert report.verdict == "conformant"
    shelf = corpus()
    write.write(shelf, report, str(tmp_path))
    assert verify.verify(shelf, str(tmp_path)).faults == ()


@one_environment
@pytest.mark.nightly
def test_ranks_that_a_launch_script_starts_share_what_the_main_process_reads() -> None:
    """Whoever of them is done first: the main process may end before another has begun."""
    report = judged("good", keyword="run-main-process-reads-for-both", features="ranks")
    assert sorted(record.result.status for record in report.records) == ["pass", "unsupported"]  # one edition is asked


@one_environment
def test_a_broken_copy_of_it_is_not() -> None:
    report = judged("broken")
    kinds = {one.kind for record in report.records for one in record.result.differences}
    assert {"accepted", "missing"} <= kinds
    assert report.verdict == "not conformant"


@one_environment
@pytest.mark.nightly
def test_a_copy_that_leaves_ranges_where_they_are_without_is_not_conformant() -> None:
    good, misplacing = judged("good", keyword=PLACED), judged("misplacing", keyword=PLACED)
    assert good.verdict == "conformant"
    assert misplacing.verdict == "not conformant"
    aspects = {one.aspect for record in misplacing.records for one in record.result.differences}
    assert "run_placement" in aspects


#: A fault of a copy, and cases that see it.
FAULTS = {
    "takes_anything": "session-dump-step-grammar-refuses",
    "offloads_nothing": "sample-001-true",
    "dumps_nothing": "dump-on",
    "narrows": "carried-integers",
    "other_default": "precision-domain",
}


@one_environment
@pytest.mark.nightly
def test_what_sees_the_faults_below_is_passed_without_them() -> None:
    report = judged("good", keyword=" or ".join(FAULTS.values()))
    passed = {record.instance.case.id for record in report.records if record.result.status == "pass"}
    assert report.verdict == "conformant"
    assert {name for name, keyword in FAULTS.items() if not any(keyword in case for case in passed)} == set()


@one_environment
@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.nightly
def test_a_copy_with_one_fault_is_not_conformant(fault: str) -> None:
    assert judged(f"changed:{fault}", keyword=FAULTS[fault]).verdict == "not conformant"


@one_environment
@pytest.mark.parametrize("kind, outcome", [("good", client.Rejected), ("blind", client.Answered)])
@pytest.mark.nightly
def test_variables_are_there_before_the_interpreter_starts(kind: str, outcome: Any) -> None:
    """A stream that waits less than collectives do is refused where there are several ranks (003)."""
    params = {"surface": "session", "edition": "current", "env": {"RANK_SIZE": "8"}}
    values = {"hccl_timeout": 1836, "stream_sync_timeout": 60000}
    with settings(kind).client("adapter") as worker:
        found = worker.request("options", {**params, "values": values}, 60.0)
    assert isinstance(found, outcome), client.describe(found)


def test_values_are_those_of_the_adapters_own_session(tmp_path: Any) -> None:
    assert doubled("good", tmp_path) == 6.0
    assert doubled("broken", tmp_path) == 12.0


def test_an_environment_without_an_adapter_is_said_so(tmp_path: Any) -> None:
    (tmp_path / "npu_bridge.py").write_text("")
    asked = runner.Settings(env={"PYTHONPATH": str(tmp_path)})
    with asked.client("adapter") as worker, pytest.raises(NpuError) as caught:
        worker.hello()
    assert caught.value.code == "BACKEND_UNAVAILABLE"
    assert "npu_bridge cannot be imported" in caught.value.message
