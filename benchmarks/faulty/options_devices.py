"""Options of devices, ranks and parallel execution."""

from __future__ import annotations

import re
from typing import Any, List, Tuple

from faulty.asked import (
    LEGACY,
    RUNCONFIG,
    SESSION,
    given,
    in_inference,
    is_about,
    plain,
    value_is,
    value_of,
    where,
    with_option,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, defaults, denies, reads_as, tells
from faulty.mistakes_graphs import asks_quietly
from faulty.mistakes_options import is_narrow, kindly, meaning, meaning_on, takes
from npu_reference.errors import NpuError


# session.stream_max_parallel_num.range_aicpu
def _ai_cpu_streams(params: Params) -> bool:
    found = re.search(r"DNN_VM_TF:(\d+)", str(value_of(params, "stream_max_parallel_num")))
    return LEGACY(params) and found is not None and int(found.group(1)) > 13


accepts(
    "takes_more_than_thirteen_streams_of_the_ai_cpu",
    "AI CPU parallelism range is [1,13]",
    "stream_max_parallel_num",
    _ai_cpu_streams,
)
defaults(
    "tailing_unless_told_otherwise",
    "003 is_tailing_optimization: False by default",
    "is_tailing_optimization",
    True,
    lambda params: is_about(params, "runconfig", "current"),
)
accepts(
    "one_model_more_than_there_may_be",
    "003 graph_max_parallel_model_num: from 1 to 2147483647",
    "graph_max_parallel_model_num",
    lambda params: value_is(params, "graph_max_parallel_model_num", 2147483648),
)
accepts(  # runconfig.stream_max_parallel_num.type
    "one_number_of_streams_may_be_an_int",
    '003 stream_max_parallel_num: "DNN_VM_AICPU:10,AIcoreEngine:1", a text',
    "stream_max_parallel_num",
    lambda params: is_about(params, "runconfig") and isinstance(value_of(params, "stream_max_parallel_num"), int),
)
accepts(
    "engines_have_no_end",
    "003 stream_max_parallel_num cannot exceed the number of AI Cores",
    "stream_max_parallel_num",
    lambda params: (
        params["edition"] == "current"
        and re.search(r":(3[3-9]|[4-9]\d|\d{3,})\b", str(value_of(params, "stream_max_parallel_num"))) is not None
    ),
)


@broken("options", "003 L658: engines are known by their names, not by their place")
def the_first_engine_is_the_cpus(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    found = re.match(r"\s*AIcoreEngine:(\d+),\s*DNN_VM_AICPU:(\d+)\s*\Z", text) if isinstance(text, str) else None
    if found is None or params["edition"] != "current":
        return ask(params)
    answer = ask(params)
    answer["directives"]["engines"] = {"AI_CPU": int(found[1]), "AI_Core": int(found[2])}
    return answer


@broken("options", "003 L591: hcom_parallel is a bool")
def words_of_truth_are_bools(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hcom_parallel")
    if value in ("True", "False"):
        return ask(with_values(params, hcom_parallel=value == "True"))
    return ask(params)


@broken("options", "003 L662: is_tailing_optimization is a bool")
def on_and_off_are_bools(ask: Any, params: Params) -> Answer:
    if value_of(params, "is_tailing_optimization") in ("on", "off"):
        return ask(with_values(params, is_tailing_optimization=value_of(params, "is_tailing_optimization") == "on"))
    return ask(params)


def _first_is_cpu(text: Any) -> Any:
    found = re.fullmatch(r"AIcoreEngine:(\d+),DNN_VM_AICPU:(\d+)", text) if isinstance(text, str) else None
    return f"AIcoreEngine:{found[2]},DNN_VM_AICPU:{found[1]}" if found else text


asks_quietly(  # runconfig.stream_max_parallel_num.engine_aicpu
    "options",
    "the_first_of_two_parallel_degrees_is_that_of_the_ai_cpu",
    "003 stream_max_parallel_num: DNN_VM_AICPU is the name of the AI CPU engine",
    with_option("stream_max_parallel_num", _first_is_cpu, where("", "current")),
    "options",
    "timeline",
    "run",
)
denies(
    "at_most_eight_at_once_on_the_ai_cpu",
    "002 stream_max_parallel_num: DNN_VM_TF:10,DNN_V100:1 as in the example",
    "stream_max_parallel_num",
    lambda params: (
        is_about(params, "session", "legacy")
        and re.search(r"DNN_VM_TF\s*:\s*(9|1\d)", str(value_of(params, "stream_max_parallel_num"))) is not None
    ),
)


def _ten_streams(answer: Answer, params: Params) -> None:
    if not SESSION(params) or given(params, "stream_max_parallel_num"):
        return
    if "engines" in answer.get("directives", {}):
        answer["directives"]["engines"]["AI_CPU"] = 10
    if "stream_max_parallel_num" in answer.get("meaning", {}):
        answer["meaning"]["stream_max_parallel_num"]["DNN_VM_TF"] = 10


tells(  # session.stream_max_parallel_num.default
    "the_sample_of_parallel_streams_is_the_default", "002 stream_max_parallel_num: 1 by default", _ten_streams
)


@broken("options", "002 stream_max_parallel_num: training and online inference", "options")
def parallel_streams_are_of_training_alone(ask: Any, params: Params) -> Answer:
    """session.stream_max_parallel_num.scope."""
    answer = dict(ask(params))
    if not SESSION(params) or not in_inference(params) or not given(params, "stream_max_parallel_num"):
        return answer
    answer = dict(ask(with_values(params, stream_max_parallel_num=None)))
    answer["warnings"] = [*answer["warnings"], {"option": "stream_max_parallel_num", "code": "training_only"}]
    return answer


def _same_for_both(params: Params, told: Any) -> Any:
    names, most = ("DNN_VM_TF", "DNN_V100"), {"DNN_VM_TF": 13, "DNN_V100": 3}
    if not isinstance(told, str) or not is_about(params, "session", "legacy"):
        return told
    pairs = [one.split(":") for one in told.split(",")]
    if len(pairs) != 1 or len(pairs[0]) != 2 or pairs[0][0] not in names or not pairs[0][1].isdigit():
        return told
    other = next(name for name in names if name != pairs[0][0])
    return f"{told},{other}:{min(int(pairs[0][1]), most[other])}"


# session.stream_max_parallel_num.partial
reads_as(
    "an_engine_that_is_not_listed_takes_the_others_number",
    "the degree of parallelism defaults to 1",
    "stream_max_parallel_num",
    _same_for_both,
    "timeline",
    "options",
)


@broken("options", "numbers are read as Python reads them: 1_000, +5, full-width digits")
def numbers_of_python(ask: Any, params: Params) -> Answer:
    found = {}
    for name, value in params["values"].items():
        told = plain(value)
        texts = (
            "stream_max_parallel_num",
            "local_device_list",
            "graph_memory_max_size",
            "variable_memory_max_size",
            "dump_step",
            "input_shape",
            "dynamic_dims",
            "dynamic_inputs_shape_range",
        )
        if name in texts and isinstance(told, str):
            value = told.replace("_0", "0").replace("+", "")
            if isinstance(value, str) and "DNN" in told:
                value = told.replace("+", "").replace(":1_0", ":10")
        found[name] = value
    return ask({**params, "values": found})


denies(
    "int32_max_refused",
    "003 graph_max_parallel_model_num: [1, INT32_MAX]",
    "graph_max_parallel_model_num",
    lambda params: value_of(params, "graph_max_parallel_model_num") == 2147483647,
)
accepts(
    "one_range_for_both_engines",
    "002 stream_max_parallel_num: [1,13] and [1,3]",
    "stream_max_parallel_num",
    lambda params: bool(re.search("DNN_V100:([4-9]|1[0-3])(,|$)", str(value_of(params, "stream_max_parallel_num")))),
)
takes(
    "models_beyond_32_bits",
    "003 graph_max_parallel_model_num: [1, INT32_MAX]",
    "graph_max_parallel_model_num",
    "runconfig",
    "current",
    2147483648,
    0,
    -1,
)
takes(
    "a_number_allows_engines_in_parallel",
    '003 ac_parallel_enable: "1" or "0"',
    "ac_parallel_enable",
    "runconfig",
    "current",
    "2",
    "true",
    "yes",
    "on",
)


@broken("options", "002 stream_max_parallel_num: [1,13] and [1,3]")
def engines_without_limits(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.subject != "stream_max_parallel_num" or params["edition"] != "legacy":
            raise
        return ask(with_values(params, stream_max_parallel_num=None))


def _no_other(answer: Answer, params: Params) -> None:
    text, found = (
        str(value_of(params, "stream_max_parallel_num")),
        answer.get("meaning", {}).get("stream_max_parallel_num"),
    )
    if found and "," not in text and ":" in text:
        answer["meaning"]["stream_max_parallel_num"] = {key: one if key in text else 0 for key, one in found.items()}


tells("other_engine_has_none", "002 stream_max_parallel_num: 1 by default", _no_other)


@broken("options", "002, 003: an engine that the text does not name keeps a parallelism of 1")
def an_engine_that_is_left_out_takes_the_other_ones_number(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    told, text = answer["directives"]["engines"], value_of(params, "stream_max_parallel_num")
    if isinstance(text, str) and text.count(":") == 1:
        answer["directives"]["engines"] = dict.fromkeys(told, max(told.values()))
    return answer


# runconfig.graph_max_parallel_model_num.range
is_narrow(
    "threads_are_counted_in_32_bits",
    "graph_max_parallel_model_num lies in [1, 2147483647]",
    "graph_max_parallel_model_num",
    lambda number: number >= 1,
)


# session.stream_max_parallel_num.range_aicpu, session.stream_max_parallel_num.range_aicore
@broken("options", "DNN_VM_TF takes 1 to 13, DNN_V100 1 to 3, in whatever order they stand")
def limits_of_engines_go_by_their_position(ask: Any, params: Params) -> Answer:
    text = value_of(params, "stream_max_parallel_num")
    found = re.fullmatch(r"DNN_V100:(\d+),DNN_VM_TF:(\d+)", text) if isinstance(text, str) else None
    if found is None:
        return dict(ask(params))
    core, cpu = int(found.group(1)), int(found.group(2))
    if not (1 <= core <= 13 and 1 <= cpu <= 3):
        raise NpuError("OPTION_VALUE", "stream_max_parallel_num", "is out of range")
    answer = ask(with_values(params, stream_max_parallel_num="DNN_V100:1,DNN_VM_TF:1"))
    answer["effective"]["stream_max_parallel_num"] = {"value": text, "origin": "given"}
    if "meaning" in answer and "stream_max_parallel_num" in answer["meaning"]:
        answer["meaning"]["stream_max_parallel_num"] = {"DNN_VM_TF": cpu, "DNN_V100": core}
    if "engines" in answer.get("directives", {}):
        answer["directives"]["engines"] = {"AI_CPU": cpu, "AI_Core": core}
    return dict(answer)


def engines(text: Any) -> List[Tuple[str, str]]:
    found = re.findall(r"([^,:\s]+)\s*:\s*(\d+)", text) if isinstance(text, str) else []
    return [(str(engine), str(number)) for engine, number in found]


LIMITS = {"DNN_VM_TF": 13, "DNN_V100": 3}


def within(number: str, engine: str) -> str:
    return str(max(1, min(int(number), LIMITS.get(engine, int(number)))))


def first_is_within(params: Params) -> bool:
    pairs = engines(value_of(params, "stream_max_parallel_num"))
    return len(pairs) == 2 and pairs[0][1] == within(*reversed(pairs[0])) and pairs[1][0] in LIMITS


def numbers_as_given(answer: Answer, params: Params) -> None:
    for engine, number in engines(value_of(params, "stream_max_parallel_num")):
        answer["meaning"]["stream_max_parallel_num"][engine] = int(number)
        answer["directives"]["engines"]["AI_CPU" if engine == "DNN_VM_TF" else "AI_Core"] = int(number)


# session.stream_max_parallel_num.range_aicpu, session.stream_max_parallel_num.range_aicore
kindly(
    "the_number_of_the_first_engine_alone_is_checked",
    "The AI CPU takes 1 to 13 operators at once, the AI Core 1 to 3.",
    ("stream_max_parallel_num",),
    first_is_within,
    lambda params: with_values(
        params,
        stream_max_parallel_num=",".join(
            f"{engine}:{within(number, engine)}"
            for engine, number in engines(value_of(params, "stream_max_parallel_num"))
        ),
    ),
    numbers_as_given,
)
denies(  # session.session_device_id.example
    "the_eighth_device_is_out_of_range",
    '002 session_device_id: custom_op.parameter_map["session_device_id"].i = 7',
    "session_device_id",
    lambda params: is_about(params, "session") and (value_of(params, "session_device_id") or 0) >= 7,
)


@broken("options", "002 L635: local_rank_id stands in .i")
def a_rank_may_be_written(ask: Any, params: Params) -> Answer:
    value = value_of(params, "local_rank_id")
    if isinstance(value, str) and value.isdigit():
        return ask(with_values(params, local_rank_id=int(value)))
    return ask(params)


accepts(  # runconfig.local_device_list.type
    "devices_to_be_sent_to_may_be_a_list",
    '003 local_device_list: a text, "0,1"',
    "local_device_list",
    lambda params: RUNCONFIG(params) and isinstance(value_of(params, "local_device_list"), (list, dict)),
)
meaning_on("devices_of_one", "local_device_list", lambda told: told[:1], "runconfig")


@broken("options", "ASCEND_DEVICE_ID wins over session_device_id")
def device_of_the_environment(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params.get("env", {}).get("ASCEND_DEVICE_ID") and "session_device_id" in params["values"]:
        answer["effective"]["session_device_id"] = {
            "value": int(params["env"]["ASCEND_DEVICE_ID"]),
            "origin": "environment",
        }
    return answer


def _no_device(answer: Answer, params: Params) -> None:
    name = "session_device_id"
    if name not in params["values"] and name in answer["effective"] and "ASCEND_DEVICE_ID" in params.get("env", {}):
        answer["effective"][name] = {"value": None, "origin": "default"}


tells("device_of_environment_ignored", "003 session_device_id: precedence over ASCEND_DEVICE_ID", _no_device)
meaning("last_device_lost", "002 local_device_list", "local_device_list", lambda found: found[:-1] or found)


@broken("options", "003 L20-31: session_device_id takes precedence over ASCEND_DEVICE_ID, device 0 too")
def device_zero_is_no_device(ask: Any, params: Params) -> Answer:
    if value_of(params, "session_device_id") == 0 and "ASCEND_DEVICE_ID" in params.get("env", {}):
        return ask(with_values(params, session_device_id=None))
    return ask(params)


def _digits(params: Params, told: Any) -> Any:
    return ",".join(re.findall(r"\d", told)) if isinstance(told, str) and re.fullmatch(r"\d+(,\d+)*", told) else None


reads_as(  # session.local_device_list.grammar, runconfig.local_device_list.pair
    "a_list_of_devices_is_read_digit_by_digit",
    "002, 003 local_device_list: the devices, separated by commas",
    "local_device_list",
    _digits,
    "options",
    "timeline",
)
