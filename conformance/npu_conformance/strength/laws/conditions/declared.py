"""The conditions, each with what says that it makes no difference."""

from __future__ import annotations

import functools
import json
from typing import Any, Dict, Mapping, Optional

from npu_conformance.strength.laws import nesting
from npu_conformance.strength.laws.added_names import LONG, SCOPE
from npu_conformance.strength.laws.company import UNKNOWN_KEY
from npu_conformance.strength.laws.conditions.applicable import (
    SESSION,
    all_of,
    asked_on,
    has_mode,
    lacks,
    movable,
    values_of,
)
from npu_conformance.strength.laws.conditions.graph_changes import (
    OF_NAMES,
    annotated,
    beside,
    beside_flow,
    can_be_within,
    channels_first,
    device_operator,
    each_apart,
    exported,
    feeds_backwards,
    fetched,
    fetches_backwards,
    mixed_whole,
    mixes_nothing,
    names_may_change,
    no_change,
    of_integers,
    other_order,
    requested,
    scoped,
    targeted,
    uncalled,
    unshaped,
    with_likes,
    with_many,
    within,
)
from npu_conformance.strength.laws.conditions.option_changes import (
    ABSENT,
    DEFAULTS,
    LAUNCHED,
    LYING,
    backwards,
    defaults,
    ends_of_windows,
    entries,
    file_of,
    giving,
    grayed,
    is_listed,
    json_edited,
    launched,
    lines_backwards,
    listed_backwards,
    listed_more,
    listing_others,
    lists_more,
    mixes,
    nowhere,
    relative,
    reversed_keys,
    sections_backwards,
    spaced_lines,
    to_surface,
    unnamed,
    with_pairs,
    with_text,
)
from npu_conformance.strength.laws.conditions.request import Condition
from npu_conformance.strength.laws.law import Law

__all__ = ["AFTER", "CONDITIONS", "FED", "LAWS", "TEXT", "WHOLLY_MIXED"]

#: The condition that is no change of the request: the question before is not forgotten.
AFTER = "right after another graph in the same process"

#: The condition whose effect is the division's: into how many GEOPs is a choice.
WHOLLY_MIXED = "in mixed computing that leaves nothing on the host"

#: The condition that changes how the graph is written down.
TEXT = "as a text with line ends of Windows"

#: The condition that changes what stands for a feed.
FED = "with the feeds in another order"

#: Options of cases that documents list for one run mode alone, or whose default is of the mode.
_OF_ONE_MODE = (
    "graph_run_mode", "input_shape", "dynamic_dims", "dynamic_node_type", "iterations_per_loop", "enable_data_pre_proc",
    "profiling_options", "job",
)  # fmt: skip

_BOTH = ("partition", "precision")
_ONE, _OTHER = ("partition",), ("precision",)
_NOTES = frozenset({"notes", "notices"})
_EACH = ("mixed.partition.identify_first",)  # what decides is each operator, and what its list says of it
#: A mode is of the whole network, and of every operator that has both types; what a function is given is fed to it.
_WHOLE = ("precision.force_fp16.both_supported", "precision.mix.policy", "P2")
_WITHIN: Dict[str, Any] = {
    "methods": _OTHER, "fits": can_be_within, "group": "within", "against": "ends", "hides": _NOTES | {"casts"},
    "lists": True,
}  # fmt: skip
_OF_THEIR_OWN: Dict[str, Any] = {"methods": _ONE, "group": "within", "hides": _NOTES | {"reasons"}, "dear": True}
_SAME = ("runconfig.mix_compile_mode.session_equivalence", "precision.g.session_same")


def _absent_type(text: str) -> str:
    return f"OpType::{ABSENT[0]}:InputDtype:float32,OutputDtype:float32\n{text}"


def _absent_node(text: str) -> Optional[str]:
    """With an entry for an operator that is nowhere; none where there are such entries, or no sections."""
    fits = "[ByOpType]" in text and OF_NAMES not in text
    return f"{text}\n[ByNodeName]\nnowhere=high_precision\n" if fits else None


_ALL = [
    # Options beside
    Condition(
        "in online inference", giving({"graph_run_mode": 0}), ("runconfig.graph_run_mode.0", "G13", "A7"), _BOTH,
        all_of(lacks(*_OF_ONE_MODE), has_mode), gives={"graph_run_mode": 0}, refusals=True,
        often=True,
    ),
    Condition(
        "by NPURunConfig", to_surface("runconfig", False), _SAME, _BOTH,
        all_of(asked_on(("session", "current")), movable), "surface", surface="runconfig", refusals=True,
        often=True,
    ),
    Condition(
        "by a session", to_surface("session", True), _SAME, _BOTH,
        all_of(asked_on(("runconfig", "current"), ("runconfig", "legacy")), movable), "surface", surface="session",
        refusals=True, often=True,
    ),
    Condition(
        WHOLLY_MIXED, mixed_whole, _EACH, _OTHER,
        lacks("mix_compile_mode", "use_off_line", "iterations_per_loop"), hides=_NOTES | {"casts"}, lists=True,
        gives={"mix_compile_mode": True},
    ),
    Condition(  # after what gives something else: what is given stays
        "beside defaults that are written out", defaults,
        ("session.use_off_line.default", "runconfig.graph_run_mode.default"), _BOTH,
        lacks("use_off_line", "dynamic_input", "input_shape", "job"), gives=DEFAULTS, refusals=True,
    ),
    Condition(
        "with the keys in another order", reversed_keys, ("session.table.unlisted_reserved",), _BOTH,
        lambda one: len(values_of(one)) > 1, refusals=True,
    ),
    Condition(
        "with a key that no document has", giving({UNKNOWN_KEY: 7}), ("session.table.unlisted_reserved", "G1"),
        _BOTH, SESSION, against="surface", refusals=True, refusable=True,
    ),
    Condition("as a launched rank", launched, ("env.ASCEND_DEVICE_ID.lower",), gives=LAUNCHED, refusals=True),
    # Lists and files
    Condition("with operators more on the list, that no graph has", listed_more, _EACH, _ONE, is_listed),
    Condition(
        "with what the operator list lacks on it as gray", grayed, ("mixed.purpose.host_fallback",), _ONE,
        lambda one: is_listed(one) and values_of(one).get("mix_compile_mode") is True, hides=_NOTES | {"reasons"},
    ),
    Condition("with the operator list in another order", listed_backwards, _EACH, _ONE, is_listed),
    Condition(
        "with types more in modify_mixlist, that no graph has", with_text("modify_mixlist", json_edited(lists_more)),
        ("files.mixlist.current.others_untouched",), _OTHER, file_of("modify_mixlist"), hides=_NOTES,
    ),
    Condition(
        "beside a modify_mixlist of types that no graph has", listing_others,
        ("files.mixlist.current.others_untouched",), _OTHER, all_of(mixes, lacks("modify_mixlist")), hides=_NOTES,
        gives={"modify_mixlist": "/lists/of_others.json"}, refusals=True,
    ),
    Condition(
        "beside implementations of high precision", giving({"op_select_implmode": "high_precision"}),
        ("session.op_select_implmode.high_precision",), _OTHER,
        lacks("op_select_implmode", "optypelist_for_implmode", "op_precision_mode"),
        hides=_NOTES | {"impl_modes"}, gives={"op_select_implmode": "high_precision"}, refusals=True,
    ),
    Condition(
        "with modify_mixlist in another order", with_text("modify_mixlist", json_edited(backwards)),
        ("files.mixlist.current.multiple",), _OTHER, file_of("modify_mixlist"),
    ),
    Condition(
        "with modify_mixlist on many lines", with_text("modify_mixlist", json_edited(no_change, indent="\t")),
        ("files.mixlist.current.multiple",), _OTHER, file_of("modify_mixlist"),
    ),
    Condition(
        "with customize_dtypes in another order", with_text("customize_dtypes", lines_backwards),
        ("files.customize_dtypes.one_per_line",), _OTHER, file_of("customize_dtypes"),
    ),
    Condition(
        "with empty lines and comments in customize_dtypes", with_text("customize_dtypes", spaced_lines),
        ("files.customize_dtypes.comments", "P22"), _OTHER, file_of("customize_dtypes"), refusals=True,
    ),
    Condition(
        "with an entry more in customize_dtypes, for what no graph has", with_text("customize_dtypes", _absent_type),
        ("precision.customize.override",), _OTHER, file_of("customize_dtypes"), hides=_NOTES,
    ),
    Condition(
        "with an entry more in op_precision_mode, for what no graph has",
        with_text("op_precision_mode", _absent_node), ("session.op_precision_mode.effect", "P23"), _OTHER,
        file_of("op_precision_mode"), hides=_NOTES,
    ),
    Condition(
        "with the sections of op_precision_mode in another order",
        with_text("op_precision_mode", sections_backwards), ("files.op_precision_ini.sections.priority",), _OTHER,
        file_of("op_precision_mode"),
    ),
    *(
        Condition(
            f"with line ends of Windows in {name}", with_text(name, ends_of_windows), ("P22",), _OTHER,
            file_of(name), group=f"ends of {name}",
        )
        for name in ("modify_mixlist", "customize_dtypes", "op_precision_mode")
    ),
    Condition(
        "with files named relative to the current directory", relative, ("precision.s.mixlist.path", "D8"), _OTHER,
        lambda one: "files" in one.case.params, refusals=True,
    ),
    Condition(
        "beside files that nobody names", unnamed, ("session.op_precision_mode.default",), _OTHER,
        lambda one: not any(name in json.dumps(one.case.params.get("files", {})) for name in LYING), refusals=True,
    ),
    Condition(
        "with an entry more in in_out_pair, whose operators are nowhere",
        with_pairs(lambda entries: [[["zq_nowhere"], ["zq_nowhere_else"]], *entries]),
        ("in_out_pair.unknown_node", "M9"), _ONE, lambda one: bool(entries(one)), hides=_NOTES, refusable=True,
    ),
    Condition(
        "beside in_out_pair, whose operators are nowhere", nowhere, ("M8", "M9"), _ONE,
        lambda one: SESSION(one) and values_of(one).get("mix_compile_mode") is True
        and not values_of(one).keys() & {"in_out_pair", "in_out_pair_flag"},
        against="surface", hides=_NOTES, gives={"in_out_pair": "", "in_out_pair_flag": True}, refusable=True,
    ),
    Condition(
        "with in_out_pair as JSON on many lines", with_pairs(no_change, functools.partial(json.dumps, indent=1)),
        ("M23",), _ONE, lambda one: bool(entries(one)),
    ),
    # The graph
    Condition(
        "with the fetches in another order", fetches_backwards, ("mixed.transfer.only_boundaries",), _BOTH,
        lambda one: len(one.case.params.get("fetches", ())) > 1,
    ),
    Condition(
        "with what operators in the middle give fetched, too", fetched, ("mixed.transfer.only_boundaries",), _BOTH,
        lambda one: not one.case.params.get("fetches") and not one.case.params.get("feeds"),
        hides=_NOTES | {"signature", "borders", "casts"}, group="ends", ends=True,
    ),
    Condition(
        "with operators in the middle run as targets", targeted, ("mixed.transfer.only_boundaries",), _ONE,
        lambda one: bool(one.case.params.get("fetches")), hides=_NOTES, group="ends",
    ),
    Condition(
        FED, feeds_backwards, ("mixed.transfer.only_boundaries",), _ONE,
        lambda one: len(one.case.params.get("feeds", ())) > 1,
    ),
    Condition(
        "with the nodes in another order in the file", other_order, ("mixed.partition.order_preserved", "M3"),
        refusals=True,
    ),
    Condition(
        "under a name scope", scoped(SCOPE), ("in_out_pair.names_no_port",), _BOTH, names_may_change, "names",
    ),
    Condition(
        "under names of hundreds of letters", scoped(LONG), ("in_out_pair.names_no_port",), _BOTH, names_may_change,
        "names", dear=True,
    ),
    Condition("with a task requested for every operator", requested, _EACH, refusals=True),
    Condition("with attributes of a script's own", annotated, _EACH, refusals=True),
    Condition("as tools export it", exported, _EACH, refusals=True, dear=True),
    Condition(
        "with no shape known", unshaped, _EACH, _BOTH, lacks("dynamic_input", "input_shape", "dynamic_dims"),
    ),
    Condition("of whole numbers", of_integers, _EACH, _ONE, hides=frozenset({"borders"})),
    Condition("with the channels of images first", channels_first, (*_EACH, "precision.g.session_same"), _BOTH),
    Condition("inside a function that a function calls", within(nesting.in_calls), _WHOLE, **_WITHIN),
    Condition("inside a branch of an If", within(nesting.in_branch), _WHOLE, **_WITHIN),
    Condition("inside the body of a While", within(nesting.in_loop), (*_WHOLE, "P4"), **_WITHIN),
    Condition(
        "inside a conditional and a loop of version 1", within(nesting.in_flow), (*_WHOLE[:1], "P4"),
        **{**_WITHIN, "fits": all_of(can_be_within, mixes_nothing)},
    ),
    Condition("with operators in functions of their own", each_apart(nesting.apart), ("M22",), **_OF_THEIR_OWN),
    Condition(
        "with operators in branches of conditionals of their own", each_apart(nesting.apart_in_branches), ("M22",),
        **_OF_THEIR_OWN,
    ),
    # after what is put into functions, which would not take these along
    Condition("with functions that nobody calls", uncalled, _EACH, refusals=True),
    Condition(
        "beside device operators that nothing connects it with", beside(device_operator),
        ("mixed.default.full_offload", "M4"), hides=_NOTES | {"min_geops"}, refusals=True,
    ),
    Condition(
        "beside host operators that nothing connects it with", beside(lambda params: "PyFunc"),
        ("mixed.purpose.host_fallback", "M2"), hides=_NOTES | {"min_geops"}, refusals=True, refusable=True,
    ),
    Condition(
        "beside a loop, a branch, a variable and an image that nothing connects it with", beside_flow,
        ("mixed.purpose.host_fallback", "M4", "M21"), _BOTH,
        hides=_NOTES | {"min_geops"}, refusals=True, dear=True, refusable=True,
    ),
    Condition(
        "among a hundred device operators that nothing connects it with", with_many,
        ("mixed.default.full_offload", "M4"), _ONE, against="text", hides=_NOTES | {"min_geops"}, refusals=True,
        dear=True,
    ),
    Condition(
        "beside device operators whose names begin as its own", with_likes, ("mixed.default.full_offload", "M4"),
        hides=_NOTES | {"min_geops"}, refusals=True, dear=True,
    ),
    Condition(TEXT, no_change, _EACH, _ONE, group="text", refusals=True, dear=True),
    Condition(AFTER, no_change, _EACH, refusals=True),
]  # fmt: skip

#: What makes no difference, each condition declared once. Another way to write a value or a file may be refused.
_WRITTEN = ("with modify_mixlist", "with customize_dtypes", "with in_out_pair", "with line ends", "with empty lines")
CONDITIONS: Mapping[str, Condition] = {
    one.name: one._replace(refusable=one.refusable or one.name.startswith(_WRITTEN)) for one in _ALL
}


LAWS = [
    Law("partition-conditions", "What a case of partition says holds beside what no document relates to it",
        ("mixed.partition.identify_first",), (), None),
    Law("precision-conditions", "What a case of precision says holds beside what no document relates to it",
        ("precision.g.session_same",), (), None, "precision"),
]  # fmt: skip
