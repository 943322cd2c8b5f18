"""A value that only the other edition of the documents knows.

`--edition` says which one the script is for: current (documents 000 and 003) or legacy (001, 002, 004). The precision
mode `allow_mix_precision_fp16`, for one, is found with `--edition legacy`.
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import other_edition, problems, takes
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E109", "other-edition-value")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    other = other_edition(settings.edition)
    for problem in problems(module, settings.edition):
        known = takes(problem.config, problem.given.name, problem.value, other)
        if problem.code == "OPTION_VALUE" and known:
            yield LintReport(problem.given.value, f"{problem.message} The {other} edition takes it.")
