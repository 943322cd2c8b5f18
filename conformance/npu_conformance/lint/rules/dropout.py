"""A dropout whose mask is drawn on the host's way, for which the device has an operator.

Told of scripts that do not use the adapter yet. `npu_ops.dropout` takes `keep_prob`; `--fix` writes it for
`tf.nn.dropout`. `tf.layers.dropout` and Keras layers are told where `import npu_convert_dropout` replaces them.

    # wrong
    import tensorflow as tf
    y = tf.nn.dropout(x, keep_prob=0.5)
    # right
    import tensorflow as tf
    from npu_bridge.npu_init import *
    y = npu_ops.dropout(x, keep_prob=0.5)
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.editing import arguments, text_of
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import Ported, adapter_import, callee, is_open, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule

_LAYERS = frozenset(
    ["tf.layers.dropout", "tf.layers.Dropout", "keras.layers.Dropout", "tf.contrib.layers.dropout",
     "keras.layers.core.Dropout"]
)  # fmt: skip
_CONVERT = "from npu_bridge.estimator.npu import npu_convert_dropout"


@rule("S405", "dropout", "unsafe", "Another operator draws the mask, from other random numbers.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in ports(module):
        if one.name == "tf.nn.dropout":
            yield LintReport(
                one.call.node, "The device has a dropout of its own: npu_ops.dropout(x, keep_prob).", _fix(module, one)
            )
        elif one.name in _LAYERS:
            yield LintReport(one.call.node, f"The device has a dropout of its own. To use it here add: {_CONVERT}")


def _fix(module: Module, one: Ported) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        node = one.call.node
        named, found = callee(module, tokens, node), arguments(module.source, tokens, node)
        if named is None or found is None or is_open(node):
            return None
        edits = [Edit(named[0], named[1], "npu_ops.dropout")]
        for start, end in found[2]:
            text = text_of(tokens, start, end)
            rate = re.fullmatch(r"rate\s*=\s*(.+)", text, re.DOTALL)
            if rate is not None:
                edits.append(Edit(start, end, f"keep_prob={_kept(rate.group(1))}"))
        return [*edits, *adapter_import(module, "npu_ops")]

    return fix


def _kept(rate: str) -> str:
    """``keep_prob`` of a rate; of ``1 - p`` it is ``p``."""
    turned = re.fullmatch(r"1(?:\.0*)?\s*-\s*([\w.]+)", rate)
    if turned is not None:
        return turned.group(1)
    return f"1 - {rate}" if re.fullmatch(r"[\w.]+", rate) else f"1 - ({rate})"
