"""How one body gets a node that writes for each of its operators."""

from __future__ import annotations

import json
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_reference.device.numerics.body import in_order
from npu_reference.device.numerics.kinds import STATUS_OPS
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.graphs import CONTROL_FLOW, OPS, DType
from npu_reference.graphs.signature import AttrProblem, arg_dtypes, count_args
from npu_reference.options.typed import DataDump
from npu_reference.partition.building.names import fresh
from npu_reference.runtime.execution.dumping.function_bodies import MARK, let_run
from npu_reference.runtime.tf_api import tensorflow

__all__ = ["Adding", "Dumped", "ends_of", "gives_reference", "shared_of"]

_TOKEN = b"npu_dump"

#: What AMCT and fake quantisation put where a tensor is quantised: before it a tensor may be optimised away.
_QUANTISE = (
    "AscendQuant",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeV2",
)

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


class _Ends(NamedTuple):
    inputs: Tuple[DType, ...]
    outputs: Tuple[DType, ...]
    texts: Tuple[str, ...]


class Dumped(NamedTuple):
    """What a node of a body is: its name in the dump, its name and its function for decisions, its type, its layout."""

    name: str
    function: str
    node: str
    op: str
    layout: str


class Adding:
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

    def add(self, proto: Any, one: Dumped, ends: _Ends, task: int) -> None:
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
        call = self.function.node_def.add(name=fresh(f"{proto.name}/npu_dump", self.names), op="PyFunc")
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
        copy = self.function.node_def.add(name=fresh(wish, self.names), op="DeepCopy")
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


def gives_reference(node: Any) -> bool:
    op_def = OPS.get(node.op)
    return op_def is not None and any(arg.is_ref for arg in op_def.outputs)


def shared_of(function: Any, given: Iterable[str]) -> FrozenSet[str]:
    """Nodes and arguments of a body that may give a variable's own memory: see :class:`_Adding`. O(nodes + edges)."""
    found = set(given)
    for node in in_order(function):
        sources = (text.partition(":")[0] for text in node.input)
        if gives_reference(node) or (node.op in _SHARES and any(source in found for source in sources)):
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


def _can_be_dumped(dtype: DType) -> bool:
    if dtype.base.name == "bfloat16":
        return tensorflow().major >= 2
    return dtype.base.name in BY_NAME


def ends_of(proto: Any, functions: Mapping[str, Any]) -> Optional[_Ends]:
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
