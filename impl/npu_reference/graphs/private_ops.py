"""Declares the adapter's own operators, which no TensorFlow registers, by their inputs, outputs and attributes."""

from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Tuple

from .proto import message_class

__all__ = ["PRIVATE_OPS", "Declaration"]


class Declaration(NamedTuple):
    """An operator in short form.

    ``inputs`` and ``outputs`` hold ``name: type`` where type is a data type (``float``), a type attribute (``T``),
    ``N * T`` or a ``list(type)`` attribute; ``attrs`` hold ``name: type`` or ``name: type = default``.
    """

    name: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attrs: Tuple[str, ...]
    is_stateful: bool = False

    def to_proto(self) -> Any:
        """The declaration as an OpDef message."""
        proto = message_class("OpDef")(name=self.name, is_stateful=self.is_stateful)
        for text in self.attrs:
            _add_attr(proto, text)
        kinds = {attr.name: attr.type for attr in proto.attr}
        for texts, field in ((self.inputs, proto.input_arg), (self.outputs, proto.output_arg)):
            for text in texts:
                _add_arg(field, text, kinds)
        return proto


_ATTR = re.compile(r"(\w+): ([\w()]+)(?: = (.*))?$")
_ARG = re.compile(r"(\w+): (?:(\w+) \* )?(\w+)$")


def _add_attr(proto: Any, text: str) -> None:
    match = _ATTR.match(text)
    assert match is not None, text
    name, kind, default = match.groups()
    attr = proto.attr.add(name=name, type=kind)
    if default is None:
        return
    value = attr.default_value
    if kind == "int":
        value.i = int(default)
    elif kind == "float":
        value.f = float(default)
    elif kind == "bool":
        value.b = default == "true"
    elif kind == "string":
        value.s = default.strip("'").encode("ascii")
    elif kind == "type":
        value.type = _enum(default)
    else:
        assert default == "[]", text
        value.list.SetInParent()


def _add_arg(field: Any, text: str, kinds: Any) -> None:
    match = _ARG.match(text)
    assert match is not None, text
    name, number, kind = match.groups()
    arg = field.add(name=name, number_attr=number or "")
    if kind not in kinds:
        arg.type = _enum(kind)
    elif kinds[kind] == "list(type)":
        arg.type_list_attr = kind
    else:
        arg.type_attr = kind


def _enum(name: str) -> int:
    return message_class("TensorProto").DESCRIPTOR.fields_by_name["dtype"].enum_type.values_by_name[
        "DT_" + name.upper()
    ].number


#: Filled below the class so that the table reads as one.
PRIVATE_OPS: List[Declaration] = []
