"""Partition: variables, data sets and iterations on the host or the device."""

from __future__ import annotations

from typing import Any, Dict, List

from faulty.answered import offloaded, to_host, to_own_geop
from faulty.asked import (
    GRAPHS,
    LISTED,
    TIMED,
    all_nodes,
    all_values,
    given,
    gives_any,
    graph_of,
    has_attribute_type,
    in_inference,
    is_about,
    is_mixed,
    is_profiled,
    mapped,
    ops_of,
    plain,
    plain_in,
    source_of,
    value_is,
    value_of,
    values_where,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, judged_partition, place
from faulty.mistakes_graphs import another_default, stays
from npu_conformance.backends.mutants import edits
from npu_reference.errors import NpuError
from npu_reference.graphs import frames


def _has_op(params: Params, *ops: str) -> bool:
    return any(node.op in ops for node in all_nodes(params))


_LOOPS = ("Enter", "RefEnter", "While", "StatelessWhile")


@broken("partition", "000: iterations are not offloaded in mixed computing, and iterations_per_loop is 1", "partition")
def a_loop_of_the_graph_allows_iterations(ask: Any, params: Params) -> Answer:
    """Pair 90: mixed.iterations.must_be_one, a loop."""
    try:
        return dict(ask(params))
    except NpuError as error:
        if "iterations_per_loop" not in error.subject or not _has_op(params, *_LOOPS):
            raise
        return dict(ask(with_values(params, iterations_per_loop=None)))


@broken("partition", "policy adapter never refuses")
def adapter_never_refuses(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError:
        if params.get("policy") == "adapter":
            return {"geops": [], "host": [], "borders": [], "min_geops": 0, "notes": []}
        raise


# runconfig.mix_compile_mode.session_equivalence
asks(
    "runconfig_takes_mixed_computing_for_nothing",
    "The RunConfig argument and the session key mean the same thing",
    "partition",
    lambda params: all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig") else params,
    "partition",
    "options",
    "precision",
    "timeline",
)
asks(
    "data_of_a_run_config_are_offloaded",
    "003 enable_data_pre_proc False: getnext is not offloaded",
    "partition",
    lambda params: (
        all_values(params, mapped("enable_data_pre_proc", lambda value: True))
        if is_about(params, "runconfig", "current")
        else params
    ),
    "partition",
    "run",
    "timeline",
)
asks(
    "nothing_is_mixed_by_a_run_config",
    "003 mix_compile_mode True: mixed computing",
    "partition",
    lambda params: (
        all_values(params, without("mix_compile_mode")) if is_about(params, "runconfig", "current") else params
    ),
)


def _needed(values: Dict[str, Any]) -> Dict[str, Any]:
    loops = plain(values.get("iterations_per_loop"))
    if isinstance(loops, int) and loops > 1:
        return mapped("enable_data_pre_proc", lambda value: True)(values)
    return values


asks(
    "loops_offload_their_data",
    "003 enable_data_pre_proc False: getnext is not offloaded, whatever the loop",
    "partition",
    lambda params: all_values(params, _needed) if is_about(params, "runconfig", "current") else params,
    "partition",
    "run",
    "timeline",
)
judged_partition(  # pair 49
    "a_profile_keeps_the_dataset_on_the_host",
    "002: enable_data_pre_proc True offloads GetNext",
    lambda params: (
        is_profiled(params) and value_is(params, "enable_data_pre_proc", True) and is_about(params, edition="legacy")
    ),
    lambda answer, params: to_host(
        answer, [node.name for node in graph_of(params).nodes if node.op == "IteratorGetNext"]
    ),
)


@broken("partition", "003: mix_compile_mode is a bool", "partition")
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


# runconfig.variable_placement.device
another_default(
    "partition",
    "variables_of_mixed_computing_are_placed_on_the_host",
    "Default value: Device",
    "variable_placement",
    "Host",
    lambda params, values: plain(values.get("mix_compile_mode")) is True,
    "partition",
    *TIMED,
)
# runconfig.variable_placement.host
asks(
    "variables_return_to_the_device_in_inference",
    "Host keeps the variables on the host in online inference, too",
    "partition",
    values_where(lambda values: plain_in(values, "graph_run_mode") == 0, without("variable_placement")),
    "partition",
    "timeline",
)


def _named(answer: Answer, params: Params, *ops: str) -> List[str]:
    found = ops_of(params)
    return [name for name in offloaded(answer) if name in found and found[name].op in ops]


judged_partition(
    "getnext_is_offloaded_for_loops_only",
    "002: with enable_data_pre_proc True, GetNext is offloaded",
    lambda params: value_of(params, "iterations_per_loop") in (None, 1),
    lambda answer, params: to_host(answer, _named(answer, params, "IteratorGetNext", "IteratorGetNextSync")),
)
judged_partition(
    "loops_are_not_offloaded_unless_mixed",
    "001: by default all compute operators run on the device",
    lambda params: not value_is(params, "mix_compile_mode", True) and is_about(params, edition="legacy"),
    lambda answer, params: to_host(
        answer,
        [
            node.name
            for node, frame in zip(graph_of(params).nodes, frames(graph_of(params)))
            if frame is not None and node.name in offloaded(answer)
        ],
    ),
)
asks(
    "checks_of_kernels_end_mixed_computing",
    "003 mix_compile_mode: the argument means what the session's key means",
    "partition",
    lambda params: (
        all_values(params, without("mix_compile_mode"))
        if is_about(params, "runconfig") and gives_any(params, "op_debug_config")
        else params
    ),
    "partition",
)


@broken("partition", "003 L142: True: mixed computing, in inference too")
def mixed_computing_of_runconfig_is_for_training(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and in_inference(params) and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=None))
    return ask(params)


@broken("partition", "003 L993: False: GetNext is not offloaded, in mixed computing too")
def getnext_of_mixed_computing_is_offloaded(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and is_mixed(params):
        return ask(with_values(params, enable_data_pre_proc=None))
    return ask(params)


_CONTROL_FLOW = {"Enter", "Switch", "Merge", "Exit", "NextIteration"}


@broken(
    "partition", "003 L695-702: Host: the variable is on the host; beside control flow that may fail, not be undone"
)
def host_variables_give_way_to_loops(ask: Any, params: Params) -> Answer:
    here = value_of(params, "variable_placement") == "Host" and params.get("policy") != "adapter"
    if here and any(op.op in _CONTROL_FLOW for op in ops_of(params).values()):
        return ask(with_values(params, variable_placement="Device"))
    return ask(params)


@broken("partition", "000 L13: mix_compile_mode=True, iterations_per_loop=1")
def one_iteration_ends_mixed_computing(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and given(params, "iterations_per_loop") and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=False))
    return ask(params)


@broken("partition", "000: the samples never set use_off_line, and run on the device", "partition", "run")
def the_device_is_asked_for_by_name(ask: Any, params: Params) -> Answer:
    if is_about(params, "session") and not given(params, "use_off_line"):
        return ask({**params, "values": {**params["values"], "use_off_line": False}})
    return ask(params)


@broken("partition", "003 variable_placement Device: variables are on the device, of integers too")
def counters_are_variables_of_the_host(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not value_is(params, "variable_placement", "Device"):
        return answer
    moved = [
        node.name
        for node in graph_of(params).nodes
        if node.op in ("VarHandleOp", "VariableV2", "Variable") and getattr(node.attr("dtype"), "name", "") == "int64"
    ]
    return to_host(answer, moved, "VARIABLE_PLACEMENT")


@broken("partition", "000: without mixed computing every compute operator is offloaded, of 64 bits too")
def long_numbers_are_the_hosts(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if is_mixed(params) or params.get("policy") == "adapter" or value_of(params, "use_off_line") is False:
        return answer
    ops = ops_of(params)
    moved = [name for name in offloaded(answer) if name in ops and getattr(ops[name].attr("T"), "name", "") == "int64"]
    return to_host(answer, moved)


asks(  # session.enable_data_pre_proc.false
    "whoever_mentions_the_option_wants_it",
    "002 enable_data_pre_proc False: GetNext stays on the host",
    "partition",
    lambda params: (
        all_values(params, mapped("enable_data_pre_proc", lambda value: True))
        if is_about(params, "session", "legacy")
        else params
    ),
    "partition",
)


def _input(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    return to_host(answer, [name for name in offloaded(answer) if name in ops and "Iterator" in ops[name].op])


judged_partition(  # runconfig.enable_data_pre_proc.true
    "inference_takes_its_input_from_the_host",
    "003 enable_data_pre_proc True: GetNext is offloaded",
    lambda params: is_about(params, "runconfig", "current") and in_inference(params),
    _input,
)
# session.enable_data_pre_proc.default, session.enable_data_pre_proc.false
asks(
    "mixed_computing_offloads_get_next_unasked",
    "GetNext stays on the host unless enable_data_pre_proc is True",
    "partition",
    lambda params: (
        with_values(params, enable_data_pre_proc=True)
        if is_about(params, "session") and is_mixed(params) and not given(params, "enable_data_pre_proc")
        else params
    ),
)


def _references_stay(answer: Answer, params: Params) -> None:
    if value_of(params, "variable_placement") != "Host":
        return
    ops = ops_of(params)
    kept = {name for name, op in ops.items() if op.op == "VariableV2"}
    users = {
        name
        for name, op in ops.items()
        if op.op.startswith("Assign") and any(source_of(text) in kept for text in op.inputs)
    }
    there = [one["node"] for one in answer["host"] if one["node"] in kept | users]
    to_own_geop(answer, there)


# runconfig.variable_placement.host
place("reference_variables_stay_on_the_device", "with Host the variables are on the host", _references_stay)


def _host_variables(answer: Answer, params: Params) -> Any:
    if value_of(params, "variable_placement") != "Host":
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "VarHandleOp"])


place("handles_stay_on_the_device", "003 variable_placement Host: deployed on the host", _host_variables)
asks(
    "no_line_off",
    "002 use_off_line False: on the CPU of the host",
    "partition",
    lambda params: with_values(params, use_off_line=None),
)
asks(
    "scope_without_mixing",
    "000: in mixed computing, additional operators by without_npu_compile_scope",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=True)
        if "mix_compile_mode" not in params["values"]
        and "in_out_pair" not in params["values"]
        and any(node.attr("_without_npu_compile", False) for node in graph_of(params).nodes)
        else params
    ),
)


def _reads(answer: Answer, params: Params) -> Any:
    if not is_about(params, "session", "legacy") or "enable_data_pre_proc" in params["values"] or is_mixed(params):
        return None
    graph = graph_of(params)
    host = [one["node"] for one in answer["host"] if one["node"] in graph.index]
    return edits.to_device(answer, [name for name in host if graph.nodes[graph.index[name]].op == "IteratorGetNext"])


changed("partition", "device_reads_data_in_legacy", "002 enable_data_pre_proc: False by default", _reads)
stays("assignments_on_the_host", LISTED, "Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp")


@broken("partition", "000: without mix_compile_mode all compute operators are offloaded")
def always_mixed(ask: Any, params: Params) -> Answer:
    if params.get("policy") != "adapter" and "mix_compile_mode" not in params["values"]:
        return ask(with_values(params, mix_compile_mode=True))
    return ask(params)


@broken("partition", "002 use_off_line: False: the host's CPU executes")
def offline_false_is_ignored(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if params.get("policy") != "adapter" else ask(params)


@broken("partition", "002 enable_data_pre_proc: False: getnext is not offloaded")
def get_next_always_offloaded(ask: Any, params: Params) -> Answer:
    if params.get("policy") == "adapter":
        return ask(params)
    return ask(with_values(params, enable_data_pre_proc=True))


@broken("partition", "002 enable_data_pre_proc: True: getnext is offloaded")
def get_next_never_offloaded(ask: Any, params: Params) -> Answer:
    if params.get("policy") == "adapter":
        return ask(params)
    return ask(with_values(params, enable_data_pre_proc=False))


def _all_consts(answer: Answer, params: Params) -> Any:
    graph = graph_of(params)
    if value_of(params, "variable_placement") != "Host":
        return None
    return to_host(answer, [node.name for node in graph.nodes if node.op == "Const"])


place("constants_beside_host_variables", "003 variable_placement: variables", _all_consts)


def _references_only(params: Params) -> bool:
    kinds = {node.op for node in graph_of(params).nodes}
    return bool(kinds & {"VariableV2", "Variable"}) and "VarHandleOp" not in kinds


# runconfig.variable_placement.host
asks(
    "references_are_no_variables_to_place",
    "Host: the variable is deployed on the host",
    "partition",
    lambda params: (
        with_values(params, variable_placement=None)
        if value_is(params, "variable_placement", "Host") and _references_only(params)
        else params
    ),
    "partition",
)
asks(  # runconfig.enable_data_pre_proc.true, runconfig.enable_data_pre_proc.default
    "the_iterator_goes_by_what_is_given_alone",
    "003 enable_data_pre_proc: the iterator is offloaded by default",
    "partition",
    lambda params: (
        with_values(params, enable_data_pre_proc=False)
        if is_about(params, "runconfig") and not given(params, "enable_data_pre_proc")
        else params
    ),
    *GRAPHS,
)
