"""How one function body is made to compute at the dtypes assigned to its operators."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_reference.device.numerics.constants import round_constant
from npu_reference.device.numerics.editing import spell_out
from npu_reference.device.numerics.gates import Gates
from npu_reference.device.numerics.kinds import KEEPS_TYPE, MOVES
from npu_reference.device.numerics.own_operators import OwnOperators
from npu_reference.device.numerics.status import FLOAT16_MAX, FLOAT32_MAX, FloatStatus
from npu_reference.device.numerics.variants import install_variant
from npu_reference.graphs import OPS, DType, OpDef
from npu_reference.graphs.signature import AttrProblem, arg_dtypes, count_args

__all__ = ["Decision", "Decisions", "compute_as_decided"]

_FLOAT, _HALF = DType.FLOAT.number, DType.HALF.number

#: Engines whose arithmetic saturates; the AI CPU's is that of IEEE 754 (docs/numerics.md).
_SATURATING = ("cube", "vector")


class Decision(NamedTuple):
    """How one operator is computed: the engine, the dtype of each input and output, the implementation mode."""

    engine: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    impl_mode: Optional[str]


#: Of every operator that the device computes, by the name it has in the body.
Decisions = Mapping[str, Decision]


class _Value(NamedTuple):
    """A float tensor on its way through the body.

    Between operators of the device a float16 tensor is a float32 tensor that holds float16 values: TensorFlow's
    kernels for float32 then compute as the device does, in float32 inside, and nothing is lost on the way.

    Attributes:
        stored: the tensor at the graph's own dtype; empty where nobody has asked for it yet.
        wide: the tensor as float32; empty where nobody has asked for it yet.
        grid: whether every value is one of float16's, so that rounding changes nothing.
    """

    stored: str
    wide: str
    grid: bool


class _Node(NamedTuple):
    """A node as its operator declares it; `outputs` are the texts that read its outputs."""

    proto: Any
    op_def: OpDef
    inputs: Tuple[DType, ...]
    dtypes: Tuple[DType, ...]
    outputs: Tuple[str, ...]


def compute_as_decided(
    function: Any,
    decisions: Decisions,
    status: FloatStatus,
    *,
    owner: Callable[[str], str] = str,
    operators: Optional[OwnOperators] = None,
) -> None:
    """Rewrite a FunctionDef in place.

    Arguments and returns keep their types. Only nodes are added, except that operators the graph computes at float16
    are computed at float32 between conversions: TensorFlow's kernels for float16 round inside, which the device's do
    not. O(nodes + edges).

    Args:
        function: the body.
        decisions: what was decided for its operators; any other operator is left as it is.
        status: the flag to raise when a result overflows.
        owner: the name under which an operator's overflow is recorded, by its name in the body.
        operators: the functions that are one operator each.
    """
    _Body(function, decisions, status, owner, operators or OwnOperators({})).run()


class _Body:
    def __init__(
        self,
        function: Any,
        decisions: Decisions,
        status: FloatStatus,
        owner: Callable[[str], str],
        operators: OwnOperators,
    ) -> None:
        self.function = function
        self.decisions = decisions
        self.owner = owner
        self.operators = operators
        self.gates = Gates(function, status)
        self.values: Dict[str, _Value] = {}
        self.rounded: Dict[str, str] = {}
        self.constants: Dict[str, Any] = {}
        #: Gates that stand for the completion of a node.
        self.completed: Dict[str, List[str]] = {}
        self.used: Set[str] = set()
        self.awaited: Set[str] = set()

    def run(self) -> None:
        spell_out(self.function)
        for arg in self.function.signature.input_arg:
            self._declare(arg.name, arg.type, grid=False)
        self.used = _used(self.function)
        self.awaited = _awaited(self.function)
        nodes = in_order(self.function)
        for proto in nodes:
            self._visit(proto)
        for proto in nodes:
            self._wait_for_gates(proto)
        for name, text in list(self.function.ret.items()):
            self.function.ret[name] = self._stored(text)
        for name, node in list(self.function.control_ret.items()):
            if node in self.completed:
                done = self.gates.add("NoOp", f"{node}/npu_done", [f"^{gate}" for gate in self.completed[node]], {})
                self.function.control_ret[name] = done.name

    # -- nodes -------------------------------------------------------------------------------------------------

    def _visit(self, proto: Any) -> None:
        node = _read(proto, self.operators)
        if node is None:
            proto.input[:] = [text if text.startswith("^") else self._stored(text) for text in proto.input]
            return
        if proto.op == "Const" and node.outputs:
            self.constants[node.outputs[0]] = proto
        decision = self.decisions.get(proto.name)
        if proto.op == "Cast" and self._visit_cast(node):
            return
        if decision is not None and self._install_variant(node, decision):
            return
        # Nothing may come between a NextIteration and its Merge; what the Merge gives is converted where it is read.
        if decision is None or proto.op == "Merge" or decision.engine not in (*_SATURATING, "aicpu"):
            self._pass_through(node)
        else:
            self._compute(node, decision)

    def _pass_through(self, node: _Node) -> None:
        """An operator nothing was decided for, or that has no kernel: its tensors stay as the graph has them."""
        grid = self._feed(node, [""] * len(node.inputs), widen=False, saturating=False)
        self._declare_outputs(node, grid and node.proto.op in MOVES)

    def _compute(self, node: _Node, decision: Decision) -> None:
        moves = node.proto.op in MOVES
        widen = self._may_widen(node) and (not moves or self._reads_raised(node))
        grid = self._feed(node, decision.inputs, widen, decision.engine in _SATURATING)
        if widen and node.proto.op in self.operators:
            if _HALF in [dtype.number for dtype in (*node.inputs, *node.dtypes)]:
                node.proto.op = self.operators.widened(node.proto.op)
        elif widen:
            _retype(node)
        self._finish(node, decision, on_grid=grid and moves, widened=widen)
        if decision.engine in _SATURATING and _is_optimizer(node.proto.op):
            self._hold_variables(node, decision)

    def _hold_variables(self, node: _Node, decision: Decision) -> None:
        """What an optimizer's operator writes is no result: the variables themselves are looked at."""
        number = node.proto.attr["T"].type if "T" in node.proto.attr else 0
        limit = FLOAT16_MAX if "float16" in decision.inputs else FLOAT32_MAX
        for position, dtype in enumerate(node.inputs):
            if number == _FLOAT and (dtype.is_ref or dtype.name == "resource"):
                text, name = node.proto.input[position], f"{node.proto.name}/npu_variable_{position}"
                gate = self.gates.hold_variable(text, node.proto.name, name, limit, is_ref=dtype.is_ref)
                self.completed.setdefault(node.proto.name, []).append(gate)

    def _may_widen(self, node: _Node) -> bool:
        """Whether an operator on float16 can be made one on float32 without touching what others share with it."""
        if node.proto.op in KEEPS_TYPE or (node.op_def.is_stateful and node.proto.op not in self.operators):
            return False
        dtypes = (*node.inputs, *node.dtypes)
        return not any(dtype.is_ref or dtype.name in ("resource", "variant") for dtype in dtypes)

    def _reads_raised(self, node: _Node) -> bool:
        """Whether an input the graph has at float16 was computed at float32 and not rounded yet."""
        return any(
            dtype.number == _HALF and not self._value(text, dtype).stored
            for text, dtype in zip(node.proto.input, node.inputs)
        )

    def _feed(self, node: _Node, wanted: Sequence[str], widen: bool, saturating: bool) -> bool:
        """Rewire the inputs; answers whether all float inputs hold float16 values now."""
        proto, grid, floats = node.proto, True, 0
        for position, dtype in enumerate(node.inputs):
            text = proto.input[position]
            if dtype.is_ref or dtype.number not in (_FLOAT, _HALF):
                continue
            floats += 1
            lower = position < len(wanted) and wanted[position] == "float16" and not self._value(text, dtype).grid
            if dtype.number == _HALF and not widen:
                proto.input[position] = self._stored(text)
                grid = grid and (lower or self._value(text, dtype).grid)
                continue
            proto.input[position] = self._rounded(text, dtype, saturating) if lower else self._wide(text, dtype)
            grid = grid and (lower or self._value(text, dtype).grid)
        return grid and floats > 0

    def _install_variant(self, node: _Node, decision: Decision) -> bool:
        result = install_variant(self.gates, node, decision, self._rounded_inputs(node, decision))
        if result:
            gated = self._gate(result, node.proto.name, 0, True, decision.engine in _SATURATING)
            self.completed.setdefault(node.proto.name, []).append(gated.split(":", 1)[0])
            half = node.dtypes[0].number == _HALF
            self.values[node.outputs[0]] = _Value("" if half else gated, gated, True)
        return bool(result)

    def _rounded_inputs(self, node: _Node, decision: Decision) -> Callable[[], List[str]]:
        """For a variant that asks for them: the data inputs as float32 tensors of float16 values."""

        def texts() -> List[str]:
            self._feed(node, decision.inputs, True, decision.engine in _SATURATING)
            return [text for text in node.proto.input if not text.startswith("^")]

        return texts

    def _finish(self, node: _Node, decision: Decision, *, on_grid: bool, widened: bool) -> None:
        """Gate the outputs that somebody reads."""
        held = decision.engine in _SATURATING
        # A result that nobody reads can overflow, too.
        ran = node.proto.name in self.awaited and not any(text in self.used for text in node.outputs)
        for position, (text, dtype) in enumerate(zip(node.outputs, node.dtypes)):
            if dtype.is_ref or dtype.number not in (_FLOAT, _HALF):
                continue
            lowered = position < len(decision.outputs) and decision.outputs[position] == "float16"
            half = dtype.number == _HALF
            moves = node.proto.op in MOVES
            if (text not in self.used and not ran) or (half and not widened) or (moves and (on_grid or not lowered)):
                self._declare(text, dtype.number, on_grid or (half and not widened), widened)
                continue
            gated = self._gate(text, node.proto.name, position, lowered and not on_grid, held and not moves)
            if gated == text:
                self._declare(text, dtype.number, on_grid, widened)
                continue
            self.completed.setdefault(node.proto.name, []).append(gated.split(":", 1)[0])
            self.values[text] = _Value("" if half else gated, gated, on_grid or lowered)

    def _gate(self, text: str, name: str, position: int, lowered: bool, held: bool) -> str:
        suffix = f"_{position}" if position else ""
        if lowered and held:
            return self.gates.round_and_hold(text, f"{name}/npu_float16{suffix}", self.owner(name))
        if lowered:
            return self.gates.round(text, f"{name}/npu_float16{suffix}")
        return self.gates.hold(text, f"{name}/npu_finite{suffix}", self.owner(name)) if held else text

    def _visit_cast(self, node: _Node) -> bool:
        """A Cast of the graph between float and half; False: it is one of other types."""
        source, target = node.inputs[0].number, node.dtypes[0].number
        if not {source, target} <= {_FLOAT, _HALF} or source == target:
            return False
        proto, text = node.proto, node.proto.input[0]
        decision = self.decisions.get(proto.name)
        engine = "" if decision is None else decision.engine
        if target == _HALF:
            proto.input[0] = self._rounded(text, node.inputs[0], engine != "aicpu")
            self.values[node.outputs[0]] = _Value(node.outputs[0], proto.input[0], True)
            return True
        value = self._value(text, node.inputs[0])
        if value.grid:
            proto.input[0] = self._stored(text)
        else:
            proto.input[0] = self._wide(text, node.inputs[0])
            proto.attr["SrcT"].type = _FLOAT
        self._declare(node.outputs[0], _FLOAT, value.grid)
        return True

    def _wait_for_gates(self, proto: Any) -> None:
        """What waits for an operator waits for the overflow flag of its results, too."""
        extra: Dict[str, None] = {}
        for text in proto.input:
            if text.startswith("^"):
                extra.update((f"^{gate}", None) for gate in self.completed.get(text[1:], ()))
        proto.input.extend(text for text in extra if text not in proto.input)

    # -- tensors -----------------------------------------------------------------------------------------------

    def _declare(self, text: str, number: int, grid: bool, widened: bool = False) -> None:
        if number == _HALF:
            self.values[text] = _Value("", text, grid) if widened else _Value(text, "", True)
        elif number == _FLOAT:
            self.values[text] = _Value(text, text, grid)

    def _declare_outputs(self, node: _Node, grid: bool) -> None:
        for text, dtype in zip(node.outputs, node.dtypes):
            if not dtype.is_ref:
                self._declare(text, dtype.number, grid)

    def _value(self, text: str, dtype: Optional[DType] = None) -> _Value:
        if text not in self.values and dtype is not None:  # the end of a loop, or the output of a called function
            self._declare(text, dtype.number, grid=False)
        return self.values.get(text, _Value(text, text, False))

    def _stored(self, text: str) -> str:
        """The text that reads a tensor at the graph's own dtype."""
        value = self._value(text)
        if value.stored:
            return value.stored
        source = value.wide if value.grid else self._rounded(text, DType.HALF, True)
        stored = self.gates.cast(source, f"{_label(text)}/npu_stored", _FLOAT, _HALF)
        self.values[text] = value._replace(stored=stored)
        return stored

    def _wide(self, text: str, dtype: DType) -> str:
        """The text that reads a tensor as float32."""
        value = self._value(text, dtype)
        if value.wide:
            return value.wide
        wide = self.gates.cast(value.stored, f"{_label(text)}/npu_float32", _HALF, _FLOAT)
        self.values[text] = value._replace(wide=wide)
        return wide

    def _rounded(self, text: str, dtype: DType, saturating: bool) -> str:
        """The text that reads a tensor as float32, its values rounded to float16's; made once for all readers."""
        if text in self.rounded:
            return self.rounded[text]
        wide, label = self._wide(text, dtype), _label(text)
        if text in self.constants:
            found = round_constant(self.constants[text], self.gates, f"{label}/npu_float16")
        elif saturating:
            found = self.gates.round_and_hold(wide, f"{label}/npu_cast", self.owner(label))
        else:
            found = self.gates.round(wide, f"{label}/npu_cast")
        self.rounded[text] = found
        return found


def _is_optimizer(op: str) -> bool:
    """Whether an operator updates variables in place with gradients."""
    return op.startswith(("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply"))


def _label(text: str) -> str:
    """A name for what is made of a tensor: its node's, with the slot where it is not the first."""
    name, _, rest = text.partition(":")
    slot = rest.rpartition(":")[2]
    return name if slot in ("", "0") else f"{name}_{slot}"


def _read(proto: Any, operators: OwnOperators) -> Optional[_Node]:
    """A node with the types of its ends; None for calls of functions and for types a caller decides."""
    op_def = OPS.get(proto.op) or operators.get(proto.op)
    if op_def is None:
        return None
    try:
        inputs = arg_dtypes(op_def, op_def.inputs, proto.attr)
        dtypes = arg_dtypes(op_def, op_def.outputs, proto.attr)
        outputs = tuple(
            f"{proto.name}:{arg.name}:{position}"
            for arg in op_def.outputs
            for position in range(count_args(op_def, (arg,), proto.attr))
        )
    except AttrProblem:
        return None
    return _Node(proto, op_def, inputs, dtypes, outputs)


def _retype(node: _Node) -> None:
    """Make an operator on float16 one on float32."""
    attrs = node.proto.attr  # looking a missing one up would make it
    for arg in (*node.op_def.inputs, *node.op_def.outputs):
        if arg.type_attr in attrs and attrs[arg.type_attr].type == _HALF:
            attrs[arg.type_attr].type = _FLOAT
        elif arg.type_list_attr in attrs:
            types = attrs[arg.type_list_attr].list.type
            types[:] = [_FLOAT if number == _HALF else number for number in types]


def _used(function: Any) -> Set[str]:
    """Every tensor that something in the body reads, or that it returns."""
    found = {text for node in function.node_def for text in node.input if not text.startswith("^")}
    found.update(function.ret.values())
    return found


def _awaited(function: Any) -> Set[str]:
    """Nodes that run for themselves: something waits for them, or the function does."""
    found = {text[1:] for node in function.node_def for text in node.input if text.startswith("^")}
    found.update(function.control_ret.values())
    return found


def in_order(function: Any) -> List[Any]:
    """The nodes, each after those it reads; what a loop hands to its next turn comes after its reader. O(V + E)."""
    nodes = {node.name: node for node in function.node_def}
    readers: Dict[str, List[str]] = {}
    missing: Dict[str, int] = {}
    for node in function.node_def:
        sources = {source for source in _sources(node) if source in nodes and nodes[source].op != "NextIteration"}
        missing[node.name] = len(sources)
        for source in sources:
            readers.setdefault(source, []).append(node.name)
    ready = [node.name for node in function.node_def if not missing[node.name]]
    ordered: List[Any] = []
    for name in ready:  # it grows while it is read
        ordered.append(nodes[name])
        for reader in readers.get(name, ()):
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    placed = {node.name for node in ordered}
    return ordered + [node for node in function.node_def if node.name not in placed]


def _sources(node: Any) -> Iterator[str]:
    for text in node.input:
        yield text[1:] if text.startswith("^") else text.split(":", 1)[0]
