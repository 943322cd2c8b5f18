"""Time: profiles and tuning results of a step."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Mapping, Set

from faulty.answered import answer_to
from faulty.asked import (
    TIMED,
    Values,
    all_values,
    edited,
    edited_profile,
    given,
    graph_of,
    in_inference,
    is_about,
    is_dumped,
    is_mixed,
    mapped,
    named_by,
    ops_of,
    plain,
    texts,
    value_of,
    with_values,
)  # fmt: skip
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, misreads, steps
from faulty.mistakes_graphs import each_step, reads_values, timed_without


def _profiles_otherwise(name: str, sentence: str, change: Callable[[str], str]) -> None:
    """profiling_options say something else, wherever they stand."""

    def values(found: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped("profiling_options", lambda value: change(value) if isinstance(value, str) else value)(found)
        config = found.get("profiling_config")
        arguments = config.get("arguments", {}) if isinstance(config, dict) else {}
        if isinstance(arguments.get("profiling_options"), str):
            text = change(arguments["profiling_options"])
            found["profiling_config"] = {**config, "arguments": {**arguments, "profiling_options": text}}
        return found

    asks(name, sentence, "timeline", lambda params: all_values(params, values))


_profiles_otherwise(
    "any_trace_of_tasks_is_on",
    "002 task_trace: any other value is off",
    lambda text: re.sub(r'("task_trace"\s*:\s*)"(?!on"|off")[^"]*"', r'\1"on"', text),
)
_profiles_otherwise(
    "traces_of_tasks_in_capitals",
    "002 task_trace: on or off, any other value is off",
    lambda text: text.replace('"task_trace":"ON"', '"task_trace":"on"').replace(
        '"task_trace": "ON"', '"task_trace":"on"'
    ),
)


def _profiled(values: Mapping[str, Any], change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Dict[str, Any]:
    """Values whose profiling_options, of a session or of a ProfilingConfig, are others."""

    def text(value: Any) -> Any:
        try:
            return json.dumps(change(json.loads(value)))
        except (ValueError, TypeError):
            return value

    found = mapped("profiling_options", text)(dict(values))
    config = found.get("profiling_config")
    if isinstance(config, dict) and "profiling_options" in config.get("arguments", {}):
        arguments = config["arguments"]
        found["profiling_config"] = {
            **config,
            "arguments": {**arguments, "profiling_options": edited(arguments["profiling_options"], text)},
        }
    return found


def _without_key(name: str) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    return lambda found: {key: value for key, value in found.items() if key != name}


asks(
    "metrics_of_a_mixed_inference_are_the_default",
    "002, 003 profiling_options aic_metrics: the group that is asked for",
    "timeline",
    lambda params: (
        all_values(params, lambda values: _profiled(values, _without_key("aic_metrics")))
        if is_mixed(params) and in_inference(params)
        else params
    ),
    "timeline",
)
asks(
    "traces_are_of_the_first_device",
    "002, 003 profiling_options training_trace: of the device that runs",
    "timeline",
    lambda params: (
        all_values(params, lambda values: _profiled(values, _without_key("training_trace")))
        if value_of(params, "session_device_id")
        else params
    ),
    "timeline",
)


def _first_alone(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig"):
        for step in answer.get("variants", {}).values():
            if "files" in step:
                step["files"] = {name: file for name, file in step["files"].items() if "/aicpu" not in name}


changed(
    "timeline",
    "the_ai_cpu_is_profiled_once",
    "003 profiling_options aicpu: collected, whenever it is on",
    _first_alone,
    "timeline",
)


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


# session.profiling_options.task_trace.junk_is_off
def _junk_is_on(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if options.get(key) not in (None, "on", "off"):
            options[key] = "on"


reads_values(
    "timeline",
    "any_other_word_traces",
    "Any value of task_trace and aicpu other than on and off is treated as off",
    _profiling(_junk_is_on),
    *TIMED,
)


# session.profiling_options.aic_metrics.PipeUtilization
def _arithmetic(options: Dict[str, Any]) -> None:
    options.setdefault("aic_metrics", "ArithmeticUtilization")


reads_values(
    "timeline",
    "profiles_are_of_arithmetic_unless_told",
    "PipeUtilization is the default of aic_metrics",
    _profiling(_arithmetic),
    *TIMED,
)


# session.profiling_options.inference.supported
def _quiet(options: Dict[str, Any]) -> None:
    for key in ("task_trace", "aicpu"):
        if key in options:
            options[key] = "off"


asks(
    "inference_traces_no_tasks",
    "Online inference supports task_trace and aicpu",
    "timeline",
    lambda params: all_values(params, _profiling(_quiet)) if in_inference(params) else params,
    *TIMED,
)


def _no_conflicts(found: Dict[str, Any]) -> Any:
    if found.get("aic_metrics") == "ResourceConflictRatio" and found.get("aicpu") == "on":
        return {**found, "aic_metrics": "PipeUtilization"}
    return None


asks(
    "conflicts_are_not_collected_beside_the_ai_cpu",
    "ResourceConflictRatio is what is collected, with the AI CPU's profile or without",
    "timeline",
    lambda params: all_values(params, mapped("profiling_options", edited_profile(_no_conflicts))),
    "timeline",
    "run",
)


@broken("timeline", "002 profiling_options: online inference has no training_trace", "timeline", "run")
def inference_with_both_traces_has_both(ask: Any, params: Params) -> Answer:
    text = str(value_of(params, "profiling_options") or "")
    if value_of(params, "graph_run_mode") == 0 and "training_trace" in text and "task_trace" in text:
        return ask(with_values(params, graph_run_mode=1))
    return ask(params)


@broken("timeline", "002 profiling_options: online inference supports aicpu", "timeline", "run")
def inference_has_no_table_of_the_ai_cpu_beside_task_trace(ask: Any, params: Params) -> Answer:
    text = value_of(params, "profiling_options")
    if isinstance(text, str) and value_of(params, "graph_run_mode") == 0 and '"task_trace":"on"' in text:
        return ask(with_values(params, profiling_options=text.replace('"aicpu":"on"', '"aicpu":"off"')))
    return ask(params)


def _profile_text(params: Params, change: Any) -> Dict[str, Any]:
    """The request with what a profile is told changed, whichever way it is told."""

    def edit(values: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped("profiling_options", lambda value: change(value) if isinstance(value, str) else value)(values)
        config = found.get("profiling_config")
        if isinstance(config, dict) and isinstance(config.get("arguments", {}).get("profiling_options"), str):
            arguments = {**config["arguments"], "profiling_options": change(config["arguments"]["profiling_options"])}
            found["profiling_config"] = {**config, "arguments": arguments}
        return found

    return all_values(params, edit)


def _one_group(text: str) -> str:
    both = "ArithmeticUtilization" in text and re.search(r'"aicpu"\s*:\s*"on"', text)
    return text.replace("ArithmeticUtilization", "PipeUtilization") if both else text


@broken("timeline", "002 aic_metrics ArithmeticUtilization: its columns, beside aicpu too", "timeline", "run")
def the_ai_cpu_has_its_own_metrics(ask: Any, params: Params) -> Answer:
    return ask(_profile_text(params, _one_group))


def _traced(text: str) -> str:
    trained = re.search(r'"training_trace"\s*:\s*"on"', text)
    return re.sub(r'("task_trace"\s*:\s*)"off"', r'\1"on"', text) if trained else text


@broken("timeline", "002 task_trace off: no task records, beside training_trace too", "timeline", "run")
def a_training_trace_has_tasks(ask: Any, params: Params) -> Answer:
    return ask(_profile_text(params, _traced))


def _pipes(params: Params) -> Params:
    if not in_inference(params):
        return params
    return all_values(
        params, mapped("profiling_options", lambda text: str(text).replace("ArithmeticUtilization", "PipeUtilization"))
    )


asks(
    "inference_measures_pipes",
    "002 aic_metrics ArithmeticUtilization: the share of each class of instructions",
    "timeline",
    _pipes,
    "timeline",
    "run",
)
asks(  # pair 3: session.profiling_mode.false, inference
    "inference_is_profiled_by_its_options",
    "002: profiling_mode False is off",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {**values, "profiling_mode": True})
        if in_inference(params) and given(params, "profiling_options") and is_about(params, edition="legacy")
        else params
    ),
    "timeline",
)


def _files(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(step: Dict[str, Any], params: Params) -> None:
        if "files" in step:
            step["files"] = change(step["files"])

    each_step(name, sentence, edit)


_files(
    "profiles_in_the_current_directory",
    "002 profiling_options output: where results are saved",
    lambda files: {re.sub(r"^.*(?=PROF_)", "", path): content for path, content in files.items()},
)
_files(
    "profiles_without_a_trace",
    "002 profiling_options training_trace: the iteration trace is collected",
    lambda files: {path: one for path, one in files.items() if "step_trace" not in path},
)
_files(
    "profiles_without_the_ai_cpu",
    "002 profiling_options aicpu: data of the AI CPU",
    lambda files: {path: one for path, one in files.items() if "aicpu" not in path},
)


@broken("timeline", "002 profiling_options fp_point, bp_point: where forward begins, where backward ends")
def points_swapped(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("profiling_options"))
    if isinstance(text, str) and "fp_point" in text:
        text = text.replace("fp_point", "@").replace("bp_point", "fp_point").replace("@", "bp_point")
        return ask(with_values(params, profiling_options=text))
    return ask(params)


@broken("timeline", "002 profiling_mode: False: no profiling")
def profiles_whenever_options_are_given(ask: Any, params: Params) -> Answer:
    if "profiling_options" in params["values"] and plain(params["values"].get("profiling_mode")) is False:
        return ask(with_values(params, profiling_mode=True))
    return ask(params)


@broken("timeline", "002 profiling_options aic_metrics: as asked")
def metrics_always_the_default(ask: Any, params: Params) -> Answer:
    text = plain(params["values"].get("profiling_options"))
    if isinstance(text, str):
        text = re.sub(r'"aic_metrics"\s*:\s*"\w+"', '"aic_metrics":"PipeUtilization"', text)
        return ask(with_values(params, profiling_options=text))
    return ask(params)


misreads(
    "timeline",
    "named_operators_are_tuned_alone",
    "003 aoe_config_file: names and types are a union",
    "aoe_config_file",
    lambda text: (
        re.sub(r'"tune_ops_type"\s*:\s*\[[^\]]*\]\s*,?', "", text).replace(",}", "}")
        if '"tune_ops_name"' in text
        else text
    ),
    "timeline",
    "compile",
)


def _config(params: Params) -> Dict[str, Any]:
    text = params.get("files", {}).get(value_of(params, "aoe_config_file"))
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@broken("timeline", "003 tune_ops_name: whole word match", "timeline")
def the_end_of_a_name_will_do(ask: Any, params: Params) -> Answer:
    wanted = _config(params)
    if not wanted.get("tune_ops_name"):
        return ask(params)
    names = [node.name for node in graph_of(params).nodes]
    found = [name for name in names if any(name == one or name.endswith(f"/{one}") for one in wanted["tune_ops_name"])]
    path = value_of(params, "aoe_config_file")
    text = json.dumps({**wanted, "tune_ops_name": sorted({*found, *wanted["tune_ops_name"]})})
    return ask({**params, "files": {**params["files"], path: text}})


def _with_dumps(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    known = {"values": values}
    config = values.get("dump_config") or {}
    where = config.get("arguments", {}).get("dump_path") or value_of(known, "dump_path")
    if is_dumped(known) and where and not given(known, "work_path") and step.get("files"):
        place = str(where).strip("/")
        step["files"] = {
            f"{place}/{name}" if name.startswith("aoe_") else name: file for name, file in step["files"].items()
        }


steps(  # pair 76: files.aoe.work_path_default, a dump
    "what_is_tuned_lies_with_the_dumps", "003: work_path is the current directory by default", _with_dumps
)


def _leading(answer: Answer) -> Set[str]:
    """The operators that kernels are named after."""
    found = {one["nodes"][0] for turn in answer.get("turns", ()) for one in turn.get("kernels", ()) if one["nodes"]}
    for step in [answer.get("base", {}), *answer.get("variants", {}).values()]:
        found |= {task["nodes"][0] for task in step.get("tasks", ()) if task.get("nodes")}
    return found


# files.aoe_cfg.fused_op
@broken("timeline", "a fused operator that contains the type is tuned, too", "timeline", "compile")
def a_type_inside_a_fused_operator_is_not_tuned(ask: Any, params: Params) -> Answer:
    found = ask(params)
    if not any(named_by(params, "aoe_config_file")):
        return dict(found)
    ops, first = ops_of(params), _leading(found)
    kinds = {ops[name].op for name in first if name in ops}

    def fewer(text: str) -> str:
        def edit(match: Any) -> str:
            names = re.findall(r'"([^"]*)"', match.group(1))
            kept = [name for name in names if name in kinds] or ["NoSuchOperator"]
            return '"tune_ops_type":' + json.dumps(kept)

        return re.sub(r'"tune_ops_type"\s*:\s*(\[[^\]]*\])', edit, text)

    return answer_to(ask, params, texts(params, "aoe_config_file", fewer))


@broken("timeline", "003 aoe_config_file: whole word match")
def types_matched_by_their_beginning(ask: Any, params: Params) -> Answer:
    ops = {node.op for node in graph_of(params).nodes}

    def wider(text: Any) -> Any:
        try:
            found = json.loads(text)
            found["tune_ops_type"] = sorted({op for op in ops for one in found["tune_ops_type"] if op.startswith(one)})
        except (TypeError, ValueError, KeyError):
            return text
        return json.dumps(found)

    return ask({**params, "files": {path: wider(one) for path, one in params.get("files", {}).items()}})


timed_without("never_tunes", "003 aoe_mode: tuning mode", aoe_mode=1)
timed_without("tunes_everything", "003 aoe_config_file: tunes only operators it names", aoe_config_file=1)
steps(
    "tuning_takes_names_and_types_together",
    "003: names and types are used as a union",
    lambda step, params, values: step.update(tuned=step["tuned"][:1]) if len(step.get("tuned", [])) > 1 else None,
)
