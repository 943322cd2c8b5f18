"""Policy "documented": what the documents say, and results that can run where the adapter's own cannot."""

from __future__ import annotations

import pytest

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, graph_from_def
from npu_reference.partition import Reason, build
from tests.partition.graphs_for_tests import chain, closed, codes, divide, host, mixed, sets


def test_a_host_operator_separates_two_geops():  # mixed.partition.geop_split
    result = mixed(chain("ddhdd"))
    assert sets(result) == [["a", "b"], ["d", "e"]]
    assert host(result)["c"].reason is Reason.NOT_SUPPORTED
    assert result.min_geops == 2


def test_a_graph_of_supported_operators_is_one_geop_without_mixed_computing():  # mixed.default.full_offload
    assert sets(divide(chain("ddddd"))) == [["a", "b", "c", "d", "e"]]


def test_a_device_operator_beside_a_host_path_does_not_close_a_cycle():  # mixed.partition.geop_acyclic
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    a = g.op("Relu", "a", [x])
    h = g.py_func("h", [a], ["float32"])
    g.op("AddV2", "b", [a, h[0]])
    assert sets(mixed(closed(g, ["x"], ["b:0"]))) == [["a"], ["b"]]


def test_full_offload_with_an_unsupported_operator_keeps_the_largest_region_and_says_so():  # M2
    result = divide(chain("dhddd"))
    assert sets(result) == [["c", "d", "e"]]
    assert host(result)["a"].reason is Reason.SMALLER_REGION
    note = next(note for note in result.notes if note.code == "FULL_OFFLOAD_INCOMPLETE")
    assert note.level == "warning" and "PyFunc" in note.message


def test_a_run_of_operators_that_compute_nothing_leaves_nothing_to_say():  # M27
    g = GraphBuilder()
    g.op("NoOp", "InitializeSystem", [])
    result = divide(closed(g, [], [], targets=["InitializeSystem"]))
    assert not result.geops and [note.code for note in result.notes] == []


def test_use_off_line_false_offloads_nothing():  # A38
    result = mixed(chain("ddd"), use_off_line=False)
    assert not result.geops
    assert {entry.reason for entry in result.host} == {Reason.MODE_OFF}


def marked(**values):
    """x -> a -> b (in without_npu_compile_scope) -> c."""
    g = GraphBuilder()
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    b = g.op("Exp", "b", [a], attrs_={"_without_npu_compile": True})
    g.op("Relu", "c", [b])
    return divide(closed(g, ["x"], ["c:0"]), **values)


def test_the_scope_keeps_operators_on_the_host_in_mixed_computing():  # mixed.scope.without_npu_compile.adds
    result = marked(mix_compile_mode=True)
    assert sets(result) == [["a"], ["c"]]
    assert host(result)["b"].reason is Reason.SCOPE


def test_the_scope_has_no_effect_without_mixed_computing_and_warns():  # M17
    result = marked()
    assert sets(result) == [["a", "b", "c"]]
    assert "SCOPE_WITHOUT_MIX" in codes(result)


def test_the_fifth_output_of_fused_batch_norm_v3_sends_it_to_the_host_only_when_used():  # M26
    for used in (False, True):
        g = GraphBuilder()
        x = g.placeholder("x", "float32", [2, 2, 2, 3])
        s = g.placeholder("s", "float32", [3])
        bn = g.op("FusedBatchNormV3", "bn", [x, s, s, s, s])
        g.op("Relu", "a", [bn[0]])
        fetches = ["a:0"]
        if used:
            g.op("Relu", "b", [bn[5]])
            fetches.append("b:0")
        result = mixed(closed(g, ["x", "s"], fetches))
        assert ("bn" in host(result)) == used
        assert ("FIFTH_OUTPUT" in codes(result)) == used


def test_a_host_operator_that_takes_a_variable_pulls_it_and_its_users_to_the_host():  # M20
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    v = g.resource_variable("v", shape=[2])
    read = g.op("ReadVariableOp", "read", [v], dtype="float32")
    g.op("Relu", "a", [read])
    g.op("AssignVariableOp", "up", [v, x], dtype="float32", attrs_={"_without_npu_compile": True})
    result = mixed(closed(g, ["x"], ["a:0"], ["up"]))
    entry = host(result)
    assert {"v", "read", "up"} <= set(entry)
    assert [step.node for step in entry["read"].witness] == ["read", "v", "up"]
    assert sets(result) == [["a"]]
    assert "VARIABLE_ON_HOST" in codes(result)


def test_a_call_whose_function_holds_an_unsupported_operator_stays_on_the_host():  # M22
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("PyFunc", "inner", [[f.args["a"]]], Tout=["float32"], token="t"))
    x = g.placeholder("x", "float32", [2])
    call = g.op("StatefulPartitionedCall", "call", [[g.op("Relu", "a", [x])]], Tout=["float32"], f="f")
    g.op("Relu", "b", [call[0]])
    result = mixed(closed(g, ["x"], ["b:0"]))
    assert sets(result) == [["a"], ["b"]]
    entry = host(result)["call"]
    assert entry.reason is Reason.FUNCTION
    assert "f -> inner is a PyFunc" in entry.witness[0].why


def calling(body):
    """A call between two operators of the device; `body` makes the function's result of its argument."""
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=body(f, f.args["a"]))
    call = g.op(
        "PartitionedCall", "call", [[g.op("Relu", "a", [g.placeholder("x", "float32", [4])])]], Tout=["float32"], f=f
    )
    g.op("Relu", "b", [call[0]])
    return closed(g, ["x"], ["b:0"])


def looked_up(f, value):
    table = f.op("HashTableV2", "table", key_dtype="float32", value_dtype="float32")
    return f.op("LookupTableFindV2", "find", [table, value, f.const("default", 0.0, "float32")])


def normalised(f, value, slot):
    image = f.op("Reshape", "image", [value, f.const("sizes", [1, 1, 1, 4], "int32")])
    return f.op("FusedBatchNormV3", "normal", [image, value, value, value, value], U="float32")[slot]


def test_a_call_whose_function_makes_a_table_or_reads_the_fifth_output_stays_on_the_host():  # M1, M22, M26
    result = mixed(calling(looked_up))
    assert sets(result) == [["a"], ["b"]]
    assert "table is a HashTableV2: resources other than variables stay" in host(result)["call"].witness[0].why
    result = mixed(calling(lambda f, value: normalised(f, value, 5)))
    assert sets(result) == [["a"], ["b"]]
    assert "its fifth output is read" in host(result)["call"].witness[0].why
    assert sets(mixed(calling(lambda f, value: normalised(f, value, 1)))) == [["a", "b", "call"]]


# -- control flow ---------------------------------------------------------------------------------------------------


def loop_with_invariant(inside="PyFunc"):
    """A loop on the host; `pre` feeds only an invariant of it, `post` reads its result and `pre`."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    n = g.placeholder("n", "float32", [2])
    pre = g.op("Relu", "pre", [x])

    def cond(i, _):
        axis = g.const("axis", [0], "int32", control=[i])
        limit = g.const("limit", [9.0, 9.0], control=[i])
        return g.op("All", "all", [g.op("Less", "less", [i, limit]), axis])

    def body(i, fixed):
        value = g.op("AddV2", "add", [i, fixed])
        return [g.py_func("inner", [value], ["float32"])[0] if inside == "PyFunc" else value]

    exits = g.while_loop("w", [n], cond, body, invariants=[pre])
    g.op("AddV2", "post", [exits[0], pre])
    return closed(g, ["x", "n"], ["post:0"])


@pytest.mark.parametrize("mix", [False, True])
def test_a_loop_that_holds_a_host_operator_is_on_the_host_whole(mix):  # M21
    result = divide(loop_with_invariant(), mix_compile_mode=mix)
    entry = host(result)
    assert {"w/Enter_0", "w/Merge_0", "add", "w/Exit_0", "w/Invariant_0"} <= set(entry)
    assert entry["add"].reason is Reason.FRAME
    assert entry["add"].witness[-1].node == "inner"


def test_what_feeds_a_loop_and_what_reads_its_result_are_not_one_geop():
    graph = loop_with_invariant()
    assert sets(mixed(graph, policy="adapter")) == [["post", "pre"]]  # which waits for a loop that waits for it
    result = mixed(graph)
    assert sets(result) == [["pre"], ["post"]]
    assert "REPAIRED_LOOP" in codes(result)


@pytest.mark.parametrize("mix", [False, True])
def test_what_enters_a_loop_and_what_waits_for_its_counter_are_not_one_geop(mix):
    """TensorFlow ends no first turn before all has entered, and begins only so many others: an order without edges."""
    g = GraphBuilder()
    entered = g.op("Exp", "entered", [g.op("Neg", "pre", [g.const("start", [1.0, 2.0])])])
    n = g.placeholder("n", "float32", [2])

    def cond(i, _):
        axis = g.const("axis", [0], "int32", control=[i])
        limit = g.const("limit", [9.0, 9.0], control=[i])
        return g.op("All", "all", [g.op("Less", "less", [i, limit]), axis])

    exits = g.while_loop("w", [n, entered], cond, lambda i, j: [g.py_func("inner", [i], ["float32"])[0], j])
    g.op("Exp", "carried", [exits[1]])
    waits = g.const("waits", [3.0, 3.0], control=[exits[0]])
    g.op("Exp", "post", [g.op("Neg", "after", [waits])])
    result = divide(closed(g, ["n"], ["post:0", "carried:0"]), mix_compile_mode=mix)
    assert not [geop for geop in sets(result) if {"entered", "post"} <= set(geop)]
    assert [geop for geop in sets(result) if {"entered", "post"} & set(geop)]


def test_a_loop_without_host_operators_is_in_one_geop():
    result = mixed(loop_with_invariant("nothing"))
    assert len(result.geops) == 1
    assert {entry.reason for entry in result.host} == {Reason.FEED, Reason.FETCH}


def test_an_inner_loop_without_host_operators_is_a_geop_of_its_own_inside_the_outer_loop():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    before = g.op("Relu", "before", [x])

    def cond(prefix):
        def test(i):
            axis = g.const(f"{prefix}axis", [0], "int32", control=[i])
            limit = g.const(f"{prefix}limit", [9.0, 9.0], control=[i])
            return g.op("All", f"{prefix}all", [g.op("Less", f"{prefix}less", [i, limit]), axis])

        return test

    def inner(i):
        return [g.op("AddV2", "inner/add", [i, i])]

    def outer(i):
        value = g.py_func("outer/host", [i], ["float32"])[0]
        return [g.while_loop("v", [value], cond("inner/"), inner)[0]]

    exits = g.while_loop("w", [before], cond("outer/"), outer)
    g.op("Relu", "after", [exits[0]])
    result = mixed(closed(g, ["x"], ["after:0"]))
    homes = [geop for geop in sets(result) if "inner/add" in geop]
    assert homes and all(name.startswith(("inner/", "v/")) for name in homes[0])
    assert ["before"] in sets(result) and ["after"] in sets(result)


def conditional(host_branch):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    p = g.placeholder("p", "bool", [])
    a = g.op("Relu", "a", [x])
    switch = g.op("Switch", "switch", [a, p])
    yes = g.op("Exp", "yes", [switch[1]])
    no = g.py_func("no", [switch[0]], ["float32"])[0] if host_branch else g.op("Neg", "no", [switch[0]])
    merge = g.op("Merge", "merge", [[no, yes]])
    g.op("Relu", "b", [merge[0]])
    return closed(g, ["x", "p"], ["b:0"])


def test_a_conditional_with_a_host_operator_is_on_the_host_whole():  # M21
    result = mixed(conditional(True))
    assert sets(result) == [["a"], ["b"]]
    assert {host(result)[name].reason for name in ("switch", "yes", "merge")} == {Reason.CONDITIONAL}
    assert "CONDITIONAL" in codes(result)


def test_a_conditional_without_host_operators_is_offloaded():
    assert sets(mixed(conditional(False))) == [["a", "b", "merge", "no", "switch", "yes"]]


def test_what_fills_a_queue_and_what_it_feeds_are_not_one_geop():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    queue = g.op("FIFOQueueV2", "queue", component_types=["float32"], shapes=[[2]], shared_name="q")
    a = g.op("Relu", "a", [x])
    g.op("QueueEnqueueV2", "put", [queue, [a]])
    take = g.op("QueueDequeueV2", "take", [queue], component_types=["float32"])
    g.op("Exp", "b", [take[0]])
    graph = closed(g, ["x"], ["b:0"], ["put"])
    assert sets(mixed(graph, policy="adapter")) == [["a", "b"]]
    result = mixed(graph)
    assert sets(result) == [["a"], ["b"]]
    assert "REPAIRED_QUEUE" in codes(result)


@pytest.mark.parametrize("nested", [False, True])
def test_what_fills_a_queue_and_what_a_function_takes_from_it_feeds_are_not_one_geop(nested):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    queue = g.op("FIFOQueueV2", "queue", component_types=["float32"], shapes=[[2]], shared_name="q")
    f = g.function("taken", {"q": "resource"}, {"value": "float32"})
    take = f.op("QueueDequeueV2", "take", [f.args["q"]], component_types=["float32"])
    f.returns(value=f.op("PyFunc", "seen", [[take[0]]], Tout=["float32"], token="t")[0])
    if nested:
        outer = g.function("outer", {"q": "resource"}, {"value": "float32"})
        outer.returns(value=outer.op("taken", "inner", [outer.args["q"]]))
    g.op("QueueEnqueueV2", "put", [queue, [g.op("Relu", "a", [x])]])
    call = g.op("StatefulPartitionedCall", "call", [[queue]], Tout=["float32"], f="outer" if nested else "taken")
    g.op("Exp", "b", [call[0]])
    graph = closed(g, ["x"], ["b:0"], ["put"])
    assert sets(mixed(graph, policy="adapter")) == [["a", "b"]]
    assert sets(mixed(graph)) == [["a"], ["b"]]


def test_what_fills_a_queue_and_what_an_element_of_a_data_set_feeds_are_not_one_geop():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    queue = g.op("FIFOQueueV2", "queue", component_types=["float32"], shapes=[[2]], shared_name="q")
    f = g.function("element", {"i": "int64", "q": "resource"}, {"value": "float32"})
    f.returns(value=f.op("QueueDequeueV2", "take", [f.args["q"]], component_types=["float32"])[0])
    typed = {"output_types": ["float32"], "output_shapes": [[2]]}
    iterator = g.op("IteratorV2", "iterator", shared_name="it", container="", **typed)
    element = g.op("IteratorGetNext", "element_of", [iterator], **typed)
    g.op("QueueEnqueueV2", "put", [queue, [g.op("Relu", "a", [x])]])
    g.op("Exp", "b", [element[0]])
    assert sets(mixed(closed(g, ["x"], ["b:0"], ["put"]))) == [["a"], ["b"]]


def test_lazy_recompilation_never_joins_two_regions_that_a_host_path_joins():
    from npu_reference.options.typed import PartitionSettings
    from npu_reference.partition import partition

    g = GraphBuilder()
    x, y = g.placeholder("x", "float32", [2]), g.placeholder("y", "float32", [2])
    first = g.op("Relu", "a2", [g.op("Relu", "a1", [x])])
    middle = g.py_func("h", [first], ["float32"])[0]
    g.op("Relu", "b", [middle])
    g.op("Relu", "c3", [g.op("Relu", "c2", [g.op("Relu", "c1", [y])])])
    graph = closed(g, ["x", "y"], ["b:0", "c3:0"])
    lazy = PartitionSettings(lazy_recompile=True)
    assert sets(partition(graph, lazy, policy="adapter")) == [["a1", "a2", "b", "c1", "c2", "c3"]]
    result = partition(graph, lazy)
    assert "REPAIRED_CYCLE" in codes(result)
    graph_from_def(build(graph, result))


# -- in_out_pair ----------------------------------------------------------------------------------------------------


def pair(graph, ins, outs, flag=True, **more):
    return mixed(graph, in_out_pair=[[ins, outs]], in_out_pair_flag=flag, **more)


def test_a_range_is_offloaded_and_all_else_stays_on_the_host():  # M6, M14
    result = pair(chain("ddddd"), ["b"], ["d"])
    assert sets(result) == [["b", "c", "d"]]
    assert host(result)["a"].reason is Reason.RANGE_OUTSIDE


def test_a_range_is_kept_on_the_host_and_all_else_is_offloaded():  # in_out_pair.flag_false.*
    result = pair(chain("ddddd"), ["b"], ["d"], flag=False)
    assert sets(result) == [["a"], ["e"]]
    assert host(result)["c"].reason is Reason.RANGE_INSIDE


def test_offloading_the_body_and_keeping_the_preprocessing_are_one_split():  # in_out_pair.mirror_equivalence
    graph = chain("dddd")
    assert pair(graph, ["c"], ["d"]).assignment == pair(graph, ["a"], ["b"], flag=False).assignment


def two_paths():
    """x -> a -> {b, s} -> d -> e, with c behind b."""
    g = GraphBuilder()
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    b = g.op("Exp", "b", [a])
    s = g.op("Neg", "s", [a])
    c = g.op("Relu", "c", [b])
    d = g.op("AddV2", "d", [c, s])
    e = g.op("Exp", "e", [d])
    g.op("Relu", "f", [e])
    return closed(g, ["x"], ["f:0"])


def test_every_path_between_the_ends_belongs_to_the_range():  # M6
    assert sets(pair(two_paths(), ["a"], ["d"])) == [["a", "b", "c", "d", "s"]]


def test_an_out_node_behind_another_is_reached_through_it():  # M6; the adapter stops at the first
    assert sets(pair(two_paths(), ["b"], ["c", "e"])) == [["b", "c", "d", "e"]]


def test_the_order_of_entries_does_not_matter():  # M7
    one = mixed(two_paths(), in_out_pair=[[["a"], ["c"]], [["b"], ["e"]]])
    two = mixed(two_paths(), in_out_pair=[[["b"], ["e"]], [["a"], ["c"]]])
    assert one.assignment == two.assignment
    assert "RANGE_SELECTION" in codes(one)


def test_an_unknown_in_node_is_reported_and_skipped():  # M9
    result = pair(chain("ddd"), ["b", "conv/tr"], ["b"])
    assert sets(result) == [["b"]]
    note = next(note for note in result.notes if note.code == "RANGE_UNKNOWN_NODE")
    assert note.subject == "conv/tr" and note.level == "error"


@pytest.mark.parametrize("ins, outs", [(["zz"], ["c"]), (["a"], ["zz"]), (["c"], ["a"])])
def test_a_range_that_selects_nothing_leaves_the_normal_partition(ins, outs):  # M8, M10
    result = pair(chain("ddhd"), ins, outs)
    assert sets(result) == sets(mixed(chain("ddhd")))
    assert "RANGE_EMPTY" in codes(result)


def test_a_range_with_an_unsupported_operator_is_refused_by_name():  # M12
    with pytest.raises(NpuError) as caught:
        pair(chain("dhd"), ["a"], ["c"])
    assert caught.value.code == "RANGE_UNSUPPORTED"
    assert "b (PyFunc)" in caught.value.reason


def test_a_range_with_an_operator_of_the_scope_is_refused_by_name():  # M16
    with pytest.raises(NpuError) as caught:
        marked(mix_compile_mode=True, in_out_pair=[[["a"], ["c"]]])
    assert caught.value.code == "RANGE_SCOPE"
    assert "b (Exp)" in caught.value.reason


def test_a_feed_may_begin_a_range_that_stays_on_the_host():  # in_out_pair.arg_nodes
    result = pair(chain("ddd"), ["_arg_x_0_0"], ["b"], flag=False)
    assert sets(result) == [["c"]]


def test_side_constants_are_not_part_of_a_range_but_copied_into_its_geop():  # M13
    g = GraphBuilder()
    k = g.const("k", [1.0, 2.0])
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])])
    b = g.op("AddV2", "b", [a, k])
    g.op("Relu", "c", [b])
    result = pair(closed(g, ["x"], ["c:0"]), ["a"], ["b"])
    assert sets(result) == [["a", "b"]]
    assert "k" in host(result)
    assert [copy.name for copy in result.geops[0].copies] == ["k_copied"]
    assert [argument.name for argument in result.geops[0].args] == ["_arg_x_0_0_0_arg"]


def test_a_range_that_touches_a_loop_takes_the_whole_loop():
    result = pair(loop_with_invariant("nothing"), ["add"], ["post"])
    assert "RANGE_EXTENDED" in codes(result)
    assert {"w/Enter_0", "w/Merge_0", "add", "post"} <= set(sets(result)[0])
    assert "pre" in host(result)


def test_in_out_pair_without_mixed_computing_is_refused():  # M11
    with pytest.raises(NpuError) as caught:
        divide(chain("ddd"), in_out_pair=[[["a"], ["b"]]])
    assert caught.value.code.startswith("OPTION_")


def test_the_operator_list_decides_what_the_device_has():
    result = mixed(chain("ddd"), op_list=OpList.parse('{"Exp": {"isGray": false}}'))
    assert not result.geops
    assert "no entry for Relu" in host(result)["a"].witness[0].why


def test_gray_operators_stay_on_the_host_in_mixed_computing_only():
    gray = OpList.parse('{"Relu": {"isGray": true, "isHeavy": false}}')
    assert not mixed(chain("dd"), op_list=gray).geops
    assert sets(divide(chain("dd"), op_list=gray)) == [["a", "b"]]


def test_an_unknown_policy_or_flavour_is_refused():
    for wrong in ({"policy": "best"}, {"flavour": "tf3"}):
        with pytest.raises(NpuError) as caught:
            mixed(chain("d"), **wrong)
        assert caught.value.code == "USAGE"


def test_a_loop_is_never_kept_in_part_when_full_offload_dissolves_what_feeds_it():
    g = GraphBuilder()
    y = g.placeholder("y", "float32", [2])
    late = g.py_func("h", [g.op("Relu", "early", [y])], ["float32"])[0]

    def cond(i, _):
        axis = g.const("axis", [0], "int32", control=[i])
        limit = g.const("limit", [9.0, 9.0], control=[i])
        return g.op("All", "all", [g.op("Less", "less", [i, limit]), axis])

    def body(i, j):
        return [g.op("AddV2", "add", [i, i]), g.op("Relu", "d", [j])]

    exits = g.while_loop("w", [late, g.op("Exp", "e", [g.op("Neg", "n", [y])])], cond, body)
    g.op("AddV2", "last", [exits[0], exits[1]])
    graph = closed(g, ["y"], ["last:0"])
    result = divide(graph)
    graph_from_def(build(graph, result))
    inside = [name for name in sets(result)[0] if name.startswith("w/")]
    assert not inside or len(inside) == sum(node.name.startswith("w/") for node in graph.nodes)


def test_what_puts_and_what_takes_may_share_a_geop_with_the_queue_itself():
    g = GraphBuilder()
    queue = g.op("FIFOQueueV2", "queue", component_types=["float32"], shapes=[[2]], shared_name="q")
    g.op("QueueEnqueueV2", "put", [queue, [g.op("Relu", "a", [g.placeholder("x", "float32", [2])])]])
    take = g.op("QueueDequeueV2", "take", [queue], component_types=["float32"])
    g.op("Exp", "b", [take[0]])
    assert sets(divide(closed(g, ["x"], ["b:0"], ["put"]))) == [["a", "b", "put", "queue", "take"]]


@pytest.mark.parametrize("closes", [True, False])
def test_a_placeholder_is_a_feed_to_come_whether_or_not_the_graph_is_closed(closes):
    g = GraphBuilder()
    x, y = g.placeholder("x", "float32", [2]), g.placeholder("y", "float32", [2])
    g.op("AddV2", "sum", [x, y])
    result = mixed(closed(g, ["x"], ["sum:0"]) if closes else g.build())
    assert host(result)["y"].reason is Reason.FEED
    assert sets(result) == [["sum"]]
    assert "y" in next(note.message for note in result.notes if note.code == "PLACEHOLDER_AS_FEED")


def test_a_graph_whose_placeholders_are_fed_has_no_note_on_them():
    assert "PLACEHOLDER_AS_FEED" not in codes(mixed(chain("d")))


def _handed_on(g, variable, start):
    """A functional loop that hands a handle on: its two results."""
    ends = {"value": "float32", "handle": "resource"}
    less = g.function("less", ends, {"result": "bool"})
    less.returns(result=less.op("Less", "less", [less.args["value"], less.const("limit", 9.0)]))
    step = g.function("step", ends, {"next": "float32", "same": "resource"})
    read = step.op("ReadVariableOp", "read", [step.args["handle"]], dtype="float32")
    step.returns(next=step.op("Mul", "inside", [step.args["value"], read]), same=step.args["handle"])
    return g.op("While", "loop", [[start, variable]], cond=less, body=step)


def test_what_hands_on_a_variables_handle_is_offloaded_with_it():  # M1
    g = GraphBuilder()
    loop = _handed_on(g, g.resource_variable("v", "float32", []), g.placeholder("n", "float32", []))
    g.op("AddV2", "sum", [loop[0], g.op("ReadVariableOp", "after", [loop[1]], dtype="float32")])
    assert sets(mixed(closed(g, ["n"], ["sum:0"]))) == [["after", "loop", "sum", "v"]]


@pytest.mark.parametrize("reader", ["py_func", "device"])
def test_a_handle_that_is_handed_on_crosses_no_border(reader):  # M20
    g = GraphBuilder()
    loop = _handed_on(g, g.resource_variable("v", "float32", []), g.placeholder("n", "float32", []))
    outside = g.py_func("outside", [loop[0]], ["float32"])
    if reader == "py_func":
        g.py_func("after", [loop[1]], ["float32"])
    else:
        g.op("ReadVariableOp", "after", [loop[1]], dtype="float32", control=[outside])
    result = mixed(closed(g, ["n"], ["after:0"], ["outside"]))
    assert not [border for border in result.borders if border.dtype.name == "resource"]
    graph_from_def(build(result.graph, result))


def test_a_loop_that_hands_on_something_else_stays_with_it():  # M1
    g = GraphBuilder()
    table = g.op("HashTableV2", "table", key_dtype="int64", value_dtype="int64", shared_name="table")
    loop = _handed_on(g, table, g.placeholder("n", "float32", []))
    assert (
        host(mixed(closed(g, ["n"], [f"{g.op('Relu', 'after', [loop[0]]).name}:0"])))["loop"].reason is Reason.RESOURCE
    )
