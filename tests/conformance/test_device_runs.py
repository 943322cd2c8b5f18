"""What is seen of runs on the device: launches, copies, memory, whole seconds; and when a run was refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from npu_conformance.judging import judge
from npu_conformance.observing import device_runs, observe
from npu_conformance.protocol import messages, schema

ANSWER = {
    "fetches": {},
    "trace": [{}, {}, {}],
    "timeline": [
        None,
        {"run_ns": 2_999_999_999, "launches": 1, "iterations": 10, "tasks": []},
        {"run_ns": 5, "launches": 2, "same_as": 1},
    ],
    "memory": [{"peak": 10, "total": 20}, None, {"peak": 9, "total": 20, "variables": 3}],
    "transfers": [[{"direction": "h2d", "bytes": 8, "tensors": ["b:0", "a:0"]}] * 2, None, []],
}


def lines(answer):
    return [text for _, _, text in device_runs.facts_of(answer)]


def test_facts_are_counts_orders_and_whole_seconds():
    assert lines(ANSWER) == [
        "run 1 launches 1",
        "run 1 iterations 10",
        "run 1 elapsed 2 s",
        "run 2 launches 2",
        "run 2 elapsed 0 s",
        "run 0 moved h2d 8 a:0 b:0",
        "run 0 moved h2d 8 a:0 b:0",
        "run 2 peak less",
        "run 2 total equal",
    ]


def test_copies_of_equal_tensors_count_twice():
    assert observe.facts("run", ANSWER).count("run 0 moved h2d 8 a:0 b:0") == 2


def test_what_is_exchanged_counts_in_every_run_that_is_like_another():
    task = {"id": 0, "kind": "collective", "name": "sum", "start_ns": 0, "end_ns": 1}
    steps = [{"run_ns": 5, "tasks": [task, {**task, "kind": "kernel"}, task]}, {"run_ns": 5, "same_as": 0}]
    assert lines({"fetches": {}, "timeline": steps}) == [
        "run 0 exchanges 2",
        "run 0 elapsed 0 s",
        "run 1 exchanges 2",
        "run 1 elapsed 0 s",
    ]


def test_a_run_that_is_like_one_that_is_not_there_has_no_tasks():
    steps = [None, {"run_ns": 5, "same_as": 0}, {"run_ns": 5, "same_as": 7}]
    assert lines({"fetches": {}, "timeline": steps}) == ["run 1 elapsed 0 s", "run 2 elapsed 0 s"]


def test_an_answer_without_them_has_no_such_fact():
    assert lines({"fetches": {}}) == []


def test_the_answer_is_one_that_the_protocol_takes():
    assert messages.answer_fault({"id": 1, "ok": ANSWER}, "run", 1) is None
    wrong = {**ANSWER, "timeline": [{"launches": 1}]}
    assert "run_ns" in messages.answer_fault({"id": 1, "ok": wrong}, "run", 1)


def test_a_backend_is_asked_for_what_the_case_needs_only():
    assert device_runs.wanted({"run", "run.memory", "run.timeline", "timeline"}) == ["timeline", "memory"]
    known = schema.load("protocol-1")["methods"]["run"]["params"]["properties"]["tell"]["items"]["enum"]
    assert tuple(known) == device_runs.MEMBERS
    assert {f"run.{member}" for member in device_runs.MEMBERS} == {
        aspect.feature for aspect in observe.ASPECTS.values() if aspect.feature.startswith("run.")
    }


@pytest.mark.parametrize(
    ("after", "says"), [(90_000_050_000, None), (90 * 10**9, None), (89_999_999_999, "89"), (91 * 10**9, "91")]
)
def test_a_refusal_is_held_to_the_second_of_the_devices_clock(after, says):
    expect = SimpleNamespace(rejected=(("DEVICE_TIMEOUT",), "*", "*"), names="", after=90)
    body = {"code": "DEVICE_TIMEOUT", "subject": "op_execute_timeout", "message": "late"}
    case = SimpleNamespace(expect=expect, method="run", level="must")
    result = judge._rejected(case, "current", {**body, "after_ns": after}, False)
    if says is None:
        assert result.status == "pass"
    else:
        assert result.status != "pass" and says in result.detail


def test_a_refusal_that_does_not_tell_its_time_is_advised_to():
    """No document has a runtime tell the time of an error."""
    case = SimpleNamespace(
        expect=SimpleNamespace(rejected=(("DEVICE_TIMEOUT",), "*", "*"), names="", after=90), method="run", level="must"
    )
    body = {"code": "DEVICE_TIMEOUT", "subject": "op_execute_timeout", "message": "late"}
    result = judge._rejected(case, "current", body, False)
    assert result.status == "pass" and "without after_ns; expected 90 s" in result.detail
