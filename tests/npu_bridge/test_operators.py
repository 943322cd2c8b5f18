"""The adapter's operators as scripts call them: forms of call, names of variables, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_bridge.estimator import npu_aicore_ops, npu_ops
from npu_bridge.estimator.npu.npu_compile import npu_compile
from npu_bridge.estimator.npu.npu_dynamic_rnn import DynamicAUGRU, DynamicGRUV2, DynamicRNN
from npu_bridge.estimator.npu_unary_ops import npu_unary_ops
from npu_bridge.hccl import hccl_ops
from npu_bridge.helper.helper import get_gen_ops
from npu_bridge.npu_cpu.npu_cpu_ops import randomchoicewithmask
from npu_bridge.npu_init import npu_config_proto, npu_rnn
from npu_bridge.tbe import npu_vector_ops
from npu_bridge.tbe.npu_cube_ops import deformable_conv2d
from npu_reference import NpuError, graphs
from npu_reference.runtime import ranks


@pytest.fixture(autouse=True)
def fresh_graph(monkeypatch):
    monkeypatch.delenv("RANK_SIZE", raising=False)
    ranks.forget_groups()
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield


def run(tensors, feeds=None):
    with tf.Session(config=npu_config_proto()) as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors, feeds)


def operators():
    graph = graphs.graph_from_def(tf.get_default_graph().as_graph_def())
    return {node.op for node in graph.nodes if node.op != node.proto.op}


@pytest.mark.parametrize(
    "call",
    [
        lambda x: npu_ops.dropout(x, 0.5),
        lambda x: npu_ops.dropout(x, keep_prob=0.5),
        lambda x: npu_ops.dropout(x, keep_prob=0.5, name="drop"),
        lambda x: npu_ops.dropout(x, 0.5, noise_shape=None, seed=None, name=None),
        lambda x: npu_ops.dropout(x, keep_prob=0.5, seed=3),
        lambda x: npu_ops.dropout(x, tf.placeholder_with_default(0.5, [])),
    ],
)
def test_forms_of_dropout(call):
    assert set(np.unique(run(call(tf.ones([100]))))) == {0.0, 2.0}
    assert operators() == {"DropOutGenMask", "DropOutDoMask"}


def test_the_result_of_dropout_has_the_name_given():
    assert npu_ops.dropout(tf.ones([3]), 0.5, name="drop").name == "drop:0"


def test_gelu_can_take_the_place_of_another_function():
    function = npu_unary_ops.gelu
    assert run(function(tf.constant(1.0))) == pytest.approx(0.841192, abs=1e-6)
    assert npu_aicore_ops.prelu(tf.ones([2, 3]), tf.constant([0.1])).shape.as_list() == [2, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: DynamicRNN(dtype=tf.float32, forget_bias=1.0, hidden_size=6),
        lambda: DynamicRNN(dtype=tf.float32, hidden_size=6),
        lambda: DynamicRNN(6, tf.float32, forget_bias=1.0, time_major=True),
    ],
)
def test_forms_of_dynamic_rnn(make):
    cell = make()
    x = tf.placeholder(tf.float32, [4, 3, 5])
    y, output_h, output_c, i, j, f, o, tanhct = cell(x)
    assert all(one.shape.as_list() == [4, 3, 6] for one in (y, output_h, output_c, i, j, f, o, tanhct))
    assert len(cell(x, seq_length=tf.constant([1, 2, 4]))) == 8
    values = run([y, output_c, o, tanhct], {x: np.ones([4, 3, 5])})
    np.testing.assert_allclose(values[0], values[2] * values[3], rtol=1e-6)
    assert operators() == {"DynamicRnn", "DynamicRnnV2"}


def test_variables_are_made_once_and_have_the_names_of_checkpoints():
    x = tf.placeholder(tf.float32, [4, 3, 5])
    with tf.variable_scope("model"):
        cell = DynamicRNN(6, tf.float32)
        assert cell.variables == []
        cell(x)
        cell(x)
        DynamicRNN(6, tf.float32)(x)
    DynamicGRUV2(6, dtype=tf.float32)(x)
    DynamicAUGRU(6, dtype=tf.float32)(x, tf.ones([4, 3]))
    shapes = {variable.op.name: variable.shape.as_list() for variable in tf.global_variables()}
    lengths = {"dynamicbase/seq_length": [3]}
    lstm = {"dynamicrnn/w": [11, 24], "dynamicrnn/b": [24], **lengths}
    gates = {"weight_input": [5, 18], "weight_hidden": [6, 18], "bias_input": [18], "bias_hidden": [18]}
    expected = {
        f"model/{layer}/{name}": shape for layer in ("dynamic_rnn", "dynamic_rnn_1") for name, shape in lstm.items()
    }
    for layer, prefix in (("dynamic_gruv2", "dynamicgruv2"), ("dynamic_augru", "dynamicaugru")):
        expected.update({f"{layer}/{prefix}/{name}": shape for name, shape in gates.items()})
        expected[f"{layer}/dynamicbase/seq_length"] = [3]
    assert shapes == expected
    assert [variable.op.name for variable in cell.trainable_variables] == [
        "model/dynamic_rnn/dynamicrnn/w",
        "model/dynamic_rnn/dynamicrnn/b",
    ]
    assert len(tf.trainable_variables()) == 12


@pytest.mark.parametrize(
    "layer, time, batch",
    [(DynamicRNN, 4, None), (DynamicRNN, None, None), (DynamicGRUV2, 4, 3), (DynamicGRUV2, None, 3)],
)
def test_a_layer_trains_whatever_sizes_are_known(layer, time, batch):
    x = tf.placeholder(tf.float32, [time, batch, 5])
    cell = layer(6, tf.float32)
    loss = tf.reduce_sum(tf.square(cell(x)[0] - 0.5))
    step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    with tf.Session(config=npu_config_proto()) as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {x: np.ones([4, 3, 5])})[0] for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]
    assert cell.trainable_variables and all(grad is not None for grad in tf.gradients(loss, cell.trainable_variables))


def test_a_gru_of_full_lengths_is_one_without_lengths():
    x = tf.placeholder(tf.float32, [4, 3, 5])
    cell = DynamicGRUV2(6, tf.float32)
    without, full = cell(x), cell(x, seq_length=tf.constant([4, 4, 4], tf.int64))
    attended = DynamicAUGRU(6, tf.float32)(x, tf.zeros([4, 3]))
    assert (len(without), len(attended)) == (6, 7)
    for one, other in zip(*run([without, full], {x: np.ones([4, 3, 5])})):
        np.testing.assert_array_equal(one, other)


def test_own_weights_and_states_may_be_given():
    x = tf.ones([2, 3, 5])
    weight, bias = tf.zeros([11, 24]), tf.zeros([24])
    y, _, c = DynamicRNN(6, tf.float32)(
        x, init_h=tf.zeros([1, 3, 6]), init_c=tf.ones([1, 3, 6]), weight=weight, bias=bias
    )[:3]
    np.testing.assert_allclose(run(c)[:, 0, 0], [0.5, 0.25])
    assert DynamicGRUV2(6, tf.float32)(x, init_h=tf.zeros([1, 3, 6]))[0].shape.as_list() == [2, 3, 6]
    assert y.shape.as_list() == [2, 3, 6]


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"direction": "BIDIRECTIONAL"}, "direction"),
        ({"cell_type": "GRU"}, "cell_type"),
        ({"use_peephole": True}, "use_peephole"),
        ({"cell_clip": 3.0}, "cell_clip"),
        ({"num_proj": 2}, "num_proj"),
        ({"activation": "relu"}, "activation"),
        ({"keep_prob": 0.5}, "keep_prob"),
        ({"cell_depth": 2}, "cell_depth"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"hidden_size": "6"}, "hidden_size"),
    ],
)
def test_what_a_layer_does_not_compute_is_refused_by_name(arguments, named):
    with pytest.raises(NpuError, match=f"DynamicRNN: {named}"):
        DynamicRNN(**{"hidden_size": 6, "dtype": tf.float32, **arguments})
    if named == "hidden_size":
        return
    with pytest.raises((NpuError, TypeError)):
        DynamicGRUV2(**{"hidden_size": 6, "dtype": tf.float32, **arguments})


@pytest.mark.parametrize(
    "x", [tf.float64, [4, 5], [4, 3, None], None], ids=["dtype", "two dimensions", "open size", "open rank"]
)
def test_an_input_that_a_layer_cannot_take_is_named(x):
    shape, dtype = ([4, 3, 5], x) if isinstance(x, tf.DType) else (x, tf.float32)
    with pytest.raises(NpuError, match="DynamicRNN: x"):
        DynamicRNN(6, tf.float32)(tf.placeholder(dtype, shape))


def test_one_step_of_an_lstm():
    x, h, c = tf.ones([2, 3]), tf.zeros([2, 4]), tf.zeros([2, 4])
    w, b = tf.ones([7, 16]), tf.zeros([16])
    outputs = npu_ops.basic_lstm_cell(x, h, c, w, b, 1.0, 1.0, True, "tanh")
    assert len(outputs) == 7 and run(outputs[0]).shape == (2, 4)
    with pytest.raises(NpuError, match="keep_prob"):
        npu_ops.basic_lstm_cell(x, h, c, w, b, 0.5, 1.0, True, "tanh")


def test_the_other_operators_are_there():
    w = [tf.ones([3]), tf.ones([2, 2])]
    scaled = npu_ops.LARS(inputs_w=w, inputs_g=w, weight_decay=0.1, hyperpara=0.01, epsilon=1e-5)
    assert [one.shape.as_list() for one in scaled] == [[3], [2, 2]]
    places, chosen = randomchoicewithmask(tf.constant([[True, False], [True, True]]), 2)
    assert run(places).shape == (2, 2) and chosen.dtype == tf.bool
    offsets = tf.concat([tf.zeros([1, 4, 4, 18]), tf.ones([1, 4, 4, 9])], 3)
    conv = deformable_conv2d(tf.ones([1, 4, 4, 2]), tf.ones([3, 3, 2, 5]), offsets, [1, 1, 1, 1], [1, 1, 1, 1])
    assert run(conv).shape == (1, 4, 4, 5)


# -- collective communication ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reduce",
    [
        lambda t: hccl_ops.allreduce(t, "sum"),
        lambda t: hccl_ops.allreduce(t, reduction="max"),
        lambda t: hccl_ops.allreduce(t, fusion=0, reduction="min"),
        lambda t: hccl_ops.allreduce(t, "prod", fusion=2, fusion_id=1, group="hccl_world_group"),
        lambda t: hccl_ops.allgather(t, 1),
        lambda t: hccl_ops.allgather(t, 1, group="hccl_world_group"),
        lambda t: hccl_ops.reduce_scatter(t, "sum", 1),
        lambda t: hccl_ops.reduce(t, "sum", 0),
        lambda t: hccl_ops.broadcast([t], 0)[0],
        lambda t: hccl_ops.broadcast(tensor=[t], root_rank=0)[0],
    ],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32])
def test_collectives_of_one_device_give_the_tensor_and_its_gradient(reduce, dtype):
    x = tf.placeholder(dtype, [2, 3])
    y = reduce(x)
    assert (y.dtype, y.shape.as_list()) == (dtype, [2, 3])
    values = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(run(y, {x: values}), values)
    if dtype != tf.int32:
        grad = tf.gradients(y * 2, [x])[0]
        np.testing.assert_array_equal(run(grad, {x: values}), np.full([2, 3], 2.0))
        # All of it is communication, and on the device.
        assert all(op.startswith("Hcom") for op in operators())


def test_broadcast_takes_and_gives_a_list_of_one_operation():
    variable = tf.get_variable("variable", [2], initializer=tf.ones_initializer())
    outputs = hccl_ops.broadcast([variable, tf.constant(3)], 0)
    assert isinstance(outputs, list) and outputs[0].op is outputs[1].op
    assigned = tf.assign(variable, outputs[0])
    with tf.control_dependencies([outputs[0].op]):
        after = tf.identity(variable)
    first, second, third = run([assigned, outputs[1], after])
    assert first.tolist() == third.tolist() == [1.0, 1.0] and second == 3


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda t: hccl_ops.allreduce(t, "avg"), "reduction"),
        (lambda t: hccl_ops.allreduce(t, "sum", fusion=3), "fusion"),
        (lambda t: hccl_ops.allreduce(t, "sum", fusion=2), "fusion_id"),
        (lambda t: hccl_ops.allreduce(t, "sum", fusion="1"), "fusion"),
        (lambda t: hccl_ops.allreduce(t, "sum", group="mine"), "group"),
        (lambda t: hccl_ops.allgather(t, 2), "rank_size"),
        (lambda t: hccl_ops.broadcast([t], 1), "root_rank"),
        (lambda t: hccl_ops.broadcast([], 0), "nothing to broadcast"),
        (lambda t: hccl_ops.send(t, 1, 0), "send"),
        (lambda t: hccl_ops.receive([2], tf.float32, 1, 0), "receive"),
        (lambda t: hccl_ops.remote_read(t, data_type=tf.float32), "remote_read"),
        (lambda t: hccl_ops.remote_write(t, t, data_type=tf.float32), "remote_write"),
    ],
)
def test_what_collectives_cannot_do_is_refused_by_name(call, named):
    with pytest.raises(NpuError, match=named):
        call(tf.ones([2]))


def test_a_group_of_one_is_one_device(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "8")
    ranks.create_group("mine", 1, [0])
    assert run(hccl_ops.allreduce(tf.ones([2]), "sum", group="mine")).tolist() == [1.0, 1.0]


# -- Keras -------------------------------------------------------------------------------------------------------


@pytest.fixture
def converted():
    layers = getattr(getattr(tf, "keras", None), "layers", None)
    if not hasattr(getattr(layers, "Dropout", None), "_get_noise_shape"):
        pytest.skip("this TensorFlow has no Keras that builds graphs")
    original = layers.Dropout.call
    from npu_bridge.estimator.npu import npu_convert_dropout

    npu_convert_dropout.replace()
    yield layers.Dropout
    layers.Dropout.call = getattr(layers.Dropout.call, "_npu_original", original)


def test_importing_npu_convert_dropout_makes_keras_drop_on_the_device(converted):
    training = tf.placeholder_with_default(True, [])
    y = converted(0.75, seed=5)(tf.ones([400]), training=training)
    dropped, kept = run([y]), run([y], {training: False})
    assert set(np.unique(dropped[0])) == {0.0, 4.0} and np.all(kept[0] == 1.0)
    assert {"DropOutGenMask", "DropOutDoMask"} <= {
        node.op
        for graph in [graphs.graph_from_def(tf.get_default_graph().as_graph_def())]
        for body in [graph, *(function.body for function in graph.functions.values())]
        for node in body.nodes
    }


def test_a_keras_layer_that_does_not_train_drops_nothing(converted):
    x = tf.ones([10])
    assert np.all(run(converted(0.5)(x, training=False)) == 1.0)
    assert np.all(run(converted(0.0)(x, training=True)) == 1.0)
    assert len(set(run(converted(0.5, noise_shape=[1])(tf.ones([50]), training=True)))) == 1


def test_the_library_has_the_operators_that_are_simulated_by_their_own_names():
    library = get_gen_ops()
    for name in ("npu_alloc_float_status", "dropout", "fast_gelu"):
        assert getattr(library, name).__name__ == getattr(npu_ops.gen_npu_ops, name).__name__ == name
    assert library.random_choice_with_mask.__name__ == randomchoicewithmask.__name__
    assert library.npu_alloc_float_status().dtype == tf.float32
    with pytest.raises(AttributeError, match=r"no_such_operator \(test_operators.py:\d+\)"):
        library.no_such_operator()


def test_compiling_ahead_changes_nothing():
    x = tf.constant([1.0, 2.0]) * 2.0
    with tf.Session(config=npu_config_proto()) as session:
        assert npu_compile(session, [x]) is None
        assert session.run(x).tolist() == [2.0, 4.0]


class TestFusedOptimizerSteps:
    """Each beside the formula of its paper, in float64."""

    grad, v, m, w = (np.random.RandomState(seed).rand(3, 4).astype("f4") - 0.3 * (seed != 1) for seed in range(4))
    new_v, new_m = 0.999 * v + 0.001 * grad**2, 0.9 * m + 0.1 * grad

    def variables(self):
        return [tf.Variable(value) for value in (self.v, self.m, self.w)]

    def after(self, step, variables):
        with tf.control_dependencies([tf.convert_to_tensor(result) for result in step]):
            read = [variable.read_value() for variable in variables]
        return run(read)

    @pytest.mark.parametrize("decay", [(), (0.01,)])
    def test_a_step_of_adam_moves_its_three_variables(self, decay):
        variables = self.variables()
        step = npu_ops.adam_apply_one_with_decay_assign if decay else npu_ops.adam_apply_one_assign
        results = step(tf.constant(self.grad), *variables, tf.constant(0.1), 0.9, 0.1, 0.999, 1 - 0.999, *decay, 1e-6)
        got = self.after(results, variables)
        direction = self.new_m / (np.sqrt(self.new_v) + 1e-6) + (0.01 * self.w if decay else 0)
        for one, wanted in zip(got, (self.new_v, self.new_m, self.w - 0.1 * direction)):
            np.testing.assert_allclose(one, wanted, rtol=1e-4)
        assert operators() == {"AdamApplyOneWithDecayAssign" if decay else "AdamApplyOneAssign"}

    @pytest.mark.parametrize("weight", [w, 0 * w], ids=["a weight", "a weight of zeros, which has no ratio"])
    def test_a_step_of_lamb_scales_by_the_two_norms(self, weight):
        v, m, _ = self.variables()
        w = tf.Variable(weight)
        step = npu_vector_ops.lamb_apply_optimizer_assign(
            tf.constant(self.grad), v, m, w, 0.9, 0.1, 0.999, 0.001, 1e-6, 3.0, 1.0, 0.01
        )
        with tf.control_dependencies(step[1:]):
            new = npu_vector_ops.lamb_apply_weight_assign(tf.norm(w), tf.norm(step[0]), 0.1, step[0], w)
        got = self.after([new], [v, m, w])
        direction = self.new_m / (1 - 0.9**3) / (np.sqrt(self.new_v / (1 - 0.999**3)) + 1e-6) + 0.01 * weight
        ratio = np.linalg.norm(weight) / np.linalg.norm(direction) if weight.any() else 1.0
        for one, wanted in zip(got, (self.new_v, self.new_m, weight - 0.1 * ratio * direction)):
            np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-6)
        assert operators() == {"LambApplyOptimizerAssign", "LambApplyWeightAssign"}


def test_an_operator_of_the_library_that_no_function_builds_is_refused_by_its_name_and_place():
    build = npu_ops.gen_npu_ops.get_next
    refused = r"get_next \(test_operators.py:\d+\): the adapter has it, and it is not simulated: .*GetNext"
    with pytest.raises(NotImplementedError, match=refused):
        build(output_types=[tf.int32], output_shapes=[[]], channel_name="c")


def test_a_recurrent_layer_of_written_out_steps_takes_and_gives_time_first():
    class Sum:
        output_size = state_size = 2

        def zero_state(self, batch_size, dtype):
            return tf.zeros([batch_size, 2], dtype)

        def __call__(self, inputs, state, scope=None):
            return inputs + state, inputs + state

    y, state = run(npu_rnn.npu_dynamic_rnn(Sum(), tf.ones([3, 1, 2]), dtype=tf.float32, sequence_length=[2]))
    assert y[:, 0, 0].tolist() == [1.0, 2.0, 0.0] and state.tolist() == [[2.0, 2.0]]
