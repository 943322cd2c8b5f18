"""What a kernel costs on a device: nanoseconds, and the bytes it moves."""

from __future__ import annotations

import math
from typing import Iterable, List, NamedTuple

from npu_reference.compiler.inserting import ACCUMULATES, TRANSDATA
from npu_reference.compiler.kernels import GETNEXT, Kernel, KernelTensor
from npu_reference.compiler.tiles import cost_of, tile
from npu_reference.hardware import Device
from npu_reference.options.typed import CompilerSettings
from npu_reference.precision.flops import CUBE_OPERATORS

__all__ = ["Cost", "cost", "has_rule"]


class Cost(NamedTuple):
    """Nanoseconds on the engine, nanoseconds of launch before, what bounds it, and bytes by where they move.

    bound: ``compute``, ``memory``, ``cache``, ``latency`` or ``link``. workspace: bytes that the kernel needs while it
    runs.
    """

    duration: int
    launch: int
    bound: str
    hbm_read: int
    hbm_write: int
    l2_read: int
    operations: int
    workspace: int = 0


#: Passes of the vector unit over its operands (assumed): one for arithmetic, more where a function is approximated.
_PASSES = {
    "Exp": 8, "Log": 10, "Log1p": 10, "Expm1": 8, "Tanh": 12, "Sigmoid": 10, "Erf": 16, "Pow": 16, "Sin": 14,
    "Cos": 14, "Sqrt": 4, "Rsqrt": 4, "Div": 4, "RealDiv": 4, "Softmax": 14, "LogSoftmax": 14, "Softplus": 14,
    "FusedBatchNorm": 6, "FusedBatchNormV2": 6, "FusedBatchNormV3": 6, "FusedBatchNormGrad": 8,
    "FusedBatchNormGradV2": 8, "FusedBatchNormGradV3": 8, "LayerNorm": 8, "ApplyAdam": 10, "ResourceApplyAdam": 10,
    TRANSDATA: 2,
}  # fmt: skip

#: What modes and options make of a kernel's time (assumed; the documents give the direction only).
_HIGH_PRECISION = 1.5  # session.op_select_implmode.high_performance is the faster one
_SUPER = 0.8  # runconfig.op_precision_mode.super_performance: "ultra-high performance"
_KEEP_FLOAT16 = 0.9  # keep_fp16: no conversions inside the kernel
_BOUND_CHECK = 1.1  # support_out_of_bound_index
_DETERMINISTIC = 1.25  # runconfig.deterministic.perf: "slower"
_DEBUG = {1: 1.2, 2: 2.0, 4: 1.0}  # session.op_debug_level.perf: levels 1 and 2 lower performance
_MODES = {
    "high_precision": _HIGH_PRECISION, "support_out_of_bound_index": _BOUND_CHECK, "super_performance": _SUPER,
    "keep_fp16": _KEEP_FLOAT16,
}  # fmt: skip
_ROW_NS = 200  # of each row of a table, which cores take one by one (assumed, a latency; seeing Wide&Deep)
_TILING_NS = 5000  # a kernel of unknown shape finds its tile when it is launched


def has_rule(op: str) -> bool:
    """Whether an operator of the vector unit has passes of its own, not the one of the general rule."""
    return op in _PASSES


def cost(
    kernel: Kernel,
    tensors: Iterable[KernelTensor],
    near: int,
    device: Device,
    settings: CompilerSettings,
    stays: int = 0,
) -> Cost:
    """The cost of one kernel, of all its turns together.

    Args:
        tensors: what it reads, then what it writes.
        near: bytes of what it reads that the shared cache still holds; stays: of what it writes, those that are read
            from there and never written to device memory.
    """
    once = _once(kernel, list(tensors), near, device, settings, stays)
    if kernel.turns == 1:
        return once
    times = kernel.turns
    return Cost(
        once.duration * times, once.launch * times, once.bound, once.hbm_read * times, once.hbm_write * times,
        once.l2_read * times, once.operations * times, once.workspace,
    )  # fmt: skip


def _once(
    kernel: Kernel, places: List[KernelTensor], near: int, device: Device, settings: CompilerSettings, stays: int
) -> Cost:
    """The cost of one turn."""
    reads, writes = places[: len(kernel.reads)], places[len(kernel.reads) :]
    read = max(sum(tensor.bytes for tensor in reads) - kernel.unread, 0)
    written = max(sum(tensor.bytes for tensor in writes) - kernel.unwritten, 0)
    if kernel.type == GETNEXT:  # hands on what lies in the queue; launched like any kernel (assumed)
        return Cost(0, _whole(device.kernel_launch * 1000), "latency", 0, 0, 0, 0)
    if kernel.engine == "aicpu":
        duration = (read + written) / device.aicpu_rate  # GB/s are bytes a nanosecond
        launch = device.aicpu_launch * 1000
        bound = "latency" if launch > duration else "compute"
        return Cost(_whole(duration), _whole(launch), bound, read, written, 0, 0)
    near, stays = (min(near, read), min(stays, written)) if settings.l2 else (0, 0)
    written -= stays
    if kernel.again:
        read += kernel.again
        near += kernel.again if settings.l2 and kernel.again <= device.l2 else 0
    memory = (read - near) / device.hbm_bytes_per_ns + written / device.hbm_write_bytes_per_ns
    into = max(device.l2_write_bytes_per_ns, device.hbm_write_bytes_per_ns)
    cache = max(read / device.l2_bytes_per_ns, stays / into)
    operations = kernel.elements * max(len(kernel.members), 1)
    compute, workspace = 0.0, 0
    if kernel.gemm is not None:
        known = settings.tiles.get(kernel.gemm)
        if known is None:
            tiling = tile(kernel.gemm, device, small_channel=settings.small_channel)
        else:
            tiling = cost_of(known, kernel.gemm, device, small_channel=settings.small_channel)
        compute = tiling.compute
        cache = max(cache, tiling.read / device.l2_bytes_per_ns)
        operations = kernel.gemm.operations
        if tiling.parts > 1:  # float32 sums of every part
            workspace = tiling.parts * kernel.gemm.batch * kernel.gemm.m * kernel.gemm.n * 4
    passes = sum(_PASSES.get(op, 1) for op in kernel.ops if op not in CUBE_OPERATORS)
    lanes = device.vector_bytes / kernel.width * device.ai_core
    vector = math.ceil(kernel.elements / lanes) * passes / device.clock * 1000
    compute = max(compute, vector)  # the vector unit works on one tile while the cube makes the next
    rows = math.ceil(kernel.rows / device.ai_core) * _ROW_NS
    longest, name = max((compute, "compute"), (memory, "memory"), (cache, "cache"), (rows, "latency"))
    longest *= _factor(kernel, settings)
    launch = (device.kernel_launch * 1000 + (_TILING_NS if settings.dynamic else 0)) * (1 + kernel.more)
    name = name if longest >= launch else "latency"
    return Cost(_whole(longest), _whole(launch), name, read - near, written, near, operations, workspace)


def _factor(kernel: Kernel, settings: CompilerSettings) -> float:
    factor = _DEBUG.get(settings.debug_level, 1.0) * _MODES.get(kernel.impl_mode or "", 1.0)
    if settings.deterministic and any(op in ACCUMULATES for op in kernel.ops):
        factor *= _DETERMINISTIC
    return factor


def _whole(nanoseconds: float) -> int:
    return math.ceil(nanoseconds)
