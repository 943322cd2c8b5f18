"""Policy "adapter": the result of the adapter's own pass, its refusals and defects included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Set, Tuple

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import as_session_gives
from npu_reference.graphs.frames import CONTROL_FLOW, frames
from npu_reference.options.rules.shapes import no_loops
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.borders.crossing import (
    Copies,
    copy_constants,
    copy_variables,
    first_ref_border,
    ref_border_error,
    stray_readers,
    stray_variable_error,
)
from npu_reference.partition.candidates.bodies import Bodies
from npu_reference.partition.candidates.eviction import (
    add_constants,
    constants_behind_controls,
    spread,
    spread_over_frames,
)
from npu_reference.partition.candidates.ranges import select_as_adapter
from npu_reference.partition.candidates.rewrite import rewrite
from npu_reference.partition.candidates.support import ADAPTER_RULES, Judge, whole_graph_cause
from npu_reference.partition.clustering.cluster import group
from npu_reference.partition.model import Note
from npu_reference.partition.reasons import Cause, Reason
from npu_reference.partition.structure.wires import Wires

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = [
    "AdapterPlan",
    "check_options",
    "control_flow_note",
    "idle_cause",
    "plan",
    "where_of_uninitialized",
    "with_graph_options",
]


class AdapterPlan(NamedTuple):
    """Where every node goes, before names and borders: `group[node]` counts from 0, -1 is the host."""

    graph: Graph
    wires: Wires
    candidate: bytearray
    cause: Dict[int, Cause]
    group: List[int]
    contracted: int
    copies: Copies
    notes: Tuple[Note, ...]


def plan(graph: Graph, settings: PartitionSettings, op_list: OpList, flavour: str) -> AdapterPlan:
    """The adapter's own plan; NpuError with the adapter's own words where its pass fails."""
    idle = idle_cause(graph, settings)
    settings = with_graph_options(graph, settings)
    notes: List[Note] = []
    if idle is None:  # a pass that leaves the graph alone looks at nothing else
        check_options(settings)
        _check_iterators(graph, settings)
        graph, notes = rewrite(as_session_gives(graph))
        notes.extend(control_flow_note(graph, settings))
    wires = Wires(graph)
    candidate = bytearray(len(graph.nodes))
    cause: Dict[int, Cause] = {}
    if idle is not None:
        cause.update((node.id, idle) for node in graph.nodes)
    elif settings.ranges_text is None or not _choose_ranges(graph, wires, settings, op_list, candidate, cause, notes):
        _choose(graph, wires, settings, op_list, candidate, cause)
    grouping = group(graph, wires, candidate, settings, flavour)
    copies = _copy(graph, wires, grouping.group, settings) if idle is None else Copies(set(), set())
    border = first_ref_border(graph, wires, grouping.group, copies)
    if border is not None:
        raise ref_border_error(graph, wires, *border)
    return AdapterPlan(graph, wires, candidate, cause, grouping.group, grouping.contracted, copies, tuple(notes))


def idle_cause(graph: Graph, settings: PartitionSettings) -> Optional[Cause]:
    """Why the pass leaves the graph as it is."""
    if not settings.use_off_line:
        return Cause(Reason.MODE_OFF, "use_off_line is False")
    if settings.job in ("ps", "default"):
        return Cause(Reason.MODE_OFF, f"job is {settings.job}")
    for node in graph.nodes:
        if node.has_attr("_NoNeedOptimize"):
            return Cause(Reason.GRAPH_EXCLUDED, f"{node.name} carries _NoNeedOptimize")
    return None


def with_graph_options(graph: Graph, settings: PartitionSettings) -> PartitionSettings:
    """The settings with what the graph's own attributes say, as set_graph_exec_config writes them."""
    if settings.lazy_recompile:
        return settings
    lazy = any(
        node.text("_graph_dynamic_graph_execute_mode") == "lazy_recompile" and node.attr("_graph_dynamic_input") is True
        for node in graph.nodes
    )
    return settings._replace(lazy_recompile=True) if lazy else settings


def check_options(settings: PartitionSettings) -> None:
    if settings.lazy_recompile and settings.iterations != 1:
        raise NpuError("OPTION_CONFLICT", "", no_loops(settings.iterations))
    if settings.ranges_text is not None:
        if not settings.mix:
            raise NpuError("OPTION_CONFLICT", "", "mix_compile_mode must be True when use in_out_pair.")
        if not settings.ranges:
            raise NpuError("OPTION_SYNTAX", "", f"in_out_pair: {settings.ranges_text} is invalid.")


def control_flow_note(graph: Graph, settings: PartitionSettings) -> List[Note]:
    """Document 003 on variable_placement: variables on the host and control flow of TensorFlow 1 may fail together."""
    if not settings.variables_on_host:
        return []
    names = sorted(node.name for node in graph.nodes if node.op in CONTROL_FLOW)
    if not names or not any(node.op.startswith("Variable") or node.op == "VarHandleOp" for node in graph.nodes):
        return []
    return [
        Note(
            "HOST_VARIABLES_V1_CONTROL_FLOW",
            f"variable_placement is Host and the graph has control flow of TensorFlow 1 ({len(names)} operators, "
            f"{names[0]} among them): execution may fail. Call tf.enable_control_flow_v2() and "
            "tf.enable_resource_variables() before the graph is built, or leave variable_placement at Device.",
            names[0],
            "warning",
        )
    ]


def _check_iterators(graph: Graph, settings: PartitionSettings) -> None:
    if settings.iterations != 1 and any(node.op == "OneShotIterator" for node in graph.nodes):
        raise NpuError("ADAPTER_ABORT", "", "iterator_per_loop only support 1 when using OneShotIterator")


def _choose(
    graph: Graph,
    wires: Wires,
    settings: PartitionSettings,
    op_list: OpList,
    candidate: bytearray,
    cause: Dict[int, Cause],
) -> None:
    """The default way to candidates: judge each operator, then spread over frames and along edges."""
    whole = whole_graph_cause(graph)
    if whole is not None:
        cause.update((node.id, whole) for node in graph.nodes)
        return
    judge = Judge(graph, wires, settings, op_list, ADAPTER_RULES)
    support = judge.run()
    cause.update(support.cause)
    for node in graph.nodes:
        if node.op != "Const" and node.id not in cause:
            candidate[node.id] = 1
    if settings.mix:
        for node_id in where_of_uninitialized(graph, wires):
            cause.pop(node_id, None)
            candidate[node_id] = 1
    for constant in constants_behind_controls(graph, wires, judge.by_op):
        candidate[constant] = 1
    if settings.mix and any(node.op in ("Enter", "RefEnter") for node in graph.nodes):
        spread_over_frames(graph, frames(graph), candidate, cause, _unsupported(graph, candidate, support.skipped))
    spread(graph, wires, settings, candidate, cause, _unsupported(graph, candidate, support.skipped), variants=False)
    add_constants(graph, wires, candidate)


def _unsupported(graph: Graph, candidate: bytearray, skipped: Set[int]) -> List[int]:
    nodes = graph.nodes
    return [i for i in range(len(nodes)) if not candidate[i] and i not in skipped and nodes[i].op != "Const"]


def where_of_uninitialized(graph: Graph, wires: Wires) -> List[int]:
    """Where operators that pick uninitialised variables, as report_uninitialized_variables builds them."""
    nodes = graph.nodes
    found = []
    for node in nodes:
        if node.op == "Where":
            source = node.id
            while nodes[source].op in ("Where", "Reshape", "LogicalNot", "Pack", "Identity"):
                edges = graph.in_edges(source)
                if not edges:
                    break
                source = wires.src[edges[0]]
            if nodes[source].op in ("IsVariableInitialized", "VarIsInitializedOp"):
                found.append(node.id)
    return found


def _choose_ranges(
    graph: Graph,
    wires: Wires,
    settings: PartitionSettings,
    op_list: OpList,
    candidate: bytearray,
    cause: Dict[int, Cause],
    notes: List[Note],
) -> bool:
    """Candidates by in_out_pair; False where the adapter falls back to its default way."""
    selection = select_as_adapter(graph, wires, settings.ranges)
    notes.extend(selection.notes)
    if settings.offload_ranges and not selection.entry:
        return False
    judge = Judge(graph, wires, settings, op_list, ADAPTER_RULES)
    judge.bodies = Bodies(graph.functions, op_list, False, True)  # gray operators in functions count as supported here
    supported = judge.supported_alone()
    for node in graph.nodes:
        i = node.id
        inside = i in selection.entry
        if settings.offload_ranges and inside and i in supported:
            raise NpuError("RANGE_UNSUPPORTED", "", f"{node.name} is not supported npu node.")
        if i in supported:
            cause[i] = supported[i]
        elif inside == settings.offload_ranges:
            candidate[i] = 1
        else:
            reason = Reason.RANGE_OUTSIDE if settings.offload_ranges else Reason.RANGE_INSIDE
            cause[i] = Cause(reason, "in_out_pair")
    return True


def _copy(graph: Graph, wires: Wires, groups: List[int], settings: PartitionSettings) -> Copies:
    if not settings.mix or max(groups, default=-1) < 0:  # without a GEOP the pass ends before it looks at variables
        return Copies(set(), set())
    variables: Set[Tuple[int, int]] = set()
    if not settings.variables_on_host:
        strays = stray_readers(graph, wires, groups)
        if strays:
            raise stray_variable_error(graph, strays[0])
        variables = copy_variables(graph, wires, groups)
    return Copies(variables, copy_constants(graph, wires, groups, for_controls=True), handles_only=True)
