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
from npu_conformance.lint.registry import Report, Settings, rule


@rule("E104", "wrong-type", fixable=True)
def check(module: Module, settings: Settings) -> Iterator[Report]:
    for problem in problems(module, settings.edition):
        if problem.code in ("OPTION_TYPE",):
            yield Report(problem.given.value, problem.message, mending.value_text(module, problem, settings.edition))
