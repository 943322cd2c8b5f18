"""Which value counts when an option is given in several places: the later one (G3, G4)."""

from __future__ import annotations

from typing import Dict, Iterable, List, Mapping, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.fields import unwrapped
from npu_reference.options.outcome import Warning_

__all__ = ["merge"]


def merge(layers: Iterable[Mapping[str, object]]) -> Tuple[Dict[str, object], List[Warning_]]:
    """The values of several NpuOptimizer entries, or of a session_config below an NPURunConfig, as one.

    Args:
        layers: values as :func:`npu_reference.options.resolve` takes them, the earlier entry first. NPURunConfig
            appends its own entry, so it is the last.

    Returns:
        The merged values, and a warning for each option whose values differ between layers.
    """
    values: Dict[str, object] = {}
    warnings: List[Warning_] = []
    for layer in layers:
        for name, value in layer.items():
            before = values.get(name, value)
            if unwrapped(before) != unwrapped(value) or type(before) is not type(value):
                kept, lost = echo(unwrapped(value)[1]), echo(unwrapped(before)[1])
                message = f"{name} is given twice; the later value {kept} counts, not {lost}."
                warnings.append(Warning_(name, "overridden", message))
            values[name] = value
    return values, warnings
