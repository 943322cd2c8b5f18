"""An entry of custom_optimizers that is not named NpuOptimizer.

By that name the adapter knows its options (document 000). An entry with another name, or none, leaves the session to
TensorFlow, without a word. `--fix` mends a misspelt name.

    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NPUOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
    # wrong
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.parameter_map["use_off_line"].b = True
    # right
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.configs import OPTIMIZER, configs
from npu_conformance.lint.editing import word_in_text
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.values import UNKNOWN


@rule("E110", "optimizer-name", "unsafe", "The session moves to the device, which until now ran on the host.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for config in configs(module):
        if config.kind != OPTIMIZER or config.name in (OPTIMIZER, UNKNOWN):
            continue
        if isinstance(config.name, str):
            message = f"{config.name!r} is not the adapter's optimizer. Did you mean {OPTIMIZER}?"
            fix = word_in_text(module.source, config.name_node, config.name, OPTIMIZER)
            yield LintReport(config.name_node, message, fix)
        elif config.complete:
            message = f'The entry has no name, so its options reach nobody. Write .name = "{OPTIMIZER}".'
            yield LintReport(config.origin, message)
