"""Builds small graphs without TensorFlow, for fixtures and tests; attributes the inputs decide are filled in."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .attrs import UNKNOWN_RANK, FuncRef, Placeholder
from .dtypes import DType
from .graph import Graph, assemble
from .ops import OPS, OpDef, op_def_from_proto
from .proto import message_class
from .signature import AttrProblem, arg_dtypes
from .tensors import shape_proto, tensor_proto

__all__ = ["GraphBuilder", "FunctionBuilder", "Output", "Built"]


class Output(NamedTuple):
    """One output of a node being built: the node's name, the slot, its type."""

    node: str
    slot: int
    dtype: DType

    @property
    def name(self) -> str:
        return f"{self.node}:{self.slot}"

    @property
    def base(self) -> DType:
        return self.dtype.base


class Built:
    """A node being built: its name and its outputs; stands for its first output where an input is wanted."""

    def __init__(self, name: str, op: str, outputs: Tuple[Output, ...]) -> None:
        self.name = name
        self.op = op
        self.outputs = outputs

    def __getitem__(self, slot: int) -> Output:
        return self.outputs[slot]

    def __len__(self) -> int:
        return len(self.outputs)

    def __bool__(self) -> bool:
        return True

    @property
    def dtype(self) -> DType:
        return self.outputs[0].dtype

    def __repr__(self) -> str:
        return f"Built({self.name!r}, {self.op})"


Input = Union[Output, Built]


def _output(value: Any) -> Output:
    if isinstance(value, Output):
        return value
    if isinstance(value, Built):
        if not value.outputs:
            raise ValueError(f"{value.name} ({value.op}) has no outputs; use it as a control input")
        return value.outputs[0]
    raise ValueError(f"an input must be an output of this builder, not {value!r}")


class _Nodes:
    """What graphs and function bodies have in common: nodes added one by one, each typed from its inputs."""

    def __init__(self, functions: Dict[str, OpDef], producer: int) -> None:
        self._functions = functions
        self._producer = producer
        self._names: Dict[str, int] = {}
        self._ends: Dict[str, Tuple[OpDef, Any]] = {}

    def _new_node(self) -> Any:
        raise NotImplementedError

    def _input_text(self, output: Output) -> str:
        raise NotImplementedError

    def op(
        self,
        op: str,
        name: Optional[str] = None,
        inputs: Sequence[Any] = (),
        *,
        control: Sequence[Union[str, Built, Output]] = (),
        device: str = "",
        **attrs: Any,
    ) -> Built:
        """Add a node.

        Args:
            op: the operator, or a function of this builder.
            name: the node's name; made from ``op`` when None.
            inputs: outputs in the order of the operator's arguments; a list for an argument that is one (or, for an
                operator with a single argument, its tensors themselves).
            control: nodes to run before.
            attrs: by name; types and numbers that the inputs show may be left out, as may those with defaults.
                An attribute whose name is a keyword of this function goes into ``attrs_`` as a dict.

        Returns: the node. ValueError for what the operator does not accept.
        """
        op_def = OPS.of_producer(op, self._producer) or self._functions.get(op)
        if op_def is None:
            raise ValueError(f"no operator {op!r}")
        given: Dict[str, Any] = {**attrs.pop("attrs_", {}), **attrs}
        proto = self._new_node()
        proto.name = self._name(name, op)
        proto.op = op
        proto.device = device
        outputs = _group(op_def, inputs)
        for attr_name, value in {**_inferred(op_def, outputs), **given}.items():
            declared = op_def.attrs.get(attr_name)
            _encode(proto.attr[attr_name], value, declared.type if declared else None, attr_name)
        for declared in op_def.attrs.values():
            if declared.name not in proto.attr:
                if declared.default is None:
                    raise ValueError(f"{proto.name} ({op}): attribute {declared.name!r} is missing")
                proto.attr[declared.name].CopyFrom(declared.default)
        proto.input.extend(self._input_text(output) for group in outputs for output in group)
        proto.input.extend("^" + (item if isinstance(item, str) else _node_name(item)) for item in control)
        self._ends[proto.name] = (op_def, proto)
        try:
            dtypes = arg_dtypes(op_def, op_def.outputs, proto.attr)
        except AttrProblem as problem:
            raise ValueError(f"{proto.name} ({op}): {problem}") from None
        return Built(proto.name, op, tuple(Output(proto.name, k, dtype) for k, dtype in enumerate(dtypes)))

    def const(
        self, name: Optional[str], value: Any, dtype: Any = None, shape: Optional[Sequence[int]] = None, **more: Any
    ) -> Built:
        """A Const of a scalar or nested list (see ``tensors.tensor_proto``)."""
        tensor = tensor_proto(value, dtype, shape)
        return self.op("Const", name, value=tensor, dtype=DType.of(tensor.dtype), **more)

    def identity(self, name: Optional[str], value: Input) -> Built:
        return self.op("Identity", name, [value])

    def later(self, name: str, dtype: Any, slot: int = 0) -> Output:
        """An output of a node still to be added, to close a loop with."""
        return Output(name, slot, DType.of(dtype))

    def while_loop(
        self,
        name: str,
        variables: Sequence[Input],
        cond: Callable[..., Input],
        body: Callable[..., Sequence[Input]],
        *,
        invariants: Sequence[Input] = (),
    ) -> List[Built]:
        """A v1 while loop in frame ``name``.

        ``cond`` gets the loop's variables and then its invariants and returns a bool scalar; ``body`` gets the same and
        returns the next variables. Constants made in either need a control input from inside, such as one of their
        arguments. Returns the Exits.
        """
        enters = [self.op("Enter", f"{name}/Enter_{k}", [v], frame_name=name) for k, v in enumerate(variables)]
        fixed = [
            self.op("Enter", f"{name}/Invariant_{k}", [v], frame_name=name, is_constant=True)
            for k, v in enumerate(invariants)
        ]
        nexts = [self.later(f"{name}/NextIteration_{k}", enter.dtype) for k, enter in enumerate(enters)]
        merges = [
            self.op("Merge", f"{name}/Merge_{k}", [[enter, after]])
            for k, (enter, after) in enumerate(zip(enters, nexts))
        ]
        condition = self.op("LoopCond", f"{name}/LoopCond", [cond(*merges, *fixed)])
        switches = [self.op("Switch", f"{name}/Switch_{k}", [m, condition]) for k, m in enumerate(merges)]
        inside = [self.op("Identity", f"{name}/Identity_{k}", [s[1]]) for k, s in enumerate(switches)]
        results = body(*inside, *fixed)
        if len(results) != len(inside):
            raise ValueError(f"the body of {name} returns {len(results)} tensors for {len(inside)} variables")
        for k, result in enumerate(results):
            self.op("NextIteration", f"{name}/NextIteration_{k}", [result])
        return [self.op("Exit", f"{name}/Exit_{k}", [s[0]]) for k, s in enumerate(switches)]

    def _name(self, name: Optional[str], op: str) -> str:
        if name is not None:
            self._names.setdefault(name, 1)
            return name
        base = op.lstrip("_")
        count = self._names.get(base, 0)
        while True:
            candidate = f"{base}_{count}" if count else base
            count += 1
            if candidate not in self._names:
                self._names[base] = count
                self._names[candidate] = 1 if candidate != base else count
                return candidate


def _node_name(item: Union[Built, Output]) -> str:
    return item.node if isinstance(item, Output) else item.name


def _group(op_def: OpDef, inputs: Sequence[Any]) -> List[List[Output]]:
    """The inputs of each argument of the operator."""
    args = op_def.inputs
    if len(args) == 1 and args[0].is_list and not (len(inputs) == 1 and isinstance(inputs[0], (list, tuple))):
        return [[_output(value) for value in inputs]]
    if len(inputs) != len(args):
        names = ", ".join(arg.name for arg in args) or "none"
        raise ValueError(f"{op_def.name} takes {len(args)} arguments ({names}), not {len(inputs)}")
    result = []
    for arg, value in zip(args, inputs):
        # Output is a tuple itself
        is_list = isinstance(value, (list, tuple)) and not isinstance(value, Output)
        if is_list != arg.is_list:
            raise ValueError(f"{op_def.name}: argument {arg.name!r} takes {'a list' if arg.is_list else 'one tensor'}")
        result.append([_output(item) for item in value] if is_list else [_output(value)])
    return result


def _inferred(op_def: OpDef, outputs: List[List[Output]]) -> Dict[str, Any]:
    """Attributes that the inputs decide."""
    found: Dict[str, Any] = {}
    for arg, group in zip(op_def.inputs, outputs):
        if arg.type_list_attr:
            found.setdefault(arg.type_list_attr, [output.base for output in group])
        elif arg.type_attr and group:
            found.setdefault(arg.type_attr, group[0].base)
        if arg.number_attr:
            found.setdefault(arg.number_attr, len(group))
        for output in group:
            wanted = arg.dtype or (found[arg.type_attr] if arg.type_attr else output.base)
            if output.base is not wanted:
                what = f"{op_def.name}: argument {arg.name!r} takes {wanted}"
                raise ValueError(f"{what}, {output.name} is {output.dtype}")
            if arg.is_ref and not output.dtype.is_ref:
                raise ValueError(f"{op_def.name}: argument {arg.name!r} takes a reference, {output.name} is none")
    return found


def _encode(proto: Any, value: Any, kind: Optional[str], name: str) -> None:
    """Put ``value`` into an AttrValue; ``kind`` is the declared type, or None for an attribute of the node's own."""
    if isinstance(value, message_class("AttrValue")):
        proto.CopyFrom(value)
    elif isinstance(value, Placeholder):
        proto.placeholder = value
    else:
        kind = kind or ("list(shape)" if name == "_output_shapes" else _kind(value, name))
        if kind.startswith("list("):
            proto.list.SetInParent()
            for item in value:
                _append(proto.list, item, kind[5:-1])
        else:
            _set(proto, value, kind)


def _kind(value: Any, name: str) -> str:
    if isinstance(value, (list, tuple)) and not isinstance(value, FuncRef):
        return f"list({_kind(value[0], name) if value else 'int'})"
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    if isinstance(value, message_class("TensorProto")):
        return "tensor"
    raise ValueError(f"attribute {name!r} cannot hold {value!r}")


# bool before int, which it is an instance of
_KINDS: Tuple[Tuple[Any, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    ((str, bytes), "string"),
    (DType, "type"),
    (FuncRef, "func"),
)


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8") if isinstance(value, str) else value


def _set(proto: Any, value: Any, kind: str) -> None:
    if kind == "type":
        proto.type = DType.of(value).number
    elif kind == "shape":
        proto.shape.CopyFrom(shape_proto(None if value is UNKNOWN_RANK else value))
    elif kind == "string":
        proto.s = _bytes(value)
    elif kind == "tensor":
        proto.tensor.CopyFrom(value)
    elif kind == "func":
        _set_func(proto.func, value)
    else:
        setattr(proto, {"int": "i", "float": "f", "bool": "b"}[kind], value)


def _append(proto: Any, value: Any, kind: str) -> None:
    if kind == "type":
        proto.type.append(DType.of(value).number)
    elif kind == "shape":
        proto.shape.add().CopyFrom(shape_proto(None if value is UNKNOWN_RANK else value))
    elif kind == "string":
        proto.s.append(_bytes(value))
    elif kind == "tensor":
        proto.tensor.add().CopyFrom(value)
    elif kind == "func":
        _set_func(proto.func.add(), value)
    else:
        getattr(proto, {"int": "i", "float": "f", "bool": "b"}[kind]).append(value)


def _set_func(proto: Any, value: Any) -> None:
    if isinstance(value, FunctionBuilder):
        value = value.name
    if isinstance(value, str):
        proto.name = value
        return
    proto.name = value.name
    for name, item in value.attrs.items():
        _encode(proto.attr[name], item, None, name)


class GraphBuilder(_Nodes):
    """Builds a GraphDef node by node.

    >>> g = GraphBuilder()
    >>> x = g.placeholder("x", "float32", [2])
    >>> y = g.op("Relu", "y", [x])
    >>> [node.name for node in g.build().nodes]
    ['x', 'y']
    """

    def __init__(self, producer: int = 134) -> None:
        """``producer`` is GraphDef.versions.producer; 134 is TensorFlow 1.15's, whose attributes are then filled in."""
        super().__init__({}, producer)
        self._def = message_class("GraphDef")()
        self._def.versions.producer = producer

    def _new_node(self) -> Any:
        return self._def.node.add()

    def _input_text(self, output: Output) -> str:
        return output.name if output.slot else output.node

    def placeholder(
        self, name: Optional[str], dtype: Any = "float32", shape: Optional[Sequence[Optional[int]]] = None, **more: Any
    ) -> Built:
        """A Placeholder; ``shape`` None for an unknown rank."""
        return self.op("Placeholder", name, dtype=dtype, shape=UNKNOWN_RANK if shape is None else shape, **more)

    def variable(self, name: str, dtype: Any = "float32", shape: Sequence[int] = ()) -> Built:
        """A reference variable (VariableV2)."""
        return self.op("VariableV2", name, dtype=dtype, shape=shape, shared_name="", container="")

    def resource_variable(self, name: str, dtype: Any = "float32", shape: Sequence[int] = ()) -> Built:
        """The handle of a resource variable (VarHandleOp)."""
        return self.op("VarHandleOp", name, dtype=dtype, shape=shape, shared_name=name, container="")

    def py_func(self, name: Optional[str], inputs: Sequence[Input], outputs: Sequence[Any], **more: Any) -> Built:
        """A PyFunc, which no device has: an operator that stays on the host."""
        return self.op("PyFunc", name, [list(inputs)], Tout=list(outputs), token="pyfunc_0", **more)

    def function(self, name: str, args: Mapping[str, Any], rets: Mapping[str, Any]) -> FunctionBuilder:
        """A function with these arguments and returned tensors, name to type; fill it and call its ``returns``."""
        builder = FunctionBuilder(self._def.library.function.add(), self._functions, self._producer, name, args, rets)
        self._functions[name] = builder.op_def
        return builder

    def node_def(self, name: str) -> Any:
        """The NodeDef message of a node added before, for what a builder would not let through."""
        return self._ends[name][1]

    def to_def(self) -> Any:
        """What is built so far, as a GraphDef message; a copy."""
        copy = message_class("GraphDef")()
        copy.CopyFrom(self._def)
        return copy

    def build(self, subject: str = "<graph>") -> Graph:
        """The graph, checked as a loaded one is; NpuError GRAPH_*. The builder may go on."""
        return assemble(self.to_def(), subject)


class FunctionBuilder(_Nodes):
    """Builds the body of a function: ``args[name]`` are its arguments, ``returns`` names what it gives back."""

    def __init__(
        self,
        proto: Any,
        functions: Dict[str, OpDef],
        producer: int,
        name: str,
        args: Mapping[str, Any],
        rets: Mapping[str, Any],
    ) -> None:
        super().__init__(functions, producer)
        self._proto = proto
        proto.signature.name = name
        for arg_name, dtype in args.items():
            proto.signature.input_arg.add(name=arg_name, type=DType.of(dtype).number)
        for ret_name, dtype in rets.items():
            proto.signature.output_arg.add(name=ret_name, type=DType.of(dtype).number)
        self.name = name
        self.op_def = op_def_from_proto(proto.signature)
        self.args: Dict[str, Output] = {key: Output(key, 0, DType.of(dtype)) for key, dtype in args.items()}

    def _new_node(self) -> Any:
        return self._proto.node_def.add()

    def _input_text(self, output: Output) -> str:
        if output.node in self.args:
            return output.node
        if output.node not in self._ends:
            raise ValueError(f"{output.name} is no tensor of function {self.name}")
        op_def, proto = self._ends[output.node]
        slot = output.slot
        for arg in op_def.outputs:
            count = len(arg_dtypes(op_def, (arg,), proto.attr))
            if slot < count:
                return f"{output.node}:{arg.name}:{slot}"
            slot -= count
        raise ValueError(f"{output.node} has no output {output.slot}")

    def declare(self, attr: str, kind: str, uses: Mapping[str, str]) -> None:
        """Let the caller say an attribute of type `kind`; `uses` has, by node, the attribute that is the same."""
        self._proto.signature.attr.add(name=attr, type=kind)
        for name, own in uses.items():
            self._ends[name][1].attr[own].placeholder = attr
        self._functions[self.name] = self.op_def = op_def_from_proto(self._proto.signature)

    def returns(self, **rets: Input) -> None:
        """Say which tensors are returned, by the names of the signature."""
        for name, value in rets.items():
            self._proto.ret[name] = self._input_text(_output(value))
