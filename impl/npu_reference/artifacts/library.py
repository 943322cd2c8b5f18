"""Decides what the built-in operator information library looks like as files, where a real installation has them.

A user looks an operator up there, copies or edits the file, and gives it back (documents 002, 003 and 004).
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from npu_reference.catalog import Catalog
from npu_reference.catalog.descriptor import FLAGS, Descriptor

__all__ = ["LAYOUTS", "LibraryFile", "entries", "files"]

#: The file below the directory of an installation: document 004 (and 002), and document 003.
LAYOUTS = {
    "legacy": "opp/op_impl/built-in/ai_core/tbe/config/{soc}/aic-{soc}-ops-info.json",
    "current": "opp/built-in/op_impl/ai_core/tbe/config/{soc}/aic-{soc}-ops-info.json",
}

#: No write permission: document 004 has it granted first, by chmod u+w.
_MODE = 0o444

_WORDS = {word: flag for flag, word in FLAGS.items()}
_NAMES = {"float32": "float", "float64": "double"}


class LibraryFile(NamedTuple):
    """A file of an installation: its path below it, its permissions, its text."""

    path: str
    mode: int
    text: str


def files(catalog: Optional[Catalog] = None, edition: str = "current") -> List[LibraryFile]:
    """The files of the library, in the layout of an edition."""
    catalog = catalog or Catalog.built_in()
    soc = catalog.soc.lower()
    text = json.dumps(entries(catalog), indent=4, sort_keys=True) + "\n"
    return [LibraryFile(LAYOUTS[edition].format(soc=soc), _MODE, text)]


def entries(catalog: Catalog) -> Dict[str, Any]:
    """By the device's operator types: dtypes of inputs and outputs, one column at each place, and the flag."""
    found: Dict[str, Any] = {}
    for op in sorted(catalog):
        descriptor = catalog.get(op)
        if descriptor is None:
            continue
        for one in (descriptor, descriptor.after_fusion()):
            if one.ge_op and one.columns and one.ge_op not in found:
                found[one.ge_op] = _entry(one)
    return found


def _entry(descriptor: Descriptor) -> Dict[str, Any]:
    entry: Dict[str, Any] = {}
    for side, columns in (
        ("input", [column.inputs for column in descriptor.columns]),
        ("output", [column.outputs for column in descriptor.columns]),
    ):
        for number, dtypes in enumerate(_across(columns)):
            entry[f"{side}{number}"] = {"dtype": ",".join(_NAMES.get(dtype, dtype) for dtype in dtypes)}
    if descriptor.flag in _WORDS:
        entry["precision_reduce"] = {"flag": _WORDS[descriptor.flag]}
    return entry


def _across(columns: List[Tuple[str, ...]]) -> List[Tuple[str, ...]]:
    """By tensor, its dtype in every column."""
    return list(zip(*columns)) if columns and all(len(column) == len(columns[0]) for column in columns) else []
