"""The data dump of one session: bodies that write it, and the steps whose files they write."""

from __future__ import annotations

import importlib
import threading
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from npu_reference.dumps.form import SIMULATED, Description, encode
from npu_reference.dumps.names import file_name
from npu_reference.dumps.writing import StepFiles, Target
from npu_reference.errors import NpuError
from npu_reference.options.typed import DataDump
from npu_reference.partition import Partition
from npu_reference.precision import Assignment
from npu_reference.runtime.execution.dumping.frames import Dtypes, FileFrame, Meta, meta_of, tensor_of
from npu_reference.runtime.execution.dumping.function_bodies import MARK, UNBOUND, calls_of, let_run
from npu_reference.runtime.execution.dumping.geops import GeopDump
from npu_reference.runtime.execution.dumping.write_order import wait_for_dumps, wait_for_turns
from npu_reference.runtime.execution.threads import keep_thread

__all__ = ["Dumping"]

#: Operators that add into memory which others add to at the same time (assumed: those that scatter and segment).
_ATOMIC = ("ScatterAdd", "ScatterNd", "ScatterNdAdd", "UnsortedSegmentSum", "BiasAddGrad", "Conv2DBackpropFilter")

#: What a callback answers.
_NOTHING: List[Any] = []

#: Calls that may be taken away, or made once for several, and those that may not.
_STATEFUL = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessIf": "If",
    "StatelessWhile": "While",
    "StatelessCase": "Case",
}

_STATUS_BLOCK = 2048  # bytes of an Opdebug file's tensor


class _Model:
    """One GEOP's function: its steps are counted from 0."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.steps = 0
        self.active: List[StepFiles] = []


class Dumping:
    """The data dump of one session. Thread-safe; of two runs of one GEOP at once, the older one's step has the files.

    Args:
        wanted: what the options ask for.
        target: the folder, open.
        overflows: the device's counts of overflow by operator; None where it has no float status.
    """

    def __init__(self, wanted: DataDump, target: Target, overflows: Optional[Mapping[str, int]] = None) -> None:
        self.wanted = wanted
        self.target = target
        self._overflows = overflows
        self._seen: Dict[str, int] = {}
        self._models: Dict[str, _Model] = {}
        self._assigned: Dict[Tuple[str, str], Dtypes] = {}
        self._lock = threading.Lock()
        self._error: Optional[NpuError] = None
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    # -- preparing -----------------------------------------------------------------------------------------------

    def instrument(self, graph_def: Any, partition: Partition) -> None:
        """Add to the body of each GEOP, in place, and to copies of what it calls, a call for each operator.

        It comes before the body is made to compute at the device's dtypes, so that what is dumped is what others read.
        O(nodes + edges).
        """
        bodies = {function.signature.name: function for function in graph_def.library.function}
        for geop in partition.geops:
            copies = {copy.name: copy.node for copy in geop.copies}
            one = GeopDump(bodies, partition, copies, self.wanted)
            one.run(bodies[geop.name])
            graph_def.library.function.extend(one.made)

    def assigned(self, assignment: Assignment) -> None:
        """Remember the dtypes that operators are computed at: their tensors are dumped in these."""
        for node in assignment.nodes:
            name = node.node if node.function is None else node.node[len(node.function) + 1 :]
            self._assigned[node.function or "", name] = (tuple(node.inputs), tuple(node.outputs), node.engine)

    def bind(self, function: Any, geop: str, functions: Dict[str, Any]) -> None:
        """Let the calls of a body that is now placed write the files of its model.

        Args:
            functions: of the request, by name; the body's own copies of those it calls are added.
        """
        bodies = self._own(function, function.signature.name, functions)
        calls = [node for body in bodies for node in body.node_def if node.op == "PyFunc" and MARK in node.attr]
        if not calls:
            return
        for body in bodies:
            wait_for_turns(body)
        with self._lock:
            model = self._models[function.signature.name] = _Model(geop, len(self._models) + 1)
        script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
        for node in calls:
            callback = self._writer(meta_of(node.attr[MARK].s), model)
            self._alive.append(callback)
            node.attr["token"].s = script_ops._py_funcs.insert(callback).encode()
            del node.attr[MARK]

    def _own(self, body: Any, model: str, functions: Dict[str, Any]) -> List[Any]:
        """A body and those that its calls lead to, which become its model's own."""
        found = [body]
        for node in list(body.node_def):
            for call in calls_of(node, functions):
                if UNBOUND not in call.function.attr:
                    continue
                copy = type(body)()
                copy.CopyFrom(call.function)
                del copy.attr[UNBOUND]
                copy.signature.name = f"{copy.signature.name}__{model}"
                functions[copy.signature.name] = copy
                call.become(copy.signature.name)
                found.extend(self._own(copy, model, functions))
                wait_for_dumps(copy)
                # What writes files must not be taken for something that does nothing, or that nobody needs.
                node.op = _STATEFUL.get(node.op, node.op)
                let_run(body, node.name)
        return found

    # -- running -------------------------------------------------------------------------------------------------

    def begin(self, functions: Iterable[str]) -> List[Tuple[_Model, StepFiles]]:
        """Begin an iteration of some GEOPs, by the names of their functions; answers what :meth:`end` takes.

        Raises:
            NpuError: OUTPUT.
        """
        begun: List[Tuple[_Model, StepFiles]] = []
        with self._lock:
            if self._overflows is not None:
                self._seen = dict(self._overflows)
            for name in sorted(set(functions)):
                model = self._models.get(name)
                if model is None:
                    continue
                step, model.steps = model.steps, model.steps + 1
                if self.wanted.wants(step):
                    files = self.target.step(model.name, model.number, step)
                    model.active.append(files)
                    begun.append((model, files))
        return begun

    def end(self, begun: Sequence[Tuple[_Model, StepFiles]]) -> None:
        """Put the files of an iteration in place, also of one that failed.

        Raises:
            NpuError: OUTPUT: something could not be written; the steps concerned are not there.
        """
        with self._lock:
            for model, files in begun:
                model.active.remove(files)
            error, self._error = self._error, None
        for _, files in begun:
            if error is not None:
                files.discard()
                continue
            try:
                files.publish()
            except NpuError as problem:
                error = problem
        if error is not None:
            raise error

    def close(self) -> None:
        """Take away what lies aside."""
        self.target.close()

    # -- while an operator runs ----------------------------------------------------------------------------------

    def _writer(self, meta: Meta, model: _Model) -> Callable[..., Any]:
        frame = FileFrame(meta, self._assigned.get((meta.function, meta.node)))
        active, always = model.active, not self.wanted.overflow

        def write(*arrays: Any) -> Any:
            keep_thread()
            if active and self._error is None and (always or self._is_wanted(meta)):
                try:
                    self._write(frame, active, arrays)
                except NpuError as error:
                    self._error = error
                except OSError as error:
                    self._error = NpuError("OUTPUT", self.wanted.path, f"the dump cannot be written: {error}.")
            return _NOTHING

        return write

    def _is_wanted(self, meta: Meta) -> bool:
        told = f"{meta.function}/{meta.node}" if meta.function else meta.node
        if self._overflows is None or self._overflows.get(told, 0) <= self._seen.get(told, 0):
            return False
        return self.wanted.overflow == "all" or (self.wanted.overflow == "atomic_overflow") == (meta.op_type in _ATOMIC)

    def _write(self, frame: FileFrame, active: Sequence[StepFiles], arrays: Sequence[Any]) -> None:
        stamp = self.target.clock.stamp()
        try:
            files = active[0]
        except IndexError:  # its step has ended meanwhile: another run of the same GEOP had taken its place
            return
        files.write(f"{frame.name}{stamp}", frame.parts(arrays, stamp))
        if self.wanted.overflow:
            self._write_status(frame.meta, files)

    def _write_status(self, meta: Meta, files: StepFiles) -> None:
        """The file that says which task overflowed: a block of 2048 bytes, and the same as text in attributes."""
        stamp = self.target.clock.stamp()
        block = np.zeros(_STATUS_BLOCK, np.uint8)
        tensor, data = tensor_of(block, "", "ND", "Node_OpDebug", 0)
        kind = (
            "atomic"
            if meta.op_type in _ATOMIC
            else "AIC"
            if self._assigned[meta.function, meta.node][2] == "cube"
            else "AIV"
        )
        attrs = (SIMULATED, ("acc_type", kind), ("task_id", str(meta.task)), ("stream_id", "0"), ("op_name", meta.op))
        description = Description("Node_OpDebug", stamp, (), (tensor,), (), attrs)
        files.write(file_name("Opdebug", "Node_OpDebug", meta.task, 0, stamp), encode(description, [], [data]))
