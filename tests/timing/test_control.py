"""Loops, conditionals and calls on the timing plane: how often what is counted."""

from __future__ import annotations

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from tests.timing.networks import step

ROWS = 256
TYPES = ["int32", "float32"]


def called(op, limit=10, first=0, by=1, compare="Less", **attrs):
    """A graph in which ``op`` calls what multiplies a matrix by itself."""
    g = GraphBuilder()
    goes_on = g.function("go", dict(zip("ix", TYPES)), {"z": "bool"})
    goes_on.returns(z=goes_on.op(compare, "below", [goes_on.args["i"], goes_on.const("limit", limit, "int32")]))
    turn = g.function("turn", dict(zip("ix", TYPES)), {"j": "int32", "y": "float32"})
    turn.returns(
        j=turn.op("AddV2", "next", [turn.args["i"], turn.const("one", by, "int32")]),
        y=turn.op("MatMul", "square", [turn.args["x"]] * 2),
    )
    same = g.function("same", {"x": "float32"}, {"y": "float32"})
    same.returns(y=same.op("Exp", "exp", [same.args["x"]]))
    much = g.function("much", {"x": "float32"}, {"y": "float32"})
    at = much.args["x"]
    for number in range(3):
        at = much.op("MatMul", f"square{number}", [at, at])
    much.returns(y=at)
    x = g.placeholder("x", "float32", [ROWS, ROWS])
    if op == "While":
        made = g.op("While", "w", [[g.const("first", first, "int32"), x]], cond="go", body="turn", T=TYPES, **attrs)[1]
    elif op == "If":
        which = g.placeholder("which", "bool", [])
        branches = {"then_branch": "much", "else_branch": "same", "Tin": ["float32"], "Tout": ["float32"]}
        made = g.op("If", "w", [which, [x]], **branches)[0]
    else:
        made = g.op("PartitionedCall", "w", [[x]], f="much", Tin=["float32"], Tout=["float32"])[0]
    g.op("Relu", "end", [made])
    return g.build(), ["x:0"] + (["which:0"] if op == "If" else []), ["end:0"]


def kinds(found):
    return [task.kind for task in found.timeline.tasks]


def test_a_call_is_the_operators_of_its_function():
    found = step(*called("PartitionedCall"))
    assert kinds(found).count("cube") == 3
    assert {f"w/square{number}" for number in range(3)} < {kernel.node for kernel in found.compiled.lowered.kernels}
    assert found.timeline_json()["control"] == {"loops": [], "conditionals": [], "largest": []}


def test_a_loop_of_a_function_takes_as_often_the_time_as_its_counter_says():
    once, ten = step(*called("While", 1)), step(*called("While", 10))

    def cube(found):
        return sum(task.duration + task.before for task in found.timeline.tasks if task.kind == "cube")

    assert cube(ten) == 10 * cube(once)
    assert ten.timeline_json()["control"]["loops"] == [{"name": "w", "turns": 10, "how": "stated"}]


@pytest.mark.parametrize(
    "first, limit, by, compare, turns",
    [(0, 10, 1, "Less", 10), (0, 10, 3, "Less", 4), (0, 9, 3, "LessEqual", 4), (10, 0, -2, "Greater", 5),
     (5, 5, 1, "Less", 0), (9, 1, -1, "GreaterEqual", 9)],
)  # fmt: skip
def test_turns_follow_from_first_last_and_step(first, limit, by, compare, turns):
    found = step(*called("While", limit, first, by, compare))
    assert [loop.turns for loop in found.compiled.lowered.loops] == [turns]


@pytest.mark.parametrize("limit, by", [(10, -1), (10, 0)])
def test_a_loop_whose_counter_never_ends_it_counts_one_turn_and_says_so(limit, by):
    loop = step(*called("While", limit, 0, by)).compiled.lowered.loops[0]
    assert (loop.turns, loop.how) == (1, "unknown")


def v1_loop(turns, stops=False):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [ROWS, ROWS])
    last = g.const("last", turns, "int32")

    def goes_on(i, y, limit):
        below = g.op("Less", "below", [i, limit])
        if not stops:
            return below
        small = g.op("Less", "small", [g.op("Sum", "total", [y, g.const("axes", [0, 1], "int32", control=[i])]), 9.0])
        return g.op("LogicalAnd", "both", [below, small])

    def turn(i, y, limit):
        one = g.const("one", 1, "int32", control=[i])
        return [g.op("AddV2", "next", [i, one]), g.op("MatMul", "square", [y, y])]

    exits = g.while_loop("w", [g.const("zero", 0, "int32"), x], goes_on, turn, invariants=[last])
    g.op("Relu", "end", [exits[1]])
    return g.build(), ["x:0"], ["end:0"]


def test_a_v1_loop_and_one_of_functions_take_the_same_time():
    assert step(*v1_loop(7)).timeline.end == step(*called("While", 7)).timeline.end


def waited_for(found, name):
    """All kernels that an operator waits for, those that others of them wait for among them, by operator."""
    kernels = found.compiled.lowered.kernels
    pending = [number for number, kernel in enumerate(kernels) if kernel.node == name]
    seen = set(pending)
    while pending:
        more = set(kernels[pending.pop()].after) - seen
        seen |= more
        pending += more
    return {kernels[number].node for number in seen} - {name}


@pytest.mark.parametrize("graph, turn", [(called("While"), "w/body/square"), (v1_loop(10), "square")])
def test_what_is_behind_a_loop_waits_for_its_last_turn(graph, turn):
    assert turn in waited_for(step(*graph), "end")


def test_what_reads_a_constant_or_a_variable_waits_for_what_they_wait_for():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [ROWS, ROWS])
    first = g.op("MatMul", "first", [x, x])
    held = g.op("VarHandleOp", "w", [], dtype="float32", shape=[ROWS, ROWS], control=[first])
    g.op("MatMul", "of_variable", [x, g.op("ReadVariableOp", "read", [held], dtype="float32")])
    g.op("Mul", "of_constant", [x, g.const("two", 2.0, "float32", control=[first])])
    found = step(g.build(), ["x:0"], ["of_variable:0", "of_constant:0"])
    assert "first" in waited_for(found, "of_variable") & waited_for(found, "of_constant")


def test_a_conditional_counts_its_dearest_branch_and_says_which():
    found = step(*called("If"))
    assert kinds(found).count("cube") == 3
    assert all(kernel.op != "Exp" for kernel in found.compiled.lowered.kernels)
    assert found.timeline_json()["control"]["conditionals"] == [{"name": "w", "taken": 1}]


def test_a_v1_conditional_counts_its_dearest_branch_too():
    g = GraphBuilder()
    x, which = g.placeholder("x", "float32", [ROWS, ROWS]), g.placeholder("which", "bool", [])
    switch = g.op("Switch", "switch", [x, which])
    cheap = g.op("Exp", "cheap", [switch[0]])
    dear = g.op("MatMul", "dear", [switch[1], switch[1]])
    g.op("Relu", "end", [g.op("Merge", "merge", [[cheap, dear]])[0]])
    found = step(g.build(), ["x:0", "which:0"], ["end:0"])
    assert {kernel.op for kernel in found.compiled.lowered.kernels} == {"Cast", "MatMul", "Relu"}
    assert dict(found.compiled.lowered.taken) == {"which:0": 1}


def test_a_function_that_calls_itself_is_refused():
    g = GraphBuilder()
    types = {"Tin": ["float32"], "Tout": ["float32"]}
    again = g.function("again", {"x": "float32"}, {"y": "float32"})
    again.returns(y=again.op("PartitionedCall", "call", [[again.args["x"]]], f="again", **types)[0])
    x = g.placeholder("x", "float32", [4])
    g.op("Relu", "end", [g.op("PartitionedCall", "call", [[x]], f="again", **types)[0]])
    with pytest.raises(NpuError) as caught:
        step(g.build(), ["x:0"], ["end:0"])
    assert caught.value.code == "DEVICE_MODEL" and "deep" in str(caught.value)


def test_what_depends_on_values_is_planned_as_large_as_it_can_be():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [1000])
    g.op("Relu", "end", [g.op("Unique", "unique", [x])[0]])
    found = step(g.build(), ["x:0"], ["end:0"])
    assert found.timeline_json()["control"]["largest"][0] == "unique:0"
    assert sum(copy.bytes for copy in found.compiled.transfers if copy.direction == "d2h") == 4000


def test_what_a_call_stands_for_never_takes_a_name_that_is_there():
    g = GraphBuilder()
    types = {"Tin": ["float32"], "Tout": ["float32"]}
    much = g.function("much", {"x": "float32"}, {"y": "float32"})
    much.returns(y=much.op("Exp", "exp", [much.args["x"]]))
    x = g.placeholder("x", "float32", [4])
    first = g.op("Relu", "w/exp", [x])
    other = g.op("PartitionedCall", "w.1", [[first]], f="much", **types)[0]
    g.op("Relu", "end", [g.op("PartitionedCall", "w", [[other]], f="much", control=[first], **types)[0]])
    found = step(g.build(), ["x:0"], ["end:0"])
    assert sorted(kernel.node for kernel in found.compiled.lowered.kernels) == ["end", "w.1/exp", "w.2/exp", "w/exp"]


def test_what_a_list_holds_grows_with_the_turns_that_fill_it():
    """The element that each turn pushes stays in memory."""
    g = GraphBuilder()
    types = {"i": "int32", "l": "variant", "x": "float32"}
    goes_on = g.function("go", types, {"z": "bool"})
    goes_on.returns(z=goes_on.op("Less", "below", [goes_on.args["i"], goes_on.const("limit", 10, "int32")]))
    turn = g.function("turn", types, {"j": "int32", "m": "variant", "y": "float32"})
    turn.returns(
        j=turn.op("AddV2", "next", [turn.args["i"], turn.const("one", 1, "int32")]),
        m=turn.op("TensorListPushBack", "push", [turn.args["l"], turn.args["x"]], element_dtype="float32"),
        y=turn.op("Exp", "exp", [turn.args["x"]]),
    )
    x = g.placeholder("x", "float32", [64, 64])
    shape, most = g.const("shape", [64, 64], "int32"), g.const("most", 10, "int32")
    empty = g.op("EmptyTensorList", "empty", [shape, most], element_dtype="float32", shape_type="int32")
    begin = g.const("begin", 0, "int32")
    loop = g.op("While", "w", [[begin, empty, x]], cond="go", body="turn", T=["int32", "variant", "float32"])
    g.op("Relu", "end", [loop[2]])
    found = step(g.build(), ["x:0"], ["end:0"])
    held = {found.compiled.fused.tensors[place].name: found.compiled.fused.tensors[place].bytes
            for place in found.compiled.fused.held}  # fmt: skip
    assert list(held.values()) == [10 * 64 * 64 * 4] and found.memory.peak >= 10 * 64 * 64 * 4


def test_where_sizes_begin_to_be_unknown_is_what_a_refusal_names():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4, 4])
    call = g.py_func("call", [g.op("Exp", "before", [x])], ["float32"])
    g.op("Relu", "end", [g.op("MatMul", "product", [call[0], x])])
    with pytest.raises(NpuError) as caught:
        step(g.build(), ["x:0"], ["end:0"])
    assert (caught.value.code, caught.value.subject) == ("DEVICE_SIZES", "call")
