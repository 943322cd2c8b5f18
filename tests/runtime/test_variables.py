"""Variables live once, whether host operators or GEOPs use them."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare, control_flow, npu, plain

FEATURES = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3)

OPTIMIZERS = {
    "SGD": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Adam": lambda: tf.train.AdamOptimizer(0.05),
}


def training(optimizer, use_resource, host=False):
    def scenario(config):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("model", use_resource=use_resource):
            w = tf.get_variable("w", [3, 2], initializer=tf.random_normal_initializer(seed=3))
            b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
        y = tf.nn.relu(tf.matmul(x, w) + b)
        if host:
            y = tf.py_func(lambda a: a * np.float32(2), [y], tf.float32) + tf.reduce_sum(w)
        loss = tf.reduce_mean(tf.square(y - 1.0)) + tf.reduce_sum(tf.square(w))
        step = tf.train.get_or_create_global_step()
        # A ref variable's value may be its buffer: without this the loss and the update race, in TensorFlow too.
        with tf.control_dependencies([loss]):
            train = OPTIMIZERS[optimizer]().minimize(loss, global_step=step)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([train, loss], {x: FEATURES})[1] for _ in range(4)]
            return losses, session.run(tf.global_variables()), session.run(step)

    return scenario


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_training_steps_give_the_values_of_plain_tensorflow(optimizer, use_resource):
    compare(training(optimizer, use_resource))


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_training_through_a_host_operator_splits_the_step(use_resource):
    runs = compare(training("Momentum", use_resource, host=True))
    assert max(run.geops for run in runs) >= 2


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_variables_may_be_placed_on_the_host(use_resource):
    compare(training("Adam", use_resource), variable_placement="Host")


def test_full_offload_trains_too():
    compare(training("Adam", True), mix_compile_mode=False)


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_a_variable_that_a_host_operator_assigns_is_seen_by_geops(use_resource):
    def scenario(config):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=use_resource)
        host = tf.py_func(lambda a: a + np.float32(1), [tf.constant([1.0, 2.0])], tf.float32)
        host.set_shape([2])
        assign = tf.assign(v, host)
        doubled = tf.multiply(v, 2.0, name="doubled")
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            before = session.run(doubled)
            session.run(assign)
            return before, session.run(doubled), session.run(v), session.run(tf.report_uninitialized_variables())

    compare(scenario)


def test_an_uninitialized_variable_is_reported_as_such():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            v = tf.get_variable("v", [2])
            with tf.Session(config=config) as session:
                with pytest.raises(tf.errors.FailedPreconditionError):
                    session.run(v + 1.0)
                assert session.run(tf.report_uninitialized_variables()).tolist() == [b"v"]


def test_moving_averages_and_batch_normalization_update():
    def scenario(config):
        x = tf.placeholder(tf.float32, [4, 3])
        scale = tf.get_variable("scale", [3], initializer=tf.ones_initializer())
        mean, variance = tf.nn.moments(x * scale, axes=[0])
        average = tf.train.ExponentialMovingAverage(0.5)
        update = average.apply([mean, variance])
        with tf.control_dependencies([update]):
            y = tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            outputs = [session.run(y, {x: FEATURES * k}) for k in (1, 2)]
            return outputs, session.run([average.average(mean), average.average(variance)])

    compare(scenario)


def test_a_fetched_reference_is_what_the_run_leaves():
    """TensorFlow's own sessions answer a fetched reference with its buffer: `run([train_op, global_step])`."""

    def scenario(config):
        step = tf.Variable(0, trainable=False, use_resource=False, name="step")
        weight = tf.Variable(np.full([300, 300], 0.01, np.float32), use_resource=False)
        loss = tf.reduce_sum(tf.matmul(tf.matmul(weight, weight), tf.matmul(weight, weight)))
        train = tf.train.GradientDescentOptimizer(1e-9).minimize(loss, global_step=step)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [int(session.run([train, step, loss])[1]) for _ in range(4)]

    with tf.Graph().as_default():
        assert scenario(npu()) == [1, 2, 3, 4]


@pytest.mark.parametrize("mixed", [False, True])
def test_a_fetched_reference_is_what_a_branch_leaves(mixed):
    """The branch of version 1 writes late, to a variable that others wrote to before, and write to afterwards."""

    def scenario(config):
        count = tf.Variable(1, use_resource=False, name="count")
        go = tf.placeholder(tf.bool, [], name="go")
        grown = tf.assign_add(count, 1)
        with tf.control_dependencies([grown]):
            seen = tf.identity(count)
            large = tf.fill([300, 300], tf.cast(seen, tf.float32))
        for _ in range(4):
            large = tf.matmul(large, large) / 3e4
        late = 10 + tf.cast(tf.minimum(tf.reduce_max(large), 0.0), tf.int32)
        chosen = tf.cond(go, lambda: tf.assign_add(count, late), lambda: tf.identity(seen))
        with tf.control_dependencies([chosen]):
            last = tf.assign(count, seen * 2 + tf.identity(count))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            first = [session.run([count, grown, chosen], {go: value}) for value in (True, False, True)]
            return first, [session.run([count, grown, last], {go: value}) for value in (True, False)]

    with control_flow(1):
        with tf.Graph().as_default():
            found = scenario(npu(mix_compile_mode=mixed))
        with tf.Graph().as_default():
            assert found == scenario(plain())


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("dtype", [tf.int32, tf.float32])
def test_a_reference_may_be_read_inside_a_geop_and_outside(dtype, mixed):
    """Both see the variable's buffer: whoever reads it after a write finds what was written."""

    def scenario(config):
        step = tf.Variable(tf.zeros([], dtype), trainable=False, use_resource=False, name="step")
        inside = tf.equal(step, tf.constant(3, dtype))
        with tf.control_dependencies([tf.py_func(lambda a: a, [inside], tf.bool)]):
            written = tf.assign_add(step, tf.ones([], dtype))
        with tf.control_dependencies([written]):
            found = tf.identity(step)
            host = tf.py_func(lambda a: a + a, [step], dtype)
        with tf.Session(config=config) as session:
            session.run(step.initializer)
            return [session.run(fetch) for fetch in (found, host, found, [found, inside], host)]

    compare(scenario, mix_compile_mode=mixed)


def test_a_reference_behind_a_branch_is_read_all_the_same():
    with control_flow(1), tf.Graph().as_default():
        step = tf.Variable(0, trainable=False, use_resource=False, name="step")
        go = tf.placeholder(tf.bool, [])
        inner = tf.cond(go, lambda: tf.cond(go, lambda: tf.assign_add(step, 1), lambda: 0), lambda: tf.constant(0))
        moved = tf.while_loop(lambda k: k < 3, lambda k: k + 1, [inner])
        with tf.Session(config=npu()) as session:
            session.run(tf.global_variables_initializer())
            for more in (False, True, False):
                session.run([moved, step], {go: more})
            assert session.run(step) == 1


@pytest.mark.parametrize("writer", ["device", "host"])
@pytest.mark.parametrize("mixed", [True, False], ids=["mixed", "full"])
def test_a_reference_that_a_geop_hands_on_or_is_given_is_read_after_it_has_been_written(mixed, writer):
    """The write takes its time: who read the variable without waiting for it would find it uninitialized."""

    def late(a):
        time.sleep(0.2)
        return a

    def scenario(config):
        x = tf.placeholder(tf.float32, [300, 300])
        value = x
        if writer == "device":
            for _ in range(30):
                value = tf.matmul(value, x)
        else:
            value = tf.py_func(late, [x], tf.float32)
            value.set_shape(x.get_shape())
        v = tf.get_variable("v", [300, 300], use_resource=False)
        written = v.assign(value)
        with tf.control_dependencies([tf.py_func(lambda a: a[0, 0], [written], tf.float32)]):
            read = tf.identity(v.read_value())
        result = tf.exp(tf.reduce_sum(tf.square(read) - read))
        with tf.Session(config=config) as session:
            return session.run(result, {x: np.zeros([300, 300], np.float32)})

    compare(scenario, mix_compile_mode=mixed)
