"""Lawful backends with other defaults, other values, and other options that count beside one another."""

from __future__ import annotations

from typing import Dict, List, Optional

from faulty.answered import told_value
from faulty.asked import facets, in_inference, is_about, plain, value_of, with_env
from faulty.making import Answer, Ask, Params

from lawful.kinds import (
    Values,
    errors_of,
    every,
    ignores,
    lawful,
    refuses,
    takes_default,
    tells,
    told_warning,
    warned,
    warned_find,
)
from lawful.options import domain_of, is_listed
from npu_reference.errors import NpuError
from npu_reference.options.domains import Choice, Integer

# Defaults


def _is_current(params: Params, values: Values) -> bool:
    return is_about(params, edition="current")


takes_default(
    "options", "gradients_are_not_updated_in_parallel_by_default",
    "003 L593 gives hcom_parallel no default; its example is none", {"hcom_parallel": False}, _is_current
)  # fmt: skip


def _disabled(answer: Answer, params: Params) -> None:
    for name, value in (("op_debug_level", 0), ("variable_format_optimize", False)):
        told = answer["effective"].get(name)
        if told is not None and told["value"] is None:
            told_value(answer, name, value)


tells(
    "what_is_left_empty_is_told_as_disabled",
    "003 L1010, L1050 'left empty by default, indicating that the configuration is disabled', 0 and False being that",
    _disabled,
)


def _fast_kernels(params: Params, values: Values) -> bool:
    return is_about(params, edition="current") and value_of({"values": values}, "op_precision_mode") is None


takes_default(
    "options", "kernels_are_fast_by_default",
    "003 L1061 'high_performance (default)' beside L1063 'left empty by default'",
    {"op_select_implmode": "high_performance"}, _fast_kernels
)  # fmt: skip


def _is_legacy(params: Params, values: Values) -> bool:
    return is_about(params, edition="legacy")


takes_default(
    "options", "timeouts_of_the_older_documents_have_defaults",
    "002 L803, L813 give hccl_timeout and op_wait_timeout no default", {"hccl_timeout": 1836, "op_wait_timeout": 120},
    _is_legacy
)  # fmt: skip

takes_default(
    "options", "an_operator_runs_two_minutes_at_most_by_default", "003 L920 gives op_execute_timeout no default",
    {"op_execute_timeout": 124}, _is_current
)  # fmt: skip


def _first_device(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("session_device_id")
    if told is not None and told["value"] is None:
        told_value(answer, "session_device_id", 0, "default")


tells(
    "the_first_device_is_the_default",
    "003 L24, 002 L661 give session_device_id no default where ASCEND_DEVICE_ID is not set either", _first_device
)  # fmt: skip


def _one_iteration(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("iterations_per_loop")
    if told is not None and told["value"] is None:
        told_value(answer, "iterations_per_loop", 1, "default")


tells(
    "a_session_of_the_older_documents_has_one_iteration_a_loop", "002 L41 gives iterations_per_loop no default",
    _one_iteration
)  # fmt: skip


# Values that real adapters take and no document lists


def _is_no_path(params: Params, option: str) -> bool:
    domain = domain_of(params, option)
    return value_of(params, option) != "None" and type(domain).__name__ != "Path"


refuses(
    "options", "a_value_that_no_document_lists_is_refused",
    "003 L1091 'possible values are', L654: the documents list values, and say nothing of what adapters take besides",
    "OPTION_VALUE", warned_find("undocumented", beside=_is_no_path)
)  # fmt: skip


def _digits(params: Params, values: Values) -> Values:
    """Numbers as the texts of digits that these options take."""
    if not is_about(params, "runconfig"):
        return values
    known, found = facets(params), dict(values)
    for name, value in values.items():
        domain = known[name].domain if name in known else None
        number = isinstance(value, int) and not isinstance(value, bool)
        if number and isinstance(domain, Choice) and str(value) in domain.words:
            found[name] = str(value)
    return found


def _takes_numbers(ask: Ask, params: Params) -> Answer:
    return ask(every(params, lambda values: _digits(params, values)))


lawful(
    "options", "a_number_will_do_for_a_text_of_digits",
    '003 L120 ac_parallel_enable="1", L755 aoe_mode="2": that a number is refused is not said', _takes_numbers
)  # fmt: skip


def _bits(params: Params, values: Values) -> Values:
    """Truth values as 0 and 1, where an option takes these."""
    if not is_about(params, "runconfig"):
        return values
    known, found = facets(params), dict(values)
    for name, value in values.items():
        domain = known[name].domain if name in known else None
        if isinstance(value, bool) and isinstance(domain, Integer) and is_listed(domain):
            found[name] = int(value)
    return found


def _takes_bits(ask: Ask, params: Params) -> Answer:
    return ask(every(params, lambda values: _bits(params, values)))


lawful(
    "options", "a_truth_value_will_do_for_0_and_1",
    "003 L52 '0 (default)', '1': in Python True is the number 1, and no document refuses it", _takes_bits
)  # fmt: skip


# Scenarios

#: Document 001 sets these without graph_run_mode, which is training.
_IN_ANY_MODE = ("in_out_pair", "in_out_pair_flag")


def _scenario_ignored(ask: Ask, params: Params) -> Answer:
    gone: Dict[str, None] = {}

    def change(values: Values) -> Values:
        if errors_of(params, values):
            return values  # what excludes each other does so in any scenario
        out = {
            option
            for option, code in warned(params, values)
            if code in ("training_only", "inference_only") and option in values and option not in _IN_ANY_MODE
        }
        out -= {"profiling_options"}  # a part of it is meant
        gone.update(dict.fromkeys(name for name in values if name in out))
        return {name: value for name, value in values.items() if name not in out}

    answer = ask(every(params, change))
    if "effective" in answer:
        for name in gone:
            told_warning(answer, name, "training_only" if in_inference(params) else "inference_only")
    return answer


lawful(
    "options", "an_option_has_no_effect_outside_of_its_scenario",
    "002 L13 'usage scenario', 003 L327 'applies only to online inference scenarios': elsewhere it is open",
    _scenario_ignored
)  # fmt: skip


def _trains(params: Params, values: Values) -> Optional[str]:
    found = (option for option, code in warned(params, values) if code == "training_only" and option in values)
    return next((option for option in found if option != "profiling_options"), None)


refuses(
    "options", "an_option_of_training_is_refused_in_inference",
    "002 L13 'usage scenario: training': no word of what it does in online inference", "OPTION_CONFLICT", _trains
)  # fmt: skip


def _forced_half(params: Params, values: Values) -> Optional[str]:
    told = ("precision_mode", "inference_only") in warned(params, values)
    return "precision_mode" if told and is_about(params, "runconfig") else None


refuses(
    "options", "run_config_refuses_force_fp16_in_training",
    "003 L327 'this parameter applies only to online inference scenarios'", "OPTION_CONFLICT", _forced_half
)  # fmt: skip


# One option beside another


def _no_cluster(ask: Ask, params: Params) -> Answer:
    if "RANK_TABLE_FILE" in (params.get("env") or {}):
        return ask(params)
    return ask(with_env(params, lambda env: {name: text for name, text in env.items() if name != "RANK_SIZE"}))


lawful(
    "options", "RANK_SIZE_alone_makes_no_cluster",
    "003 L932 'in the cluster training scenario': the documents name no variable that makes one", _no_cluster,
    "options", "partition", "precision"
)  # fmt: skip


def _types_alone(error: NpuError, params: Params, values: Values) -> List[str]:
    alone = error.code == "OPTION_CONFLICT" and error.subject == "optypelist_for_implmode"
    return [error.subject] if alone else []


ignores(
    "options", "a_list_of_types_without_an_implementation_mode_is_taken",
    "003 L1072 'use this option in conjunction with op_select_implmode': no word of an error where it is alone",
    _types_alone, "incomplete", told_as_given=True
)  # fmt: skip


def _mixlist_alone(error: NpuError, params: Params, values: Values) -> List[str]:
    alone = error.code == "OPTION_CONFLICT" and error.subject == "modify_mixlist"
    return [error.subject] if alone else []


ignores(
    "options", "a_mixlist_without_mixed_precision_is_taken_without_effect",
    "003 L386 'when mixed precision is enabled, you can use this option': no word of an error where it is not",
    _mixlist_alone, told_as_given=True
)  # fmt: skip

_PROFILES = ("input_shape", "dynamic_dims", "dynamic_node_type")


def _takes_profiles(ask: Ask, params: Params) -> Answer:
    def mixed(values: Values) -> bool:
        profiles = any(value_of({"values": values}, name) is not None for name in ("input_shape", "dynamic_dims"))
        return is_about(params, "session") and profiles and value_of({"values": values}, "mix_compile_mode") is True

    def profiles_left_out(values: Values) -> Values:
        return {name: value for name, value in values.items() if not mixed(values) or name not in _PROFILES}

    if "graph" in params or not mixed(dict(params.get("values") or {})):
        return ask(every(params, profiles_left_out)) if "graph" in params else ask(params)
    errors = errors_of(params, dict(params["values"]))
    if not all(error.subject in _PROFILES and "mix_compile_mode is True" in error.reason for error in errors):
        return ask(params)  # it is refused for something else
    try:
        answer = ask(every(params, lambda values: {**values, "mix_compile_mode": False}))
    except NpuError:  # what needs mixed computing
        answer = ask(every(params, profiles_left_out))
    told_value(answer, "mix_compile_mode", True)
    return answer


lawful(
    "options", "profiles_are_taken_beside_mixed_computing",
    "002 L371 to L416 say nothing of mixed computing, 000 nothing of profiles", _takes_profiles
)  # fmt: skip


def _generalised(error: NpuError, params: Params, values: Values) -> List[str]:
    dynamic = error.code == "OPTION_CONFLICT" and error.subject == "compile_dynamic_mode"
    return ["dynamic_input", "dynamic_graph_execute_mode", "dynamic_inputs_shape_range", *_PROFILES] if dynamic else []


ignores(
    "options", "compile_dynamic_mode_goes_before_other_ways_of_dynamic_shapes",
    "003 L125 'generalize all input shapes to -1': it says nothing of dynamic_input or dynamic_dims beside it",
    _generalised, "overridden", told_as_given=True
)  # fmt: skip


def _profiles_given(params: Params, values: Values) -> bool:
    told = {"values": values}
    both = value_of(told, "input_shape") is not None and value_of(told, "dynamic_dims") is not None
    return is_about(params, "session") and in_inference(told) and both


takes_default(
    "options", "inputs_of_a_data_set_are_dynamic_by_default",
    "002 L406 gives dynamic_node_type no default, and does not say that it must be given", {"dynamic_node_type": 0},
    _profiles_given
)  # fmt: skip


def _unknown_part(params: Params, values: Values) -> Optional[str]:
    names = ("optypelist_for_implmode", "enable_scope_fusion_passes")
    return next((option for option, code in warned(params, values) if code == "part_ignored" and option in names), None)


refuses(
    "options", "a_list_with_a_name_that_is_not_supported_is_refused",
    "003 L1070 'currently, Pooling, SoftmaxV2, LRN, and ROIAlign operators are supported', L635 'registered pattern'",
    "OPTION_VALUE", _unknown_part
)  # fmt: skip

#: Document 003 calls these empty by default.
_MAY_BE_EMPTY = ("op_debug_level", "op_select_implmode", "optypelist_for_implmode", "variable_format_optimize")


def _empty(params: Params, values: Values) -> Optional[str]:
    known = facets(params)
    return next(
        (
            name
            for name, value in values.items()
            if plain(value) == "" and name in known and known[name].field == "s" and name not in _MAY_BE_EMPTY
        ),
        None,
    )


refuses(
    "options", "an_empty_text_is_refused",
    "the documents list the values of an option, or the form of its text; they do not say that an empty one is none",
    "OPTION_VALUE", _empty
)  # fmt: skip


def _bad_variable(params: Params, values: Values) -> Optional[str]:
    return next((option for option, code in warned(params, values) if code == "environment"), None)


refuses(
    "options", "a_variable_with_a_value_that_cannot_be_is_refused",
    "003 L904, L834 name variables and do not say what a value does that cannot be", "OPTION_VALUE", _bad_variable
)  # fmt: skip

_VARIABLES = ("AOE_MODE", "ASCEND_DEVICE_ID")


def _ignores_variables(ask: Ask, params: Params) -> Answer:
    errors = errors_of(params, dict(params.get("values") or {})) if params.get("env") else ()
    bad = [error.subject for error in errors if error.code == "OPTION_VALUE" and error.subject in _VARIABLES]
    if not bad:
        return ask(params)
    answer = ask(with_env(params, lambda env: {name: text for name, text in env.items() if name not in bad}))
    if "effective" in answer:
        for name in bad:
            told_warning(answer, name, "environment")
    return answer


lawful(
    "options", "a_variable_with_a_value_that_cannot_be_is_ignored_with_a_warning",
    "003 L24, L751 name ASCEND_DEVICE_ID and AOE_MODE and do not say what a value does that cannot be",
    _ignores_variables
)  # fmt: skip


def _without_rank(params: Params, values: Values) -> Optional[str]:
    told = ("local_device_list", "incomplete") in warned(params, values)
    return "local_device_list" if told else None


refuses(
    "options", "devices_without_a_local_rank_are_refused",
    "003 L880 'used in conjunction with local_rank_id', 002 L651", "OPTION_CONFLICT", _without_rank
)  # fmt: skip


def _unchecked_on_the_host(error: NpuError, params: Params, values: Values) -> List[str]:
    on_host = value_of({"values": values}, "use_off_line") is False and error.subject != "use_off_line"
    return [error.subject] if on_host and error.code in ("OPTION_TYPE", "OPTION_VALUE", "OPTION_SYNTAX") else []


ignores(
    "options", "nothing_else_is_checked_where_training_runs_on_the_host",
    "002 L20 'False: training runs on the CPU of the host': no word of what becomes of the options of the device",
    _unchecked_on_the_host
)  # fmt: skip


def _off_line_with_others(params: Params, values: Values) -> Optional[str]:
    told = {"values": values}
    mixed = value_of(told, "use_off_line") is False and value_of(told, "mix_compile_mode") is True
    return "use_off_line" if mixed else None


refuses(
    "options", "mixed_computing_without_the_device_is_refused",
    "002 L17, L193: no document says what mix_compile_mode does beside use_off_line False", "OPTION_CONFLICT",
    _off_line_with_others
)  # fmt: skip
