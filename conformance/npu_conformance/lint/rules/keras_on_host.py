"""A Keras model that is trained in a session of its own, on the host.

Told of scripts that do not use the adapter yet and make no session. `--fix` adds behind the imports what document 000,
"In Keras Mode", says: a session configured as in sess.run mode, handed to Keras.

    # wrong
    import tensorflow as tf
    model = tf.keras.models.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(x, y)
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.editing import insert_lines
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import adapter_import, entry_lines, free_name, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule

_TRAINS = frozenset(["fit", "fit_generator", "train_on_batch"])


@rule("S403", "keras-on-host", "unsafe", "The model moves to the device, and Keras gets another session.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    found = ports(module)
    keras = [one for one in found if one.name.startswith("keras.")]
    if not keras or any(one.name.rpartition(".")[2].endswith(("Session", "set_session")) for one in found):
        return
    methods = [call for call in module.calls if isinstance(call.node.func, ast.Attribute)]
    compiled = any(call.node.func.attr == "compile" and call.node.keywords for call in methods)  # type: ignore[attr-defined]
    trained = any(call.node.func.attr in _TRAINS for call in methods)  # type: ignore[attr-defined]
    if not compiled or not trained:
        return
    anchor = _anchor(module)
    if anchor is not None:
        lines = _lines(module)
        message = f"Keras trains on the host. Add at {module.source.where(anchor.lineno + 1)}: {'; '.join(lines)}"
        yield LintReport(keras[0].call.node, message, _fix(module))


def _anchor(module: Module) -> Optional[Any]:
    """The last import of the first block of imports."""
    last = None
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            last = statement
        elif last is not None:
            break
    return last


def _lines(module: Module) -> List[str]:
    bound = module.scope.names.get("tf", [])
    if not bound or any(one.target not in ("tensorflow", "tensorflow.compat.v1") for one in bound):
        return ["set_keras_session_npu_config()"]
    place = module.calls[0].place
    config, entry = free_name(module, place, "config"), free_name(module, place, "custom_op")
    return [
        f"{config} = tf.ConfigProto()",
        *entry_lines(config, entry),
        f"tf.keras.backend.set_session(tf.Session(config={config}))",
    ]


def _fix(module: Module) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        anchor, lines = _anchor(module), _lines(module)
        edit = None if anchor is None else insert_lines(module.source, anchor, lines, behind=True)
        if edit is None:
            return None
        imports = adapter_import(module, "set_keras_session_npu_config", "RewriterConfig")
        if len(imports) == 1 and imports[0].start == edit.start:
            return [Edit(edit.start, edit.start, imports[0].text + edit.text)]
        return [edit, *imports]

    return fix
