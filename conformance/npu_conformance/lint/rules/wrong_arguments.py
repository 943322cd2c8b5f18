"""A call of the adapter with an argument that the function does not have, too many, or too few.

Read from the drop-in's own definitions; `--fix` writes the nearest keyword.

    # wrong
    from npu_bridge.npu_init import *
    manager = FixedLossScaleManager(loss_scal=128)
    # wrong
    from npu_bridge.npu_init import *
    with npu_scope.without_npu_compile_scope("host"):
        y = tf.add(x, 1.0)
    # right
    from npu_bridge.npu_init import *
    manager = FixedLossScaleManager(loss_scale=128)
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.configs import RUN_CONFIG
from npu_conformance.lint.editing import arguments
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import is_open
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.signatures import CallSignature, signature_of
from npu_conformance.lint.usage import called, uses
from npu_reference import surface
from npu_reference.options import CLASSES
from npu_reference.printing import counted
from npu_reference.spelling import nearest


@rule("E205", "wrong-arguments", "unsafe", "The nearest keyword is a guess at which argument was meant.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    calls = called(module)
    for use in uses(module):
        call, name = calls.get(id(use.node)), use.name
        if call is None or use.place.guarded or name.status == surface.REFUSED:
            continue
        if name.name in CLASSES or name.name == RUN_CONFIG:
            continue  # E101
        taken = signature_of(name)
        if taken is not None:
            yield from _checked(module, call, name.name, taken)


def _checked(module: Module, call: ast.Call, name: str, taken: CallSignature) -> Iterator[LintReport]:
    for word in call.keywords:
        if word.arg is not None and word.arg not in taken.keywords and not taken.any_keyword:
            near = nearest(word.arg, taken.keywords)
            known = ", ".join(taken.keywords) or "none"
            hint = f"Did you mean {near}?" if near else f"Its arguments: {known}."
            fix = _keyword(module, call, word.arg, near) if near else None
            yield LintReport(word, f"{name} has no argument {word.arg}. {hint}", fix)
            return
    if is_open(call):
        return
    if len(call.args) > len(taken.positional) and not taken.many:
        most = len(taken.positional)
        words = f"at most {counted(most, 'argument')} by position" if most else "no argument by position"
        yield LintReport(call, f"{name} takes {words}, not {len(call.args)}.")
        return
    given = {*taken.positional[: len(call.args)], *(word.arg for word in call.keywords)}
    missing = [one for one in taken.required if one not in given]
    if missing:
        yield LintReport(call, f"{name} needs {' and '.join(missing)}.")


def _keyword(module: Module, call: ast.Call, old: str, new: str) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        found = arguments(module.source, tokens, call)
        if found is None or any(word.arg == new for word in call.keywords):
            return None
        starts = [start for start, _ in found[2] if tokens[start].src == old]
        return [Edit(starts[0], starts[0] + 1, new)] if len(starts) == 1 else None

    return fix
