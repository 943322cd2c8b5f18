"""The laws of a step in time see what begins too early, lies beside what it must not, or has no step."""

from __future__ import annotations

import copy

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.strength.laws import examples, timing_laws
from npu_conformance.strength.laws.graphs import Step
from npu_conformance.strength.laws.kinds import step_times
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from tests.conformance.test_laws import broken

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

FEATURES = ("partition", "timeline", "timeline.launches", "timeline.tasks", "ranks")


class Steps(ReferenceBackend):
    """Answers `timeline` and `partition`; subclasses get one thing wrong."""

    def timeline(self, params):
        answer = copy.deepcopy(super().timeline(self.asked(params)))
        for step in (answer["base"], *answer["variants"].values()):
            if "tasks" in step:
                self.spoil(step)
        return answer

    def asked(self, params):
        return params

    def spoil(self, step):
        pass


class BeginsEarly(Steps):
    """The last kernel of all begins with the first."""

    def spoil(self, step):
        working = [task for task in step["tasks"] if task["kind"] == "kernel"]
        if len(working) > 1:
            last, first = max(working, key=by_begin), min(working, key=by_begin)
            last["start_ns"], last["end_ns"] = first["start_ns"], first["end_ns"]


class SumsBeside(Steps):
    """hcom_parallel False is heard as True."""

    def asked(self, params):
        values = {**params["values"], "hcom_parallel": True}
        return {
            **params,
            "values": values,
            "variants": {name: {**values, **one} for name, one in params["variants"].items()},
        }


class ManyStreams(Steps):
    """Has as many streams as the most that a document allows, whatever is asked for."""

    def asked(self, params):
        many = {"legacy": "DNN_VM_TF:13,DNN_V100:3", "current": "DNN_VM_AICPU:13,AIcoreEngine:8"}[params["edition"]]
        return {**params, "values": {**params["values"], "stream_max_parallel_num": many}}


class Splits(Steps):
    """Says that every GEOP is two."""

    def partition(self, params):
        answer = super().partition(params)
        return {**answer, "geops": [*answer["geops"], *answer["geops"]]}


class Refuses(Steps):
    """Knows no collective."""

    def timeline(self, params):
        if any(node.op == "HcomAllReduce" for node in load_graph(params["graph"]).nodes):
            raise NpuError("GRAPH_UNKNOWN_OP", "HcomAllReduce", "it is not known.")
        return super().timeline(params)


def by_begin(task):
    return task["start_ns"]


@pytest.fixture(autouse=True)
def as_found(request, monkeypatch):
    """Examples stay as they are found, but where a test is about them: making them small takes seconds."""
    if "small" not in request.fixturenames:
        monkeypatch.setattr(examples, "SHRINKS", 0)


@pytest.fixture
def small():
    """Examples are made small."""


def of_time(factory, tmp_path, graphs=100):
    """The laws that a backend breaks, which answers `timeline` and `partition`."""
    return broken(factory, tmp_path, graphs, FEATURES)


@pytest.mark.parametrize(
    "factory, laws",
    [
        (Steps, set()),
        (BeginsEarly, {"time-order"}),
        (SumsBeside, {"time-sums"}),
        (ManyStreams, {"time-engines"}),
        (Splits, {"time-placed"}),
        (Refuses, {"time-answered"}),
    ],
)
def test_each_law_sees_what_it_forbids(factory, laws, tmp_path):
    found = {law for law in of_time(factory, tmp_path) if law.startswith("time-")}
    assert laws <= found
    assert laws or not found


def test_a_law_of_time_leaves_a_small_example_and_the_request(tmp_path, small):
    assert "time-sums" in of_time(SumsBeside, tmp_path, graphs=40)
    path = tmp_path / "law-time-sums-current.pbtxt"
    head = path.read_text().split("node {")[0]
    operators = sorted(node.op for node in load_graph(str(path)).nodes)
    assert '"hcom_parallel": false' in head and '"ranks": 2' in head
    assert "HcomAllReduce" in operators and len(operators) <= 6


def test_one_device_is_asked_where_several_cannot_be(tmp_path):
    asked = []

    class Alone(Steps):
        def asked(self, params):
            asked.append(params)
            return params

    assert broken(Alone, tmp_path, 40, ("timeline", "timeline.tasks")) == {}
    assert asked and not any("ranks" in params for params in asked)


@pytest.mark.parametrize("taken, needs", [(0, True), (1, False)])
def test_what_hands_tensors_on_makes_none_wait_for_another(taken, needs):
    # What `outputs` hands on is a placeholder, and the product.
    made = [("product", (0, 0, 0)), ("placeholder", (0, 0, 0)), ("outputs", (0, 1, 0)), ("unary", (taken, 0, 0))]
    asked = timing_laws.timed(tuple(Step(*one) for one in made))
    first, last = (next(node.name for node in asked.closed.nodes if node.op == op) for op in ("MatMul", "Relu"))
    tasks = [
        {"start_ns": 0, "end_ns": 6, "kind": "kernel", "engine": "cube", "nodes": [first]},
        {"start_ns": 5, "end_ns": 9, "kind": "kernel", "engine": "vector", "nodes": [last]},
    ]
    law = next(law for law in timing_laws.TIMED if law.name == "time-order")
    answer = timing_laws.TimedAnswer(asked, {"base": {"step_ns": 9, "tasks": tasks}}, {"base": {}})
    assert bool(law.faults(answer)) == needs


@pytest.mark.parametrize("number", range(40))
def test_every_graph_that_is_drawn_has_a_step(number):
    asked = timing_laws.timed(step_times.steps_of(7, number))
    params = timing_laws.params_of(asked, number, ("legacy", "current")[number % 2], ranks=True)
    assert asked.fetches and set(params["variants"]) == {"beside", "more"}
