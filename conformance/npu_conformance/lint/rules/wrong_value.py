"""A value that the option does not take.

The message lists what is allowed, and names the nearest word, which `--fix` writes.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(precision_mode="allow_mixed_precision")
    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["graph_run_mode"].i = 2
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(precision_mode="allow_mix_precision")
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint import mending
from npu_conformance.lint.checking import nearest_word, other_edition, problems, takes
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E105", "wrong-value", "unsafe", "The nearest word is a guess at which value was meant.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code != "OPTION_VALUE":
            continue
        if takes(problem.config, problem.given.name, problem.value, other_edition(settings.edition)):
            continue  # E109
        near = nearest_word(problem.config, problem.given.name, problem.value, settings.edition)
        hint = f" Did you mean {near}?" if near and "Did you mean" not in problem.message else ""
        fix = mending.word(module, problem, settings.edition)
        yield LintReport(problem.given.value, problem.message + hint, fix)
