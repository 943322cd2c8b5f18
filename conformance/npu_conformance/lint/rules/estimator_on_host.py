"""An Estimator that stays on the host.

Told of scripts that do not use the adapter yet. `--fix` makes it an NPUEstimator with an NPURunConfig, as document
000, "In Estimator Mode", and document 004 have it. Where the RunConfig is not in sight, or the Estimator is of another
kind, `npu_run_config_init` goes around its configuration.

    # wrong
    import tensorflow as tf
    config = tf.estimator.RunConfig(model_dir="m")
    estimator = tf.estimator.Estimator(model_fn, config=config)
    # right
    import tensorflow as tf
    from npu_bridge.npu_init import *
    config = NPURunConfig(model_dir="m")
    estimator = NPUEstimator(model_fn, config=config)
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional

from npu_conformance.lint.editing import arguments, text_of
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import Ported, adapter_import, added_argument, argument, callee, is_open, ports
from npu_conformance.lint.registry import LintReport, LintSettings, rule

_ESTIMATOR = "tf.estimator.Estimator"
_RUN_CONFIG = "tf.estimator.RunConfig"


@rule("S402", "estimator-on-host", "unsafe", "The Estimator moves to the device.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in ports(module):
        last = one.name.rpartition(".")[2]
        if not one.name.startswith(("tf.estimator.", "tf.contrib.tpu.", "tf.contrib.learn.")):
            continue
        if one.name == _ESTIMATOR:
            config = _run_config(module, one)
            what = "Make it an NPUEstimator with config=NPURunConfig(…)"
            if config is None and argument(one.call.node, "config", 2) is not None:
                what = "Put npu_run_config_init(run_config=…) around its config"
            yield LintReport(one.call.node, f"This Estimator stays on the host. {what}.", _fix(module, one))
        elif last.endswith(("Estimator", "Classifier", "Regressor")):
            message = f"This {last} stays on the host. Put npu_run_config_init(run_config=…) around its config."
            yield LintReport(one.call.node, message, _around(module, one))


def _run_config(module: Module, one: Ported) -> Optional[ast.Call]:
    """The call of tf.estimator.RunConfig that an Estimator's configuration is, where it is in sight."""
    node: Any = argument(one.call.node, "config", 2)
    scope = one.call.place.scope
    if isinstance(node, ast.Name):
        home, bindings = scope.find(node.id)
        if home is None or len(bindings) != 1:
            return None
        node, scope = bindings[0].value, home
    if isinstance(node, ast.Call) and len(node.args) <= 1 and not is_open(node):
        for other in ports(module):
            if other.call.node is node and other.name == _RUN_CONFIG:
                return node
    return None


def _fix(module: Module, one: Ported) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        node = one.call.node
        named, given = callee(module, tokens, node), argument(node, "config", 2)
        if named is None or (is_open(node) and given is None):
            return None
        edits = [Edit(named[0], named[1], "NPUEstimator")]
        if given is None:
            added = added_argument(module, tokens, node, "config=NPURunConfig()")
            return None if added is None else [*edits, added, *adapter_import(module, "NPUEstimator", "NPURunConfig")]
        config = _run_config(module, one)
        if config is None:
            return _around(module, one)(tokens)
        made = callee(module, tokens, config)
        if made is None:
            return None
        edits.append(Edit(made[0], made[1], "NPURunConfig"))
        if config.args:
            found = arguments(module.source, tokens, config)
            if found is None:
                return None
            edits.append(Edit(found[2][0][0], found[2][0][0], "model_dir="))  # NPURunConfig takes keywords alone
        return [*edits, *adapter_import(module, "NPUEstimator", "NPURunConfig")]

    return fix


def _around(module: Module, one: Ported) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        node = one.call.node
        found = arguments(module.source, tokens, node)
        if found is None:
            return None
        for number, (start, end) in enumerate(found[2]):
            text = text_of(tokens, start, end)
            name, equals, value = text.partition("=")
            if equals and name.strip() == "config":
                edit = Edit(start, end, f"config=npu_run_config_init(run_config={value.strip()})")
                return [edit, *adapter_import(module, "npu_run_config_init")]
            if number == 2 and number < len(node.args) and one.name == _ESTIMATOR:
                edit = Edit(start, end, f"npu_run_config_init(run_config={text})")
                return [edit, *adapter_import(module, "npu_run_config_init")]
        if is_open(node):
            return None
        added = added_argument(module, tokens, node, "config=npu_run_config_init()")
        return None if added is None else [added, *adapter_import(module, "npu_run_config_init")]

    return fix
