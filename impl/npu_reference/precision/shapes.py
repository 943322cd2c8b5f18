"""Which shapes the outputs of a graph's operators have, as far as the graph tells without running it."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from npu_reference.graphs import Graph
from npu_reference.graphs.tensors import small_integers
from npu_reference.precision.shape_values import computed
from npu_reference.precision.wiring import Wiring

__all__ = ["Shape", "Shapes"]

#: A shape with every dimension known, or None.
Shape = Optional[Tuple[int, ...]]

_SAME = (
    "Abs", "AddN", "ApplyAdam", "ApplyMomentum", "Assign", "AssignAdd", "AssignSub", "BiasAdd", "Cast", "Ceil",
    "CheckNumerics", "Cos", "Dropout", "Elu", "Enter", "Erf", "Erfc", "Exit", "Exp", "Expm1", "Floor", "Identity",
    "Inv", "IsFinite", "LRN", "LeakyRelu", "LeakyReluGrad", "Log", "Log1p", "LogSoftmax", "LogicalNot", "Neg",
    "NextIteration", "OnesLike", "PreventGradient", "Reciprocal", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "Rint",
    "Round", "Rsqrt", "RsqrtGrad", "Selu", "Sigmoid", "SigmoidGrad", "Sign", "Sin", "Softmax", "Softplus",
    "SoftplusGrad", "Softsign", "Sqrt", "SqrtGrad", "Square", "StopGradient", "Tanh", "TanhGrad", "ZerosLike",
)  # fmt: skip
_BROADCAST = (
    "Add", "AddV2", "Div", "DivNoNan", "Equal", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Less",
    "LessEqual", "LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mul", "MulNoNan", "NotEqual", "Pow", "RealDiv",
    "Select", "SelectV2", "SquaredDifference", "Sub", "TruncateDiv", "Xdivy", "Xlogy",
)  # fmt: skip
_REDUCE = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})
_POOL = frozenset({"AvgPool", "MaxPool"})
_MAX_RANK = 64


class Shapes:
    """Shapes of one graph, found in one pass over it; what no rule covers, or lies on a loop, is unknown.

    Known: what the graph states, what `given` says of first outputs by name, and what follows from these through the
    operators of neural networks. O(V + E).
    """

    def __init__(self, graph: Graph, wiring: Wiring, given: Mapping[str, Tuple[int, ...]]) -> None:
        self._graph = graph
        self._given = given
        self._wiring = wiring
        self._shapes: Dict[int, List[Shape]] = {}
        self._values: Dict[Tuple[int, int], Tuple[int, ...]] = {}
        self._handles: Dict[int, Shape] = {}
        for node in wiring.order:
            self._visit(node)

    def of(self, node: int, slot: int = 0) -> Shape:
        """The shape of one output, or None."""
        shapes = self._shapes.get(node, ())
        if slot < len(shapes):
            return shapes[slot]
        return None

    def input(self, node: int, slot: int) -> Shape:
        """The shape of what one input reads, or None."""
        reads = self._wiring.inputs[node]
        return self.of(*reads[slot]) if slot < len(reads) else None

    def _visit(self, node: int) -> None:
        graph = self._graph
        one = graph.nodes[node]
        if one.op == "VarHandleOp":
            self._handles[node] = _stated(one.attr("shape"))
            return
        stated = self._given.get(one.name)
        if stated is None:
            stated = _stated(graph.static_shape(node, 0))
        found: List[Shape] = [stated]
        if stated is None:
            found = self._rule(node, one)
        if found:
            self._shapes[node] = found
        self._value(node, one)

    def _rule(self, node: int, one: Any) -> List[Shape]:
        op = one.op
        if op in _SAME:
            return [self.input(node, 0)]
        if op in _BROADCAST:
            return [_broadcast([self.input(node, k) for k in range(len(self._wiring.inputs[node]))])]
        if op == "ReadVariableOp":
            reads = self._wiring.inputs[node]
            return [self._handles.get(reads[0][0])] if reads else []
        rule = _RULES.get(op)
        if rule is None and op in _REDUCE:
            rule = _reduce
        if rule is None and op in _POOL:
            rule = _pool
        if rule is None:
            return []
        try:
            return rule(self, node, one)
        except (ArithmeticError, IndexError, TypeError, ValueError):
            return []  # the graph's attributes do not fit each other: TensorFlow would refuse it

    # Small vectors of whole numbers that say what shape another operator gives

    def value(self, node: int, slot: int) -> Optional[Tuple[int, ...]]:
        """The value that one input reads, where it is a known list of whole numbers."""
        reads = self._wiring.inputs[node]
        return self._values.get(reads[slot]) if slot < len(reads) else None

    def _value(self, node: int, one: Any) -> None:
        if one.op == "Const":
            value = small_integers(one.proto.attr["value"].tensor, _MAX_RANK)
            if value is not None:
                self._values[node, 0] = value
        elif one.op in ("Shape", "ShapeN"):
            for slot in range(len(self._wiring.inputs[node])):
                shape = self.input(node, slot)
                if shape is not None:
                    self._values[node, slot] = shape
        else:
            self._computed(node, one)

    def _computed(self, node: int, one: Any) -> None:
        reads = self._wiring.inputs[node]
        if not reads or reads[0] not in self._values:
            return
        try:
            value = computed(one.op, one, [self._values.get(read) for read in reads])
        except (ArithmeticError, IndexError, TypeError, ValueError):
            return  # as in _rule
        if value is not None:
            self._values[node, 0] = value


def _stated(shape: Any) -> Shape:
    if not isinstance(shape, tuple) or any(dim is None or dim < 0 for dim in shape):
        return None
    return shape


def _broadcast(shapes: Sequence[Shape]) -> Shape:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or not known:
        return None
    rank = max(len(shape) for shape in known)
    dims = [1] * rank
    for shape in known:
        for k, dim in enumerate(shape, rank - len(shape)):
            if dim != 1:
                dims[k] = dim
    return tuple(dims)


_Rule = Callable[[Shapes, int, Any], List[Shape]]
_RULES: Dict[str, _Rule] = {}


def _rule(*ops: str) -> Callable[[_Rule], _Rule]:
    def register(function: _Rule) -> _Rule:
        for op in ops:
            _RULES[op] = function
        return function

    return register


@_rule("MatMul")
def _matmul(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    a, b = shapes.input(node, 0), shapes.input(node, 1)
    if a is None or b is None:
        return []
    return [(a[1] if one.attr("transpose_a", False) else a[0], b[0] if one.attr("transpose_b", False) else b[1])]


@_rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def _batch_matmul(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    a, b = shapes.input(node, 0), shapes.input(node, 1)
    if a is None or b is None:
        return []
    batch = _broadcast([a[:-2], b[:-2]])
    rows = a[-1] if one.attr("adj_x", False) else a[-2]
    columns = b[-2] if one.attr("adj_y", False) else b[-1]
    return [None if batch is None else (*batch, rows, columns)]


@_rule("Conv2D", "DepthwiseConv2dNative")
def _conv(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    image, kernel = shapes.input(node, 0), shapes.input(node, 1)
    if image is None or kernel is None:
        return []
    depth = kernel[3] if one.op == "Conv2D" else kernel[2] * kernel[3]
    return [_windows(one, image, (kernel[0], kernel[1]), depth)]


def _pool(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    image = shapes.input(node, 0)
    if image is None:
        return []
    high, wide, deep = _places(one)
    size = one.attr("ksize")
    return [_windows(one, image, (size[high], size[wide]), image[deep])]


def _places(one: Any) -> Tuple[int, int, int]:
    """Where height, width and channels stand."""
    return (2, 3, 1) if one.text("data_format", "NHWC") == "NCHW" else (1, 2, 3)


def _windows(one: Any, image: Tuple[int, ...], window: Tuple[int, int], depth: int) -> Shape:
    high, wide, deep = _places(one)
    strides, dilations = one.attr("strides"), one.attr("dilations", (1, 1, 1, 1))
    dims = list(image)
    padding = one.text("padding", "SAME")
    if padding not in ("SAME", "VALID"):
        return None
    for place, size in ((high, window[0]), (wide, window[1])):
        reach = (size - 1) * dilations[place] + 1 if padding == "VALID" else 1
        dims[place] = -(-(image[place] - reach + 1) // strides[place])
    dims[deep] = depth
    return tuple(dims)


@_rule("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput")
def _backprop_input(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [shapes.value(node, 0)]


@_rule("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def _backprop_filter(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [shapes.value(node, 1)]


@_rule("Reshape")
def _reshape(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    wanted = shapes.value(node, 1)
    if wanted is None or -1 not in wanted:
        return [wanted]
    before = shapes.input(node, 0)
    if before is None:
        return []
    rest = _size(tuple(dim for dim in wanted if dim != -1))
    return [tuple(_size(before) // rest if dim == -1 else dim for dim in wanted)]


@_rule("BroadcastTo", "Fill")
def _filled(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [shapes.value(node, 0 if one.op == "Fill" else 1)]


@_rule("Transpose")
def _transpose(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, order = shapes.input(node, 0), shapes.value(node, 1)
    return [] if before is None or order is None else [tuple(before[k] for k in order)]


@_rule("ExpandDims")
def _expand(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, axis = shapes.input(node, 0), shapes.value(node, 1)
    if before is None or axis is None:
        return []
    place = axis[0] if axis[0] >= 0 else len(before) + 1 + axis[0]
    return [(*before[:place], 1, *before[place:])]


@_rule("Squeeze")
def _squeeze(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before = shapes.input(node, 0)
    if before is None:
        return []
    gone = {axis % len(before) for axis in one.attr("squeeze_dims", ())}
    return [tuple(dim for k, dim in enumerate(before) if not (k in gone if gone else dim == 1))]


@_rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "FusedBatchNormGrad", "FusedBatchNormGradV2",
       "FusedBatchNormGradV3")  # fmt: skip
def _batch_norm(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    grad = "Grad" in one.op
    scale = shapes.input(node, 2 if grad else 1)
    return [shapes.input(node, 0), *[scale] * 5]


@_rule("MaxPoolGrad", "AvgPoolGrad")
def _pool_grad(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [shapes.input(node, 0) if one.op == "MaxPoolGrad" else shapes.value(node, 0)]


@_rule("BiasAddGrad")
def _bias_grad(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before = shapes.input(node, 0)
    if before is None:
        return []
    return [(before[_places(one)[2] if len(before) == 4 else -1],)]


@_rule("StridedSlice")
def _strided(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before = shapes.input(node, 0)
    begin, end, step = (shapes.value(node, k) for k in (1, 2, 3))
    if before is None or begin is None or end is None or step is None or one.attr("ellipsis_mask", 0):
        return []
    names = ("begin", "end", "new_axis", "shrink_axis")
    open_begin, open_end, new, shrunk = (int(one.attr(f"{name}_mask", 0)) for name in names)
    dims: List[int] = []
    rest = list(before)
    for k, start in enumerate(begin):
        if new >> k & 1:
            dims.append(1)
            continue
        dim = rest.pop(0)
        if not shrunk >> k & 1:
            taken = slice(None if open_begin >> k & 1 else start, None if open_end >> k & 1 else end[k], step[k])
            dims.append(len(range(dim)[taken]))
    return [(*dims, *rest)]


@_rule("SplitV")
def _split(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, sizes, axis = shapes.input(node, 0), shapes.value(node, 1), shapes.value(node, 2)
    if before is None or sizes is None or axis is None or -1 in sizes:
        return []
    place = axis[0] % len(before)
    return [(*before[:place], size, *before[place + 1 :]) for size in sizes]


@_rule("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def _random(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [shapes.value(node, 0)]


@_rule("Slice")
def _slice(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, begin, size = shapes.input(node, 0), shapes.value(node, 1), shapes.value(node, 2)
    if before is None or begin is None or size is None:
        return []
    return [tuple(dim - start if count < 0 else count for dim, start, count in zip(before, begin, size))]


@_rule("Tile")
def _tile(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, times = shapes.input(node, 0), shapes.value(node, 1)
    return [] if before is None or times is None else [tuple(a * b for a, b in zip(before, times))]


@_rule("UnsortedSegmentSum")
def _segments(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    data, ids, count = shapes.input(node, 0), shapes.input(node, 1), shapes.value(node, 2)
    return [] if data is None or ids is None or count is None else [(count[0], *data[len(ids) :])]


@_rule("L2Loss")
def _scalar(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    return [()]


@_rule("ConcatV2")
def _concat(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    count = int(one.attr("N"))
    parts = [shapes.input(node, k) for k in range(count)]
    axis = shapes.value(node, count)
    first = parts[0]
    if axis is None or first is None or any(part is None for part in parts):
        return []
    place = axis[0] % len(first)
    total = sum(part[place] for part in parts if part is not None)
    return [(*first[:place], total, *first[place + 1 :])]


@_rule("Pack")
def _pack(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    first = shapes.input(node, 0)
    if first is None:
        return []
    place = int(one.attr("axis", 0)) % (len(first) + 1)
    return [(*first[:place], int(one.attr("N")), *first[place:])]


@_rule("Pad", "PadV2")
def _pad(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, edges = shapes.input(node, 0), shapes.value(node, 1)
    if before is None or edges is None:
        return []
    return [tuple(dim + edges[2 * k] + edges[2 * k + 1] for k, dim in enumerate(before))]


@_rule("GatherV2")
def _gather(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    table, indices, axis = shapes.input(node, 0), shapes.input(node, 1), shapes.value(node, 2)
    if table is None or indices is None or axis is None or one.attr("batch_dims", 0):
        return []
    place = axis[0] % len(table)
    return [(*table[:place], *indices, *table[place + 1 :])]


@_rule("OneHot")
def _one_hot(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, depth = shapes.input(node, 0), shapes.value(node, 1)
    if before is None or depth is None or one.attr("axis", -1) != -1:
        return []
    return [(*before, depth[0])]


@_rule("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
def _cross_entropy(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    logits = shapes.input(node, 0)
    return [] if logits is None else [logits[:1], logits]


def _reduce(shapes: Shapes, node: int, one: Any) -> List[Shape]:
    before, axes = shapes.input(node, 0), shapes.value(node, 1)
    if before is None or axes is None:
        return []
    gone = {axis % len(before) for axis in axes}
    if one.attr("keep_dims", False):
        return [tuple(1 if k in gone else dim for k, dim in enumerate(before))]
    return [tuple(dim for k, dim in enumerate(before) if k not in gone)]


def _size(shape: Tuple[int, ...]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total
