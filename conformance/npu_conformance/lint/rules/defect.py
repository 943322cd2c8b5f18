"""A file on which lint itself fails.

A defect of lint, not of the file: the message says which rule failed and how, so that it can be reported. What the
other rules find in the file stands, and so do all other files. The exit status is 70. Nothing silences it. A file
that takes longer than a minute is given up, and told so, too.
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E003", "defect")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    return iter(())  # whoever asks the rules says so
