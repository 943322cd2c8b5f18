"""The adapter's own operators in TensorFlow's graphs: values, gradients, and where they run."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference import NpuError, graphs
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.operators.activations import fast_gelu, gelu, prelu
from npu_reference.runtime.operators.deformable_offsets import deformable_conv2d
from npu_reference.runtime.operators.dropout import dropout
from npu_reference.runtime.operators.lars import lars, lars_v2
from npu_reference.runtime.operators.random_choice import random_choice_with_mask
from tests.runtime.comparing import compare, control_flow, npu, plain


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def run(tensors, feeds=None, config=None):
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors, feeds)


def operators():
    """How often each operator of the adapter's own stands in the default graph, as `graphs` reads it."""
    graph = graphs.graph_from_def(tf.get_default_graph().as_graph_def())
    return sorted(node.op for node in graph.nodes if node.op != node.proto.op)


# -- dropout -----------------------------------------------------------------------------------------------------


def test_dropout_keeps_elements_divided_by_the_probability_and_makes_the_others_0():
    x = tf.constant(np.arange(1, 301, dtype=np.float32).reshape(20, 15))
    y = run(dropout(x, 0.25, seed=1))
    kept = y != 0
    np.testing.assert_allclose(y[kept], np.arange(1, 301, dtype=np.float32).reshape(20, 15)[kept] * 4)
    assert y.shape == (20, 15) and 0 < kept.sum() < 300


@pytest.mark.parametrize("keep_prob", [0.1, 0.5, 0.9])
def test_dropout_keeps_each_element_with_its_probability_and_each_by_itself(keep_prob):
    count = 40_000
    first, second = np.array(run([dropout(tf.ones([count]), keep_prob, seed=seed) for seed in (11, 12)])) != 0
    # Five standard deviations of a binomial distribution; the seeds are fixed, so that chance has no part in it.
    bound = 5 * np.sqrt(count * keep_prob * (1 - keep_prob))
    assert abs(first.sum() - count * keep_prob) < bound
    both = keep_prob**2
    for other in (second, np.roll(first, 1), np.roll(first, 8), np.roll(first, 128)):
        assert abs((first & other).sum() - count * both) < 5 * np.sqrt(count * both * (1 - both))


def test_dropout_of_everything_kept_is_the_tensor_itself():
    x = tf.constant([1.0, 2.0])
    assert dropout(x, 1.0) is x and dropout(x, 1) is x
    assert operators() == []


@pytest.mark.parametrize("keep_prob", [0, 0.0, -0.5, 1.5, float("nan")])
def test_a_probability_outside_0_to_1_is_a_value_error(keep_prob):
    with pytest.raises(ValueError, match="keep_prob"):
        dropout(tf.constant([1.0]), keep_prob)


def test_dropout_of_integers_is_a_value_error():
    with pytest.raises(ValueError, match="floating-point"):
        dropout(tf.constant([1]), 0.5)


def test_the_probability_may_be_fed():
    keep = tf.placeholder(tf.float32, [])
    y = dropout(tf.ones([1000]), keep, seed=3)
    assert np.all(run(y, {keep: 1.0}) == 1.0)
    some = run(y, {keep: 0.5})
    assert set(np.unique(some)) == {0.0, 2.0}


def test_the_probability_may_be_a_tensor_of_another_type():
    y = dropout(tf.ones([64], tf.float16), tf.placeholder_with_default(0.5, []), seed=3)
    assert y.dtype == tf.float16 and set(np.unique(run(y))) == {0.0, 2.0}


def test_a_probability_that_is_no_scalar_is_a_value_error():
    with pytest.raises(ValueError):
        dropout(tf.ones([3]), tf.placeholder(tf.float32, [3]))


def test_the_mask_of_the_gradient_is_that_of_the_result():
    x = tf.placeholder(tf.float32, [None, 33])
    y = dropout(x, 0.5)
    grad = tf.gradients(y * 3.0, [x])[0]
    y_value, grad_value = run([y, grad], {x: np.ones([7, 33])})
    np.testing.assert_array_equal(grad_value, 3.0 * y_value)
    assert operators() == ["DropOutDoMask", "DropOutDoMask", "DropOutGenMask"]
    assert y.get_shape().as_list() == grad.get_shape().as_list() == [None, 33]


def test_unseeded_dropout_drops_differently_in_every_run():
    y = dropout(tf.ones([200]), 0.5)
    with tf.Session() as session:
        assert not np.array_equal(session.run(y), session.run(y))


@pytest.mark.parametrize("shape, open_sizes", [([4, 1], False), ([None, 1], True), ([1, 5], False)])
def test_a_noise_shape_drops_whole_rows_or_columns(shape, open_sizes):
    x = tf.placeholder(tf.float32, [None if open_sizes else 4, 5])
    y = dropout(x, 0.5, noise_shape=shape, seed=4)
    grad = tf.gradients(y, [x])[0]
    for feed in (np.ones([4, 5]), np.ones([4, 5])):
        value, grad_value = run([y, grad], {x: feed})
        lines = value if shape[1] == 1 else value.T
        assert all(len(set(line)) == 1 for line in lines)
        np.testing.assert_array_equal(grad_value, value)


def test_a_noise_shape_of_the_whole_shape_is_none():
    x = tf.ones([4, 5])
    value = run(dropout(x, 0.5, noise_shape=[None, 5], seed=4))
    assert set(np.unique(value)) == {0.0, 2.0}
    assert operators() == ["DropOutDoMask", "DropOutGenMask"]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_dropout_in_every_floating_point_type(dtype):
    y = dropout(tf.ones([64], dtype), 0.5, seed=2)
    assert y.dtype == dtype
    assert set(np.unique(run(y))) == {0.0, 2.0}


def test_dropout_of_a_scalar_and_of_nothing():
    assert run(dropout(tf.constant(3.0), 0.5, seed=1)) in (0.0, 6.0)
    assert run(dropout(tf.ones([0, 4]), 0.5)).shape == (0, 4)


def test_infinities_are_dropped_like_everything_else():
    value = run(dropout(tf.fill([100], np.inf), 0.5, seed=1))
    assert not np.isnan(value).any() and {0.0, np.inf} == set(value)


@pytest.mark.parametrize("graph_seed, seed", [(None, 5), (7, None), (7, 5)])
def test_seeded_dropout_is_repeatable_and_each_has_a_stream_of_its_own(graph_seed, seed):
    def build():
        tf.set_random_seed(graph_seed)
        first, second = dropout(tf.ones([50]), 0.5, seed=seed), dropout(tf.ones([50]), 0.5, seed=seed)
        with tf.Session() as session:
            return [session.run([first, second]) for _ in range(3)]

    with tf.Graph().as_default():
        once = build()
    with tf.Graph().as_default():
        again = build()
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once[0], once[1]), "a stream goes on"
    if seed is not None and graph_seed is None:
        # As of TensorFlow's own: equal seeds are equal streams, and none of the two advances the other.
        np.testing.assert_array_equal(once[0][0], once[0][1])


def test_seeded_dropout_goes_on_across_signatures_on_the_host_and_on_the_device():
    def scenario(config):
        x = tf.placeholder(tf.float32, [40])
        y = dropout(x * 2.0, 0.5, seed=9)
        z = y + 1.0
        values = []
        with tf.Session(config=config) as session:
            for fetch in (y, [y, z], z, y):
                values.append(session.run(fetch, {x: np.ones(40)}))
        return values

    compare(scenario)


def test_unseeded_dropout_on_the_device_draws_anew_in_every_run():
    y = dropout(tf.placeholder_with_default(np.ones(300, np.float32), [300]) * 1.0, 0.5)
    with tf.Session(config=npu()) as session:
        assert not np.array_equal(session.run(y), session.run(y))


def test_the_operators_of_dropout_run_in_a_geop_under_their_own_names():
    x = tf.placeholder(tf.float32, [8, 4])
    weight = tf.get_variable("weight", [4, 4])
    loss = tf.reduce_sum(dropout(tf.matmul(x, weight), 0.5, seed=1))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    run([loss, step], {x: np.ones([8, 4])}, npu())
    parts = process_trace().runs[-1].partition
    inside = {parts.graph.nodes[node].op for geop in parts.geops for node in geop.nodes}
    assert {"DropOutGenMask", "DropOutDoMask"} <= inside
    assert not any("DropOut" in entry.op for entry in parts.host)


def test_the_without_npu_compile_scope_leaves_them_on_the_host():
    x = tf.placeholder(tf.float32, [8])
    with tf.get_default_graph()._attr_scope({"_without_npu_compile": tf.AttrValue(b=True)}):
        y = dropout(x, 0.5, seed=1)
    run(y * 2.0, {x: np.ones(8)}, npu())
    hosts = {entry.op: entry.reason.value for entry in process_trace().runs[-1].partition.host}
    assert hosts["DropOutDoMask"] == hosts["DropOutGenMask"] == "SCOPE"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("construct", ["while", "cond"])
def test_dropout_in_conditions_and_loops_gives_the_same_on_host_and_device(construct, version):
    def scenario(config):
        x = tf.placeholder(tf.float32, [16])
        if construct == "while":
            y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, dropout(a, 0.7, seed=5)), [0, x * 1.0])[1]
        else:
            y = tf.cond(tf.reduce_sum(x) > 0, lambda: dropout(x, 0.7, seed=5), lambda: x)
        grad = tf.gradients(y, [x])[0]
        with tf.Session(config=config) as session:
            values = session.run([y, grad], {x: np.ones(16)})
        np.testing.assert_allclose(values[0], values[1])  # of ones, the result is its own slope
        return values

    with control_flow(version):
        compare(scenario)


def test_a_saved_graph_reads_back_runs_and_has_the_same_gradient():
    x = tf.placeholder(tf.float32, [12], name="x")
    gelu(dropout(x, 0.5, seed=3), name="y")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        graph = tf.get_default_graph()
        x, y = (graph.get_tensor_by_name(name) for name in ("x:0", "y:0"))
        assert y.get_shape().as_list() == [12]
        grad = tf.gradients(y, [x])[0]
        assert operators() == ["DropOutDoMask", "DropOutDoMask", "DropOutGenMask", "Gelu", "GeluGrad"]
        value, grad_value = run([y, grad], {x: np.ones(12)}, npu())
    kept = value != 0
    assert 0 < kept.sum() < 12 and not grad_value[~kept].any()
    np.testing.assert_allclose(grad_value[kept], 2 * slope(ACTIVATIONS[gelu], 2.0), rtol=1e-5)


@pytest.mark.parametrize("suffix", ["pb", "pbtxt"])
def test_a_frozen_graph_is_partitioned_from_its_file_as_the_session_partitions_it(suffix, tmp_path):
    x = tf.placeholder(tf.float32, [3, 4], name="x")
    weight = tf.get_variable("weight", [4, 4])
    y = gelu(dropout(tf.matmul(x, weight), 0.5, seed=1), name="y")
    with tf.Session(config=npu()) as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        expected = session.run(y, {x: np.ones([3, 4])})
    tf.train.write_graph(frozen, str(tmp_path), f"graph.{suffix}", as_text=suffix == "pbtxt")
    graph = graphs.load_graph(str(tmp_path / f"graph.{suffix}"))
    parts = partition(graphs.close_over(graph, ["x:0"], ["y:0"]), resolve({"mix_compile_mode": True}))
    inside = [parts.graph.nodes[node].op for geop in parts.geops for node in geop.nodes]
    assert len(parts.geops) == 1 and {"DropOutGenMask", "DropOutDoMask", "Gelu"} <= set(inside)
    with tf.Graph().as_default():
        tf.import_graph_def(tf.GraphDef.FromString(graph.to_bytes()), name="")
        np.testing.assert_allclose(run("y:0", {"x:0": np.ones([3, 4])}, npu()), expected, rtol=1e-6)


# -- activations -------------------------------------------------------------------------------------------------


def slope(function, at, width=1e-4):
    return (function(at + width) - function(at - width)) / (2 * width)


ACTIVATIONS = {
    gelu: lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    fast_gelu: lambda x: x / (1 + np.exp(-1.702 * x)),
}


@pytest.mark.parametrize("activation", list(ACTIVATIONS), ids=lambda f: f.__name__)
def test_values_and_slopes_of_activations(activation):
    points = np.linspace(-6, 6, 49)
    x = tf.constant(points)
    y = activation(x)
    value, grad = run([y, tf.gradients(y, [x])[0]])
    np.testing.assert_allclose(value, ACTIVATIONS[activation](points), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grad, slope(ACTIVATIONS[activation], points), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "shape, weights", [([6, 3], [0.1, 0.2, 0.3]), ([2, 3, 4, 4], [0.1, 0.2, 0.3]), ([5, 2], [0.5])]
)
def test_values_and_gradients_of_prelu(shape, weights):
    x = tf.constant(np.random.RandomState(0).randn(*shape))
    weight = tf.constant(np.array(weights))
    broad = tf.reshape(weight, [-1] + [1] * (len(shape) - 2))
    ours, theirs = prelu(x, weight), tf.where(x > 0, x, x * broad)
    pairs = list(zip([ours, *tf.gradients(ours, [x, weight])], [theirs, *tf.gradients(theirs, [x, weight])]))
    for got, expected in run(pairs):
        np.testing.assert_allclose(got, expected)


def test_activations_run_on_the_device():
    def scenario(config):
        x = tf.placeholder(tf.float32, [4, 3])
        y = prelu(gelu(x) + fast_gelu(x), tf.constant([0.1, 0.2, 0.3]))
        return run([y, tf.gradients(y, [x])[0]], {x: np.linspace(-2, 2, 12).reshape(4, 3)}, config)

    runs = compare(scenario)
    assert not any(entry.op in ("Gelu", "GeluGrad", "FastGelu", "PRelu") for entry in runs[-1].partition.host)


# -- the rest ----------------------------------------------------------------------------------------------------


def test_lars_scales_each_gradient_by_the_norms():
    rng = np.random.RandomState(1)
    weights, grads = ([rng.randn(*shape).astype(np.float32) for shape in ([3], [2, 2])] for _ in range(2))
    got = run(lars(weights, grads, 0.1, hyperpara=0.01, epsilon=1e-5))
    for value, w, g in zip(got, weights, grads):
        norm_w, norm_g = np.linalg.norm(w), np.linalg.norm(g)
        rate = 0.01 * norm_w / (norm_g + 0.1 * norm_w + 1e-5)
        np.testing.assert_allclose(value, rate * (g + 0.1 * w), rtol=1e-5)
    with pytest.raises(NpuError, match="one gradient for each weight"):
        lars(weights, grads[:1], 0.1)


def test_lars_v2_clips_its_rate():
    w, g = tf.constant([3.0, 4.0]), tf.constant([0.0, 1.0])
    assert run(lars_v2(w, g, 0.0, 0.1, hyperpara=1.0, epsilon=0.0)).tolist() == [0.0, 5.0]
    assert run(lars_v2(w, g, 0.0, 0.1, hyperpara=1.0, epsilon=0.0, use_clip=True)).tolist() == [0.0, 1.0]


def test_a_random_choice_takes_places_where_the_mask_holds_each_at_most_once():
    mask = np.random.RandomState(2).rand(5, 6) > 0.5
    places, chosen = run(random_choice_with_mask(tf.constant(mask), 8, seed=1))
    assert chosen.all() and len({tuple(place) for place in places}) == 8
    assert all(mask[tuple(place)] for place in places)
    places, chosen = run(random_choice_with_mask(tf.constant(mask), 100, seed=1))
    assert chosen.sum() == mask.sum() and not places[~chosen].any()
    assert {tuple(place) for place in places[chosen]} == {tuple(place) for place in np.argwhere(mask)}


def offsets(shape, groups, kernel, columns=0.0, rows=0.0, mask=1.0):
    return np.stack(
        [np.full([*shape, groups * kernel], value, np.float32) for value in (columns, rows, mask)], 3
    ).reshape([*shape, -1])


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_deformable_convolution_without_moves_is_a_convolution(data_format):
    rng = np.random.RandomState(3)
    x, kernel = tf.constant(rng.randn(2, 7, 8, 4)), tf.constant(rng.randn(3, 3, 4, 5))
    moves = tf.constant(offsets([2, 3, 3], 2, 9).astype(np.float64))
    plain_conv = tf.nn.conv2d(
        tf.pad(x, [[0, 0], [1, 0], [0, 0], [0, 0]]), kernel, strides=[1, 2, 2, 1], padding="VALID"
    )
    turn = (lambda t: t) if data_format == "NHWC" else (lambda t: tf.transpose(t, [0, 3, 1, 2]))
    steps = [1, 2, 2, 1] if data_format == "NHWC" else [1, 1, 2, 2]
    ours = deformable_conv2d(
        turn(x), kernel, turn(moves), steps, [1, 0, 0, 0], data_format=data_format, deformable_groups=2
    )
    theirs = turn(plain_conv)
    pairs = [(ours, theirs), *zip(tf.gradients(ours, [x, kernel]), tf.gradients(theirs, [x, kernel]))]
    for got, expected in run(pairs):
        np.testing.assert_allclose(got, expected, atol=1e-10)


def test_a_deformable_convolution_reads_between_pixels_and_zeros_outside():
    x = tf.constant(np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1))
    one = tf.ones([1, 1, 1, 1])
    half_right = run(deformable_conv2d(x, one, offsets([1, 3, 4], 1, 1, columns=0.5), [1] * 4, [0] * 4))
    np.testing.assert_allclose(half_right[0, 0, :, 0], [0.5, 1.5, 2.5, 1.5])
    below = run(deformable_conv2d(x, one, offsets([1, 3, 4], 1, 1, rows=1.0, mask=2.0), [1] * 4, [0] * 4))
    np.testing.assert_allclose(below[0, :, 1, 0], [10.0, 18.0, 0.0])


def test_moves_have_gradients():
    x = tf.constant(np.random.RandomState(4).randn(1, 5, 5, 2))
    kernel = tf.constant(np.random.RandomState(5).randn(3, 3, 2, 1))
    at = 0.3 * np.random.RandomState(6).rand(1, 5, 5, 27) + 0.1
    moves = tf.placeholder(tf.float64, [1, 5, 5, 27])
    total = tf.reduce_sum(deformable_conv2d(x, kernel, moves, [1] * 4, [1] * 4))
    grad = tf.gradients(total, [moves])[0]
    with tf.Session() as session:
        slopes = session.run(grad, {moves: at})
        for place in ((0, 0, 0, 0), (0, 2, 3, 12), (0, 4, 4, 26)):
            step = np.zeros_like(at)
            step[place] = 1e-6
            high, low = (session.run(total, {moves: at + sign * step}) for sign in (1, -1))
            assert slopes[place] == pytest.approx((high - low) / 2e-6, abs=1e-6)


def test_what_a_deformable_convolution_does_not_have_is_refused():
    x, kernel = tf.ones([1, 4, 4, 2]), tf.ones([3, 3, 2, 2])
    for wrong in ({"modulated": False}, {"groups": 2}, {"strides": None}, {"data_format": "NCWH"}):
        arguments = {"strides": [1] * 4, "pads": [1] * 4, **wrong}
        with pytest.raises(NpuError, match="deformable_conv2d"):
            deformable_conv2d(x, kernel, offsets([1, 4, 4], 1, 9), **arguments)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16])
def test_own_operators_compute_at_the_devices_precision(dtype):
    values = np.linspace(-3, 3, 40)

    def scenario(config):
        x = tf.placeholder(dtype, [40])
        return run(gelu(x * 1.0), {x: values}, config)

    with overriding(current_overrides()._replace(device_precision="on")):
        got = scenario(npu(precision_mode="force_fp16", graph_run_mode=0)).astype(np.float64)
    with tf.Graph().as_default():
        float32 = ACTIVATIONS[gelu](values.astype(np.float16).astype(np.float64))
    # Rounded once, on the way out: not at every step inside.
    np.testing.assert_array_equal(got, got.astype(np.float16).astype(np.float64))
    assert np.abs(got - float32).max() <= 2.0**-10


def test_the_overflow_of_an_own_operator_saturates_and_is_counted():
    for dtype in (tf.float32, tf.float16):
        with tf.Graph().as_default(), overriding(current_overrides()._replace(device_precision="on")):
            x = tf.placeholder(dtype, [64])
            y = dropout(x * 1.0, 0.5, seed=1)
            value = run(y, {x: np.full(64, 40000.0)}, npu(precision_mode="force_fp16", graph_run_mode=0))
        assert set(np.unique(value)) == {0.0, 65504.0}


def test_eager_mode_is_told_what_to_do():
    if not tf.__version__.startswith("2."):
        pytest.skip("TensorFlow 1 has no eager mode once graphs are built")
    from tensorflow.python.eager import context

    with context.eager_mode(), pytest.raises(NpuError, match="disable_eager_execution"):
        dropout([1.0, 2.0], 0.5)


def test_plain_sessions_and_the_device_agree_on_all_of_them_at_once():
    def scenario(config):
        x = tf.placeholder(tf.float32, [6, 4])
        y = gelu(dropout(x, 0.5, seed=2)) + lars([x], [x * 0.5], 0.1)[0]
        return run([y, tf.gradients(y, [x])[0]], {x: np.ones([6, 4])}, config)

    compare(scenario)
    assert plain() is not None
