"""Lawful backends that take the other way where a row of docs/readings.md is a choice of ours.

The rows name them in requirements/readings.toml: no `must` rests on such a choice.
"""

from __future__ import annotations

import pathlib
import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Set

from faulty.asked import facets, is_about, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import Values, claims_less, every, ignores, lawful, refuses, takes_default
from lawful.mixed import _pairs
from lawful.partition import plans
from npu_reference.errors import NpuError
from npu_reference.options.domains import Boolean
from npu_reference.partition.candidates.ranges import Selection
from npu_reference.partition.policies import documented
from npu_reference.partition.structure.wires import CONTROL

__all__: List[str] = []


# Which document a surface follows


def _by_002(ask: Ask, params: Params) -> Answer:
    """Other than a script's NPURunConfig, which 003 is about."""
    configured = "script" in params and "NPURunConfig(" in pathlib.Path(params["script"]).read_text("utf-8")
    return ask({**params, "edition": "legacy"} if is_about(params, "session", "current") and not configured else params)


lawful(
    "options", "a_session_follows_the_table_of_session_keys_alone",
    "002 is the table of a session's keys, 003 that of NPURunConfig: neither says that 003 counts for a session",
    _by_002
)  # fmt: skip


def _by_003(ask: Ask, params: Params) -> Answer:
    return ask({**params, "edition": "current"} if is_about(params, "runconfig", "legacy") else params)


lawful(
    "options", "an_NPURunConfig_of_the_older_edition_is_the_one_of_003",
    "003 alone is a table of NPURunConfig; 002 has the keys of a session", _by_003, "options"
)  # fmt: skip


def _is_session(edition: str) -> Callable[[Params, Values], bool]:
    return lambda params, values: is_about(params, "session", edition)


takes_default(
    "options", "a_session_of_the_current_edition_preprocesses_data_on_the_device",
    "003 L992 'True (default)' beside 002 L33: which of them a session follows is not said",
    {"enable_data_pre_proc": True}, _is_session("current")
)  # fmt: skip

takes_default(
    "options",
    "a_session_of_the_current_edition_allows_float16_in_inference",
    "003 L343 'the default value is allow_fp32_to_fp16' beside 002 L165: which of them a session follows is not said",
    {"precision_mode": "allow_fp32_to_fp16"},
    lambda params, values: (
        is_about(params, "session", "current")
        and value_of({"values": values}, "graph_run_mode") == 0
        and value_of({"values": values}, "precision_mode_v2") is None
    ),
)


# Values


def _truths(params: Params, values: Values) -> Values:
    if not is_about(params, "runconfig"):
        return values
    known = facets(params)
    return {
        name: bool(value)
        if type(value) is int and value in (0, 1) and name in known and isinstance(known[name].domain, Boolean)
        else value
        for name, value in values.items()
    }


lawful(
    "options", "0_and_1_will_do_for_truth_values_of_NPURunConfig",
    "003 L992 'True (default)', 'False': in Python 1 is True, and no document refuses it",
    lambda ask, params: ask(every(params, lambda values: _truths(params, values)))
)  # fmt: skip

_TIMEOUTS = ("op_wait_timeout", "op_execute_timeout", "stream_sync_timeout", "event_sync_timeout")


def _no_limit(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    return [error.subject] if error.code == "OPTION_VALUE" and error.subject in _TIMEOUTS else []


ignores(
    "options", "a_timeout_of_nothing_or_less_is_no_limit", "003 L912, L920, L930, L942 give these timeouts no range",
    _no_limit, told_as_given=True
)  # fmt: skip


def _stays(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    return ["op_debug_config"] if "oom" in error.reason and "cannot be" in error.reason else []


ignores(
    "options", "checks_that_exclude_each_other_fail_on_the_device",
    "003 L263 'otherwise an AI Core error is reported', L1027: of an error of the option nothing is said", _stays, "",
    True, ["options"]
)  # fmt: skip


def _mixed_loops(error: NpuError, params: Params, values: Values) -> Iterable[str]:
    old = is_about(params, edition="legacy")
    conflict = error.code == "OPTION_CONFLICT" and error.subject == "iterations_per_loop"
    return ["iterations_per_loop"] if old and conflict else []


ignores(
    "options", "loops_beside_mixed_computing_are_taken_in_the_older_edition",
    "000 L9 and 003 L578 alone ask for one iteration; 001, 002 and 004 do not", _mixed_loops, told_as_given=True
)  # fmt: skip


def _fixed_channel(params: Params, values: Values) -> Optional[str]:
    told = {"values": values}
    fixed = is_about(params, edition="current") and value_of(told, "graph_run_mode") == 0
    return "enable_small_channel" if fixed and value_of(told, "enable_small_channel") == 0 else None


refuses(
    "options", "a_value_that_cannot_be_modified_is_refused",
    "003 L682 'this is the default option and cannot be modified': what becomes of another value is not said",
    "OPTION_VALUE", _fixed_channel
)  # fmt: skip


# Files


def _texts(params: Params) -> Dict[str, str]:
    return {name: text for name, text in (params.get("files") or {}).items() if isinstance(text, str)}


def _in_file(option: str, bad: Callable[[Params, str], bool]) -> Callable[[Params, Values], Optional[str]]:
    def find(params: Params, values: Values) -> Optional[str]:
        name = value_of({"values": values}, option)
        if not isinstance(name, str):
            return None
        return option if any(key.endswith(name) and bad(params, text) for key, text in _texts(params).items()) else None

    return find


def _begins_with_section(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines()]
    entries = [line for line in lines if line and line[0] not in "#;"]
    return bool(entries) and entries[0].startswith("[")


refuses(
    "options", "comments_in_modify_mixlist_are_refused",
    "003 L390 'in JSON format': JSON has no comments, though samples do", "OPTION_FILE",
    _in_file("modify_mixlist", lambda params, text: "//" in text)
)  # fmt: skip

refuses(
    "options",
    "the_form_of_the_other_edition_is_refused_in_op_precision_ini",
    "002 L784 has lines without sections, 003 L609 sections: neither document has the other's form",
    "OPTION_FILE",
    _in_file(
        "op_precision_mode",
        lambda params, text: is_about(params, edition="current") != _begins_with_section(text),
    ),
)

refuses(
    "options", "only_the_printed_spellings_of_the_prefix_are_known",
    "003 L247 'OpType::typeName', L253 'opType::ReduceSum': of others nothing is said", "OPTION_FILE",
    _in_file("op_debug_config", lambda params, text: bool(re.search(r"OPTYPE::|optype::|Optype::", text)))
)  # fmt: skip

refuses(
    "options", "blanks_and_empty_lines_in_customize_dtypes_are_refused",
    "003 L445 to L457 have lines and comments: of blanks in them and of empty lines nothing is said", "OPTION_FILE",
    _in_file("customize_dtypes", lambda params, text: bool(re.search(r"(?m)^[^#\n]*[ \t]|^\s*$(?!\Z)", text)))
)  # fmt: skip


# Ranges of in_out_pair


refuses(
    "in_out_pair", "an_in_out_pair_has_one_entry", "001 L105 appends one entry, and no document shows several",
    "OPTION_VALUE", lambda params, values: "in_out_pair" if len(_pairs(values)) > 1 else None
)  # fmt: skip

_choose = documented._Planner._choose


def _by(select: Callable[..., Selection]) -> Callable[[Any], None]:
    def choose(self: Any) -> None:
        kept = documented.select
        documented.select = select
        try:
            _choose(self)
        finally:
            documented.select = kept

    return choose


def _reached(graph: Any, wires: Any, starts: Iterable[int], stops: Set[int], forward: bool, data: bool) -> Set[int]:
    found, pending = set(starts), list(starts)
    while pending:
        node = pending.pop()
        if node in stops:
            continue
        for edge in graph.out_edges(node) if forward else graph.in_edges(node):
            other = (wires.dst if forward else wires.src)[edge]
            if (data and _is_control(wires, edge)) or other in found:
                continue
            found.add(other)
            pending.append(other)
    return found


def _is_control(wires: Any, edge: int) -> bool:
    return bool(wires.kind[edge] == CONTROL)


def _ends(graph: Any, item: Any) -> Any:
    known = graph.index
    if not all(name in known for name in item.out_nodes):
        return None
    return [known[one] for one in item.in_nodes if one in known], [known[one] for one in item.out_nodes]


def _backwards(graph: Any, wires: Any, ranges: Any) -> Selection:
    entry: Dict[int, int] = {}
    kept = documented_select(graph, wires, ranges)
    for number, item in enumerate(ranges):
        ends = _ends(graph, item)
        if ends is None:
            continue
        known = _reached(graph, wires, ends[1], set(ends[0]), False, False)
        if not set(ends[0]) & known:
            continue
        for node in sorted(known):
            if graph.nodes[node].op not in ("Const", "Placeholder", "VariableV2", "VarHandleOp"):
                entry.setdefault(node, number)
    for node, number in kept.entry.items():
        entry.setdefault(node, number)
    return Selection(entry, kept.notes)


def _by_data(graph: Any, wires: Any, ranges: Any) -> Selection:
    entry: Dict[int, int] = {}
    kept = documented_select(graph, wires, ranges)
    for number, item in enumerate(ranges):
        ends = _ends(graph, item)
        if ends is None:
            continue
        for node in sorted(
            _reached(graph, wires, ends[0], set(), True, True) & _reached(graph, wires, ends[1], set(), False, True)
        ):
            entry.setdefault(node, number)
    return Selection(entry, kept.notes)


documented_select = documented.select

plans(
    "in_out_pair", "a_range_is_what_its_last_operators_are_computed_from",
    "001 'all operators within the range of the first and last': that a path begins at the first is not said",
    _choose=_by(_backwards)
)  # fmt: skip
plans(
    "in_out_pair", "a_range_follows_tensors_alone",
    "001 'all operators within the range of the first and last': of control edges nothing is said",
    _choose=_by(_by_data)
)  # fmt: skip


# Variables and loops


_init = documented._Planner.__init__


def _variables_on_host(self: Any, *given: Any) -> None:
    _init(self, *given)
    if self.settings.mix and not self.settings.ranges:
        self.settings = self.settings._replace(variables_on_host=True)


plans(
    "mixed", "variables_stay_on_the_host_in_mixed_computing",
    "000 L4 'such as resource operators' stay on the host: that those of variables do not is not said",
    lambda params: is_about(params, "session") and value_of(params, "mix_compile_mode") is True,
    __init__=_variables_on_host
)  # fmt: skip

_FRAME = ("Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond", "RefEnter", "RefExit", "RefMerge",
          "RefSwitch", "RefNextIteration", "Const", "Identity", "NoOp", "Assign", "AssignAdd",
          "AssignSub")  # fmt: skip


def _bodies(answer: Answer) -> None:
    mine = [one for one in answer["host"] if one.get("reason") == "FRAME" and one.get("op") not in _FRAME]
    answer["host"] = [one for one in answer["host"] if one not in mine]
    answer["geops"] = [{"nodes": one["nodes"]} for one in answer["geops"]] + [{"nodes": [one["node"]]} for one in mine]
    answer.pop("borders", None)


claims_less(
    "mixed", "the_operators_of_a_loop_of_the_host_are_GEOPs_of_their_own",
    "000 'after identifying offloadable operators': those of a loop that stays on the host are offloadable as well",
    ("borders", "copies", "signature"), _bodies, "partition"
)  # fmt: skip
