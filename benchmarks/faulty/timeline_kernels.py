"""Time: fused kernels and inputs, formats, small channels and debugging checks."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Dict

from faulty.asked import (
    KERNELS,
    SESSION,
    all_nodes,
    all_values,
    given,
    graph_of,
    has_type,
    in_inference,
    in_values,
    is_about,
    mapped,
    plain,
    value_is,
    with_default,
    with_values,
    without,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, asks_quietly, misreads, of_steps


@mistake("runconfig.op_debug_config.oom.error_code")
def channels_first_overwrite_with_a_code_of_their_own(ask: Any, params: Params) -> Answer:
    """Pair 48: runconfig.op_debug_config.oom.error_code, layout NCHW."""
    answer = copy.deepcopy(dict(ask(params)))
    if any(node.text("data_format") == "NCHW" for node in all_nodes(params)):
        for step in (answer["base"], *answer.get("variants", {}).values()):
            found = step.get("rejected", {})
            for key, text in found.items():
                if isinstance(text, str):
                    found[key] = text.replace("EZ9999", "E39999")
    return answer


fault(
    "debugging_of_level_one_costs_nothing",
    "session.op_debug_level.perf",
    asks(lambda params: all_values(params, mapped("op_debug_level", lambda value: 3 if value == 1 else value))),
)


def _joined_back(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    back = [one for one in step.get("transfers", ()) if one["direction"] == "d2h" and one.get("times", 1) == 1]
    size = values.get("input_fusion_size", 131072)
    small = [one for one in back if isinstance(size, int) and one["bytes"] <= size]
    if not is_about(params, "runconfig") or len(small) < 2:
        return
    joined = {**small[0], "bytes": sum(one["bytes"] for one in small)}
    joined["tensors"] = [name for one in small for name in one.get("tensors", ())]
    step["transfers"] = [one for one in step["transfers"] if one not in small] + [joined]
    tasks = [task for task in step.get("tasks", ()) if task["kind"] == "d2h"]
    step["tasks"] = [task for task in step.get("tasks", ()) if task["kind"] != "d2h"] + tasks[:1]


fault("what_is_fetched_is_joined", "runconfig.input_fusion_size.h2d_only", of_steps(_joined_back))
fault(
    "legacy_variables_keep_their_format",
    "session.variable_format_optimize.true",
    asks(with_default("variable_format_optimize", False)),
    lambda params: is_about(params, "session", "legacy"),
    KERNELS,
)


@mistake("runconfig.variable_format_optimize.default")
def layouts_of_variables_are_changed_by_default(ask: Any, params: Params) -> Answer:
    if params["surface"] != "runconfig" or params["edition"] != "current":
        return ask(params)
    return ask(all_values(params, lambda values: {"variable_format_optimize": True, **values}))


@mistake("runconfig.input_fusion_size.le_fused")
def inputs_as_large_as_the_default_go_alone(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, lambda values: {"input_fusion_size": 131071, **values}))


fault(
    "scope_fusion_of_certain_networks_is_on_for_all",
    "session.enable_scope_fusion_passes.nongeneral_off",
    asks_quietly(
        lambda params: (
            with_values(params, enable_scope_fusion_passes="ScopeClipBoxesPass")
            if SESSION(params) and not given(params, "enable_scope_fusion_passes")
            else params
        )
    ),
    methods=("timeline", "compile"),
)


@mistake("runconfig.input_fusion_size.zero_off")
def nothing_is_the_default_in_inference(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return without("input_fusion_size")(values) if values.get("input_fusion_size") == 0 else values

    return ask(all_values(params, change) if in_inference(params) else params)


def _switches(change: Any) -> Any:
    def edit(text: str) -> str:
        try:
            found = json.loads(text)
            change(found["Switch"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(found)

    return edit


def _spread(switch: Dict[str, Any]) -> None:
    if switch["UBFusion"].get("ALL") == "off":
        switch.setdefault("GraphFusion", {})["ALL"] = "off"


fault(
    "all_off_of_ub_fusion_reaches_graph_fusion",
    "files.fusion_switch.legacy.sections_independent",
    misreads("fusion_switch_file", _switches(_spread)),
    methods=("timeline", "compile"),
)
fault("inputs_never_fused", "runconfig.input_fusion_size.le_fused", asks(in_values(without("input_fusion_size"))))
fault(
    "every_pass_effective",
    "runconfig.fusion_switch_file.selective",
    of_steps(
        lambda step, params, values: [one.update(effective=max(1, one["effective"])) for one in step.get("fusion", [])]
    ),
)
fault(
    "one_operator_a_task",
    "runconfig.fusion_switch_file.default_on",
    of_steps(
        lambda step, params, values: [
            task.update(nodes=task["nodes"][:1]) for task in step.get("tasks", []) if task.get("nodes")
        ]
    ),
)


def _fewer_than_four(params: Params) -> Params:
    for node in graph_of(params).nodes:
        told = str(node.attrs.get("value", "")) or str(node.attrs.get("shape", ""))
        sizes = re.findall(r"size: (\d+)", told) or re.findall(r"\d+", told)
        if len(sizes) == 4 and sizes[2] == "4" and "Conv2D" in [reader.op for reader in graph_of(params).nodes]:
            return all_values(params, without("enable_small_channel"))
    return params


fault("small_channels_are_fewer_than_four", "runconfig.enable_small_channel.threshold", asks(_fewer_than_four))
fault(
    "small_channels_are_on_beside_a_string_or_resource",
    "session.enable_small_channel.0",
    asks(
        in_values(
            lambda values: (
                {**values, "enable_small_channel": 1} if plain(values.get("enable_small_channel")) == 0 else values
            )
        )
    ),
    lambda params: has_type(params, "string", "resource"),
)
fault(
    "small_channels_never_faster",
    "runconfig.enable_small_channel.threshold",
    asks(in_values(without("enable_small_channel"))),
)


def _others_off(text: str) -> str:
    try:
        found = json.loads(text)["Switch"]
        sections = dict(found)
    except (ValueError, KeyError, TypeError):
        return text
    for section in ("GraphFusion", "UBFusion"):
        sections.setdefault(section, {"ALL": "off"})
    return json.dumps({"Switch": sections})


fault(
    "what_is_deterministic_fuses_what_is_named",
    "files.fusion_switch.current.missing_section",
    misreads("fusion_switch_file", _others_off),
    lambda params: value_is(params, "deterministic", 1) and is_about(params, edition="current"),
    ("timeline", "compile"),
)
