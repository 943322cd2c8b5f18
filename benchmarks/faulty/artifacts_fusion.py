"""Fusion results: which passes they count, where they lie and when they are written."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, Mapping

from faulty.answered import decoded_or_empty, encoded
from faulty.asked import (
    all_values,
    asked_values,
    has_anywhere,
    in_values,
    is_about,
    mapped,
    text_of,
    texts,
    value_is,
    value_of,
    without,
    without_in_inference,
)
from faulty.making import Answer, Files, Params, fault, mistake
from faulty.operators import asks, misreads, of_files, of_turns

fault(
    "fusion_switches_ignored", "runconfig.fusion_switch_file.selective", asks(in_values(without("fusion_switch_file")))
)
fault(
    "scope_passes_ignored",
    "session.enable_scope_fusion_passes.nongeneral_on",
    asks(in_values(without("enable_scope_fusion_passes"))),
)


def _both_sections(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    switches = found.get("Switch") if isinstance(found, dict) else None
    if isinstance(switches, dict):
        for section in ("GraphFusion", "UBFusion"):
            switches.setdefault(section, {"ALL": "off"})
    return json.dumps(found)


fault(
    "a_missing_section_is_off_for_debugging",
    "files.fusion_switch.current.missing_section",
    asks(
        lambda params: (
            texts(params, "fusion_switch_file", _both_sections)
            if has_anywhere(params, "op_debug_level", 1, 2, 4)
            else params
        )
    ),
    methods=("compile", "timeline"),
)
_OFF = '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}'


def _unfused(params: Params) -> Dict[str, Any]:
    if has_anywhere(params, "auto_tune_mode", "GA", "RL", "GA,RL", "RL,GA") and not any(
        value_of({"values": one}, "fusion_switch_file") for one in asked_values(params)
    ):
        files = {**params.get("files", {}), "/untuned.cfg": _OFF}
        changed_values = all_values(params, lambda values: {**values, "fusion_switch_file": "/untuned.cfg"})
        return {**changed_values, "files": files}
    return dict(params)


fault(
    "what_is_tuned_is_not_fused",
    "session.fusion_switch_file.default_on",
    asks(_unfused),
    methods=("compile", "timeline"),
)


def _at_once(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "export_compile_stat", 2, "2"):  # type: ignore[arg-type]
        return files
    return {
        "fusion_result.json" if name.endswith("fusion_result.json") and "FE/" in name else name: file
        for name, file in files.items()
    }


fault("results_at_once_lie_here", "files.fusion_result.path_env", of_files(_at_once))


def _summed(files: Files, asked: Mapping[str, Any]) -> Files:
    found = dict(files)
    for name, file in files.items():
        if len(re.findall(r'"session_and_graph_id_\w+"', decoded_or_empty(file))) < 2:
            continue
        results, sums = json.loads(decoded_or_empty(file)), {}  # type: ignore[var-annotated]
        for graph in results.values():
            for kind, passes in graph.items():
                for one, counts in passes.items():
                    for count, number in counts.items():
                        sums[kind, one, count] = sums.get((kind, one, count), 0) + int(number)
                        counts[count] = str(sums[kind, one, count])
        found[name] = encoded(json.dumps(results))
    return found


fault("fusions_of_earlier_graphs_are_counted_again", "files.fusion_result.keys", of_files(_summed))
fault(
    "results_are_always_early",
    "runconfig.export_compile_stat.1",
    asks(in_values(lambda values: mapped("export_compile_stat", lambda value: 2 if value == 1 else value)(values))),
)
fault(
    "inference_leaves_no_results",
    "runconfig.export_compile_stat.default",
    asks(
        in_values(
            lambda values: (
                {**values, "export_compile_stat": 0} if value_of({"values": values}, "graph_run_mode") == 0 else values
            )
        )
    ),
)


@mistake("files.fusion_switch.current.sections_independent", ("compile", "timeline"))
def ub_patterns_need_the_other_section(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if "GraphFusion" in text else '{"Switch": {}}'

    return ask(texts(params, "fusion_switch_file", edit))


@mistake("session.fusion_switch_file.scope", ("compile", "timeline"))
def switches_are_of_training(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, without_in_inference("fusion_switch_file")))


def _is_all_off(params: Params) -> bool:
    return '"ALL":"off"' in re.sub(r"\s", "", text_of(params, "fusion_switch_file"))


@mistake("files.fusion_switch.current.all_off_not_everything", ("compile", "timeline"))
def all_that_is_switched_off_is_all_there_is(ask: Any, params: Params) -> Answer:
    """files.fusion_switch.current.all_off_not_everything."""
    answer = dict(ask(params))
    if not is_about(params, edition="current") or not _is_all_off(params):
        return answer
    for one in [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]:
        if "fusion" in one:
            one["fusion"] = [found for found in one["fusion"] if not found["name"].startswith("Scope")]
    return answer


def _effects(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for member in ("files", "left"):
        for path, one in turn.get(member, {}).items():
            if path.endswith("fusion_result.json") and "b64" in one:
                text = base64.b64decode(one["b64"]).decode()
                one["b64"] = base64.b64encode(re.sub('("effect_times": *"?)[0-9]+', r"\g<1>0", text).encode()).decode()


fault("no_pass_has_an_effect", "files.fusion_result.effect_times", of_turns(_effects))
fault(
    "the_result_of_fusion_has_the_process_behind",
    "files.fusion_result.path_default",
    of_files(
        lambda files, asked: {
            path.replace("fusion_result.json", "fusion_result_1.json") if "/" not in path else path: one
            for path, one in files.items()
        }
    ),
)
fault(
    "a_switched_off_pass_is_only_not_told",
    "files.fusion_switch.current.on_off",
    of_turns(
        lambda turn, asked: (
            turn.update(
                fusion=[
                    {**one, "effective": one["matched"]} if one["name"].startswith("MatMul") else one
                    for one in turn["fusion"]
                ]
            )
            if turn.get("fusion")
            else None
        )
    ),
)


def _above_the_line(text: str) -> str:
    """What stands before ALL in a section is overwritten by it."""
    return re.sub(r'(\{)([^{}]*?)("ALL"\s*:\s*"off")', r"\1\3", text)


fault(
    "switches_are_set_one_after_the_other",
    "files.fusion_switch.current.all_off_except",
    misreads("fusion_switch_file", _above_the_line),
    methods=("options", "compile", "timeline"),
)
