"""Partition: the ranges of in_out_pair and its flag."""

from __future__ import annotations

import ast
import json
import re
from typing import Any, Callable, List, Tuple

from faulty.asked import (
    Change,
    given,
    in_inference,
    is_about,
    is_mixed,
    is_profiled,
    offloads_ops,
    value_is,
    value_of,
    whole_graph,
    with_pairs,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, takes_refused
from npu_reference.errors import NpuError

fault(
    "a_profile_drops_outputs_of_names",
    "in_out_pair.names_no_port",
    asks(
        lambda params: (
            with_pairs(
                params, lambda found: [[[re.sub(r":\d+$", "", one) for one in side] for side in pair] for pair in found]
            )
            if is_profiled(params)
            else params
        )
    ),
)
fault(
    "a_flag_that_is_given_offloads_what_can_be",
    "in_out_pair.range_unsupported_op",
    takes_refused("RANGE_UNSUPPORTED", "", lambda params: with_values(params, in_out_pair=None, in_out_pair_flag=None)),
    lambda params: value_is(params, "in_out_pair_flag", True),
)


@mistake("in_out_pair.session.default_true")
def pairs_of_training_stay(ask: Any, params: Params) -> Answer:
    if is_mixed(params) and not in_inference(params) and not given(params, "in_out_pair_flag"):
        return ask(with_values(params, in_out_pair_flag=False))
    return ask(params)


def _stays(params: Params) -> bool:
    return value_of(params, "in_out_pair_flag") is False and is_about(params, "session", "legacy")


fault(
    "a_second_range_on_the_host_is_forgotten",
    "in_out_pair.multi_entry",
    asks(lambda params: with_pairs(params, lambda pairs: pairs[:1]) if _stays(params) else params),
    methods=("partition", "run"),
)


def _completed(params: Params) -> Params:
    graph = whole_graph(params)
    if graph is None or not given(params, "in_out_pair", "precision_mode"):
        return params
    names = [node.name for node in graph.nodes]

    def whole(name: str) -> str:
        found = [one for one in names if one.startswith(name)]
        return found[0] if name not in names and found else name

    return with_pairs(params, lambda found: [[[whole(one) for one in side] for side in entry] for entry in found])


fault("a_precision_completes_names_of_a_range", "in_out_pair.truncated_names_not_prefixes", asks(_completed))


def _literal_pairs(params: Params) -> Any:
    try:
        return ast.literal_eval(str(value_of(params, "in_out_pair")))
    except (SyntaxError, ValueError):
        return None


def _with_pairs(change: Callable[[Any], Any], flag: Any = None) -> Change:
    def other(params: Params) -> Params:
        pairs = _literal_pairs(params)
        if not pairs or flag not in (None, value_of(params, "in_out_pair_flag") is not False):
            return params
        return with_values(params, in_out_pair=str(change(pairs)))

    return other


fault("last_range_only_on_the_host", "in_out_pair.multi_entry", asks(_with_pairs(lambda pairs: pairs[-1:], False)))
fault(
    "loops_offloaded_round_python",
    "mixed.partition.geop_acyclic",
    changed(offloads_ops(("Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit"))),
    is_mixed,
)


@mistake("in_out_pair.range_unsupported_op")
def ranges_never_refused(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code not in ("RANGE_UNSUPPORTED", "RANGE_SCOPE"):
            raise
        return ask(with_values(params, in_out_pair=None))


def _mixed_entries(params: Params) -> List[Tuple[List[str], List[str]]]:
    text = value_of(params, "in_out_pair")
    if not isinstance(text, str) or params.get("policy") == "adapter" or not is_mixed(params):
        return []
    try:
        found = json.loads(text.replace("'", '"'))
        return [(list(ins), list(outs)) for ins, outs in found]
    except (ValueError, TypeError):
        return []


def _last_entry(params: Params) -> Params:
    if value_is(params, "in_out_pair_flag", False) and len(_mixed_entries(params)) > 1:
        return with_pairs(params, lambda found: found[-1:])
    return params


fault("of_ranges_kept_on_the_host_the_last_one_counts", "in_out_pair.flag_false.host", asks(_last_entry))
