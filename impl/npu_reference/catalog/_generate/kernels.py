"""Writes data/kernels.csv: engines, kernel columns, flags and modes of operators, from a catalogue of operator facts.

Usage: python -m npu_reference.catalog._generate.kernels CATALOGUE.csv
"""

from __future__ import annotations

import csv
import os
import sys
from itertools import product
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from npu_reference.graphs.ops import OPS, ArgDef, OpDef

_OUTPUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "kernels.csv")
_ENGINES = {"ge_local": "local"}
_INTEGERS = ("int32", "int64")
_INTEGER_NUMBERS = (3, 5, 9)  # DT_INT32, DT_INT16, DT_INT64
_FLAGS = {"true": "trustlist", "false": "blocklist", "unset": "graylist"}

#: Scalars of optimizer operators that are attributes of the kernel, the first to leave first (by count of inputs;
#: `assumed` where several could, which changes nothing: all tensors of these kernels have one type).
_ATTRIBUTES = ("epsilon", "momentum", "rho", "beta1", "beta2", "lr_power", "l2_shrinkage", "l2", "l1", "lr")

#: Kernels whose tensors stand in another order: DynamicRNN has x, w, b, seq_length, init_h, init_c, wci, wcf, wco and
#: gives y, output_h, output_c, i, j, f, o, tanhc.
#: Concat has its tensors before concat_dim.
_BY_HAND = {
    "BlockLSTM": ((-1, 0, 5, 4, 1, 6, 7, 8, 2), (3, 2, 5, 6, 4, 7, 1)),
    "Concat": ((1, 0), (0,)),
    "DynamicRnnV2": ((0, 1, 2, 4, 5), (0, 1, 2, 3, 4, 5, 6, 7)),
}

#: Operators that a pass of the graph compiler rewrites before dtypes are judged: the operator whose kernel computes
#: them then, and where their arguments stand in its columns (research 2.5: EinsumPass; OneHot before the loss).
_REWRITTEN = {
    "Einsum": ("BatchMatMulV2", (0,), (0,)),
    "SparseSoftmaxCrossEntropyWithLogits": ("SoftmaxCrossEntropyWithLogits", (0, -1), (0, 1)),
}

_JOINED = ("f32", "f16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b")


class _After(NamedTuple):
    """A kernel of graph fusion with columns of its own: what it drops, and where the columns are from."""

    kernel: str
    drops: Tuple[int, ...]
    columns: Tuple[str, ...]
    source: str


#: Operators whose kernel after fusion takes other dtypes than the one before (the catalogue has columns of one only):
#: passes ConcatExt2 and Concat move a constant axis, TopK a constant k into an attribute. TopKD is float16 alone on
#: this chip (research 2.3). None of the three has a flag.
_FUSED = {
    "Concat": _After("ConcatD", (0,), tuple(f"{name}>{name}" for name in _JOINED), "ConcatD:op_select_format"),
    "ConcatV2": _After("ConcatV2D", (1,), tuple(f"{name}>{name}" for name in _JOINED), "ConcatV2D:op_select_format"),
    "TopKV2": _After("TopKD", (1,), ("f16>f16,i32",), "TopKD:canndev2022"),
}

#: Kernels of which the catalogue names only the first columns and their number: what the others are.
_SHORTENED = {
    "ConfusionMatrix": [
        f"{label},{label},{weight}>{weight}" for label, weight in product(("f16", "f32", "i32", "i8", "u8"), repeat=2)
    ],
    "GatherV2": [
        f"{held},{ids},{axis}>{held}"
        for axis, ids, held in product(
            ("i32", "i64"), ("i32", "i64"), ("f16", "f32", "i8", "u8", "i32", "u32", "i16", "u16", "i64", "u64", "b")
        )
    ],
}

#: Operators that the catalogue of facts lacks, and document 003 names (§ op_debug_config): each multiplies matrices and
#: exchanges with other devices in one kernel. Engine and columns are assumed.
_MC2 = {
    "AllGatherMatMul": (2, 1),
    "AlltoAllAllGatherBatchMatMul": (2, 1),
    "BatchMatMulReduceScatterAlltoAll": (2, 1),
    "MatMulAllReduce": (2, 1),
    "MatMulAllReduceAddRmsNorm": (4, 2),
    "MatMulReduceScatter": (2, 1),
}

_HEADER = ["op", "kernel", "engine", "columns", "in", "out", "aicpu", "flag", "modes"]
_HEADER += ["fused", "fused_flag", "drops", "fp16", "source"]


def main(catalogue: str) -> None:
    with open(catalogue, encoding="utf-8", newline="") as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: row["tf_op"])
    with open(_OUTPUT, "w", encoding="ascii", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(_HEADER)
        by_op = {row["tf_op"]: row for row in rows}
        lines = [_rewritten(row, by_op) if row["tf_op"] in _REWRITTEN else _line(row) for row in rows]
        lines += [_mc2(op, *counts) for op, counts in _MC2.items() if op not in by_op]
        out.writerows(sorted(lines))


def _mc2(op: str, inputs: int, outputs: int) -> List[str]:
    columns = ";".join(f"{','.join([name] * inputs)}>{','.join([name] * outputs)}" for name in ("f16", "f32"))
    takes = [" ".join(str(number) for number in range(count)) for count in (inputs, outputs)]
    return [op, op, "vector", columns, *takes, "", "graylist", "", "", "", "", "", "003 op_debug_config (assumed)"]


def _line(row: Dict[str, str]) -> List[str]:
    op, columns, aicpu = row["tf_op"], _columns(row), row["aicpu_dtypes(first tensor)"]
    takes, drops = _alignment(op, columns)
    fused, flag, source = row["const2attr_variant"], row["precision_reduce_variant"], row["source"]
    after = _FUSED.get(op)
    if after is not None:
        fused, flag, drops = f"{after.kernel}:{';'.join(after.columns)}", "unset", after.drops
        source = f"{source}; {after.source}"
    return [
        op,
        row["ge_op"],
        _ENGINES.get(row["engine_kind"], row["engine_kind"]),
        ";".join(columns),
        _numbers(takes[0]),
        _numbers(takes[1]),
        f"{row['aicpu_lib']}:{aicpu}" if row["aicpu_lib"] else "",
        _FLAGS.get(row["precision_reduce"], ""),
        row["impl_modes"],
        fused,
        _FLAGS.get(flag, "") if fused else "",
        _numbers(drops) if fused else "",
        row["in_fp16_priority_list"],
        source.replace("; ", " | "),
    ]


def _rewritten(row: Dict[str, str], by_op: Dict[str, Dict[str, str]]) -> List[str]:
    """The line of an operator with the kernel of another; its own kernels of the AI CPU stay its own."""
    other, takes_in, takes_out = _REWRITTEN[row["tf_op"]]
    own, line = dict(zip(_HEADER, _line(row))), dict(zip(_HEADER, _line(by_op[other])))
    line.update(op=own["op"], aicpu=own["aicpu"], source=f"{own['source']} | as {other}: {line['source']}")
    line["in"], line["out"] = _numbers(takes_in), _numbers(takes_out)
    return [line[key] for key in _HEADER]


def _columns(row: Dict[str, str]) -> List[str]:
    """The columns; a long list of them ends with a remark on how many there are.

    Raises:
        ValueError: such a list, and nothing says how it goes on.
    """
    pieces = [piece.strip().replace(" ", "") for piece in row["aicore_kernel_columns(in>out)"].split(";")]
    named = [piece for piece in pieces if ">" in piece]
    remark = [piece for piece in pieces if piece and ">" not in piece]
    if not remark:
        return named
    whole = _SHORTENED.get(row["tf_op"], [])
    if whole[: len(named)] != named or f"({len(whole)}cols)" not in remark[0]:
        raise ValueError(f"{row['tf_op']}: the columns are shortened ({remark[0]}), and nothing says how they go on")
    return whole


def _numbers(values: Sequence[int]) -> str:
    return " ".join(str(value) for value in values)


def _alignment(op: str, columns: Sequence[str]) -> Tuple[Tuple[Tuple[int, ...], Tuple[int, ...]], Tuple[int, ...]]:
    """Positions in a column by TensorFlow argument, and the arguments the kernel has as attributes."""
    op_def: Optional[OpDef] = OPS.get(op)
    if op_def is None or not columns:
        return ((), ()), ()
    if op in _BY_HAND:
        return _BY_HAND[op], ()
    inputs, _, outputs = columns[0].partition(">")
    excess = len(op_def.inputs) - len(inputs.split(","))
    scalars = _scalars(op_def, excess)
    drops = tuple(_integers(op_def)[-excess:]) if excess > 0 and not scalars else ()
    if excess > len(drops) + len(scalars):
        return ((), ()), ()
    takes, position = [], 0
    for k in range(len(op_def.inputs)):
        if k in drops or k in scalars:
            takes.append(-1 if k in drops else 0)
        else:
            takes.append(position)
            position += 1
    width = len(outputs.split(","))
    return (tuple(takes), tuple(k if k < width else -1 for k in range(len(op_def.outputs)))), drops


def _integers(op_def: OpDef) -> List[int]:
    return [k for k, arg in enumerate(op_def.inputs) if _is_integer(op_def, arg)]


def _is_integer(op_def: OpDef, arg: ArgDef) -> bool:
    if arg.dtype is not None:
        return arg.dtype.name in _INTEGERS
    attr = op_def.attrs.get(arg.type_attr)
    allowed = attr.allowed if attr is not None else None
    return allowed is not None and all(number in _INTEGER_NUMBERS for number in allowed.list.type)


def _scalars(op_def: OpDef, count: int) -> Tuple[int, ...]:
    names = [arg.name for arg in op_def.inputs]
    if "grad" not in names:
        return ()
    return tuple(names.index(name) for name in _ATTRIBUTES if name in names)[: max(count, 0)]


if __name__ == "__main__":
    main(sys.argv[1])
