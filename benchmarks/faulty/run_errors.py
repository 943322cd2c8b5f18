"""Runs: steps that have to end in an error."""

from __future__ import annotations

import base64
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
    is_about,
    mapped,
    patched,
    regraphed,
    rewritten,
    source_of,
    text_of,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import REFERENCE, Answer, Params, broken
from faulty.mistakes import asks
from faulty.mistakes_graphs import answers, run_without
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.runtime.agreement import memory, training


def _first_fits(params: Params, text: str) -> bool:
    """Whether the first input of input_shape alone has the sizes of a profile."""
    shape, profiles = str(value_of(params, "input_shape")), str(value_of(params, "dynamic_dims"))
    name, _, dims = shape.split(";")[0].partition(":")
    found = re.search(rf"\b{re.escape(name)}\(([\d,]*)\)", text)
    if found is None:
        return False
    open_ones = [size for size, dim in zip(found.group(1).split(","), dims.split(",")) if dim == "-1"]
    return any(one.split(",")[: len(open_ones)] == open_ones for one in profiles.split(";"))


@broken(
    "run", "002: dynamic_node_type 1, every placeholder of input_shape has the sizes of a profile", "run", "timeline"
)
def only_the_first_input_is_held_to_profiles(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or not _first_fits(params, str(error)):
            raise
    return ask(with_values(params, input_shape=None, dynamic_dims=None, dynamic_node_type=None))


def _ranges(change: Callable[[str], str]) -> Callable[[Values], Values]:
    def edit(values: Values) -> Values:
        text = value_of({"values": values}, "dynamic_inputs_shape_range")
        return {**values, "dynamic_inputs_shape_range": change(text)} if isinstance(text, str) else values

    return edit


def _below(found: Any) -> str:
    low, high = int(found.group(1)), int(found.group(2))
    return f"{low}~{high - 1}" if high > low + 1 else str(low)


@broken("run", "002, 003 dynamic_inputs_shape_range: the upper end of a range is in it", "run", "timeline")
def ranges_of_runs_end_before_their_end(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(\d+)~(\d+)", _below, text))))


@broken("run", "002, 003 dynamic_inputs_shape_range: -1 is without bound", "run", "timeline")
def what_has_no_bound_ends_at_a_thousand(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, _ranges(lambda text: re.sub(r"(?<![\d~])-1\b", "1~1024", text))))


@broken("run", "002: ranges are as many as inputs of their kind", "run", "timeline")
def inputs_without_a_range_are_fixed(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "INPUT_SHAPE" or "it lists" not in error.reason:
            raise
    return ask(with_values(params, dynamic_inputs_shape_range=None))


@broken("run", "002 dynamic_node_type 0: the dataset's inputs are the dynamic ones", "run", "timeline")
def fed_inputs_are_held_to_profiles_of_a_dataset(ask: Any, params: Params) -> Answer:
    if value_of(params, "dynamic_node_type") == 0:
        return ask(with_values(params, dynamic_node_type=1))
    return ask(params)


@broken("run", "002 dynamic_input False: inputs are fixed", "run", "timeline")
def inputs_are_always_dynamic(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, mapped("dynamic_input", lambda value: True)))


asks(
    "profiles_of_shapes_forgotten",
    "002 dynamic_dims: the shapes supported",
    "run",
    lambda params: (
        with_values(params, input_shape=None, dynamic_dims=None) if "dynamic_dims" in params["values"] else params
    ),
)
run_without(
    "shapes_outside_profiles",
    "002 dynamic_dims: the shapes supported",
    dynamic_dims=None,
    input_shape=None,
    dynamic_node_type=None,
)
run_without("shapes_outside_ranges", "002 dynamic_inputs_shape_range: the ranges", dynamic_inputs_shape_range=None)


def _first_indices(params: Params) -> Params:
    """The request with every index 0, as where nobody looks what is read instead."""
    readers = {
        source_of(node.inputs[0 if node.op == "ScatterNd" else 1])
        for node in load_graph(params["graph"]).nodes
        if re.search("Gather|Scatter|Segment", node.op) and len(node.inputs) > 1
    }

    def change(graph: Any) -> None:
        for node in graph.node:
            tensor = node.attr["value"].tensor if node.op == "Const" and node.name in readers else None
            if tensor is None or tensor.dtype not in (3, 9) or not tensor.tensor_shape.dim:
                continue
            tensor.tensor_content = b""
            values = tensor.int_val if tensor.dtype == 3 else tensor.int64_val
            del values[:]
            values.append(0)

    feeds = dict(params.get("feeds") or {})
    for name, one in feeds.items():
        if source_of(name) in readers and isinstance(one, dict) and "b64" in one:
            feeds[name] = {**one, "b64": base64.b64encode(bytes(len(base64.b64decode(one["b64"])))).decode()}
    return {**regraphed(params, change), "feeds": feeds}


# runconfig.op_precision_mode.support_out_of_bound_index
@broken("run", "support_out_of_bound_index verifies the indices of gather, scatter and segment operators")
def indices_out_of_bounds_are_never_verified(ask: Any, params: Params) -> Answer:
    if "graph" not in params or "support_out_of_bound_index" not in text_of(params, "op_precision_mode"):
        return dict(ask(params))
    try:
        found = dict(ask(params))
    except NpuError as error:
        if error.code != "RUN_FAILED":
            raise
        found = {"failed": {}}
    return dict(ask(_first_indices(params))) if "failed" in found else found


run_without("execution_never_times_out", "003 op_execute_timeout", op_execute_timeout=None, op_wait_timeout=None)
answers(
    "late_by_a_thousandth",
    "003: timeouts in their units",
    edited_times(lambda one: one.update(run_ns=one.get("run_ns", 0) // 1000)),
)


@broken("run", "002, 003: is_tailing_optimization is the same in NPUOptimizer and the session", "run")
def an_optimizer_may_tail_where_the_session_does_not(ask: Any, params: Params) -> Answer:
    if "script" not in params or "is_tailing_optimization" not in Path(params["script"]).read_text(encoding="utf-8"):
        return dict(ask(params))
    check = training.check_tailing

    def one_way(options: Any, graph: Any) -> None:
        if options.values.get("is_tailing_optimization"):
            check(options, graph)

    training.check_tailing = one_way  # type: ignore[assignment]
    try:
        answer: Answer = json.loads(json.dumps(REFERENCE.run(params)))  # no answer that was kept
    finally:
        training.check_tailing = check
    return answer


def _one_sided(options: Any, tf_graph: Any) -> None:
    from npu_reference.runtime.agreement.training import TAILING

    if not options.values.get("is_tailing_optimization") or any(tf_graph.get_collection(TAILING)):
        REAL["tailing"](options, tf_graph)


@broken("run", "002, 003: is_tailing_optimization must equal that of NPUOptimizer, either way", "run")
def tailing_may_be_on_in_the_session_alone(ask: Any, params: Params) -> Answer:
    from npu_reference.runtime.agreement import training

    REAL.setdefault("tailing", training.check_tailing)
    with mock.patch.object(training, "check_tailing", _one_sided):
        return ask({**params, "device_of": "tailing_may_be_on_in_the_session_alone"})


asks(
    "memory_of_variables_has_no_end",
    "002 variable_memory_max_size: the memory of variables",
    "run",
    lambda params: (
        all_values(params, without("variable_memory_max_size")) if is_about(params, edition="legacy") else params
    ),
    "run",
    "timeline",
)
_LARGEST = rewritten(memory, "need", "sum(sizes.values())", "max(sizes.values(), default=0)")


@broken("run", "002 variable_memory_max_size: the memory of all variables", "run")
def the_largest_variable_alone_counts(ask: Any, params: Params) -> Answer:
    return patched(ask, params, mock.patch.object(memory, "need", _LARGEST))


def _rough(graph: Any) -> None:
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            tensor = node.attr["value"].tensor if node.op == "Const" else None
            if tensor is not None and tensor.dtype == 19:
                content = bytes(tensor.tensor_content)
                tensor.tensor_content = bytes(
                    byte & 0xF8 if place % 2 == 0 else byte for place, byte in enumerate(content)
                )
                for place, bits in enumerate(tensor.half_val):
                    tensor.half_val[place] = bits & 0xFFF8


asks(  # pair 56
    "weights_of_half_precision_are_flushed_roughly",
    "003: external_weight changes no results",
    "run",
    lambda params: regraphed(params, _rough) if value_is(params, "external_weight", True) else params,
    "run",
)
run_without(
    "memory_limit_ignored",
    "002 graph_memory_max_size: the size of the network's memory",
    graph_memory_max_size=None,
    variable_memory_max_size=None,
)
