"""Mutants of what compilation leaves: each leaves, forgets, misplaces or trusts a file that it should not."""

from __future__ import annotations

import base64
import copy
import functools
import json
import re
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants import mutant
from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.reference import ReferenceBackend

__all__: List[str] = []

Ask = Callable[[Params], Answer]
Fault = Callable[[Ask, Params], Answer]


@functools.lru_cache(maxsize=1024)
def _sound(method: str, request: str) -> Answer:
    """What the reference answers, asked once for all mutants."""
    answer: Answer = getattr(ReferenceBackend(), method)(json.loads(request))
    return answer


def _asking(method: str) -> Ask:
    return lambda params: copy.deepcopy(_sound(method, json.dumps(params, sort_keys=True)))


def _declare(method: str, prefix: str, rows: List[Tuple[str, str, Fault]]) -> None:
    for requirement, fault, change in rows:
        number = sum(1 for name in _names if name.startswith(f"{prefix}-{_slug(requirement)}"))
        name = f"{prefix}-{_slug(requirement)}" + (f"-{number + 1}" if number else "")
        _names.append(name)

        def answer(self: Any, params: Params, change: Fault = change) -> Answer:
            return change(_asking(method), params)

        kind = type("Altered", (ReferenceBackend,), {method: answer, "__doc__": fault, "name": f"mutant:{name}"})
        mutant(name, requirement)(kind)


_names: List[str] = []


def _slug(requirement: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", requirement.lower())


# ---------------------------------------------------------------------------------------------------------------------
# Edits of answers and requests


def _places(turn: Dict[str, Any]) -> List[Dict[str, Any]]:
    return [turn[key] for key in ("files", "left") if key in turn]


def _each(change: Callable[[Dict[str, Any]], None]) -> Fault:
    """The answer with every turn changed."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        for turn in answer["turns"]:
            if "rejected" not in turn:
                change(turn)
        return answer

    return fault


def _without(pattern: str) -> Fault:
    """Files whose path matches are not left."""

    def change(turn: Dict[str, Any]) -> None:
        for files in _places(turn):
            for path in [path for path in files if re.search(pattern, path)]:
                del files[path]

    return _each(change)


def _renamed(pattern: str, words: str) -> Fault:
    """Files whose path matches have another."""

    def change(turn: Dict[str, Any]) -> None:
        for files in _places(turn):
            for path in list(files):
                files[re.sub(pattern, words, path)] = files.pop(path)

    return _each(change)


def _beside(pattern: str, words: str) -> Fault:
    """Beside a file whose path matches, another is left."""

    def change(turn: Dict[str, Any]) -> None:
        for files in _places(turn):
            for path in [path for path in files if re.search(pattern, path)]:
                files[re.sub(pattern, words, path)] = dict(files[path])

    return _each(change)


def _said(pattern: str, old: str, new: str) -> Fault:
    """In files whose path matches, a text is another."""

    def change(turn: Dict[str, Any]) -> None:
        for files in _places(turn):
            for path, content in files.items():
                if re.search(pattern, path) and "b64" in content:
                    text = base64.b64decode(content["b64"]).decode("utf-8")
                    files[path] = {"b64": base64.b64encode(re.sub(old, new, text).encode()).decode("ascii")}

    return _each(change)


def _asked(change: Callable[[Dict[str, Any]], None]) -> Fault:
    """The request is understood as another."""

    def fault(ask: Ask, params: Params) -> Answer:
        other = copy.deepcopy(dict(params))
        change(other)
        return ask(other)

    return fault


def _variable(name: str, value: str = "") -> Fault:
    """A variable of the environment has another value, or none."""

    def change(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            if name in part.get("env", {}):
                del part["env"][name]
                if value:
                    part["env"][name] = value

    return _asked(change)


def _value(name: str, change: Callable[[Any], Any]) -> Fault:
    """An option that is given has another value; None takes it out."""

    def edit(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            if name in part.get("values", {}):
                value = change(part["values"].pop(name))
                if value is not None:
                    part["values"][name] = value

    return _asked(edit)


def _given(name: str, value: Any) -> Fault:
    """An option has this value unless another is given."""
    return _asked(lambda params: params["values"].setdefault(name, value))


def _text(old: str, new: str) -> Fault:
    """Texts of option files say something else."""

    def edit(params: Dict[str, Any]) -> None:
        for part in (params, *params.get("turns", [])):
            for path, content in part.get("files", {}).items():
                if isinstance(content, str):
                    part["files"][path] = re.sub(old, new, content)

    return _asked(edit)


def _aged(change: Callable[[int], int]) -> Fault:
    def edit(params: Dict[str, Any]) -> None:
        for turn in params.get("turns", []):
            if "age_seconds" in turn:
                turn["age_seconds"] = change(turn["age_seconds"])

    return _asked(edit)


def _when(holds: Callable[[Params], bool], fault: Fault) -> Fault:
    """The fault, for some requests."""
    return lambda ask, params: fault(ask, params) if holds(params) else ask(params)


def _words(word: str) -> Callable[[Params], bool]:
    return lambda params: any(word in str(content) for content in params.get("files", {}).values())


def _level(*levels: int) -> Callable[[Params], bool]:
    return lambda params: params["values"].get("op_debug_level") in levels


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


def _passes(change: Callable[[Dict[str, Any]], Any]) -> Fault:
    """Counts of passes are changed; a change to None takes one out."""

    def edit(turn: Dict[str, Any]) -> None:
        turn["fusion"] = [one for one in map(change, turn["fusion"]) if one is not None]

    return _each(edit)


def _off(params: Dict[str, Any]) -> None:
    """Every pass is switched off."""
    params.setdefault("files", {})["/cfg/off.cfg"] = json.dumps(
        {"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}
    )
    params["values"].setdefault("fusion_switch_file", "/cfg/off.cfg")


def _constants(op: str) -> Fault:
    def edit(turn: Dict[str, Any]) -> None:
        for one in turn["constants"]:
            one["op"] = op

    return _each(edit)


def _four_bytes(turn: Dict[str, Any]) -> None:
    """Weights of other types than float32 have the bytes that they would have as float32."""
    for one in turn["constants"]:
        size = {"float64": 8, "int64": 8, "uint64": 8, "int8": 1, "uint8": 1, "bool": 1}.get(one["node"].split("/")[0])
        if size and one.get("file"):
            one["bytes"] = one["bytes"] // size * 4


def _same_of_one_type(turn: Dict[str, Any]) -> None:
    """Of kernels whose names in files begin alike, all but the first are the first's."""
    seen: Dict[str, str] = {}
    for kernel in turn["kernels"]:
        first = seen.setdefault(kernel["kernel"].rpartition("_")[0], kernel["kernel"])
        if first != kernel["kernel"]:
            kernel.update(kernel=first, origin="reused")


def _kept(pattern: str) -> Fault:
    """What lay there before the program ended still does after it."""

    def edit(turn: Dict[str, Any]) -> None:
        turn["left"].update({path: content for path, content in turn["files"].items() if re.search(pattern, path)})

    return _each(edit)


def _switches(change: Callable[[List[str]], List[str]]) -> Fault:
    def edit(turn: Dict[str, Any]) -> None:
        for kernel in turn["kernels"]:
            kernel["switches"] = change(kernel["switches"])

    return _each(edit)


_NO_LOC = _without(r"_loc\.json$")
_NO_CODE = _without(r"\.cce$")
_META = r"^(.*/)?kernel_meta/"


def _both(*faults: Fault) -> Fault:
    def fault(ask: Ask, params: Params) -> Answer:
        for one in faults:
            ask = functools.partial(one, ask)
        return ask(params)

    return fault


def _unlisted(params: Dict[str, Any]) -> None:
    for path, content in params.get("files", {}).items():
        if isinstance(content, str):
            params["files"][path] = re.sub(r"op_debug_list.*\n", "", content)


def _leave_mc2(turn: Dict[str, Any]) -> None:
    stems = [kernel["kernel"] for kernel in turn["kernels"] if "MatMul" in kernel["type"] and kernel["kernel"]]
    for files in _places(turn):
        if any(re.search(_META, path) for path in files):
            files.update({f"kernel_meta/{stem}.o": {"bytes": 1} for stem in stems})


_MC2_FILES = _each(_leave_mc2)

_KERNEL_FILES: List[Tuple[str, str, Fault]] = [
    (
        "session.op_debug_level.0",
        "Leaves kernel files at level 0.",
        _when(_level(0), _value("op_debug_level", lambda _: 3)),
    ),
    ("session.op_debug_level.1.files", "Leaves no _loc.json at level 1.", _when(_level(1), _NO_LOC)),
    ("session.op_debug_level.2.files", "Leaves no .cce at level 2.", _when(_level(2), _NO_CODE)),
    ("session.op_debug_level.3.files", "Leaves .cce at level 3.", _when(_level(3), _beside(r"\.o$", ".cce"))),
    ("session.op_debug_level.4.files", "Leaves no _compute.json at level 4.", _without(r"_compute\.json$")),
    (
        "session.op_debug_level.dir",
        "Makes kernel_meta in a directory of its own.",
        _renamed(_META, r"build/kernel_meta/"),
    ),
    ("session.debug_dir.contents", "Does not look at debug_dir.", _value("debug_dir", lambda _: None)),
    (
        "files.kernel_meta.default_dir",
        "Puts kernel files into the current directory itself.",
        _renamed(r"^kernel_meta/", ""),
    ),
    ("files.kernel_meta.kinds", "Writes the locations in YAML.", _renamed(r"_loc\.json$", "_loc.yaml")),
    (
        "files.kernel_meta.matrix",
        "Takes level 4 for level 1.",
        _value("op_debug_level", lambda level: 1 if level == 4 else level),
    ),
    ("files.kernel_meta.cfg_matrix", "Keeps files for ccec_g.", _text("= ccec_g", "= ccec_g,oom")),
    ("files.kernel_meta.union", "Keeps the files of the last word only.", _text(r"= \w+,(oom)", r"= \1")),
    (
        "runconfig.op_debug_level.0",
        "Leaves kernel files at level 0.",
        _when(_level(0), _value("op_debug_level", lambda _: 3)),
    ),
    ("runconfig.op_debug_level.1", "Leaves no .json at level 1.", _when(_level(1), _without(r"[0-9a-f]\.json$"))),
    ("runconfig.op_debug_level.2", "Compiles with optimisation at level 2.", _switches(lambda found: [])),
    ("runconfig.op_debug_level.3", "Removes .o at level 3.", _when(_level(3), _without(r"\.o$"))),
    ("runconfig.op_debug_level.4", "Leaves _loc.json at level 4.", _renamed(r"_compute\.json$", "_loc.json")),
    ("runconfig.op_debug_level.empty_off", "Is at level 1 by default.", _given("op_debug_level", 1)),
    ("runconfig.op_debug_level.debug_dir", "Does not look at debug_dir.", _value("debug_dir", lambda _: None)),
    (
        "runconfig.op_debug_level.0_npu_collect",
        "Makes kernel_meta in NPU_COLLECT_PATH.",
        _when(lambda params: "NPU_COLLECT_PATH" in params.get("env", {}), _renamed(_META, "collect/kernel_meta/")),
    ),
    ("runconfig.op_debug_level.mc2", "Leaves files of MC2 operators.", _MC2_FILES),
    (
        "runconfig.debug_dir.contents",
        "Leaves .o in the current directory.",
        _renamed(r"^.*/kernel_meta/([^/]+\.o)$", r"kernel_meta/\1"),
    ),
    (
        "runconfig.op_debug_config.debug_dir",
        "Does not look at debug_dir for op_debug_config.",
        _when(lambda params: "op_debug_config" in params["values"], _value("debug_dir", lambda _: None)),
    ),
    ("files.op_debug_config.oom.files", "Removes .json with oom.", _when(_words("oom"), _without(r"\.json$"))),
    (
        "files.op_debug_config.oom.logic",
        "Traps reads and writes by one number.",
        _said(r"\.cce$", "0X5A5A0002", "0X5A5A0001"),
    ),
    (
        "files.op_debug_config.oom.view",
        "Keeps the code with oom alone.",
        _when(_words("= oom"), _beside(r"^(kernel_meta/.*)\.o$", r"\1.cce")),
    ),
    ("files.op_debug_config.dump_cce.files", "Leaves no .cce.", _when(_words("dump_cce"), _NO_CODE)),
    ("files.op_debug_config.dump_loc.files", "Leaves no _loc.json.", _when(_words("dump_loc"), _NO_LOC)),
    (
        "files.op_debug_config.check_flag.files",
        "Removes .o with check_flag.",
        _when(_words("check_flag"), _without(r"\.o$")),
    ),
    (
        "files.op_debug_config.check_flag.logic",
        "Waits for the flags before the barriers.",
        _said(r"\.cce$", r"(?s)(    pipe_barrier.*?ALL\);\n)((?:    wait_flag[^\n]*\n)+)", r"\2\1"),
    ),
    (
        "files.op_debug_config.check_flag.view",
        "Does not show the check beside dump_cce.",
        _said(r"\.cce$", r"    (set_flag|wait_flag|pipe_barrier)[^\n]*\n", ""),
    ),
    ("files.op_debug_cfg.list.effect", "Compiles every operator with the options.", _asked(_unlisted)),
    ("files.op_debug_config.mc2_excluded", "Leaves files of MC2 operators.", _MC2_FILES),
    ("env.NPU_COLLECT_PATH.uses", "Does not look at NPU_COLLECT_PATH.", _variable("NPU_COLLECT_PATH")),
    ("env.ASCEND_WORK_PATH.uses", "Does not look at ASCEND_WORK_PATH.", _variable("ASCEND_WORK_PATH")),
]

_FILLERS = r"/te_filler[^/]*$"


def _lose_filler(turn: Dict[str, Any]) -> None:
    """One more file goes where some did."""
    for files in _places(turn):
        found = [path for path in files if re.search(_FILLERS, path)]
        if 0 < len(found) < 9:
            del files[found[0]]


def _cache_rows(surface: str) -> List[Tuple[str, str, Fault]]:
    mode = f"{surface}.op_compiler_cache_mode"
    where = f"{surface}.op_compiler_cache_dir"
    gate = ((1, 2, 4), 3) if surface == "session" else ((1, 2, 4), 0)
    rows: List[Tuple[str, str, Fault]] = [
        (f"{mode}.enable", "Compiles what is in the cache again.", _counted(_compiles_again)),
        (f"{mode}.enable", "Takes kernels of one type for one kernel.", _each(_same_of_one_type)),
        (f"{mode}.disable", "Caches all the same.", _value("op_compiler_cache_mode", lambda _: "enable")),
        (f"{mode}.force", "Keeps what is in the cache.", _value("op_compiler_cache_mode", lambda _: "enable")),
        (
            f"{mode}.debug_level_gate",
            "Caches at every debug level.",
            _when(_level(*gate[0]), _value("op_debug_level", lambda _: gate[1])),
        ),
        (f"{where}.exists", "Stores beside kernel_cache in a directory that exists.", _renamed("/kernel_cache/", "/")),
        (f"{where}.created", "Does not store in a directory that was missing.", _without(r"/new/cache/")),
    ]
    return rows


_CACHE: List[Tuple[str, str, Fault]] = [
    *_cache_rows("session"),
    *_cache_rows("runconfig"),
    (
        "session.op_compiler_cache_mode.with_dir",
        "Does not look at op_compiler_cache_dir.",
        _value("op_compiler_cache_dir", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.dir_option",
        "Does not look at op_compiler_cache_dir.",
        _value("op_compiler_cache_dir", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.debug_cfg_no_list",
        "Caches beside op_debug_config.",
        _value("op_debug_config", lambda _: None),
    ),
    (
        "runconfig.op_compiler_cache_mode.debug_cfg_with_list",
        "Takes listed operators from the cache.",
        _counted(_takes_again),
    ),
    ("files.kernel_cache.subdir", "Stores in the directory itself.", _renamed("/kernel_cache/", "/")),
    (
        "files.kernel_cache.example_nested",
        "Takes a directory called kernel_cache for the one inside.",
        _renamed("/kernel_cache/kernel_cache/", "/kernel_cache/"),
    ),
    ("files.kernel_cache.default", "Caches in the home directory itself.", _renamed("/atc_data/", "/")),
    ("env.HOME.default_cache", "Caches below the current directory.", _renamed("^tmp/h/", "")),
    (
        "env.ASCEND_CACHE_PATH.subdir",
        "Has one cache for all hosts.",
        _renamed("/kernel_cache_[^/]+/", "/kernel_cache/"),
    ),
    (
        "env.ASCEND_MAX_OP_CACHE_SIZE.effect",
        "Does not look at ASCEND_MAX_OP_CACHE_SIZE.",
        _variable("ASCEND_MAX_OP_CACHE_SIZE"),
    ),
    (
        "env.ASCEND_MAX_OP_CACHE_SIZE.minus_one",
        "Takes -1 for no value.",
        _when(
            lambda params: params.get("env", {}).get("ASCEND_MAX_OP_CACHE_SIZE") == "-1",
            _variable("ASCEND_MAX_OP_CACHE_SIZE"),
        ),
    ),
    (
        "env.ASCEND_REMAIN_CACHE_SIZE_RATIO.effect",
        "Does not look at ASCEND_REMAIN_CACHE_SIZE_RATIO.",
        _variable("ASCEND_REMAIN_CACHE_SIZE_RATIO"),
    ),
    ("files.cache.default_retain", "Keeps less than half.", _each(_lose_filler)),
    ("files.op_cache_ini.autogenerated", "Leaves no op_cache.ini.", _without(r"op_cache\.ini$")),
    (
        "files.op_cache_ini.manual",
        "Writes the defaults over a file made by hand.",
        _said(r"op_cache\.ini$", "=80", "=50"),
    ),
    ("files.op_cache_ini.ratio_semantics", "Takes the ratio for what is deleted.", _text("ratio=80", "ratio=20")),
    ("files.op_cache_ini.aging_half_hour", "Ages what was used 29 minutes ago.", _aged(lambda age: age + 300)),
    (
        "files.op_cache_ini.soft_limit",
        "Does not store over the limit.",
        _counted(lambda number, turn: _compiles_again(number, turn)),
    ),
    ("files.op_cache_ini.minus_one", "Takes -1 for 500.", _text("size=-1", "size=500")),
]

_RESULT = r"fusion_result\.json$"
_GRAPH_PASS = "MatMulBiasAddFusionPass"


def _fires_though_off(turn: Dict[str, Any]) -> None:
    if not any(one["name"] == _GRAPH_PASS for one in turn["fusion"]):
        turn["fusion"].append({"section": "GraphFusion", "name": _GRAPH_PASS, "matched": 1, "effective": 1})


def _switch_rows(edition: str) -> List[Tuple[str, str, Fault]]:
    section = f"files.fusion_switch.{edition}"
    return [
        (f"{section}.on_off", "Takes off for on.", _text('"off"', '"on"')),
        (f"{section}.all_off", "Knows no ALL.", _text('"ALL": "off"', '"NoSuchPass": "off"')),
        (
            f"{section}.all_off_except",
            "Lets ALL win over a pass that is named.",
            _text(r'("ALL": "off"), "MatMulBiasAddFusionPass": "on"', r"\1"),
        ),
        (
            f"{section}.missing_section",
            "Takes a section that is missing for off.",
            _text(
                r'\{"GraphFusion": \{"ALL": "off"\}\}', '{"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}'
            ),
        ),
        (
            f"{section}.sections_independent",
            "Takes ALL for all sections.",
            _text(
                r'\{"(GraphFusion|UBFusion)": \{"ALL": "off"\}\}',
                '{"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}',
            ),
        ),
    ]


_FUSION: List[Tuple[str, str, Fault]] = [
    *_switch_rows("legacy"),
    *_switch_rows("current"),
    ("session.fusion_switch_file.default_on", "Fuses nothing without a file.", _asked(_off)),
    ("session.fusion_switch_file.selective_off", "Does not switch single passes off.", _each(_fires_though_off)),
    ("runconfig.fusion_switch_file.default_on", "Fuses nothing without a file.", _asked(_off)),
    ("runconfig.fusion_switch_file.selective", "Does not switch single passes off.", _each(_fires_though_off)),
    (
        "files.fusion_result.disabled_hidden",
        "Names passes that are switched off, with zeros.",
        _said(_RESULT, r'"graph_fusion": \{\}', f'"graph_fusion": {{"{_GRAPH_PASS}": {{"match_times": "0"}}}}'),
    ),
    (
        "files.fusion_result.keys",
        "Has no key for the session and the graph.",
        _said(_RESULT, "session_and_graph_id_", ""),
    ),
    (
        "files.fusion_result.match_times",
        "Counts a pattern once however often it is found.",
        _said(_RESULT, r'"match_times": "\d+"', '"match_times": "1"'),
    ),
    (
        "files.fusion_result.effect_times",
        "Counts a match for an effect.",
        _said(_RESULT, r'"effect_times": "0"', '"effect_times": "1"'),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Counts repository hits of graph fusion too.",
        _said(_RESULT, f'("{_GRAPH_PASS}": {{)', r'\1"repository_hit_times": "0", '),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Never looks into the repository that tuning filled.",
        _said(_RESULT, r'"repository_hit_times": "\d+"', '"repository_hit_times": "0"'),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Counts a hit wherever a pass takes effect.",
        _said(
            _RESULT,
            r'("effect_times": )("\d+")((?:,\s*"match_times": "\d+")?,\s*"repository_hit_times": )"\d+"',
            r"\1\2\3\2",
        ),
    ),
    (
        "files.fusion_result.path_default",
        "Writes the file to FE without a variable, too.",
        _renamed(r"^fusion_result\.json$", "FE/1/fusion_result.json"),
    ),
    (
        "files.fusion_result.path_env",
        "Writes one file for all processes.",
        _renamed(r"/FE/\d+/fusion_result\.json$", "/FE/fusion_result.json"),
    ),
    ("runconfig.export_compile_stat.0", "Writes the file at 0.", _value("export_compile_stat", lambda when: when or 1)),
    (
        "runconfig.export_compile_stat.1",
        "Writes the file before the program ends.",
        _value("export_compile_stat", lambda when: 2 if when == 1 else when),
    ),
    (
        "runconfig.export_compile_stat.2",
        "Waits for the end of the program.",
        _value("export_compile_stat", lambda when: 1 if when == 2 else when),
    ),
    (
        "runconfig.export_compile_stat.both_kinds",
        "Writes graph fusion alone.",
        _said(_RESULT, r'"ub_fusion": (?s:.*?)\n        \}', '"ub_fusion": {}'),
    ),
]


def _scope_rows(surface: str, general: Tuple[str, ...], off: str, on: str) -> List[Tuple[str, str, Fault]]:
    option = f"{surface}.enable_scope_fusion_passes"

    def gone(name: str) -> Fault:
        return _passes(lambda one: None if one["name"] == name else one)

    def named(params: Dict[str, Any]) -> None:
        params["values"].setdefault("enable_scope_fusion_passes", "ScopeClipBoxesPass")

    rows = [
        (f"{option}.{word}", "Waits for general passes to be named.", gone("ScopeLayerNormPass")) for word in general
    ]
    rows.append((f"{option}.{off}", "Has every pass on.", _asked(named)))
    if on != off:
        rows.append((f"{option}.{on}", "Does not look at the names.", gone("ScopeClipBoxesPass")))
    return rows


_SCOPES = [
    *_scope_rows("session", ("general_on", "general_not_disablable"), "nongeneral_off", "nongeneral_on"),
    *_scope_rows("runconfig", ("general",), "nongeneral", "nongeneral"),
]

_WEIGHTS: List[Tuple[str, str, Fault]] = [
    (
        "files.external_weight.name",
        "Names the files by number.",
        _renamed(r"(tmp_weight_[^/]+)/weight_([0-9a-f]{4})[0-9a-f]*$", r"\1/\2.bin"),
    ),
    (
        "files.external_weight.dir_default",
        "Has one directory for all programs.",
        _renamed(r"tmp_weight_\d+_\d+/", "tmp_weight/"),
    ),
    ("files.external_weight.dir_env", "Does not look at ASCEND_WORK_PATH.", _variable("ASCEND_WORK_PATH")),
    ("files.external_weight.cleanup", "Leaves the files when the model is unloaded.", _kept("tmp_weight_")),
    (
        "runconfig.external_weight.false",
        "Always writes the weights to files.",
        _both(_value("external_weight", lambda _: True), _given("external_weight", True)),
    ),
    ("runconfig.external_weight.true_all_const", "Leaves the constants in the graph as well.", _constants("Const")),
    ("runconfig.external_weight.true_all_const", "Writes four bytes for each number.", _each(_four_bytes)),
    (
        "runconfig.external_weight.sharing",
        "Writes a file for every constant.",
        _beside(r"(tmp_weight_[^/]+/weight_[0-9a-f]+)[0-9a-f]$", r"\1"),
    ),
]

_declare("compile", "compile", [*_KERNEL_FILES, *_CACHE, *_FUSION, *_SCOPES, *_WEIGHTS])


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

_declare("library", "library", _LIBRARY)
