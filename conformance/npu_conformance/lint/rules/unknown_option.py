"""A key of the parameter map that no option has.

The adapter ignores it, without a word. The nearest option is named, and `--fix` writes it.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mod"].b = True
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mode"].b = True
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint import mending
from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule(
    "W101", "unknown-option", "unsafe",
    "The nearest name is a guess, and an option takes effect that until now was ignored.",
)  # fmt: skip
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code == "unknown":
            yield LintReport(problem.given.key, problem.reason, mending.option_name(module, problem, settings.edition))
