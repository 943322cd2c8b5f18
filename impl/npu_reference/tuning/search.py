"""The search: better tiles for products of matrices, on the same model that says what a kernel costs."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from npu_reference.compiler import Compiled
from npu_reference.compiler.kernels import Gemm
from npu_reference.compiler.tiles import Tile, search, tile
from npu_reference.tuning.plan import TuningPlan

__all__ = ["Tuned", "tiles_of", "tune"]


class Tuned(NamedTuple):
    """One product of matrices after tuning.

    Attributes:
        gemm: the product; tile: the best that was found; was: the compiler's own.
        operators: kernels that compute it, by name.
        before, after: nanoseconds of the cubes, or of the shared cache where that takes longer.
    """

    gemm: Gemm
    tile: Tile
    was: Tile
    operators: Tuple[str, ...]
    before: float
    after: float

    @property
    def better(self) -> bool:
        return self.after < self.before

    def to_json(self) -> Dict[str, Any]:
        return {
            "operators": list(self.operators),
            "product": self.gemm._asdict(),
            "tile": list(self.tile),
            "tile_before": list(self.was),
            "ns_before": round(self.before),
            "ns": round(self.after),
        }


def tune(steps: Iterable[Compiled], plan: TuningPlan) -> List[Tuned]:
    """The kernels of some steps that are tuned, in the order in which they first appear.

    Subgraphs and splits of gradients have no other form in this model, so modes 1 and 4 find nothing better.
    """
    if plan.mode != "2":
        return []
    found: Dict[Gemm, List[str]] = {}
    small: Dict[Gemm, Tuple[Any, bool]] = {}
    for compiled in steps:
        for kernel in compiled.fused.kernels:
            if kernel.gemm is not None and kernel.engine == "cube" and plan.takes(kernel):
                found.setdefault(kernel.gemm, []).append(kernel.node)
                small[kernel.gemm] = (compiled.device, compiled.settings.small_channel)
    tuned = []
    for gemm, operators in found.items():
        device, channel = small[gemm]
        own = tile(gemm, device, small_channel=channel)
        best = search(gemm, device, fine=plan.fine, small_channel=channel)
        before, after = (max(one.compute, one.read / device.l2_bytes_per_ns) for one in (own, best))
        tuned.append(Tuned(gemm, best.tile, own.tile, tuple(dict.fromkeys(operators)), before, after))
    return tuned


def tiles_of(tuned: Sequence[Tuned]) -> Mapping[Gemm, Tile]:
    """The tiles that are better than the compiler's own."""
    return {one.gemm: one.tile for one in tuned if one.better}
