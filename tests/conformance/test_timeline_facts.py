"""A step's facts are orders and counts; hostile steps cost their case, in time that grows evenly."""

from __future__ import annotations

import copy
import time
from typing import Any, Dict, List

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.judging import judge
from npu_conformance.library.case import Instance
from npu_conformance.observing import observe, timeline
from npu_conformance.protocol import client
from npu_conformance.protocol import messages as protocol
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf


def task(engine: str, start: int, end: int, node: str = "", **more: Any) -> Dict[str, Any]:
    return {"engine": engine, "kind": "kernel", "start_ns": start, "end_ns": end, "node": node or None, **more}


STEP: Dict[str, Any] = {
    "step_ns": 100,
    "launches": 1,
    "iterations": 2,
    "transfers": [
        {"direction": "h2d", "bytes": 8, "tensors": ["x:0", "y:0"]},
        {"direction": "h2d", "bytes": 8},
        {"direction": "d2h", "bytes": 4, "tensors": ["z:0"]},
    ],
    "tasks": [
        task("pcie", 0, 10, kind="h2d", stream=1),
        task("host", 0, 90, kind="launch", stream=0),
        task("cube", 10, 40, "product", stream=4, nodes=["product", "bias"]),
        task("vector", 40, 60, "relu", stream=4),
        task("aicpu", 30, 50, "inverse", stream=5),
        task("sdma", 60, 70, "reduce", kind="collective", stream=6),
    ],
    "memory": {"peak": 512, "variables": 0},
    "fusion": [
        {"section": "GraphFusion", "name": "Bias", "matched": 2, "effective": 1},
        {"section": "UBFusion", "name": "Other", "matched": 1, "effective": 0},
    ],
}


def changed(**more: Any) -> Dict[str, Any]:
    return {**copy.deepcopy(STEP), **more}


def facts(answer: Dict[str, Any]) -> List[str]:
    assert protocol.ok_fault("timeline", answer) is None
    return observe.facts("timeline", answer)


def test_the_facts_of_a_step() -> None:
    assert facts({"base": STEP}) == [
        "apart base aicore collective",
        "apart base aicore h2d",
        "apart base aicpu collective",
        "apart base aicpu h2d",
        "apart base collective h2d",
        "before base aicore collective",
        "before base aicpu collective",
        "before base h2d aicore",
        "before base h2d aicpu",
        "before base h2d collective",
        "beside base bias aicpu",
        "beside base inverse aicore",
        "beside base product aicpu",
        "beside base relu aicpu",
        "concurrent base aicore 1",
        "concurrent base aicpu 1",
        "concurrent base collective 1",
        "concurrent base h2d 1",
        "ended base done",
        "fused base GraphFusion Bias 1",
        "iterations base 2",
        "joined base bias node bias",
        "joined base bias node product",
        "launches base 1",
        "moved base d2h 4",
        "moved base h2d 8",
        "moved base h2d 8",
        "overlap base aicore aicpu",
        "sequence base 0 bias",
        "sequence base 1 product",
        "sequence base 2 inverse",
        "sequence base 3 relu",
        "sequence base 4 reduce",
        "stream base bias node bias",
        "stream base bias node product",
        "stream base bias node relu",
        "stream base inverse node inverse",
        "stream base reduce node reduce",
        "streams base aicore aicpu apart",
        "streams base aicore collective apart",
        "streams base aicore h2d apart",
        "streams base aicpu collective apart",
        "streams base aicpu h2d apart",
        "streams base collective h2d apart",
        "transfers base d2h 1",
        "transfers base h2d 2",
    ]


def test_the_least_a_backend_may_say_of_a_step() -> None:
    assert facts({"base": {"step_ns": 0}}) == ["ended base done"]


def test_a_variant_is_compared_with_the_base() -> None:
    variants = {
        "slow": {"step_ns": 101, "memory": {"peak": 1024, "variables": 0}},
        "fast": {"step_ns": 99, "memory": {"peak": 0}},
        "same": {"step_ns": 100},
    }
    found = facts({"base": STEP, "variants": variants})
    assert [text for text in found if text.split()[0] in ("speed", "memory")] == [
        "memory fast peak less",
        "memory slow peak more",
        "memory slow variables equal",
        "speed fast faster",
        "speed same equal",
        "speed slow slower",
    ]


def test_a_step_within_half_a_percent_is_as_fast_too_since_devices_are_measured() -> None:
    variants = {"early": {"step_ns": 995_000}, "late": {"step_ns": 1_005_000}, "later": {"step_ns": 1_005_001}}
    found = facts({"base": {"step_ns": 1_000_000}, "variants": variants})
    assert [text for text in found if text.startswith("speed")] == [
        "speed early equal",
        "speed early faster",
        "speed late equal",
        "speed late slower",
        "speed later slower",
    ]


def test_a_step_that_ends_in_an_error_has_no_other_facts() -> None:
    ended = {"rejected": {"code": "DEVICE_TIMEOUT", "message": "m", "subject": "s", "after_ns": 1_999_999_999}}
    assert facts({"base": ended, "variants": {"v": STEP}})[:2] == ["after base 1", "apart v aicore collective"]
    assert "ended base DEVICE_TIMEOUT" in facts({"base": ended})
    assert not [text for text in facts({"base": ended, "variants": {"v": STEP}}) if text.startswith("speed")]


def test_the_device_of_a_step_and_who_reads_its_data() -> None:
    data = {"reads": 0, "receives": 2, "sent": [{"device": 1, "bytes": 4}, {"device": 1}, {"device": 3}]}
    assert facts({"base": {"step_ns": 1, "device": 7, "dataset": data}}) == [
        "ended base done", "ran_on base 7", "reads base 0", "receives base 2", "sends base 1", "sends base 3",
    ]  # fmt: skip


def test_a_copy_that_is_made_again_counts_each_time() -> None:
    moved = [{"direction": "h2d", "bytes": 8, "times": 10}, {"direction": "h2d", "bytes": 8, "times": 1}]
    found = facts({"base": {"step_ns": 1, "transfers": moved}})
    assert [text for text in found if "h2d" in text] == [
        "moved base h2d 8", "moved base h2d 8 times 10", "transfers base h2d 11",
    ]  # fmt: skip


def test_what_ends_when_another_begins_is_not_beside_it() -> None:
    tasks = [
        task("cube", 0, 10, "a"),
        task("aicpu", 10, 20, "b"),
        task("aicpu", 20, 20, "c"),
        task("cube", 20, 30, "d"),
    ]
    found = facts({"base": {"step_ns": 30, "tasks": tasks}})
    assert "apart base aicore aicpu" in found and not [text for text in found if text.startswith("beside")]


def test_steps_that_are_asked_for_at_once_are_counted_where_they_overlap() -> None:
    tasks = [task("cube", start, start + 10, "a", step=number) for number, start in enumerate([0, 5, 9, 10])]
    assert "concurrent base steps 3" in facts({"base": {"step_ns": 30, "tasks": tasks}})


def test_a_task_that_ends_before_it_begins_is_nonsense(shelf: Shelf) -> None:
    answer = {"base": {"step_ns": 1, "tasks": [task("cube", 2, 1, "a")]}}
    with pytest.raises(timeline.BadTimeline, match="ends before it begins"):
        observe.facts("timeline", answer)
    result = judged(shelf, 'forbid = ["nothing"]', answer)
    assert (result.status, result.signature) == ("protocol-error", "timeline/protocol-error")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"base": {}},
        {"base": {"step_ns": -1}},
        {"base": {"step_ns": 1.5}},
        {"base": {"step_ns": 1, "tasks": [{}]}},
        {"base": {"step_ns": 1, "tasks": [task("cube", 0, 1, stream="a")]}},
        {"base": {"step_ns": 1, "transfers": [{"direction": "up", "bytes": 1}]}},
        {"base": {"step_ns": 1, "transfers": [{"direction": "h2d", "bytes": None}]}},
        {"base": {"step_ns": 1, "memory": {"peak": -1}}},
        {"base": {"step_ns": 1, "fusion": [{"section": "Other", "name": "x", "effective": 1}]}},
        {"base": {"rejected": {"code": "X"}}},
        {"base": {"step_ns": 1}, "variants": {"v": {}}},
    ],
)
def test_what_is_no_step_is_a_fault_of_the_protocol(answer: Any) -> None:
    assert protocol.ok_fault("timeline", answer)


spans = st.tuples(st.integers(0, 12), st.integers(0, 5))
lanes = st.lists(st.tuples(st.sampled_from(["cube", "vector", "aicpu", "odd"]), spans), max_size=8)


@settings(max_examples=60)
@given(lanes)
def test_overlap_is_what_a_look_at_every_pair_finds(found: Any) -> None:
    tasks = [task(engine, at, at + long, f"n{number}") for number, (engine, (at, long)) in enumerate(found)]
    group = {"cube": "aicore", "vector": "aicore", "aicpu": "aicpu", "odd": "other"}
    beside = set()
    for one in tasks:
        for other in tasks:
            meet = max(one["start_ns"], other["start_ns"]) < min(one["end_ns"], other["end_ns"])
            if one is not other and meet:
                beside.add(f"beside base {one['node']} {group[other['engine']]}")
    told = facts({"base": {"step_ns": 20, "tasks": tasks}})
    assert {text for text in told if text.startswith("beside")} == beside
    for name in sorted({group[engine] for engine, _ in found}):
        own = [one for one in tasks if group[one["engine"]] == name]
        most = max(sum(one["start_ns"] <= at < one["end_ns"] for one in own) for at in range(20))
        assert f"concurrent base {name} {most}" in told


@settings(max_examples=30)
@given(lanes, st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(found: Any, random: Any) -> None:
    tasks = [task(engine, at, at + long, f"n{number}") for number, (engine, (at, long)) in enumerate(found)]
    shuffled = list(tasks)
    random.shuffle(shuffled)
    one, two = ({"base": {"step_ns": 20, "tasks": order}} for order in (tasks, shuffled))
    assert facts(one) == facts(two)


def test_forty_thousand_tasks_of_as_many_engines_are_judged_at_once() -> None:
    tasks = [task(f"engine{number}", 0, 10 + number, f"n{number}", stream=0) for number in range(40_000)]
    begun = time.process_time()
    found = observe.facts("timeline", {"base": {"step_ns": 50_000, "tasks": tasks}})
    assert len(found) < 3 * len(tasks) and time.process_time() - begun < 20  # a square of it would take an hour


@pytest.mark.parametrize(
    "more, words",
    [
        ({"step_ns": 29}, "is shorter than what the device computes in it"),
        ({"launches": 0}, "has more launches among its tasks than in their count"),
        (
            {
                "transfers": [{"direction": "h2d", "bytes": 8}],
                "tasks": [dict(STEP["tasks"][0], bytes=9)],
                "iterations": 1,
            },
            "other bytes in its h2d tasks",
        ),
        (
            {"transfers": [{"direction": "h2d", "bytes": 8}], "tasks": [dict(STEP["tasks"][0], bytes=9)]},
            "other bytes in its h2d tasks",
        ),
        ({"memory": {"peak": 513, "total": 512}}, "needs less memory than lies in it"),
        ({"memory": {"variables": 300, "constants": 213, "total": 512}}, "needs less memory than lies in it"),
    ],
)
def test_a_step_whose_figures_contradict_each_other_fails_every_case(
    shelf: Shelf, more: Dict[str, Any], words: str
) -> None:
    result = judged(shelf, 'contains = ["ended base done"]', {"base": changed(**more)})
    assert result.status == "fail" and result.signature == "timeline/forbidden/contradictions"
    assert [words in one.fact for one in result.differences] == [True]


@pytest.mark.parametrize(
    "more",
    [
        {"step_ns": 30},
        {"iterations": 60, "step_ns": 1},
        {"transfers": [{"direction": "h2d", "bytes": 8, "times": 2}], "tasks": [dict(STEP["tasks"][0], bytes=8)]},
        {"memory": {"peak": 512, "total": 512}},
        {"memory": {"variables": 300, "constants": 212, "total": 512}},
        {"tasks": [task("pcie", 0, 10**6, kind="h2d"), task("host", 0, 10**6, kind="launch")]},
    ],
)
def test_figures_that_only_look_so_are_taken(more: Dict[str, Any]) -> None:
    assert not any("contradicts" in text for text in facts({"base": changed(**more)}))


def test_whole_seconds_of_a_step_are_told_where_a_fault_makes_it_last_some() -> None:
    assert not any(text.startswith("lasted") for text in facts({"base": changed(step_ns=10**9 - 1)}))
    assert "lasted base 90" in facts({"base": changed(step_ns=91 * 10**9 - 1)})


# Cases


CASE = """
[[case]]
id = "one"
title = "One"
requirements = ["small.one"]
method = "timeline"
editions = ["current"]
params = { graph = "small.pbtxt", variants = { v = { depth = 1 } } }
expect = { EXPECT }
"""


def instance(shelf: Shelf, expect: str, params: str = "") -> Instance:
    text = CASE.replace("EXPECT", expect)
    shelf.write("cases/small/topic.toml", text.replace("variants =", f"{params}, variants =") if params else text)
    shelf.write("golden/small/topic.txt", "# empty\n")
    return Instance(shelf.load().cases["one"], "current", "")


def judged(shelf: Shelf, expect: str, answer: Any) -> judge.Result:
    if "variants" not in answer:
        answer = {**answer, "variants": {"v": STEP}}
    return judge.judge(instance(shelf, expect), client.Answered(answer))


@pytest.mark.parametrize("took, status", [(99, "fail"), (100, "pass"), (101, "pass")])
def test_a_case_says_how_a_variant_stands_to_the_base(shelf: Shelf, took: int, status: str) -> None:
    answer = {"base": STEP, "variants": {"v": changed(step_ns=took)}}
    result = judged(shelf, 'compare = { v = { speed = ["equal", "slower"] } }', answer)
    assert result.status == status
    if status == "fail":
        assert result.differences[0].fact == "speed v faster; expected equal or slower"
        assert result.signature == "timeline/compared/speed"


def test_what_is_not_told_is_not_as_it_should_be(shelf: Shelf) -> None:
    answer = {"base": STEP, "variants": {"v": {"step_ns": 1}}}
    result = judged(shelf, 'compare = { v = { peak = "less" } }', answer)
    assert result.differences[0].fact == "memory v peak is not told; expected less"


def test_a_variant_that_is_not_answered_fails_the_case_whatever_it_forbids(shelf: Shelf) -> None:
    result = judged(shelf, 'forbid = ["fused v *"]', {"base": STEP, "variants": {}})
    assert [one.fact for one in result.differences] == ["variant v"]


def test_a_case_that_compares_memory_needs_it(shelf: Shelf) -> None:
    assert "timeline.memory" in instance(shelf, 'compare = { v = { peak = "less" } }').case.needs
    assert "timeline.memory" not in instance(shelf, 'compare = { v = { speed = "slower" } }').case.needs


def test_a_case_with_faults_ranks_or_concurrent_steps_needs_backends_that_take_them(shelf: Shelf) -> None:
    params = 'faults = [{ kind = "hang", seconds = 5 }], ranks = 2, concurrent = 3, shapes = { x = [2] }, device = "D"'
    found = instance(shelf, 'contains = ["ended base done"]', params).case
    assert {"faults", "ranks", "concurrent", "timeline"} <= found.needs
    assert found.params["faults"] == [{"kind": "hang", "seconds": 5}] and found.params["shapes"] == {"x": [2]}


@pytest.mark.parametrize(
    "expect, params, key",
    [
        ('compare = { w = { speed = "slower" } }', "", "expect.compare.w"),
        ('compare = { v = { time = "slower" } }', "", "expect.compare.v.time"),
        ('compare = { v = { speed = "less" } }', "", "expect.compare.v.speed"),
        ('compare = { v = { speed = ["slower", "equal", "faster"] } }', "", "expect.compare.v.speed"),
        ('compare = { v = "slower" }', "", "expect.compare.v"),
        ('forbid = ["x"]', "faults = []", "params.faults"),
        ('forbid = ["x"]', 'faults = [{ node = "a" }]', "params.faults"),
        ('forbid = ["x"]', "ranks = 0", "params.ranks"),
        ('forbid = ["x"]', "concurrent = true", "params.concurrent"),
        ('forbid = ["x"]', "shapes = { x = [-1] }", "params.shapes.x"),
    ],
)
def test_a_case_that_asks_for_what_there_is_not_is_refused(shelf: Shelf, expect: str, params: str, key: str) -> None:
    with pytest.raises(NpuError) as caught:
        instance(shelf, expect, params)
    assert caught.value.code == "CASE_FILE" and caught.value.subject.endswith(f"one: {key}")
