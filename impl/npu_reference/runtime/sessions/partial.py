"""How partial runs execute: each call as a run of its own, to which what earlier calls computed is fed.

What cannot be fed is computed again: what is inside a loop or a branch, and what TensorFlow keeps for the length of one
run only, such as the elements of a TensorArray and the stacks that gradients of loops read.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Container, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np

from npu_reference.graphs import Graph
from npu_reference.partition.structure.topology import reached
from npu_reference.printing import listed
from npu_reference.runtime.execution.liveness import unsteady
from npu_reference.runtime.observing.log import Notice, say
from npu_reference.runtime.sessions.rerun import keeps_no_record
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["PartialRuns"]

#: Types of tensors that cannot leave a session as values.
_HANDLES = ("resource", "variant")

#: Operators that make something which lives as long as one run of a session, and by whose output others reach it.
#: TensorFlow from 1.15 on takes no graph with the older ones.
_OF_ONE_RUN = frozenset(("TensorArrayV3", "Stack", "StackV2", "TemporaryVariable"))

_VARIABLES = ("Variable", "VariableV2")

#: These hand on one reference of several, the first at this input; a tensor tells which.
_BY_INDEX = {"RefSelect": 1, "RefMerge": 0}

#: References come into branches and loops by these; what is handed on there, or whether anything, only the run tells.
_INTO = ("RefSwitch", "RefEnter")

Tensor = Tuple[int, int]


class PartialRuns:
    """The partial runs of one session that are under way. Thread-safe.

    Args:
        session: number of the session, for handles.
        graph: answers the user's graph as it is now.
        run: runs feeds, fetches and targets, as ``Engine.run`` does.
    """

    def __init__(self, session: int, graph: Callable[..., Graph], run: Callable[..., List[Any]]) -> None:
        self._session = session
        self._graph = graph
        self._run = run
        self._lock = threading.Lock()
        self._open: Dict[str, _PartialRun] = {}
        self._count = 0

    def setup(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> str:
        """Open a partial run and answer its handle."""
        fed: Set[str] = set()
        for name in feeds:
            if name in fed:
                raise _invalid(f'Endpoint "{name}" fed more than once.')
            fed.add(name)
        for name in fetches:
            if name in fed:
                raise _invalid(f"{name} is both fed and fetched.")
        if not fetches and not targets:
            raise _invalid("Must specify at least one target to fetch or execute.")
        graph = self._graph()
        with self._lock:
            self._count += 1
            handle = f"npu_partial_run_{self._session}_{self._count}"
            self._open[handle] = _PartialRun(self._session, graph, self._run, feeds, fetches, targets)
            return handle

    def run(self, handle: str, feeds: Dict[str, Any], fetches: Sequence[str], targets: Sequence[str]) -> List[Any]:
        """Continue; the handle is forgotten once all has been fed and fetched, or a part has failed."""
        if targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        with self._lock:
            run = self._open.get(_text(handle))
        if run is None:
            raise _invalid("Must run 'setup' before performing partial runs!")
        try:
            with run.lock:
                return run.step(feeds, fetches)
        finally:
            if run.finished:
                with self._lock:
                    self._open.pop(_text(handle), None)


class _PartialRun:
    """One partial run: what has been fed, what has run, and the values that later calls will read."""

    def __init__(
        self,
        session: int,
        graph: Graph,
        run: Callable[..., List[Any]],
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
    ) -> None:
        self.lock = threading.Lock()
        self._session = session
        self._run_signature = run
        self._graph = graph
        self._unsteady = {node for node, found in enumerate(unsteady(graph) or ()) if found}
        self._variables = _variables(graph, {})
        #: Who hands on one reference of several: what tells which, and at which input it was.
        self._choosers = {node: index for node, index in _choosers(graph).items() if node not in self._unsteady}
        self._chosen: Dict[int, int] = {}
        #: Who reads or writes what lives as long as one run, by the operator that makes it.
        self._sharing = {node.id: _sharing(graph, node.id) for node in graph.nodes if node.op in _OF_ONE_RUN}
        self._waiting = {self._tensor(name): name for name in feeds}
        self._fetches = {self._tensor(name): name for name in fetches}
        self._fed_once = set(self._waiting)
        self._fetched_once = set(self._fetches)
        self._targets = {self._graph.index[name] for name in targets}
        self._values: Dict[Tensor, Any] = {}
        self._ran: Set[int] = set()
        self._failed = False

    @property
    def finished(self) -> bool:
        return self._failed or (not self._waiting and not self._fetches)

    def step(self, feeds: Dict[str, Any], fetches: Sequence[str]) -> List[Any]:
        """Feed, compute and fetch. What is refused has fed nothing, and may be asked for otherwise."""
        fed = dict(zip(self._left(feeds, self._waiting, self._fed_once, "fed"), feeds.values()))
        wanted = self._left(fetches, self._fetches, self._fetched_once, "fetched")
        waiting = self._waiting.keys() - fed.keys()
        # Whatever is to be fed has to be, by way of what is fed as well.
        before = sorted(self._closure({tensor[0] for tensor in wanted}, "in"))
        lacking = next((lacks for node in before for lacks in self._lacking(node, waiting)), None)
        if lacking is not None:
            # TensorFlow names what is not fed, not what cannot be computed.
            text = f"Fetch {self._name(lacking)} can't be computed from the feeds that have been fed so far."
            raise _invalid(text)
        for tensor in fed:
            del self._waiting[tensor]
        self._values.update(fed)
        answers = self._compute(wanted)
        for tensor in wanted:
            del self._fetches[tensor]
        return answers

    def _left(self, names: Iterable[str], left: Container[Tensor], every: Container[Tensor], done: str) -> List[Tensor]:
        """The tensors of these names, each of which is still to be fed or fetched; the others are refused."""
        found = [self._tensor(name) for name in names]
        for tensor, name in zip(found, names):
            if tensor not in left:
                why = f"has already been {done}" if tensor in every else "was not specified in partial_run_setup"
                raise _invalid(f"The {'feed' if done == 'fed' else 'fetch'} {name} {why}.")
        return found

    def _lacking(self, node: int, waiting: Container[Tensor]) -> Iterator[Tensor]:
        """Of what is still to be fed, what a node reads; and the placeholders that it waits for: of no other operator
        is it the feed that one waits for.
        """
        for edge in self._graph.in_edges(node):
            source, slot = self._graph.edges.src[edge], self._graph.edges.src_slot[edge]
            if (source, max(slot, 0)) in waiting and (slot >= 0 or self._graph.nodes[source].op == "Placeholder"):
                yield source, max(slot, 0)

    def _compute(self, wanted: List[Tensor]) -> List[Any]:
        missing = [tensor for tensor in wanted if tensor not in self._values]
        ready = [target for target in sorted(self._targets) if self._reach([target]) is not None]
        roots = [tensor[0] for tensor in missing] + ready
        if roots:
            running = self._reach(roots)
            assert running is not None
            self._run(ready, running)
        return [self._values[tensor] for tensor in wanted]

    def _run(self, ready: List[int], running: Set[int]) -> None:
        telling = {index for index in self._choosers.values() if index[0] in running} - self._fed_once
        fetched = sorted(self._kept(running) | telling)
        feeds = {
            self._name(tensor): _array(value)
            for tensor, value in self._values.items()
            if (tensor in self._fed_once or tensor[0] not in running) and self._is_read(tensor, running)
        }
        settled = tuple(sorted(self._graph.nodes[i].name for i in self._ran - running - self._unsteady))
        self._tell_of(running & self._ran)
        self._failed = True  # until it has come to its end
        values = self._run_signature(
            feeds,
            [self._name(tensor) for tensor in fetched],
            [self._graph.nodes[i].name for i in ready],
            connections=self._handed_on(running),
            settled=settled,
        )
        self._failed = False
        self._values.update(zip(fetched, values))
        self._choose(running)
        self._ran |= running
        self._targets -= set(ready)

    def _choose(self, running: Set[int]) -> None:
        """Find which reference of several was handed on: a later part reaches for its variable."""
        for node, index in self._choosers.items():
            if node in running:
                self._chosen[node] = int(self._values[index]) + _BY_INDEX[self._graph.nodes[node].op]
        if self._choosers:
            self._variables = _variables(self._graph, self._chosen)

    def _reach(self, roots: List[int]) -> Optional[Set[int]]:
        """Nodes that have to run for some others; None if one of them reads a tensor that is still to be fed."""
        again: Set[int] = set()
        while True:
            seen = self._above(roots, again)
            if seen is None:
                return None
            more = self._run_again(seen)
            if more <= again:
                return seen
            again |= more

    def _above(self, roots: List[int], again: Set[int]) -> Optional[Set[int]]:
        """As :meth:`_reach`, where those in ``again`` have to run though they have run before."""
        edges = self._graph.edges
        seen = set(roots)
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if any(self._lacking(node, self._waiting)):
                return None
            for edge in self._graph.in_edges(node):
                source, slot = edges.src[edge], edges.src_slot[edge]
                if (source, slot) in self._fed_once:
                    continue
                if source in self._ran and source not in again and (source, slot) in self._variables:
                    source, slot = self._variables[source, slot]
                if source in seen:
                    continue
                over = slot < 0 and source in self._ran and source not in self._unsteady
                # The value of a variable is what is in it then, whatever was fetched of it; a writer takes it itself.
                done = over or ((source, slot) in self._values and (source, slot) not in self._variables)
                if not done or source in again:
                    seen.add(source)
                    waiting.append(source)
        return seen

    def _run_again(self, running: Set[int]) -> Set[int]:
        """What stands between operators that have run and one that runs now, where they share something of one run."""
        result: Set[int] = set()
        for maker, sharing in self._sharing.items():
            if maker in running and not sharing.isdisjoint(self._ran):
                result |= self._closure(sharing, "out") & self._closure(sharing & running, "in")
        return result

    def _closure(self, nodes: Set[int], way: str) -> Set[int]:
        """Some nodes with all that are before them (``in``) or behind them (``out``)."""
        graph = self._graph
        edges = (graph.in_edges, graph.edges.src) if way == "in" else (graph.out_edges, graph.edges.dst)
        return reached(*edges, nodes)

    def _tell_of(self, again: Set[int]) -> None:
        """An operator that runs twice and draws, counts or writes gives something else than where it runs once."""
        within = {node for maker, sharing in self._sharing.items() for node in (maker, *sharing)}
        found = (keeps_no_record(self._graph, i, set()) for i in sorted(again - within))
        names = [name for name in found if name]
        if names:
            text = (
                f"{listed(names)} computed again in a later part of the run, since what is inside loops,"
                " branches and TensorArrays cannot be kept between parts. Fetch what depends on it in one part."
            )
            say(logging.WARNING, Notice("computed_again", "partial_run", text), session=self._session)

    def _handed_on(self, running: Set[int]) -> Tuple[Tuple[str, str], ...]:
        """What a writer that has run handed on, taken from the variable itself: who reads gets what is in it now."""
        return tuple(
            (self._name(variable), self._name(tensor))
            for tensor, variable in self._variables.items()
            if tensor[0] not in running and tensor not in self._fed_once and self._is_read(tensor, running)
        )

    def _kept(self, running: Set[int]) -> Set[Tensor]:
        """Tensors computed now that are still to be fetched, or that what runs later will read: nothing runs twice."""
        edges = self._graph.edges
        kept = {tensor for tensor in self._fetches if tensor[0] in running}
        later = self._closure({tensor[0] for tensor in self._fetches} | self._targets, "in")
        for i in running:
            for edge in self._graph.out_edges(i):
                tensor, reader = (i, edges.src_slot[edge]), edges.dst[edge]
                if tensor[1] < 0 or reader not in later or reader in running or reader in self._ran:
                    continue
                if self._can_be_kept(tensor):
                    kept.add(tensor)
        return kept.difference(self._values)

    def _can_be_kept(self, tensor: Tensor) -> bool:
        dtype = self._graph.output_dtypes(tensor[0])[tensor[1]]
        op = self._graph.nodes[tensor[0]].op
        if dtype.base.name in _HANDLES or tensor in self._variables or op in _OF_ONE_RUN:
            # Reaching for a variable or a handle again has no effect.
            return False
        if dtype.is_ref and any(tensor[0] in sharing for sharing in self._sharing.values()):
            # Who takes a reference could not be given its value.
            return False
        return tensor[0] not in self._unsteady

    def _is_read(self, tensor: Tensor, running: Set[int]) -> bool:
        return any(self._graph.edges.dst[edge] in running for edge in self._graph.out_edges(tensor[0]))

    def _tensor(self, name: str) -> Tensor:
        """A tensor of the graph; one that was made after the setup is none that was specified."""
        node, _, slot = name.rpartition(":")
        return self._graph.index.get(node, -1), int(slot)

    def _name(self, tensor: Tensor) -> str:
        return f"{self._graph.nodes[tensor[0]].name}:{tensor[1]}"


def _sharing(graph: Graph, maker: int) -> Set[int]:
    """The operators that read or write what ``maker`` makes, in loops and through gradients of arrays, too."""
    seen: Set[int] = set()
    waiting = [maker]
    while waiting:
        node = waiting.pop()
        dtypes = graph.output_dtypes(node)
        for edge in graph.out_edges(node):
            slot, reader = graph.edges.src_slot[edge], graph.edges.dst[edge]
            if slot < 0 or reader in seen:
                continue
            if dtypes[slot].is_ref or dtypes[slot].name == "resource":
                seen.add(reader)
                waiting.append(reader)
    return seen


def _choosers(graph: Graph) -> Dict[int, Tensor]:
    """What tells which reference is handed on, of each operator that hands on one of several."""
    found = [node for node in graph.nodes if node.op in _BY_INDEX]
    return {node.id: (node.id, 1) if node.op == "RefMerge" else _source(graph, node.id, 0) for node in found}


def _source(graph: Graph, node: int, slot: int) -> Tensor:
    """What an input of an operator reads."""
    edges = graph.edges
    return next(
        (edges.src[edge], edges.src_slot[edge]) for edge in graph.in_edges(node) if edges.dst_slot[edge] == slot
    )


def _behind(graph: Graph, node: int, chosen: Dict[int, int]) -> Optional[Tensor]:
    """The variable that a reference is of: writers hand on the first that they were given.

    None where only another run tells: inside branches and loops, but for what was chosen of them.

    Args:
        chosen: of operators that hand on one reference of several, at which input it was.
    """
    known = False
    while graph.nodes[node].op not in _VARIABLES:
        op, known = graph.nodes[node].op, known or node in chosen
        taken = [position for position, arg in enumerate(graph.op_def(node).inputs) if arg.is_ref]
        if not taken or (op in _BY_INDEX and node not in chosen) or (op in _INTO and not known):
            return None
        node = _source(graph, node, chosen.get(node, taken[0]))[0]
    return node, 0


def _variables(graph: Graph, chosen: Dict[int, int]) -> Dict[Tensor, Tensor]:
    """The variable of each reference to one, its own among them; ``chosen`` as of :func:`_behind`."""
    references = [node.id for node in graph.nodes if any(arg.is_ref for arg in graph.op_def(node.id).outputs[:1])]
    found = {(node, 0): _behind(graph, node, chosen) for node in references}
    return {tensor: variable for tensor, variable in found.items() if variable is not None}


def _array(value: Any) -> np.ndarray:
    """A value fetched earlier, as what can be fed: scalars come out of a session as NumPy scalars or bytes."""
    return np.array(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)


def _text(handle: Any) -> str:
    return handle.decode() if isinstance(handle, bytes) else str(handle)


def _invalid(message: str) -> Exception:
    return tensorflow().v1.errors.InvalidArgumentError(None, None, message)
