"""How operators of GEOPs come to write their tensors into dump files while they run."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import sys
import threading
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

import numpy as np

from npu_reference.device.numerics.body import in_order
from npu_reference.device.numerics.kinds import STATUS_OPS
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.dumps.form import SIMULATED, Description, Tensor, encode, opening, packed
from npu_reference.dumps.names import file_name
from npu_reference.dumps.settings import DataDump
from npu_reference.dumps.writing import StepFiles, Target
from npu_reference.errors import NpuError
from npu_reference.graphs import COPY_MARK, OPERATOR_MARK, OPS, DType
from npu_reference.graphs.signature import AttrProblem, arg_dtypes, count_args
from npu_reference.partition import Partition
from npu_reference.precision import Assignment
from npu_reference.runtime.execution.threads import keep_thread
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["CONTROL_FLOW", "MARK", "UNBOUND", "Dumping", "let_run", "meta_of", "tensor_of"]

#: Node attribute that carries what a callback must know from where a body is instrumented to where it gets its name.
MARK = "_npu_dump"
_TOKEN = b"npu_dump"

#: Control flow of version 1.
CONTROL_FLOW = frozenset(
    (
        *("Enter", "RefEnter", "Switch", "RefSwitch", "Merge", "RefMerge"),
        *("NextIteration", "RefNextIteration", "Exit", "RefExit"),
    )
)

#: These have no task of their own on the device: nothing is computed, so there is nothing to dump.
_NO_TASK = frozenset(
    (
        *("Const", "HostConst", "NoOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "_Retval"),
        *("ControlTrigger", "Variable", "VariableV2", "TemporaryVariable", "VarHandleOp", "LoopCond"),
        *("_SwitchN", *CONTROL_FLOW),
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

#: What these give may lie in the memory of what they take.
_SHARES = frozenset(
    (
        *("Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot", "CheckNumerics", "CheckNumericsV2"),
        *("Reshape", "Squeeze", "ExpandDims", "Bitcast", "Slice", "StridedSlice", "Split", "SplitV", "Unpack"),
        *("RefIdentity", "RefSelect", "_SwitchN", *CONTROL_FLOW),
    )
)

#: Dtypes of which every version of TensorFlow makes copies.
_COPIED = frozenset(
    (
        *("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
)

#: Of v1 control flow: these begin before all that they take is there, or in another turn.
_JOINS = ("Merge", "RefMerge", "NextIteration", "RefNextIteration")

#: Dtypes that an operator's inputs and outputs are computed at, and its engine.
_Dtypes = Tuple[Tuple[str, ...], Tuple[str, ...], str]

_BYTE = np.dtype(np.uint8)

#: Dtypes whose arrays the system takes as they are; NumPy hands no buffer out of others, such as bfloat16.
_OWN = frozenset("?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"])

#: What a callback answers.
_NOTHING: List[Any] = []

#: Attribute of a function's copy whose calls do not write into a model's files yet; it cannot run.
UNBOUND = "_npu_dump_unbound"

#: Calls that may be taken away, or made once for several, and those that may not.
_STATEFUL = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessIf": "If",
    "StatelessWhile": "While",
    "StatelessCase": "Case",
}

#: Of v1 control flow: where one of these stands, some dumps may not come to run, and nothing may wait for them.
_DIES = ("Switch", "RefSwitch", "_SwitchN", "Enter", "RefEnter")

_MOST_DEPTH = 32  # calls within calls; deeper ones are operators of their own
_MOST_NODES = 200_000  # operators that the calls of one GEOP lead to (assumed)

_STATUS_BLOCK = 2048  # bytes of an Opdebug file's tensor


class _Meta(NamedTuple):
    """What a callback knows of its operator; dtypes are the graph's.

    Attributes:
        op: its name; in the body of a function that is called, below the call's.
        function, node: the function, empty for a GEOP, and what the operator is called there: whatever is decided of it
            is so for all calls.
    """

    op: str
    function: str
    node: str
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
        self._assigned: Dict[Tuple[str, str], _Dtypes] = {}
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
            one = _Geop(bodies, partition, copies, self.wanted)
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
            _wait_turns(body)
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
            for call in _calls(node, functions):
                if UNBOUND not in call.function.attr:
                    continue
                copy = type(body)()
                copy.CopyFrom(call.function)
                del copy.attr[UNBOUND]
                copy.signature.name = f"{copy.signature.name}__{model}"
                functions[copy.signature.name] = copy
                call.become(copy.signature.name)
                found.extend(self._own(copy, model, functions))
                _wait(copy)
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

    def _writer(self, meta: _Meta, model: _Model) -> Callable[..., Any]:
        frame = _Frame(meta, self._assigned.get((meta.function, meta.node)))
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

    def _is_wanted(self, meta: _Meta) -> bool:
        told = f"{meta.function}/{meta.node}" if meta.function else meta.node
        if self._overflows is None or self._overflows.get(told, 0) <= self._seen.get(told, 0):
            return False
        return self.wanted.overflow == "all" or (self.wanted.overflow == "atomic_overflow") == (meta.op_type in _ATOMIC)

    def _write(self, frame: _Frame, active: Sequence[StepFiles], arrays: Sequence[Any]) -> None:
        stamp = self.target.clock.stamp()
        try:
            files = active[0]
        except IndexError:  # its step has ended meanwhile: another run of the same GEOP had taken its place
            return
        files.write(f"{frame.name}{stamp}", frame.parts(arrays, stamp))
        if self.wanted.overflow:
            self._write_status(frame.meta, files)

    def _write_status(self, meta: _Meta, files: StepFiles) -> None:
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


class _Frame:
    """What is the same of all files of one operator, and of most of them: all but time and values."""

    def __init__(self, meta: _Meta, dtypes: Optional[_Dtypes]) -> None:
        self.meta = meta
        self.name = file_name(meta.op_type, meta.op, meta.task, 0, 0)[:-1]
        ends = [(0, position) for position in meta.inputs] + [(1, slot) for slot in meta.outputs]
        # Where the device computes at float16 the values are the graph's float32 ones still.
        self._wanted = tuple(_at(dtypes[side], at) if dtypes is not None else "" for side, at in ends)
        self._as_given = "float16" not in self._wanted
        self._known: Optional[List[Any]] = None
        self._start, self._buffers = b"", False

    def parts(self, arrays: Sequence[Any], stamp: int) -> List[Any]:
        """A whole file: its description, and the bytes of every tensor."""
        key = [(array.dtype, array.shape) for array in arrays]
        if key == self._known:
            start = self._start + packed(stamp)
            return [start, *arrays] if self._buffers else [start, *map(_bytes_of, arrays)]
        meta = self.meta
        count = len(meta.inputs)
        found = [
            tensor_of(array, wanted, meta.format, *(("", 0) if at < count else (meta.op, meta.outputs[at - count])))
            for at, (array, wanted) in enumerate(zip(arrays, self._wanted))
        ]
        tensors = tuple(tensor for tensor, _ in found)
        start = opening(Description(meta.op, 0, tensors[:count], tensors[count:]))
        if self._as_given and all(_is_plain(array) for array in arrays):
            self._known, self._start = key, start
            self._buffers = all(array.dtype.char in _OWN for array in arrays)
        return [start + packed(stamp), *(data for _, data in found)]


def _bytes_of(array: Any) -> Any:
    return array.reshape(-1).view(_BYTE)


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


class _Call(NamedTuple):
    """A call that a node makes.

    Attributes:
        scope: what stands between the call's name and the names of the operators in there.
        function: the FunctionDef.
        become: lets the node call the function of another name.
    """

    scope: str
    function: Any
    become: Callable[[str], None]


def _calls(node: Any, functions: Mapping[str, Any]) -> List[_Call]:
    """The calls of a node that run when it does, with the names that the timing plane gives their bodies."""
    named: List[Tuple[str, Any]] = []
    if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
        named = [("/", node.attr["f"].func)]
    elif node.op in ("While", "StatelessWhile"):
        named = [("/cond/", node.attr["cond"].func), ("/body/", node.attr["body"].func)]
    elif node.op in ("If", "StatelessIf"):
        named = [("/branch0/", node.attr["else_branch"].func), ("/branch1/", node.attr["then_branch"].func)]
    elif node.op in ("Case", "StatelessCase"):
        named = [(f"/branch{at}/", one) for at, one in enumerate(node.attr["branches"].list.func)]
    elif node.op in functions and node.op not in STATUS_OPS and OPERATOR_MARK not in functions[node.op].attr:
        return [_Call("/", functions[node.op], functools.partial(setattr, node, "op"))]
    return [
        _Call(scope, functions[one.name], functools.partial(setattr, one, "name"))
        for scope, one in named
        if one.name in functions
    ]


class _Operator(NamedTuple):
    """What a node of a body is: its name in the dump, its name and its function for decisions, its type, its layout."""

    name: str
    function: str
    node: str
    op: str
    layout: str


class _Geop:
    """One GEOP to whose operators calls are added, and to those of the functions that it calls.

    A function is copied for every place that calls it, so that each has names of its own there.

    Attributes:
        made: the copies.
    """

    def __init__(
        self, functions: Mapping[str, Any], partition: Partition, copies: Mapping[str, int], wanted: DataDump
    ) -> None:
        self.functions = functions
        self.graph = partition.graph
        self.copies = copies
        self.wanted = wanted
        self.made: List[Any] = []
        self.tasks = 0
        self.nodes = 0
        self.digest = ""
        self.has_references = False

    def run(self, body: Any) -> None:
        self.has_references = any(_gives_reference(node) for node in body.node_def)
        # What does the same is one function in the session, whichever run asks for it: so its copies are called alike.
        if any(_calls(node, self.functions) for node in body.node_def):
            alone = type(body)()
            alone.CopyFrom(body)
            alone.signature.name = ""
            self.digest = hashlib.sha256(alone.SerializeToString(deterministic=True)).hexdigest()[:12]
        self._body(body, self._in_geop, set(self.graph.index), 0)

    def _body(self, body: Any, operator: Callable[[Any], Optional[_Operator]], names: Set[str], depth: int) -> None:
        # What a function is given may be a variable of the GEOP.
        given = [arg.name for arg in body.signature.input_arg] if depth and self.has_references else []
        adding = _Adding(body, self.functions, self.wanted, _shared(body, given))
        scopes = {name[:at] for name in names for at, char in enumerate(name) if char == "/"}
        for proto in in_order(body):
            one = operator(proto)
            looked_into = one is not None and self._look_into(proto, one, names, scopes, depth)
            self.tasks += 1
            if one is None or looked_into or one.op in _NO_TASK or one.op in STATUS_OPS:
                continue
            ends = _ends(proto, self.functions)
            if ends is not None:
                adding.add(proto, one, ends, self.tasks)

    def _look_into(self, proto: Any, one: _Operator, names: Set[str], scopes: Set[str], depth: int) -> bool:
        """Dump what a call leads to; answers whether the node is one, and no operator itself."""
        calls = _calls(proto, self.functions)
        self.nodes += sum(len(call.function.node_def) for call in calls)
        if not calls or depth >= _MOST_DEPTH or self.nodes > _MOST_NODES:
            return False
        root, number = proto.name, 0
        while root in scopes or (number and root in names):
            number += 1
            root = f"{proto.name}.{number}"
        around = one.name[: len(one.name) - len(proto.name)]
        for call in calls:
            copy = type(call.function)()
            copy.CopyFrom(call.function)
            name = call.function.signature.name
            prefix = f"{around}{root}{call.scope}"
            place = hashlib.sha256(prefix.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            copy.signature.name = f"{name}__npu_dump_{self.digest}_{place}"
            copy.attr[COPY_MARK].s = name.encode()
            copy.attr[UNBOUND].b = True
            inner = {node.name for node in copy.node_def} | {arg.name for arg in copy.signature.input_arg}
            self._body(copy, functools.partial(self._in_function, prefix, name), inner, depth + 1)
            call.become(copy.signature.name)
            self.made.append(copy)
        return True

    def _in_geop(self, proto: Any) -> Optional[_Operator]:
        if proto.name in self.copies or proto.name not in self.graph.index:
            return None
        node = self.graph.nodes[self.graph.index[proto.name]]
        layout = node.text("data_format", "") if node.has_attr("data_format") else ""
        return _Operator(node.name, "", node.name, node.op, layout or "ND")

    def _in_function(self, prefix: str, function: str, proto: Any) -> _Operator:
        op = proto.op
        if op in self.functions and OPERATOR_MARK in self.functions[op].attr:
            op = self.functions[op].attr[OPERATOR_MARK].s.decode("utf-8", "replace")
        layout = proto.attr["data_format"].s.decode("ascii", "replace") if "data_format" in proto.attr else ""
        return _Operator(prefix + proto.name, function, proto.name, op, layout or "ND")


class _Adding:
    """One body to which calls are added.

    Attributes:
        shared: nodes and arguments whose tensors may be the memory of a variable that is written to by reference: what
            is dumped of them is a copy, which is made while they are what the operator reads or gives.
    """

    def __init__(
        self, function: Any, functions: Mapping[str, Any], wanted: DataDump, shared: FrozenSet[str] = frozenset()
    ) -> None:
        self.shared = shared
        self.readers = _readers(function, shared)
        self.function = function
        self.functions = functions
        self.wanted = wanted
        self.statuses = {node.name for node in function.node_def if node.op in STATUS_OPS}
        self.names = {node.name for node in function.node_def} | {arg.name for arg in function.signature.input_arg}
        self.quantised = set() if wanted.before_quantisation else self._only_quantised()

    def add(self, proto: Any, one: _Operator, ends: _Ends, task: int) -> None:
        """A call for one operator, if it has anything to dump."""
        texts: List[str] = []
        types: List[int] = []
        inputs: List[int] = []
        outputs: List[int] = []
        if self.wanted.mode in ("input", "all"):
            for position, dtype in enumerate(ends.inputs):
                text = proto.input[position]
                if not _can_be_dumped(dtype) or (one.op in _QUANTISE and not self.wanted.before_quantisation):
                    continue
                if dtype.is_ref and one.op in _BEFORE_INITIALISATION:
                    continue
                is_shared = dtype.is_ref or self._is_shared(text, dtype)
                texts.append(self._before(proto, text, dtype, position) if is_shared else text)
                types.append(dtype.base.number)
                inputs.append(position)
        if self.wanted.mode in ("output", "all"):
            for slot, (text, dtype) in enumerate(zip(ends.texts, ends.outputs)):
                if _can_be_dumped(dtype) and text not in self.quantised:
                    is_shared = not dtype.is_ref and self._is_shared(text, dtype)
                    texts.append(self._behind(proto, text, dtype, slot) if is_shared else text)
                    types.append(dtype.base.number)
                    outputs.append(slot)
        if not texts:
            return
        call = self.function.node_def.add(name=_fresh(f"{proto.name}/npu_dump", self.names), op="PyFunc")
        call.input.extend(texts)
        if any(text.partition(":")[0] in self.statuses for text in texts):
            # What is up is written to the tensor after it was made: it is dumped as the operator reads it.
            call.input.extend(text for text in proto.input if text.startswith("^"))
        if self.wanted.overflow and not outputs:
            # Whether it overflowed is known once its results have been looked at.
            call.input.append(f"^{proto.name}")
        call.attr["token"].s = _TOKEN
        call.attr["Tin"].list.type.extend(types)
        call.attr["Tout"].list.SetInParent()
        let_run(self.function, call.name)
        call.attr[MARK].s = json.dumps([*one[:4], task, inputs, outputs, one.layout]).encode("ascii")

    def _is_shared(self, text: str, dtype: DType) -> bool:
        return text.partition(":")[0] in self.shared and dtype.base.name in _COPIED

    def _before(self, proto: Any, text: str, dtype: DType, position: int) -> str:
        """What a variable holds before the operator writes to it, or lets another one do so."""
        copy = self._copy(f"{proto.name}/npu_before_{position}", text, dtype)
        proto.input.append(f"^{copy}")
        return f"{copy}:y:0"

    def _behind(self, proto: Any, text: str, dtype: DType, slot: int) -> str:
        """What the operator gave, before who reads it lets another one write there."""
        copy = self._copy(f"{proto.name}/npu_behind_{slot}", text, dtype)
        for reader in self.readers.get(proto.name, ()):
            if reader.op not in _JOINS and f"^{copy}" not in reader.input:
                reader.input.append(f"^{copy}")
        return f"{copy}:y:0"

    def _copy(self, wish: str, text: str, dtype: DType) -> str:
        copy = self.function.node_def.add(name=_fresh(wish, self.names), op="DeepCopy")
        copy.input.append(text)
        copy.attr["T"].type = dtype.base.number
        return str(copy.name)

    def _only_quantised(self) -> Any:
        """Texts of tensors that quantisations read and nothing else: compilation fuses what makes them."""
        readers: Dict[str, List[str]] = {}
        for node in self.function.node_def:
            for text in node.input:
                readers.setdefault(text, []).append(node.op)
        for text in self.function.ret.values():
            readers.setdefault(text, []).append("")
        return {text for text, ops in readers.items() if all(op in _QUANTISE for op in ops)}


def _gives_reference(node: Any) -> bool:
    op_def = OPS.get(node.op)
    return op_def is not None and any(arg.is_ref for arg in op_def.outputs)


def _shared(function: Any, given: Iterable[str]) -> FrozenSet[str]:
    """Nodes and arguments of a body that may give a variable's own memory: see :class:`_Adding`. O(nodes + edges)."""
    found = set(given)
    for node in in_order(function):
        sources = (text.partition(":")[0] for text in node.input)
        if _gives_reference(node) or (node.op in _SHARES and any(source in found for source in sources)):
            found.add(node.name)
    return frozenset(found)


def _readers(function: Any, sources: FrozenSet[str]) -> Dict[str, List[Any]]:
    """Who reads some nodes, or runs behind them, by node: it may write to what they gave."""
    found: Dict[str, List[Any]] = {}
    for node in function.node_def if sources else ():
        for source in dict.fromkeys(text.lstrip("^").partition(":")[0] for text in node.input):
            if source in sources:
                found.setdefault(source, []).append(node)
    return found


def let_run(function: Any, node: str) -> None:
    """Let a node of a function run whoever reads it."""
    if node in function.control_ret.values():
        return
    done = node.replace("/", "_")
    while done in function.control_ret:
        done += "_"
    function.control_ret[done] = node
    function.signature.control_output.append(done)


def _wait(function: Any) -> None:
    """Let a function's results wait for its dumps.

    TensorFlow takes the body of a loop or a condition apart, and keeps of it what leads to a result. A loop's next turn
    begins when all of this one is dumped, so that times tell the turns in their order.
    """
    dumps = [node.name for node in function.node_def if node.op == "PyFunc" and MARK in node.attr]
    if not dumps or any(node.op in _DIES for node in function.node_def):
        return
    names = {node.name for node in function.node_def} | {arg.name for arg in function.signature.input_arg}
    joined = function.node_def.add(name=_fresh("npu_dumped", names), op="NoOp")
    joined.input.extend(f"^{name}" for name in dumps)
    for result in function.signature.output_arg:
        if not result.type:
            continue
        last = function.node_def.add(name=_fresh(f"npu_dumped_{result.name}", names), op="Identity")
        last.attr["T"].type = result.type
        last.input.extend([function.ret[result.name], f"^{joined.name}"])
        function.ret[result.name] = f"{last.name}:output:0"


def _wait_turns(function: Any) -> None:
    """Let every turn of a v1 loop wait for the dumps of the one before, so that times tell the turns in their order.

    What follows the loop waits for its last turn, in which only the condition runs. What a branch within the loop may
    leave dead is not waited for: it would end the loop. O(nodes + edges).
    """
    loops = [node for node in function.node_def if node.op in ("NextIteration", "RefNextIteration")]
    if not loops:
        return
    ops = {node.name: node.op for node in function.node_def}
    preds = {node.name: node.input[1] for node in function.node_def if node.op in ("Switch", "RefSwitch", "_SwitchN")}
    frame: Dict[str, Tuple[str, ...]] = {}
    #: The sides of branches on which a node must stand to run.
    sides: Dict[str, FrozenSet[Tuple[str, str]]] = {}
    dumps: List[str] = []
    #: Where an Exit itself stands; what reads it stands outside.
    inside: Dict[str, Tuple[Tuple[str, ...], FrozenSet[Tuple[str, str]]]] = {}
    for node in in_order(function):
        ends = [text.lstrip("^").split(":") for text in node.input]
        ends = [end for end in ends if end[0] in sides]
        around = max((frame[end[0]] for end in ends), key=len, default=())
        found = [sides[end[0]] | _side(end, preds, ops) for end in ends]
        if node.op in ("Merge", "RefMerge"):
            sides[node.name] = frozenset.intersection(*found) if found else frozenset()
        else:
            sides[node.name] = frozenset().union(*found)
        if node.op in ("Enter", "RefEnter"):
            around = (*around, node.attr["frame_name"].s.decode("utf-8", "replace"))
        elif node.op in ("Exit", "RefExit"):
            loops.append(node)
            inside[node.name] = (around, sides[node.name])
            around = around[:-1]
            sides[node.name] = frozenset(side for side in sides[node.name] if side[1] != _ENDED)
        elif around and node.op == "PyFunc" and MARK in node.attr:
            dumps.append(node.name)
        frame[node.name] = around
    names = set(ops) | {arg.name for arg in function.signature.input_arg}
    joined: Dict[Tuple[str, ...], str] = {}
    for node in loops:
        around, needed = inside.get(node.name) or (frame[node.name], sides[node.name])
        certain = [one for one in dumps if frame[one] == around and sides[one] <= needed]
        if not certain:
            continue
        key = (*around, *sorted(repr(side) for side in needed))
        if key not in joined:
            join = function.node_def.add(name=_fresh("npu_turn_dumped", names), op="NoOp")
            join.input.extend(f"^{name}" for name in certain)
            joined[key] = join.name
        node.input.append(f"^{joined[key]}")


#: The sides of a loop's Switch that lead out of the loop, and into its body.
_ENDED, _GOING = "ended", "going"


def _side(end: Sequence[str], preds: Mapping[str, str], ops: Mapping[str, str]) -> FrozenSet[Tuple[str, str]]:
    """The side of a branch that reading an output of a Switch means."""
    if end[0] not in preds or len(end) < 2:
        return frozenset()
    pred, side = preds[end[0]], ":".join(end[1:])
    if ops.get(pred.split(":")[0]) == "LoopCond":
        return frozenset([(pred, _ENDED if end[1] == "output_false" else _GOING)])
    return frozenset([(pred, side)])


def _fresh(wish: str, taken: Set[str]) -> str:
    name, number = wish, 1
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    taken.add(name)
    return name


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


def meta_of(text: bytes) -> _Meta:
    op, function, node, op_type, task, inputs, outputs, layout = json.loads(text.decode("ascii"))
    return _Meta(op, function, node, op_type, task, tuple(inputs), tuple(outputs), layout)
