"""The recurrent operators: every output and gradient beside the same arithmetic in TensorFlow's own operators."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference import graphs
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.operators import recurrent
from tests.depth import at_night
from tests.runtime.comparing import npu

TIME, BATCH, SIZE, HIDDEN = 4, 3, 2, 5
LENGTHS = [4, 0, 2]


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


class Numbers:
    """Placeholders with random values, of which the test keeps the feeds."""

    def __init__(self, dtype=np.float64):
        self.random = np.random.RandomState(0)
        self.feeds = {}
        self.dtype = dtype

    def __call__(self, *shape, open_sizes=False):
        value = self.random.randn(*shape).astype(self.dtype)
        tensor = tf.placeholder(self.dtype, [None] * len(shape) if open_sizes else shape)
        self.feeds[tensor] = value
        return tensor


def masked(lengths, t, dtype):
    return tf.expand_dims(tf.cast(t < lengths, dtype), 1)


def lstm_by_hand(x, w, b, h, c, lengths, forget_bias):
    h, c, steps = h[0], c[0], []
    for t in range(TIME):
        i, j, f, o = tf.split(tf.matmul(tf.concat([x[t], h], 1), w) + b, 4, 1)
        i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + forget_bias), tf.sigmoid(o)
        new_c = c * f + i * j
        new_h = o * tf.tanh(new_c)
        going = masked(lengths, t, x.dtype)
        h, c = going * new_h + (1 - going) * h, going * new_c + (1 - going) * c
        steps.append((going * new_h, h, c, i, j, f, o, tf.tanh(new_c)))
    return [tf.stack(one) for one in zip(*steps)]


def gru_by_hand(x, weight_input, weight_hidden, attention, bias_input, bias_hidden, lengths, h):
    steps = []
    for t in range(TIME):
        z, r, n = tf.split(tf.matmul(x[t], weight_input) + bias_input, 3, 1)
        hz, hr, hn = tf.split(tf.matmul(h, weight_hidden) + bias_hidden, 3, 1)
        z, r = tf.sigmoid(z + hz), tf.sigmoid(r + hr)
        n = tf.tanh(n + r * hn)
        scaled = z if attention is None else z * (1 - tf.expand_dims(attention[t], 1))
        new = scaled * h + (1 - scaled) * n
        going = masked(lengths, t, x.dtype)
        h = going * new + (1 - going) * h
        steps.append((going * new, h, z, *([] if attention is None else [scaled]), r, n, hn))
    return [tf.stack(one) for one in zip(*steps)]


def turned(tensor, time_major):
    if time_major:
        return tensor
    return tf.transpose(tensor, [1, 0, 2] if tensor.shape.ndims == 3 else [1, 0])


def weighted(outputs, numbers, count):
    """A number that depends on every element of some outputs, each in its own way."""
    shape = numbers.random.randn(count, TIME, BATCH, HIDDEN)
    return sum(tf.reduce_sum(output * weight) for output, weight in zip(outputs, shape))


def agree(ours, by_hand, numbers, variables, differentiable):
    random = numbers.random.get_state()
    grads = tf.gradients(weighted(ours, numbers, differentiable), variables)
    numbers.random.set_state(random)
    expected = tf.gradients(weighted(by_hand, numbers, differentiable), variables)
    assert [grad.get_shape().as_list() for grad in grads] == [variable.shape.as_list() for variable in variables]
    with tf.Session() as session:
        wanted = session.run([*by_hand, *expected], numbers.feeds)
        beside = session.run([*ours, *grads], numbers.feeds)
    with tf.Session(config=npu()) as session:
        on_the_device = session.run([*ours, *grads], numbers.feeds)
    assert not any(entry.op.startswith("Dynamic") for entry in process_trace().runs[-1].partition.host)
    for got in (beside, on_the_device):
        for one, other in zip(got, wanted):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6)


def ops():
    graph = graphs.graph_from_def(tf.get_default_graph().as_graph_def())
    return {node.op for node in graph.nodes if node.op != node.proto.op}


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("lengths", [at_night(None), LENGTHS])
def test_an_lstm_and_its_gradients(lengths, time_major):
    numbers = Numbers(np.float32)
    x, w, b = numbers(TIME, BATCH, SIZE), numbers(SIZE + HIDDEN, 4 * HIDDEN), numbers(4 * HIDDEN)
    h, c = numbers(1, BATCH, HIDDEN), numbers(1, BATCH, HIDDEN)
    given = None if lengths is None else tf.constant(lengths)
    ours = recurrent.lstm(turned(x, time_major), w, b, h, c, given, forget_bias=0.7, time_major=time_major)
    ours = [turned(output, time_major) for output in ours]
    by_hand = lstm_by_hand(x, w, b, h, c, tf.constant(lengths or [TIME] * BATCH), 0.7)
    assert ours[0].get_shape().as_list() == [TIME, BATCH, HIDDEN]
    # Gates beyond a sequence's end are whatever the cell computes there.
    count = 8 if lengths is None else 3
    agree(ours[:count], by_hand[:count], numbers, [x, w, b, h, c], 3)
    assert ops() == {"DynamicRnnGrad", "DynamicRnnV2" if lengths is None else "DynamicRnn"}


@pytest.mark.parametrize(
    "attended, time_major, lengths",
    [(False, True, [TIME] * BATCH), (False, False, LENGTHS), (True, True, LENGTHS), (True, False, LENGTHS)],
)
def test_a_gru_and_its_gradients_with_attention_and_without(attended, time_major, lengths):
    numbers = Numbers(np.float32)
    x, weight_input, weight_hidden = numbers(TIME, BATCH, SIZE), numbers(SIZE, 3 * HIDDEN), numbers(HIDDEN, 3 * HIDDEN)
    bias_input, bias_hidden, h = numbers(3 * HIDDEN), numbers(3 * HIDDEN), numbers(BATCH, HIDDEN)
    attention = numbers(TIME, BATCH) if attended else None
    weights = [turned(x, time_major), weight_input, weight_hidden]
    rest = [bias_input, bias_hidden, tf.constant(lengths), h]
    if attended:
        ours = recurrent.augru(*weights, turned(attention, time_major), *rest, time_major=time_major)
    else:
        ours = recurrent.gru(*weights, *rest, time_major=time_major)
    ours = [turned(output, time_major) for output in ours]
    by_hand = gru_by_hand(x, weight_input, weight_hidden, attention, *rest)
    variables = [x, weight_input, weight_hidden, bias_input, bias_hidden, h]
    agree(ours, by_hand, numbers, variables + [attention] * attended, 2)
    assert ops() == ({"DynamicAUGRU", "DynamicAUGRUGrad"} if attended else {"DynamicGruV2", "DynamicGruV2Grad"})


def test_the_gates_of_a_gru_may_stand_in_the_other_order():
    numbers = Numbers(np.float32)
    x, weight_input, weight_hidden = numbers(TIME, BATCH, SIZE), numbers(SIZE, 3 * HIDDEN), numbers(HIDDEN, 3 * HIDDEN)
    bias_input, bias_hidden, h = numbers(3 * HIDDEN), numbers(3 * HIDDEN), numbers(BATCH, HIDDEN)

    def swapped(tensor):
        first, second, third = tf.split(tensor, 3, -1)
        return tf.concat([second, first, third], -1)

    kernels = (weight_input, weight_hidden, bias_input, bias_hidden)
    rest = (tf.constant(LENGTHS), h)
    one = recurrent.gru(x, *kernels, *rest)
    other = recurrent.gru(x, *(swapped(kernel) for kernel in kernels), *rest, gate_order="rzh")
    agree(one, other, numbers, [x, *kernels, h], 2)


def test_one_step_of_an_lstm_and_its_gradients():
    numbers = Numbers()
    x, h, c = numbers(BATCH, SIZE), numbers(BATCH, HIDDEN), numbers(BATCH, HIDDEN)
    w, b = numbers(SIZE + HIDDEN, 4 * HIDDEN), numbers(4 * HIDDEN)
    ours = recurrent.lstm_cell(x, h, c, w, b, forget_bias=0.3)
    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), w) + b, 4, 1)
    i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + 0.3), tf.sigmoid(o)
    ct = c * f + i * j
    by_hand = [ct, o * tf.tanh(ct), i, j, f, o, tf.tanh(ct)]
    weights = numbers.random.randn(2, BATCH, HIDDEN)
    grads, expected = (
        tf.gradients(outputs[0] * weights[0] + outputs[1] * weights[1], [x, h, c, w, b]) for outputs in (ours, by_hand)
    )
    with tf.Session(config=npu()) as session:
        for got, wanted in session.run([*zip(ours, by_hand), *zip(grads, expected)], numbers.feeds):
            np.testing.assert_allclose(got, wanted, atol=1e-12)
    assert ops() == {"BasicLSTMCell", *(f"BasicLSTMCell{kind}Grad" for kind in ("CState", "Weight", "Input"))}


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_sizes_may_be_open(cell):
    numbers = Numbers(np.float32)
    x = numbers(TIME, BATCH, SIZE, open_sizes=True)
    zeros = tf.zeros([tf.shape(x)[1], HIDDEN])
    if cell == "lstm":
        w, b = numbers(SIZE + HIDDEN, 4 * HIDDEN), numbers(4 * HIDDEN)
        y = recurrent.lstm(x, w, b, zeros[tf.newaxis], zeros[tf.newaxis])[0]
    else:
        w, b = numbers(SIZE, 3 * HIDDEN), numbers(HIDDEN, 3 * HIDDEN)
        lengths = tf.fill([tf.shape(x)[1]], tf.shape(x)[0])
        y = recurrent.gru(x, w, b, numbers(3 * HIDDEN), numbers(3 * HIDDEN), lengths, zeros)[0]
    assert y.get_shape().as_list() == [None, None, HIDDEN]
    with tf.Session(config=npu()) as session:
        assert session.run([y, tf.gradients(y, [x, w])], numbers.feeds)[0].shape == (TIME, BATCH, HIDDEN)


def test_what_stands_beyond_the_end_of_a_sequence_does_not_matter():
    numbers = Numbers(np.float32)
    x, w, b = numbers(TIME, 1, SIZE), numbers(SIZE + HIDDEN, 4 * HIDDEN), numbers(4 * HIDDEN)
    zeros = tf.zeros([1, 1, HIDDEN])
    y, h, c = recurrent.lstm(x, w, b, zeros, zeros, tf.constant([2]))[:3]
    spoilt = {**numbers.feeds, x: np.where(np.arange(TIME)[:, None, None] < 2, numbers.feeds[x], np.nan)}
    with tf.Session() as session:
        for clean, odd in zip(session.run([y, h, c], numbers.feeds), session.run([y, h, c], spoilt)):
            np.testing.assert_array_equal(clean, odd)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_lstm_at_the_devices_precision(dtype):
    numbers = Numbers(dtype)
    x, w, b = numbers(TIME, BATCH, SIZE), numbers(SIZE + HIDDEN, 4 * HIDDEN), numbers(4 * HIDDEN)
    zeros = tf.zeros([1, BATCH, HIDDEN], dtype)
    y = recurrent.lstm(x, w, b, zeros, zeros)[0]
    grads = tf.gradients(y, [w, b])
    by_hand = lstm_by_hand(
        *(tf.cast(one, tf.float64) for one in (x, w, b, zeros, zeros)), tf.constant([TIME] * BATCH), 0.0
    )[0]
    with tf.Session() as session:
        exact = session.run(by_hand, numbers.feeds)
    precise = overriding(current_overrides()._replace(device_precision="on"))
    with precise, tf.Session(config=npu(precision_mode="allow_mix_precision")) as session:
        got, slopes = session.run([y, grads], numbers.feeds)
    decided = {entry.op for entry in process_trace().runs[-1].partition.host}
    assert not decided & {"DynamicRnnV2", "DynamicRnnGrad"}
    assert np.abs(got - exact).max() < 4e-3 and not np.array_equal(got, exact)
    np.testing.assert_array_equal(got, got.astype(np.float16))
    assert all(np.isfinite(slope).all() for slope in slopes)
