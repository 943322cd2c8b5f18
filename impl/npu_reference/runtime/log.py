"""Where the runtime says what it does: the logger ``npu_reference``, quiet below WARNING unless somebody listens."""

from __future__ import annotations

import logging

__all__ = ["LOG"]

LOG = logging.getLogger("npu_reference")
