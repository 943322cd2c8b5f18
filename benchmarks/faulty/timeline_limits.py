"""Time: timeouts, memory, and shapes that a step has to keep to."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from faulty.asked import (
    RUNCONFIG,
    SESSION,
    all_values,
    given,
    in_values,
    is_about,
    mapped,
    plain,
    plain_in,
    value_is,
    value_of,
    values_where,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, asks_quietly, goes_on, of_steps

fault(
    "a_mode_of_dynamic_graphs_makes_them_dynamic",
    "runconfig.dynamic_graph_execute_mode.effect",
    asks_quietly(
        lambda params: (
            with_values(params, dynamic_input=True)
            if RUNCONFIG(params)
            and given(params, "dynamic_graph_execute_mode")
            and not given(params, "dynamic_input")
            and value_of(params, "compile_dynamic_mode") is not True
            else params
        )
    ),
    methods=("options", "timeline", "compile"),
)


def _executes(params: Params) -> bool:
    return is_about(params, edition="legacy") and value_is(params, "dynamic_graph_execute_mode", "dynamic_execute")


fault(
    "ranges_are_compiled_for_anything",
    "session.dynamic_graph_execute_mode.dynamic_execute",
    asks(lambda params: all_values(params, without("dynamic_inputs_shape_range")) if _executes(params) else params),
    methods=("timeline", "run", "compile"),
)


def _without_last(text: str) -> str:
    profiles = text.split(";")
    return ";".join(profiles[:-1]) if len(profiles) > 2 else text


fault(
    "the_last_profile_is_never_reached",
    "session.dynamic_dims.example.profile2",
    asks(lambda params: all_values(params, mapped("dynamic_dims", _without_last)) if SESSION(params) else params),
    methods=("timeline", "run"),
)
fault(
    "streams_have_no_timeout_beside_that_of_execution",
    "runconfig.stream_sync_timeout.effect",
    asks(
        values_where(lambda values: plain_in(values, "op_execute_timeout") is not None, without("stream_sync_timeout"))
    ),
    methods=("timeline", "run"),
)


@mistake("runconfig.hccl_timeout.purpose")
def later_collectives_wait_as_by_default(ask: Any, params: Params) -> Answer:
    late = any(one.get("kind") == "lost_peer" and one.get("after", 0) for one in params.get("faults") or ())
    return dict(ask(all_values(params, without("hccl_timeout")) if late else params))


@mistake("runconfig.op_debug_config.check_flag.error")
def faults_never_happen(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "faults"})


fault(
    "variables_are_bounded_beside_graph_memory_only",
    "session.variable_memory_max_size.meaning",
    goes_on(
        lambda rejected, params: (
            rejected.get("subject") == "variable_memory_max_size" and value_of(params, "graph_memory_max_size") is None
        ),
        lambda params: with_values(params, variable_memory_max_size=None),
    ),
)


def _all_in_one(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    bound = plain(values.get("graph_memory_max_size"))
    memory = step.get("memory")
    if not SESSION(params) or not isinstance(bound, str) or not bound.isdigit() or not memory:
        return
    if memory["peak"] + memory["variables"] > int(bound):
        code, subject = "DEVICE_MEMORY", "graph_memory_max_size"
        step.clear()
        step["rejected"] = {"code": code, "message": "needs more memory than graphs may have", "subject": subject}


fault("variables_count_among_the_memory_of_graphs", "session.graph_memory_max_size.meaning", of_steps(_all_in_one))


def _twice(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    """Weights in files are counted beside those in the graph."""
    memory = step.get("memory")
    if memory and plain(values.get("external_weight")) is True:
        memory["total"] += memory.get("external", 0)


fault("weights_in_files_are_counted_in_the_graph_too", "runconfig.external_weight.advice", of_steps(_twice))
fault(
    "loops_are_not_offloaded", "runconfig.iterations_per_loop.effect", asks(in_values(without("iterations_per_loop")))
)
