"""Kernel files that op_debug_level and debug_dir leave."""

from __future__ import annotations

import base64
import copy
import re
from typing import Any, Dict, Mapping

from faulty.answered import decoded, encoded
from faulty.asked import (
    all_values,
    given,
    in_values,
    is_about,
    is_profiled,
    mapped,
    nodes_of,
    plain,
    value_is,
    value_of,
    without,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, lacks_switches, of_files, of_turns

fault("debug_level_ignored", "session.op_debug_level.2.files", asks(in_values(without("op_debug_level"))))


@mistake("runconfig.op_debug_level.empty_off")
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


fault(
    "a_profile_keeps_kernels_optimised",
    "runconfig.op_debug_level.2",
    asks(
        lambda params: (
            all_values(params, mapped("op_debug_level", lambda level: 1 if level == 2 else level))
            if is_profiled(params)
            else params
        )
    ),
)
fault(
    "level_nought_keeps_binaries",
    "session.op_debug_level.0",
    asks(
        in_values(
            lambda values: mapped("op_debug_level", lambda value: 3 if value == 0 and value is not False else value)(
                values
            )
        )
    ),
)
fault(
    "level_four_describes_nothing_beside_a_cache",
    "session.op_debug_level.4.files",
    of_files(
        lambda files, asked: (
            {name: file for name, file in files.items() if not name.endswith("_compute.json")}
            if given(asked, "op_compiler_cache_dir")
            else files
        )
    ),
)


def _swapped(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if name.endswith(".cce") and "b64" in file:
            text = decoded(file)
            found[name] = encoded(re.sub(r"0X5A5A000([12])", lambda one: f"0X5A5A000{3 - int(one.group(1))}", text))
    return found


fault("overwriting_traps_as_reading_does", "files.op_debug_config.oom.logic", of_files(_swapped))


def _few(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "op_debug_level", 2):
        return files
    mappings = sorted(name for name in files if name.endswith("_loc.json"))
    return {name: file for name, file in files.items() if name not in mappings[3:]}


fault("three_kernels_have_mappings", "session.op_debug_level.2.files", of_files(_few))


def _here_as_well(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if value_of(asked, "op_debug_level") == 3 and "ASCEND_WORK_PATH" in asked["env"]:
        for key in ("files", "left"):
            here = {re.sub(r"^.*/(kernel_meta/)", r"\1", name): file for name, file in turn.get(key, {}).items()}
            turn[key] = {**turn.get(key, {}), **{name: one for name, one in here.items() if "kernel_meta/" in name}}


fault("level_three_leaves_copies_here", "env.ASCEND_WORK_PATH.uses", of_turns(_here_as_well))
fault(
    "a_single_kernel_stays_optimised",
    "runconfig.op_debug_level.2",
    lacks_switches(
        "^-(O0|g)$",
        lambda turn, number, params: (
            len(turn["kernels"]) == 1 and value_is(params, "op_debug_level", 2) and is_about(params, edition="current")
        ),
    ),
)
fault(
    "sessions_write_no_cce_at_the_fourth_level",
    "runconfig.op_debug_level.4",
    asks(
        lambda params: (
            all_values(params, mapped("op_debug_level", lambda level: 3 if level == 4 else level))
            if is_about(params, surface="session", edition="current")
            else params
        )
    ),
)
fault(
    "debug_files_elsewhere",
    "runconfig.debug_dir.priority",
    asks(in_values(lambda values: {key: value for key, value in values.items() if key != "debug_dir"})),
)
fault(
    "level_3_is_level_0",
    "runconfig.op_debug_level.3",
    asks(
        in_values(
            lambda values: {**values, "op_debug_level": 0} if plain(values.get("op_debug_level")) == 3 else values
        )
    ),
)
