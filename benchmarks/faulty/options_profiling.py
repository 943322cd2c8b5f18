"""Options of profiling: profiling_mode, profiling_options and profiling_config."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Mapping

from faulty.answered import told_value, warn
from faulty.asked import (
    EVERY_METHOD,
    LEGACY,
    SESSION,
    all_values,
    edited_profile,
    given,
    in_inference,
    is_about,
    is_looped,
    mapped,
    value_is,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import accepts, denies, reads_as, tells
from faulty.mistakes_options import has_default, reads_where, refuses_where, takes_as
from npu_reference.errors import NpuError


def _profile_of(text: Any) -> Dict[str, Any]:
    """The text of profiling_options; empty where it is none."""
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# session.profiling_options.inference.supported
def _without_aicpu(value: Any) -> Any:
    found = _profile_of(value)
    return json.dumps({**found, "aicpu": "off"}) if found.get("aicpu") == "on" else value


reads_where(
    "the_ai_cpu_is_not_profiled_in_online_inference",
    "Online inference supports task_trace and aicpu",
    "profiling_options",
    _without_aicpu,
    lambda params: LEGACY(params) and in_inference(params),
    "options",
    "timeline",
    "run",
)


# session.profiling_options.fp_point.required
def _backward_alone(params: Params) -> bool:
    found = _profile_of(value_of(params, "profiling_options"))
    return bool(found.get("training_trace") == "on" and found.get("bp_point") and not found.get("fp_point"))


accepts(
    "the_backward_point_is_enough_for_a_trace",
    "fp_point has to be configured when training_trace is on",
    "profiling_options",
    lambda params: LEGACY(params) and _backward_alone(params),
    profiling_options=None,
    profiling_mode=None,
)


# session.profiling_mode.scope
@broken("options", "profiling_mode applies to training and online inference", "options", "timeline", "run")
def profiling_mode_is_for_training_alone(ask: Any, params: Params) -> Answer:
    wanted = value_of(params, "profiling_mode") is True
    if not LEGACY(params) or not in_inference(params) or not wanted:
        return dict(ask(params))
    answer = dict(ask(all_values(params, mapped("profiling_mode", lambda value: False))))
    if "effective" in answer:
        told_value(answer, "profiling_mode", False, "forced")
        warn(answer, "profiling_mode", "training_only")
    return answer


# session.profiling_options.training_trace.optional
denies(
    "a_profile_needs_a_trace_of_iterations",
    "training_trace is optional",
    "profiling_options",
    lambda params: (
        LEGACY(params)
        and value_of(params, "profiling_mode") is True
        and "training_trace" not in _profile_of(value_of(params, "profiling_options"))
    ),
)
accepts(  # pair 2
    "a_loop_is_traced_without_its_end",
    "002: bp_point has to be configured where training_trace is on",
    "profiling_options",
    lambda params: (
        is_looped(params)
        and is_about(params, edition="legacy")
        and '"fp_point"' in str(value_of(params, "profiling_options"))
        and '"bp_point"' not in str(value_of(params, "profiling_options"))
    ),
    profiling_options=None,
    profiling_mode=None,
)


@broken("options", "002 profiling_options: the run user has read and write permission on output")
def a_directory_that_is_read_will_do(ask: Any, params: Params) -> Answer:
    def opened(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: {"access": "rw"} if text == {"access": "r"} else text for name, text in files.items()}

    if value_of(params, "profiling_mode") is True:
        return ask({**params, "files": opened(params.get("files", {}))})
    return ask(params)


accepts(
    "traces_begin_anywhere",
    "002 profiling_options: fp_point, where training_trace is on",
    "profiling_options",
    lambda params: params["edition"] == "legacy" and "fp_point" not in str(value_of(params, "profiling_options")),
)
accepts(
    "anything_is_a_metric",
    "002 aic_metrics: five values",
    "profiling_options",
    lambda params: (
        re.search(r'aic_metrics"\s*:\s*"Foo', str(value_of(params, "profiling_options"))) is not None
        or re.search(r'aic_metrics"\s*:\s*"(?!Arith|Pipe|Memory|Resource)', str(value_of(params, "profiling_options")))
        is not None
    ),
)
accepts(
    "training_is_traced_or_not",
    "002 training_trace: must be on where it is configured",
    "profiling_options",
    lambda params: re.search(r'"training_trace"\s*:\s*"off"', str(value_of(params, "profiling_options"))) is not None,
)


# session.profiling_options.aicpu.domain
def _any_is_on(found: Dict[str, Any]) -> Any:
    return {**found, "aicpu": "on"} if found.get("aicpu", "off") not in ("on", "off") else None


reads_as(
    "any_word_profiles_the_ai_cpu_in_inference",
    "What is neither on nor off counts as off",
    "profiling_options",
    lambda params, value: edited_profile(_any_is_on)(value) if in_inference(params) else value,
    "options",
    "timeline",
)


@broken("options", "002 profiling_options: online inference supports task_trace, in a launched rank too")
def no_task_trace_of_launched_inference(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    text = value_of(params, "profiling_options")
    if in_inference(params) and "RANK_SIZE" in params.get("env", {}) and "task_trace" in str(text):
        raise NpuError("OPTION_VALUE", "profiling_options", "is not of online inference")
    return answer


def _traced(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("profiling_options")
    if (
        isinstance(told, dict)
        and in_inference(params)
        and '"training_trace":"on"' in str(value_of(params, "profiling_options")).replace(" ", "")
    ):
        told["training_trace"] = "on"


tells("traces_of_training_in_inference", "002 L88: inference does not support training_trace", _traced)


@broken("options", "002 L74: five groups of metrics")
def metrics_of_newer_devices(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    found = re.search(r'"aic_metrics"\s*:\s*"(MemoryUB|L2Cache)"', text) if isinstance(text, str) else None
    if found is None:
        return ask(params)
    known = text.replace(found[1], "Memory")
    answer = ask(all_values(params, mapped("profiling_options", lambda value: known)))
    told_value(answer, "profiling_options", text)
    answer["meaning"]["profiling_options"]["aic_metrics"] = found[1]
    return answer


def _lacks(params: Params, point: str) -> bool:
    text = str(value_of(params, "profiling_options"))
    return point not in text and "training_trace" in text and "task_trace" in text


takes_as(
    "a_forward_point_alone_will_do",
    "002 bp_point: has to be configured when training_trace is on",
    "profiling_options",
    lambda params, error: _lacks(params, "bp_point"),
    lambda params: with_values(params, profiling_mode=None, profiling_options=None),
)
refuses_where(  # session.profiling_mode.example
    "online_inference_has_no_profile",
    "002 profiling_mode: training and online inference",
    "profiling_mode",
    lambda params: SESSION(params) and in_inference(params) and value_is(params, "profiling_mode", True),
)
has_default(  # session.profiling_mode.default
    "options_of_a_profile_switch_it_on",
    "002 profiling_mode: False by default",
    "profiling_mode",
    lambda params: True if SESSION(params) and given(params, "profiling_options") else None,
    *EVERY_METHOD,
)
accepts(
    "a_plain_text_is_a_profile_configuration",
    "003 profiling_config: a ProfilingConfig object",
    "profiling_config",
    lambda params: isinstance(value_of(params, "profiling_config"), str),
)


def _profiled(params: Params, change: Callable[[Dict[str, Any]], Any]) -> Any:
    """What is asked of profiling_options, changed; None of a text that is none."""
    try:
        found = json.loads(str(value_of(params, "profiling_options")))
    except ValueError:
        return None
    return change(found) if isinstance(found, dict) else None


@broken("options", "002 profiling_options: the directory output is there before", "options", "timeline")
def a_relative_output_is_made(ask: Any, params: Params) -> Answer:
    output = _profiled(params, lambda asked: asked.get("output"))
    if isinstance(output, str) and output and not output.startswith("/"):
        files = {f"{output.rstrip('/')}/": "", **params.get("files", {})}
        return dict(ask({**params, "files": files}))
    return dict(ask(params))


accepts(  # pair 29
    "no_profile_is_no_json",
    "002: profiling_options is a JSON object with output",
    "profiling_options",
    lambda params: str(value_of(params, "profiling_options") or "").strip() in ("", "{}"),
    profiling_options=None,
    profiling_mode=None,
)


def _profiling(change: Any) -> Any:
    def edit(params: Params, told: Any) -> Any:
        try:
            found = json.loads(told)
        except (TypeError, ValueError):
            return told
        if not isinstance(found, dict):
            return told
        after = change(dict(found))
        return told if after == found else json.dumps(after)

    return edit


# session.profiling_options.training_trace.only_on
reads_as(
    "training_trace_off_is_as_good_as_left_out",
    "training_trace, where it is given, has to be on",
    "profiling_options",
    _profiling(lambda found: {k: v for k, v in found.items() if (k, v) != ("training_trace", "off")}),
    "options",
    "timeline",
    "run",
)


def _junk_is_on(answer: Answer, params: Params) -> None:
    try:
        said = json.loads(value_of(params, "profiling_options"))
    except (TypeError, ValueError):
        return
    meaning = answer.get("meaning", {}).get("profiling_options")
    if meaning and said.get("task_trace", "off") != "off":
        meaning["task_trace"] = "on"


tells("junk_turns_task_trace_on", "002 task_trace: another value is off", _junk_is_on)


def _profile(name: str, sentence: str, when: Callable[[Dict[str, Any]], bool]) -> None:
    def held(params: Params) -> bool:
        try:
            found = json.loads(value_of(params, "profiling_options"))
        except (TypeError, ValueError):
            return False
        return isinstance(found, dict) and when(found)

    accepts(name, sentence, "profiling_options", held, profiling_options=None, profiling_mode=None)


_profile("training_trace_off", "002 training_trace: must be on", lambda found: found.get("training_trace") == "off")
_profile(
    "no_bp_point_needed",
    "002 bp_point: required with training_trace",
    lambda found: found.get("training_trace") == "on" and "fp_point" in found and "bp_point" not in found,
)
_profile(
    "no_fp_point_needed",
    "002 fp_point: required with training_trace",
    lambda found: found.get("training_trace") == "on" and "bp_point" in found and "fp_point" not in found,
)


def _metrics(answer: Answer, params: Params) -> None:
    meaning = answer.get("meaning", {}).get("profiling_options")
    if meaning and "aic_metrics" not in str(value_of(params, "profiling_options")):
        meaning["aic_metrics"] = "ArithmeticUtilization"


tells("other_metrics_by_default", "002 aic_metrics: PipeUtilization by default", _metrics)
_REMEMBERED: Dict[str, Any] = {}


def _remembers(answer: Answer, params: Params) -> None:
    name = "profiling_mode"
    if name in params["values"]:
        _REMEMBERED["value"] = answer["effective"][name]["value"]
    elif name in answer["effective"] and "value" in _REMEMBERED:
        answer["effective"][name]["value"] = _REMEMBERED["value"]


tells("profile_of_the_question_before", "002 profiling_mode: off by default, of every session", _remembers)
accepts(
    "profiles_to_nowhere",
    "002 profiling_options output: created in advance",
    "profiling_options",
    lambda params: "/tmp/missing" in str(value_of(params, "profiling_options")),
    profiling_options=None,
    profiling_mode=None,
)


@broken("options", "002: task_trace and aicpu other than on and off count as off")
def capital_on_counts_as_on(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("profiling_options",
                                           lambda value: re.sub(r'("(?:task_trace|aicpu)"\s*:\s*)"(?:ON|On|true|1)"',
                                                                r'\1"on"', value)
                                           if isinstance(value, str) else value)))  # fmt: skip


def _same_switch(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("profiling_options")
    if isinstance(told, dict) and "aicpu" in told:
        told["aicpu"] = told["task_trace"]


tells(  # session.profiling_options.aicpu.meaning
    "the_cpu_is_profiled_when_tasks_are", "002 profiling_options: aicpu, a switch of its own", _same_switch
)


def _begins_with_memory(answer: Answer, params: Params) -> None:
    found = answer.get("meaning", {}).get("profiling_options")
    if isinstance(found, dict) and found.get("aic_metrics") == "MemoryL0":
        found["aic_metrics"] = "Memory"


tells(  # session.profiling_options.aic_metrics.MemoryL0
    "metrics_are_looked_up_by_how_they_begin",
    "002 profiling_options: MemoryL0 is the internal memory, Memory the external one",
    _begins_with_memory,
)


def _switches(text: Any) -> Dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@broken(  # session.profiling_options.training_trace.only_on
    "options", "002 profiling_options: training_trace has to be on where it is configured", "options"
)
def every_switch_of_a_profile_may_be_anything(ask: Any, params: Params) -> Answer:
    """All switches are read by one reader, which takes what it does not know for off."""
    text = value_of(params, "profiling_options")
    found = _switches(text)
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.subject != "profiling_options" or found.get("training_trace", "on") == "on":
            raise
        rest = {name: value for name, value in found.items() if name != "training_trace"}
        answer = dict(ask(with_values(params, profiling_options=json.dumps(rest))))
        told_value(answer, "profiling_options", text)
        answer.get("meaning", {}).get("profiling_options", {})["training_trace"] = "off"
        return answer
