"""Options of profiling: profiling_mode, profiling_options and profiling_config."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping

from faulty.asked import EVERY_METHOD, SESSION, given, in_inference, is_about, is_looped, value_is, value_of
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import accepts, changed, denies, has_default

fault(
    "a_loop_is_traced_without_its_end",
    "session.profiling_options.bp_point.required",
    accepts("profiling_options", profiling_options=None, profiling_mode=None),
    lambda params: (
        is_looped(params)
        and is_about(params, edition="legacy")
        and '"fp_point"' in str(value_of(params, "profiling_options"))
        and '"bp_point"' not in str(value_of(params, "profiling_options"))
    ),
)


@mistake("session.profiling_options.output.permission")
def a_directory_that_is_read_will_do(ask: Any, params: Params) -> Answer:
    def opened(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {name: {"access": "rw"} if text == {"access": "r"} else text for name, text in files.items()}

    if value_of(params, "profiling_mode") is True:
        return ask({**params, "files": opened(params.get("files", {}))})
    return ask(params)


fault(
    "traces_begin_anywhere",
    "session.profiling_options.fp_point.required",
    accepts("profiling_options"),
    lambda params: params["edition"] == "legacy" and "fp_point" not in str(value_of(params, "profiling_options")),
)
fault(
    "anything_is_a_metric",
    "session.profiling_options.aic_metrics.domain",
    accepts("profiling_options"),
    lambda params: (
        re.search(r'aic_metrics"\s*:\s*"Foo', str(value_of(params, "profiling_options"))) is not None
        or re.search(r'aic_metrics"\s*:\s*"(?!Arith|Pipe|Memory|Resource)', str(value_of(params, "profiling_options")))
        is not None
    ),
)
fault(
    "training_is_traced_or_not",
    "session.profiling_options.training_trace.only_on",
    accepts("profiling_options"),
    lambda params: re.search(r'"training_trace"\s*:\s*"off"', str(value_of(params, "profiling_options"))) is not None,
)
fault(
    "online_inference_has_no_profile",
    "session.profiling_mode.example",
    denies("profiling_mode"),
    lambda params: SESSION(params) and in_inference(params) and value_is(params, "profiling_mode", True),
    EVERY_METHOD,
)
fault(
    "options_of_a_profile_switch_it_on",
    "session.profiling_mode.default",
    has_default(
        "profiling_mode", lambda params: True if SESSION(params) and given(params, "profiling_options") else None
    ),
    methods=EVERY_METHOD,
)
fault(
    "a_plain_text_is_a_profile_configuration",
    "runconfig.profiling_config.type",
    accepts("profiling_config"),
    lambda params: isinstance(value_of(params, "profiling_config"), str),
)
fault(
    "no_profile_is_no_json",
    "session.profiling_options.json",
    accepts("profiling_options", profiling_options=None, profiling_mode=None),
    lambda params: str(value_of(params, "profiling_options") or "").strip() in ("", "{}"),
)


def _metrics(answer: Answer, params: Params) -> None:
    meaning = answer.get("meaning", {}).get("profiling_options")
    if meaning and "aic_metrics" not in str(value_of(params, "profiling_options")):
        meaning["aic_metrics"] = "ArithmeticUtilization"


fault("other_metrics_by_default", "session.profiling_options.aic_metrics.default", changed(_metrics))
_REMEMBERED: Dict[str, Any] = {}


def _remembers(answer: Answer, params: Params) -> None:
    name = "profiling_mode"
    if name in params["values"]:
        _REMEMBERED["value"] = answer["effective"][name]["value"]
    elif name in answer["effective"] and "value" in _REMEMBERED:
        answer["effective"][name]["value"] = _REMEMBERED["value"]


fault("profile_of_the_question_before", "session.profiling_mode.default", changed(_remembers))


def _same_switch(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("profiling_options")
    if isinstance(told, dict) and "aicpu" in told:
        told["aicpu"] = told["task_trace"]


fault("the_cpu_is_profiled_when_tasks_are", "session.profiling_options.aicpu.meaning", changed(_same_switch))
