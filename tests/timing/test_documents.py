"""What the documents say of time, memory and copies, by what an option changes in a step."""

from __future__ import annotations

import json

import pytest

from npu_reference.errors import NpuError
from npu_reference.hardware import built_in
from tests.timing.networks import conv_net, host_between, inputs, mlp, step, two_engines

KB = 1024


def copies(sizes, threshold, direction="h2d"):
    found = step(*inputs(sizes), surface="runconfig", input_fusion_size=threshold)
    return sorted(copy.bytes for copy in found.compiled.transfers if copy.direction == direction)


def test_the_documented_inputs_are_seven_copies_one_of_300_kb():
    """runconfig.input_fusion_size.example_100kb: two of 100 KB, two of 50 KB, six larger; the threshold 100 KB."""
    larger = [120 * KB] * 6
    assert copies([100 * KB] * 2 + [50 * KB] * 2 + larger, 100 * KB) == larger + [300 * KB]


def test_at_a_threshold_of_0_every_input_goes_alone():
    """runconfig.input_fusion_size.example_0kb, zero_off."""
    sizes = [100 * KB] * 2 + [50 * KB] * 2 + [120 * KB] * 6
    assert copies(sizes, 0) == sorted(sizes)


def test_an_input_as_large_as_the_threshold_is_fused():
    """runconfig.input_fusion_size.boundary_equal, gt_not_fused."""
    assert copies([4 * KB, 4 * KB, 4 * KB + 4], 4 * KB) == [4 * KB + 4, 8 * KB]


def test_what_is_copied_back_is_never_fused():
    """runconfig.input_fusion_size.h2d_only."""
    assert copies([4 * KB] * 4, 128 * KB, "d2h") == copies([4 * KB] * 4, 0, "d2h") == [4]


def test_fewer_copies_take_less_time():
    def end(threshold):
        return step(*inputs([4 * KB] * 20), surface="runconfig", input_fusion_size=threshold).timeline.end

    assert end(128 * KB) < end(0)


def overlap(**values):
    found = step(*two_engines(), mix_compile_mode=True, **values)
    return found.timeline.overlap("aicore", "aicpu"), found.timeline.end


def test_streams_of_their_own_let_ai_cpu_and_ai_core_work_at_once():
    """session.stream_max_parallel_num.effect; an engine that is not listed keeps 1."""
    (together, fast), (apart, slow) = overlap(stream_max_parallel_num="DNN_VM_AICPU:4"), overlap()
    assert together > 0 and apart == 0 and fast < slow


def test_ac_parallel_enable_is_about_graphs_of_dynamic_shape_only():
    """runconfig.ac_parallel_enable.1, .0, .dynamic_only."""

    def together(**values):
        found = step(*two_engines(), surface="runconfig", mix_compile_mode=True, **values)
        return found.timeline.overlap("aicore", "aicpu")

    assert together(ac_parallel_enable="1", compile_dynamic_mode=True) > 0
    assert together(ac_parallel_enable="0", compile_dynamic_mode=True) == 0
    assert together(ac_parallel_enable="1") == 0


def test_deterministic_is_slower():
    """runconfig.deterministic.perf."""
    sizes = [4 << 20] * 3
    slow = step(*inputs(sizes), surface="runconfig", deterministic=1).timeline.end
    assert slow > step(*inputs(sizes), surface="runconfig", deterministic=0).timeline.end


@pytest.mark.parametrize("level", [1, 2])
def test_debug_levels_1_and_2_are_slower(level):
    """session.op_debug_level.perf."""
    sizes = [4 << 20] * 3
    assert step(*inputs(sizes), op_debug_level=level).timeline.end > step(*inputs(sizes)).timeline.end


def test_an_exception_dump_that_waits_costs_nothing():
    """session.enable_exception_dump.no_perf_cost."""
    net = mlp()
    assert step(*net, enable_exception_dump=1).timeline.end == step(*net, enable_exception_dump=0).timeline.end


@pytest.mark.parametrize("channels, gains", [(3, True), (4, True), (5, False), (16, False)])
def test_small_channels_gain_up_to_four_of_them(channels, gains):
    """session.enable_small_channel.threshold, .1, .0."""
    net = conv_net(channels)
    values = {"graph_run_mode": 0, "precision_mode": "force_fp16", "edition": "legacy"}

    def compute(flag):
        found = step(*net, enable_small_channel=flag, **values)
        return next(cost.duration for task, cost in zip_costs(found) if task.kind == "cube")

    assert (compute(1) < compute(0)) == gains
    assert compute(1) <= compute(0)


def zip_costs(found):
    return [(task, found.compiled.costs[task.kernel]) for task in found.timeline.tasks if task.kernel >= 0]


def test_high_performance_is_the_faster_implementation():
    """session.op_select_implmode.high_performance."""
    from npu_reference.graphs import GraphBuilder

    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4096, 1024])
    g.op("Sqrt", "root", [g.op("Rsqrt", "inverse", [x])])
    net = (g.build(), ["x:0"], ["root:0"])
    both = {"graph_run_mode": 0, "precision_mode": "force_fp16", "buffer_optimize": "l2_optimize"}
    slow = step(*net, op_select_implmode="high_precision", **both)
    fast = step(*net, op_select_implmode="high_performance", **both)
    modes = {kernel.impl_mode for kernel in slow.compiled.fused.kernels}
    assert "high_precision" in modes and slow.timeline.end >= fast.timeline.end


def test_what_fits_the_cache_is_read_from_there_unless_switched_off():
    """session.buffer_optimize: l2_optimize, off_optimize (online inference)."""
    net = mlp(layers=4, batch=2048, width=1024)

    def read(value):
        found = step(*net, graph_run_mode=0, buffer_optimize=value)
        return sum(cost.hbm_read for cost in found.compiled.costs), found.timeline.end

    (less, fast), (more, slow) = read("l2_optimize"), read("off_optimize")
    assert less < more and fast <= slow


def test_passes_that_are_switched_off_do_nothing():
    """files.fusion_switch: ALL off, and one on over it."""
    net = mlp()

    def passes(switch):
        files = {"/f.json": json.dumps({"Switch": switch})}
        found = step(*net, fusion_switch_file="/f.json", files=files, precision_mode="allow_mix_precision")
        return {count.name: count.effect_times for count in found.compiled.fusion}, found.timeline.end

    everything, fast = passes({"UBFusion": {}})
    off = {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}
    nothing, slow = passes(off)
    assert nothing == {} and everything["MatMulBiasAddFusionPass"] == 3 and fast < slow
    one, _ = passes({**off, "GraphFusion": {"ALL": "off", "MatMulBiasAddFusionPass": "on"}})
    assert one == {"MatMulBiasAddFusionPass": 3}


def test_prebuilt_kernels_are_not_fused_with_each_other():
    """runconfig.jit_compile.false."""
    net = mlp()
    compiled = step(*net, surface="runconfig", jit_compile="true")
    prebuilt = step(*net, surface="runconfig", jit_compile="false")
    assert {count.section for count in prebuilt.compiled.fusion} == {"GraphFusion"}
    assert prebuilt.timeline.end > compiled.timeline.end


def test_kernels_of_dynamic_shape_find_their_tiles_when_launched():
    """runconfig.compile_dynamic_mode."""
    net = mlp()
    dynamic = step(*net, surface="runconfig", compile_dynamic_mode=True)
    assert dynamic.timeline.end > step(*net, surface="runconfig", compile_dynamic_mode=False).timeline.end


def test_copies_are_made_at_borders_only():
    """mixed.transfer.memcpy, mixed.transfer.only_boundaries: around a host operator, and nowhere inside a GEOP."""
    found = step(*host_between(), shapes={"call": [4, 4]}, mix_compile_mode=True)
    names = sorted((copy.direction, *copy.tensors) for copy in found.compiled.transfers)
    assert [direction for direction, _ in names] == ["d2h", "d2h", "h2d", "h2d"]
    assert [task.kind for task in found.timeline.tasks].count("launch") == 2
    whole = step(*mlp(), mix_compile_mode=True)
    assert len([copy for copy in whole.compiled.transfers if copy.direction == "d2h"]) == 1


def test_variables_on_the_host_are_copied_in_and_leave_the_device():
    """runconfig.variable_placement: Host."""
    from npu_reference.graphs import GraphBuilder

    g = GraphBuilder()
    x = g.placeholder("x", "float32", [16, 1024])
    w = g.op("VarHandleOp", "w", [], dtype="float32", shape=[1024, 1024])
    read = g.op("ReadVariableOp", "w/read", [w], dtype="float32")
    g.op("MatMul", "y", [x, read])
    net = (g.build(), ["x:0"], ["y:0"])
    device = step(*net, surface="runconfig", mix_compile_mode=True)
    assert device.memory.variables >= 4 << 20


def test_what_does_not_fit_names_the_largest_tensors_and_what_would_help():
    small = built_in().changed(hbm=1 << 20)
    with pytest.raises(NpuError) as caught:
        step(*mlp(batch=4096), device=small)
    assert caught.value.code == "DEVICE_MEMORY" and "Largest alive: " in caught.value.reason
    assert "smaller batch" in caught.value.remedy


def test_what_does_not_fit_is_told_by_what_is_limited():
    """session.graph_memory_max_size, session.variable_memory_max_size: each has its own tensors."""
    from npu_reference.graphs import GraphBuilder

    g = GraphBuilder()
    rows = g.placeholder("rows", "int32", [64])
    w = g.op("VarHandleOp", "w", [], dtype="float32", shape=[4096, 256])
    taken = g.op("ResourceGather", "taken", [w, rows], dtype="float32", Tindices="int32")
    g.op("Relu", "y", [taken])
    net = (g.build(), ["rows:0"], ["y:0"])
    for name, tensors, others in (
        ("graph_memory_max_size", "y:0 66,048", "w:0"),
        ("variable_memory_max_size", "w:0 4,194,304", "y:0"),
    ):
        with pytest.raises(NpuError) as caught:
            step(*net, edition="legacy", **{name: "4096"})
        told = caught.value
        assert told.subject == name and tensors in told.reason and others not in told.reason
        assert ("variable_placement" in told.remedy) == (name == "variable_memory_max_size")


def test_the_limits_of_the_legacy_edition_hold_and_those_of_the_current_one_do_not():
    """session.graph_memory_max_size: enforced in the legacy edition, ignored in the current one."""
    net = mlp(batch=4096)
    with pytest.raises(NpuError) as caught:
        step(*net, edition="legacy", graph_memory_max_size=str(1 << 20))
    assert caught.value.subject == "graph_memory_max_size"
    assert step(*net, edition="current", graph_memory_max_size=str(1 << 20)).timeline.end


def test_open_sizes_are_named_with_what_would_tell():
    from npu_reference.graphs import GraphBuilder

    g = GraphBuilder()
    g.op("Exp", "y", [g.placeholder("x", "float32", [None, 8])])
    with pytest.raises(NpuError) as caught:
        step(g.build(), ["x:0"], ["y:0"])
    assert (caught.value.code, caught.value.subject) == ("DEVICE_SIZES", "x")
    assert "--shape x:1,8" in caught.value.remedy


def test_the_answer_for_the_suite_has_every_task_copy_launch_and_fusion():
    found = step(*mlp(), precision_mode="allow_mix_precision")
    told = found.timeline_json()
    assert told["launches"] == 1 and told["iterations"] == 1 and told["step_ns"] == found.step
    assert len(told["tasks"]) == len(found.timeline.tasks)
    assert {task["engine"] for task in told["tasks"]} == {"pcie", "host", "cube", "vector"}
    assert {task["kind"] for task in told["tasks"]} == {"h2d", "launch", "kernel", "d2h"}
    joined = next(task for task in told["tasks"] if task.get("node") == "matmul0")
    assert joined["nodes"][0] == "matmul0" and "add0" in joined["nodes"]
    assert [copy["direction"] for copy in told["transfers"]].count("d2h") == 1
    assert {"section", "name", "matched", "effective"} == set(told["fusion"][0])
    assert json.loads(json.dumps(told)) == told
