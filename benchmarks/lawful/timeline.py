"""Lawful backends whose device, its time or its memory are others than the reference's.

Written from the five documents and the pages of the protocol, without a look at any case. No document says how fast a
device is, how it numbers its streams, or how often a host starts it.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Callable, Dict, List, Mapping

from faulty.asked import all_values, mapped, value_of
from faulty.making import Answer, Params

from lawful.kinds import broken, changed
from npu_reference.hardware.device import PARAMETERS

#: Files of devices that are simulated instead.
_DEVICES = tempfile.TemporaryDirectory(prefix="npu-lawful-")


def runs_of(answer: Answer) -> List[Dict[str, Any]]:
    """The answer of a run, or those of its ranks."""
    return [answer, *(one["ok"] for one in answer.get("ranks") or () if "ok" in one)]


def steps_of(answer: Answer) -> List[Dict[str, Any]]:
    """Every step and timed run of an answer that did not end in an error."""
    told = [answer.get("base"), *answer.get("variants", {}).values()]
    for one in runs_of(answer):
        told += one.get("timeline") or []
    return [one for one in told if one and "rejected" not in one]


def memory_of(answer: Answer) -> List[Dict[str, Any]]:
    told = [one.get("memory") for one in steps_of(answer)]
    for one in runs_of(answer):
        told += one.get("memory") or []
    return [one for one in told if one]


def timed(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any], *methods: str) -> None:
    """Registers a backend whose steps, and timed runs, are told otherwise."""

    def edit(answer: Answer, params: Params) -> None:
        for step in steps_of(answer):
            change(step, params)

    changed("timing", name, sentence, edit, *(methods or ("timeline", "run")))


def kernels_of(step: Mapping[str, Any]) -> List[Dict[str, Any]]:
    return [task for task in step.get("tasks") or () if task["kind"] == "kernel"]


# Devices


def device_file(name: str, **figures: float) -> str:
    """The path of a device file, the reference's default device with other figures."""
    path = os.path.join(_DEVICES.name, f"{name}.toml")
    lines = [f"[{name}]", 'like = "Ascend910A"']
    lines += [f'{key} = {{ value = {value}, unit = "{PARAMETERS[key].unit}" }}' for key, value in figures.items()]
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    return path


def on_device(name: str, sentence: str, **figures: float) -> None:
    """Registers a backend that runs on another device; whatever parameter set a request names is the reference's."""
    path = device_file(name, **figures)

    def fault(ask: Any, params: Params) -> Answer:
        return dict(ask({**params, "device": path}))

    fault.__name__ = name
    broken("timing", sentence, "timeline", "run", "compile")(fault)


on_device(
    "a_device_is_four_times_slower",
    "no document says how long a step, a kernel or a copy takes",
    clock=250, pcie=8, hccs=7.5, roce=3, kernel_launch=12, aicpu_launch=120, graph_launch=200, transfer_latency=40,
    hccs_latency=32, pcie_latency=60, roce_latency=100, aicpu_rate=1,
)  # fmt: skip

on_device(
    "a_device_is_eight_times_faster",
    "no document says how long a step, a kernel or a copy takes",
    clock=8000, pcie=256, hccs=240, roce=100, kernel_launch=0.5, aicpu_launch=4, graph_launch=6, transfer_latency=1,
    hccs_latency=1, pcie_latency=2, roce_latency=3, aicpu_rate=32,
)  # fmt: skip

on_device(
    "a_host_takes_three_milliseconds_to_start_a_graph",
    "003 L576 says that iterations save interactions between host and device, and not how long one takes",
    graph_launch=3000,
)

on_device(
    "copies_between_host_and_device_are_slow",
    "003 L93 says which inputs share a copy, and no document how long a copy takes", pcie=1, transfer_latency=200
)  # fmt: skip

on_device(
    "the_ai_cpu_is_slow_and_its_launches_are_long",
    "003 L114 lets AI CPU and AI Core run in parallel, and no document says how fast either is",
    aicpu_rate=0.5, aicpu_launch=300, ai_cpu=2,
)  # fmt: skip

on_device(
    "links_between_devices_are_slow",
    "003 L593 runs AllReduce in parallel with computing, and no document says how fast a link is",
    hccs=2, roce=1, hccs_latency=100, pcie_latency=150, roce_latency=300,
)  # fmt: skip

on_device(
    "a_device_has_64_gigabytes",
    "003 L1160 allocates by the actual usage of the network, and no document of this edition says how much there is",
    hbm=68719476736,
)

on_device(
    "a_device_has_small_buffers_and_a_small_cache",
    "003 L557 enables buffer optimization, and no document gives a size of a buffer",
    l0a=32768, l0b=32768, l0c=131072, l1=524288, ub=131072, l2=8388608,
)  # fmt: skip

_MORE_CORES = device_file("more_cores", ai_core=48)


@broken(
    "timing",
    "003 L660 bounds stream_max_parallel_num by the maximum number of AI Cores, which no document gives",
    "options",
    "partition",
    "precision",
    "timeline",
    "compile",
    "run",
)
def a_device_has_48_cores(ask: Any, params: Params) -> Answer:
    asked = {**params, "device": _MORE_CORES} if "graph" in params or "script" in params else dict(params)
    if params["edition"] != "current":
        return dict(ask(asked))
    answer = dict(ask(all_values(asked, mapped("stream_max_parallel_num", _within_32))))
    told = value_of(params, "stream_max_parallel_num")
    if "effective" in answer and isinstance(told, str) and _within_32(told) != told:
        answer["effective"]["stream_max_parallel_num"]["value"] = told
        for engine, word in (("DNN_VM_AICPU", "AI_CPU"), ("AIcoreEngine", "AI_Core")):
            number = re.search(rf"{engine}\s*:\s*(\d+)", told)
            if number:
                answer["meaning"]["stream_max_parallel_num"][engine] = int(number.group(1))
                answer["directives"]["engines"][word] = int(number.group(1))
    return answer


def _within_32(told: Any) -> Any:
    """The text with what is up to 48 lowered to what the reference takes."""

    def lower(found: Any) -> str:
        number = int(found.group(2))
        return found.group(1) + (str(min(number, 32)) if number <= 48 else found.group(2))

    return re.sub(r"(:\s*)(\d{1,9})(?!\d)", lower, told) if isinstance(told, str) else told


# What is told of a step


def _other_streams(step: Dict[str, Any], params: Params) -> None:
    for task in step.get("tasks") or ():
        if task.get("stream") is not None:
            task["stream"] = 1000 - 7 * task["stream"]


timed("streams_are_numbered_from_a_thousand_down", "no document numbers streams", _other_streams)


def _begins_later(step: Dict[str, Any], params: Params) -> None:
    for task in step.get("tasks") or ():
        task["start_ns"] += 7_000_000
        task["end_ns"] += 7_000_000
    if "start_ns" in step:
        step["start_ns"] += 7_000_000


timed(
    "a_clock_begins_seven_milliseconds_before_the_first_task", "no document says where the clock of a device begins",
    _begins_later
)  # fmt: skip


def _reversed(step: Dict[str, Any], params: Params) -> None:
    for key in ("tasks", "transfers", "fusion", "tuned"):
        if step.get(key):
            step[key] = step[key][::-1]


timed("tasks_and_copies_are_told_last_first", "no document says in which order a tool lists tasks", _reversed)


def _one_engine(step: Dict[str, Any], params: Params) -> None:
    for task in step.get("tasks") or ():
        if task["kind"] == "kernel" and task["engine"] in ("cube", "vector"):
            task["engine"] = "aicore"


timed(
    "cube_and_vector_kernels_are_of_one_engine",
    "003 L658: AIcoreEngine is the name of the AI Core engine; no document has tasks of cubes and vectors apart",
    _one_engine,
)


def _own_words(step: Dict[str, Any], params: Params) -> None:
    for number, task in enumerate(step.get("tasks") or ()):
        task["name"] = f"{task['kind']}_{number:05d}"
        if task["kind"] in ("h2d", "d2h"):
            task["engine"] = "sdma"


timed(
    "tasks_have_numbers_for_names_and_copies_an_engine_of_their_own",
    "no document says what a task is called, or which engine copies", _own_words
)  # fmt: skip


def _two_starts(step: Dict[str, Any], params: Params) -> None:
    if "launches" in step:
        step["launches"] *= 2


timed(
    "every_start_takes_two_calls_of_the_driver",
    "003 L576 says how many iterations a call of sess.run() performs, and not by how many calls the host starts them",
    _two_starts,
)


def _two_parts(step: Dict[str, Any], params: Params) -> None:
    if not step.get("tasks"):
        return
    found = []
    for task in step["tasks"]:
        middle = (task["start_ns"] + task["end_ns"]) // 2
        if task["kind"] == "kernel" and task["end_ns"] - task["start_ns"] > 1:
            found += [{**task, "end_ns": middle}, {**task, "start_ns": middle}]
        else:
            found.append(task)
    step["tasks"] = found


timed("every_kernel_is_two_tasks_one_after_the_other", "no document says how many tasks an operator takes", _two_parts)


def _with_barriers(step: Dict[str, Any], params: Params) -> None:
    if not step.get("tasks"):
        return
    found = []
    for task in step["tasks"]:
        length = task["end_ns"] - task["start_ns"]
        if task["kind"] == "kernel" and length >= 20:
            cut = task["end_ns"] - length // 20
            barrier = {**task, "name": "memory_write_back", "node": None, "nodes": [], "start_ns": cut}
            found += [{**task, "end_ns": cut}, barrier]
        else:
            found.append(task)
    step["tasks"] = found


timed(
    "a_task_that_computes_no_operator_follows_every_kernel",
    "no document says which tasks a device has beside those of operators", _with_barriers
)  # fmt: skip


def _status_copied(step: Dict[str, Any], params: Params) -> None:
    tasks = step.get("tasks") or []
    if "transfers" in step:
        step["transfers"].append({"direction": "d2h", "bytes": 64, "tensors": []})
    if tasks:
        end = max(task["end_ns"] for task in tasks)
        streams = [task["stream"] for task in tasks if task.get("stream") is not None]
        status: Dict[str, Any] = {
            "name": "status",
            "node": None,
            "nodes": [],
            "engine": "pcie",
            "kind": "d2h",
            "bytes": 64,
        }
        status.update(start_ns=max(end - 1000, 0), end_ns=end)
        if streams:
            status["stream"] = max(streams) + 1
        tasks.append(status)


def _told_status(answer: Answer, params: Params) -> None:
    for step in steps_of(answer):
        _status_copied(step, params)
    for one in runs_of(answer):
        for told in one.get("transfers") or ():
            if told is not None and "rejected" not in told:
                told.append({"direction": "d2h", "bytes": 64, "tensors": []})


changed(
    "timing", "a_status_word_is_copied_back_after_every_step",
    "003 L576 returns the result to the host; no document says that nothing else is copied", _told_status, "timeline",
    "run"
)  # fmt: skip


def _one_copy(copies: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """What is copied to the device as it is, and everything that is copied back as often as one copy."""
    found: List[Dict[str, Any]] = []
    back: Dict[int, Dict[str, Any]] = {}
    for one in copies:
        times = one.get("times", 1)
        if one["direction"] == "d2h" and times in back:
            back[times]["bytes"] += one["bytes"]
            back[times]["tensors"] = [*back[times].get("tensors", []), *one.get("tensors", [])]
            continue
        if one["direction"] == "d2h":
            back[times] = one
        found.append(one)
    return found


def _copied_together(answer: Answer, params: Params) -> None:
    for step in steps_of(answer):
        tasks = step.get("tasks") or []
        if len({task.get("name") for task in tasks if task["kind"] == "launch"}) > 1:
            continue  # what one part of the graph gives the host may need before the next part begins
        if "transfers" in step:
            step["transfers"] = _one_copy(step["transfers"])
        kept: List[Dict[str, Any]] = []
        back: Dict[Any, Dict[str, Any]] = {}
        for task in tasks:
            place = (task.get("step"), task.get("iteration"))
            if task["kind"] == "d2h" and place in back:
                back[place]["bytes"] = back[place].get("bytes", 0) + task.get("bytes", 0)
                back[place]["start_ns"] = min(back[place]["start_ns"], task["start_ns"])
                back[place]["end_ns"] = max(back[place]["end_ns"], task["end_ns"])
                continue
            if task["kind"] == "d2h":
                back[place] = task
            kept.append(task)
        if tasks:
            step["tasks"] = kept


changed(
    "timing", "all_results_are_copied_in_one_piece",
    "003 L93 fuses inputs of a limited size, and no document says in how many copies results come back",
    _copied_together, "timeline"
)  # fmt: skip


def _reserve(answer: Answer, params: Params) -> None:
    for memory in memory_of(answer):
        for key in ("peak", "total"):
            if key in memory:
                memory[key] += 48 << 20


changed(
    "timing", "the_runtime_keeps_48_megabytes_of_the_device_for_itself",
    "003 L1160 allocates memory by the actual usage of the network, and no document says what the runtime needs",
    _reserve, "timeline", "run"
)  # fmt: skip


def _only_sums(answer: Answer, params: Params) -> None:
    for memory in memory_of(answer):
        for key in set(memory) - {"peak", "total"}:
            del memory[key]


changed(
    "timing", "of_memory_only_the_peak_and_the_total_are_told",
    "no document says into which parts a device's memory is told", _only_sums, "timeline", "run"
)  # fmt: skip


def _reads_ahead(step: Dict[str, Any], params: Params) -> None:
    if step.get("dataset", {}).get("reads"):
        step["dataset"]["reads"] += 2


timed(
    "a_process_reads_two_elements_of_its_dataset_ahead",
    "003 L990 offloads GetNext, L868 has the main process distribute data; how far a process reads ahead is not said",
    _reads_ahead,
)


@broken("timing", "003 L93: no document says that a tool has to tell tasks, copies or memory", "hello", "timeline")
def of_a_step_only_its_time_is_told(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if "capabilities" in answer:
        able = answer["capabilities"]
        able["features"] = [one for one in able["features"] if not one.startswith("timeline.")]
    for step in steps_of(answer):
        for key in set(step) - {"step_ns"}:
            del step[key]
    return answer
