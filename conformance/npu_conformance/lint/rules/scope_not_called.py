"""A scope that is entered, or used as a decorator, without being called.

`--fix` adds the brackets.

    # wrong
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope:
        y = tf.add(x, 1.0)
    # right
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope():
        y = tf.add(x, 1.0)
"""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

from npu_conformance.lint.editing import at, reached
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.signatures import signature_of
from npu_conformance.lint.usage import uses


@rule(
    "E302", "scope-not-called", "some safe",
    "Safe where `with` enters a scope that needs no argument: that fails in every run, and means nothing "
    "else. Unsafe of a decorator, and where arguments are needed.",
)  # fmt: skip
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    entered = {id(item.context_expr) for item, _ in module.withs}
    uncalled = entered | {id(decorator) for decorator, _ in module.decorators}
    for use in uses(module):
        if use.name.kind == "scope" and id(use.node) in uncalled:
            taken = signature_of(use.name)
            safe = id(use.node) in entered and taken is not None and not taken.required
            message = f"{use.name.name} is not called. Write {use.name.name}()."
            yield LintReport(use.node, message, _brackets(module, use.node), safe)


def _brackets(module: Module, node: Any) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(module.source, node)
        if start is None:
            return None
        end = (
            next((i for i in range(start, len(tokens)) if tokens[i].src == node.attr), None)
            if hasattr(node, "attr")
            else start
        )
        return None if end is None or end >= reached(tokens, start) + 1 else [Edit(end + 1, end + 1, "()")]

    return fix
