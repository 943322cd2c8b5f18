"""How findings about options are mended: nearest names, right fields, values in the form their field takes."""

from __future__ import annotations

import ast
from typing import Any, List, Optional

from npu_conformance.lint.checking import Problem, facet_of, nearest_word, takes
from npu_conformance.lint.configs import Config
from npu_conformance.lint.editing import at, closing, reached, replace, text_of, word_in_text
from npu_conformance.lint.finding import Edit, Fix
from npu_conformance.lint.module import Module
from npu_conformance.lint.values import UNKNOWN, constant
from npu_reference.options import CLASSES, OPTIONS
from npu_reference.spelling import nearest

__all__ = ["argument_name", "as_bytes", "converted", "field", "means_the_same", "nearest_name", "option_name", "word"]

_TRUE = frozenset(["true", "1", "yes", "on"])
_FALSE = frozenset(["false", "0", "no", "off"])


def nearest_name(config: Config, name: str, edition: str) -> str:
    """The option or argument that a misspelt name probably means; empty where none is near."""
    if config.kind in CLASSES:
        known = [argument.name for argument in CLASSES[config.kind]]
    else:
        known = [one for one, option in OPTIONS.items() if option.facet(config.surface, edition) is not None]
    return nearest(name, known)


def option_name(module: Module, problem: Problem, edition: str) -> Optional[Fix]:
    """The key of a parameter map, or the keyword of a call, becomes the nearest there is."""
    new = nearest_name(problem.config, problem.given.name, edition)
    taken = {one.name for one in problem.config.given}
    if not new or new in taken:
        return None
    key = problem.given.key
    if isinstance(key, ast.keyword):
        return argument_name(module, problem, new)
    return word_in_text(module.source, key, problem.given.name, new) if constant(key) == problem.given.name else None


def argument_name(module: Module, problem: Problem, new: str) -> Fix:
    """The keyword before a value becomes ``new``."""
    source, old = module.source, problem.given.name

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        index = at(source, problem.given.value)
        steps = 0
        while index is not None and index > 0 and steps < 12:
            index, steps = index - 1, steps + 1
            if tokens[index].name == "NAME" and tokens[index].src == old:
                return [Edit(index, index + 1, new)]
        return None

    return fix


def word(module: Module, problem: Problem, edition: str) -> Optional[Fix]:
    """A value becomes the nearest word of its choice."""
    new = nearest_word(problem.config, problem.given.name, problem.value, edition)
    if not new or problem.given.value is None or problem.given.values.only is UNKNOWN:
        return None
    return word_in_text(module.source, problem.given.value, str(problem.value), new)


def converted(config: Config, name: str, value: Any, edition: str) -> Any:
    """A value in the type of its option, where it plainly means one that the option takes; else UNKNOWN."""
    facet = facet_of(config, name, edition)
    if facet is None:
        return UNKNOWN
    new: Any = UNKNOWN
    if facet.field == "b" and isinstance(value, (str, int)):
        text = str(value).lower()
        new = True if text in _TRUE else (False if text in _FALSE else UNKNOWN)
    elif facet.field == "i" and _is_whole(value):
        new = int(value)
    elif facet.field == "s" and isinstance(value, (str, int)) and not isinstance(value, bool):
        new = str(value)
    return new if new is not UNKNOWN and takes(config, name, new, edition) else UNKNOWN


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lstrip("-").isdigit() and len(value) < 20
    return isinstance(value, (bool, float)) and value == value // 1


def written(module: Module, value: Any, config: Config) -> str:
    """A value as the script would write it; texts of a parameter map become bytes."""
    if not isinstance(value, str):
        return repr(value)
    text = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if config.surface == "runconfig":
        return text
    scope = module.scope
    binding = scope.find("tf")[1]
    known = binding and all(one.kind == "import" and one.target.startswith("tensorflow") for one in binding)
    if known or (not binding and module.adapter_star):
        return f"tf.compat.as_bytes({text})"
    return "b" + text if value.isascii() else text + '.encode("utf-8")'


def value_text(module: Module, problem: Problem, edition: str) -> Optional[Fix]:
    """A literal of the wrong type becomes the same in the right one."""
    given = problem.given
    if given.copied or given.value is None or problem.value is UNKNOWN:
        return None
    new = converted(problem.config, given.name, problem.value, edition)
    if new is UNKNOWN or (constant(given.value) is UNKNOWN and not _is_bytes_of_literal(given.value)):
        return None
    return replace(module.source, given.value, written(module, new, problem.config))


def means_the_same(problem: Problem, edition: str) -> bool:
    """Whether a value of the wrong type is the one it becomes, or how Python writes that one."""
    new = converted(problem.config, problem.given.name, problem.value, edition)
    return new is not UNKNOWN and (new == problem.value or str(new) == str(problem.value))


def _is_bytes_of_literal(node: Any) -> bool:
    return isinstance(node, ast.Call) and len(node.args) == 1 and constant(node.args[0]) is not UNKNOWN


def field(module: Module, problem: Problem, edition: str) -> Optional[Fix]:
    """``parameter_map["key"].b`` becomes the field that is read, its value a value of that field."""
    given, config = problem.given, problem.config
    facet = facet_of(config, given.name, edition)
    if given.copied or facet is None or isinstance(given.key, ast.Name) or given.value is None:
        return None
    value, source = given.values.only, module.source
    new: Any = value if value is not UNKNOWN and takes(config, given.name, value, edition) else UNKNOWN
    if new is UNKNOWN and value is not UNKNOWN:
        new = converted(config, given.name, value, edition)
    literal = constant(given.value) is not UNKNOWN or _is_bytes_of_literal(given.value)
    if new is UNKNOWN or not literal:
        return None
    kept = type(new) is type(value) and facet.field != "s"

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        key, start = at(source, given.key), at(source, given.value)
        if key is None or start is None:
            return None
        bracket = next((i for i in range(key, 0, -1) if tokens[i].src == "[" and tokens[i].name == "OP"), None)
        if bracket is None:
            return None
        end = closing(tokens, bracket)
        edits = [] if kept else [Edit(start, reached(tokens, start), written(module, new, config))]
        if given.field == "?":
            return [Edit(end + 1, end + 1, f".{facet.field}"), *edits]
        name = next((i for i in range(end + 1, min(end + 6, len(tokens))) if tokens[i].name == "NAME"), None)
        if name is None or tokens[name].src != given.field:
            return None
        return [Edit(name, name + 1, facet.field), *edits]

    return fix


def as_bytes(module: Module, problem: Problem) -> Optional[Fix]:
    """A text becomes bytes: ``tf.compat.as_bytes`` around it, or a ``b`` before a literal where tf is not known."""
    given, source = problem.given, module.source
    if given.copied or given.value is None or isinstance(given.value, ast.IfExp):
        return None

    def fix(tokens: List[Any]) -> Optional[List[Edit]]:
        start = at(source, given.value)
        if start is None:
            return None
        end = reached(tokens, start)
        text = text_of(tokens, start, end)
        if written(module, "", problem.config).startswith("tf."):
            return [Edit(start, end, f"tf.compat.as_bytes({text})")]
        if end == start + 1 and text[:1] in "\"'" and text.isascii():
            return [Edit(start, end, "b" + text)]
        return None

    return fix
