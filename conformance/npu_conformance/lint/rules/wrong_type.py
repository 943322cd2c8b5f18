"""A value of another type than the option's.

`"True"` is a text and no bool, `1` is no text. `--fix` writes the value that a literal plainly means.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mode"].b = "True"
    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(iterations_per_loop="10")
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(iterations_per_loop=10)
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint import mending
from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule(
    "E104", "wrong-type", "some safe",
    'Safe where the line fails in every run and the value is the same, written in the type of the option '
    '(`"10"` for 10, `"True"` for True); unsafe where it is a reading, as `"yes"` for True.',
)  # fmt: skip
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("OPTION_TYPE",):
            fix = mending.value_text(module, problem, settings.edition)
            safe = mending.means_the_same(problem, settings.edition)
            yield LintReport(problem.given.value, problem.message, fix, safe)
