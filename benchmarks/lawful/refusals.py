"""Lawful backends that refuse the same input in another way: the documents have no codes and no subjects of errors."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

from faulty.asked import named_by, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import METHODS, errors_of, lawful
from npu_reference.errors import NpuError

__all__ = ["told_otherwise"]

#: Code and subject of a refusal, and why, to code and subject.
Retell = Callable[[str, str, str, Params], Tuple[str, str]]


def told_otherwise(area: str, name: str, sentence: str, retell: Retell, *methods: str) -> None:
    """Registers a backend that refuses what the reference refuses, by another code or with another subject."""

    def fault(ask: Ask, params: Params) -> Answer:
        try:
            answer = ask(params)
        except NpuError as error:
            raise _again(error, *retell(error.code, error.subject, error.reason, params)) from None
        for told in _refusals(answer):
            told["code"], told["subject"] = retell(told["code"], told["subject"], told.get("reason", ""), params)
        return answer

    lawful(area, name, sentence, fault, *(methods or METHODS))


def _again(error: NpuError, code: str, subject: str) -> NpuError:
    """The same error, told otherwise; errors are remembered, and so are not changed."""
    found = copy.copy(error)
    found.code, found.subject = code, subject
    return found


def _refusals(answer: Answer) -> Iterator[Dict[str, Any]]:
    """The refusals within an answer: of a step, a variant, a turn or a rank."""
    for part in (answer.get("base"), *answer.get("variants", {}).values(), *answer.get("turns", ())):
        if isinstance(part, dict) and isinstance(part.get("rejected"), dict):
            yield part["rejected"]
    for part in answer.get("ranks", ()):
        if isinstance(part.get("rejected"), dict) and "subject" in part["rejected"]:
            yield part["rejected"]


def _recoded(area: str, name: str, sentence: str, codes: Mapping[str, str]) -> None:
    """Registers a backend that has other codes."""
    told_otherwise(area, name, sentence, lambda code, subject, reason, params: (codes.get(code, code), subject))


def _resubjected(
    area: str, name: str, sentence: str, change: Callable[[str, str, str, Params], Optional[str]], *methods: str
) -> None:
    """Registers a backend that names another subject, where `change` finds one."""

    def retell(code: str, subject: str, reason: str, params: Params) -> Tuple[str, str]:
        return code, change(code, subject, reason, params) or subject

    told_otherwise(area, name, sentence, retell, *methods)


# Codes

_recoded(
    "options", "a_bad_file_is_told_as_bad_syntax",
    "003 L393, L443 give the form of files and name no kinds of errors",
    {"OPTION_FILE": "OPTION_SYNTAX", "OPS_INFO_FILE": "OPTION_SYNTAX", "OP_LIST": "OPTION_SYNTAX"}
)  # fmt: skip
_recoded(
    "options",
    "all_that_is_wrong_with_options_has_one_code",
    "the documents name no kinds of errors: ValueError is all that a constructor may raise",
    {
        "OPTION_TYPE": "OPTION_VALUE",
        "OPTION_SYNTAX": "OPTION_VALUE",
        "OPTION_CONFLICT": "OPTION_VALUE",
        "OPTION_FILE": "OPTION_VALUE",
    },
)
_recoded(
    "in_out_pair", "an_operator_in_a_range_that_cannot_be_offloaded_is_told_as_a_bad_value",
    "001 'all operators of the range are offloaded': what is told of one that cannot be is not said",
    {"RANGE_UNSUPPORTED": "OPTION_VALUE", "RANGE_SCOPE": "OPTION_VALUE"}
)  # fmt: skip
_recoded(
    "in_out_pair", "an_operator_of_the_scope_in_a_range_is_told_as_one_that_cannot_be_offloaded",
    "000 without_npu_compile_scope, 001 in_out_pair: what is told where both name an operator is not said",
    {"RANGE_SCOPE": "RANGE_UNSUPPORTED"}
)  # fmt: skip
_recoded(
    "in_out_pair", "an_operator_of_the_scope_in_a_range_is_told_as_a_conflict_of_options",
    "000 without_npu_compile_scope, 001 in_out_pair are contrary orders; what is told of them is not said",
    {"RANGE_SCOPE": "OPTION_CONFLICT", "RANGE_UNSUPPORTED": "OPTION_CONFLICT"}
)  # fmt: skip
_recoded(
    "precision", "a_precision_that_no_kernel_has_ends_the_run",
    "004 L6 'the training process will be interrupted', 003 L338 'an error is reported': it has no name",
    {"PRECISION_NO_KERNEL": "RUN_FAILED", "PRECISION_DTYPES": "RUN_FAILED"}
)  # fmt: skip
_recoded(
    "precision", "customised_dtypes_that_are_not_supported_fail_as_kernels",
    "003 L460 'if the specified data type is not supported, the compilation will fail'",
    {"PRECISION_DTYPES": "PRECISION_NO_KERNEL", "PRECISION_NO_KERNEL": "KERNEL_FAILURE"}
)  # fmt: skip
_recoded(
    "partition",
    "whatever_is_wrong_with_a_graph_is_told_as_its_form",
    "the documents say nothing of graphs that cannot be read",
    {
        "GRAPH_ATTR": "GRAPH_FORMAT",
        "GRAPH_CYCLE": "GRAPH_FORMAT",
        "GRAPH_DUPLICATE_NODE": "GRAPH_FORMAT",
        "GRAPH_FEED_FETCH": "GRAPH_FORMAT",
        "GRAPH_FILE": "GRAPH_FORMAT",
        "GRAPH_INPUT": "GRAPH_FORMAT",
        "GRAPH_LIMIT": "GRAPH_FORMAT",
        "GRAPH_UNKNOWN_OP": "GRAPH_FORMAT",
    },
)


# Subjects

#: Option to those that it is refused beside.
_PARTNERS: Dict[str, Tuple[str, ...]] = {
    "precision_mode_v2": ("precision_mode",),
    "in_out_pair": ("mix_compile_mode",),
    "variable_placement": ("mix_compile_mode",),
    "iterations_per_loop": ("mix_compile_mode",),
    "modify_mixlist": ("precision_mode", "precision_mode_v2"),
    "optypelist_for_implmode": ("op_select_implmode",),
    "input_shape": ("dynamic_dims", "dynamic_node_type", "mix_compile_mode"),
    "dynamic_dims": ("input_shape", "dynamic_node_type", "mix_compile_mode"),
    "dynamic_node_type": ("input_shape", "dynamic_dims"),
    "compile_dynamic_mode": ("dynamic_input", "dynamic_dims", "input_shape"),
    "op_debug_config": ("op_debug_level", "NPU_COLLECT_PATH"),
    "stream_sync_timeout": ("hccl_timeout",),
    "graph_memory_max_size": ("variable_memory_max_size",),
    "variable_memory_max_size": ("graph_memory_max_size",),
    "aoe_config_file": ("aoe_mode", "AOE_MODE"),
    "dump_path": ("enable_dump",),
    "dump_config": ("dump_config",),
    "profiling_options": ("profiling_mode",),
    "enable_data_pre_proc": ("iterations_per_loop",),
}


def _partner(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    if code != "OPTION_CONFLICT":
        return None
    partners = _PARTNERS.get(subject, ())
    told = [one for one in partners if value_of(params, one) is not None]
    named = [one for one in partners if one in reason]
    return next(iter([*told, *named, *partners]), None)


_resubjected(
    "options", "the_other_of_two_options_is_named",
    "003 L349 'cannot be used together with precision_mode_v2', L380 the same of precision_mode: both are at fault",
    _partner
)  # fmt: skip


def _last_error(ask: Ask, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        told = errors_of(params, dict(params.get("values") or {}))
        if any((one.code, one.subject) == (error.code, error.subject) for one in told):
            raise told[-1] from None
        raise


lawful(
    "options", "the_last_of_several_mistakes_is_told", "the documents do not say which of several mistakes is told",
    _last_error
)  # fmt: skip


def _file(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    named = named_by(params, subject) if code == "OPTION_FILE" else []
    return named[0] if named else None


_resubjected(
    "options", "a_file_is_named_instead_of_its_option",
    "003 L435 'set it to the path': what is told of a file that cannot be used is not said", _file
)  # fmt: skip


def _of_file(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    if code != "PRECISION_DTYPES":
        return None
    return "customize_dtypes" if value_of(params, "customize_dtypes") is not None else None


_resubjected(
    "precision", "the_option_is_named_where_customised_dtypes_are_not_supported",
    "003 L460 'if the specified data type is not supported, the compilation will fail': what is told is not said",
    _of_file
)  # fmt: skip


def _range_option(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    return "in_out_pair" if code in ("RANGE_UNSUPPORTED", "RANGE_SCOPE") else None


_resubjected(
    "in_out_pair", "the_option_is_named_where_a_range_holds_what_cannot_be_offloaded",
    "001 'all operators of the range are offloaded': what is named where one cannot be is not said", _range_option
)  # fmt: skip


def _mode_option(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    if code != "PRECISION_NO_KERNEL":
        return None
    return "precision_mode_v2" if value_of(params, "precision_mode_v2") is not None else "precision_mode"


_resubjected(
    "precision", "the_option_is_named_where_no_kernel_has_the_precision",
    "003 L338 'an error is reported', 004 L6 'the training process will be interrupted': neither names anything",
    _mode_option
)  # fmt: skip


def _dump_option(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    return "enable_dump" if subject == "dump_path" else None


_resubjected(
    "options", "enable_dump_is_named_where_its_directory_cannot_be_used",
    "002 L100 'enable_dump ... an exception is raised if dump_path is None', L109: both options are involved",
    _dump_option
)  # fmt: skip


def _profile_option(code: str, subject: str, reason: str, params: Params) -> Optional[str]:
    return "profiling_mode" if subject == "profiling_options" and value_of(params, "profiling_mode") else None


_resubjected(
    "options", "profiling_mode_is_named_where_its_options_are_wrong",
    "002 L55 'profiling_mode: reads the options of profiling from profiling_options': both options are involved",
    _profile_option
)  # fmt: skip


# Words


def _otherwise_worded(ask: Ask, params: Params) -> Answer:
    try:
        answer = ask(params)
    except NpuError as error:
        found = _again(error, error.code, error.subject)
        found.reason, found.remedy = "invalid argument", ""
        raise found from None
    for told in _refusals(answer):
        told["message"], told["reason"], told["remedy"] = f"{told['subject']}: invalid argument", "", ""
    return answer


lawful(
    "options", "a_refusal_says_no_more_than_that_something_is_invalid",
    "the documents give no words of an error but those of AI Core errors and of kernels that are too large",
    _otherwise_worded
)  # fmt: skip


# What of several things in one request is refused first


def _graph_first(ask: Ask, params: Params) -> Answer:
    """Reads the graph before the options: of a request that is wrong in both, the graph is told."""
    try:
        return ask(params)
    except NpuError as error:
        if error.code.startswith("OPTION_") and "graph" in params:
            _read_without_options(ask, params)
        raise


def _read_without_options(ask: Ask, params: Params) -> None:
    bare = {**params, "values": {}}
    for key in ("variants", "turns"):
        bare.pop(key, None)
    try:
        ask(json.loads(json.dumps(bare)))
    except NpuError as error:
        if error.code.startswith("GRAPH_"):
            raise


lawful(
    "partition", "a_graph_is_read_before_the_options", "the documents do not say which of two mistakes is told",
    _graph_first, "partition", "precision", "timeline", "compile"
)  # fmt: skip
