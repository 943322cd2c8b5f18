"""What one run makes of a step: iterations on the device, its queue of elements, steps beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.errors import NpuError
from npu_reference.graphs import ITERATIONS_MARK, GraphBuilder
from npu_reference.options import resolve
from tests.timing.networks import mlp, nets, step

EXAMPLES = settings(max_examples=20, deadline=None)


def reads_dataset(batch=64, width=512, layers=6, marked=None, twice=False):
    """A dataset's elements through some layers, with two components each; ``twice`` by two operators."""
    g = GraphBuilder()
    types = {"output_types": ["float32", "float32"], "output_shapes": [[batch, width], [batch, width]]}
    iterator = g.op("IteratorV2", "iterator", [], shared_name="", container="", **types)
    taken = g.op("IteratorGetNext", "next", [iterator], **types)
    more = g.op("IteratorGetNext", "more", [iterator], **types) if twice else taken
    at = g.op("AddV2", "both", [taken[0], more[1]])
    weights = g.placeholder("w", "float32", [width, width])
    for number in range(layers):
        at = g.op("MatMul", f"layer{number}", [at, weights])
    mark = {} if marked is None else {ITERATIONS_MARK: marked}
    g.op("NoOp", "train", [], control=[at], **mark)
    return g.build(), ["w:0"], []


def told(net=None, target="train", **values):
    from npu_reference.device.timing import profile
    from npu_reference.graphs import arg_shapes, close_over
    from npu_reference.hardware import built_in
    from npu_reference.partition import partition

    graph, feeds, _ = net or reads_dataset()
    surface = values.pop("surface", "runconfig")
    options = resolve({"mix_compile_mode": False, **values}, surface=surface, env={})
    assert not options.errors, options.errors
    divided = partition(close_over(graph, feeds, [], [target]), options)
    return profile(divided, options, built_in(), arg_shapes(graph, feeds, {}))


def test_a_loop_is_launched_once_and_its_inputs_and_results_are_copied_once():
    """runconfig.iterations_per_loop.effect."""
    net = mlp()
    once, ten = (step(*net, surface="runconfig", iterations_per_loop=number) for number in (1, 10))
    assert (ten.launches, ten.iterations, once.launches) == (1, 10, 1)
    told = ten.timeline_json()
    assert [task["kind"] for task in told["tasks"]].count("launch") == 1
    assert {copy["times"] for copy in told["transfers"]} == {1}
    assert ten.step < once.step and ten.run.nanoseconds < 10 * once.run.nanoseconds
    saved = sum(task.duration for task in once.timeline.tasks if task.kind in ("launch", "d2h"))
    assert 10 * once.step - ten.run.nanoseconds >= 9 * saved


def test_the_option_of_a_session_alone_makes_no_loop():
    """session.iterations_per_loop.set_by_api."""
    net = mlp()
    assert step(*net, iterations_per_loop=10).iterations == 1
    marked = told(reads_dataset(marked=5), surface="session", enable_data_pre_proc=True)
    assert (marked.iterations, marked.launches) == (5, 1)


@pytest.mark.parametrize("marks", [(2, 5), (5, 2), (1, 5), (0, 5)])
def test_of_several_marked_operations_the_longest_loop_is_timed(marks):
    """A run of a session refuses such a graph (T17); what is timed of a saved one is its most."""
    g = GraphBuilder()
    at = g.op("Relu", "relu", [g.placeholder("x", "float32", [4])])
    ends = [g.op("NoOp", f"train{n}", [], control=[at], **{ITERATIONS_MARK: mark}) for n, mark in enumerate(marks)]
    g.op("NoOp", "all", [], control=ends)
    assert told((g.build(), ["x:0"], []), "all", surface="session", enable_data_pre_proc=True).iterations == 5


@pytest.mark.parametrize("on_the_device", [True, False])
def test_each_operator_takes_an_element_of_its_own_however_many_components_it_has(on_the_device):
    once, twice = (
        told(
            reads_dataset(twice=two), iterations_per_loop=3 if on_the_device else 1, enable_data_pre_proc=on_the_device
        )
        for two in (False, True)
    )
    turns = 3 if on_the_device else 1
    assert (once.dataset()["reads"], twice.dataset()["reads"]) == (turns, 2 * turns)


def test_the_queue_is_filled_beside_the_iteration_before():
    """runconfig.enable_data_pre_proc.true: nothing waits for the next element's copy."""
    found = told(reads_dataset(batch=4096), iterations_per_loop=3)
    tasks = found.timeline_json()["tasks"]
    fills = [task for task in tasks if task["kind"] == "h2d" and task["name"].startswith("next")]
    assert [task["iteration"] for task in fills] == [0, 1, 2]
    kernels = [task for task in tasks if task["kind"] == "kernel" and task["iteration"] == 1]
    assert any(fills[1]["start_ns"] < task["end_ns"] and task["start_ns"] < fills[1]["end_ns"] for task in kernels)
    assert [
        copy["times"] for copy in found.timeline_json()["transfers"] if copy["tensors"] == ["next:0", "next:1"]
    ] == [3]


def test_without_the_queue_every_step_fetches_its_own_element_first():
    """runconfig.enable_data_pre_proc.false."""
    queued, fetched = told(), told(enable_data_pre_proc=False)
    copy = next(task for task in fetched.timeline_json()["tasks"] if task["name"].startswith("next"))
    first = min(task["start_ns"] for task in fetched.timeline_json()["tasks"] if task["kind"] == "kernel")
    assert copy["end_ns"] <= first and queued.step < fetched.step


def test_a_loop_needs_getnext_on_the_device():
    """session.enable_data_pre_proc.loop_prerequisite."""
    with pytest.raises(NpuError) as caught:
        told(enable_data_pre_proc=False, iterations_per_loop=4)
    assert (caught.value.code, caught.value.subject) == ("OPTION_CONFLICT", "enable_data_pre_proc")


@pytest.mark.parametrize("slow", [{"pcie": 0.01}, {"pcie": 1000.0}])
def test_iterations_that_are_not_worked_out_take_as_long_as_those_that_are(slow):
    from npu_reference.device.timing import execute, runs
    from npu_reference.hardware import built_in

    found = step(*mlp(), device=built_in().changed(**slow), surface="runconfig", iterations_per_loop=9)
    tasks = runs._iterations(found.timeline.tasks, 9, True)
    assert execute(tasks).end == found.run.nanoseconds


def inference(threads, steps, **more):
    values = {"graph_run_mode": 0, "surface": "runconfig", "graph_max_parallel_model_num": threads}
    return step(*mlp(batch=512), concurrent=steps, **values, **more)


def test_steps_of_online_inference_run_beside_each_other():
    """runconfig.graph_max_parallel_model_num.effect: N threads run the graph."""
    one, four = inference(1, 8), inference(4, 8)
    assert four.run.nanoseconds < one.run.nanoseconds and (one.run.lanes, four.run.lanes) == (1, 4)
    assert one.run.nanoseconds == 8 * one.timeline.end
    spans = {}
    for task in four.timeline_json()["tasks"]:
        start, end = spans.get(task["step"], (task["start_ns"], 0))
        spans[task["step"]] = (min(start, task["start_ns"]), max(end, task["end_ns"]))
    assert max(sum(s <= start < e for s, e in spans.values()) for start, _ in spans.values()) == 4
    assert four.launches == 8


def test_training_runs_one_step_at_a_time():
    """runconfig.graph_max_parallel_model_num.inference."""
    found = step(*mlp(), surface="runconfig", graph_max_parallel_model_num=4, concurrent=4)
    assert found.run.lanes == 1


@EXAMPLES
@given(nets(), st.integers(1, 6), st.integers(1, 9))
def test_more_threads_are_never_slower_and_nothing_is_lost(net, threads, steps):
    def made(number):
        values = {"graph_run_mode": 0, "mix_compile_mode": True, "graph_max_parallel_model_num": number}
        return step(*net, surface="runconfig", concurrent=steps, **values)

    few, more = made(threads), made(threads + 1)
    assert more.run.nanoseconds <= few.run.nanoseconds <= steps * few.timeline.end
    assert len(few.run.timeline.tasks) == steps * len(few.timeline.tasks)
    work = sum(task.duration for task in few.timeline.tasks if task.engine == "aicore")
    assert few.run.nanoseconds >= steps * work


@EXAMPLES
@given(nets(), st.integers(2, 20))
def test_a_loop_takes_no_longer_than_its_iterations_one_by_one(net, iterations):
    once = step(*net, surface="runconfig")
    found = step(*net, surface="runconfig", iterations_per_loop=iterations)
    assert found.run.nanoseconds <= iterations * once.timeline.end
    work = sum(task.duration for task in once.timeline.tasks if task.engine == "aicore")
    assert found.run.nanoseconds >= iterations * work


@pytest.mark.parametrize("scales, at, counted", [(True, 2, 4), (True, None, 0), (False, 2, 5)])
def test_an_iteration_that_overflows_does_not_count_where_the_loss_is_scaled(scales, at, counted):
    """runconfig.iterations_per_loop.total_may_differ."""
    from npu_reference.device import faults, watchdogs

    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    end = g.op("MatMul", "product", [x, x])
    if scales:
        status = g.op("NpuGetFloatStatus", "status", [g.op("NpuAllocFloatStatus", "alloc", [], control=[end])])
        end = g.op("Identity", "kept", [end], control=[status])
    g.op("Relu", "end", [end])
    found = step(g.build(), ["x:0"], ["end:0"], surface="runconfig", iterations_per_loop=5)
    fault = {"kind": "overflow", "node": "product", **({} if at is None else {"at": at})}
    options = resolve({"iterations_per_loop": 5}, surface="runconfig", env={})
    ended = watchdogs.endure(found, found.partition, options, faults.parse([fault])).profile
    assert ended.timeline_json()["counted"] == counted and ended.iterations == 5


def test_a_step_copies_what_crosses_to_the_device_once_for_each_geop_that_takes_it():
    """partition tells each such tensor once (M24), so that its bytes and those of a step may differ."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [8, 4])
    call = g.op("PyFunc", "call", [[g.op("Exp", "before", [x])]], token="t", Tin=["float32"], Tout=["float32"])
    g.op("AddV2", "after", [call, x])
    found = step(g.build(), shapes={"call": [8, 4]}, fetches=["after:0"], mix_compile_mode=True)
    into = [border for border in found.partition.borders if border.direction == "h2d"]
    copied = [one.bytes for one in found.compiled.transfers if one.direction == "h2d"]
    assert (len(into), sum(8 * 4 * 4 * len(border.consumers) for border in into)) == (2, sum(copied))
    assert sum(copied) == 3 * 8 * 4 * 4
