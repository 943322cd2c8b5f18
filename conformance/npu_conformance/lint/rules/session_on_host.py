"""A session that stays on the host, since its configuration does not name NpuOptimizer.

Told of scripts that do not use the adapter yet. `--fix` adds the lines of document 000, "In sess.run Mode": behind the
session's ConfigProto where the script makes one, or before the session.

    # wrong
    import tensorflow as tf
    with tf.Session() as sess:
        print(sess.run(tf.constant(1.0)))
    # right
    import tensorflow as tf
    from npu_bridge.npu_init import *
    config = tf.ConfigProto()
    custom_op = config.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = True
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF
    with tf.Session(config=config) as sess:
        print(sess.run(tf.constant(1.0)))
"""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional, Tuple

from npu_conformance.lint.editing import arguments, insert_lines, text_of
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.porting import (
    Ported,
    adapter_import,
    added_argument,
    argument,
    entry_lines,
    free_name,
    is_open,
    ports,
    prefix_of,
)
from npu_conformance.lint.registry import LintReport, LintSettings, rule
from npu_conformance.lint.values import constant

#: What makes sessions, and where among its arguments the configuration is.
_SESSIONS = {
    "tf.Session": 2,
    "tf.InteractiveSession": 2,
    "tf.train.MonitoredTrainingSession": -1,
    "tf.train.SingularMonitoredSession": -1,
}


@rule("S401", "session-on-host", "unsafe", "The session moves to the device.")
def check(module: Module, settings: LintSettings) -> Iterator[LintReport]:
    for one in ports(module):
        if one.name in _SESSIONS:
            lines, line = _what(module, one)
            message = f"This session stays on the host. Add at {module.source.where(line)}: {'; '.join(lines)}"
            unknown = is_open(one.call.node) and _config(one) is None
            yield LintReport(one.call.node, message, None if unknown else _fix(module, one))


def _config(one: Ported) -> Optional[ast.expr]:
    found = argument(one.call.node, "config", _SESSIONS[one.name])
    return None if found is not None and constant(found) is None else found


def _made(module: Module, one: Ported) -> Optional[Any]:
    """The statement that makes the ConfigProto of a session, where that is in sight and lines can follow it."""
    config = _config(one)
    if not isinstance(config, ast.Name):
        return None
    home, bindings = one.call.place.scope.find(config.id)
    if home is None or len(bindings) != 1 or bindings[0].kind != "assign":
        return None
    value = bindings[0].value
    if isinstance(value, ast.Call) and module.resolve(value.func, home).endswith(".ConfigProto"):
        return bindings[0].node
    return None


def _can_stand_before(module: Module, one: Ported) -> bool:
    place = one.call.place
    if place.scope.kind == "comprehension" or isinstance(place.scope.node, ast.Lambda):
        return False
    if _config(one) is not None or not prefix_of(one.call.node.func):
        return False
    line = module.source.lines[place.statement.lineno - 1].lstrip()
    if line.startswith(("elif", "@")) or isinstance(place.statement, ast.While):
        return False
    return insert_lines(module.source, place.statement, ["pass"]) is not None


def _what(module: Module, one: Ported) -> Tuple[List[str], int]:
    """The lines to be added, and where."""
    made, place = _made(module, one), one.call.place
    if made is not None and insert_lines(module.source, made, ["pass"], behind=True) is not None:
        return entry_lines(made.targets[0].id, free_name(module, place, "custom_op")), made.lineno + 1
    if _can_stand_before(module, one):
        config = free_name(module, place, "config")
        first = f"{config} = {_root(one)}.ConfigProto()"
        return [first, *entry_lines(config, free_name(module, place, "custom_op"))], place.statement.lineno
    return ["config=npu_config_proto()"], one.call.node.lineno


def _root(one: Ported) -> str:
    prefix = prefix_of(one.call.node.func)
    return prefix[: -len(".train")] if prefix.endswith(".train") else prefix


def _fix(module: Module, one: Ported) -> Fix:
    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        node, place, made = one.call.node, one.call.place, _made(module, one)
        if made is not None:
            lines, _ = _what(module, one)
            edit = insert_lines(module.source, made, lines, behind=True)
            if edit is not None:
                return [edit, *adapter_import(module, "RewriterConfig")]
        if _can_stand_before(module, one) and argument(node, "config", _SESSIONS[one.name]) is None:
            lines, _ = _what(module, one)
            before = insert_lines(module.source, place.statement, lines)
            added = added_argument(module, tokens, node, f"config={lines[0].split(' ')[0]}")
            if before is None or added is None:
                return None
            return [before, added, *adapter_import(module, "RewriterConfig")]
        return _inline(module, tokens, one)

    return fix


def _inline(module: Module, tokens: List[Any], one: Ported) -> Optional[List[Edit]]:
    """``npu_config_proto`` around the configuration, for a session in the midst of an expression."""
    node = one.call.node
    found = arguments(module.source, tokens, node)
    if found is None:
        return None
    for start, end in found[2]:
        text = text_of(tokens, start, end)
        name, equals, value = text.partition("=")
        if equals and name.strip() == "config":
            kept = "" if value.strip() == "None" else f"config_proto={value.strip()}"
            edit = Edit(start, end, f"config=npu_config_proto({kept})")
            return [edit, *adapter_import(module, "npu_config_proto")]
    position = _SESSIONS[one.name]
    if 0 <= position < len(node.args):
        start, end = found[2][position]
        edit = Edit(start, end, f"npu_config_proto(config_proto={text_of(tokens, start, end)})")
        return [edit, *adapter_import(module, "npu_config_proto")]
    added = added_argument(module, tokens, node, "config=npu_config_proto()")
    return None if added is None else [added, *adapter_import(module, "npu_config_proto")]
