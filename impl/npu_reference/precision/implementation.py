"""Which implementation mode an operator's kernel is built in."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from npu_reference.catalog import Catalog
from npu_reference.options.typed import Implementation
from npu_reference.precision.lists import matches
from npu_reference.precision.model import PrecisionNote

__all__ = ["Implementations"]

_MAX_NOTES = 20


class Implementations:
    """Modes of operators: the op_precision_mode file alone where there is one, else op_select_implmode (P24)."""

    def __init__(self, asked: Implementation, catalog: Catalog) -> None:
        self._catalog = catalog
        self._file, self._global, self._listed = asked
        self._unused: Dict[str, None] = dict.fromkeys(self._file.by_name) if self._file is not None else {}
        self._notes: List[PrecisionNote] = []
        self._by_type: Dict[Tuple[str, Tuple[str, ...]], Optional[str]] = {}

    def mode(self, name: str, kernel: str, tf_op: str, modes: Tuple[str, ...]) -> Optional[str]:
        """The mode of a node with that kernel, which has `modes`; None: the kernel's own."""
        if self._file is not None and name in self._file.by_name:
            self._unused.pop(name, None)
            return self._supported(self._file.by_name[name], kernel or tf_op, name, modes)
        key = (kernel, modes)
        if key not in self._by_type:
            self._by_type[key] = self._of_type(kernel, modes)
        return self._by_type[key]

    def notes(self) -> List[PrecisionNote]:
        """What in the file had no effect (P23); ask after all operators."""
        missing = [
            PrecisionNote("op_precision_unknown", f"op_precision_mode: the device has no operator {name}.", name)
            for name in self._unused
        ]
        return (self._notes + missing)[:_MAX_NOTES]

    def _of_type(self, kernel: str, modes: Tuple[str, ...]) -> Optional[str]:
        if self._file is not None:
            for name, mode in self._file.by_type.items():
                if matches(name, kernel, self._catalog):
                    return self._supported(mode, name, name, modes)
            return None
        if self._global is None or self._global not in modes:
            return None  # P25: operators without variants have none to choose
        if self._listed is not None and not any(matches(n, kernel, self._catalog) for n in self._listed):
            return None
        return self._global

    def _supported(self, mode: str, what: str, subject: str, modes: Tuple[str, ...]) -> Optional[str]:
        if mode in modes:
            return mode
        has = ", ".join(modes) or "no modes"
        message = f"op_precision_mode: {what} is not implemented in {mode}; it has {has}."
        note = PrecisionNote("op_precision_unsupported", message, subject)
        if note not in self._notes:
            self._notes.append(note)
        return None
