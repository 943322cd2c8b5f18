"""Partition: the ranges of in_out_pair and its flag."""

from __future__ import annotations

import ast
import copy
import json
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Set, Tuple

from faulty.answered import offloaded, to_device, to_host
from faulty.asked import (
    FLOAT,
    GRAPHS,
    HALF,
    LISTED,
    WHOLE_NUMBERS,
    all_values,
    behind,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    is_profiled,
    mapped,
    offloads_ops,
    ops_of,
    pairs_of,
    readers_of,
    source_of,
    types_of,
    value_is,
    value_of,
    whole_graph,
    with_pairs,
    with_values,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, judged_partition, place
from faulty.mistakes_graphs import goes, stays, takes_refused
from npu_reference.errors import NpuError


def _in_turn(params: Params) -> Dict[str, Any]:
    return all_values(params, mapped("in_out_pair_flag", lambda value: True))


asks(
    "the_tail_turns_the_range",
    "001 in_out_pair_flag False: the same split, whenever gradients are merged",
    "partition",
    lambda params: _in_turn(params) if value_is(params, "is_tailing_optimization", True) else params,
    "partition",
)


def _first_arguments(pairs: List[Any]) -> List[Any]:
    return [
        [[re.sub(r"\A(_arg_.*_[1-9]\d*)\Z", r"\1/unknown", str(name)) for name in ins], outs] for ins, outs in pairs
    ]


asks(
    "the_first_argument_begins_alone",
    "001 in_out_pair: _arg_ nodes begin a range, whatever their number",
    "partition",
    lambda params: with_pairs(params, _first_arguments) if is_about(params, edition="legacy") else params,
    "partition",
    "run",
)
asks(  # pair 9
    "a_profile_drops_outputs_of_names",
    "001, 002: entries of in_out_pair are names of operators",
    "partition",
    lambda params: (
        with_pairs(
            params, lambda found: [[[re.sub(r":\d+$", "", one) for one in side] for side in pair] for pair in found]
        )
        if is_profiled(params)
        else params
    ),
    "partition",
)


def _odd_to_host(answer: Answer, params: Params) -> Answer:
    odd = {
        node.name
        for node in graph_of(params).nodes
        if node.op not in ("Const", "Placeholder")
        and any(dtype in (*WHOLE_NUMBERS, "float64") for dtype in types_of(node))
        and not any(dtype in (HALF, FLOAT) for dtype in types_of(node))
    }
    return to_host(answer, odd & set(offloaded(answer)))


judged_partition(  # pair 19
    "a_range_offloads_floats_alone",
    "002: what lies between the operators of in_out_pair is offloaded",
    lambda params: (
        is_mixed(params)
        and given(params, "in_out_pair")
        and value_of(params, "in_out_pair_flag") is not False
        and is_about(params, edition="legacy")
    ),
    _odd_to_host,
)
takes_refused(  # pair 21
    "partition",
    "a_flag_that_is_given_offloads_what_can_be",
    "001: a range is offloaded in full",
    ("RANGE_UNSUPPORTED", ""),
    lambda params: value_is(params, "in_out_pair_flag", True),
    lambda params: with_values(params, in_out_pair=None, in_out_pair_flag=None),
    "partition",
)


def _fetched(params: Params) -> Set[str]:
    return {name.split(":")[0] for name in params.get("fetches") or ()}


def _without_fetched_ends(answer: Answer, params: Params) -> Any:
    ends = [name for pair in pairs_of(params) for name in pair[-1] if name in _fetched(params)]
    return to_host(answer, ends) if ends and value_of(params, "in_out_pair_flag") is not False else None


place("a_range_ends_before_what_is_fetched", "001: first and last operators belong to the range", _without_fetched_ends)


def _first_nodes(params: Params) -> List[List[str]]:
    return re.findall(r"\[\s*\[([^\]]*)\]\s*,", str(value_of(params, "in_out_pair"))) and [
        re.findall(r"""["']([^"']+)["']""", side)
        for side in re.findall(r"\[\s*\[([^\]]*)\]\s*,", str(value_of(params, "in_out_pair")))
    ]


def _deep(answer: Answer, params: Params) -> Answer:
    firsts = {name for side in _first_nodes(params) for name in side}
    after: Dict[str, List[str]] = {}
    for node in graph_of(params).nodes:
        for name in node.inputs:
            after.setdefault(name.lstrip("^").split(":")[0], []).append(node.name)
    depth = dict.fromkeys(firsts, 0)
    todo = sorted(firsts)
    for name in todo:
        for reader in after.get(name, ()):
            if reader not in depth:
                depth[reader] = depth[name] + 1
                todo.append(reader)
    return to_host(answer, [name for name in offloaded(answer) if depth.get(name, 0) > 8], "RANGE_OUTSIDE")


judged_partition(
    "ranges_end_after_eight_operators",
    "002: in_out_pair_flag is True by default, and everything between the ends is offloaded",
    lambda params: given(params, "in_out_pair") and not given(params, "in_out_pair_flag"),
    _deep,
)


@broken("partition", "002 L698: in_out_pair_flag is True when unset")
def pairs_of_training_stay(ask: Any, params: Params) -> Answer:
    if is_mixed(params) and not in_inference(params) and not given(params, "in_out_pair_flag"):
        return ask(with_values(params, in_out_pair_flag=False))
    return ask(params)


def _stays(params: Params) -> bool:
    return value_of(params, "in_out_pair_flag") is False and is_about(params, "session", "legacy")


asks(
    "a_second_range_on_the_host_is_forgotten",
    "002 in_out_pair_flag False: the operators of in_out_pair stay",
    "partition",
    lambda params: with_pairs(params, lambda pairs: pairs[:1]) if _stays(params) else params,
    "partition",
    "run",
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


asks(  # pair 38
    "a_precision_completes_names_of_a_range",
    "001, 002: operators of in_out_pair are named whole",
    "partition",
    _completed,
    "partition",
)


def _is_entry(one: Any) -> bool:
    return isinstance(one, list) and len(one) == 2 and all(isinstance(side, list) for side in one)


def _pairs(params: Params) -> List[Any]:
    found: List[Any] = []
    with_pairs(params, lambda pairs: found.extend(pairs) or pairs)
    return found if all(_is_entry(one) for one in found) else []


def _pooled(pairs: List[Any]) -> List[Any]:
    ins = [name for one in pairs for name in one[0]]
    outs = [name for one in pairs for name in one[1]]
    return [[ins, outs]]


# in_out_pair.multi_entry
asks(
    "entries_of_in_out_pair_are_pooled",
    "each entry describes a range of its own",
    "partition",
    lambda params: with_pairs(params, _pooled) if len(_pairs(params)) > 1 else params,
    "partition",
    "run",
)


def _literal_pairs(params: Params) -> Any:
    try:
        return ast.literal_eval(str(value_of(params, "in_out_pair")))
    except (SyntaxError, ValueError):
        return None


def _with_pairs(name: str, sentence: str, change: Callable[[Any], Any], flag: Any = None) -> None:
    def other(params: Params) -> Params:
        pairs = _literal_pairs(params)
        if not pairs or flag not in (None, value_of(params, "in_out_pair_flag") is not False):
            return params
        return with_values(params, in_out_pair=str(change(pairs)))

    asks(name, sentence, "partition", other)


_with_pairs("first_range_only", "001: all_graph_iop holds ranges", lambda pairs: pairs[:1])
_with_pairs("last_range_only_on_the_host", "001: all_graph_iop holds ranges", lambda pairs: pairs[-1:], False)
_with_pairs("first_way_in_only", "001: in_nodes holds several", lambda pairs: [[one[0][:1], one[1]] for one in pairs])
_with_pairs("first_way_out_only", "001: out_nodes holds several", lambda pairs: [[one[0], one[1][:1]] for one in pairs])
place(
    "loops_offloaded_round_python",
    "000: the graph is split where operators stay on the host",
    offloads_ops(("Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit")),
)
asks(
    "ranges_without_mixing",
    "002 in_out_pair: in mixed computing",
    "partition",
    lambda params: (
        with_values(params, mix_compile_mode=True)
        if "in_out_pair" in params["values"] and value_of(params, "mix_compile_mode") is not True
        else params
    ),
)
stays("constants_on_the_host", LISTED, "Const")
goes("python_on_the_device", "000: py_func remains on the host", lambda node: node.op in ("PyFunc", "PyFuncStateless"))
goes(
    "scoped_operators_on_the_device",
    "000: without_npu_compile_scope configures operators that are not offloaded",
    lambda node: bool(node.attr("_without_npu_compile", False)),
)


@broken("partition", "000: operators that are offloaded are in GEOPs")
def single_operators_stay(ask: Any, params: Params) -> Answer:
    """A GEOP of one operator is not worth its launch."""
    answer = ask(params)
    if not is_mixed(params):
        return answer
    return to_host(answer, [geop["nodes"][0] for geop in answer["geops"] if len(geop["nodes"]) == 1])


@broken("partition", "a range that holds an operator that cannot be offloaded is refused")
def ranges_never_refused(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code not in ("RANGE_UNSUPPORTED", "RANGE_SCOPE"):
            raise
        return ask(with_values(params, in_out_pair=None))


@broken("partition", "every operator has one place")
def host_operators_in_both_places(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if answer["geops"] and answer["host"] and is_mixed(params):
        answer["geops"][0]["nodes"] = [*answer["geops"][0]["nodes"], answer["host"][0]["node"]]
    return answer


asks(
    "the_flag_counts_in_inference_only",
    "001: in_out_pair_flag False keeps the range on the host",
    "partition",
    lambda params: params if value_of(params, "graph_run_mode") == 0 else with_values(params, in_out_pair_flag=None),
)


def _forward(params: Params) -> Set[str]:
    """What lies between the ends of ranges, where nothing leads from one turn of a loop to the next."""
    readers = readers_of(params)
    ops = ops_of(params)
    forward = {
        name: [one for one in found if ops[name].op not in ("NextIteration", "RefNextIteration")]
        for name, found in readers.items()
        if name in ops
    }
    behind: Dict[str, List[str]] = {}
    for name, found in forward.items():
        for one in found:
            behind.setdefault(one, []).append(name)

    def reached(starts: List[str], edges: Mapping[str, List[str]]) -> Set[str]:
        seen, front = set(starts), list(starts)
        while front:
            for one in edges.get(front.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    front.append(one)
        return seen

    pairs = json.loads(str(value_of(params, "in_out_pair")).replace("'", '"'))
    found_all: Set[str] = set()
    for first, last in pairs:
        found_all |= reached(list(first), forward) & reached(list(last), behind)
    return found_all


def _no_way_back(answer: Answer, params: Params) -> Any:
    try:
        inside = _forward(params)
    except (TypeError, ValueError):
        return None
    loops = [name for name, op in ops_of(params).items() if op.op.endswith("NextIteration")]
    if not loops or value_of(params, "in_out_pair_flag") is False:
        return None
    return to_host(answer, [name for name in offloaded(answer) if name not in inside], "RANGE_OUTSIDE")


judged_partition(  # in_out_pair.range_all
    "ranges_do_not_go_round_a_loop",
    "001: all operators within the range",
    lambda params: is_mixed(params) and given(params, "in_out_pair"),
    _no_way_back,
)


def _entries(params: Params) -> List[Any]:
    text = value_of(params, "in_out_pair")
    try:
        found = json.loads(text.replace("'", '"')) if isinstance(text, str) else []
    except ValueError:
        return []
    return [one for one in found if isinstance(one, list) and len(one) == 2] if isinstance(found, list) else []


# in_out_pair.inclusive
@broken("partition", "The operators that in_nodes and out_nodes name belong to the range")
def an_operator_alone_is_no_range(ask: Any, params: Params) -> Answer:
    pairs = _entries(params)
    left_over = [one for one in pairs if not (len(set(one[0])) == 1 and set(one[0]) == set(one[1]))]
    if len(left_over) == len(pairs):
        return dict(ask(params))
    if left_over:
        return dict(ask(with_values(params, in_out_pair=str(left_over))))
    return dict(ask(with_values(params, in_out_pair=None, in_out_pair_flag=None)))


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


asks(  # in_out_pair.multi_entry, in_out_pair.flag_false.host
    "of_ranges_kept_on_the_host_the_last_one_counts",
    "001 in_out_pair: all operators in the range stay in the frontend, of every entry",
    "partition",
    _last_entry,
    "partition",
)


def _edges(params: Params) -> Tuple[Dict[str, List[str]], Dict[str, List[str]]]:
    forward: Dict[str, List[str]] = {}
    back: Dict[str, List[str]] = {}
    for node in graph_of(params).nodes:
        for text in node.inputs:
            forward.setdefault(source_of(text), []).append(node.name)
            back.setdefault(node.name, []).append(source_of(text))
    return forward, back


def _range(params: Params, entry: Tuple[Sequence[str], Sequence[str]], stops: bool = False) -> Set[str]:
    """What lies on the paths of an entry; with `stops` on those that go through no out node."""
    forward, back = _edges(params)
    ins, outs = entry
    cut = {name: readers for name, readers in forward.items() if not stops or name not in outs}
    reached = set(ins) | behind(ins, cut)
    return reached & (set(outs) | behind(outs, back))


def _not_in_range(answer: Answer, params: Params, lost: Iterable[str]) -> Any:
    names = set(lost)
    if not names:
        return None
    if value_is(params, "in_out_pair_flag", False):
        return to_device(copy.deepcopy(answer), [one["node"] for one in answer["host"] if one["node"] in names])
    return to_host(answer, names)


def _first_out_node(answer: Answer, params: Params) -> Any:
    entries = _mixed_entries(params)
    every: Set[str] = set()
    kept: Set[str] = set()
    for entry in entries:
        every |= _range(params, entry)
        kept |= _range(params, entry, True)
    return _not_in_range(answer, params, every - kept)


changed(  # in_out_pair.multi_out, in_out_pair.range_all
    "partition",
    "a_range_ends_at_the_first_out_node",
    "001 in_out_pair: all operators in the range of in_nodes and out_nodes",
    _first_out_node,
)


def _entries_left(params: Params, change: Callable[[List[Any]], List[Any]]) -> Params:
    """The request with its ranges changed, without those that have no first operators left."""
    kept: List[List[Any]] = []

    def left(found: List[Any]) -> List[Any]:
        kept.append([entry for entry in change(found) if entry[0]])
        return kept[-1]

    asked = with_pairs(params, left)
    return asked if kept and kept[-1] else with_values(params, in_out_pair=None, in_out_pair_flag=None)


def _leading_to_all(params: Params) -> Params:
    if not is_mixed(params) or "graph" not in params:
        return params
    readers = readers_of(params)
    known = {node.name for node in graph_of(params).nodes}

    def change(found: List[Any]) -> List[Any]:
        kept = []
        for firsts, lasts in found:
            ends = {name for name in lasts if name in known}
            kept.append([[name for name in firsts if ends <= {name, *behind([name], readers)}], lasts])
        return kept

    return _entries_left(params, change)


asks(  # in_out_pair.multi_in, in_out_pair.multi_out
    "a_first_operator_has_to_lead_to_every_last_one",
    "001 in_out_pair: all operators in the range of in_nodes and out_nodes",
    "partition",
    _leading_to_all,
    *GRAPHS,
)
