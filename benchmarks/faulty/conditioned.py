"""Mistakes about graphs that show where the graph is of another form: inside functions, large, under long names."""

from __future__ import annotations

import copy
from typing import Any, Callable, Dict, Iterator, List, Mapping, Set

from faulty.making import (
    Answer,
    Params,
    all_values,
    asks,
    broken,
    changed,
    given,
    graph_of,
    node_change,
    ops_of,
    place,
    to_device,
    to_host,
    value_is,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError
from npu_reference.graphs import frames

_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")


def _functions(graph: Any, ops: Any) -> Set[str]:
    """Functions that operators of these types call, and all that those call."""
    found: Set[str] = set()
    waiting = [node for node in graph.nodes if not ops or node.op in ops]
    while waiting:
        node = waiting.pop()
        values = [*node.proto.attr.values()]
        called = [value.func.name for value in values if value.WhichOneof("value") == "func"]
        called += [one.name for value in values for one in value.list.func]
        for name in {*called, node.proto.op} & set(graph.functions) - found:
            found.add(name)
            waiting.extend(graph.functions[name].body.nodes)
    return found


def _inside(params: Params, *ops: str) -> Callable[[str], bool]:
    """Whether a name is of an operator in a function, one that operators of these types lead to."""
    names = tuple(f"{name}/" for name in _functions(graph_of(params), ops))
    return lambda name: name.startswith(names)


def _otherwise(
    name: str, sentence: str, ops: Any, when: Callable[[Params], bool], change: Callable[[Params], Params]
) -> None:
    """Operators in functions are decided as another question's, where `when` holds."""

    def fault(ask: Any, params: Params) -> Answer:
        answer: Answer = ask(params)
        if not when(params) or not graph_of(params).functions:
            return answer
        is_inside = _inside(params, *ops)
        try:
            other = {one["node"]: one for one in ask(change(params))["nodes"]}
        except NpuError:
            return answer
        answer["nodes"] = [other.get(one["node"], one) if is_inside(one["node"]) else one for one in answer["nodes"]]
        return answer

    fault.__name__ = name
    broken("precision", sentence)(fault)


def _lacks(option: str) -> Callable[[Params], Params]:
    return lambda params: all_values(params, without(option))


def _with_mode(mode: str) -> Callable[[Params], Params]:
    return lambda params: all_values(params, lambda values: {**values, "precision_mode": mode})


_otherwise(
    "types_of_a_file_are_not_looked_for_in_functions",
    "003 customize_dtypes: operators of the type, wherever they are",
    (),
    lambda params: given(params, "customize_dtypes"),
    _lacks("customize_dtypes"),
)
_otherwise(
    "branches_have_the_lists_as_built",
    "002 modify_mixlist: the lists of the network",
    _BRANCHES,
    lambda params: given(params, "modify_mixlist"),
    _lacks("modify_mixlist"),
)
_otherwise(
    "functions_do_not_keep_what_the_graph_says",
    "002 must_keep_origin_dtype: the precision of the graph is kept",
    (),
    lambda params: value_is(params, "precision_mode", "must_keep_origin_dtype"),
    _with_mode("allow_fp32_to_fp16"),
)


def _no_variant(answer: Answer, params: Params) -> None:
    is_inside = _inside(params)
    for one in answer["nodes"]:
        if is_inside(one["node"]):
            one["impl_mode"] = None


changed(
    "precision",
    "functions_have_the_built_in_variants",
    "003 op_select_implmode: of all operators that have several variants",
    _no_variant,
)


def _as_in_graph(one: Dict[str, Any], graph: Any, node: int) -> None:
    one["inputs"] = [dtype.base.name for dtype in graph.input_dtypes(node)]
    one["outputs"] = [dtype.base.name for dtype in graph.output_dtypes(node)]


def _frames_keep(answer: Answer, params: Params) -> None:
    graph = graph_of(params)
    if value_is(params, "precision_mode", "force_fp16") or value_is(params, "precision_mode_v2", "fp16"):
        there = dict(zip((node.name for node in graph.nodes), frames(graph)))
        for one in answer["nodes"]:
            if there.get(one["node"]) is not None:
                _as_in_graph(one, graph, graph.index[one["node"]])


changed(
    "precision",
    "loops_of_version_1_stay_as_they_are",
    "003 force_fp16: every operator that has both types",
    _frames_keep,
)


def _channels(one: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and op.text("data_format") == "NCHW":
        graph = graph_of(params)
        _as_in_graph(one, graph, graph.index[one["node"]])


node_change(
    "channels_first_stay_as_they_are",
    "002 precision_mode: of operators with both types, whatever their format",
    _channels,
)


def _shapeless(answer: Answer, params: Params) -> None:
    graph = graph_of(params)
    for one in answer["nodes"]:
        node = graph.index.get(one["node"])
        if node is not None and "MatMul" in graph.nodes[node].op:
            sources = [graph.edges.src[edge] for edge in graph.in_edges(node)]
            fed = [source for source in sources if graph.nodes[source].op == "Placeholder"]
            if fed and all(graph.static_shape(source, 0) is None for source in fed):
                _as_in_graph(one, graph, node)


changed(
    "precision",
    "products_of_unknown_shape_stay_as_they_are",
    "003 allow_fp32_to_fp16: a cube operator, whatever its shape",
    _shapeless,
)


# Partition


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


def _whole(answer: Answer, params: Params) -> Answer:
    graph = graph_of(params)
    there = [name for geop in answer["geops"] for name in geop["nodes"]]
    return to_host(answer, [name for name in there if _gives(graph, name, "int64")])


def _gives(graph: Any, name: str, dtype: str) -> bool:
    node = graph.index.get(name)
    return node is not None and any(one.name == dtype for one in graph.output_dtypes(node))


place("whole_numbers_stay_on_the_host", "000 mixed computing: what decides is the operator's type", _whole)
asks(
    "long_names_are_cut",
    "001 in_out_pair: operators by their names",
    "partition",
    lambda params: with_pairs(
        params, lambda entries: [[[name[:200] for name in part] for part in entry] for entry in entries]
    ),
)


def _by_beginning(params: Params) -> Params:
    names = [node.name for node in graph_of(params).nodes]

    def found(name: str) -> str:
        return next((one for one in reversed(names) if one.startswith(name)), name)

    return with_pairs(params, lambda entries: [[[found(name) for name in part] for part in one] for one in entries])


asks("names_that_begin_so_will_do", "001 in_out_pair: operators by their names", "partition", _by_beginning)


def _deep(graph: Any) -> Iterator[str]:
    """Operators whose function calls another one, and holds nothing else."""
    for node in graph.nodes:
        if node.proto.op in graph.functions:
            body = graph.functions[node.proto.op].body.nodes
            if len(_functions(graph, (node.op,))) > 1 and all(one.op != "PyFunc" for one in body):
                yield node.name


def _one_level(answer: Answer, params: Params) -> Answer:
    deep = set(_deep(graph_of(params)))
    return to_device(answer, [one["node"] for one in answer["host"] if one["node"] in deep])


place(
    "one_level_of_functions_is_looked_at",
    "000 mixed computing: what the device does not have stays on the host, in functions too",
    _one_level,
)


def _of_windows(params: Params) -> bool:
    with open(params["graph"], "rb") as stream:
        return params["graph"].endswith(".pbtxt") and b"\r\n" in stream.read()


def _unmarked(when: Callable[[Params], bool]) -> Callable[[Answer, Params], Any]:
    """What was built inside the scope is offloaded."""

    def change(answer: Answer, params: Params) -> Any:
        there: List[str] = [one["node"] for one in answer["host"] if one.get("reason") == "SCOPE"]
        return to_device(answer, there) if there and when(params) else None

    return change


place(
    "marks_are_not_read_from_texts_of_windows",
    "000 without_npu_compile_scope: operators stay on the host",
    _unmarked(_of_windows),
)
place(
    "marks_count_nothing_beside_ranges",
    "000 without_npu_compile_scope and in_out_pair: both keep operators on the host",
    _unmarked(lambda params: given(params, "in_out_pair")),
)


def _middles(answer: Answer, params: Params) -> Answer:
    ops: Mapping[str, Any] = ops_of(params)
    read = {text.lstrip("^").partition(":")[0] for op in ops.values() if op.op != "_Retval" for text in op.inputs}
    given_back = {op.inputs[0].partition(":")[0] for op in ops.values() if op.op == "_Retval"}
    return to_host(copy.deepcopy(answer), sorted(given_back & read))


place(
    "what_is_fetched_in_the_middle_stays_on_the_host",
    "000 mixed computing: only what the device does not have stays on the host",
    _middles,
)
