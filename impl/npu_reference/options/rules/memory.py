"""Rules of device memory."""

from __future__ import annotations

from npu_reference.options.grammars.lists import Bytes
from npu_reference.options.rules.rule import RuleBook
from npu_reference.options.state import State

__all__ = ["LARGEST_FUSION", "LARGEST_SUM", "RULES"]

RULES = RuleBook()

#: Both memory sizes together, in bytes, inclusive (T11).
LARGEST_SUM = 31 * 1024**3

#: Highest input_fusion_size in bytes; document 003.
LARGEST_FUSION = 33554432


_SIZES = ("graph_memory_max_size", "variable_memory_max_size")


@RULES.rule("session.memory.sum_31g", *_SIZES, editions=("legacy",), about=_SIZES)
def _sizes_fit_the_device(state: State) -> None:
    """graph_memory_max_size and variable_memory_max_size are at most 31 GiB together, defaults counted (T31)."""
    sizes = {name: _bytes(state, name) for name in _SIZES}
    if sum(sizes.values()) <= LARGEST_SUM:
        return
    text = " and ".join(f"{name} {size}" for name, size in sizes.items())
    for name in sizes:
        if state.has(name):
            state.error(
                name,
                "OPTION_CONFLICT",
                f"{text} are {sum(sizes.values())} bytes together.",
                f"At most {LARGEST_SUM} bytes (31 GiB) are there; an option that is not given counts with its default.",
            )


def _bytes(state: State, name: str) -> int:
    given = state.parsed.get(name)
    return given.size if isinstance(given, Bytes) else int(str(state.value(name)))


@RULES.rule("T7", "input_fusion_size")
def _fusion_size_is_clamped(state: State) -> None:
    """input_fusion_size outside 0 to 33554432 bytes becomes the nearer limit."""
    size = state.value("input_fusion_size")
    if not isinstance(size, int):
        return
    nearest = min(max(size, 0), LARGEST_FUSION)
    if nearest != size:
        message = f"input_fusion_size {size} is outside 0 to {LARGEST_FUSION}; {nearest} is used."
        state.warn("input_fusion_size", "adjusted", message)
        state.adjust("input_fusion_size", nearest, "T7")
