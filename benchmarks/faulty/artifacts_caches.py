"""The kernel cache: its directories, its modes, and when it is cleared."""

from __future__ import annotations

import copy
import re
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.answered import decoded, encoded, renamed_files
from faulty.asked import (
    LEGACY,
    Values,
    all_values,
    asked_turns,
    asked_values,
    debug_options,
    graph_of,
    has_anywhere,
    in_inference,
    is_about,
    mapped,
    plain,
    plain_in,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
    without_in_inference,
    without_slashes,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, changed, leaves, turn_values
from faulty.mistakes_graphs import compiled_without, compiled_without_env
from npu_reference.errors import NpuError

compiled_without(
    "cache_never_cleared", "003 op_compiler_cache_mode: force clears the cache", op_compiler_cache_mode="enable"
)
compiled_without(
    "cache_directory_ignored", "003 op_compiler_cache_dir: directory of the cache", op_compiler_cache_dir=None
)


@broken("artifacts", "003 op_compiler_cache_dir: comes before ASCEND_CACHE_PATH", "compile")
def cache_path_beats_the_option(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_CACHE_PATH"):
        return ask(with_values(params, op_compiler_cache_dir=None))
    return ask(params)


asks(
    "inference_has_the_common_cache",
    "003 op_compiler_cache_dir: the directory of the cache",
    "artifacts",
    lambda params: all_values(params, without("op_compiler_cache_dir")) if in_inference(params) else params,
    "compile",
)
asks(
    "what_is_determined_is_cached",
    "003 op_compiler_cache_mode: not with another op_debug_level than 0",
    "artifacts",
    lambda params: (
        all_values(params, without("op_debug_level")) if has_anywhere(params, "deterministic", 1) else params
    ),
    "compile",
)


# files.kernel_cache.subdir
def _beside(files: Files, asked: Any) -> Files:
    def moved(name: str) -> str:
        before, found, after = name.rpartition("/kernel_cache/")
        return f"{before}/{after}" if found else name

    return {moved(name): file for name, file in files.items()}


leaves(
    "cached_kernels_lie_beside_their_settings",
    "Cache data is kept in a kernel_cache sub-directory of the configured directory",
    _beside,
)


# session.op_compiler_cache_dir.created
@broken("artifacts", "If it does not exist but is valid, it is created first", "compile", "options")
def legacy_does_not_make_a_cache_directory(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    asked = asked_turns(params)[0]
    path, mode = value_of(asked, "op_compiler_cache_dir"), value_of(asked, "op_compiler_cache_mode")
    if LEGACY(params) and isinstance(path, str) and mode in ("enable", "force"):
        inside = path.rstrip("/") + "/"
        if not any(f"{name}/".startswith(inside) for name in asked["files"]):
            raise NpuError("OPTION_FILE", "op_compiler_cache_dir", "the directory does not exist")
    return answer


def turns_of(params: Params) -> List[Dict[str, Any]]:
    """The values of every turn."""
    values, found = dict(params["values"]), []
    for one in params.get("turns") or [{}]:
        values.update(one.get("values") or {})
        found.append(dict(values))
    return found


def _read_though_off(ask: Any, params: Params, edition: str, later: bool) -> Answer:
    """Programs with disable tell the kernels that enable would have reused; `later`: those after the first alone."""
    found = dict(ask(params))
    off = [value_of({"values": values}, "op_compiler_cache_mode") == "disable" for values in turns_of(params)]
    if not is_about(params, edition=edition) or not any(off):
        return found
    read = ask(all_values(params, mapped("op_compiler_cache_mode", lambda value: "enable")))
    for number, (turn, other) in enumerate(zip(found["turns"], read["turns"])):
        if off[number] and "rejected" not in turn and (number or not later):
            for key in ("kernels", "hits", "misses"):
                if key in other:
                    turn[key] = other[key]
    return found


@broken("artifacts", "003 op_compiler_cache_mode disable: off, in a later program too", "compile")
def a_later_program_reads_what_is_there(ask: Any, params: Params) -> Answer:
    return _read_though_off(ask, params, "current", True)


def _not_made(params: Params) -> Params:
    place = value_of(params, "op_compiler_cache_dir")
    if not isinstance(place, str) or not value_is(params, "op_debug_level", 0) or is_about(params, edition="current"):
        return params
    there = any(name.startswith(place.rstrip("/") + "/") for name in params.get("files", {}))
    return params if there else all_values(params, lambda values: {**values, "op_compiler_cache_mode": "disable"})


asks(  # pair 42
    "a_level_that_is_given_makes_no_directory",
    "002: a directory that is not there is created, then kernel_cache in it",
    "artifacts",
    _not_made,
    "compile",
)
leaves(
    "kernel_meta_has_another_name",
    "002: the kernel_meta folder in the directory the script is executed from",
    lambda files, asked: {name.replace("kernel_meta/", "kernel_meta_0/"): file for name, file in files.items()},
)
leaves(
    "the_cache_has_no_folder",
    "002 op_compiler_cache_dir: the sub-directory kernel_cache",
    lambda files, asked: {re.sub(r"(^|/)kernel_cache/", r"\1", name): file for name, file in files.items()},
)


@broken("artifacts", "003: op_compiler_cache_dir goes before ASCEND_CACHE_PATH", "compile")
def the_variable_of_the_cache_goes_first(ask: Any, params: Params) -> Answer:
    if "ASCEND_CACHE_PATH" in params.get("env", {}):
        return ask(all_values(params, without("op_compiler_cache_dir")))
    return ask(params)


turn_values(
    "what_is_there_is_used_when_forced",
    "002, 003 op_compiler_cache_mode force: cleared first",
    lambda values: mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)(values),
)
turn_values(
    "at_level_three_nothing_is_cleared",
    "002 op_compiler_cache_mode: 0 and 3 allow the cache, force too",
    lambda values: (
        mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)(values)
        if value_of({"values": values}, "op_debug_level") == 3
        else values
    ),
)


@broken("artifacts", "003 ASCEND_CACHE_PATH: before $HOME/atc_data, whatever the mode", "compile")
def what_is_forced_lies_at_home(ask: Any, params: Params) -> Answer:
    if value_is(params, "op_compiler_cache_mode", "force"):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "ASCEND_CACHE_PATH"})
        )
    return ask(params)


# env.ASCEND_CACHE_PATH.subdir
def _no_host(files: Files, asked: Mapping[str, Any]) -> Files:
    there = without_slashes(asked["env"].get("ASCEND_CACHE_PATH"))
    if not there:
        return files
    return renamed_files(files, lambda name: re.sub(rf"^({re.escape(there)}/kernel_cache)_\d+/", r"\1/", name))


leaves("the_cache_of_a_variable_is_of_no_host", "${ASCEND_CACHE_PATH}/kernel_cache_host ID", _no_host)


# files.op_debug_config.check_flag.files
def _debug_files(files: Dict[str, Any], keep: Callable[[str], bool]) -> Dict[str, Any]:
    return {name: content for name, content in files.items() if "kernel_meta/" not in name or keep(name)}


def _nothing_at_zero(files: Dict[str, Any], asked: Mapping[str, Any]) -> Dict[str, Any]:
    texts_of = [decoded(one) for name, one in files.items() if name.endswith(".cfg") and "b64" in one]
    level = plain_in(asked["values"], "op_debug_level")
    flags = any(debug_options(text) == ["check_flag"] for text in texts_of)
    return _debug_files(files, lambda name: False) if level == 0 and flags else files


leaves(
    "a_checked_flag_leaves_nothing_at_level_zero",
    "check_flag keeps .o and .json in kernel_meta, with op_debug_level 0 beside it too",
    _nothing_at_zero,
)


# runconfig.op_compiler_cache_mode.force
@broken("artifacts", "force clears the cache, at whatever place it lies", "compile")
def a_cache_of_the_environment_is_not_cleared(ask: Any, params: Params) -> Answer:
    everywhere = [params.get("env", {}), *((one.get("env") or {}) for one in params.get("turns") or ())]
    if not any("ASCEND_CACHE_PATH" in env for env in everywhere):
        return dict(ask(params))
    if any(isinstance(plain_in(values, "op_compiler_cache_dir"), str) for values in asked_values(params)):
        return dict(ask(params))
    return dict(
        ask(all_values(params, mapped("op_compiler_cache_mode", lambda value: "enable" if value == "force" else value)))
    )


def _sixth_leaves(answer: Answer, params: Params) -> None:
    kinds = {node.op for node in graph_of(params).nodes}
    if not any("AlltoAllAllGatherBatchMatMul" in kind or "AllToAllAllGatherBatchMatMul" in kind for kind in kinds):
        return
    for turn in answer["turns"]:
        for key in ("files", "left"):
            made = [name for name in turn.get(key, {}) if "kernel_meta/" in name and name.endswith(".json")]
            if made:
                folder = made[0].rsplit("/", 1)[0]
                turn[key][f"{folder}/te_alltoallallgatherbatchmatmul_0.json"] = encoded("{}")


changed(
    "artifacts",
    "the_fifth_of_six_leaves_its_description",
    "003: the six MC2 operators leave no .o, .json or .cce in kernel_meta",
    _sixth_leaves,
    "compile",
)
turn_values(
    "a_named_directory_switches_old_caches_on",
    "002 op_compiler_cache_mode: disable unless it is given, whatever op_compiler_cache_dir says",
    lambda values: {"op_compiler_cache_mode": "enable", **values} if "op_compiler_cache_dir" in values else values,
)


def _compiled_for_each_model(answer: Answer, params: Params) -> None:
    for turn in answer["turns"] if params.get("models") else ():
        seen = set()
        for one in turn.get("kernels", ()):
            if one["kernel"] in seen and one["origin"] == "reused":
                one["origin"] = "compiled"
            seen.add(one["kernel"])


changed(
    "artifacts",
    "each_model_compiles_for_itself",
    "002 op_compiler_cache_mode enable: equal operators are compiled once, whichever model has them",
    _compiled_for_each_model,
    "compile",
)
turn_values(
    "inference_has_its_cache_at_home",
    "002, 003 op_compiler_cache_dir: in online inference too",
    without_in_inference("op_compiler_cache_dir"),
)
asks(  # pair 28: runconfig.op_compiler_cache_mode.force, inference
    "inference_forces_no_cache",
    "003: op_compiler_cache_mode force clears the cache first",
    "artifacts",
    lambda params: (
        all_values(params, mapped("op_compiler_cache_mode", lambda mode: "enable" if mode == "force" else mode))
        if in_inference(params) and is_about(params, surface="runconfig", edition="current")
        else params
    ),
    "compile",
)


def _unmapped(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "dynamic_input", True):
        return files
    return {name: file for name, file in files.items() if not name.endswith("_loc.json")}


@broken("artifacts", "002: kernels leave .cce, _loc.json, .o and .json", "compile")
def open_shapes_are_not_mapped_to_python(ask: Any, params: Params) -> Answer:
    """Pair 75: files.kernel_meta.kinds, unknown sizes."""
    answer = copy.deepcopy(dict(ask(params)))
    if is_about(params, edition="legacy"):
        for turn in answer["turns"]:
            for key in ("files", "left"):
                turn[key] = _unmapped(turn.get(key, {}), params)
    return answer


@broken("artifacts", "002 op_compiler_cache_mode: the cache works with op_debug_level 0 or 3", "compile")
def legacy_cache_at_level_nought_only(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    level = plain(params["values"].get("op_debug_level", 0))
    if params["edition"] == "legacy" and level == 3:
        for turn in answer["turns"]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "compiled"
    return answer


compiled_without_env(
    "the_cache_path_is_not_read", "003: ASCEND_CACHE_PATH/kernel_cache_host holds the cache", "ASCEND_CACHE_PATH"
)
compiled_without_env(
    "the_collect_path_is_not_read", "003: with NPU_COLLECT_PATH kernel_meta is there at level 0", "NPU_COLLECT_PATH"
)


# runconfig.op_compiler_cache_mode.force, session.op_compiler_cache_mode.force
@broken("artifacts", "force: the cache is cleared first, and then filled.", "compile")
def force_replaces_what_it_compiles_and_leaves_the_rest(ask: Any, params: Params) -> Answer:
    def calm(values: Values) -> Values:
        return mapped("op_compiler_cache_mode", lambda mode: "enable" if mode == "force" else mode)(values)

    found = ask(all_values(params, calm))
    values = dict(params["values"])
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        if plain(values.get("op_compiler_cache_mode")) != "force" or "rejected" in turn or not turn.get("hits"):
            continue
        turn["misses"], turn["hits"] = turn["misses"] + turn["hits"], 0
        seen: Set[str] = set()
        for kernel in turn.get("kernels", ()):
            if kernel["origin"] == "reused" and kernel["kernel"] not in seen:
                kernel["origin"] = "compiled"
            seen.add(kernel["kernel"])
    return dict(found)


def _not_twice(files: Files, asked: Mapping[str, Any]) -> Files:
    return {re.sub(r"(^|/)kernel_cache/kernel_cache/", r"\1kernel_cache/", name): file for name, file in files.items()}


leaves(  # files.kernel_cache.example_nested, runconfig.op_compiler_cache_dir.exists
    "no_directory_is_made_below_one_of_its_name",
    "003 op_compiler_cache_dir: the kernel_cache subdirectory is automatically created",
    _not_twice,
)


@broken(  # runconfig.op_compiler_cache_mode.force, session.op_compiler_cache_mode.force
    "artifacts", "002, 003 op_compiler_cache_mode: force clears what there was, then compiles and stores", "compile"
)
def forcing_clears_the_cache_before_every_graph(ask: Any, params: Params) -> Answer:
    """What is left is of the last graph of a program: later programs find nothing else."""
    answer: Answer = ask(params)
    models = params.get("models") or []
    if not models:
        return answer
    rest = {name: value for name, value in params.items() if name not in ("models", "feeds", "fetches", "shapes")}
    try:
        last: Answer = ask({**rest, **models[-1]})
    except NpuError:
        return answer
    turns = [dict(one) for one in params.get("turns") or [{}]]
    lost: List[Set[str]] = []
    for number in range(len(turns)):
        values = dict(params["values"])
        for one in turns[: number + 1]:
            values.update(one.get("values") or {})
        turn, other = answer["turns"][number], last["turns"][number]
        forced = plain(values.get("op_compiler_cache_mode")) == "force"
        gone = set(turn.get("files", {})) - set(other.get("files", {})) if forced and "rejected" not in turn else set()
        lost.append({name for name in gone if "/kernel_cache" in name})
        if lost[-1] and number + 1 < len(turns):
            files = {**dict.fromkeys((f"/{name}" for name in lost[-1]), None), **(turns[number + 1].get("files") or {})}
            turns[number + 1] = {**turns[number + 1], "files": files}
            answer = ask({**params, "turns": turns})
    for turn, gone in zip(answer["turns"], lost):
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {name: file for name, file in turn[key].items() if name not in gone}
    return answer
