"""Lawful backends that take mixed computing and in_out_pair otherwise, where the documents leave that open."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional

from faulty.asked import edited, graph_of, mapped, plain, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import every, ignores, lawful, refuses
from lawful.partition import PLANNED, lists_operators, partition_of, plans, tells_partition
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from npu_reference.partition.policies import documented

__all__: List[str] = []

Values = Dict[str, Any]


def _pairs(values: Mapping[str, Any]) -> List[Any]:
    """The entries of in_out_pair, none where its text cannot be read."""
    text = value_of({"values": values}, "in_out_pair")
    if not isinstance(text, str):
        return []
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    good = isinstance(found, list) and all(
        isinstance(entry, list) and len(entry) == 2 and all(isinstance(names, list) for names in entry)
        for entry in found
    )
    return found if good else []


def _names(values: Mapping[str, Any]) -> List[str]:
    return [name for entry in _pairs(values) for names in entry for name in names]


# in_out_pair, the option


def _pair_alone(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    alone = error.code == "OPTION_CONFLICT" and error.subject == "in_out_pair"
    return ["in_out_pair"] if alone else []


ignores(
    "in_out_pair", "in_out_pair_without_mixed_computing_is_taken_without_effect",
    "002 L709 'in the scenario of mixed computing': no word of an error outside of it", _pair_alone,
    told_as_given=True
)  # fmt: skip


def _malformed(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    return ["in_out_pair"] if error.code == "OPTION_SYNTAX" and error.subject == "in_out_pair" else []


ignores(
    "in_out_pair", "an_in_out_pair_that_cannot_be_read_is_ignored_with_a_warning",
    "001 writes the text with str() of a list: what another text does is not said", _malformed
)  # fmt: skip


def _empty(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    text = value_of({"values": values}, "in_out_pair")
    empty = isinstance(text, str) and re.sub(r"\s", "", text) == "[]"
    return ["in_out_pair"] if empty and error.subject == "in_out_pair" else []


ignores(
    "in_out_pair", "an_empty_list_of_ranges_names_none",
    "001 'all_graph_iop = []' is appended to: str() of it before that is '[]', of which nothing is said", _empty,
    told_as_given=True
)  # fmt: skip


def _not_as_str(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    text = value_of({"values": values}, "in_out_pair")
    if not isinstance(text, str) or not text:
        return None
    return None if str(_pairs(values)) == text else "in_out_pair"


refuses(
    "in_out_pair", "an_in_out_pair_that_str_does_not_write_is_refused",
    "001, 002 L722 'tf.compat.as_bytes(str(all_graph_iop))' is the only form", "OPTION_SYNTAX", _not_as_str
)  # fmt: skip


def _flag_alone(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    told = {"values": values}
    alone = value_of(told, "in_out_pair_flag") is not None and value_of(told, "in_out_pair") is None
    return "in_out_pair_flag" if alone else None


refuses(
    "in_out_pair", "in_out_pair_flag_without_in_out_pair_is_refused",
    "002 L696 'whether the operators of in_out_pair are offloaded': what it does without it is not said",
    "OPTION_CONFLICT", _flag_alone
)  # fmt: skip


# What its names mean


def _unknown_name(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    names = _names(values)
    if not names or value_of({"values": values}, "mix_compile_mode") is not True:
        return None
    try:
        known = {node.name for node in (*load_graph(params["graph"]).nodes, *graph_of(params).nodes)}
    except NpuError:
        return None  # the graph is refused
    return next((name for name in names if name not in known), None)


refuses(
    "in_out_pair", "a_name_in_a_range_that_the_graph_does_not_have_is_refused",
    "001 'the first and last operators': what a name of none of them does is not said", "OPTION_VALUE", _unknown_name,
    PLANNED
)  # fmt: skip


def _no_path(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if not _names(values):
        return None
    codes = [one["code"] for one in partition_of(params, values)["notes"]]
    return "in_out_pair" if "RANGE_NO_PATH" in codes else None


refuses(
    "in_out_pair", "an_end_of_a_range_that_no_path_joins_to_another_is_refused",
    "001 'all operators within the range of the first and last': what it does where nothing joins them is not said",
    "OPTION_VALUE", _no_path, PLANNED
)  # fmt: skip


def _cut(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if not _names(values):
        return None
    return next(
        ("in_out_pair" for one in partition_of(params, values)["notes"] if one["code"] == "RANGE_EXTENDED"), None
    )


refuses(
    "in_out_pair", "a_range_that_cuts_a_loop_or_a_conditional_is_refused",
    "001 'all operators within the range': of a loop that reaches out of it nothing is said", "RANGE_UNSUPPORTED",
    _cut, PLANNED
)  # fmt: skip


def _known_alone(ask: Ask, params: Params) -> Answer:
    """Leaves out the names that a graph does not have, and no others."""

    def change(values: Values) -> Values:
        pairs = _pairs(values)
        if not pairs or value_of({"values": values}, "mix_compile_mode") is not True:
            return values
        try:
            known = {node.name for node in graph_of(params).nodes}
        except NpuError:
            return values  # the graph is refused
        kept = [[[name for name in names if name in known] for names in entry] for entry in pairs]
        kept = [entry for entry in kept if all(entry)]
        if kept == pairs or not kept:
            return values
        return {**values, "in_out_pair": edited(values["in_out_pair"], lambda text: str(kept))}

    return ask(every(params, change)) if "graph" in params else ask(params)


lawful(
    "in_out_pair", "a_name_that_the_graph_does_not_have_is_skipped_alone",
    "001 'the first and last operators': what becomes of the others of an entry, where one is unknown, is not said",
    _known_alone, *PLANNED
)  # fmt: skip


def _without_numbers(ask: Ask, params: Params) -> Answer:
    change = mapped("in_out_pair", lambda text: re.sub(r":\d+(?=['\"])", "", text) if isinstance(text, str) else text)
    answer = ask(every(params, change))
    if "effective" in answer and value_of(params, "in_out_pair"):
        answer["effective"]["in_out_pair"]["value"] = plain(params["values"]["in_out_pair"])
    return answer


lawful(
    "in_out_pair", "the_name_of_a_tensor_will_do_for_its_operator",
    "001 'operators': that a name with an output number is refused, or is unknown, is not said", _without_numbers
)  # fmt: skip


# Where operators are placed


def _with_constants(self: Any, entry: Dict[int, int], alone: Dict[int, Any], judge: Any) -> None:
    """Offloads with a range the constants that nothing else reads."""
    graph, inside = self.graph, dict(entry)
    for node in graph.nodes:
        if node.op != "Const" or node.id in inside or node.id in alone:
            continue
        edges = list(graph.out_edges(node.id))
        waits = any(True for _ in graph.in_edges(node.id))
        if edges and not waits and all(self.wires.dst[edge] in entry for edge in edges):
            inside[node.id] = entry[self.wires.dst[edges[0]]]
    _choose_range(self, inside, alone, judge)


def _has_pairs(params: Params) -> bool:
    return bool(_names(params.get("values") or {}))


_choose_range = documented._Planner._choose_range

plans(
    "in_out_pair", "constants_that_only_a_range_reads_are_offloaded_with_it",
    "001 'all operators within the range of the first and last': whether their constants lie within it is not said",
    _has_pairs, _choose_range=_with_constants
)  # fmt: skip


def _without_batch_norm(listed: Dict[str, Any]) -> Dict[str, Any]:
    return {op: entry for op, entry in listed.items() if op != "FusedBatchNormV3"}


lists_operators(
    "mixed", "FusedBatchNormV3_stays_on_the_host_in_mixed_computing",
    "000 'its fifth output ... is not supported ... in mixed computing mode': that the operator is, is not said",
    _without_batch_norm, (*PLANNED, "run"), mixed=True
)  # fmt: skip


def _silent(answer: Answer, params: Params) -> None:
    answer["notes"] = [one for one in answer.get("notes", []) if not one["code"].startswith(("RANGE_", "SCOPE_"))]


tells_partition(
    "mixed", "nothing_is_noted_of_ranges_and_scopes",
    "000, 001 have no word of messages about what a range or a scope names", _silent
)  # fmt: skip


def _variables_on_host(self: Any, *given: Any) -> None:
    _init(self, *given)
    if self.settings.mix and not self.settings.ranges:
        self.settings = self.settings._replace(variables_on_host=True)


_init = documented._Planner.__init__


def _is_legacy_mixed(params: Params) -> bool:
    return params["edition"] == "legacy" and value_of(params, "mix_compile_mode") is True


plans(
    "mixed", "variables_stay_on_the_host_in_mixed_computing_of_the_older_documents",
    "001 'operators that are not offloaded by default': which these are is not said, nor that variables are not",
    _is_legacy_mixed, __init__=_variables_on_host
)  # fmt: skip
