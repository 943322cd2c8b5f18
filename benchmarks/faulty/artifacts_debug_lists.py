"""Kernel files that op_debug_config and its list of operators leave."""

from __future__ import annotations

import copy
import re
from typing import Any, Callable, Dict, List, Mapping

from faulty.answered import decoded, decoded_or_empty, encoded
from faulty.asked import (
    WHOLE_NUMBERS,
    all_nodes,
    asked_turns,
    given,
    graph_of,
    nodes_of,
    plain,
    text_of,
    texts,
    types_of,
    value_is,
    value_of,
    with_env,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import changed, leaves, misreads
from faulty.mistakes_graphs import compiled_without, lacks_switches


def _debugged(asked: Mapping[str, Any]) -> List[str]:
    """The options of the file of op_debug_config."""
    line = re.search(r"(?m)^\s*op_debug_config\s*=\s*(.*)$", text_of(asked, "op_debug_config"))
    return [one.strip() for one in line.group(1).split(",")] if line else []


# files.op_debug_config.dump_cce.files
@broken("artifacts", "dump_cce retains the .cce, .o and .json file", "compile")
def dump_cce_alone_leaves_no_description(ask: Any, params: Params) -> Answer:
    found = ask(params)
    files: Dict[str, Any] = dict(params.get("files", {}))
    values: Dict[str, Any] = dict(params["values"])
    for turn, asked in zip(found["turns"], params.get("turns") or [{}]):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        if "rejected" in turn or _debugged({"values": values, "files": files}) != ["dump_cce"]:
            continue
        for key in ("files", "left"):
            turn[key] = {k: v for k, v in turn[key].items() if "kernel_meta/" not in k or not k.endswith(".json")}
    return dict(found)


compiled_without("debug_config_ignored", "003 op_debug_config", op_debug_config=None)


@broken("artifacts", "003 op_debug_config: op_debug_list: operators by name or type", "compile")
def debug_list_of_the_first(ask: Any, params: Params) -> Answer:
    path = plain(params["values"].get("op_debug_config"))
    text = params.get("files", {}).get(path) if isinstance(path, str) else None
    if not isinstance(text, str):
        return ask(params)
    lines = [line.split(",")[0] if line.startswith("op_debug_list") else line for line in text.split("\n")]
    return ask({**params, "files": {**params["files"], path: "\n".join(lines)}})


def _leaves(name: str, sentence: str, change: Callable[[Files, Params], Files]) -> None:
    """What a turn leaves is changed, which is asked with all that holds of it."""

    def edit(answer: Answer, params: Params) -> None:
        for turn, asked in zip(answer["turns"], asked_turns(params)):
            for key in ("files", "left"):
                if turn.get(key) and "rejected" not in turn:
                    turn[key] = change(turn[key], asked)

    changed("artifacts", name, sentence, edit, "compile")


# files.op_debug_config.oom.files
def _debug_words(params: Params) -> List[str]:
    found = re.search(r"op_debug_config\s*=\s*(.*)", text_of(params, "op_debug_config"))
    return [one.strip() for one in found.group(1).split(",")] if found else []


def _no_descriptions(files: Files, asked: Params) -> Files:
    words = _debug_words(asked)
    others = {"dump_cce", "dump_loc", "check_flag", "dump_bin"}
    if "oom" not in words or others & set(words) or value_of(asked, "op_debug_level"):
        return files
    return {name: file for name, file in files.items() if not ("kernel_meta/" in name and name.endswith(".json"))}


_leaves("oom_keeps_no_descriptions", "oom keeps .o and .json in kernel_meta", _no_descriptions)


def _kinds_of(params: Params) -> Dict[str, List[str]]:
    return {node.name: types_of(node) for node in nodes_of(params)}


@broken("artifacts", "003: ccec_O0 and ccec_g enlarge the .o file", "compile")
def kernels_of_whole_numbers_do_not_grow(ask: Any, params: Params) -> Answer:
    """Pair 5."""
    answer = copy.deepcopy(dict(ask(params)))
    if not given(params, "op_debug_config"):
        return answer
    kinds = _kinds_of(params)
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            dtypes = [dtype for name in kernel["nodes"] for dtype in kinds.get(name, ())]
            grown = {"-O0", "-g"} & set(kernel.get("switches") or ())
            if grown and dtypes and all(dtype in WHOLE_NUMBERS for dtype in dtypes) and kernel.get("bytes"):
                kernel["bytes"] = 4096
    return answer


def _names_alone(text: str) -> str:
    def kept(found: re.Match[str]) -> str:
        entries = [one for one in found.group(2).split(",") if "::" not in one]
        return found.group(1) + (",".join(entries) or "nothing")

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)(.+)$", kept, text)


misreads(  # files.op_debug_cfg.list.entries
    "artifacts",
    "a_list_of_debugging_has_names_alone",
    "003 op_debug_list: names and opType::typeName, also mixed",
    "op_debug_config",
    _names_alone,
    "compile",
)


@broken("artifacts", "003 op_debug_list: only the operators of the list are compiled so", "compile")
def the_list_is_not_read(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "op_debug_config", lambda text: re.sub(r"(?m)^\s*op_debug_list.*$", "", text)))


leaves(
    "lines_are_mapped_to_nothing",
    "003 op_debug_config dump_loc: *.cce, .o, .json, *_loc.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith(".cce")}
        if given(asked, "op_debug_config") and any(name.endswith("_loc.json") for name in files)
        else files
    ),
)
leaves(
    "checks_beside_it_map_no_lines",
    "003 op_debug_config: several options; dump_loc leaves *_loc.json",
    lambda files, asked: (
        {name: file for name, file in files.items() if not name.endswith("_loc.json")}
        if any(re.search(r"oom.*dump_loc|dump_loc.*oom", decoded_or_empty(file)) for file in files.values())
        else files
    ),
)
misreads(
    "artifacts",
    "the_first_check_decides_the_files",
    "003 op_debug_config: several options separated by commas",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(\s*op_debug_config\s*=\s*\w+),.*$", r"\1", text),
    "compile",
)
misreads(
    "artifacts",
    "the_last_check_decides_the_files",
    "003 op_debug_config: several options separated by commas",
    "op_debug_config",
    lambda text: re.sub(r"(?m)^(\s*op_debug_config\s*=).*,\s*(\w+)\s*$", r"\1\2", text),
    "compile",
)


@broken(
    "artifacts", "003: debug_dir, ASCEND_WORK_PATH, the script's path; for what op_debug_config keeps, too", "compile"
)
def checks_leave_their_files_here(ask: Any, params: Params) -> Answer:
    if given(params, "op_debug_config") and not given(params, "op_debug_level"):
        return ask(with_env(params, lambda env: {k: v for k, v in env.items() if k != "ASCEND_WORK_PATH"}))
    return ask(params)


def _second_program(answer: Answer, params: Params) -> None:
    values = dict(params["values"])
    files = dict(params.get("files", {}))
    for at, (turn, asked) in enumerate(zip(answer["turns"], params.get("turns") or [{}])):
        values.update(asked.get("values") or {})
        files.update(asked.get("files") or {})
        text = files.get(value_of({"values": values}, "op_debug_config"))
        if at and isinstance(text, str) and "oom" in text and "dump_cce" not in text and "dump_loc" not in text:
            for key in ("files", "left"):
                for name in list(turn.get(key, {})):
                    if "kernel_meta/" in name and name.endswith(".o"):
                        turn[key][name[:-2] + ".cce"] = encoded("// simulated\n")


changed(
    "artifacts",
    "a_second_program_shows_the_check_of_its_memory",
    "003: oom keeps .o and .json; the .cce is there with dump_cce",
    _second_program,
    "compile",
)
misreads(
    "artifacts",
    "a_type_is_written_in_one_way",
    "003 op_debug_config: OpType:: and opType:: are both written",
    "op_debug_config",
    lambda text: text.replace("opType::", "opType_"),
    "compile",
    "options",
)
misreads(  # pair 62
    "artifacts",
    "a_last_line_without_an_end_is_not_read",
    "003: op_debug_config is a file of lines",
    "op_debug_config",
    lambda text: text if text.endswith("\n") or "\n" not in text.strip() else text[: text.rindex("\n") + 1],
    "options",
    "compile",
)


def _never_waits(files: Files, asked: Mapping[str, Any]) -> Files:
    given_values = [name for name, value in asked["values"].items() if value is not None]
    if given_values != ["op_debug_config"]:
        return files
    found = dict(files)
    for name, file in files.items():
        if name.endswith(".cce") and "b64" in file:
            text = decoded(file)
            found[name] = encoded("".join(line for line in text.splitlines(True) if "wait_flag(" not in line))
    return found


leaves(  # pair 27: files.op_debug_config.check_flag.logic, nothing else given
    "flags_that_are_checked_alone_are_not_waited_for",
    "003: check_flag sets flags, has barriers, and waits for the flags",
    _never_waits,
)
_MC2 = (
    "MatMulAllReduce",
    "MatMulAllReduceAddRmsNorm",
    "AllGatherMatMul",
    "MatMulReduceScatter",
    "AlltoAllAllGatherBatchMatMul",
    "BatchMatMulReduceScatterAlltoAll",
)


def _work(params: Mapping[str, Any]) -> str:
    return str(params.get("env", {}).get("ASCEND_WORK_PATH", ""))


@broken("artifacts", "003: six operators leave no files with oom, dump_cce and dump_loc", "compile")
def debugged_twice_even_exchanges_leave_files(ask: Any, params: Params) -> Answer:
    """Pair 71: files.op_debug_config.mc2_excluded, a debugging option."""
    answer = copy.deepcopy(dict(ask(params)))
    if not value_of(params, "op_debug_level") or not given(params, "op_debug_config"):
        return answer
    those = {node.name for node in all_nodes(params) if node.op in _MC2}
    where = str(value_of(params, "debug_dir") or _work(params) or "").strip("/.")
    for turn in answer["turns"]:
        for kernel in turn.get("kernels", ()):
            if kernel["kernel"] and those & set(kernel["nodes"]):
                for key in ("files", "left"):
                    for ending in (".o", ".json", ".cce"):
                        turn[key][f"{where}/kernel_meta/{kernel['kernel']}{ending}".strip("/")] = encoded("")
    return answer


lacks_switches(  # pair 49
    "later_programs_check_no_flags",
    "003: check_flag adds a sequence of flags",
    "check_flag",
    lambda turn, number, params: number > 0,
)


def _dynamic(params: Params) -> bool:
    return value_is(params, "dynamic_input", True) or any(
        given(params, name) for name in ("dynamic_inputs_shape_range", "dynamic_dims", "input_shape")
    )


misreads(  # pair 59
    "artifacts",
    "dynamic_inputs_are_compiled_without_debugging",
    "003: ccec_g compiles with -g",
    "op_debug_config",
    lambda text: re.sub(r",?\s*ccec_g", "", text),
    "compile",
    when=_dynamic,
)


@broken("artifacts", "003 op_debug_list: listed operators are recompiled", "compile")
def listed_operators_reused(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if any("op_debug_list" in str(one) for one in params.get("files", {}).values()) and len(answer["turns"]) > 1:
        for turn in answer["turns"][1:]:
            for kernel in turn.get("kernels", []):
                kernel["origin"] = "reused"
    return answer


def _names_too(text: str) -> str:
    def more(found: Any) -> str:
        entries = [one.strip() for one in found.group(2).split(",")]
        plainly = [re.sub(r"^[oO]pType::", "", one) for one in entries]
        return str(found.group(1) + ",".join(dict.fromkeys([*entries, *plainly])))

    return re.sub(r"(?m)^(\s*op_debug_list\s*=)(.*)$", more, text)


# files.op_debug_cfg.list.entries
misreads(
    "artifacts",
    "a_type_that_is_listed_is_looked_for_among_names_too",
    "An entry OpType::typeName of op_debug_list is a type, any other a name",
    "op_debug_config",
    _names_too,
    "compile",
)


def heads_alone(answer: Answer, params: Params) -> None:
    """Debug files of a kernel only where the first of its operators is listed."""
    text = text_of(params, "op_debug_config")
    found = re.search(r"^\s*op_debug_list\s*=([^\n]*)", text, re.M)
    if found is None:
        return
    listed = [one.strip() for one in found.group(1).split(",")]
    if any(one.lower().startswith("optype::") for one in listed):
        return
    for turn in answer["turns"]:
        gone = [
            one["kernel"]
            for one in turn.get("kernels", ())
            if one["nodes"] and one["nodes"][0] not in listed and set(one["nodes"]) & set(listed)
        ]
        for one in turn.get("kernels", ()):
            if one["kernel"] in gone and one.get("switches"):
                one["switches"] = []
        for key in ("files", "left"):
            if key in turn:
                turn[key] = {
                    name: file
                    for name, file in turn[key].items()
                    if "kernel_meta/" not in name or not any(name.split("/")[-1].startswith(one) for one in gone)
                }


# files.op_debug_cfg.list.effect
changed(
    "artifacts",
    "a_listed_operator_counts_at_the_head_of_its_kernel_alone",
    "The listed operators are compiled with the options.",
    heads_alone,
    "compile",
)


@broken(  # files.op_debug_cfg.list.effect, files.op_debug_cfg.list.entries
    "artifacts", "003 op_debug_list: only the operators specified in the list are compiled so", "compile"
)
def operators_to_debug_are_found_by_a_part_of_their_name(ask: Any, params: Params) -> Answer:
    names = [node.name for node in graph_of(params).nodes]

    def spread(text: str) -> str:
        found = re.search(r"(?m)^(\s*op_debug_list\s*=\s*)(.*)$", text)
        if not found:
            return text
        told = [one.strip() for one in found.group(2).split(",") if one.strip()]
        more = [name for name in names for one in told if ":" not in one and one in name and name not in told]
        return text[: found.start()] + found.group(1) + ",".join([*told, *dict.fromkeys(more)]) + text[found.end() :]

    answer = dict(ask(texts(params, "op_debug_config", spread)))
    text = value_of(params, "op_debug_config")
    told = params.get("files", {}).get(text) if isinstance(text, str) else None
    for turn in answer["turns"]:
        for key in ("files", "left"):
            if isinstance(told, str) and isinstance(text, str) and text.lstrip("/") in turn.get(key, {}):
                turn[key][text.lstrip("/")] = encoded(told)
    return answer
