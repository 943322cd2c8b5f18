"""Runs: the values of fetches and variables, and what is copied."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any, Callable, Dict

from faulty.asked import (
    FLOAT,
    all_values,
    edited_floats,
    is_looped,
    mapped,
    rescripted,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, changed, left
from faulty.mistakes_graphs import answers, reads_values, records, run_without, runs_changed, unseen
from npu_reference.errors import NpuError

# precision.v2.origin
reads_values(
    "run",
    "runs_compute_by_precision_mode_alone",
    "precision_mode_v2 is the operator precision mode",
    without("precision_mode_v2"),
    "run",
)


def _after_a_fault(params: Params) -> bool:
    return any(one.get("kind") for one in params.get("faults") or ())


asks(  # pair 8
    "after_an_error_nothing_is_lowered",
    "004: allow_mix_precision lowers some of the float32 operators to float16",
    "run",
    lambda params: (
        all_values(
            params,
            mapped("precision_mode", lambda mode: "must_keep_origin_dtype" if mode == "allow_mix_precision" else mode),
        )
        if params.get("may_fail") or _after_a_fault(params)
        else params
    ),
    "run",
)


def _half(value: float) -> float:
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


answers("values_in_half_precision", "002 must_keep_origin_dtype: the original precision", edited_floats(_half))
run_without("precision_at_run_time_ignored", "002 precision_mode", precision_mode=None, precision_mode_v2=None)


@broken("run", "000, 002: the star import gives RewriterConfig and npu_scope as well", "run")
def the_star_import_has_no_rewriter_config(ask: Any, params: Params) -> Answer:
    if "script" in params:
        with open(params["script"], encoding="utf-8") as stream:
            text = stream.read()
        if "npu_init import *" in text and "RewriterConfig." in text and not re.search(r"import.*RewriterConfig", text):
            raise NpuError("RUN_FAILED", "", "NameError: name 'RewriterConfig' is not defined")
    return ask(params)


@broken("run", "003 variable_placement Host: where variables are changes no result")
def variables_of_the_host_begin_anew(ask: Any, params: Params) -> Answer:
    is_host = value_is(params, "variable_placement", "Host") and "steps" in params
    return dict(ask({**params, "steps": 1} if is_host else params))


@broken("run", "003 variable_placement Host: where variables are changes no result, of any dtype")
def counters_of_the_host_begin_anew(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if value_is(params, "variable_placement", "Host") and params.get("steps", 1) > 1:
        first = ask({**params, "steps": 1})
        answer["fetches"] = {
            name: first["fetches"].get(name, one) if one["dtype"] != "float32" else one
            for name, one in answer["fetches"].items()
        }
    return answer


def _rounded(answer: Answer, params: Params) -> None:
    if not value_is(params, "variable_placement", "Host"):
        return
    for tensor in answer.get("fetches", {}).values():
        if tensor.get("dtype") == FLOAT and "b64" in tensor:
            data = base64.b64decode(tensor["b64"])
            numbers = struct.unpack(f"<{len(data) // 4}f", data)
            kept = [struct.unpack("<e", struct.pack("<e", min(max(one, -65504.0), 65504.0)))[0] for one in numbers]
            tensor["b64"] = base64.b64encode(struct.pack(f"<{len(kept)}f", *kept)).decode()


changed(  # runconfig.variable_placement.numerics
    "run",
    "what_comes_of_variables_of_the_host_is_half",
    "003 variable_placement: where variables lie, not what they are",
    _rounded,
    "run",
)


@broken("run", "000, 003 mix_compile_mode: operators that are left execute in the frontend framework", "run")
def the_host_knows_no_failure(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "RUN_FAILED" or "graph" not in params:
            raise
    return {"fetches": {}}


@broken("run", "002 use_off_line False: training executes on the host", "run", "partition")
def mixed_computing_brings_the_device_back(ask: Any, params: Params) -> Answer:
    if value_of(params, "use_off_line") is False and value_of(params, "mix_compile_mode") is True:
        return ask(with_values(params, use_off_line=None))
    return ask(params)


records(
    "tensorflow_ran_alone", "002 use_off_line: executes on the processor", lambda one: one.update(engine=None, geops=0)
)
unseen("run", "scripts_run_without_mixed_computing", "000: mixed computing leaves operators on the host",
        "mix_compile_mode", "run")  # fmt: skip


def _last_folder(files: Files, params: Params) -> Files:
    text = str(value_of(params, "profiling_options") or "")
    found = re.search(r'"output"\s*:\s*"(/[^"]+/[^"/]+)', text)
    if found is None or not (is_looped(params) or int(params.get("steps") or 1) > 1):
        return files
    place = found.group(1).strip("/") + "/"
    last = place.rstrip("/").split("/")[-1] + "/"
    return {last + name[len(place) :] if name.startswith(place) else name: one for name, one in files.items()}


left(  # pair 46
    "profiles_of_several_steps_are_relative", "002: output that begins with / is absolute", _last_folder
)


@broken("run", "000: tensors that cross are moved by memcpy, scalars too", "run")
def scalars_are_no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for record in answer.get("trace", ()):
        record["copies"] = [one for one in record["copies"] if one["bytes"] > 4]
    return answer


def _collectives(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *(rank.get("ok", {}) for rank in answer.get("ranks", ()))]:
            for record in one.get("trace", ()):
                kept = [part for part in record.get("collectives", ()) if change(part) is not False]
                if "collectives" in record:
                    record["collectives"] = kept

    changed("run", name, sentence, edit, "run")


_collectives(
    "gradients_go_in_one_part",
    "003 set_split_strategy_by_idx, by_size: gradients go in the parts that are set",
    lambda part: part.update(part=1) if part.get("part") else None,
)


@broken("run", "000: fetches are what TensorFlow answers, in any order", "run")
def a_tensor_fetched_with_its_operator_is_missing(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    names = params.get("fetches", [])
    for name in names:
        if ":" not in name:
            answer["fetches"].pop(f"{name}:1", None)
    return answer


def _any_spelling(text: str) -> str:
    if "npu_init" in text:
        return text
    return re.sub(r"([\"'])npuoptimizer\1", r"\1NpuOptimizer\1", text, flags=re.IGNORECASE)


asks(
    "the_name_in_any_case_for_older_scripts",
    "002: the custom optimizer is called NpuOptimizer",
    "run",
    lambda params: rescripted(params, _any_spelling),
    "run",
)


@broken("run", "002 set_graph_exec_config: a graph has dynamic inputs of its own")
def graphs_have_no_settings_of_their_own(ask: Any, params: Params) -> Answer:
    return ask(
        rescripted(
            params,
            lambda text: re.sub(r"(?<!def )\b([\w.]*\.)?set_graph_exec_config\(", "(lambda one, *_, **__: one)(", text),
        )
    )


def _each_tensor(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Answer, Params], None]:
    def edit(answer: Answer, params: Params) -> None:
        for one in [answer, *[rank["ok"] for rank in answer.get("ranks", []) if "ok" in rank]]:
            for tensor in one.get("fetches", {}).values():
                if "b64" in tensor:
                    change(tensor)

    return edit


def _flat_empty(tensor: Dict[str, Any]) -> None:
    if 0 in tensor["shape"]:
        tensor["shape"] = [0]


changed("run", "empty_tensors_lose_their_shape", "000: tensors are copied as they are", _each_tensor(_flat_empty))
answers(
    "negatives_are_nought", "000: operators compute what TensorFlow computes", edited_floats(lambda one: max(one, 0.0))
)


@broken("run", "TensorFlow: state of variables lasts as long as the session")
def one_step_only(ask: Any, params: Params) -> Answer:
    return ask({**params, "steps": 1} if "steps" in params else params)


records("nothing_is_copied", "000: data transfer is performed via memcpy", lambda one: one.update(copies=[]))
records(
    "copied_once_an_argument",
    "000: data transfer is performed via memcpy",
    lambda one: one.update(copies=one.get("copies", []) + one.get("copies", [])[:1]),
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
answers("logs_nothing", "what is advised is told", lambda answer, params: answer.update(log=[]))


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
    "overflow_is_never_seen",
    "loss scaling: a step that overflows is not applied",
    r"\b(True|False)\b",
    lambda found: "False",
)


def _tensors(answer: Answer) -> Dict[str, Any]:
    found: Dict[str, Any] = answer.get("fetches", {})
    return found


def _turned(tensor: Dict[str, Any], form: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    data = base64.b64decode(tensor.get("b64", ""))
    size = struct.calcsize(form)
    values = [change(one) for (one,) in struct.iter_unpack("<" + form, data[: len(data) // size * size])]
    return {**tensor, "b64": base64.b64encode(b"".join(struct.pack("<" + form, one) for one in values)).decode()}


def _each(dtype: str, form: str, change: Callable[[Any], Any]) -> Callable[[Answer, Params], Any]:
    def edit(answer: Answer, params: Params) -> None:
        for name, one in _tensors(answer).items():
            if one.get("dtype") == dtype:
                _tensors(answer)[name] = _turned(one, form, change)

    return edit


runs_changed(
    "long_integers_lose_their_upper_half",
    "000: splitting changes no result",
    _each("int64", "q", lambda value: ((value + (1 << 31)) % (1 << 32)) - (1 << 31)),
)
runs_changed("minus_zero_is_zero", "000: splitting changes no result", _each("float32", "f", lambda value: value + 0.0))
runs_changed("what_is_no_number_is_zero", "000: splitting changes no result",
     _each("float32", "f", lambda value: 0.0 if value != value else value))  # fmt: skip
runs_changed(
    "nothing_is_copied_between_host_and_device",
    "000: tensors between host and GEOPs are copied",
    lambda answer, params: [one.update(copies=[]) for one in answer.get("trace") or []] and None,
)
