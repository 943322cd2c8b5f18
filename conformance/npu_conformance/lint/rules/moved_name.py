"""A name of the adapter that is in another module.

`--fix` imports it from there.

    # wrong
    from npu_bridge.estimator.npu_ops import NPURunConfig
    # right
    from npu_bridge.estimator.npu.npu_config import NPURunConfig
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.imports import other_module
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import troubles
from npu_reference import surface


@rule(
    "E203", "moved-name", "some safe",
    "Safe where one module alone has the name: the import fails in every run, and the same name is "
    "imported. Unsafe where several have one so called.",
)  # fmt: skip
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in troubles(module):
        if one.kind == "moved":
            message = f"{one.module} does not give {one.name}; {one.right} does."
            fix = other_module(module, one, one.right) if one.found else None
            homes = surface.find(one.name)
            safe = len(homes) == 1 and homes[0].status != surface.REFUSED
            yield LintReport(one.node, message, fix, safe)
