"""How an operator in a TensorFlow graph reaches the other ranks: by a Python function whose token names its session.

The token stands in the graph and is the same in every process, so a graph that was saved runs wherever npu_bridge has
been imported. In a graph of the device's it also tells the session, and with it the rank.
"""

from __future__ import annotations

import importlib
import json
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference.device.faults import NONE, Faults
from npu_reference.errors import DeviceError, NpuError
from npu_reference.options.rules.timeouts import in_steps
from npu_reference.runtime import ranks
from npu_reference.runtime.exchange.meeting import END
from npu_reference.runtime.exchange.parts import BrokenExchange, Part
from npu_reference.runtime.exchange.wire import know_dtype
from npu_reference.runtime.tf_api import tensorflow

__all__ = [
    "TOKEN",
    "Communicator",
    "Done",
    "exchanged",
    "own_tokens",
    "restart",
    "through_python",
    "token_of",
]

#: Of the function for sessions that are not the device's; those of the device have their number behind it.
TOKEN = "npu_reference.exchange"

#: hccl_timeout in seconds where nothing says otherwise (document 003).
_DEFAULT_SECONDS = 1836

_LOCK = threading.Lock()
_BY_TOKEN: Dict[str, Callable[..., Any]] = {}


class Done(NamedTuple):
    """One collective that this rank took part in, for the trace.

    Attributes:
        tensor: name of the operator.
        ranks: the group's, among all.
        bytes: of the tensors that this rank brought, or received.
        part: of the gradients that are split for communication: those of one part go together. -1: not split.
    """

    kind: str
    tensor: str
    group: str
    ranks: Tuple[int, ...]
    bytes: int
    part: int = -1

    def to_json(self) -> Dict[str, object]:
        body = {**self._asdict(), "ranks": list(self.ranks)}
        return body if self.part >= 0 else {name: value for name, value in body.items() if name != "part"}


class Communicator:
    """The rank of one session, and what it does with the others. Thread-safe.

    Args:
        place: which rank it is; None where there is but one.
        seconds: what hccl_timeout says; None for its default.
        faults: that the device was asked to have.
    """

    def __init__(self, place: Optional[ranks.RankPlace], seconds: Optional[int] = None, faults: Faults = NONE) -> None:
        self.place = place
        self._seconds = in_steps(_DEFAULT_SECONDS if seconds is None else seconds)
        self._lock = threading.Lock()
        self._meeting: Any = None
        self._active = 0
        self._forked = 0
        self._waiting = 0
        self._count = 0
        self._failure: Optional[NpuError] = None
        self._done: List[Done] = []
        lost = [] if place is None else [one for one in faults.items if one.kind == "lost_peer"]
        self._lost = [one for one in lost if place and place.rank == (place.size - 1 if one.rank is None else one.rank)]
        self.joined = False

    @property
    def rank(self) -> int:
        """Its rank among all."""
        return 0 if self.place is None else self.place.rank

    def join(self) -> None:
        """Be there, if the ranks are sessions of this process."""
        if self.place is not None and self.place.here and not self.joined:
            self.joined = True
            self._meet().join(self.place.rank)

    def leave(self) -> None:
        """The session is closed."""
        if self.joined and self.place is not None:
            self.joined = False
            self._meet().leave(self.place.rank, "has closed its session")

    @contextmanager
    def running(self, streams: int) -> Iterator[None]:
        """Around a run.

        Args:
            streams: how many collectives of it may be waited for at the same time.
        """
        with self._lock:
            self._active += 1
            self._forked += streams > 1
        try:
            with ranks.running(self._only_waits):
                yield
        finally:
            with self._lock:
                self._active -= 1
                self._forked -= streams > 1

    def _only_waits(self) -> bool:
        return not self._forked and self._waiting >= self._active

    def _waits(self, change: int) -> None:
        with self._lock:
            self._waiting += change

    def take_failure(self) -> Optional[NpuError]:
        """Why a collective of a run failed; None if none did."""
        with self._lock:
            failure, self._failure = self._failure, None
        return failure

    def take_done(self) -> List[Done]:
        """What was done since this was last asked."""
        with self._lock:
            done, self._done = self._done, []
        return done

    def perform(self, spec: Mapping[str, Any], arrays: Sequence[Any]) -> List[Any]:
        """One collective: the tensors that this rank gets.

        Raises:
            NpuError: COLLECTIVE_TIMEOUT, COLLECTIVE_MISMATCH; also kept for :meth:`take_failure`.
        """
        members = tuple(spec["members"])
        try:
            if self.place is None:
                raise BrokenExchange("value", [0], f"{spec['name']}: only one rank runs, and {len(members)} take part.")
            if self.place.rank not in members:
                raise BrokenExchange("value", [], f"rank {self.place.rank} is not in group {spec['group']!r}.")
            return self._perform(spec, members, [np.asarray(array) for array in arrays])
        except BrokenExchange as broken:
            raise self._fail(self._error(spec["name"], broken)) from None
        except NpuError as error:
            raise self._fail(error) from None

    def hand_out(self, channel: str, to: Sequence[int], elements: Sequence[Any]) -> None:
        """Elements of a data set for other ranks, one each."""
        self._moving(
            channel, lambda meeting, rank: [meeting.hand_out(rank, channel, t, e) for t, e in zip(to, elements)]
        )

    def end_of_data(self, channel: str, to: Sequence[int]) -> None:
        """Tell the other ranks that a data set has ended."""
        self._moving(channel, lambda meeting, rank: [meeting.hand_out(rank, channel, one, END) for one in to])

    def receive(self, channel: str, source: int) -> Any:
        """The next element of a data set that another rank reads; END after its last."""
        return self._moving(channel, lambda meeting, rank: meeting.receive(rank, channel, source))

    def _moving(self, channel: str, move: Callable[[Any, int], Any]) -> Any:
        try:
            assert self.place is not None
            return move(self._meet(), self.place.rank)
        except BrokenExchange as broken:
            raise self._fail(self._error(channel, broken)) from None

    def _perform(self, spec: Mapping[str, Any], members: Tuple[int, ...], arrays: List[Any]) -> List[Any]:
        assert self.place is not None
        with self._lock:
            alone = self._active == 1 and not self._forked
            self._count += 1
            count = self._count
        for array in arrays:
            if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
                know_dtype(array.dtype.name, array.dtype)
        part = Part(
            spec["kind"], spec["name"], spec["group"], members,
            tuple(spec.get("dtypes") or [array.dtype.name for array in arrays]),
            tuple(tuple(shape) for shape in spec.get("shapes") or [array.shape for array in arrays]),
            spec.get("reduction", ""), spec.get("root", 0), spec.get("tag", 0), alone,
        )  # fmt: skip
        meeting = self._meet()
        for fault in self._lost:
            if count > (fault.after or 0) and (fault.seconds is None or fault.seconds >= self._seconds):
                late = "does not come" if fault.seconds is None else f"comes {fault.seconds:g} s late"
                meeting.absent(self.place.rank, part, f"{late}. {fault.asked.rstrip('.')}")
        made: List[Any] = meeting.take_part(self.place.rank, part, arrays, self._waits)
        with self._lock:
            size = sum(array.nbytes for array in arrays or made)
            self._done.append(Done(part.kind, part.name, part.group, members, size, spec.get("part", -1)))
        return made

    def _meet(self) -> Any:
        with self._lock:
            if self._meeting is None:
                assert self.place is not None
                self._meeting = self.place.meet()
            return self._meeting

    def _fail(self, error: NpuError) -> NpuError:
        with self._lock:
            self._failure = self._failure or error
        return error

    def _error(self, name: str, broken: BrokenExchange) -> NpuError:
        if broken.kind in ("lost", "absent"):
            reason = f"{broken.text} It is given up after {self._seconds} s on the device's clock."
            remedy = "Look at what that rank says first. hccl_timeout, in steps of 68 s, sets the time."
            return DeviceError(
                "COLLECTIVE_TIMEOUT", name, reason, remedy, rule="runconfig.hccl_timeout.quantize", number="EI0002",
                option="hccl_timeout", after_ns=self._seconds * 10**9,
            )  # fmt: skip
        remedy = "All ranks of a group take part in the same collectives, in the same order, with tensors alike."
        return NpuError("COLLECTIVE_MISMATCH", name, broken.text, "" if broken.kind == "value" else remedy)


#: Of sessions that are TensorFlow's own, by rank.
_ALONE: Dict[Any, Communicator] = {}


def _of_process() -> Communicator:
    """For sessions that are TensorFlow's own: the rank of this process."""
    place = ranks.place_of_session(None)
    key = None if place is None else (place.rank, place.size)
    if key not in _ALONE:
        _ALONE[key] = Communicator(place)
    return _ALONE[key]


def restart() -> None:
    """Forget those of sessions that are TensorFlow's own, for the program behind theirs."""
    _ALONE.clear()


def through_python(spec: Mapping[str, Any], inputs: Sequence[Any], types: Sequence[Any]) -> List[Any]:
    """The operator that does what ``spec`` says with ``inputs``: its outputs, of these types, or itself."""
    if TOKEN not in _BY_TOKEN:
        _register(TOKEN, _of_process)
    v1 = tensorflow().v1
    text = v1.constant(json.dumps(spec, sort_keys=True))
    made = importlib.import_module("tensorflow.python.ops.gen_script_ops").py_func(
        input=[text, *inputs], token=TOKEN, Tout=list(types)
    )
    return list(made) if isinstance(made, (list, tuple)) else [made]


def token_of(number: int, communicator: Communicator) -> str:
    """The token of operators that act for a session.

    Args:
        number: of the session.
        communicator: its.
    """
    held = weakref.ref(communicator)
    token = f"{TOKEN}@{number}"
    _register(token, held)
    return token


def own_tokens(graph_def: Any, token: str) -> int:
    """Let the operators of a graph that exchange data act for a session: how many there are.

    Args:
        graph_def: changed in place.
        token: the session's.
    """
    count = 0
    bodies = [function.node_def for function in graph_def.library.function]
    for nodes in (graph_def.node, *bodies):
        for node in nodes:
            if node.op.startswith("PyFunc") and node.attr["token"].s.decode().split("@")[0] == TOKEN:
                node.attr["token"].s = token.encode()
                count += 1
    return count


def exchanged(communicator: Optional[Communicator], text: bytes, arrays: Sequence[Any]) -> List[Any]:
    """What the operators run: ``text`` says what is to be done with the tensors."""
    if communicator is None:
        raise NpuError("RUN_FAILED", "collective", "its session is closed.")
    spec = json.loads(bytes(text).decode("utf-8"))
    if spec["kind"] == "hand_out":
        count = spec["components"]
        elements = [arrays[at : at + count] for at in range(0, len(arrays), count)]
        communicator.hand_out(spec["name"], spec["to"], [[np.array(one) for one in element] for element in elements])
        return []
    if spec["kind"] == "obtain":
        element = communicator.receive(spec["name"], spec["source"])
        if element is END:
            raise StopIteration(f"End of sequence: rank {spec['source']} has read its data set to the end")
        return list(element)
    return communicator.perform(spec, arrays)


def _register(token: str, find: Callable[[], Optional[Communicator]]) -> None:
    with _LOCK:

        def call(text: bytes, *arrays: Any) -> List[Any]:
            return exchanged(find(), text, arrays)

        _BY_TOKEN[token] = call
        # Nothing public gives a token of one's own, and those that TensorFlow numbers mean nothing to another process.
        importlib.import_module("tensorflow.python.ops.script_ops")._py_funcs._funcs[token] = call
