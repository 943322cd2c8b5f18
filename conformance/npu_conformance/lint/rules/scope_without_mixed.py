"""A scope that keeps operators on the host, in a script without mixed computing.

Without `mix_compile_mode` the scope has no effect (M17): all operators are offloaded. It is told only where all
configurations of the file are in sight and none switches mixed computing on.

    # wrong
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope():
        y = tf.add(x, 1.0)
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
    # right
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope():
        y = tf.add(x, 1.0)
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["mix_compile_mode"].b = True
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.configs import OPTIMIZER, RUN_CONFIG, configs
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import uses


@rule("W301", "scope-without-mixed")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    found = [one for one in configs(module) if one.kind in (OPTIMIZER, RUN_CONFIG)]
    if not found or not all(one.complete for one in found):
        return
    for one in found:
        if any(given.name == "mix_compile_mode" and given.values.only is not False for given in one.given):
            return
    for use in uses(module):
        if use.name.name == "without_npu_compile_scope":
            yield LintReport(
                use.node, "without_npu_compile_scope has no effect: no configuration sets mix_compile_mode."
            )
