"""The five groups of AI Core metrics (session.profiling_options.aic_metrics): what is known of a kernel's pipelines.

Names, order and definitions of the columns are those of the field's profiler: msprof, docs/en/user_guide/
profile_data_file_references.md, tables 2 to 7, and the formulas of its analysis/msconfig/ai_core_config.py.
"""

from __future__ import annotations

from typing import Callable, List, Mapping, NamedTuple, Sequence, Tuple

from npu_reference.compiler.costs import Cost
from npu_reference.compiler.kernels import Kernel
from npu_reference.hardware import Device

__all__ = ["GROUPS", "UNKNOWN", "columns", "values"]

#: What the model does not know.
UNKNOWN = "N/A"


class _Pipes(NamedTuple):
    """Nanoseconds that each pipeline of the cores works in one kernel."""

    total: float
    cube: float
    vector: float
    load: float  # mte2: from device memory or the shared cache
    feed: float  # mte1: into the cube's buffers
    store: float  # mte3


def _pipes(kernel: Kernel, cost: Cost, device: Device) -> _Pipes:
    total = float(cost.duration)
    cube = 0.0
    feed = 0.0
    if kernel.gemm is not None:
        rate = 2 * device.ai_core * device.cube_m * device.cube_k * device.cube_n * device.clock / 1000
        cube = cost.operations / rate
        operands = kernel.gemm.batch * (kernel.gemm.m + kernel.gemm.n) * kernel.gemm.k * kernel.gemm.operand
        feed = operands * kernel.turns / (512 * device.ai_core * device.clock / 1000)  # L1 to L0A: 512 B a cycle
    lanes = device.vector_bytes * device.ai_core * device.clock / 1000
    vector = kernel.elements * kernel.width * kernel.turns / lanes
    load = cost.hbm_read / device.hbm_bytes_per_ns + cost.l2_read / device.l2_bytes_per_ns
    store = cost.hbm_write / device.hbm_write_bytes_per_ns
    return _Pipes(total, *(min(part, total) for part in (cube, vector, load, feed, store)))


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else "0.000"


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.3f}"


def _rate(size: float, nanoseconds: float) -> str:
    return f"{size / nanoseconds:.3f}" if nanoseconds else "0.000"  # bytes a nanosecond are GB/s


def _pipe_utilization(kernel: Kernel, cost: Cost, pipes: _Pipes) -> List[str]:
    found: List[str] = []
    for part in (pipes.vector, pipes.cube, None, pipes.feed, pipes.load, pipes.store):
        found += [UNKNOWN, UNKNOWN] if part is None else [_time(part), _ratio(part, pipes.total)]
    works = max(pipes.cube, pipes.vector)  # mte2_ratio / max(mac_ratio, vec_ratio)
    bound = _ratio(pipes.load, works) if works else UNKNOWN
    # total_cycles / (clock * cores * duration): all cores work as long as the kernel takes
    return [*found, UNKNOWN, bound, "100.000" if pipes.cube and pipes.total else "0.000"]


def _arithmetic(kernel: Kernel, cost: Cost, pipes: _Pipes) -> List[str]:
    cube, vector = _ratio(pipes.cube, pipes.total), _ratio(pipes.vector, pipes.total)
    half = kernel.gemm is None or kernel.gemm.operand == 2
    of_width = {4: 1, 2: 2}.get(kernel.width, 0)
    vectors = [vector if position == of_width else "0.000" for position in (1, 2)]
    cube_operations = cost.operations if kernel.gemm is not None else 0
    return [
        cube if half else "0.000", "0.000" if half else cube, *vectors, "0.000",
        "0.000" if of_width else vector, str(cube_operations), str(kernel.elements * kernel.turns),
    ]  # fmt: skip


def _memory(kernel: Kernel, cost: Cost, pipes: _Pipes) -> List[str]:
    read, written = cost.hbm_read + cost.l2_read, cost.hbm_write
    moved = kernel.elements * kernel.width * kernel.turns
    return [
        _rate(moved, pipes.total), _rate(moved, pipes.total), _rate(read, pipes.total), _rate(written, pipes.total),
        _rate(cost.l2_read, pipes.total), _rate(written, pipes.total), _rate(cost.hbm_read, pipes.total),
        _rate(cost.hbm_write, pipes.total),
    ]  # fmt: skip


def _memory_l0(kernel: Kernel, cost: Cost, pipes: _Pipes) -> List[str]:
    """The last four columns are of L0C: what the vector unit reads and writes there, then what the cube does. The sums
    that a cube takes up again are not modelled."""
    gemm = kernel.gemm
    if gemm is None:
        return ["0.000"] * 8
    times = gemm.batch * kernel.turns
    left, right, result = (
        times * size for size in (gemm.m * gemm.k * gemm.operand, gemm.k * gemm.n * gemm.operand, gemm.m * gemm.n * 4)
    )
    rates = [_rate(size, pipes.total) for size in (left, left, right, right, result)]
    return [*rates, "0.000", UNKNOWN, rates[-1]]


def _conflicts(kernel: Kernel, cost: Cost, pipes: _Pipes) -> List[str]:
    """Queues of the pipelines: full while theirs is the one that all wait for (assumed); banks are not modelled."""
    longest = max(pipes.cube, pipes.vector, pipes.load, pipes.feed, pipes.store)
    waited = [
        _ratio(part, pipes.total) if part == longest and longest else "0.000"
        for part in (pipes.feed, pipes.load, pipes.store, pipes.cube, pipes.vector)
    ]
    return [UNKNOWN, UNKNOWN, UNKNOWN, *waited, f"{sum(map(float, waited)):.3f}"]


_Group = Tuple[Tuple[str, ...], Callable[[Kernel, Cost, _Pipes], List[str]]]

#: Group of metrics to its columns and how they are found.
GROUPS: Mapping[str, _Group] = {
    "PipeUtilization": (
        (
            "vec_time(us)", "vec_ratio", "mac_time(us)", "mac_ratio", "scalar_time(us)", "scalar_ratio",
            "mte1_time(us)", "mte1_ratio", "mte2_time(us)", "mte2_ratio", "mte3_time(us)", "mte3_ratio",
            "icache_miss_rate", "memory_bound", "cube_utilization(%)",
        ),
        _pipe_utilization,
    ),
    "ArithmeticUtilization": (
        (
            "mac_fp16_ratio", "mac_int8_ratio", "vec_fp32_ratio", "vec_fp16_ratio", "vec_int32_ratio",
            "vec_misc_ratio", "cube_fops", "vector_fops",
        ),
        _arithmetic,
    ),
    "Memory": (
        (
            "ub_read_bw(GB/s)", "ub_write_bw(GB/s)", "l1_read_bw(GB/s)", "l1_write_bw(GB/s)", "l2_read_bw(GB/s)",
            "l2_write_bw(GB/s)", "main_mem_read_bw(GB/s)", "main_mem_write_bw(GB/s)",
        ),
        _memory,
    ),
    "MemoryL0": (
        (
            "l0a_read_bw(GB/s)", "l0a_write_bw(GB/s)", "l0b_read_bw(GB/s)", "l0b_write_bw(GB/s)",
            "l0c_read_bw(GB/s)", "l0c_write_bw(GB/s)", "l0c_read_bw_cube(GB/s)", "l0c_write_bw_cube(GB/s)",
        ),
        _memory_l0,
    ),
    "ResourceConflictRatio": (
        (
            "vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio", "vec_resc_cflt_ratio", "mte1_iq_full_ratio",
            "mte2_iq_full_ratio", "mte3_iq_full_ratio", "cube_iq_full_ratio", "vec_iq_full_ratio", "iq_full_ratio",
        ),
        _conflicts,
    ),
}  # fmt: skip


def columns(group: str) -> Sequence[str]:
    """The columns of a group."""
    return ("aicore_time(us)", "total_cycles", *GROUPS[group][0])


def values(group: str, kernel: Kernel, cost: Cost, device: Device) -> List[str]:
    """A kernel's metrics, one a column; a kernel that does not run on the AI Core has none.

    total_cycles are those of all cores together, aicore_time is that of one.
    """
    names, find = GROUPS[group]
    if kernel.engine not in ("cube", "vector"):
        return [UNKNOWN] * (len(names) + 2)
    pipes = _pipes(kernel, cost, device)
    cycles = round(pipes.total * device.clock / 1000) * int(device.ai_core)
    return [_time(pipes.total), str(cycles), *find(kernel, cost, pipes)]
