"""How far the model was from published times of training, by class of network: what a step's time is worth."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from npu_reference.compiler import Compiled

__all__ = ["KNOWN", "Error", "error_of"]


class Error(NamedTuple):
    """Published steps of so many networks took between ``least`` and ``most`` times as long as the model's."""

    nets: int
    least: float
    most: float


#: By class, as benchmarks/device_model.py finds them on Ascend 910 (the rows of docs/device.md that are counted).
KNOWN: Dict[str, Error] = {
    "dense": Error(8, 0.86, 1.81),
    "depthwise": Error(7, 0.66, 1.53),
    "transformer": Error(2, 1.05, 1.07),
}


def error_of(compiled: Compiled) -> Optional[Dict[str, Any]]:
    """The error of a step's class; None for a step that trains nothing, or is like no network that is known."""
    kernels = compiled.lowered.kernels
    if not any("Apply" in kernel.op for kernel in kernels):
        return None
    found = _class_of(tuple(kernel.op for kernel in kernels if kernel.engine == "cube"))
    return None if found is None else {"class": found, **KNOWN[found]._asdict()}


def _class_of(ops: Tuple[str, ...]) -> Optional[str]:
    if any(op.startswith("Depthwise") for op in ops):
        return "depthwise"
    if any(op.startswith("Conv2D") for op in ops):
        return "dense"
    return "transformer" if any(op.startswith("BatchMatMul") for op in ops) else None
