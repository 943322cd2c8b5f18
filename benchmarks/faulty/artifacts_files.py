"""Other files of compilation: external weights, tuning results and the operator library."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from typing import Any, Callable, Dict, Mapping
from unittest import mock

from faulty.asked import (
    KERNELS,
    all_values,
    given,
    has_deprecated,
    in_inference,
    in_values,
    is_about,
    mapped,
    patched,
    plain,
    texts,
    value_is,
    with_default,
    without,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, changed, of_files, of_turns
from npu_reference.artifacts import weights

fault(
    "a_false_that_is_given_generalises_shapes",
    "runconfig.compile_dynamic_mode.false",
    asks(lambda params: all_values(params, mapped("compile_dynamic_mode", lambda value: True))),
    methods=("compile", "timeline", "run"),
)


@mistake("precision.g.edit_field", ("library",))
def library_as_it_was(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


def _library_text(answer: Answer, change: Callable[[Any], Any]) -> None:
    for one in answer.get("files", ()):  # of precision there are none
        if one["path"].endswith(".json"):
            one["text"] = json.dumps(change(json.loads(one["text"])))


fault(
    "the_library_tells_no_flag_of_gray_operators_as_false",
    "precision.mixlist.gray",
    changed(
        lambda answer, params: _library_text(
            answer,
            lambda content: {
                name: {"precision_reduce": {"flag": "false"}, **one} if isinstance(one, dict) else one
                for name, one in content.items()
            },
        )
    ),
    methods=("library", "precision"),
)


def _later_modes(params: Params) -> Params:
    """The request with programs after the first forced to nothing."""
    found, mode = [], params["values"].get("precision_mode")
    for number, turn in enumerate(params.get("turns") or []):
        given_here = turn.get("values") or {}
        mode = given_here.get("precision_mode", mode)
        taken = "allow_fp32_to_fp16" if number and plain(mode) == "force_fp16" else mode
        found.append({**turn, "values": {**given_here, "precision_mode": taken}})
    return {**params, "turns": found} if found else params


fault(
    "later_programs_force_nothing",
    "precision.force_fp16.both_supported",
    asks(lambda params: _later_modes(params) if is_about(params, edition="current") else params),
)


@mistake("runconfig.aoe_config_file.purpose", ("compile", "timeline"))
def the_variable_tunes_everything(ask: Any, params: Params) -> Answer:
    if given(params, "aoe_mode") or "AOE_MODE" not in params.get("env", {}):
        return dict(ask(params))
    return dict(ask(all_values(params, without("aoe_config_file"))))


def _untyped(text: str) -> str:
    both = "tune_ops_name" in text and "tune_ops_type" in text
    return re.sub(r'("tune_ops_type"\s*:\s*)\[[^\]]*\]', r'\1["NoType"]', text) if both else text


@mistake("files.aoe_cfg.union", ("compile", "timeline"))
def a_second_program_tunes_names_alone(ask: Any, params: Params) -> Answer:
    """Pair 49."""
    if len(params.get("turns") or ()) < 2 and not params.get("concurrent"):
        return dict(ask(params))
    return dict(ask(texts(params, "aoe_config_file", _untyped)))


def _plain_names(files: Files, asked: Any) -> Files:
    if not given(asked, "debug_dir") or value_is(asked, "debug_dir", "."):
        return files
    return {re.sub(r"weight_[^/]*$", "weight_0", name): file for name, file in files.items()}


fault("weights_are_numbered_beside_kernel_files", "files.external_weight.name", of_files(_plain_names))


@mistake("runconfig.external_weight.sharing")
def each_graph_has_its_weights(ask: Any, params: Params) -> Answer:
    if not params.get("models"):
        return dict(ask(params))
    made = itertools.count()
    add, sha256 = weights.Weights.add, hashlib.sha256

    def of_the_next(self: Any, partition: Any) -> Any:
        with mock.patch.object(weights, "hashlib", mock.Mock(sha256=functools.partial(sha256, bytes(next(made))))):
            return add(self, partition)

    return patched(ask, params, mock.patch.object(weights.Weights, "add", of_the_next))


fault(
    "weights_are_always_outside",
    "runconfig.external_weight.false",
    asks(in_values(lambda values: {**values, "external_weight": True})),
)
fault(
    "weights_of_inference_lie_here",
    "files.external_weight.dir_env",
    of_files(
        lambda files, asked: (
            {re.sub(r"^.*/(tmp_weight_)", r"\1", name): file for name, file in files.items()}
            if in_inference({"values": asked["values"]})
            else files
        )
    ),
)


def _in_place(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "mix_compile_mode", True) or "ASCEND_WORK_PATH" in asked["env"]:
        return files
    return {re.sub(r"\Atmp_weight_[^/]*/", "", name): file for name, file in files.items()}


fault("weights_of_mixed_computing_have_no_folder", "files.external_weight.dir_default", of_files(_in_place))


def _scalars_stay(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for one in turn.get("constants", []):
        if one.get("op") == "FileConstant" and one.get("bytes", 99) <= 4:
            one["op"] = "Const"
            one.pop("file", None)


fault("numbers_are_no_weights", "runconfig.external_weight.true_all_const", of_turns(_scalars_stay))


def _left_weights(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if "ASCEND_WORK_PATH" in asked["env"]:
        turn["left"].update({name: file for name, file in turn["files"].items() if "/tmp_weight_" in f"/{name}"})


fault("weights_below_the_work_path_stay", "files.external_weight.cleanup", of_turns(_left_weights))
fault("weights_stay_inside", "runconfig.external_weight.true_all_const", asks(in_values(without("external_weight"))))
fault(
    "what_the_host_runs_is_compiled_all_the_same",
    "session.use_off_line.false_overrides",
    asks(in_values(lambda values: {name: value for name, value in values.items() if name != "use_off_line"})),
)
fault(
    "unset_jit_compile_compiles_dynamic_networks",
    "runconfig.jit_compile.auto.dynamic",
    asks(with_default("jit_compile", "true")),
    methods=KERNELS,
)


@mistake("runconfig.jit_compile.auto.static")
def what_is_not_cached_is_prebuilt(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        uncached = values.get("op_compiler_cache_mode") == "disable"
        return (
            {**values, "jit_compile": "false"} if uncached and values.get("jit_compile", "auto") == "auto" else values
        )

    return ask(all_values(params, change))


fault(
    "what_is_deprecated_compiles_online",
    "runconfig.jit_compile.auto.dynamic",
    asks(
        in_values(
            lambda values: (
                {**values, "jit_compile": "true"} if plain(values.get("jit_compile")) in (None, "auto") else values
            )
        )
    ),
    has_deprecated,
)
