"""Keeps the garbage collector still while graphs are built."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Building makes millions of objects and next to no garbage; the collector would walk them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
