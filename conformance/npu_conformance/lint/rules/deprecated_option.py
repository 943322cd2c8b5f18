"""An option that later versions will not have.

It takes effect today; document 003 advises against it, and names nothing that takes its place.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(op_select_implmode="high_precision")
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("W104", "deprecated-option")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    found = problems(module, settings.edition)
    idle = {id(problem.given) for problem in found if problem.code == "no_effect"}
    for problem in found:
        if problem.code == "deprecated" and id(problem.given) not in idle:
            yield LintReport(problem.given.key, problem.reason)
