"""A scope that is called and not entered.

A scope marks the operators built inside its `with` block; called as a statement of its own it marks none.

    # wrong
    from npu_bridge.npu_init import *
    npu_scope.without_npu_compile_scope()
    # right
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope():
        y = tf.add(x, 1.0)
"""

from __future__ import annotations

import ast
from typing import Iterator

from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import called, uses


@rule("E301", "scope-not-entered")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    calls = called(module)
    for use in uses(module):
        call, statement = calls.get(id(use.node)), use.place.statement
        if (
            use.name.kind == "scope"
            and call is not None
            and isinstance(statement, ast.Expr)
            and statement.value is call
        ):
            yield LintReport(use.node, f"{use.name.name} is not entered. Write: with {use.name.name}(): and the block.")
