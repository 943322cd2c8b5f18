"""Decides what an operator's inputs, outputs and attributes are, from the registries of TensorFlow 1.15 and 2.21."""

from __future__ import annotations

import os
import threading
import zlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .dtypes import DType
from .private_ops import PRIVATE_OPS, Declaration
from .proto import message_class

__all__ = ["ADAPTER", "ArgDef", "AttrDef", "OpDef", "OPS", "OpRegistry", "VERSIONS", "op_def_from_proto"]

#: The TensorFlow versions whose registries are in the package, oldest first.
VERSIONS = ("1.15", "2.21")

#: Where operators neither version registers come from: the adapter's own, declared in ``private_ops``.
ADAPTER = "adapter"
#: The version named for operators of libraries that TensorFlow has loaded in this process.
LOADED = "loaded"

#: GraphDef.versions.producer that TensorFlow 1.15 writes.
_LAST_PRODUCER_1_15 = 134

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators.pb.gz")


class ArgDef(NamedTuple):
    """One input or output argument, which stands for one tensor or a list of them.

    ``dtype`` where the type is fixed, else ``type_attr`` names the attribute that holds it. ``number_attr`` names the
    attribute with the count of a list of one type, ``type_list_attr`` the one with the types of a mixed list.
    """

    name: str
    dtype: Optional[DType]
    type_attr: str
    number_attr: str
    type_list_attr: str
    is_ref: bool

    @property
    def is_list(self) -> bool:
        return bool(self.number_attr or self.type_list_attr)


class AttrDef(NamedTuple):
    """One attribute: its type as the registry writes it (``int``, ``list(type)``…), default and bounds.

    ``default`` and ``allowed`` are AttrValue messages or None; ``minimum`` applies to ints and to list lengths.
    """

    name: str
    type: str
    default: Any
    allowed: Any
    minimum: Optional[int]


class OpDef:
    """An operator's definition.

    Attributes:
        name: the operator's name.
        inputs, outputs: ArgDefs in order.
        attrs: AttrDef by name, in the registry's order.
        is_stateful, is_commutative, is_aggregate, allows_uninitialized_input: as registered.
        control_outputs: names of a function's control outputs; empty for operators.
    """

    __slots__ = (
        "allows_uninitialized_input", "attrs", "control_outputs", "fixed_inputs", "fixed_outputs", "inputs",
        "is_aggregate", "is_commutative", "is_stateful", "name", "only_type", "outputs", "required",
    )  # fmt: skip

    def __init__(self, proto: Any) -> None:
        self.name: str = proto.name
        self.inputs: Tuple[ArgDef, ...] = tuple(_arg(arg) for arg in proto.input_arg)
        self.outputs: Tuple[ArgDef, ...] = tuple(_arg(arg) for arg in proto.output_arg)
        self.attrs: Dict[str, AttrDef] = {attr.name: _attr(attr) for attr in proto.attr}
        self.is_stateful: bool = proto.is_stateful
        self.is_commutative: bool = proto.is_commutative
        self.is_aggregate: bool = proto.is_aggregate
        self.allows_uninitialized_input: bool = proto.allows_uninitialized_input
        self.control_outputs: Tuple[str, ...] = tuple(proto.control_output)
        #: How many tensors go in and out of every node of this operator, None where attributes decide.
        self.fixed_inputs: Optional[int] = _fixed_count(self.inputs)
        self.fixed_outputs: Optional[int] = _fixed_count(self.outputs)
        #: The one attribute that decides the types of all inputs, and of all outputs; empty where there are lists or
        #: several.
        self.only_type: Tuple[str, str] = (_only_type(self.inputs), _only_type(self.outputs))
        #: (attribute, AttrValue field) of every attribute without a default.
        self.required: List[Tuple[str, str]] = [
            (attr.name, value_field(attr.type)) for attr in self.attrs.values() if attr.default is None
        ]

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


def _arg(proto: Any) -> ArgDef:
    dtype = DType.of(proto.type) if proto.type else None
    return ArgDef(proto.name, dtype, proto.type_attr, proto.number_attr, proto.type_list_attr, proto.is_ref)


def _attr(proto: Any) -> AttrDef:
    return AttrDef(
        proto.name,
        proto.type,
        proto.default_value if proto.HasField("default_value") else None,
        proto.allowed_values if proto.HasField("allowed_values") else None,
        proto.minimum if proto.has_minimum else None,
    )


def _only_type(args: Tuple[ArgDef, ...]) -> str:
    names = {arg.type_attr for arg in args if arg.type_attr}
    return names.pop() if len(names) == 1 and not any(arg.is_list for arg in args) else ""


def _fixed_count(args: Tuple[ArgDef, ...]) -> Optional[int]:
    return None if any(arg.is_list for arg in args) else len(args)


_FIELDS = {"string": "s", "int": "i", "float": "f", "bool": "b"}


def value_field(attr_type: str) -> str:
    """The field of AttrValue that holds a value of this type: ``s`` for ``string``, ``list`` for ``list(int)``."""
    return "list" if attr_type.startswith("list(") else _FIELDS.get(attr_type, attr_type)


def op_def_from_proto(proto: Any) -> OpDef:
    """A definition from an OpDef message, e.g. a function's signature; ValueError where a type does not exist."""
    return OpDef(proto)


class OpRegistry:
    """The operators of all :data:`VERSIONS` and the adapter's own, read from the package on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Versions and what they define alike, by name: OpDef messages, parsed when asked for, or declarations.
        self._groups: Dict[Tuple[str, ...], Dict[str, Any]] = {}
        self._made: Dict[Tuple[str, Optional[str]], Optional[OpDef]] = {}

    def get(self, name: str, version: Optional[str] = None) -> Optional[OpDef]:
        """The definition of ``name``, or None.

        ``version``, one of :data:`VERSIONS`, asks for that version's alone. Without it the newest is given: a newer
        definition accepts what an older one does, since new attributes come with defaults.
        """
        key = (name, version)
        if key not in self._made:
            self._made[key] = self._make(name, version)
        return self._made[key]

    def of_producer(self, name: str, producer: int) -> Optional[OpDef]:
        """The definition a graph with this ``versions.producer`` was made with, or else the newest, or None."""
        old = self.get(name, "1.15") if 0 < producer <= _LAST_PRODUCER_1_15 else None
        return old or self.get(name)

    def versions(self, name: str) -> Tuple[str, ...]:
        """The versions that know ``name``, oldest first; ``("adapter",)`` for the adapter's own,
        ``("loaded",)`` for a declared one; empty if none does."""
        known = self._known(name)
        return tuple(version for version in (*VERSIONS, ADAPTER, LOADED) if version in known)

    def declare(self, proto: Any) -> None:
        """Add the operator of a library that TensorFlow has loaded in this process; no effect where it is known.

        ``proto`` is an OpDef message of any class; ValueError where a type does not exist.
        """
        if proto.name not in self:
            own = proto.SerializeToString()
            made = _op_def(own)
            with self._lock:
                self._load()[(LOADED,)][proto.name] = own
                self._made[proto.name, None] = made

    def names(self) -> Iterator[str]:
        """Every operator's name, sorted."""
        return iter(sorted({name for group in self._load().values() for name in group}))

    def __contains__(self, name: object) -> bool:
        return any(name in group for group in self._load().values())

    def _make(self, name: str, version: Optional[str]) -> Optional[OpDef]:
        known = self._known(name)
        if known and (version is None or ADAPTER in known):
            version = next(v for v in (ADAPTER, *reversed(VERSIONS), LOADED) if v in known)
        return _op_def(known[version]) if version in known else None

    def _known(self, name: str) -> Dict[Optional[str], Any]:
        """The definitions of ``name`` by version."""
        groups = self._load().items()
        return {version: group[name] for versions, group in groups if name in group for version in versions}

    def _load(self) -> Dict[Tuple[str, ...], Dict[str, Any]]:
        if not self._groups:
            groups = _read()
            with self._lock:
                self._groups = self._groups or groups
        return self._groups


def _op_def(definition: Any) -> OpDef:
    declared = isinstance(definition, Declaration)
    return OpDef(definition.to_proto() if declared else message_class("OpDef").FromString(definition))


def _read() -> Dict[Tuple[str, ...], Dict[str, Any]]:
    model = message_class("SavedModel")()
    with open(_DATA, "rb") as stream:
        model.ParseFromString(zlib.decompress(stream.read(), 16 + zlib.MAX_WBITS))
    groups: Dict[Tuple[str, ...], Dict[str, Any]] = {}
    for group in model.meta_graphs:
        held = group.collection_def
        named = zip(held["names"].node_list.value, held["definitions"].bytes_list.value)
        groups[tuple(group.meta_info_def.tags)] = dict(named)
    registered = [*groups.values()]
    groups[(ADAPTER,)] = {one.name: one for one in PRIVATE_OPS if not any(one.name in group for group in registered)}
    groups[(LOADED,)] = {}
    return groups


#: The one registry.
OPS = OpRegistry()
