"""Rules of the adapter's own pass that no recorded case shows by itself, one behaviour a test."""

from __future__ import annotations

import pytest

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, as_session_gives, graph_from_def, in_creation_order
from npu_reference.partition import Reason, partition
from tests.partition.graphs_for_tests import chain, closed, codes, divide, host, mixed, sets

MIX = {"mix_compile_mode": True}


def adapter(graph, op_list=None, **values):
    return partition(graph, values, policy="adapter", op_list=op_list)


def refusal(graph, **values):
    with pytest.raises(NpuError) as caught:
        adapter(graph, **values)
    return caught.value.code, caught.value.reason


# when the pass leaves the graph alone


@pytest.mark.parametrize("values", [{"use_off_line": False}, {"job": "ps"}, {"job": "default"}])
def test_a_pass_that_does_nothing_offloads_nothing_and_refuses_nothing(values):
    result = adapter(chain("ddd"), in_out_pair="[]", **values)
    assert not result.geops
    assert {entry.reason for entry in result.host} == {Reason.MODE_OFF}


def test_any_other_job_is_divided_as_localhost():
    assert sets(adapter(chain("dhd"), job="chief", **MIX)) == sets(adapter(chain("dhd"), **MIX)) == [["a"], ["c"]]


def test_one_mark_anywhere_keeps_the_whole_graph_from_the_pass():
    g = GraphBuilder()
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    g.op("Relu", "b", [a], attrs_={"_NoNeedOptimize": True})
    assert not adapter(closed(g, ["x"], ["b:0"]), **MIX).geops


def test_an_outfeed_keeps_the_whole_graph_on_the_host():
    g = GraphBuilder()
    g.op("OutfeedDequeueOp", "out", channel_name="c", output_types=["float32"])
    g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    result = adapter(closed(g, ["x"], ["a:0"], ["out"]), **MIX)
    assert {entry.reason for entry in result.host} == {Reason.GRAPH_EXCLUDED}


# errors


def test_lazy_recompilation_allows_one_iteration_only():
    values = {"dynamic_input": True, "dynamic_graph_execute_mode": "lazy_recompile", "iterations_per_loop": 10}
    words = "iterations_per_loop only support 1 in lazy_recompile mode. Current is:10"
    assert refusal(chain("dd"), **values) == ("OPTION_CONFLICT", words)


def one_shot():
    g = GraphBuilder()
    f = g.function("make", {}, {"handle": "variant"})
    start = f.const("start", 0, "int64")
    f.returns(handle=f.op("RangeDataset", "range", [start] * 3, output_types=["int64"], output_shapes=[[]]))
    types = {"output_types": ["float32"], "output_shapes": [[2]]}
    iterator = g.op("OneShotIterator", "iterator", dataset_factory=f, **types)
    g.op("Relu", "a", [g.op("IteratorGetNext", "next", [iterator], **types)])
    return closed(g, [], ["a:0"])


def test_a_one_shot_iterator_allows_one_iteration_only():
    words = "iterator_per_loop only support 1 when using OneShotIterator"
    assert refusal(one_shot(), iterations_per_loop=2) == ("ADAPTER_ABORT", words)
    assert sets(adapter(one_shot())) == [["a"]]


def test_a_one_shot_iterator_is_never_pre_processed():
    assert host(adapter(one_shot(), enable_data_pre_proc=True))["next"].reason is Reason.NOT_SUPPORTED


# rewriting


def composed():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    both = g.op("_UnaryOpsComposition", "both", [x], op_names=["Relu", "Exp"], T="float32")
    g.op("Abs", "after", [both])
    return closed(g, ["x"], ["after:0"])


def test_composed_unary_operators_are_judged_one_by_one():
    listed = OpList.parse('{"Relu": {}, "Abs": {}}')
    result = adapter(composed(), op_list=listed, **MIX)
    assert sets(result) == [["both_0_Relu"], ["after"]]
    assert host(result)["both_1_Exp"].reason is Reason.NOT_SUPPORTED
    assert codes(result) == ["REWRITTEN"]


def accumulated(assign="Assign"):
    """accumulate_n of two summands in the form TensorFlow expands it to."""
    g = GraphBuilder()
    x, y = g.placeholder("x", "float32", [2]), g.placeholder("y", "float32", [2])
    temporary = g.op("TemporaryVariable", "sum/temporary", shape=[2], dtype="float32", var_name="t")
    first = g.op(assign, "sum/assign", [temporary, g.const("sum/zero", [0.0, 0.0], "float32")])
    adds = [g.op("AssignAdd", f"sum/add{i}", [first, value]) for i, value in enumerate((x, y))]
    total = g.op("DestroyTemporaryVariable", "sum", [first], var_name="t", control=adds)
    g.op("Relu", "after", [total])
    return closed(g, ["x", "y"], ["after:0"])


def test_an_expanded_accumulate_n_is_one_operator_again():
    result = adapter(accumulated(), **MIX)
    graph = result.graph
    assert graph.nodes[graph.index["sum"]].op == "AccumulateNV2"
    assert sets(result) == [["after", "sum"]]
    assert not [node.name for node in graph.nodes if node.name.startswith("sum/")]


def test_a_temporary_variable_that_is_no_accumulate_n_is_left_alone():
    graph = adapter(accumulated(assign="AssignSub"), op_list=OpList.parse("{}")).graph
    assert graph.nodes[graph.index["sum"]].op == "DestroyTemporaryVariable"


# eviction


def shared_string(op, **attrs):
    """A string of the host read by `op`, which the device has."""
    g = GraphBuilder()
    text = g.op("AsString", "text", [g.placeholder("x", "float32", [2])])
    if op == "Assert":
        g.op("Assert", "reader", [g.placeholder("ok", "bool", []), [text]], **attrs)
        graph = closed(g, ["x", "ok"], [], ["reader"])
    else:
        g.op(op, "reader", [text], **attrs)
        graph = closed(g, ["x"], ["reader:0"])
    return adapter(graph, op_list=OpList.parse('{"Identity": {}, "Squeeze": {}, "Assert": {}}'), **MIX)


def test_a_string_takes_its_reader_to_the_host():
    assert host(shared_string("Squeeze"))["reader"].reason is Reason.STRING_EDGE


def test_assert_and_operators_of_bounded_size_stay_on_the_device():
    assert sets(shared_string("Assert")) == [["reader"]]
    assert sets(shared_string("Squeeze", attrs_={"_op_max_size": 64})) == [["reader"]]


# lazy recompilation


def pipeline():
    """An iterator, two operators behind it."""
    g = GraphBuilder()
    types = {"output_types": ["float32"], "output_shapes": [[2]]}
    iterator = g.op("IteratorV2", "iterator", shared_name="", container="", **types)
    a = g.op("Relu", "a", [g.op("IteratorGetNext", "next", [iterator], **types)])
    g.op("Relu", "b", [a])
    return closed(g, [], ["b:0"])


def test_lazy_recompilation_keeps_get_next_apart_from_what_reads_it():
    lazy = {"dynamic_input": True, "dynamic_graph_execute_mode": "lazy_recompile", "enable_data_pre_proc": True}
    assert sets(adapter(pipeline(), **lazy)) == [["iterator", "next"], ["a", "b"]]
    eager = {**lazy, "dynamic_graph_execute_mode": "dynamic_execute"}
    assert sets(adapter(pipeline(), **eager)) == [["a", "b", "iterator", "next"]]


# lone operators


@pytest.mark.parametrize("op", ["NoOp", "Identity"])
def test_where_no_two_candidates_are_neighbours_lone_ones_that_compute_nothing_stay_on_the_host(op):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    g.op("Relu", "r", [x])
    lone = g.op("NoOp", "lone") if op == "NoOp" else g.op("Identity", "lone", [x])
    fetches = ["r:0"] if op == "NoOp" else ["r:0", "lone:0"]
    result = adapter(closed(g, ["x"], fetches, [lone.name] if op == "NoOp" else []), **MIX)
    assert sets(result) == [["r"]]
    assert host(result)["lone"].reason is Reason.ISOLATED


def test_beside_a_larger_cluster_a_lone_no_op_is_offloaded():
    g = GraphBuilder()
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    g.op("Relu", "b", [a])
    g.op("NoOp", "lone")
    assert sets(adapter(closed(g, ["x"], ["b:0"], ["lone"]), **MIX)) == [["a", "b", "lone"]]


# what the records of graphs in random file order show


def test_a_constant_that_a_geop_only_waits_for_is_copied_into_it_and_by_the_documents_is_not():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    c = g.const("c", [1.0, 2.0], "float32")
    before = g.op("AddV2", "before", [x, c])
    middle = g.py_func("middle", [before], ["float32"])
    g.op("Relu", "after", [middle], control=[c])
    graph = closed(g, ["x"], ["after:0"])
    assert [result.node_names(result.geops[1]) for result in (adapter(graph, **MIX), mixed(graph))] == [
        ["after", "c"], ["after"],
    ]  # fmt: skip


def test_a_variables_copy_serves_its_reference_and_not_its_value_and_by_the_documents_both():
    g = GraphBuilder()
    v = g.variable("v", "float32", [2])
    before = g.op("Mul", "before", [v, g.placeholder("x", "float32", [2])])
    middle = g.py_func("middle", [before], ["float32"])
    added = g.op("AddV2", "added", [middle, v])
    g.op("AssignAdd", "store", [v, added])
    graph = closed(g, ["x"], ["store:0"])
    args = [[arg.name for arg in result.geops[-1].args] for result in (adapter(graph, **MIX), mixed(graph))]
    assert args == [["middle_0_arg", "v_0_arg"], ["middle_0_arg"]]


@pytest.mark.parametrize("way", [adapter, divide])
def test_get_next_of_a_string_stays_on_the_host_with_its_iterator(way):
    def places(kind):
        g = GraphBuilder()
        types = {"output_types": [kind, "float32"], "output_shapes": [[2], [2]]}
        iterator = g.op("IteratorV2", "iterator", container="", shared_name="i", **types)
        value = g.op("IteratorGetNext", "next", [iterator], **types)
        g.op("Relu", "y", [value[1]])
        g.op("Identity", "rest", [value[0]])
        result = way(closed(g, [], ["y:0", "rest:0"]), mix_compile_mode=True, enable_data_pre_proc=True)
        return {"iterator", "next"} & set(host(result))

    assert places("float32") == set()
    assert places("string") == {"iterator", "next"}


@pytest.mark.parametrize("way", [adapter, divide])
def test_lazy_recompilation_may_come_with_the_graph(way):
    def graph(mode, dynamic):
        marks = {"_graph_dynamic_input": dynamic, "_graph_dynamic_graph_execute_mode": mode}
        g = GraphBuilder()
        g.op("Relu", "y", [g.placeholder("x", "float32", [2])], attrs_=marks)
        return closed(g, ["x"], ["y:0"])

    for mode, dynamic in (("dynamic_execute", True), ("lazy_recompile", False)):
        assert way(graph(mode, dynamic), iterations_per_loop=10).geops
    with pytest.raises(NpuError) as caught:
        way(graph("lazy_recompile", True), iterations_per_loop=10)
    assert caught.value.reason == "iterations_per_loop only support 1 in lazy_recompile mode. Current is:10"


@pytest.mark.parametrize("mix", [True, False])
def test_a_mark_inside_a_called_function_keeps_its_caller_on_the_host(mix):
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("Neg", "inside", [f.args["a"]], attrs_={"_without_npu_compile": True}))
    call = g.op("StatefulPartitionedCall", "call", [[g.placeholder("x", "float32", [2])]], Tout=["float32"], f=f)
    g.op("Relu", "y", [call[0]])
    entry = host(adapter(closed(g, ["x"], ["y:0"]), mix_compile_mode=mix))["call"]
    assert entry.reason is Reason.FUNCTION and "without_npu_compile_scope" in entry.remedy


def test_control_inputs_are_numbered_by_name_and_by_the_documents_as_they_stand():
    def graph(*order):
        g = GraphBuilder()
        x = g.placeholder("x", "float32", [2])
        for name in "ab":
            g.op("Relu", name, [x])
        g.op("NoOp", "group", control=list(order))
        return closed(g, ["x"], [], ["group"])

    given, other = graph("a", "b"), graph("b", "a")
    assert as_session_gives(other).node("group").inputs == ("^a", "^b")
    assert as_session_gives(given).to_bytes() == as_session_gives(other).to_bytes()
    assert in_creation_order(other).node("group").inputs == ("^b", "^a")


def test_a_graph_in_another_order_is_numbered_as_made_and_answered_in_its_own_order():
    graph = chain("ddhdd")
    reverse = graph.empty_def()
    reverse.node.extend(node.proto for node in reversed(graph.nodes))
    other = graph_from_def(reverse)
    result = adapter(other, **MIX)
    assert result.graph is other and sets(result) == [["d", "e"], ["a", "b"]]
    made = in_creation_order(other)
    assert [made.nodes[i].name for i in made.creation] == [node.name for node in made.nodes]
    edges = zip(made.edges.src, made.edges.dst)
    assert [(made.nodes[a].name, made.nodes[b].name) for a, b in edges] == [
        (other.nodes[a].name, other.nodes[b].name) for a, b in zip(other.edges.src, other.edges.dst)
    ]
    assert graph_from_def(made.to_def()).to_bytes() == made.to_bytes()
