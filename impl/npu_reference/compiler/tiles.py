"""How a product of matrices is cut into tiles for the cube units, and what time and traffic that makes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Iterator, List, NamedTuple, Tuple

from npu_reference.compiler.kernels import Gemm
from npu_reference.hardware import Device

__all__ = ["Tile", "Tiling", "candidates", "cost_of", "search", "tile"]


class Tile(NamedTuple):
    """Rows and columns of the result that one core makes at a time."""

    m: int
    n: int


class Tiling(NamedTuple):
    """A tile with what it costs: nanoseconds of the cubes, bytes read by all cores together, and the parts along its
    depth in which a product is made, whose sums lie in a workspace."""

    tile: Tile
    compute: float
    read: int
    parts: int = 1


def tile(gemm: Gemm, device: Device, *, small_channel: bool = False) -> Tiling:
    """The tile that the model finds best for a product; the first of equal ones."""
    return _best(_padded(gemm, device, small_channel), _Facts.of(device))


def cost_of(chosen: Tile, gemm: Gemm, device: Device, *, small_channel: bool = False) -> Tiling:
    """The cost of a given tile, as one that tuning found."""
    return _cost(chosen, _padded(gemm, device, small_channel), _Facts.of(device))


def search(gemm: Gemm, device: Device, *, fine: bool, small_channel: bool = False) -> Tiling:
    """The best tile of many more than the compiler tries: all multiples of the cube's block, or (``fine`` off) those
    whose sides are the compiler's own or halfway between two of them. Never worse than :func:`tile`.
    """
    padded, facts = _padded(gemm, device, small_channel), _Facts.of(device)
    return _searched(padded, facts, fine)


def candidates(gemm: Gemm, device: Device) -> Tuple[Tile, ...]:
    """Tiles whose result fits the cube's buffers."""
    return tuple(_tiles(gemm, _Facts.of(device)))


class _Facts(NamedTuple):
    """What of a device decides tiles; hashable, so that products that repeat are cut once."""

    cores: int
    clock: float
    cube: Tuple[int, int, int]
    l0a: int
    l0b: int
    l0c: int
    efficiency: float
    l2: float

    @classmethod
    def of(cls, device: Device) -> _Facts:
        return cls(
            int(device.ai_core), device.clock, (int(device.cube_m), int(device.cube_k), int(device.cube_n)),
            int(device.l0a), int(device.l0b), int(device.l0c), device.cube_efficiency, device.l2_bytes_per_ns,
        )  # fmt: skip


def _padded(gemm: Gemm, device: Device, small_channel: bool) -> Gemm:
    """The product with the depth that the cube really works through.

    Channels are laid out in blocks of the cube's depth, so a convolution of 3 channels computes 16; with
    enable_small_channel a layer of at most 4 channels is laid out by 4 (session.enable_small_channel.threshold).
    Groups of few channels, as each of a depthwise convolution, are worked through as many at a time as fill a block,
    with zeros between them (derived: the layout has no other form for them).
    """
    if not gemm.channels or gemm.window * gemm.channels not in (gemm.k, gemm.m):
        return gemm
    together = 1
    if gemm.batch > 1:
        together = min(gemm.batch, max(int(device.cube_k) // max(gemm.channels, gemm.n), 1))
    channels = gemm.channels * together
    block = 4 if small_channel and channels <= 4 else int(device.cube_k)
    depth = gemm.window * (-(-channels // block) * block)
    merged = gemm._replace(batch=-(-gemm.batch // together), n=gemm.n * together)
    if gemm.window * gemm.channels == gemm.k:
        return merged._replace(k=depth)
    return merged if gemm.batch == 1 else merged._replace(m=depth)


def _tiles(gemm: Gemm, facts: _Facts) -> Iterator[Tile]:
    rows, depth, columns = facts.cube
    for m in _sizes(gemm.m, rows):
        for n in _sizes(gemm.n, columns):
            left, right = m * depth * gemm.operand, n * depth * gemm.operand
            if m * n * 4 <= facts.l0c and left <= facts.l0a and right <= facts.l0b:
                yield Tile(m, n)


def _sizes(whole: int, block: int) -> Iterator[int]:
    """Multiples of the block that double, up to the whole."""
    size = block
    while size < whole:
        yield size
        size *= 2
    yield size


@lru_cache(maxsize=4096)
def _best(gemm: Gemm, facts: _Facts) -> Tiling:
    found = [_cost(one, gemm, facts) for one in _tiles(gemm, facts)]
    return min(found, key=lambda one: (max(one.compute, one.read / facts.l2), one.compute, one.read))


@lru_cache(maxsize=4096)
def _searched(gemm: Gemm, facts: _Facts, fine: bool) -> Tiling:
    rows, depth, columns = facts.cube
    sides = [_more(whole, block, fine) for whole, block in ((gemm.m, rows), (gemm.n, columns))]
    found = [_best(gemm, facts)]
    for m in sides[0]:
        for n in sides[1]:
            fits = m * n * 4 <= facts.l0c
            if fits and m * depth * gemm.operand <= facts.l0a and n * depth * gemm.operand <= facts.l0b:
                found.append(_cost(Tile(m, n), gemm, facts))
    return min(found, key=lambda one: (max(one.compute, one.read / facts.l2), one.compute, one.read, one.tile))


def _more(whole: int, block: int, fine: bool) -> List[int]:
    if fine:
        return list(range(block, min(whole + block - 1, _LARGEST_SIDE * block) // block * block + 1, block))
    own = list(_sizes(whole, block))
    between = [size + size // 2 for size in own if size // 2 % block == 0]
    return sorted({*own, *between})


#: Blocks along the side of a tile that a fine search tries: with one block across, what L0C holds (derived).
_LARGEST_SIDE = 256


def _cost(chosen: Tile, gemm: Gemm, facts: _Facts) -> Tiling:
    rows, depth, columns = facts.cube
    down, across = -(-gemm.m // chosen.m), -(-gemm.n // chosen.n)
    count = gemm.batch * down * across
    cycles = -(-chosen.m // rows) * -(-chosen.n // columns) * -(-gemm.k // depth)
    # float32 operands go through the vector units: half as many lanes, no cube (research: ND float32 MatMul).
    cycles *= 1 if gemm.operand <= 2 else _FLOAT32_SLOWER
    # A product with few tiles is also cut along its depth, one part a core.
    parts = max(1, min(facts.cores // count, -(-gemm.k // depth))) if count < facts.cores else 1
    turns = math.ceil(count * parts / facts.cores)
    compute = turns * math.ceil(cycles / parts) / facts.clock * 1000 / facts.efficiency * _slower(gemm)
    # The elements of a window lie side by side: what surrounds an element is read with it and unfolded on the core.
    left = gemm.m * gemm.k // max(gemm.window, 1)
    read = gemm.batch * (left * across + gemm.k * gemm.n * down) * gemm.operand
    return Tiling(chosen, compute, read, parts)


def _slower(gemm: Gemm) -> float:
    """How many times longer than a plain product of matrices a convolution takes.

    Windows are unfolded on their way to the cube, as fast as it computes, so that going forward is no slower (derived:
    512 B a cycle from L1). Gradients turn filters around, put zeros between elements, and add up in float32.
    """
    if not gemm.channels:
        return 1.0
    if gemm.channels == 1 and gemm.batch > 1:
        return _DEPTHWISE[gemm.gradient > 0]
    return _GRADIENT if gemm.gradient else 1.0


#: Gradients of convolutions; depthwise convolutions, and gradients of those. Calibrated together, on the published
#: rates that benchmarks/published_times.csv marks as ``anchor``; docs/device.md says how well they do on others.
_GRADIENT, _DEPTHWISE = 3.4, (8.0, 40.0)

#: Cycles of the vector unit for one cycle of the cube: 4096 products against 64 (derived: 16*16*16, 256 B of float32).
_FLOAT32_SLOWER = 64
