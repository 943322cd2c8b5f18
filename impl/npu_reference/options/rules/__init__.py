"""The rules between options, in the order in which they are applied."""

from __future__ import annotations

from typing import Tuple

from npu_reference.options.rules import mixed
from npu_reference.options.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Tuple[Rule, ...] = tuple(rule for module in (mixed,) for rule in module.RULES.rules)
