"""Runs: steps that have to end in an error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable
from unittest import mock

from faulty.asked import (
    REAL,
    Values,
    all_values,
    edited_times,
    in_values,
    mapped,
    patched,
    rewritten,
    value_of,
    with_values,
    without,
)
from faulty.making import REFERENCE, Answer, Params, fault, mistake
from faulty.operators import asks, of_ranks
from npu_reference.runtime.agreement import memory, training


def _ranges(change: Callable[[str], str]) -> Callable[[Values], Values]:
    def edit(values: Values) -> Values:
        text = value_of({"values": values}, "dynamic_inputs_shape_range")
        return {**values, "dynamic_inputs_shape_range": change(text)} if isinstance(text, str) else values

    return edit


def _below(found: Any) -> str:
    low, high = int(found.group(1)), int(found.group(2))
    return f"{low}~{high - 1}" if high > low + 1 else str(low)


@mistake("session.dynamic_inputs_shape_range.range_tilde", ("run", "timeline"))
def ranges_of_runs_end_before_their_end(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(\d+)~(\d+)", _below, text))))


@mistake("session.dynamic_inputs_shape_range.unbounded", ("run", "timeline"))
def what_has_no_bound_ends_at_a_thousand(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(?<![\d~])-1\b", "1~1024", text))))


@mistake("session.dynamic_node_type.0", ("run", "timeline"))
def fed_inputs_are_held_to_profiles_of_a_dataset(ask: Any, params: Params) -> Answer:
    if value_of(params, "dynamic_node_type") == 0:
        return ask(with_values(params, dynamic_node_type=1))
    return ask(params)


@mistake("session.dynamic_input.false", ("run", "timeline"))
def inputs_are_always_dynamic(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("dynamic_input", lambda value: True)))


fault(
    "shapes_outside_profiles",
    "session.dynamic_dims.only_profiles",
    asks(in_values(without("dynamic_dims", "input_shape", "dynamic_node_type"))),
)
fault(
    "shapes_outside_ranges",
    "session.dynamic_inputs_shape_range.range_tilde",
    asks(in_values(without("dynamic_inputs_shape_range"))),
)
fault(
    "execution_never_times_out",
    "runconfig.op_execute_timeout.effect",
    asks(in_values(without("op_execute_timeout", "op_wait_timeout"))),
)
fault(
    "late_by_a_thousandth",
    "runconfig.op_execute_timeout.effect",
    of_ranks(edited_times(lambda one: one.update(run_ns=one.get("run_ns", 0) // 1000))),
)


@mistake("session.is_tailing_optimization.must_match")
def an_optimizer_may_tail_where_the_session_does_not(ask: Any, params: Params) -> Answer:
    if "script" not in params or "is_tailing_optimization" not in Path(params["script"]).read_text(encoding="utf-8"):
        return dict(ask(params))
    check = training.check_tailing

    def one_way(options: Any, graph: Any) -> None:
        if options.typed.compiler.tailing:
            check(options, graph)

    training.check_tailing = one_way  # type: ignore[assignment]
    try:
        answer: Answer = json.loads(json.dumps(REFERENCE.run(params)))  # no answer that was kept
    finally:
        training.check_tailing = check
    return answer


def _one_sided(options: Any, tf_graph: Any) -> None:
    from npu_reference.runtime.agreement.training import TAILING

    if not options.typed.compiler.tailing or any(tf_graph.get_collection(TAILING)):
        REAL["tailing"](options, tf_graph)


@mistake("runconfig.is_tailing_optimization.pair")
def tailing_may_be_on_in_the_session_alone(ask: Any, params: Params) -> Answer:
    from npu_reference.runtime.agreement import training

    REAL.setdefault("tailing", training.check_tailing)
    with mock.patch.object(training, "check_tailing", _one_sided):
        return ask({**params, "device_of": "tailing_may_be_on_in_the_session_alone"})


_LARGEST = rewritten(memory, "need", "sum(sizes.values())", "max(sizes.values(), default=0)")


@mistake("session.variable_memory_max_size.meaning")
def the_largest_variable_alone_counts(ask: Any, params: Params) -> Answer:
    return patched(ask, params, mock.patch.object(memory, "need", _LARGEST))


fault(
    "memory_limit_ignored",
    "session.graph_memory_max_size.meaning",
    asks(in_values(without("graph_memory_max_size", "variable_memory_max_size"))),
)
