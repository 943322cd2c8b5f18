"""Mutants of the files that options name: each misreads, takes or passes over something in one format."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants.edits import Answer, Params
from npu_conformance.backends.mutants.option_faults import (
    Ask,
    Fault,
    accepts,
    always,
    declare,
    default_is,
    given,
    means,
    other_files,
    refuses,
    silent,
    texts,
    without_rule,
)

__all__: List[str] = []

_RUNS_OF_SPACES = re.compile(r"\s+=\s*|\s*=\s+")


def _holds(*pieces: str) -> Callable[[Params], bool]:
    """Whether each piece stands in an option file of the request."""
    return lambda params: all(piece in texts(params) for piece in pieces)


def _in_edition(edition: str) -> Callable[[Params], bool]:
    return lambda params: params["edition"] == edition


def _part(option: str, key: str, change: Callable[[Any], Any], when: Callable[[Params], bool] = always) -> Fault:
    """Misreads one part of a file's meaning."""

    def misread(meaning: Dict[str, Any]) -> Dict[str, Any]:
        return {**meaning, key: change(meaning[key])} if key in meaning else meaning

    return means(option, misread, when)


def _list(change: Callable[[Dict[str, List[str]]], Dict[str, List[str]]]) -> Fault:
    return _part("op_debug_config", "op_debug_list", change)


def _lists_of_every_file(ask: Ask, params: Params) -> Answer:
    answer = ask(params)
    found = re.findall(r"op_debug_list\s*=\s*(\w+)", texts(params))
    if "op_debug_config" in answer["meaning"]:
        answer["meaning"]["op_debug_config"]["op_debug_list"]["name"] = found
    return answer


def _names_only(listed: Dict[str, List[str]]) -> Dict[str, List[str]]:
    return {"name": sorted(listed["name"] + listed["OpType"]), "OpType": []}


def _one_prefix(ask: Ask, params: Params) -> Answer:
    answer = ask(params)
    if "opType::" in texts(params):
        listed = answer["meaning"]["op_debug_config"]["op_debug_list"]
        listed["name"] += [f"opType::{name}" for name in listed["OpType"]]
        listed["OpType"] = []
    return answer


_DEBUG: List[Tuple[str, str, Fault]] = [
    (
        "op_debug_cfg.line",
        "Refuses spaces around the equals sign.",
        refuses("op_debug_config", lambda params: bool(_RUNS_OF_SPACES.search(texts(params)))),
    ),
    ("op_debug_cfg.options", "Takes options it does not know.", accepts("op_debug_config", _holds("foo"))),
    (
        "op_debug_cfg.example1",
        "Takes ccec_O0 beside oom, as the first sample has them.",
        accepts("op_debug_config", _holds("ccec_O0,ccec_g,oom")),
    ),
    ("op_debug_cfg.list.entries", "Takes empty entries.", accepts("op_debug_config", _holds(",,"))),
    ("op_debug_cfg.list.same_file", "Reads op_debug_list in any file.", _lists_of_every_file),
    ("op_debug_cfg.example2", "Takes every entry of the list for a name.", _list(_names_only)),
    ("op_debug_cfg.type_prefix_case", "Knows the prefix OpType:: in this spelling only.", _one_prefix),
]


def _tolerant(ask: Ask, params: Params) -> Answer:
    def with_comma(text: str) -> str:
        return re.sub(r'\]\s*\n(\s*")', r"],\n\1", text)

    return other_files(with_comma)(ask, params)


def _whole_words(words: List[str]) -> List[str]:
    return [word.split("/")[0] for word in words]


_AOE: List[Tuple[str, str, Fault]] = [
    ("aoe_cfg.keys", "Says nothing of unknown keys.", silent("aoe_config_file", "part_ignored")),
    (
        "aoe_cfg.tune_ops_name",
        "Reads a name up to its first slash.",
        _part("aoe_config_file", "tune_ops_name", _whole_words),
    ),
    (
        "aoe_cfg.tune_ops_type",
        "Takes a type for the beginning of a type.",
        _part("aoe_config_file", "tune_ops_type", lambda types: [f"{name}*" for name in types]),
    ),
    (
        "aoe_cfg.union",
        "Reads no types beside names.",
        _part("aoe_config_file", "tune_ops_type", lambda types: [], _holds("tune_ops_name")),
    ),
    ("aoe_cfg.level_domain", "Takes any level.", accepts("aoe_config_file", _holds("tune_optimization_level"))),
    (
        "aoe_cfg.level_default",
        "Has O1 as the default level.",
        _part(
            "aoe_config_file",
            "tune_optimization_level",
            lambda level: "O1",
            lambda params: "tune_optimization_level" not in texts(params),
        ),
    ),
    ("aoe_cfg.feature_domain", "Takes any feature.", accepts("aoe_config_file", _holds('"x"'))),
    (
        "aoe_cfg.deeper_opat_needs_2",
        "Takes deeper_opat with any aoe_mode.",
        accepts("aoe_config_file", _holds("deeper")),
    ),
    (
        "aoe_cfg.nonhomo_split_needs_1",
        "Takes nonhomo_split with any aoe_mode.",
        accepts("aoe_config_file", _holds("nonhomo")),
    ),
    ("aoe_cfg.sample", "Reads over a missing comma.", _tolerant),
]


def _instead(wanted: str, other: str) -> Fault:
    """Reads one text of a file for another."""
    return other_files(lambda text: text.replace(wanted, other))


def _nothing_beside_the_environment(ask: Ask, params: Params) -> Answer:
    hides = any(name.endswith("CACHE_SIZE") for name in params.get("env", {}))
    return other_files(lambda text: None if hides else text)(ask, params)


def _without_variables(ask: Ask, params: Params) -> Answer:
    return ask({**params, "env": {}})


_CACHE: List[Tuple[str, str, Fault]] = [
    ("cache.default_size", "Gives the cache 50 MB.", default_is("max_op_cache_size", 50)),
    ("cache.neither", "Has no limits of its own.", without_rule("files.cache.neither")),
    (
        "op_cache_ini.section",
        "Needs no section header.",
        other_files(lambda text: "[op_compiler_cache]\n" + text if text.startswith("max_op_cache") else text),
    ),
    ("op_cache_ini.max_size", "Takes a size of 0.", _instead("max_op_cache_size=0\n", "max_op_cache_size=1\n")),
    ("op_cache_ini.ratio", "Takes a ratio above 100.", _instead("ratio=101", "ratio=100")),
    ("op_cache_ini.both_valid", "Takes the valid half of a file.", _instead("ratio=0\n", "ratio=50\n")),
    ("op_cache_ini.comments", "Reads comments as lines.", other_files(lambda text: text.replace("#", ""))),
    ("op_cache_ini.sample", "Keeps 50 % whatever the file says.", _instead("ratio=80", "ratio=50")),
    ("op_cache_ini.over_env", "Reads the variables before the file.", _nothing_beside_the_environment),
]

_PASS = "ConvToFullyConnectionFusionPass"


def _all_on(edition: str) -> Fault:
    return _part(
        "fusion_switch_file",
        "GraphFusion",
        lambda passes: dict.fromkeys(passes, "on"),
        lambda params: params["edition"] == edition and _PASS in texts(params),
    )


def _none_stays(edition: str) -> Fault:
    return _part(
        "fusion_switch_file",
        "GraphFusion",
        lambda passes: dict.fromkeys(passes, "off"),
        lambda params: params["edition"] == edition and "ConstToAttrPass" in texts(params),
    )


def _swapped(lists: Dict[str, Any]) -> Dict[str, Any]:
    return {"black-list": lists["white-list"], "white-list": lists["black-list"]}


_JSON: List[Tuple[str, str, Fault]] = [
    ("mixlist.current.is_json", "Takes a list file it cannot read.", accepts("modify_mixlist", _in_edition("current"))),
]
for _edition in ("legacy", "current"):
    _JSON += [
        (
            f"fusion_switch.{_edition}.grammar",
            f"Takes any file of switches in the {_edition} edition.",
            accepts("fusion_switch_file", _in_edition(_edition)),
        ),
        (
            f"fusion_switch.{_edition}.sample",
            f"Switches no single pass off in the {_edition} edition.",
            _all_on(_edition),
        ),
        (
            f"fusion_switch.{_edition}.all_off_not_everything",
            f"Switches off passes that cannot be in the {_edition} edition.",
            _none_stays(_edition),
        ),
        (
            f"mixlist.{_edition}.grammar",
            f"Takes any list file in the {_edition} edition.",
            accepts("modify_mixlist", _in_edition(_edition)),
        ),
        (
            f"mixlist.{_edition}.comments",
            f"Refuses comments in the {_edition} edition.",
            refuses(
                "modify_mixlist",
                lambda params, edition=_edition: params["edition"] == edition and "//" in texts(params),
            ),
        ),
        (
            f"mixlist.{_edition}.sample",
            f"Takes the black list for the white one in the {_edition} edition.",
            means("modify_mixlist", _swapped, _in_edition(_edition)),
        ),
    ]


def _to_names(modes: Dict[str, Any]) -> Dict[str, Any]:
    return {"ByOpType": {}, "ByNodeName": {**modes["ByOpType"], **modes["ByNodeName"]}}


def _without_gap(ask: Ask, params: Params) -> Answer:
    answer = ask(params)
    for section in answer["meaning"].get("op_precision_mode", {}).values():
        for name in [name for name in section if name.endswith("4")]:
            del section[name]
    return answer


_MODES: List[Tuple[str, str, Fault]] = [
    ("op_precision_ini.flat", "Takes lines without an equals sign.", accepts("op_precision_mode", _holds("V2 high"))),
    (
        "op_precision_ini.flat.values",
        "Takes the newer modes in the legacy edition.",
        accepts("op_precision_mode", _in_edition("legacy")),
    ),
    ("op_precision_ini.flat.by_type", "Reads types as node names.", means("op_precision_mode", _to_names)),
    ("op_precision_ini.sections", "Passes over unknown sections.", accepts("op_precision_mode", _holds("[ByType]"))),
    ("op_precision_ini.sections.values", "Takes any mode.", accepts("op_precision_mode", _holds("=medium"))),
    (
        "op_precision_ini.sections.priority",
        "Drops the names of a file that has types.",
        _part("op_precision_mode", "ByNodeName", lambda modes: {}, _holds("[ByOpType]", "[ByNodeName]")),
    ),
    ("op_precision_ini.sample_gap", "Stops where a number is left out.", _without_gap),
]


def _short_names(table: Dict[str, Any]) -> Dict[str, Any]:
    return {name.rsplit("/", 1)[-1]: dtypes for name, dtypes in table.items()}


def _first_dtypes(table: Dict[str, Any]) -> Dict[str, Any]:
    return {name: {side: names[:1] for side, names in dtypes.items()} for name, dtypes in table.items()}


def _types_as_names(custom: Dict[str, Any]) -> Dict[str, Any]:
    return {"name": {**custom["name"], **custom["OpType"]}, "OpType": {}}


_DTYPES: List[Tuple[str, str, Fault]] = [
    (
        "customize_dtypes.path",
        "Takes a file that is not there.",
        accepts("customize_dtypes", lambda params: given(params, "customize_dtypes") not in params.get("files", {})),
    ),
    (
        "customize_dtypes.by_name",
        "Needs the comma before OutputDtype.",
        refuses("customize_dtypes", lambda params: bool(re.search(r"[^,]OutputDtype", texts(params)))),
    ),
    ("customize_dtypes.by_type", "Reads types as names.", means("customize_dtypes", _types_as_names)),
    ("customize_dtypes.one_per_line", "Takes two operators on a line.", accepts("customize_dtypes", _holds("16 b::"))),
    ("customize_dtypes.comments", "Refuses comments.", refuses("customize_dtypes", _holds("#"))),
    (
        "customize_dtypes.name_with_slash",
        "Reads a name from its last slash on.",
        _part("customize_dtypes", "name", _short_names),
    ),
    (
        "customize_dtypes.example",
        "Reads the first data type of each list.",
        _part("customize_dtypes", "OpType", _first_dtypes),
    ),
]

for _requirement, _sentence, _fault in _DEBUG + _AOE + _CACHE + _JSON + _MODES + _DTYPES:
    declare(f"options.files.{_requirement}", f"files.{_requirement}", _sentence, _fault)

declare(
    "options.files.op_cache_ini.without_variables",
    "files.op_cache_ini.over_env",
    "Reads no variables where there is no file.",
    _without_variables,
)
