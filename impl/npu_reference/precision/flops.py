"""How many floating-point operations the operators of an assignment make, and in which dtype."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.graphs.shaping.inference import Shapes, infer_shapes
from npu_reference.graphs.wiring import Wiring
from npu_reference.partition.model import Partition
from npu_reference.precision.model import Assignment, NodePrecision

__all__ = ["CUBE_OPERATORS", "Work", "operations_of", "work_of"]

#: A shape of which every size is known, or None.
_Shape = Optional[Tuple[int, ...]]

_FLOATS = ("float16", "float32", "bfloat16", "float64")
_ENGINES = ("cube", "vector", "aicpu")


_MOST = 2**63 - 1  # operations that are told; more are unknown, as readers of JSON have numbers of 64 bits


class Work(NamedTuple):
    """Operations of one step: a multiplication and an addition count as two.

    Attributes:
        by_dtype: operations by the dtype they are computed in (that of the first float input), where shapes are known.
        known, unknown: operators of float tensors whose operations are, and are not, known.
        cube_known, cube_unknown: those of them on the cube unit, which make nearly all of the work.
        waiting: where the sizes begin that operators of the cube unit lack: inputs of the graph if there are any, else
            other nodes whose first output no rule could give a shape; with what is known of it (None: not its rank).
    """

    by_dtype: Dict[str, int]
    known: int
    unknown: int
    cube_known: int
    cube_unknown: int
    waiting: Tuple[Tuple[str, Optional[Tuple[Optional[int], ...]]], ...] = ()

    def share(self, dtype: str) -> Optional[float]:
        """The part of the known operations made in `dtype`, 0 to 1; None where none is known."""
        total = sum(self.by_dtype.values())
        return self.by_dtype.get(dtype, 0) / total if total else None

    def to_json(self) -> Dict[str, Any]:
        return {
            "flops": dict(sorted(self.by_dtype.items())),
            "float16_share": self.share("float16"),
            "known_operators": self.known,
            "unknown_operators": self.unknown,
            "known_cube_operators": self.cube_known,
            "unknown_cube_operators": self.cube_unknown,
            "waiting_for": [
                {"node": name, "shape": None if shape is None else list(shape)} for name, shape in self.waiting
            ],
        }


def work_of(
    partition: Partition, assignment: Assignment, given: Optional[Mapping[str, Sequence[Optional[int]]]] = None
) -> Work:
    """The work of a partition's own operators under an assignment.

    Shapes are those the graph states, those `given` by `node` or `node:slot`, and what follows from them; operators
    inside functions and loops run an unknown number of times and count as unknown.
    """
    graph = partition.graph
    shapes = infer_shapes(graph, feeds=given)
    by_dtype: Dict[str, int] = {}
    counts = [0, 0, 0, 0]
    missing: List[int] = []
    for node in assignment.nodes:
        dtype = _computed(node)
        if dtype is None or node.engine not in _ENGINES:
            continue
        number = graph.index.get(node.node) if node.function is None else None
        operations = None if number is None else _counted(shapes, number, graph.nodes[number])
        cube = node.engine == "cube"
        if operations is None or by_dtype.get(dtype, 0) + operations > _MOST:
            counts[1] += 1
            counts[3] += cube
            if cube and number is not None:
                missing.append(number)
        else:
            counts[0] += 1
            counts[2] += cube
            by_dtype[dtype] = by_dtype.get(dtype, 0) + operations
    waiting = _waiting(shapes, missing) if missing else ()
    return Work(by_dtype, counts[0], counts[1], counts[2], counts[3], waiting)


def _waiting(shapes: Shapes, missing: Sequence[int]) -> Tuple[Tuple[str, Optional[Tuple[Optional[int], ...]]], ...]:
    """Where the unknown sizes of these operators begin, in graph order; O(V + E)."""
    graph = shapes.graph
    inputs = Wiring(graph).inputs
    seen = set(missing)
    waiting, origins = list(missing), []
    while waiting:
        node = waiting.pop()
        unknown = [src for src, slot in inputs[node] if shapes.known(src, slot) is None]
        if not unknown:
            origins.append(node)
        for src in unknown:
            if src not in seen:
                seen.add(src)
                waiting.append(src)
    fed = [node for node in origins if not inputs[node]]
    return tuple((graph.nodes[node].name, _stated(shapes, node)) for node in sorted(fed or origins))


def _stated(shapes: Shapes, node: int) -> Optional[Tuple[Optional[int], ...]]:
    shape = shapes.of(node) if shapes.graph.op_def(node).outputs else None
    return None if shape is None else tuple(shape)


def operations_of(shapes: Shapes, node: int) -> Optional[int]:
    """Operations of one operator of the graph, wherever it runs; None where its shapes are not known."""
    return _counted(shapes, node, shapes.graph.nodes[node])


def _computed(node: NodePrecision) -> Optional[str]:
    return next((dtype for dtype in (*node.inputs, *node.outputs) if dtype in _FLOATS), None)


def _counted(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    try:
        found = _operations(shapes, node, one)
    except IndexError:
        return None  # shapes of another rank than the operator takes: TensorFlow would refuse it
    return found if found is not None and found <= _MOST else None


def _operations(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    rule = _CUBE.get(one.op)
    if rule is not None:
        return rule(shapes, node, one)
    found: List[_Shape] = [shapes.known_input(node, k) for k in range(shapes.count_inputs(node))]
    if shapes.graph.op_def(node).outputs:
        found = [shapes.known(node), *found[:4]]
        if found[0] is None:
            return None
    elif not found or None in found:  # what stores into a variable gives nothing
        return None
    # assumed: one operation an element of the largest tensor
    return max(_size(shape) for shape in found if shape is not None)


def _matmul(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    out, left = shapes.known(node), shapes.known_input(node, 0)
    if out is None or left is None:
        return None
    transposed = one.attr("transpose_a", False) or one.attr("adj_x", False)
    return 2 * _size(out) * left[-2 if transposed else -1]


def _conv(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    return _windows(shapes.known(node), shapes.known_input(node, 1), one.op)


def _conv_input(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    return _windows(shapes.known_input(node, 2), shapes.known_input(node, 1), one.op)


def _conv_filter(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    return _windows(shapes.known_input(node, 2), shapes.known(node), one.op)


def _windows(out: _Shape, kernel: _Shape, op: str) -> Optional[int]:
    """Every element of the forward output is one product of the kernel with a window; the gradients make as many."""
    if out is None or kernel is None:
        return None
    depth = 1 if op.startswith("Depthwise") else kernel[2]
    return 2 * _size(out) * kernel[0] * kernel[1] * depth


def _rows(weights: Sequence[int], times: int = 1) -> Callable[[Shapes, int, Any], Optional[int]]:
    """Every row of the first input, at every step, meets every weight so many times: inputs that hold weights."""

    def rule(shapes: Shapes, node: int, one: Any) -> Optional[int]:
        rows, met = shapes.known_input(node, 0), [shapes.known_input(node, k) for k in weights]
        if rows is None or None in met:
            return None
        return 2 * times * _size(rows[:-1]) * sum(_size(shape) for shape in met if shape is not None)

    return rule


def _weight_grad(shapes: Shapes, node: int, one: Any) -> Optional[int]:
    rows, out = shapes.known_input(node, 0), shapes.known(node)
    return None if rows is None or out is None else 2 * _size(rows[:-1]) * _size(out)


def _size(shape: Tuple[int, ...]) -> int:
    """Elements; of what nothing could hold, just more than any number that is told."""
    total = 0 if 0 in shape else 1
    for dim in shape:
        total *= dim
        if total > _MOST:
            return _MOST + 1
    return total


_CUBE = {
    "MatMul": _matmul,
    "BatchMatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "BatchMatMulV3": _matmul,
    "Conv2D": _conv,
    "DepthwiseConv2dNative": _conv,
    "Conv2DBackpropInput": _conv_input,
    "DepthwiseConv2dNativeBackpropInput": _conv_input,
    "Conv2DBackpropFilter": _conv_filter,
    "DepthwiseConv2dNativeBackpropFilter": _conv_filter,
    "DynamicRnn": _rows([1]),
    "DynamicRnnV2": _rows([1]),
    "DynamicRnnGrad": _rows([1], 2),
    "DynamicGruV2": _rows([1, 2]),
    "DynamicGruV2Grad": _rows([1, 2], 2),
    "DynamicAUGRU": _rows([1, 2]),
    "DynamicAUGRUGrad": _rows([1, 2], 2),
    "BasicLSTMCell": _rows([3]),
    "BasicLSTMCellInputGrad": _rows([1]),
    "BasicLSTMCellWeightGrad": _weight_grad,
}

#: Operators of the cube unit, which make nearly all of the work.
CUBE_OPERATORS = frozenset(_CUBE)
