"""Time: profiles and tuning results of a step."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict

from faulty.asked import (
    TIMED,
    Values,
    all_values,
    given,
    in_inference,
    in_values,
    is_about,
    is_dumped,
    mapped,
    plain,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, of_files, of_steps


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _json(text: str, change: Callable[[Any], Any]) -> str:
    found = _parsed(text)
    if not isinstance(found, dict):
        return text
    change(found)
    return json.dumps(found)


def _profiling(change: Callable[[Dict[str, Any]], None]) -> Callable[[Values], Values]:
    """The values with the JSON of profiling options changed, wherever it stands."""

    def options(text: Any) -> Any:
        return _json(text, change) if isinstance(text, str) else text

    def edit(values: Values) -> Values:
        config = values.get("profiling_config")
        if isinstance(config, dict) and "profiling_options" in config.get("arguments", {}):
            given = dict(config["arguments"])
            given["profiling_options"] = options(given["profiling_options"])
            return {**values, "profiling_config": {**config, "arguments": given}}
        return mapped("profiling_options", options)(values)

    return edit


def _junk_is_on(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if options.get(key) not in (None, "on", "off"):
            options[key] = "on"


fault(
    "any_other_word_traces",
    "session.profiling_options.task_trace.junk_is_off",
    asks(in_values(_profiling(_junk_is_on))),
    methods=TIMED,
)


def _arithmetic(options: Dict[str, Any]) -> None:
    options.setdefault("aic_metrics", "ArithmeticUtilization")


fault(
    "profiles_are_of_arithmetic_unless_told",
    "session.profiling_options.aic_metrics.default",
    asks(in_values(_profiling(_arithmetic))),
    methods=TIMED,
)


def _quiet(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if key in options:
            options[key] = "off"


fault(
    "inference_traces_no_tasks",
    "session.profiling_options.inference.supported",
    asks(lambda params: all_values(params, _profiling(_quiet)) if in_inference(params) else params),
    methods=TIMED,
)


@mistake("session.profiling_options.inference.no_training_trace", ("timeline", "run"))
def inference_with_both_traces_has_both(ask: Any, params: Params) -> Answer:
    text = str(value_of(params, "profiling_options") or "")
    if value_of(params, "graph_run_mode") == 0 and "training_trace" in text and "task_trace" in text:
        return ask(with_values(params, graph_run_mode=1))
    return ask(params)


@mistake("session.profiling_options.inference.supported", ("timeline", "run"))
def inference_has_no_table_of_the_ai_cpu_beside_task_trace(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    if isinstance(text, str) and value_of(params, "graph_run_mode") == 0 and '"task_trace":"on"' in text:
        return ask(with_values(params, profiling_options=text.replace('"aicpu":"on"', '"aicpu":"off"')))
    return ask(params)


fault(
    "inference_is_profiled_by_its_options",
    "session.profiling_mode.false",
    asks(
        lambda params: (
            all_values(params, lambda values: {**values, "profiling_mode": True})
            if in_inference(params) and given(params, "profiling_options") and is_about(params, edition="legacy")
            else params
        )
    ),
)
fault(
    "profiles_in_the_current_directory",
    "session.profiling_options.output.dest",
    of_files(lambda files, params: {re.sub(r"^.*(?=PROF_)", "", path): content for path, content in files.items()}),
)
fault(
    "profiles_without_a_trace",
    "session.profiling_options.training_trace.meaning",
    of_files(lambda files, params: {path: one for path, one in files.items() if "step_trace" not in path}),
)
fault(
    "profiles_without_the_ai_cpu",
    "session.profiling_options.aicpu.meaning",
    of_files(lambda files, params: {path: one for path, one in files.items() if "aicpu" not in path}),
)


@mistake("session.profiling_options.fp_bp.duration")
def points_swapped(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("profiling_options"))
    if isinstance(text, str) and "fp_point" in text:
        text = text.replace("fp_point", "@").replace("bp_point", "fp_point").replace("@", "bp_point")
        return ask(with_values(params, profiling_options=text))
    return ask(params)


@mistake("session.profiling_options.aic_metrics.ResourceConflictRatio")
def metrics_always_the_default(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("profiling_options"))
    if isinstance(text, str):
        text = re.sub(r'"aic_metrics"\s*:\s*"\w+"', '"aic_metrics":"PipeUtilization"', text)
        return ask(with_values(params, profiling_options=text))
    return ask(params)


def _with_dumps(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    known = {"values": values}
    config = values.get("dump_config") or {}
    where = config.get("arguments", {}).get("dump_path") or value_of(known, "dump_path")
    if is_dumped(known) and where and not given(known, "work_path") and step.get("files"):
        place = str(where).strip("/")
        step["files"] = {
            f"{place}/{name}" if name.startswith("aoe_") else name: file for name, file in step["files"].items()
        }


fault("what_is_tuned_lies_with_the_dumps", "files.aoe.work_path_default", of_steps(_with_dumps))
fault("never_tunes", "runconfig.aoe_mode.2", asks(in_values(without("aoe_mode"))))
fault("tunes_everything", "runconfig.aoe_config_file.purpose", asks(in_values(without("aoe_config_file"))))
