"""The one table of every option, in the order in which answers, errors and pages list them."""

from __future__ import annotations

from typing import Dict

from npu_reference.options.declaration import Option
from npu_reference.options.table import (
    basic,
    compilation,
    debugging,
    experimental,
    memory,
    mixed,
    performance,
    precision,
    shapes,
    timeouts,
    tuning,
)

__all__ = ["OPTIONS"]

_GROUPS = (
    basic.OPTIONS,
    mixed.OPTIONS,
    shapes.OPTIONS,
    memory.OPTIONS,
    precision.OPTIONS,
    performance.OPTIONS,
    compilation.OPTIONS,
    debugging.OPTIONS,
    tuning.OPTIONS,
    timeouts.OPTIONS,
    experimental.OPTIONS,
)

#: Option by name.
OPTIONS: Dict[str, Option] = {option.name: option for group in _GROUPS for option in group}
