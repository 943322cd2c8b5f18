"""Shapes of operators whose outputs are shaped as inputs, as attributes or texts tell, or not at all."""

from __future__ import annotations

from typing import Any, Sequence

from npu_reference.graphs.attrs import decode_shape
from npu_reference.graphs.shaping.dims import Shape, broadcast, merged
from npu_reference.graphs.shaping.rules import attr_shape, rule, told_shape

__all__ = []

_SAME = (
    "Abs", "Acos", "Acosh", "AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "Angle", "AsString",
    "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "Ceil", "CheckNumerics", "CheckNumericsV2", "ClipByValue",
    "ComplexAbs", "Conj", "Copy", "CopyHost", "Cos", "Cosh", "Cumprod", "Cumsum", "DebugGradientIdentity",
    "DebugIdentity", "DeepCopy", "Dequantize", "DecodeBase64", "Digamma", "Dropout", "Elu", "EncodeBase64", "Enter",
    "Erf", "Erfc", "Erfinv", "Exit", "Exp", "Expm1", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "Floor",
    "Identity", "Imag", "Inv", "Invert", "InvertPermutation", "IsFinite", "IsInf", "IsNan", "L2Normalize", "LRN",
    "LeakyRelu", "Lgamma", "Log", "Log1p", "LogSoftmax", "LogicalNot", "MatrixInverse", "Ndtri", "Neg", "NextIteration",
    "OnesLike", "PreventGradient", "QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",
    "RandomShuffle", "Real", "Reciprocal", "RefEnter", "RefExit", "RefIdentity", "RefNextIteration", "RegexReplace",
    "Relu", "Relu6", "Reverse", "ReverseSequence", "ReverseV2", "Rint", "Roll", "Round", "Rsqrt", "Selu", "Sigmoid",
    "Sign", "Sin", "Sinh", "Snapshot", "Softmax", "Softplus", "Softsign", "Sqrt", "Square", "StaticRegexReplace",
    "StopGradient", "StringLength", "StringLower", "StringStrip", "StringToHashBucket", "StringToHashBucketFast",
    "StringToHashBucketStrong", "StringToNumber", "StringUpper", "Tan", "Tanh", "ZerosLike",
)  # fmt: skip

#: What is written to, and what the operator reads besides is no matter.
_FIRST = (
    "AssignAdd", "AssignSub", "ScatterAdd", "ScatterSub", "ScatterUpdate", "ScatterMul", "ScatterDiv", "ScatterMax",
    "ScatterMin", "ScatterNdAdd", "ScatterNdUpdate", "ScatterNdSub", "ApplyAdam", "ApplyMomentum", "ApplyAdagrad",
    "ApplyAdagradV2", "ApplyAdadelta", "ApplyAdaMax", "ApplyFtrl", "ApplyFtrlV2", "ApplyGradientDescent",
    "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "ApplyRMSProp", "ApplyCenteredRMSProp", "ApplyAddSign",
    "ApplyPowerSign", "SparseApplyAdagrad", "SparseApplyFtrl", "SparseApplyMomentum", "TensorScatterAdd",
    "TensorScatterUpdate", "TensorScatterSub", "ScatterNdNonAliasingAdd", "InplaceUpdate", "InplaceAdd", "InplaceSub",
    "MaxPoolGrad", "MaxPoolGradV2", "MaxPool3DGrad", "LRNGrad", "MaxPoolGradWithArgmax", "MatrixBandPart",
    "MatrixSetDiag",
)  # fmt: skip


@rule(*_SAME, *_FIRST)
def _same(call: Any) -> Sequence[Shape]:
    return [call.shape(0)]


@rule("MaxPoolGradGrad", "ResizeBilinearGrad", "ResizeBicubicGrad", "InTopK", "InTopKV2", "StackPushV2", "StackPush")
def _second(call: Any) -> Sequence[Shape]:
    return [call.shape(1)]


#: All inputs have the shape of the output.
_MERGED = (
    "AccumulateNV2", "AddN", "ApproximateEqual", "EluGrad", "InvGrad", "LeakyReluGrad", "ReciprocalGrad", "Relu6Grad",
    "ReluGrad", "RsqrtGrad", "SeluGrad", "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "TanhGrad",
)  # fmt: skip


@rule(*_MERGED)
def _merge_all(call: Any) -> Sequence[Shape]:
    return [merged(*[call.shape(k) for k in range(call.count)])]


_BROADCAST = (
    "Add", "AddV2", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Complex", "Div", "DivNoNan", "Equal", "FloorDiv",
    "FloorMod", "Greater", "GreaterEqual", "Igamma", "LeftShift", "Less", "LessEqual", "LogicalAnd", "LogicalOr",
    "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "NextAfter", "NotEqual", "Pow", "RealDiv", "RightShift", "SelectV2",
    "SquaredDifference", "Sub", "TruncateDiv", "TruncateMod", "Xdivy", "Xlog1py", "Xlogy",
)  # fmt: skip


@rule(*_BROADCAST)
def _broadcast_all(call: Any) -> Sequence[Shape]:
    shape = broadcast(*[call.shape(k) for k in range(call.count)])
    if call.op in ("Equal", "NotEqual") and not call.attr("incompatible_shape_error", True):
        # Operands that do not fit compare as one False, which only known sizes rule out.
        return [shape if all(None not in (call.shape(k) or (None,)) or call.shape(k) == () for k in (0, 1)) else None]
    return [shape]


#: Every output is a scalar: numbers, handles, summaries, data sets.
_SCALARS = (
    "AudioSummary", "AudioSummaryV2", "BarrierReadySize", "DestroyTemporaryVariable", "EmptyTensorList",
    "HistogramSummary", "ImageSummary", "ImageSummaryV2", "IsVariableInitialized", "L2Loss", "MergeSummary", "Rank",
    "ScalarSummary", "Size", "TensorListLength", "TensorSummary", "TensorSummaryV2", "VarIsInitializedOp",
    "VarHandleOp", "LoopCond", "IteratorToStringHandle", "IteratorFromStringHandle", "IteratorFromStringHandleV2",
    "Iterator", "IteratorV2", "OneShotIterator", "AnonymousIterator", "HashTableV2", "MutableHashTableV2",
    "LookupTableSizeV2", "TensorListReserve", "TensorListFromTensor", "TensorListSetItem", "TensorListPushBack",
    "TensorArraySizeV3", "TensorArraySizeV2", "TensorArrayWriteV3", "TensorArrayWriteV2", "TensorArrayScatterV3",
    "TensorArrayScatterV2", "TensorArraySplitV3", "GroupByWindowDataset", "Timestamp", "QueueSizeV2",
    "FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2", "TFRecordReaderV2", "TextLineReaderV2",
    "BatchDataset", "BatchDatasetV2", "CacheDataset", "ConcatenateDataset", "FilterDataset", "FlatMapDataset",
    "InterleaveDataset", "MapAndBatchDataset", "MapDataset", "ModelDataset", "OptimizeDataset", "OptimizeDatasetV2",
    "PaddedBatchDatasetV2", "ParallelInterleaveDatasetV2", "ParallelMapDataset", "ParallelMapDatasetV2",
    "PrefetchDataset", "RangeDataset", "RepeatDataset", "ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3",
    "SkipDataset", "TFRecordDataset", "TakeDataset", "TensorDataset", "TensorSliceDataset", "TextLineDataset",
    "ZipDataset", "ReadFile", "ShardedFilename",
)  # fmt: skip


@rule(*_SCALARS)
def _scalar(call: Any) -> Sequence[Shape]:
    return [()]


@rule("TensorArrayV3", "TensorArrayV2", "TensorArrayGradV3", "TensorArrayGradV2")
def _array(call: Any) -> Sequence[Shape]:
    return [(2,), ()] if call.op.endswith("V3") else [(2,)]


@rule("StackV2")
def _stack(call: Any) -> Sequence[Shape]:
    return [(2,)]


@rule("Const", "HostConst")
def _const(call: Any) -> Sequence[Shape]:
    return [attr_shape(decode_shape(call.attr("value").tensor_shape))]


@rule("Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Variable", "VariableV2", "TemporaryVariable",
       "ImmutableConst", "ParallelConcat")  # fmt: skip
def _stated(call: Any) -> Sequence[Shape]:
    return [attr_shape(call.attr("shape"))]


@rule("IteratorGetNext", "IteratorGetNextSync")
def _next(call: Any) -> Sequence[Shape]:
    return [attr_shape(shape) for shape in call.attr("output_shapes", ())]


@rule("QueueDequeueV2")
def _dequeued(call: Any) -> Sequence[Shape]:
    return [None]


@rule("Assign")
def _assign(call: Any) -> Sequence[Shape]:
    if not call.attr("validate_shape", True):
        return [call.shape(1)]
    return [merged(call.shape(0), call.shape(1))]


@rule("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "StatelessRandomUniform",
       "StatelessRandomNormal", "StatelessTruncatedNormal", "StatelessRandomUniformInt", "ParameterizedTruncatedNormal",
       "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "Empty", "Fill",
       "StridedSliceGrad")  # fmt: skip
def _filled(call: Any) -> Sequence[Shape]:
    return [told_shape(call, 0)]


@rule("BroadcastTo", "ScatterNd", "SparseToDense")
def _told_by_another(call: Any) -> Sequence[Shape]:
    return [told_shape(call, 2 if call.op == "ScatterNd" else 1)]


@rule("Switch", "RefSwitch")
def _switch(call: Any) -> Sequence[Shape]:
    return [call.shape(0)] * 2


@rule("IdentityN")
def _each(call: Any) -> Sequence[Shape]:
    return [call.shape(k) for k in range(call.count)]


@rule("StringJoin")
def _joined(call: Any) -> Sequence[Shape]:
    shapes = [call.shape(k) for k in range(call.count)]
    if all(shape == () for shape in shapes):
        return [()]
    return [merged(*[shape for shape in shapes if shape != ()])] if None not in shapes else [None]


@rule("StringSplit", "StringSplitV2")
def _pieces(call: Any) -> Sequence[Shape]:
    return [(None, 2), (None,), (2,)]


@rule("DecodeCSV")
def _fields(call: Any) -> Sequence[Shape]:
    return [call.shape(0)] * (call.count - 1)


@rule("LookupTableFindV2", "LookupTableFind")
def _found(call: Any) -> Sequence[Shape]:
    return [call.shape(1) if call.inner(0) == () else None]
