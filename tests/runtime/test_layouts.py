"""Operators whose layout has the channels first: their values, and that nothing else shows how they come about."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_bridge.npu_init import without_npu_compile_scope
from npu_conformance.inspecting import dumps
from npu_conformance.inspecting.registry import Inspected
from npu_reference.catalog import OpList
from npu_reference.device.numerics.layouts import LAYOUTS, compute_channels_last
from npu_reference.graphs import OPS
from npu_reference.options.typed import DataDump
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation
from tests.runtime.comparing import control_flow, npu, plain
from tests.runtime.layouts import CASES

#: Operators of the list of cases that no device has: the tests give it them.
_ADDED = ("MaxPoolGradV2", "MaxPoolGradGradV2")

#: Operators that every CPU kernel of TensorFlow computes in both layouts.
_BOTH_LAYOUTS = {"BiasAdd", "BiasAddGrad"}


def compute(first, config):
    """The results of all cases, and the record of the run if it was the device's."""
    process_trace().clear()
    with tf.Graph().as_default():
        made = {name: case.build(first) for name, case in CASES.items()}
        with tf.Session(config=config) as session:
            found = session.run(made)
    return found, process_trace().runs


@pytest.fixture(scope="module")
def computed():
    """By case: what TensorFlow computes with the channels last, and the device with the channels first."""
    expected, _ = compute(False, plain())
    op_list = OpList.built_in()
    for op in _ADDED:
        op_list = op_list.with_operator(op)
    activation.activate()
    try:
        with overriding(current_overrides()._replace(op_list=op_list)):
            found, runs = compute(True, npu())
    finally:
        activation.deactivate()
    kept = {entry.op for entry in runs[0].partition.host}
    return {name: (CASES[name].op in kept, expected[name], found[name]) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_with_the_channels_first_computes_what_it_does_with_them_last(computed, name):
    on_host, expected, found = computed[name]
    assert not on_host
    # TensorFlow's own kernels with the channels first add up in another order.
    rtol = 1e-6 if CASES[name].op in _BOTH_LAYOUTS else 0
    for one, other in zip(expected, found):
        np.testing.assert_allclose(other, one, rtol=rtol, atol=0)


def test_every_operator_with_a_layout_is_known():
    layouts = {b"NCHW", b"NCDHW"}
    having = set()
    for name in OPS.names():
        attr = OPS.get(name).attrs.get("data_format")
        if not name.startswith("_") and attr is not None and layouts & set(attr.allowed.list.s):
            having.add(name)
    nobodys = {"RiscConv", "RiscPool", "Conv2DBackpropInputV2", "Conv2DBackpropFilterV2"}  # neither CPU nor device
    assert having == set(LAYOUTS) | _BOTH_LAYOUTS | nobodys
    for name, parts in LAYOUTS.items():
        op_def = OPS.get(name)
        assert {*parts.images, *parts.sizes} <= {arg.name for arg in op_def.inputs}
        assert set(parts.results) <= {arg.name for arg in op_def.outputs}
    assert {case.op for case in CASES.values()} == set(LAYOUTS) | _BOTH_LAYOUTS


# -- networks ------------------------------------------------------------------------------------------------------


class Layout:
    """One of both layouts, as a script says it."""

    def __init__(self, first):
        self.name = "NCHW" if first else "NHWC"
        self.first = first

    def of(self, sizes):
        return [sizes[at] for at in (0, 3, 1, 2)] if self.first else sizes

    def image(self, x):
        return tf.transpose(x, [0, 3, 1, 2]) if self.first else x

    def back(self, x):
        return tf.transpose(x, [0, 2, 3, 1]) if self.first else x

    def block(self, x, kernel):
        y = tf.nn.conv2d(x, kernel, self.of([1, 1, 1, 1]), "SAME", data_format=self.name)
        y = tf.nn.relu(tf.nn.bias_add(y, [0.1, 0.2, 0.3], data_format=self.name))
        return tf.nn.max_pool(y, self.of([1, 3, 3, 1]), self.of([1, 1, 1, 1]), "SAME", data_format=self.name)


def _in_a_row(layout, x, kernel):
    y, _, _ = tf.nn.fused_batch_norm(
        layout.block(layout.block(x, kernel), kernel), [1.0, 2.0, 0.5], [0.0] * 3, data_format=layout.name
    )
    return tf.nn.avg_pool(y, layout.of([1, 2, 2, 1]), layout.of([1, 2, 2, 1]), "VALID", data_format=layout.name)


def _in_a_loop_and_a_branch(layout, x, kernel):
    def turn(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: layout.block(y, kernel), lambda: 2 * y)

    return tf.while_loop(lambda i, y: i < 3, turn, [0, x])[1]


def _in_a_function(layout, x, kernel):
    block = tf.function(layout.block, autograph=False)
    return block(block(x, kernel), kernel)


_NETWORKS = [
    (_in_a_row, 1, "on"),
    (_in_a_loop_and_a_branch, 1, "off"),
    (_in_a_loop_and_a_branch, 2, "on"),
    (_in_a_function, 1, "off"),
]


def train(network, first, config):
    """What a network gives, its loss and the gradient of its kernel, in two steps."""
    layout = Layout(first)
    with tf.Graph().as_default():
        rng = np.random.RandomState(0)
        x = tf.constant(rng.randn(2, 6, 6, 3), tf.float32)
        kernel = tf.get_variable("kernel", initializer=tf.constant(rng.uniform(-0.3, 0.3, [3, 3, 3, 3]), tf.float32))
        y = layout.back(network(layout, layout.image(x), kernel))
        loss = tf.reduce_mean(y**2)
        gradient = tf.gradients(loss, kernel)[0]
        with tf.control_dependencies([tf.identity(gradient)]):
            step = tf.assign_sub(kernel, 0.1 * gradient)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([y, loss, gradient, step]) for _ in range(2)]


@pytest.mark.parametrize("network, version, precision", _NETWORKS)
def test_a_network_trains_the_same_in_both_layouts(network, version, precision):
    """Full offload: everything is in one GEOP, with device precision on at float16 where there is a kernel for it."""
    config = npu(mix_compile_mode=False, precision_mode="allow_mix_precision")
    with control_flow(version), overriding(current_overrides()._replace(device_precision=precision)):
        expected, found = (train(network, first, config) for first in (False, True))
    assert not any(entry.op in LAYOUTS for run in process_trace().runs for entry in run.partition.host)
    for one, other in zip(expected, found):
        for left, right in zip(one, other):
            np.testing.assert_allclose(right, left, rtol=1e-5, atol=1e-6)


# -- what is not to be seen ----------------------------------------------------------------------------------------


def convolution(x, name="conv"):
    return tf.nn.conv2d(x, np.ones([2, 2, 3, 4], np.float32), [1, 1, 2, 2], "SAME", data_format="NCHW", name=name)


def test_a_dump_has_the_graphs_own_operators_and_layout(tmp_path):
    x = np.random.RandomState(0).rand(2, 3, 4, 4).astype(np.float32)
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, x.shape, name="x")
        y = tf.nn.relu(convolution(fed), name="relu")
        wanted = DataDump(str(tmp_path), None, "all")
        with overriding(current_overrides()._replace(dump=wanted)), tf.Session(config=npu()) as session:
            expected = session.run(y, {fed: x})
    found = {one.label: one for one in dumps.tensors(Inspected(str(tmp_path), {}))}
    assert set(found) == {"conv input 0", "conv input 1", "conv:0", "relu input 0", "relu:0"}
    assert found["conv:0"].tensor.format == "NCHW" and found["conv:0"].tensor.shape == (2, 4, 2, 2)
    np.testing.assert_array_equal(dumps.array(found["conv input 0"]), x)
    np.testing.assert_array_equal(dumps.array(found["relu:0"]), expected)


def test_a_function_that_the_host_may_call_is_not_changed():
    with tf.Graph().as_default() as graph:
        block = tf.function(lambda x: tf.nn.relu(convolution(x)), autograph=False)
        tf.identity(block(tf.placeholder(tf.float32, [2, 3, 4, 4])), name="y")
        graph_def = graph.as_graph_def()
    (called,) = (node for node in graph_def.node if "PartitionedCall" in node.op)
    name = called.attr["f"].func.name
    before = type(graph_def)()
    before.CopyFrom(graph_def)
    # The one that calls it stands for a GEOP.
    geop = graph_def.library.function.add()
    geop.signature.name = "GeOp_0"
    geop.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    call = geop.node_def.add()
    call.CopyFrom(called)
    call.input[:] = ["x"]
    compute_channels_last(graph_def, ["GeOp_0"])
    after = {function.signature.name: function for function in graph_def.library.function}
    assert all(after[function.signature.name] == function for function in before.library.function)
    copy = after[call.attr["f"].func.name]
    assert copy.signature.name != name
    own, copied = (Counter(node.op for node in after[one].node_def) for one in (name, copy.signature.name))
    assert copied - own == Counter(Transpose=2, Const=2)


def test_an_image_of_another_rank_is_an_error_of_the_operator():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, None, name="x")
        y = convolution(x)
        with tf.Session(config=npu()) as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(y, {x: np.zeros([2, 3, 4])})
    assert caught.value.op is y.op and "npu_channels" not in str(caught.value)


def test_what_stays_on_the_host_is_computed_there_by_tensorflow_and_its_error_says_why_it_stayed():
    with tf.Graph().as_default():
        with without_npu_compile_scope():
            y = tf.raw_ops.SpaceToDepth(input=tf.zeros([1, 2, 4, 4]), block_size=2, data_format="NCHW", name="split")
        product = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        refused = pytest.raises(tf.errors.InvalidArgumentError, match="without_npu_compile_scope")
        with tf.Session(config=npu()) as session, refused as caught:
            session.run([y, product])
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as plain:
            session.run([y, product])
    assert caught.value.op is plain.value.op and "NCHW" in str(caught.value)
