"""Lawful backends that leave other files: under other names, in other forms, or more of them.

Written from the five documents and the pages of the protocol, without a look at any case. The documents give the
directories and the ends of names; what stands before them and inside of the files is the vendor's.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from typing import Any, Callable, Dict, List, Mapping, Set

from faulty.answered import decoded, encoded
from faulty.asked import is_about, plain
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import changed

from lawful.tuning import given_files

#: Name of a kernel, as files have it.
_KERNEL = re.compile(r"te_[a-z0-9_]+_[0-9a-f]{6,64}")


def _turns(answer: Answer, params: Params) -> List[Any]:
    """Every program that was not refused, with its values, environment and the files that were given so far."""
    values, env = dict(params["values"]), dict(params.get("env", {}))
    found = []
    for turn, asked, files in zip(answer["turns"], params.get("turns") or [{}], given_files(params)):
        values.update(asked.get("values") or {})
        env.update(asked.get("env") or {})
        found.append((turn, {**asked, "values": dict(values), "env": dict(env), "files": files}))
    return found


def leaving(name: str, sentence: str, change: Callable[[Files, Dict[str, Any]], Files], *more: Any) -> None:
    """Registers a backend that leaves other files; those that the request gave are told as they are.

    `change` gets the files and what was asked; of `more`, each changes a program's answer beside its files.
    """

    def edit(answer: Answer, params: Params) -> None:
        for turn, asked in _turns(answer, params):
            for key in ("files", "left"):
                if key in turn:
                    theirs = {path: file for path, file in turn[key].items() if path in asked["files"]}
                    ours = {path: file for path, file in turn[key].items() if path not in theirs}
                    turn[key] = {**change(ours, asked), **theirs}
            for one in more:
                one(turn)

    changed("artifacts", name, sentence, edit, "compile")


def _in_text(file: Dict[str, Any], change: Callable[[str], str]) -> Dict[str, Any]:
    if "b64" not in file:
        return file
    try:
        return encoded(change(decoded(file)))
    except UnicodeDecodeError:
        return file


def _in_folder(path: str, folder: str) -> bool:
    return folder in path.split("/")[:-1]


# Kernel files


def _called(found: Any) -> str:
    return "KNL" + hashlib.sha1(found.group(0).encode()).hexdigest()[:24]


def _kernels_called(files: Files, asked: Dict[str, Any]) -> Files:
    def text(told: str) -> str:
        return _KERNEL.sub(_called, told)

    return {text(path): _in_text(file, text) for path, file in files.items()}


def _kernels_renamed(turn: Dict[str, Any]) -> None:
    for one in turn.get("kernels", ()):
        one["kernel"] = _KERNEL.sub(_called, one["kernel"])
    for one in turn.get("notes", ()):
        for key in ("subject", "message"):
            if key in one:
                one[key] = _KERNEL.sub(_called, one[key])


leaving(
    "kernels_are_called_by_numbers_alone",
    "003 L187 gives the ends .o and .json and the folder, and no document names the files in it",
    _kernels_called,
    _kernels_renamed,
)


def _larger(files: Files, asked: Dict[str, Any]) -> Files:
    return {
        path: {"bytes": 3 * file["bytes"] + 4096}
        if path.endswith(".o") and _in_folder(path, "kernel_meta") and "bytes" in file
        else file
        for path, file in files.items()
    }


def _kernels_larger(turn: Dict[str, Any]) -> None:
    for one in turn.get("kernels", ()):
        if one.get("bytes"):
            one["bytes"] = 3 * one["bytes"] + 4096


leaving(
    "kernel_binaries_are_three_times_as_large",
    "003 L258 says that ccec_O0 and ccec_g increase the size of the .o, and no document what it is",
    _larger,
    _kernels_larger,
)


def _described_otherwise(files: Files, asked: Dict[str, Any]) -> Files:
    found: Files = {}
    for path, file in files.items():
        if not _in_folder(path, "kernel_meta") or not path.endswith(".json"):
            found[path] = file
            continue
        name = posixpath.basename(path)
        if name.endswith("_loc.json"):
            content: Any = [[1, "vendor.py", 10], [2, "vendor.py", 11]]
        elif name.endswith("_compute.json"):
            content = {"graph": {"version": 3, "body": "ub"}}
        else:
            content = {"binFileName": name[:-5], "binFileSuffix": ".o", "magic": "RT_DEV_BINARY_MAGIC_ELF", "core": 1}
        found[path] = encoded(json.dumps(content))
    return found


leaving(
    "descriptions_of_kernels_have_other_contents",
    "003 L187: the .json file is the operator description file; no document says what stands in it",
    _described_otherwise,
)


def _with_licence(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    head = ["/* Generated by the kernel compiler. All rights reserved. */", '#include "vendor/intrinsics.h"', ""]
    return "\n".join([*head, *lines, "/* end */"]) + "\n"


leaving(
    "cce_files_have_a_licence_and_no_comments",
    "003 L189 gives the checks that are added to the code, and no document the rest of a .cce file",
    lambda files, asked: {
        path: _in_text(file, _with_licence) if path.endswith(".cce") and _in_folder(path, "kernel_meta") else file
        for path, file in files.items()
    },
)


def _logged(files: Files, asked: Dict[str, Any]) -> Files:
    found = dict(files)
    for path in files:
        if _in_folder(path, "kernel_meta"):
            folder = path[: path.index("kernel_meta/") + len("kernel_meta/")]
            found[folder + "buildPidInfo.txt"] = encoded("4242 finished\n")
            found[folder + "compiler.log"] = encoded("[INFO] kernels compiled\n")
    return found


leaving(
    "a_log_of_the_compiler_lies_beside_the_kernels",
    "003 L203 retains kernel files in kernel_meta, and no document says that nothing else lies there",
    _logged,
)


def _itself(files: Files, asked: Dict[str, Any]) -> Files:
    named = plain(asked["values"].get("debug_dir"))
    if not isinstance(named, str):
        return files
    start = posixpath.normpath("/" + named).strip("/")
    start = posixpath.join(start, "kernel_meta") if start else "kernel_meta"
    found: Files = {}
    for path, file in files.items():
        if path == start + "/":
            path = posixpath.dirname(start) + "/"
        elif path.startswith(start + "/"):
            path = posixpath.join(posixpath.dirname(start), path[len(start) + 1 :])
        found[path] = file
    return found


leaving(
    "kernel_files_lie_in_debug_dir_itself",
    "003 L284: debug_dir is the directory of the files; kernel_meta (L187) is the folder in the execution path",
    _itself,
)


@broken("artifacts", "003 L1023: debugging is compiled with -O0 and -g; other switches are not said", "compile")
def kernels_are_compiled_with_more_switches(ask: Any, params: Params) -> Answer:
    answer = dict(ask(params))
    for turn in answer["turns"]:
        for one in turn.get("kernels", ()):
            if "switches" in one:
                one["switches"] = ["-std=c++17", "--cce-aicore-arch=dav-c100", *one["switches"], "-fpic"]
    return answer


def _is_cached(turn: Mapping[str, Any]) -> bool:
    told = {**turn.get("files", {}), **turn.get("left", {})}
    return bool(turn.get("hits")) or any(
        _in_folder(path, "kernel_cache") or "kernel_cache_" in path or _in_folder(path, "atc_data") for path in told
    )


def _own_kernels(answer: Answer, params: Params) -> None:
    for turn, _ in _turns(answer, params):
        if not turn.get("kernels") or _is_cached(turn):
            continue
        seen: Dict[str, int] = {}
        for one in turn["kernels"]:
            before = seen.setdefault(one["kernel"], 0)
            seen[one["kernel"]] += 1
            if not before or one["origin"] != "reused":
                continue
            name = f"{one['kernel']}_{before}"
            for key in ("files", "left"):
                start = re.compile(rf"(.*/)?{re.escape(one['kernel'])}(?=\.|_loc\.|_compute\.)")
                more = {
                    start.sub(rf"\g<1>{name}" if "/" in path else name, path, count=1): _in_text(
                        file,
                        lambda text, one=one, name=name: text.replace(one["kernel"], name),  # type: ignore[misc]
                    )
                    for path, file in turn.get(key, {}).items()
                    if start.match(path)
                }
                turn.get(key, {}).update(more)
            one.update(kernel=name, origin="compiled")
            turn["misses"] = turn.get("misses", 0) + 1


changed(
    "artifacts",
    "without_a_cache_every_operator_has_a_kernel_of_its_own",
    "002 L540 avoids repeated compilation where the cache is enabled; of disable (L541) nothing of the kind is said",
    _own_kernels,
    "compile",
)


# The cache of kernels


def _cached_name(path: str) -> bool:
    parts = path.split("/")
    return any(part.startswith("kernel_cache") for part in parts[:-1]) and bool(_KERNEL.match(parts[-1]))


def _one_file_each(files: Files, asked: Dict[str, Any]) -> Files:
    found: Files = {}
    for path, file in files.items():
        if not _cached_name(path):
            found[path] = file
        elif path.endswith(".o"):
            found[path[:-2] + ".kernel"] = {"bytes": file.get("bytes", 0) + 128}
    return found


leaving(
    "an_entry_of_the_cache_is_one_file",
    "003 L849 creates the kernel_cache subdirectory, and no document says which files lie in it",
    _one_file_each,
)


def _by_device(files: Files, asked: Dict[str, Any]) -> Files:
    found: Files = {}
    index: Dict[str, List[str]] = {}
    for path, file in files.items():
        if _cached_name(path):
            folder, name = posixpath.split(path)
            folder = posixpath.dirname(folder) if folder.endswith("/ascend910") else folder
            index.setdefault(folder, []).append(name)
            digest = _KERNEL.sub(lambda told: told.group(0)[-2:], name).split(".")[0]
            path = f"{folder}/training/{digest}/{name}"
        found[path] = file
    for folder, names in index.items():
        found[f"{folder}/index.json"] = encoded(json.dumps({"version": 7, "entries": sorted(names)}))
    return found


leaving(
    "the_cache_has_folders_by_digest_and_an_index",
    "003 L849 creates the kernel_cache subdirectory, and no document says how it is arranged below",
    _by_device,
)


leaving(
    "the_default_cache_lies_in_atc_data_itself",
    "003 L853: the default path is $HOME/atc_data; L849 creates kernel_cache in a directory that was specified",
    lambda files, asked: {re.sub(r"(^|/)atc_data/kernel_cache/", r"\g<1>atc_data/", p): f for p, f in files.items()},
)

leaving(
    "a_host_has_a_long_id",
    "003 L853: ${ASCEND_CACHE_PATH}/kernel_cache_host ID; no document says what the id of a host is",
    lambda files, asked: {
        re.sub(r"(^|/)kernel_cache_0(?=/)", r"\g<1>kernel_cache_1278391", path): file for path, file in files.items()
    },
)

_INI = """# Configure the file format (required).
[op_compiler_cache]
# Limit the disk space of the cache folder on the Ascend AI Processor (unit: MB).
max_op_cache_size=500
# When the disk space is insufficient, set the ratio of the cache space to be reserved. The value ranges from 1 to 100.
remain_cache_size_ratio=80
"""

leaving(
    "the_generated_op_cache_ini_has_the_lines_of_the_document",
    "003 L820: the automatically generated file contains the following information by default, a ratio of 80",
    lambda files, asked: {
        path: encoded(_INI) if posixpath.basename(path) == "op_cache.ini" else file for path, file in files.items()
    },
)

#: Options that say where files lie, or whether they are kept, and not how anything is compiled.
_OF_FILES = {
    "op_compiler_cache_mode", "op_compiler_cache_dir", "debug_dir", "export_compile_stat", "work_path", "dump_path",
}  # fmt: skip


def _finer(answer: Answer, params: Params) -> None:
    known: Set[str] = set()
    for turn, asked in _turns(answer, params):
        if "rejected" in turn or not turn.get("kernels"):
            continue
        values = {name: plain(value) for name, value in asked["values"].items() if name not in _OF_FILES}
        key = json.dumps({name: value for name, value in values.items() if value is not None}, sort_keys=True)
        if turn.get("hits") and known and key not in known:
            seen: Set[str] = set()
            for one in turn["kernels"]:
                if one["origin"] == "reused" and one["kernel"] not in seen:
                    one["origin"] = "compiled"
                    turn["misses"], turn["hits"] = turn["misses"] + 1, max(turn["hits"] - 1, 0)
                seen.add(one["kernel"])
        known.add(key)


changed(
    "artifacts",
    "any_other_option_than_those_of_files_compiles_anew",
    "003 L804: operators with the same compilation options reuse the cache; which options these are is not said",
    _finer,
    "compile",
)


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
    lambda files, asked: {_WEIGHT.sub(_hashed, path): file for path, file in files.items()},
    _weights_hashed,
)

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
    "kernels_and_constants_are_told_last_first",
    "no document says in which order a compiler tells what it compiled",
    lambda files, asked: dict(reversed(list(files.items()))),
    _listed_last_first,
)


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
    "no document says what a compiler reports beside what is described",
    lambda files, asked: files,
    _noted,
)


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
    "004 L11 grants the write permission, which the file lacks; no document gives its other permissions",
    _read_only,
)


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
    "003 L419 shows precision_reduce of an entry; no document lists all keys or gives an order",
    _more_keys,
)


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
    "artifacts",
    "the_installation_has_libraries_of_other_chips_as_well",
    "003 L417 has a directory for each <soc_version>, and L623 a file of implementation modes beside it",
    _more_files,
    "library",
)
