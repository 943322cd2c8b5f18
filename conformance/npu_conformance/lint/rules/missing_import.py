"""A name of the adapter that is used without being imported.

`--fix` imports it.

    # wrong
    import tensorflow as tf
    with tf.Session(config=npu_config_proto()) as sess:
        pass
    # right
    import tensorflow as tf
    from npu_bridge.npu_init import *
    with tf.Session(config=npu_config_proto()) as sess:
        pass
"""

from __future__ import annotations

from typing import Iterator

from npu_conformance.lint.imports import added
from npu_conformance.lint.module import Module
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.usage import troubles
from npu_reference import surface


@rule(
    "E204", "missing-import", "unsafe",
    "The import runs always, also where the name is never reached, and a star import may hide names of "
    "the script.",
)  # fmt: skip
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    told = set()
    for one in troubles(module):
        if one.kind == "undefined" and surface.is_module(one.right) and one.name not in told:
            told.add(one.name)
            line = f"from {one.right} import {'*' if one.right == surface.STAR else one.name}"
            yield LintReport(one.node, f"{one.name} is used and not imported. Write: {line}", added(module, line))
