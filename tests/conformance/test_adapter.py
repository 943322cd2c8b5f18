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
from npu_conformance.library import library, selection
from npu_conformance.protocol import client
from npu_conformance.report import verify, write
from npu_conformance.running import runner
from npu_reference.errors import NpuError
from tests.conformance.shelves import BACKENDS

#: Values that are taken and that are refused, on both surfaces, and a script.
ASKED = "precision-domain or runconfig-iterations or session-device-id or session-of-another"

#: Placement, as RunMetadata shows it, and what is refused under a variable.
PLACED = "sample-001-true"
UNDER_A_VARIABLE = "rc-stream-sync-in-a-cluster"

GRAPH = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Add" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""

#: Scripts are asked of TensorFlow 1 alone, and one environment shows what a whole run shows.
one_environment = pytest.mark.skipif((tensorflow_version() or (0,))[0] != 1, reason="judged with TensorFlow 1")


def settings(kind: str) -> runner.Settings:
    env = {"PYTHONPATH": os.path.join(BACKENDS, "adapters", kind), "TF_CPP_MIN_LOG_LEVEL": "2"}
    return runner.Settings(factor=3.0, repeat=False, env=env)


def judged(kind: str, keep: str = "", keyword: str = ASKED) -> Report:
    shelf = library.load()
    asked = {"areas": [], "editions": [], "keyword": keyword}
    wanted = selection.select(shelf, keyword=keyword)
    return runner.run(shelf, wanted, f"adapter:{sys.executable}", settings(kind), selection=asked, keep=keep or None)


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
    shelf = library.load()
    write.write(shelf, report, str(tmp_path))
    assert verify.verify(shelf, str(tmp_path)).faults == ()


@one_environment
def test_a_broken_copy_of_it_is_not() -> None:
    report = judged("broken")
    kinds = {one.kind for record in report.records for one in record.result.differences}
    assert {"accepted", "missing"} <= kinds
    assert report.verdict == "not conformant"


@one_environment
@pytest.mark.parametrize("keyword, broken", [(PLACED, "misplacing"), (UNDER_A_VARIABLE, "blind")])
def test_where_operators_ran_and_what_variables_forbid_are_asked_as_well(keyword: str, broken: str) -> None:
    """One copy leaves ranges where they would be without, one never sees the environment it was started in."""
    assert statuses(judged("good", keyword=keyword)) <= {"pass", "unsupported"}
    assert "pass" in statuses(judged("good", keyword=keyword))
    assert judged(broken, keyword=keyword).verdict == "not conformant"


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
