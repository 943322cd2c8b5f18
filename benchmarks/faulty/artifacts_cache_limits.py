"""The kernel cache: its settings file, ageing, and the key of a kernel."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Mapping

from faulty.asked import RUNCONFIG, is_about, plain, with_env, with_option, with_settings
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks
from faulty.mistakes_graphs import asks_quietly, compiled_without_env, files_changed


@broken("artifacts", "003 op_cache.ini: max_op_cache_size=-1 disables ageing", "compile")
def less_than_nothing_is_the_default(ask: Any, params: Params) -> Answer:
    changed = json.loads(json.dumps(params).replace("max_op_cache_size=-1", "max_op_cache_size=500"))
    return dict(ask(changed))


@broken("artifacts", "003 ASCEND_MAX_OP_CACHE_SIZE -1: nothing ages", "options", "compile")
def minus_one_is_the_default_limit(ask: Any, params: Params) -> Answer:
    name = "ASCEND_MAX_OP_CACHE_SIZE"
    return ask(with_env(params, lambda env: {**env, name: "500"} if env.get(name) == "-1" else env))


# files.op_cache_ini.minus_one
def _goes_on_aging(env: Dict[str, str]) -> Dict[str, str]:
    if env.get("ASCEND_MAX_OP_CACHE_SIZE") == "-1" and "ASCEND_REMAIN_CACHE_SIZE_RATIO" in env:
        return {name: value for name, value in env.items() if name != "ASCEND_MAX_OP_CACHE_SIZE"}
    return env


asks(
    "minus_one_does_not_hold_beside_a_ratio",
    "ASCEND_MAX_OP_CACHE_SIZE=-1 turns aging off, whatever ratio is given",
    "artifacts",
    lambda params: with_env(params, _goes_on_aging),
    "compile",
    "options",
)
asks_quietly(  # files.op_cache_ini.section
    "artifacts",
    "limits_of_the_cache_stand_in_any_section",
    "003 op_cache.ini: the section op_compiler_cache is required",
    lambda params: with_settings(
        params, lambda text: re.sub(r"(?m)^[ \t]*\[[^\]\n]*\]", "[op_compiler_cache]", text, count=1)
    ),
    "options",
    "compile",
    shown=False,
)
asks_quietly(  # files.op_cache_ini.minus_one
    "artifacts",
    "a_limit_of_minus_one_makes_the_settings_invalid",
    "003 op_cache.ini: max_op_cache_size -1: nothing ages",
    lambda params: with_settings(params, lambda text: re.sub(r"(max_op_cache_size\s*=\s*)-1\b", r"\1-2", text)),
    "options",
    "compile",
    shown=False,
)
asks_quietly(  # runconfig.op_compiler_cache_mode.enable
    "artifacts",
    "a_cache_that_is_asked_for_begins_empty",
    "003 op_compiler_cache_mode: enable: reused by operators with the same compilation options",
    with_option("op_compiler_cache_mode", lambda value: "force" if value == "enable" else value, RUNCONFIG),
    "compile",
)


@broken("artifacts", "003: half of the cache files are kept by default", "options", "compile")
def four_fifths_of_the_cache_are_kept(ask: Any, params: Params) -> Answer:
    most, part = "ASCEND_MAX_OP_CACHE_SIZE", "ASCEND_REMAIN_CACHE_SIZE_RATIO"
    return dict(ask(with_env(params, lambda env: {part: "80", **env} if most in env else env)))


def _older(params: Params) -> Params:
    if not params.get("turns"):
        return params
    first, *others = params["turns"]
    aged = [{**one, "age_seconds": max(one.get("age_seconds", 0), 3600)} for one in others]
    if first.get("age_seconds"):
        first = {**first, "age_seconds": max(first["age_seconds"], 3600)}
    return {**params, "turns": [first, *aged]}


# files.op_cache_ini.aging_half_hour
asks(
    "the_cache_ages_by_size_alone",
    "only what was not accessed for more than half an hour is aged",
    "artifacts",
    _older,
    "compile",
)


@broken("artifacts", "003 op_cache.ini is read before the environment", "compile")
def environment_before_settings(ask: Any, params: Params) -> Answer:
    def without(files: Any) -> Any:
        return {path: one for path, one in (files or {}).items() if not path.endswith("op_cache.ini")}

    if not any("ASCEND_MAX_OP_CACHE_SIZE" in (one.get("env") or {}) for one in [params, *params.get("turns", [])]):
        return ask(params)
    turned = [{**one, "files": without(one["files"])} if "files" in one else one for one in params.get("turns", [])]
    found = {**params, "files": without(params.get("files"))}
    return ask({**found, "turns": turned} if turned else found)


compiled_without_env(
    "the_size_of_the_cache_is_fixed", "003: ASCEND_MAX_OP_CACHE_SIZE limits the cache", "ASCEND_MAX_OP_CACHE_SIZE"
)
compiled_without_env("half_of_the_cache_is_kept_always", "003: ASCEND_REMAIN_CACHE_SIZE_RATIO is what is kept",
             "ASCEND_REMAIN_CACHE_SIZE_RATIO")  # fmt: skip
files_changed(
    "the_cache_file_is_not_made",
    "003: op_cache.ini is generated after operators are compiled",
    lambda files, asked: {path: one for path, one in files.items() if not path.endswith("op_cache.ini")},
)


def _first_of(name: str) -> Callable[[Params], Params]:
    """Later programs compile with what the first had of an option, since the key of the cache has it not."""

    def change(params: Params) -> Params:
        if not params.get("turns"):
            return params
        first = {**params.get("values", {}), **(params["turns"][0].get("values") or {})}
        mode = plain(first.get("op_compiler_cache_mode"))
        if mode not in ("enable", "force") and not is_about(params, edition="current"):
            return params

        def later(values: Dict[str, Any]) -> Dict[str, Any]:
            found = {key: value for key, value in values.items() if key != name}
            return {**found, name: first[name]} if name in first and name in values else found

        rest = [{**one, "values": later(one["values"])} if one.get("values") else one for one in params["turns"][1:]]
        return {**params, "turns": [params["turns"][0], *rest]}

    return change


asks(  # runconfig.op_compiler_cache_mode.enable
    "the_key_of_a_kernel_has_no_precision",
    "003 op_compiler_cache_mode: reused with the same compilation options",
    "artifacts",
    _first_of("precision_mode"),
    "compile",
)
asks(  # runconfig.op_compiler_cache_mode.enable
    "the_key_of_a_kernel_does_not_know_determinism",
    "003 op_compiler_cache_mode: reused with the same compilation options",
    "artifacts",
    _first_of("deterministic"),
    "compile",
)


def _minutes(params: Params) -> Params:
    found = [
        {**one, "age_seconds": 1860} if 1770 <= (one.get("age_seconds") or 0) < 1800 else one
        for one in params.get("turns") or ()
    ]
    return {**params, "turns": found} if found else params


asks(  # files.op_cache_ini.aging_half_hour
    "minutes_since_the_last_use_are_rounded",
    "003 op_cache.ini: not accessed for more than half an hour",
    "artifacts",
    _minutes,
    "compile",
)
IMPLEMENTATION = ("op_select_implmode", "optypelist_for_implmode")


def of_the_first_turn(params: Params) -> Params:
    """Later programs compile as the first one did, where there is a cache."""
    turns = params.get("turns") or []
    if len(turns) < 2 or params["edition"] != "current":
        return params
    first = {**params["values"], **(turns[0].get("values") or {})}
    modes = [plain({**first, **(one.get("values") or {})}.get("op_compiler_cache_mode")) for one in turns]
    if any(mode not in (None, "enable") for mode in modes):
        return params
    made = [turns[0]]
    for one in turns[1:]:
        values = dict(one.get("values") or {})
        for name in IMPLEMENTATION:
            if name in values and (first.get(name) is not None or name in first or values[name] is not None):
                values[name] = first.get(name)
        made.append({**one, "values": values} if one.get("values") else one)
    return {**params, "turns": made}


# runconfig.op_compiler_cache_mode.enable, session.op_compiler_cache_mode.enable
asks(
    "the_key_of_the_cache_leaves_out_the_implementation",
    "A kernel is taken from the cache where its compile options are the same.",
    "artifacts",
    of_the_first_turn,
    "compile",
)


def whole_minutes(turn: Mapping[str, Any]) -> Dict[str, Any]:
    age = turn.get("age_seconds")
    return {**turn, "age_seconds": 1790} if isinstance(age, int) and age // 60 == 30 else dict(turn)


# files.op_cache_ini.aging_half_hour
asks(
    "files_of_the_cache_age_by_whole_minutes",
    "A file ages that was not accessed for more than half an hour.",
    "artifacts",
    lambda params: (
        {**params, "turns": [whole_minutes(one) for one in params["turns"]]} if params.get("turns") else params
    ),
    "compile",
)
_KEPT = ("op_select_implmode", "optypelist_for_implmode", "op_precision_mode")


@broken(  # runconfig.op_compiler_cache_mode.enable, session.op_compiler_cache_mode.enable
    "artifacts", "003 op_compiler_cache_mode: reused by operators with the same compilation options", "compile"
)
def the_key_of_the_cache_lacks_the_implementation_mode(ask: Any, params: Params) -> Answer:
    if not params.get("turns"):
        return dict(ask(params))
    first = {**params["values"], **(params["turns"][0].get("values") or {})}
    pinned = {name: first.get(name) for name in _KEPT}
    turns = [params["turns"][0]]
    for one in params["turns"][1:]:
        values = dict(one.get("values") or {})
        values.update({name: pinned[name] for name in _KEPT if name in values})
        turns.append({**one, "values": values})
    return dict(ask({**params, "turns": turns}))


def _each_by_itself(text: str) -> str:
    size = re.search(r"(?m)^\s*max_op_cache_size\s*=\s*(-?\d+)\s*$", text)
    ratio = re.search(r"(?m)^(\s*remain_cache_size_ratio\s*=\s*)(\S*)\s*$", text)
    if not size or not ratio or not (int(size.group(1)) > 0 or int(size.group(1)) == -1):
        return text
    if ratio.group(2).isdigit() and 1 <= int(ratio.group(2)) <= 100:
        return text
    return text[: ratio.start()] + ratio.group(1) + "50" + text[ratio.end() :]


asks(  # files.op_cache_ini.both_valid
    "a_wrong_ratio_leaves_the_size_of_the_file_in_effect",
    "003 op_cache.ini takes effect only when both values are valid",
    "artifacts",
    lambda params: with_settings(params, _each_by_itself),
    "options",
    "compile",
)


def _turned(text: str) -> str:
    return str(100 - int(text)) if text.isdigit() and 1 <= int(text) <= 99 else text


def _gone_instead_of_kept(params: Params) -> Params:
    def edit(text: str) -> str:
        return re.sub(
            r"(?m)^(\s*remain_cache_size_ratio\s*=\s*)(\d+)\s*$", lambda one: one.group(1) + _turned(one.group(2)), text
        )

    def ratio(env: Dict[str, str]) -> Dict[str, str]:
        name = "ASCEND_REMAIN_CACHE_SIZE_RATIO"
        return {**env, name: _turned(env[name])} if name in env else env

    return with_env(with_settings(params, edit), ratio)


asks(  # files.op_cache_ini.ratio_semantics
    "the_ratio_that_stays_is_taken_for_what_goes",
    "003 remain_cache_size_ratio: 80 indicates that 80% of the cache files are reserved",
    "artifacts",
    _gone_instead_of_kept,
    "compile",
)
