"""A configuration file that its option's own reader refuses.

A file is looked for where the script would find it when it is started in its own folder. One that is not there is not
complained of: it may be on the device's machine. The message says the line of the file.
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.checking import problems
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E108", "config-file")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for problem in problems(module, settings.edition):
        if problem.code in ("OPTION_FILE",):
            yield LintReport(problem.given.value, problem.message)
