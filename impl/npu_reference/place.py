"""Where this package lies, for those who look for files beside it."""

from __future__ import annotations

import os

__all__ = ["FOLDER"]

FOLDER = os.path.dirname(os.path.abspath(__file__))
