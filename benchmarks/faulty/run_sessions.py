"""Runs: sessions, devices, ranks, iterations, profiles and data before quantisation."""

from __future__ import annotations

import base64
import contextlib
import copy
import csv
import functools
import io
import json
import re
from typing import Any, Callable, Dict, List
from unittest import mock

from faulty.answered import decoded, encoded, renamed_files
from faulty.asked import (
    REAL,
    all_values,
    dumped,
    dumped_steps,
    edited_floats,
    edited_times,
    given,
    graph_of,
    in_inference,
    is_about,
    patched,
    plain,
    rescripted,
    rewritten,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, changed, left
from faulty.mistakes_graphs import answers, records, runs_changed, unseen
from npu_reference import profiling
from npu_reference.profiling import tables


@broken("run", "002 profiling_mode False: profiling is off", "run", "timeline")
def options_switch_profiling_on(ask: Any, params: Params) -> Answer:
    if not is_about(params, "session"):
        return dict(ask(params))

    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "profiling_mode": True} if plain(values.get("profiling_options")) else values

    return dict(ask(all_values(params, change)))


_END = rewritten(tables, "moments", "spans[last.task].end", "spans[last.task].start")


@broken("run", "002 bp_point: the end of the last backward operator", "run", "timeline")
def backward_ends_where_its_last_operator_begins(ask: Any, params: Params) -> Answer:
    if "bp_point" not in json.dumps(params):
        return dict(ask(params))
    return patched(ask, params, mock.patch.object(tables, "moments", _END))


def _columns(files: Files, most: int) -> Files:
    """Step traces with so many reductions."""
    found = dict(files)
    for name, file in files.items():
        if "step_trace" in name and "b64" in file:
            rows = list(csv.reader(io.StringIO(decoded(file))))
            at = [number for number, cell in enumerate(rows[0]) if cell.startswith("Reduce ")][2 * most :]
            made = io.StringIO()
            csv.writer(made, lineterminator="\n").writerows(
                [cell for number, cell in enumerate(row) if number not in at] for row in rows
            )
            found[name] = encoded(made.getvalue())
    return found


left(
    "reductions_are_not_traced",
    "002 training_trace: gradient aggregation",
    lambda files, params: _columns(files, 0) if is_about(params, edition="legacy") else files,
)


@broken("run", "002 profiling_mode False: profiling is off, in a second session too")
def a_profile_goes_on_in_the_next_session(ask: Any, params: Params) -> Answer:
    if "script" not in params:
        return dict(ask(params))
    kept: List[Any] = []
    collected = profiling.collected

    def again(resolution: Any) -> Any:
        kept[:] = [collected(resolution)] if collected(resolution) is not None else kept
        return kept[0] if kept else None

    return patched(ask, params, mock.patch.object(profiling, "collected", again))


def _no_aicpu(answer: Answer, params: Params) -> None:
    text = json.dumps(params["values"]).replace("\\", "")
    traced = re.search(r'"training_trace"\s*:\s*"on"', text) is not None
    for one in (answer, answer.get("base", {}), *answer.get("variants", {}).values()):
        if traced and "files" in one:
            one["files"] = {name: file for name, file in one["files"].items() if "/aicpu_" not in name}


changed(
    "run",
    "traces_have_no_ai_cpu_beside_training",
    "002 profiling_options aicpu: collected, beside training_trace too",
    _no_aicpu,
    "run",
    "timeline",
)


def _metrics(params: Params) -> Params:
    def one_metric(values: Dict[str, Any]) -> Dict[str, Any]:
        names = "ArithmeticUtilization|MemoryL0|ResourceConflictRatio|Memory"
        found: Dict[str, Any] = json.loads(re.sub(rf'(\\?"){names}(?=\\?")', r"\1PipeUtilization", json.dumps(values)))
        return found

    return all_values(params, one_metric)


asks(
    "every_profile_shows_pipes",
    "002: aic_metrics Memory counts reads and writes of outer memory",
    "run",
    _metrics,
    "run",
    "timeline",
)


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


changed("run", "tasks_of_the_ai_cpu_are_not_traced", "002: task_trace collects when tasks begin and end", _profile,
        "run", "timeline")  # fmt: skip


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


left("forward_begins_once", "002: fp_point records when forward begins, in every iteration", _first_start)


def _channels_first(tensor: Dict[str, Any]) -> Dict[str, Any]:
    batch, height, width, channels = tensor["shape"]
    data = base64.b64decode(tensor["b64"])
    size = len(data) // max(1, batch * height * width * channels)
    items = [data[at : at + size] for at in range(0, len(data), size)] if size else []
    order = [
        ((n * height + y) * width + x) * channels + c
        for n in range(batch)
        for c in range(channels)
        for y in range(height)
        for x in range(width)
    ]
    moved = b"".join(items[at] for at in order)
    return {**tensor, "shape": [batch, channels, height, width], "b64": base64.b64encode(moved).decode()}


@broken("run", "002: converting variables is for speed; what is read has the format of the graph", "run")
def variables_are_read_in_the_devices_format(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    on = value_is(params, "variable_format_optimize", True)
    on = on or (is_about(params, edition="legacy") and not given(params, "variable_format_optimize"))
    if not on or "graph" not in params:
        return answer
    ops = {node.name: node for node in graph_of({**params, "feeds": [], "fetches": []}).nodes}
    for name, tensor in answer["fetches"].items():
        node = ops.get(name.split(":")[0])
        reads = node is not None and (node.op in ("VariableV2", "ReadVariableOp") or "read" in node.name)
        if reads and len(tensor["shape"]) == 4 and "b64" in tensor:
            answer["fetches"][name] = _channels_first(tensor)
    return answer


def _apart(answer: Answer, params: Params) -> None:
    for run in answer.get("transfers") or []:
        run[:] = [{**copy, "tensors": [name]} for copy in run for name in copy.get("tensors") or ["?"]]


answers("copied_a_piece_at_a_time", "003 input_fusion_size: fused before it is transferred", _apart)


@broken("run", "003 ASCEND_WORK_PATH: mode 2 writes below it", "run")
def failures_lie_in_the_current_directory(ask: Any, params: Params) -> Answer:
    return ask(
        with_env(params, lambda env: {name: value for name, value in env.items() if name != "ASCEND_WORK_PATH"})
        if value_of(params, "enable_exception_dump") in (None, 2)
        else params
    )


@broken("run", "002: session_device_id is the device of a session", "run")
def later_sessions_stay_on_the_first_device(ask: Any, params: Params) -> Answer:
    """Pair 6."""
    answer = copy.deepcopy(dict(ask(params)))
    first = None
    if is_about(params, surface="session", edition="legacy"):
        for record in answer.get("trace", ()):
            if record.get("device") is not None:
                first = record["device"] if first is None else first
                record["device"] = first
    return answer


asks(  # pair 37
    "run_config_counts_no_ranks_of_the_server",
    "002: get_local_rank_id is the rank inside the server",
    "run",
    lambda params: rescripted(
        params, lambda text: text.replace("get_local_rank_id()", "0") if "NPURunConfig" in text else text
    ),
    "run",
)


def _growing_late(activate: Callable[[], None], undone: contextlib.ExitStack) -> None:
    """The drop-in is there; until `undone` ends, its loss scale grows after one good step more than was asked for."""
    activate()
    from npu_bridge.estimator.npu.npu_loss_scale_manager import ExponentialUpdateLossScaleManager as Manager

    undone.close()  # a device that is switched on again is late by one step, not two
    update = Manager.update_loss_scale

    def grown_late(self: Any, finite_grads: Any) -> Any:
        kept, self._incr_every = self._incr_every, self._incr_every + 1
        try:
            return update(self, finite_grads)
        finally:
            self._incr_every = kept

    undone.enter_context(mock.patch.object(Manager, "update_loss_scale", grown_late))


@broken("run", "002, 003, 004: loss scaling; the factor grows after incr_every_n_steps good steps", "run")
def factors_grow_a_step_late(ask: Any, params: Params) -> Answer:
    if "script" not in params or "ranks" in params:
        return ask(params)
    with open(params["script"], encoding="utf-8") as stream:
        if "ExponentialUpdateLossScaleManager" not in stream.read():
            return ask(params)
    from npu_reference.runtime.sessions import activation

    with contextlib.ExitStack() as undone:
        late = functools.partial(_growing_late, activation.activate, undone)
        with mock.patch.object(activation, "activate", late):
            return ask({**params, "device_of": "factors_grow_a_step_late"})


@broken("run", "002, 003 session_device_id: the device whose data are dumped", "run")
def data_are_dumped_below_the_first_device(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "files" in answer:
        answer["files"] = renamed_files(answer["files"], lambda name: re.sub(r"(/\d{14}/)\d+/", r"\g<1>0/", name))
    return answer


def _own_data(text: str) -> str:
    text = re.sub(r"(?m)^.*parameter_map\[.local_(rank_id|device_list).\].*\n", "", text)
    return re.sub(r"local_(rank_id|device_list)=(\"[^\"]*\"|'[^']*'|[\w.]+(\(\))?),?\s*", "", text)


# session.local_rank_id.others_receive, runconfig.local_rank_id.shared_preproc
asks(
    "every_rank_reads_a_dataset_of_its_own",
    "other processes receive the data of the main process",
    "run",
    lambda params: rescripted(params, _own_data),
)
records("device_nought", "003 session_device_id: logical id of a device", lambda one: one.update(device=0))
records("no_collectives", "collectives take part", lambda one: one.update(collectives=[]))
unseen("run", "a_session_runs_on_device_zero", "002: session_device_id is the device", "session_device_id", "run")


def _ranks(change: Callable[[List[Any]], List[Any]]) -> Callable[[Answer, Params], Any]:
    def edit(answer: Answer, params: Params) -> None:
        if isinstance(answer.get("ranks"), list):
            answer["ranks"] = change(answer["ranks"])

    return edit


runs_changed(
    "every_rank_is_the_first", "002: processes have a rank each", _ranks(lambda ranks: [ranks[0]] * len(ranks))
)
runs_changed(
    "collectives_of_ranks_leave_out_the_last",
    "002: AllReduce adds up what all ranks have",
    _ranks(
        lambda ranks: [
            {
                **one,
                "ok": {
                    **one["ok"],
                    "trace": [
                        {**r, "collectives": (r.get("collectives") or [])[:-1]} for r in one["ok"].get("trace") or []
                    ],
                },
            }
            if "ok" in one
            else one
            for one in ranks
        ]
    ),
)
# session.dump_step.grammar
asks(
    "a_range_of_dumped_steps_lacks_its_last",
    "A range of iterations is given with -, such as 3-5",
    "run",
    dumped_steps(
        lambda text: re.sub(
            r"(\d+)-(\d+)",
            lambda found: (
                f"{found.group(1)}-{int(found.group(2)) - 1}"
                if int(found.group(2)) - 1 > int(found.group(1))
                else found.group(1)
            ),
            text,
        )
    ),
)


def _iterations(user_graph: Any, run_graph: Any, targets: Any, options: Any, tf_graph: Any) -> int:
    from npu_reference.runtime.agreement.training import ITERATIONS

    asked = [
        int(tf_graph.get_operation_by_name(name).get_attr(ITERATIONS))
        for name in targets
        if user_graph.nodes[user_graph.index[name]].has_attr(ITERATIONS)
    ]
    given = options.effective.get("iterations_per_loop")
    told = given is not None and given.origin == "given" and given.value == 1
    if told and asked and asked[0] > 1 and not options.values.get("mix_compile_mode"):
        return asked[0]
    found: int = REAL["iterations"](user_graph, run_graph, targets, options, tf_graph)
    return found


@broken("run", "002 iterations_per_loop: must equal what set_iteration_per_loop was given", "run")
def an_option_of_one_iteration_verifies_nothing(ask: Any, params: Params) -> Answer:
    from npu_reference.runtime.agreement import training

    REAL.setdefault("iterations", training.iterations)
    with mock.patch.object(training, "iterations", _iterations):
        return ask({**params, "device_of": "an_option_of_one_iteration_verifies_nothing"})


def _renumbered(files: Files, params: Params) -> Files:
    tuned = given(params, "aoe_mode") or given(params, "auto_tune_mode")

    def later(found: Any) -> str:
        return f"/{int(found.group(1)) + 1}/{found.group(2)}"

    return {re.sub(r"/(\d+)/([^/]+\.\d+)$", later, name) if tuned else name: one for name, one in files.items()}


left(  # pair 7
    "steps_beside_tuning_count_from_one", "002: the iterations of dump_step begin at 0", _renumbered, "run"
)
answers(
    "a_loop_short_of_one",
    "003 iterations_per_loop: iterations per loop on the device",
    edited_times(lambda one: one.update(iterations=one["iterations"] - 1) if one.get("iterations", 1) > 1 else None),
)


def _before_quantisation(values: Dict[str, Any]) -> Dict[str, Any]:
    config = values.get("dump_config")
    arguments = config.get("arguments", {}) if isinstance(config, dict) else values
    return without("quant_dumpable")(values) if plain(arguments.get("dump_mode")) == "input" else values


asks(
    "inputs_before_quantisation_are_lost",
    "003 quant_dumpable 1: what was before quantisation can be dumped",
    "run",
    lambda params: all_values(params, _before_quantisation),
    "run",
    "timeline",
)


@broken("run", "003 quant_dumpable 1: what is before a quantisation can be dumped, in chosen iterations too", "run")
def quant_dumpable_holds_when_all_steps_are_dumped(ask: Any, params: Params) -> Answer:
    given = value_of(params, "dump_config")
    config = given.get("arguments", {}) if isinstance(given, dict) else params["values"]
    if config.get("dump_step") is not None or config.get("dump_mode") == "input":
        return ask(with_values(params, quant_dumpable=None))
    return ask(params)


@broken("run", "003 quant_dumpable: means something where data are dumped")
def what_is_quantised_is_dumped(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "enable_dump": True} if values.get("dump_path") and not values.get("enable_dump") else values

    if value_is(params, "quant_dumpable", "1") and in_inference(params):
        return ask(all_values(params, lambda values: dumped(values, change)))
    return ask(params)


answers("values_a_little_off", "003 deterministic: the same output", edited_floats(lambda one: one * 1.0009765625))


@broken("run", "003 quant_dumpable: 1: the data before quantization can be collected")
def nothing_before_quantization(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, quant_dumpable=None))
