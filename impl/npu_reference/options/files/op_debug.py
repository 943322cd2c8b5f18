"""Which debug options an ``op_debug_config`` file compiles which operators with (files.op_debug_cfg.*)."""

from __future__ import annotations

from typing import Container, Dict, List, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.files.lines import Line, key_and_value, lines, refuse
from npu_reference.options.grammars.scanner import ScannerNote

__all__ = ["EXAMPLE", "OPTIONS", "OpDebug", "parse", "write"]

EXAMPLE = "op_debug_config = ccec_g,oom\nop_debug_list = GatherV2,OpType::ReduceSum\n"

#: Document 003 § op_debug_config; dump_bin, which only a note there mentions, is refused (B4).
OPTIONS = ("oom", "dump_cce", "dump_loc", "ccec_O0", "ccec_g", "check_flag")
_FORM = "Write op_debug_config = option,option and, to restrict it, op_debug_list = name,OpType::type."
_TYPE = "optype::"


class OpDebug(NamedTuple):
    """Options, and the names and types they are restricted to; both empty means every operator.

    A name may also be meant as a type: a reader tries it as a node name first (D17).
    """

    options: Tuple[str, ...]
    names: Tuple[str, ...] = ()
    types: Tuple[str, ...] = ()
    notes: Tuple[ScannerNote, ...] = ()

    @property
    def has_list(self) -> bool:
        return bool(self.names or self.types)

    def covers(self, node: str, op: str, nodes: Container[str] = ()) -> bool:
        """Whether an operator is compiled with the options; ``nodes`` are the names of its graph (D17)."""
        if not self.has_list:
            return True
        return node in self.names or op in self.types or (op in self.names and op not in nodes)


def parse(text: str) -> OpDebug:
    """The options of a file.

    Raises:
        GrammarError: an unknown key or option, an empty item, no ``op_debug_config``, ccec_O0 beside oom (B2).
    """
    found: Dict[str, Tuple[Line, List[Tuple[str, int]]]] = {}
    for line in lines(text):
        key, value = key_and_value(line, _FORM)
        if key not in ("op_debug_config", "op_debug_list"):
            refuse(line, f"there is no key {echo(key)}.", _FORM)
        if key in found:
            refuse(line, f"{key} is given twice.", _FORM)
        found[key] = (line, _items(line, value))
    if "op_debug_config" not in found:
        refuse(Line("", 0, text), "there is no op_debug_config.", _FORM)
    options = _options(*found["op_debug_config"])
    listed = found.get("op_debug_list", (None, []))[1]
    types = tuple(item[len(_TYPE) :] for item, _ in listed if item.lower().startswith(_TYPE))  # B3: any case
    names = tuple(item for item, _ in listed if not item.lower().startswith(_TYPE))
    return OpDebug(options, names, types)


def _items(line: Line, value: str) -> List[Tuple[str, int]]:
    """The items of a comma list, each with its offset in the line."""
    offset = line.text.index("=") + 1
    offset += len(line.text[offset:]) - len(line.text[offset:].lstrip())
    items = []
    for piece in value.split(","):
        item = piece.strip()
        if not item or item.lower() == _TYPE or any(blank in item for blank in " \t"):
            refuse(line, f"{echo(item)} is no item." if item else "an item is empty.", _FORM, offset)
        items.append((item, offset))
        offset += len(piece) + 1
    return items


def _options(line: Line, items: List[Tuple[str, int]]) -> Tuple[str, ...]:
    for item, offset in items:
        if item not in OPTIONS:
            refuse(line, f"there is no option {echo(item)}.", f"Allowed: {', '.join(OPTIONS)}.", offset)
    options = tuple(dict.fromkeys(item for item, _ in items))
    if "ccec_O0" in options and "oom" in options:
        refuse(line, "ccec_O0 and oom cannot be enabled together.", "Drop one of them.")
    return options


def write(debug: OpDebug) -> str:
    """The text that :func:`parse` reads as ``debug``."""
    text = f"op_debug_config = {','.join(debug.options)}\n"
    listed = [*debug.names, *(f"OpType::{name}" for name in debug.types)]
    return text + (f"op_debug_list = {','.join(listed)}\n" if listed else "")
