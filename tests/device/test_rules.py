"""Rounding, saturation and the overflow flag, rule by rule (docs/numerics.md)."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.device.numerics.constants import to_float16_grid
from npu_reference.device.numerics.status import FLOAT32_MAX
from npu_reference.device.numerics.variants import folded
from npu_reference.runtime.execution.execution_graph import Shadow
from npu_reference.runtime.sessions.interception import engine_of
from tests.device.arithmetic import config, decided, draw, force_fp16, grid, precise, status


@pytest.fixture(autouse=True)
def bodies_stay_visible(monkeypatch):
    """The graph forgets a body once its session has it; here it is looked at."""
    monkeypatch.setattr(Shadow, "release", lambda shadow: None)


def bodies(session):
    """The nodes of all GEOPs of a session, by name."""
    graph_def = engine_of(session)._shadow.graph.as_graph_def()
    return {node.name: node for function in graph_def.library.function for node in function.node_def}


def feed(*shape):
    return tf.placeholder(tf.float32, shape, name="x")


# Conversion


@pytest.mark.parametrize(
    "value, stored",
    [
        (1.0 + 2.0**-11, 1.0),  # to even
        (1.0 + 3 * 2.0**-11, 1.0 + 2.0**-9),
        (65519.0, 65504.0),
        (65520.0, 65504.0),
        (1e6, 65504.0),
        (-1e6, -65504.0),
        (np.inf, 65504.0),
        (-np.inf, -65504.0),
        (np.nan, 0.0),
        (2.0**-24, 2.0**-24),
        (2.0**-25, 0.0),
        (3 * 2.0**-26, 2.0**-24),
    ],
)
def test_a_conversion_to_float16_rounds_to_even_and_saturates(value, stored):
    x = feed(1)
    result = tf.identity(tf.negative(x))
    with force_fp16() as session:
        assert session.run(result, {x: [value]}) == [-stored]
        assert status(session).raised == (not np.isfinite(value) or abs(value) >= 65520)


@given(st.floats(width=32))
@settings(max_examples=200)
def test_a_constant_is_converted_as_a_tensor_is(value):
    stored = to_float16_grid([value])
    assert stored == stored.astype(np.float16)
    if np.isnan(value):
        assert stored == 0
    elif abs(value) < 65504:
        assert stored == np.float16(value)
    else:
        assert stored == np.copysign(65504, value)


def test_a_constant_costs_no_conversion_when_the_graph_runs():
    x = feed(4)
    result = tf.multiply(x, tf.constant([0.1, 1e9, -1e9, float("nan")]), name="product")
    with force_fp16() as session:
        found = session.run(result, {x: [1, 1, 1, 1]})
        nodes = bodies(session)
        assert not status(session).raised  # the compiler converted it
    np.testing.assert_array_equal(found, grid([0.1, 65504, -65504, 0]))
    assert [name for name, node in nodes.items() if node.op == "Const" and name.startswith("Const/npu")]
    assert not [name for name in nodes if name.startswith("Const/npu_cast")]


def test_readers_share_one_conversion():
    x = feed(4)
    results = [tf.square(x), tf.exp(x), tf.negative(x)]
    with force_fp16() as session:
        session.run(results, {x: draw(4)})
        assert sum(node.op == "PyFunc" and "npu_cast" in name for name, node in bodies(session).items()) == 1


def test_operators_that_only_move_values_are_left_alone():
    x = feed(2, 3)
    result = tf.reshape(tf.transpose(tf.nn.relu(tf.square(x))), [6])
    with force_fp16() as session:
        values = draw(2, 3)
        np.testing.assert_array_equal(session.run(result, {x: values}), grid(values**2).T.ravel())
        gates = [name for name, node in bodies(session).items() if node.op == "PyFunc"]
    assert len(gates) == 2, gates  # of x and of the square


# Arithmetic


def test_a_cube_operator_multiplies_float16_and_adds_at_float32():
    # 2048 + 1 is no float16: added at float16 the sum would stay 2048.
    x, ones = feed(1, 2049), tf.ones([2049, 1])
    with precise(precision_mode="cube_fp16in_fp32out") as session:
        assert session.run(tf.matmul(x, ones), {x: np.ones([1, 2049])}) == 2049
        assert session.run(tf.matmul(x, ones), {x: np.full([1, 2049], 1 + 2.0**-12)}) == 2049  # inputs are float16
    with force_fp16() as session:
        assert session.run(tf.matmul(x, ones), {x: np.ones([1, 2049])}) == 2048  # one rounding at the end


def test_products_larger_than_float16_cancel_in_the_accumulator():
    x = feed(1, 3)
    with force_fp16() as session:
        result = session.run(tf.matmul(x, tf.constant([[300.0], [300.0], [1.0]])), {x: [[300, -300, 5]]})
        assert result == 5 and not status(session).raised


@pytest.mark.parametrize(
    "build, value, result",
    [
        (tf.exp, 12.0, 65504.0),
        (tf.sqrt, -1.0, 0.0),
        (tf.log, 0.0, -65504.0),
        (tf.log, -1.0, 0.0),
        (tf.math.reciprocal, 0.0, 65504.0),
        (lambda x: x / x, 0.0, 0.0),
    ],
    ids=["exp", "sqrt", "log of 0", "log", "reciprocal", "quotient"],
)
def test_a_float16_result_is_never_infinite_or_nan(build, value, result):
    x = feed(1)
    y = build(x)
    with force_fp16() as session:
        assert session.run(y, {x: [value]}) == [result]
        assert status(session).raised


def test_a_float32_result_is_never_infinite_or_nan_either():
    x = feed(3)
    result = tf.square(x)
    with precise(precision_mode="must_keep_origin_dtype") as session:
        found = session.run([result, tf.sqrt(x)], {x: [1e30, 2, -1]})
    np.testing.assert_array_equal(found[0], np.float32([FLOAT32_MAX, 4, 1]))
    assert found[1][2] == 0


def test_large_finite_float32_values_are_neither_changed_nor_flagged():
    x = feed(2)
    with precise(precision_mode="must_keep_origin_dtype") as session:
        found = session.run(tf.multiply(x, 2.0), {x: [1e38, -1e20]})
        np.testing.assert_array_equal(found, np.float32([1e38, -1e20]) * 2)
        assert not status(session).raised  # though the sum of their squares is infinite


def test_the_ai_cpu_computes_as_ieee_754_says():
    x = feed(1, 2, 2, 1)
    pooled = tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="pooled")
    with precise(precision_mode="must_keep_origin_dtype") as session:
        found = session.run(pooled, {x: np.full([1, 2, 2, 1], 3e38)})
        assert decided(session)["pooled"].engine == "aicpu"
        assert np.isinf(found).all() and not status(session).raised


def test_variables_keep_float32():
    variable = tf.Variable([1.0 + 2.0**-20], name="v", use_resource=True)
    with force_fp16() as session:
        assert session.run(variable) == [np.float32(1 + 2.0**-20)]
        session.run(tf.assign_add(variable, [2.0**-20]))
        assert session.run(tf.negative(variable)) == [-1.0]
        assert session.run(variable) == [np.float32(1 + 2.0**-19)]


@pytest.mark.parametrize("resource", [True, False])
def test_what_an_optimizer_leaves_in_variables_is_finite(resource):
    with tf.variable_scope("net", use_resource=resource):
        variable = tf.get_variable("v", initializer=[1.0, 1.0])
    x = feed(2)
    # Its epsilon is 0 at float16, so a gradient of 0 is divided by 0.
    train = tf.train.AdamOptimizer(0.1, epsilon=1e-9).minimize(tf.reduce_sum(variable * x))
    with precise(precision_mode_v2="fp16") as session:
        session.run(train, {x: [0.0, 2.0]})
        with tf.control_dependencies([train]):
            after = variable.read_value()
        found = session.run(after, {x: [0.0, 2.0]})
        assert np.isfinite(found).all() and np.isfinite(session.run(variable)).all()
        assert status(session).raised and "Adam/update_net/v" in " ".join(status(session).overflows)


def test_fetches_keep_the_dtypes_of_the_graph():
    x = feed(3)
    half = tf.cast(x, tf.float16)
    with force_fp16() as session:
        found = session.run([tf.square(x), half, tf.square(half)], {x: [1, 300, 1e9]})
    assert [value.dtype for value in found] == [np.float32, np.float16, np.float16]
    assert found[1].tolist() == [1, 300, 65504] and found[2].tolist() == [1, 65504, 65504]


def test_a_graph_in_float16_is_computed_without_roundings_inside():
    x = tf.placeholder(tf.float16, [1, 2049], name="x")
    y = tf.matmul(x, tf.ones([2049, 1], tf.float16), name="y")
    with precise(precision_mode="must_keep_origin_dtype") as session:
        found = session.run([y, tf.nn.relu(y - 1)], {x: np.ones([1, 2049])})
    assert found[0].dtype == np.float16 and found[0] == 2048 and found[1] == 2047


# Control flow


@pytest.mark.parametrize("version", [1, 2])
def test_loops_and_conditions_compute_as_decided_inside(version):
    switch = {1: tf.disable_control_flow_v2, 2: tf.enable_control_flow_v2}
    before = 2 if tf.control_flow_v2_enabled() else 1
    switch[version]()
    try:
        x = feed(2, 2)
        w = tf.get_variable("w", initializer=draw(2, 2), use_resource=True)
        _, looped = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.matmul(h, w)), [0, x])
        result = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(looped), lambda: looped)
        gradient = tf.gradients(result, w)[0]
    finally:
        switch[before]()
    values = np.float32([[1, 0.1], [0.3, 2]])
    expected = grid(values)
    for _ in range(3):
        expected = grid(expected @ draw(2, 2))
    with force_fp16(mix_compile_mode=False) as session:
        np.testing.assert_array_equal(session.run(looped, {x: values}), expected)
        np.testing.assert_array_equal(session.run(result, {x: values}), to_float16_grid(np.exp(expected)))
        found = session.run(gradient, {x: values})
        np.testing.assert_array_equal(found, grid(found))
        session.run(looped, {x: values * 1e6})
        assert status(session).raised


def test_a_function_that_the_host_calls_too_is_computed_there_as_tensorflow_does():
    from tensorflow.python.framework import function

    from npu_bridge.estimator.npu.npu_scope import without_npu_compile_scope

    @function.Defun(tf.float32, func_name="third")
    def third(x):
        return x / 3.0

    x = feed(1)
    on_device = tf.negative(third(x))
    with without_npu_compile_scope():
        on_host = third(x)
    with force_fp16() as session:
        found = session.run([on_device, on_host], {x: [1.0]})
    assert found[1] == np.float32(1) / np.float32(3)


# Options


def test_high_performance_rounds_inside_where_high_precision_does_not():
    # runconfig.op_select_implmode.high_precision, session.op_select_implmode.high_precision
    x = feed(8, 64)
    y = tf.nn.softmax(x)
    values = draw(8, 64, low=-6, high=6)
    exact = np.exp(values.astype(np.float64))
    exact /= exact.sum(1, keepdims=True)
    errors = {}
    for mode in ("high_precision", "high_performance"):
        with force_fp16(op_select_implmode=mode) as session:
            errors[mode] = np.abs(session.run(y, {x: values}) - exact).max()
    assert errors["high_precision"] < errors["high_performance"] < 4e-3


def test_sums_at_float16_lose_what_float32_keeps():
    # runconfig.op_precision_mode.keep_fp16
    values = np.concatenate([[2048.0], np.ones(1023)])
    assert folded(values, 0) != values.sum()
    assert abs(folded(values, [0]) - values.sum()) < 16
    assert folded(np.zeros([0, 2]), 0).tolist() == [0, 0]
    assert folded(np.zeros([0, 2]), 1, mean=True).tolist() == []
    assert folded(draw(2, 3, 4), [0, 2], keep=True, mean=True).shape == (1, 3, 1)


def test_deterministic_runs_repeat_bit_for_bit():
    # runconfig.deterministic.1
    x = feed(64, 64)
    results = [tf.reduce_sum(tf.matmul(x, x)), tf.nn.softmax(tf.matmul(x, x)), tf.add_n([x, x * 0.1, tf.exp(x)])]
    with precise(deterministic=1) as session:
        first = session.run(results, {x: draw(64, 64)})
        for _ in range(10):
            for one, other in zip(first, session.run(results, {x: draw(64, 64)})):
                assert one.tobytes() == other.tobytes()


def test_off_is_tensorflow_to_the_bit():
    x = feed(16, 16)
    result = tf.nn.softmax(tf.matmul(x, x) * 1.1)
    with tf.Session() as plain, tf.Session(config=config(mix_compile_mode=True)) as device:
        assert plain.run(result, {x: draw(16, 16)}).tobytes() == device.run(result, {x: draw(16, 16)}).tobytes()
        assert engine_of(device).numerics is None


def test_signatures_share_bodies_that_are_decided_alike():
    x = feed(2)
    first, second = tf.square(x), tf.exp(x)
    with force_fp16() as session:
        session.run(first, {x: [1, 2]})
        session.run(second, {x: [1, 2]})
        session.run([first], {x: [1, 2]})
        geops = engine_of(session)._shadow.geops
        session.run(tf.group(first.op), {x: [1, 2]})
        assert len(geops) <= 3
