"""Policy "documented": the adapter's result where it can run and agrees with the documents, else the least change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import in_creation_order
from npu_reference.graphs.frames import frames
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition.borders.checks import STAYS, Surroundings, Violation, violations
from npu_reference.partition.borders.crossing import Copies, copy_constants, copy_variables, stray_readers
from npu_reference.partition.borders.deadness import find_dead
from npu_reference.partition.candidates.bodies import marked_inside
from npu_reference.partition.candidates.eviction import (
    add_constants,
    constants_behind_controls,
    spread,
    spread_over_frames,
    spread_over_regions,
)
from npu_reference.partition.candidates.ranges import Selection, select, select_as_adapter
from npu_reference.partition.candidates.rewrite import rewrite
from npu_reference.partition.candidates.support import DOCUMENTED_RULES, PLACEHOLDERS, Judge, whole_graph_cause
from npu_reference.partition.clustering.cluster import group
from npu_reference.partition.clustering.levels import group_by_levels
from npu_reference.partition.model import Note
from npu_reference.partition.policies.adapter import (
    AdapterPlan,
    check_options,
    control_flow_note,
    idle_cause,
    where_of_uninitialized,
    with_graph_options,
)
from npu_reference.partition.reasons import SAVED_GRAPH_HINT, Cause, Reason
from npu_reference.partition.structure.hidden import entering, hidden_edges
from npu_reference.partition.structure.wires import REF, RESOURCE, VARIANT, Wires
from npu_reference.printing import counted, listed

if TYPE_CHECKING:
    from npu_reference.graphs import Graph

__all__ = ["plan"]

_ENTERS = ("Enter", "RefEnter")

#: Why an operator stays on the host that shares what cannot cross with another region.
_CUT = {REF: Reason.REF_EDGE, RESOURCE: Reason.RESOURCE_EDGE, VARIANT: Reason.VARIANT_EDGE}

#: Reasons that the adapter does not know, and what it would do instead.
_DIFFERENCES = (
    (
        Reason.FIFTH_OUTPUT,
        "The fifth output of FusedBatchNormV3 is used, so it stays on the host: {}. (The adapter itself offloads it.)",
    ),
    (
        Reason.CONDITIONAL,
        "A conditional that holds a host operator stays on the host whole: {}. (The adapter itself cuts it, and "
        "tensors of the branch not taken would have to cross a border.)",
    ),
    (
        Reason.FRAME,
        "A while loop that holds a host operator stays on the host whole: {}. (Without mixed computing the adapter "
        "itself cuts it, and GEOP and loop would wait for each other.)",
    ),
    (
        Reason.VARIANT_EDGE,
        "Operators that exchange variants with the host stay there: {}. (The adapter itself lets variants cross.)",
    ),
)

#: What the adapter's own result would do at run time, by the check that fails.
_CONSEQUENCE = {
    "CYCLE": "a GEOP and a host operator would wait for each other",
    "FRAME": "a GEOP would hold a part of a while loop",
    "LOOP": "a GEOP and a while loop on the host would wait for each other",
    "DEAD": "a tensor of a branch not taken would have to cross a border",
    "QUEUE": "a GEOP would wait for a queue that it fills itself",
    "REF": "a variable's reference would have to cross a border",
}


def plan(graph: Graph, settings: PartitionSettings, op_list: OpList, flavour: str) -> AdapterPlan:
    """The documented plan, which can always run; each difference from the adapter's own is in its notes.

    Raises:
        NpuError: OPTION_CONFLICT and OPTION_SYNTAX as the adapter does; RANGE_UNSUPPORTED (M12), RANGE_SCOPE (M16);
            INTERNAL where the result would not pass its own checks.
    """
    settings = with_graph_options(graph, settings)
    notes: List[Note] = []
    idle = idle_cause(graph, settings)
    if idle is None:  # with use_off_line False the other options have nothing to act on
        check_options(settings)
        graph, notes = rewrite(in_creation_order(graph))
    return _Planner(graph, settings, op_list, flavour, notes).run(idle)


class _Divided(NamedTuple):
    """A division, which nobody changes, with the copies that it needs and what keeps it from running."""

    groups: Sequence[int]
    copies: Copies
    problems: Sequence[Violation]


class _Planner:
    def __init__(
        self, graph: Graph, settings: PartitionSettings, op_list: OpList, flavour: str, notes: List[Note]
    ) -> None:
        self.graph, self.settings, self.op_list, self.flavour = graph, settings, op_list, flavour
        self.notes = notes
        self.wires = Wires(graph)
        self.candidate = bytearray(len(graph.nodes))
        self.cause: Dict[int, Cause] = {}
        self.contracted = 0
        self.divided: Optional[_Divided] = None  # the division that was looked at last
        self.fixed_constants: Set[int] = set()  # constants that in_out_pair puts on one side
        homes = frames(graph) if any(node.op in _ENTERS for node in graph.nodes) else None
        orders = hidden_edges(graph, self.wires), entering(graph, homes) if homes else ()
        self.around = Surroundings(homes, find_dead(graph, self.wires), *orders)

    def run(self, idle: Optional[Cause]) -> AdapterPlan:
        """The plan; `idle` is why the pass would leave the graph as it is."""
        idle = idle or whole_graph_cause(self.graph)
        if idle is not None:
            self.cause.update((node.id, idle) for node in self.graph.nodes)
            # A saved graph holds what several runs need; only one of them initialises the iterator.
            whole = idle.reason is Reason.GRAPH_EXCLUDED and not any(node.op == "_Retval" for node in self.graph.nodes)
            hint = SAVED_GRAPH_HINT if whole else ""
            self._note("NOTHING_OFFLOADED", f"Nothing is offloaded: {idle.detail}.{hint}", level="warning")
            return self._plan([-1] * len(self.graph.nodes), Copies(set(), set()))
        self._choose()
        groups = self._group()
        self._verify(groups)
        self._summarise(groups)
        return self._plan(groups, self._divided(groups).copies)

    def _plan(self, groups: List[int], copies: Copies) -> AdapterPlan:
        return AdapterPlan(
            self.graph, self.wires, self.candidate, self.cause, groups, self.contracted, copies, tuple(self.notes)
        )

    def _note(self, code: str, message: str, subject: str = "", level: str = "info") -> None:
        self.notes.append(Note(code, message, subject, level))

    # -- candidates --------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        selection: Optional[Selection] = None
        if self.settings.ranges:
            selection = select(self.graph, self.wires, self.settings.ranges)
            self.notes.extend(selection.notes)
            if set(selection.entry) != set(select_as_adapter(self.graph, self.wires, self.settings.ranges).entry):
                self._note(
                    "RANGE_SELECTION",
                    "The adapter itself selects other operators for in_out_pair: its paths end at the first out node "
                    "or operator already selected (M6, M7).",
                    "in_out_pair",
                )
            if not selection.entry:  # M8
                message = "in_out_pair selects nothing in this graph; it is divided as without."
                self._note("RANGE_EMPTY", message, "in_out_pair", "error")
        judge = Judge(self.graph, self.wires, self.settings, self.op_list, DOCUMENTED_RULES)
        support = judge.run()
        if self.settings.mix:
            for where in where_of_uninitialized(self.graph, self.wires):
                marked = self.graph.nodes[where].attr("_without_npu_compile") is True
                if where in support.cause and support.cause[where].reason is Reason.GRAY and not marked:
                    del support.cause[where]
        self._note_ignored_scopes()
        self.notes.extend(control_flow_note(self.graph, self.settings))
        self._note_placeholders()
        if selection is not None and selection.entry and self.settings.offload_ranges:
            self._choose_range(selection.entry, support.cause, judge)
            return
        self.cause.update(support.cause)
        if selection is not None and selection.entry:
            self._keep_range(selection.entry)
        for node in self.graph.nodes:
            if node.op != "Const" and node.id not in self.cause:
                self.candidate[node.id] = 1
        for constant in constants_behind_controls(self.graph, self.wires, judge.by_op):
            if constant not in self.cause:
                self.candidate[constant] = 1
        self._spread(node.id for node in self.graph.nodes if not self.candidate[node.id])
        self._add_constants()

    def _note_ignored_scopes(self) -> None:
        if self.settings.mix:
            return
        marked = sorted(node.name for node in self.graph.nodes if node.attr("_without_npu_compile") is True)
        for function in self.graph.functions.values():
            marked.extend(sorted(f"{function.name}/{name}" for name in marked_inside(function)))
        if marked:  # M17
            self._note(
                "SCOPE_WITHOUT_MIX",
                f"without_npu_compile_scope has no effect without mix_compile_mode: {listed(marked, 5)}. "
                "(The adapter itself keeps such operators on the host.)",
                marked[0],
                "warning",
            )

    def _note_placeholders(self) -> None:
        """A Placeholder left in the graph will be fed or never run: no device operator either way."""
        names = sorted(node.name for node in self.graph.nodes if node.op in PLACEHOLDERS)
        if names:
            self._note(
                "PLACEHOLDER_AS_FEED",
                f"Not among the feeds, and taken as feeds to come: {listed(names, 5)}. Name feeds and fetches to see "
                "the graph as a session.run does.",
                names[0],
            )

    def _keep_range(self, entry: Dict[int, int]) -> None:
        """in_out_pair_flag False: the range on the host, the rest as without (M15)."""
        outside = [node for node in self.cause if node not in entry]
        for node, number in entry.items():
            if node not in self.cause:
                self.cause[node] = Cause(Reason.RANGE_INSIDE, f"entry {number} of in_out_pair holds it")
            if self.graph.nodes[node].op == "Const":
                self.fixed_constants.add(node)
        ops = sorted({self.graph.nodes[node].op for node in outside} - {"_Arg", "_Retval"})
        if ops:
            self._note(
                "RANGE_HOST_OUTSIDE",
                f"Outside of the ranges, too, operators that cannot be offloaded stay on the host: {listed(ops, 5)}.",
                "in_out_pair",
            )

    def _choose_range(self, entry: Dict[int, int], alone: Dict[int, Cause], judge: Judge) -> None:
        """in_out_pair_flag True: the ranges on the device, whole loops and conditionals with them, nothing else."""
        inside = self._completed(set(entry))
        nodes = self.graph.nodes
        for node in sorted(inside):
            found = alone.get(node)
            if nodes[node].op == "Const" and nodes[node].attr("_without_npu_compile") is True:
                found = Cause(Reason.SCOPE, "built inside without_npu_compile_scope")
            if found is not None:
                raise _range_error(nodes[node], found, entry.get(node))
            self.candidate[node] = 1
        for node in range(len(nodes)):
            if node not in inside:
                self.cause[node] = alone.get(node) or Cause(Reason.RANGE_OUTSIDE, "no entry of in_out_pair holds it")
        variables = self._variables_of(inside)
        self._spread(node for node in range(len(nodes)) if node not in inside and node not in variables)
        lost = [node for node in sorted(inside) if not self.candidate[node]]
        if lost:
            raise _range_error(nodes[lost[0]], self.cause[lost[0]], entry.get(lost[0]))

    def _variables_of(self, inside: Set[int]) -> Set[int]:
        """Variables outside of the range whose reference or handle the range takes: it gets copies of them."""
        wires, nodes = self.wires, self.graph.nodes
        found = set()
        for edge, target in enumerate(wires.dst):
            source = wires.src[edge]
            if target in inside and source not in inside and nodes[source].op in ("VariableV2", "VarHandleOp"):
                readers = (wires.dst[e] for e in self.graph.out_edges(source) if wires.kind[e] == wires.kind[edge])
                if all(reader in inside for reader in readers):
                    found.add(source)
        return found

    def _completed(self, inside: Set[int]) -> Set[int]:
        """The range with every loop and conditional that it touches, whole: they cannot be cut (M21)."""
        given = len(inside)
        while True:
            added = self._loops_of(inside) | self._regions_of(inside)
            if added <= inside:
                break
            inside = inside | added
        if len(inside) > given:
            self._note(
                "RANGE_EXTENDED",
                f"The ranges of in_out_pair were extended by {counted(len(inside) - given, 'operator')}: loops and "
                "conditionals cannot be cut.",
                "in_out_pair",
                "warning",
            )
        return inside

    def _loops_of(self, inside: Set[int]) -> Set[int]:
        own = self.around.frames
        if own is None:
            return set()
        touched: Set[object] = set()
        for node in inside:
            frame = own[node]
            while frame is not None:
                touched.add(frame)
                frame = frame.parent
        return {node for node, frame in enumerate(own) if frame is not None and _within(frame, touched)}

    def _regions_of(self, inside: Set[int]) -> Set[int]:
        region = self.around.deadness.region
        touched = {region[node] for node in inside if node in region}
        return {node for node, found in region.items() if found in touched}

    # -- eviction ----------------------------------------------------------------------------------------------

    def _spread(self, sources: Iterable[int]) -> None:
        """Along references and handles, over loops and conditionals, until nothing more is evicted (M20, M21)."""
        nodes = self.graph.nodes
        pending = [node for node in sources if nodes[node].op != "Const" or node in self.fixed_constants]
        while pending:
            found = spread(self.graph, self.wires, self.settings, self.candidate, self.cause, pending, variants=True)
            if self.around.frames is not None:
                found += spread_over_frames(self.graph, self.around.frames, self.candidate, self.cause, pending + found)
            if self.around.deadness.region:
                found += spread_over_regions(
                    self.graph, self.around.deadness.region, self.candidate, self.cause, pending + found
                )
            pending = found

    def _add_constants(self) -> None:
        fixed = {node: self.candidate[node] for node in self.fixed_constants}
        add_constants(self.graph, self.wires, self.candidate)
        for node, flag in fixed.items():
            self.candidate[node] = flag
        for node in range(len(self.candidate)):
            if self.candidate[node] and node in self.cause:
                del self.cause[node]

    # -- groups ------------------------------------------------------------------------------------------------

    def _group(self) -> List[int]:
        while True:
            found = self._group_once()
            evicted = self._cut_references(found)
            if not evicted:
                return found
            self._spread(evicted)

    def _group_once(self) -> List[int]:
        grouping = group(self.graph, self.wires, self.candidate, self.settings, self.flavour)
        self.contracted = grouping.contracted
        problems = [problem for problem in self._divided(grouping.group).problems if problem.code != "REF"]
        if not problems:
            return grouping.group
        self._note_repairs(problems)
        while True:
            runnable = group_by_levels(self.graph, self.wires, self.candidate, self.settings, self.flavour, self.around)
            if not runnable.evicted:
                return runnable.group
            self.cause.update(runnable.evicted)
            self._spread(runnable.evicted)

    def _note_repairs(self, problems: Sequence[Violation]) -> None:
        for problem in problems:
            self._note(
                f"REPAIRED_{problem.code}",
                f"The adapter's own division cannot run, {_CONSEQUENCE[problem.code]}: {problem.message}.",
                self.graph.nodes[problem.node].name,
                "warning",
            )

    def _cut_references(self, groups: Sequence[int]) -> List[int]:
        """Evict what would take over a border what cannot cross it, or give it (full offload dissolves regions)."""
        wires, nodes = self.wires, self.graph.nodes
        copies = self._divided(groups).copies
        able = bytes(self.candidate)
        evicted = []
        for edge, kind in enumerate(wires.kind):
            source, target = wires.src[edge], wires.dst[edge]
            if kind not in STAYS or groups[source] == groups[target] or (source, groups[target]) in copies:
                continue
            for node, other in ((source, target), (target, source)):
                if groups[node] >= 0 and self.candidate[node]:
                    self.candidate[node] = 0
                    detail = f"it shares a {STAYS[kind]} with {nodes[other].name} ({nodes[other].op})"
                    if able[other]:  # neither is the other's cause
                        detail += f", which is in another region, and a {STAYS[kind]} crosses no border"
                    self.cause[node] = Cause(_CUT[kind], detail, -1 if able[other] else other)
                    evicted.append(node)
        return evicted

    def _divided(self, groups: Sequence[int]) -> _Divided:
        """What follows from a division, once for each: several steps ask, and it takes all edges."""
        if self.divided is None or self.divided.groups is not groups:
            copies = self._copies(groups)
            problems = violations(self.graph, self.wires, groups, copies, self.around)
            self.divided = _Divided(groups, copies, problems)
        return self.divided

    def _copies(self, groups: Sequence[int]) -> Copies:
        if not self.settings.mix:
            return Copies(set(), set())
        variables: Set[Tuple[int, int]] = set()
        if not self.settings.variables_on_host:
            variables = copy_variables(self.graph, self.wires, groups)
        return Copies(variables, copy_constants(self.graph, self.wires, groups))

    # -- what is answered beside -------------------------------------------------------------------------------

    def _verify(self, groups: Sequence[int]) -> None:
        problems = self._divided(groups).problems
        stray = [node for node, home in enumerate(groups) if home >= 0 and not self.candidate[node]]
        if problems or stray:
            what = problems[0].message if problems else f"{self.graph.nodes[stray[0]].name} is in a GEOP"
            raise NpuError("INTERNAL", self.graph.subject, f"the partition would not run: {what}.")

    def _summarise(self, groups: Sequence[int]) -> None:
        nodes = self.graph.nodes
        for reason, message in _DIFFERENCES:
            names = sorted(
                nodes[node].name for node, cause in self.cause.items() if cause.reason is reason and groups[node] < 0
            )
            if names and not (reason is Reason.FRAME and self.settings.mix):
                self._note(reason.value, message.format(listed(names, 5)), names[0], "warning")
        strays = stray_readers(self.graph, self.wires, groups) if self.settings.mix else []
        if strays and not self.settings.variables_on_host:
            name = min(nodes[stray].name for stray in strays)
            self._note(
                "VARIABLE_ON_HOST",
                f"{name} runs on the host and takes a variable's reference or handle: that variable and all that share "
                "it stay on the host. (The adapter itself refuses the graph.)",
                name,
                "warning",
            )
        if not self.settings.mix:
            self._note_left_behind(groups)

    def _note_left_behind(self, groups: Sequence[int]) -> None:
        """M2: full offload with something unsupported keeps the largest region, and says so."""
        nodes = self.graph.nodes
        quiet = (Reason.FEED, Reason.FETCH)
        ops = sorted({nodes[node].op for node, cause in self.cause.items() if cause.reason not in quiet and
                      nodes[node].op != "Const"})  # fmt: skip
        # NoOp and Identity compute nothing, so where they are is nothing to change (M27).
        dissolved = sum(
            home < 0 and self.candidate[node] and nodes[node].op not in ("NoOp", "Identity")
            for node, home in enumerate(groups)
        )
        if ops or dissolved:
            self._note(
                "FULL_OFFLOAD_INCOMPLETE",
                f"Full offload leaves operators on the host: {listed(ops, 5) if ops else 'none unsupported'}"
                + (f"; {dissolved} more that could be offloaded are not in the region kept" if dissolved else "")
                + ". mix_compile_mode offloads every region.",
                "",
                "warning",
            )


def _within(frame: object, touched: Set[object]) -> bool:
    while frame is not None:
        if frame in touched:
            return True
        frame = frame.parent  # type: ignore[attr-defined]
    return False


def _range_error(node: object, cause: Cause, entry: Optional[int]) -> NpuError:
    name, op = node.name, node.op  # type: ignore[attr-defined]
    where = f"entry {entry}" if entry is not None else "a loop or conditional that a range touches"
    if cause.reason is Reason.SCOPE:  # M16
        return NpuError(
            "RANGE_SCOPE",
            f"in_out_pair: {name}",
            f"{where} holds {name} ({op}), which was built inside without_npu_compile_scope.",
            "Take it out of the scope or out of the range.",
        )
    return NpuError(  # M12
        "RANGE_UNSUPPORTED",
        f"in_out_pair: {name}",
        f"{where} holds {name} ({op}), which cannot be offloaded: {cause.detail}.",
        "Choose a range without it.",
    )
