"""Options of precision: the modes, the mixed-precision lists and customize_dtypes."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Dict

from faulty.answered import first_key, told_value
from faulty.asked import (
    EVERY_METHOD,
    RUNCONFIG,
    SESSION,
    all_values,
    given,
    in_inference,
    is_about,
    is_in_field,
    mapped,
    text_of,
    texts,
    value_is,
    value_of,
    with_values,
)
from faulty.making import REFERENCE, Answer, Params, broken
from faulty.mistakes import accepts, denies, misreads, tells
from faulty.mistakes_options import kindly, meaning, meaning_on, refuses, refuses_where
from npu_reference.errors import NpuError


def _listed(text: str) -> str:
    return re.sub(r'("to-(?:add|remove)"\s*:\s*)("[^"]*")', r"\1[\2]", text)


misreads(  # pair 55
    "options",
    "a_text_is_a_list_of_one_type",
    "002: to-remove and to-add are arrays of operator type names",
    "modify_mixlist",
    _listed,
    "options",
    "precision",
    when=lambda params: is_about(params, edition="legacy"),
)
accepts(
    "a_mixlist_that_is_no_text_is_passed_over",
    "002 modify_mixlist: parameter_map[...].s",
    "modify_mixlist",
    lambda params: is_in_field(params, "modify_mixlist", "b"),
)


def _text_of(params: Params, option: str) -> str:
    """The text of the file that an option names."""
    return str(params.get("files", {}).get(value_of(params, option), ""))


accepts(
    "a_name_is_as_good_as_a_list",
    "003 modify_mixlist: to-add is an array of operator types",
    "modify_mixlist",
    lambda params: re.search(r'"to-(add|remove)"\s*:\s*"', _text_of(params, "modify_mixlist")) is not None,
)


def _moves_over(text: str) -> bool:
    try:
        found = json.loads(text)
        return bool(set(found["black-list"]["to-remove"]) & set(found["white-list"]["to-add"]))
    except (ValueError, KeyError, TypeError):
        return False


denies(
    "what_left_one_list_enters_no_other",
    "002, P9 modify_mixlist: from the blocklist to the trustlist",
    "modify_mixlist",
    lambda params: _moves_over(_text_of(params, "modify_mixlist")),
)
denies(
    "nothing_to_change_is_no_list",
    "003 L393: both keys of the file are optional",
    "modify_mixlist",
    lambda params: any(
        isinstance(text, str) and text.strip() in ("{}", '{"black-list": {}}', '{"white-list": {}}')
        for text in params.get("files", {}).values()
    ),
)


@functools.lru_cache(maxsize=2)
def _library(edition: str) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for file in REFERENCE.library({"edition": edition})["files"]:
        if file["path"].endswith("ops-info.json"):
            found.update(json.loads(file["text"]))
    return found


# precision.mixlist.reference_only
@broken("options", "003 modify_mixlist: operators in the sample are for reference", *EVERY_METHOD)
def a_list_may_name_no_type_that_the_library_lacks(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if given(params, "modify_mixlist"):
        text = text_of(params, "modify_mixlist")
        named = set(re.findall(r'"([A-Za-z]\w*)"', re.sub(r"//[^\n]*", "", text)))
        if named - set(_library(params["edition"])):
            raise NpuError("OPTION_FILE", "modify_mixlist", "names a type that the library does not have")
    return dict(answer)


accepts(
    "lists_in_place_of_a_path",
    "003 modify_mixlist: a text, the path of the file",
    "modify_mixlist",
    lambda params: (
        is_about(params, "runconfig")
        and isinstance(value_of(params, "modify_mixlist"), (dict, list))
        and value_is(params, "precision_mode_v2", "mixed_float16")
    ),
)


def _base_name(answer: Answer, params: Params) -> None:
    named = value_of(params, "modify_mixlist")
    if SESSION(params) and isinstance(named, str):
        told_value(answer, "modify_mixlist", named.rsplit("/", 1)[-1])


tells(  # session.modify_mixlist.example
    "a_mixlist_is_told_without_its_directory", "002 modify_mixlist: /home/test/ops_info.json", _base_name
)
meaning_on("session_white_list_forgotten", "modify_mixlist", first_key, "session")


@broken("options", "003 modify_mixlist: white-list to-remove moves an operator to the graylist")
def removed_is_added(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told = answer["meaning"].get("modify_mixlist")
    for entry in (told or {}).values():
        if isinstance(entry, dict) and set(entry) >= {"to-remove", "to-add"}:
            entry["to-remove"], entry["to-add"] = entry["to-add"], entry["to-remove"]
    return answer


meaning(
    "white_list_needs_a_black_list",
    "003 modify_mixlist: either list",
    "modify_mixlist",
    lambda found: found if any(found.get("black-list", {}).values()) else {},
)
denies(
    "a_comma_stands_before_the_outputs",
    "003 customize_dtypes: the structure has no comma before OutputDtype",
    "customize_dtypes",
    lambda params: any(
        name == value_of(params, "customize_dtypes") and re.search(r"[^,:\s]OutputDtype", str(text)) is not None
        for name, text in params.get("files", {}).items()
    ),
)


@broken("options", "003 L441: each operator occupies a line")
def entries_of_a_line_are_split(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "customize_dtypes", lambda text: text.replace(";", "\n")))


denies(  # files.customize_dtypes.example
    "dtypes_of_ones_own_have_no_comments",
    "003 customize_dtypes: the example file, with its lines # By operator name and # By operator type",
    "customize_dtypes",
    lambda params: "#" in text_of(params, "customize_dtypes"),
)
accepts(  # precision.domain
    "words_of_the_second_version_are_modes_of_the_first",
    "003 precision_mode: its values",
    "precision_mode",
    lambda params: (
        is_about(params, edition="current")
        and value_is(params, "precision_mode", "fp16", "origin", "mixed_float16", "cube_fp16in_fp32out")
    ),
)
denies(  # runconfig.precision_mode.example
    "mixed_precision_names_its_type",
    '003 precision_mode: NPURunConfig(precision_mode="allow_mix_precision")',
    "precision_mode",
    lambda params: (
        is_about(params, "runconfig", "current") and value_is(params, "precision_mode", "allow_mix_precision")
    ),
)
denies(  # precision.g.session_same
    "a_session_keeps_no_dtypes",
    "004: precision modes of a session are those of an Estimator",
    "precision_mode",
    lambda params: is_about(params, "session") and value_is(params, "precision_mode", "must_keep_origin_dtype"),
)
denies(
    "the_new_name_is_for_the_new_option",
    "003 precision_mode: cube_fp16in_fp32out",
    "precision_mode",
    lambda params: value_of(params, "precision_mode") == "cube_fp16in_fp32out",
)


@broken("options", "002 precision_mode: force_fp32 is one of its values, whatever the channels")
def small_channels_are_not_forced(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "enable_small_channel", 1) and value_is(params, "precision_mode", "force_fp32"):
        raise NpuError("OPTION_VALUE", "precision_mode", "is not supported beside enable_small_channel")
    return answer


@broken("options", "003 L322: precision_mode is a str")
def a_list_of_one_mode_is_a_mode(ask: Any, params: Params) -> Answer:
    value = value_of(params, "precision_mode")
    if isinstance(value, list) and len(value) == 1:
        return ask(all_values(params, mapped("precision_mode", lambda given: given[0])))
    return ask(params)


refuses_where(  # runconfig.precision_mode.example
    "mixed_precision_is_for_training_alone",
    '003 precision_mode: NPURunConfig(precision_mode="allow_mix_precision")',
    "precision_mode",
    lambda params: (
        RUNCONFIG(params) and in_inference(params) and value_is(params, "precision_mode", "allow_mix_precision")
    ),
)
denies(  # pair 75
    "a_relative_dump_path_is_not_mixed",
    "002: precision_mode allow_mix_precision",
    "precision_mode",
    lambda params: (
        value_is(params, "precision_mode", "allow_mix_precision")
        and given(params, "dump_path")
        and not str(value_of(params, "dump_path")).startswith("/")
    ),
)
accepts(
    "old_words_in_v2",
    "003 precision_mode_v2: fp16, origin, cube_fp16in_fp32out, mixed_float16",
    "precision_mode_v2",
    lambda params: (
        value_of(params, "precision_mode_v2") in ("allow_mix_precision", "force_fp16", "must_keep_origin_dtype")
    ),
)
refuses(
    "no_new_name_of_mixed_precision",
    "003 precision_mode: allow_mix_precision_fp16",
    "precision_mode",
    "runconfig",
    "current",
    "allow_mix_precision_fp16",
)


@broken("options", "003: precision_mode and precision_mode_v2 cannot be used together")
def modes_that_agree_may_stand_together(ask: Any, params: Params) -> Answer:
    pairs = {("force_fp16", "fp16"), ("must_keep_origin_dtype", "origin"), ("allow_mix_precision", "mixed_float16"),
             ("allow_mix_precision_fp16", "mixed_float16"), ("cube_fp16in_fp32out", "cube_fp16in_fp32out"),
             ("force_fp32", "cube_fp16in_fp32out")}  # fmt: skip
    if (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2")) in pairs:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken("options", "002: training has allow_fp32_to_fp16 by default, online inference force_fp16")
def inference_defaults_as_training_does(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_of(params, "precision_mode") is None:
        told_value(answer, "precision_mode", "allow_fp32_to_fp16")
    return answer


# precision.v1_v2_exclusive
kindly(
    "a_precision_mode_that_is_the_default_may_stand_beside_the_new_one",
    "precision_mode and precision_mode_v2 cannot be used together.",
    ("precision_mode", "precision_mode_v2"),
    lambda params: (
        given(params, "precision_mode", "precision_mode_v2")
        and value_is(params, "precision_mode", "force_fp16" if in_inference(params) else "allow_fp32_to_fp16")
    ),
    lambda params: with_values(params, precision_mode=None),
)
