"""Which implementation mode an ``op_precision_mode`` file gives to operators (files.op_precision_ini.*)."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.files.lines import Line, key_and_value, lines, refuse
from npu_reference.options.grammars.scanner import ScannerNote

__all__ = ["EXAMPLE", "MODES", "OpPrecision", "parse", "write"]

EXAMPLE = "[ByOpType]\nAvgPoolV2=high_precision\n[ByNodeName]\npool/AvgPool=high_performance\n"

#: Modes by edition, from documents 002 and 003 § op_precision_mode.
MODES = {
    "legacy": ("high_precision", "high_performance"),
    "current": ("high_precision", "high_performance", "support_out_of_bound_index", "keep_fp16", "super_performance"),
}
_SECTIONS = ("[ByOpType]", "[ByNodeName]")
_FORM = "Write name=mode, under [ByOpType] or [ByNodeName]."


class OpPrecision(NamedTuple):
    """Operator type to mode, and node name to mode; a node's own mode goes before its type's."""

    by_type: Dict[str, str]
    by_name: Dict[str, str]
    notes: Tuple[ScannerNote, ...] = ()

    def mode_of(self, op: str, name: str) -> Optional[str]:
        """The mode of a node, or None where the file has none."""
        return self.by_name.get(name, self.by_type.get(op))


def parse(text: str, modes: Tuple[str, ...] = MODES["current"]) -> OpPrecision:
    """The modes of a file. Lines before any section are by operator type, which is the older format (A23).

    Raises:
        GrammarError: an unknown section or mode, a line without ``=``, a name with two different modes.
    """
    by_section: Dict[str, Dict[str, str]] = {section: {} for section in _SECTIONS}
    section = _SECTIONS[0]
    for line in lines(text):
        if line.text.startswith("["):
            section = _section(line)
            continue
        name, mode = key_and_value(line, _FORM)
        if mode not in modes:
            refuse(line, f"{echo(mode)} is no mode.", f"Allowed: {', '.join(modes)}.", line.text.rindex(mode))
        if by_section[section].setdefault(name, mode) != mode:
            refuse(line, f"{name} already has mode {by_section[section][name]}.", "Give every name one mode.")
    return OpPrecision(by_section[_SECTIONS[0]], by_section[_SECTIONS[1]])


def _section(line: Line) -> str:
    if line.text not in _SECTIONS:
        refuse(line, f"there is no section {echo(line.text)}.", f"Sections are {' and '.join(_SECTIONS)}.")
    return line.text


def write(precision: OpPrecision) -> str:
    """The text that :func:`parse` reads as ``precision``."""
    parts = []
    for section, modes in zip(_SECTIONS, (precision.by_type, precision.by_name)):
        if modes:
            parts.append(section + "\n" + "".join(f"{name}={mode}\n" for name, mode in modes.items()))
    return "".join(parts)
