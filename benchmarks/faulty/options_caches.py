"""Options of the compilation cache and of memory: modes, directories, op_cache.ini and sizes."""

from __future__ import annotations

import posixpath
import re
from functools import partial
from typing import Any

from faulty.asked import (
    SESSION,
    given,
    given_as,
    is_about,
    is_in_field,
    value_is,
    value_of,
    where,
    with_env,
    with_settings,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, asks, denies, reads_as, says

fault(
    "the_cache_directory_may_be_a_number",
    "session.op_compiler_cache_dir.type",
    accepts("op_compiler_cache_dir"),
    lambda params: is_in_field(params, "op_compiler_cache_dir", "i"),
)
fault(
    "a_ratio_needs_its_limit",
    "env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect",
    asks(
        lambda params: with_env(
            params,
            lambda env: (
                env
                if "ASCEND_MAX_OP_CACHE_SIZE" in env
                else {k: v for k, v in env.items() if k != "ASCEND_REMAIN_CACHE_SIZE_RATIO"}
            ),
        )
    ),
)


@mistake("files.op_cache_ini.sample")
def comments_spoil_the_settings_of_a_cache(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.sample."""
    if not is_about(params, edition="current"):
        return dict(ask(params))
    return dict(ask(with_settings(params, lambda text: "" if "#" in text else text)))


@mistake("files.op_cache_ini.both_valid", ("options", "compile"))
def numbers_of_the_cache_may_have_units(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.both_valid."""
    return dict(ask(with_settings(params, lambda text: re.sub(r"(?m)^(\w+\s*=\s*\d+)\s*(?:MB?|%)\s*$", r"\1", text))))


@mistake("files.op_cache_ini.section", ("options", "compile"))
def the_section_of_the_cache_is_in_any_case(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.section."""
    plain = partial(re.sub, r"(?i)\[op_compiler_cache\]", "[op_compiler_cache]")
    return dict(ask(with_settings(params, plain)))


fault(
    "no_chinese_paths",
    "session.op_compiler_cache_dir.charset",
    denies("op_compiler_cache_dir"),
    lambda params: bool(re.search("[\u4e00-\u9fff]", str(value_of(params, "op_compiler_cache_dir")))),
)


def _less_than_all(text: str) -> str:
    return re.sub(r"(?m)^(remain_cache_size_ratio\s*=\s*)100\s*$", r"\g<1>0", text)


@mistake("files.op_cache_ini.ratio", ("options", "compile"))
def all_of_a_cache_is_no_ratio(ask: Any, params: Params) -> Answer:
    """files.op_cache_ini.ratio: a bound that is left out."""
    return dict(ask(with_settings(params, _less_than_all)))


fault(
    "directory_of_the_cache_is_checked_once_normalised",
    "session.op_compiler_cache_dir.charset",
    reads_as(
        "op_compiler_cache_dir",
        lambda params, value: posixpath.normpath(value) if isinstance(value, str) and ".." in value else value,
    ),
    methods=("options", "compile"),
)
fault(
    "weights_are_outside_by_a_word",
    "runconfig.external_weight.type",
    accepts("external_weight", external_weight=True),
    lambda params: isinstance(value_of(params, "external_weight"), str),
)
fault(
    "variables_alone_may_take_what_graphs_need",
    "session.memory.sum_with_defaults",
    accepts("variable_memory_max_size"),
    lambda params: given(params, "variable_memory_max_size") and not given(params, "graph_memory_max_size"),
)
fault(
    "an_object_is_an_object",
    "runconfig.experimental_config.type",
    accepts("experimental_config"),
    lambda params: isinstance(value_of(params, "experimental_config"), dict),
)
fault(
    "the_name_of_a_class_is_an_object",
    "runconfig.memory_config.type",
    accepts("memory_config"),
    lambda params: isinstance(value_of(params, "memory_config"), str),
)
fault(
    "any_configuration_object_is_a_memory_config",
    "runconfig.memory_config.class",
    accepts("memory_config", lambda params: with_values(params, memory_config=None), said="OPTION_TYPE"),
    lambda params: isinstance(value_of(params, "memory_config"), dict),
)
fault(
    "products_of_bytes_have_no_range",
    "session.graph_memory_max_size.range",
    accepts("graph_memory_max_size"),
    lambda params: "*" in str(value_of(params, "graph_memory_max_size")),
)
fault(
    "no_memory_of_variables_is_refused",
    "session.variable_memory_max_size.range",
    denies("variable_memory_max_size"),
    lambda params: SESSION(params) and value_is(params, "variable_memory_max_size", "0"),
)
fault(
    "an_experiment_is_described_in_words",
    "runconfig.experimental_config.type",
    accepts("experimental_config"),
    lambda params: isinstance(value_of(params, "experimental_config"), str),
)
fault(
    "a_limit_by_itself_has_no_range",
    "session.graph_memory_max_size.range",
    accepts("graph_memory_max_size"),
    lambda params: (
        is_about(params, edition="legacy")
        and len(params["values"]) == 1
        and str(value_of(params, "graph_memory_max_size")).isdigit()
    ),
)
fault(
    "memory_in_kilobytes",
    "session.graph_memory_max_size.unit",
    says("directives", "memory", lambda told: {k: v // 1024 if v else v for k, v in told.items()}),
    where("session", ""),
)
fault(
    "graph_memory_beyond_256_gigabytes",
    "session.graph_memory_max_size.range",
    accepts("graph_memory_max_size"),
    given_as("graph_memory_max_size", "session", "legacy", "274877906945", "-1", "26GB", "26*1024*1024*1024"),
)
