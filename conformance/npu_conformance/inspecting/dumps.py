"""Folders of dumps: every tensor with its statistics, and what differs between two dumps, operator by operator."""

from __future__ import annotations

import fnmatch
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.inspecting.registry import FolderKind, Inspected, kind
from npu_conformance.inspecting.tree import Tree
from npu_reference.dumps import form, names, reading
from npu_reference.dumps.dtypes import BY_NAME
from npu_reference.errors import NpuError

__all__ = ["LIMITS", "FoundDumps", "array", "find", "row", "shown", "tensors"]

#: When a tensor departs from the other dump's: below this cosine, above this error relative to the largest value.
LIMITS: Mapping[str, float] = {"cosine": 0.999, "error": 0.01}

_SHOWN = 64  # values of one tensor that are shown; --export has all

_CHUNK = 1 << 16  # elements measured at a time: they stay in the processor's cache
_TINY = 1e-30

#: Types that are compared in float32: they are what nearly all bytes of a dump are.
_REAL = ("float32", "float16", "bfloat16")

#: Threads that compare; NumPy and the system let go of the interpreter.
_WORKERS = max(1, min(4, os.cpu_count() or 1))

_MOST_ROWS = 100_000


class FoundDumps(NamedTuple):
    """One tensor of a dump folder.

    Attributes:
        turn: how often the same tensor of the same step was dumped before, as in a loop.
        number: among all inputs, or outputs, of the file.
    """

    file: reading.DumpFile
    record: form.Record
    side: str
    number: int
    turn: int

    @property
    def tensor(self) -> form.Tensor:
        description = self.record.description
        return (description.inputs if self.side == "input" else description.outputs)[self.number]

    @property
    def op(self) -> str:
        return self.record.description.op_name

    @property
    def slot(self) -> int:
        return self.tensor.slot if self.tensor.source else self.number

    @property
    def key(self) -> Tuple[Any, ...]:
        """What it is in any dump of the same graph."""
        return (self.file.step, self.op, self.side, self.slot, self.turn)

    @property
    def label(self) -> str:
        return f"{self.op}:{self.slot}" if self.side == "output" else f"{self.op} input {self.number}"


#: Files of which nothing can be told: where each lies, and why.
Flaws = List[Dict[str, str]]


def tensors(asked: Inspected, flaws: Optional[Flaws] = None) -> Iterator[FoundDumps]:
    """The tensors of a folder that are asked for, in the order in which operators ran.

    Args:
        flaws: takes the files that cannot be read, which are then passed over.

    Raises:
        NpuError: DUMP_FILE; where ``flaws`` is given, of the folder only.
    """
    step, op = asked.filters.get("step"), asked.filters.get("op")
    turns: Dict[Tuple[Any, ...], int] = {}
    for file in reading.files(asked.folder):
        if step is not None and file.step != step:
            continue
        if op and not fnmatch.fnmatchcase(file.name.op_name, names.safe(op)):
            continue
        try:
            record = form.read(file.path)
        except NpuError as problem:
            if flaws is None:
                raise
            flaws.append(_flaw(file, problem))
            continue
        if op and not fnmatch.fnmatchcase(record.description.op_name, op):
            continue
        if file.name.op_type == "Opdebug":
            continue
        place = (os.path.dirname(file.relative), record.description.op_name)
        turn = turns[place] = turns.get(place, -1) + 1
        for side, ends in (("input", record.description.inputs), ("output", record.description.outputs)):
            for number in range(len(ends)):
                yield FoundDumps(file, record, side, number, turn)


def _flaw(file: reading.DumpFile, problem: NpuError) -> Dict[str, str]:
    reason = problem.reason.rstrip(".")
    return {"file": file.relative, "why": reason[3:] if reason.startswith("it ") else reason}


def find(asked: Inspected, name: str) -> FoundDumps:
    """The tensor ``op:slot``, or ``op`` for its first output, in the first step that has it.

    Raises:
        NpuError: DUMP_FILE, when there is none.
    """
    op, _, slot = name.rpartition(":")
    if not op or not slot.isdigit():
        op, slot = name, "0"
    for one in tensors(Inspected(asked.folder, {**asked.filters, "op": _literally(op)})):
        if one.side == "output" and one.slot == int(slot):
            return one
    raise NpuError("DUMP_FILE", asked.folder, f"it has no tensor {name}.", "inspect without --tensor lists all.")


def _literally(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def array(one: FoundDumps) -> Any:
    """The values of a tensor, a NumPy array; bytes where NumPy has no such type, flat where no shape is known."""
    import numpy as np

    tensor = one.tensor
    raw = one.record.data(one.side, one.number)
    element = BY_NAME.get(tensor.dtype)
    if element is None:
        return np.frombuffer(raw, np.uint8)
    if not element.numpy:  # bfloat16: the upper half of a float32
        values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(raw, element.numpy)
    return values if tensor.shape is None else values.reshape(tensor.shape)


# -- what lies there ---------------------------------------------------------------------------------------------------


def _find(tree: Tree) -> List[str]:
    """The folder itself: what lies in all of its dumps is one table, by steps."""
    named = (name for place in tree.places for name in place.files if not name.startswith("."))
    return [tree.folder] if any(name == names.MAPPING or names.parse(name) for name in named) else []


def _look(asked: Inspected) -> Dict[str, Any]:
    _numpy()
    rows: List[Dict[str, Any]] = []
    flaws: Flaws = []
    simulated = True
    for one in tensors(asked, flaws):
        if len(rows) == _MOST_ROWS:
            raise NpuError("DUMP_FILE", asked.folder, f"it has more than {_MOST_ROWS} tensors.", "Give --step or --op.")
        simulated = simulated and dict(one.record.description.attrs).get("simulated") is not None
        try:
            rows.append(row(one))
        except NpuError as problem:  # it was cut off meanwhile
            flaws.append(_flaw(one.file, problem))
    overflowed = []
    for file in reading.files(asked.folder):
        if file.name.op_type == "Opdebug":
            try:
                overflowed.append(_status(file))
            except NpuError as problem:
                if _flaw(file, problem) not in flaws:
                    flaws.append(_flaw(file, problem))
    return {"simulated": simulated, "tensors": rows, "overflow": overflowed, "flaws": flaws}


def row(one: FoundDumps) -> Dict[str, Any]:
    """A tensor as the answer has it: what and where it is, and its statistics."""
    description, tensor = one.record.description, one.tensor
    told: Dict[str, Any] = {
        "step": one.file.step,
        "model": one.file.model,
        "op": one.op,
        "op_type": one.file.name.op_type,
        "side": one.side,
        "slot": one.slot,
        "turn": one.turn,
        "dtype": tensor.dtype,
        "shape": None if tensor.shape is None else list(tensor.shape),
        "bytes": tensor.size,
        "file": one.file.relative,
        **_statistics(array(one)),
    }
    attrs = {name: text for name, text in description.attrs if name in ("exception_dump", "note", "tiling")}
    return {**told, **attrs}


def shown(values: Any) -> List[str]:
    """The first values, as text."""
    return [str(value) for value in values.ravel()[:_SHOWN].tolist()]


def _status(file: reading.DumpFile) -> Dict[str, Any]:
    attrs = dict(form.read(file.path).description.attrs)
    op, unit = attrs.get("op_name", ""), attrs.get("acc_type", "")
    return {"step": file.step, "op": op, "acc_type": unit, "task": file.name.task}


def _statistics(values: Any) -> Dict[str, Any]:
    """Smallest, largest, mean of what is finite, then how many are not; None where there is nothing to say."""
    import numpy as np

    values = np.asarray(values)
    if not values.size:
        return {"min": None, "max": None, "mean": None, "nan": 0, "inf": 0, "zeros": None}
    if values.dtype.kind == "c":
        values = np.abs(values)
    zeros = float(np.count_nonzero(values == 0)) / values.size
    nan = inf = 0
    if values.dtype.kind == "f":
        nan, inf = int(np.isnan(values).sum()), int(np.isinf(values).sum())
        finite = values if not (nan or inf) else values[np.isfinite(values)]
    else:
        finite = values
    if not finite.size:
        return {"min": None, "max": None, "mean": None, "nan": nan, "inf": inf, "zeros": zeros}
    low, high = finite.min().item(), finite.max().item()
    return {
        "min": float(low), "max": float(high), "mean": float(np.mean(finite, dtype=np.float64)),
        "nan": nan, "inf": inf, "zeros": zeros,
    }  # fmt: skip


def _numpy() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        remedy = "pip install 'npu-conformance[report]'"
        raise NpuError("SYSTEM", "numpy", "is needed to read the tensors of a dump.", remedy) from None


# -- two of them -------------------------------------------------------------------------------------------------------


def _compare(asked: Inspected, other: str, limits: Mapping[str, float]) -> Dict[str, Any]:
    """Every tensor of the first dump against the same one of the other, in the order in which the first one ran."""
    _numpy()
    if not os.path.isdir(other):
        raise NpuError("DUMP_FILE", other, "there is no such folder.")
    theirs: Dict[Tuple[Any, ...], List[FoundDumps]] = {}
    flaws: Dict[str, Flaws] = {asked.folder: [], other: []}
    for one in tensors(Inspected(other, asked.filters), flaws[other]):
        theirs.setdefault(one.key, []).append(one)
    if not theirs and not flaws[other]:
        raise NpuError("DUMP_FILE", other, "it holds no dump of what is asked for.", "Name the folder of another dump.")
    pairs: List[Tuple[FoundDumps, FoundDumps]] = []
    alone: List[str] = []
    for one in tensors(asked, flaws[asked.folder]):
        found = _counterpart(one, theirs)
        if found is None:
            alone.append(one.label)
        else:
            pairs.append((one, found))
    with ThreadPoolExecutor(_WORKERS) as pool:
        rows = list(pool.map(lambda pair: _difference(pair[0], pair[1], limits), pairs))
    departing = [row for row in rows if row["departs"]]
    return {
        "against": other,
        "limits": dict(limits),
        "compared": len(rows),
        "equal": sum(1 for row in rows if row["equal"]),
        "departing": departing,
        "first": departing[0] if departing else None,
        "only_here": alone,
        "only_there": [one.label for left in theirs.values() for one in left],
        "flaws": [
            {**one, "file": os.path.join(folder, one["file"])} for folder, found in flaws.items() for one in found
        ],
    }


def _counterpart(one: FoundDumps, theirs: Dict[Tuple[Any, ...], List[FoundDumps]]) -> Optional[FoundDumps]:
    """The same tensor of the other dump, taken out of what is left of it; of several models that have it the same one.

    A run that fetches something else is a model of its own, and may hold operators that others hold, too.
    """
    found = theirs.get(one.key, [])
    if not found:
        return None
    same = [at for at, other in enumerate(found) if other.file.model_id == one.file.model_id]
    return found.pop(same[0] if same else 0)


def _difference(one: FoundDumps, other: FoundDumps, limits: Mapping[str, float]) -> Dict[str, Any]:
    row: Dict[str, Any] = {
        "step": one.file.step, "op": one.op, "op_type": one.file.name.op_type, "side": one.side, "slot": one.slot,
        "turn": one.turn, "dtype": one.tensor.dtype, "shape": _shape(one), "other_dtype": other.tensor.dtype,
        "other_shape": _shape(other),
    }  # fmt: skip
    if one.tensor.shape != other.tensor.shape or (one.tensor.shape is None and one.tensor.size != other.tensor.size):
        return {**row, "equal": False, "departs": True, "why": "shape", **_nothing()}
    measured = _measured(one, other)
    equal = measured.pop("same")
    why = ""
    if measured["finite"] is False:
        why = "NaN or infinity"
    elif one.tensor.dtype not in _REAL and not equal and _is_whole(one):
        why = "value"
    elif measured["cosine"] is not None and measured["cosine"] < limits["cosine"]:
        why = "cosine"
    elif measured["relative"] is not None and measured["relative"] > limits["error"]:
        why = "error"
    return {**row, "equal": equal, "departs": bool(why), "why": why, **measured}


def _is_whole(one: FoundDumps) -> bool:
    element = BY_NAME.get(one.tensor.dtype)
    return element is None or element.numpy[1:2] in ("i", "u", "b")


def _shape(one: FoundDumps) -> Optional[List[int]]:
    return None if one.tensor.shape is None else list(one.tensor.shape)


def _nothing() -> Dict[str, Any]:
    return {"cosine": None, "max_abs": None, "relative": None, "ulp": None, "finite": None}


_ALIKE = {"cosine": 1.0, "max_abs": 0.0, "relative": 0.0, "ulp": 0, "finite": True}


def _measured(one: FoundDumps, other: FoundDumps) -> Dict[str, Any]:
    """Cosine, largest difference, the same by the largest value, and the largest distance in floats between them."""
    if not one.tensor.size and not other.tensor.size:
        return {"same": one.tensor.dtype == other.tensor.dtype, **_ALIKE}
    if one.tensor.dtype == other.tensor.dtype and _same_bytes(one, other):
        return {"same": True, **_ALIKE}
    if one.tensor.dtype in _REAL and other.tensor.dtype in _REAL:
        measured = _measured_fast(one, other)
        if measured is not None:
            return measured
    return _measured_wide(array(one), array(other))


def _blocks(one: FoundDumps, other: FoundDumps, elements: int) -> Iterator[Tuple[Any, Any]]:
    """The bytes of two tensors of one shape, so many elements at a time; what is given is overwritten by the next."""
    import numpy as np

    ends = []
    with ExitStack() as stack:
        for found in (one, other):
            element = BY_NAME.get(found.tensor.dtype)
            step = elements * (element.size if element is not None else 1)
            buffer = np.empty(min(step, found.tensor.size), np.uint8)
            stream = stack.enter_context(found.record.bytes_of(found.side, found.number))
            ends.append((stream, buffer, step, found.tensor.size))
        for number in range(-(-ends[0][3] // ends[0][2])):
            blocks = []
            for stream, buffer, step, size in ends:
                block = buffer[: min(step, size - number * step)]
                stream.into(block)
                blocks.append(block)
            yield blocks[0], blocks[1]


def _same_bytes(one: FoundDumps, other: FoundDumps) -> bool:
    """Whether two tensors of one dtype and shape have the same bytes: what is equal needs no statistics."""
    import numpy as np

    for mine, theirs in _blocks(one, other, _CHUNK):
        whole = mine.size & ~7
        if not np.array_equal(mine[:whole].view(np.uint64), theirs[:whole].view(np.uint64)):
            return False
        if not np.array_equal(mine[whole:], theirs[whole:]):
            return False
    return True


def _measured_wide(mine: Any, theirs: Any) -> Dict[str, Any]:
    """Of any type, and of any size of values, in float64."""
    import numpy as np

    wide = np.complex128 if mine.dtype.kind == "c" or theirs.dtype.kind == "c" else np.float64
    a, b = mine.astype(wide).ravel(), theirs.astype(wide).ravel()
    fine_a, fine_b = np.isfinite(a), np.isfinite(b)
    if not np.array_equal(fine_a, fine_b):
        return {"same": False, **_nothing(), "finite": False}
    a, b = a[fine_a], b[fine_a]
    gap = float(np.max(np.abs(a - b))) if a.size else 0.0
    scale = max(float(np.max(np.abs(a))), float(np.max(np.abs(b)))) if a.size else 0.0
    a, b = (a / scale, b / scale) if scale else (a, b)  # squares of large values are none
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    product = np.vdot(a, b)
    product = abs(product) if wide is np.complex128 else product
    cosine = float(product / norms) if norms else (1.0 if gap == 0 else 0.0)
    return {
        "same": False, "cosine": min(cosine, 1.0), "max_abs": gap, "relative": gap / scale if scale else 0.0,
        "ulp": _ulp(mine, theirs), "finite": True,
    }  # fmt: skip


def _single(block: Any, dtype: str) -> Any:
    """The values of a block of bytes as float32, which has all those of the types of :data:`_REAL`."""
    import numpy as np

    if dtype == "bfloat16":
        return (block.view("<u2").astype(np.uint32) << 16).view(np.float32)
    values = block.view(BY_NAME[dtype].numpy)
    return values if dtype == "float32" else values.astype(np.float32)


def _measured_fast(one: FoundDumps, other: FoundDumps) -> Optional[Dict[str, Any]]:
    """The same in few passes over memory, in float32; None where something is not finite, or its square is not."""
    import numpy as np

    squares, others, products, gap, scale = 0.0, 0.0, 0.0, 0.0, 0.0
    rest = np.empty(_CHUNK, np.float32)
    for mine, theirs in _blocks(one, other, _CHUNK):
        a, b = _single(mine, one.tensor.dtype), _single(theirs, other.tensor.dtype)
        difference = rest[: a.size]
        with np.errstate(over="ignore", invalid="ignore"):
            squares, others = squares + float(np.dot(a, a)), others + float(np.dot(b, b))
            products += float(np.dot(a, b))
            if not np.isfinite(squares + others):
                return None
            np.abs(np.subtract(a, b, out=difference), out=difference)
        gap = max(gap, float(np.max(difference)))
        scale = max(scale, float(a.max()), -float(a.min()), float(b.max()), -float(b.min()))
    if min(squares, others) < _TINY:
        return None  # squares of small values are none either
    small = one.tensor.size <= _CHUNK * BY_NAME[one.tensor.dtype].size
    return {
        "same": False, "cosine": max(-1.0, min(1.0, products / (squares * others) ** 0.5)), "max_abs": gap,
        "relative": gap / scale, "ulp": _ulp(array(one), array(other)) if small else None, "finite": True,
    }  # fmt: skip


def _ulp(mine: Any, theirs: Any) -> Optional[int]:
    """The largest number of floats between two values; None where the types are not the same float."""
    import numpy as np

    whole = {"float16": np.int16, "float32": np.int32, "float64": np.int64}.get(mine.dtype.name)
    if whole is None or mine.dtype != theirs.dtype:
        return None
    least = np.iinfo(whole).min
    ranks = []
    for values in (mine, theirs):
        bits = np.ascontiguousarray(values).view(whole).astype(object if whole is np.int64 else np.int64)
        ranks.append(np.where(bits < 0, int(least) - bits, bits))
    fine = np.isfinite(mine) & np.isfinite(theirs)
    return int(np.max(np.abs(ranks[0] - ranks[1])[fine])) if fine.any() else None


DUMP = kind(FolderKind("dump", "{op type}.{op name}.{task}.{stream}.{time}", _find, _look, _compare, LIMITS))
