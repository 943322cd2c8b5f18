"""Options of one configuration that exclude each other, or of which one needs another.

The rules are those of the option table. Only what is certain is told: where a value cannot be seen, or options may be
set elsewhere, a conflict is told only if no value of theirs would end it.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(mix_compile_mode=True, iterations_per_loop=10)
    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(precision_mode="allow_mix_precision", precision_mode_v2="mixed_float16")
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(mix_compile_mode=True, iterations_per_loop=1)
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E107", "conflict")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("OPTION_CONFLICT",):
            yield LintReport(problem.given.key, problem.message)
