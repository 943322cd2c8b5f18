"""From a partition and its dtypes to what a device runs: kernels, fused kernels, tiles, streams, tasks."""

from __future__ import annotations

from npu_reference.compiler.compilation import Compiled, compile_graph
from npu_reference.compiler.settings import settings_of

__all__ = ["Compiled", "compile_graph", "settings_of"]
