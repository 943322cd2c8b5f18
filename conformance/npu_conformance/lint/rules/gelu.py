"""A GELU that is put together from single operators, or TensorFlow's own.

Told of scripts that do not use the adapter yet. The device has one operator for it, `npu_unary_ops.gelu`; `--fix`
writes it for TensorFlow's, and as the result of a function `gelu` of one argument.

    # wrong
    import tensorflow as tf
    def gelu(x):
        cdf = 0.5 * (1.0 + tf.erf(x / tf.sqrt(2.0)))
        return x * cdf
    # right
    import tensorflow as tf
    from npu_bridge.npu_init import *
    def gelu(x):
        return npu_unary_ops.gelu(x)
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.editing import at, reached
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import adapter_import, callee, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule

#: What a GELU is made of.
_PARTS = frozenset(["tf.erf", "tf.math.erf", "tf.tanh", "tf.math.tanh", "tf.nn.tanh"])


@rule("S406", "gelu", "unsafe", "The device computes the tanh form, and the erf form has other values.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    found = ports(module)
    for one in found:
        if one.name == "tf.nn.gelu":
            message = "The device has an operator for it: npu_unary_ops.gelu(x)."
            yield LintReport(one.call.node, message, _of_call(module, one.call.node))
    for node, scope, _ in module.functions:
        inside = any(one.name in _PARTS and one.call.place.scope is scope for one in found)
        if node.name.strip("_").lower() == "gelu" and inside and len(node.args.args) == 1:
            argument = node.args.args[0].arg
            message = f"The device has an operator for it. Write: return npu_unary_ops.gelu({argument})"
            yield LintReport(node, message, _of_function(module, node, argument))


def _of_call(module: Module, node: ast.Call) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        named = callee(module, tokens, node)
        if named is None or len(node.args) != 1 or node.keywords:
            return None
        return [Edit(named[0], named[1], "npu_unary_ops.gelu"), *adapter_import(module, "npu_unary_ops")]

    return fix


def _of_function(module: Module, node: Any, argument: str) -> Fix:
    """The lines of the function, its docstring aside, become the operator; where one has a comment, the last alone."""

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        body = node.body[1:] if isinstance(node.body[0], ast.Expr) else node.body
        if (
            not body
            or not isinstance(body[-1], ast.Return)
            or not all(isinstance(one, ast.Assign) for one in body[:-1])
        ):
            return None
        first, last = at(module.source, body[0]), at(module.source, body[-1])
        if first is None or last is None or tokens[last].src != "return":
            return None
        end = reached(tokens, last)
        noted = any(token.name == "COMMENT" for token in tokens[first:end])
        edit = Edit(last if noted else first, end, f"return npu_unary_ops.gelu({argument})")
        return [edit, *adapter_import(module, "npu_unary_ops")]

    return fix
