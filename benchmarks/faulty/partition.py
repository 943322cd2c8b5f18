"""Mistakes in partitioning: what goes to the device, what splits GEOPs, ranges, borders and signatures."""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterable, List

from faulty.making import Answer, Params, broken, changed, graph_of, plain, to_host, with_values
from npu_conformance.backends.mutants import edits
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def


def _mixed(params: Params) -> bool:
    return plain(params["values"].get("mix_compile_mode")) is True and params.get("policy") != "adapter"


def stays(name: str, sentence: str, *ops: str) -> None:
    """These operators stay on the host although they are on the list."""

    def change(answer: Answer, params: Params) -> Any:
        moved = [node.name for node in graph_of(params).nodes if node.op in ops]
        return to_host(answer, moved) if _mixed(params) else None

    changed("partition", name, sentence, change)


def goes(name: str, sentence: str, chosen: Callable[[Any], bool]) -> None:
    """These operators go into the first GEOP although they may not."""

    def change(answer: Answer, params: Params) -> Any:
        graph = graph_of(params)
        host = [entry["node"] for entry in answer["host"]]
        moved = [name for name in host if name in graph.index and chosen(graph.nodes[graph.index[name]])]
        return edits.to_device(answer, moved)

    changed("partition", name, sentence, change)


def other_graph(name: str, sentence: str, change: Callable[[Any], None], wanted: Callable[[Params], bool]) -> None:
    """The graph is read with an edit of its GraphDef."""

    class Reader(ReferenceBackend):
        def graph(self, params: Params) -> Any:
            definition = super().graph(params).to_def()
            change(definition)
            return graph_from_def(definition)

    def fault(ask: Any, params: Params) -> Answer:
        return Reader().partition(params) if wanted(params) else ask(params)

    fault.__name__ = name
    broken("partition", sentence)(fault)


# What may go

_LISTED = "000: offloadable operators are offloaded"
stays("constants_on_the_host", _LISTED, "Const")
stays("matmul_on_the_host", _LISTED, "MatMul", "BatchMatMul", "BatchMatMulV2")
stays("identities_on_the_host", _LISTED, "Identity", "IdentityN")
stays("reshapes_on_the_host", _LISTED, "Reshape", "Shape", "Transpose", "Squeeze", "ExpandDims")
stays("random_on_the_host", _LISTED, "RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt")
stays("assignments_on_the_host", _LISTED, "Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp")
stays("control_nodes_on_the_host", _LISTED, "NoOp")
stays("selects_on_the_host", _LISTED, "Select", "SelectV2", "Less", "Greater", "Equal", "LogicalAnd")

goes("python_on_the_device", "000: py_func remains on the host", lambda node: node.op in ("PyFunc", "PyFuncStateless"))
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
goes(
    "scoped_operators_on_the_device",
    "000: without_npu_compile_scope configures operators that are not offloaded",
    lambda node: bool(node.attr("_without_npu_compile", False)),
)
goes(
    "texts_on_the_device",
    "000: unsupported operators remain on the host",
    lambda node: any("string" in str(node.attr(key)).lower() for key in ("T", "dtype", "DstT", "out_type")),
)


@broken("partition", "000: a FusedBatchNormV3 whose fifth output nobody uses is as any other")
def batch_norm_never_offloaded(ask: Any, params: Params) -> Answer:
    moved = [node.name for node in graph_of(params).nodes if node.op == "FusedBatchNormV3"]
    return to_host(ask(params), moved) if _mixed(params) else ask(params)


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
_op_list(
    "heavy_stays",
    "the operator list: a heavy operator is on it",
    lambda op, entry: None if entry.get("isHeavy") else entry,
)
_op_list(
    "list_in_any_letters",
    "operator types are written as TensorFlow writes them",
    lambda op, entry: entry if op[:1].isupper() and op != "AddV2" else None,
)


@broken("partition", "000: without mix_compile_mode all compute operators are offloaded")
def always_mixed(ask: Any, params: Params) -> Answer:
    if params.get("policy") != "adapter" and "mix_compile_mode" not in params["values"]:
        return ask(with_values(params, mix_compile_mode=True))
    return ask(params)


@broken("partition", "002 use_off_line: False: the host's CPU executes")
def offline_false_is_ignored(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, use_off_line=None)) if params.get("policy") != "adapter" else ask(params)


@broken("partition", "003 variable_placement: Host: the variable is deployed on the host")
def placed_variables_on_the_device(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, variable_placement=None))


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


# Scopes


def _unmarked(definition: Any) -> None:
    for node in definition.node:
        if node.op in ("Mul", "Multiply"):
            node.attr.pop("_without_npu_compile", None)


def _unmarked_in_functions(definition: Any) -> None:
    for function in definition.library.function:
        for node in function.node_def:
            node.attr.pop("_without_npu_compile", None)


def _marked_readers(definition: Any) -> None:
    marked = {node.name for node in definition.node if "_without_npu_compile" in node.attr}
    for node in definition.node:
        if any(text.split(":")[0] in marked for text in node.input):
            node.attr["_without_npu_compile"].b = True


other_graph("scope_of_sums_only", "000: tf.add and tf.multiply, both in the scope, stay", _unmarked, _mixed)
other_graph("scope_not_in_functions", "000: the operators in the scope stay", _unmarked_in_functions, _mixed)
other_graph("scope_of_readers_too", "000: the operators in the scope stay, no others", _marked_readers, _mixed)


# What orders and what splits


def _fewer_controls(definition: Any) -> None:
    """Of several control inputs the first alone is kept."""
    for node in definition.node:
        controls = [text for text in node.input if text.startswith("^")]
        kept = [text for text in node.input if not text.startswith("^")] + controls[:1]
        del node.input[:]
        node.input.extend(kept)


other_graph("one_control_edge_of_many", "TensorFlow: every control edge orders", _fewer_controls, _mixed)


def _merged(answer: Answer, groups: Iterable[List[int]]) -> Answer:
    return edits.merged(answer, groups)


changed(
    "partition",
    "first_two_geops_are_one",
    "000: the graph is partitioned into multiple GEOPs, which can run",
    lambda answer, params: _merged(answer, [[0, 1]]) if len(answer["geops"]) > 1 and _mixed(params) else None,
)
changed(
    "partition",
    "all_geops_are_one",
    "000: the graph is partitioned into multiple GEOPs, which can run",
    lambda answer, params: (
        _merged(answer, [list(range(len(answer["geops"])))]) if len(answer["geops"]) > 1 and _mixed(params) else None
    ),
)


@broken("partition", "000: GEOPs are split by what stays on the host, not by names")
def split_by_name_scope(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not _mixed(params):
        return answer
    found = []
    for geop in answer["geops"]:
        by: Any = {}
        for name in geop["nodes"]:
            by.setdefault(name.rpartition("/")[0], []).append(name)
        found += [{**copy.deepcopy(geop), "nodes": nodes} for nodes in by.values()]
    return {**answer, "geops": found}


@broken("partition", "000: GEOPs have no bound on their size")
def geops_of_sixteen(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    found = []
    for geop in answer["geops"]:
        for at in range(0, len(geop["nodes"]), 16):
            found.append({**copy.deepcopy(geop), "nodes": geop["nodes"][at : at + 16]})
    return {**answer, "geops": found}


@broken("partition", "000: operators that are offloaded are in GEOPs")
def single_operators_stay(ask: Any, params: Params) -> Answer:
    """A GEOP of one operator is not worth its launch."""
    answer = ask(params)
    if not _mixed(params):
        return answer
    return to_host(answer, [geop["nodes"][0] for geop in answer["geops"] if len(geop["nodes"]) == 1])


# Ranges of in_out_pair


def _pairs(name: str, sentence: str, change: Callable[[List[Any]], List[Any]]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        return ask(edits.with_pairs(params, change))

    fault.__name__ = name
    broken("partition", sentence)(fault)


_RANGE = "001: all operators within in_nodes, out_nodes"
_pairs("first_pair_only", _RANGE, lambda entries: entries[:1])
_pairs("first_in_node_only", _RANGE, lambda entries: [[one[0][:1], one[1]] for one in entries])
_pairs("first_out_node_only", _RANGE, lambda entries: [[one[0], one[1][:1]] for one in entries])
_pairs("pairs_turned_round", _RANGE, lambda entries: [[one[1], one[0]] for one in entries])


def _range_without(which: int) -> Callable[[Any, Params], Answer]:
    """The ends of a range on one side are not in it."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        ends: List[str] = []
        edits.with_pairs(params, lambda entries: ends.extend(n for one in entries for n in one[which]) or entries)
        if not ends or not _mixed(params):
            return answer
        if plain(params["values"].get("in_out_pair_flag", True)) is True:
            return to_host(answer, ends)
        return edits.to_device(answer, ends)

    return fault


for _name, _which in (("ranges_without_their_first", 0), ("ranges_without_their_last", 1)):
    _fault = _range_without(_which)
    _fault.__name__ = _name
    broken("partition", _RANGE)(_fault)


@broken("partition", "002 in_out_pair_flag: False: not offloaded")
def range_flag_ignored(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, in_out_pair_flag=None)) if params.get("policy") != "adapter" else ask(params)


@broken("partition", "002 in_out_pair_flag: False: what lies outside goes where it belongs")
def range_flag_turned_round(ask: Any, params: Params) -> Answer:
    if "in_out_pair" in params["values"] and params.get("policy") != "adapter":
        flag = plain(params["values"].get("in_out_pair_flag", True))
        return ask(with_values(params, in_out_pair_flag=not flag) if isinstance(flag, bool) else params)
    return ask(params)


@broken("partition", "001: the range is offloaded, the rest stays")
def ranges_are_ignored(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, in_out_pair=None)) if params.get("policy") != "adapter" else ask(params)


@broken("partition", "a range that holds an operator that cannot be offloaded is refused")
def ranges_never_refused(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code not in ("RANGE_UNSUPPORTED", "RANGE_SCOPE"):
            raise
        return ask(with_values(params, in_out_pair=None))


# Borders and signatures


changed(
    "partition",
    "borders_the_other_way",
    "000: data transfer is from host to device and back",
    lambda answer, params: {
        **answer,
        "borders": [
            {**one, "direction": {"h2d": "d2h", "d2h": "h2d"}.get(one["direction"], one["direction"])}
            for one in answer["borders"]
        ],
    },
)
changed(
    "partition",
    "feeds_are_no_borders",
    "000: what the host gives the device is transferred",
    lambda answer, params: {
        **answer,
        "borders": [
            one
            for one in answer["borders"]
            if graph_of(params).nodes[graph_of(params).index[one["source"].rpartition(":")[0]]].op
            not in ("Placeholder", "_Arg", "PlaceholderWithDefault")
        ],
    },
)


@broken("partition", "000: a tensor is copied by its slot")
def borders_of_slot_nought(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for one in answer["borders"]:
        one["source"] = one["source"].rpartition(":")[0] + ":0"
    for geop in answer["geops"]:
        for key in ("args", "rets"):
            geop[key] = [name.replace("_1_", "_0_") for name in geop.get(key, [])]
    return answer


@broken("partition", "a GEOP takes each tensor once")
def arguments_of_the_first_node(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for geop in answer["geops"]:
        geop["args"] = geop.get("args", [])[:1]
    return answer


@broken("partition", "a GEOP returns what others read")
def returns_everything(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for geop in answer["geops"]:
        told = set(geop.get("rets", []))
        geop["rets"] = sorted(told | {f"{name}_0_retval" for name in geop["nodes"] if f"{name}:0" not in told})
    return answer


# Reasons, notes, names


changed(
    "partition",
    "one_reason_for_all",
    "an operator stays for a reason",
    lambda answer, params: {**answer, "host": [{**one, "reason": "UNSUPPORTED_OP"} for one in answer["host"]]},
)
changed("partition", "never_a_note", "what differs is told", lambda answer, params: {**answer, "notes": []})


@broken("partition", "every operator has a place")
def idle_operators_forgotten(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    graph = graph_of(params)
    idle = {node.name for node in graph.nodes if not node.inputs and not graph.out_edges(node.id)}
    return {**to_host(answer, idle), "host": [one for one in answer["host"] if one["node"] not in idle]}


@broken("partition", "every operator has one place")
def host_operators_in_both_places(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if answer["geops"] and answer["host"] and _mixed(params):
        answer["geops"][0]["nodes"] = [*answer["geops"][0]["nodes"], answer["host"][0]["node"]]
    return answer


@broken("partition", "what is not needed for the fetches is not in the graph")
def fetches_are_ignored(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key not in ("fetches", "feeds")})


@broken("partition", "003 mix_compile_mode on NPURunConfig enables mixed computing")
def run_config_is_never_mixed(ask: Any, params: Params) -> Answer:
    if params["surface"] == "runconfig" and "mix_compile_mode" in params["values"]:
        return ask(with_values(params, mix_compile_mode=False))
    return ask(params)
