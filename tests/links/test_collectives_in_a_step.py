"""Where collectives stand in a step: which gradients are summed together, beside which operators, and what waits.

The options `hcom_parallel` and `is_tailing_optimization`, and the splitting of gradients, decide this. The tests hold
the simulated timeline of small data-parallel graphs to what the documents say of each of them.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.programs import distributed_graphs as program
from npu_conformance.models import profiling
from npu_reference.compiler.arranging import segments
from npu_reference.compiler.collectives import Split
from npu_reference.device.links import topology
from npu_reference.device.timing import profile
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, arg_shapes, close_over, graph_from_def
from npu_reference.hardware import built_in
from npu_reference.options import resolve
from npu_reference.partition import partition

OVERLAP = {"hcom_parallel": True}
TAIL = {"hcom_parallel": True, "is_tailing_optimization": True}
NEITHER = {"hcom_parallel": False}


def step(name, ranks, values, targets=("train",), feeds=(), split=None, **more):
    """A step of a fixture's graph, or of a graph."""
    graph = graph_from_def(program.build(name)) if isinstance(name, str) else name
    feeds = ["other:0"] if "other" in graph.index else list(feeds)
    options = resolve(values, surface=more.pop("surface", "session"), edition=more.pop("edition", "current"), env={})
    assert not options.errors
    sizes = {**arg_shapes(graph, feeds, {}), **more.pop("sizes", {})}
    device = more.pop("device", built_in())
    divided = partition(close_over(graph, feeds, [], list(targets)), options)
    return profile(divided, options, device, sizes, ranks=ranks, split=split, **more)


def spans(found, *nodes):
    """(start, end) of the tasks that compute some operators."""
    kernels = found.compiled.fused.kernels
    wanted = set(nodes)
    return [
        (span.start, span.end)
        for task, span in zip(found.timeline.tasks, found.timeline.spans)
        if task.kernel >= 0 and wanted.intersection(kernels[task.kernel].members)
    ]


def collectives(found):
    """Members, engine, stream and time of every collective."""
    kernels = found.compiled.fused.kernels
    return [
        (list(kernels[task.kernel].members), task.engine, task.stream, (span.start, span.end))
        for task, span in zip(found.timeline.tasks, found.timeline.spans)
        if task.kind == "collective"
    ]


def computing(found):
    """Times in which AI Core or AI CPU work."""
    return [
        (span.start, span.end)
        for task, span in zip(found.timeline.tasks, found.timeline.spans)
        if task.engine in ("aicore", "aicpu")
    ]


def meet(one, others):
    return any(start < one[1] and one[0] < end for start, end in others)


@pytest.mark.parametrize("ranks", [2, 8, 16])
def test_with_hcom_parallel_a_gradient_is_summed_while_others_are_computed(ranks):
    # session.hcom_parallel.true, runconfig.hcom_parallel.true
    found = step("data_parallel", ranks, OVERLAP)
    (first, _, stream, time), _ = collectives(found)
    assert first == ["sum3", "sum2", "sum1"] and meet(time, spans(found, "gradient0"))
    kernels = [task.stream for task in found.timeline.tasks if task.engine == "aicore"]
    assert stream not in kernels


@pytest.mark.parametrize("name", ["data_parallel", "data_parallel_in_turn"])
@pytest.mark.parametrize("more", [{}, {"stream_max_parallel_num": "DNN_VM_AICPU:4,AIcoreEngine:2"}])
def test_without_hcom_parallel_a_sum_is_beside_no_computation(name, more):
    # session.hcom_parallel.false, runconfig.hcom_parallel.false
    found = step(name, 2, {**NEITHER, **more})
    assert collectives(found) and not any(meet(time, computing(found)) for *_, time in collectives(found))


def test_gradients_that_are_summed_at_once_overlap_what_follows_too():
    found = step("data_parallel_in_turn", 8, OVERLAP)
    assert [members for members, *_ in collectives(found)] == [["sum3"], ["sum2"], ["sum1"], ["sum0"]]
    assert meet(collectives(found)[0][3], spans(found, "gradient2"))
    assert found.step < step("data_parallel_in_turn", 8, NEITHER).step


def test_nothing_is_computed_beside_the_last_sum_but_with_tailing_optimization():
    # session.is_tailing_optimization.true and .false, runconfig.is_tailing_optimization.effect
    plain, tail = step("data_parallel", 2, OVERLAP), step("data_parallel", 2, TAIL)
    assert not meet(collectives(plain)[-1][3], computing(plain))
    assert collectives(tail)[-1][0] == ["sum0"]
    assert meet(collectives(tail)[-1][3], spans(tail, "update3", "update2", "update1"))
    assert not meet(collectives(tail)[-1][3], spans(tail, "update0"))
    assert tail.step < plain.step


def test_tailing_optimization_moves_the_last_sum_alone_where_collectives_are_not_parallel():
    found = step("data_parallel", 2, {**NEITHER, "is_tailing_optimization": True})
    first, last = collectives(found)
    assert not meet(first[3], computing(found)) and meet(last[3], spans(found, "update3"))


@pytest.mark.parametrize("values", [NEITHER, TAIL])
def test_on_one_device_neither_option_changes_anything(values):
    # session.is_tailing_optimization.distributed_only
    found, other = step("data_parallel", 1, OVERLAP), step("data_parallel", 1, values)
    assert found.timeline == other.timeline
    assert {engine for _, engine, *_ in collectives(found)} == {"sdma"} and len(collectives(found)) == 4


@pytest.mark.parametrize(("ranks", "engine"), [(2, "hccs"), (4, "hccs"), (8, "pcie"), (16, "roce")])
def test_a_collective_is_on_the_slowest_link_that_it_uses(ranks, engine):
    assert {found for _, found, *_ in collectives(step("data_parallel", ranks, OVERLAP))} == {engine}


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (None, [["sum3", "sum2", "sum1"], ["sum0"]]),
        (Split.by_index([0, 3]), [["sum3"], ["sum2", "sum1", "sum0"]]),
        (Split.by_index([1]), [["sum3", "sum2"], ["sum1", "sum0"]]),
        (Split.by_size([25, 25, 50]), [["sum3"], ["sum2"], ["sum1", "sum0"]]),
        (Split.by_size([100]), [["sum3", "sum2", "sum1", "sum0"]]),
    ],
)
def test_gradients_are_summed_together_as_they_are_split(split, expected):
    assert [members for members, *_ in collectives(step("data_parallel", 2, OVERLAP, split=split))] == expected


def test_a_gradient_that_is_not_there_cannot_end_a_segment():
    with pytest.raises(NpuError, match="no gradient 4: there are 4"):
        step("data_parallel", 2, OVERLAP, split=Split.by_index([1, 4]))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=60), st.lists(st.integers(1, 50), min_size=1, max_size=8))
def test_segments_hold_every_gradient_once_in_order_and_no_more_than_their_share(sizes, weights):
    shares = [100 * weight / sum(weights) for weight in weights]
    found = segments(sizes, Split.by_size(shares))
    assert [place for part in found for place in part] == list(range(len(sizes))) and all(found)
    assert len(found) <= len(shares)


def test_sums_of_which_one_needs_the_other_are_never_together():
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [64, 64])
    for number in range(3):
        at = program.allreduce(g, f"sum{number}", g.op("Relu", f"relu{number}", [at]))
    found = step(g.build(), 4, OVERLAP, targets=["sum2"], feeds=["x:0"])
    assert [members for members, *_ in collectives(found)] == [["sum0"], ["sum1"], ["sum2"]]


def test_operators_of_one_fusion_id_are_together_and_of_others_apart():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    ends = [
        program.allreduce(g, f"sum{number}", g.op("Relu", f"relu{number}", [x]), fusion=2, fusion_id=number % 2)
        for number in range(4)
    ]
    g.op("NoOp", "train", [], control=ends)
    found = step(g.build(), 2, OVERLAP, feeds=["x:0"])
    assert sorted(members for members, *_ in collectives(found)) == [["sum0", "sum2"], ["sum1", "sum3"]]


def test_sums_of_other_reductions_or_types_are_apart():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    y = g.placeholder("y", "int32", [64, 64])
    ends = [
        program.allreduce(g, "total", x), program.allreduce(g, "largest", x, reduction="max"),
        program.allreduce(g, "counts", y),
    ]  # fmt: skip
    g.op("NoOp", "train", [], control=ends)
    found = step(g.build(), 2, OVERLAP, feeds=["x:0", "y:0"], split=Split.by_size([100]))
    assert sorted(members for members, *_ in collectives(found)) == [["counts"], ["largest"], ["total"]]


def test_every_collective_has_its_time_on_the_links():
    found = step("every_collective", 2, OVERLAP, targets=["gather"], feeds=["x:0"])
    megabytes = {kernel.node: exchange for kernel, exchange in priced(found)}
    assert {node: sum(count for _, count in one.bytes) >> 20 for node, one in megabytes.items()} == {
        "allreduce": 8, "reduce": 6, "broadcast": 6, "scatter": 4, "gather": 4,
    }  # fmt: skip
    assert all(one.duration > 0 and one.engine == "hccs" for one in megabytes.values())


def priced(found):
    return [(found.compiled.fused.kernels[number], one) for number, one in sorted(found.compiled.exchanges.items())]


def test_sending_receiving_and_exchanging_take_time_on_their_links():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    sent = g.op("HcomSend", "send", [x], dest_rank=4, group="hccl_world_group", sr_tag=0)
    got = g.op("HcomReceive", "receive", [], T="float32", shape=[64, 64], src_rank=1, group="hccl_world_group")
    counts = [g.const(name, [512] * 8, "int64") for name in ("counts", "places", "counts2", "places2")]
    flat = g.op("Reshape", "flat", [got, g.const("length", [4096], "int32")])
    g.op("HcomAllToAllV", "exchange", [flat, *counts], group="hccl_world_group")
    g.op("NoOp", "train", [], control=[sent])
    found = step(g.build(), 8, OVERLAP, targets=["train", "exchange"], feeds=["x:0"], sizes={"exchange": (4096,)})
    told = {kernel.node: (one.engine, sum(count for _, count in one.bytes)) for kernel, one in priced(found)}
    assert told == {
        "send": ("pcie", 64 * 64 * 4), "receive": ("hccs", 64 * 64 * 4), "exchange": ("pcie", 7 * 64 * 64 * 4),
    }  # fmt: skip


def test_a_group_has_the_links_of_its_own_ranks():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    g.op("NoOp", "train", [], control=[program.allreduce(g, "sum", x, group="pair")])
    graph = g.build()
    with pytest.raises(NpuError, match="group 'pair'"):
        step(graph, 8, OVERLAP, feeds=["x:0"])
    found = step(graph, 8, OVERLAP, feeds=["x:0"], groups={"pair": [0, 4]})
    assert [engine for _, engine, *_ in collectives(found)] == ["pcie"]
    with pytest.raises(NpuError, match="there are 2 ranks"):
        step(graph, 2, OVERLAP, feeds=["x:0"], groups={"pair": [0, 4]})


@pytest.mark.parametrize("values", [NEITHER, OVERLAP, TAIL])
def test_no_link_of_a_device_and_no_engine_does_two_things_at_once(values):
    found = step("data_parallel_in_turn", 16, values)
    last = {}
    for task, span in zip(found.timeline.tasks, found.timeline.spans):
        assert span.start >= last.get((task.engine, task.slot), 0)
        last[task.engine, task.slot] = span.end


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(["hccs", "pcie", "roce"]), st.floats(1, 20), st.sampled_from([2, 3, 6, 8, 12, 16]),
    st.sampled_from([NEITHER, OVERLAP, TAIL]), st.sampled_from(["data_parallel", "data_parallel_in_turn"]),
)  # fmt: skip
def test_faster_links_never_make_a_step_longer(link, factor, ranks, values, name):
    device = built_in()
    faster = device.changed(**{link: getattr(device, link) * factor})
    assert step(name, ranks, values, device=faster).step <= step(name, ranks, values).step


@pytest.mark.parametrize("ranks", [2, 8])
def test_in_parallel_is_never_slower(ranks):
    for name in ("data_parallel", "data_parallel_in_turn"):
        ends = [step(name, ranks, values).step for values in (NEITHER, OVERLAP, TAIL)]
        assert ends == sorted(ends, reverse=True)


def test_the_same_step_of_several_ranks_gives_the_same_trace():
    texts = [
        json.dumps(profiling.trace(profiling.ProfileRequest(step("data_parallel", 8, TAIL), None)), sort_keys=True)
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_each_group_is_split_in_its_own_way():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    groups = ["hccl_world_group", "pair"]
    ends = [
        program.allreduce(g, f"{group}{number}", x, group=group) for group in groups for number in range(2)
    ]  # fmt: skip
    g.op("NoOp", "train", [], control=ends)
    split = {"pair": Split.by_size([100])}
    found = step(g.build(), 4, OVERLAP, feeds=["x:0"], split=split, groups={"pair": [0, 1]})
    assert sorted(len(members) for members, *_ in collectives(found)) == [1, 1, 2]


def test_ranks_may_be_a_topology():
    where = topology(4, per_server=2)
    assert {engine for _, engine, *_ in collectives(step("data_parallel", where, OVERLAP))} == {"roce"}
