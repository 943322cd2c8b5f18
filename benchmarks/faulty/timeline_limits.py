"""Time: timeouts, memory, and shapes that a step has to keep to."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional

from faulty.asked import (
    RUNCONFIG,
    SESSION,
    Values,
    all_values,
    given,
    gives_any,
    graph_of,
    is_about,
    joined_groups,
    mapped,
    nodes_of,
    plain,
    plain_in,
    range_groups,
    shapes_of,
    source_of,
    value_is,
    value_of,
    values_where,
    whole_graph,
    with_values,
    without,
)  # fmt: skip
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, steps
from faulty.mistakes_graphs import asks_quietly, takes_values, timed_without
from npu_reference.graphs import load_graph


def _named(params: Params) -> List[str]:
    """The placeholders of a script's graph, in its order, where their names were given."""
    nodes = load_graph(params["graph"]).nodes if "graph" in params else ()
    names = [node.name for node in nodes if node.op == "Placeholder"]
    return [] if any(re.fullmatch(r"Placeholder(_\d+)?", name) for name in names) else names


def reordered(params: Params, order: Callable[[List[str]], List[str]]) -> Params:
    """The ranges of named placeholders read in another order than that of their names."""
    names = _named(params)
    wrong = order(names)
    if not is_about(params, edition="legacy") or wrong == sorted(names):
        return params

    def change(text: Any) -> Any:
        found = re.search(r"(data\s*:)([^;]*)", str(text))
        ranges = re.findall(r"\[[^]]*\]", found.group(2)) if found else []
        if found is None or len(ranges) != len(names):
            return text
        meant = ",".join(ranges[wrong.index(name)] for name in sorted(names))
        return text[: found.start(2)] + meant + text[found.end(2) :]

    return all_values(params, mapped("dynamic_inputs_shape_range", change))


asks(
    "names_in_the_order_of_the_script",
    "002 dynamic_inputs_shape_range: named placeholders in the order of the letters",
    "timeline",
    lambda params: reordered(params, list),
    "timeline",
    "run",
    "compile",
)


def _natural(names: List[str]) -> List[str]:
    def key(name: str) -> List[Any]:
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]

    return sorted(names, key=key)


asks(
    "numbers_in_names_are_numbers",
    "002 dynamic_inputs_shape_range: named placeholders in the order of the letters, x_10 before x_2",
    "timeline",
    lambda params: reordered(params, _natural),
    "timeline",
    "run",
    "compile",
)


def _reranged(params: Params, order: Callable[[Params, List[str]], List[str]]) -> Params:
    """The request where ranges of inputs go by another order than that of their names."""
    text = value_of(params, "dynamic_inputs_shape_range")
    found = re.search(r"data:((?:\[[^\]]*\],?)+)", text) if isinstance(text, str) else None
    names = sorted(node.name for node in nodes_of(params) if node.op == "Placeholder")
    ranges = re.findall(r"\[[^\]]*\]", found.group(1)) if found else []
    if found is None or len(ranges) != len(names):
        return params
    wrong = order(params, names)
    moved = ",".join(ranges[wrong.index(name)] for name in names)
    head, tail = text[: found.start(1)], text[found.end(1) :]
    return all_values(params, mapped("dynamic_inputs_shape_range", lambda _: head + moved + tail))


def _open_last(params: Params, names: List[str]) -> List[str]:
    shapes = shapes_of(params)
    return sorted(names, key=lambda name: (shapes.get(name) is None, name))


asks(  # pair 15
    "inputs_of_unknown_shape_have_the_last_ranges",
    "003: ranges of named placeholders are in alphabetical order",
    "timeline",
    lambda params: _reranged(params, _open_last) if is_about(params, edition="current") else params,
    "timeline",
    "compile",
    "run",
)


def _dumps(values: Mapping[str, Any]) -> bool:
    config = values.get("dump_config")
    arguments = config.get("arguments", {}) if isinstance(config, dict) else values
    return value_is({"values": arguments}, "enable_dump", True)


asks(
    "dumps_are_compiled_for_each_shape",
    "002 dynamic_graph_execute_mode dynamic_execute: compiled with the ranges",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            mapped("dynamic_graph_execute_mode", lambda one: "lazy_recompile")(values) if _dumps(values) else values
        ),
    ),
    "timeline",
    "run",
    "compile",
)
asks(
    "quantised_ranges_have_no_bounds",
    "003 dynamic_inputs_shape_range: data sets and placeholders, each with its range",
    "timeline",
    lambda params: (
        all_values(params, mapped("dynamic_inputs_shape_range", lambda text: re.sub(r"\d+\s*~\s*\d+", "-1", str(text))))
        if gives_any(params, "quant_dumpable")
        else params
    ),
    "timeline",
    "run",
)


def _bound(params: Params, wanted: Callable[[List[str]], Optional[List[str]]]) -> Params:
    """The question with the ranges of placeholders given to these, in this order, instead of those sorted as text."""
    text = value_of(params, "dynamic_inputs_shape_range")
    if "graph" not in params or not isinstance(text, str):
        return params
    names = [node.name for node in graph_of({**params, "feeds": []}).nodes if node.op == "Placeholder"]
    order = wanted(names)
    found = re.search(r"data:((?:\[[^\]]*\]\s*,?\s*)+)", text)
    ranges = re.findall(r"\[[^\]]*\]", found[1]) if found else []
    if order is None or found is None or len(ranges) != len(names):
        return params
    made = ",".join(ranges[order.index(name)] for name in sorted(names))
    return all_values(params, mapped("dynamic_inputs_shape_range", lambda value: value.replace(found[1], made)))


def _is_automatic(name: str) -> bool:
    return re.fullmatch(r"Placeholder(_\d+)?", name) is not None


asks(  # runconfig.dynamic_inputs_shape_range.name_advice
    "many_named_placeholders_take_ranges_as_the_script_orders_them",
    "003 dynamic_inputs_shape_range: placeholders with names are in the alphabetical order of their names",
    "timeline",
    lambda params: _bound(
        params, lambda names: names if len(names) > 10 and not any(map(_is_automatic, names)) else None
    ),
    "timeline",
    "compile",
    "run",
)


def _as_counted(names: List[str]) -> Optional[List[str]]:
    if len(names) <= 10 or not all(map(_is_automatic, names)):
        return None
    return sorted(names, key=lambda name: int(name.rpartition("_")[2] or 0) if "_" in name else 0)


asks(  # runconfig.dynamic_inputs_shape_range.more_than_10
    "the_eleventh_placeholder_comes_after_the_tenth",
    "003 dynamic_inputs_shape_range: xxx_10 stands before xxx_2",
    "timeline",
    lambda params: _bound(params, _as_counted),
    "timeline",
    "compile",
    "run",
)
asks_quietly(  # runconfig.dynamic_graph_execute_mode.effect
    "timeline",
    "a_mode_of_dynamic_graphs_makes_them_dynamic",
    "003 dynamic_graph_execute_mode: takes effect where dynamic_input is True",
    lambda params: (
        with_values(params, dynamic_input=True)
        if RUNCONFIG(params)
        and given(params, "dynamic_graph_execute_mode")
        and not given(params, "dynamic_input")
        and value_of(params, "compile_dynamic_mode") is not True
        else params
    ),
    "options",
    "timeline",
    "compile",
)


def _executes(params: Params) -> bool:
    return is_about(params, edition="legacy") and value_is(params, "dynamic_graph_execute_mode", "dynamic_execute")


asks(
    "ranges_are_compiled_for_anything",
    "002 dynamic_graph_execute_mode dynamic_execute: compiled with the ranges of dynamic_inputs_shape_range",
    "timeline",
    lambda params: all_values(params, without("dynamic_inputs_shape_range")) if _executes(params) else params,
    "timeline",
    "run",
    "compile",
)
asks(  # session.dynamic_inputs_shape_range.fixed
    "a_plain_number_of_a_range_is_its_upper_end",
    "002 dynamic_inputs_shape_range: a fixed dimension is a fixed number",
    "timeline",
    lambda params: (
        all_values(
            params,
            mapped("dynamic_inputs_shape_range", lambda text: re.sub(r"(?<![\d~-])(\d+)(?![\d~]|\s*~)", r"1~\1", text)),
        )
        if SESSION(params)
        else params
    ),
    "timeline",
    "run",
)


def _without_last(text: str) -> str:
    profiles = text.split(";")
    return ";".join(profiles[:-1]) if len(profiles) > 2 else text


asks(  # session.dynamic_dims.example.profile2
    "the_last_profile_is_never_reached",
    "002 dynamic_dims: the third profile of the sample",
    "timeline",
    lambda params: all_values(params, mapped("dynamic_dims", _without_last)) if SESSION(params) else params,
    "timeline",
    "run",
)


def _in_file_order(params: Params) -> Params:
    groups = range_groups(value_of(params, "dynamic_inputs_shape_range"))
    if "graph" not in params or not groups.get("data"):
        return params
    names = [node.name for node in graph_of(params).nodes if node.op == "Placeholder"]
    names = names or [node.name for node in graph_of(params).nodes if node.op == "_Arg"]
    names = [name for name in (source_of(feed) for feed in params.get("feeds", ())) if name] or names
    if len(names) != len(groups["data"]) or names == sorted(names):
        return params
    groups["data"] = [groups["data"][names.index(name)] for name in sorted(names)]
    return with_values(params, dynamic_inputs_shape_range=joined_groups(groups))


asks(  # runconfig.dynamic_inputs_shape_range.order_named, session.dynamic_inputs_shape_range.order_named
    "ranges_of_named_inputs_are_taken_in_the_scripts_order",
    "003 dynamic_inputs_shape_range: the inputs are in the alphabetical order of the name fields",
    "timeline",
    _in_file_order,
    "timeline",
    "compile",
)
asks(
    "operators_wait_for_a_minute",
    "003 op_wait_timeout: 120 by default",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            values
            if params["edition"] == "legacy" or values.get("op_wait_timeout")
            else {**values, "op_wait_timeout": 60}
        ),
    ),
    "timeline",
)
asks(
    "old_sessions_count_in_steps_too",
    "002, T3 hccl_timeout: seconds, in no steps",
    "timeline",
    lambda params: (
        all_values(params, mapped("hccl_timeout", lambda value: value // 68 * 68 if type(value) is int else value))
        if params["edition"] == "legacy"
        else params
    ),
    "timeline",
    "run",
)
# runconfig.stream_sync_timeout.effect
asks(
    "streams_have_no_timeout_beside_that_of_execution",
    "stream_sync_timeout holds beside op_execute_timeout, too",
    "timeline",
    values_where(lambda values: plain_in(values, "op_execute_timeout") is not None, without("stream_sync_timeout")),
    "timeline",
    "run",
)


def _rejected(
    name: str, sentence: str, when: Callable[[Dict[str, Any], Params], bool], without: Callable[[Params], Params]
) -> None:
    """A step that ends in an error goes on, as it does without its cause."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        for name, laid in [("", {}), *params.get("variants", {}).items()]:
            one = {**with_values(params, **laid), "variants": {}}
            step = answer["variants"][name] if name else answer["base"]
            if step.get("rejected") and when(step["rejected"], one):
                found = ask(without(one))["base"]
                answer.update({"variants": {**answer["variants"], name: found}} if name else {"base": found})
        return answer

    fault.__name__ = name
    broken("timeline", sentence)(fault)


_rejected(
    "the_ai_cpu_may_take_its_time",
    "003 op_execute_timeout: an operator's execution, on the AI CPU too",
    lambda rejected, params: rejected.get("number") == "507017",
    lambda params: {**params, "faults": []},
)
_rejected(
    "a_rank_that_is_late_by_the_whole_timeout_is_waited_for",
    "003 hccl_timeout: in steps of 68 s, of a value that is no multiple too",
    lambda rejected, params: (
        rejected.get("code") == "COLLECTIVE_TIMEOUT"
        and any(isinstance(fault.get("seconds"), int) for fault in params.get("faults", ()))
    ),
    lambda params: {**params, "faults": []},
)


@broken("timeline", "003: event_sync_timeout and stream_sync_timeout are milliseconds", "timeline", "run")
def short_synchronisations_are_rounded_up_to_seconds(ask: Any, params: Params) -> Answer:
    def change(values: Values) -> Values:
        for name in ("event_sync_timeout", "stream_sync_timeout"):
            given = value_of({"values": values}, name)
            if isinstance(given, int) and given > 0 and given % 1000:
                values[name] = -(-given // 1000) * 1000
        return values

    return ask(all_values(params, change))


@broken("timeline", "003 hccl_timeout: bounds collective communication", "timeline")
def later_collectives_wait_as_by_default(ask: Any, params: Params) -> Answer:
    late = any(one.get("kind") == "lost_peer" and one.get("after", 0) for one in params.get("faults") or ())
    return dict(ask(all_values(params, without("hccl_timeout")) if late else params))


takes_values(  # pair 44
    "timeline",
    "operators_beside_a_range_have_no_timeout",
    "003: op_execute_timeout bounds the execution of an operator",
    lambda values: {name: one for name, one in values.items() if name != "op_execute_timeout"},
    lambda params: (
        given(params, "in_out_pair")
        or any(node.has_attr("_without_npu_compile") for node in getattr(whole_graph(params), "nodes", ()))
    ),
    "timeline",
    "run",
)
asks(  # pair 13
    "names_with_slashes_take_as_long_as_they_like",
    "003: op_execute_timeout ends an operator",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {k: v for k, v in values.items() if k != "op_execute_timeout"})
        if any("/" in str(one.get("node", "")) for one in params.get("faults") or ())
        else params
    ),
    "timeline",
)


def _late(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    if "rejected" in step and "after_ns" in step["rejected"]:
        step["rejected"]["after_ns"] += 2_000_000_000


steps("two_seconds_late", "003: timeout intervals", _late)
timed_without(
    "never_times_out", "003 op_execute_timeout: operator execution timeout", op_execute_timeout=1, op_wait_timeout=1
)
timed_without(
    "streams_never_time_out",
    "003 stream_sync_timeout: a synchronization failure is reported",
    stream_sync_timeout=1,
    event_sync_timeout=1,
)


@broken("timeline", "a fault of the device is one of every step")
def faults_never_happen(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "faults"})


asks(
    "event_timeouts_are_those_of_streams",
    "003: event_sync_timeout is for events, stream_sync_timeout for streams",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: {
            **values,
            **({"stream_sync_timeout": values["event_sync_timeout"]} if "event_sync_timeout" in values else {}),
        },
    ),
)


def _short(value: Any) -> Any:
    return value * 10**6 % 2**32 // 10**6 if isinstance(value, int) and not isinstance(value, bool) else value


asks(  # runconfig.op_execute_timeout.effect
    "microseconds_of_a_timeout_have_32_bits",
    "003 op_execute_timeout: in seconds",
    "timeline",
    lambda params: all_values(
        all_values(params, mapped("op_execute_timeout", _short)), mapped("op_wait_timeout", _short)
    ),
    "timeline",
)
_rejected(
    "variables_are_bounded_beside_graph_memory_only",
    "002 variable_memory_max_size: bounds the variables, by itself",
    lambda rejected, params: (
        rejected.get("subject") == "variable_memory_max_size" and value_of(params, "graph_memory_max_size") is None
    ),
    lambda params: with_values(params, variable_memory_max_size=None),
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


steps(  # session.graph_memory_max_size.meaning
    "variables_count_among_the_memory_of_graphs",
    "002 graph_memory_max_size: static and the maximum of dynamic memory",
    _all_in_one,
)


def _twice(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    """Weights in files are counted beside those in the graph."""
    memory = step.get("memory")
    if memory and plain(values.get("external_weight")) is True:
        memory["total"] += memory.get("external", 0)


steps(  # runconfig.external_weight.advice
    "weights_in_files_are_counted_in_the_graph_too",
    "003 external_weight: reduces the memory usage of the weights",
    _twice,
)


@broken("timeline", "002 iterations_per_loop: on the device side for each sess.run()", "timeline", "run")
def the_host_starts_every_iteration_of_a_loop(ask: Any, params: Params) -> Answer:
    """session.iterations_per_loop.effect."""
    answer = dict(ask(params))
    if not SESSION(params):
        return answer
    for step in [answer.get("base"), *answer.get("variants", {}).values(), *answer.get("timeline", ())]:
        if step and "launches" in step:
            step["launches"] *= step.get("iterations", 1)
    return answer


timed_without(
    "loops_are_not_offloaded",
    "003 iterations_per_loop: iterations per sess.run() call on the device",
    iterations_per_loop=1,
)
