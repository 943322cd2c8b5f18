"""Precision: customize_dtypes, keep_dtype_scope and implementations of single operators."""

from __future__ import annotations

import re
from typing import Any, Dict, List

from faulty.answered import misread, retyped
from faulty.asked import (
    DTYPES,
    FLOAT,
    HALF,
    WITH_DTYPES,
    all_values,
    asks_without,
    file_of,
    given,
    graph_of,
    in_inference,
    is_about,
    named_by,
    ops_of,
    regraphed,
    texts,
    value_is,
    value_of,
    with_values,
    without,
)
from faulty.making import REFERENCE, Answer, Params, broken
from faulty.mistakes import asks, misreads, node_change
from faulty.mistakes_graphs import decided_otherwise, each_node, unseen
from npu_reference.errors import NpuError

decided_otherwise(
    "types_of_a_file_are_not_looked_for_in_functions",
    "003 customize_dtypes: operators of the type, wherever they are",
    (),
    lambda params: given(params, "customize_dtypes"),
    asks_without("customize_dtypes"),
)
misreads(  # pair 17
    "precision",
    "inference_customizes_no_names_with_slashes",
    "003: names of customize_dtypes may contain /",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if "/" not in line.split("::")[0]),
    "precision",
    "compile",
    when=in_inference,
)
# precision.customize.override
misreads(
    "precision",
    "operators_of_a_scope_are_not_customized",
    "Operators are listed by name, which scopes are part of",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if "/" not in line.split(":")[0] or line.startswith("#")),
    *DTYPES,
)
misreads(  # files.customize_dtypes.example
    "precision",
    "an_operator_of_customized_dtypes_is_known_by_its_last_part",
    "003 customize_dtypes: by the operator's name",
    "customize_dtypes",
    lambda text: re.sub(r"(?m)^([ \t]*)(?:[\w.-]+/)+(?=[\w.-]+::)", r"\1", text),
    "options",
    *WITH_DTYPES,
)


@broken("precision", "003 customize_dtypes: a dtype that is not supported fails the compilation")
def dtypes_of_functions_are_not_checked(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(params))
    except NpuError as error:
        if error.code != "PRECISION_DTYPES" or str(error.subject).split(" ")[0] in ops_of(params):
            raise
        return dict(ask(all_values(params, without("customize_dtypes"))))


@broken("precision", "003 customize_dtypes: several dtypes in the order of the inputs, by type too")
def types_have_one_dtype(ask: Any, params: Params) -> Answer:
    def change(text: str) -> str:
        return re.sub(r"(?im)^(OpType:.*?InputDtype:)([^,:\s]*)(?:,(?!\s*OutputDtype)[^,:\s]*)+", r"\1\2", text)

    return ask(texts(params, "customize_dtypes", change))


def _full(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is not None and op.attr("_keep_dtype", 0) and node.get("engine") in ("cube", "vector"):
        retyped(node, HALF, FLOAT)


node_change(  # api.keep_dtype_scope
    "what_is_kept_is_kept_at_full_precision",
    "003 keep_dtype_scope: keeps the precision of the operators inside, whichever it is",
    _full,
)
misreads(  # files.customize_dtypes.comments
    "precision",
    "a_remark_needs_a_blank",
    "003 customize_dtypes: lines that begin with # are remarks, whatever follows",
    "customize_dtypes",
    lambda text: re.sub(r"(?m)^#(?=[^\s#])", "", text),
    "options",
    "precision",
)
misreads(  # files.customize_dtypes.name_with_slash
    "precision",
    "names_are_two_levels_deep_at_most",
    "003 customize_dtypes: names as resnet_v1_50/block1/unit_3/bottleneck_v1/Relu",
    "customize_dtypes",
    lambda text: "\n".join(line for line in text.split("\n") if line.split("::")[0].count("/") < 2),
    "options",
    "precision",
)


@broken("precision", "003 customize_dtypes: if the data type is not supported, compilation fails")
def unsupported_custom_dtypes_ignored(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError as error:
        if "customize_dtypes" not in params["values"] or error.code not in ("PRECISION_DTYPES", "PRECISION_NO_KERNEL"):
            raise
        return ask(with_values(params, customize_dtypes=None))


@broken("precision", "003 customize_dtypes: does not take effect with must_keep_origin_dtype")
def dtypes_beat_keeping(ask: Any, params: Params) -> Answer:
    if "customize_dtypes" in params["values"] and "must_keep" in str(params["values"].get("precision_mode")):
        return ask(with_values(params, precision_mode=None))
    return ask(params)


def _second_input(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if "customize_dtypes" in params["values"] and len(node["inputs"]) > 1 and len(set(node["inputs"])) > 1:
        node["inputs"] = [node["inputs"][0]] * len(node["inputs"])


node_change("first_custom_dtype_for_all", "003 customize_dtypes: dtype1,dtype2,…", _second_input)


# precision.customize.override, files.customize_dtypes.by_type
@broken("precision", "Listed operators use the customised dtypes", "precision")
def customised_types_are_those_of_the_graph_itself(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not given(params, "customize_dtypes"):
        return dict(answer)
    plainly = ask(with_values(params, customize_dtypes=None))
    there = ops_of(params)

    def inside(name: str) -> bool:
        node = name.rsplit(":", 1)[0]
        return "/" in node and node not in there

    found = {one["node"]: one for one in plainly["nodes"]}
    answer["nodes"] = [found.get(one["node"], one) if inside(one["node"]) else one for one in answer["nodes"]]
    if "casts" in answer:
        answer["casts"] = [one for one in answer["casts"] if not inside(one["target"])]
        answer["casts"] += [one for one in plainly["casts"] if inside(one["target"])]
    return dict(answer)


def by_last_part(params: Params) -> Params:
    if not named_by(params, "customize_dtypes") or "graph" not in params:
        return params
    names = [node.name for node in graph_of(params).nodes]

    def more(text: str) -> str:
        lines = text.split("\n")
        entries = {line.split("::")[0]: line for line in lines if "::" in line and not line.startswith("#")}
        added = [
            name + entries[name.split("/")[-1]][len(name.split("/")[-1]) :]
            for name in names
            if name not in entries and "/" in name and name.split("/")[-1] in entries
        ]
        return "\n".join(lines + added)

    return texts(params, "customize_dtypes", more)


# files.customize_dtypes.name_with_slash, files.customize_dtypes.by_name
@broken("precision", "An entry is of the operator of that name.", "precision", "timeline")
def customised_names_match_the_last_part_of_a_name(ask: Any, params: Params) -> Answer:
    return dict(ask(by_last_part(params)))


def unkept(made: Any) -> None:
    for function in made.library.function:
        for node in function.node_def:
            node.attr.pop("_keep_dtype", None)


# api.keep_dtype_scope, precision.keep_dtype_scope.advice
asks(
    "the_scope_that_keeps_dtypes_ends_at_functions",
    "keep_dtype_scope keeps the precision of the operators built inside it.",
    "precision",
    lambda params: regraphed(params, unkept),
    "precision",
    "timeline",
    "compile",
)


@broken(  # files.customize_dtypes.name_with_slash, files.customize_dtypes.by_name
    "precision", "003 customize_dtypes: by the operator's name, such as resnet_v1_50/block1/.../Relu"
)
def operators_to_customize_are_found_by_the_end_of_their_name(ask: Any, params: Params) -> Answer:
    if not given(params, "customize_dtypes"):
        return dict(ask(params))
    names = [node.name for node in graph_of(params).nodes]

    def spread(text: str) -> str:
        lines = text.split("\n")
        told = {line.split("::")[0].strip() for line in lines if "::" in line}
        for line in list(lines):
            name, _, rest = line.partition("::")
            if rest and name.strip() in names and name.strip().lower() != "optype":
                end = name.strip().rsplit("/", 1)[-1]
                same = [one for one in names if one.rsplit("/", 1)[-1] == end and one not in told]
                lines += [f"{one}::{rest}" for one in same]
        return "\n".join(lines)

    return dict(ask(texts(params, "customize_dtypes", spread)))


def _decided(params: Params, **changes: Any) -> Answer:
    """What the reference says of the dtypes of a request for anything; nothing where it refuses."""
    names = ("graph", "surface", "edition", "env", "files", "op_list", "ops_info", "feeds", "fetches")
    asked = {name: params[name] for name in names if name in params}
    try:
        return dict(REFERENCE.precision(with_values({**asked, "values": params["values"]}, **changes)))
    except NpuError:
        return {"nodes": []}


def _padded(params: Params) -> Params:
    if not given(params, "customize_dtypes") or "graph" not in params:
        return params
    nodes = {one["node"]: one for one in _decided(params, customize_dtypes=None)["nodes"]}

    def change(text: str) -> str:
        lines = text.split("\n")
        for place, line in enumerate(lines):
            found = re.match(r"\s*([^#\s].*?)::\s*InputDtype:(.*?),?\s*OutputDtype:(.*)$", line)
            node = nodes.get(found.group(1).strip()) if found else None
            if not found or node is None:
                continue
            sides = []
            for told, count in ((found.group(2), node["inputs"]), (found.group(3), node["outputs"])):
                words = [one.strip() for one in told.split(",") if one.strip()]
                sides.append(",".join(words + words[-1:] * (len(count) - len(words))))
            lines[place] = f"{found.group(1)}::InputDtype:{sides[0]},OutputDtype:{sides[1]}"
        return "\n".join(lines)

    return texts(params, "customize_dtypes", change)


@broken(  # precision.customize.override, files.customize_dtypes.multi_dtypes
    "precision", "003 customize_dtypes: what is not listed is compiled by precision_mode", *DTYPES
)
def the_last_dtype_of_a_line_holds_for_the_rest(ask: Any, params: Params) -> Answer:
    return misread(ask, params, _padded(params))


asks(  # pair 36
    "no_buffers_no_implementations",
    "002: op_select_implmode chooses among the implementations of an operator",
    "precision",
    lambda params: (
        with_values(params, op_select_implmode=None)
        if value_is(params, "buffer_optimize", "off_optimize") and is_about(params, edition="legacy")
        else params
    ),
    "precision",
)


def _implemented(node: Dict[str, Any], params: Params, op: Any) -> None:
    told = value_of(params, "op_select_implmode")
    if (
        isinstance(told, str)
        and node.get("engine") in ("cube", "vector")
        and not given(params, "optypelist_for_implmode")
    ):
        node["impl_mode"] = node.get("impl_mode") or re.sub(r"_for_all$", "", told)


node_change(  # runconfig.op_select_implmode.some_ops
    "every_operator_has_both_implementations", "003 op_select_implmode: certain operators have both", _implemented
)
misreads(
    "precision",
    "keep_fp16_is_high_performance",
    "003: keep_fp16 is a mode of its own",
    "op_precision_mode",
    lambda text: text.replace("keep_fp16", "high_performance"),
    "options",
    "precision",
    "run",
)
misreads(  # runconfig.op_precision_mode.keep_fp16
    "precision",
    "keeping_float16_inside_is_high_performance",
    "003 op_precision_mode: keep_fp16: FP16 is not converted to FP32",
    "op_precision_mode",
    lambda text: re.sub(r"=\s*keep_fp16\b", "=high_performance", text),
    "options",
    *WITH_DTYPES,
)


@broken(
    "precision",
    "003 support_out_of_bound_index: gather, scatter and segment operators verify their indices",
    "precision",
    "timeline",
    "compile",
)
def scatters_are_not_verified(ask: Any, params: Params) -> Answer:
    def change(text: str) -> str:
        return re.sub(r"(?m)^\s*\w*(?:Scatter|Segment)\w*\s*=\s*support_out_of_bound_index.*$", "", text)

    return ask(texts(params, "op_precision_mode", change))


def _with_file(params: Params, option: str, text: str) -> Params:
    return {**params, "files": {**params["files"], value_of(params, option): text}}


def _type_section(params: Params) -> Params:
    text = file_of(params, "op_precision_mode")
    return (
        _with_file(params, "op_precision_mode", text.split("[ByNodeName]")[0])
        if text and "[ByOpType]" in text.split("[ByNodeName]")[0]
        else params
    )


asks("type_modes_over_name_modes", "003 op_precision_mode: node name has high priority", "precision", _type_section)


@broken("precision", "003 op_precision_mode: takes precedence over op_select_implmode")
def older_implementation_wins(ask: Any, params: Params) -> Answer:
    if "op_select_implmode" in params["values"]:
        return ask(with_values(params, op_precision_mode=None))
    return ask(params)


each_node(
    "always_high_performance",
    "003 op_precision_mode: high_precision",
    lambda node, params: {**node, "impl_mode": "high_performance"} if node.get("impl_mode") else None,
)
unseen("precision", "implementation_modes_are_taken_and_forgotten", "003: the mode selects the implementation",
        "op_select_implmode", "precision")  # fmt: skip
unseen("precision", "the_implementation_list_is_for_all", "002: the listed types use the mode, others do not",
        "optypelist_for_implmode", "precision")  # fmt: skip
misreads(  # runconfig.op_precision_mode.file
    "precision",
    "the_parser_of_settings_lowers_names",
    "003 op_precision_mode: by node name, by operator type",
    "op_precision_mode",
    lambda text: re.sub(r"(?m)^[^\[=\n]+(?==)", lambda found: found.group(0).lower(), text),
    "options",
    "precision",
)


def _longer_names(params: Params) -> Params:
    if not given(params, "op_precision_mode") or "graph" not in params:
        return params
    names = [node.name for node in graph_of(params).nodes]

    def change(text: str) -> str:
        lines, told = text.split("\n"), {line.partition("=")[0].strip() for line in text.split("\n")}
        here = False
        found: List[str] = []
        for line in lines:
            found.append(line)
            if line.strip().startswith("["):
                here = line.strip() == "[ByNodeName]"
            key, is_set, mode = line.partition("=")
            if here and is_set and key.strip():
                more = [one for one in names if one.startswith(key.strip()) and one not in told]
                told.update(more)
                found += [f"{one}={mode}" for one in more]
        return "\n".join(found)

    return texts(params, "op_precision_mode", change)


@broken(  # runconfig.op_precision_mode.name_over_type, files.op_precision_ini.sections
    "precision", "003 op_precision_mode: by the name of the node", *DTYPES
)
def a_mode_by_name_holds_for_all_names_that_begin_so(ask: Any, params: Params) -> Answer:
    return misread(ask, params, _longer_names(params))
