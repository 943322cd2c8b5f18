"""Faults that TensorFlow's own tests found: names, references of int32, functions in loops, handles without a name."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import gen_data_flow_ops

from tests.runtime.comparing import compare, control_flow

MODES = pytest.mark.parametrize("mixed", [True, False])


@MODES
def test_an_operator_called_as_a_scope_is_found_whichever_was_placed_first(mixed):
    def part(t):
        with tf.name_scope("norm") as scope:
            twice = tf.py_func(lambda a: a * np.float32(2), [t], tf.float32, name="twice")
            twice.set_shape([])
            return twice, tf.py_func(lambda a: a + np.float32(1), [twice], tf.float32, name=scope)

    def scenario(config):
        a = tf.get_variable("a", initializer=1.0)
        b = tf.get_variable("b", initializer=10.0)
        (n1, y1), (n2, y2) = part(a), part(b)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [session.run(wanted) for wanted in (n1, y1 * y1, y2, y2 * y2, n2, [y1, y2])]

    compare(scenario, mix_compile_mode=mixed)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float32, tf.bool, tf.string])
@MODES
def test_references_of_every_dtype_can_be_fetched(dtype, mixed):
    first, second = {tf.bool: ([True, False], [False, True]), tf.string: ([b"a", b"b"], [b"c", b"d"])}.get(
        dtype, ([1, 2], [3, 4])
    )

    def scenario(config):
        v = tf.Variable(tf.constant(first, dtype), use_resource=False)
        fetches = [tf.assign(v, tf.constant(second, dtype))]
        if dtype not in (tf.bool, tf.string):
            one = tf.constant([1], dtype)
            fetches += [tf.assign_add(v, tf.constant(first, dtype)), tf.scatter_add(v, [0], one)]
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            values = [session.run(fetch) for fetch in fetches]
            return [*values, session.run(v), session.run(tf.exp(tf.constant(1.0)))]

    compare(scenario, mix_compile_mode=mixed)


@MODES
def test_a_loop_may_call_a_function_that_holds_an_assertion(mixed):
    def scenario(config):
        options = config.graph_options.optimizer_options
        options.opt_level, options.do_function_inlining = tf.OptimizerOptions.L0, True

        @function.Defun(tf.int32)
        def check(x):
            with tf.control_dependencies([tf.Assert(x < 100, ["too large"])]):
                return tf.constant(1)

        def body(i):
            one = check(i)
            one.set_shape([])
            return i + one

        with control_flow(1):
            end = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
        with tf.Session(config=config) as session:
            return session.run(end)

    compare(scenario, mix_compile_mode=mixed)


def _dissolves_functions(config):
    config.graph_options.optimizer_options.do_function_inlining = True


def _never_extends(config):
    config.experimental.optimize_for_static_graph = True


@pytest.mark.parametrize("let", [_dissolves_functions, _never_extends])
@MODES
def test_a_config_that_is_for_whole_graphs_runs_every_signature(let, mixed):
    def scenario(config):
        let(config)
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        x = tf.placeholder(tf.float32, [2], name="x")
        host = tf.py_func(lambda a: a + np.float32(1), [x], tf.float32)
        host.set_shape([2])
        fetches = [host, tf.assign_add(v, x * host), [v * 2.0, host], v.read_value()]
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            return [session.run(one, {x: [1.0, 2.0]}) for one in fetches]

    compare(scenario, mix_compile_mode=mixed)


def test_handles_without_a_name_are_one_variable_on_both_sides():
    def scenario(config):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2])
        assign = tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0])
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        host = tf.py_func(lambda a: a + np.float32(1), [read], tf.float32)
        with tf.Session(config=config) as session:
            session.run(assign)
            known = tf.raw_ops.VarIsInitializedOp(resource=handle)
            return [session.run(one) for one in (read, tf.square(read), host, known, [tf.exp(read), host])]

    compare(scenario)


@MODES
def test_what_partial_runs_refuse_is_what_tensorflow_refuses(mixed):
    def refusal(action):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            action()
        return caught.value.message.strip().split("\n")[-1]

    def scenario(config):
        x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        a = x + 1.0
        b = a * y
        with tf.Session(config=config) as session:
            session.run(b, {x: 1.0, y: 1.0})
            setup = session.partial_run_setup
            handle = setup([a, b], [x, y])
            return [
                refusal(lambda: setup([a], [x, x])),
                refusal(lambda: setup([], [x])),
                refusal(lambda: setup([a, x], [x])),
                refusal(lambda: session.partial_run("none", a)),
                refusal(lambda: session.partial_run(handle, b, {a: np.float32(1)})),
                refusal(lambda: session.partial_run(setup([a, b], [x, y]), y * 2.0)),
                refusal(lambda: session.partial_run(setup([a, b], [x, y]), b, {x: np.float32(1)})),
            ]

    compare(scenario, mix_compile_mode=mixed)


@MODES
@pytest.mark.parametrize("version", [1, 2])
def test_a_function_that_waits_for_a_queue_of_the_same_run_gets_what_the_run_puts_there(version, mixed):
    def scenario(config):
        with control_flow(version):
            queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], shared_name="apart")

            @function.Defun(tf.resource)
            def taken(handle):
                value = gen_data_flow_ops.queue_dequeue_v2(handle, [tf.float32])[0]
                return tf.py_func(lambda a: a, [value], tf.float32)

            call = taken(queue.queue_ref)
            call.set_shape([])
            total = tf.while_loop(lambda i, _: i < 1, lambda i, a: (i + 1, a + queue.dequeue()), [0, call])[1]
            put = queue.enqueue_many([tf.exp(tf.constant([0.0, 1.0]))])
            waits = tf.RunOptions(timeout_in_ms=60000)
            with tf.Session(config=config) as session:
                return session.run([total * 2.0, put], options=waits)[0]

    compare(scenario, mix_compile_mode=mixed)


@MODES
def test_a_data_set_that_waits_for_a_queue_of_the_same_run_gets_what_the_run_puts_there(mixed):
    def scenario(config):
        queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
        numbers = tf.data.Dataset.range(3).map(lambda i: queue.dequeue() + tf.cast(i, tf.float32))
        iterator = tf.data.make_initializable_iterator(numbers)
        taken = iterator.get_next() * 2.0
        put = queue.enqueue(tf.exp(tf.constant(1.0)))
        waits = tf.RunOptions(timeout_in_ms=60000)
        with tf.Session(config=config) as session:
            session.run(iterator.initializer)
            return [session.run([taken, put], options=waits)[0] for _ in range(3)]

    compare(scenario, mix_compile_mode=mixed)
