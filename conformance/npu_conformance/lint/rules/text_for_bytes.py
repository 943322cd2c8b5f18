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

from typing import Iterator

from npu_conformance.lint import mending
from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E103", "text-for-bytes", "safe", "The line fails in every run, and takes nothing but the bytes of this text.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("bytes",):
            yield LintReport(problem.given.value, problem.message, mending.as_bytes(module, problem), safe=True)
