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
    basic, mixed, shapes, memory, precision, performance, compilation, debugging, tuning, timeouts, experimental,
)  # fmt: skip

#: Option by name.
OPTIONS: Dict[str, Option] = {option.name: option for group in _GROUPS for option in group.OPTIONS}
