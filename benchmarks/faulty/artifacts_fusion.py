"""Fusion results: which passes they count, where they lie and when they are written."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Optional

from faulty.answered import decoded_or_empty, encoded, renamed_files
from faulty.asked import (
    all_values,
    asked_values,
    has_anywhere,
    is_about,
    mapped,
    plain_in,
    switches_changed,
    text_of,
    texts,
    value_is,
    value_of,
    values_where,
    without,
    without_in_inference,
)
from faulty.making import Answer, Files, Params, broken
from faulty.mistakes import asks, leaves, misreads, turn_values, turns
from faulty.mistakes_graphs import compiled_without, files_changed, reads_value, unseen

compiled_without("fusion_switches_ignored", "003 fusion_switch_file: off disables a pass", fusion_switch_file=None)
compiled_without("scope_passes_ignored", "003 enable_scope_fusion_passes", enable_scope_fusion_passes=None)


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


asks(
    "a_missing_section_is_off_for_debugging",
    "003 fusion_switch_file: a section that is not there keeps its default, on",
    "artifacts",
    lambda params: (
        texts(params, "fusion_switch_file", _both_sections)
        if has_anywhere(params, "op_debug_level", 1, 2, 4)
        else params
    ),
    "compile",
    "timeline",
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


asks(
    "what_is_tuned_is_not_fused",
    "002 fusion_switch_file: all patterns are on by default",
    "artifacts",
    _unfused,
    "compile",
    "timeline",
)
leaves(
    "results_lie_beside_the_fe",
    "003 fusion_result.json: below $ASCEND_WORK_PATH/FE",
    lambda files, asked: {
        re.sub(r"(^|/)FE/", r"\1", name) if "fusion_result" in name else name: file for name, file in files.items()
    },
)


def _at_once(files: Files, asked: Mapping[str, Any]) -> Files:
    if not value_is(asked, "export_compile_stat", 2, "2"):  # type: ignore[arg-type]
        return files
    return {
        "fusion_result.json" if name.endswith("fusion_result.json") and "FE/" in name else name: file
        for name, file in files.items()
    }


leaves("results_at_once_lie_here", "003 fusion_result.json: below $ASCEND_WORK_PATH/FE, with 2 too", _at_once)


@broken("artifacts", "003 fusion_switch_file: ALL off closes what can be switched", "compile", "timeline")
def all_is_the_name_of_no_pass(ask: Any, params: Params) -> Answer:
    return ask(texts(params, "fusion_switch_file", lambda text: re.sub(r'"ALL"\s*:\s*"off"', '"ALL":"on"', text)))


turn_values(
    "results_are_written_at_the_end_alone",
    "003 export_compile_stat 2: after graph compilation",
    lambda values: mapped("export_compile_stat", lambda value: 1 if value == 2 else value)(values),
)


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


leaves("fusions_of_earlier_graphs_are_counted_again", "003 fusion_result.json: by session and graph", _summed)


def _graphs_first(text: str) -> str:
    return re.sub(r'"UBFusion"\s*:\s*\{[^}]*\}\s*,(?=\s*"GraphFusion")', "", text)


misreads(
    "artifacts",
    "fusion_of_graphs_stands_first",
    "002, 003 fusion_switch_file: a section UBFusion, wherever",
    "fusion_switch_file",
    _graphs_first,
    "compile",
    "timeline",
)
turn_values(
    "results_are_always_early",
    "003 export_compile_stat 1: when the program exits normally",
    lambda values: mapped("export_compile_stat", lambda value: 2 if value == 1 else value)(values),
)
turn_values(
    "inference_leaves_no_results",
    "003 export_compile_stat: 1 by default",
    lambda values: (
        {**values, "export_compile_stat": 0} if value_of({"values": values}, "graph_run_mode") == 0 else values
    ),
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
# runconfig.export_compile_stat.2
reads_value(
    "artifacts",
    "fusion_result_is_always_written_at_the_end",
    "2: written after graph compilation, so that an interrupted program leaves it, too",
    "export_compile_stat",
    lambda value: 1 if value == 2 else value,
    "compile",
)
# runconfig.op_debug_level.4
leaves(
    "compute_files_have_a_dot_before_compute",
    "A UB fusion description file is {$kernel_name}_compute.json",
    lambda files, asked: renamed_files(files, lambda name: re.sub(r"_compute\.json$", ".compute.json", name)),
)


# session.fusion_switch_file.example
def _unread(params: Params) -> Params:
    if any(plain_in(values, "export_compile_stat") == 0 for values in asked_values(params)[1:]):
        return values_where(lambda values: plain_in(values, "export_compile_stat") == 0, without("fusion_switch_file"))(
            params
        )
    if plain_in(params["values"], "export_compile_stat") == 0:
        return all_values(params, without("fusion_switch_file"))
    return params


asks(
    "switches_of_fusion_are_read_for_a_result_alone",
    "What fusion_switch_file turns off is off, whether or not a result of fusion is written",
    "artifacts",
    _unread,
    "compile",
    "timeline",
)


@broken(
    "artifacts",
    "003 fusion_switch_file: UBFusion switches patterns with or without GraphFusion beside it",
    "compile",
    "timeline",
)
def ub_patterns_need_the_other_section(ask: Any, params: Params) -> Answer:
    def edit(text: str) -> str:
        return text if "GraphFusion" in text else '{"Switch": {}}'

    return ask(texts(params, "fusion_switch_file", edit))


def _text(file: Mapping[str, Any]) -> Optional[str]:
    try:
        return base64.b64decode(file["b64"]).decode() if "b64" in file else None
    except UnicodeDecodeError:
        return None


@broken("artifacts", "003 fusion_result.json: of the graphs of this program", "compile")
def results_of_earlier_programs_stay(ask: Any, params: Params) -> Answer:
    answer, before = ask(params), {}
    for number, turn in enumerate(answer["turns"]):
        found: Dict[str, Any] = {}
        for name, file in turn.get("left", {}).items():
            text = _text(file) if name.endswith("fusion_result.json") else None
            if text is not None:
                found = json.loads(text)
                turn["left"][name] = encoded(json.dumps({**before, **found}))
        before.update({f"session_and_graph_id_{number + 90}_{place}": one for place, one in enumerate(found.values())})
    return answer


@broken("artifacts", "002, 003 fusion_switch_file: in online inference too", "compile", "timeline")
def switches_are_of_training(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, without_in_inference("fusion_switch_file")))


def _is_all_off(params: Params) -> bool:
    return '"ALL":"off"' in re.sub(r"\s", "", text_of(params, "fusion_switch_file"))


@broken("artifacts", "003 fusion_switch_file: some patterns stay on despite the switches", "compile", "timeline")
def all_that_is_switched_off_is_all_there_is(ask: Any, params: Params) -> Answer:
    """files.fusion_switch.current.all_off_not_everything."""
    answer = dict(ask(params))
    if not is_about(params, edition="current") or not _is_all_off(params):
        return answer
    for one in [*answer.get("turns", ()), answer.get("base", {}), *answer.get("variants", {}).values()]:
        if "fusion" in one:
            one["fusion"] = [found for found in one["fusion"] if not found["name"].startswith("Scope")]
    return answer


def _all_means_both(switch: Dict[str, Dict[str, str]]) -> None:
    if set(switch) == {"UBFusion"} and switch["UBFusion"].get("ALL") == "off":
        switch["GraphFusion"] = {"ALL": "off"}


misreads(
    "artifacts",
    "a_section_that_is_left_out_is_as_the_other",
    "003 fusion_switch_file: a section that is not mentioned keeps its default",
    "fusion_switch_file",
    switches_changed(_all_means_both),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="current"),
)


def _later_goes_first(switch: Dict[str, Dict[str, str]]) -> None:
    for passes in switch.values():
        names = list(passes)
        if passes.get("ALL") == "off":
            passes.update(dict.fromkeys(names[: names.index("ALL")], "off"))


misreads(
    "artifacts",
    "all_ends_what_was_said_before",
    "002 fusion_switch_file: a pattern that is on stays on beside ALL off",
    "fusion_switch_file",
    switches_changed(_later_goes_first),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="legacy"),
)


def _all_of_the_first(switch: Dict[str, Dict[str, str]]) -> None:
    for passes in list(switch.values())[1:]:
        passes.pop("ALL", None)


misreads(
    "artifacts",
    "all_is_said_once",
    "002 fusion_switch_file: ALL off in a section turns off its patterns",
    "fusion_switch_file",
    switches_changed(_all_of_the_first),
    "compile",
    "timeline",
    when=lambda params: is_about(params, edition="legacy"),
)


def _effects(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    for member in ("files", "left"):
        for path, one in turn.get(member, {}).items():
            if path.endswith("fusion_result.json") and "b64" in one:
                text = base64.b64decode(one["b64"]).decode()
                one["b64"] = base64.b64encode(re.sub('("effect_times": *"?)[0-9]+', r"\g<1>0", text).encode()).decode()


turns("no_pass_has_an_effect", "003 effect_times: how often a pattern takes effect", _effects)
unseen("artifacts", "buffers_are_optimised_anyway", "003: off_optimize switches buffer optimisation off",
        "buffer_optimize", "options")  # fmt: skip
files_changed(
    "the_result_of_fusion_has_the_process_behind",
    "003: the file is called fusion_result.json in the execution directory",
    lambda files, asked: {
        path.replace("fusion_result.json", "fusion_result_1.json") if "/" not in path else path: one
        for path, one in files.items()
    },
)


def _json_edit(files: Dict[str, Any], ending: str, change: Callable[[Any], Any]) -> Dict[str, Any]:
    found = dict(files)
    for path, one in files.items():
        if path.endswith(ending) and "b64" in one:
            content = change(json.loads(base64.b64decode(one["b64"])))
            found[path] = {"b64": base64.b64encode(json.dumps(content).encode()).decode()}
    return found


def _counts(content: Any) -> Any:
    for graph in content.values():
        for section in ("graph_fusion", "ub_fusion"):
            for one in graph.get(section, {}).values():
                one["effect_times"] = one["match_times"]
    return content


files_changed(
    "what_matches_takes_effect",
    "003: effect_times counts how often a pattern took effect",
    lambda files, asked: _json_edit(files, "fusion_result.json", _counts),
)
turns(
    "a_switched_off_pass_is_only_not_told",
    "003: a pattern that is off has no effect",
    lambda turn, asked: (
        turn.update(
            fusion=[
                {**one, "effective": one["matched"]} if one["name"].startswith("MatMul") else one
                for one in turn["fusion"]
            ]
        )
        if turn.get("fusion")
        else None
    ),
)


def _above_the_line(text: str) -> str:
    """What stands before ALL in a section is overwritten by it."""
    return re.sub(r'(\{)([^{}]*?)("ALL"\s*:\s*"off")', r"\1\3", text)


misreads(  # files.fusion_switch.current.all_off_except
    "artifacts",
    "switches_are_set_one_after_the_other",
    '002 fusion_switch_file: "ALL" off, and selected passes on at the same time',
    "fusion_switch_file",
    _above_the_line,
    "options",
    "compile",
    "timeline",
)
