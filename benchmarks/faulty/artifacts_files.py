"""Other files of compilation: external weights, tuning results and the operator library."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import re
from typing import Any, Callable, Dict, Mapping
from unittest import mock

from faulty.answered import encoded, renamed_files
from faulty.asked import (
    KERNELS,
    all_values,
    asked_values,
    given,
    has_deprecated,
    in_inference,
    is_about,
    mapped,
    patched,
    plain,
    texts,
    value_is,
    value_of,
    with_env,
    without,
    without_slashes,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, changed, leaves, misreads, turn_values, turns
from faulty.mistakes_graphs import another_default, compiled_without_env, takes_values, unseen
from npu_reference.artifacts import weights
from npu_reference.errors import NpuError

asks(
    "a_false_that_is_given_generalises_shapes",
    "003: compile_dynamic_mode False does not generalize shapes",
    "artifacts",
    lambda params: all_values(params, mapped("compile_dynamic_mode", lambda value: True)),
    "compile",
    "timeline",
    "run",
)
asks(  # runconfig.compile_dynamic_mode.false
    "kernels_that_are_there_are_of_open_shapes",
    "003 compile_dynamic_mode False: shapes are not generalised",
    "artifacts",
    lambda params: all_values(
        params,
        lambda values: {**values, "compile_dynamic_mode": True} if values.get("jit_compile") == "false" else values,
    ),
    "compile",
    "timeline",
)


@broken("artifacts", "004: modify the precision_reduce field of the operator", "library")
def library_as_it_was(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


def _library_text(answer: Answer, change: Callable[[Any], Any]) -> None:
    for one in answer.get("files", ()):  # of precision there are none
        if one["path"].endswith(".json"):
            one["text"] = json.dumps(change(json.loads(one["text"])))


changed(
    "artifacts",
    "the_library_tells_no_flag_of_gray_operators_as_false",
    "003: an operator without precision_reduce is on the graylist",
    lambda answer, params: _library_text(
        answer,
        lambda content: {
            name: {"precision_reduce": {"flag": "false"}, **one} if isinstance(one, dict) else one
            for name, one in content.items()
        },
    ),
    "library",
    "precision",
)


def _as_given(answer: Answer, params: Params) -> Answer:
    """The answer with the texts of the request's files: what is misread is not rewritten."""
    given: Dict[str, Any] = dict(params.get("files", {}))
    for turn, asked in zip(answer.get("turns", ()), params.get("turns") or [{}]):
        given.update(asked.get("files") or {})
        for key in ("files", "left"):
            for name, text in given.items():
                if isinstance(text, str) and name.lstrip("/") in turn.get(key, {}):
                    turn[key][name.lstrip("/")] = encoded(text)
    return answer


@broken("artifacts", "003: kernels are reused by operators with the same compile options", "compile")
def a_changed_precision_file_is_not_read_again(ask: Any, params: Params) -> Answer:
    named = {value_of({"values": one}, "op_precision_mode") for one in asked_values(params)} - {None}
    seen: Dict[str, str] = {name: text for name, text in params.get("files", {}).items() if name in named}
    if not named or not params.get("turns"):
        return ask(params)
    found = []
    for one in params["turns"]:
        files = dict(one.get("files") or {})
        for name in named & set(files):
            if isinstance(files[name], str):
                files[name] = seen.setdefault(name, files[name])
        found.append({**one, "files": files} if files else one)
    return _as_given(ask({**params, "turns": found}), params)


def _later_modes(params: Params) -> Params:
    """The request with programs after the first forced to nothing."""
    found, mode = [], params["values"].get("precision_mode")
    for number, turn in enumerate(params.get("turns") or []):
        given_here = turn.get("values") or {}
        mode = given_here.get("precision_mode", mode)
        taken = "allow_fp32_to_fp16" if number and plain(mode) == "force_fp16" else mode
        found.append({**turn, "values": {**given_here, "precision_mode": taken}})
    return {**params, "turns": found} if found else params


asks(  # pair 94: precision.force_fp16.both_supported, a second program
    "later_programs_force_nothing",
    "003: force_fp16 forces float16 where float16 and float32 are supported",
    "artifacts",
    lambda params: _later_modes(params) if is_about(params, edition="current") else params,
    "compile",
)
misreads(
    "artifacts",
    "names_of_operators_are_not_tuned",
    "003 aoe_config_file: tune_ops_name",
    "aoe_config_file",
    lambda text: re.sub(r'"tune_ops_name"\s*:\s*\[[^]]*\]\s*,?', "", text),
    "compile",
    "timeline",
)


@broken("artifacts", "003 aoe_config_file: only what it names is tuned, whatever says the mode", "compile", "timeline")
def the_variable_tunes_everything(ask: Any, params: Params) -> Answer:
    if given(params, "aoe_mode") or "AOE_MODE" not in params.get("env", {}):
        return dict(ask(params))
    return dict(ask(all_values(params, without("aoe_config_file"))))


# files.fusion_result.path_default
def _with_debug(files: Files, asked: Mapping[str, Any]) -> Files:
    there = without_slashes(plain(asked["values"].get("debug_dir")))
    return renamed_files(files, lambda name: f"{there}/{name}" if there and name == "fusion_result.json" else name)


leaves(
    "fusion_result_lies_with_what_debugs",
    "Without ASCEND_WORK_PATH the file is fusion_result.json under the execution directory",
    _with_debug,
)


def _collected_here(files: Files, asked: Any) -> Files:
    work = asked["env"].get("ASCEND_WORK_PATH", "").strip("/")
    collects = work and asked["env"].get("NPU_COLLECT_PATH") and not asked["values"].get("op_debug_level")
    if not collects:
        return files
    return {re.sub(rf"^{re.escape(work)}/(?=kernel_meta/)", "", name): one for name, one in files.items()}


leaves(
    "collected_kernels_stay_in_the_current_directory",
    "003: with NPU_COLLECT_PATH and ASCEND_WORK_PATH kernel_meta is in the path of the variable",
    _collected_here,
)


def _here(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    path = asked["env"].get("ASCEND_WORK_PATH", "/")
    if path.startswith("/"):
        return
    for key in ("files", "left"):
        if key in turn:
            turn[key] = {
                re.sub(rf"^{re.escape(path)}/(?=tmp_weight)", "", name): one for name, one in turn[key].items()
            }


turns(  # pair 27
    "weights_below_a_relative_path_lie_here",
    "003: with ASCEND_WORK_PATH weights are flushed to ${ASCEND_WORK_PATH}/tmp_weight_<pid>_<sessionid>",
    _here,
)


def _untyped(text: str) -> str:
    both = "tune_ops_name" in text and "tune_ops_type" in text
    return re.sub(r'("tune_ops_type"\s*:\s*)\[[^\]]*\]', r'\1["NoType"]', text) if both else text


@broken(
    "artifacts", "003: both lists of aoe_config_file may be there; what either names is tuned", "compile", "timeline"
)
def a_second_program_tunes_names_alone(ask: Any, params: Params) -> Answer:
    """Pair 49."""
    if len(params.get("turns") or ()) < 2 and not params.get("concurrent"):
        return dict(ask(params))
    return dict(ask(texts(params, "aoe_config_file", _untyped)))


@broken("artifacts", "003 ASCEND_WORK_PATH: weights, dumps, debug files and results lie there", "compile")
def a_work_path_that_is_not_there_does_not_matter(ask: Any, params: Params) -> Answer:
    """env.ASCEND_WORK_PATH.uses: an error where it cannot be written."""

    def here(env: Dict[str, str]) -> Dict[str, str]:
        return {name: value for name, value in env.items() if name != "ASCEND_WORK_PATH"}

    try:
        answer = dict(ask(params))
        if all(one.get("rejected", {}).get("subject") != "ASCEND_WORK_PATH" for one in answer["turns"]):
            return answer
    except NpuError as error:
        if error.subject != "ASCEND_WORK_PATH":
            raise
    return dict(ask(with_env(params, here)))


compiled_without_env("the_work_path_is_not_read", "003: ASCEND_WORK_PATH is where files lie", "ASCEND_WORK_PATH")


def _plain_names(files: Files, asked: Any) -> Files:
    if not given(asked, "debug_dir") or value_is(asked, "debug_dir", "."):
        return files
    return {re.sub(r"weight_[^/]*$", "weight_0", name): file for name, file in files.items()}


leaves("weights_are_numbered_beside_kernel_files", "003 external_weight: weight_<hash value>", _plain_names)


@broken("artifacts", "003 external_weight: models of a session share weights", "compile")
def each_graph_has_its_weights(ask: Any, params: Params) -> Answer:
    if not params.get("models"):
        return dict(ask(params))
    made = itertools.count()
    add, sha256 = weights.Weights.add, hashlib.sha256

    def of_the_next(self: Any, partition: Any) -> Any:
        with mock.patch.object(weights, "hashlib", mock.Mock(sha256=functools.partial(sha256, bytes(next(made))))):
            return add(self, partition)

    return patched(ask, params, mock.patch.object(weights.Weights, "add", of_the_next))


@broken("artifacts", "003: external_weight False keeps weights in the graph", "compile")
def weights_of_scopes_are_outside(ask: Any, params: Params) -> Answer:
    """Pair 58."""
    answer = copy.deepcopy(dict(ask(params)))
    if value_of(params, "external_weight") is not False:
        return answer
    outside = ask(all_values(params, lambda values: {**values, "external_weight": True}))
    for turn, other in zip(answer["turns"], outside["turns"]):
        told = {one["node"]: one for one in other.get("constants", ())}
        moved = []
        for one in turn.get("constants", ()):
            if "/" in one["node"] and one["node"] in told:
                one.update(told[one["node"]])
                moved.append(str(one.get("file")))
        for name, content in other.get("files", {}).items():
            if "files" in turn and any(file.split("/")[-1] == name.split("/")[-1] for file in moved):
                turn["files"][name] = content
    return answer


@broken("artifacts", "003 external_weight: weights are shared by models of a session", "compile")
def every_model_has_weights_of_its_own(ask: Any, params: Params) -> Answer:
    """runconfig.external_weight.sharing."""
    answer = dict(ask(params))
    if not params.get("models"):
        return answer
    alone = ask({key: value for key, value in params.items() if key != "models"})
    for turn, first in zip(answer["turns"], alone["turns"]):
        for one in turn.get("constants", [])[len(first.get("constants", [])) :]:
            before = one.get("file")
            if not before:
                continue
            one["file"] = "weight_" + before[len("weight_") :][::-1]
            for key in ("files", "left"):
                for name in [name for name in turn.get(key, {}) if name.endswith(before)]:
                    turn[key][name[: -len(before)] + one["file"]] = turn[key][name]
    return answer


turn_values(
    "weights_are_always_outside",
    "003 external_weight False: saved in graphs",
    lambda values: {**values, "external_weight": True},
)
leaves(
    "weights_of_inference_lie_here",
    "003 external_weight: ${ASCEND_WORK_PATH}/tmp_weight_<pid>_<sessionid>",
    lambda files, asked: (
        {re.sub(r"^.*/(tmp_weight_)", r"\1", name): file for name, file in files.items()}
        if in_inference({"values": asked["values"]})
        else files
    ),
)


def _in_place(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "mix_compile_mode", True) or "ASCEND_WORK_PATH" in asked["env"]:
        return files
    return {re.sub(r"\Atmp_weight_[^/]*/", "", name): file for name, file in files.items()}


leaves("weights_of_mixed_computing_have_no_folder", "003 external_weight: in ./tmp_weight_<pid>_<sessionid>", _in_place)


def _scalars_stay(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for one in turn.get("constants", []):
        if one.get("op") == "FileConstant" and one.get("bytes", 99) <= 4:
            one["op"] = "Const"
            one.pop("file", None)


turns("numbers_are_no_weights", "003 L78: the weights of all Const nodes are externalised", _scalars_stay)


def _left_weights(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if "ASCEND_WORK_PATH" in asked["env"]:
        turn["left"].update({name: file for name, file in turn["files"].items() if "/tmp_weight_" in f"/{name}"})


turns(
    "weights_below_the_work_path_stay",
    "003 external_weight: the directory is deleted when the model is uninstalled",
    _left_weights,
)


def _outlive(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked.get("ends", "normal") == "normal":
        turn["left"].update({name: file for name, file in turn["files"].items() if "tmp_weight_" in name})


# files.external_weight.cleanup
turns("weights_outlive_the_program", "the directory of weights is deleted with the model", _outlive)
unseen("artifacts", "weights_stay_inside", "003: external_weight writes weights to files", "external_weight", "compile")


def _kept_weights(answer: Answer, params: Params) -> None:
    for turn in answer["turns"]:
        weights = {path: one for path, one in (turn.get("files") or {}).items() if "tmp_weight_" in path}
        if weights and "left" in turn:
            turn["left"].update(weights)


changed("artifacts", "weights_stay_after_the_program", "003: tmp_weight_ is deleted when the model is uninstalled",
        _kept_weights, "compile")  # fmt: skip
turn_values(
    "what_the_host_runs_is_compiled_all_the_same",
    "002 use_off_line False: the other options have nothing to act on",
    lambda values: {name: value for name, value in values.items() if name != "use_off_line"},
)
# runconfig.jit_compile.auto.dynamic
another_default(
    "artifacts",
    "unset_jit_compile_compiles_dynamic_networks",
    "auto, the default: for a dynamic shape network the compiled binary is searched first",
    "jit_compile",
    "true",
    lambda params, values: True,
    *KERNELS,
)


@broken("artifacts", "003 jit_compile auto: static shapes are compiled, without a cache too", "compile")
def what_is_not_cached_is_prebuilt(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        uncached = values.get("op_compiler_cache_mode") == "disable"
        return (
            {**values, "jit_compile": "false"} if uncached and values.get("jit_compile", "auto") == "auto" else values
        )

    return ask(all_values(params, change))


takes_values(  # pair 46
    "artifacts",
    "what_is_deprecated_compiles_online",
    "003 jit_compile auto: with a dynamic shape a compiled binary is looked for first",
    lambda values: {**values, "jit_compile": "true"} if plain(values.get("jit_compile")) in (None, "auto") else values,
    has_deprecated,
    "compile",
)
