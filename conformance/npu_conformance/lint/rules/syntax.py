"""A file that Python 3 cannot read.

One finding for the whole file, at the first place that cannot be read; it says so where the file is Python 2, which
`2to3` converts. Nothing else is said of such a file.

    # wrong
    from npu_bridge.npu_init import *
    print "loss", 0.5
    # right
    from npu_bridge.npu_init import *
    print("loss", 0.5)
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule


@rule("E001", "syntax")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    return iter(())  # a file that cannot be read has no module: whoever reads it says so
