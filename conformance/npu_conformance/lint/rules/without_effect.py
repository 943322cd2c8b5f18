"""An option that is accepted, and has no effect, or another one than what is written.

Another option decides instead, it lacks the one it belongs to, it is for the other graph run mode, or its value is
brought to the nearest that works. What takes effect as it is written is not told here: `npu-conformance options` gives
the documents' advice on it.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes("0|5")
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["enable_dump"].b = True
    custom_op.parameter_map["dump_path"].s = tf.compat.as_bytes("/home/dump")
    custom_op.parameter_map["dump_step"].s = tf.compat.as_bytes("0|5")
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule

#: What the other rules tell: every code of a warning that is not among these is told here.
_ELSEWHERE = frozenset(
    ["unknown", "not_on_surface", "not_in_edition", "unsupported", "removed", "deprecated", "overridden twice",
     "argument", "field", "bytes"]
)  # fmt: skip


@rule("W106", "without-effect")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code not in _ELSEWHERE and not problem.code.startswith("OPTION_"):
            yield LintReport(problem.given.key, problem.message)
