"""How far the model was from published times of training, by class of network: what a step's time is worth."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from npu_reference.compiler import Compiled
from npu_reference.compiler.lowering.sizes import RECURRENT

__all__ = ["KNOWN", "Error", "error_of", "of_class"]


class Error(NamedTuple):
    """Published steps of so many networks took between ``least`` and ``most`` times as long as the model's."""

    nets: int
    least: float
    most: float


#: By class, as benchmarks/device_model.py finds them (the rows of docs/device.md that are counted): training on Ascend
#: 910, inference on Ascend 310 and 310P3.
KNOWN: Dict[str, Error] = {
    "dense": Error(8, 0.88, 1.91),
    "depthwise": Error(7, 0.70, 1.65),
    "transformer": Error(2, 1.05, 1.07),
    "recurrent": Error(1, 2.36, 2.36),
    "embedding": Error(1, 1.11, 1.11),
    "dense inference": Error(11, 0.72, 1.60),
    "depthwise inference": Error(6, 0.67, 1.67),
}

#: One or two networks say nothing of others like them: then the error is that of all (assumed).
_FEW = 3


def error_of(compiled: Compiled) -> Optional[Dict[str, Any]]:
    """The error of a step's class; None for a step that is like no network that is known."""
    kernels = compiled.lowered.kernels
    found = _class_of(tuple(kernel.op for kernel in kernels if kernel.engine == "cube"))
    if found is None and any(kernel.rows for kernel in kernels):
        found = "embedding"
    if found is not None and not any("Apply" in kernel.op for kernel in kernels):
        found += " inference"
    if found not in KNOWN:
        return None
    name, error = of_class(found)
    return {"class": name, **error._asdict()}


def of_class(name: str) -> Tuple[str, Error]:
    """The error of a class that is known; of one or two networks that of all, which are called different."""
    if KNOWN[name].nets >= _FEW:
        return name, KNOWN[name]
    nets, least, most = zip(*KNOWN.values())
    return "different", Error(sum(nets), min(least), max(most))


def _class_of(ops: Tuple[str, ...]) -> Optional[str]:
    if any(op.startswith(RECURRENT) for op in ops):
        return "recurrent"
    if any(op.startswith("Depthwise") for op in ops):
        return "depthwise"
    if any(op.startswith("Conv2D") for op in ops):
        return "dense"
    return "transformer" if any(op.startswith("BatchMatMul") for op in ops) else None
