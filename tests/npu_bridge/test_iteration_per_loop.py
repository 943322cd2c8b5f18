"""set_iteration_per_loop on the sess.run surface."""

from __future__ import annotations

import pytest
import tensorflow as tf

from npu_bridge.npu_init import npu_config_proto, set_iteration_per_loop

v1 = tf.compat.v1


@pytest.fixture
def counter():
    with v1.Graph().as_default(), v1.Session(config=npu_config_proto()) as session:
        count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
        step = v1.assign_add(count, 1.0)
        session.run(v1.global_variables_initializer())
        yield session, step, count


def test_one_iteration_per_loop_does_one_step_a_run(counter):
    # api.set_iteration_per_loop
    session, step, count = counter
    loop = set_iteration_per_loop(session, step, 1)
    session.run(loop)
    session.run(loop)
    assert session.run(count) == 2.0


@pytest.mark.parametrize("number", [0, -1])
def test_other_numbers_are_refused(counter, number):
    session, step, _ = counter
    with pytest.raises(ValueError, match="iterations_per_loop"):
        set_iteration_per_loop(session, step, number)


@pytest.mark.parametrize("number", [True, 1.0, "1"])
def test_what_is_no_int_is_refused(counter, number):
    session, step, _ = counter
    with pytest.raises(TypeError, match="iterations_per_loop"):
        set_iteration_per_loop(session, step, number)
