"""An argument that NPURunConfig, or one of its objects, does not have.

Python raises a TypeError for it. The nearest argument is named, and `--fix` writes it.

    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(precison_mode="allow_mix_precision")
    # wrong
    from npu_bridge.npu_init import *
    config = NPURunConfig(dump_config=DumpConfig(enable_dmp=True))
    # right
    from npu_bridge.npu_init import *
    config = NPURunConfig(precision_mode="allow_mix_precision", save_checkpoints_steps=100)
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.mending import nearest_name, option_name
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E101", "unknown-argument", "unsafe", "The nearest name is a guess at which argument was meant.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code == "argument":
            near = nearest_name(problem.config, problem.given.name, settings.edition)
            remedy = f" Did you mean {near}?" if near else f" {problem.remedy}" if problem.remedy else ""
            message = f"{problem.config.kind} has no argument {problem.given.name}.{remedy}"
            yield LintReport(problem.given.key, message, option_name(module, problem, settings.edition))
