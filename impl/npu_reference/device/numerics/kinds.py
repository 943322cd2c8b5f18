"""What kind of arithmetic an operator does, as far as rounding and overflow are concerned; no TensorFlow needed."""

from __future__ import annotations

from typing import FrozenSet

__all__ = ["KEEPS_TYPE", "MOVES", "STATUS_OPS"]

_SHAPES = """
    BatchToSpace BatchToSpaceND BroadcastTo ConcatV2 Concat DepthToSpace Diag DiagPart DynamicPartition DynamicStitch
    ExpandDims ExtractImagePatches Fill Gather GatherNd GatherV2 MatrixBandPart MatrixDiag MatrixDiagPart
    MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3
    MirrorPad OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch Reshape Reverse ReverseSequence ReverseV2 Roll
    Slice SpaceToBatch SpaceToBatchND SpaceToDepth Split SplitV Squeeze StridedSlice StridedSliceGrad Tile
    TopK TopKV2 Transpose Unpack Unique UniqueV2 UniqueWithCounts ZerosLike
    ResourceGather ResourceGatherNd ReadVariableOp VariableV2 Variable
"""

_CHOICES = """
    Abs ArgMax ArgMin Ceil Floor Max MaxPool MaxPoolV2 MaxPoolWithArgmax Maximum Min Minimum Neg Relu Relu6 Relu6Grad
    ReluGrad ResizeNearestNeighbor Rint Round SegmentMax SegmentMin Select SelectV2 Sign UnsortedSegmentMax
    UnsortedSegmentMin ClipByValue
"""

_CONTROL = """
    Enter Exit Identity IdentityN LoopCond Merge NextIteration Switch PreventGradient Snapshot StopGradient
    PlaceholderWithDefault EnsureShape DeepCopy
    StackPopV2 StackPushV2 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArrayWriteV3
    TensorArrayConcatV3 TensorArraySplitV3 TensorArrayUnpackV3
    TensorListGetItem TensorListSetItem TensorListStack TensorListFromTensor TensorListPushBack TensorListPopBack
    TensorListGather TensorListScatter
"""

#: Operators whose results are elements of their inputs, negated, dropped or replaced by small integers: they can
#: neither leave the float16 grid nor overflow.
MOVES: FrozenSet[str] = frozenset((_SHAPES + _CHOICES + _CONTROL).split())

#: Operators that are bound to the type the graph gives them although they compute: their state or their bits have it.
KEEPS_TYPE: FrozenSet[str] = frozenset(
    (
        _CONTROL
        + """
    Bitcast Const Placeholder PlaceholderV2 RandomStandardNormal RandomUniform TruncatedNormal
    ParameterizedTruncatedNormal Multinomial RandomGamma RandomPoissonV2 StatelessRandomNormal StatelessRandomUniform
    StatelessTruncatedNormal
    StatelessRandomNormalV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2 PyFunc EagerPyFunc PyFuncStateless
"""
    ).split()
)

#: The overflow flags of loss scaling, in the spellings of the adapter and of its operator library.
STATUS_OPS = {
    prefix + name: name
    for prefix in ("Npu", "NPU")
    for name in ("AllocFloatStatus", "GetFloatStatus", "GetFloatStatusV2", "ClearFloatStatus", "ClearFloatStatusV2")
}
