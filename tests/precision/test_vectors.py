"""The rows of dtype_vectors.csv: operator x original dtypes x mode, held against the choice of one kernel."""

from __future__ import annotations

import csv
import os
from typing import Dict, List, Tuple

import pytest

from npu_reference.catalog import Catalog, Descriptor
from npu_reference.errors import NpuError
from npu_reference.precision.kernel import KernelChoice, Question, choose
from npu_reference.precision.modes import ALLOW, FORCE16, FORCE32, KEEP, MIX, Mode

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dtype_vectors.csv")
_MODES = {
    "allow_fp32_to_fp16": ALLOW,
    "force_fp16": FORCE16,
    "cube_fp16in_fp32out": FORCE32,
    "must_keep_origin_dtype": KEEP,
    "allow_mix_precision": MIX,
}
_LISTS = {"true": "trustlist", "false": "blocklist", "unset": "graylist"}
_NAMES = {"f16": "float16", "f32": "float32"}

#: Rows the documents do not support, with the reason.
UNSUPPORTED: Dict[Tuple[str, str, str, str], str] = {
    ("Relu", "f16", "allow_mix_precision", "f32"): (
        "document 004: mixed precision only casts float32 to float16, so an operator that is float16 in the graph is "
        "not raised to float32 because its producer is (requirement precision.g.only_fp32_to_fp16)"
    ),
}


def _rows() -> List[Dict[str, str]]:
    with open(_FILE, encoding="ascii", newline="") as stream:
        return list(csv.DictReader(stream))


def _key(row: Dict[str, str]) -> Tuple[str, str, str, str]:
    return row["ge_op"], row["origin_in"], row["mode"], row["upstream_dtype(gray)"]


def _descriptor(kernel: str) -> Descriptor:
    library = Catalog.built_in()
    found = [library.get(op) for op in library]
    return next(d for d in found if d is not None and kernel in (d.ge_op, d.fused.kernel if d.fused else ""))


def _names(text: str) -> Tuple[str, ...]:
    return tuple(_NAMES[name] for name in text.split("|"))


def _choice(row: Dict[str, str]) -> KernelChoice:
    inputs, outputs = _names(row["origin_in"]), _names(row["origin_out"])
    question = Question(
        _descriptor(row["ge_op"]),
        row["ge_op"],
        _LISTS[row["list"]],
        inputs,
        outputs,
        tuple(range(len(inputs))),
        tuple(range(len(outputs))),
        (),
        row["upstream_dtype(gray)"] == "f16",
        False,
        None,
    )
    return choose(question, Mode(row["mode"], _MODES[row["mode"]], False), "vector")


@pytest.mark.parametrize("row", _rows(), ids=lambda row: "-".join(_key(row)))
def test_every_row_that_the_documents_support_agrees(row: Dict[str, str]) -> None:
    if row["chosen_in"] == "AICPU-or-error":
        try:
            choice = _choice(row)
        except NpuError as error:
            assert error.code == "PRECISION_NO_KERNEL"
        else:
            assert choice.engine == "aicpu" and choice.inputs == _names(row["origin_in"])
        return
    choice = _choice(row)
    agrees = (choice.inputs, choice.outputs) == (_names(row["chosen_in"]), _names(row["chosen_out"]))
    assert agrees is (_key(row) not in UNSUPPORTED), choice


def test_the_rows_name_the_lists_of_the_catalogue() -> None:
    for row in _rows():
        descriptor = _descriptor(row["ge_op"])
        fused = descriptor.fused
        flag = fused.flag if fused is not None and fused.kernel == row["ge_op"] else descriptor.flag
        assert flag == _LISTS[row["list"]], row["ge_op"]
        assert descriptor.fp16_priority is (row["fp16_priority"] == "yes")


def test_every_row_left_out_exists() -> None:
    assert set(UNSUPPORTED) <= {_key(row) for row in _rows()}
