"""Time: devices, ranks, collectives and parallel streams."""

from __future__ import annotations

from typing import Any, Dict

from faulty.asked import (
    LEGACY,
    RUNCONFIG,
    SESSION,
    Values,
    all_values,
    in_inference,
    in_values,
    mapped,
    plain,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, asks_quietly

fault(
    "kept_formats_are_merged_late",
    "session.is_tailing_optimization.false",
    asks(
        lambda params: all_values(
            params,
            lambda values: (
                {**values, "is_tailing_optimization": True}
                if value_is({"values": values}, "variable_format_optimize", False)
                else values
            ),
        )
    ),
)
fault(
    "legacy_sums_gradients_after_computing_whatever",
    "session.hcom_parallel.true",
    asks(lambda params: all_values(params, mapped("hcom_parallel", lambda value: False)) if LEGACY(params) else params),
)
fault(
    "links_are_never_parallel",
    "runconfig.hcom_parallel.true",
    asks(lambda params: all_values(params, lambda values: {**values, "hcom_parallel": False})),
)


@mistake("runconfig.ac_parallel_enable.dynamic_only")
def parallel_engines_in_static_graphs(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = str(value_of({"values": values}, "ac_parallel_enable")) == "1"
        return {"stream_max_parallel_num": "DNN_VM_AICPU:2", **values} if on else values

    return ask(all_values(params, change))


@mistake("runconfig.is_tailing_optimization.effect")
def tailing_needs_no_parallel_gradients(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        on = value_of({"values": values}, "is_tailing_optimization") is True
        return {**values, "hcom_parallel": True} if on else values

    return ask(all_values(params, change))


@mistake("runconfig.graph_max_parallel_model_num.inference")
def training_takes_steps_at_once_too(ask: Any, params: Params) -> Answer:
    if (value_of(params, "graph_max_parallel_model_num") or 1) > 1 and value_of(params, "graph_run_mode") == 1:
        return ask(with_values(params, graph_run_mode=0))
    return ask(params)


fault(
    "nought_as_a_text_is_true",
    "runconfig.ac_parallel_enable.0",
    asks(lambda params: all_values(params, mapped("ac_parallel_enable", lambda value: "1"))),
)
fault(
    "tailing_has_no_effect",
    "runconfig.is_tailing_optimization.effect",
    asks(in_values(without("is_tailing_optimization"))),
)
fault("collectives_never_parallel", "session.hcom_parallel.true", asks(in_values(without("hcom_parallel"))))
fault("engines_never_parallel", "runconfig.ac_parallel_enable.1", asks(in_values(without("ac_parallel_enable"))))
fault(
    "one_stream_an_engine",
    "session.stream_max_parallel_num.effect",
    asks(in_values(without("stream_max_parallel_num"))),
)
fault(
    "threads_of_inference_are_taken_and_forgotten",
    "runconfig.graph_max_parallel_model_num.effect",
    asks(in_values(without("graph_max_parallel_model_num"))),
)
fault(
    "every_process_of_a_session_reads_its_own_data",
    "session.local_rank_id.main_dedup",
    asks_quietly(
        lambda params: with_values(params, local_rank_id=None, local_device_list=None) if SESSION(params) else params
    ),
    methods=("timeline", "run"),
)


def _main_by_devices(values: Dict[str, Any]) -> Dict[str, Any]:
    listed, rank = plain(values.get("local_device_list")), plain(values.get("local_rank_id"))
    return {**values, "local_rank_id": 0} if listed is not None and rank is None else values


fault(
    "devices_alone_make_a_process_the_main_one",
    "runconfig.local_device_list.pair",
    asks_quietly(lambda params: all_values(params, _main_by_devices) if RUNCONFIG(params) else params),
    methods=("timeline", "run"),
)
fault(
    "the_device_of_inference_is_that_of_the_environment",
    "session.session_device_id.effect",
    asks(
        lambda params: (
            all_values(params, without("session_device_id"))
            if in_inference(params) and params.get("env", {}).get("ASCEND_DEVICE_ID")
            else params
        )
    ),
    methods=("timeline", "run"),
)
fault("always_the_first_device", "runconfig.session_device_id.effect", asks(in_values(without("session_device_id"))))
fault(
    "the_rank_of_a_process_is_ignored",
    "session.local_rank_id.others_receive",
    asks(in_values(without("local_rank_id"))),
)
