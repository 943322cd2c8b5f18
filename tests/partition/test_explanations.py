"""Every reason has a case, every chain ends at its cause, and what keeps GEOPs apart is a real path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from npu_reference.catalog import OpList
from npu_reference.graphs import GraphBuilder
from npu_reference.options.grammars.in_out_pair import Range
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition import Reason, partition
from npu_reference.partition.explain import blame, separations
from npu_reference.partition.reasons import MEANINGS, REMEDIES, always_on_host, remedy_of
from tests import strategies
from tests.partition.graphs_for_tests import chain, closed, divide, host, mixed

MIX = PartitionSettings(mix=True)
SCOPE = {"attrs_": {"_without_npu_compile": True}}


def graph_of_everything():
    """One operator for nearly every reason, each named after it."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    p = g.placeholder("p", "bool", [])
    g.op("Relu", "scope", [x], **SCOPE)
    g.py_func("not_supported", [x], ["float32"])
    text = g.op("AsString", "gray", [x])
    g.op("StringJoin", "string_join", [[text, text]])
    g.op("Identity", "string_edge", [text])
    table = g.op("HashTableV2", "resource", key_dtype="string", value_dtype="int64", shared_name="t")
    g.op("LookupTableSizeV2", "table_size", [table])
    handle = g.resource_variable("handle", shape=[2])
    g.op("ReadVariableOp", "resource_edge", [handle], dtype="float32")
    g.op("AssignVariableOp", "handle_user", [handle, x], dtype="float32", **SCOPE)
    v = g.variable("variable", shape=[2])
    g.op("Assign", "ref_edge", [v, x])
    g.op("AssignAdd", "ref_user", [v, x], **SCOPE)
    k = g.const("host_const", [1.0, 2.0])
    g.py_func("const_user", [k], ["float32"])
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("PyFunc", "inner", [[f.args["a"]]], Tout=["float32"], token="t"))
    g.op("StatefulPartitionedCall", "function", [[x]], Tout=["float32"], f="f")
    switch = g.op("Switch", "conditional", [g.op("Relu", "some_device_op", [x]), p])
    g.op("Merge", "merge", [[g.py_func("no", [switch[0]], ["float32"])[0], switch[1]]])
    nodes = g.to_def().node
    read = {text.split(":")[0].lstrip("^") for node in nodes for text in node.input}
    last = [node for node in nodes if node.name not in read]
    fetches = [n.name + ":0" for n in last if n.op not in ("AssignVariableOp",)]
    return closed(g, ["x", "p"], fetches, ["handle_user"])


@pytest.mark.parametrize(
    "reason",
    ["scope", "not_supported", "gray", "string_join", "string_edge", "resource", "resource_edge", "ref_edge",
     "host_const", "function", "conditional"],
)  # fmt: skip
def test_each_reason_is_given_where_it_holds(reason):
    entry = host(partition(graph_of_everything(), MIX))[reason]
    assert entry.reason is Reason[reason.upper()]
    stays = "None: without mix_compile_mode it would stay on the host, too. STRING_EDGE: "
    assert entry.remedy.startswith(stays if reason == "gray" else remedy_of(entry.reason, entry.op))


def test_full_offload_is_the_remedy_only_where_it_helps():
    listed = OpList.parse('{"Relu": {"isGray": true}, "Abs": {}}')
    assert host(single(MIX, "Relu", op_list=listed))["n0"].remedy == REMEDIES[Reason.GRAY]
    away = host(single(MIX, "Relu", "Selu", "Abs", "Abs", op_list=listed))["n0"].remedy
    assert away.startswith("Replace it by another operator: without mix_compile_mode") and ". SMALLER_REGION: " in away
    ranges = MIX._replace(ranges=(Range(("n1",), ("n1",)),), ranges_text="", offload_ranges=True)
    assert "refused with OPTION_CONFLICT" in host(single(ranges, "Relu", "Abs", op_list=listed))["n0"].remedy


@pytest.mark.parametrize(
    ("reason", "op", "start", "always"),
    [
        ("NOT_SUPPORTED", "ScalarSummary", "Summaries are always written by the framework", True),
        ("NOT_SUPPORTED", "RestoreV2", "None needed: checkpoints", True),
        ("NOT_SUPPORTED", "PyFunc", "Compute it in Python before the run and feed it", False),
        ("NOT_SUPPORTED", "Bucketize", REMEDIES[Reason.NOT_SUPPORTED], False),
        ("SCOPE", "ScalarSummary", REMEDIES[Reason.SCOPE], False),
        ("STRING_EDGE", "Identity", "None needed: it computes nothing", True),
        ("STRING_EDGE", "Switch", REMEDIES[Reason.STRING_EDGE], True),
    ],
)
def test_a_remedy_is_one_that_helps_with_the_operator(reason, op, start, always):
    assert remedy_of(Reason[reason], op).startswith(start)
    assert always_on_host(Reason[reason], op) is always


def single(options, *ops, op_list=None, **attrs):
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    for number, op in enumerate(ops):
        value = g.op(op, f"n{number}", [value], **attrs)
    return partition(closed(g, ["x"], [f"n{len(ops) - 1}:0"]), options, op_list=op_list)


def test_feeds_fetches_and_switched_off_graphs_say_so():
    result = single(MIX, "Relu")
    assert host(result)["_arg_x_0_0"].reason is Reason.FEED
    assert host(result)["_retval_n0_0_0"].reason is Reason.FETCH
    assert host(single(PartitionSettings(use_off_line=False), "Relu"))["n0"].reason is Reason.MODE_OFF
    assert host(single(MIX, "Relu", attrs_={"_NoNeedOptimize": True}))["n0"].reason is Reason.GRAPH_EXCLUDED


def test_a_lone_identity_is_isolated():  # M27
    assert host(single(MIX, "Identity"))["n0"].reason is Reason.ISOLATED


def test_ranges_name_themselves():
    inside = PartitionSettings(mix=True, ranges=(Range(("n0",), ("n0",)),), ranges_text="", offload_ranges=True)
    assert host(single(inside, "Relu", "Relu"))["n1"].reason is Reason.RANGE_OUTSIDE
    kept = inside._replace(offload_ranges=False)
    assert host(single(kept, "Relu", "Relu"))["n0"].reason is Reason.RANGE_INSIDE


def test_variables_on_the_host_say_that_the_option_did_it():
    g = GraphBuilder()
    v = g.variable("v", shape=[2])
    g.op("Relu", "a", [g.op("Relu", "b", [v])])
    result = partition(closed(g, [], ["a:0"]), PartitionSettings(mix=True, variables_on_host=True))
    assert host(result)["v"].reason is Reason.VARIABLE_PLACEMENT


def test_input_pipelines_stay_in_the_framework():
    g = GraphBuilder()
    start = g.const("start", 0, "int64")
    data = g.op("RangeDataset", "data", [start, start, start], output_types=["int64"], output_shapes=[[]])
    g.op("TensorDataset", "other", [[start]], Toutput_types=["int64"], output_shapes=[[]])
    listed = OpList.parse('{"RangeDataset": {}, "TensorDataset": {}, "Const": {}}')
    result = partition(closed(g, [], [data.name + ":0", "other:0"]), MIX, op_list=listed)
    assert host(result)["data"].reason is Reason.DATASET


def test_full_offload_says_what_is_in_another_region():
    assert host(divide(chain("dhdd")))["a"].reason is Reason.SMALLER_REGION


def test_reasons_tested_elsewhere_complete_the_list():
    here = {"SCOPE", "NOT_SUPPORTED", "GRAY", "STRING_JOIN", "STRING_EDGE", "RESOURCE", "RESOURCE_EDGE", "REF_EDGE",
            "HOST_CONST", "FUNCTION", "CONDITIONAL", "FEED", "FETCH", "MODE_OFF", "GRAPH_EXCLUDED", "ISOLATED",
            "RANGE_OUTSIDE", "RANGE_INSIDE", "VARIABLE_PLACEMENT", "DATASET", "SMALLER_REGION",
            "VARIANT_EDGE"}  # fmt: skip
    documented = {"FRAME", "FIFTH_OUTPUT"}  # test_documented_policy.py
    assert set(Reason) == set(REMEDIES) == set(MEANINGS)
    # What was added since is shown by a case alone: tests/cases/test_placement_cases.py.
    assert here | documented <= {reason.value for reason in Reason}


def test_a_variant_from_the_host_takes_its_reader_along():
    g = GraphBuilder()
    shape = g.const("shape", [2], "int32")
    x = g.placeholder("x", "float32", [3, 2])
    variant = g.op("TensorListFromTensor", "list", [x, shape], **SCOPE)
    g.op("TensorListStack", "stack", [variant, shape], element_dtype="float32")
    listed = OpList.parse('{"TensorListFromTensor": {}, "TensorListStack": {}}')
    entry = host(partition(closed(g, ["x"], ["stack:0"]), MIX, op_list=listed))["stack"]
    assert entry.reason is Reason.VARIANT_EDGE
    assert [step.node for step in entry.witness] == ["stack", "list"]


@settings(max_examples=40)
@given(strategies.closed_graphs())
def test_what_separates_two_geops_is_a_path_through_the_host(graph):
    result = partition(graph, MIX)
    home = {graph.nodes[node].name: geop.name for geop in result.geops for node in geop.nodes}
    readers = {
        node.name: {graph.nodes[graph.edges.dst[e]].name for e in graph.out_edges(node.id)} for node in graph.nodes
    }
    for found in separations(result):
        assert any(name not in home for name in found.path)
        before = [name for name, geop in home.items() if geop == found.before]
        assert any(found.path[0] in readers[name] for name in before)
        assert any(home.get(name) == found.after for name in readers[found.path[-1]])
        for one, two in zip(found.path, found.path[1:]):
            group = [name for name in home if home[name] == home[one]] if one in home else [one]
            assert any(two in readers[name] for name in group) or (one in home and home.get(two) == home[one])


def test_two_geops_that_a_host_operator_separates_show_it():
    result = mixed(chain("dhd"))
    assert [(s.before, s.after, s.path) for s in separations(result)] == [("GeOp_0", "GeOp_1", ("b",))]


def test_blame_ranks_what_would_save_most():
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    for number in range(3):
        value = g.op("Relu", f"a{number}", [value])
        value = g.py_func(f"h{number}", [value], ["float32"])[0]
    g.op("Relu", "last", [g.op("DebugIdentity", "debug", [value])])
    result = mixed(closed(g, ["x"], ["last:0"]))
    ranking = blame(result, MIX)
    assert [(row.op, row.geops_saved) for row in ranking] == [("PyFunc", 2), ("DebugIdentity", 0)]
