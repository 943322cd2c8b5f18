"""Decides what a function of a graph's library is: its signature, and its body as a graph of its own."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Tuple, TypeVar

from ..errors import NpuError
from .dtypes import DType
from .limits import MAX_FUNCTIONS
from .names import output_number, shorten
from .ops import ADAPTER, OPS, OpDef, op_def_from_proto
from .private_ops import OPERATOR_MARK
from .proto import message_class
from .signature import AttrProblem, arg_dtypes, count_args

__all__ = ["Function", "Library"]

#: What a body is made into: a Graph. Graphs know their functions, so functions must not know graphs.
Body = TypeVar("Body")

#: Makes a body of its GraphDef, the subject of its errors, and the library whose functions it may call.
Assemble = Callable[[Any, str, "Library[Body]"], Body]


class Function(Generic[Body]):
    """A function of a graph.

    Attributes:
        name: its name.
        op_def: its signature as an operator definition, control outputs included.
        arg_names, ret_names: the signature's names.
        proto: the FunctionDef message.
    """

    def __init__(self, proto: Any, library: Library[Body], subject: str) -> None:
        self.proto = proto
        self.name: str = proto.signature.name
        self.subject = f"{subject}: function '{shorten(self.name)}'"
        self.op_def = _signature(proto, self.subject)
        self.arg_names: Tuple[str, ...] = tuple(arg.name for arg in self.op_def.inputs)
        self.ret_names: Tuple[str, ...] = tuple(arg.name for arg in self.op_def.outputs)
        self._library = library
        self._body: Optional[Body] = None

    @property
    def arg_dtypes(self) -> Tuple[DType, ...]:
        """Types of the arguments; NpuError GRAPH_ATTR where the caller's attributes decide."""
        return self._dtypes(self.op_def.inputs)

    @property
    def ret_dtypes(self) -> Tuple[DType, ...]:
        """Types of the returned tensors; NpuError GRAPH_ATTR where the caller's attributes decide."""
        return self._dtypes(self.op_def.outputs)

    def _dtypes(self, args: Any) -> Tuple[DType, ...]:
        try:
            return arg_dtypes(self.op_def, args, self.proto.attr)
        except AttrProblem as problem:
            raise NpuError("GRAPH_ATTR", self.subject, str(problem)) from None

    @property
    def body(self) -> Body:
        """The body: an ``_Arg`` for every argument, the function's nodes, a ``_Retval`` for every returned tensor.

        Made on first use and kept. Attributes the caller decides stay open. Raises as loading a graph does.
        """
        if self._body is None:
            self._body = self.instantiate({})
        return self._body

    def instantiate(self, attrs: Mapping[str, Any]) -> Body:
        """The body with the caller's attributes (AttrValue messages by name) put in where it leaves them open."""
        library = self._library
        return library.assemble(_body_def(self, attrs), self.subject, library)

    def __repr__(self) -> str:
        return f"Function({self.name!r})"


def _signature(proto: Any, subject: str) -> OpDef:
    if not proto.signature.name:
        raise NpuError("GRAPH_FORMAT", subject, "a function of the library has no name")
    try:
        return op_def_from_proto(proto.signature)
    except ValueError as error:
        raise NpuError("GRAPH_ATTR", subject, f"its signature is wrong: {error}") from None


class Library(Mapping[str, Function[Body]]):
    """The functions of a graph by name, in the GraphDef's order; each is looked at when first asked for."""

    def __init__(self, graph_def: Any, subject: str, assemble: Assemble[Body]) -> None:
        self.assemble = assemble
        self._subject = subject
        self.producer: int = graph_def.versions.producer
        self._lock = threading.RLock()
        self._made: Dict[str, Function[Body]] = {}
        self._protos: Dict[str, Any] = {}
        functions = graph_def.library.function
        if len(functions) > MAX_FUNCTIONS:
            raise NpuError("GRAPH_LIMIT", subject, f"it has {len(functions)} functions, the bound is {MAX_FUNCTIONS}")
        for proto in functions:
            name = proto.signature.name
            if name in self._protos:
                raise NpuError("GRAPH_DUPLICATE_NODE", f"{subject}: function '{shorten(name)}'", "it is defined twice")
            self._protos[name] = proto
        self._operators: Dict[str, str] = {}
        for name, proto in self._protos.items():
            if OPERATOR_MARK in proto.attr:
                operator = _operator(proto)
                if operator:
                    self._operators[name] = operator

    @property
    def operators(self) -> Mapping[str, str]:
        """Functions that stand for an operator of the adapter's own: name of the function to the operator."""
        return self._operators

    def __getitem__(self, name: str) -> Function[Body]:
        if name not in self._protos:
            raise KeyError(name)
        with self._lock:
            if name not in self._made:
                self._made[name] = Function(self._protos[name], self, self._subject)
            return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._protos

    def __iter__(self) -> Iterator[str]:
        return iter(self._protos)

    def __len__(self) -> int:
        return len(self._protos)

    def op_def(self, name: str) -> Optional[OpDef]:
        """The signature of function ``name``, or None."""
        return self[name].op_def if name in self._protos else None


def _operator(proto: Any) -> str:
    """The adapter's operator that a function computes; empty where its mark names none, or one of other arguments.

    It may read more than the operator is declared with: what the operator knows otherwise.
    """
    operator = proto.attr[OPERATOR_MARK].s.decode("utf-8", "replace")
    op_def = OPS.get(operator)
    if op_def is None or OPS.versions(operator) != (ADAPTER,):
        return ""
    if op_def.fixed_inputs is not None and len(proto.signature.input_arg) < op_def.fixed_inputs:
        return ""
    if op_def.fixed_outputs is not None and len(proto.signature.output_arg) != op_def.fixed_outputs:
        return ""
    return operator


class _Names:
    """Where the names a FunctionDef's inputs use lead: ``arg``, ``arg:i``, ``node:out:i`` to GraphDef inputs."""

    def __init__(self, function: Function) -> None:
        self.subject = function.subject
        self.tensors: Dict[str, List[str]] = {}
        self.nodes: Dict[str, str] = {}

    def add_arg(self, name: str, nodes: List[str]) -> None:
        self.tensors[name] = nodes

    def add_node(self, name: str, op_def: OpDef, attrs: Any) -> None:
        self.nodes[name] = name
        slot = 0
        for out in op_def.outputs:
            count = count_args(op_def, (out,), attrs)
            self.tensors[f"{name}:{out.name}"] = [f"{name}:{slot + k}" if slot + k else name for k in range(count)]
            slot += count

    def find(self, text: str, reader: str) -> str:
        """The GraphDef form of input ``text`` of ``reader``; NpuError GRAPH_INPUT."""
        if text.startswith("^"):
            if text[1:] in self.nodes:
                return text
            # A control input from an argument is one from its _Arg node.
            if text[1:] in self.tensors and ":" not in text:
                return "^" + self.tensors[text[1:]][0]
        else:
            head, _, tail = text.rpartition(":")
            for name, number in ((text, "0"), (head, tail)):
                found = self.tensors.get(name, ())
                k = output_number(number)
                if k is not None and k < len(found):
                    return found[k]
        raise NpuError("GRAPH_INPUT", self.subject, f"{reader} reads '{shorten(text)}', which the body does not have")


def _body_def(function: Function, given: Mapping[str, Any]) -> Any:
    """The body as a GraphDef: what TensorFlow's own instantiation of a function gives."""
    proto = function.proto
    graph_def = message_class("GraphDef")()
    graph_def.versions.producer = function._library.producer
    names = _Names(function)
    try:
        _add_args(function, given, graph_def, names)
        added = [_add_node(function, node, given, graph_def, names) for node in proto.node_def]
        for node in added:
            inputs = [names.find(text, f"node '{shorten(node.name)}'") for text in node.input]
            del node.input[:]
            node.input.extend(inputs)
        _add_rets(function, given, graph_def, names)
    except AttrProblem as problem:
        raise NpuError("GRAPH_ATTR", function.subject, str(problem)) from None
    return graph_def


def _add_args(function: Function, given: Mapping[str, Any], graph_def: Any, names: _Names) -> None:
    position = 0
    for arg in function.op_def.inputs:
        dtypes = arg_dtypes(function.op_def, (arg,), _Given(given))
        made = []
        for k, dtype in enumerate(dtypes):
            node = graph_def.node.add(name=f"{arg.name}_{k}" if arg.is_list else arg.name, op="_Arg")
            node.attr["T"].type = dtype.number
            node.attr["index"].i = position
            _copy_arg_attrs(function.proto, position, node)
            made.append(node.name)
            position += 1
        names.add_arg(arg.name, made)


def _copy_arg_attrs(proto: Any, position: int, node: Any) -> None:
    if position in proto.arg_attr:
        for name, value in proto.arg_attr[position].attr.items():
            if name.startswith("_"):
                node.attr[name].CopyFrom(value)


class _Given:
    """The caller's attributes in the shape of a protocol buffer map."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def get(self, name: str) -> Any:
        return self._given.get(name)


def _add_node(function: Function, proto: Any, given: Mapping[str, Any], graph_def: Any, names: _Names) -> Any:
    subject = f"{function.subject}: node '{shorten(proto.name)}'"
    if proto.name in names.nodes or proto.name in names.tensors:
        raise NpuError("GRAPH_DUPLICATE_NODE", subject, "two nodes or arguments have this name")
    op_def = OPS.of_producer(proto.op, function._library.producer) or function._library.op_def(proto.op)
    if op_def is None:
        raise NpuError(
            "GRAPH_UNKNOWN_OP",
            subject,
            f"the operator '{shorten(proto.op)}' is neither of TensorFlow 1.15 or 2.21 nor the adapter's nor a "
            "function of this graph",
        )
    node = graph_def.node.add()
    node.CopyFrom(proto)
    for name in list(node.attr):
        value = node.attr[name]
        if value.WhichOneof("value") == "placeholder" and value.placeholder in given:
            value.CopyFrom(given[value.placeholder])
    try:
        names.add_node(node.name, op_def, node.attr)
    except AttrProblem as problem:
        raise NpuError("GRAPH_ATTR", subject, str(problem)) from None
    return node


def _add_rets(function: Function, given: Mapping[str, Any], graph_def: Any, names: _Names) -> None:
    position = 0
    for ret in function.op_def.outputs:
        source = function.proto.ret.get(ret.name, "")
        if not source:
            raise NpuError("GRAPH_FORMAT", function.subject, f"nothing is returned as '{shorten(ret.name)}'")
        dtypes = arg_dtypes(function.op_def, (ret,), _Given(given))
        for k, dtype in enumerate(dtypes):
            text = source if not ret.is_list else f"{source}:{k}" if source in names.tensors else source
            node = graph_def.node.add(name=_ret_name(ret, k), op="_Retval")
            node.input.append(names.find(text, f"return '{shorten(ret.name)}'"))
            node.attr["T"].type = dtype.number
            node.attr["index"].i = position
            position += 1


def _ret_name(ret: Any, k: int) -> str:
    return f"{ret.name}_{k}_RetVal" if ret.is_list else f"{ret.name}_RetVal"
