"""Which operator a run failed at, and what it read there, for its exception dump."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference.dumps.settings import exception_dump as exception_dump_of
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph
from npu_reference.partition.structure.topology import reached
from npu_reference.runtime.config import Settings
from npu_reference.runtime.execution.numerics import Numerics
from npu_reference.runtime.execution.plan import Plan, Signature
from npu_reference.runtime.sessions import exception_dump
from npu_reference.runtime.sessions.exception_dump import Operator, Read
from npu_reference.runtime.sessions.rerun import (
    Place,
    ToldAgain,
    Watching,
    gives_other_values,
    is_control_flow,
    keeps_no_record,
    places,
)
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["FailedOperators", "FailedRun"]

#: How often a run is made again that TensorFlow says was cancelled (assumed; one of a hundred was, at worst).
_TRIES = 10


class FailedRun(NamedTuple):
    """The run that failed."""

    plan: Plan
    signature: Signature
    feeds: Dict[str, Any]


class FailedOperators:
    """The exception dumps of one session.

    Args:
        session: its number.
        device: what its folder is called by.
        plan: makes a plan of a signature, watched or not.
        execute: runs a plan with feeds.
    """

    def __init__(
        self,
        settings: Settings,
        numerics: Optional[Numerics],
        session: int,
        device: int,
        plan: Callable[[Signature, Optional[Watching]], Plan],
        execute: Callable[[Plan, Dict[str, Any]], List[Any]],
    ) -> None:
        self._settings = settings
        self._numerics = numerics
        self._session = session
        self._device = device
        self._plan = plan
        self._execute = execute
        #: What is watched already: whoever fails in every step does not make the session's graph grow.
        self._watched: Dict[Tuple[Signature, ToldAgain, bool], Tuple[Plan, Watching]] = {}
        self._harmless: Dict[Signature, Plan] = {}

    def dump(self, told: ToldAgain, run: FailedRun, *, by_fault: bool = False) -> None:
        """Write what the options want of an operator that failed; nothing where it is no operator of a GEOP.

        Args:
            by_fault: it failed because that was asked for, and would not by itself.
        """
        settings = self._settings
        own = settings.places.root is not None  # a folder that is the run's own
        wanted = exception_dump_of(settings.resolution, settings.places.env, settings.places.edition, unasked=own)
        if wanted is None:
            return
        found = self._in_geop(told, run, by_fault) or self._in_function(told, run, by_fault)
        if found is not None:
            exception_dump.dump(wanted, *found, settings.places, self._device, self._session)

    def cause(self, error: Any, run: FailedRun) -> Any:
        """The error of the operator for which TensorFlow cancelled a run; the one given where that cannot be had.

        The first error that TensorFlow hears of ends a run and is the one it raises. What fails inside of a call is
        heard of when the call ends, and a call that begins meanwhile ends at once: as cancelled, which says nothing.
        """
        cancelled = tensorflow().v1.errors.CancelledError
        if not isinstance(error, cancelled):
            return error
        try:
            self._execute_again(self._changing_nothing(run), run.feeds)
        except (NpuError, tensorflow().v1.errors.OpError) as found:
            # A session that was closed meanwhile refuses the second run, which is not what ended the first.
            return error if isinstance(found, (cancelled, NpuError)) else found
        return error

    def _changing_nothing(self, run: FailedRun) -> Plan:
        """A plan of the run, or of what depends on no loop, and on nothing that changes a value or gives another."""
        graph = run.plan.partition.graph
        changing = [node.id for node in graph.nodes if keeps_no_record(graph, node.id, set())]
        if changing and run.signature not in self._harmless:
            turning = [node.id for node in graph.nodes if is_control_flow(node.op)]
            left = reached(graph.out_edges, graph.edges.dst, changing + turning)
            rest = (node for node in graph.nodes if node.id not in left and node.op not in ("_Arg", "_Retval"))
            harmless = run.signature._replace(fetches=(), targets=tuple(node.name for node in rest))
            self._harmless[run.signature] = self._plan(harmless, None)
        return self._harmless.get(run.signature, run.plan)

    def _execute_again(self, plan: Plan, feeds: Dict[str, Any]) -> List[Any]:
        """Run what may run again, until something else than a cancelled call ends it."""
        for _ in range(_TRIES - 1):
            try:
                return self._execute(plan, feeds)
            except tensorflow().v1.errors.CancelledError:
                pass
        return self._execute(plan, feeds)

    def _in_geop(self, told: ToldAgain, run: FailedRun, by_fault: bool) -> Optional[Tuple[Operator, Read]]:
        """An operator of the user's graph, and what it read."""
        partition = run.plan.partition
        graph = partition.graph
        number = graph.index.get(told.node)
        if number is None or told.function or told.callers or partition.assignment[number] < 0:
            return None
        place = Place(told.node, "", told.node, graph.nodes[number].op, number + 1, told.node)
        shapes = _shapes_of_arguments(graph, run.feeds)
        read = Read({})
        if exception_dump.readable(graph, number):
            read = self._watch(told, [place], run, by_fault)[1] if _turns(graph, number) else self._fetch(number, run)
        return Operator(told.node, graph, number, number + 1, self._dtypes(place), shapes), read

    def _in_function(self, told: ToldAgain, run: FailedRun, by_fault: bool) -> Optional[Tuple[Operator, Read]]:
        """One of a function that a GEOP calls."""
        graph = run.plan.partition.graph
        if graph.index.get(told.node) is not None and not (told.function or told.callers):
            return None
        try:
            likely = [place for place in places(told, run.plan.partition) if place.function]
            if not likely:
                return None
            place, read = self._watch(told, likely, run, by_fault)
            body = graph.functions[place.function].body
        except (NpuError, KeyError):
            return None  # a body that only its caller's attributes complete
        number = body.index[place.node]
        shapes = {}
        for at, tensor in _reads(body, number).items():
            source = body.nodes[body.index[tensor.rpartition(":")[0]]]
            # The value of a constant says more than its shape: where to gather along, how to transpose.
            if read.values is not None and at in read.values and source.op != "Const":
                shapes[tensor] = np.shape(read.values[at])
        return Operator(place.op, body, number, place.task, self._dtypes(place), shapes), read

    def _dtypes(self, place: Place) -> Tuple[Tuple[str, ...], Tuple[str, ...]]:
        name = f"{place.function}/{place.node}" if place.function else place.node
        return (None if self._numerics is None else self._numerics.dtypes_of(name)) or ((), ())

    # -- what it read ------------------------------------------------------------------------------------------------

    def _fetch(self, number: int, run: FailedRun) -> Read:
        """Of an operator that runs once: what leads to it is computed once more."""
        graph = run.plan.partition.graph
        keeper = gives_other_values(graph, number, itself=False)
        if keeper:
            return _missing(f"{keeper} gives other values when it runs again")
        reads = _reads(graph, number)
        readable = (at for at in exception_dump.readable(graph, number) if at in reads)
        wanted = {at: _as_fed(graph, reads[at], run.feeds) for at in readable}
        missing = tuple(dict.fromkeys(tensor for tensor in wanted.values() if tensor not in run.feeds))
        values = {tensor: run.feeds[tensor] for tensor in wanted.values() if tensor in run.feeds}
        if missing:
            try:
                plan = self._plan(run.signature._replace(fetches=missing, targets=()), None)
                values.update(zip(missing, self._execute_again(plan, run.feeds)))
            except (NpuError, tensorflow().v1.errors.OpError):
                return _missing("they cannot be computed again")
        return Read({at: values[tensor] for at, tensor in wanted.items()})

    def _watch(self, told: ToldAgain, likely: Sequence[Place], run: FailedRun, by_fault: bool) -> Tuple[Place, Read]:
        """Of one that runs in turns, or at several places: the run is made again, as far as to what leads there."""
        graph = run.plan.partition.graph
        place = likely[0]
        keeper = next(
            (name for one in likely if one.outer in graph.index
             for name in [gives_other_values(graph, graph.index[one.outer], itself=True)] if name), ""
        )  # fmt: skip
        if keeper:
            which = "" if len(likely) == 1 else f", and it may be any of {len(likely)} operators of that name"
            return place, _missing(f"{keeper} gives other values when it runs again{which}")
        targets = tuple(dict.fromkeys(one.outer for one in likely if one.outer in graph.index))
        key = (run.signature._replace(fetches=(), targets=targets), told, by_fault)
        try:
            if key not in self._watched:
                watching = Watching(told, stop=by_fault)
                self._watched[key] = self._plan(key[0], watching), watching
            plan, watching = self._watched[key]
            watching.read.clear()
            self._execute_again(plan, run.feeds)
        except tensorflow().v1.errors.OpError as error:
            number = watching.failed(str(error.message))
            if number is not None and number in watching.read:
                return _of_first(likely, watching.found, number), Read(watching.read[number])
        except NpuError:
            pass
        return place, _missing("the operator does not fail again")


def _of_first(likely: Sequence[Place], again: Sequence[Place], number: int) -> Place:
    """The place as the run that failed has it: names of calls and tasks depend on what else a model holds."""

    def alike(place: Place) -> Tuple[str, str, str]:
        return place.outer, place.function, place.node

    same = [place for place in likely if alike(place) == alike(again[number])]
    before = sum(alike(place) == alike(again[number]) for place in again[:number])
    return same[before] if before < len(same) else again[number]


def _missing(why: str) -> Read:
    return Read(None, f"values of inputs are missing: {why}")


def _reads(graph: Graph, number: int) -> Dict[int, str]:
    """The tensors that an operator reads, by position."""
    edges = graph.edges
    return {
        edges.dst_slot[edge]: f"{graph.nodes[edges.src[edge]].name}:{edges.src_slot[edge]}"
        for edge in graph.in_edges(number)
        if edges.dst_slot[edge] >= 0
    }


def _as_fed(graph: Graph, tensor: str, feeds: Mapping[str, Any]) -> str:
    """As the user's graph has it: an ``_Arg`` stands for a tensor that was fed, in the order of their names."""
    node = graph.nodes[graph.index[tensor.rpartition(":")[0]]]
    index = node.attr("index", -1) if node.op == "_Arg" else -1
    fed = sorted(feeds)
    return fed[index] if 0 <= index < len(fed) else tensor


def _shapes_of_arguments(graph: Graph, feeds: Mapping[str, Any]) -> Dict[str, Tuple[int, ...]]:
    """Shapes of the ``_Arg`` nodes that stand for what was fed, in the order of the feeds' names."""
    fed = [np.shape(feeds[name]) for name in sorted(feeds)]
    found = {}
    for node in graph.nodes:
        if node.op == "_Arg" and 0 <= node.attr("index", -1) < len(fed):
            found[node.name] = tuple(fed[node.attr("index", -1)])
    return found


def _turns(graph: Graph, number: int) -> bool:
    """Whether v1 control flow leads to an operator: its inputs are none that could be fetched."""
    seen = set()
    waiting = [number]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        if is_control_flow(graph.nodes[at].op):
            return True
        waiting.extend(graph.edges.src[edge] for edge in graph.in_edges(at))
    return False
