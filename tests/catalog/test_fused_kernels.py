"""What graph fusion makes of operators: columns of its own, and only where a constant becomes an attribute."""

from __future__ import annotations

from typing import Any

import pytest

from npu_reference.catalog import Catalog
from npu_reference.graphs import GraphBuilder
from npu_reference.graphs.ops import OPS
from npu_reference.graphs.private_ops import PRIVATE_OPS
from tests.precision.programs import dtypes, matmul, nodes

MIX = {"precision_mode": "allow_mix_precision"}

#: TensorFlow's operators whose AI Core columns have float32 and no float16: no kernel that fusion makes of them has it
#: (docs/precision.md). A new one wants a look at its kernel after fusion.
FLOAT32_ALONE = {
    "Dawsn", "DenseBincount", "Dequantize", "Dilation2DBackpropFilter", "Dilation2DBackpropInput", "Expint",
    "ExtractGlimpseV2", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannel",
    "FakeQuantWithMinMaxVarsPerChannelGradient", "InTopKV2", "ResizeBilinearGrad",
    "ResizeNearestNeighborGrad", "SparseBincount",
}  # fmt: skip
OPTIMIZERS = ("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")


def test_every_operator_of_float32_alone_was_looked_at() -> None:
    library, found = Catalog.built_in(), set()
    own = {declaration.name for declaration in PRIVATE_OPS}
    for op in library:
        descriptor = library.get(op)
        if descriptor is None or not descriptor.columns or OPS.get(op) is None:
            continue
        if op in own or op.startswith(OPTIMIZERS):
            continue
        columns = [*descriptor.columns, *(descriptor.fused.columns if descriptor.fused else ())]
        kinds = {kind for column in columns for kind in (*column.inputs, *column.outputs)}
        if "float32" in kinds and "float16" not in kinds:
            found.add(op)
    assert found == FLOAT32_ALONE


def test_columns_after_fusion_have_the_tensors_that_are_left() -> None:
    library = Catalog.built_in()
    for op in library:
        descriptor = library.get(op)
        if descriptor is None or descriptor.fused is None or not descriptor.fused.columns:
            continue
        op_def, fused = OPS.get(op), descriptor.fused
        assert op_def is not None
        assert [k for k, position in enumerate(fused.takes_in) if position < 0] == list(fused.drops)
        left = len(op_def.inputs) - len(fused.drops)
        assert {(len(column.inputs), len(column.outputs)) for column in fused.columns} == {(left, len(op_def.outputs))}


def _joined(op: str, constant: bool, *values: Any) -> Any:
    def build(g: GraphBuilder) -> None:
        tensors = [matmul(g, "white"), g.op("Relu", "relu", [matmul(g, "other")])]
        if values == ("int32",):
            tensors = [g.placeholder(name, "int32", [4, 4]) for name in "ij"]
        if values == ("black",):
            tensors[1] = g.op("Log", "log", [tensors[1]])
        axis = g.const("axis", 0, "int32") if constant else g.placeholder("axis", "int32", [])
        g.op(op, "joined", [tensors, axis] if op == "ConcatV2" else [axis, tensors])

    return build


@pytest.mark.parametrize("op", ["ConcatV2", "Concat"])
def test_a_concat_with_a_constant_axis_has_every_dtype(op: str) -> None:
    fused = nodes(_joined(op, True), MIX)["joined"]
    assert (fused.kernel, fused.outputs) == (op + "D", ("float16",))
    assert nodes(_joined(op, True, "black"), MIX)["joined"].outputs == ("float32",)
    integers = nodes(_joined(op, True, "int32"), MIX)["joined"]
    assert (integers.kernel, integers.engine) == (op + "D", "vector")


@pytest.mark.parametrize("op", ["ConcatV2", "Concat"])
def test_a_concat_with_an_axis_that_is_computed_has_float32_alone(op: str) -> None:
    plain = nodes(_joined(op, False), MIX)["joined"]
    assert (plain.kernel, plain.engine, plain.outputs) == (op, "vector", ("float32",))
    assert plain.why == "graylist: no precision_reduce: its kernel has float32 alone"
    forced = nodes(_joined(op, False), {"precision_mode": "force_fp16", "graph_run_mode": 0})["joined"]
    assert forced.outputs == ("float32",)
    assert nodes(_joined(op, False, "int32"), MIX)["joined"].engine == "aicpu"


def _top(constant: bool, dtype: str = "float32", **more: Any) -> Any:
    def build(g: GraphBuilder) -> None:
        k = g.const("k", 2, "int32") if constant else g.placeholder("k", "int32", [])
        g.op("TopKV2", "top", [g.placeholder("x", dtype, [4, 4]), k], **more)

    return build


def test_a_top_k_with_a_constant_k_is_float16_on_the_ai_core() -> None:
    found = nodes(_top(True), {"precision_mode": "allow_fp32_to_fp16"})["top"]
    assert (found.kernel, found.engine, dtypes(found)) == ("TopKD", "vector", "float16,int32>float16,int32")


@pytest.mark.parametrize("build", [_top(False), _top(True, sorted=False), _top(True, "int32")])
def test_any_other_top_k_is_the_ai_cpu_s(build: Any) -> None:
    found = nodes(build, {"precision_mode": "allow_fp32_to_fp16"})["top"]
    assert (found.kernel, found.engine, found.list) == ("TopK", "aicpu", None)


def test_a_pass_leaves_alone_what_the_ai_core_would_not_have_fused() -> None:
    found = nodes(_top(True), {"precision_mode": "must_keep_origin_dtype"})["top"]
    assert (found.kernel, found.engine, dtypes(found)) == ("TopK", "aicpu", "float32,int32>float32,int32")
    assert found.why.startswith("the AI Core has TopKD with float16, not float32")

    def build(g: GraphBuilder) -> None:
        g.op("Sum", "sum", [g.placeholder("x", "int32", [4, 4]), g.const("axes", [1], "int32")])

    assert (nodes(build, MIX)["sum"].kernel, nodes(build, MIX)["sum"].engine) == ("ReduceSum", "aicpu")


def test_a_gather_by_int64_from_a_variable_keeps_its_dtype() -> None:
    def build(g: GraphBuilder) -> None:
        table = g.variable("table", "float32", [8, 4])
        g.op("GatherV2", "rows", [table, g.placeholder("ids", "int64", [2]), g.const("axis", 0, "int32")])

    for mode in ("allow_fp32_to_fp16", "must_keep_origin_dtype", "allow_mix_precision", "force_fp32"):
        assert nodes(build, {"precision_mode": mode})["rows"].outputs == ("float32",), mode


def test_a_users_columns_of_a_fused_kernel_are_not_those_of_the_other() -> None:
    info = '{"ConcatV2D": {"input0": {"dtype": "float"}, "output0": {"dtype": "float"}}}'
    assert nodes(_joined("ConcatV2", True), MIX, ops_info=info)["joined"].outputs == ("float32",)
    info = info.replace("ConcatV2D", "ConcatV2")
    assert nodes(_joined("ConcatV2", True), MIX, ops_info=info)["joined"].outputs == ("float16",)


def test_a_users_columns_of_a_kernel_before_fusion_are_not_those_after_it() -> None:
    def build(g: GraphBuilder) -> None:
        x = g.placeholder("x", "float32", [4, 4])
        g.op("Sum", "fused", [x, g.const("axes", [0], "int32")])
        g.op("Sum", "plain", [x, g.placeholder("fed", "int32", [1])])

    for kernel, lowered in (("ReduceSum", "plain"), ("ReduceSumD", "fused")):  # the library states them alike
        info = f'{{"{kernel}": {{"input0": {{"dtype": "float16"}}, "output0": {{"dtype": "float16"}}}}}}'
        found = nodes(build, {"precision_mode": "allow_fp32_to_fp16"}, ops_info=info)
        assert {name for name in ("plain", "fused") if found[name].outputs == ("float16",)} == {lowered}
