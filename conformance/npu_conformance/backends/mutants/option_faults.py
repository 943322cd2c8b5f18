"""Kinds of faults in how a backend takes options: each makes, of the reference's answer, a wrong one."""

from __future__ import annotations

import functools
import importlib
import json
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, with_values
from npu_conformance.observing.values import unwrapped
from npu_reference.errors import NpuError
from npu_reference.options import OPTIONS
from npu_reference.options.declaration import SURFACES
from npu_reference.options.rules import RULES

__all__ = [
    "Ask", "Change", "Fault", "Kinded", "When", "accepts", "always", "declare", "default_is", "does",
    "effective_is", "environment_wins", "given", "ignores", "means", "other_files", "out_of_scenario",
    "refuses", "silent", "texts", "together", "unbounded", "untyped", "without_advice", "without_rule",
    "wrong_default",
]  # fmt: skip

#: The reference's ``options``, which answers or raises NpuError.
Ask = Callable[[Params], Answer]
#: A wrong ``options``: gets the right one and the request.
Fault = Callable[[Ask, Params], Answer]
When = Callable[[Params], bool]
Change = Callable[[Any], Any]

#: The second word of a requirement on a file or variable to the option that names the one, or goes before the other.
_FORMATS = {
    "AOE_MODE": "aoe_mode",
    "HCCL_EXEC_TIMEOUT": "hccl_timeout",
    "aoe_cfg": "aoe_config_file",
    "cache": "op_compiler_cache_dir",
    "fusion_switch": "fusion_switch_file",
    "mixlist": "modify_mixlist",
    "op_cache_ini": "op_compiler_cache_dir",
    "op_debug_cfg": "op_debug_config",
    "op_precision_ini": "op_precision_mode",
}


class Kinded:
    """A fault that knows its kind, and the options it is about."""

    def __init__(self, fault: Fault, kind: str, options: Tuple[str, ...]) -> None:
        self.fault, self.kind, self.options = fault, kind, options

    def __call__(self, ask: Ask, params: Params) -> Answer:
        return self.fault(ask, params)


def _of_kind(kind: str) -> Callable[[Callable[..., Fault]], Callable[..., Fault]]:
    """Makes the faults of a function know their kind; its first argument is the option they are about."""

    def decorate(make: Callable[..., Fault]) -> Callable[..., Fault]:
        @functools.wraps(make)
        def made(option: Any, *arguments: Any, **named: Any) -> Fault:
            options = (option,) if option in OPTIONS else ()
            return Kinded(make(option, *arguments, **named), kind, options)

        return made

    return decorate


def declare(
    name: str, requirement: str, sentence: str, fault: Fault, *, kind: str = "", everywhere: bool = False
) -> None:
    """Register a mutant whose ``options`` has one fault.

    Its place in the table of faults follows from the fault and the requirement. One of a surface shows on that
    surface only; without a surface in its name or requirement it is on both.

    Args:
        sentence: what is wrong.
        kind: of :data:`npu_conformance.backends.mutants.fault_kinds.KINDS`, where it is another than the fault's own.
        everywhere: it shows on both surfaces all the same.
    """
    place, subject = requirement.split(".")[:2]
    if place == "env":
        place = "runconfig"  # the variables are those of document 003
    surface = next((one for one in (name.split(".")[1], place) if one in SURFACES and not everywhere), "")
    about = [*getattr(fault, "options", ()), _FORMATS.get(subject, subject)]

    def options(self: ReferenceBackend, params: Params) -> Answer:
        return _ask(params) if surface not in ("", params["surface"]) else fault(_ask, params)

    register = mutant(
        name,
        requirement,
        options=tuple(dict.fromkeys(option for option in about if option in OPTIONS)),
        surface=surface,
        kind=kind or getattr(fault, "kind", "misread"),
    )
    register(type("OptionMutant", (ReferenceBackend,), {"__doc__": sentence, "options": options}))


def _ask(params: Params) -> Answer:
    """The reference's answer, to be changed at will."""
    answer, error = _answered(json.dumps(params, sort_keys=True))
    if error is not None:
        raise error.with_traceback(None)
    found: Answer = json.loads(answer)
    return found


@functools.lru_cache(maxsize=1 << 12)  # hundreds of mutants are asked the same thousand questions
def _answered(request: str) -> Tuple[str, Optional[NpuError]]:
    try:
        return json.dumps(ReferenceBackend().options(json.loads(request))), None
    except NpuError as error:
        return "", error


def always(params: Params) -> bool:
    """A fault without a condition."""
    return True


def given(params: Params, option: str) -> Any:
    """The value of the request for an option, whatever field it names; None when it has none."""
    return unwrapped(params["values"].get(option))


def texts(params: Params) -> str:
    """All option files of the request as one text."""
    return "\n".join(text for text in params.get("files", {}).values() if isinstance(text, str))


# Defaults


@_of_kind("wrong_default")
def default_is(option: str, value: Any, when: When = always) -> Fault:
    """Another default; ``value`` may be a function of the right one."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        entry = answer["effective"].get(option)
        if entry is not None and entry["origin"] == "default" and when(params):
            entry["value"] = value(entry["value"]) if callable(value) else value
            answer["meaning"].pop(option, None)
        return answer

    return fault


@_of_kind("wrong_default")
def wrong_default(option: str, field: str) -> Fault:
    """A default that is another value of the same type, or a value where there is none."""
    of_nothing = {"b": True, "i": 1, "s": "given by nobody", "o": {}}

    def other(value: Any) -> Any:
        if value is None:
            return of_nothing[field]
        if isinstance(value, bool):
            return not value
        return value + 1 if isinstance(value, int) else f"{value}2"

    return default_is(option, other)


# What is accepted


def _taken(ask: Ask, params: Params, option: str) -> Answer:
    """The answer in which the option has whatever was given."""
    try:
        answer = ask(with_values(params, **{option: None}))
    except NpuError:
        answer = ask({**params, "values": {}})
    answer["effective"][option] = {"value": given(params, option), "origin": "given"}
    return answer


def _lenient(option: str, wanted: Callable[[NpuError], bool], when: When) -> Fault:
    def fault(ask: Ask, params: Params) -> Answer:
        try:
            return ask(params)
        except NpuError as error:
            if error.subject != option or not wanted(error) or not when(params):
                raise
            return _taken(ask, params, option)

    return fault


@_of_kind("any_type")
def untyped(option: str, when: When = always) -> Fault:
    """Accepts values of any type."""
    return _lenient(option, lambda error: error.code == "OPTION_TYPE", when)


#: Codes of refusals because of a value itself, not of its type or of what stands beside it.
_OF_THE_VALUE = frozenset({"OPTION_VALUE", "OPTION_SYNTAX", "OPTION_FILE"})


@_of_kind("skipped_domain")
def unbounded(option: str, when: When = always) -> Fault:
    """Accepts values outside the domain, the grammar and the file format, of the right type all the same."""
    return _lenient(option, lambda error: error.code in _OF_THE_VALUE, when)


@_of_kind("skipped_domain")
def accepts(option: str, when: When = always) -> Fault:
    """Accepts values outside the domain, the grammar, the file format, and beside what excludes them."""
    return _lenient(option, lambda error: True, when)


@_of_kind("misread")
def refuses(option: str, when: When, code: str = "OPTION_FILE") -> Fault:
    """Refuses a right value where the condition holds."""

    def fault(ask: Ask, params: Params) -> Answer:
        if option in params["values"] and when(params):
            raise NpuError(code, option, "is refused though it is right.")
        return ask(params)

    return fault


# What takes effect


@_of_kind("ignored")
def ignores(option: str, when: When = always) -> Fault:
    """Takes the option for one that was not given."""

    def fault(ask: Ask, params: Params) -> Answer:
        hit = option in params["values"] and when(params)
        return ask(with_values(params, **{option: None})) if hit else ask(params)

    return fault


@_of_kind("misread")
def effective_is(option: str, change: Change, when: When = always) -> Fault:
    """Another value takes effect than the one given."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if option in answer["effective"] and given(params, option) is not None and when(params):
            entry = answer["effective"][option]
            answer["effective"][option] = {**entry, "value": change(entry["value"])}
        return answer

    return fault


@_of_kind("wrong_precedence")
def environment_wins(option: str, variable: str) -> Fault:
    """Reads the variable although the option is given."""
    return ignores(option, lambda params: variable in params.get("env", {}))


@_of_kind("out_of_scenario")
def out_of_scenario(option: str) -> Fault:
    """Outside the scenario of an option, takes what is to be ignored, and ignores what is to take effect (G13)."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        scope = ("inference_only", "training_only")
        if not any(one["option"] == option and one["code"] in scope for one in answer["warnings"]):
            return answer
        if answer["effective"][option]["origin"] == "given":
            return ask(with_values(params, **{option: None}))
        answer["effective"][option] = {"value": given(params, option), "origin": "given"}
        return answer

    return fault


def without_rule(name: str) -> Fault:
    """Knows nothing of one rule between options."""

    def fault(ask: Ask, params: Params) -> Answer:
        resolving = importlib.import_module("npu_reference.options.resolve")
        views, key = resolving._VIEWS, (params["surface"], params["edition"])
        view = resolving._view(*key)
        views[key] = view._replace(rules=tuple(rule for rule in view.rules if rule.name != name))
        try:
            return ReferenceBackend().options(params)
        finally:
            views[key] = view

    triggers = next(rule.triggers for rule in RULES if rule.name == name)
    return Kinded(fault, "dropped_rule", tuple(one for one in triggers if one in OPTIONS))


# What is told


@_of_kind("silent")
def without_advice(option: str) -> Fault:
    """Leaves the notes about an option out."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        return {**answer, "notes": [one for one in answer["notes"] if one["option"] != option]}

    return fault


@_of_kind("silent")
def silent(option: str, code: str) -> Fault:
    """Leaves one kind of warning out."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        kept = [one for one in answer["warnings"] if (one["option"], one["code"]) != (option, code)]
        return {**answer, "warnings": kept}

    return fault


@_of_kind("misread")
def means(option: str, change: Change, when: When = always) -> Fault:
    """Misreads what a text or file says; ``change`` gets its meaning and returns another."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if option in answer["meaning"] and option in params["values"] and when(params):
            answer["meaning"][option] = change(answer["meaning"][option])
        return answer

    return fault


@_of_kind("misread")
def does(option: str, topic: str, change: Change, when: When = always) -> Fault:
    """Has graph compilation or the device do something else because of an option; ``topic`` is one of directives."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        if topic in answer["directives"] and when(params):
            answer["directives"][topic] = change(answer["directives"][topic])
        return answer

    return fault


def together(*faults: Fault) -> Fault:
    """All of some faults at once, of the kind of the first."""

    def fault(ask: Ask, params: Params) -> Answer:
        for one in faults:
            ask = functools.partial(one, ask)
        return ask(params)

    first = faults[0]
    return Kinded(fault, first.kind, first.options) if isinstance(first, Kinded) else fault


def other_files(change: Callable[[str], Optional[str]], when: When = always) -> Fault:
    """Reads other texts than stand in the files; None for one it does not see."""

    def fault(ask: Ask, params: Params) -> Answer:
        if "files" not in params or not when(params):
            return ask(params)
        return ask({**params, "files": _changed(params["files"], change)})

    return fault


def _changed(files: Mapping[str, Any], change: Callable[[str], Optional[str]]) -> Dict[str, Any]:
    read: Tuple[Tuple[str, Any], ...] = tuple(
        (path, change(text) if isinstance(text, str) and text else text) for path, text in files.items()
    )
    return {path: text for path, text in read if text is not None}
