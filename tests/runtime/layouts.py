"""Operators that have a layout: operands for one with the channels last, from which those of the other are made."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Sequence

import numpy as np
import tensorflow.compat.v1 as tf

TF1 = tf.__version__.startswith("1.")


class Case(NamedTuple):
    """One operator, channels last.

    Attributes:
        op: of TensorFlow.
        operands: arrays by argument.
        images: arguments in the layout.
        attrs: its attributes but the layout.
        sizes: arguments with a number for each dimension.
        results: of its first outputs: whether each is in the layout.
    """

    op: str
    operands: Dict[str, Any]
    images: Sequence[str]
    attrs: Dict[str, Any]
    sizes: Sequence[str] = ()
    results: Sequence[bool] = (True,)

    def build(self, first: bool) -> Sequence[Any]:
        """What it gives, always with the channels last.

        Args:
            first: whether it computes with the channels first.
        """
        rank = np.ndim(self.operands[self.images[0]])
        to_first, to_last = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
        order = to_first if first else list(range(rank))
        operands = {}
        for name, value in self.operands.items():
            value = np.transpose(value, order) if name in self.images else value
            value = np.take(value, order) if name in self.sizes else value
            # A placeholder's value is not known before it runs: nothing is computed beforehand.
            is_known = value.dtype == np.int32
            operands[name] = tf.constant(value) if is_known else tf.placeholder_with_default(value, value.shape)
        spatial = "DHW"[5 - rank :]
        attrs = dict(self.attrs, data_format=f"NC{spatial}" if first else f"N{spatial}C")
        for name in {"strides", "ksize", "dilations"} & set(attrs):
            attrs[name] = [attrs[name][at] for at in order]
        if "explicit_paddings" in attrs:
            pairs = np.reshape(attrs["explicit_paddings"], [rank, 2])
            attrs["explicit_paddings"] = [int(size) for size in pairs[order].reshape(-1)]
        made = getattr(tf.raw_ops, self.op)(**operands, **attrs)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        return [tf.transpose(one, to_last) if image and first else one for one, image in zip(made, self.results)]


def _draw(*shape: int, low: float = -1.0) -> Any:
    return np.random.RandomState(sum(shape)).uniform(low, 2.0, shape).astype(np.float32)


def _sizes(*values: int) -> Any:
    return np.array(values, np.int32)


_X, _WINDOW = _draw(2, 6, 5, 4), {"strides": [1, 2, 1, 1], "padding": "SAME"}
_KERNEL, _OUT = _draw(3, 2, 4, 3), _draw(2, 3, 5, 3)
_EXPLICIT = {"strides": [1, 1, 2, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 1, 0, 0]}
_DEPTH_KERNEL, _DEPTH_OUT = _draw(3, 2, 4, 2), _draw(2, 3, 3, 8)
_EQUAL = {"strides": [1, 2, 2, 1], "padding": "SAME"}
_POOL = {"ksize": [1, 3, 2, 1], **_WINDOW}
_POOLED, _GIVEN = _draw(2, 3, 5, 4), {"ksize": _sizes(1, 3, 2, 1), "strides": _sizes(1, 2, 1, 1)}
_MAXIMA = {"orig_input": _X, "orig_output": _POOLED}
_V, _V_WINDOW = _draw(2, 4, 5, 6, 3), {"strides": [1, 2, 1, 3, 1], "padding": "SAME"}
_V_KERNEL, _V_OUT = _draw(2, 3, 2, 3, 2), _draw(2, 2, 5, 2, 2)
_V_POOL = {"ksize": [1, 2, 3, 2, 1], **_V_WINDOW}
_V_POOLED = _draw(2, 2, 5, 2, 3)
_V_MAXIMA = {"orig_input": _V, "orig_output": _V_POOLED}
_ALL_MAXIMA = ["orig_input", "orig_output", "grad"]
_SCALE = _draw(4, low=0.5)
_NOTHING = np.zeros([0], np.float32)


def _norm(op: str, x: Any = _X, training: bool = True) -> Case:
    mean, variance = (_NOTHING, _NOTHING) if training else (_SCALE - 1, _SCALE)
    operands = {"x": x, "scale": _SCALE, "offset": _SCALE - 1, "mean": mean, "variance": variance}
    # Not in training TensorFlow 1.15 leaves in the others what happens to be in memory.
    results = (True, False, False) if training else (True,)
    return Case(op, operands, ["x"], {"is_training": training}, results=results)


def _norm_grad(op: str, x: Any = _X, training: bool = True) -> Case:
    operands = {"y_backprop": x[::-1].copy(), "x": x, "scale": _SCALE}
    operands.update(reserve_space_1=_SCALE - 1, reserve_space_2=_SCALE)
    if op.endswith("V3"):
        operands["reserve_space_3"] = _NOTHING
    return Case(op, operands, ["y_backprop", "x"], {"is_training": training}, results=(True, False, False))


CASES = {
    "Conv2D": Case("Conv2D", {"input": _X, "filter": _KERNEL}, ["input"], _WINDOW),
    "Conv2D, explicit paddings": Case("Conv2D", {"input": _X, "filter": _KERNEL}, ["input"], _EXPLICIT),
    "Conv2D, dilated": Case(
        "Conv2D", {"input": _X, "filter": _KERNEL}, ["input"],
        {"strides": [1] * 4, "padding": "VALID", "dilations": [1, 2, 1, 1]},
    ),
    "Conv2DBackpropInput": Case(
        "Conv2DBackpropInput", {"input_sizes": _sizes(2, 6, 5, 4), "filter": _KERNEL, "out_backprop": _OUT},
        ["out_backprop"], _WINDOW, ["input_sizes"],
    ),
    "Conv2DBackpropInput, explicit paddings": Case(
        "Conv2DBackpropInput",
        {"input_sizes": _sizes(2, 6, 5, 4), "filter": _KERNEL, "out_backprop": _draw(2, 7, 3, 3)},
        ["out_backprop"], _EXPLICIT, ["input_sizes"],
    ),
    "Conv2DBackpropFilter": Case(
        "Conv2DBackpropFilter", {"input": _X, "filter_sizes": _sizes(3, 2, 4, 3), "out_backprop": _OUT},
        ["input", "out_backprop"], _WINDOW, results=(False,),
    ),
    "DepthwiseConv2dNative": Case(
        "DepthwiseConv2dNative", {"input": _X, "filter": _DEPTH_KERNEL}, ["input"], _EQUAL
    ),
    "DepthwiseConv2dNativeBackpropInput": Case(
        "DepthwiseConv2dNativeBackpropInput",
        {"input_sizes": _sizes(2, 6, 5, 4), "filter": _DEPTH_KERNEL, "out_backprop": _DEPTH_OUT},
        ["out_backprop"], _EQUAL, ["input_sizes"],
    ),
    "DepthwiseConv2dNativeBackpropFilter": Case(
        "DepthwiseConv2dNativeBackpropFilter",
        {"input": _X, "filter_sizes": _sizes(3, 2, 4, 2), "out_backprop": _DEPTH_OUT},
        ["input", "out_backprop"], _EQUAL, results=(False,),
    ),
    "AvgPool": Case("AvgPool", {"value": _X}, ["value"], _POOL),
    "AvgPoolGrad": Case(
        "AvgPoolGrad", {"orig_input_shape": _sizes(2, 6, 5, 4), "grad": _POOLED}, ["grad"], _POOL,
        ["orig_input_shape"],
    ),
    "MaxPool": Case("MaxPool", {"input": _X}, ["input"], _POOL),
    "MaxPoolV2": Case("MaxPoolV2", {"input": _X, **_GIVEN}, ["input"], {"padding": "SAME"}, list(_GIVEN)),
    "MaxPoolGrad": Case("MaxPoolGrad", {**_MAXIMA, "grad": _POOLED}, _ALL_MAXIMA, _POOL),
    "MaxPoolGradV2": Case(
        "MaxPoolGradV2", {**_MAXIMA, "grad": _POOLED, **_GIVEN}, _ALL_MAXIMA, {"padding": "SAME"}, list(_GIVEN)
    ),
    "MaxPoolGradGrad": Case("MaxPoolGradGrad", {**_MAXIMA, "grad": _X}, _ALL_MAXIMA, _POOL),
    "MaxPoolGradGradV2": Case(
        "MaxPoolGradGradV2", {**_MAXIMA, "grad": _X, **_GIVEN}, _ALL_MAXIMA, {"padding": "SAME"}, list(_GIVEN)
    ),
    "BiasAdd": Case("BiasAdd", {"value": _X, "bias": _SCALE}, ["value"], {}),
    "BiasAddGrad": Case("BiasAddGrad", {"out_backprop": _X}, ["out_backprop"], {}, results=(False,)),
    "DepthToSpace": Case("DepthToSpace", {"input": _X}, ["input"], {"block_size": 2}),
    "SpaceToDepth": Case("SpaceToDepth", {"input": _draw(2, 4, 6, 4)}, ["input"], {"block_size": 2}),
    **{f"FusedBatchNorm{version}": _norm(f"FusedBatchNorm{version}") for version in ("", "V2", "V3")},
    "FusedBatchNormV3, inference": _norm("FusedBatchNormV3", training=False),
    **{f"FusedBatchNormGrad{version}": _norm_grad(f"FusedBatchNormGrad{version}") for version in ("", "V2", "V3")},
    "FusedBatchNormGradV3, inference": _norm_grad("FusedBatchNormGradV3", training=False),
    "Conv3D": Case("Conv3D", {"input": _V, "filter": _V_KERNEL}, ["input"], _V_WINDOW),
    "Conv3DBackpropInputV2": Case(
        "Conv3DBackpropInputV2",
        {"input_sizes": _sizes(2, 4, 5, 6, 3), "filter": _V_KERNEL, "out_backprop": _V_OUT},
        ["out_backprop"], _V_WINDOW, ["input_sizes"],
    ),
    "Conv3DBackpropFilterV2": Case(
        "Conv3DBackpropFilterV2",
        {"input": _V, "filter_sizes": _sizes(2, 3, 2, 3, 2), "out_backprop": _V_OUT},
        ["input", "out_backprop"], _V_WINDOW, results=(False,),
    ),
    "AvgPool3D": Case("AvgPool3D", {"input": _V}, ["input"], _V_POOL),
    "AvgPool3DGrad": Case(
        "AvgPool3DGrad", {"orig_input_shape": _sizes(2, 4, 5, 6, 3), "grad": _V_POOLED}, ["grad"], _V_POOL,
        ["orig_input_shape"],
    ),
    "MaxPool3D": Case("MaxPool3D", {"input": _V}, ["input"], _V_POOL),
    "MaxPool3DGrad": Case("MaxPool3DGrad", {**_V_MAXIMA, "grad": _V_POOLED}, _ALL_MAXIMA, _V_POOL),
    "MaxPool3DGradGrad": Case("MaxPool3DGradGrad", {**_V_MAXIMA, "grad": _V}, _ALL_MAXIMA, _V_POOL),
}  # fmt: skip

_PADDED = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}
if not TF1:
    _VOLUME = _draw(2, 3, 4, 2, 4)
    CASES.update({
        "MaxPool, explicit paddings": Case("MaxPool", {"input": _X}, ["input"], {**_POOL, **_PADDED}),
        "DepthwiseConv2dNative, explicit paddings": Case(
            "DepthwiseConv2dNative", {"input": _X, "filter": _DEPTH_KERNEL}, ["input"], {**_EQUAL, **_PADDED}
        ),
        "FusedBatchNormV3, three dimensions": _norm("FusedBatchNormV3", _VOLUME),
        "FusedBatchNormGradV3, three dimensions": _norm_grad("FusedBatchNormGradV3", _VOLUME),
    })  # fmt: skip
