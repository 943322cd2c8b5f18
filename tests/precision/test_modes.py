"""What each precision mode gives single operators, in both editions."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from tests.precision.programs import assigned, dtypes, matmul, nodes

ALLOW = {"precision_mode": "allow_fp32_to_fp16"}
FORCE16 = {"precision_mode": "force_fp16", "graph_run_mode": 0}
FORCE32 = {"precision_mode": "force_fp32"}
KEEP = {"precision_mode": "must_keep_origin_dtype"}
MIX = {"precision_mode": "allow_mix_precision"}


def _both(g: GraphBuilder) -> None:
    matmul(g, "matmul")
    x = g.placeholder("x", "float32", [4])
    half = g.placeholder("h", "float16", [4])
    g.op("AddV2", "add", [x, x])
    g.op("AddV2", "half", [half, half])
    g.op("Dawsn", "only32", [x])
    wide = g.placeholder("d", "float64", [4])
    g.op("AddV2", "wide", [wide, wide])


def _conv(g: GraphBuilder, dtype: str = "float32") -> None:
    image, kernel = g.placeholder("image", dtype, [1, 4, 4, 1]), g.placeholder("kernel", dtype, [1, 1, 1, 1])
    g.op("Conv2D", "conv", [image, kernel], strides=[1, 1, 1, 1], padding="SAME")


def _pool(g: GraphBuilder, dtype: str = "float32", **more: Any) -> None:
    image = g.placeholder("image", dtype, [1, 4, 4, 1])
    g.op("MaxPool", "pool", [image], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", **more)


@pytest.mark.parametrize(
    ("options", "edition", "expected"),
    [
        (ALLOW, "current", "float16,float16>float16"),  # B14
        (ALLOW, "legacy", "float32,float32>float32"),  # A11, P16
        (FORCE16, "current", "float16,float16>float16"),
        (FORCE32, "current", "float16,float16>float32"),  # A8
        (FORCE32, "legacy", "float32,float32>float32"),
        (KEEP, "current", "float32,float32>float32"),
        (KEEP, "legacy", "float32,float32>float32"),
        (MIX, "current", "float16,float16>float16"),
        (MIX, "legacy", "float16,float16>float16"),
    ],
)
def test_a_cube_operator_with_both_precisions(options: Dict[str, Any], edition: str, expected: str) -> None:
    assert dtypes(nodes(_both, options, edition=edition)["matmul"]) == expected


@pytest.mark.parametrize(
    ("options", "add", "half"),
    [
        (ALLOW, "float32", "float16"),
        (FORCE16, "float16", "float16"),
        (FORCE32, "float32", "float32"),
        (KEEP, "float32", "float16"),
        (MIX, "float32", "float16"),  # P2: nothing to follow
    ],
)
@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_a_vector_operator_with_both_precisions(options: Dict[str, Any], edition: str, add: str, half: str) -> None:
    found = nodes(_both, options, edition=edition)
    assert found["add"].outputs == (add,)
    assert found["half"].outputs == (half,)


@pytest.mark.parametrize("options", [ALLOW, FORCE16, FORCE32, KEEP, MIX])
def test_what_has_float32_only_and_what_is_no_float32_stays(options: Dict[str, Any]) -> None:
    found = nodes(_both, options)
    assert dtypes(found["only32"]) == "float32>float32"  # P18
    assert dtypes(found["wide"]) == "float64,float64>float64"  # P17


@pytest.mark.parametrize("options", [ALLOW, FORCE16, MIX])
def test_an_operator_with_float16_only_is_reduced(options: Dict[str, Any]) -> None:
    found = nodes(_pool, options)["pool"]
    assert (found.engine, dtypes(found)) == ("vector", "float16>float16")


def test_must_keep_takes_the_kernel_of_the_ai_cpu_in_the_current_edition_only() -> None:
    found = nodes(_pool, KEEP)["pool"]
    assert (found.engine, dtypes(found)) == ("aicpu", "float32>float32")
    with pytest.raises(NpuError) as caught:
        nodes(_pool, KEEP, edition="legacy")  # A9
    assert caught.value.code == "PRECISION_NO_KERNEL"
    assert "pool (MaxPool)" in caught.value.message


@pytest.mark.parametrize("edition", ["legacy", "current"])
def test_must_keep_refuses_a_float32_convolution_and_takes_a_float16_one(edition: str) -> None:
    with pytest.raises(NpuError) as caught:
        nodes(_conv, KEEP, edition=edition)
    assert caught.value.code == "PRECISION_NO_KERNEL"
    assert dtypes(nodes(lambda g: _conv(g, "float16"), KEEP, edition=edition)["conv"]) == "float16,float16>float16"


def test_must_keep_raises_float16_where_only_float32_is_implemented() -> None:
    def build(g: GraphBuilder) -> None:
        g.op("Dawsn", "only32", [g.placeholder("h", "float16", [4])])

    assert dtypes(nodes(build, KEEP)["only32"]) == "float32>float32"  # P29
    with pytest.raises(NpuError):
        nodes(build, KEEP, edition="legacy")  # A10


_BF16 = '{"Relu": {"input0": {"dtype": "bfloat16"}, "output0": {"dtype": "bfloat16"}}}'


def test_must_keep_takes_the_ai_cpu_where_the_ai_core_has_bfloat16_only() -> None:
    def build(g: GraphBuilder) -> None:
        g.op("Relu", "relu", [g.placeholder("h", "float16", [4])])

    found = nodes(build, KEEP, ops_info=_BF16)["relu"]
    assert (found.engine, dtypes(found)) == ("aicpu", "float16>float16")


_BLACK_POOL = '{"MaxPool": {"precision_reduce": {"flag": "false"}}}'


def test_a_blocklisted_operator_without_float32_goes_to_the_ai_cpu() -> None:
    found = nodes(_pool, FORCE32, ops_info=_BLACK_POOL)["pool"]
    assert (found.engine, found.list, dtypes(found)) == ("aicpu", "blocklist", "float32>float32")
    assert nodes(_pool, FORCE32)["pool"].engine == "vector"
    assert nodes(_pool, FORCE32, edition="legacy", ops_info=_BLACK_POOL)["pool"].engine == "vector"  # A8


def test_cube_fp16in_fp32out_tries_three_combinations_in_order() -> None:
    def columns(text: str) -> str:
        names = [pair.split(">") for pair in text.split()]
        inputs, outputs = (",".join(pair[k] for pair in names) for k in (0, 1))
        tensor = '{{"dtype": "{}"}}'.format
        return '{{"MatMulV2": {{"input0": {0}, "input1": {0}, "output0": {1}}}}}'.format(
            tensor(inputs), tensor(outputs)
        )

    def choice(text: str) -> str:
        return dtypes(nodes(_both, FORCE32, ops_info=columns(text))["matmul"])

    assert choice("float>float float16>float16 float16>float") == "float16,float16>float32"
    assert choice("float16>float16 float>float") == "float32,float32>float32"
    assert choice("int8>int32 float16>float16") == "float16,float16>float16"
    with pytest.raises(NpuError) as caught:
        choice("int8>int32")
    assert caught.value.code == "PRECISION_NO_KERNEL"


@pytest.mark.parametrize(
    ("second", "first"),
    [
        ("fp16", FORCE16),
        ("origin", KEEP),
        ("cube_fp16in_fp32out", {"precision_mode": "cube_fp16in_fp32out"}),
        ("mixed_float16", {"precision_mode": "allow_mix_precision_fp16"}),
    ],
)
def test_the_second_form_of_a_mode_gives_what_the_first_gives(second: str, first: Dict[str, Any]) -> None:
    newer = assigned(_both, {"precision_mode_v2": second}, surface="runconfig")
    older = assigned(_both, first)
    facts = [(n.node, n.engine, n.inputs, n.outputs, n.list) for n in older.nodes]
    assert [(n.node, n.engine, n.inputs, n.outputs, n.list) for n in newer.nodes] == facts


def test_the_default_is_allow_in_training_and_force_in_inference() -> None:
    assert assigned(_both, {}).mode == "allow_fp32_to_fp16"  # A6
    assert assigned(_both, {"graph_run_mode": 0}).mode == "force_fp16"


def test_a_cast_keeps_what_the_script_says() -> None:
    def build(g: GraphBuilder) -> None:
        g.op("Cast", "down", [g.placeholder("x", "float32", [4])], DstT="float16")

    for options in (ALLOW, FORCE16, FORCE32, KEEP, MIX):
        assert dtypes(nodes(build, options)["down"]) == "float32>float16"


def test_a_cast_is_on_the_ai_core_if_that_has_it() -> None:
    def build(g: GraphBuilder) -> None:
        x = g.placeholder("x", "float32", [4])
        for dtype in ("float16", "float32", "float64"):
            g.op("Cast", dtype, [x], DstT=dtype)

    found = nodes(build, ALLOW)
    assert [found[name].engine for name in ("float16", "float32", "float64")] == ["vector", "vector", "aicpu"]
    assert [found[name].outputs[0] for name in ("float16", "float32", "float64")] == ["float16", "float32", "float64"]


def test_an_operator_without_tensors_is_where_its_kernel_is() -> None:
    found = nodes(lambda g: g.op("NpuClearFloatStatusV2", "clear"), MIX)["clear"]
    assert (found.engine, dtypes(found)) == ("vector", ">")


def test_an_operator_without_float_tensors_follows_nobody() -> None:
    def build(g: GraphBuilder) -> None:
        n = g.placeholder("n", "int32", [2])
        g.op("AddV2", "add", [n, n])

    assert nodes(build, MIX)["add"].why == "has no tensor of float32 or float16"
