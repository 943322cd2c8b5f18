"""Mutants of lists, customised dtypes, keep_dtype_scope, edited operator information and implementation modes."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params, ReferenceBackend, with_values
from npu_conformance.backends.mutants.precision_edits import (
    Moves,
    accepting,
    another_library,
    answering,
    asked,
    asking,
    flags,
    mode_of,
    moved,
    only_mode,
    without_marks,
)

__all__: List[str] = []

MIX = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")


def mixed(params: Params) -> bool:
    return mode_of(params) in MIX


# The lists of a file, in each edition


def _array_unread(colour: str, move: str) -> Callable[[Moves], None]:
    def change(lists: Moves) -> None:
        lists[colour][move] = []

    return change


def _first_alone(lists: Moves) -> None:
    for arrays in lists.values():
        for move in arrays:
            arrays[move] = arrays[move][:1]


def _others_gray(lists: Moves) -> None:
    """The file for the whole policy: what it does not name is on no list."""
    named = {name for arrays in lists.values() for move in arrays.values() for name in move}
    lists["black-list"]["to-remove"] += sorted({"Log", "Xlog1py"} - named)
    lists["white-list"]["to-remove"] += sorted({"MatMulV2", "Conv2D"} - named)


_CHANGES = {
    "black_remove": ("to-remove of the black list", _array_unread("black-list", "to-remove")),
    "black_add": ("to-add of the black list", _array_unread("black-list", "to-add")),
    "white_remove": ("to-remove of the white list", _array_unread("white-list", "to-remove")),
    "white_add": ("to-add of the white list", _array_unread("white-list", "to-add")),
}


def _of_file(name: str, requirement: str, fault: str, edition: str, change: Callable[[Moves], None]) -> None:
    asking(name, requirement, fault, lambda params: moved(params, change) if params["edition"] == edition else params)


for _edition in ("legacy", "current"):
    for _rule, (_words, _change) in _CHANGES.items():
        _name = f"mixlist-{_edition}-without-{_rule.replace('_', '-')}"
        _of_file(_name, f"files.mixlist.{_edition}.{_rule}", f"Does not read {_words}.", _edition, _change)
    _of_file(
        f"mixlist-{_edition}-first-type-only",
        f"files.mixlist.{_edition}.multiple",
        "Reads the first type of every array alone.",
        _edition,
        _first_alone,
    )
    _of_file(
        f"mixlist-{_edition}-for-the-whole-policy",
        f"files.mixlist.{_edition}.others_untouched",
        "Takes operators that the file does not name off their lists.",
        _edition,
        _others_gray,
    )

asking(
    "mixlist-under-allow-mix-alone",
    "precision.mixlist.context",
    "Reads the list file under allow_mix_precision alone.",
    lambda params: with_values(params, modify_mixlist=None) if mode_of(params) in MIX[1:] else params,
)
another_library(
    "trustlist-kept",
    "precision.mixlist.white",
    "Keeps what is on the trustlist in float32.",
    flags(MatMulV2="false"),
    mixed,
)
another_library(
    "blocklist-lowered", "precision.mixlist.black", "Lowers what is on the blocklist.", flags(Log="true"), mixed
)
another_library(
    "graylist-lowered",
    "precision.mixlist.gray",
    "Lowers what is on the graylist, whatever it follows.",
    flags(Relu="true", Abs="true", Add="true"),
    mixed,
)
another_library(
    "conv2d-on-the-blocklist",
    "precision.mixlist.builtin_conv2d",
    "Has Conv2D on the blocklist.",
    flags(Conv2D="false"),
    mixed,
)


# Customised dtypes


def _lines(params: Params, change: Callable[[str], str]) -> Params:
    """The request with every line of its customize_dtypes file changed; an empty line is none."""
    files: Dict[str, Any] = dict(params.get("files", {}))
    name = params["values"].get("customize_dtypes")
    if not isinstance(name, str) or not isinstance(files.get(name), str):
        return params
    files[name] = "\n".join(change(line) for line in files[name].splitlines()) + "\n"
    return {**params, "files": files}


def _is_type(line: str) -> bool:
    return line.startswith("OpType::")


asking(
    "customize-unread",
    "precision.customize.override",
    "Ignores customize_dtypes.",
    lambda params: with_values(params, customize_dtypes=None),
)


def _without_shadowing_names(params: Params) -> Params:
    text = str(params.get("files", {}).get(params["values"].get("customize_dtypes"), ""))
    both = any(_is_type(line) for line in text.splitlines())
    return _lines(params, lambda line: line if _is_type(line) or not both else "")


asking(
    "customize-type-over-name",
    "precision.customize.name_over_type",
    "Lets the type go over the name of the same operator.",
    _without_shadowing_names,
)
asking(
    "customize-below-the-lists",
    "precision.customize.high_priority",
    "Lets the lists of mixed precision go over customised dtypes.",
    lambda params: _lines(params, lambda line: "" if "::Log" in line or "::MatMul" in line else line),
)
asking(
    "customize-under-must-keep",
    "precision.customize.must_keep_off",
    "Lets customised dtypes take effect under must_keep_origin_dtype.",
    lambda params: (
        only_mode(params, "allow_fp32_to_fp16")
        if asked(params, ["must_keep_origin_dtype", "origin"]) and "customize_dtypes" in params["values"]
        else params
    ),
)
accepting(
    "customize-unsupported-dtypes",
    "precision.customize.unsupported_dtype",
    "Goes on with customised dtypes that the operator does not have.",
    ["PRECISION_DTYPES"],
    lambda params: True,
)
asking(
    "customize-first-dtype-only",
    "files.customize_dtypes.multi_dtypes",
    "Reads the first dtype of every list alone, and takes it for all tensors.",
    lambda params: _lines(params, lambda line: re.sub(r"Dtype:(\w+)[\w,]*?(?=,OutputDtype|$)", r"Dtype:\1", line)),
)


@mutant("customize-unknown-types-silent", "precision.customize.ascend_ir_types")
class CustomizeUnknownTypesSilent(ReferenceBackend):
    """Does not warn of a type that is no operator of the device."""

    def precision(self, params: Params) -> Answer:
        answer = super().precision(params)
        return {**answer, "warnings": []} if "customize_dtypes" in params["values"] else answer


# keep_dtype_scope

without_marks(
    "keep-dtype-scope-unseen",
    "api.keep_dtype_scope",
    "Computes what keep_dtype_scope marks as the mode says.",
    lambda params: True,
)
without_marks(
    "keep-dtype-scope-unseen-by-modes",
    "precision.keep_dtype_scope.advice",
    "Does not see keep_dtype_scope under precision_mode.",
    lambda params: "precision_mode" in params["values"],
)
without_marks(
    "keep-dtype-scope-unseen-by-v2",
    "precision.v2.keep_dtype_scope",
    "Does not see keep_dtype_scope under precision_mode_v2.",
    lambda params: "precision_mode_v2" in params["values"],
)


# The operator information file, document 004


def _edited(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Params], Params]:
    """The request whose operator information says something else; ``change`` returns the operators it keeps."""

    def changed(params: Params) -> Params:
        if "ops_info" not in params:
            return params
        try:
            operators = json.loads(params["ops_info"])
        except ValueError:
            return params
        return {**params, "ops_info": json.dumps(change(operators))}

    return changed


def _flag(entry: Any) -> Any:
    reduce = entry.get("precision_reduce", {}) if isinstance(entry, dict) else {}
    return reduce.get("flag") if isinstance(reduce, dict) else None


def _keeps(test: Callable[[Any], bool]) -> Callable[[Dict[str, Any]], Any]:
    return lambda operators: {name: entry for name, entry in operators.items() if test(_flag(entry))}


asking(
    "ops-info-unread",
    "precision.g.edit_field",
    "Does not read the operator information file.",
    lambda params: {key: value for key, value in params.items() if key != "ops_info"},
)
asking(
    "ops-info-true-unread",
    "precision.g.flag_true",
    "Does not read flag true of the operator information file.",
    _edited(_keeps(lambda flag: flag != "true")),
)
asking(
    "ops-info-false-unread",
    "precision.g.flag_false",
    "Does not read flag false of the operator information file.",
    _edited(_keeps(lambda flag: flag != "false")),
)
asking(
    "ops-info-missing-flag-unread",
    "precision.g.flag_absent",
    "Keeps the list of an operator whose field was taken out.",
    _edited(_keeps(lambda flag: flag is not None)),
)


# Implementation modes


def _only_modes(keep: Callable[[str, str], bool]) -> Callable[[Dict[str, Any]], None]:
    def edit(node: Dict[str, Any]) -> None:
        if node.get("impl_mode") and not keep(node["node"], node["impl_mode"]):
            node["impl_mode"] = None

    return edit


def _swapped(node: Dict[str, Any]) -> None:
    other = {"high_precision": "high_performance", "high_performance": "high_precision"}
    node["impl_mode"] = other.get(node.get("impl_mode") or "", node.get("impl_mode"))


for _edition, _surface in (("legacy", "session"), ("current", "runconfig")):
    for _mode in ("high_precision", "high_performance"):
        answering(
            f"implmode-{_edition}-{_mode.replace('_', '-')}-swapped",
            f"{_surface}.op_select_implmode.{_mode}",
            f"Runs the other implementation when {_mode} is selected.",
            _swapped,
            lambda params, edition=_edition, mode=_mode: (  # type: ignore[misc]
                params["edition"] == edition and params["values"].get("op_select_implmode") == mode
            ),
        )


def _unselected(params: Params) -> bool:
    return not {"op_select_implmode", "op_precision_mode"} & set(params["values"])


asking(
    "implmode-empty-is-a-choice",
    "runconfig.op_select_implmode.empty",
    "Selects high_performance where no implementation is asked for.",
    lambda params: (
        with_values(params, op_select_implmode="high_performance")
        if _unselected(params) and params["edition"] == "current"
        else params
    ),
)
answering(
    "implmode-without-a-default",
    "session.op_select_implmode.default",
    "Selects no implementation where none is asked for.",
    _only_modes(lambda node, mode: False),
    _unselected,
)
asking(
    "implmode-list-unread",
    "session.optypelist_for_implmode.applies_to_list",
    "Selects the mode for every operator, listed or not.",
    lambda params: with_values(params, optypelist_for_implmode=None),
)
asking(
    "op-precision-file-unread",
    "session.op_precision_mode.effect",
    "Does not read the file of op_precision_mode.",
    lambda params: with_values(params, op_precision_mode=None),
)
answering(
    "out-of-bound-index-unread",
    "runconfig.op_precision_mode.support_out_of_bound_index",
    "Does not check indices where the file asks for it.",
    _only_modes(lambda node, mode: mode != "support_out_of_bound_index"),
)
