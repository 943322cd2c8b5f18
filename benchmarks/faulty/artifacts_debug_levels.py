"""Kernel files that op_debug_level and debug_dir leave."""

from __future__ import annotations

import base64
import copy
import re
from typing import Any, Dict, List, Mapping

from faulty.answered import decoded, encoded
from faulty.asked import (
    Values,
    all_values,
    given,
    is_about,
    is_profiled,
    mapped,
    nodes_of,
    plain,
    value_is,
    value_of,
    without,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, leaves, turn_values, turns
from faulty.mistakes_graphs import compiled_without, lacks_switches

compiled_without("debug_level_ignored", "002 op_debug_level", op_debug_level=None)


def _no_mapping(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_is(asked, "op_debug_level", 2):
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if not name.endswith("_loc.json")}


turns("level_two_has_no_mappings", "002 op_debug_level 2: _loc.json too", _no_mapping)


def _of_the_first(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if not value_is(asked, "op_debug_level", 2) or not value_is(asked, "mix_compile_mode", True):
        return
    kept = [one["kernel"] for one in turn.get("kernels", ())][:1]
    for key in ("files", "left"):
        if key in turn:
            turn[key] = {
                name: file
                for name, file in turn[key].items()
                if "kernel_meta/" not in name or any(kernel in name for kernel in kept)
            }


turns("debugging_stops_at_the_border", "002 op_debug_level 2: the files of every operator", _of_the_first)


@broken("artifacts", "003: op_debug_level that is left empty is off", "compile")
def bodies_of_functions_leave_their_kernels(ask: Any, params: Params) -> Answer:
    """Pair 11."""
    answer = copy.deepcopy(dict(ask(params)))
    if given(params, "op_debug_level") or given(params, "op_debug_config") or is_about(params, edition="legacy"):
        return answer
    known = {node.name for node in nodes_of(params)}
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            if any("/" in name and name not in known for name in kernel["nodes"]):
                for key in {"files", "left"} & set(turn):
                    for ending in (".o", ".json"):
                        name = f"kernel_meta/{kernel['kernel']}{ending}"
                        turn[key].setdefault(name, {"b64": base64.b64encode(b"{}").decode()})
    return answer


asks(  # pair 14
    "a_profile_keeps_kernels_optimised",
    "003: op_debug_level 2 compiles with -O0 -g",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: 1 if level == 2 else level))
        if is_profiled(params)
        else params
    ),
    "compile",
)
asks(  # session.op_debug_level.3.files
    "the_third_level_keeps_sources_too",
    "002 op_debug_level: 3, .o and .json are kept",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda value: 4 if value == 3 else value))
        if is_about(params, "session", "legacy")
        else params
    ),
    "compile",
)
leaves(
    "level_four_describes_no_fusion",
    "002 op_debug_level 4: {$kernel_name}_compute.json",
    lambda files, asked: {name: file for name, file in files.items() if not name.endswith("_compute.json")},
)


def _sources(files: Files, asked: Mapping[str, Any]) -> Files:
    if value_of(asked, "op_debug_level") != 3:
        return files
    return {**files, **{name[:-2] + ".cce": {"bytes": 64} for name in files if re.search(r"kernel_meta/.*\.o$", name)}}


leaves("level_three_keeps_the_sources_too", "002 op_debug_level 3: .o and .json", _sources)
turn_values(
    "level_nought_keeps_binaries",
    "002 op_debug_level 0: debug off",
    lambda values: mapped("op_debug_level", lambda value: 3 if value == 0 and value is not False else value)(values),
)
leaves(
    "level_four_describes_nothing_beside_a_cache",
    "002, 003 op_debug_level 4: {$kernel_name}_compute.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith("_compute.json")}
        if given(asked, "op_compiler_cache_dir")
        else files
    ),
)


# files.op_debug_config.oom.logic
def _swapped(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith(".cce") and "b64" in file:
            text = decoded(file)
            found[name] = encoded(re.sub(r"0X5A5A000([12])", lambda one: f"0X5A5A000{3 - int(one.group(1))}", text))
    return found


leaves(
    "overwriting_traps_as_reading_does", "read_or_write == 1 traps with 0X5A5A0001, otherwise with 0X5A5A0002", _swapped
)


def _few(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "op_debug_level", 2):
        return files
    mappings = sorted(name for name in files if name.endswith("_loc.json"))
    return {name: file for name, file in files.items() if name not in mappings[3:]}


leaves("three_kernels_have_mappings", "002 op_debug_level 2: .cce, _loc.json, .o and .json of each kernel", _few)


def _here_as_well(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_of(asked, "op_debug_level") == 3 and "ASCEND_WORK_PATH" in asked["env"]:
        for key in ("files", "left"):
            here = {re.sub(r"^.*/(kernel_meta/)", r"\1", name): file for name, file in turn.get(key, {}).items()}
            turn[key] = {**turn.get(key, {}), **{name: one for name, one in here.items() if "kernel_meta/" in name}}


turns("level_three_leaves_copies_here", "003 op_debug_level 3: in ASCEND_WORK_PATH where it is set", _here_as_well)


def _kernels_end_in(ending: str, turn: Dict[str, Any]) -> List[str]:
    return [f"kernel_meta/{kernel['kernel']}{ending}" for kernel in turn.get("kernels", ())]


@broken("artifacts", "003 op_debug_level 0: operator debug is off", "compile")
def binaries_are_kept_at_level_nought(ask: Any, params: Params) -> Answer:
    found = dict(ask(params))
    if is_about(params, "runconfig", "current") and value_is(params, "op_debug_level", 0) and not params.get("env"):
        for turn in found["turns"]:
            for key in ("files", "left"):
                if key in turn:
                    turn[key] = {**turn[key], **{name: {"bytes": 2560} for name in _kernels_end_in(".o", turn)}}
    return found


lacks_switches(  # pair 2
    "a_single_kernel_stays_optimised",
    "003: op_debug_level 2 compiles with -O0 -g",
    "^-(O0|g)$",
    lambda turn, number, params: (
        len(turn["kernels"]) == 1 and value_is(params, "op_debug_level", 2) and is_about(params, edition="current")
    ),
)
asks(  # pair 39
    "sessions_write_no_cce_at_the_fourth_level",
    "003: op_debug_level 4 keeps the .cce and the compute file",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_debug_level", lambda level: 3 if level == 4 else level))
        if is_about(params, surface="session", edition="current")
        else params
    ),
    "compile",
)
turn_values(
    "debug_files_elsewhere",
    "003 debug_dir -> ASCEND_WORK_PATH -> current path",
    lambda values: {key: value for key, value in values.items() if key != "debug_dir"},
)
turn_values(
    "level_3_is_level_0",
    "003 op_debug_level 3: the .o and .json files are retained",
    lambda values: {**values, "op_debug_level": 0} if plain(values.get("op_debug_level")) == 3 else values,
)
turn_values(
    "level_4_is_level_3",
    "003 op_debug_level 4: .cce and _compute.json too",
    lambda values: {**values, "op_debug_level": 3} if plain(values.get("op_debug_level")) == 4 else values,
)


def _one_switch(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for kernel in turn.get("kernels", []):
        if len(kernel.get("switches", [])) > 1:
            kernel["switches"] = kernel["switches"][:1]


turns("level_2_without_g", "002 op_debug_level 2: -O0-g", _one_switch)
turns(
    "no_location_files_at_level_1",
    "002 op_debug_level 1: *_loc.json",
    lambda turn, asked: (
        turn.update(
            {
                member: {path: one for path, one in turn.get(member, {}).items() if not path.endswith("_loc.json")}
                for member in ("files", "left")
            }
        )
        if plain(asked["values"].get("op_debug_level")) == 1
        else None
    ),
)
turns(
    "debugging_only_switches_optimisation_off",
    "003: level 2 sets -O0 -g",
    lambda turn, asked: (
        turn.update(
            kernels=[{**one, "switches": [s for s in one.get("switches", []) if s != "-g"]} for one in turn["kernels"]]
        )
        if turn.get("kernels")
        else None
    ),
)


def dot_dropped(values: Values) -> Values:
    return without("debug_dir")(values) if plain(values.get("debug_dir")) in (".", "./") else values


# runconfig.debug_dir.priority
asks(
    "a_debug_dir_of_here_counts_as_none",
    "debug_dir goes before ASCEND_WORK_PATH.",
    "artifacts",
    lambda params: all_values(params, dot_dropped) if params["edition"] == "current" else params,
    "options",
    "compile",
)
