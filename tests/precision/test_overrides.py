"""What goes before the mode: keep_dtype_scope, customize_dtypes; implementation modes; casts and warnings."""

from __future__ import annotations

from typing import Any, Dict

import pytest

from npu_reference.catalog import Catalog
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.precision import assign
from npu_reference.precision.decide import Policy, Walk
from npu_reference.precision.lists import Lists
from npu_reference.precision.modes import mode_of
from tests.precision.programs import assigned, dtypes, matmul, nodes

MIX = {"precision_mode": "allow_mix_precision"}
FORCE16 = {"precision_mode": "force_fp16", "graph_run_mode": 0}


def _relus(g: GraphBuilder) -> None:
    first = g.op("Relu", "block/first", [matmul(g, "matmul")])
    g.op("Relu", "block/second", [first])


def _custom(text: str, build: Any = _relus, **options: Any) -> Any:
    values = {**MIX, **options, "customize_dtypes": "/c.cfg"}
    return assigned(build, values, surface="runconfig", files={"/c.cfg": text})


def test_customised_dtypes_go_before_the_mode_and_the_name_before_the_type() -> None:
    both = "OpType::Relu:InputDtype:float32,OutputDtype:float32\nblock/second::InputDtype:float16,OutputDtype:float16\n"
    found = _custom(both).by_name()
    assert (dtypes(found["block/first"]), dtypes(found["block/second"])) == ("float32>float32", "float16>float16")
    assert found["block/first"].why == "customize_dtypes"


def test_dtypes_no_kernel_has_are_refused_with_those_it_has() -> None:
    with pytest.raises(NpuError) as caught:
        _custom("matmul::InputDtype:float16,float32,OutputDtype:float32\n")
    assert caught.value.code == "PRECISION_DTYPES"
    assert "float16,float16 in and float32 out" in caught.value.remedy


def test_more_dtypes_than_tensors_are_refused_and_fewer_leave_the_rest_to_the_mode() -> None:
    with pytest.raises(NpuError) as caught:
        _custom("block/first::InputDtype:float16,int8,OutputDtype:float16\n")  # P21; the sample of document 003
    assert "2 dtypes for 1 inputs" in caught.value.message
    assert dtypes(_custom("matmul::InputDtype:float32,OutputDtype:float32\n").by_name()["matmul"]).endswith(">float32")


def test_a_bias_that_the_device_could_add_may_have_a_dtype() -> None:
    """Files of real ports list the inputs of the device's MatMulV2, of which TensorFlow's has the first two."""
    plain = _custom("OpType::MatMulV2:InputDtype:float16,float16,OutputDtype:float32\n").by_name()["matmul"]
    text = "OpType::MatMulV2:InputDtype:float16,float16,float32,OutputDtype:float32\n"
    assert dtypes(_custom(text).by_name()["matmul"]) == dtypes(plain) == "float16,float16>float32"
    with pytest.raises(NpuError) as caught:
        _custom("OpType::MatMulV2:InputDtype:float16,float16,float32,int8,int8,OutputDtype:float32\n")
    assert "5 dtypes for 2 inputs" in caught.value.message


def test_a_name_that_the_device_does_not_compute_is_warned_of() -> None:
    warnings = _custom("nowhere::InputDtype:float16,OutputDtype:float16\n").warnings
    assert [(note.code, note.subject) for note in warnings] == [("customize_no_node", "nowhere")]


def test_must_keep_ignores_customised_dtypes() -> None:
    text = "OpType::Relu:InputDtype:float16,OutputDtype:float16\n"
    found = _custom(text, precision_mode="must_keep_origin_dtype").by_name()
    assert dtypes(found["block/first"]) == "float32>float32"


def test_keep_dtype_scope_goes_before_lists_modes_and_customised_dtypes() -> None:
    def build(g: GraphBuilder) -> None:
        matmul(g, "kept", _keep_dtype=1)
        matmul(g, "free")

    for options in (MIX, FORCE16, {"precision_mode": "force_fp32"}, {"precision_mode": "allow_fp32_to_fp16"}):
        assert dtypes(nodes(build, options)["kept"]) == "float32,float32>float32"
    text = "OpType::MatMulV2:InputDtype:float16,float16,OutputDtype:float16\n"
    found = _custom(text, build).by_name()  # P19
    assert (found["kept"].outputs, found["free"].outputs) == (("float32",), ("float16",))


def test_keep_dtype_scope_takes_the_ai_cpu_or_says_that_there_is_no_kernel() -> None:
    def pool(g: GraphBuilder) -> None:
        image = g.placeholder("image", "float32", [1, 4, 4, 1])
        g.op("MaxPool", "pool", [image], ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME", _keep_dtype=1)

    def conv(g: GraphBuilder) -> None:
        image, kernel = g.placeholder("image", "float32", [1, 4, 4, 1]), g.placeholder("k", "float32", [1, 1, 1, 1])
        g.op("Conv2D", "conv", [image, kernel], strides=[1] * 4, padding="SAME", _keep_dtype=1)

    assert (nodes(pool, MIX)["pool"].engine, nodes(pool, MIX)["pool"].outputs) == ("aicpu", ("float32",))
    with pytest.raises(NpuError) as caught:
        nodes(conv, MIX)
    assert "keep_dtype_scope" in caught.value.remedy


def _variants(g: GraphBuilder) -> None:
    x = g.placeholder("x", "float32", [4, 4])
    g.op("Softmax", "softmax", [x])
    g.op("Exp", "exp", [x])
    g.op("Abs", "abs", [x])
    g.op("Mean", "mean", [x, g.const("axes", [1], "int32")])


def _modes(options: Dict[str, Any], text: str = "", **more: Any) -> Dict[str, Any]:
    files = {"/p.ini": text}
    values = {**options, **({"op_precision_mode": "/p.ini"} if text else {})}
    return {n.node: n.impl_mode for n in assigned(_variants, values, files=files, **more).nodes if n.kernel != "Const"}


def test_implementation_modes_by_option_and_its_list() -> None:
    precise = {"op_select_implmode": "high_precision"}
    assert _modes(precise) == {
        "softmax": "high_precision",
        "exp": "high_precision",
        "abs": None,
        "mean": "high_precision",
    }
    listed = _modes({**precise, "optypelist_for_implmode": "Pooling,SoftmaxV2"})
    assert listed == {"softmax": "high_precision", "exp": None, "abs": None, "mean": None}
    assert set(_modes({}).values()) == {None}  # B5
    assert _modes({}, edition="legacy")["softmax"] == "high_performance"  # A30


def test_the_file_of_implementation_modes_decides_alone_the_node_before_the_type() -> None:
    text = "[ByOpType]\nSoftmaxV2=high_precision\nReduceMeanD=high_precision\n[ByNodeName]\nexp=high_performance\n"
    found = _modes({"op_select_implmode": "high_performance"}, text)  # P24
    assert found == {"softmax": "high_precision", "exp": "high_performance", "abs": None, "mean": "high_precision"}
    named = _modes({}, "[ByOpType]\nExp=high_precision\n[ByNodeName]\nexp=high_performance\n")
    assert named["exp"] == "high_performance"


def test_an_operator_of_a_function_is_named_below_the_function() -> None:
    """The documents name operators of the graph alone: no case asks it."""

    def build(g: GraphBuilder) -> None:
        f = g.function("body", {"v": "float32"}, {"r": "float32"})
        f.returns(r=f.op("Exp", "exp", [f.args["v"]]))
        x = g.op("Exp", "exp", [g.placeholder("x", "float32", [4, 4])])
        g.op("PartitionedCall", "call", [[x]], Tout=["float32"], f=f)

    for named, modes in (("exp", ("high_performance", None)), ("body/exp", (None, "high_performance"))):
        files = {"/p.ini": f"[ByNodeName]\n{named}=high_performance\n"}
        found = assigned(build, {"op_precision_mode": "/p.ini"}, files=files).by_name()
        assert (found["exp"].impl_mode, found["body/exp"].impl_mode) == modes


def test_modes_and_names_that_are_not_there_are_warned_of() -> None:
    text = "[ByOpType]\nAbs=high_precision\nNowhere=high_precision\n[ByNodeName]\nmissing=high_precision\n"
    found = assigned(_variants, {"op_precision_mode": "/p.ini"}, files={"/p.ini": text}).warnings
    codes = {note.subject: note.code for note in found}
    assert codes["Abs"] == "op_precision_unsupported"  # P23
    assert codes["Nowhere"] == codes["missing"] == "op_precision_unknown"


def test_casts_stand_where_two_ends_disagree_and_at_borders() -> None:
    def build(g: GraphBuilder) -> None:
        value = g.op("Relu", "relu", [matmul(g, "matmul")])
        g.op("_Retval", "out", [value], index=0)
        g.op("Log", "log", [value])

    found = assigned(build, MIX)
    told = {(c.source, c.target): (c.from_dtype, c.to_dtype) for c in found.casts}
    down, up = ("float32", "float16"), ("float16", "float32")
    assert told[("matmul_x:0", "matmul:0")] == told[("matmul_w:0", "matmul:1")] == down
    assert told[("relu:0", "log:0")] == told[("relu:0", "out:0")] == up  # P13: what is fetched keeps its dtype
    assert len(told) == 4


def test_every_edge_agrees_once_its_casts_are_there() -> None:
    for options in (MIX, FORCE16, {"precision_mode": "force_fp32"}):
        found = assigned(_relus, options)
        table, casts = found.by_name(), {(c.source, c.target): c for c in found.casts}
        for source, target in (("matmul", "block/first"), ("block/first", "block/second")):
            cast = casts.get((f"{source}:0", f"{target}:0"))
            given, wanted = table[source].outputs[0], table[target].inputs[0]
            assert (cast.from_dtype, cast.to_dtype) == (given, wanted) if cast else given == wanted


def test_constants_that_a_cast_loses_are_warned_of() -> None:
    def build(g: GraphBuilder) -> None:
        white = matmul(g, "white")
        g.op("AddV2", "large", [white, g.const("big", 1e9, "float32")])
        g.op("AddV2", "little", [white, g.const("small", [1e-9, 1.0, 0.0, 2.0], "float32")])
        g.op("AddV2", "fits", [white, g.const("two", 2.0, "float32")])

    assert {n.subject: n.code for n in assigned(build, MIX).warnings} == {
        "big": "fp16_overflow",
        "small": "fp16_underflow",
    }
    assert assigned(build, {"precision_mode": "allow_fp32_to_fp16"}).warnings == ()


def test_operators_of_the_functions_a_geop_calls_are_assigned_too() -> None:
    def build(g: GraphBuilder) -> None:
        f = g.function("body", {"x": "float32"}, {"y": "float32"})
        product = f.op("MatMul", "product", [f.args["x"], f.args["x"]])
        f.returns(y=f.op("Relu", "relu", [product]))
        x = g.placeholder("x", "float32", [4, 4])
        for name in ("one", "two"):
            g.op("PartitionedCall", name, [[x]], f="body", Tin=["float32"], Tout=["float32"])

    found = assigned(build, MIX)
    table = found.by_name()
    assert [node.node for node in found.nodes] == ["one", "two", "body/product", "body/relu"]
    assert dtypes(table["one"]) == "float32>float32"  # what is given to a function and back keeps its dtype
    assert (table["body/relu"].outputs, table["body/relu"].function) == (("float16",), "body")
    casts = [(c.source, c.target, c.to_dtype) for c in found.casts]
    assert ("body/x:0", "body/product:0", "float16") in casts
    assert ("body/relu:0", "body/y_RetVal:0", "float32") in casts


def test_work_grows_with_edges_only_even_where_loops_are_followed_again() -> None:
    def graph(count: int) -> Any:
        g = GraphBuilder()
        value = matmul(g, "white")
        axes, limit = g.placeholder("axes", "int32", [2]), g.const("limit", 10.0, "float32")
        for k in range(count):
            value = g.while_loop(
                f"loop{k}",
                [value],
                lambda v, limit, axes: g.op("Less", None, [g.op("Max", None, [v, axes]), limit]),
                lambda v, *_: [g.op("Abs", None, [v])],
                invariants=[limit, axes],
            )[0]
        return g.build()

    lists = '{"black-list": {"to-remove": ["Enter"]}, "white-list": {"to-add": ["NextIteration"]}}'
    options = resolve({**MIX, "modify_mixlist": "/m.json"}, env={}, files={"/m.json": lists})
    steps = []
    for count in (20, 80):
        divided = partition(graph(count), resolve({}, env={}))
        policy = Policy(
            Catalog.built_in(), mode_of(options), Lists(Catalog.built_in(), options.parsed["modify_mixlist"]), None
        )
        walk = Walk(divided.graph, divided.assignment, policy).run()
        assert walk.steps <= len(divided.graph.nodes) + len(divided.graph.edges)
        steps.append(walk.steps)
    assert steps[1] < 4.2 * steps[0]
    assert assign(partition(graph(3), options), options).by_name()["loop2/Merge_0"].outputs[0] == "float16"
