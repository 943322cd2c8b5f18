"""A name of the adapter that another one has replaced.

# wrong
from npu_bridge.estimator import npu_ops
scaled = npu_ops.LARS(weights, gradients, 0.1)
# right
from npu_bridge.estimator import npu_ops
scaled = npu_ops.LARSV2(weight, gradient, 0.1, 0.01)
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import uses


@rule("W202", "deprecated-name")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for use in uses(module):
        if use.name.successor:
            yield LintReport(use.node, f"{use.name.name} has been replaced: use {use.name.successor}.")
