"""The kernel cache: its directories, its modes, and when it is cleared."""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Set

from faulty.answered import renamed_files
from faulty.asked import (
    LEGACY,
    Values,
    all_values,
    asked_turns,
    in_inference,
    in_values,
    is_about,
    mapped,
    plain,
    value_is,
    value_of,
    with_env,
    with_values,
    without,
    without_env,
    without_slashes,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, of_files
from npu_reference.errors import NpuError

fault(
    "cache_never_cleared",
    "runconfig.op_compiler_cache_mode.force",
    asks(in_values(lambda values: {**values, "op_compiler_cache_mode": "enable"})),
)
fault(
    "cache_directory_ignored",
    "runconfig.op_compiler_cache_dir.priority",
    asks(in_values(without("op_compiler_cache_dir"))),
)


@mistake("runconfig.op_compiler_cache_dir.priority")
def cache_path_beats_the_option(ask: Any, params: Params) -> Answer:
    if params.get("env", {}).get("ASCEND_CACHE_PATH"):
        return ask(with_values(params, op_compiler_cache_dir=None))
    return ask(params)


@mistake("session.op_compiler_cache_dir.created", ("compile", "options"))
def legacy_does_not_make_a_cache_directory(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    asked = asked_turns(params)[0]
    path, mode = value_of(asked, "op_compiler_cache_dir"), value_of(asked, "op_compiler_cache_mode")
    if LEGACY(params) and isinstance(path, str) and mode in ("enable", "force"):
        inside = path.rstrip("/") + "/"
        if not any(f"{name}/".startswith(inside) for name in asked["files"]):
            raise NpuError("OPTION_FILE", "op_compiler_cache_dir", "the directory does not exist")
    return answer


fault(
    "kernel_meta_has_another_name",
    "files.kernel_meta.default_dir",
    of_files(
        lambda files, asked: {name.replace("kernel_meta/", "kernel_meta_0/"): file for name, file in files.items()}
    ),
)
fault(
    "the_cache_has_no_folder",
    "session.op_compiler_cache_dir.exists",
    of_files(lambda files, asked: {re.sub(r"(^|/)kernel_cache/", r"\1", name): file for name, file in files.items()}),
)


@mistake("runconfig.op_compiler_cache_dir.priority")
def what_is_forced_lies_at_home(ask: Any, params: Params) -> Answer:
    if value_is(params, "op_compiler_cache_mode", "force"):
        return ask(
            with_env(params, lambda env: {key: value for key, value in env.items() if key != "ASCEND_CACHE_PATH"})
        )
    return ask(params)


def _no_host(files: Files, asked: Mapping[str, Any]) -> Files:
    there = without_slashes(asked["env"].get("ASCEND_CACHE_PATH"))
    if not there:
        return files
    return renamed_files(files, lambda name: re.sub(rf"^({re.escape(there)}/kernel_cache)_\d+/", r"\1/", name))


fault("the_cache_of_a_variable_is_of_no_host", "env.ASCEND_CACHE_PATH.subdir", of_files(_no_host))
fault(
    "inference_forces_no_cache",
    "runconfig.op_compiler_cache_mode.force",
    asks(
        lambda params: (
            all_values(params, mapped("op_compiler_cache_mode", lambda mode: "enable" if mode == "force" else mode))
            if in_inference(params) and is_about(params, surface="runconfig", edition="current")
            else params
        )
    ),
)


@mistake("session.op_compiler_cache_mode.debug_level_gate")
def legacy_cache_at_level_nought_only(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    level = plain(params["values"].get("op_debug_level", 0))
    if params["edition"] == "legacy" and level == 3:
        for turn in answer["turns"]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "compiled"
    return answer


fault("the_collect_path_is_not_read", "runconfig.op_debug_level.0_npu_collect", asks(without_env("NPU_COLLECT_PATH")))


@mistake("runconfig.op_compiler_cache_mode.force")
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


fault("no_directory_is_made_below_one_of_its_name", "runconfig.op_compiler_cache_dir.exists", of_files(_not_twice))


@mistake("session.op_compiler_cache_mode.force")
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
