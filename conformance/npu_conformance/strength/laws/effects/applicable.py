"""Which questions a condition fits."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from npu_conformance.strength.laws.effects import changes
from npu_conformance.strength.laws.effects.request import EffectQuestion, Fits

__all__ = [
    "CACHE", "OF_CACHE", "OF_KERNELS", "OF_PROFILES", "OF_TUNING", "accepted", "all_of", "compiles", "gives",
    "has_session", "has_surface", "in_003", "lacks", "laid", "one_program", "tabled", "tells_time", "unlike",
]  # fmt: skip

#: Options by their subject, and words of files of the cache.
OF_CACHE = ("op_compiler_cache_mode", "op_compiler_cache_dir")
OF_KERNELS = ("op_debug_level", "op_debug_config", "debug_dir")
OF_TUNING = ("aoe_mode", "work_path", "aoe_config_file", "auto_tune_mode")
OF_PROFILES = ("profiling_mode", *changes.OUTPUTS)
CACHE = r"kernel_cache|op_cache|atc_data"


def all_of(*fits: Fits) -> Fits:
    return lambda one: all(each(one) for each in fits)


def unlike(*options: str, said: str = "") -> Fits:
    """None of the options is given, and nothing is said of what the pattern finds."""
    pattern = re.compile(said) if said else None
    return lambda one: one.options.isdisjoint(options) and (pattern is None or pattern.search(one.said) is None)


def gives(*options: str) -> Fits:
    return lambda one: not one.options.isdisjoint(options)


def lacks(*variables: str) -> Fits:
    return lambda one: one.env.isdisjoint(variables)


def compiles(one: EffectQuestion) -> bool:
    return one.instance.case.method == "compile"


def tells_time(one: EffectQuestion) -> bool:
    return one.instance.case.method == "timeline"


def tabled(one: EffectQuestion) -> bool:
    """A document has its options: none has NPURunConfig's earlier table."""
    return (one.params["surface"], one.instance.edition) != ("runconfig", "legacy")


def in_003(one: EffectQuestion) -> bool:
    return (one.params["surface"], one.instance.edition) == ("runconfig", "current")


def has_surface(surface: str) -> Fits:
    return lambda one: (one.params["surface"], one.instance.edition) == (surface, "current")


def has_session(one: EffectQuestion) -> bool:
    return bool(one.params["surface"] == "session")


def laid(one: EffectQuestion) -> Sequence[Mapping[str, Any]]:
    return tuple((one.params.get("variants") or {}).values())


def one_program(one: EffectQuestion) -> bool:
    return len(one.turns) == 1 and not one.params.get("models")


def accepted(one: EffectQuestion) -> bool:
    return one.instance.case.expect.rejected is None
