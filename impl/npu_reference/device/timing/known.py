"""How far the model was from published times, by class of network, and which operators no published step has."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from npu_reference.compiler import Compiled
from npu_reference.compiler.costs import has_rule
from npu_reference.compiler.kernels import Kernel
from npu_reference.compiler.lowering.sizes import RECURRENT

__all__ = ["KNOWN", "PUBLISHED", "Error", "error_of", "least_known", "of_class", "stem"]


class Error(NamedTuple):
    """Published steps of so many networks took between ``least`` and ``most`` times as long as the model's."""

    nets: int
    least: float
    most: float


#: By class, as benchmarks/device_model.py finds them (the rows of docs/device.md that are counted): training on Ascend
#: 910, inference on Ascend 310 and 310P3.
KNOWN: Dict[str, Error] = {
    "dense": Error(8, 0.88, 1.91),
    "depthwise": Error(7, 0.70, 1.65),
    "transformer": Error(2, 1.05, 1.07),
    "recurrent": Error(1, 2.36, 2.36),
    "embedding": Error(1, 1.11, 1.11),
    "dense inference": Error(11, 0.72, 1.60),
    "depthwise inference": Error(6, 0.67, 1.67),
}

#: Operators of the networks that are counted, as benchmarks/device_model.py finds them, named by :func:`stem`.
PUBLISHED = frozenset((
    "Add", "AddN", "ApplyAdam", "ApplyFtrl", "ApplyMomentum", "Assign", "AssignAdd", "AssignSub", "AvgPool",
    "AvgPoolGrad", "BatchMatMul", "BiasAdd", "BiasAddGrad", "BroadcastTo", "Cast", "Concat", "Conv2D",
    "Conv2DBackpropFilter", "Conv2DBackpropInput", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput", "DropOutDoMask", "DropOutGenMask", "DynamicRnn", "DynamicRnnGrad", "Erf",
    "Exp", "FusedBatchNorm", "FusedBatchNormGrad", "Gather", "GreaterEqual", "HcomAllReduce", "IsFinite", "L2Loss",
    "Log1p", "LogSoftmax", "MatMul", "MaxPool", "MaxPoolGrad", "Maximum", "Mean", "MemSet", "Minimum", "Mul", "Neg",
    "OneHot", "Pack", "Pad", "Pow", "RandomUniform", "RealDiv", "Reciprocal", "Relu", "Relu6", "Relu6Grad",
    "ReluGrad", "Reverse", "Rsqrt", "RsqrtGrad", "Select", "Sigmoid", "SigmoidGrad", "Slice", "Softmax",
    "SparseSoftmaxCrossEntropyWithLogits", "Sqrt", "Square", "SquaredDifference", "StridedSlice",
    "StridedSliceGrad", "Sub", "Sum", "Tanh", "TanhGrad", "Tile", "TransData", "Transpose", "UnsortedSegmentSum",
    "ZerosLike",
))  # fmt: skip

#: Why little is known of the time of an operator.
_WHY = {
    "aicpu": "on the AI CPU, whose rate is assumed",
    "general": "one pass over its elements, as for any operator",
    "product": "a product of sizes that are not worked out",
    "unseen": "by a rule that no published step tests",
}

#: One or two networks say nothing of others like them: then the error is that of all (assumed).
_FEW = 3


def error_of(compiled: Compiled) -> Optional[Dict[str, Any]]:
    """The error of a step's class; None for a step that is like no network that is known."""
    kernels = compiled.lowered.kernels
    found = _class_of(tuple(kernel.op for kernel in kernels if kernel.engine == "cube"))
    if found is None and any(kernel.rows for kernel in kernels):
        found = "embedding"
    if found is not None and not any("Apply" in kernel.op for kernel in kernels):
        found += " inference"
    if found not in KNOWN:
        return None
    name, error = of_class(found)
    return {"class": name, **error._asdict()}


def of_class(name: str) -> Tuple[str, Error]:
    """The error of a class that is known; of one or two networks that of all, which are called different."""
    if KNOWN[name].nets >= _FEW:
        return name, KNOWN[name]
    nets, least, most = zip(*KNOWN.values())
    return "different", Error(sum(nets), min(least), max(most))


def stem(op: str) -> str:
    """An operator's name without its version, and without what says that it works on resources."""
    return re.sub(r"^Resource|(VariableOp|V\d+)$", "", op)


def least_known(compiled: Compiled) -> List[Dict[str, Any]]:
    """The operators that the model knows least about, and why; those whose kernels take longest first.

    share: of the time of all kernels but collectives, which the table of efficiencies is about. A fused kernel counts
    once, for the first of them.
    """
    found: Dict[Tuple[str, str], List[int]] = {}
    whole = 0
    for kernel, cost in zip(compiled.fused.kernels, compiled.costs):
        if kernel.engine != "hccl":
            whole += cost.duration + cost.launch
            row = found.setdefault(_unknown(kernel), [0, 0])
            row[0] += 1
            row[1] += cost.duration + cost.launch
    rows = sorted((-time, *key, count) for key, (count, time) in found.items() if key[1])
    return [
        {"op": op, "why": why, "says": _WHY[why], "count": count, "time_ns": -time, "share": -time / max(whole, 1)}
        for time, op, why, count in rows
    ]


def _unknown(kernel: Kernel) -> Tuple[str, str]:
    """Of which of a kernel's operators little is known, and why; nothing where published steps have them all."""
    if kernel.engine == "aicpu":
        return kernel.op, "aicpu"
    if kernel.engine == "cube" and kernel.gemm is None:
        return kernel.op, "product"
    unseen = [op for op in kernel.ops or (kernel.type,) if stem(op) not in PUBLISHED]
    if not unseen:
        return "", ""
    ruled = kernel.rows or has_rule(unseen[0]) or (kernel.gemm is not None and kernel.op == unseen[0])
    return unseen[0], "unseen" if ruled else "general"


def _class_of(ops: Tuple[str, ...]) -> Optional[str]:
    if any(op.startswith(RECURRENT) for op in ops):
        return "recurrent"
    if any(op.startswith("Depthwise") for op in ops):
        return "depthwise"
    if any(op.startswith("Conv2D") for op in ops):
        return "dense"
    return "transformer" if any(op.startswith("BatchMatMul") for op in ops) else None
