"""The whole way from a partition to tasks, each stage a value of its own with what must hold of it."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.compiler.arranging import arranged
from npu_reference.compiler.collectives import Exchange, Network
from npu_reference.compiler.costs import Cost
from npu_reference.compiler.functions import Branch
from npu_reference.compiler.fusion import FusionCount, fuse
from npu_reference.compiler.inserting import cleared, laid_out
from npu_reference.compiler.kernels import KernelTensor, Lowered
from npu_reference.compiler.lowering.lower import lower
from npu_reference.compiler.lowering.unfolding import unfold
from npu_reference.compiler.scopes import fuse_scopes
from npu_reference.compiler.tasks import Transfer, costs_of, exchanges_of, transfers_of
from npu_reference.errors import NpuError
from npu_reference.hardware import Device
from npu_reference.options.typed import CompilerSettings
from npu_reference.partition import Partition
from npu_reference.precision import Assignment

__all__ = ["Compiled", "compile_graph"]


class Compiled(NamedTuple):
    """What compilation gives.

    Attributes:
        device, settings: what it was compiled for.
        lowered: kernels before fusion; fused: after it.
        fusion: what every fusion pass found.
        costs: of every fused kernel.
        transfers: copies between host and device in one step.
        network: the ranks that run the graph together, None for one alone.
        exchanges: how its collectives go over the links, by number of the fused kernel.
    """

    device: Device
    settings: CompilerSettings
    lowered: Lowered
    fused: Lowered
    fusion: Tuple[FusionCount, ...]
    costs: Tuple[Cost, ...]
    transfers: Tuple[Transfer, ...]
    network: Optional[Network] = None
    exchanges: Mapping[int, Exchange] = {}

    def to_json(self) -> Dict[str, Any]:
        """Counts of every stage, for people who compare them."""
        return {
            "device": self.device.to_json(),
            "kernels": len(self.lowered.kernels),
            "fused_kernels": len(self.fused.kernels),
            "fusion": [count.to_json() for count in self.fusion],
            "transfers": [transfer._asdict() for transfer in self.transfers],
        }


def compile_graph(
    partition: Partition,
    assignment: Assignment,
    device: Device,
    settings: CompilerSettings,
    shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
    *,
    network: Optional[Network] = None,
) -> Compiled:
    """Compile a partition for a device.

    Args:
        network: the ranks that run it together; None for one alone.

    Raises:
        NpuError: DEVICE_SIZES, DEVICE_MODEL; INTERNAL where a stage broke what must hold.
    """
    unfolded = unfold(partition, shapes)
    content = settings.external_weights
    lowered = lower(unfolded, assignment, content=content)
    _check(lowered, "lowering")
    taken = _dearest(lowered, costs_of(lowered, device, settings))
    if taken:
        lowered = lower(unfolded, assignment, taken=taken, content=content)
        _check(lowered, "lowering")
    lowered = laid_out(lowered, settings)
    _check(lowered, "layout")
    scoped, scopes = fuse_scopes(lowered, settings)
    fused, counts = fuse(scoped, settings)
    _check(fused, "fusion")
    _check_nothing_lost(lowered, fused)
    sizes = [tensor.bytes for tensor in fused.tensors]
    fused = fused._replace(kernels=tuple(arranged(fused.kernels, sizes, settings, network)))
    _check(fused, "the arrangement of collectives")
    _check_nothing_lost(lowered, fused)
    fused = cleared(lowered, fused, settings)
    _check(fused, "clearing")
    exchanges = exchanges_of(fused, network)
    costs = costs_of(fused, device, settings, exchanges)
    fused = _with_workspaces(fused, costs)
    transfers = transfers_of(fused, settings)
    return Compiled(device, settings, lowered, fused, (*scopes, *counts), costs, transfers, network, exchanges)


def _with_workspaces(fused: Lowered, costs: Sequence[Cost]) -> Lowered:
    """Kernels with a place for what they need only while they run."""
    tensors, kernels = list(fused.tensors), list(fused.kernels)
    for number, price in enumerate(costs):
        if price.workspace:
            kernels[number] = kernels[number]._replace(scratch=(len(tensors),))
            tensors.append(KernelTensor(f"{kernels[number].node}/workspace", price.workspace, "activation"))
    return fused._replace(tensors=tuple(tensors), kernels=tuple(kernels))


def _dearest(lowered: Lowered, costs: Sequence[Cost]) -> Dict[str, int]:
    """By conditional, the branch whose kernels take longest, the first of equal ones; inner conditionals before the
    outer ones, so that a branch is worth what it takes at most."""
    prices: Dict[Tuple[Branch, ...], int] = {}
    sides: Dict[str, Dict[int, None]] = {}
    for kernel, price in zip(lowered.kernels, costs):
        for end in range(1, len(kernel.branches) + 1):
            prices.setdefault(kernel.branches[:end], 0)
        for name, side in kernel.branches:
            sides.setdefault(name, {}).setdefault(side)
        if kernel.branches:
            prices[kernel.branches] += price.duration + price.launch
    taken: Dict[str, int] = {}
    for path in sorted(prices, key=lambda one: (-len(one), one)):
        around, (name, side) = path[:-1], path[-1]
        rivals = [prices.get((*around, (name, other)), 0) for other in sides[name]]
        if prices[path] == max(rivals):
            if name not in taken or prices[path] > prices.get((*around, (name, taken[name])), 0):
                taken[name] = side
            if around and taken[name] == side:
                prices[around] += prices[path]
    return taken


def _check(lowered: Lowered, stage: str) -> None:
    """Every kernel waits for earlier ones only, among them the writers of what it reads."""
    writer: Dict[int, int] = {}
    for number, kernel in enumerate(lowered.kernels):
        if any(before >= number for before in kernel.after):
            raise NpuError("INTERNAL", kernel.node, f"{stage} lets a kernel wait for a later one.")
        for place in kernel.reads:
            written = lowered.tensors[place].kind == "activation" and place in writer
            if written and writer[place] not in (number, *kernel.after):
                raise NpuError("INTERNAL", kernel.node, f"{stage} lets a kernel read before it is written.")
        writer.update(dict.fromkeys(kernel.writes, number))


def _check_nothing_lost(before: Lowered, after: Lowered) -> None:
    """Every operator is computed by exactly one kernel still."""
    was = [member for kernel in before.kernels for member in kernel.members]
    now = [member for kernel in after.kernels for member in kernel.members]
    if sorted(was) != sorted(now):
        raise NpuError("INTERNAL", "fusion", "an operator was lost or is computed twice.")
