"""Operators whose layout has the channels first compute on TensorFlow's CPU kernels, which have most of them last only.

How TensorFlow comes to the values, and nothing of the device: what is added has no name, time or file there.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Set, Tuple

from npu_reference.device.numerics.called import CalledCopies, calls
from npu_reference.device.numerics.editing import Nodes, spell_out
from npu_reference.graphs import OPS, DType
from npu_reference.graphs.signature import AttrProblem, arg_dtypes

__all__ = ["ADDED", "LAYOUTS", "compute_channels_last", "has_channels_first"]

#: What follows an operator's name in the names of the nodes that are added for it.
ADDED = "/npu_channels_"


class _Parts(NamedTuple):
    """What of an operator is in its layout, by the names of its arguments.

    Attributes:
        images: inputs that have channels.
        results: outputs that have.
        sizes: inputs with a number for each dimension of an image.
    """

    images: Tuple[str, ...]
    results: Tuple[str, ...] = ("output",)
    sizes: Tuple[str, ...] = ()


_FORWARD = _Parts(("input",))
_TO_INPUT = _Parts(("out_backprop",), sizes=("input_sizes",))
_TO_FILTER = _Parts(("input", "out_backprop"), ())
_AVERAGE_GRAD = _Parts(("grad",), sizes=("orig_input_shape",))
_MAX_GRAD = _Parts(("orig_input", "orig_output", "grad"))
_NORM = _Parts(("x",), ("y",))
_NORM_GRAD = _Parts(("y_backprop", "x"), ("x_backprop",))

#: Every operator with a layout that some version of TensorFlow computes on the CPU with the channels last only (M28).
#: Kernels of BiasAdd and BiasAddGrad have both layouts in all versions.
LAYOUTS: Mapping[str, _Parts] = {
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "MaxPool3D", "AvgPool3D"), _FORWARD),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), _FORWARD),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"), _TO_INPUT),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"), _TO_FILTER
    ),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), _AVERAGE_GRAD),
    **dict.fromkeys(("MaxPoolGrad", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad"), _MAX_GRAD),
    **dict.fromkeys(("MaxPoolGradV2", "MaxPoolGradGradV2"), _MAX_GRAD._replace(sizes=("ksize", "strides"))),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), _NORM),
    **dict.fromkeys(("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"), _NORM_GRAD),
    "AvgPool": _Parts(("value",)),
    "MaxPoolV2": _FORWARD._replace(sizes=("ksize", "strides")),
}

#: Layouts with the channels first, and what they are with the channels last.
_LAST = {b"NCHW": b"NHWC", b"NCDHW": b"NDHWC"}

_INT32 = DType.INT32.number
_SUFFIX = "__npu_channels_last"


def compute_channels_last(graph_def: Any, geops: Sequence[str]) -> None:
    """Let operators of GEOPs, and of what those call, compute with the channels last, in place.

    All tensors keep their layout: what such an operator reads is transposed before it, and what it gives behind it.

    Args:
        graph_def: what :func:`npu_reference.partition.building.build` made of a partition.
        geops: the names of the GEOPs.

    Ensures: operators keep their names; functions that the host may call are not changed. Nothing is changed where no
    operator has the channels first. O(graph).
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    concerned = _concerned(functions)
    copies = CalledCopies(functions, _SUFFIX, lambda node, name: name in concerned)
    pending = [functions[name] for name in geops if name in concerned]
    while pending:
        body = pending.pop()
        pending.extend(copy for _, copy in copies.call(body))
        _Body(body).run()
    graph_def.library.function.extend(copies.made.values())


def _concerned(functions: Mapping[str, Any]) -> Set[str]:
    """The functions with an operator that has the channels first, and those that lead to one."""
    callers: Dict[str, List[str]] = {}
    found: List[str] = []
    for name, function in functions.items():
        if any(_is_first(node) for node in function.node_def):
            found.append(name)
        for node in function.node_def:
            for called, _ in calls(node, functions):
                callers.setdefault(called, []).append(name)
    seen = set(found)
    while found:
        fresh = set(callers.get(found.pop(), ())) - seen
        seen |= fresh
        found.extend(fresh)
    return seen


def has_channels_first(op: str, data_format: bytes) -> bool:
    """Whether an operator is one that may have no kernel on the CPU for its layout."""
    return op in LAYOUTS and data_format in _LAST


def _is_first(node: Any) -> bool:
    return "data_format" in node.attr and has_channels_first(node.op, node.attr["data_format"].s)


class _Layout:
    """A layout with the channels first.

    Attributes:
        last: where the dimensions of the layout with the channels last stand in it.
        first: the other way.
    """

    def __init__(self, first: bytes) -> None:
        last = _LAST[first]
        self.last = [first.index(letter) for letter in last]
        self.first = [last.index(letter) for letter in first]

    def permute(self, node: Any) -> None:
        """Let a node's attributes be those of the layout with the channels last."""
        node.attr["data_format"].s = _LAST[node.attr["data_format"].s]
        for key in ("ksize", "strides", "dilations"):
            if key in node.attr:
                _reorder(node.attr[key].list.i, self.last)
        if "explicit_paddings" in node.attr:
            _reorder(node.attr["explicit_paddings"].list.i, [2 * at + end for at in self.last for end in (0, 1)])


def _reorder(values: Any, order: Sequence[int]) -> None:
    if len(values) == len(order):  # paddings may be left out
        values[:] = [values[at] for at in order]


class _Body:
    """One FunctionDef."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.nodes = Nodes(function)
        #: What each result in a layout is transposed by for those that read the channels first: its layout and type.
        self.results: Dict[str, Tuple[_Layout, int]] = {}
        #: Tensors that have been transposed, by the text that reads them and by their layout.
        self.first: Dict[str, str] = {}
        self.last: Dict[str, str] = {}

    def run(self) -> None:
        spell_out(self.function)
        nodes = list(self.function.node_def)
        reads = {node.name: self._computed_last(node) for node in nodes if _is_first(node)}
        for node in nodes:
            own = reads.get(node.name, {})
            for position, text in enumerate(node.input):
                if position in own:
                    node.input[position] = own[position](text, f"{node.name}{ADDED}last_{position}")
                elif text in self.results:
                    node.input[position] = self._first(text)
        for name, text in list(self.function.ret.items()):
            if text in self.results:
                self.function.ret[name] = self._first(text)

    def _computed_last(self, node: Any) -> Dict[int, Callable[[str, str], str]]:
        """Let a node compute with the channels last; answers what is to be done to its inputs, by their positions."""
        layout, parts, op_def = _Layout(node.attr["data_format"].s), LAYOUTS[node.op], OPS.get(node.op)
        assert op_def is not None
        try:
            types = [dtype.number for dtype in arg_dtypes(op_def, (*op_def.inputs, *op_def.outputs), node.attr)]
        except AttrProblem:  # a function whose callers give the types
            return {}
        layout.permute(node)
        reads: Dict[int, Callable[[str, str], str]] = {}
        for position, (arg, number) in enumerate(zip(op_def.inputs, types)):
            if arg.name in parts.images:
                reads[position] = partial(self._last, layout, number)
            elif arg.name in parts.sizes:
                reads[position] = partial(self._sizes, layout, number)
        for arg, number in zip(op_def.outputs, types[len(op_def.inputs) :]):
            if arg.name in parts.results:
                self.results[f"{node.name}:{arg.name}:0"] = layout, number
        return reads

    def _last(self, layout: _Layout, number: int, text: str, name: str) -> str:
        """The text that reads a tensor with the channels last."""
        if text in self.results:  # its operator computes in the same layout
            return text
        if text not in self.last:
            self.last[text] = self._transpose(text, name, layout.last, number)
        return self.last[text]

    def _first(self, text: str) -> str:
        """The text that reads a result with the channels first, as the graph has it."""
        if text not in self.first:
            layout, number = self.results[text]
            name = f"{text.partition(':')[0]}{ADDED}first"
            self.first[text] = self._transpose(text, name, layout.first, number)
        return self.first[text]

    def _transpose(self, text: str, name: str, order: List[int], number: int) -> str:
        inputs = [text, self.nodes.constant(order, f"{name}/order", text, _INT32)]
        node = self.nodes.add("Transpose", name, inputs, {"T": number, "Tperm": _INT32})
        return f"{node.name}:y:0"

    def _sizes(self, layout: _Layout, number: int, text: str, name: str) -> str:
        """The text that reads a vector of numbers in the order of the layout with the channels last."""
        inputs = [text, self.nodes.constant(layout.last, f"{name}/order", text, _INT32)]
        node = self.nodes.add("Gather", name, inputs, {"Tparams": number, "Tindices": _INT32})
        return f"{node.name}:output:0"
