"""What holds of every step of several devices, whatever the graph, the options and the links.

Random graphs of computing and collectives find orders that nobody wrote an example for. On each of them operators keep
their order, the options of collectives hold, and a better device is never slower.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.programs.distributed_graphs import allreduce
from npu_reference.compiler.collectives import Split
from npu_reference.graphs import GraphBuilder
from npu_reference.hardware import built_in
from tests.links.test_collectives_in_a_step import collectives, computing, meet, step

EXAMPLES = settings(max_examples=40, deadline=None)
PARALLEL = ({}, {"stream_max_parallel_num": "DNN_VM_AICPU:4,AIcoreEngine:2"})


@st.composite
def steps(draw, **fixed):
    """(step, graph, ranks, values): computing and collectives in any order, some of them one after the other."""
    g = GraphBuilder()
    found = [g.placeholder("x", "float32", [128, 128])]
    kinds = draw(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=20)
    )
    for number, (kind, one, other) in enumerate(kinds):
        a, b = found[one % len(found)], found[other % len(found)]
        name = f"n{number}"
        if kind < 2:
            made = g.op("MatMul", name, [a, b])
        elif kind == 2:
            made = g.op("MatrixInverse", name, [a])
        else:
            made = allreduce(g, name, a, fusion=(1, 0, 2)[kind - 3], fusion_id=other % 2)
        found.append(made)
    g.op("NoOp", "train", [], control=found[1:])
    graph = g.build()
    ranks = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 16]))
    values = {"hcom_parallel": draw(st.booleans()), "is_tailing_optimization": draw(st.booleans())}
    values.update(draw(st.sampled_from(PARALLEL)), **fixed)
    split = draw(st.sampled_from([None, Split.by_size([100]), Split.by_size([10, 20, 30, 40])]))
    return step(graph, ranks, values, feeds=["x:0"], split=split), graph, ranks, values, split


@EXAMPLES
@given(steps())
def test_every_operator_is_there_once_and_after_what_it_needs(made):
    found, _, _, _, _ = made
    before, after = found.compiled.lowered.kernels, found.compiled.fused.kernels
    assert sorted(m for kernel in before for m in kernel.members) == sorted(
        m for kernel in after for m in kernel.members
    )
    place = {member: number for number, kernel in enumerate(after) for member in kernel.members}
    ended = {task.kernel: span.end for task, span in zip(found.timeline.tasks, found.timeline.spans)}
    began = {task.kernel: span.start for task, span in zip(found.timeline.tasks, found.timeline.spans)}
    for kernel in before:
        for need in kernel.after:
            one, other = place[before[need].members[0]], place[kernel.members[0]]
            assert one == other or ended[one] <= began[other]


@EXAMPLES
@given(steps(hcom_parallel=False, is_tailing_optimization=False))
def test_without_hcom_parallel_nothing_is_computed_beside_a_collective(made):
    found, _, ranks, _, _ = made
    if ranks > 1:
        assert not any(meet(time, computing(found)) for *_, time in collectives(found))


@EXAMPLES
@given(steps(is_tailing_optimization=False))
def test_nothing_follows_the_last_sum_of_several_before_it_has_ended(made):
    found, _, ranks, _, _ = made
    kernels = found.compiled.fused.kernels
    sums = [number for number, kernel in enumerate(kernels) if kernel.collective is not None]
    if ranks > 1 and len(sums) > 1:
        spans = {task.kernel: span for task, span in zip(found.timeline.tasks, found.timeline.spans)}
        assert all(spans[number].start >= spans[sums[-1]].end for number in range(sums[-1] + 1, len(kernels)))


@EXAMPLES
@given(steps())
def test_a_step_takes_at_least_the_time_of_its_collectives_and_of_each_link(made):
    found, _, _, _, _ = made
    device = built_in()
    exchanges = found.compiled.exchanges.values()
    assert found.timeline.end >= sum(one.duration for one in exchanges)
    for one in exchanges:
        assert one.duration == max([passage.arrived for passage in one.passages] or [0])
        assert sum(count for _, count in one.bytes) == sum(passage.message.bytes for passage in one.passages)
        busy = {}
        for passage in one.passages:
            for link in passage.links:
                busy[link] = busy.get(link, 0) + passage.message.bytes
        assert all(count / getattr(device, link.kind) <= one.duration for link, count in busy.items())


@EXAMPLES
@given(steps(), st.sampled_from(["hccs", "pcie", "roce", "clock"]), st.floats(1, 10))
def test_a_better_device_is_never_slower(made, key, factor):
    found, graph, ranks, values, split = made
    better = built_in().changed(**{key: getattr(built_in(), key) * factor})
    assert step(graph, ranks, values, feeds=["x:0"], split=split, device=better).timeline.end <= found.timeline.end


@EXAMPLES
@given(steps())
def test_the_same_step_is_made_again(made):
    found, graph, ranks, values, split = made
    again = step(graph, ranks, values, feeds=["x:0"], split=split)
    assert again.timeline == found.timeline and again.memory == found.memory
