"""Options of precision: the modes, the mixed-precision lists and customize_dtypes."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import first_key, told_value
from faulty.asked import (
    all_values,
    given_as,
    is_about,
    is_in_field,
    mapped,
    texts,
    value_is,
    value_of,
    where,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, denies, says
from npu_reference.errors import NpuError

fault(
    "a_mixlist_that_is_no_text_is_passed_over",
    "session.modify_mixlist.type",
    accepts("modify_mixlist"),
    lambda params: is_in_field(params, "modify_mixlist", "b"),
)
fault(
    "nothing_to_change_is_no_list",
    "files.mixlist.current.grammar",
    denies("modify_mixlist"),
    lambda params: any(
        isinstance(text, str) and text.strip() in ("{}", '{"black-list": {}}', '{"white-list": {}}')
        for text in params.get("files", {}).values()
    ),
)
fault(
    "lists_in_place_of_a_path",
    "runconfig.modify_mixlist.type",
    accepts("modify_mixlist"),
    lambda params: (
        is_about(params, "runconfig")
        and isinstance(value_of(params, "modify_mixlist"), (dict, list))
        and value_is(params, "precision_mode_v2", "mixed_float16")
    ),
)
fault(
    "session_white_list_forgotten",
    "files.mixlist.legacy.white_add",
    says("meaning", "modify_mixlist", first_key),
    where("session", ""),
)
fault(
    "white_list_needs_a_black_list",
    "files.mixlist.current.grammar",
    says("meaning", "modify_mixlist", lambda found: found if any(found.get("black-list", {}).values()) else {}),
    lambda params: "modify_mixlist" in params["values"],
)
fault(
    "a_comma_stands_before_the_outputs",
    "files.customize_dtypes.by_name",
    denies("customize_dtypes"),
    lambda params: any(
        name == value_of(params, "customize_dtypes") and re.search(r"[^,:\s]OutputDtype", str(text)) is not None
        for name, text in params.get("files", {}).items()
    ),
)


@mistake("files.customize_dtypes.one_per_line")
def entries_of_a_line_are_split(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "customize_dtypes", lambda text: text.replace(";", "\n")))


fault(
    "words_of_the_second_version_are_modes_of_the_first",
    "precision.domain",
    accepts("precision_mode"),
    lambda params: (
        is_about(params, edition="current")
        and value_is(params, "precision_mode", "fp16", "origin", "mixed_float16", "cube_fp16in_fp32out")
    ),
)
fault(
    "a_session_keeps_no_dtypes",
    "precision.g.session_same",
    denies("precision_mode"),
    lambda params: is_about(params, "session") and value_is(params, "precision_mode", "must_keep_origin_dtype"),
)
fault(
    "the_new_name_is_for_the_new_option",
    "precision.domain",
    denies("precision_mode"),
    lambda params: value_of(params, "precision_mode") == "cube_fp16in_fp32out",
)


@mistake("precision.s.domain")
def small_channels_are_not_forced(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "enable_small_channel", 1) and value_is(params, "precision_mode", "force_fp32"):
        raise NpuError("OPTION_VALUE", "precision_mode", "is not supported beside enable_small_channel")
    return answer


@mistake("runconfig.precision_mode.type")
def a_list_of_one_mode_is_a_mode(ask: Any, params: Params) -> Answer:
    value = value_of(params, "precision_mode")
    if isinstance(value, list) and len(value) == 1:
        return ask(all_values(params, mapped("precision_mode", lambda given: given[0])))
    return ask(params)


fault(
    "old_words_in_v2",
    "precision.v2.domain",
    accepts("precision_mode_v2"),
    lambda params: (
        value_of(params, "precision_mode_v2") in ("allow_mix_precision", "force_fp16", "must_keep_origin_dtype")
    ),
)
fault(
    "no_new_name_of_mixed_precision",
    "precision.domain",
    denies("precision_mode"),
    given_as("precision_mode", "runconfig", "current", "allow_mix_precision_fp16"),
)


@mistake("precision.v1_v2_exclusive")
def modes_that_agree_may_stand_together(ask: Any, params: Params) -> Answer:
    pairs = {
        ("force_fp16", "fp16"),
        ("must_keep_origin_dtype", "origin"),
        ("allow_mix_precision", "mixed_float16"),
        ("allow_mix_precision_fp16", "mixed_float16"),
        ("cube_fp16in_fp32out", "cube_fp16in_fp32out"),
        ("force_fp32", "cube_fp16in_fp32out"),
    }
    if (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2")) in pairs:
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@mistake("precision.s.default_inference")
def inference_defaults_as_training_does(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_of(params, "precision_mode") is None:
        told_value(answer, "precision_mode", "allow_fp32_to_fp16")
    return answer
