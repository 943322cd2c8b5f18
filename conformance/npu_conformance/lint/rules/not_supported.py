"""An option that this edition of the documents does not have, or lists as not supported.

It is ignored. `--edition` says which edition the script is for.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_dump_debug"].b = True
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("W103", "not-supported")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("not_in_edition", "unsupported", "removed"):
            yield LintReport(problem.given.key, problem.message)
