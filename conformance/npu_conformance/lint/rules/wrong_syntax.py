"""A text that does not follow the grammar of its option.

The message says at which character, and what the form is.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(stream_max_parallel_num="DNN_VM_AICPU=10")
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(stream_max_parallel_num="DNN_VM_AICPU:10,AIcoreEngine:1")
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E106", "wrong-syntax")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("OPTION_SYNTAX",):
            yield LintReport(problem.given.value, problem.message)
