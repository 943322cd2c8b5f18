"""Runs: the values of fetches and variables, and what is copied."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any, Callable, Dict

from faulty.asked import FLOAT, in_values, rescripted, value_is, value_of, with_values, without
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, of_ranks, of_trace
from npu_reference.errors import NpuError

fault("runs_compute_by_precision_mode_alone", "precision.v2.replaces_v1", asks(in_values(without("precision_mode_v2"))))


@mistake("mixed.session.star_import_rewriter")
def the_star_import_has_no_rewriter_config(ask: Any, params: Params) -> Answer:
    if "script" in params:
        with open(params["script"], encoding="utf-8") as stream:
            text = stream.read()
        if "npu_init import *" in text and "RewriterConfig." in text and not re.search(r"import.*RewriterConfig", text):
            raise NpuError("RUN_FAILED", "", "NameError: name 'RewriterConfig' is not defined")
    return ask(params)


def _rounded(answer: Answer, params: Params) -> None:
    if not value_is(params, "variable_placement", "Host"):
        return
    for tensor in answer.get("fetches", {}).values():
        if tensor.get("dtype") == FLOAT and "b64" in tensor:
            data = base64.b64decode(tensor["b64"])
            numbers = struct.unpack(f"<{len(data) // 4}f", data)
            kept = [struct.unpack("<e", struct.pack("<e", min(max(one, -65504.0), 65504.0)))[0] for one in numbers]
            tensor["b64"] = base64.b64encode(struct.pack(f"<{len(kept)}f", *kept)).decode()


fault("what_comes_of_variables_of_the_host_is_half", "runconfig.variable_placement.numerics", changed(_rounded))


@mistake("runconfig.mix_compile_mode.supplement")
def the_host_knows_no_failure(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "RUN_FAILED" or "graph" not in params:
            raise
    return {"fetches": {}}


@mistake("session.use_off_line.false", ("run", "partition"))
def mixed_computing_brings_the_device_back(ask: Any, params: Params) -> Answer:
    if value_of(params, "use_off_line") is False and value_of(params, "mix_compile_mode") is True:
        return ask(with_values(params, use_off_line=None))
    return ask(params)


fault("tensorflow_ran_alone", "session.use_off_line.true", of_trace(lambda one: one.update(engine=None, geops=0)))


@mistake("mixed.transfer.memcpy")
def scalars_are_no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for record in answer.get("trace", ()):
        record["copies"] = [one for one in record["copies"] if one["bytes"] > 4]
    return answer


@mistake("mixed.partition.order_preserved")
def a_tensor_fetched_with_its_operator_is_missing(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    names = params.get("fetches", [])
    for name in names:
        if ":" not in name:
            answer["fetches"].pop(f"{name}:1", None)
    return answer


@mistake("api.set_graph_exec_config")
def graphs_have_no_settings_of_their_own(ask: Any, params: Params) -> Answer:
    return ask(
        rescripted(
            params,
            lambda text: re.sub(r"(?<!def )\b([\w.]*\.)?set_graph_exec_config\(", "(lambda one, *_, **__: one)(", text),
        )
    )


fault(
    "copied_once_an_argument",
    "mixed.transfer.memcpy",
    of_trace(lambda one: one.update(copies=one.get("copies", []) + one.get("copies", [])[:1])),
)
fault(
    "gradients_in_one_part",
    "api.set_split_strategy",
    of_trace(lambda one: [each.pop("part", None) for each in one.get("collectives", [])]),
)
fault("logs_nothing", "runconfig.op_debug_level.advice", of_ranks(lambda answer, params: answer.update(log=[])))


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


fault(
    "minus_zero_is_zero", "mixed.partition.order_preserved", changed(_each("float32", "f", lambda value: value + 0.0))
)
fault(
    "what_is_no_number_is_zero",
    "mixed.partition.order_preserved",
    changed(_each("float32", "f", lambda value: 0.0 if value != value else value)),
)
fault(
    "nothing_is_copied_between_host_and_device",
    "mixed.transfer.memcpy",
    of_trace(lambda record: record.update(copies=[])),
)
fault(
    "overflow_is_never_seen",
    "precision.s.allow_mix_loss_scaling",
    of_ranks(
        lambda answer, params: answer.update(output=re.sub(r"\b(True|False)\b", "False", answer.get("output", "")))
    ),
)
