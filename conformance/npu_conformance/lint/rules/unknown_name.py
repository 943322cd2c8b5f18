"""A name that the adapter does not have where it is looked for.

It is imported from one of its modules, read from one, or used after the star import without being defined; the nearest
name is given, and `--fix` writes it. What a handler of ImportError or AttributeError takes is not complained of.

    # wrong
    from npu_bridge.npu_init import *
    config = npu_confg_proto()
    # wrong
    from npu_bridge.estimator import npu_ops
    y = npu_ops.dropot(x, 0.5)
    # right
    from npu_bridge.estimator import npu_ops
    y = npu_ops.dropout(x, 0.5)
    # right
    try:
        from npu_bridge.npu_init import npu_newest
    except ImportError:
        npu_newest = None
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.imports import renamed
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import troubles
from npu_reference import surface


@rule("E202", "unknown-name", "unsafe", "The nearest name is a guess at which one was meant.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in troubles(module):
        if one.kind == "name":
            hint = f" Did you mean {one.right}?" if one.right else " npu-conformance docs npu_bridge lists every name."
            fix = renamed(module, one) if one.right else None
            yield LintReport(one.node, f"{one.module} has no {one.name}.{hint}", fix)
        elif one.kind == "undefined" and not surface.is_module(one.right):
            message = f"Nothing defines {one.name}. Did you mean {one.right} of the adapter?"
            yield LintReport(one.node, message, renamed(module, one))
