"""The graph with every operator's place written into its attributes, for viewers of GraphDefs."""

from __future__ import annotations

from typing import Any

from npu_reference.partition.model import HostNode, Partition

__all__ = ["DEVICE", "HOST", "annotate"]

#: Devices written to the operators: viewers colour by them. Not for running: TensorFlow knows no device NPU.
DEVICE = "/device:NPU:0"
HOST = "/device:CPU:0"


def annotate(partition: Partition) -> Any:
    """The graph that was partitioned as a GraphDef, its places as attributes.

    Every operator of a GEOP has `_geop` and `_XlaCluster` with the GEOP's name (TensorBoard colours by the latter) and
    the device :data:`DEVICE`. Every operator of the host has `_host_reason`, `_host_witness` and `_host_remedy`, and
    the device :data:`HOST`. A device given before is kept in `_given_device`. Copies of constants and variables are
    listed in `_copied_to` of their original. O(nodes).
    """
    result = partition.graph.to_def()
    entries = {entry.node: entry for entry in partition.host}
    names = [geop.name.encode("utf-8") for geop in partition.geops]
    for node, home in zip(result.node, partition.assignment):
        if node.device:
            node.attr["_given_device"].s = node.device.encode("utf-8")
        if home >= 0:
            node.device = DEVICE
            node.attr["_geop"].s = names[home]
            node.attr["_XlaCluster"].s = names[home]
        else:
            node.device = HOST
            _explain(node.attr, entries[node.name])
    for geop in partition.geops:
        for copy in geop.copies:
            result.node[copy.node].attr["_copied_to"].list.s.append(geop.name.encode("utf-8"))
    return result


def _explain(attrs: Any, entry: HostNode) -> None:
    attrs["_host_reason"].s = entry.reason.value.encode("ascii")
    witness = " <- ".join(f"{step.node}: {step.why}" for step in entry.witness)
    attrs["_host_witness"].s = witness.encode("utf-8")
    attrs["_host_remedy"].s = entry.remedy.encode("utf-8")
