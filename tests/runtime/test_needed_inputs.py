"""Of branches and loops of version 2, what no fetch reads does not run: TensorFlow dissolves them, then prunes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from npu_reference.runtime.execution.needed_inputs import without_idle
from tests.runtime.comparing import control_flow, npu, plain

BOTH = [{"mix_compile_mode": True}, {"mix_compile_mode": False}]


def unchanged(**options):
    """Configs of plain TensorFlow and of the device, with Grappler off: it sees functions on one side only."""
    made = [plain(), npu(**options)]
    for config in made:
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    return made


@pytest.fixture(autouse=True)
def version_2():
    with control_flow(2), tf.Graph().as_default():
        yield


@pytest.mark.parametrize("options", BOTH, ids=["mixed", "full"])
def test_what_a_loop_carries_for_nobody_is_neither_computed_nor_waited_for(options):
    calls = []

    def counted(a):
        calls.append(a)
        return a

    x = tf.placeholder(tf.float32, [3])
    unfed = tf.placeholder(tf.float32, [3])
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer(), use_resource=True)
    fails = tf.check_numerics(tf.log(x * -1.0), "a log")
    writes = tf.identity(v.assign_add(x))
    python = tf.py_func(counted, [x], tf.float32)
    python.set_shape([3])

    def body(n, a, b, c, d, e):
        return n + 1, a * 2.0, b + unfed, c + fails, d + writes, tf.reshape(tf.py_func(counted, [e], tf.float32), [3])

    _, a, _, _, d, e = tf.while_loop(lambda n, *_: n < 3, body, [0, x, x, x, x, python])
    found = []
    for config in unchanged(**options):
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            values = [session.run(a, {x: np.ones(3)}), session.run(v), len(calls)]
            values.extend([session.run(d, {x: np.ones(3)}), session.run(v), len(calls)])
            values.extend([session.run([a, e], {x: np.ones(3)}), len(calls)])
            found.append(values)
            del calls[:]
    np.testing.assert_equal(found[1], found[0])
    assert found[1][2] == 0 and found[1][-1] == 4 and not found[1][1].any() and found[1][4].all()


@pytest.mark.parametrize("options", BOTH, ids=["mixed", "full"])
def test_what_a_branch_in_a_loop_does_for_nobody_does_not_run(options):
    calls = []

    def counted(a):
        calls.append(a)
        return a

    go = tf.placeholder(tf.bool, [])
    unfed = tf.placeholder(tf.float32, [])

    def body(n, a, b):
        def taken():
            return a + 1.0, tf.py_func(counted, [b], tf.float32) * unfed

        more, less = tf.cond(go, taken, lambda: (a - 1.0, b))
        less.set_shape([])
        return n + 1, more, less

    _, a, b = tf.while_loop(lambda n, *_: n < 3, body, [0, 0.0, 1.0])
    for config in unchanged(**options):
        with tf.Session(config=config) as session:
            assert session.run(a, {go: True}) == 3.0 and session.run(a, {go: False}) == -3.0
            assert calls == []
            assert session.run([a, b], {go: True, unfed: 2.0}) == [3.0, 8.0]
            assert len(calls) == 3
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(b, {go: True})
        del calls[:]


def test_a_loop_in_a_loop_that_leads_to_nothing_does_not_run():
    calls = []

    def body(n, a):
        def inner(k, b):
            c = tf.py_func(lambda v: calls.append(v) or v, [b], tf.float32, stateful=False)
            c.set_shape([])
            return k + 1, c

        tf.while_loop(lambda k, _: k < 3, inner, [0, a])
        return n + 1, a * 2.0

    _, a = tf.while_loop(lambda n, _: n < 2, body, [0, tf.placeholder_with_default(1.0, [])])
    for config in unchanged(mix_compile_mode=True):
        with tf.Session(config=config) as session:
            assert session.run(a) == 4.0 and calls == []


def test_outputs_that_others_read_keep_their_values_when_fewer_are_carried():
    x = tf.placeholder(tf.float32, [])
    carried = tf.while_loop(
        lambda n, *_: n < 4, lambda n, a, b, c, d: (n + 1, b + 1.0, a * 2.0, c * 3.0, d - c), [0, x, x, x, x]
    )
    fetches = [[carried[3]], [carried[4], carried[1]], [carried[2]], list(carried)]
    found = []
    for config in unchanged(mix_compile_mode=True):
        with tf.Session(config=config) as session:
            found.append([session.run(some, {x: 2.0}) for some in fetches])
    assert found[0] == found[1]


@pytest.mark.parametrize("options", BOTH, ids=["mixed", "full"])
def test_what_has_no_effect_and_leads_to_nothing_in_a_loop_does_not_run(options):
    calls = []

    def inside(_, row):
        tf.py_func(lambda v: calls.append(v) or v, [tf.constant(1.0)], tf.float32, stateful=False)
        return row

    x = tf.placeholder_with_default([1.0, 2.0], [2])
    last = tf.foldl(inside, x)
    for config in unchanged(**options):
        with tf.Session(config=config) as session:
            assert session.run(last) == 2.0 and calls == []


def test_a_partial_run_computes_of_a_loop_only_what_it_fetches_later():
    calls = []

    def body(n, a, b):
        c = tf.py_func(lambda v: calls.append(v) or v, [b], tf.float32, stateful=False)
        c.set_shape([])
        return n + 1, a * 2.0, c

    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    _, a, _ = tf.while_loop(lambda n, *_: n < 3, body, [0, x, x])
    both = a + y
    for config in unchanged(mix_compile_mode=True):
        with tf.Session(config=config) as session:
            handle = session.partial_run_setup([a, both], [x, y])
            assert session.partial_run(handle, a, {x: 1.0}) == 8.0
            assert session.partial_run(handle, both, {y: 2.0}) == 10.0 and calls == []


@pytest.mark.parametrize(("outer", "inner"), [("a", "b"), ("b", "a")])
def test_a_branch_in_a_branch_loses_what_leads_to_nothing_whichever_name_sorts_first(outer, inner):
    library = {}

    def function(name, *nodes):
        made = library[name] = FunctionDef()
        made.signature.name = name
        made.node_def.extend(nodes)

    branch = NodeDef(name="if", op="StatelessIf")
    branch.attr["then_branch"].func.name = inner
    branch.attr["_lower_using_switch_merge"].b = True
    idle = NodeDef(name="idle", op="Neg", input=["nobody"])
    function(inner, idle)
    function(outer, idle, branch)
    branch = NodeDef.FromString(branch.SerializeToString())
    branch.attr["then_branch"].func.name = outer
    function("caller", branch)
    made = without_idle(library)
    assert not made[inner].node_def
    [left] = made[outer].node_def
    assert left.attr["then_branch"].func.name == made[inner].signature.name != inner
