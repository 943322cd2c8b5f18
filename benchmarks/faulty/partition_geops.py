"""Partition: how GEOPs are cut, and what crosses their borders."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List

from faulty.answered import offloaded, to_device, to_host
from faulty.asked import behind, graph_of, is_mixed, readers_of, regraphed, value_of, with_values
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, judged_partition, place
from faulty.mistakes_graphs import other_graph
from npu_conformance.backends.mutants import edits
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.graphs import graph_from_def


def _one_geop(answer: Answer, params: Params) -> Any:
    return to_device({**answer, "geops": answer["geops"][:1]}, offloaded(answer)) if len(answer["geops"]) > 1 else None


place("one_geop_for_all", "000: the graph is partitioned into multiple GEOPs", _one_geop)


def _joined_over_controls(answer: Answer, params: Params) -> None:
    data, all_edges = readers_of(params, controls=False), readers_of(params)
    geops = answer["geops"]
    for first in list(geops):
        for second in list(geops):
            if first is second or first not in geops or second not in geops:
                continue
            ordered = behind(first["nodes"], all_edges) & set(second["nodes"])
            if ordered and not behind(first["nodes"], data) & set(second["nodes"]):
                first["nodes"] = sorted(first["nodes"] + second["nodes"])
                geops.remove(second)


place("control_edges_keep_nothing_apart", "000 L6: GEOPs can be executed; a control edge orders", _joined_over_controls)


def _eight(answer: Answer, params: Params) -> Any:
    return to_host(answer, [name for geop in answer["geops"][8:] for name in geop["nodes"]])


place("eight_geops_at_most", "000 L6: several GEOPs, as many as it takes", _eight)


def _fed_once(answer: Answer, params: Params) -> None:
    seen, kept = set(), []
    for one in answer.get("borders", []):
        if one["direction"] != "d2h" or one["source"].split(":")[0] not in seen:
            kept.append(one)
        if one["direction"] == "d2h":
            seen.add(one["source"].split(":")[0])
    answer["borders"] = kept


place("one_result_of_an_operator_crosses", "000 L6: what crosses is copied, each of an operator's outputs", _fed_once)


def _source(border: Dict[str, Any]) -> str:
    return str(border["source"]).rsplit(":", 1)[0]


def _joined_by_tensors(answer: Answer, params: Params) -> None:
    owner = {name: number for number, geop in enumerate(answer["geops"]) for name in geop["nodes"]}
    into = list(range(len(answer["geops"])))
    for border in answer["borders"]:
        if border["direction"] == "d2d":
            first = into[owner[border["source"].rsplit(":", 1)[0]]] if _source(border) in owner else None
            for consumer in border["consumers"]:
                numbers = [number for number, geop in enumerate(answer["geops"]) if geop["name"] == consumer]
                if first is not None and numbers:
                    into = [first if number == into[numbers[0]] else number for number in into]
    geops: Dict[int, Dict[str, Any]] = {}
    for number, geop in enumerate(answer["geops"]):
        kept = geops.setdefault(into[number], {**geop, "nodes": [], "args": [], "rets": [], "copies": []})
        for member in ("nodes", "args", "rets", "copies"):
            kept[member] = [*kept[member], *(one for one in geop.get(member, ()) if one not in kept[member])]
        kept["nodes"] = sorted(kept["nodes"])
    answer["geops"] = list(geops.values())
    answer["borders"] = [border for border in answer["borders"] if border["direction"] != "d2d"]


place("what_exchanges_tensors_is_one_geop", "000: the split can be executed, without a cycle", _joined_by_tensors)


@broken("partition", "borders are not told")
def no_borders(ask: Any, params: Params) -> Answer:
    return {**ask(params), "borders": []}


@broken("partition", "borders have the dtype float32 always")
def borders_are_float32(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["borders"] = [{**one, "dtype": "float32"} for one in answer["borders"]]
    return answer


@broken("partition", "GEOPs have neither arguments nor returns")
def no_signature(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "args": [], "rets": []} for one in answer["geops"]]
    return answer


@broken("partition", "constants are never copied")
def no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "copies": []} for one in answer["geops"]]
    return answer


@broken("partition", "control edges order nothing")
def control_edges_dropped(ask: Any, params: Params) -> Answer:
    class Uncontrolled(ReferenceBackend):
        def graph(self, params: Params) -> Any:
            definition = super().graph(params).to_def()
            for node in definition.node:
                kept = [text for text in node.input if not text.startswith("^")]
                del node.input[:]
                node.input.extend(kept)
            return graph_from_def(definition)

    return Uncontrolled().partition(params)


@broken("partition", "under policy adapter everything is as documented")
def adapter_as_documented(ask: Any, params: Params) -> Answer:
    return ask({**params, "policy": "documented"})


def _all_in_one_geop(answer: Answer, params: Params) -> Any:
    return edits.merged(answer, [range(len(answer["geops"]))]) if len(answer["geops"]) > 2 else None


place(
    "three_geops_are_one",
    "000: partitions the graph into multiple GEOPs, executed one after the other",
    _all_in_one_geop,
)


def _borders(name: str, sentence: str, change: Callable[[List[Dict[str, Any]]], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        if answer.get("borders"):
            answer["borders"] = change(answer["borders"])

    changed("partition", name, sentence, edit)


_borders(
    "narrow_integers_at_borders",
    "000: tensors are copied as they are",
    lambda found: [{**one, "dtype": "int32"} if one.get("dtype") == "int64" else one for one in found],
)


def _fewer_controls(definition: Any) -> None:
    """Of several control inputs the first alone is kept."""
    for node in definition.node:
        controls = [text for text in node.input if text.startswith("^")]
        kept = [text for text in node.input if not text.startswith("^")] + controls[:1]
        del node.input[:]
        node.input.extend(kept)


other_graph("one_control_edge_of_many", "TensorFlow: every control edge orders", _fewer_controls, is_mixed)
changed(
    "partition",
    "one_reason_for_all",
    "an operator stays for a reason",
    lambda answer, params: {**answer, "host": [{**one, "reason": "UNSUPPORTED_OP"} for one in answer["host"]]},
)


@broken("partition", "every operator has a place")
def idle_operators_forgotten(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    graph = graph_of(params)
    idle = {node.name for node in graph.nodes if not node.inputs and not graph.out_edges(node.id)}
    return {**to_host(answer, idle), "host": [one for one in answer["host"] if one["node"] not in idle]}


def _prefix(params: Params) -> Params:
    """Names of in_out_pair that no operator has stand for the first that begins so."""
    text = str(value_of(params, "in_out_pair"))
    if "in_out_pair" not in params["values"]:
        return params
    names = sorted(node.name for node in graph_of(params).nodes)

    def whole(found: Any) -> str:
        name = found.group(1)
        return f"'{next((one for one in names if one.startswith(name)), name) if name not in names else name}'"

    return with_values(params, in_out_pair=re.sub("'([^']*)'", whole, text))


asks("names_by_their_beginning", "001: names of operators, whole", "partition", _prefix)
judged_partition(
    "sizes_of_half_floats_are_those_of_floats",
    "000: a copy has the bytes of its tensor",
    is_mixed,
    lambda answer, params: answer.update(
        borders=[
            {**one, "bytes": one["bytes"] * 2} if one.get("bytes") and one.get("dtype") == "float16" else one
            for one in answer["borders"]
        ]
    ),
)


def _unordered(graph: Any) -> None:
    kept = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
    hosts = {node.name for node in graph.node if node.op in kept}
    read = {one.split(":")[0] for node in graph.node for one in node.input if not one.startswith("^")}
    for node in graph.node:
        inputs = [one for one in node.input if not (one.startswith("^") and one[1:] in hosts & read)]
        del node.input[:]
        node.input.extend(inputs)


# mixed.partition.order_preserved
asks(
    "control_edges_of_python_functions_order_nothing",
    "Control dependencies between GEOPs and operators of the host are kept",
    "partition",
    lambda params: regraphed(params, _unordered),
    "partition",
)
