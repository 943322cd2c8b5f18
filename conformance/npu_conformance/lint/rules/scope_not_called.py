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
from npu_conformance.lint.registry import Report, Settings, rule
from npu_conformance.lint.usage import uses


@rule("E302", "scope-not-called", fixable=True)
def check(module: Module, settings: Settings) -> Iterator[Report]:
    entered = {id(item.context_expr) for item, _ in module.withs}
    entered |= {id(decorator) for decorator, _ in module.decorators}
    for use in uses(module):
        if use.name.kind == "scope" and id(use.node) in entered:
            yield Report(
                use.node, f"{use.name.name} is not called. Write {use.name.name}().", _brackets(module, use.node)
            )


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
