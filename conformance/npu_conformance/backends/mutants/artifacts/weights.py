"""Mutants of weights in files, and of the operators' library."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants.artifacts.changes import (
    Ask,
    Fault,
    beside,
    both,
    declare,
    each_turn,
    given,
    other_value,
    renamed,
    variable,
)
from npu_conformance.backends.mutants.edits import Answer, Params

__all__: List[str] = []


def _constants(op: str) -> Fault:
    def edit(turn: Dict[str, Any]) -> None:
        for one in turn["constants"]:
            one["op"] = op

    return each_turn(edit)


def _four_bytes(turn: Dict[str, Any]) -> None:
    """Weights of other types than float32 have the bytes that they would have as float32."""
    for one in turn["constants"]:
        size = {"float64": 8, "int64": 8, "uint64": 8, "int8": 1, "uint8": 1, "bool": 1}.get(one["node"].split("/")[0])
        if size and one.get("file"):
            one["bytes"] = one["bytes"] // size * 4


def _kept(pattern: str) -> Fault:
    """What lay there before the program ended still does after it."""

    def edit(turn: Dict[str, Any]) -> None:
        turn["left"].update({path: content for path, content in turn["files"].items() if re.search(pattern, path)})

    return each_turn(edit)


_WEIGHTS: List[Tuple[str, str, Fault]] = [
    (
        "files.external_weight.name",
        "Names the files by number.",
        renamed(r"(tmp_weight_[^/]+)/weight_([0-9a-f]{4})[0-9a-f]*$", r"\1/\2.bin"),
    ),
    (
        "files.external_weight.dir_default",
        "Has one directory for all programs.",
        renamed(r"tmp_weight_\d+_\d+/", "tmp_weight/"),
    ),
    ("files.external_weight.dir_env", "Does not look at ASCEND_WORK_PATH.", variable("ASCEND_WORK_PATH")),
    ("files.external_weight.cleanup", "Leaves the files when the model is unloaded.", _kept("tmp_weight_")),
    (
        "runconfig.external_weight.false",
        "Always writes the weights to files.",
        both(other_value("external_weight", lambda _: True), given("external_weight", True)),
    ),
    ("runconfig.external_weight.true_all_const", "Leaves the constants in the graph as well.", _constants("Const")),
    ("runconfig.external_weight.true_all_const", "Writes four bytes for each number.", each_turn(_four_bytes)),
    (
        "runconfig.external_weight.sharing",
        "Writes a file for every constant.",
        beside(r"(tmp_weight_[^/]+/weight_[0-9a-f]+)[0-9a-f]$", r"\1"),
    ),
]


def _library(change: Callable[[Dict[str, Any]], None]) -> Fault:
    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for one in answer["files"]:
            change(one)
        return answer

    return fault


_LIBRARY: List[Tuple[str, str, Fault]] = [
    (
        "precision.s.builtin_file",
        "Has the layout of the current edition.",
        _library(lambda one: one.update(path=one["path"].replace("op_impl/built-in", "built-in/op_impl"))),
    ),
    (
        "precision.mixlist.query_path",
        "Has the layout of the legacy edition.",
        _library(lambda one: one.update(path=one["path"].replace("built-in/op_impl", "op_impl/built-in"))),
    ),
    (
        "precision.g.edit_dir",
        "Calls the directory by another name.",
        _library(lambda one: one.update(path=one["path"].replace("/config/", "/settings/"))),
    ),
    ("precision.g.edit_chmod", "Leaves the file writable.", _library(lambda one: one.update(mode="0644"))),
    (
        "precision.customize.info_library",
        "Lists float16 alone.",
        _library(lambda one: one.update(text=one["text"].replace(",float", ""))),
    ),
]

declare("compile", "compile", _WEIGHTS)
declare("library", "library", _LIBRARY)
