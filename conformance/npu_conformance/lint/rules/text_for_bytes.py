"""A text written to field `.s`, which takes bytes.

Python 3 raises a TypeError for it. The documents write `tf.compat.as_bytes("…")`, and so does `--fix`.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["precision_mode"].s = "allow_mix_precision"
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")
    custom_op.parameter_map["dump_path"].s = b"/tmp"  # npu: ignore[W106]
"""

from __future__ import annotations

from npu_conformance.lint import mending
from npu_conformance.lint.checking import telling

_WHY = "The line fails in every run, and takes nothing but the bytes of this text."
check = telling(
    __name__, "E103", "text-for-bytes", "bytes", at="value", fix="safe", why=_WHY,
    mend=lambda module, problem, edition: mending.as_bytes(module, problem),
)  # fmt: skip
