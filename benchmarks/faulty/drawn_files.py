"""Configuration files, and effects on the other surface: mistakes that show by place, order, level, mode or form.

The first half was conceived from documents 002 and 003 alone, the second from the kinds of conditions under which
effects are asked.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping

from faulty.making import (
    Answer,
    Params,
    all_values,
    asks,
    broken,
    changed,
    edited,
    given,
    in_inference,
    is_about,
    is_mixed,
    mapped,
    misreads,
    texts,
    value_of,
)

# From the documents

misreads(
    "options",
    "a_line_without_an_end_is_none",
    "003 op_precision_mode: a line an operator, the last one too",
    "op_precision_mode",
    lambda text: text if text.endswith("\n") else text[: text.rfind("\n") + 1],
    "options",
    "precision",
)


def _switches(text: str, change: Callable[[str, List[Any]], List[Any]]) -> str:
    """A file of switches with other entries, by section, in their order."""
    try:
        found = json.loads(text)
        sections = {name: dict(change(name, list(one.items()))) for name, one in found["Switch"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps({"Switch": sections})


def _up_to_all(_: str, entries: List[Any]) -> List[Any]:
    names = [name for name, _ in entries]
    return entries[names.index("ALL") :] if "ALL" in names else entries


misreads(
    "artifacts",
    "all_is_whatever_stood_before_it",
    "002, 003 fusion_switch_file: the named entry goes over ALL, wherever it stands",
    "fusion_switch_file",
    lambda text: _switches(text, _up_to_all),
    "compile",
    "timeline",
)


def _last_type(text: str) -> str:
    def change(found: Any) -> str:
        entries = [one.strip() for one in found.group(2).split(",")]
        typed = [one for one in entries if "::" in one]
        return str(found.group(1)) + ",".join(one for one in entries if one not in typed[:-1])

    return re.sub(r"(?m)^(\s*op_debug_list\s*=\s*)(.*)$", change, text)


misreads(
    "artifacts",
    "one_type_of_a_list",
    "003 op_debug_list: operators, names and types, are separated by commas",
    "op_debug_config",
    _last_type,
    "compile",
)
misreads(
    "precision",
    "types_that_come_later_go_first",
    "003 op_precision_mode: by node name (high priority), wherever its section stands",
    "op_precision_mode",
    lambda text: re.sub(r"\[ByNodeName\][^\[]*(?=\[ByOpType\])", "", text),
    "precision",
)


def _until_types(text: str) -> str:
    lines, seen = [], False
    for line in text.splitlines(True):
        seen = seen or line.lstrip().lower().startswith("optype::")
        if not seen or line.lstrip().lower().startswith(("optype::", "#")):
            lines.append(line)
    return "".join(lines)


misreads(
    "precision",
    "names_behind_types_are_not_looked_for",
    "003 customize_dtypes: the operator name applies where both are configured",
    "customize_dtypes",
    _until_types,
    "precision",
)


def _last_list_moves(text: str) -> str:
    try:
        found = json.loads(re.sub(r"//.*", "", text))
        first, gone = next(iter(found)), found["black-list"]["to-remove"]
        if first == "white-list":
            found["white-list"]["to-add"] = [one for one in found["white-list"]["to-add"] if one not in gone]
    except (ValueError, KeyError, StopIteration, TypeError):
        return text
    return json.dumps(found)


misreads(
    "precision",
    "the_list_that_comes_last_decides",
    "002, 003 modify_mixlist, P9: out of the blocklist and onto the trustlist, in any order",
    "modify_mixlist",
    _last_list_moves,
    "precision",
)
misreads(
    "options",
    "features_have_a_level_of_their_own",
    "003 aoe_config_file: tune_optimization_level O1 beside a feature",
    "aoe_config_file",
    lambda text: text.replace('"O1"', '"O2"') if '"feature"' in text else text,
    "options",
)


@broken("artifacts", "003 op_cache.ini: takes effect when both values are valid, in any order", "options", "compile")
def the_size_comes_first(ask: Any, params: Params) -> Answer:
    def change(files: Mapping[str, Any]) -> Dict[str, Any]:
        turned = re.compile(r"remain_cache[^\n]*\n(.*\n)*\s*max_op_cache")
        return {name: "" if isinstance(text, str) and turned.search(text) else text for name, text in files.items()}

    found = {**params, "files": change(params.get("files", {}))}
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": change(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return dict(ask(found))


# From the kinds of conditions

misreads(
    "artifacts",
    "sessions_switch_graph_fusion_alone",
    "002 fusion_switch_file: UBFusion is switched too",
    "fusion_switch_file",
    lambda text: _switches(text, lambda section, entries: [] if section == "UBFusion" else entries),
    "compile",
    "timeline",
    when=lambda params: is_about(params, "session", "current"),
)


def _profiled(values: Mapping[str, Any], change: Callable[[Dict[str, Any]], Dict[str, Any]]) -> Dict[str, Any]:
    """Values whose profiling_options, of a session or of a ProfilingConfig, are others."""

    def text(value: Any) -> Any:
        try:
            return json.dumps(change(json.loads(value)))
        except (ValueError, TypeError):
            return value

    found = mapped("profiling_options", text)(dict(values))
    config = found.get("profiling_config")
    if isinstance(config, dict) and "profiling_options" in config.get("arguments", {}):
        arguments = config["arguments"]
        found["profiling_config"] = {
            **config,
            "arguments": {**arguments, "profiling_options": edited(arguments["profiling_options"], text)},
        }
    return found


def _without_key(name: str) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    return lambda found: {key: value for key, value in found.items() if key != name}


asks(
    "metrics_of_a_mixed_inference_are_the_default",
    "002, 003 profiling_options aic_metrics: the group that is asked for",
    "timeline",
    lambda params: (
        all_values(params, lambda values: _profiled(values, _without_key("aic_metrics")))
        if is_mixed(params) and in_inference(params)
        else params
    ),
    "timeline",
)
asks(
    "traces_are_of_the_first_device",
    "002, 003 profiling_options training_trace: of the device that runs",
    "timeline",
    lambda params: (
        all_values(params, lambda values: _profiled(values, _without_key("training_trace")))
        if value_of(params, "session_device_id")
        else params
    ),
    "timeline",
)


def _but_the_last(text: str) -> str:
    return re.sub(r"(?m)^([^\n=]*=[^\n]*),[^,\n]*\r$", r"\1", text)


misreads(
    "options",
    "what_stands_before_a_carriage_return_is_none",
    "003 op_debug_config: options separated by commas (P22: blanks around them do not matter)",
    "op_debug_config",
    _but_the_last,
    "options",
    "compile",
)
asks(
    "a_relative_file_of_a_session_is_no_file",
    "003 op_debug_config: the path of the file",
    "artifacts",
    lambda params: (
        all_values(
            params,
            lambda values: {
                name: value
                for name, value in values.items()
                if name not in ("op_debug_config", "fusion_switch_file")
                or str(value_of({"values": values}, name)).startswith("/")
            },
        )
        if is_about(params, "session")
        else params
    ),
    "compile",
    "timeline",
)


@broken("precision", "002, 003: of the three op_precision_mode alone takes effect", "precision")
def what_the_file_leaves_out_is_as_the_list_says(ask: Any, params: Params) -> Answer:
    mode, listed = value_of(params, "op_select_implmode"), value_of(params, "optypelist_for_implmode")
    if not (in_inference(params) and given(params, "op_precision_mode") and mode and listed):
        return dict(ask(params))

    def change(text: str) -> str:
        there = re.findall(r"(?m)^\s*(\w+)\s*=", text)
        return "".join(f"{one}={mode}\n" for one in listed.split(",") if one not in there) + text

    return dict(ask(texts(params, "op_precision_mode", change)))


misreads(
    "precision",
    "the_inference_of_old_blocks_nothing",
    "002 modify_mixlist: training and online inference",
    "modify_mixlist",
    lambda text: re.sub(r'("black-list"[^}]*"to-add"\s*:\s*)\[[^\]]*\]', r"\1[]", text),
    "precision",
    when=lambda params: in_inference(params) and params["edition"] == "legacy",
)


def _first_alone(answer: Answer, params: Params) -> None:
    if is_about(params, "runconfig"):
        for step in answer.get("variants", {}).values():
            if "files" in step:
                step["files"] = {name: file for name, file in step["files"].items() if "/aicpu" not in name}


changed(
    "timeline",
    "the_ai_cpu_is_profiled_once",
    "003 profiling_options aicpu: collected, whenever it is on",
    _first_alone,
    "timeline",
)


@broken("artifacts", "003 debug_dir: files of debugging, of a second program too", "compile")
def files_of_a_second_program_lie_here(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    for turn, given_then in list(zip(answer["turns"], params.get("turns") or [{}]))[1:]:
        values = {**params["values"], **(given_then.get("values") or {})}
        place = str(value_of({"values": values}, "debug_dir") or "").strip("/")
        for key in ("files", "left") if place and is_about(params, "session") else ():
            if key in turn:
                turn[key] = {
                    name[len(place) + 1 :] if name.startswith(f"{place}/") else name: file
                    for name, file in turn[key].items()
                }
    return answer
