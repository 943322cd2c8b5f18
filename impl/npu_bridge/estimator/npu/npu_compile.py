"""Compiling ahead of the first run: on the simulated device that run does it."""

from __future__ import annotations

from typing import Any

from npu_bridge._names import module_getattr

__all__ = ["npu_compile"]


def npu_compile(sess: Any, *fetches: Any) -> None:
    """Compile what ``sess`` is going to fetch, without running it; here the first run of it does that."""


__getattr__ = module_getattr(__name__)
