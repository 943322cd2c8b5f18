"""Options that move the step, each in the direction that its document states."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from npu_reference.hardware import built_in
from tests.timing.networks import mlp, step, two_engines


def with_variables(layers=3, batch=64, width=256):
    g = GraphBuilder()
    at = g.placeholder("x", "float32", [batch, width])
    for number in range(layers):
        weights = g.resource_variable(f"w{number}", "float32", [width, width])
        read = g.op("ReadVariableOp", f"w{number}/read", [weights], dtype="float32")
        at = g.op("MatMul", f"matmul{number}", [at, read])
    g.op("Relu", "end", [at])
    return g.build(), ["x:0"], ["end:0"]


def with_constants(equal=True, width=256):
    """Two GEOPs with a constant each."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [width, width])
    first = g.const("first", [[1.0] * width] * width)
    other = g.const("other", [[1.0 if equal else 2.0] * width] * width)
    call = g.py_func("call", [g.op("MatMul", "one", [x, first])], ["float32"])
    g.op("MatMul", "two", [call[0], other])
    return g.build(), ["x:0"], ["two:0"], {"call": [width, width]}


def types(found):
    return [kernel.type for kernel in found.compiled.fused.kernels]


def test_variables_in_the_devices_layout_need_no_kernel_for_it_in_a_step():
    """session.variable_format_optimize.true, .false."""
    net = with_variables()
    kept, changed = (step(*net, variable_format_optimize=flag) for flag in (True, False))
    assert types(kept).count("TransData") == 0 and types(changed).count("TransData") == 3
    assert kept.timeline.end < changed.timeline.end
    assert step(*mlp(), variable_format_optimize=False).timeline.end == step(*mlp()).timeline.end


def test_the_layout_of_a_variable_is_changed_once_whoever_reads_it():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [64, 64])
    read = g.op("ReadVariableOp", "r", [g.resource_variable("w", "float32", [64, 64])], dtype="float32")
    g.op("MatMul", "two", [g.op("MatMul", "one", [x, read]), read])
    found = step(g.build(), ["x:0"], ["two:0"], variable_format_optimize=False)
    assert types(found).count("TransData") == 1


def test_the_layout_of_a_variable_is_changed_in_every_graph_that_reads_it():
    g = GraphBuilder()
    x, w = g.placeholder("x", "float32", [64, 64]), g.resource_variable("w", "float32", [64, 64])
    first, second = (g.op("ReadVariableOp", f"r{number}", [w], dtype="float32") for number in (1, 2))
    between = g.py_func("call", [g.op("MatMul", "one", [x, first])], ["float32"])
    g.op("MatMul", "two", [between, second])
    values = {"mix_compile_mode": True, "variable_format_optimize": False}
    found = step(g.build(), ["x:0"], ["two:0"], {"call": (64, 64)}, **values)
    assert len(found.partition.geops) == 2 and types(found).count("TransData") == 2


def chosen(op, mode):
    """The modes of a graph of one operator and its nanoseconds, without and with a mode in the file."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4096, 1024])
    indexed = op == "Gather"
    g.op(op, "end", [x, g.placeholder("at", "int32", [4096])] if indexed else [x])
    feeds, files = ["x:0"] + ["at:0"] * indexed, {"/modes.ini": f"[ByOpType]\n{op}={mode}\n"}
    plain = step(g.build(), feeds, ["end:0"], surface="runconfig")
    asked = step(g.build(), feeds, ["end:0"], surface="runconfig", op_precision_mode="/modes.ini", files=files)
    return {one.impl_mode for one in asked.compiled.fused.kernels}, plain.timeline.end, asked.timeline.end


@pytest.mark.parametrize("turn", ["", "BackpropInput", "BackpropFilter"])
def test_a_convolution_of_as_many_groups_as_channels_takes_as_long_as_a_depthwise_one(turn):
    image, found = [8, 28, 28, 96], []
    for op, window in (("Conv2D", [7, 7, 1, 96]), ("DepthwiseConv2dNative", [7, 7, 96, 1])):
        g = GraphBuilder()
        data = g.const("size", image, "int32") if turn == "BackpropInput" else g.placeholder("x", "float32", image)
        filters = g.const("w", window, "int32") if turn == "BackpropFilter" else g.placeholder("w", "float32", window)
        gradient = [g.placeholder("dy", "float32", image)] if turn else []
        g.op(op + turn, "conv", [data, filters, *gradient], strides=[1, 1, 1, 1], padding="SAME")
        graph = g.build()
        feeds = [f"{node.name}:0" for node in graph.nodes if node.op == "Placeholder"]
        found.append(step(graph, feeds, ["conv:0"]).step)
    assert found[0] == found[1]


def test_checking_indices_costs_time():
    """runconfig.op_precision_mode.support_out_of_bound_index.perf."""
    modes, plain, asked = chosen("Gather", "support_out_of_bound_index")
    assert "support_out_of_bound_index" in modes and plain < asked


def test_an_operator_without_the_mode_keeps_its_time():
    modes, plain, asked = chosen("Sigmoid", "super_performance")
    assert "super_performance" not in modes and plain == asked


def test_what_the_modes_of_a_kernel_make_of_its_time():
    from npu_reference.compiler.costs import cost

    found = step(*mlp(batch=4096))
    kernel = next(one for one in found.compiled.fused.kernels if one.engine == "cube")
    tensors = [found.compiled.fused.tensors[place] for place in (*kernel.reads, *kernel.writes)]

    def nanoseconds(mode):
        return cost(kernel._replace(impl_mode=mode), tensors, 0, built_in(), found.settings).duration

    ranked = ["super_performance", "keep_fp16", "high_performance", "support_out_of_bound_index", "high_precision"]
    assert sorted(ranked, key=nanoseconds) == ranked and len({nanoseconds(mode) for mode in ranked}) == 5


@pytest.mark.parametrize(
    "jit, dynamic, fuses",
    [
        ("true", True, True),
        ("true", False, True),
        ("auto", False, True),
        ("auto", True, False),
        ("false", False, False),
    ],
)
def test_prebuilt_kernels_are_taken_where_jit_compile_prefers_them(jit, dynamic, fuses):
    """runconfig.jit_compile.auto.static, .auto.dynamic, .true, .false."""
    found = step(*mlp(), surface="runconfig", jit_compile=jit, compile_dynamic_mode=dynamic)
    assert ("UBFusion" in {count.section for count in found.compiled.fusion}) == fuses


def test_sizes_found_only_as_the_graph_runs_cost_time():
    """runconfig.compile_dynamic_mode.true: every shape is generalised."""
    ends = [step(*mlp(), surface="runconfig", jit_compile="true", compile_dynamic_mode=flag) for flag in (False, True)]
    assert ends[0].timeline.end < ends[1].timeline.end


def test_engines_apart_have_streams_of_their_own_and_dependent_operators_keep_their_order():
    """runconfig.ac_parallel_enable.streams, .auto_detect."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [256, 256])
    g.op("MatMul", "core", [g.op("MatrixInverse", "cpu", [x]), x])
    values = {"surface": "runconfig", "mix_compile_mode": True, "compile_dynamic_mode": True}
    on, off = (step(g.build(), ["x:0"], ["core:0"], ac_parallel_enable=flag, **values) for flag in ("1", "0"))

    def streams(found, engine):
        return {task.stream for task in found.timeline.tasks if task.engine == engine}

    assert not streams(on, "aicpu") & streams(on, "aicore")
    assert streams(off, "aicpu") == streams(off, "aicore")
    assert on.timeline.overlap("aicpu", "aicore") == 0
    static = {"surface": "runconfig", "mix_compile_mode": True}
    same = [step(*two_engines(), ac_parallel_enable=flag, **static).timeline.spans for flag in ("1", "0")]
    assert same[0] == same[1]


def sums(**memory):
    from npu_reference.options import construct

    g = GraphBuilder()
    shape = [2, 1 << 18]
    at = g.placeholder("x", "float32", shape)
    for number in range(6):
        total = g.op("Sum", f"sum{number}", [at, g.const(f"axis{number}", [0], "int32")])
        at = g.op("BroadcastTo", f"again{number}", [total, g.const(f"shape{number}", shape, "int32")])
    g.op("Relu", "end", [at])
    config = construct("MemoryConfig", memory) if memory else None
    return step(g.build(), ["x:0"], ["end:0"], surface="runconfig", memory_config=config)


def test_what_is_added_into_is_cleared_at_once_or_piece_by_piece():
    """MemoryConfig.atomic_clean_policy: one kernel, and all of the memory taken from there on; or one a piece."""
    at_once, apart = sums(atomic_clean_policy=0), sums(atomic_clean_policy=1)
    assert types(at_once).count("MemSet") == 1 and types(apart).count("MemSet") == 6
    assert types(sums()) == types(at_once)
    assert apart.memory.peak < at_once.memory.peak and apart.memory.arena < at_once.memory.arena
    assert apart.timeline.end > at_once.timeline.end


def test_static_memory_is_taken_as_a_whole():
    """MemoryConfig.static_memory_policy 1."""
    dynamic, static = sums(static_memory_policy=0), sums(static_memory_policy=1)
    assert dynamic.memory.reserved == dynamic.memory.total < 1 << 30
    assert static.memory.reserved == 31 << 30 and static.memory.total == dynamic.memory.total


def test_equal_weights_outside_of_the_graph_are_loaded_once():
    """runconfig.external_weight.sharing, .false."""
    values = {"surface": "runconfig", "mix_compile_mode": True}
    size = 256 * 256 * 4
    *net, shapes = with_constants()
    inside, outside = (step(*net, shapes, external_weight=flag, **values).memory for flag in (False, True))
    assert inside.constants >= 2 * size and inside.external == 0
    assert size <= outside.external < 2 * size and outside.constants < size
    *other, shapes = with_constants(equal=False)
    assert step(*other, shapes, external_weight=True, **values).memory.external >= 2 * size


def refusal(**values):
    device = built_in().changed(hbm=1 << 20)
    with pytest.raises(NpuError) as caught:
        step(*mlp(batch=4096), device=device, **values)
    return str(caught.value)


def test_the_advice_is_what_would_help_and_nothing_that_is_there_already():
    plain = refusal()
    mixed = refusal(precision_mode="allow_mix_precision")
    assert "smaller batch" in plain and "mixed precision" in plain and "variable_placement" not in plain
    assert "smaller batch" in mixed and "mixed precision" not in mixed
    many = refusal(
        surface="runconfig", graph_run_mode=0, graph_max_parallel_model_num=4, precision_mode="force_fp16",
        concurrent=4,
    )  # fmt: skip
    assert "graph_max_parallel_model_num" in many


def test_variables_that_do_not_fit_are_named():
    device = built_in().changed(hbm=100_000)
    with pytest.raises(NpuError) as caught:
        step(*with_variables(batch=1), device=device)
    assert "w0:0 262,144" in str(caught.value) and "variable_placement to Host" in caught.value.remedy


def test_a_product_cut_along_its_depth_has_a_workspace_while_it_runs():
    g = GraphBuilder()
    left, right = g.placeholder("a", "float32", [16, 1 << 16]), g.placeholder("b", "float32", [1 << 16, 16])
    g.op("MatMul", "end", [left, right])
    found = step(g.build(), ["a:0", "b:0"], ["end:0"])
    assert found.memory.workspace >= 16 * 16 * 4 * 2
    assert any(tensor.name == "end/workspace" for tensor in found.compiled.fused.tensors)
    assert step(*mlp(batch=8192)).memory.workspace == 0


def test_steps_beside_each_other_have_memory_of_their_own_and_share_the_weights():
    values = {"surface": "runconfig", "graph_run_mode": 0, "graph_max_parallel_model_num": 4}
    one, four = (step(*with_variables(), concurrent=number, **values) for number in (1, 4))
    assert four.run.lanes == 4
    assert four.memory.total - one.memory.total == 3 * one.memory.arena
    assert four.memory.variables == one.memory.variables


def open_batch():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [None, 256])
    weights = g.placeholder("w", "float32", [256, 256])
    g.op("MatMul", "end", [x, weights])
    return g.build(), ["x:0", "w:0"], ["end:0"]


PROFILES = {
    "graph_run_mode": 0,
    "input_shape": "x:-1,256;w:256,256",
    "dynamic_dims": "16;4096;64",
    "dynamic_node_type": 1,
}


def test_each_profile_of_dynamic_dims_is_a_step_of_its_own_and_the_slowest_is_told():
    """session.dynamic_dims.order: profiles are compiled apart."""
    found = step(*open_batch(), **PROFILES)
    assert [name for name, _, _ in found.profiles] == ["profile 0", "profile 1", "profile 2"]
    steps = [nanoseconds for _, nanoseconds, _ in found.profiles]
    assert steps[0] <= steps[2] < steps[1] == found.step and not found.settings.dynamic
    one = step(*open_batch(), {"x": [64, 256]}, **PROFILES)
    assert one.profiles == () and one.step == steps[2]


def test_sizes_that_are_in_no_profile_are_refused():
    """session.dynamic_dims.only_profiles."""
    with pytest.raises(NpuError) as caught:
        step(*open_batch(), {"x": [65, 256]}, **PROFILES)
    assert caught.value.code == "INPUT_SHAPE" and "16; 4096; 64" in caught.value.remedy


def test_a_range_is_planned_for_its_largest_and_holds():
    ranges = {"dynamic_input": True, "dynamic_inputs_shape_range": "data:[256,256],[1~512,256]"}
    found = step(*open_batch(), surface="session", **ranges)
    assert sum(copy.bytes for copy in found.compiled.transfers if copy.direction == "d2h") == 512 * 256 * 4
    assert found.settings.dynamic
    with pytest.raises(NpuError) as caught:
        step(*open_batch(), {"x": [513, 256]}, surface="session", **ranges)
    assert (caught.value.code, caught.value.subject) == ("INPUT_SHAPE", "x")


def test_what_is_read_from_the_cache_alone_is_never_written_to_device_memory():
    net = mlp(layers=4, batch=256, width=512)
    kept, small = step(*net), step(*net, device=built_in().changed(l2=1024))
    written = [sum(cost.hbm_write for cost in found.compiled.costs) for found in (kept, small)]
    assert written[0] == 256 * 512 * 4 < written[1] and kept.timeline.end < small.timeline.end


def test_rows_of_a_table_are_taken_one_by_one_by_each_core():
    def longest(rows, width):
        g = GraphBuilder()
        table = g.op("VarHandleOp", "w", [], dtype="float32", shape=[1 << 20, width])
        taken = [g.placeholder("rows", "int32", [rows])]
        g.op("ResourceGather", "y", [table, *taken], dtype="float32", Tindices="int32")
        found = step(g.build(), ["rows:0"], ["y:0"])
        return max(found.compiled.costs, key=lambda cost: cost.duration)

    few, many, wide = longest(1 << 10, 8), longest(1 << 16, 8), longest(1 << 16, 1024)
    assert many.duration == 64 * few.duration == (1 << 16) // 32 * 200 and many.bound == "latency"
    assert wide.bound == "memory" and wide.duration > many.duration


@pytest.mark.parametrize("steps", [4, 32])
def test_a_recurrent_layer_is_a_launch_for_each_of_its_steps(steps):
    g = GraphBuilder()
    x, state = g.placeholder("x", "float32", [steps, 16, 32]), g.placeholder("state", "float32", [1, 16, 64])
    w, b = g.placeholder("w", "float32", [96, 256]), g.placeholder("b", "float32", [256])
    g.op("DynamicRnnV2", "layer", [x, w, b, state, state], T="float32")
    found = step(g.build(), ["x:0", "state:0", "w:0", "b:0"], ["layer:0"], precision_mode="allow_mix_precision")
    costs = [cost for kernel, cost in zip(found.compiled.fused.kernels, found.compiled.costs) if kernel.gemm]
    assert [cost.launch for cost in costs] == [3000 * steps] and costs[0].operations == 2 * steps * 16 * 96 * 256
