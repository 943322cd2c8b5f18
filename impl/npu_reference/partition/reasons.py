"""The closed list of reasons why an operator stays on the host, each with its remedy in the documents' terms."""

from __future__ import annotations

from enum import Enum
from typing import Dict, NamedTuple, Tuple

__all__ = ["Cause", "MEANINGS", "ONLY_MIXED", "REMEDIES", "Reason", "SAVED_GRAPH_HINT", "always_on_host", "remedy_of"]

#: Begins a remedy that holds where nothing but mixed computing keeps an operator on the host.
ONLY_MIXED = "Without mix_compile_mode it is offloaded; with it, "

#: What a note adds where nothing is offloaded of a graph that may hold more than one session.run does.
SAVED_GRAPH_HINT = " Name feeds and fetches to see the graph as one session.run does."


class Reason(str, Enum):
    """Why an operator is on the host. The value is what answers and reports show."""

    MODE_OFF = "MODE_OFF"
    GRAPH_EXCLUDED = "GRAPH_EXCLUDED"
    FEED = "FEED"
    FETCH = "FETCH"
    NOT_SUPPORTED = "NOT_SUPPORTED"
    GRAY = "GRAY"
    SCOPE = "SCOPE"
    DATASET = "DATASET"
    STRING_JOIN = "STRING_JOIN"
    RESOURCE = "RESOURCE"
    VARIABLE_PLACEMENT = "VARIABLE_PLACEMENT"
    FIFTH_OUTPUT = "FIFTH_OUTPUT"
    FUNCTION = "FUNCTION"
    FRAME = "FRAME"
    CONDITIONAL = "CONDITIONAL"
    REF_EDGE = "REF_EDGE"
    RESOURCE_EDGE = "RESOURCE_EDGE"
    VARIANT_EDGE = "VARIANT_EDGE"
    STRING_EDGE = "STRING_EDGE"
    HOST_CONST = "HOST_CONST"
    ISOLATED = "ISOLATED"
    SMALLER_REGION = "SMALLER_REGION"
    RANGE_INSIDE = "RANGE_INSIDE"
    RANGE_OUTSIDE = "RANGE_OUTSIDE"


#: What each reason means.
MEANINGS: Dict[Reason, str] = {
    Reason.MODE_OFF: "use_off_line is False: nothing is offloaded.",
    Reason.GRAPH_EXCLUDED: "The graph is marked, or pairs an iterator with its initialisation.",
    Reason.FEED: "A feed or an argument.",
    Reason.FETCH: "A fetch.",
    Reason.NOT_SUPPORTED: "No entry in the operator list.",
    Reason.GRAY: "The operator list keeps it on the host in mixed computing.",
    Reason.SCOPE: "It was built inside of without_npu_compile_scope.",
    Reason.DATASET: "Input pipelines run in the framework.",
    Reason.STRING_JOIN: "Never offloaded, even when listed.",
    Reason.RESOURCE: "Uses or makes a resource that is not a variable.",
    Reason.VARIABLE_PLACEMENT: "It shares a variable, and variable_placement is Host.",
    Reason.FIFTH_OUTPUT: "FusedBatchNormV3's reserve_space_3 is used (000).",
    Reason.FUNCTION: "A function it calls holds an operator that cannot be offloaded.",
    Reason.FRAME: "In a while loop of which something must stay on the host.",
    Reason.CONDITIONAL: "Between Switch and Merge with something that must stay on the host.",
    Reason.REF_EDGE: "Shares a variable's reference with a host operator.",
    Reason.RESOURCE_EDGE: "Shares a resource with a host operator.",
    Reason.VARIANT_EDGE: "Exchanges a variant with a host operator.",
    Reason.STRING_EDGE: "Exchanges a string with a host operator.",
    Reason.HOST_CONST: "A constant that only host operators use.",
    Reason.ISOLATED: "A NoOp or Identity where there is nothing else to offload.",
    Reason.SMALLER_REGION: "Full offload keeps one region, and this is in another.",
    Reason.RANGE_INSIDE: "In a range that in_out_pair_flag=False keeps on the host.",
    Reason.RANGE_OUTSIDE: "Outside of the ranges that in_out_pair offloads.",
}

#: What would put an operator of each reason on the device, or why nothing can.
REMEDIES: Dict[Reason, str] = {
    Reason.MODE_OFF: "Set use_off_line to True, or leave it unset.",
    Reason.GRAPH_EXCLUDED: "Initialise iterators in a session.run of their own.",
    Reason.FEED: "None: feeds come from the host.",
    Reason.FETCH: "None: fetches go to the host.",
    Reason.NOT_SUPPORTED: "Replace it by operators the device has, or move it out of the path between large regions.",
    Reason.GRAY: f"{ONLY_MIXED}replace it by another operator.",
    Reason.SCOPE: "Build it outside of without_npu_compile_scope.",
    Reason.DATASET: "None: input pipelines run in the framework.",
    Reason.STRING_JOIN: "None: string operators run in the framework.",
    Reason.RESOURCE: "None in mixed computing: resources other than variables stay in the framework.",
    Reason.VARIABLE_PLACEMENT: "Set variable_placement to Device.",
    Reason.FIFTH_OUTPUT: "Build batch normalization under compat.forward_compatibility_horizon(2019, 5, 1), "
    "or do not use the fifth output.",
    Reason.FUNCTION: "Take the operator named last out of the function.",
    Reason.FRAME: "Take the operator named last out of the loop, or replace it by one the device has.",
    Reason.CONDITIONAL: "Take the operator named last out of the branches, or replace it by one the device has.",
    Reason.REF_EDGE: "Let the operator named last read the variable's value instead of its reference.",
    Reason.RESOURCE_EDGE: "Let the operator named last use the value that was read instead of the resource.",
    Reason.VARIANT_EDGE: "Replace the operator named last by one the device has.",
    Reason.STRING_EDGE: "None: strings stay in the framework. Turn them into numbers on the host.",
    Reason.HOST_CONST: "None needed: no operator on the device uses it.",
    Reason.ISOLATED: "None needed: it computes nothing.",
    Reason.SMALLER_REGION: "Set mix_compile_mode to True: then every region is offloaded.",
    Reason.RANGE_INSIDE: "Leave it out of the ranges of in_out_pair.",
    Reason.RANGE_OUTSIDE: "Include it in a range of in_out_pair.",
}

_SUMMARY = (
    "Summaries are always written by the framework: fetch them in a session.run of their own, every so many steps."
)
_CHECKPOINT = "None needed: checkpoints are always read and written by the framework."
_INPUT = (
    "Input pipelines run in the framework, and what they give is copied in; with enable_data_pre_proc the device takes "
    "it itself."
)
_PYTHON = (
    "Compute it in Python before the run and feed it, or build it of operators the device has; within"
    " tf.stop_gradient where it has no gradient, as py_func, so that training stays the same."
)

#: Operators that no device has, whatever it is: what to do where the remedy of their reason would not help.
_BY_OP: Dict[str, str] = {
    **dict.fromkeys(
        ("AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary", "MergeSummary", "ScalarSummary",
         "TensorSummary", "TensorSummaryV2"), _SUMMARY),
    **dict.fromkeys(
        ("MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2",
         "ShardedFilename", "ShardedFilespec"), _CHECKPOINT),
    **dict.fromkeys(
        ("Iterator", "IteratorGetNext", "IteratorGetNextSync", "IteratorV2", "OneShotIterator"), _INPUT),
    **dict.fromkeys(("EagerPyFunc", "PyFunc", "PyFuncStateless"), _PYTHON),
}  # fmt: skip


def remedy_of(reason: Reason, op: str) -> str:
    """What would put an operator of this type on the device, or what to do with it where it is."""
    if reason in (Reason.NOT_SUPPORTED, Reason.GRAY, Reason.RESOURCE) and op in _BY_OP:
        return _BY_OP[op]
    if reason is Reason.STRING_EDGE and op == "Identity":
        return REMEDIES[Reason.ISOLATED]
    return REMEDIES[reason]


def always_on_host(reason: Reason, op: str) -> bool:
    """Whether an operator is none of the device's in any script: input, summaries, checkpoints, and their strings."""
    if reason in (Reason.DATASET, Reason.STRING_EDGE, Reason.STRING_JOIN):
        return True
    return reason in (Reason.NOT_SUPPORTED, Reason.RESOURCE) and _BY_OP.get(op, _PYTHON) != _PYTHON


class Cause(NamedTuple):
    """Why one node is on the host: the reason, what was found, and the node whose own cause comes next (-1: none)."""

    reason: Reason
    detail: str
    via: int = -1
    path: Tuple[str, ...] = ()  # nodes and functions entered, for FUNCTION
    remedy: str = ""  # where the reason's own would not help
