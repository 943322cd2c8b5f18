"""A module of the adapter that there is not.

# wrong
from npu_bridge.npu_int import *
# wrong
from npu_bridge.estimator.npu.npu_confg import NoSuchThing
# right
from npu_bridge.estimator.npu.npu_config import NPURunConfig
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.imports import other_module
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import troubles


@rule("E201", "unknown-module", "unsafe", "The nearest module is a guess at which one was meant.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in troubles(module):
        if one.kind == "module":
            hint = f" Did you mean {one.right}?" if one.right else ""
            fix = other_module(module, one, one.right) if one.right and one.name in ("", "*") else None
            yield LintReport(one.node, f"The adapter has no module {one.module}.{hint}", fix)
