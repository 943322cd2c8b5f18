"""Which cases a condition fits."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Tuple

from npu_conformance.library.case import Instance
from npu_conformance.observing.values import unwrapped

__all__ = ["SESSION", "all_of", "asked_on", "has_mode", "lacks", "movable", "values_of"]


def values_of(one: Instance) -> Mapping[str, Any]:
    values: Mapping[str, Any] = one.case.params["values"]
    return values


def _surface(one: Instance) -> Tuple[str, str]:
    return one.case.params["surface"], one.edition


def lacks(*names: str) -> Callable[[Instance], bool]:
    return lambda one: not values_of(one).keys() & set(names)


def asked_on(*surfaces: Tuple[str, str]) -> Callable[[Instance], bool]:
    return lambda one: _surface(one) in surfaces


def all_of(*tests: Callable[[Instance], bool]) -> Callable[[Instance], bool]:
    return lambda one: all(test(one) for test in tests)


def has_mode(one: Instance) -> bool:
    """Whether the case says its precision mode: the default, or None (G9), is of run mode (A6) and surface (G28)."""
    given = [unwrapped(values_of(one).get(name)) for name in ("precision_mode", "precision_mode_v2")]
    return one.case.method == "partition" or any(mode not in (None, "", "None") for mode in given)


SESSION = asked_on(("session", "legacy"), ("session", "current"))
_RUNCONFIG = asked_on(("runconfig", "current"))

#: Options that both surfaces of an edition have with one meaning and one default.
_ON_BOTH = {
    "mix_compile_mode", "graph_run_mode", "precision_mode", "modify_mixlist", "op_precision_mode", "op_select_implmode",
    "optypelist_for_implmode", "iterations_per_loop", "enable_data_pre_proc",
}  # fmt: skip


def movable(one: Instance) -> bool:
    values = values_of(one)
    return (
        values.keys() <= _ON_BOTH
        and not any(isinstance(value, dict) for value in values.values())
        and (has_mode(one) or values.get("graph_run_mode", 1) == 1)
    )
