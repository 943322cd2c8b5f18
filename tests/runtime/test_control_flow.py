"""Conditions and loops of both versions, with gradients, inside and around GEOPs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf2
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare, control_flow, npu

VALUES = np.array([0.5, 1.5, -2.0], dtype=np.float32)


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request):
    with control_flow(request.param):
        yield request.param


def fetched(config, fetches, feeds):
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return [session.run(fetches, feed) for feed in feeds]


def test_a_condition_and_its_gradient(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.square(x), lambda: tf.exp(x) * 3.0)
        return fetched(config, [y, tf.gradients(y, x)[0]], [{x: VALUES}, {x: VALUES * -1.0}])

    compare(scenario)


def test_a_loop_and_its_gradient(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])
        _, y = tf.while_loop(lambda n, _: n < 4, lambda n, a: (n + 1, a * x + 1.0), [0, x])
        return fetched(config, [y, tf.gradients(y, x)[0]], [{x: VALUES}])

    compare(scenario)


def test_a_condition_in_a_loop_in_a_loop(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])

        def inner(n, a):
            return n + 1, tf.cond(tf.equal(n % 2, 0), lambda: a + x, lambda: a * 0.5)

        def outer(n, a):
            return n + 1, tf.while_loop(lambda k, _: k < 3, inner, [0, a])[1]

        _, y = tf.while_loop(lambda n, _: n < 2, outer, [0, x])
        return fetched(config, [y, tf.gradients(y, x)[0]], [{x: VALUES}])

    compare(scenario)


def test_a_host_operator_in_one_branch(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])

        def on_host():
            result = tf.py_func(lambda a: a * np.float32(2), [tf.square(x)], tf.float32)
            result.set_shape([3])
            return result + 1.0

        y = tf.cond(tf.reduce_sum(x) > 0.0, on_host, lambda: tf.exp(x) * 3.0) - 0.5
        return fetched(config, y, [{x: VALUES}, {x: VALUES * -1.0}])

    compare(scenario)


def test_a_host_operator_in_a_loop(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])

        def body(n, a):
            b = tf.py_func(lambda v: v + np.float32(1), [a], tf.float32)
            b.set_shape([3])
            return n + 1, b * x

        _, y = tf.while_loop(lambda n, _: n < 3, body, [0, tf.exp(x)])
        return fetched(config, y * 2.0, [{x: VALUES}])

    compare(scenario)


def test_a_variable_is_assigned_in_a_branch_and_in_a_loop(version):
    def scenario(config):
        go = tf.placeholder(tf.bool, [])
        v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=True)
        branch = tf.cond(go, lambda: v.assign_add(2.0) * 1.0, lambda: v * 10.0)
        with tf.control_dependencies([branch]):
            _, y = tf.while_loop(lambda n, _: n < 2, lambda n, a: (n + 1, a + v.read_value()), [0, tf.constant(0.0)])
        return fetched(config, [branch, y], [{go: True}, {go: False}, {go: True}])

    compare(scenario)


def test_mapping_over_elements_with_a_tensor_array(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)) + row, x)
        z = tf.scan(lambda a, row: a + row, x)
        return fetched(config, [y, z, tf.gradients(y, x)[0]], [{x: np.stack([VALUES, VALUES + 1])}])

    compare(scenario)


def test_a_dynamic_rnn_trains(version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [2, 4, 3])
        w = tf.get_variable("w", [8, 5], initializer=tf.random_normal_initializer(seed=1), use_resource=True)

        def step(carry, row):
            return tf.tanh(tf.matmul(tf.concat([row, carry], 1), w))

        states = tf.scan(step, tf.transpose(x, [1, 0, 2]), initializer=tf.zeros([2, 5]))
        loss = tf.reduce_mean(tf.square(states[-1]))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        data = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train], {x: data})[0] for _ in range(3)], session.run(w)

    compare(scenario)


def test_a_loop_whose_number_of_steps_is_fed(version):
    def scenario(config):
        steps = tf.placeholder(tf.int32, [])
        grown = tf.while_loop(
            lambda n, _: n < steps,
            lambda n, a: (n + 1, tf.concat([a, [tf.cast(n, tf.float32)]], 0)),
            [0, tf.constant([9.0])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )[1]
        host = tf.py_func(lambda a: a[::-1].copy(), [grown], tf.float32)
        return fetched(config, [grown * 2.0, host + 1.0], [{steps: 0}, {steps: 3}])

    compare(scenario)


def test_a_branch_not_taken_copies_nothing():
    def scenario(config):
        go = tf.placeholder(tf.bool, [])
        x = tf.placeholder(tf.float32, [3])

        def on_host():
            middle = tf.py_func(lambda a: a, [tf.exp(x, name="inside")], tf.float32)
            middle.set_shape([3])
            return middle

        y = tf.cond(go, on_host, lambda: x)
        return fetched(config, y + 1.0, [{go: True, x: VALUES}, {go: False, x: VALUES}])

    with control_flow(1):
        taken, not_taken = compare(scenario)[-2:]
    assert [(copy.times, copy.bytes) for copy in taken.copies if copy.tensor == "inside:0"] in ([], [(1, 12)])
    assert [(copy.times, copy.bytes) for copy in not_taken.copies if copy.tensor == "inside:0"] in ([], [(0, 0)])


def test_an_assertion_that_fails_ends_the_run():
    def scenario(config):
        x = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([tf.Assert(x > 0.0, [x, "must be positive"])]):
            y = tf.sqrt(x)
        with tf.Session(config=config) as session:
            good = session.run(y, {x: 4.0})
            with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
                session.run(y, {x: -1.0})
            return good

    compare(scenario)


def _called():
    @tf2.function(autograph=False)
    def inner():
        return tf.random_uniform([2], seed=5)

    @tf2.function(autograph=False)
    def outer():
        return inner() + tf.random_uniform([2], seed=6)

    return outer


def _loop_in_a_call():
    @tf2.function(autograph=False)
    def rejected(n):
        def turn(count, kept):
            drawn = tf.random_uniform([5], seed=5)
            drawn = tf.boolean_mask(drawn, drawn > 0.5)
            return count + tf.size(drawn), tf.concat([kept, drawn], 0)

        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        return tf.while_loop(lambda count, _: count < n, turn, [0, tf.zeros([0])], shape_invariants=shapes)[1][:9]

    return lambda: rejected(tf.constant(9))


def _branch():
    taken = tf.placeholder_with_default(True, [])
    return lambda: tf.cond(taken, lambda: tf.random_uniform([2], seed=3), lambda: tf.zeros([2]))


@pytest.mark.parametrize("build", [_called, _loop_in_a_call, _branch], ids=lambda build: build.__name__)
@pytest.mark.parametrize("mixed", [True, False])
def test_random_operators_of_functions_go_on_as_tensorflows_do(build, mixed):
    def scenario(config):
        with control_flow(2):
            call, one = build(), tf.placeholder_with_default(1.0, [])
            # Graphs of less than four operators are too small for TensorFlow to dissolve calls.
            drawn = tf.negative(tf.negative(call() * one) * one)
            other = drawn * one
        with tf.Session(config=config) as session:
            return [session.run(wanted) for wanted in (drawn, drawn, other, drawn, [drawn, other], other)]

    compare(scenario, mix_compile_mode=mixed)


@pytest.mark.parametrize("build", [_called, _loop_in_a_call], ids=lambda build: build.__name__)
def test_each_call_of_a_function_draws_alike_in_every_session(build):
    # Of several calls TensorFlow lets those share a generator that are not beside each other, which is chance.
    found = []
    for _ in range(2):
        with tf.Graph().as_default(), control_flow(2):
            tf.set_random_seed(7)
            call = build()
            drawn = [call() for _ in range(4)]
            with tf.Session(config=npu()) as session:
                found += [*session.run(drawn)]
    assert all(one.tolist() == found[0].tolist() for one in found)


@pytest.mark.parametrize("host", ["inner", "middle", "outer"])
def test_three_loops_in_each_other_with_a_host_operator_at_any_level(host):
    """A loop on the device, in two on the host: what it waits for by way of the outer one is of another turn."""

    def python(level, a):
        if level == host:
            a = tf.py_func(lambda v: v + np.float32(1), [a], tf.float32)
            a.set_shape([3])
        return a

    def scenario(config):
        x = tf.placeholder(tf.float32, [3])

        def inner(n, a):
            return n + 1, python("inner", tf.tanh(a) + x)

        def middle(n, a):
            return n + 1, python("middle", tf.while_loop(lambda k, _: k < 3, inner, [0, a])[1] * 0.5)

        def outer(n, a):
            return n + 1, python("outer", tf.while_loop(lambda k, _: k < 2, middle, [0, a])[1] - x)

        _, y = tf.while_loop(lambda n, _: n < 12, outer, [0, x], parallel_iterations=3)
        return fetched(config, tf.exp(y) * 2.0, [{x: VALUES}])

    with control_flow(1):
        compare(scenario)
        compare(scenario, mix_compile_mode=False)
