"""Time: devices, ranks, collectives and parallel streams."""

from __future__ import annotations

from typing import Any, Callable, Dict

from faulty.asked import (
    LEGACY,
    RUNCONFIG,
    SESSION,
    Values,
    all_values,
    in_inference,
    is_about,
    mapped,
    plain,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
)  # fmt: skip
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks
from faulty.mistakes_graphs import asks_quietly, timed_without, unseen

asks(
    "kept_formats_are_merged_late",
    "002 is_tailing_optimization False: nothing is moved, whatever the formats",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            {**values, "is_tailing_optimization": True}
            if value_is({"values": values}, "variable_format_optimize", False)
            else values
        ),
    ),
    "timeline",
)
# session.hcom_parallel.true
asks(
    "legacy_sums_gradients_after_computing_whatever",
    "True: AllReduce gradient update runs in parallel with forward/backward",
    "timeline",
    lambda params: all_values(params, mapped("hcom_parallel", lambda value: False)) if LEGACY(params) else params,
    "timeline",
)
asks(
    "links_are_never_parallel",
    "003 hcom_parallel True: enabled",
    "timeline",
    lambda params: all_values(params, lambda values: {**values, "hcom_parallel": False}),
    "timeline",
)


def _mixed(values: Dict[str, Any]) -> bool:
    return value_of({"values": values}, "mix_compile_mode") is True


asks(
    "links_wait_in_mixed_computing",
    "003 hcom_parallel True: enabled, in mixed computing too",
    "timeline",
    lambda params: all_values(params, lambda values: {**values, "hcom_parallel": False} if _mixed(values) else values),
)


@broken("timeline", "003 ac_parallel_enable: in dynamic shape graphs", "timeline")
def parallel_engines_in_static_graphs(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = str(value_of({"values": values}, "ac_parallel_enable")) == "1"
        return {"stream_max_parallel_num": "DNN_VM_AICPU:2", **values} if on else values

    return ask(all_values(params, change))


@broken("timeline", "003 is_tailing_optimization: beside the last AllReduce, whatever hcom_parallel says", "timeline")
def tailing_needs_no_parallel_gradients(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = value_of({"values": values}, "is_tailing_optimization") is True
        return {**values, "hcom_parallel": True} if on else values

    return ask(all_values(params, change))


@broken("timeline", "003 graph_max_parallel_model_num: applies to online inference", "timeline")
def training_takes_steps_at_once_too(ask: Any, params: Params) -> Answer:
    if (value_of(params, "graph_max_parallel_model_num") or 1) > 1 and value_of(params, "graph_run_mode") == 1:
        return ask(with_values(params, graph_run_mode=0))
    return ask(params)


asks_quietly(  # session.is_tailing_optimization.true
    "timeline",
    "tailing_is_hidden_within_one_server",
    "002 is_tailing_optimization: beside the last gradient aggregation",
    lambda params: (
        all_values(params, mapped("is_tailing_optimization", lambda value: False))
        if SESSION(params) and params.get("ranks", 1) > 8
        else params
    ),
    "timeline",
)
asks(  # runconfig.ac_parallel_enable.0
    "nought_as_a_text_is_true",
    "003 ac_parallel_enable 0: operators of the AI CPU are not separately distributed",
    "timeline",
    lambda params: all_values(params, mapped("ac_parallel_enable", lambda value: "1")),
    "timeline",
)


def _dynamic(params: Params) -> bool:
    return value_is(params, "dynamic_input", True) or value_is(params, "compile_dynamic_mode", True)


def _two_streams(values: Dict[str, Any]) -> Dict[str, Any]:
    known = {"values": values}
    if value_is(known, "ac_parallel_enable", "1") and value_is(known, "mix_compile_mode", True) and not _dynamic(known):
        return {"stream_max_parallel_num": "DNN_VM_AICPU:2,AIcoreEngine:1", **values}
    return values


asks(  # pair 78: runconfig.ac_parallel_enable.dynamic_only, mixed computing
    "mixed_computing_is_parallel_in_any_shape",
    "003: ac_parallel_enable is about dynamic shape graphs",
    "timeline",
    lambda params: all_values(params, _two_streams) if is_about(params, surface="runconfig") else params,
    "timeline",
)
timed_without(
    "tailing_has_no_effect", "003 is_tailing_optimization: in parallel with the last AR", is_tailing_optimization=1
)
timed_without(
    "collectives_never_parallel", "003 hcom_parallel: gradient update and propagation in parallel", hcom_parallel=1
)
timed_without("engines_never_parallel", "003 ac_parallel_enable: AI CPU and AI Core in parallel", ac_parallel_enable=1)
timed_without("one_stream_an_engine", "003 stream_max_parallel_num: degree of parallelism", stream_max_parallel_num=1)
unseen("timeline", "threads_of_inference_are_taken_and_forgotten", "003: so many threads run at once",
        "graph_max_parallel_model_num", "timeline")  # fmt: skip
asks(
    "device_nought_is_no_device",
    "002 session_device_id: goes before ASCEND_DEVICE_ID, 0 too",
    "timeline",
    lambda params: (
        all_values(
            params,
            lambda values: (
                without("session_device_id")(values) if plain(values.get("session_device_id")) == 0 else values
            ),
        )
        if "ASCEND_DEVICE_ID" in params.get("env", {})
        else params
    ),
    "timeline",
    "run",
)


def _lacks(variable: str) -> Callable[[Params], Dict[str, Any]]:
    return lambda params: with_env(params, lambda env: {name: one for name, one in env.items() if name != variable})


asks(
    "a_device_of_two_variables_is_none",
    "003 ASCEND_DEVICE_ID: the logical device",
    "timeline",
    lambda params: _lacks("ASCEND_DEVICE_ID")(params) if "DEVICE_ID" in params.get("env", {}) else params,
    "timeline",
    "run",
)
asks_quietly(  # session.local_rank_id.main_dedup
    "timeline",
    "every_process_of_a_session_reads_its_own_data",
    "002 local_rank_id: the main process hands the data out",
    lambda params: with_values(params, local_rank_id=None, local_device_list=None) if SESSION(params) else params,
    "timeline",
    "run",
)


def _main_by_devices(values: Dict[str, Any]) -> Dict[str, Any]:
    listed, rank = plain(values.get("local_device_list")), plain(values.get("local_rank_id"))
    return {**values, "local_rank_id": 0} if listed is not None and rank is None else values


asks_quietly(  # runconfig.local_device_list.pair
    "timeline",
    "devices_alone_make_a_process_the_main_one",
    "003 local_device_list: used in conjunction with local_rank_id",
    lambda params: all_values(params, _main_by_devices) if RUNCONFIG(params) else params,
    "timeline",
    "run",
)


@broken("timeline", "002 session_device_id: goes before ASCEND_DEVICE_ID", "timeline", "run")
def the_variable_names_the_device(ask: Any, params: Params) -> Answer:
    if "ASCEND_DEVICE_ID" in params.get("env", {}):
        return dict(ask(all_values(params, without("session_device_id"))))
    return dict(ask(params))


asks(
    "the_device_of_inference_is_that_of_the_environment",
    "002 session_device_id selects the session's device",
    "timeline",
    lambda params: (
        all_values(params, without("session_device_id"))
        if in_inference(params) and params.get("env", {}).get("ASCEND_DEVICE_ID")
        else params
    ),
    "timeline",
    "run",
)
timed_without("always_the_first_device", "003 session_device_id: logical id of a device", session_device_id=1)
unseen("timeline", "the_rank_of_a_process_is_ignored", "002: others take what the main process prepared",
        "local_rank_id", "timeline")  # fmt: skip
# runconfig.local_rank_id.main, session.local_rank_id.main_dedup, session.local_rank_id.others_receive
asks(
    "the_main_process_is_known_by_its_rank_in_the_cluster",
    "The main process is the one whose local rank is 0.",
    "timeline",
    lambda params: (
        all_values(params, mapped("local_rank_id", lambda value: int(params["env"]["RANK_ID"])))
        if str(params.get("env", {}).get("RANK_ID", "")).isdigit()
        else params
    ),
    "timeline",
)
