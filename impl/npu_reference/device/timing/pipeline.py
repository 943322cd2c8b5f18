"""Whether a step waits for its input pipeline: what a dataset on the host has to give, against an assumed rate."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional

from npu_reference.compiler import Compiled
from npu_reference.compiler.kernels import GETNEXT_OPERATORS
from npu_reference.partition import Partition

__all__ = ["pipeline_of"]

#: Bytes a nanosecond that a host makes ready for a device (assumed of all data): networks that are published as slower
#: than the device end at 12,500 images of 224x224x3 float32 a second of eight devices.
_RATE = 0.94

#: What a host operator gives that no pipeline makes: what is fed, and variables.
_OTHERS = ("_Arg", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "ReadVariableOp", "VariableV2", "Variable")


def pipeline_of(partition: Partition, compiled: Compiled, step: int) -> Optional[Dict[str, Any]]:
    """Bytes of the dataset for a step, the nanoseconds that the host takes for them, and whether the step is likely
    bound by that, in a sentence; None for a step without a dataset. The host itself is not timed.
    """
    graph, lowered = partition.graph, compiled.fused
    sources = [partition.assignment[node.id] for node in graph.nodes if node.op in GETNEXT_OPERATORS]
    if not sources:
        return None
    places = {place for each in (*lowered.queues, *lowered.datasets) for place in each}
    if min(sources) < 0:  # other operators on the host may stand between the dataset and the device
        for place in (place for each in lowered.inputs for place in each):
            node = graph.index.get(lowered.tensors[place].name.rpartition(":")[0])
            if node is not None and graph.nodes[node].op not in _OTHERS:
                places.add(place)
    size = sum(lowered.tensors[place].bytes for place in places)
    host, says = math.ceil(size / _RATE), ""
    if host > step:
        says = (
            f"likely bound by its input pipeline: a step takes {size:,} bytes of a dataset, for which the host, "
            f"which is not timed, takes {host / 1e6:,.2f} ms at {_RATE} GB/s (assumed)"
        )
    return {"bytes": size, "host_ns": host, "likely": host > step, "says": says}
