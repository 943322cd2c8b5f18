"""Partition: which operators stay on the host."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, List, Sequence, Set
from unittest import mock

from faulty.answered import offloaded, to_device, to_host, to_own_geop
from faulty.asked import (
    GRAPHS,
    LISTED,
    given,
    gives_any,
    graph_of,
    in_inference,
    is_mixed,
    offloads_ops,
    ops_of,
    pairs_of,
    patched,
    readers_of,
    regraphed,
    source_of,
    types_of,
    value_of,
)
from faulty.making import REFERENCE, Answer, Params, broken
from faulty.mistakes import asks, judged_partition, place
from faulty.mistakes_graphs import goes, other_graph, stays
from npu_reference.compiler import scopes


@broken("partition", "002 enable_scope_fusion_passes: general rules cannot be switched off", "compile", "timeline")
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


place(
    "large_graphs_have_no_gray_list",
    "000 mixed computing: operators that the device is not to compute stay on the host",
    _grays_offloaded(lambda graph: len(graph.nodes) > 90),
)
place(
    "beside_a_loop_there_is_no_gray_list",
    "000 mixed computing: operators that the device is not to compute stay on the host",
    _grays_offloaded(lambda graph: any(node.op == "LoopCond" for node in graph.nodes)),
)


def _wanted(answer: Answer, params: Params) -> Answer:
    ops = ops_of(params)
    marked = {name for name, op in ops.items() if op.has_attr("_without_npu_compile")}
    return to_device(
        answer, [one["node"] for one in answer["host"] if one["node"] in marked and one["reason"] == "GRAY"]
    )


judged_partition(  # mixed.scope.without_npu_compile.additive
    "a_scope_turns_around_what_is_gray",
    "000 without_npu_compile_scope: adds operators that stay, and takes none to the device",
    is_mixed,
    _wanted,
)


def _op_list(name: str, sentence: str, change: Callable[[str, Any], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        if not isinstance(params.get("op_list"), dict):
            return ask(params)
        found = {op: change(op, dict(entry)) for op, entry in params["op_list"].items()}
        return ask({**params, "op_list": {op: entry for op, entry in found.items() if entry is not None}})

    fault.__name__ = name
    broken("partition", sentence)(fault)


_op_list(
    "gray_is_unlisted",
    "the operator list: a gray operator is on it",
    lambda op, entry: None if entry.get("isGray") else entry,
)
_op_list(
    "nothing_is_gray",
    "the operator list: a gray operator follows its neighbours",
    lambda op, entry: {**entry, "isGray": False},
)


def _tables(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    moved = [one["node"] for one in answer["host"] if one["node"] in ops and "LookupTable" in ops[one["node"]].op]
    return to_device(answer, moved) if moved else None


place("tables_are_looked_up_on_the_device", "000: resource operators stay in the framework", _tables)


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


place("tables_in_functions_are_offloaded", "000: resource operators stay in the framework", _looked_up)


def _edges(params: Params, controls: bool = True) -> Dict[str, Set[str]]:
    """Which operators each reads."""
    return {
        node.name: {text.lstrip("^").split(":")[0] for text in node.inputs if controls or not text.startswith("^")}
        for node in graph_of(params).nodes
    }


def _sides(answer: Answer, params: Params) -> Any:
    if not pairs_of(params) or value_of(params, "in_out_pair_flag") is False:
        return None
    edges, ops, inside = _edges(params, controls=False), ops_of(params), set(offloaded(answer))
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops
        and ops[one["node"]].op not in ("Const", "Placeholder", "_Arg")
        and edges[one["node"]]
        and all(ops[name].op == "Const" for name in edges[one["node"]] if name in ops)
        and any(one["node"] in edges.get(name, ()) for name in inside)
    ]
    return to_device(answer, moved) if moved else None


place("what_is_made_of_constants_is_in_the_range", "002, M13: side inputs are not part of the range", _sides)


def _fetched_norms(answer: Answer, params: Params) -> Any:
    ops, edges = ops_of(params), graph_of(params).nodes
    read = {text.split(":")[0] for node in edges if node.op != "_Retval" for text in node.inputs if text.endswith(":5")}
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops and ops[one["node"]].op == "FusedBatchNormV3" and one["node"] not in read
    ]
    return to_device(answer, moved) if moved else None


place("a_fifth_output_that_is_only_fetched_is_supported", "000: the fifth output is not supported", _fetched_norms)


def _stateless_python(answer: Answer, params: Params) -> Any:
    return to_device(answer, [name for name, op in ops_of(params).items() if op.op == "PyFuncStateless"])


place("python_without_state_is_offloaded", "000 L2: py_func stays on the host", _stateless_python)


def _counters(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    kept = [
        name
        for name in offloaded(answer)
        if ops[name].op in ("VarHandleOp", "VariableV2", "Variable") and "int64" in types_of(ops[name])
    ]
    readers = readers_of(params, controls=False)
    return to_host(answer, kept + [other for name in kept for other in readers.get(name, ())])


place("counters_live_on_the_host", "003 L695: Device: variables are on the device, whatever their type", _counters)


def _before_the_scope(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    marked = [op for op in ops.values() if op.attr("_without_npu_compile") is True]
    return to_host(answer, [name.lstrip("^").split(":")[0] for op in marked for name in op.inputs], "SCOPE")


place("what_feeds_the_scope_stays_with_it", "000: everything outside of the scope is offloaded", _before_the_scope)


def _called_back(answer: Answer, params: Params) -> Any:
    if not given(params, "in_out_pair"):
        return None
    ops = ops_of(params)
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops
        and ops[one["node"]].op in ("PyFunc", "PyFuncStateless", "EagerPyFunc")
        and ops[one["node"]].attr("_without_npu_compile") is True
    ]
    return to_device(answer, moved) if moved else None


place(
    "the_scope_decides_alone_beside_a_pair",
    "000 without_npu_compile_scope: never moves an operator of the host to the device",
    _called_back,
)
# mixed.fused_bn_v3.fifth_output
place(
    "an_inference_offloads_a_fifth_output",
    "the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    lambda answer, params: to_own_geop(
        answer, [one["node"] for one in answer["host"] if in_inference(params) and one.get("reason") == "FIFTH_OUTPUT"]
    ),
)


def _of_op(name: str, sentence: str, *ops: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        graph = REFERENCE.graph(params)
        return to_host(answer, {node.name for node in graph.nodes if node.op in ops})

    fault.__name__ = name
    broken("partition", sentence)(fault)


_of_op("loops_on_the_host", "While stays on the host", "While", "StatelessWhile")
_of_op("calls_on_the_host", "called functions stay on the host", "PartitionedCall", "StatefulPartitionedCall")
_of_op("variables_on_the_host", "variables stay on the host", "VariableV2", "VarHandleOp", "ReadVariableOp")
place(
    "switches_offloaded_round_python", "000: operators stay on the host", offloads_ops(("Switch", "Merge", "RefSwitch"))
)
place(
    "tables_offloaded",
    "000: resource operators stay in the frontend",
    offloads_ops(("HashTableV2", "LookupTableFindV2")),
)
place("queues_offloaded", "000: resource operators", offloads_ops(("FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2")))
stays("matmul_on_the_host", LISTED, "MatMul", "BatchMatMul", "BatchMatMulV2")
stays("identities_on_the_host", LISTED, "Identity", "IdentityN")
stays("random_on_the_host", LISTED, "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt")
goes(
    "unlisted_on_the_device",
    "000: unsupported operators remain on the host",
    lambda node: (
        node.op
        in ("Print", "PrintV2", "Assert", "StringJoin", "AsString", "Unique", "Where", "NonMaxSuppression", "Cholesky")
    ),
)
goes(
    "fifth_output_on_the_device",
    "000: FusedBatchNormV3's fifth output is not supported in mixed computing",
    lambda node: node.op == "FusedBatchNormV3",
)


@broken("partition", "000: a FusedBatchNormV3 whose fifth output nobody uses is as any other")
def batch_norm_never_offloaded(ask: Any, params: Params) -> Answer:
    moved = [node.name for node in graph_of(params).nodes if node.op == "FusedBatchNormV3"]
    return to_host(ask(params), moved) if is_mixed(params) else ask(params)


def _unmarked(definition: Any) -> None:
    for node in definition.node:
        if node.op in ("Mul", "Multiply"):
            node.attr.pop("_without_npu_compile", None)


other_graph("scope_of_sums_only", "000: tf.add and tf.multiply, both in the scope, stay", _unmarked, is_mixed)


def _marked_readers(definition: Any) -> None:
    marked = {node.name for node in definition.node if "_without_npu_compile" in node.attr}
    for node in definition.node:
        if any(text.split(":")[0] in marked for text in node.input):
            node.attr["_without_npu_compile"].b = True


other_graph("scope_of_readers_too", "000: the operators in the scope stay, no others", _marked_readers, is_mixed)


def _last_split(answer: Answer, params: Params) -> None:
    for geop in answer["geops"]:
        if len(geop["nodes"]) > 3:
            names = sorted(geop["nodes"])
            extra = {**copy.deepcopy(geop), "name": "GeOp_more", "nodes": names[2:]}
            geop["nodes"] = names[:2]
            answer["geops"].append(extra)
            return


judged_partition(
    "geops_larger_than_three_are_split",
    "000: the graph is cut where operators cannot be offloaded, nowhere else",
    lambda params: is_mixed(params) and not params.get("op_list"),
    _last_split,
)


def _overlooked(answer: Answer, params: Params, unseen: Callable[[List[str], Any], bool]) -> Answer:
    """Calls that stay because of a body; `unseen` says of the way to the operator, and of the call, who misses it."""
    nodes = {node.name: node for node in graph_of(params).to_def().node}
    moved = []
    for one in answer["host"]:
        if one["reason"] == "FUNCTION" and one["node"] in nodes and one.get("witness"):
            way = one["witness"][0]["why"].partition(" is a ")[0].split(" -> ")
            if unseen(way, nodes[one["node"]]):
                moved.append(one["node"])
    return to_device(answer, moved)


judged_partition(  # mixed.partition.identify_first
    "the_branch_for_no_is_not_looked_into",
    "000: operators that are not supported remain on the host",
    is_mixed,
    lambda answer, params: _overlooked(answer, params, lambda way, node: node.attr["else_branch"].func.name == way[0]),
)
judged_partition(  # mixed.partition.identify_first
    "the_condition_of_a_loop_is_not_looked_into",
    "000: operators that are not supported remain on the host",
    is_mixed,
    lambda answer, params: _overlooked(answer, params, lambda way, node: node.attr["cond"].func.name == way[0]),
)


def _same_last(graph: Any) -> None:
    for nodes in [graph.node, *(one.node_def for one in graph.library.function)]:
        for node in nodes:
            if node.op in ("Case", "StatelessCase") and len(node.attr["branches"].list.func) > 1:
                node.attr["branches"].list.func[-1].CopyFrom(node.attr["branches"].list.func[0])


# mixed.partition.identify_first, mixed.zh.not_offline_compilable
asks(
    "default_of_a_case_is_not_looked_into",
    "An operator that the device cannot run stays on the host, in whatever branch it stands",
    "partition",
    lambda params: regraphed(params, _same_last),
    "partition",
)


def _without_gradients(graph: Any) -> None:
    for node in graph.node:
        if node.op == "FusedBatchNormGradV3":
            for place, text in enumerate(node.input):
                if text.endswith(":5"):
                    node.input[place] = text[:-1] + "4"


asks(  # mixed.fused_bn_v3.fifth_output
    "gradients_do_not_count_as_readers_of_the_fifth_output",
    "000: the fifth output of FusedBatchNormV3 is not supported in mixed computing",
    "partition",
    lambda params: regraphed(params, _without_gradients) if is_mixed(params) else params,
    "partition",
)


def _called_by(graph: Any, ops: Sequence[str], attr: str) -> Set[str]:
    """The functions that operators of some kinds name in an attribute."""
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    found: Set[str] = set()
    for node in nodes:
        if node.op in ops and attr in node.attr:
            value = node.attr[attr]
            found |= {value.func.name} if value.HasField("func") else {one.name for one in value.list.func}
    return found


_CALLBACKS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


def _unsearched(ops: Sequence[str], attr: str) -> Callable[[Params], Params]:
    """What cannot be offloaded in the bodies that operators name so is taken for constants, which any device has."""

    def change(params: Params) -> Params:
        listed = params.get("op_list")

        def edit(graph: Any) -> None:
            named = _called_by(graph, ops, attr)
            for function in graph.library.function:
                for node in function.node_def if function.signature.name in named else ():
                    types = [*node.attr["Tout"].list.type] if "Tout" in node.attr else [node.attr["T"].type]
                    known = node.op in listed and not listed[node.op].get("isGray") if listed else True
                    if (node.op not in _CALLBACKS and known) or len(types) != 1 or not types[0]:
                        continue
                    node.op = "Const"
                    del node.input[:]
                    node.attr.clear()
                    node.attr["dtype"].type = types[0]
                    node.attr["value"].tensor.dtype = types[0]
                    node.attr["value"].tensor.tensor_shape.SetInParent()

        return regraphed(params, edit) if is_mixed(params) else params

    return change


asks(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "conditions_of_loops_are_not_searched",
    "000: what cannot be offloaded stays on the host, as does the loop whose condition has it",
    "partition",
    _unsearched(("While", "StatelessWhile"), "cond"),
    *GRAPHS,
)
asks(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "functions_in_a_list_are_not_searched",
    "000: what cannot be offloaded stays on the host, as does the operator one of whose branches has it",
    "partition",
    _unsearched(("Case", "StatelessCase"), "branches"),
    *GRAPHS,
)


@broken(  # mixed.purpose.host_fallback, mixed.partition.identify_first
    "partition", "000: what the device cannot compute stays on the host", "partition", "precision"
)
def texts_are_looked_for_among_outputs_alone(ask: Any, params: Params) -> Answer:
    answer: Answer = ask(params)
    if not is_mixed(params):
        return answer
    kinds = ("Equal", "NotEqual", "Shape", "ShapeN", "Size", "Rank")
    host = {one["node"]: one for one in answer.get("host", ())}
    for node in graph_of(params).nodes:
        if node.op not in kinds or getattr(node.attrs.get("T"), "name", "") != "string":
            continue
        if "_without_npu_compile" in node.attrs or node.op not in (params.get("op_list") or kinds):
            continue
        count = sum(not text.startswith("^") for text in node.inputs)
        if node.name in host:
            answer["host"].remove(host[node.name])
            sources = [f"{source_of(text)}_{text.partition(':')[2] or 0}_arg" for text in node.inputs]
            own = {"name": "", "nodes": [node.name], "args": sources, "rets": [f"{node.name}_0_retval"], "copies": []}
            own["name"] = f"GeOp_{len(answer['geops'])}"
            answer["geops"].append(own)
        elif "nodes" in answer and node.name not in {one["node"] for one in answer["nodes"]}:
            outputs = ["bool" if node.op in kinds[:2] else "int32"]
            found = {"node": node.name, "op": node.op, "engine": "vector", "inputs": ["string"] * count}
            answer["nodes"].append({**found, "outputs": outputs, "list": None, "impl_mode": None})
    return answer
