"""How much kernels compute: elements, bytes, products of matrices; and the refusal where sizes are open."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from npu_reference.compiler.kernels import Gemm
from npu_reference.errors import NpuError
from npu_reference.graphs import DType, Graph
from npu_reference.graphs.shaping.inference import Shapes
from npu_reference.precision import NodePrecision
from npu_reference.printing import listed

__all__ = [
    "RECURRENT", "Reads", "SIZES", "elements_of", "fed_name", "gemm_of", "launches_of", "refuse_unknown", "width_of",
]  # fmt: skip

#: Bytes of an element by the dtype as computed; others as TensorFlow has them.
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}

RECURRENT = ("DynamicRnn", "DynamicGru", "DynamicAUGRU")
_AVERAGES = ("AvgPool", "AvgPoolGrad")

#: By node, its inputs: slot, source, and slot of the source.
Reads = List[List[Tuple[int, int, int]]]


def width_of(assigned: NodePrecision) -> int:
    """Bytes of an element as computed: the widest float of the kernel, else four."""
    return max([SIZES[dtype] for dtype in (*assigned.inputs, *assigned.outputs) if dtype in SIZES] or [4])


def elements_of(shape: Sequence[Optional[int]]) -> int:
    total = 1
    for size in shape:
        total *= size or 0
    return total


def gemm_of(shapes: Shapes, node: int, one: Any, assigned: NodePrecision) -> Optional[Gemm]:
    if one.op in _AVERAGES and assigned.engine == "vector":
        return _average(shapes, node, one)
    if assigned.engine != "cube":
        return None
    operand = SIZES.get(assigned.inputs[0] if assigned.inputs else "", 2)
    result = SIZES.get(assigned.outputs[0] if assigned.outputs else "", 2)
    try:
        return _product_of(shapes, node, one, operand, result)
    except (IndexError, TypeError):
        return None  # a shape is unknown, or of a rank that TensorFlow would refuse


def _average(shapes: Shapes, node: int, one: Any) -> Optional[Gemm]:
    """Average pooling is a depthwise convolution of equal weights (derived: AvgPoolFusionPass makes it one)."""
    sizes = one.attr("ksize", ())
    out = shapes.known(node) if one.op == "AvgPool" else shapes.known_input(node, 1)
    if out is None or len(out) != 4 or len(sizes) != 4:
        return None
    channels = out[1 if one.attr("data_format", b"NHWC") == b"NCHW" else 3]
    window = elements_of(sizes)
    return Gemm(channels, elements_of(out) // max(channels, 1), window, 1, 2, 2, window, 1, int(one.op != "AvgPool"))


def _product_of(shapes: Shapes, node: int, one: Any, operand: int, result: int) -> Optional[Gemm]:
    op = one.op
    if "MatMul" in op:
        out, left = shapes.known(node), shapes.known_input(node, 0)
        if out is None or left is None:
            return None
        depth = left[-2 if one.attr("transpose_a", False) or one.attr("adj_x", False) else -1]
        return Gemm(elements_of(out[:-2]), out[-2], depth, out[-1], operand, result)
    if op.startswith(RECURRENT):
        series, weights, hidden = (shapes.known_input(node, position) for position in range(3))
        if series is None or weights is None or hidden is None:
            return None
        depth = weights[0] if op.startswith("DynamicRnn") else weights[0] + hidden[0]
        return Gemm(series[0] * (1 + op.endswith("Grad")), series[1], depth, weights[1], operand, result)
    if "Conv2D" not in op and "conv2d" not in op.lower():
        return None
    if op.endswith("BackpropInput"):
        image, kernel, out = shapes.known(node), shapes.known_input(node, 1), shapes.known_input(node, 2)
    elif op.endswith("BackpropFilter"):
        image, kernel, out = shapes.known_input(node, 0), shapes.known(node), shapes.known_input(node, 2)
    else:
        image, kernel, out = shapes.known_input(node, 0), shapes.known_input(node, 1), shapes.known(node)
    if out is None or kernel is None:
        return None
    place = 1 if one.attr("data_format", b"NHWC") == b"NCHW" else 3
    window, channels, features = kernel[0] * kernel[1], kernel[2], out[place]
    places = elements_of(out) // max(features, 1)
    if op.startswith("Depthwise"):
        groups, channels = channels, 1
    else:
        # A filter of fewer channels than the image has is one of several groups; the image may be unknown.
        groups = max(image[place] // max(channels, 1), 1) if image is not None and image[place] else 1
    features //= max(groups, 1)
    if op.endswith("BackpropFilter"):
        return Gemm(groups, window * channels, places, features, operand, result, window, channels, 1)
    if op.endswith("BackpropInput"):
        return Gemm(groups, places, window * features, channels, operand, result, window, features, 1)
    return Gemm(groups, places, window * channels, features, operand, result, window, channels)


def launches_of(shapes: Shapes, node: int, op: str) -> int:
    """How many kernels run one after the other: a recurrent layer begins a step when all cores have ended the one
    before; its gradient is three kernels a step (derived: DynamicRNNGradFusionPass makes a chain of the steps)."""
    series = shapes.known_input(node, 0) if op.startswith(RECURRENT) else None
    return series[0] * (3 if op.endswith("Grad") else 1) if series and series[0] else 1


def refuse_unknown(graph: Graph, shapes: Shapes, reads: Reads, unknown: Sequence[int]) -> None:
    """Refuse what lacks the sizes of some nodes.

    Args:
        reads: by node, its inputs as (slot, source, slot of the source); unknown: nodes that lack sizes, maybe none.

    Raises:
        NpuError: DEVICE_SIZES, with the inputs that would tell.
    """
    if not unknown:
        return
    open_inputs = _open_inputs(graph, shapes)
    if open_inputs:
        example = ",".join("1" if size is None else str(size) for size in open_inputs[0][1] or ("SIZES",))
        raise NpuError(
            "DEVICE_SIZES", listed([name for name, _ in open_inputs], 5), "its sizes are open.",
            f"Give them: --shape {open_inputs[0][0]}:{example}, or --batch N where only the first is open.",
        )  # fmt: skip
    names = _where_unknown(graph, shapes, reads, unknown)
    raise NpuError(
        "DEVICE_SIZES", listed(names, 5), "its sizes depend on values, or on a rule that is not known.",
        f"State them: --shape {names[0]}:SIZES.",
    )  # fmt: skip


def _where_unknown(graph: Graph, shapes: Shapes, reads: Reads, unknown: Sequence[int]) -> List[str]:
    """Where sizes begin to be unknown, going back from the operators that lack them; host operators included."""
    waiting, seen, found = list(dict.fromkeys(unknown)), set(unknown), []
    for node in waiting:
        before = [src for _, src, slot in reads[node] if shapes.known(src, slot) is None]
        before = [src for src in before if not _is_handle(graph.output_dtypes(src))]
        if not before:
            found.append(node)
        for src in before:
            if src not in seen:
                seen.add(src)
                waiting.append(src)
    names = []
    for node in sorted(found) or waiting[:1]:
        slots = [k for k in range(len(graph.output_dtypes(node))) if shapes.known(node, k) is None]
        names.append(fed_name(graph.nodes[node], slots[0] if slots else 0))
    return names


def _open_inputs(graph: Graph, shapes: Shapes) -> List[Tuple[str, Any]]:
    found = []
    for node in graph.nodes:
        if node.op in ("_Arg", "Placeholder", "IteratorGetNext", "PlaceholderV2"):
            for slot in range(len(graph.output_dtypes(node.id))):
                dtype = graph.output_dtypes(node.id)[slot].base.name
                if dtype not in ("string", "resource", "variant") and shapes.known(node.id, slot) is None:
                    found.append((fed_name(node, slot), shapes.of(node.id, slot)))
    return found


def _is_handle(dtypes: Sequence[DType]) -> bool:
    """Whether an operator gives nothing that has a size."""
    return all(dtype.base.name in ("resource", "variant", "string") for dtype in dtypes)


def fed_name(node: Any, slot: int) -> str:
    """What a user calls a feed: `_arg_<name>_<slot>_<position>` stands for `name:slot` (close_over)."""
    if node.op == "_Arg" and node.name.startswith("_arg_"):
        return str(node.name[len("_arg_") :].rsplit("_", 2)[0])
    return node.name if slot == 0 else f"{node.name}:{slot}"
