"""Whatever a backend does costs the case it does it in, is called by its name, and the run goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from npu_conformance.judging import records
from npu_conformance.protocol import client
from npu_conformance.report import results
from npu_reference.errors import NpuError
from tests.conformance.shelves import QUICK, Shelf, details, hosted, judged, spoken, statuses
from tests.depth import at_night

pytestmark = pytest.mark.oldest_at_night

#: For what hangs: 0.3 s an answer.
QUICKER = QUICK._replace(factor=0.03)

#: What every run below must still say about the cases that the misbehaviour does not touch.
UNTOUCHED = {"small-options": "pass", "small-what-follows": "pass"}


def outcome(report: records.Report) -> str:
    """Status of the two partition cases, which must agree; the others must have passed."""
    found = statuses(report)
    assert {name: found[name] for name in UNTOUCHED} == UNTOUCHED
    assert found["small-partition"] == found["small-partition-again"]
    return found["small-partition"]


@pytest.mark.parametrize("name", ["Honest", "OtherwiseOrdered", "Chatty"])
@pytest.mark.parametrize("spec", [spoken, hosted])
def test_a_good_backend_conforms_whether_hosted_or_speaking_for_itself(shelf: Shelf, name: str, spec) -> None:
    report = judged(shelf, spec(name))
    assert outcome(report) == "pass"
    assert report.verdict == "conformant"


@pytest.mark.parametrize("name", ["Prints", "WritesDescriptorOne", "ReadsStdin"])
def test_a_hosted_backend_may_use_stdin_and_stdout_without_breaking_the_stream(shelf: Shelf, name: str) -> None:
    assert outcome(judged(shelf, hosted(name))) == "pass"


@pytest.mark.parametrize(
    "name, status, says",
    [
        ("Lies", "fail", "unexpected: "),
        ("Crashes", "crash", "by signal SIGSEGV; its last line of stderr: about to read address zero"),
        at_night("Exits", "crash", "with status 0"),
        ("Hangs", "timeout", "no answer within 0.3 s"),
        at_night("HangsAndIgnoresSigterm", "timeout", "no answer within 0.3 s"),
        at_night("HangsWithChild", "timeout", "no answer within 0.3 s"),
        ("Prints", "protocol-error", "not JSON"),
        at_night("NotJson", "protocol-error", "not JSON"),
        at_night("NotUtf8", "protocol-error", "not JSON"),
        ("WrongId", "protocol-error", "is not the id of the request"),
        at_night("TwoMembers", "protocol-error", "has ok and error of"),
        ("WrongShape", "protocol-error", "ok.geops[0].nodes: 2 is not of type array"),
        at_night("Deep", "protocol-error", "not JSON"),
        ("Huge", "protocol-error", "longer than"),
        at_night("Endless", "protocol-error", "longer than"),
        ("ClosesOutput", "protocol-error", "closed its output and kept running"),
    ],
)
def test_a_backend_that_speaks_for_itself_and_misbehaves_is_called_by_its_fault(
    shelf: Shelf, name: str, status: str, says: str
) -> None:
    report = judged(shelf, spoken(name), QUICKER)
    assert outcome(report) == status
    assert all(says in text for text in details(report)), details(report)
    assert report.verdict == "not conformant"


@pytest.mark.parametrize(
    "name, status, says",
    [
        ("Crashes", "crash", "SIGSEGV"),
        ("ReallyReadsAddressZero", "crash", "SIGSEGV"),
        ("Hangs", "timeout", "no answer"),
        ("Raises", "fail", "its own error: KeyError: 'no such thing'"),
        ("Refuses", "fail", "rejected GRAPH_LIMIT g: it is too large"),
        ("Overclaims", "overclaim", "unsupported: partition of anything"),
        ("WrongShape", "protocol-error", "is not of type array"),
    ],
)
def test_a_hosted_backend_that_misbehaves_is_called_by_its_fault(
    shelf: Shelf, name: str, status: str, says: str
) -> None:
    report = judged(shelf, hosted(name), QUICKER)
    assert outcome(report) == status
    assert all(says in text for text in details(report)), details(report)


def test_a_second_answer_to_one_request_is_noticed(shelf: Shelf) -> None:
    found = statuses(judged(shelf, spoken("Twice")))
    assert "pass" not in (found["small-partition"], found["small-partition-again"])


def test_what_a_backend_does_not_claim_is_unsupported_and_never_a_pass(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Modest"))
    assert outcome(report) == "unsupported"
    assert all("does not claim feature partition" in text for text in details(report))


@pytest.mark.parametrize("name", ["Leaks", "CrashesOnSecond"])
def test_state_that_leaks_between_cases_is_told_from_a_wrong_answer(shelf: Shelf, name: str) -> None:
    report = judged(shelf, hosted(name))
    assert statuses(report) == {**UNTOUCHED, "small-partition": "pass", "small-partition-again": "unstable"}
    assert "in a fresh worker: state leaks" in details(report)[0]
    assert report.verdict == "not conformant"


@pytest.mark.parametrize(
    "name, says", [("NeverStarts", "status 7; its last line of stderr: no device found"), ("OldProtocol", "protocol")]
)
def test_a_backend_that_does_not_say_hello_is_unavailable(shelf: Shelf, name: str, says: str) -> None:
    with pytest.raises(NpuError) as caught:
        judged(shelf, spoken(name))
    assert caught.value.code == "BACKEND_UNAVAILABLE"
    assert says in caught.value.message


def test_no_process_of_a_killed_backend_survives(shelf: Shelf) -> None:
    judged(shelf, spoken("HangsWithChild"), QUICKER)
    listing = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "HangsWithChild" not in listing


def test_a_backend_sees_only_the_variables_it_is_handed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPU_TEST_SECRET", "1")
    settings = QUICK._replace(env={**QUICK.env, "NPU_TEST_GIVEN": "1"})
    with client.Client(spoken("Environment"), factor=0.1, env=settings.env) as worker:
        answer = worker.request("options", {"surface": "session", "edition": "current", "values": {}}, 10)
    assert isinstance(answer, client.Answered)
    seen = answer.ok["effective"]["seen"]["value"]
    assert "NPU_TEST_GIVEN" in seen
    assert "NPU_TEST_SECRET" not in seen


def test_a_worker_leaves_no_folder_behind(shelf: Shelf, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    judged(shelf, spoken("Crashes"))
    assert os.listdir(str(folder)) == []


def test_the_verdict_and_every_record_are_the_same_on_one_worker_and_on_three(shelf: Shelf) -> None:
    def plain(jobs: int):
        report = judged(shelf, hosted("Lies"), QUICK._replace(jobs=jobs))
        return report.verdict, [results.lines(record) for record in report.records]

    assert plain(1) == plain(3)


def test_an_unknown_command_is_said_before_anything_runs() -> None:
    with pytest.raises(NpuError) as caught:
        client.Client("exec:/no/such/command --at all")
    assert caught.value.code == "BACKEND_UNAVAILABLE"


def test_the_interpreter_of_the_tests_hosts_the_workers() -> None:
    assert client.command("reference")[0] == sys.executable
