"""Partition: how GEOPs are cut, and what crosses their borders."""

from __future__ import annotations

import re
from typing import Any

from faulty.answered import to_host
from faulty.asked import graph_of, is_mixed, value_of, with_values
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, of_graph
from npu_conformance.backends.mutants import edits


def _eight(answer: Answer, params: Params) -> Any:
    return to_host(answer, [name for geop in answer["geops"][8:] for name in geop["nodes"]])


fault("eight_geops_at_most", "mixed.partition.geop_split", changed(_eight), is_mixed)


@mistake("mixed.transfer.memcpy")
def no_signature(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "args": [], "rets": []} for one in answer["geops"]]
    return answer


@mistake("mixed.transfer.memcpy")
def no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "copies": []} for one in answer["geops"]]
    return answer


def _all_in_one_geop(answer: Answer, params: Params) -> Any:
    return edits.merged(answer, [range(len(answer["geops"]))]) if len(answer["geops"]) > 2 else None


fault("three_geops_are_one", "mixed.partition.geop_split", changed(_all_in_one_geop), is_mixed)


def _fewer_controls(definition: Any) -> None:
    """Of several control inputs the first alone is kept."""
    for node in definition.node:
        controls = [text for text in node.input if text.startswith("^")]
        kept = [text for text in node.input if not text.startswith("^")] + controls[:1]
        del node.input[:]
        node.input.extend(kept)


fault("one_control_edge_of_many", "mixed.partition.order_preserved", of_graph(_fewer_controls), is_mixed)
fault(
    "one_reason_for_all",
    "mixed.partition.identify_first",
    changed(lambda answer, params: {**answer, "host": [{**one, "reason": "UNSUPPORTED_OP"} for one in answer["host"]]}),
)


@mistake("mixed.partition.identify_first")
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


fault("names_by_their_beginning", "in_out_pair.truncated_names_not_prefixes", asks(_prefix))
