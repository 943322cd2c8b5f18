"""Options of devices, ranks and parallel execution."""

from __future__ import annotations

import re
from typing import Any, List, Tuple

from faulty.asked import RUNCONFIG, SESSION, given, given_as, is_about, narrowed, value_is, value_of, where, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, asks, changed, defaults, denies, says

fault(
    "tailing_unless_told_otherwise",
    "runconfig.is_tailing_optimization.default",
    defaults("is_tailing_optimization", True),
    lambda params: is_about(params, "runconfig", "current"),
)
fault(
    "one_model_more_than_there_may_be",
    "runconfig.graph_max_parallel_model_num.range",
    accepts("graph_max_parallel_model_num"),
    lambda params: value_is(params, "graph_max_parallel_model_num", 2147483648),
)
fault(
    "one_number_of_streams_may_be_an_int",
    "runconfig.stream_max_parallel_num.type",
    accepts("stream_max_parallel_num"),
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "stream_max_parallel_num"), int),
)
fault(
    "engines_have_no_end",
    "runconfig.stream_max_parallel_num.limit",
    accepts("stream_max_parallel_num"),
    lambda params: (
        params["edition"] == "current"
        and re.search(r":(3[3-9]|[4-9]\d|\d{3,})\b", str(value_of(params, "stream_max_parallel_num"))) is not None
    ),
)


@mistake("runconfig.stream_max_parallel_num.engine_aicore")
def the_first_engine_is_the_cpus(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    found = re.match(r"\s*AIcoreEngine:(\d+),\s*DNN_VM_AICPU:(\d+)\s*\Z", text) if isinstance(text, str) else None
    if found is None or params["edition"] != "current":
        return ask(params)
    answer = ask(params)
    answer["directives"]["engines"] = {"AI_CPU": int(found[1]), "AI_Core": int(found[2])}
    return answer


@mistake("runconfig.hcom_parallel.type")
def words_of_truth_are_bools(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hcom_parallel")
    if value in ("True", "False"):
        return ask(with_values(params, hcom_parallel=value == "True"))
    return ask(params)


@mistake("runconfig.is_tailing_optimization.type")
def on_and_off_are_bools(ask: Any, params: Params) -> Answer:
    if value_of(params, "is_tailing_optimization") in ("on", "off"):
        return ask(with_values(params, is_tailing_optimization=value_of(params, "is_tailing_optimization") == "on"))
    return ask(params)


def _ten_streams(answer: Answer, params: Params) -> None:
    if not SESSION(params) or given(params, "stream_max_parallel_num"):
        return
    if "engines" in answer.get("directives", {}):
        answer["directives"]["engines"]["AI_CPU"] = 10
    if "stream_max_parallel_num" in answer.get("meaning", {}):
        answer["meaning"]["stream_max_parallel_num"]["DNN_VM_TF"] = 10


fault("the_sample_of_parallel_streams_is_the_default", "session.stream_max_parallel_num.default", changed(_ten_streams))
fault(
    "int32_max_refused",
    "runconfig.graph_max_parallel_model_num.range",
    denies("graph_max_parallel_model_num"),
    lambda params: value_of(params, "graph_max_parallel_model_num") == 2147483647,
)
fault(
    "one_range_for_both_engines",
    "session.stream_max_parallel_num.range_aicore",
    accepts("stream_max_parallel_num"),
    lambda params: bool(re.search("DNN_V100:([4-9]|1[0-3])(,|$)", str(value_of(params, "stream_max_parallel_num")))),
)
fault(
    "models_beyond_32_bits",
    "runconfig.graph_max_parallel_model_num.range",
    accepts("graph_max_parallel_model_num"),
    given_as("graph_max_parallel_model_num", "runconfig", "current", 2147483648, 0, -1),
)
fault(
    "a_number_allows_engines_in_parallel",
    "runconfig.ac_parallel_enable.domain",
    accepts("ac_parallel_enable"),
    given_as("ac_parallel_enable", "runconfig", "current", "2", "true", "yes", "on"),
)


@mistake("session.stream_max_parallel_num.partial")
def an_engine_that_is_left_out_takes_the_other_ones_number(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told, text = answer["directives"]["engines"], value_of(params, "stream_max_parallel_num")
    if isinstance(text, str) and text.count(":") == 1:
        answer["directives"]["engines"] = dict.fromkeys(told, max(told.values()))
    return answer


fault(
    "threads_are_counted_in_32_bits",
    "runconfig.graph_max_parallel_model_num.range",
    asks(narrowed("graph_max_parallel_model_num", lambda number: number >= 1)),
)


def engines(text: Any) -> List[Tuple[str, str]]:
    found = re.findall(r"([^,:\s]+)\s*:\s*(\d+)", text) if isinstance(text, str) else []
    return [(str(engine), str(number)) for engine, number in found]


fault(
    "the_eighth_device_is_out_of_range",
    "session.session_device_id.example",
    denies("session_device_id"),
    lambda params: is_about(params, "session") and (value_of(params, "session_device_id") or 0) >= 7,
)
fault(
    "devices_to_be_sent_to_may_be_a_list",
    "runconfig.local_device_list.type",
    accepts("local_device_list"),
    lambda params: RUNCONFIG(params) and isinstance(value_of(params, "local_device_list"), (list, dict)),
)
fault(
    "devices_of_one",
    "runconfig.local_device_list.pair",
    says("meaning", "local_device_list", lambda told: told[:1]),
    where("runconfig", ""),
)


def _no_device(answer: Answer, params: Params) -> None:
    name = "session_device_id"
    if name not in params["values"] and name in answer["effective"] and "ASCEND_DEVICE_ID" in params.get("env", {}):
        answer["effective"][name] = {"value": None, "origin": "default"}


fault("device_of_environment_ignored", "runconfig.session_device_id.over_env", changed(_no_device))


@mistake("runconfig.session_device_id.over_env")
def device_zero_is_no_device(ask: Any, params: Params) -> Answer:
    if value_of(params, "session_device_id") == 0 and "ASCEND_DEVICE_ID" in params.get("env", {}):
        return ask(with_values(params, session_device_id=None))
    return ask(params)
