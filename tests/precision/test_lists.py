"""Lists of mixed precision: whom a gray operator follows, and what modify_mixlist and an ops-info file move."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional

import pytest

from npu_reference.catalog import Catalog, is_ops_info
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from tests.precision.programs import assigned, dtypes, matmul, nodes

MIX = {"precision_mode": "allow_mix_precision"}


def _chain(g: GraphBuilder) -> None:
    value = matmul(g, "white")
    for name, op in (("gray1", "Relu"), ("gray2", "Abs"), ("black", "Log"), ("gray3", "Relu")):
        value = g.op(op, name, [value])


def _moved(build: Any, moves: Optional[Dict[str, Any]] = None, **more: Any) -> Any:
    if moves is None:
        return assigned(build, MIX, **more)
    return assigned(build, {**MIX, "modify_mixlist": "/m.json"}, files={"/m.json": json.dumps(moves)}, **more)


def test_gray_operators_follow_what_is_upstream() -> None:
    found = nodes(_chain, MIX)
    assert [found[n].outputs[0] for n in ("white", "gray1", "gray2", "black", "gray3")] == [
        *["float16"] * 3,
        *["float32"] * 2,
    ]
    assert [found[n].list for n in ("white", "gray1", "black")] == ["trustlist", "graylist", "blocklist"]
    assert "white" in found["gray1"].why and "black" in found["gray3"].why


@pytest.mark.parametrize("order", [["white", "black"], ["black", "white"]])
def test_one_blocking_producer_blocks_whatever_the_order(order: Any) -> None:
    def build(g: GraphBuilder) -> None:
        made = {"white": matmul(g, "white"), "black": g.op("Log", "black", [g.placeholder("y", "float32", [4, 4])])}
        g.op("AddV2", "gray", [made[name] for name in order])

    assert nodes(build, MIX)["gray"].outputs == ("float32",)  # P1


def test_variables_constants_and_feeds_are_no_producers() -> None:
    def build(g: GraphBuilder) -> None:
        v = g.resource_variable("v", "float32", [4, 4])
        value = g.op("ReadVariableOp", "value", [v], dtype="float32")
        held = g.op("VariableV2", "held", [], shape=[4, 4], dtype="float32")
        read = g.op("Identity", "held/read", [held])
        white = matmul(g, "white")
        g.op("AddV2", "bias", [white, value])
        g.op("AddV2", "old_bias", [white, read])
        g.op("AddV2", "scaled", [white, g.const("two", 2.0, "float32")])
        g.op("AddV2", "fed", [white, g.placeholder("p", "float32", [4, 4])])
        g.op("Relu", "alone", [value])

    found = nodes(build, MIX)
    assert {found[name].outputs for name in ("bias", "old_bias", "scaled", "fed")} == {("float16",)}
    assert found["alone"].outputs == ("float32",)  # P2
    assert found["value"].outputs == ("float32",)  # P14
    casts = {(cast.source, cast.target) for cast in assigned(build, MIX).casts}
    assert ("value:0", "bias:1") in casts


def test_a_tensor_the_kernel_has_in_float32_alone_has_no_say() -> None:
    def build(g: GraphBuilder) -> None:
        images = [g.placeholder(name, "float32", [1, 4, 4, 1]) for name in "xy"]
        kernel, one = g.placeholder("k", "float32", [1, 1, 1, 1]), g.placeholder("one", "float32", [1])
        convs = [g.op("Conv2D", f"c{k}", [x, kernel], strides=[1] * 4, padding="SAME") for k, x in enumerate(images)]
        norm = g.op("FusedBatchNorm", "norm", [convs[0], one, one, one, one], is_training=False)
        g.op("FusedBatchNormGrad", "grad", [convs[1], convs[0], one, norm[3], norm[4]], is_training=False)

    found = nodes(build, MIX)
    assert found["norm"].inputs[:2] == ("float16", "float32")
    assert found["grad"].inputs == ("float16", "float16", "float32", "float32", "float32")


def test_what_updates_a_variable_stays_at_its_dtype() -> None:
    def build(g: GraphBuilder) -> None:
        v = g.resource_variable("v", "float32", [4, 4])
        g.op("AssignAddVariableOp", "add", [v, matmul(g, "white")])
        g.op("AssignVariableOp", "set", [v, matmul(g, "other")])

    found = nodes(build, MIX)
    assert dtypes(found["add"]) == dtypes(found["set"]) == "resource,float32>"  # P14
    forced = nodes(build, {"precision_mode": "force_fp16", "graph_run_mode": 0})
    assert dtypes(forced["set"]) == "resource,float32>"


def test_a_gray_operator_looks_through_a_cast_up_unless_that_is_blocklisted() -> None:
    def build(g: GraphBuilder) -> None:
        half = matmul(g, "half", "float16")
        g.op("Abs", "abs", [g.op("Cast", "up", [half], DstT="float32")])

    assert nodes(build, MIX)["abs"].outputs == ("float16",)
    black = _moved(build, {"black-list": {"to-add": ["Cast"]}}).by_name()
    assert black["abs"].outputs == ("float32",)


def test_the_list_is_looked_up_by_the_kernel_after_fusion() -> None:
    def build(g: GraphBuilder) -> None:
        white, axes = matmul(g, "white"), g.const("axes", [1], "int32")
        fed = g.placeholder("fed", "int32", [1])
        for op in ("Sum", "Mean"):
            g.op(op, op + "_const", [white, axes])
            g.op(op, op + "_fed", [white, fed])

    found = nodes(build, MIX)
    facts = {name: (node.kernel, node.list, node.outputs[0]) for name, node in found.items() if "_" in name}
    assert facts["Sum_const"] == ("ReduceSumD", "graylist", "float16")
    assert facts["Sum_fed"] == ("ReduceSum", "blocklist", "float32")
    assert facts["Mean_const"] == ("ReduceMeanD", "blocklist", "float32")
    assert facts["Mean_fed"] == ("ReduceMean", "graylist", "float16")


def test_each_move_of_the_file_changes_the_list_it_names() -> None:
    def lists(**moves: Any) -> Dict[str, Optional[str]]:
        return {node.node: node.list for node in _moved(_chain, moves).nodes}

    assert lists(**{"black-list": {"to-remove": ["Log"]}})["black"] == "graylist"
    assert lists(**{"black-list": {"to-add": ["MatMulV2"]}})["white"] == "blocklist"
    assert lists(**{"white-list": {"to-remove": ["MatMul"]}})["white"] == "graylist"  # P11
    assert lists(**{"white-list": {"to-add": ["Log"]}})["black"] == "trustlist"
    both = {"black-list": {"to-remove": ["Log"]}, "white-list": {"to-add": ["Log"]}}
    assert lists(**both)["black"] == "trustlist"  # P9
    assert lists(**{"black-list": {"to-remove": ["Log"], "to-add": ["Log"]}})["black"] == "blocklist"  # P8


def _unlisted(g: GraphBuilder) -> None:
    axis = g.placeholder("axis", "int32", [])
    g.op("Cumprod", "behind_white", [matmul(g, "white"), axis])
    g.op("Cumprod", "behind_black", [g.op("Log", "black", [g.placeholder("y", "float32", [4, 4])]), axis])
    g.op("Cumprod", "fed", [g.placeholder("z", "float32", [4, 4]), axis])


def test_a_kernel_that_the_library_does_not_list_is_gray_and_can_be_listed() -> None:
    found = nodes(_unlisted, MIX)  # P5: Cumprod has no entry, only CumprodD, which a constant axis makes of it, has one
    names = ("behind_white", "behind_black", "fed")
    assert [found[name].outputs[0] for name in names] == ["float16", "float32", "float32"]
    assert {found[name].list for name in names} == {"graylist"}
    assert "no entry" in found["fed"].why
    white = _moved(_unlisted, {"white-list": {"to-add": ["Cumprod"]}}).by_name()
    assert {white[name].outputs[0] for name in names} == {"float16"}
    black = _moved(_unlisted, {"black-list": {"to-add": ["Cumprod"]}}).by_name()
    assert {black[name].outputs[0] for name in names} == {"float32"}
    assert nodes(_unlisted, {"precision_mode": "allow_fp32_to_fp16"})["behind_white"].outputs == ("float32",)


def test_the_name_of_tensorflow_means_the_type_and_all_that_becomes_it() -> None:
    def build(g: GraphBuilder) -> None:
        white = matmul(g, "white")
        for op in ("Add", "AddV2", "AddN"):
            g.op(op, op, [[white, white]] if op == "AddN" else [white, white])

    for name in ("Add", "AddV2"):  # P11: both are the type Add
        found = _moved(build, {"black-list": {"to-add": [name]}}).by_name()
        assert [found[op].list for op in ("Add", "AddV2", "AddN")] == ["blocklist", "blocklist", "graylist"]


def test_names_that_mean_nothing_are_warned_of() -> None:
    moves = {"black-list": {"to-add": ["Matmul"]}, "white-list": {"to-remove": ["Relu"], "to-add": ["Sum"]}}
    warnings = {note.subject: note for note in _moved(_chain, moves).warnings}
    assert "did you mean MatMulV2?" in warnings["Matmul"].message  # P10
    assert "ReduceSum or ReduceSumD" in warnings["Sum"].message
    assert warnings["Relu"].code == "mixlist_not_listed"  # P7


def test_a_white_loop_is_followed_to_its_fixed_point() -> None:
    def build(g: GraphBuilder) -> None:
        start = matmul(g, "start")
        limit = g.const("limit", 10.0, "float32")
        axes = g.placeholder("axes", "int32", [2])

        def below(value: Any, *_: Any) -> Any:
            return g.op(
                "Less",
                "less",
                [
                    g.op("Max", "max", [value, g.op("Enter", "axes_in", [axes], frame_name="loop")]),
                    g.op("Enter", "limit_in", [limit], frame_name="loop"),
                ],
            )

        g.while_loop("loop", [start], below, lambda value: [g.op("Abs", "body", [value])])

    plain = nodes(build, MIX)
    assert plain["loop/Merge_0"].outputs[0] == plain["body"].outputs[0] == "float32"  # Enter is blocklisted
    moves = {"black-list": {"to-remove": ["Enter", "NextIteration"]}}
    gray = _moved(build, moves).by_name()
    assert gray["loop/Enter_0"].outputs == ("float16",)
    assert gray["loop/Merge_0"].outputs[0] == "float32"  # P4: from "not lowered"
    white = _moved(
        build, {"black-list": {"to-remove": ["Enter"]}, "white-list": {"to-add": ["NextIteration"]}}
    ).by_name()
    assert white["loop/Merge_0"].outputs[0] == white["body"].outputs[0] == "float16"


def test_an_ops_info_file_decides_over_the_library() -> None:
    info = '{"Relu": {"precision_reduce": {"flag": "false"}}, "Log": {}}'
    found = nodes(_chain, MIX, ops_info=info)
    assert [found[n].list for n in ("gray1", "black")] == ["blocklist", "graylist"]
    assert found["gray1"].outputs == ("float32",)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{\n "Relu": {"precision_reduce": {"flag": true}}}', 2, "neither"),
        ('{\n\n "Relu": {"precision_reduce": {"flag": "yes"}}}', 3, "neither"),
        ('{\n "Relu": []}', 2, "no JSON object"),
        ('{"Relu": {},\n "Relu": {}}', 1, "twice"),
        ('{\n "Relu": {"input0": {"dtype": "float99"}}}', 2, "no dtype"),
        ('{\n "Relu": {"input0": {"dtype": "float"}, "output0": {"dtype": "float,float16"}}}', 2, "lists 2"),
        ('{\n "Relu": {"input1": {"dtype": "float"}}}', 2, "not numbered"),
        ("{\n", 2, "no JSON"),
        ("[]", 1, "no JSON object"),
    ],
)
def test_an_ops_info_file_of_another_form_is_refused_by_line(text: str, line: int, words: str) -> None:
    with pytest.raises(NpuError) as caught:
        Catalog.built_in().with_ops_info(text, "info.json")
    error = caught.value
    assert error.code == "OPS_INFO_FILE" and words in error.message
    assert f"line {line}" in error.subject if "\n" in text else "character" in error.subject


def test_ops_info_files_are_known_by_their_name() -> None:
    assert is_ops_info("/opp/config/ascend910/aic-ascend910-ops-info.json")
    assert not is_ops_info("ops_info.json")


def _pooled(g: GraphBuilder, name: str, value: Any, shape: Any, op: str = "MaxPool") -> None:
    image = g.op("Reshape", name + "_image", [value, g.const(name + "_shape", shape, "int32")])
    g.op(op, name, [image], ksize=[1, *[2] * (len(shape) - 2), 1], strides=[1] * len(shape), padding="SAME")


def test_a_bar_passes_on_through_gray_operators_and_those_without_a_kernel() -> None:
    def build(g: GraphBuilder) -> None:
        black = g.op("Log", "black", [g.placeholder("x", "float32", [4, 4])])
        wide = g.op("ExpandDims", "wide", [g.op("Abs", "gray", [black]), g.const("axis", 0, "int32")])
        _pooled(g, "barred", wide, [1, 4, 4, 1])
        _pooled(g, "white", g.op("MatMul", "lowered", [black, g.placeholder("w", "float32", [4, 4])]), [1, 4, 4, 1])
        _pooled(g, "fed", g.placeholder("y", "float32", [4, 4]), [1, 4, 4, 1])

    found = nodes(build, MIX)
    assert (found["barred"].engine, found["barred"].outputs) == ("aicpu", ("float32",))  # P32
    assert "black may not be lowered" in found["barred"].why
    assert {found[name].outputs for name in ("white", "fed")} == {("float16",)}  # P2: nothing bars what is fed
    other = nodes(build, {"precision_mode": "force_fp16", "graph_run_mode": 0})
    assert other["barred"].outputs == ("float16",)  # lists are of mixed precision


def test_a_barred_operator_that_nothing_else_computes_is_lowered() -> None:
    def build(g: GraphBuilder) -> None:
        black = g.op("Log", "black", [g.placeholder("x", "float32", [4, 4])])
        _pooled(g, "volume", black, [1, 4, 2, 2, 1], "MaxPool3D")

    found = nodes(build, MIX)["volume"]
    assert (found.engine, found.outputs) == ("vector", ("float16",))
    assert found.why.endswith("its producer volume_image gives float32, but its kernel has float16 alone")


def test_a_loop_entered_by_what_is_barred_is_barred() -> None:
    def build(g: GraphBuilder) -> None:
        def condition(i: Any, v: Any, step: Any, bound: Any) -> Any:
            return g.op("Less", "less", [i, bound])

        def body(i: Any, v: Any, step: Any, bound: Any) -> Any:
            gray = g.op("Relu", "gray", [v])
            g.op("MaxPool", "inside", [gray], ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME")
            return [g.op("AddV2", "more", [i, step]), gray]

        zero, one, limit = (g.const(f"c{k}", k, "int32") for k in range(3))
        start = g.op("MatMul", "white", [g.placeholder("x", "float32", [4, 4]), g.placeholder("w", "float32", [4, 4])])
        image = g.op("Reshape", "image", [start, g.const("shape", [1, 4, 4, 1], "int32")])
        g.while_loop("loop", [zero, image], condition, body, invariants=[one, limit])

    assert nodes(build, MIX)["inside"].engine == "aicpu"  # Enter is blocklisted, whatever enters
