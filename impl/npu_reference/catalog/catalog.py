"""Which kernels the device has for TensorFlow's operators: the built-in library, and a user's ops-info laid over it."""

from __future__ import annotations

import csv
import functools
import os
from typing import Dict, FrozenSet, Iterator, List, Mapping, Optional, Tuple, TypeVar

from npu_reference.catalog.descriptor import Column, Descriptor, Fused
from npu_reference.catalog.ops_info import OpInfo, parse_ops_info
from npu_reference.errors import NpuError
from npu_reference.graphs.ops import OPS

__all__ = ["SOCS", "Catalog"]

_BUILT_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "kernels.csv")

#: Chips the built-in library is for; document 004 names ascend910.
SOCS = ("Ascend910",)

_SHORT = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "b": "bool",
    "str": "string",
    "c64": "complex64",
    "c128": "complex128",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "int"), ("u", "uint")) for bits in (4, 8, 16, 32, 64)},
}


class Catalog:
    """The operator library of one chip, by TensorFlow operator; immutable, its lines are read when asked for."""

    __slots__ = ("_info", "_made", "_rows", "notes", "soc", "subject")

    _lines: Optional[Dict[str, List[str]]] = None

    def __init__(self, soc: str, info: Mapping[str, OpInfo], subject: str = "", notes: Tuple[str, ...] = ()) -> None:
        self.soc = soc
        self.subject = subject
        #: Sentences on operator types of the user's file that no operator of TensorFlow becomes.
        self.notes = notes
        self._rows = _read()
        self._info = dict(info)
        self._made: Dict[str, Optional[Descriptor]] = {}

    @staticmethod
    def built_in(soc: str = "Ascend910") -> Catalog:
        """The library of the simulated device; `data/kernels.csv` names the source of every line.

        Raises:
            NpuError: USAGE for another chip.
        """
        if soc not in SOCS:
            raise NpuError("USAGE", "soc", f"there is no operator library of {soc!r}.", f"Choose {' or '.join(SOCS)}.")
        return Catalog(soc, {})

    def with_ops_info(self, text: str, subject: str = "<ops-info>") -> Catalog:
        """This library with a user's ops-info file over it: flags, and dtypes where the file states them (004).

        Args:
            text: the JSON text of an `aic-<soc>-ops-info.json`; a part of one will do.
            subject: what errors call it.

        Raises:
            NpuError: OPS_INFO_FILE with the line of what is wrong.
        """
        info = parse_ops_info(text, subject)
        known = self.kernels()
        notes = [f"{subject}: no operator of TensorFlow becomes {name}." for name in info if name not in known]
        return Catalog(self.soc, {**self._info, **info}, subject, (*self.notes, *notes[:10]))

    def get(self, tf_op: str) -> Optional[Descriptor]:
        """What is known of an operator, or None: nothing."""
        if tf_op not in self._made:
            self._made[tf_op] = self._overlaid(_descriptor(tf_op)) if tf_op in self._rows else None
        return self._made[tf_op]

    def kernels(self) -> FrozenSet[str]:
        """Names of all kernels (Ascend IR types), those after graph fusion included."""
        return _all_kernels()

    def kernels_of(self, tf_op: str) -> Tuple[str, ...]:
        """Names of the kernels an operator may become."""
        row = self._rows.get(tf_op)
        return () if row is None else _kernels(row)

    def __contains__(self, tf_op: object) -> bool:
        return tf_op in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def _overlaid(self, found: Descriptor) -> Descriptor:
        """A user's entry decides over the built-in one: the kernel after fusion has an entry of its own."""
        own = self._info.get(found.ge_op)
        after = self._info.get(found.fused.kernel) if found.fused is not None else None
        if found.fused is not None:
            fused = found.fused
            if not fused.columns and any(info is not None and info.columns for info in (own, after)):
                # What is stated of one of the two is not said of the other.
                fused = fused._replace(columns=found.columns, takes_in=found.takes_in, takes_out=found.takes_out)
            if after is not None:
                fused = _stated(fused._replace(flag=after.flag), after.columns)
            found = found._replace(fused=fused)
        if own is not None:
            found = _stated(found._replace(flag=own.flag), own.columns)
            if own.columns and found.engine not in ("cube", "vector"):
                found = found._replace(engine="vector")
        return found


_HEADER = [
    "op", "kernel", "engine", "columns", "in", "out", "aicpu", "flag", "modes", "fused", "fused_flag", "drops", "fp16",
    "source",
]  # fmt: skip
_OP, _KERNEL, _ENGINE, _COLUMNS, _IN, _OUT, _AICPU, _FLAG, _MODES, _FUSED, _FUSED_FLAG, _DROPS, _FP16, _SOURCE = range(
    len(_HEADER)
)


def _read() -> Dict[str, List[str]]:
    if Catalog._lines is None:
        with open(_BUILT_IN, encoding="ascii", newline="") as stream:
            rows = csv.reader(stream)
            if next(rows) != _HEADER:
                raise NpuError("INTERNAL", _BUILT_IN, "its columns are not those of this program.")
            Catalog._lines = {row[_OP]: row for row in rows}
    return Catalog._lines


@functools.lru_cache(maxsize=None)
def _descriptor(tf_op: str) -> Descriptor:
    """An operator of the built-in library, which every catalog begins with; each line is read once."""
    row = _read()[tf_op]
    library, _, dtypes = row[_AICPU].partition(":")
    fused = None
    if row[_FUSED]:
        kernel, _, columns = row[_FUSED].partition(":")
        fused = Fused(kernel, row[_FUSED_FLAG] or None, _numbers(row[_DROPS]))
        if columns:
            fused = _columned(fused, tuple(_column(text) for text in columns.split(";")), row[_OP])
    return Descriptor(
        tf_op=row[_OP],
        ge_op=row[_KERNEL],
        engine=row[_ENGINE],
        columns=tuple(_column(text) for text in row[_COLUMNS].split(";") if text),
        takes_in=_numbers(row[_IN]),
        takes_out=_numbers(row[_OUT]),
        aicpu_dtypes=tuple(_SHORT.get(name, name) for name in dtypes.split("|") if name),
        aicpu_libraries=tuple(library.split("+")) if library else (),
        has_aicpu=bool(library) or row[_ENGINE] == "aicpu",
        flag=row[_FLAG] or None,
        impl_modes=tuple(row[_MODES].split("|")) if row[_MODES] else (),
        fused=fused,
        fp16_priority=row[_FP16] == "yes",
        source=row[_SOURCE],
    )


@functools.lru_cache(maxsize=1)
def _all_kernels() -> FrozenSet[str]:
    return frozenset(name for row in _read().values() for name in _kernels(row))


def _kernels(row: List[str]) -> Tuple[str, ...]:
    """A row's kernels: before graph fusion, and after it where the row has one."""
    return tuple(name for name in (row[_KERNEL], row[_FUSED].partition(":")[0]) if name)


def _columned(fused: Fused, columns: Tuple[Column, ...], op: str) -> Fused:
    """A kernel after fusion with its own columns: it has the operator's tensors in order, without those it drops."""
    op_def = OPS.get(op)
    takes: List[int] = []
    for k in range(len(op_def.inputs) if op_def is not None else 0):
        takes.append(-1 if k in fused.drops else sum(position >= 0 for position in takes))
    return fused._replace(columns=columns, takes_in=tuple(takes), takes_out=tuple(range(len(columns[0].outputs))))


_Kernel = TypeVar("_Kernel", Descriptor, Fused)


def _stated(kernel: _Kernel, columns: Tuple[Column, ...]) -> _Kernel:
    """The kernel with columns of a user's file; those of another width describe it with all inputs, in their order."""
    if not columns:
        return kernel
    if kernel.columns and len(columns[0].inputs) != len(kernel.columns[0].inputs):
        kernel = kernel._replace(takes_in=())
    return kernel._replace(columns=columns)


def _column(text: str) -> Column:
    inputs, _, outputs = text.partition(">")
    return Column(_dtypes(inputs), _dtypes(outputs))


def _dtypes(text: str) -> Tuple[str, ...]:
    return tuple(_SHORT.get(name, name) for name in text.split(",") if name)


def _numbers(text: str) -> Tuple[int, ...]:
    return tuple(int(number) for number in text.split())
