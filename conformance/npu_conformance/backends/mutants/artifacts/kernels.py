"""Mutants of kernels: the files of kernel_meta, and the cache of compiled ones."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants.artifacts.changes import (
    Ask,
    Fault,
    asked,
    at_level,
    beside,
    declare,
    each_turn,
    given,
    other_text,
    other_value,
    places_of,
    renamed,
    said,
    variable,
    when,
    without,
)
from npu_conformance.backends.mutants.edits import Answer, Params

__all__: List[str] = []


def _words(word: str) -> Callable[[Params], bool]:
    return lambda params: any(word in str(content) for content in params.get("files", {}).values())


def _switches(change: Callable[[List[str]], List[str]]) -> Fault:
    def edit(turn: Dict[str, Any]) -> None:
        for kernel in turn["kernels"]:
            kernel["switches"] = change(kernel["switches"])

    return each_turn(edit)


_NO_LOC = without(r"_loc\.json$")
_NO_CODE = without(r"\.cce$")
_META = r"^(.*/)?kernel_meta/"


def _unlisted(params: Dict[str, Any]) -> None:
    for path, content in params.get("files", {}).items():
        if isinstance(content, str):
            params["files"][path] = re.sub(r"op_debug_list.*\n", "", content)


def _leave_mc2(turn: Dict[str, Any]) -> None:
    stems = [kernel["kernel"] for kernel in turn["kernels"] if "MatMul" in kernel["type"] and kernel["kernel"]]
    for files in places_of(turn):
        if any(re.search(_META, path) for path in files):
            files.update({f"kernel_meta/{stem}.o": {"bytes": 1} for stem in stems})


_MC2_FILES = each_turn(_leave_mc2)

_KERNEL_FILES: List[Tuple[str, str, Fault]] = [
    (
        "session.op_debug_level.0",
        "Leaves kernel files at level 0.",
        when(at_level(0), other_value("op_debug_level", lambda _: 3)),
    ),
    ("session.op_debug_level.1.files", "Leaves no _loc.json at level 1.", when(at_level(1), _NO_LOC)),
    ("session.op_debug_level.2.files", "Leaves no .cce at level 2.", when(at_level(2), _NO_CODE)),
    ("session.op_debug_level.3.files", "Leaves .cce at level 3.", when(at_level(3), beside(r"\.o$", ".cce"))),
    ("session.op_debug_level.4.files", "Leaves no _compute.json at level 4.", without(r"_compute\.json$")),
    (
        "session.op_debug_level.dir",
        "Makes kernel_meta in a directory of its own.",
        renamed(_META, r"build/kernel_meta/"),
    ),
    ("session.debug_dir.contents", "Does not look at debug_dir.", other_value("debug_dir", lambda _: None)),
    (
        "files.kernel_meta.default_dir",
        "Puts kernel files into the current directory itself.",
        renamed(r"^kernel_meta/", ""),
    ),
    ("files.kernel_meta.kinds", "Writes the locations in YAML.", renamed(r"_loc\.json$", "_loc.yaml")),
    (
        "files.kernel_meta.matrix",
        "Takes level 4 for level 1.",
        other_value("op_debug_level", lambda level: 1 if level == 4 else level),
    ),
    ("files.kernel_meta.cfg_matrix", "Keeps files for ccec_g.", other_text("= ccec_g", "= ccec_g,oom")),
    ("files.kernel_meta.union", "Keeps the files of the last word only.", other_text(r"= \w+,(oom)", r"= \1")),
    (
        "runconfig.op_debug_level.0",
        "Leaves kernel files at level 0.",
        when(at_level(0), other_value("op_debug_level", lambda _: 3)),
    ),
    ("runconfig.op_debug_level.1", "Leaves no .json at level 1.", when(at_level(1), without(r"[0-9a-f]\.json$"))),
    ("runconfig.op_debug_level.2", "Compiles with optimisation at level 2.", _switches(lambda found: [])),
    ("runconfig.op_debug_level.3", "Removes .o at level 3.", when(at_level(3), without(r"\.o$"))),
    ("runconfig.op_debug_level.4", "Leaves _loc.json at level 4.", renamed(r"_compute\.json$", "_loc.json")),
    ("runconfig.op_debug_level.empty_off", "Is at level 1 by default.", given("op_debug_level", 1)),
    ("runconfig.op_debug_level.debug_dir", "Does not look at debug_dir.", other_value("debug_dir", lambda _: None)),
    (
        "runconfig.op_debug_level.0_npu_collect",
        "Makes kernel_meta in NPU_COLLECT_PATH.",
        when(lambda params: "NPU_COLLECT_PATH" in params.get("env", {}), renamed(_META, "collect/kernel_meta/")),
    ),
    ("runconfig.op_debug_level.mc2", "Leaves files of MC2 operators.", _MC2_FILES),
    (
        "runconfig.debug_dir.contents",
        "Leaves .o in the current directory.",
        renamed(r"^.*/kernel_meta/([^/]+\.o)$", r"kernel_meta/\1"),
    ),
    (
        "runconfig.op_debug_config.debug_dir",
        "Does not look at debug_dir for op_debug_config.",
        when(lambda params: "op_debug_config" in params["values"], other_value("debug_dir", lambda _: None)),
    ),
    ("files.op_debug_config.oom.files", "Removes .json with oom.", when(_words("oom"), without(r"\.json$"))),
    (
        "files.op_debug_config.oom.logic",
        "Traps reads and writes by one number.",
        said(r"\.cce$", "0X5A5A0002", "0X5A5A0001"),
    ),
    (
        "files.op_debug_config.oom.view",
        "Keeps the code with oom alone.",
        when(_words("= oom"), beside(r"^(kernel_meta/.*)\.o$", r"\1.cce")),
    ),
    ("files.op_debug_config.dump_cce.files", "Leaves no .cce.", when(_words("dump_cce"), _NO_CODE)),
    ("files.op_debug_config.dump_loc.files", "Leaves no _loc.json.", when(_words("dump_loc"), _NO_LOC)),
    (
        "files.op_debug_config.check_flag.files",
        "Removes .o with check_flag.",
        when(_words("check_flag"), without(r"\.o$")),
    ),
    (
        "files.op_debug_config.check_flag.logic",
        "Waits for the flags before the barriers.",
        said(r"\.cce$", r"(?s)(    pipe_barrier.*?ALL\);\n)((?:    wait_flag[^\n]*\n)+)", r"\2\1"),
    ),
    (
        "files.op_debug_config.check_flag.view",
        "Does not show the check beside dump_cce.",
        said(r"\.cce$", r"    (set_flag|wait_flag|pipe_barrier)[^\n]*\n", ""),
    ),
    ("files.op_debug_cfg.list.effect", "Compiles every operator with the options.", asked(_unlisted)),
    ("files.op_debug_config.mc2_excluded", "Leaves files of MC2 operators.", _MC2_FILES),
    ("env.NPU_COLLECT_PATH.uses", "Does not look at NPU_COLLECT_PATH.", variable("NPU_COLLECT_PATH")),
    ("env.ASCEND_WORK_PATH.uses", "Does not look at ASCEND_WORK_PATH.", variable("ASCEND_WORK_PATH")),
]


def _aged(change: Callable[[int], int]) -> Fault:
    def edit(params: Dict[str, Any]) -> None:
        for turn in params.get("turns", []):
            if "age_seconds" in turn:
                turn["age_seconds"] = change(turn["age_seconds"])

    return asked(edit)


def _counted(change: Callable[[int, Dict[str, Any]], None]) -> Fault:
    """Turns are changed by their number."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for number, turn in enumerate(answer["turns"]):
            if "hits" in turn:
                change(number, turn)
        return answer

    return fault


def _compiles_again(number: int, turn: Dict[str, Any]) -> None:
    turn["misses"] += turn["hits"]
    turn["hits"] = 0
    for kernel in turn["kernels"]:
        kernel["origin"] = "compiled" if kernel["origin"] == "reused" else kernel["origin"]


def _takes_again(number: int, turn: Dict[str, Any]) -> None:
    if number:
        turn["hits"] += turn["misses"]
        turn["misses"] = 0
        for kernel in turn["kernels"]:
            kernel["origin"] = "reused" if kernel["origin"] == "compiled" else kernel["origin"]


def _same_of_one_type(turn: Dict[str, Any]) -> None:
    """Of kernels whose names in files begin alike, all but the first are the first's."""
    seen: Dict[str, str] = {}
    for kernel in turn["kernels"]:
        first = seen.setdefault(kernel["kernel"].rpartition("_")[0], kernel["kernel"])
        if first != kernel["kernel"]:
            kernel.update(kernel=first, origin="reused")


_FILLERS = r"/te_filler[^/]*$"


def _lose_filler(turn: Dict[str, Any]) -> None:
    """One more file goes where some did."""
    for files in places_of(turn):
        found = [path for path in files if re.search(_FILLERS, path)]
        if 0 < len(found) < 9:
            del files[found[0]]


def _cache_rows(surface: str) -> List[Tuple[str, str, Fault]]:
    mode = f"{surface}.op_compiler_cache_mode"
    where = f"{surface}.op_compiler_cache_dir"
    gate = ((1, 2, 4), 3) if surface == "session" else ((1, 2, 4), 0)
    rows: List[Tuple[str, str, Fault]] = [
        (f"{mode}.enable", "Compiles what is in the cache again.", _counted(_compiles_again)),
        (f"{mode}.enable", "Takes kernels of one type for one kernel.", each_turn(_same_of_one_type)),
        (f"{mode}.disable", "Caches all the same.", other_value("op_compiler_cache_mode", lambda _: "enable")),
        (f"{mode}.force", "Keeps what is in the cache.", other_value("op_compiler_cache_mode", lambda _: "enable")),
        (
            f"{mode}.debug_level_gate",
            "Caches at every debug level.",
            when(at_level(*gate[0]), other_value("op_debug_level", lambda _: gate[1])),
        ),
        (f"{where}.exists", "Stores beside kernel_cache in a directory that exists.", renamed("/kernel_cache/", "/")),
        (f"{where}.created", "Does not store in a directory that was missing.", without(r"/new/cache/")),
    ]
    return rows


_CACHE: List[Tuple[str, str, Fault]] = [
    *_cache_rows("session"),
    *_cache_rows("runconfig"),
    (
        "session.op_compiler_cache_mode.with_dir",
        "Does not look at op_compiler_cache_dir.",
        other_value("op_compiler_cache_dir", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.dir_option",
        "Does not look at op_compiler_cache_dir.",
        other_value("op_compiler_cache_dir", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.debug_cfg_no_list",
        "Caches beside op_debug_config.",
        other_value("op_debug_config", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.debug_cfg_with_list",
        "Takes listed operators from the cache.",
        _counted(_takes_again),
    ),
    ("files.kernel_cache.subdir", "Stores in the directory itself.", renamed("/kernel_cache/", "/")),
    (
        "files.kernel_cache.example_nested",
        "Takes a directory called kernel_cache for the one inside.",
        renamed("/kernel_cache/kernel_cache/", "/kernel_cache/"),
    ),
    ("files.kernel_cache.default", "Caches in the home directory itself.", renamed("/atc_data/", "/")),
    ("env.HOME.default_cache", "Caches below the current directory.", renamed("^tmp/h/", "")),
    ("env.ASCEND_CACHE_PATH.subdir", "Has one cache for all hosts.", renamed("/kernel_cache_[^/]+/", "/kernel_cache/")),
    (
        "env.ASCEND_MAX_OP_CACHE_SIZE.effect",
        "Does not look at ASCEND_MAX_OP_CACHE_SIZE.",
        variable("ASCEND_MAX_OP_CACHE_SIZE"),
    ),
    (
        "env.ASCEND_MAX_OP_CACHE_SIZE.minus_one",
        "Takes -1 for no value.",
        when(
            lambda params: params.get("env", {}).get("ASCEND_MAX_OP_CACHE_SIZE") == "-1",
            variable("ASCEND_MAX_OP_CACHE_SIZE"),
        ),
    ),
    (
        "env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect",
        "Does not look at ASCEND_REMAIN_CACHE_SIZE_RATIO.",
        variable("ASCEND_REMAIN_CACHE_SIZE_RATIO"),
    ),
    ("files.cache.default_retain", "Keeps less than half.", each_turn(_lose_filler)),
    ("files.op_cache_ini.autogenerated", "Leaves no op_cache.ini.", without(r"op_cache\.ini$")),
    (
        "files.op_cache_ini.manual",
        "Writes the defaults over a file made by hand.",
        said(r"op_cache\.ini$", "=80", "=50"),
    ),
    ("files.op_cache_ini.ratio_semantics", "Takes the ratio for what is deleted.", other_text("ratio=80", "ratio=20")),
    ("files.op_cache_ini.aging_half_hour", "Ages what was used 29 minutes ago.", _aged(lambda age: age + 300)),
    (
        "files.op_cache_ini.soft_limit",
        "Does not store over the limit.",
        _counted(lambda number, turn: _compiles_again(number, turn)),
    ),
    ("files.op_cache_ini.minus_one", "Takes -1 for 500.", other_text("size=-1", "size=500")),
]

declare("compile", "compile", [*_KERNEL_FILES, *_CACHE])
