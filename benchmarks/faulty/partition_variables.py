"""Partition: variables, data sets and iterations on the host or the device."""

from __future__ import annotations

from typing import Any

from faulty.answered import offloaded, to_host
from faulty.asked import (
    all_values,
    by_documents,
    given,
    gives_any,
    graph_of,
    has_attribute_type,
    in_inference,
    is_about,
    is_mixed,
    ops_of,
    plain_in,
    value_is,
    value_of,
    values_where,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, stays
from npu_conformance.backends.mutants import edits
from npu_reference.errors import NpuError
from npu_reference.graphs import frames

fault(
    "runconfig_takes_mixed_computing_for_nothing",
    "runconfig.mix_compile_mode.session_equivalence",
    asks(lambda params: all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig") else params),
    methods=("partition", "options", "precision", "timeline"),
)


@mistake("runconfig.mix_compile_mode.type")
def resources_take_any_mixed_mode(ask: Any, params: Params) -> Answer:
    """Pair 54."""
    try:
        return dict(ask(params))
    except NpuError as error:
        told = value_of(params, "mix_compile_mode")
        other = error.subject != "mix_compile_mode" or isinstance(told, bool)
        if other or not is_about(params, surface="runconfig") or not has_attribute_type(params, "string", "resource"):
            raise
        return dict(ask(with_values(params, mix_compile_mode=bool(told))))


fault(
    "variables_return_to_the_device_in_inference",
    "runconfig.variable_placement.host",
    asks(values_where(lambda values: plain_in(values, "graph_run_mode") == 0, without("variable_placement"))),
    methods=("partition", "timeline"),
)
fault(
    "loops_are_not_offloaded_unless_mixed",
    "mixed.zh.default_full_offload",
    changed(
        lambda answer, params: to_host(
            answer,
            [
                node.name
                for node, frame in zip(graph_of(params).nodes, frames(graph_of(params)))
                if frame is not None and node.name in offloaded(answer)
            ],
        )
    ),
    by_documents(lambda params: not value_is(params, "mix_compile_mode", True) and is_about(params, edition="legacy")),
)
fault(
    "checks_of_kernels_end_mixed_computing",
    "runconfig.mix_compile_mode.session_equivalence",
    asks(
        lambda params: (
            all_values(params, without("mix_compile_mode"))
            if is_about(params, "runconfig") and gives_any(params, "op_debug_config")
            else params
        )
    ),
)


@mistake("runconfig.enable_data_pre_proc.false")
def getnext_of_mixed_computing_is_offloaded(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and is_mixed(params):
        return ask(with_values(params, enable_data_pre_proc=None))
    return ask(params)


@mistake("mixed.estimator.example")
def one_iteration_ends_mixed_computing(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and given(params, "iterations_per_loop") and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=False))
    return ask(params)


@mistake("mixed.session.use_off_line_implicit", ("partition", "run"))
def the_device_is_asked_for_by_name(ask: Any, params: Params) -> Answer:
    if is_about(params, "session") and not given(params, "use_off_line"):
        return ask({**params, "values": {**params["values"], "use_off_line": False}})
    return ask(params)


@mistake("mixed.default.full_offload")
def long_numbers_are_the_hosts(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if is_mixed(params) or params.get("policy") == "adapter" or value_of(params, "use_off_line") is False:
        return answer
    ops = ops_of(params)
    moved = [name for name in offloaded(answer) if name in ops and getattr(ops[name].attr("T"), "name", "") == "int64"]
    return to_host(answer, moved)


def _input(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    return to_host(answer, [name for name in offloaded(answer) if name in ops and "Iterator" in ops[name].op])


fault(
    "inference_takes_its_input_from_the_host",
    "runconfig.enable_data_pre_proc.true",
    changed(_input),
    by_documents(lambda params: is_about(params, "runconfig", "current") and in_inference(params)),
)
fault(
    "mixed_computing_offloads_get_next_unasked",
    "session.enable_data_pre_proc.false",
    asks(
        lambda params: (
            with_values(params, enable_data_pre_proc=True)
            if is_about(params, "session") and is_mixed(params) and not given(params, "enable_data_pre_proc")
            else params
        )
    ),
)


def _reads(answer: Answer, params: Params) -> Any:
    if not is_about(params, "session", "legacy") or "enable_data_pre_proc" in params["values"] or is_mixed(params):
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "IteratorGetNext"])


fault("device_reads_data_in_legacy", "session.enable_data_pre_proc.default", changed(_reads))
fault(
    "assignments_on_the_host",
    "mixed.partition.identify_first",
    stays("Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp"),
    is_mixed,
)


@mistake("mixed.default.full_offload")
def always_mixed(ask: Any, params: Params) -> Answer:
    if params.get("policy") != "adapter" and "mix_compile_mode" not in params["values"]:
        return ask(with_values(params, mix_compile_mode=True))
    return ask(params)


@mistake("session.use_off_line.false")
def offline_false_is_ignored(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if params.get("policy") != "adapter" else ask(params)


def _all_consts(answer: Answer, params: Params) -> Any:
    graph = graph_of(params)
    if value_of(params, "variable_placement") != "Host":
        return None
    return to_host(answer, [node.name for node in graph.nodes if node.op == "Const"])


fault("constants_beside_host_variables", "runconfig.variable_placement.host", changed(_all_consts), is_mixed)
