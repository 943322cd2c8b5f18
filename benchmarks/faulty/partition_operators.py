"""Partition: which operators stay on the host."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Set
from unittest import mock

from faulty.answered import to_device, to_host
from faulty.asked import by_documents, gives_any, graph_of, is_mixed, offloads_ops, ops_of, patched, regraphed
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, of_graph, stays
from npu_reference.compiler import scopes


@mistake("session.enable_scope_fusion_passes.general_not_disablable", ("compile", "timeline"))
def listed_passes_are_all_in_mixed_computing(ask: Any, params: Params) -> Answer:
    if not is_mixed(params) or not gives_any(params, "enable_scope_fusion_passes"):
        return dict(ask(params))
    named = tuple(one._replace(general=False) for one in scopes.SCOPE_PASSES)
    return patched(ask, params, mock.patch.object(scopes, "SCOPE_PASSES", named))


def _grays(params: Params) -> Set[str]:
    return {name for name, entry in params.get("op_list", {}).items() if entry.get("isGray")}


def _grays_offloaded(when: Callable[[Any], bool]) -> Callable[[Answer, Params], Any]:
    def change(answer: Answer, params: Params) -> Answer:
        ops, grays = ops_of(params), _grays(params)
        there = [one["node"] for one in answer["host"] if one.get("reason") == "GRAY"]
        moved = [name for name in there if name in ops and ops[name].op in grays and when(graph_of(params))]
        return to_device(answer, moved)

    return change


fault(
    "beside_a_loop_there_is_no_gray_list",
    "mixed.purpose.host_fallback",
    changed(_grays_offloaded(lambda graph: any(node.op == "LoopCond" for node in graph.nodes))),
    is_mixed,
)


def _wanted(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    marked = {name for name, op in ops.items() if op.has_attr("_without_npu_compile")}
    return to_device(
        answer, [one["node"] for one in answer["host"] if one["node"] in marked and one["reason"] == "GRAY"]
    )


fault(
    "a_scope_turns_around_what_is_gray",
    "mixed.scope.without_npu_compile.additive",
    changed(_wanted),
    by_documents(is_mixed),
)


def _ungray(params: Params) -> Params:
    if not isinstance(params.get("op_list"), dict):
        return params
    return {**params, "op_list": {op: {**entry, "isGray": False} for op, entry in params["op_list"].items()}}


fault("nothing_is_gray", "mixed.partition.identify_first", asks(_ungray))


def _bodies(params: Params) -> Dict[str, List[str]]:
    from faulty.making import graph_of

    return {
        function.signature.name: [node.op for node in function.node_def]
        for function in graph_of(params).to_def().library.function
    }


def _called(op: Any) -> str:
    for key in ("f", "then_branch", "body"):
        if op.has_attr(key):
            return str(op.proto.attr[key].func.name)
    return ""


def _looked_up(answer: Answer, params: Params) -> Any:
    graph, ops = params, ops_of(params)
    bodies = _bodies(graph)
    moved = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "FUNCTION"
        and one["node"] in ops
        and any("LookupTable" in inside for inside in bodies.get(_called(ops[one["node"]]), ()))
    ]
    return to_device(answer, moved) if moved else None


fault("tables_in_functions_are_offloaded", "mixed.supplement.selected_ops", changed(_looked_up), is_mixed)


def _stateless_python(answer: Answer, params: Params) -> Any:
    return to_device(answer, [name for name, op in ops_of(params).items() if op.op == "PyFuncStateless"])


fault("python_without_state_is_offloaded", "mixed.purpose.host_fallback", changed(_stateless_python), is_mixed)
fault("loops_on_the_host", "mixed.partition.identify_first", stays("While", "StatelessWhile"))
fault("calls_on_the_host", "mixed.partition.identify_first", stays("PartitionedCall", "StatefulPartitionedCall"))
fault(
    "queues_offloaded",
    "mixed.supplement.selected_ops",
    changed(offloads_ops(("FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2"))),
    is_mixed,
)
fault("matmul_on_the_host", "mixed.partition.identify_first", stays("MatMul", "BatchMatMul", "BatchMatMulV2"), is_mixed)
fault("identities_on_the_host", "mixed.partition.identify_first", stays("Identity", "IdentityN"), is_mixed)
fault(
    "random_on_the_host",
    "mixed.retain.example_rest_device",
    stays("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"),
    is_mixed,
)


@mistake("mixed.fused_bn_v3.fifth_output")
def batch_norm_never_offloaded(ask: Any, params: Params) -> Answer:
    moved = [node.name for node in graph_of(params).nodes if node.op == "FusedBatchNormV3"]
    return to_host(ask(params), moved) if is_mixed(params) else ask(params)


def _unmarked(definition: Any) -> None:
    for node in definition.node:
        if node.op in ("Mul", "Multiply"):
            node.attr.pop("_without_npu_compile", None)


fault("scope_of_sums_only", "mixed.retain.example_add_mul_host", of_graph(_unmarked), is_mixed)


def _last_split(answer: Answer, params: Params) -> None:
    for geop in answer["geops"]:
        if len(geop["nodes"]) > 3:
            names = sorted(geop["nodes"])
            extra = {**copy.deepcopy(geop), "name": "GeOp_more", "nodes": names[2:]}
            geop["nodes"] = names[:2]
            answer["geops"].append(extra)
            return


fault(
    "geops_larger_than_three_are_split",
    "mixed.partition.geop_split",
    changed(_last_split),
    by_documents(lambda params: is_mixed(params) and not params.get("op_list")),
)


def _without_gradients(graph: Any) -> None:
    for node in graph.node:
        if node.op == "FusedBatchNormGradV3":
            for place, text in enumerate(node.input):
                if text.endswith(":5"):
                    node.input[place] = text[:-1] + "4"


fault(
    "gradients_do_not_count_as_readers_of_the_fifth_output",
    "mixed.fused_bn_v3.fifth_output",
    asks(lambda params: regraphed(params, _without_gradients) if is_mixed(params) else params),
)
