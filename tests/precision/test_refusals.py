"""All operators that no kernel computes as demanded stand in one error, by type, with what to write instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from npu_reference.options import resolve
from tests.precision.programs import assigned, matmul

KEEP = {"precision_mode": "must_keep_origin_dtype"}


def _image(g: GraphBuilder, name: str = "image") -> Any:
    return g.placeholder(name, "float32", [1, 4, 4, 1])


def _convolutions(g: GraphBuilder) -> None:
    value = _image(g)
    for number in range(5):
        kernel = g.placeholder(f"k{number}", "float32", [1, 1, 1, 1])
        value = g.op("Conv2D", f"conv{number}", [value, kernel], strides=[1] * 4, padding="SAME")
    sizes = g.const("sizes", [1, 4, 4, 1], "int32")
    g.op("Conv2DBackpropInput", "back", [sizes, kernel, value], strides=[1] * 4, padding="SAME")
    matmul(g, "kept")


def _refused(build: Any, options: Any, **more: Any) -> NpuError:
    with pytest.raises(NpuError) as caught:
        assigned(build, options, **more)
    return caught.value


@pytest.mark.parametrize("edition", ["current", "legacy"])
def test_every_refused_operator_is_counted_by_type(edition: str) -> None:
    error = _refused(_convolutions, KEEP, edition=edition)
    assert (error.code, error.subject) == ("PRECISION_NO_KERNEL", "conv0 (Conv2D)")
    assert "6 operators are refused: Conv2D 5 (conv0, conv1, conv2, ...), Conv2DBackpropInput 1 (back)" in error.reason
    assert "kept" not in error.message and "\n" not in error.message


def test_the_remedy_is_written_as_it_is_given() -> None:
    for options, surface in ((KEEP, "session"), ({"precision_mode_v2": "origin"}, "runconfig")):
        remedy = _refused(_convolutions, options, surface=surface).remedy
        name, value = remedy.split()[1].rstrip(",").split("=")
        assert not resolve({name: value}, surface=surface, env={}).errors
        assigned(_convolutions, {name: value}, surface=surface)  # and it mends it


def test_a_blocklisted_kernel_is_taken_off_the_list_by_the_file_of_the_remedy() -> None:
    def build(g: GraphBuilder) -> None:
        sizes = g.const("sizes", [1, 4, 4, 1], "int32")
        grad = g.op("AvgPoolGrad", "grad", [sizes, _image(g)], ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME")
        g.op("Relu", "relu", [grad])

    options = {"precision_mode": "allow_mix_precision"}
    info = '{"AvgPoolGrad": {"precision_reduce": {"flag": "false"}}}'
    error = _refused(build, options, ops_info=info)
    moves = error.remedy[error.remedy.index("{") : -1]
    assert json.loads(moves) == {"black-list": {"to-remove": ["AvgPoolGrad"]}}
    mended = assigned(build, {**options, "modify_mixlist": "/m.json"}, files={"/m.json": moves}, ops_info=info)
    assert mended.by_name()["grad"].inputs == ("int32", "float16")


def test_what_keep_dtype_scope_holds_is_named() -> None:
    def build(g: GraphBuilder) -> None:
        kernel = g.placeholder("kernel", "float32", [1, 1, 1, 1])
        g.op("Conv2D", "held", [_image(g), kernel], strides=[1] * 4, padding="SAME", _keep_dtype=1)

    assert _refused(build, {}).remedy == "Take held out of keep_dtype_scope."


def test_one_refused_operator_is_told_alone() -> None:
    def build(g: GraphBuilder) -> None:
        kernel = g.placeholder("kernel", "float32", [1, 1, 1, 1])
        g.op("Conv2D", "only", [_image(g), kernel], strides=[1] * 4, padding="SAME")

    assert "operators are refused" not in _refused(build, KEEP).reason


def test_operators_of_functions_are_counted_too() -> None:
    def build(g: GraphBuilder) -> None:
        kernel = g.placeholder("kernel", "float32", [1, 1, 1, 1])
        g.op("Conv2D", "outside", [_image(g), kernel], strides=[1] * 4, padding="SAME")
        f = g.function("f", {"x": "float32", "k": "float32"}, {"y": "float32"})
        f.returns(y=f.op("Conv2D", "inside", [f.args["x"], f.args["k"]], strides=[1] * 4, padding="SAME"))
        g.op("PartitionedCall", "call", [_image(g, "other"), kernel], f=f, Tin=["float32"] * 2, Tout=["float32"])

    assert "Conv2D 2 (outside, f/inside)" in _refused(build, KEEP).reason
