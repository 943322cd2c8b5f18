"""Functions that are taken apart beside an operator that waits do what TensorFlow does where it calls them."""

from __future__ import annotations

import time

import pytest
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

from tests.runtime.comparing import control_flow, npu, plain

MODES = ["mixed", "full"]


def same(fetch, mode, calls):
    """Run beside an operator of a queue in TensorFlow and on the device; what both give, and how often Python ran."""
    queue = tf.FIFOQueue(9, [tf.float32], [[]])
    waits = queue.enqueue(tf.exp(tf.placeholder_with_default(0.0, [])))
    found = []
    for config in (plain(), npu(mix_compile_mode=mode == "mixed")):
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(config=config) as session:
            value = session.run([fetch, waits])[0]
            found.append((value, len(calls)))
        del calls[:]
    assert found[1] == found[0]
    return found[0]


def python(calls, a, stateful=True):
    made = tf.py_func(lambda v: calls.append(v) or v, [a], tf.float32, stateful=stateful)
    made.set_shape([])
    return made


@pytest.fixture(autouse=True)
def version_1():
    with control_flow(1), tf.Graph().as_default():
        yield


@pytest.mark.parametrize("mode", MODES)
def test_what_a_loop_of_a_function_does_for_nobody_runs(mode):
    calls = []

    @function.Defun(tf.float32)
    def looping(a):
        def body(n, b):
            python(calls, b)
            return n + 1, b * 2.0

        return tf.while_loop(lambda n, _: n < 3, body, [0, a])[1]

    made = looping(tf.placeholder_with_default(1.0, []))
    with tf.control_dependencies([made]):
        assert same(made + 1.0, mode, calls) == (9.0, 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_function_with_a_loop_is_called_in_a_loop_after_an_operator_of_it(mode):
    @function.Defun(tf.float32)
    def looping(a):
        return tf.while_loop(lambda n, _: n < 3, lambda n, b: (n + 1, b * 2.0), [0, a])[1]

    def body(n, b):
        with tf.control_dependencies([tf.identity(n)]):
            return n + 1, looping(b)

    _, made = tf.while_loop(lambda n, _: n < 2, body, [0, tf.placeholder_with_default(1.0, [])],
                            [tf.TensorShape([]), tf.TensorShape(None)])  # fmt: skip
    assert same(made, mode, []) == (64.0, 0)


@pytest.mark.parametrize("mode", MODES)
def test_what_waits_for_a_function_runs_whatever_branch_that_has_taken(mode):
    calls = []

    @function.Defun(tf.float32)
    def branching(a):
        def taken():
            python(calls, a)
            return a

        return tf.cond(a > 5.0, taken, lambda: -a)

    made = branching(tf.placeholder_with_default(1.0, []))
    with tf.control_dependencies([made]):
        after = tf.exp(tf.placeholder_with_default(0.0, []))
    assert same(after, mode, calls) == (1.0, 0)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_version_2_loop_of_a_function_does_for_nobody_and_without_effect_does_not_run(mode):
    calls = []
    with control_flow(2):

        @function.Defun(tf.float32)
        def looping(a):
            def body(n, b):
                python(calls, tf.constant(1.0), stateful=False)
                return n + 1, b * 2.0

            return tf.while_loop(lambda n, _: n < 3, body, [0, a], maximum_iterations=5)[1]

        made = looping(tf.placeholder_with_default(1.0, []))
    assert same(made, mode, calls) == (8.0, 0)


@pytest.mark.parametrize("mode", MODES)
def test_what_a_function_is_given_or_returns_for_nobody_is_computed(mode):
    calls = []

    @function.Defun(tf.float32, tf.float32, tf.float32)
    def called(a, b, c):
        return a * 2.0, tf.exp(b)

    given = [python(calls, tf.placeholder_with_default(1.0, [])) for _ in range(3)]
    assert same(called(*given)[0], mode, calls) == (2.0, 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_a_function_makes_for_nobody_does_not_run(mode):
    calls = []

    @function.Defun(tf.float32)
    def inner(a):
        return a * 2.0

    @function.Defun(tf.float32)
    def called(a):
        inner(python(calls, a, stateful=False))
        return a + 1.0

    assert same(called(tf.placeholder_with_default(1.0, [])), mode, calls) == (2.0, 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("style", ["Defun", "tf.function"])
@pytest.mark.parametrize("grappler", [True, False], ids=["inlined", "called"])
def test_a_function_begins_when_all_that_it_is_given_is_there_unless_it_is_inlined(grappler, style, mode):
    """One argument fails after a while; what the function would do with the other one meanwhile fails, too."""

    def late(_):
        time.sleep(0.2)
        raise KeyError("no such luck")

    def called(a, b):
        return tf.string_to_number(tf.strings.join([tf.as_string(a), "x"])), b * 2.0

    x = tf.placeholder_with_default(1.0, [])
    fails = tf.py_func(late, [x], tf.float32)
    fails.set_shape([])
    make = function.Defun(tf.float32, tf.float32) if style == "Defun" else tf.function(autograph=False)
    found, _ = make(called)(x, fails)
    waits = tf.FIFOQueue(9, [tf.float32], [[]]).enqueue(tf.exp(x))
    told = "StringToNumber" if grappler else "no such luck"
    for config in (plain(), npu(mix_compile_mode=mode == "mixed")):
        config.graph_options.rewrite_options.disable_meta_optimizer = not grappler
        with tf.Session(config=config) as session, pytest.raises(tf.errors.OpError, match=told):
            session.run([found, waits])
