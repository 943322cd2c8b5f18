"""The rules between options, in the order in which they are applied."""

from __future__ import annotations

from typing import Tuple

from npu_reference.options.rules import (
    cache,
    debugging,
    memory,
    mixed,
    performance,
    precision,
    shapes,
    timeouts,
    tuning,
)
from npu_reference.options.rules.rule import ALWAYS, Rule

__all__ = ["ALWAYS", "RULES", "Rule"]

_MODULES = (mixed, shapes, memory, precision, performance, debugging, cache, tuning, timeouts)

RULES: Tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in module.RULES.rules)
