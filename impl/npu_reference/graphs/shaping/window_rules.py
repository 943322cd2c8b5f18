"""Shapes of products of matrices, and of operators that move windows over images."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from npu_reference.graphs.shaping.dims import Dim, Shape, broadcast, merged, product, ranked, same_dim
from npu_reference.graphs.shaping.rules import rule, told_shape

__all__ = []


@rule("MatMul", "SparseMatMul")
def _matmul(call: Any) -> Sequence[Shape]:
    a, b = ranked(call.shape(0), 2), ranked(call.shape(1), 2)
    left, right = bool(call.attr("transpose_a", False)), bool(call.attr("transpose_b", False))
    same_dim(a[0 if left else 1], b[1 if right else 0])
    return [(a[1 if left else 0], b[0 if right else 1])]


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(call: Any) -> Sequence[Shape]:
    a, b = call.shape(0), call.shape(1)
    if a is None or b is None:
        return [None]
    left, right = bool(call.attr("adj_x", False)), bool(call.attr("adj_y", False))
    rows, inner = (a[-1], a[-2]) if left else (a[-2], a[-1])
    other, columns = (b[-1], b[-2]) if right else (b[-2], b[-1])
    same_dim(inner, other)
    batch = merged(a[:-2], b[:-2]) if call.op == "BatchMatMul" else broadcast(a[:-2], b[:-2])
    return [None if batch is None else (*batch, rows, columns)]


def _layout(call: Any, rank: int) -> Tuple[List[int], int]:
    """Where the sizes of the image stand, and where the channels; ValueError for a layout of more parts."""
    form = call.text("data_format", "NHWC" if rank == 4 else "NDHWC")
    if len(form) != rank or "C" not in form:
        raise ValueError("a layout that is not followed")
    return [form.index(letter) for letter in ("HW" if rank == 4 else "DHW")], form.index("C")


def _windows(call: Any, image: Tuple[Dim, ...], sizes: Sequence[Dim]) -> List[Dim]:
    """The image's shape after windows of these sizes are moved over it; the channels stay."""
    strides, padding = call.attr("strides"), call.text("padding")
    dilations = call.attr("dilations", (1,) * len(image))
    explicit = call.attr("explicit_paddings", ()) or (0,) * (2 * len(image))
    dims = list(image)
    for place, size in zip(_layout(call, len(image))[0], sizes):
        before = dims[place]
        if before is None or (size is None and padding != "SAME"):
            dims[place] = None
            continue
        reach = ((size or 1) - 1) * dilations[place] + 1
        if padding == "SAME":
            reach = 1
        elif padding == "EXPLICIT":
            before += explicit[2 * place] + explicit[2 * place + 1]
        elif padding != "VALID":
            raise ValueError("no such padding")
        dims[place] = -(-(before - reach + 1) // strides[place])
    return dims


@rule("Conv2D", "DepthwiseConv2dNative", "Conv3D", "FusedConv2D")
def _conv(call: Any) -> Sequence[Shape]:
    rank = 5 if call.op == "Conv3D" else 4
    image, kernel = ranked(call.shape(0), rank), ranked(call.shape(1), rank)
    depth = kernel[-1]
    if call.op.startswith("Depthwise"):
        depth = product(kernel[-2:])
    dims = _windows(call, image, kernel[: rank - 2])
    dims[_layout(call, rank)[1]] = depth
    return [tuple(dims)]


@rule("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D", "MaxPoolWithArgmax")
def _pool(call: Any) -> Sequence[Shape]:
    rank = 5 if call.op.endswith("3D") else 4
    image, size = ranked(call.shape(0), rank), call.attr("ksize")
    dims = _windows(call, image, [size[place] for place in _layout(call, rank)[0]])
    channels = _layout(call, rank)[1]
    before = dims[channels]
    if before is not None and size[channels] != 1:
        dims[channels] = -(-(before - size[channels] + 1) // call.attr("strides")[channels])
    return [tuple(dims)] * (2 if call.op == "MaxPoolWithArgmax" else 1)


@rule("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput", "Conv3DBackpropInputV2", "AvgPoolGrad",
       "AvgPool3DGrad")  # fmt: skip
def _input_gradient(call: Any) -> Sequence[Shape]:
    return [ranked(told_shape(call, 0), 5 if "3D" in call.op else 4)]


@rule("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter", "Conv3DBackpropFilterV2")
def _filter_gradient(call: Any) -> Sequence[Shape]:
    return [ranked(told_shape(call, 1), 5 if "3D" in call.op else 4)]


@rule("BiasAdd", "BiasAddV1")
def _bias(call: Any) -> Sequence[Shape]:
    image, bias = call.shape(0), call.shape(1)
    if image is None:
        return [None]
    place = _channels(call, image)
    added = merged((image[place],), bias) or (None,)
    return [(*image[:place], added[0], *image[place:][1:])]


def _channels(call: Any, shape: Tuple[Dim, ...]) -> int:
    if len(shape) < 2:
        raise ValueError("there are no channels")
    return 1 if call.text("data_format", "NHWC").startswith("NC") else len(shape) - 1


@rule("BiasAddGrad")
def _bias_gradient(call: Any) -> Sequence[Shape]:
    gradient = call.shape(0)
    return [(None,) if gradient is None else (gradient[_channels(call, gradient)],)]


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _batch_norm(call: Any) -> Sequence[Shape]:
    return _normed(call, ranked(call.shape(0), 4 if call.shape(0) is None else len(call.shape(0))), (1, 2))


@rule("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _batch_norm_gradient(call: Any) -> Sequence[Shape]:
    shape = merged(call.shape(0), call.shape(1))
    found = _normed(call, ranked(shape, 4 if shape is None else len(shape)), (2,))
    # The last two are read by nobody: TensorFlow declares them empty, and some of its kernels make scalars of them.
    return [*found[:3], (0,), (0,)]


def _normed(call: Any, image: Tuple[Dim, ...], scales: Sequence[int]) -> List[Shape]:
    """The image, and four vectors of its channels."""
    place = _layout(call, len(image))[1]
    scale = merged((image[place],), *[call.shape(k) for k in scales])
    assert scale is not None  # merged from one that is known
    return [(*image[:place], scale[0], *image[place + 1 :]), *[scale] * 4]


@rule("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(call: Any) -> Sequence[Shape]:
    logits = broadcast(call.shape(0), call.shape(1))
    return [(None,), (None, None)] if logits is None else [logits[:1], logits]


@rule("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(call: Any) -> Sequence[Shape]:
    logits, labels = ranked(call.shape(0), 2), ranked(call.shape(1), 1)
    rows = same_dim(logits[0], labels[0])
    return [(rows,), (rows, logits[1])]


@rule("ResizeNearestNeighbor", "ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighborGrad")
def _resized(call: Any) -> Sequence[Shape]:
    image, size = ranked(call.shape(0), 4), ranked(told_shape(call, 1), 2)
    return [(image[0], *size, image[3])]


@rule("SpaceToDepth", "DepthToSpace")
def _blocks(call: Any) -> Sequence[Shape]:
    image, block = ranked(call.shape(0), 4), int(call.attr("block_size"))
    (high, wide), deep = _layout(call, 4)
    dims = list(image)
    for place, factor in ((high, block), (wide, block), (deep, block * block)):
        dim = dims[place]
        shrinks = (place == deep) == (call.op == "DepthToSpace")
        if dim is not None and shrinks and dim % factor:
            raise ValueError("blocks do not fill it")
        dims[place] = None if dim is None else dim // factor if shrinks else dim * factor
    return [tuple(dims)]
