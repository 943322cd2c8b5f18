"""Mistakes in time, memory, copies, profiles and tuning of a step."""

from __future__ import annotations

import base64
import re
from typing import Any, Callable, Dict

from faulty.making import Answer, Params, broken, changed, plain, with_values


def steps(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """`change` edits every step of an answer that ends well."""

    def edit(answer: Answer, params: Params) -> None:
        for step in [answer["base"], *answer.get("variants", {}).values()]:
            if "rejected" not in step:
                change(step, params)

    changed("timeline", name, sentence, edit)


def lost(name: str, sentence: str, **values: Any) -> None:
    """Options that have no effect, in the base and in every variant."""

    def fault(ask: Any, params: Params) -> Answer:
        found = with_values(params, **dict.fromkeys(values))
        found["variants"] = {
            variant: {key: value for key, value in given.items() if key not in values}
            for variant, given in params.get("variants", {}).items()
        }
        return ask(found)

    fault.__name__ = name
    broken("timeline", sentence)(fault)


lost(
    "loops_are_not_offloaded",
    "003 iterations_per_loop: iterations per sess.run() call on the device",
    iterations_per_loop=1,
)
lost("inputs_never_fused", "003 input_fusion_size: data is fused before it is transferred", input_fusion_size=1)
lost("tailing_has_no_effect", "003 is_tailing_optimization: in parallel with the last AR", is_tailing_optimization=1)
lost("collectives_never_parallel", "003 hcom_parallel: gradient update and propagation in parallel", hcom_parallel=1)
lost("engines_never_parallel", "003 ac_parallel_enable: AI CPU and AI Core in parallel", ac_parallel_enable=1)
lost("one_stream_an_engine", "003 stream_max_parallel_num: degree of parallelism", stream_max_parallel_num=1)
lost("variables_stay_on_the_device", "003 variable_placement: Host reduces device memory", variable_placement=1)
lost("weights_stay_in_the_graph", "003 external_weight: reduces the memory usage of weights", external_weight=1)
lost("small_channels_never_faster", "003 enable_small_channel: benefits at channel size <= 4", enable_small_channel=1)
lost("never_times_out", "003 op_execute_timeout: operator execution timeout", op_execute_timeout=1, op_wait_timeout=1)
lost(
    "streams_never_time_out",
    "003 stream_sync_timeout: a synchronization failure is reported",
    stream_sync_timeout=1,
    event_sync_timeout=1,
)
lost("always_the_first_device", "003 session_device_id: logical id of a device", session_device_id=1)
lost(
    "models_one_after_the_other",
    "003 graph_max_parallel_model_num: threads for parallel graph execution",
    graph_max_parallel_model_num=1,
)
lost(
    "data_for_oneself_alone",
    "003 local_rank_id: the main process distributes the data",
    local_rank_id=1,
    local_device_list=1,
)
lost("never_tunes", "003 aoe_mode: tuning mode", aoe_mode=1)
lost("tunes_everything", "003 aoe_config_file: tunes only operators it names", aoe_config_file=1)


def _ended(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for step in [answer["base"], *answer.get("variants", {}).values()]:
            if "rejected" in step:
                change(step["rejected"])

    changed("timeline", name, sentence, edit)


def _milliseconds(body: Dict[str, Any]) -> None:
    if "after_ns" in body:
        body["after_ns"] //= 1000


_ended("timeouts_in_milliseconds", "003 op_execute_timeout: in seconds", _milliseconds)
_ended(
    "every_end_is_a_fault",
    "003: a timeout, a failure, memory that is not there",
    lambda body: body.update(code="DEVICE_FAULT"),
)


def _serial(step: Dict[str, Any], params: Params) -> None:
    at = 0
    for task in sorted(step.get("tasks", []), key=lambda one: one["start_ns"]):
        took = task["end_ns"] - task["start_ns"]
        task["start_ns"], task["end_ns"], at = at, at + took, at + took


steps("one_task_after_the_other", "002: parallel execution of AI CPU and AI Core operators", _serial)
steps(
    "no_copies_back",
    "000: data transfer is performed via memcpy",
    lambda step, params: step.update(transfers=[one for one in step.get("transfers", []) if one["direction"] == "h2d"]),
)
steps(
    "copies_of_one_element",
    "000: data transfer is performed via memcpy",
    lambda step, params: step.update(
        transfers=[{**one, "bytes": min(one["bytes"], 4)} for one in step.get("transfers", [])]
    ),
)
steps(
    "launches_by_iteration",
    "003 iterations_per_loop: saves interactions between host and device",
    lambda step, params: step.update(launches=step.get("launches", 1) * step.get("iterations", 1)),
)
steps(
    "memory_without_constants",
    "003 external_weight: weights are in the graph",
    lambda step, params: step.get("memory", {}).update(constants=0),
)
steps(
    "memory_without_variables", "002: variable memory", lambda step, params: step.get("memory", {}).update(variables=0)
)
steps(
    "every_pass_effective",
    "003 fusion_switch_file: off is disabled",
    lambda step, params: [one.update(effective=max(1, one["effective"])) for one in step.get("fusion", [])],
)
steps(
    "one_operator_a_task",
    "fused operators are one kernel",
    lambda step, params: [task.update(nodes=task["nodes"][:1]) for task in step.get("tasks", []) if task.get("nodes")],
)


# Files that profiling and tuning leave


def _files(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(step: Dict[str, Any], params: Params) -> None:
        if "files" in step:
            step["files"] = change(step["files"])

    steps(name, sentence, edit)


def _edited(pattern: str, change: Callable[[str], str]) -> Callable[[Dict[str, Any]], Any]:
    def edit(files: Dict[str, Any]) -> Dict[str, Any]:
        found = {}
        for path, content in files.items():
            if re.search(pattern, path) and "b64" in content:
                text = base64.b64decode(content["b64"]).decode("utf-8")
                content = {"b64": base64.b64encode(change(text).encode("utf-8")).decode("ascii")}
            found[path] = content
        return found

    return edit


def _lines(text: str, most: int) -> str:
    return "".join(text.splitlines(keepends=True)[:most])


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
    "profiles_without_tasks",
    "002 profiling_options task_trace: tasks begin and end",
    lambda files: {path: one for path, one in files.items() if "task_time" not in path and "op_summary" not in path},
)
_files(
    "profiles_of_one_operator",
    "002 profiling_options task_trace: every task",
    _edited("op_summary|task_time", lambda text: _lines(text, 2)),
)
_files(
    "profiles_without_the_ai_cpu",
    "002 profiling_options aicpu: data of the AI CPU",
    lambda files: {path: one for path, one in files.items() if "aicpu" not in path},
)
_files(
    "no_result_of_tuning",
    "003 work_path: stores the tuning result files",
    lambda files: {path: one for path, one in files.items() if "aoe_result" not in path},
)
_files(
    "results_of_tuning_elsewhere",
    "003 work_path: working directory of AOE",
    lambda files: {
        (path if "aoe_result" not in path else "aoe/" + path.rpartition("/")[2]): one for path, one in files.items()
    },
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


@broken("timeline", "002 profiling_options: online inference has no training_trace")
def inference_traces_training(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, graph_run_mode=1) if plain(params["values"].get("graph_run_mode")) == 0 else params)


@broken("timeline", "a fault of the device is one of every step")
def faults_never_happen(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "faults"})
