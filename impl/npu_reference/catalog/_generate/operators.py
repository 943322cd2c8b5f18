"""Writes data/operators.csv: which TensorFlow operators the device has, from a catalogue of operator facts.

Usage: python -m npu_reference.catalog._generate.operators CATALOGUE.csv
"""

from __future__ import annotations

import csv
import os
import sys

from npu_reference.graphs.ops import OPS

#: Operators that talk to the outside world: on the host in mixed computing (M1).
_HOST_IO = {"Print", "PrintV2", "Timestamp", "RecordInput"}
_OUTPUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "operators.csv")
_STRING, _VARIANT = 7, 21


def stays_on_host(op: str) -> bool:
    """M1: string and variant operators and host I/O are not offloaded by default.

    Resources are judged by their edges when a graph is divided.
    """
    op_def = OPS.get(op)
    if op in _HOST_IO:
        return True
    if op_def is None:
        return False
    args = [*op_def.inputs, *op_def.outputs]
    return any(arg.dtype is not None and arg.dtype.base.number in (_STRING, _VARIANT) for arg in args)


def main(catalogue: str) -> None:
    with open(catalogue, encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["in_npu_supported_ops(8.1)"] == "yes"]
    rows.sort(key=lambda row: row["tf_op"])
    with open(_OUTPUT, "w", encoding="ascii", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(["op", "gray", "heavy", "engine", "source"])
        for row in rows:
            gray = "M1" if stays_on_host(row["tf_op"]) else ""
            out.writerow([row["tf_op"], gray, "", row["engine_kind"], row["source"].split("; ")[0]])


if __name__ == "__main__":
    main(sys.argv[1])
