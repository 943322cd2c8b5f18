"""Lawful backends that read, refuse or tell options otherwise, where the documents leave that open."""

from __future__ import annotations

import re
from typing import Any, List

from faulty.answered import told_value
from faulty.asked import edited, facets, is_about, plain, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import Values, claims_less, every, ignores, lawful, refuses, tells, told_warning, warned_find
from npu_reference.errors import NpuError
from npu_reference.options.domains import Choice, Integer

# What lies outside of the documented values


#: The documents say "must" of what these take, so nothing is made of other values.
_BINDING = ("graph_max_parallel_model_num", "precision_mode")


def domain_of(params: Params, name: str) -> Any:
    found = facets(params).get(name)
    return found.domain if found is not None else None


def is_listed(domain: Any) -> bool:
    """Whether an option's values are listed one by one."""
    if isinstance(domain, Choice):
        return True
    if not isinstance(domain, Integer) or domain.low is None or domain.high is None:
        return False
    return domain.high - domain.low < 6


def _is_bound(name: str, values: Values) -> bool:
    """Whether the documents say "must" or "cannot" of an option beside these values."""
    told = {"values": values}
    if name == "iterations_per_loop":
        return value_of(told, "mix_compile_mode") is True
    both = value_of(told, "precision_mode") is not None and value_of(told, "precision_mode_v2") is not None
    return both and name in ("precision_mode", "precision_mode_v2")


def _unlisted(error: NpuError, params: Params, values: Values) -> List[str]:
    listed = error.code == "OPTION_VALUE" and is_listed(domain_of(params, error.subject))
    return [error.subject] if listed and not _is_bound(error.subject, values) else []


ignores(
    "options", "an_unlisted_value_is_ignored_with_a_warning",
    "003 L13 'Values are as follows': no document says what another value does", _unlisted
)  # fmt: skip


def _far(error: NpuError, params: Params, values: Values) -> List[str]:
    domain = domain_of(params, error.subject)
    ranged = isinstance(domain, Integer) and not is_listed(domain)
    bound = error.subject in _BINDING or _is_bound(error.subject, values)
    return [error.subject] if error.code == "OPTION_VALUE" and ranged and not bound else []


ignores(
    "options",
    "a_number_outside_its_range_is_ignored_with_a_warning",
    "003 L896 'the value range is (0, 17340]': no document says what a number outside of a range does",
    _far,
)


def _mistyped(error: NpuError, params: Params, values: Values) -> List[str]:
    bound = error.subject in _BINDING or _is_bound(error.subject, values)
    return [error.subject] if error.code == "OPTION_TYPE" and not bound else []


ignores(
    "options", "a_value_of_another_type_is_ignored_with_a_warning",
    "002 L24 parameter_map[...].b: no document says what a value in another field or of another type does", _mistyped
)  # fmt: skip


def _is_adjusted(params: Params, option: str) -> bool:
    return option == "input_fusion_size"


refuses(
    "options", "an_input_fusion_size_outside_its_range_is_refused",
    "003 L93 'the minimum value is 0 byte, the maximum value is 33554432 bytes': it does not say that others are moved",
    "OPTION_VALUE", warned_find("adjusted", beside=_is_adjusted)
)  # fmt: skip


def _nearer_timeout(params: Params, values: Values) -> Values:
    told = plain(values.get("hccl_timeout"))
    if not is_about(params, edition="current") or not isinstance(told, int) or isinstance(told, bool):
        return values
    nearest = 68 if told < 1 else min(told, 17340)
    if nearest == told:
        return values
    return {**values, "hccl_timeout": edited(values["hccl_timeout"], lambda value: nearest)}


def _moved_timeout(ask: Ask, params: Params) -> Answer:
    found = every(params, lambda values: _nearer_timeout(params, values))
    answer = ask(found)
    if "effective" in answer and found["values"] != dict(params["values"]):
        told_warning(answer, "hccl_timeout", "adjusted")
    return answer


lawful(
    "options",
    "an_hccl_timeout_outside_its_range_is_brought_to_the_nearer_end",
    "003 L896 'the value range is (0, 17340]', L898 'smaller than 68, 68s is used': no word of an error",
    _moved_timeout,
)


# Names


#: Arguments of TensorFlow's own RunConfig, which samples of 000 and 004 give.
_OF_TENSORFLOW = (
    "model_dir", "session_config", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
    "save_checkpoints_secs", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
    "train_distribute", "eval_distribute", "device_fn", "protocol",
)  # fmt: skip


def _of_run_config(params: Params, option: str) -> bool:
    return is_about(params, "runconfig") and option not in _OF_TENSORFLOW


refuses(
    "options", "run_config_refuses_an_argument_that_it_does_not_have",
    "003 lists the options of NPURunConfig and says nothing of others: Python refuses an unknown keyword",
    "OPTION_VALUE", warned_find("unknown", "not_on_surface", "not_in_edition", beside=_of_run_config)
)  # fmt: skip


def _of_session(params: Params, option: str) -> bool:
    return is_about(params, "session")


refuses(
    "options", "a_session_refuses_a_key_that_no_document_has",
    "002 L5 calls keys that it does not list reserved or for other products: it does not say that they are taken",
    "OPTION_VALUE", warned_find("unknown", beside=_of_session)
)  # fmt: skip


refuses(
    "options", "an_option_that_is_not_supported_is_refused",
    "003 L429 'Not supported in the current version', 002 L150: what becomes of one that is given is not said",
    "OPTION_VALUE", warned_find("unsupported", "removed")
)  # fmt: skip


# Warnings


def _silent(answer: Answer, params: Params) -> None:
    answer["warnings"] = []


tells("nothing_is_warned_of", "no document says of any option that a message warns of it", _silent)


def _warns_of_all(answer: Answer, params: Params) -> None:
    for name, value in params["values"].items():
        if plain(value) is not None and name in answer["effective"]:
            told_warning(answer, name, "advice")


tells(
    "every_option_that_is_given_is_warned_of", "no document says that a message stays away where an option is set",
    _warns_of_all
)  # fmt: skip


def _warns_of_notes(answer: Answer, params: Params) -> None:
    for note in list(answer.get("notes", [])):
        told_warning(answer, note["option"], "advice")


tells(
    "what_the_documents_only_advise_is_warned_of",
    "003 L598 'you are advised to set this option to False', L349 'is recommended': no word of a message, nor of none",
    _warns_of_notes,
)

_OTHER_CODES = {
    "unknown": "no_effect",
    "reserved": "undocumented",
    "not_on_surface": "unknown",
    "not_in_edition": "unknown",
    "unsupported": "no_effect",
    "removed": "unknown",
    "deprecated": "advice",
    "experimental": "advice",
    "no_effect": "overridden",
    "part_ignored": "no_effect",
    "undocumented": "advice",
    "adjusted": "overridden",
    "overridden": "no_effect",
    "incomplete": "advice",
    "advice": "incomplete",
    "environment": "no_effect",
    "file_ineffective": "part_ignored",
    "inference_only": "advice",
    "training_only": "advice",
}


def _recoded(answer: Answer, params: Params) -> None:
    answer["warnings"] = [{**one, "code": _OTHER_CODES.get(one["code"], one["code"])} for one in answer["warnings"]]


tells("warnings_have_other_codes", "the documents have no codes of warnings", _recoded)


def _warned_elsewhere(answer: Answer, params: Params) -> None:
    answer["warnings"] = list(reversed(answer["warnings"]))
    answer["effective"] = dict(reversed(list(answer["effective"].items())))
    answer["notes"] = list(reversed(answer.get("notes", [])))


tells(
    "options_and_warnings_come_in_another_order", "003 and 002 are tables of options whose order means nothing",
    _warned_elsewhere
)  # fmt: skip


# How values are told


def _without_origin(answer: Answer, params: Params) -> None:
    answer["effective"] = {name: {"value": one["value"]} for name, one in answer["effective"].items()}


tells("where_a_value_comes_from_is_not_told", "no document has the word for where a value comes from", _without_origin)


def _without_unset(answer: Answer, params: Params) -> None:
    answer["effective"] = {name: one for name, one in answer["effective"].items() if one["value"] is not None}


tells(
    "an_option_without_a_value_is_left_out",
    "003 L1010 'this option is left empty by default': how that is told is not said", _without_unset
)  # fmt: skip


def _only_values(answer: Answer) -> None:
    for key in ("meaning", "directives", "notes"):
        answer.pop(key, None)


claims_less(
    "options", "meaning_directives_and_advice_are_not_claimed",
    "the documents say what options do, not that anything tells it", ("meaning", "directives", "advice"),
    _only_values, "options"
)  # fmt: skip


def _current_directories(answer: Answer) -> List[str]:
    return [name for name, one in answer["effective"].items() if one["value"] == "." and one["origin"] == "default"]


def _dot_slash(answer: Answer, params: Params) -> None:
    for name in _current_directories(answer):
        told_value(answer, name, "./")


tells(
    "the_current_directory_is_told_with_a_slash",
    "003 L288 'the default storage path (current script execution path)' is a place, not a text", _dot_slash
)  # fmt: skip


def _no_directory(answer: Answer, params: Params) -> None:
    for name in _current_directories(answer):
        told_value(answer, name, None)


tells(
    "the_current_directory_is_told_as_no_value",
    "003 L288, L759 'by default, the files are generated in the current directory': that needs no value",
    _no_directory,
)


def _unexpanded(answer: Answer, params: Params) -> None:
    home, told = params.get("env", {}).get("HOME"), answer["effective"].get("op_compiler_cache_dir")
    if home and told and told["value"] == home.rstrip("/") + "/atc_data" and told["origin"] != "given":
        told_value(answer, "op_compiler_cache_dir", "$HOME/atc_data", "default")


tells(
    "the_default_cache_directory_is_told_as_the_documents_write_it",
    "003 L853 'the default path ($HOME/atc_data)', 002 L564", _unexpanded
)  # fmt: skip


def _numbers(answer: Answer, params: Params) -> None:
    for name in ("graph_memory_max_size", "variable_memory_max_size"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str) and told.isdigit():
            told_value(answer, name, int(told))


tells(
    "memory_sizes_are_told_as_numbers",
    "002 L221 'unit: byte': the size is a number, str() of it is how the sample writes it", _numbers
)  # fmt: skip


def _normal_lists(answer: Answer, params: Params) -> None:
    for name in ("optypelist_for_implmode", "enable_scope_fusion_passes", "auto_tune_mode", "stream_max_parallel_num"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str):
            parts = [part.strip() for part in told.split(",")]
            told_value(answer, name, ",".join(sorted(dict.fromkeys(parts))))
    for name in ("dynamic_inputs_shape_range", "in_out_pair"):
        told = answer["effective"].get(name, {}).get("value")
        if isinstance(told, str):
            told_value(answer, name, re.sub(r"\s+", "", told))


tells(
    "lists_are_told_without_blanks_and_in_the_order_of_names",
    "003 L635 'separate the names by commas', L1070: blanks and the order of such lists mean nothing", _normal_lists
)  # fmt: skip


def _expanded_steps(answer: Answer, params: Params) -> None:
    told = answer["effective"].get("dump_step", {}).get("value")
    if not isinstance(told, str) or not re.match(r"\d{1,4}(-\d{1,4})?(\|\d{1,4}(-\d{1,4})?)*\Z", told):
        return
    steps = set()
    for part in told.split("|"):
        low, _, high = part.partition("-")
        steps |= set(range(int(low), int(high or low) + 1))
    told_value(answer, "dump_step", "|".join(str(step) for step in sorted(steps)))


tells(
    "dumped_steps_are_told_one_by_one",
    "002 L126: '|' separates iterations, '-' means a range of them; both name the same iterations", _expanded_steps
)  # fmt: skip
