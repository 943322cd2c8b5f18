"""A file that cannot be decoded or opened.

A file is UTF-8 unless a cookie in its first two lines names another encoding.
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E002", "encoding")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    return iter(())  # as for E001
