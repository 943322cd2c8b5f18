"""Operators that wait beside operators that fail: every pair as a scene that runs plain and on the device.

A scene builds a graph in which one operator waits for what never comes, and something else ends the run. Events of
Python functions put both in order: what fails does so after the waiting operator was about to begin. Which error
TensorFlow raises does not depend on more than that, save for :data:`RACES`.
"""

from __future__ import annotations

import re
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import data_flow_ops
from tensorflow.python.ops.critical_section_ops import CriticalSection

from tests.runtime.comparing import control_flow, npu, plain

__all__ = ["ENDS", "FAILURES", "MODES", "RACES", "RELATIONS", "WAITS", "Outcome", "outcome", "pairs", "same"]

#: Seconds after which a run hangs.
PATIENCE = 60

#: What ends at the clock: long enough for what is about to begin to have begun.
MILLISECONDS = 150

#: How a session is configured, by what the reports call it.
MODES: Dict[str, Callable[[], Any]] = {"plain": plain, "mixed": npu, "full": lambda: npu(mix_compile_mode=False)}


class Waiter(NamedTuple):
    """An operator that waits.

    Attributes:
        value: a float scalar that is there once the waiting is over.
        setup: what to run before, in this order.
        left: what to read of the state it waits at, afterwards.
        close: what ends the waiting as another run can; None where nothing does.
        release: lets Python functions go on that nothing else can end.
        relief: what another run does to end the waiting where TensorFlow cannot cancel it.
    """

    value: Any
    setup: Tuple[Any, ...] = ()
    left: Any = None
    close: Any = None
    release: Optional[threading.Event] = None
    relief: Any = None


class Outcome(NamedTuple):
    """What a run of a scene came to.

    Attributes:
        error: class of the error; ``value`` where there is none, ``hang`` where the run does not end.
        message: of the error, without what differs between two sessions of TensorFlow's own.
        op, node: name of the error's operator and kind of its NodeDef.
        left: what the run left behind.
    """

    error: str
    message: str = ""
    op: str = ""
    node: str = ""
    left: Any = None


WAITS: Dict[str, Callable[[Any], Waiter]] = {}
FAILURES: Dict[str, Callable[[Any], Any]] = {}
#: What ends the run from outside: the session, what is waited at, and whether the operator was about to begin.
ENDS: Dict[str, Callable[[Any, Waiter, threading.Event], None]] = {}


def _named(table: Dict[str, Any], name: str) -> Callable[[Any], Any]:
    def add(build: Any) -> Any:
        table[name] = build
        return build

    return add


def _then(op: Any) -> Any:
    """A value that is there when an operator has run."""
    with tf.control_dependencies([op]):
        return tf.identity(tf.constant(1.0))


# -- what waits --------------------------------------------------------------------------------------------------------

_QUEUES: Dict[str, Callable[[], Any]] = {
    "FIFOQueue": lambda: tf.FIFOQueue(2, [tf.float32], [[]], name="store"),
    "RandomShuffleQueue": lambda: tf.RandomShuffleQueue(2, 0, [tf.float32], [[]], name="store"),
    "PaddingFIFOQueue": lambda: tf.PaddingFIFOQueue(2, [tf.float32], [[]], name="store"),
    "PriorityQueue": lambda: tf.PriorityQueue(2, [tf.float32], [[]], name="store"),
}


def _element(queue: Any, value: Any) -> List[Any]:
    return [tf.constant(1, tf.int64), value] if isinstance(queue, tf.PriorityQueue) else [value]


def _queue(kind: str, part: str) -> Callable[[Any], Waiter]:
    def build(begun: Any) -> Waiter:
        queue = _QUEUES[kind]()
        one = _element(queue, tf.constant(5.0))
        end = queue.close(cancel_pending_enqueues=part.startswith("enqueue"))
        fill: Tuple[Any, ...] = ()
        if part.startswith("enqueue"):
            fill = (queue.enqueue(one), queue.enqueue(one))
        elif part == "dequeue_many":
            fill = (queue.enqueue(one),)
        with tf.control_dependencies([begun]):
            if part == "enqueue":
                value = _then(queue.enqueue(_element(queue, tf.exp(tf.constant(1.0)))))
            elif part == "enqueue_many":
                value = _then(queue.enqueue_many([tf.stack([item, item]) for item in one]))
            elif part == "dequeue":
                value = queue.dequeue()
            else:
                value = getattr(queue, part)(2)
        value = value[-1] if isinstance(value, (list, tuple)) else value
        # Elements that wait for others to make up a batch are gone with the run, if it had taken them yet.
        left = None if part == "dequeue_many" else queue.size()
        return Waiter(tf.reduce_sum(value), fill, left, end)

    return build


for _kind in _QUEUES:
    for _part in ("dequeue", "dequeue_many", "enqueue"):
        WAITS[f"{_kind}.{_part}"] = _queue(_kind, _part)
WAITS["FIFOQueue.dequeue_up_to"] = _queue("FIFOQueue", "dequeue_up_to")
WAITS["FIFOQueue.enqueue_many"] = _queue("FIFOQueue", "enqueue_many")


@_named(WAITS, "Barrier.take_many")
def _barrier(begun: Any) -> Waiter:
    barrier = data_flow_ops.Barrier(tf.float32, shapes=[[]], name="store")
    with tf.control_dependencies([begun]):
        taken = barrier.take_many(1)
    return Waiter(tf.reduce_sum(taken[2]), (), barrier.ready_size(), barrier.close(cancel_pending_enqueues=True))


@_named(WAITS, "ConditionalAccumulator.take_grad")
def _accumulator(begun: Any) -> Waiter:
    made = tf.ConditionalAccumulator(tf.float32, shape=[], name="store")
    with tf.control_dependencies([begun]):
        taken = made.take_grad(1)
    return Waiter(taken * 1.0, (), made.num_accumulated())


@_named(WAITS, "SparseConditionalAccumulator.take_grad")
def _sparse_accumulator(begun: Any) -> Waiter:
    made = tf.SparseConditionalAccumulator(tf.float32, name="store")
    with tf.control_dependencies([begun]):
        taken = made.take_grad(1)
    return Waiter(tf.reduce_sum(taken[1]), (), made.num_accumulated())


def _staging(kind: str, part: str) -> Callable[[Any], Waiter]:
    def build(begun: Any) -> Waiter:
        if kind == "StagingArea":
            made = data_flow_ops.StagingArea([tf.float32], [[]], shared_name=f"area_{part}", capacity=1)
            put, get = lambda: made.put([tf.constant(1.0)]), lambda: made.get()[0]
        else:
            made = data_flow_ops.MapStagingArea([tf.float32], [[]], ["a"], shared_name=f"map_{part}", capacity=1)
            put = lambda: made.put(tf.constant(1, tf.int64), {"a": tf.constant(1.0)})  # noqa: E731
            get = lambda: made.get(tf.constant(1, tf.int64))[1]["a"]  # noqa: E731
        fill, relief = ((put(),), get()) if part == "put" else ((), put())
        with tf.control_dependencies([begun]):
            value = _then(put()) if part == "put" else get()
        return Waiter(value * 1.0, fill, relief=relief)

    return build


for _kind in ("StagingArea", "MapStagingArea"):
    for _part in ("get", "put"):
        WAITS[f"{_kind}.{_part}"] = _staging(_kind, _part)


@_named(WAITS, "Reader.read")
def _reader(begun: Any) -> Waiter:
    names = tf.FIFOQueue(2, [tf.string], [[]], name="store")
    reader = tf.IdentityReader(name="reader")
    with tf.control_dependencies([begun]):
        read = reader.read(names)
    return Waiter(tf.cast(tf.strings.length(read.value), tf.float32), (), names.size(), names.close())


@_named(WAITS, "Dataset of a queue")
def _mapped(begun: Any) -> Waiter:
    queue = tf.FIFOQueue(2, [tf.float32], [[]], name="store")
    numbers = tf.data.Dataset.range(3).map(lambda i: queue.dequeue() + tf.cast(i, tf.float32))
    iterator = tf.data.make_initializable_iterator(numbers)
    with tf.control_dependencies([begun]):
        element = iterator.get_next()
    return Waiter(element * 1.0, (iterator.initializer,), queue.size(), queue.close())


def _generated(prefetched: bool) -> Callable[[Any], Waiter]:
    def build(begun: Any) -> Waiter:
        release = threading.Event()

        def elements() -> Any:
            release.wait(PATIENCE)
            yield np.float32(1.0)

        data = tf.data.Dataset.from_generator(elements, tf.float32, [])
        iterator = tf.data.make_initializable_iterator(data.prefetch(1) if prefetched else data)
        with tf.control_dependencies([begun]):
            element = iterator.get_next()
        return Waiter(element * 1.0, (iterator.initializer,), release=release)

    return build


WAITS["Dataset of a generator"] = _generated(False)
WAITS["Dataset of a generator, prefetched"] = _generated(True)


@_named(WAITS, "py_func")
def _py_func(begun: Any) -> Waiter:
    release = threading.Event()

    def wait() -> Any:
        release.wait(PATIENCE)
        return np.float32(1.0)

    with tf.control_dependencies([begun]):
        value = tf.py_func(wait, [], tf.float32)
    value.set_shape([])
    return Waiter(value * 1.0, release=release)


@_named(WAITS, "CriticalSection")
def _section(begun: Any) -> Waiter:
    """One waits in the section for a queue, and another for the section."""
    queue = tf.FIFOQueue(2, [tf.float32], [[]], name="store")
    section = CriticalSection(name="section")

    def body() -> Any:
        with tf.control_dependencies([begun]):
            return queue.dequeue() * 2.0

    return Waiter(section.execute(body) + section.execute(body), (), queue.size(), queue.close())


@_named(WAITS, "dequeue in a function")
def _in_function(begun: Any) -> Waiter:
    queue = tf.FIFOQueue(2, [tf.float32], [[]], name="store")

    @function.Defun(tf.resource, tf.float32)
    def taken(handle: Any, one: Any) -> Any:
        with tf.control_dependencies([one]):
            return data_flow_ops.gen_data_flow_ops.queue_dequeue_v2(handle, [tf.float32])[0] + one

    value = taken(queue.queue_ref, begun)
    value.set_shape([])
    return Waiter(value * 1.0, (), queue.size(), queue.close())


def _in_loop(version: int) -> Callable[[Any], Waiter]:
    def build(begun: Any) -> Waiter:
        queue = tf.FIFOQueue(2, [tf.float32], [[]], name="store")
        with control_flow(version):
            total = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a + queue.dequeue()), [0, begun])[1]
        # How many turns the loop gets before a failure ends it, TensorFlow leaves open: what is left is not read.
        return Waiter(total * 1.0, (queue.enqueue(1.0),), None, queue.close())

    return build


WAITS["dequeue in a loop of version 1"] = _in_loop(1)
WAITS["dequeue in a loop of version 2"] = _in_loop(2)


@_named(WAITS, "nothing")
def _at_once(begun: Any) -> Waiter:
    return Waiter(begun * 1.0)


# -- what fails --------------------------------------------------------------------------------------------------------


def _mismatch(value: Any, name: str = "broken") -> Any:
    """Matrices that do not fit, which only the run can tell."""
    columns = tf.cast(value, tf.int32)
    return tf.reduce_sum(tf.matmul(tf.fill([2, columns], 1.0), tf.ones([4, 3]), name=name))


def _raise(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def _unlucky(value: Any, error: Exception) -> Any:
    result = tf.py_func(_raise(error), [value], tf.float32, name="unlucky")
    result.set_shape([])
    return result


FAILURES["device"] = _mismatch
FAILURES["py_func, ValueError"] = lambda value: _unlucky(value, ValueError("no such luck"))
FAILURES["py_func, KeyError"] = lambda value: _unlucky(value, KeyError("no such luck"))


@_named(FAILURES, "host")
def _no_file(value: Any) -> Any:
    with tf.control_dependencies([value]):
        return tf.cast(tf.strings.length(tf.read_file("/no/such/file", name="missing")), tf.float32)


@_named(FAILURES, "assertion")
def _assertion(value: Any) -> Any:
    with tf.control_dependencies([tf.Assert(value < 0.0, ["too large", value], name="claim")]):
        return tf.exp(value)


@_named(FAILURES, "uninitialized variable")
def _uninitialized(value: Any) -> Any:
    with tf.control_dependencies([value]):
        return tf.get_variable("never", [], use_resource=True).read_value() * 2.0


@_named(FAILURES, "uninitialized reference")
def _uninitialized_reference(value: Any) -> Any:
    with tf.control_dependencies([value]):
        return tf.identity(tf.get_variable("never", [], use_resource=False)._ref()) * 2.0


@_named(FAILURES, "function")
def _defun(value: Any) -> Any:
    @function.Defun(tf.float32)
    def called(inner: Any) -> Any:
        return _mismatch(inner)

    result = called(value, name="call")
    result.set_shape([])
    return result


@_named(FAILURES, "tf.function")
def _tf_function(value: Any) -> Any:
    @tf.function
    def called(inner: Any) -> Any:
        return _mismatch(inner)

    return called(value)


@_named(FAILURES, "function on the host")
def _host_function(value: Any) -> Any:
    @function.Defun(tf.float32)
    def called(inner: Any) -> Any:
        return _unlucky(inner, ValueError("no such luck")) * 2.0

    result = called(value, name="call")
    result.set_shape([])
    return result


def _looping(version: int, fail: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def build(value: Any) -> Any:
        with control_flow(version):
            body = lambda i, a: (i + 1, tf.cond(i > 0, lambda: fail(a), lambda: a))  # noqa: E731
            return tf.while_loop(lambda i, _: i < 3, body, [0, value])[1]

    return build


for _version in (1, 2):
    FAILURES[f"loop of version {_version}"] = _looping(_version, _mismatch)
    FAILURES[f"loop of version {_version} on the host"] = _looping(
        _version, lambda value: _unlucky(value, ValueError("no such luck"))
    )


@_named(FAILURES, "end of a data set")
def _no_data(value: Any) -> Any:
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(np.zeros([0], np.float32)))
    tf.add_to_collection("setup", iterator.initializer)
    with tf.control_dependencies([value]):
        return iterator.get_next(name="next") * 2.0


@_named(FAILURES, "closed queue")
def _closed(value: Any) -> Any:
    queue = tf.FIFOQueue(2, [tf.float32], [[]], name="closed")
    tf.add_to_collection("setup", queue.close())
    with tf.control_dependencies([value]):
        return queue.dequeue(name="late") * 2.0


# -- what ends a run from outside --------------------------------------------------------------------------------------


def _when_waiting(act: Callable[[Any, Waiter], Any]) -> Callable[[Any, Waiter, threading.Event], None]:
    def end(session: Any, waiter: Waiter, begun: threading.Event) -> None:
        begun.wait(PATIENCE)
        act(session, waiter)
    return end


ENDS["RunOptions.timeout_in_ms"] = ENDS["operation_timeout_in_ms"] = _when_waiting(lambda session, waiter: None)
ENDS["session.close()"] = _when_waiting(lambda session, waiter: session.close())
ENDS["store closed"] = _when_waiting(lambda session, waiter: session.run(waiter.close))

#: How what waits and what fails are wired: beside each other, or in one GEOP where both may be.
RELATIONS = ("beside", "joined")

#: Pairs (parts of names) whose outcome TensorFlow itself leaves open, with the classes of errors that it may raise.
RACES: Dict[Tuple[str, str], Tuple[str, ...]] = {
    # A function with state that is not fetched stays a call in TensorFlow. What fails in it cancels what waits before
    # its own error is told: either may come first.
    ("", "function on the host"): ("InvalidArgumentError", "CancelledError"),
    # Either execution may have the lock, and closing the session ends both.
    ("CriticalSection", "session.close()"): ("CancelledError",),
    ("CriticalSection", "store closed"): ("OutOfRangeError",),
    # Closing a session ends the loop where it is: at what waits in it, or between two turns.
    ("dequeue in a loop of version 1", "session.close()"): ("CancelledError",),
    # Nothing waits but a Python function: the GEOP behind it is launched as a whole, and says that it is not begun.
    ("py_func", "session.close()"): ("CancelledError",),
    # What puts is cancelled where it waits already, and finds the queue closed where it comes after: the same class.
    ("enqueue", "store closed"): ("CancelledError",),
    # A data set is told of the end by what it waits for, or ends before.
    ("Dataset", "session.close()"): ("CancelledError", "OutOfRangeError"),
}


def same(got: Outcome, expected: Outcome, waits: str, ends: str) -> bool:
    """Whether an outcome is one that TensorFlow may give for a pair, another being given."""
    for (waiting, ending), errors in RACES.items():
        if waiting in waits and ending in ends:
            return got.error in errors
    return got == expected


def pairs() -> List[Tuple[str, str, str]]:
    """(what waits, what ends it, relation) of every scene."""
    found = []
    for waits in WAITS:
        for fails in FAILURES:
            found.extend((waits, fails, relation) for relation in RELATIONS)
        found.extend((waits, ends, "beside") for ends in ENDS if _ends(waits, ends))
    return found


def _ends(waits: str, ends: str) -> bool:
    """Whether what waits can be ended so; nothing of a session ends waiting at a staging area."""
    if "Staging" in waits:
        return False
    if ends == "store closed":
        return not any(part in waits for part in ("Accumulator", "generator", "py_func", "nothing"))
    return waits != "nothing"


def outcome(mode: str, waits: str, ends: str, relation: str) -> Outcome:
    """Run a scene in a graph and a session of its own.

    The run is made in a thread; where it does not end in time it is left there.
    """
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        return _Scene(mode, waits, ends, relation).run()


class _Scene:
    def __init__(self, mode: str, waits: str, ends: str, relation: str) -> None:
        self.waits, self.ends = waits, ends
        self.begun = threading.Event()
        config = MODES[mode]()
        if ends == "operation_timeout_in_ms":
            config.operation_timeout_in_ms = MILLISECONDS
        x = tf.placeholder(tf.float32, [], name="x")
        # TensorFlow 1.15 runs Python functions one after the other: who waits for the other must come second.
        begins = tf.py_func(self._begin, [x], tf.float32, name="begins")
        begins.set_shape([])
        self.waiter = WAITS[waits](begins)
        count = tf.get_variable("count", [], tf.float32, tf.zeros_initializer(), use_resource=True)
        with tf.control_dependencies([self.waiter.value]):
            counted = count.assign_add(1.0, read_value=False)
        fetches = [self.waiter.value, counted]
        if ends in FAILURES:
            failed = FAILURES[ends](begins)
            fetches = [failed + self.waiter.value, counted] if relation == "joined" else [failed, *fetches]
        else:
            fetches.append(tf.exp(x))
        self.x, self.fetches, self.count = x, fetches, count
        self.session = tf.Session(config=config)
        self.setup = [count.initializer, *tf.get_collection("setup"), *self.waiter.setup]
        self.options = tf.RunOptions(timeout_in_ms=MILLISECONDS if ends == "RunOptions.timeout_in_ms" else 0)

    def _begin(self, value: Any) -> Any:
        self.begun.set()
        # Nothing else can end a Python function: it goes on when what fails may.
        if self.waiter.release is not None and self.ends in FAILURES:
            self.waiter.release.set()
        return np.float32(2.0)

    def run(self) -> Outcome:
        # On a busy machine what goes before may take longer than the session's own patience.
        patient = tf.RunOptions(timeout_in_ms=1000 * PATIENCE)
        for op in self.setup:
            self.session.run(op, options=patient)
        found: List[Outcome] = []
        thread = threading.Thread(target=lambda: found.append(self._told()), daemon=True)
        thread.start()
        if self.ends in ENDS:
            ENDS[self.ends](self.session, self.waiter, self.begun)
            if self.waiter.release is not None and self.ends == "session.close()":
                self.waiter.release.set()
        elif self.waiter.relief is not None:
            self.begun.wait(PATIENCE)
            self.session.run(self.waiter.relief)
        thread.join(PATIENCE if self.waiter.release is None or self.ends in FAILURES else 4 * MILLISECONDS / 1000)
        if thread.is_alive() and self.waiter.release is not None:
            self.waiter.release.set()
            thread.join(PATIENCE)
        if thread.is_alive():
            # Closing a session waits for its runs, too.
            threading.Thread(target=self.session.close, daemon=True).start()
            return Outcome("hang")
        result = found[0]
        if self.ends != "session.close()":
            # Where nothing waits but for data or Python, GEOPs are launched as wholes: what could run beside a failure
            # does not, and what waits for data runs beside it (docs/runtime.md).
            whole = self.waits == "nothing" or self.waiter.release is not None or self.waiter.relief is not None
            left = [] if whole else [self.count]
            left += [] if self.waiter.left is None else [self.waiter.left]
            values = self.session.run(left, options=patient)
            result = result._replace(left=[np.asarray(value).tolist() for value in values])
            self.session.close()
        return result

    def _told(self) -> Outcome:
        try:
            self.session.run(self.fetches, {self.x: 1.0}, options=self.options)
        except tf.errors.OpError as error:
            op = "" if error.op is None else error.op.name
            node = "" if error.node_def is None else f"{error.node_def.op} {error.node_def.name}"
            return Outcome(type(error).__name__, normal(error.message, called=error.op is None), op, node)
        except Exception as error:  # noqa: BLE001  whatever a script would see
            return Outcome(type(error).__name__, normal(str(error)))
        return Outcome("value")


def normal(message: str, called: bool = False) -> str:
    """A message without what TensorFlow counts, and without the line that names the GEOP.

    Args:
        called: the operator is one of a function: which calls are named with it depends on which Grappler dissolves.
    """
    message = message.split("\n\t (on the simulated NPU")[0]
    # TensorFlow 1.15 names the operators that lead to one in the order of a set.
    head, sources, rest = message.partition("Input Source operations connected to node")
    if sources:
        name, *lines = rest.split("\n")
        message = "\n".join([head + sources + name, *sorted(line.rstrip("\t") for line in lines)])
    message = re.sub(r"'_\d+_", "'", message)
    message = re.sub(r"0x[0-9a-f]+", "0x", message)
    # What TensorFlow 1.15 puts before an error that it takes for the consequence of another: of an operator that is
    # cancelled it does so or not, by which thread comes first.
    message = message.replace("[_Derived_]", "")
    if called:
        message = re.sub(r"(\s*\[\[\{\{node )[^\s}]*?([^\s}/]+\}\}\]\])(\s*\[\[[^\]]*\]\])*", r"\1\2", message)
    message = re.sub(r"(?s)Traceback.*?(?=\w+: no such luck)", "", message)
    return re.sub(r"Dataset:\d+", "Dataset", message)
