"""The parameters a device has: each declared once, with its unit, its least value and what it decides."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Tuple

__all__ = ["ORIGINS", "PARAMETERS", "Device", "Figure", "Parameter"]

#: Where a number is from: a platform file of a toolkit, a document, worked out of others, chosen for want of a source,
#: or a user's own file.
ORIGINS = ("ini", "doc", "derived", "assumed", "user")


class Parameter(NamedTuple):
    """One parameter: unit as device files write it, least value, whether whole, and one sentence."""

    unit: str
    least: float
    whole: bool
    meaning: str


def _count(meaning: str, least: int = 1) -> Parameter:
    return Parameter("count", least, True, meaning)


def _bytes(meaning: str) -> Parameter:
    return Parameter("B", 1, True, meaning)


def _per_cycle(meaning: str) -> Parameter:
    return Parameter("B/cycle/core", 1, False, meaning)


#: Every key of a device file, in the order pages show them.
PARAMETERS: Mapping[str, Parameter] = {
    "ai_core": _count("AI cores; each has a cube and a vector unit."),
    "clock": Parameter("MHz", 1, False, "Clock of the AI cores."),
    "ai_cpu": _count("Cores that run AI CPU kernels."),
    "cube_m": _count("Rows of the block that the cube multiplies in one cycle, in float16."),
    "cube_k": _count("Depth of that block."),
    "cube_n": _count("Columns of that block."),
    "vector_bytes": Parameter("B/cycle", 1, True, "Bytes of operands the vector unit computes in one cycle."),
    "l0a": _bytes("Left operands of the cube, a core."),
    "l0b": _bytes("Right operands of the cube, a core."),
    "l0c": _bytes("Results of the cube, a core."),
    "l1": _bytes("Buffer before the cube, a core."),
    "ub": _bytes("Buffer of the vector unit, a core."),
    "l2": _bytes("Cache that all cores share."),
    "hbm": _bytes("Device memory."),
    "hbm_read": _per_cycle("Device memory to a core."),
    "hbm_write": _per_cycle("A core to device memory."),
    "l2_read": _per_cycle("Shared cache to a core."),
    "l2_write": _per_cycle("A core to the shared cache."),
    "streams": _count("Streams that can exist."),
    "alignment": _bytes("Base addresses in device memory are multiples of this."),
    "padding": _bytes("A tensor ends on a multiple of this, and has as much again behind it."),
    "graph_memory": _bytes("Memory for feature maps, by default (legacy)."),
    "variable_memory": _bytes("Memory for variables, by default (legacy)."),
    "usable_memory": _bytes("Graphs and variables together, at most (legacy)."),
    "pcie": Parameter("GB/s", 0.001, False, "Host to device, each way."),
    "hccs": Parameter("GB/s", 0.001, False, "Between devices of one group, each way, a link."),
    "hccs_group": _count("Devices that HCCS joins in a full mesh."),
    "roce": Parameter("GB/s", 0.001, False, "Between servers, a device."),
    "kernel_launch": Parameter("us", 0, False, "From one kernel's end to the next one's start in a stream."),
    "aicpu_launch": Parameter("us", 0, False, "The same of an AI CPU kernel."),
    "graph_launch": Parameter("us", 0, False, "From the host's call to a graph's first task."),
    "transfer_latency": Parameter("us", 0, False, "Of every copy between host and device."),
    "hccs_latency": Parameter("us", 0, False, "Of every message over HCCS."),
    "pcie_latency": Parameter("us", 0, False, "Of every message over PCIe between devices."),
    "roce_latency": Parameter("us", 0, False, "Of every message over RoCE."),
    "cube_efficiency": Parameter("ratio", 0.01, False, "Part of the cube's rate that kernels reach."),
    "memory_efficiency": Parameter("ratio", 0.01, False, "Part of the memory's rate that kernels reach."),
    "aicpu_rate": Parameter("GB/s", 0.001, False, "Operands that one AI CPU core computes."),
}

_MOST_RATIO = 1.0


class Figure(NamedTuple):
    """A parameter's value in its declared unit, and where it is from."""

    value: float
    origin: str


class Device:
    """One kind of device. Values are read as attributes named as in :data:`PARAMETERS`, in their declared units.

    Attributes:
        name: as in ``--device NAME``.
        figures: every parameter with its origin.
    """

    def __init__(self, name: str, figures: Mapping[str, Figure]) -> None:
        self.name = name
        self.figures: Dict[str, Figure] = {key: figures[key] for key in PARAMETERS}

    def __getattr__(self, key: str) -> float:
        try:
            value = float(self.__dict__["figures"][key].value)
        except KeyError:
            raise AttributeError(key) from None
        self.__dict__[key] = value  # found there from now on: the cost of every kernel reads a dozen
        return value

    def __repr__(self) -> str:
        return f"Device({self.name})"

    def changed(self, **values: float) -> Device:
        """The same device with other values, which are then a user's."""
        figures = {**self.figures, **{key: Figure(value, "user") for key, value in values.items()}}
        return Device(self.name, figures)

    @property
    def cycles_per_us(self) -> float:
        """Cycles of the AI cores in a microsecond."""
        return self.clock

    @property
    def hbm_bytes_per_ns(self) -> float:
        """What all cores together read from device memory."""
        return self.hbm_read * self.ai_core * self.clock / 1000 * self.memory_efficiency

    @property
    def hbm_write_bytes_per_ns(self) -> float:
        """What all cores together write to device memory."""
        return self.hbm_write * self.ai_core * self.clock / 1000 * self.memory_efficiency

    @property
    def l2_bytes_per_ns(self) -> float:
        """What all cores together read from the shared cache."""
        return self.l2_read * self.ai_core * self.clock / 1000 * self.memory_efficiency

    @property
    def l2_write_bytes_per_ns(self) -> float:
        """What all cores together write to the shared cache."""
        return self.l2_write * self.ai_core * self.clock / 1000 * self.memory_efficiency

    @property
    def float16_peak(self) -> float:
        """Operations a nanosecond of all cubes in float16; a multiplication and an addition count as two."""
        return 2 * self.cube_m * self.cube_k * self.cube_n * self.ai_core * self.clock / 1000

    def to_json(self) -> Dict[str, object]:
        """Every parameter in effect, with its unit and origin."""
        return {
            "name": self.name,
            "parameters": {
                key: {"value": figure.value, "unit": PARAMETERS[key].unit, "origin": figure.origin}
                for key, figure in self.figures.items()
            },
        }


def out_of_range(key: str, value: float) -> Tuple[bool, str]:
    """Whether a value cannot be, and what would be right."""
    declared = PARAMETERS[key]
    if declared.whole and value != int(value):
        return True, "a whole number is required"
    if value < declared.least:
        return True, f"it must be at least {declared.least:g}"
    if declared.unit == "ratio" and value > _MOST_RATIO:
        return True, "it must be at most 1"
    return False, ""
