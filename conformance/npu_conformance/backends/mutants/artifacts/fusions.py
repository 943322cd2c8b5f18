"""Mutants of fusion: which passes are on, and the file that tells their counts."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Tuple

from npu_conformance.backends.mutants.artifacts.changes import (
    Fault,
    asked,
    declare,
    each_turn,
    other_text,
    other_value,
    renamed,
    said,
)

__all__: List[str] = []


def _passes(change: Callable[[Dict[str, Any]], Any]) -> Fault:
    """Counts of passes are changed; a change to None takes one out."""

    def edit(turn: Dict[str, Any]) -> None:
        turn["fusion"] = [one for one in map(change, turn["fusion"]) if one is not None]

    return each_turn(edit)


def _off(params: Dict[str, Any]) -> None:
    """Every pass is switched off."""
    params.setdefault("files", {})["/cfg/off.cfg"] = json.dumps(
        {"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}
    )
    params["values"].setdefault("fusion_switch_file", "/cfg/off.cfg")


_RESULT = r"fusion_result\.json$"
_GRAPH_PASS = "MatMulBiasAddFusionPass"


def _fires_though_off(turn: Dict[str, Any]) -> None:
    if not any(one["name"] == _GRAPH_PASS for one in turn["fusion"]):
        turn["fusion"].append({"section": "GraphFusion", "name": _GRAPH_PASS, "matched": 1, "effective": 1})


def _switch_rows(edition: str) -> List[Tuple[str, str, Fault]]:
    section = f"files.fusion_switch.{edition}"
    return [
        (f"{section}.on_off", "Takes off for on.", other_text('"off"', '"on"')),
        (f"{section}.all_off", "Knows no ALL.", other_text('"ALL": "off"', '"NoSuchPass": "off"')),
        (
            f"{section}.all_off_except",
            "Lets ALL win over a pass that is named.",
            other_text(r'("ALL": "off"), "MatMulBiasAddFusionPass": "on"', r"\1"),
        ),
        (
            f"{section}.missing_section",
            "Takes a section that is missing for off.",
            other_text(
                r'\{"GraphFusion": \{"ALL": "off"\}\}', '{"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}'
            ),
        ),
        (
            f"{section}.sections_independent",
            "Takes ALL for all sections.",
            other_text(
                r'\{"(GraphFusion|UBFusion)": \{"ALL": "off"\}\}',
                '{"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}',
            ),
        ),
    ]


_FUSION: List[Tuple[str, str, Fault]] = [
    *_switch_rows("legacy"),
    *_switch_rows("current"),
    ("session.fusion_switch_file.default_on", "Fuses nothing without a file.", asked(_off)),
    ("session.fusion_switch_file.selective_off", "Does not switch single passes off.", each_turn(_fires_though_off)),
    ("runconfig.fusion_switch_file.default_on", "Fuses nothing without a file.", asked(_off)),
    ("runconfig.fusion_switch_file.selective", "Does not switch single passes off.", each_turn(_fires_though_off)),
    (
        "files.fusion_result.disabled_hidden",
        "Names passes that are switched off, with zeros.",
        said(_RESULT, r'"graph_fusion": \{\}', f'"graph_fusion": {{"{_GRAPH_PASS}": {{"match_times": "0"}}}}'),
    ),
    (
        "files.fusion_result.keys",
        "Has no key for the session and the graph.",
        said(_RESULT, "session_and_graph_id_", ""),
    ),
    (
        "files.fusion_result.match_times",
        "Counts a pattern once however often it is found.",
        said(_RESULT, r'"match_times": "\d+"', '"match_times": "1"'),
    ),
    (
        "files.fusion_result.effect_times",
        "Counts a match for an effect.",
        said(_RESULT, r'"effect_times": "0"', '"effect_times": "1"'),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Counts repository hits of graph fusion too.",
        said(_RESULT, f'("{_GRAPH_PASS}": {{)', r'\1"repository_hit_times": "0", '),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Never looks into the repository that tuning filled.",
        said(_RESULT, r'"repository_hit_times": "\d+"', '"repository_hit_times": "0"'),
    ),
    (
        "files.fusion_result.repository_hit_times",
        "Counts a hit wherever a pass takes effect.",
        said(
            _RESULT,
            r'("effect_times": )("\d+")((?:,\s*"match_times": "\d+")?,\s*"repository_hit_times": )"\d+"',
            r"\1\2\3\2",
        ),
    ),
    (
        "files.fusion_result.path_default",
        "Writes the file to FE without a variable, too.",
        renamed(r"^fusion_result\.json$", "FE/1/fusion_result.json"),
    ),
    (
        "files.fusion_result.path_env",
        "Writes one file for all processes.",
        renamed(r"/FE/\d+/fusion_result\.json$", "/FE/fusion_result.json"),
    ),
    (
        "runconfig.export_compile_stat.0",
        "Writes the file at 0.",
        other_value("export_compile_stat", lambda when: when or 1),
    ),
    (
        "runconfig.export_compile_stat.1",
        "Writes the file before the program ends.",
        other_value("export_compile_stat", lambda when: 2 if when == 1 else when),
    ),
    (
        "runconfig.export_compile_stat.2",
        "Waits for the end of the program.",
        other_value("export_compile_stat", lambda when: 1 if when == 2 else when),
    ),
    (
        "runconfig.export_compile_stat.both_kinds",
        "Writes graph fusion alone.",
        said(_RESULT, r'"ub_fusion": (?s:.*?)\n        \}', '"ub_fusion": {}'),
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
    rows.append((f"{option}.{off}", "Has every pass on.", asked(named)))
    if on != off:
        rows.append((f"{option}.{on}", "Does not look at the names.", gone("ScopeClipBoxesPass")))
    return rows


_SCOPES = [
    *_scope_rows("session", ("general_on", "general_not_disablable"), "nongeneral_off", "nongeneral_on"),
    *_scope_rows("runconfig", ("general",), "nongeneral", "nongeneral"),
]

declare("compile", "compile", [*_FUSION, *_SCOPES])
