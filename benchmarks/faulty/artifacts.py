"""Mistakes in what compilation leaves on disk, and in the operator information library."""

from __future__ import annotations

import base64
import json
import posixpath
from typing import Any, Callable, Dict

from faulty.making import Answer, Params, broken, changed, plain, with_values


def turns(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """`change` edits every turn that was not refused."""

    def edit(answer: Answer, params: Params) -> None:
        for turn in answer["turns"]:
            if "rejected" not in turn:
                change(turn, params)

    changed("artifacts", name, sentence, edit, "compile")


def paths(name: str, sentence: str, keep: Callable[[str], Any], *members: str) -> None:
    """`keep` gives a path's new name, or None where the file is missing."""

    def edit(turn: Dict[str, Any], params: Params) -> None:
        for member in members or ("files", "left"):
            if member in turn:
                found = {keep(path): one for path, one in turn[member].items()}
                turn[member] = {path: one for path, one in found.items() if path is not None}

    turns(name, sentence, edit)


def _ends(*endings: str) -> Callable[[str], Any]:
    return lambda path: None if "kernel_meta" in path and path.endswith(endings) else path


_LEVELS = "002 op_debug_level: files of kernel_meta"
paths("no_cce", _LEVELS, _ends(".cce"))
paths("no_loc", _LEVELS, _ends("_loc.json"))
paths("no_objects", _LEVELS, _ends(".o"))
paths("no_compute", _LEVELS, _ends("_compute.json"))
paths("no_kernel_folder", _LEVELS, lambda path: path.replace("kernel_meta/", ""))
paths(
    "debug_files_in_the_current_directory",
    "003 debug_dir: directory of the debug files",
    lambda path: "kernel_meta/" + path.rpartition("/")[2] if "kernel_meta/" in path else path,
)
turns(
    "weights_stay_for_ever",
    "003 external_weight: the directory is deleted when the model is uninstalled",
    lambda turn, params: turn.get("left", {}).update(
        {path: one for path, one in turn.get("files", {}).items() if "tmp_weight" in path}
    ),
)
paths(
    "weights_in_the_current_directory",
    "003 external_weight: tmp_weight_<pid>_<sessionid>",
    lambda path: path.rpartition("/")[2] if "tmp_weight" in path else path,
)
paths(
    "statistics_in_a_folder",
    "003 export_compile_stat: fusion_result.json under the execution directory",
    lambda path: "FE/" + path if path == "fusion_result.json" else path,
)
paths(
    "never_any_statistics",
    "003 export_compile_stat: 1: generated",
    lambda path: None if "fusion_result" in path else path,
)
turns(
    "statistics_before_the_end",
    "003 export_compile_stat: 1: when the program exits normally",
    lambda turn, params: turn.get("files", {}).update(
        {path: one for path, one in turn.get("left", {}).items() if "fusion_result" in path}
    ),
)
paths(
    "cache_without_its_folder",
    "003 op_compiler_cache_dir: the kernel_cache subdirectory",
    lambda path: path.replace("kernel_cache/", ""),
)
paths(
    "cache_without_its_settings", "003: op_cache.ini is generated", lambda path: None if path.endswith(".ini") else path
)


def _outside(path: str) -> str:
    return f"../{path}" if path.endswith("_loc.json") else path


paths("files_outside_the_folder", "003 debug_dir: directory of the debug files", _outside)


def lost(name: str, sentence: str, **values: Any) -> None:
    """Options that have no effect, in every turn; a value that is not None takes their place."""

    def fault(ask: Any, params: Params) -> Answer:
        found = with_values(params, **values)
        found["turns"] = [
            {**turn, "values": {key: value for key, value in turn["values"].items() if key not in values}}
            if "values" in turn
            else turn
            for turn in params.get("turns", [])
        ]
        if "turns" not in params:
            del found["turns"]
        return ask(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


lost("debug_level_ignored", "002 op_debug_level", op_debug_level=None)
lost("debug_config_ignored", "003 op_debug_config", op_debug_config=None)
lost("cache_never_cleared", "003 op_compiler_cache_mode: force clears the cache", op_compiler_cache_mode="enable")
lost("cache_directory_ignored", "003 op_compiler_cache_dir: directory of the cache", op_compiler_cache_dir=None)
lost("fusion_switches_ignored", "003 fusion_switch_file: off disables a pass", fusion_switch_file=None)
lost("scope_passes_ignored", "003 enable_scope_fusion_passes", enable_scope_fusion_passes=None)


def _env(variable: str, name: str, sentence: str) -> None:
    def without(env: Any) -> Any:
        return {key: value for key, value in env.items() if key != variable}

    def fault(ask: Any, params: Params) -> Answer:
        found = {**params, "env": without(params.get("env", {}))}
        if "turns" in params:
            found["turns"] = [
                {**turn, "env": without(turn["env"])} if "env" in turn else turn for turn in params["turns"]
            ]
        return ask(found)

    fault.__name__ = name
    broken("artifacts", sentence, "compile")(fault)


_env("ASCEND_WORK_PATH", "work_path_ignored", "003 debug_dir: then ASCEND_WORK_PATH")
_env("ASCEND_CACHE_PATH", "cache_path_ignored", "003 op_compiler_cache_dir: then ASCEND_CACHE_PATH")
_env("ASCEND_MAX_OP_CACHE_SIZE", "cache_size_ignored", "003: ASCEND_MAX_OP_CACHE_SIZE limits the cache")


@broken("artifacts", "003 debug_dir: debug_dir comes before ASCEND_WORK_PATH", "compile")
def work_path_beats_debug_dir(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_WORK_PATH"):
        return ask(with_values(params, debug_dir=None))
    return ask(params)


@broken("artifacts", "003 op_compiler_cache_dir: comes before ASCEND_CACHE_PATH", "compile")
def cache_path_beats_the_option(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_CACHE_PATH"):
        return ask(with_values(params, op_compiler_cache_dir=None))
    return ask(params)


turns(
    "never_a_hit",
    "003 op_compiler_cache_mode enable: reused by operators with the same options",
    lambda turn, params: (
        turn.update(hits=0, misses=turn.get("hits", 0) + turn.get("misses", 0)),
        [one.update(origin="compiled") for one in turn.get("kernels", [])],
    ),
)
turns(
    "always_a_hit",
    "003 op_compiler_cache_mode disable: disabled",
    lambda turn, params: [one.update(origin="reused") for one in turn.get("kernels", [])],
)
turns(
    "no_switches_of_the_compiler",
    "002 op_debug_level 2: -O0 -g",
    lambda turn, params: [one.update(switches=[]) for one in turn.get("kernels", [])],
)
turns(
    "one_operator_a_kernel",
    "fused operators are one kernel",
    lambda turn, params: [one.update(nodes=one["nodes"][:1]) for one in turn.get("kernels", [])],
)
turns(
    "passes_match_once",
    "003 export_compile_stat: match_times, effect_times",
    lambda turn, params: [one.update(matched=min(1, one["matched"])) for one in turn.get("fusion", [])],
)
turns(
    "passes_always_effective",
    "003 export_compile_stat: effect_times",
    lambda turn, params: [one.update(effective=one["matched"]) for one in turn.get("fusion", [])],
)
turns(
    "constants_stay_constants",
    "003 external_weight: converted to FileConstant",
    lambda turn, params: [one.update(op="Const") for one in turn.get("constants", [])],
)


def _text(turn: Dict[str, Any], ending: str, change: Callable[[str], str]) -> None:
    for member in ("files", "left"):
        for path, one in turn.get(member, {}).items():
            if path.endswith(ending) and "b64" in one:
                text = change(base64.b64decode(one["b64"]).decode("utf-8", "replace"))
                one["b64"] = base64.b64encode(text.encode("utf-8")).decode("ascii")


def _without_graphs(text: str) -> str:
    found = json.loads(text)
    return json.dumps(dict(list(found.items())[:1]) if isinstance(found, dict) else found)


turns(
    "statistics_of_one_graph",
    "003 export_compile_stat: session_and_graph_id_xx_xx",
    lambda turn, params: _text(turn, "fusion_result.json", _without_graphs),
)
turns(
    "half_the_cache_size",
    "003: max_op_cache_size=500 by default",
    lambda turn, params: _text(turn, "op_cache.ini", lambda text: text.replace("=500", "=250")),
)
turns(
    "cce_without_checks",
    "003 op_debug_config oom: the detection logic is added",
    lambda turn, params: _text(turn, ".cce", lambda text: "\n".join(text.split("\n")[:2]) + "\n"),
)


# The library


def _library(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    changed(
        "artifacts", name, sentence, lambda answer, params: [change(one) for one in answer["files"]] and None, "library"
    )


_library(
    "library_by_its_name_alone",
    "003: opp/built-in/op_impl/ai_core/tbe/config/<soc>/aic-<soc>-ops-info.json",
    lambda one: one.update(path=posixpath.basename(one["path"])),
)
_library("library_is_writable", "004: grant the write permission", lambda one: one.update(mode="0644"))
_library(
    "library_without_flags",
    "004: precision_reduce flag true or false",
    lambda one: one.update(text=one["text"].replace('"precision_reduce"', '"precision"')),
)


@broken("artifacts", "004: modify the precision_reduce field of the operator", "library")
def library_as_it_was(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


@broken("artifacts", "003 op_debug_config: op_debug_list: operators by name or type", "compile")
def debug_list_of_the_first(ask: Any, params: Params) -> Answer:
    path = plain(params["values"].get("op_debug_config"))
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    if not isinstance(text, str):
        return ask(params)
    lines = [line.split(",")[0] if line.startswith("op_debug_list") else line for line in text.split("\n")]
    return ask({**params, "files": {**params["files"], path: "\n".join(lines)}})
