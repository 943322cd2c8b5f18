"""Runs: sessions, devices, ranks, iterations, profiles and data before quantisation."""

from __future__ import annotations

import base64
import re
from typing import Any, Dict

from faulty.answered import decoded, encoded
from faulty.asked import (
    TIMED,
    all_values,
    dumped,
    edited_times,
    given,
    in_inference,
    is_about,
    plain,
    rescripted,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, changed, of_files, of_ranks


@mistake("session.profiling_mode.false", ("run", "timeline"))
def options_switch_profiling_on(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session"):
        return dict(ask(params))

    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "profiling_mode": True} if plain(values.get("profiling_options")) else values

    return dict(ask(all_values(params, change)))


def _without_ai_cpu(files: Files, params: Params) -> Files:
    found = dict(files)
    for name, one in files.items():
        if "/task_time_" in name and "b64" in one:
            text = base64.b64decode(one["b64"]).decode()
            kept = [line for line in text.splitlines(True) if ",AI_CPU," not in line]
            found[name] = {"b64": base64.b64encode("".join(kept).encode()).decode()}
    return found


def _profile(answer: Answer, params: Params) -> None:
    for one in (answer, answer.get("base", {}), *answer.get("variants", {}).values()):
        if one.get("files"):
            one["files"] = _without_ai_cpu(one["files"], params)


fault(
    "tasks_of_the_ai_cpu_are_not_traced",
    "session.profiling_options.task_trace.meaning",
    changed(_profile),
    methods=("run", "timeline"),
)


def _first_start(files: Files, params: Params) -> Files:
    found = dict(files)
    for name, one in files.items():
        if "/step_trace_" not in name or "b64" not in one:
            continue
        lines = decoded(one).splitlines()
        at = lines[0].split(",").index("FP Start(us)")
        for number in range(2, len(lines)):
            cells = lines[number].split(",")
            cells[at] = lines[1].split(",")[at]
            lines[number] = ",".join(cells)
        found[name] = encoded("\n".join(lines) + "\n")
    return found


fault("forward_begins_once", "session.profiling_options.fp_point.meaning", of_files(_first_start), methods=TIMED)


def _apart(answer: Answer, params: Params) -> None:
    for run in answer.get("transfers") or []:
        run[:] = [{**copy, "tensors": [name]} for copy in run for name in copy.get("tensors") or ["?"]]


fault("copied_a_piece_at_a_time", "runconfig.input_fusion_size.le_fused", of_ranks(_apart))


@mistake("runconfig.enable_exception_dump.2.work_path")
def failures_lie_in_the_current_directory(ask: Any, params: Params) -> Answer:
    return ask(
        with_env(params, lambda env: {name: value for name, value in env.items() if name != "ASCEND_WORK_PATH"})
        if value_of(params, "enable_exception_dump") in (None, 2)
        else params
    )


def _own_data(text: str) -> str:
    text = re.sub(r"(?m)^.*parameter_map\[.local_(rank_id|device_list).\].*\n", "", text)
    return re.sub(r"local_(rank_id|device_list)=(\"[^\"]*\"|'[^']*'|[\w.]+(\(\))?),?\s*", "", text)


fault(
    "every_rank_reads_a_dataset_of_its_own",
    "runconfig.local_rank_id.shared_preproc",
    asks(lambda params: rescripted(params, _own_data)),
)


def _renumbered(files: Files, params: Params) -> Files:
    tuned = given(params, "aoe_mode") or given(params, "auto_tune_mode")

    def later(found: Any) -> str:
        return f"/{int(found.group(1)) + 1}/{found.group(2)}"

    return {re.sub(r"/(\d+)/([^/]+\.\d+)$", later, name) if tuned else name: one for name, one in files.items()}


fault("steps_beside_tuning_count_from_one", "session.dump_step.zero_based", of_files(_renumbered), methods=TIMED)
fault(
    "a_loop_short_of_one",
    "session.iterations_per_loop.effect",
    of_ranks(
        edited_times(lambda one: one.update(iterations=one["iterations"] - 1) if one.get("iterations", 1) > 1 else None)
    ),
)


def _before_quantisation(values: Dict[str, Any]) -> Dict[str, Any]:
    config = values.get("dump_config")
    arguments = config.get("arguments", {}) if isinstance(config, dict) else values
    return without("quant_dumpable")(values) if plain(arguments.get("dump_mode")) == "input" else values


fault(
    "inputs_before_quantisation_are_lost",
    "runconfig.quant_dumpable.1",
    asks(lambda params: all_values(params, _before_quantisation)),
    methods=("run", "timeline"),
)


@mistake("runconfig.quant_dumpable.needs_dump")
def what_is_quantised_is_dumped(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "enable_dump": True} if values.get("dump_path") and not values.get("enable_dump") else values

    if value_is(params, "quant_dumpable", "1") and in_inference(params):
        return ask(all_values(params, lambda values: dumped(values, change)))
    return ask(params)


@mistake("runconfig.quant_dumpable.1")
def nothing_before_quantization(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, quant_dumpable=None))
