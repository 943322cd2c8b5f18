"""Mistakes in precision: modes, lists, files, kernels, casts."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict

from faulty.making import Answer, Params, broken, changed, graph_of, plain, with_values
from npu_reference.errors import NpuError

_HALF = {"float32": "float16"}


def as_mode(
    name: str, sentence: str, given: str, meant: Any, edition: str = "", option: str = "precision_mode"
) -> None:
    """One mode is treated as another."""

    def fault(ask: Any, params: Params) -> Answer:
        if edition in ("", params["edition"]) and plain(params["values"].get(option)) == given:
            return ask(with_values(params, **{option: meant}))
        return ask(params)

    fault.__name__ = name
    broken("precision", sentence)(fault)


def each(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    """`change` edits every operator of an answer, or returns another."""

    def edit(answer: Answer, params: Params) -> None:
        answer["nodes"] = [change(dict(node), params) or node for node in answer["nodes"]]

    changed("precision", name, sentence, edit)


as_mode("force_fp16_mixes", "003 force_fp16: forces float16", "force_fp16", "allow_mix_precision", "current")
as_mode(
    "allow_forces",
    "003 allow_fp32_to_fp16: vectors preserve the original precision",
    "allow_fp32_to_fp16",
    "force_fp16",
    "current",
)
as_mode(
    "legacy_allow_keeps",
    "002 allow_fp32_to_fp16: float16 where float32 is not supported",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "legacy",
)
as_mode("legacy_force_fp32_allows", "002 force_fp32: forces float32", "force_fp32", "allow_fp32_to_fp16", "legacy")
as_mode(
    "mixing_allows",
    "003 allow_mix_precision: some float32 operators are reduced",
    "allow_mix_precision",
    "allow_fp32_to_fp16",
    "current",
)
as_mode(
    "new_mixing_forces",
    "003 allow_mix_precision_fp16: the same as allow_mix_precision",
    "allow_mix_precision_fp16",
    "force_fp16",
)
as_mode("cube_out_is_fp16", "003 cube_fp16in_fp32out: the same as force_fp32", "cube_fp16in_fp32out", "force_fp16")
as_mode(
    "second_cube_out_allows",
    "003 v2 cube_fp16in_fp32out: float32 is selected for vectors",
    "cube_fp16in_fp32out",
    None,
    "",
    "precision_mode_v2",
)
as_mode("second_origin_allows", "003 v2 origin: retains the precision", "origin", None, "", "precision_mode_v2")
as_mode("second_fp16_mixes", "003 v2 fp16: forces float16", "fp16", "mixed_float16", "", "precision_mode_v2")
as_mode(
    "second_mixing_forces", "003 v2 mixed_float16: some operators", "mixed_float16", "fp16", "", "precision_mode_v2"
)


@broken("precision", "002: online inference has force_fp16 by default, training allow_fp32_to_fp16")
def one_default_for_both_run_modes(ask: Any, params: Params) -> Answer:
    given = {"precision_mode", "precision_mode_v2"} & set(params["values"])
    return ask(params if given else with_values(params, precision_mode="allow_fp32_to_fp16"))


@broken("precision", "002: training has allow_fp32_to_fp16 by default")
def forces_by_default(ask: Any, params: Params) -> Answer:
    given = {"precision_mode", "precision_mode_v2"} & set(params["values"])
    return ask(params if given else with_values(params, precision_mode="force_fp16"))


# Lists


def _lists(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        path = plain(params["values"].get("modify_mixlist"))
        text = params.get("files", {}).get(path) if isinstance(path, str) else None
        if isinstance(text, str):
            try:
                found = json.loads(text)
                changed_to = change({key: {k: list(v) for k, v in entry.items()} for key, entry in found.items()})
            except (ValueError, AttributeError, TypeError):
                return ask(params)
            return ask({**params, "files": {**params["files"], path: json.dumps(changed_to)}})
        return ask(params)

    fault.__name__ = name
    broken("precision", sentence)(fault)


def _without(color: str, key: str) -> Callable[[Dict[str, Any]], Any]:
    return lambda found: {
        name: {k: v for k, v in entry.items() if (name, k) != (color, key)} for name, entry in found.items()
    }


_LISTS = "003 modify_mixlist: to-add, to-remove"
_lists("black_to_add_forgotten", _LISTS, _without("black-list", "to-add"))
_lists("black_to_remove_forgotten", _LISTS, _without("black-list", "to-remove"))
_lists("white_to_remove_forgotten", _LISTS, _without("white-list", "to-remove"))
_lists("white_to_add_forgotten", _LISTS, _without("white-list", "to-add"))
_lists(
    "lists_swapped",
    _LISTS,
    lambda found: {
        {"black-list": "white-list", "white-list": "black-list"}.get(name, name): entry for name, entry in found.items()
    },
)
_lists(
    "first_type_of_a_list",
    _LISTS,
    lambda found: {name: {k: v[:1] for k, v in entry.items()} for name, entry in found.items()},
)
_lists(
    "removed_go_to_the_other_end",
    "003: to-remove moves to the graylist",
    lambda found: {
        "black-list": {
            "to-add": found.get("black-list", {}).get("to-add", []) + found.get("white-list", {}).get("to-remove", [])
        },
        "white-list": {
            "to-add": found.get("white-list", {}).get("to-add", []) + found.get("black-list", {}).get("to-remove", [])
        },
    },
)


@broken("precision", "003 modify_mixlist: used when mixed precision is enabled, by either option")
def lists_with_the_first_option_only(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None) if "precision_mode_v2" in params["values"] else params)


def _flags(name: str, sentence: str, change: Callable[[Any], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        text = params.get("ops_info")
        try:
            found = json.loads(text) if isinstance(text, str) else text
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return ask(params)
        for entry in found.values():
            flag = entry.get("precision_reduce", {}).get("flag") if isinstance(entry, dict) else None
            if flag is not None:
                entry["precision_reduce"]["flag"] = change(flag)
        return ask({**params, "ops_info": json.dumps(found)})

    fault.__name__ = name
    broken("precision", sentence)(fault)


_flags(
    "flags_turned_round",
    "004: true allows precision reduction, false forbids it",
    lambda flag: {"true": "false", "false": "true"}.get(flag, flag),
)
_flags("flags_are_all_true", "004: false forbids precision reduction", lambda flag: "true")


@broken("precision", "004: the operator information library may be modified")
def operator_file_is_ignored(ask: Any, params: Params) -> Answer:
    return ask({key: value for key, value in params.items() if key != "ops_info"})


def _of_list(name: str, sentence: str, color: str, half: bool) -> None:
    def change(node: Dict[str, Any], params: Params) -> Any:
        if node.get("list") != color or node.get("engine") not in ("vector", "cube"):
            return None
        swap = {"float32": "float16"} if half else {"float16": "float32"}
        return {
            **node,
            "inputs": [swap.get(one, one) for one in node["inputs"]],
            "outputs": [swap.get(one, one) for one in node["outputs"]],
        }

    each(name, sentence, change)


_of_list("gray_is_black", "003: gray follows the upstream operator", "graylist", False)
_of_list("gray_is_white", "003: gray follows the upstream operator", "graylist", True)
_of_list("black_is_reduced", "003: the precision of operators on the blocklist cannot be reduced", "blocklist", True)
each(
    "white_is_told_as_gray",
    "003: true is the trustlist",
    lambda node, params: {**node, "list": "graylist"} if node.get("list") == "trustlist" else None,
)


# Files of operators


def _file(option: str, name: str, sentence: str, change: Callable[[str], str], method: str = "precision") -> None:
    def fault(ask: Any, params: Params) -> Answer:
        path = plain(params["values"].get(option))
        text = params.get("files", {}).get(path) if isinstance(path, str) else None
        if isinstance(text, str):
            return ask({**params, "files": {**params["files"], path: change(text)}})
        return ask(params)

    fault.__name__ = name
    broken("precision", sentence, method)(fault)


def _lines(text: str, kept: Callable[[str], bool]) -> str:
    return "\n".join(line for line in text.split("\n") if not line.strip() or line.startswith(("#", "[")) or kept(line))


_file(
    "customize_dtypes",
    "dtypes_by_type_only",
    "003 customize_dtypes: by operator name, which applies over the type",
    lambda text: _lines(text, lambda line: line.startswith("OpType")),
)
_file(
    "customize_dtypes",
    "dtypes_by_name_only",
    "003 customize_dtypes: by operator type",
    lambda text: _lines(text, lambda line: not line.startswith("OpType")),
)
_file(
    "customize_dtypes",
    "dtypes_of_one_line",
    "003 customize_dtypes: each operator occupies a line",
    lambda text: _lines(
        text,
        lambda line: line == next((one for one in text.split("\n") if one.strip() and not one.startswith("#")), ""),
    ),
)


@broken("precision", "003 customize_dtypes: does not take effect with must_keep_origin_dtype")
def dtypes_beat_keeping(ask: Any, params: Params) -> Answer:
    if "customize_dtypes" in params["values"] and "must_keep" in str(params["values"].get("precision_mode")):
        return ask(with_values(params, precision_mode=None))
    return ask(params)


@broken("precision", "003 customize_dtypes: if the data type is not supported, the compilation fails")
def dtypes_that_no_kernel_has(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if not error.code.startswith("PRECISION") or "customize_dtypes" not in params["values"]:
            raise
        return ask(with_values(params, customize_dtypes=None))


@broken("precision", "003 must_keep_origin_dtype: an error where no kernel has the precision")
def keeping_never_fails(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if error.code != "PRECISION_NO_KERNEL":
            raise
        return ask(with_values(params, precision_mode="allow_fp32_to_fp16", precision_mode_v2=None))


@broken("precision", "003 op_precision_mode: takes precedence over op_select_implmode")
def older_implementation_wins(ask: Any, params: Params) -> Answer:
    if "op_select_implmode" in params["values"]:
        return ask(with_values(params, op_precision_mode=None))
    return ask(params)


@broken("precision", "002 optypelist_for_implmode: the operators of the list use the mode")
def implementation_of_all_types(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, optypelist_for_implmode=None))


# Kernels and casts


each(
    "counts_are_lowered",
    "003: float32 and float16 alone",
    lambda node, params: {
        **node,
        "inputs": [one.replace("int64", "int32") for one in node["inputs"]],
        "outputs": [one.replace("int64", "int32") for one in node["outputs"]],
    },
)
each(
    "one_dtype_an_operator",
    "an operator has a dtype for each of its tensors",
    lambda node, params: {**node, "inputs": [node["inputs"][0]] * len(node["inputs"])} if node["inputs"] else None,
)
each(
    "cubes_are_vectors",
    "003: cube operators, vector operators",
    lambda node, params: {**node, "engine": "vector"} if node.get("engine") == "cube" else None,
)
each(
    "no_ai_cpu",
    "003: the AI CPU operator is used",
    lambda node, params: {**node, "engine": "vector"} if node.get("engine") == "aicpu" else None,
)
each(
    "always_high_performance",
    "003 op_precision_mode: high_precision",
    lambda node, params: {**node, "impl_mode": "high_performance"} if node.get("impl_mode") else None,
)
each(
    "outputs_keep_their_dtypes",
    "003 force_fp16: forces float16",
    lambda node, params: {**node, "outputs": ["float32" if one == "float16" else one for one in node["outputs"]]},
)


def _casts(name: str, sentence: str, change: Callable[[Any, Params], Any]) -> None:
    changed(
        "precision", name, sentence, lambda answer, params: {**answer, "casts": change(answer.get("casts", []), params)}
    )


_CAST = "a cast stands where the ends of an edge disagree"
_casts(
    "casts_turned_round", _CAST, lambda casts, params: [{**one, "from": one["to"], "to": one["from"]} for one in casts]
)


def _first_readers(casts: Any, params: Params) -> Any:
    found: Dict[str, Any] = {}
    for one in casts:
        found.setdefault(one["source"], one)
    return list(found.values())


_casts("one_cast_a_tensor", _CAST, _first_readers)


def _not_at_borders(casts: Any, params: Params) -> Any:
    graph = graph_of(params)
    given = {node.name for node in graph.nodes if node.op in ("Placeholder", "_Arg", "Const", "VariableV2")}
    return [one for one in casts if one["source"].rpartition(":")[0] not in given]


_casts("inputs_without_casts", _CAST, _not_at_borders)
changed(
    "precision",
    "never_a_warning",
    "003: use mixed precision with loss scaling, and what else is advised",
    lambda answer, params: {**answer, "warnings": []},
)
changed(
    "precision",
    "functions_are_opaque",
    "002: the whole network",
    lambda answer, params: {
        **answer,
        "nodes": [one for one in answer["nodes"] if one["node"] in graph_of(params).index],
    },
)


@broken("precision", "003: keep_dtype_scope keeps the precision of some operators")
def kept_operators_are_lowered(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    graph = graph_of(params)
    for node in answer["nodes"]:
        at = graph.index.get(node["node"])
        if at is not None and any("keep_dtype" in key for key in graph.nodes[at].attrs):
            for key in ("inputs", "outputs"):
                node[key] = [_HALF.get(one, one) for one in node[key]]
    return answer
