"""Lawful backends whose results of fusion, weights, reports and libraries have other forms, or more of them.

Written from the five documents and the pages of the protocol, without a look at any case.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Callable, Dict

from faulty.answered import decoded, encoded
from faulty.asked import is_about
from faulty.making import Answer, Files, Params

from lawful.kinds import broken, changed
from lawful.leaving import leaving

# What fusion leaves


def _number(text: Any) -> Any:
    return int(text) if isinstance(text, str) and text.isdigit() else text


def _fusion_results(change: Callable[[Dict[str, Any]], Any]) -> Callable[[Files, Dict[str, Any]], Files]:
    def edit(files: Files, asked: Dict[str, Any]) -> Files:
        return {
            path: encoded(json.dumps(change(json.loads(decoded(file)))))
            if path.endswith("fusion_result.json") and "b64" in file
            else file
            for path, file in files.items()
        }

    return edit


def _as_numbers(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: _as_numbers(value) for key, value in told.items()}
    return _number(told)


leaving(
    "counts_of_fusion_results_are_numbers",
    "003 L305: match_times is the number of times that a pattern is hit; no document says how it is written",
    _fusion_results(_as_numbers),
)


def _more_told(told: Dict[str, Any]) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for key, graph in told.items():
        if isinstance(graph, dict):
            graph = {**graph, "graph_name": "ge_default", "compile_seconds": "0.25"}
            for section in ("graph_fusion", "ub_fusion"):
                for one in graph.get(section, {}).values():
                    one.update(first_node="unknown", fail_times="0")
        found[key] = graph
    return found


leaving(
    "fusion_results_have_more_fields",
    "003 L301 describes the key fields of the file, and no document says that there are no others",
    _fusion_results(_more_told),
)


def _other_sessions(told: Dict[str, Any]) -> Dict[str, Any]:
    def key(text: str) -> str:
        found = re.match(r"session_and_graph_id_(\d+)_(\d+)\Z", text)
        return f"session_and_graph_id_{int(found.group(1)) + 3}_{10 * int(found.group(2)) + 11}" if found else text

    return {key(name): graph for name, graph in told.items()}


leaving(
    "sessions_and_graphs_have_other_ids",
    "003 L302: session_and_graph_id_xx_xx has ids of thread and graph, and no document says which",
    _fusion_results(_other_sessions),
)


def _other_process(path: str) -> str:
    path = re.sub(r"(^|/)FE/(\d+)", lambda found: f"{found.group(1)}FE/{int(found.group(2)) * 17 + 1000003}", path)

    def weights(found: Any) -> str:
        return f"{found.group(1)}tmp_weight_{int(found.group(2)) * 17 + 1000003}_{int(found.group(3)) + 8}"

    return re.sub(r"(^|/)tmp_weight_(\d+)_(\d+)(?=/)", weights, path)


leaving(
    "processes_and_sessions_have_larger_ids",
    "003 L309 and L80 name files by the ids of process and session, which no document gives",
    lambda files, asked: {_other_process(path): file for path, file in files.items()},
)


leaving(
    "fusion_results_have_the_id_of_the_process_in_their_name",
    "003 L309: $ASCEND_WORK_PATH/FE/${Process ID}fusion_result.json, without a slash behind the id",
    lambda files, asked: {
        re.sub(r"(^|/)FE/(\d+)/fusion_result\.json\Z", r"\g<1>FE/\g<2>fusion_result.json", path): file
        for path, file in files.items()
    },
)


# Weights


def _hashed(found: Any) -> str:
    return "weight_" + hashlib.md5(found.group(1).encode()).hexdigest()


_WEIGHT = re.compile(r"weight_([0-9a-f]{64})")


def _weights_hashed(turn: Dict[str, Any]) -> None:
    for one in turn.get("constants", ()):
        if one.get("file"):
            one["file"] = _WEIGHT.sub(_hashed, one["file"])


leaving(
    "weight_files_have_a_shorter_hash_value",
    "003 L78: the weight file is named weight_<hash value>; no document says which hash",
    lambda files, asked: {_WEIGHT.sub(_hashed, path): file for path, file in files.items()}, _weights_hashed
)  # fmt: skip

leaving(
    "weight_files_are_padded_to_512_bytes",
    "003 L78 flushes the weights to files, and no document gives the form of the files",
    lambda files, asked: {
        path: {"bytes": -(-(file["bytes"] + 64) // 512) * 512} if _WEIGHT.search(path) and "bytes" in file else file
        for path, file in files.items()
    },
)


# What is told


def _listed_last_first(turn: Dict[str, Any]) -> None:
    for key in ("kernels", "fusion", "constants", "notes"):
        if turn.get(key):
            turn[key] = turn[key][::-1]


leaving(
    "kernels_and_constants_are_told_last_first", "no document says in which order a compiler tells what it compiled",
    lambda files, asked: dict(reversed(list(files.items()))), _listed_last_first
)  # fmt: skip


@broken("artifacts", "no document has a compiler tell notes, switches or passes beside its files", "hello", "compile")
def of_compilation_only_kernels_and_files_are_told(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    if "capabilities" in answer:
        able = answer["capabilities"]
        able["features"] = [one for one in able["features"] if not one.startswith("compile.")]
    for turn in answer.get("turns", ()):
        for key in ("fusion", "constants", "notes"):
            turn.pop(key, None)
        for one in turn.get("kernels", ()):
            for key in ("switches", "bytes", "type", "engine"):
                one.pop(key, None)
    return answer


def _noted(turn: Dict[str, Any]) -> None:
    if "notes" in turn:
        note = {"code": "COMPILER", "subject": "", "message": "kernels compiled by 8 processes"}
        turn["notes"] = [note, *turn["notes"]]


leaving(
    "every_program_notes_how_many_processes_compiled",
    "no document says what a compiler reports beside what is described", lambda files, asked: files, _noted
)  # fmt: skip


# The library


def _library(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    def edit(answer: Answer, params: Params) -> None:
        for file in answer["files"]:
            change(file, params)

    changed("artifacts", name, sentence, edit, "library")


def _other_soc(file: Dict[str, Any], params: Params) -> None:
    if is_about({"surface": "", **params}, edition="current"):
        file["path"] = re.sub("ascend910(?![a-z0-9])", "ascend910proa", file["path"])


_library(
    "the_library_is_of_another_version_of_the_chip",
    "003 L417: <soc_version>/aic-<soc_version>-ops-info.json; no document of this edition says which version it is",
    _other_soc,
)


def _read_only(file: Dict[str, Any], params: Params) -> None:
    file["mode"] = "0550" if file["path"].endswith("ops-info.json") else file["mode"]


_library(
    "the_library_can_be_executed_and_not_written",
    "004 L11 grants the write permission, which the file lacks; no document gives its other permissions", _read_only
)  # fmt: skip


def _more_keys(file: Dict[str, Any], params: Params) -> None:
    if not file["path"].endswith("ops-info.json"):
        return
    try:
        told = json.loads(file["text"])
    except ValueError:
        return
    found: Dict[str, Any] = {}
    for name in sorted(told, reverse=True):
        entry = told[name]
        if isinstance(entry, dict):
            for key, one in entry.items():
                if re.match(r"(in|out)put\d+\Z", key) and isinstance(one, dict):
                    one.setdefault("paramType", "required")
            entry.setdefault("opFile", {"value": name.lower()})
            entry.setdefault("heavyOp", {"flag": "false"})
        found[name] = entry
    file["text"] = json.dumps(found)


_library(
    "the_library_tells_more_of_each_operator",
    "003 L419 shows precision_reduce of an entry; no document lists all keys or gives an order", _more_keys
)  # fmt: skip


def _more_files(answer: Answer, params: Params) -> None:
    for file in list(answer["files"]):
        if re.search(r"ascend910/aic-ascend910-ops-info\.json\Z", file["path"]):
            answer["files"].append(
                {**file, "path": file["path"].replace("ascend910", "ascend310"), "text": '{"Relu": {}}\n'}
            )
            root = file["path"].split("/config/")[0]
            text = "[Pooling]\nhigh_precision\n"
            answer["files"].append({**file, "path": f"{root}/impl_mode/all_ops_impl_mode.ini", "text": text})


changed(
    "artifacts", "the_installation_has_libraries_of_other_chips_as_well",
    "003 L417 has a directory for each <soc_version>, and L623 a file of implementation modes beside it", _more_files,
    "library"
)  # fmt: skip
