"""What holds of every step on the simulated device, whatever the graph, the options and the device."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.models import profiling
from npu_reference.compiler.inserting import MEMSET
from npu_reference.compiler.tasks import schedule
from npu_reference.device.timing import execute
from npu_reference.hardware import built_in, names
from tests.timing.networks import nets, step

pytestmark = pytest.mark.not_oldest

EXAMPLES = settings(max_examples=30, deadline=None)
PARALLEL = ({}, {"stream_max_parallel_num": "DNN_VM_AICPU:4,AIcoreEngine:2"})


@st.composite
def steps(draw, choices=True, **fixed):
    net = draw(nets(choices))
    values = {
        "mix_compile_mode": True,
        "precision_mode": draw(st.sampled_from(["allow_mix_precision", "allow_fp32_to_fp16"])),
    }
    values["variable_format_optimize"] = draw(st.booleans())
    values.update(draw(st.sampled_from(PARALLEL)), **fixed)
    device = built_in(draw(st.sampled_from(names())))
    return step(*net, device=device, **values), (net, values, device)


@EXAMPLES
@given(steps())
def test_a_step_takes_at_least_what_follows_from_what_waits_for_what(made):
    found, _ = made
    ends = []
    for task in found.timeline.tasks:
        start = max([ends[wait] for wait in task.waits] or [0])
        ends.append(start + task.before + task.duration)
    assert found.timeline.end >= max(ends or [0])


@EXAMPLES
@given(steps())
def test_a_step_takes_at_least_the_time_of_each_roofline(made):
    found, _ = made
    device, costs = found.compiled.device, found.compiled.costs
    core = [cost for task, cost in priced(found) if task.engine == "aicore"]
    assert len(costs) == len([task for task in found.timeline.tasks if task.kernel >= 0])
    assert found.timeline.end >= sum(cost.hbm_read for cost in core) / device.hbm_bytes_per_ns
    assert found.timeline.end >= sum(cost.hbm_write for cost in core) / device.hbm_write_bytes_per_ns
    cube = [cost for task, cost in priced(found) if task.kind == "cube"]
    assert found.timeline.end >= sum(cost.operations for cost in cube) / device.float16_peak
    copied = sum(task.bytes for task in found.timeline.tasks if task.kind == "h2d")
    assert found.timeline.end >= copied / device.pcie


def priced(found):
    return [(task, found.compiled.costs[task.kernel]) for task in found.timeline.tasks if task.kernel >= 0]


@EXAMPLES
@given(steps())
def test_no_engine_does_two_things_at_once_and_streams_keep_their_order(made):
    found, _ = made
    servers, streams = {}, {}
    for task, span in zip(found.timeline.tasks, found.timeline.spans):
        assert span.start >= servers.get((task.engine, task.slot), 0)
        assert span.called >= streams.get(task.stream, 0)
        servers[task.engine, task.slot] = streams[task.stream] = span.end
        assert span.end - span.start == task.duration


@EXAMPLES
@given(steps())
def test_memory_holds_one_tensor_at_a_place_and_no_more_than_was_planned(made):
    found, _ = made
    plan = found.memory
    for number, one in enumerate(plan.blocks):
        assert one.offset % found.compiled.device.alignment == 0 and one.offset + one.bytes <= plan.arena
        for other in plan.blocks[number + 1 :]:
            apart_in_time = one.end <= other.start or other.end <= one.start
            apart_in_space = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
            assert apart_in_time or apart_in_space, (one, other)
    assert max(alive for _, alive in plan.curve()) == plan.peak <= plan.total


@EXAMPLES
@given(steps(), st.integers(0, 1 << 20))
def test_fusing_inputs_moves_the_same_bytes(made, threshold):
    found, (net, values, device) = made
    other = step(
        *net, device=device, surface="runconfig", input_fusion_size=threshold,
        **{key: value for key, value in values.items() if key != "stream_max_parallel_num"},
    )  # fmt: skip

    def moved(one, direction):
        copies = [copy for copy in one.compiled.transfers if copy.direction == direction]
        return sum(copy.bytes for copy in copies), sorted(name for copy in copies for name in copy.tensors)

    assert moved(found, "h2d") == moved(other, "h2d") and moved(found, "d2h") == moved(other, "d2h")


@pytest.mark.parametrize(
    "better",
    [
        {"ai_core": 2.0}, {"clock": 1.5}, {"hbm_read": 2.0}, {"hbm_write": 2.0}, {"l2_read": 2.0}, {"l2": 2.0},
        {"pcie": 3.0}, {"ai_cpu": 2.0}, {"aicpu_rate": 2.0}, {"kernel_launch": 0.5}, {"transfer_latency": 0.1},
    ],
    ids=lambda better: "".join(better),
)  # fmt: skip
def test_a_better_device_is_never_slower(better):
    @settings(max_examples=8, deadline=None)
    @given(steps(choices=False))
    def holds(made):
        found, (net, values, device) = made
        changed = {key: getattr(device, key) * factor for key, factor in better.items()}
        faster = step(*net, device=device.changed(**changed), **values)
        assert faster.timeline.end <= found.timeline.end

    holds()


@EXAMPLES
@given(nets(), st.integers(1, 31), st.integers(1, 4))
def test_more_streams_are_never_slower(net, cpu, core):
    ends = []
    for numbers in ((1, 1), (cpu, core), (cpu + 1, core + 1)):
        text = "DNN_VM_AICPU:{},AIcoreEngine:{}".format(*numbers)
        ends.append(step(*net, mix_compile_mode=True, stream_max_parallel_num=text).timeline.end)
    assert ends == sorted(ends, reverse=True)


@EXAMPLES
@given(nets())
def test_in_one_stream_a_step_is_the_sum_of_its_tasks(net):
    found = step(*net, mix_compile_mode=False)
    if len(found.partition.geops) != 1:
        return
    compiled = found.compiled
    tasks = schedule(compiled.fused, compiled.costs, compiled.device, compiled.settings, (0, 0))
    assert execute(tasks).end == sum(task.before + task.duration for task in tasks)


@EXAMPLES
@given(steps())
def test_the_same_step_gives_the_same_trace(made):
    found, (net, values, device) = made
    again = step(*net, device=device, **values)
    texts = [json.dumps(profiling.trace(profiling.ProfileRequest(one, None)), sort_keys=True) for one in (found, again)]
    assert texts[0] == texts[1]


@EXAMPLES
@given(steps())
def test_fusion_computes_every_operator_once_and_never_moves_more(made):
    found, _ = made
    before, after = found.compiled.lowered, found.compiled.fused
    assert sorted(m for k in before.kernels for m in k.members) == sorted(m for k in after.kernels for m in k.members)

    def touched(lowered):
        return sum(
            lowered.tensors[place].bytes
            for kernel in lowered.kernels
            if kernel.type != MEMSET
            for place in (*kernel.reads, *kernel.writes)
        )

    assert touched(after) <= touched(before)
