"""How operators without a kernel of their own treat the dtypes that reach them: storage, calls, movement."""

from __future__ import annotations

from npu_reference.catalog import Descriptor

__all__ = [
    "CALLS", "CONSTANTS", "FOLLOWERS", "FUSED_IF", "SOURCES", "STORERS", "TRANSPARENT", "UNTYPED", "rewritten",
]  # fmt: skip

CONSTANTS = frozenset({"Const", "Constant"})

#: Where tensors begin: they are no producers a gray operator could follow (P2), and keep the graph's dtype (P14).
SOURCES = CONSTANTS | frozenset(
    {
        "_Arg",
        "Data",
        "FileConstant",
        "Placeholder",
        "PlaceholderV2",
        "ReadVariableOp",
        "TemporaryVariable",
        "Variable",
        "VariableV2",
        "VarHandleOp",
    }
)

#: Reading through these is reading what they read: a gray operator behind them looks further for its producer.
TRANSPARENT = frozenset(
    {"Identity", "PlaceholderWithDefault", "PreventGradient", "RefIdentity", "Snapshot", "StopGradient"}
)

#: Operators of the graph executor that hand their input on: their output has the dtype that reached them.
FOLLOWERS = frozenset(
    {
        "Exit",
        "ExpandDims",
        "IdentityN",
        "PlaceholderWithDefault",
        "PreventGradient",
        "RefExit",
        "Snapshot",
        "Squeeze",
        "StopGradient",
        "Unsqueeze",
    }
)

#: Operators of the graph executor that look at a tensor's shape or presence only: no dtype is asked of it.
UNTYPED = frozenset({"ControlTrigger", "NoOp", "Rank", "ShapeN", "Size"})

#: An attribute that must be true for graph fusion to make an operator's kernel (research 2.5: TopKD sorts).
FUSED_IF = {"TopKV2": "sorted"}

#: They store: what a variable holds has the variable's own dtype (P14).
STORERS = frozenset({"Assign", "AssignVariableOp"})

#: They call functions, whose arguments and results keep the dtypes of their signature (assumed).
CALLS = frozenset(
    {
        "Case",
        "For",
        "If",
        "PartitionedCall",
        "StatefulPartitionedCall",
        "StatelessCase",
        "StatelessIf",
        "StatelessWhile",
        "While",
        "_If",
        "_While",
    }
)


def rewritten(descriptor: Descriptor, inputs: int) -> Descriptor:
    """What is known of an operator with so many inputs: an Einsum of two is a batched product, any other is not."""
    if descriptor.tf_op != "Einsum" or inputs == 2:
        return descriptor
    return Descriptor("Einsum", "Einsum", "aicpu", has_aicpu=True, source=descriptor.source)
