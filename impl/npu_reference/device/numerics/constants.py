"""What a constant becomes when the device converts it to float16, once, before anything runs."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from npu_reference.device.numerics.gates import Gates
from npu_reference.device.numerics.status import FLOAT16_MAX, saturate

__all__ = ["round_constant", "to_float16_grid"]


def to_float16_grid(values: Any) -> Any:
    """Values as the device's conversion to float16 leaves them, in a float32 array: saturated, NaN to 0."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, np.float32).astype(np.float16).astype(np.float32)
    return saturate(rounded, FLOAT16_MAX)


def round_constant(node: Any, gates: Gates, name: str) -> str:
    """Add a Const like ``node`` that holds float16 values; no flag is raised, for no run computes it (assumed)."""
    tensor_util = importlib.import_module("tensorflow.python.framework.tensor_util")
    values = to_float16_grid(tensor_util.MakeNdarray(node.attr["value"].tensor))
    made = gates.add("Const", name, [text for text in node.input if text.startswith("^")], {"dtype": 1})
    made.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(values, shape=values.shape))
    return f"{made.name}:output:0"
