"""One small graph for each operator of the error table, built at any float dtype."""

from __future__ import annotations

import numpy as np
import tensorflow.compat.v1 as tf

from tests.device.arithmetic import draw

_LABELS = np.eye(6)[[0, 3, 5, 2]]
_IMAGES = draw(2, 6, 6, 4, seed=1)
_KERNEL = draw(3, 3, 4, 8, seed=2)
_A, _B = draw(4, 6), draw(4, 6, seed=3)
_POSITIVE = draw(4, 6, seed=4, low=0.1, high=3)


#: Operator to its operands and what builds it from tensors.
OPERATORS = {
    "MatMul": ([_A, draw(6, 5, seed=5)], tf.matmul),
    "BatchMatMulV2": ([draw(2, 4, 6), draw(2, 6, 3, seed=5)], tf.matmul),
    "Conv2D": ([_IMAGES, _KERNEL], lambda x, k: tf.nn.conv2d(x, k, strides=[1, 1, 1, 1], padding="SAME")),
    "Conv2DBackpropInput": (
        [_KERNEL, draw(2, 6, 6, 8, seed=6)],
        lambda k, g: tf.nn.conv2d_backprop_input([2, 6, 6, 4], k, g, strides=[1, 1, 1, 1], padding="SAME"),
    ),
    "Conv2DBackpropFilter": (
        [_IMAGES, draw(2, 6, 6, 8, seed=6)],
        lambda x, g: tf.nn.conv2d_backprop_filter(x, [3, 3, 4, 8], g, strides=[1, 1, 1, 1], padding="SAME"),
    ),
    "DepthwiseConv2dNative": (
        [_IMAGES, draw(3, 3, 4, 2, seed=7)],
        lambda x, k: tf.nn.depthwise_conv2d(x, k, strides=[1, 1, 1, 1], padding="SAME"),
    ),
    "AddV2": ([_A, _B], lambda a, b: tf.raw_ops.AddV2(x=a, y=b)),
    "Sub": ([_A, _B], tf.subtract),
    "Mul": ([_A, _B], tf.multiply),
    "RealDiv": ([_A, _POSITIVE], tf.realdiv),
    "Maximum": ([_A, _B], tf.maximum),
    "SquaredDifference": ([_A, _B], tf.math.squared_difference),
    "BiasAdd": ([_A, draw(6, seed=8)], tf.nn.bias_add),
    "AddN": ([_A, _B], lambda a, b: tf.add_n([a, b])),
    "Neg": ([_A], tf.negative),
    "Abs": ([_A], tf.abs),
    "Square": ([_A], tf.square),
    "Sqrt": ([_POSITIVE], tf.sqrt),
    "Rsqrt": ([_POSITIVE], tf.math.rsqrt),
    "Reciprocal": ([_POSITIVE], tf.math.reciprocal),
    "Exp": ([_A], tf.exp),
    "Log": ([_POSITIVE], tf.log),
    "Log1p": ([_POSITIVE], tf.math.log1p),
    "Tanh": ([_A], tf.tanh),
    "Sigmoid": ([_A], tf.sigmoid),
    "Softplus": ([_A], tf.nn.softplus),
    "Erf": ([_A], tf.math.erf),
    "Relu": ([_A], tf.nn.relu),
    "Relu6": ([_A], tf.nn.relu6),
    "Softmax": ([_A], tf.nn.softmax),
    "LogSoftmax": ([_A], tf.nn.log_softmax),
    "Sum": ([_A], lambda a: tf.reduce_sum(a, 1)),
    "Mean": ([_A], lambda a: tf.reduce_mean(a, 1)),
    "Max": ([_A], lambda a: tf.reduce_max(a, 1)),
    "AvgPool": ([_IMAGES], lambda x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    "MaxPool": ([_IMAGES], lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    "L2Loss": ([_A], tf.nn.l2_loss),
    "SoftmaxCrossEntropyWithLogits": (
        [_A, _LABELS],
        lambda a, labels: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=a, labels=labels)[0],
    ),
    "Transpose": ([_A], tf.transpose),
    "ConcatV2": ([_A, _B], lambda a, b: tf.concat([a, b], 1)),
    "GatherV2": ([_A], lambda a: tf.gather(a, [2, 0, 3])),
    "Tile": ([_A], lambda a: tf.tile(a, [1, 2])),
    "Pad": ([_A], lambda a: tf.pad(a, [[1, 1], [0, 2]])),
}


def build(operator, dtype, magnitude=False):
    """The operator on its operands; with ``magnitude`` on their absolute values."""
    operands, make = OPERATORS[operator]
    found = []
    for position, values in enumerate(operands):
        values = np.abs(values) if magnitude else values
        found.append(tf.placeholder_with_default(values.astype(dtype), values.shape, name=f"{operator}_in{position}"))
    with tf.name_scope(f"{operator}_"):
        return make(*found)
