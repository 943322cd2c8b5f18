"""Options of the compilation cache and of memory: modes, directories, op_cache.ini and sizes."""

from __future__ import annotations

import posixpath
import re
from functools import partial
from typing import Any, Dict, Mapping

from faulty.answered import misread, told_value
from faulty.asked import (
    RUNCONFIG,
    SESSION,
    given,
    is_about,
    is_in_field,
    plain,
    value_is,
    value_of,
    with_env,
    with_settings,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, asks, defaults, denies, reads_as, tells
from faulty.mistakes_options import default_on, directive, takes, takes_as
from npu_reference.errors import NpuError

defaults(  # files.cache.default_size
    "a_cache_has_1024_megabytes",
    "003 op_compiler_cache_mode: 500 MB by default",
    "max_op_cache_size",
    1024,
    lambda params: (
        "ASCEND_MAX_OP_CACHE_SIZE" not in params.get("env", {})
        and not any(name.endswith("op_cache.ini") for name in params.get("files", {}))
    ),
)
accepts(
    "the_cache_directory_may_be_a_number",
    "002 op_compiler_cache_dir: parameter_map[...].s",
    "op_compiler_cache_dir",
    lambda params: is_in_field(params, "op_compiler_cache_dir", "i"),
)


@broken("options", "003 op_cache.ini: takes effect only when both values are valid", "options", "compile")
def more_than_all_is_all(ask: Any, params: Params) -> Answer:
    def edited(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: re.sub(r"(remain_cache_size_ratio\s*=\s*)(10[1-9]|[2-9]\d\d)\b", r"\g<1>100", text)
            if name.endswith("op_cache.ini") and isinstance(text, str)
            else text
            for name, text in files.items()
        }

    found = {**params, "files": edited(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": edited(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return ask(found)


asks(
    "no_ratio_in_the_environment",
    "003 ASCEND_REMAIN_CACHE_SIZE_RATIO: the ratio of the cache space to be reserved",
    "options",
    lambda params: with_env(
        params, lambda env: {k: v for k, v in env.items() if k != "ASCEND_REMAIN_CACHE_SIZE_RATIO"}
    ),
    "options",
    "compile",
)
asks(
    "a_ratio_needs_its_limit",
    "003, C3 the variables of the cache: each on its own",
    "options",
    lambda params: with_env(
        params,
        lambda env: (
            env
            if "ASCEND_MAX_OP_CACHE_SIZE" in env
            else {k: v for k, v in env.items() if k != "ASCEND_REMAIN_CACHE_SIZE_RATIO"}
        ),
    ),
)
denies(  # runconfig.op_compiler_cache_mode.example
    "a_cache_needs_a_directory_that_is_named",
    '003 op_compiler_cache_mode: NPURunConfig(op_compiler_cache_mode="enable")',
    "op_compiler_cache_mode",
    lambda params: (
        RUNCONFIG(params)
        and value_is(params, "op_compiler_cache_mode", "enable")
        and not given(params, "op_compiler_cache_dir")
    ),
)


@broken("options", "003 op_cache.ini: the sample, with its comments", "options")
def comments_spoil_the_settings_of_a_cache(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.sample."""
    if not is_about(params, edition="current"):
        return dict(ask(params))
    return dict(ask(with_settings(params, lambda text: "" if "#" in text else text)))


@broken("options", "003 op_cache.ini: takes effect only when both values are valid", "options", "compile")
def numbers_of_the_cache_may_have_units(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.both_valid."""
    return dict(ask(with_settings(params, lambda text: re.sub(r"(?m)^(\w+\s*=\s*\d+)\s*(?:MB?|%)\s*$", r"\1", text))))


@broken("options", "003 op_cache.ini: the section is [op_compiler_cache]", "options", "compile")
def the_section_of_the_cache_is_in_any_case(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.section."""
    plain = partial(re.sub, r"(?i)\[op_compiler_cache\]", "[op_compiler_cache]")
    return dict(ask(with_settings(params, plain)))


default_on("op_compiler_cache_mode", "enable", "session", "legacy")


def _cache_path_first(answer: Answer, params: Params) -> None:
    said = params.get("env", {}).get("ASCEND_CACHE_PATH")
    if said and "op_compiler_cache_dir" in params["values"]:
        answer["effective"]["op_compiler_cache_dir"] = {"value": said, "origin": "environment"}


tells("cache_path_over_cache_dir", "003 op_compiler_cache_dir -> ASCEND_CACHE_PATH", _cache_path_first)
accepts(
    "spaces_in_cache_paths",
    "003 op_compiler_cache_dir: letters, digits, _, - and .",
    "op_compiler_cache_dir",
    lambda params: " " in str(value_of(params, "op_compiler_cache_dir")),
)
denies(
    "no_chinese_paths",
    "002 op_compiler_cache_dir: Chinese characters are allowed",
    "op_compiler_cache_dir",
    lambda params: bool(re.search("[\u4e00-\u9fff]", str(value_of(params, "op_compiler_cache_dir")))),
)
takes(
    "cache_is_on_or_off",
    "003 op_compiler_cache_mode: enable, force, disable",
    "op_compiler_cache_mode",
    "runconfig",
    "current",
    "on",
    "off",
    "Enable",
    "enabled",
    "true",
    "",
)


@broken("options", "003: op_cache.ini takes effect only when both values are valid")
def each_value_of_the_cache_file_stands_alone(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for path, text in params.get("files", {}).items():
        if path.endswith("op_cache.ini") and isinstance(text, str):
            found = re.search(r"max_op_cache_size\s*=\s*(\d+)", text)
            if found:
                told_value(answer, "max_op_cache_size", int(found.group(1)), "file")
    return answer


def _less_than_all(text: str) -> str:
    return re.sub(r"(?m)^(remain_cache_size_ratio\s*=\s*)100\s*$", r"\g<1>0", text)


@broken("options", "003 op_cache.ini: remain_cache_size_ratio is 1 to 100", "options", "compile")
def all_of_a_cache_is_no_ratio(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.ratio: a bound that is left out."""
    return dict(ask(with_settings(params, _less_than_all)))


# runconfig.op_compiler_cache_dir.charset, session.op_compiler_cache_dir.charset
reads_as(
    "directory_of_the_cache_is_checked_once_normalised",
    "The path of op_compiler_cache_dir holds letters, digits, underscores, hyphens and periods",
    "op_compiler_cache_dir",
    lambda params, value: posixpath.normpath(value) if isinstance(value, str) and ".." in value else value,
    "options",
    "compile",
)


def _any_header(text: str) -> str:
    if not re.search(r"(?m)^\s*(max_op_cache_size|remain_cache_size_ratio)\s*=", text):
        return text
    lines = [line for line in text.splitlines() if not line.strip().startswith("[")]
    return "\n".join(["[op_compiler_cache]", *lines]) + "\n"


@broken(  # files.op_cache_ini.section
    "options", "003 op_cache.ini: the header [op_compiler_cache] is required", "options", "compile"
)
def settings_of_the_cache_are_read_below_any_header(ask: Any, params: Params) -> Answer:
    return misread(ask, params, with_settings(params, _any_header))


denies(
    "weights_leave_by_a_text_alone",
    "003 external_weight: external_weight=True as in the example",
    "external_weight",
    lambda params: is_about(params, "runconfig", "current") and value_is(params, "external_weight", True),
)
_MEMORY = ("variable_memory_max_size", "graph_memory_max_size")


def _in_kilobytes(params: Params, told: Any) -> Any:
    names = [name for name in params["values"] if name in _MEMORY]
    first = names[:1] == ["variable_memory_max_size"] and len(names) == 2
    return str(int(told) // 1024) if first and isinstance(told, str) and told.isdigit() else told


reads_as(  # pair 38
    "memory_of_variables_that_comes_first_is_another_unit",
    "002: the unit of variable_memory_max_size is byte",
    "variable_memory_max_size",
    _in_kilobytes,
    "options",
)
accepts(
    "weights_are_outside_by_a_word",
    "003 external_weight is a bool",
    "external_weight",
    lambda params: isinstance(value_of(params, "external_weight"), str),
    external_weight=True,
)
# session.memory.sum_with_defaults
accepts(
    "variables_alone_may_take_what_graphs_need",
    "The sum counts the default of graph_memory_max_size, too",
    "variable_memory_max_size",
    lambda params: given(params, "variable_memory_max_size") and not given(params, "graph_memory_max_size"),
)
accepts(
    "an_object_is_an_object",
    "003 L956: experimental_config is an ExperimentalConfig",
    "experimental_config",
    lambda params: isinstance(value_of(params, "experimental_config"), dict),
)
accepts(
    "the_name_of_a_class_is_an_object",
    "003 L69: memory_config is a MemoryConfig",
    "memory_config",
    lambda params: isinstance(value_of(params, "memory_config"), str),
)
takes_as(
    "any_configuration_object_is_a_memory_config",
    "003 memory_config: an object of class MemoryConfig",
    "memory_config",
    lambda params, error: error.code == "OPTION_TYPE" and isinstance(value_of(params, "memory_config"), dict),
    lambda params: with_values(params, memory_config=None),
)
accepts(
    "products_of_bytes_have_no_range",
    "002 graph_memory_max_size: from 0 to 256*1024*1024*1024",
    "graph_memory_max_size",
    lambda params: "*" in str(value_of(params, "graph_memory_max_size")),
)
denies(  # session.variable_memory_max_size.range
    "no_memory_of_variables_is_refused",
    "002 variable_memory_max_size: [0, 274877906944]",
    "variable_memory_max_size",
    lambda params: SESSION(params) and value_is(params, "variable_memory_max_size", "0"),
)
reads_as(
    "variables_in_gigabytes",
    "002 variable_memory_max_size is a number of bytes",
    "variable_memory_max_size",
    lambda params, value: (
        str(int(value[:-1]) << 30)
        if params["edition"] == "legacy" and isinstance(value, str) and re.fullmatch(r"\d+G", value)
        else None
    ),
)
accepts(  # runconfig.experimental_config.type
    "an_experiment_is_described_in_words",
    "003 experimental_config: an ExperimentalConfig",
    "experimental_config",
    lambda params: isinstance(value_of(params, "experimental_config"), str),
)
accepts(  # pair 25
    "a_limit_by_itself_has_no_range",
    "002: graph_memory_max_size is at most 256 GB",
    "graph_memory_max_size",
    lambda params: (
        is_about(params, edition="legacy")
        and len(params["values"]) == 1
        and str(value_of(params, "graph_memory_max_size")).isdigit()
    ),
)
directive("memory_in_kilobytes", lambda told: {k: v // 1024 if v else v for k, v in told.items()}, "memory", "session")
accepts(
    "sum_of_memory_without_defaults",
    "002 graph_memory_max_size and variable_memory_max_size: 31G in total, 5 GB and 26 GB if not set",
    "graph_memory_max_size",
    lambda params: "variable_memory_max_size" not in params["values"],
)
takes(
    "graph_memory_beyond_256_gigabytes",
    "002 graph_memory_max_size: [0, 274877906944]",
    "graph_memory_max_size",
    "session",
    "legacy",
    "274877906945",
    "-1",
    "26GB",
    "26*1024*1024*1024",
)


@broken("options", "003 graph_memory_max_size: does not take effect in the current version")
def memory_limits_still_hold(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for option, key in (("graph_memory_max_size", "graph_bytes"), ("variable_memory_max_size", "variable_bytes")):
        given = plain(params["values"].get(option))
        if params["surface"] == "runconfig" and params["edition"] == "current" and given is not None:
            text = str(given)
            answer["directives"]["memory"][key] = int(text) if text.isdigit() else 1
    return answer


@broken(  # session.graph_memory_max_size.range, session.memory.sum_31g
    "options", "002 graph_memory_max_size: 31G together; the default counts where one is not set", "options"
)
def a_memory_of_nothing_counts_with_its_default(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if not is_about(params, edition="legacy"):
        return answer
    usual = {"graph_memory_max_size": 26 << 30, "variable_memory_max_size": 5 << 30}
    sizes = {name: str(value_of(params, name)) for name in usual}
    if "0" not in sizes.values():
        return answer
    total = sum(int(sizes[name]) or usual[name] if sizes[name].isdigit() else usual[name] for name in usual)
    if total > 31 << 30:
        raise NpuError("OPTION_CONFLICT", "graph_memory_max_size", "more than 31G together")
    return answer
