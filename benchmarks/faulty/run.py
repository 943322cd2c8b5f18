"""Mistakes while a graph or a script runs: values, where they are computed, copies, dumps, memory, ranks."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any, Callable, Dict, List

from faulty.making import Answer, Params, broken, changed, plain, with_values
from npu_reference.errors import NpuError


def answers(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """`change` edits an answer, and that of every rank."""

    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *[rank["ok"] for rank in answer.get("ranks", []) if "ok" in rank]]:
            change(one, params)

    changed("run", name, sentence, edit)


def records(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    """`change` edits every session.run of a trace."""
    answers(name, sentence, lambda answer, params: [change(one) for one in answer.get("trace") or []])


def _floats(change: Callable[[float], float]) -> Callable[[Answer, Params], None]:
    def edit(answer: Answer, params: Params) -> None:
        for tensor in answer.get("fetches", {}).values():
            if tensor["dtype"] == "float32" and "b64" in tensor:
                raw = base64.b64decode(tensor["b64"])
                values = [change(one) for one in struct.unpack(f"<{len(raw) // 4}f", raw)]
                tensor["b64"] = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode("ascii")

    return edit


def _half(value: float) -> float:
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# Values

answers("values_in_half_precision", "002 must_keep_origin_dtype: the original precision", _floats(_half))
answers(
    "kernels_left_by_default",
    "002 op_debug_level 0: no debugging, of which kernel files are left behind",
    lambda answer, params: (
        answer.setdefault("files", {}).update({"kernel_meta/te_abs.json": {"b64": "e30="}})
        if not params.get("values")
        else None
    ),
)
answers("values_a_little_off", "003 deterministic: the same output", _floats(lambda one: one * 1.0009765625))
answers("negatives_are_nought", "000: operators compute what TensorFlow computes", _floats(lambda one: max(one, 0.0)))
answers(
    "scalars_are_vectors",
    "000: operators compute what TensorFlow computes",
    lambda answer, params: [one.update(shape=one["shape"] or [1]) for one in answer.get("fetches", {}).values()],
)
answers(
    "halves_are_fetched",
    "003: what is fetched has the graph's dtype",
    lambda answer, params: [
        one.update(dtype="float16", b64=base64.b64encode(b"\0\0" * (len(base64.b64decode(one["b64"])) // 4)).decode())
        for one in answer.get("fetches", {}).values()
        if one["dtype"] == "float32" and "b64" in one
    ],
)


@broken("run", "TensorFlow: state of variables lasts as long as the session")
def one_step_only(ask: Any, params: Params) -> Answer:
    return ask({**params, "steps": 1} if "steps" in params else params)


def lost(name: str, sentence: str, **values: Any) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        return ask(with_values(params, **values) if set(values) & set(params["values"]) else params)

    fault.__name__ = name
    broken("run", sentence)(fault)


lost("precision_at_run_time_ignored", "002 precision_mode", precision_mode=None, precision_mode_v2=None)
lost(
    "memory_limit_ignored",
    "002 graph_memory_max_size: the size of the network's memory",
    graph_memory_max_size=None,
    variable_memory_max_size=None,
)
lost(
    "shapes_outside_profiles",
    "002 dynamic_dims: the shapes supported",
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)
lost("shapes_outside_ranges", "002 dynamic_inputs_shape_range: the ranges", dynamic_inputs_shape_range=None)
lost("execution_never_times_out", "003 op_execute_timeout", op_execute_timeout=None, op_wait_timeout=None)
lost("dumps_outputs_alone", "002 dump_mode: input, output, all", dump_mode="output")
lost("dumps_every_step", "002 dump_step: which iterations", dump_step=None)
lost("no_exception_dump", "003 enable_exception_dump", enable_exception_dump=0)
lost("no_data_dump", "002 enable_dump", enable_dump=None, dump_path=None)


@broken("run", "003 quant_dumpable: 1: the data before quantization can be collected")
def nothing_before_quantization(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, quant_dumpable=None))


@broken("run", "003 enable_exception_dump: 1, 2: other contents and another directory")
def one_exception_dump_for_both(ask: Any, params: Params) -> Answer:
    if plain(params["values"].get("enable_exception_dump")) == 2 or "enable_exception_dump" not in params["values"]:
        return ask(with_values(params, enable_exception_dump=1) if params.get("may_fail") else params)
    return ask(params)


@broken("run", "003 enable_exception_dump: the data of the operator that failed")
def failures_are_refusals(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if answer.get("failed"):
        raise NpuError("RUN_FAILED", answer["failed"]["subject"], answer["failed"]["message"])
    return answer


# What ran where

records(
    "tensorflow_ran_alone", "002 use_off_line: executes on the processor", lambda one: one.update(engine=None, geops=0)
)
records(
    "one_geop_more",
    "000: the graph is partitioned into GEOPs",
    lambda one: one.update(geops=one["geops"] + 1) if one["geops"] > 1 else None,
)
records(
    "always_one_geop", "000: the graph is partitioned into GEOPs", lambda one: one.update(geops=min(one["geops"], 1))
)
records("nothing_is_copied", "000: data transfer is performed via memcpy", lambda one: one.update(copies=[]))
records(
    "copies_down_only",
    "000: data transfer is performed via memcpy",
    lambda one: one.update(copies=[copy for copy in one.get("copies", []) if copy["direction"] == "h2d"]),
)
records(
    "copies_of_bits",
    "copies have a size in bytes",
    lambda one: [copy.update(bytes=copy["bytes"] * 8) for copy in one.get("copies", []) if copy.get("bytes")],
)
records(
    "copied_once_an_argument",
    "000: data transfer is performed via memcpy",
    lambda one: one.update(copies=one.get("copies", []) + one.get("copies", [])[:1]),
)
records("device_nought", "003 session_device_id: logical id of a device", lambda one: one.update(device=0))
records("no_collectives", "collectives take part", lambda one: one.update(collectives=[]))
records(
    "collectives_of_one",
    "collectives are among all ranks",
    lambda one: [
        each.update(ranks=each["ranks"][:1] if isinstance(each["ranks"], list) else 1)
        for each in one.get("collectives", [])
    ],
)
records(
    "gradients_in_one_part",
    "a split strategy gives parts",
    lambda one: [each.pop("part", None) for each in one.get("collectives", [])],
)
answers(
    "placement_of_the_first_run",
    "000: operators run where the partition has them",
    lambda answer, params: [
        one.update(partition=(answer["trace"][0] or {}).get("partition"))
        for one in answer.get("trace") or []
        if one.get("partition")
    ],
)


# Time and memory of runs


def _timed(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Answer, Params], Any]:
    return lambda answer, params: [change(one) for one in answer.get("timeline") or [] if one]


answers(
    "a_loop_short_of_one",
    "003 iterations_per_loop: iterations per loop on the device",
    _timed(lambda one: one.update(iterations=one["iterations"] - 1) if one.get("iterations", 1) > 1 else None),
)
answers(
    "a_launch_an_iteration",
    "003 iterations_per_loop: saves interactions",
    _timed(lambda one: one.update(launches=max(one.get("launches", 1), one.get("iterations", 1)))),
)
answers(
    "late_by_a_thousandth",
    "003: timeouts in their units",
    _timed(lambda one: one.update(run_ns=one.get("run_ns", 0) // 1000)),
)
answers(
    "memory_is_never_told",
    "003: memory of a run",
    lambda answer, params: [
        one.update(peak=1, total=1, variables=0, constants=0) for one in answer.get("memory") or [] if one
    ],
)


def _apart(answer: Answer, params: Params) -> None:
    for run in answer.get("transfers") or []:
        run[:] = [{**copy, "tensors": [name]} for copy in run for name in copy.get("tensors") or ["?"]]


answers("copied_a_piece_at_a_time", "003 input_fusion_size: fused before it is transferred", _apart)


# What a run prints and leaves

answers(
    "prints_everything_twice",
    "a script prints what it prints",
    lambda answer, params: answer.update(output=answer.get("output", "") * 2) if "output" in answer else None,
)
answers(
    "prints_nothing",
    "a script prints what it prints",
    lambda answer, params: answer.update(output="") if "output" in answer else None,
)
answers("logs_nothing", "what is advised is told", lambda answer, params: answer.update(log=[]))


def _left(change: Callable[[str], Any]) -> Callable[[Answer, Params], Any]:
    def edit(answer: Answer, params: Params) -> None:
        found: Dict[Any, Any] = {change(path): one for path, one in answer.get("files", {}).items()}
        answer["files"] = {path: one for path, one in found.items() if path is not None}

    return edit


_DUMP = "002 dump_path: where dumps are saved"
answers("leaves_nothing", _DUMP, _left(lambda path: None))
answers("dumps_in_the_current_directory", _DUMP, _left(lambda path: path.rpartition("/")[2]))
answers(
    "dumps_one_operator",
    _DUMP,
    lambda answer, params: answer.update(files=dict(sorted(answer.get("files", {}).items())[:1])),
)


def _steps_from_one(path: str) -> str:
    return re.sub(r"/(\d+)/(?=[^/]*$)", lambda found: f"/{int(found.group(1)) + 1}/", path)


answers("dump_steps_count_from_one", "002 dump_step: 0|5|10", _left(_steps_from_one))


def _shorter(answer: Answer, params: Params) -> None:
    for one in answer.get("files", {}).values():
        if "b64" in one:
            one["b64"] = base64.b64encode(base64.b64decode(one["b64"])[:-4]).decode("ascii")


answers("files_cut_short", _DUMP, _shorter)


# Ranks and scripts


@broken("run", "every rank has its own results")
def rank_nought_for_all(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if answer.get("ranks"):
        answer["ranks"] = [answer["ranks"][0]] * len(answer["ranks"])
    return answer


@broken("run", "every rank has its own results")
def a_rank_is_missing(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if answer.get("ranks"):
        answer["ranks"] = answer["ranks"][:-1] or answer["ranks"]
    return answer


def printed(name: str, sentence: str, pattern: str, change: Callable[[Any], str]) -> None:
    """A number that a script prints comes out otherwise."""
    answers(
        name,
        sentence,
        lambda answer, params: (
            answer.update(output=re.sub(pattern, change, answer["output"])) if "output" in answer else None
        ),
    )


printed(
    "a_loop_short_of_one_step",
    "003 iterations_per_loop: global_step counts iterations",
    r"global_step: (\d+)",
    lambda found: f"global_step: {max(int(found.group(1)) - 1, 0)}",
)
printed(
    "loss_scales_halve_late",
    "loss scaling: the scale falls after decr_every_n_nan_or_inf overflows",
    r"(?i)(scale\D{0,12})(\d+(?:\.\d+)?)",
    lambda found: f"{found.group(1)}{float(found.group(2)) * 2:g}",
)
printed(
    "overflow_is_never_seen",
    "loss scaling: a step that overflows is not applied",
    r"\b(True|False)\b",
    lambda found: "False",
)
printed(
    "training_diverges",
    "operators compute what TensorFlow computes",
    r"\d+\.\d+",
    lambda found: f"{float(found.group(0)) * 1.5 + 1:g}",
)


@broken("run", "003 graph options: what the documents refuse does not run")
def refused_runs_go_on(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code in ("SCRIPT_FILE", "GRAPH_FILE"):
            raise
        names: List[str] = [name for name in params.get("fetches", []) if ":" in name]
        zero = {"dtype": "float32", "shape": [], "b64": base64.b64encode(b"\0\0\0\0").decode("ascii")}
        return {"fetches": dict.fromkeys(names, zero), "trace": [], "log": [], "files": {}}
