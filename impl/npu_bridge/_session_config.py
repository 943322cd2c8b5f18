"""How options stand in a ConfigProto: the custom optimizer entries named ``NpuOptimizer``."""

from __future__ import annotations

from typing import Any, Set

from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from npu_reference.runtime.config import OPTIMIZER

__all__ = ["npu_entry", "npu_keys", "switch_jit_off", "switch_rewrites_off", "write_option"]


def npu_entry(config: Any) -> Any:
    """A new, empty NpuOptimizer entry at the end of ``config``, where it wins over earlier ones (G3)."""
    entry = config.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = OPTIMIZER
    return entry


def npu_keys(config: Any) -> Set[str]:
    """The keys that the NpuOptimizer entries of ``config`` already hold."""
    entries = config.graph_options.rewrite_options.custom_optimizers
    return {key for entry in entries if entry.name == OPTIMIZER for key in entry.parameter_map}


def switch_rewrites_off(config: Any) -> None:
    """Keep Grappler from renaming or moving nodes, as every sample of the documents does (G6)."""
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF


def switch_jit_off(optimizer_options: Any) -> None:
    """Keep XLA away from the graph: the device compiles it."""
    optimizer_options.global_jit_level = type(optimizer_options).OFF


def write_option(entry: Any, name: str, field: str, value: Any) -> None:
    """Write one option into field ``b``, ``i`` or ``s`` of ``entry``."""
    setattr(entry.parameter_map[name], field, value.encode("utf-8") if field == "s" else value)
