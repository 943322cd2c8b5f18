"""Optimizers for distributed training: with one device the same values and gradients as the optimizer wrapped."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from npu_bridge import npu_init
from npu_bridge.estimator.npu.npu_optimizer import allreduce
from npu_reference.runtime.config import current_overrides, overriding

v1 = tf.compat.v1
ROWS = np.array([[1.0, 2.0], [3.0, -1.0]], dtype=np.float32)

WRAPPERS = {
    "npu_tf_optimizer": npu_init.npu_tf_optimizer,
    "NPUDistributedOptimizer": lambda optimizer: npu_init.NPUDistributedOptimizer(optimizer, name="wrapped"),
    "weight update sharding": lambda optimizer: npu_init.NPUDistributedOptimizer(optimizer, True),
    "NPUOptimizer": lambda optimizer: npu_init.NPUOptimizer(optimizer, is_distributed=True),
    "npu_distributed_optimizer_wrapper": npu_init.npu_distributed_optimizer_wrapper,
    "wrapper by keyword": lambda optimizer: npu_init.npu_distributed_optimizer_wrapper(optimizer=optimizer),
    "twice": lambda optimizer: npu_init.npu_tf_optimizer(npu_init.npu_tf_optimizer(optimizer)),
}


def values_of(gradient):
    return getattr(gradient, "values", gradient)


def trained(wrap):
    """Gradients, the variables after three steps, and the global step."""
    with v1.Graph().as_default():
        table = v1.get_variable("table", initializer=v1.ones([3, 2]))
        weight = v1.get_variable("weight", initializer=[[0.5], [0.25]])
        unused = v1.get_variable("unused", initializer=1.0)
        rows = v1.nn.embedding_lookup(table, [0, 2])
        loss = v1.reduce_sum(v1.square(v1.matmul(rows * ROWS, weight)))
        optimizer = wrap(v1.train.MomentumOptimizer(0.01, 0.9))
        pairs = optimizer.compute_gradients(loss, [table, weight, unused])
        kinds = [type(gradient).__name__ for gradient, _ in pairs]
        step = v1.train.get_or_create_global_step()
        train_op = optimizer.apply_gradients(pairs, global_step=step)
        slots = [optimizer.get_slot(weight, "momentum"), *optimizer.get_slot_names()]
        assert slots[1:] == ["momentum"]
        with v1.Session(config=npu_init.npu_config_proto()) as session:
            session.run(v1.global_variables_initializer())
            gradients = session.run([gradient for gradient, _ in pairs if gradient is not None])
            for _ in range(3):
                session.run(train_op)
            return kinds, gradients, session.run([table, weight, step, slots[0]])


@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
def test_a_wrapped_optimizer_computes_what_it_wraps(wrapper):
    kinds, gradients, values = trained(lambda optimizer: optimizer)
    ours = trained(WRAPPERS[wrapper])
    assert ours[0] == kinds == ["IndexedSlices", kinds[1], "NoneType"]
    for mine, plain in zip(ours[1], gradients):
        np.testing.assert_array_equal(
            mine[0] if isinstance(mine, tuple) else mine, plain[0] if isinstance(plain, tuple) else plain
        )
    for mine, plain in zip(ours[2], values):
        np.testing.assert_array_equal(mine, plain)


def test_a_wrapper_around_loss_scaling_trains_as_without_it():
    def scaled(optimizer):
        return npu_init.npu_tf_optimizer(
            npu_init.NPULossScaleOptimizer(optimizer, npu_init.FixedLossScaleManager(1024.0))
        )

    with v1.Graph().as_default():
        weight = v1.get_variable("weight", initializer=3.0)
        train_op = scaled(v1.train.GradientDescentOptimizer(0.25)).minimize(v1.square(weight))
        with v1.Session(config=npu_init.npu_config_proto()) as session:
            session.run(v1.global_variables_initializer())
            session.run(train_op)
            assert session.run(weight) == 1.5


KERAS = {
    "npu_distributed_optimizer_wrapper": npu_init.npu_distributed_optimizer_wrapper,
    "npu_keras_optimizer": npu_init.npu_keras_optimizer,
    "KerasDistributeOptimizer": npu_init.KerasDistributeOptimizer,
    "KerasDistributeOptimizer with a name": lambda optimizer: npu_init.KerasDistributeOptimizer(optimizer, name="Npu"),
}


@pytest.mark.parametrize("wrapper", sorted(KERAS))
def test_a_keras_optimizer_is_itself(wrapper):
    optimizer = v1.keras.optimizers.SGD(0.1)
    assert KERAS[wrapper](optimizer) is optimizer


def test_the_name_of_a_keras_optimizer_stands_for_it():
    optimizer = npu_init.npu_distributed_optimizer_wrapper("adam")
    assert type(optimizer).__name__ == "Adam" and callable(optimizer.apply_gradients)


@pytest.mark.parametrize("wrap", [npu_init.npu_tf_optimizer, npu_init.npu_distributed_optimizer_wrapper])
@pytest.mark.parametrize("given", [None, 3, object()])
def test_what_is_no_optimizer_is_refused(wrap, given):
    with pytest.raises(TypeError, match="optimizer"):
        wrap(given)


def test_gradients_reduced_over_one_device_are_what_is_given():
    with v1.Graph().as_default():
        table = v1.get_variable("table", initializer=v1.ones([3, 2]))
        weight = v1.get_variable("weight", initializer=2.0)
        loss = v1.reduce_sum(v1.nn.embedding_lookup(table, [1])) * v1.square(weight)
        gradients = v1.gradients(loss, [table, weight])
        reduced = npu_init.npu_allreduce(gradients)
        assert isinstance(reduced, list) and [type(one) for one in reduced] == [type(one) for one in gradients]
        single, slices = allreduce(gradients[1], average=True), allreduce(gradients[0])
        twice = v1.gradients(allreduce(v1.square(weight)), weight)[0]
        with v1.Session(config=npu_init.npu_config_proto()) as session:
            session.run(v1.global_variables_initializer())
            assert session.run([reduced[1], single, twice]) == [8.0, 8.0, 4.0]
            np.testing.assert_array_equal(session.run(slices).values, [[4.0, 4.0]])
    assert npu_init.npu_allreduce([None], "sum") == [None]


def test_a_reduction_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="reduction: there is no 'average'"):
        npu_init.npu_allreduce([], reduction="average")


@pytest.mark.parametrize("kind", ["NPULossScaleOptimizer", "NPUOptimizer"])
def test_gradients_scaled_by_hand_are_applied_without_compute_gradients_and_left_out_when_they_overflow(kind):
    with v1.Graph().as_default(), overriding(current_overrides()._replace(device_precision="on")):
        weight, fed = v1.Variable([1.0, 2.0]), v1.placeholder(v1.float32, [])
        manager = npu_init.ExponentialUpdateLossScaleManager(init_loss_scale=2.0**10, incr_every_n_steps=1000)
        inner = v1.train.GradientDescentOptimizer(0.1)
        if kind == "NPUOptimizer":
            optimizer = npu_init.NPUOptimizer(inner, manager, is_loss_scale=True)
        else:
            optimizer = npu_init.NPULossScaleOptimizer(inner, manager)
        scale = manager.get_loss_scale()
        (gradient,) = v1.gradients(fed * v1.reduce_sum(weight * weight) * scale, [weight])
        step = optimizer.apply_gradients([(gradient / scale, weight)])
        with v1.Session(config=npu_init.npu_config_proto()) as session:
            session.run(v1.global_variables_initializer())
            session.run(step, {fed: 1.0})
            assert session.run(weight).tolist() == pytest.approx([0.8, 1.6], rel=1e-3)
            session.run(step, {fed: 3e38})
            assert session.run(weight).tolist() == pytest.approx([0.8, 1.6], rel=1e-3)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_loss_scale_optimizer_names_the_variables_of_its_manager_as_its_own(fixed):
    with v1.Graph().as_default():
        weight = v1.Variable([1.0])
        if fixed:
            manager = npu_init.FixedLossScaleManager(128)
        else:
            manager = npu_init.ExponentialUpdateLossScaleManager(1024, 1000)
        scaled = npu_init.NPULossScaleOptimizer(v1.train.MomentumOptimizer(0.1, 0.9), manager)
        optimizer = npu_init.npu_tf_optimizer(scaled)
        optimizer.minimize(v1.reduce_sum(weight))
        names = {variable.op.name for variable in optimizer.variables()}
        state = {"loss_scale", "good_steps", "bad_steps"}
        assert names - state == {"Variable/Momentum"} and (names & state == (set() if fixed else state))
