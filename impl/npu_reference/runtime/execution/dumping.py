"""How operators of GEOPs come to write their tensors into dump files while they run."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference.device.numerics.body import in_order
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.dumps.form import SIMULATED, Description, Tensor, encode, head, timed
from npu_reference.dumps.names import file_name
from npu_reference.dumps.settings import DataDump
from npu_reference.dumps.writing import StepFiles, Target
from npu_reference.errors import NpuError
from npu_reference.graphs import OPS, DType
from npu_reference.graphs.signature import AttrProblem, arg_dtypes, count_args
from npu_reference.partition import Partition
from npu_reference.precision import Assignment
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Dumping", "tensor_of"]

#: Node attribute that carries what a callback must know from where a body is instrumented to where it gets its name.
_MARK = "_npu_dump"
_TOKEN = b"npu_dump"

#: These have no task of their own on the device: nothing is computed, so there is nothing to dump.
_NO_TASK = frozenset(
    (
        *("Const", "HostConst", "NoOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "_Retval"),
        *("ControlTrigger", "Variable", "VariableV2", "TemporaryVariable", "VarHandleOp", "LoopCond"),
        *("Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "NextIteration", "RefNextIteration"),
        *("Enter", "RefEnter", "Exit", "RefExit"),
        # What only passes a tensor on is taken out of the device's graph: the tensor is its maker's, or a variable.
        *("Identity", "IdentityN", "ReadVariableOp", "StopGradient", "PreventGradient", "Snapshot"),
    )
)

#: What AMCT and fake quantisation put where a tensor is quantised: before it a tensor may be optimised away.
_QUANTISE = (
    "AscendQuant",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeV2",
)

#: Operators that add into memory which others add to at the same time (assumed: those that scatter and segment).
_ATOMIC = ("ScatterAdd", "ScatterNd", "ScatterNdAdd", "UnsortedSegmentSum", "BiasAddGrad", "Conv2DBackpropFilter")

#: These take references to what holds nothing yet.
_BEFORE_INITIALISATION = ("Assign", "IsVariableInitialized")

#: Dtypes that an operator's inputs and outputs are computed at, and its engine.
_Dtypes = Tuple[Tuple[str, ...], Tuple[str, ...], str]

_BYTE = np.dtype(np.uint8)

_STATUS_BLOCK = 2048  # bytes of an Opdebug file's tensor


class _Meta(NamedTuple):
    """What a callback knows of its operator; dtypes are the graph's."""

    op: str
    op_type: str
    task: int
    inputs: Tuple[int, ...]  # their positions among all inputs
    outputs: Tuple[int, ...]
    format: str


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
        self._assigned: Dict[str, _Dtypes] = {}
        self._lock = threading.Lock()
        self._error: Optional[NpuError] = None
        # TensorFlow's registry refers to Python functions weakly.
        self._alive: List[Callable[..., Any]] = []

    # -- preparing -----------------------------------------------------------------------------------------------

    def instrument(self, graph_def: Any, partition: Partition) -> None:
        """Add to the body of each GEOP, in place, a call for each operator that hands over its tensors.

        It comes before the body is made to compute at the device's dtypes, so that what is dumped is what others read.
        O(nodes + edges).
        """
        bodies = {function.signature.name: function for function in graph_def.library.function}
        for geop in partition.geops:
            copies = {copy.name: copy.node for copy in geop.copies}
            _Body(bodies[geop.name], bodies, partition, copies, self.wanted).run()

    def assigned(self, assignment: Assignment) -> None:
        """Remember the dtypes that operators are computed at: their tensors are dumped in these."""
        for node in assignment.nodes:
            if node.function is None:
                self._assigned[node.node] = (tuple(node.inputs), tuple(node.outputs), node.engine)

    def bind(self, function: Any, geop: str) -> None:
        """Let the calls of a body that is now placed write the files of its model; a hook of the shadow graph."""
        calls = [node for node in function.node_def if node.op == "PyFunc" and _MARK in node.attr]
        if not calls:
            return
        with self._lock:
            model = self._models[function.signature.name] = _Model(geop, len(self._models) + 1)
        script_ops = importlib.import_module("tensorflow.python.ops.script_ops")
        for node in calls:
            callback = self._writer(_meta(node.attr[_MARK].s), model)
            self._alive.append(callback)
            node.attr["token"].s = script_ops._py_funcs.insert(callback).encode()
            del node.attr[_MARK]

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

    def _writer(self, meta: _Meta, model: _Model) -> Callable[..., Any]:
        frame = _Frame(meta, self._assigned.get(meta.op))
        active, always = model.active, not self.wanted.overflow

        def write(*arrays: Any) -> Any:
            if active and self._error is None and (always or self._is_wanted(meta)):
                try:
                    self._write(frame, active, arrays)
                except NpuError as error:
                    self._error = error
                except OSError as error:
                    self._error = NpuError("OUTPUT", self.wanted.path, f"the dump cannot be written: {error}.")
            return []

        return write

    def _is_wanted(self, meta: _Meta) -> bool:
        if self._overflows is None or self._overflows.get(meta.op, 0) <= self._seen.get(meta.op, 0):
            return False
        return self.wanted.overflow == "all" or (self.wanted.overflow == "atomic_overflow") == (meta.op_type in _ATOMIC)

    def _write(self, frame: _Frame, active: Sequence[StepFiles], arrays: Sequence[Any]) -> None:
        message, data = frame.parts(arrays)
        stamp = self.target.clock.stamp()
        try:
            files = active[0]
        except IndexError:  # its step has ended meanwhile: another run of the same GEOP had taken its place
            return
        files.write(f"{frame.name}{stamp}", [timed(message, stamp), *data])
        if self.wanted.overflow:
            self._write_status(frame.meta, files)

    def _write_status(self, meta: _Meta, files: StepFiles) -> None:
        """The file that says which task overflowed: a block of 2048 bytes, and the same as text in attributes."""
        stamp = self.target.clock.stamp()
        block = np.zeros(_STATUS_BLOCK, np.uint8)
        tensor, data = tensor_of(block, "", "ND", "Node_OpDebug", 0)
        kind = "atomic" if meta.op_type in _ATOMIC else "AIC" if self._assigned[meta.op][2] == "cube" else "AIV"
        attrs = (SIMULATED, ("acc_type", kind), ("task_id", str(meta.task)), ("stream_id", "0"), ("op_name", meta.op))
        description = Description("Node_OpDebug", stamp, (), (tensor,), (), attrs)
        files.write(file_name("Opdebug", "Node_OpDebug", meta.task, 0, stamp), encode(description, [], [data]))


class _Frame:
    """What is the same of all files of one operator, and of most of them: all but time and values."""

    def __init__(self, meta: _Meta, dtypes: Optional[_Dtypes]) -> None:
        self.meta = meta
        self.name = file_name(meta.op_type, meta.op, meta.task, 0, 0)[:-1]
        ends = [(0, position) for position in meta.inputs] + [(1, slot) for slot in meta.outputs]
        # Where the device computes at float16 the values are the graph's float32 ones still.
        self._wanted = tuple(_at(dtypes[side], at) if dtypes is not None else "" for side, at in ends)
        self._as_given = "float16" not in self._wanted
        self._known: Tuple[Any, bytes] = (None, b"")

    def parts(self, arrays: Sequence[Any]) -> Tuple[bytes, List[Any]]:
        """The description without its time, and the bytes of every tensor."""
        key = [(array.dtype, array.shape) for array in arrays]
        known, message = self._known
        if known == key and self._as_given:
            return message, [array.reshape(-1).view(_BYTE) for array in arrays]
        meta = self.meta
        count = len(meta.inputs)
        found = [
            tensor_of(array, wanted, meta.format, *(("", 0) if at < count else (meta.op, meta.outputs[at - count])))
            for at, (array, wanted) in enumerate(zip(arrays, self._wanted))
        ]
        if known != key:
            tensors = tuple(tensor for tensor, _ in found)
            message = head(Description(meta.op, 0, tensors[:count], tensors[count:]))
            if all(_is_plain(array) for array in arrays):
                self._known = (key, message)
        return message, [data for _, data in found]


def _is_plain(array: Any) -> bool:
    """Whether an array's memory is what a file has: in one piece and little-endian."""
    return bool(array.flags.c_contiguous) and array.dtype.isnative and sys.byteorder == "little"


def _at(dtypes: Sequence[str], position: int) -> str:
    return dtypes[position] if position < len(dtypes) else ""


def tensor_of(array: Any, dtype: str, layout: str, source: str, slot: int) -> Tuple[Tensor, Any]:
    """A tensor's description and its bytes, little-endian.

    Args:
        dtype: what the device computes it at; float16 makes float32 values float16 ones, which they are already.
    """
    array = np.asarray(array)
    if dtype == "float16" and array.dtype == np.float32:
        with np.errstate(over="ignore"):
            array = np.clip(array, -65504.0, 65504.0).astype(np.float16)
    name = array.dtype.name if array.dtype.name in BY_NAME else str(tensorflow().v1.as_dtype(array.dtype).name)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    tensor = Tensor(name, tuple(array.shape), array.nbytes, layout if array.ndim == 4 else "ND", source, slot)
    return tensor, array.reshape(-1).view(_BYTE)


# -- bodies ------------------------------------------------------------------------------------------------------------


class _Ends(NamedTuple):
    inputs: Tuple[DType, ...]
    outputs: Tuple[DType, ...]
    texts: Tuple[str, ...]


class _Body:
    """One GEOP's function, to which a call for each operator is added."""

    def __init__(
        self,
        function: Any,
        functions: Mapping[str, Any],
        partition: Partition,
        copies: Mapping[str, int],
        wanted: DataDump,
    ) -> None:
        self.function = function
        self.functions = functions
        self.graph = partition.graph
        self.copies = copies
        self.wanted = wanted
        self.names = {node.name for node in function.node_def}
        self.quantised = set() if wanted.before_quantisation else self._only_quantised()

    def run(self) -> None:
        for task, proto in enumerate(in_order(self.function), 1):
            number = self.copies.get(proto.name, self.graph.index.get(proto.name))
            if number is None or proto.name in self.copies:
                continue
            node = self.graph.nodes[number]
            ends = None if node.op in _NO_TASK else _ends(proto, self.functions)
            if ends is not None:
                self._add(proto, node, ends, task)

    def _add(self, proto: Any, node: Any, ends: _Ends, task: int) -> None:
        texts: List[str] = []
        types: List[int] = []
        inputs: List[int] = []
        outputs: List[int] = []
        if self.wanted.mode in ("input", "all"):
            for position, dtype in enumerate(ends.inputs):
                text = proto.input[position]
                if not _can_be_dumped(dtype) or (node.op in _QUANTISE and not self.wanted.before_quantisation):
                    continue
                if dtype.is_ref and node.op in _BEFORE_INITIALISATION:
                    continue
                texts.append(self._before(proto, text, dtype, position) if dtype.is_ref else text)
                types.append(dtype.base.number)
                inputs.append(position)
        if self.wanted.mode in ("output", "all"):
            for slot, (text, dtype) in enumerate(zip(ends.texts, ends.outputs)):
                if _can_be_dumped(dtype) and text not in self.quantised:
                    texts.append(text)
                    types.append(dtype.base.number)
                    outputs.append(slot)
        if not texts:
            return
        call = self.function.node_def.add(name=self._fresh(f"{proto.name}/npu_dump"), op="PyFunc")
        call.input.extend(texts)
        if self.wanted.overflow and not outputs:
            # Whether it overflowed is known once its results have been looked at.
            call.input.append(f"^{proto.name}")
        call.attr["token"].s = _TOKEN
        call.attr["Tin"].list.type.extend(types)
        call.attr["Tout"].list.SetInParent()
        layout = node.text("data_format", "") if node.has_attr("data_format") else ""
        self.function.control_ret[call.name.replace("/", "_")] = call.name
        self.function.signature.control_output.append(call.name.replace("/", "_"))
        body = [node.name, node.op, task, inputs, outputs, layout or "ND"]
        call.attr[_MARK].s = json.dumps(body).encode("ascii")

    def _before(self, proto: Any, text: str, dtype: DType, position: int) -> str:
        """What a reference holds before the operator writes to it."""
        copy = self.function.node_def.add(name=self._fresh(f"{proto.name}/npu_before_{position}"), op="DeepCopy")
        copy.input.append(text)
        copy.attr["T"].type = dtype.base.number
        proto.input.append(f"^{copy.name}")
        return f"{copy.name}:y:0"

    def _fresh(self, wish: str) -> str:
        name, number = wish, 1
        while name in self.names:
            name, number = f"{wish}_{number}", number + 1
        self.names.add(name)
        return name

    def _only_quantised(self) -> Any:
        """Texts of tensors that quantisations read and nothing else: compilation fuses what makes them."""
        readers: Dict[str, List[str]] = {}
        for node in self.function.node_def:
            for text in node.input:
                readers.setdefault(text, []).append(node.op)
        for text in self.function.ret.values():
            readers.setdefault(text, []).append("")
        return {text for text, ops in readers.items() if all(op in _QUANTISE for op in ops)}


def _can_be_dumped(dtype: DType) -> bool:
    if dtype.base.name == "bfloat16":
        return tensorflow().major >= 2
    return dtype.base.name in BY_NAME


def _ends(proto: Any, functions: Mapping[str, Any]) -> Optional[_Ends]:
    """Types of what a node reads and gives, and the texts that read its outputs; None where they cannot be told."""
    called = functions.get(proto.op)
    if called is not None:
        arguments, results = called.signature.input_arg, called.signature.output_arg
        if any(arg.number_attr or arg.type_attr or arg.type_list_attr for arg in [*arguments, *results]):
            return None
        return _Ends(
            tuple(_dtype(arg.type) for arg in arguments),
            tuple(_dtype(arg.type) for arg in results),
            tuple(f"{proto.name}:{arg.name}:0" for arg in results),
        )
    op_def = OPS.get(proto.op)
    if op_def is None:
        return None
    try:
        texts = tuple(_texts(proto, op_def))
        return _Ends(
            arg_dtypes(op_def, op_def.inputs, proto.attr), arg_dtypes(op_def, op_def.outputs, proto.attr), texts
        )
    except AttrProblem:
        return None


def _texts(proto: Any, op_def: Any) -> Iterator[str]:
    for arg in op_def.outputs:
        for position in range(count_args(op_def, (arg,), proto.attr)):
            yield f"{proto.name}:{arg.name}:{position}"


def _dtype(number: int) -> DType:
    return DType.of(number)


def _meta(text: bytes) -> _Meta:
    op, op_type, task, inputs, outputs, layout = json.loads(text.decode("ascii"))
    return _Meta(op, op_type, task, tuple(inputs), tuple(outputs), layout)
