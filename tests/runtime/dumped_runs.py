"""What the tests of dumps share: configs, and what a run has dumped."""

from __future__ import annotations

import tensorflow as tf

from npu_conformance.inspecting import dumps
from npu_conformance.inspecting.registry import Inspected

__all__ = ["config", "tensors"]


def config(**values):
    proto = tf.compat.v1.ConfigProto()
    entry = proto.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    for name, value in values.items():
        field = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "s"
        setattr(entry.parameter_map[name], field, value.encode() if field == "s" else value)
    proto.graph_options.rewrite_options.remapping = type(proto.graph_options.rewrite_options).OFF
    return proto


def tensors(folder, **filters):
    return {
        (one.file.step, one.label, one.turn): dumps.array(one) for one in dumps.tensors(Inspected(str(folder), filters))
    }
