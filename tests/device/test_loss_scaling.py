"""The overflow flag and what loss scaling makes of it."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.device.numerics import FloatStatus
from npu_reference.errors import NpuError
from tests.device.arithmetic import force_fp16, status


def bridge():
    from npu_bridge import npu_init

    return npu_init


def test_the_flag_is_sticky_until_it_is_cleared():
    ops = bridge().npu_ops
    x = tf.placeholder(tf.float32, [1])
    large = tf.square(x)
    given = ops.npu_alloc_float_status()
    with tf.control_dependencies([large]):
        written = ops.npu_get_float_status(given)
    with tf.control_dependencies([written]):
        read = given + 0.0
    with tf.control_dependencies([read]):
        cleared = ops.npu_clear_float_status(written)
    with force_fp16() as session:
        assert not session.run(read, {x: [1]}).any()
        found = session.run([written, read], {x: [1000]})
        assert found[0].tolist() == [0] * 8 and found[1].tolist() == [1] * 8  # it writes into what it is given
        assert session.run(read, {x: [1]}).all()  # nobody cleared it
        session.run(cleared, {x: [1]})
        assert not status(session).raised
        assert not session.run(read, {x: [1]}).any()


@pytest.mark.parametrize("version", (1, 2))
def test_a_result_of_an_early_turn_that_nothing_reads_overflows_before_the_loop_is_left(version, monkeypatch):
    """The flag went up after it had been read and cleared, once in many steps of a busy machine."""
    ops = bridge().npu_ops
    note, clear, cleared = FloatStatus._note, FloatStatus.clear, threading.Event()
    # It overflows once others have read and cleared the flag; a little later, where they wait for it.
    monkeypatch.setattr(FloatStatus, "_note", lambda self, node: (cleared.wait(0.3), note(self, node)))
    monkeypatch.setattr(FloatStatus, "clear", lambda self: (clear(self), cleared.set()))
    switch = {False: tf.disable_control_flow_v2, True: tf.enable_control_flow_v2}
    before = tf.control_flow_v2_enabled()
    switch[version == 2]()
    x = tf.placeholder(tf.float32, [2])
    # The first turn squares the first number, which the second does not read.
    last = tf.while_loop(lambda i, found: i < 2, lambda i, found: (i + 1, tf.square(x[i])), [0, tf.constant(0.0)])[1]
    switch[before]()
    with tf.control_dependencies([last]):
        written = ops.npu_get_float_status(ops.npu_alloc_float_status())
    with tf.control_dependencies([written]):
        given = ops.npu_clear_float_status(written)
    with force_fp16() as session:
        session.run([last, given], {x: [1000, 1]})
        assert not status(session).raised


def test_without_a_device_the_flag_is_never_up():
    ops = bridge().npu_ops
    given = ops.npu_alloc_float_status()
    with tf.Session() as session:
        found = session.run([given, ops.npu_get_float_status(given), ops.npu_clear_float_status(given)])
    assert not np.any(found)


def exponential(session, manager, steps):
    """The scale after each of a row of steps, True for those without overflow."""
    finite = tf.placeholder(tf.bool, [])
    update, scale = manager.update_loss_scale(finite), manager.get_loss_scale()
    session.run(tf.global_variables_initializer())
    found = []
    for step in steps:
        session.run(update, {finite: step})
        found.append(session.run(scale))
    return found


def test_the_exponential_manager_grows_after_good_steps_and_shrinks_after_bad_ones():
    manager = bridge().ExponentialUpdateLossScaleManager(1024, 3, 2, 2.0, 0.5)
    with tf.Session() as session:
        found = exponential(session, manager, [True, True, True, False, True, False, False, True, True, True])
    assert found == [1024, 1024, 2048, 2048, 2048, 1024, 1024, 1024, 1024, 2048]


def test_the_scale_never_falls_below_one():
    manager = bridge().ExponentialUpdateLossScaleManager(2, 100, 1)
    with tf.Session() as session:
        assert exponential(session, manager, [False] * 6)[-1] == 1


def test_a_fixed_scale_may_ignore_overflow():
    for check, expected in ((True, 0.0), (False, -65504.0 / 2**10)):
        with tf.Graph().as_default():
            x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
            manager = bridge().FixedLossScaleManager(2**10, enable_overflow_check=check)
            optimizer = bridge().NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
            counter = tf.train.get_or_create_global_step()
            train = optimizer.minimize(v * x, global_step=counter)
            with force_fp16() as session:
                session.run(train, {x: 1e6})
                assert session.run([v, counter]) == [pytest.approx(expected), int(not check)]
                assert not status(session).raised
                session.run(train, {x: 1.0})
                assert session.run(counter) == 1 + int(not check)


def test_npu_optimizer_scales_too():
    x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
    manager = bridge().ExponentialUpdateLossScaleManager(2**10, 1, 1, 2.0, 0.5)
    optimizer = bridge().NPUOptimizer(tf.train.GradientDescentOptimizer(1.0), manager, is_loss_scale=True)
    train = optimizer.minimize(v * x)
    with force_fp16() as session:
        session.run(train, {x: 1e6})
        assert session.run([v, manager.get_loss_scale()]) == [0, 2**9]
        session.run(train, {x: 2.0})
        assert session.run([v, manager.get_loss_scale()]) == [-2, 2**10]


@pytest.mark.parametrize(
    "build, subject",
    [
        (lambda b: b.FixedLossScaleManager(0.5), "loss_scale"),
        (lambda b: b.FixedLossScaleManager("8"), "loss_scale"),
        (lambda b: b.FixedLossScaleManager(8, enable_overflow_check=1), "enable_overflow_check"),
        (lambda b: b.ExponentialUpdateLossScaleManager(8, 0), "incr_every_n_steps"),
        (lambda b: b.ExponentialUpdateLossScaleManager(8, 1, incr_ratio=1), "incr_ratio"),
        (lambda b: b.ExponentialUpdateLossScaleManager(8, 1, decr_ratio=2), "decr_ratio"),
        (lambda b: b.NPULossScaleOptimizer(3, b.FixedLossScaleManager(8)), "opt"),
        (lambda b: b.NPULossScaleOptimizer(tf.train.AdamOptimizer(), 8), "loss_scale_manager"),
        (lambda b: b.NPUOptimizer(tf.train.AdamOptimizer(), 8, is_loss_scale=True), "loss_scale_manager"),
    ],
)
def test_what_cannot_be_a_loss_scale_is_refused_by_name(build, subject):
    with pytest.raises(NpuError) as refused:
        build(bridge())
    assert refused.value.subject == subject
