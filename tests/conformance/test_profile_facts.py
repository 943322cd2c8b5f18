"""Tables of a profile say which operators there were and when, and are held to themselves, each other and the step."""

from __future__ import annotations

import base64
from typing import Any, Dict, List

import pytest

from npu_conformance.observing import observe

SUMMARY = "Op Name,Task Start Time(us),Task Duration(us),aicore_time(us)\nadd,1.000,2.000,1.500\nmul,3.000,1.000,N/A\n"
TIMES = "kernel_name,task_time(us),task_start(us),task_stop(us)\nadd,2.000,1.000,3.000\nmul,1.000,3.000,4.000\n"
STEPS = (
    "FP Start(us),BP End(us),Iteration End(us),FP to BP Time(us),Iteration Refresh(us),Data Aug Bound(us)\n"
    "1.000,4.000,6.000,3.000,2.000,0.000\n"
)
TASKS: List[Dict[str, Any]] = [
    {"engine": "vector", "kind": "kernel", "start_ns": 1000, "end_ns": 3000, "node": "add"},
    {"engine": "vector", "kind": "kernel", "start_ns": 3000, "end_ns": 4000, "nodes": ["mul", "neg"]},
    {"engine": "host", "kind": "launch", "start_ns": 0, "end_ns": 10},
]


def facts(**tables: str) -> List[str]:
    found = {"op_summary": SUMMARY, "task_time": TIMES, "step_trace": STEPS, **tables}
    files = {
        f"out/PROF_1/x/{name}_7.csv": {"b64": base64.b64encode(text.encode()).decode()}
        for name, text in found.items()
        if text
    }
    return observe.facts("timeline", {"base": {"step_ns": 10_000, "tasks": TASKS, "files": files}})


def wrong(**tables: str) -> List[str]:
    return [text[len("profile base wrong: ") :] for text in facts(**tables) if " wrong: " in text]


def test_a_sound_profile_contradicts_nothing() -> None:
    assert wrong() == []
    assert {"profile base tells of data augmentation", "profile base tells of updates"} <= set(facts())


def test_only_the_first_iteration_may_leave_data_augmentation_open() -> None:
    """None has ended before it; msprof writes N/A there."""
    first = STEPS.replace("2.000,0.000", "2.000,N/A")
    later = first + "7.000,9.000,11.000,2.000,2.000,1.000\n"
    for text in (first, later):
        assert "profile base tells of data augmentation" in facts(step_trace=text)
    assert "profile base tells of data augmentation" not in facts(step_trace=later.replace("2.000,1.000", "2.000,N/A"))


@pytest.mark.parametrize("columns", ["FP Start(us),BP End(us)\n1.000,2.000\n", STEPS.replace("2.000,0.000", "N/A,")])
def test_what_is_not_told_is_not_told(columns: str) -> None:
    assert "profile base tells of updates" not in facts(step_trace=columns)


@pytest.mark.parametrize(
    "tables, words",
    [
        ({"task_time": TIMES.replace("3.000,4.000", "3.000,4.000,5")}, "task_time has a row with more or fewer cells"),
        ({"op_summary": SUMMARY.replace(",N/A", "")}, "op_summary has a row with more or fewer cells than columns"),
        ({"task_time": TIMES.replace("3.000,4.000", "3.000,5.000")}, "mul lasts another time than from its begin"),
        ({"op_summary": SUMMARY.replace("1.500", "2.500")}, "add computes for longer than it lasts"),
        ({"op_summary": SUMMARY.replace("mul,3.000", "mul,2.000")}, "do not tell the same begins of mul"),
        ({"op_summary": SUMMARY.replace("mul", "sub"), "task_time": ""}, "no task of mul is told"),
        ({"step_trace": STEPS.replace("4.000,6.000,3.000,2", "4.000,3.000,3.000,0")}, "does not go from forward to"),
        (
            {"step_trace": STEPS.replace("3.000,2.000", "3.000,1.000")},
            "an update does not last from the end of backward",
        ),
    ],
)
def test_tables_that_contradict_themselves_or_each_other_are_told(tables: Dict[str, str], words: str) -> None:
    assert any(words in text for text in wrong(**tables)), wrong(**tables)


def test_joined_operators_are_told_by_any_of_their_names() -> None:
    assert wrong(op_summary=SUMMARY.replace("mul", "neg"), task_time=TIMES.replace("mul", "neg")) == []


def test_moments_that_tables_round_otherwise_are_the_same() -> None:
    assert wrong(op_summary=SUMMARY.replace("mul,3.000", "mul,3.001")) == []
