"""How a session that belongs to the device runs: plans by signature, executed on an inner session."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from npu_reference import graphs
from npu_reference.catalog import names_operators, unmatched
from npu_reference.collection import no_collection
from npu_reference.device.faults import Faults
from npu_reference.dumps.settings import exception_dump as exception_dump_of
from npu_reference.dumps.writing import Target
from npu_reference.errors import DeviceError, NpuError
from npu_reference.hardware import built_in
from npu_reference.options.directives import directives
from npu_reference.partition import Partition, Reason, only_initialises
from npu_reference.partition.reasons import SAVED_GRAPH_HINT, always_on_host
from npu_reference.printing import counted, listed
from npu_reference.runtime import ranks
from npu_reference.runtime.agreement.agreement import Agreement
from npu_reference.runtime.config import Settings, current_overrides, give_threads_back, inner_config
from npu_reference.runtime.execution.body_rewriting import Hook
from npu_reference.runtime.execution.collective_order import in_order
from npu_reference.runtime.execution.compile_files import COUNTS, Leaving, leaving
from npu_reference.runtime.execution.compiling import Compiling
from npu_reference.runtime.execution.dumping.data_dump import Dumping
from npu_reference.runtime.execution.execution_graph import Shadow
from npu_reference.runtime.execution.numerics import Numerics
from npu_reference.runtime.execution.plan import Plan, Signature, make_plan
from npu_reference.runtime.execution.run_files import recording
from npu_reference.runtime.execution.shared_datasets import redirect
from npu_reference.runtime.execution.virtual_clock import Clocking, RunTime, Turn
from npu_reference.runtime.observing import account, observers
from npu_reference.runtime.observing.log import LOG, Notice, say
from npu_reference.runtime.observing.trace import RunRecord, process_trace
from npu_reference.runtime.operators.rank_calls import TOKEN, Communicator, own_tokens, token_of
from npu_reference.runtime.sessions.callables import Callable_
from npu_reference.runtime.sessions.exception_dump import is_exception
from npu_reference.runtime.sessions.failed_operators import FailedOperators, FailedRun
from npu_reference.runtime.sessions.failures import About, failed_at, in_users_words, refused, session_error
from npu_reference.runtime.sessions.partial import PartialRuns
from npu_reference.runtime.sessions.rerun import ToldAgain, Watching
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Engine"]

_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Engine:
    """The device's side of one session. Thread-safe: plans are made one at a time, runs go side by side.

    Attributes:
        number: of the session in this process, from 1.
        device: logical id of the device that it runs on.
    """

    def __init__(self, session: Any, settings: Settings, place: Optional[ranks.RankPlace] = None) -> None:
        self._settings = settings
        options = settings.resolution.typed
        self.device = ranks.device_of(options.ranks.device, place)
        #: What folders are called by: the option, else what a launch script says, else the rank.
        named = options.ranks.device is not None
        self._told_device = self.device if named else settings.places.device or self.device
        self._communicator = Communicator(place, options.timeouts.hccl, settings.faults)
        self.number = process_trace().open_session()
        self._token = token_of(self.number, self._communicator)
        self._distribution = None if place is None else ranks.distribution(options.ranks, place)
        #: Of the data sets whose elements this session hands out or is handed.
        self._channels: Dict[str, None] = {}
        account.opened(self.number, settings)
        self._graph = session.graph
        precise = settings.device_precision == "on"
        repeatable = precise and options.compiler.deterministic
        config = inner_config(session._config, repeatable=repeatable, waits=place is not None)
        self._numerics = Numerics(settings) if precise else None
        self._shadow = Shadow(session.graph, config=config)
        base = tensorflow().session.BaseSession
        self._inner = base(graph=self._shadow.graph, config=config)
        self._plans: Dict[Signature, Plan] = {}
        self._planning = threading.RLock()
        self._dumping = self._open_dump(settings)
        self._tell_of_exception_dump(settings)
        self._failed = FailedOperators(
            settings, self._numerics, self.number, self._told_device, self._plan_again, self._execute_again
        )
        self._counting = threading.Lock()
        self._runs = 0
        self._known: Tuple[int, Optional[graphs.Graph]] = (-1, None)
        self._defined: Tuple[int, Any] = (-1, None)
        self._partial = PartialRuns(self.number, self.graph, self.run)
        hardware = settings.device or built_in()
        self._recording = recording(
            settings.resolution, settings.places.of, hardware, self.device, settings.faults, self._tell_of
        )
        tuned = {"tiles": self._recording.tiles} if self._recording is not None and self._recording.tiles else {}
        self._compiling = Compiling(
            settings.resolution, hardware, session.graph, lambda: {**ranks.together(place), **tuned}
        )
        self._clocking: Optional[Clocking] = None
        if settings.clock or settings.faults.items or self._recording is not None:
            # Of several ranks the communicator knows which are lost: it is there that the others wait.
            own = settings.faults if place is None else settings.faults.without("lost_peer")
            rank = 0 if place is None else place.rank
            self._clocking = Clocking(self._compiling, settings.resolution, own, rank, self.device)
        self._told: Set[str] = set()
        self._entries_told = False
        self._leaving = self._files(settings)
        self._agreement = Agreement(settings.resolution, session.graph, self.number)
        self._communicator.join()
        for notice in settings.notices:
            say(logging.WARNING, notice, session=self.number)
        if LOG.isEnabledFor(logging.INFO):
            told = json.dumps(directives(options), sort_keys=True)
            say(logging.INFO, Notice("directives", "graph compilation", f"{told}."), session=self.number)

    def _open_dump(self, settings: Settings) -> Optional[Dumping]:
        """The data dump that the options ask for; its folder must be there and be writable."""
        wanted = settings.dump
        if wanted is None:
            return None
        if wanted.overflow and self._numerics is None:
            text = "overflow is known only with device precision on, so nothing is dumped. Give --device-precision on."
            say(logging.WARNING, Notice("no_effect", "enable_dump_debug", text), session=self.number)
        path, disk = settings.places.of(wanted.path), _disk(settings.faults)
        target = Target(path, self._told_device, disk=disk, option=wanted.option)
        with refused():
            target.open()
        overflows = None if self._numerics is None else self._numerics.status.overflows
        dumping = Dumping(wanted, target, overflows)
        self._shadow.binder = dumping.bind
        return dumping

    def _tell_of_exception_dump(self, settings: Settings) -> None:
        """A folder that nothing can be written to is told before anything fails, which may be hours later."""
        places = settings.places
        wanted = exception_dump_of(settings.resolution, places.env, places.edition)
        if wanted is None or wanted.option != "NPU_COLLECT_PATH":
            return
        path = places.of(wanted.base)
        if not (os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)):
            why = "is no folder" if not os.path.isdir(path) else "cannot be written to"
            text = f"{path} {why}, so an operator that fails leaves no dump. Name a folder that exists."
            say(logging.WARNING, Notice("exception_dump", wanted.option, text), session=self.number)

    @property
    def numerics(self) -> Optional[Numerics]:
        """The arithmetic of the device; None where GEOPs compute as TensorFlow does."""
        return self._numerics

    @property
    def compiling(self) -> Compiling:
        """What the timing plane makes of this session's signatures."""
        return self._compiling

    @property
    def hooks(self) -> List[Hook]:
        """What is done to the bodies of GEOPs placed from now on, in this order."""
        return self._shadow.hooks

    def run(
        self,
        feeds: Dict[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any = None,
        run_metadata: Any = None,
        connections: Tuple[Tuple[str, str], ...] = (),
        settled: Tuple[str, ...] = (),
    ) -> List[Any]:
        """One session.run.

        Args:
            feeds: tensor name to NumPy value.
            fetches: tensor names.
            targets: operator names.
            options, run_metadata: C-level buffers of RunOptions and RunMetadata, or None.
            connections, settled: see :class:`Signature`.

        Returns:
            The values of the fetches.

        Raises:
            tf.errors.OpError: as TensorFlow would, about the user's own operators.
            NpuError: the signature cannot be partitioned; also an InvalidArgumentError.
        """
        signature = Signature(tuple(sorted(feeds)), tuple(fetches), tuple(targets), connections, settled)
        plan = self._plan(signature)
        with refused():
            loops = self._agreement.run(signature, feeds)
            self._leave(signature, plan, feeds)
            turn = None
            if self._clocking is not None:
                try:
                    turn = self._clocking.begin(signature, plan.partition, feeds, loops)
                except DeviceError as error:
                    told_op = ToldAgain(error.subject, whole=True)
                    self._failed.dump(told_op, FailedRun(plan, signature, feeds), by_fault=True)
                    raise
                self._check_overflows(turn)
        values: List[Any] = []
        taken = {plan.feeds[name]: value for name, value in feeds.items() if name in plan.feeds}
        try:
            with self._communicator.running(plan.streams):
                for iteration in range(1, loops + 1):
                    # TensorFlow refuses RunMetadata that something has been written to.
                    metadata = run_metadata if iteration == loops else None
                    if turn is not None and turn.endured.overflows:
                        self._overflow(turn, iteration - 1)
                    with self._dumped(plan):
                        values = self._inner._call_tf_sessionrun(options, taken, plan.fetches, plan.targets, metadata)
        except tensorflow().v1.errors.OpError as error:
            # What the GEOPs of a run that failed have counted is no other run's.
            self._shadow.meter.take(plan.counting)
            if isinstance(error, NpuError):
                raise
            failure = self._communicator.take_failure()
            if failure is None and isinstance(error, tensorflow().v1.errors.OutOfRangeError):
                self._tell_end_of_data()
            if failure is not None:
                raise session_error(failure) from None
            error = self._failed.cause(error, FailedRun(plan, signature, feeds))
            if is_exception(error):
                failed = failed_at(error, self._shadow.origin, plan.geop_names)
                if failed is not None:
                    self._failed.dump(failed, FailedRun(plan, signature, feeds))
            names = (self._shadow.origin, plan.geop_names, plan.apart, signature.fetches, plan.taken)
            raise in_users_words(error, About(self._graph, plan.partition, *names)) from None
        finally:
            if turn is not None and turn.endured.overflows and self._numerics is not None:
                self._numerics.status.ask(())
        with refused():
            self._record(signature, plan, feeds, values, turn)
        observers.tell(fetches, values, self._numerics)
        return list(values[: plan.wanted])

    @contextmanager
    def _dumped(self, plan: Plan) -> Iterator[None]:
        """Dump one iteration, where the options ask for it."""
        if self._dumping is None:
            yield
            return
        with refused():
            begun = self._dumping.begin(plan.geop_names)
        try:
            yield
        except BaseException:
            # The operators before the one that failed are worth most then, and its error is the one to raise.
            with suppress(NpuError):
                self._dumping.end(begun)
            raise
        with refused():
            self._dumping.end(begun)

    def _plan_again(self, signature: Signature, watching: Optional[Watching]) -> Plan:
        """A plan of what leads to an operator that failed."""
        with self._planning, no_collection():
            dumping, binder = self._dumping if watching is None else watching, self._shadow.binder
            try:
                if watching is not None:
                    self._shadow.binder = watching.bind
                plan = make_plan(self.graph(), signature, self._settings, self._shadow, self._numerics, dumping)
            finally:
                self._shadow.binder = binder
            self._inner._extend_graph()
            self._shadow.release()
            return plan

    def _execute_again(self, plan: Plan, feeds: Dict[str, Any]) -> List[Any]:
        taken = {plan.feeds[name]: value for name, value in feeds.items() if name in plan.feeds}
        try:
            return list(self._inner._call_tf_sessionrun(None, taken, plan.fetches, plan.targets, None)[: plan.wanted])
        finally:
            self._shadow.meter.take(plan.counting)

    def _tell_end_of_data(self) -> None:
        """What the main process has read to the end, the others have, too."""
        distribution = self._distribution
        if distribution is not None and distribution.rank == distribution.main:
            others = [rank for rank in distribution.ranks if rank != distribution.main]
            for channel in self._channels:
                self._communicator.end_of_data(channel, others)

    def callable(self, callable_options: Any) -> Callable_:
        """What ``_make_callable_from_options`` answers for this session."""
        return Callable_(self.run, callable_options)

    def partial_run_setup(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> str:
        """A handle for :meth:`partial_run`."""
        with refused():
            return self._partial.setup(feeds, fetches, targets)

    def partial_run(
        self, handle: str, feeds: Dict[str, Any], fetches: Sequence[str], targets: Sequence[str]
    ) -> List[Any]:
        """Continue a run with more feeds."""
        with refused():
            return self._partial.run(handle, feeds, fetches, targets)

    def close(self) -> None:
        """Release the inner session; further runs raise as a closed session does."""
        self._inner.close()
        give_threads_back(self._inner._config)
        self._communicator.leave()
        if self._recording is not None:
            self._recording.close()
        if self._leaving is not None:
            self._leaving.close()
        if self._dumping is not None:
            self._dumping.close()
        self._shadow.generators.close()

    def graph(self) -> graphs.Graph:
        """The user's graph as it is now."""
        with self._planning:
            version = self._graph.version
            if self._known[0] != version or self._known[1] is None:
                self._known = (version, graphs.graph_from_def(self._definition(version), subject="session graph"))
                self._defined = (-1, None)
            assert self._known[1] is not None
            return self._known[1]

    def _definition(self, version: int) -> Any:
        """The user's graph as a GraphDef; kept until it has been read whole."""
        if self._defined[0] != version:
            graph_def = self._graph.as_graph_def()
            _declare_operators(self._graph, graph_def)
            self._defined = (version, graph_def)
        return self._defined[1]

    def _reached(self, signature: Signature) -> graphs.Graph:
        """The user's graph, or as much of it as the signature reaches where that is little.

        A graph that grows between runs would else be read whole for every one of them. Whoever asks a second time
        before it has grown gets it whole: what is read then serves all that follow.
        """
        version = self._graph.version
        again = version in (self._known[0], self._defined[0])
        if again or signature.connections or signature.settled:
            return self.graph()
        graph_def = self._definition(version)
        names = [name.partition(":")[0] for name in (*signature.feeds, *signature.fetches, *signature.targets)]
        part = graphs.leading_to(graph_def, names)
        if part is None:
            return self.graph()
        return graphs.graph_from_def(part, subject="session graph")

    def _plan(self, signature: Signature) -> Plan:
        plan = self._plans.get(signature)
        if plan is None:
            with self._planning, refused():
                plan = self._plans.get(signature)
                if plan is None:
                    plan = self._make_plan(signature)
                    # A graph that has grown does not outdate a plan: what a signature reaches cannot change any more.
                    self._plans[signature] = plan
        return plan

    def _make_plan(self, signature: Signature) -> Plan:
        with no_collection():
            return self._planned(signature)

    def _tell_of_entries(self) -> None:
        """Say once which entries of option files match no operator of the whole graph, whatever a run needs of it."""
        if self._entries_told:
            return
        self._entries_told = True
        if names_operators(self._settings.resolution):
            for one in unmatched(self._settings.resolution, self.graph()):
                level = logging.WARNING if one.level == "warning" else logging.INFO
                say(level, Notice(one.code, one.option, one.message), session=self.number)

    def _planned(self, signature: Signature) -> Plan:
        self._tell_of_entries()
        graph = self._reached(signature)
        if signature.connections or signature.settled:
            graph = _rewired(graph, {to: source for source, to in signature.connections}, set(signature.settled))
        plan = make_plan(graph, signature, self._settings, self._shadow, self._numerics, self._dumping, self._prepare)
        self._agreement.plan(signature, graph, plan.partition)
        self._inner._extend_graph()
        self._shadow.release()
        parts = plan.partition
        process_trace().add_partition(self.number, plan.geops, plan.host)
        account.planned(self.number, signature, parts, plan.notes)
        reasons = Counter(entry.reason.value for entry in parts.host if entry.op not in ("_Arg", "_Retval"))
        why = "".join(f"; {reason}: {count}" for reason, count in sorted(reasons.items()))
        text = f"{counted(len(parts.geops), 'GEOP')}, {counted(len(plan.host), 'operator')} on the host{why}."
        wanted = listed(signature.fetches + signature.targets)
        say(logging.INFO, Notice("partitioned", f"run of {wanted}", text), session=self.number)
        for note in parts.notes:
            say(_level(note, parts), Notice(note.code, note.subject, note.message.replace(SAVED_GRAPH_HINT, "")),
                session=self.number)  # fmt: skip
        return plan

    def _prepare(self, graph_def: Any) -> int:
        """Let the operators that reach other ranks act for this session."""
        count = own_tokens(graph_def, self._token)
        if self._distribution is not None:
            channels = redirect(graph_def, self._distribution, self._token)
            self._channels.update(dict.fromkeys(channels))
            count += len(channels)
        return in_order(graph_def, TOKEN) if count else 0

    def _check_overflows(self, turn: Turn) -> None:
        if turn.endured.overflows and self._numerics is None:
            raise NpuError(
                "FAULT_VALUE", turn.endured.overflows[0][0],
                "an overflow was asked for, but without device precision the session has no overflow flag.",
                "Switch device precision on.",
            )  # fmt: skip

    def _overflow(self, turn: Turn, iteration: int) -> None:
        """Raise the flag in this iteration, if a fault says so."""
        nodes = [node for node, at in turn.endured.overflows if at is None or at == iteration]
        if self._numerics is not None:
            self._numerics.status.ask(nodes)

    def _timed(
        self, signature: Signature, plan: Plan, feeds: Dict[str, Any], copies: Sequence[Any], turn: Optional[Turn]
    ) -> Optional[RunTime]:
        if self._clocking is None or turn is None:
            return None
        time = self._clocking.end(turn, signature, plan.partition, feeds, copies)
        for note in (*time.notes, *self._clocking.warnings(time)):
            if note not in self._told:
                self._told.add(note)
                say(logging.WARNING, Notice("device", "simulated device", note), session=self.number)
        return time

    def _tell_of(self, option: str, message: str) -> None:
        say(logging.WARNING, Notice("device", option, message), session=self.number)

    def _files(self, settings: Settings) -> Optional[Leaving]:
        """What the compilation of this session leaves; nothing where its directories are only told of."""
        around = current_overrides()
        if around.files is not None:
            return None
        env = dict(os.environ) if around.env is None else around.env
        folder = settings.places.folder
        return leaving(settings.resolution, env, self.number, self._compiling, settings.faults, folder)

    def _leave(
        self, signature: Signature, plan: Plan, feeds: Dict[str, Any], copies: Optional[Sequence[Any]] = None
    ) -> None:
        if self._leaving is None:
            return
        for note in self._leaving.compiled(signature, plan.partition, feeds, copies):
            level = logging.INFO if note.code == COUNTS else logging.WARNING
            say(level, Notice(note.code, note.subject, note.message), session=self.number)

    def _record(
        self, signature: Signature, plan: Plan, feeds: Dict[str, Any], values: Sequence[Any], turn: Optional[Turn]
    ) -> None:
        with self._counting:
            self._runs += 1
            run = self._runs
        metered = self._shadow.meter.take(plan.counting) if plan.counting else {}
        copies = plan.crossings.copies(feeds, values, metered)
        self._leave(signature, plan, feeds, copies)
        time = self._timed(signature, plan, feeds, copies, turn)
        if self._recording is not None:
            self._recording.ran(signature, time)
        account.ran(self.number, signature, copies, time)
        process_trace().add(
            RunRecord(
                self.number, run, len(plan.geops), len(plan.host), copies, plan.partition, plan.notes,
                device=self.device, rank=self._communicator.rank, collectives=tuple(self._communicator.take_done()),
                time=time,
            )
        )  # fmt: skip


def _disk(faults: Faults) -> Optional[Callable[[int], None]]:
    """What is asked before every file of a dump: a disk that was asked to be full is, once that much is written."""
    full = faults.of("disk_full")
    if not full:
        return None
    left = [full[0].after or 0]

    def take(size: int) -> None:
        left[0] -= size
        if left[0] < 0:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({full[0].asked.rstrip('.')})")

    return take


def _declare_operators(graph: Any, graph_def: Any) -> None:
    """Operators of libraries that the script has loaded: TensorFlow knows them, so a session must not refuse them."""
    library = {function.signature.name for function in graph_def.library.function}
    used = {node.op for node in graph_def.node}
    used.update(node.op for function in graph_def.library.function for node in function.node_def)
    op_def_of = getattr(graph, "op_def_for_type", None) or graph._get_op_def  # renamed in TensorFlow 2.7
    for name in sorted(used - library):
        if name not in graphs.OPS:
            graphs.OPS.declare(op_def_of(name))


def _rewired(graph: graphs.Graph, sources: Dict[str, str], settled: Set[str]) -> graphs.Graph:
    """The graph in which readers of some tensors read others instead, and nobody waits for settled operators."""
    graph_def = graph.to_def()
    for node in graph_def.node:
        inputs = []
        for text in node.input:
            if not text.startswith("^"):
                full = text if ":" in text else f"{text}:0"
                inputs.append(sources.get(full, text))
            elif text[1:] not in settled:
                source = sources.get(f"{text[1:]}:0")
                inputs.append(text if source is None else "^" + source.rpartition(":")[0])
        del node.input[:]
        node.input.extend(inputs)
    return graphs.graph_from_def(graph_def, subject="session graph")


def _level(note: Any, parts: Partition) -> int:
    """How loudly a run is told of a note: of what nobody can change it is not warned."""
    if note.code == "FULL_OFFLOAD_INCOMPLETE":
        ends = (Reason.FEED, Reason.FETCH, Reason.HOST_CONST, Reason.ISOLATED)
        if all(entry.reason in ends or always_on_host(entry.reason, entry.op) for entry in parts.host):
            return logging.INFO
    if note.code == "NOTHING_OFFLOADED" and only_initialises(parts):
        return logging.INFO
    return _LEVELS.get(note.level, logging.INFO)
