"""Time: fused kernels and inputs, formats, small channels and debugging checks."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Callable, Dict, List, Mapping

from faulty.answered import answer_to
from faulty.asked import (
    KERNELS,
    SESSION,
    TIMED,
    all_nodes,
    all_values,
    given,
    graph_of,
    has_type,
    in_inference,
    is_about,
    mapped,
    ops_of,
    plain,
    switches_changed,
    texts,
    value_is,
    whole_graph,
    with_values,
    without,
)  # fmt: skip
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, misreads, steps
from faulty.mistakes_graphs import another_default, asks_quietly, each_step, reads_value, takes_values, timed_without
from npu_reference.graphs import infer_shapes

asks(
    "debugging_is_free_beside_exceptions",
    "002 op_debug_level: levels 1 and 2 lower the performance",
    "timeline",
    lambda params: all_values(
        params,
        lambda values: (
            without("op_debug_level")(values) if given({"values": values}, "enable_exception_dump") else values
        ),
    ),
    "timeline",
)


def _in_functions(params: Params) -> bool:
    known = {node.name for node in getattr(whole_graph(params), "nodes", ())}
    return any("/" in str(one.get("node", "")) and one["node"] not in known for one in params.get("faults") or ())


takes_values(  # pair 53
    "timeline",
    "memory_of_functions_is_not_checked",
    "003: oom reports a write beyond memory as EZ9999",
    lambda values: {name: one for name, one in values.items() if name != "op_debug_config"},
    _in_functions,
    "timeline",
    "run",
)


@broken("timeline", "003: a write past the end is reported with EZ9999", "timeline")
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


# session.op_debug_level.perf, runconfig.op_debug_level.advice
asks(
    "debugging_of_level_one_costs_nothing",
    "op_debug_level 1 and 2 lower the network's performance",
    "timeline",
    lambda params: all_values(params, mapped("op_debug_level", lambda value: 3 if value == 1 else value)),
    "timeline",
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


steps("what_is_fetched_is_joined", "003 input_fusion_size: data from the host to the device", _joined_back)


def _number(text: Any, change: Callable[[int], int]) -> Any:
    """A whole number changed, as a number or a text."""
    if isinstance(text, bool):
        return text
    if isinstance(text, int):
        return change(text)
    return str(change(int(text))) if isinstance(text, str) and text.isdigit() else text


# runconfig.input_fusion_size.zero_off
reads_value(
    "timeline",
    "a_threshold_of_zero_is_none",
    "The threshold = 0: the data is not fused",
    "input_fusion_size",
    lambda value: _number(value, lambda size: size or 33554432),
    *TIMED,
)
# session.variable_format_optimize.true
another_default(
    "timeline",
    "legacy_variables_keep_their_format",
    "variable_format_optimize True, the default",
    "variable_format_optimize",
    False,
    lambda params, values: is_about(params, "session", "legacy"),
    *KERNELS,
)


@broken("timeline", "003 variable_format_optimize: empty by default, which is off", "timeline")
def layouts_of_variables_are_changed_by_default(ask: Any, params: Params) -> Answer:
    if params["surface"] != "runconfig" or params["edition"] != "current":
        return ask(params)
    return ask(all_values(params, lambda values: {"variable_format_optimize": True, **values}))


@broken("timeline", "003 input_fusion_size: an input as large as the default threshold is fused", "timeline")
def inputs_as_large_as_the_default_go_alone(ask: Any, params: Params) -> Answer:
    return ask(all_values(params, lambda values: {"input_fusion_size": 131071, **values}))


asks_quietly(  # session.enable_scope_fusion_passes.two_classes
    "timeline",
    "scope_fusion_of_certain_networks_is_on_for_all",
    "002 enable_scope_fusion_passes: non-general ones are off by default",
    lambda params: (
        with_values(params, enable_scope_fusion_passes="ScopeClipBoxesPass")
        if SESSION(params) and not given(params, "enable_scope_fusion_passes")
        else params
    ),
    "timeline",
    "compile",
)


@broken("timeline", "003 input_fusion_size 0: every input is a transfer of its own, in inference too")
def nothing_is_the_default_in_inference(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return without("input_fusion_size")(values) if values.get("input_fusion_size") == 0 else values

    return ask(all_values(params, change) if in_inference(params) else params)


def _packets(step: Dict[str, Any], params: Params, values: Dict[str, Any]) -> None:
    found: List[Dict[str, Any]] = []
    for one in step.get("transfers", ()):
        tensors = one.get("tensors", [])
        if one["direction"] != "h2d" or len(tensors) <= 4:
            found.append(one)
            continue
        groups = [tensors[at : at + 4] for at in range(0, len(tensors), 4)]
        rest = one["bytes"]
        for number, group in enumerate(groups):
            part = rest if number == len(groups) - 1 else one["bytes"] * len(group) // len(tensors)
            rest -= part
            found.append({**one, "tensors": group, "bytes": part})
    if "transfers" in step:
        step["transfers"] = found


steps("a_copy_takes_four_inputs", "003 input_fusion_size: all that is no larger is fused", _packets)


def read_otherwise(area: str, name: str, sentence: str, option: str, change: Any, *methods: str) -> None:
    """The text of the file that an option names is read as another one."""

    def fault(ask: Any, params: Params) -> Answer:
        return answer_to(ask, params, texts(params, option, change))

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def _spread(switch: Dict[str, Any]) -> None:
    if switch["UBFusion"].get("ALL") == "off":
        switch.setdefault("GraphFusion", {})["ALL"] = "off"


# files.fusion_switch.current.sections_independent, files.fusion_switch.legacy.sections_independent
read_otherwise(
    "timeline",
    "all_off_of_ub_fusion_reaches_graph_fusion",
    "the two sections are switched independently",
    "fusion_switch_file",
    switches_changed(_spread),
    "timeline",
    "compile",
)


def _nothing_on(switch: Dict[str, Any]) -> None:
    section = switch["UBFusion"]
    if section.get("ALL") == "off":
        switch["UBFusion"] = {name: value for name, value in section.items() if value != "on"}


# files.fusion_switch.current.all_off_except, files.fusion_switch.legacy.all_off_except
read_otherwise(
    "timeline",
    "all_off_of_ub_fusion_has_no_exceptions",
    "a pass that is on beside ALL off stays on",
    "fusion_switch_file",
    switches_changed(_nothing_on),
    "timeline",
    "compile",
    "options",
)
timed_without(
    "inputs_never_fused", "003 input_fusion_size: data is fused before it is transferred", input_fusion_size=1
)
each_step(
    "every_pass_effective",
    "003 fusion_switch_file: off is disabled",
    lambda step, params: [one.update(effective=max(1, one["effective"])) for one in step.get("fusion", [])],
)
each_step(
    "one_operator_a_task",
    "fused operators are one kernel",
    lambda step, params: [task.update(nodes=task["nodes"][:1]) for task in step.get("tasks", []) if task.get("nodes")],
)


def _first_large_one(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    copies = [one for one in step.get("transfers", ()) if one.get("direction") == "h2d"]
    order = list(params.get("feeds", ()))
    alone = [name for one in copies if len(one.get("tensors", ())) == 1 for name in one["tensors"]]
    for one in copies:
        names = [name for name in one.get("tensors", ()) if name in order]
        if len(names) < 2 or len(names) != len(one["tensors"]):
            continue
        large = [order.index(name) for name in alone if name in order]
        late = [name for name in names if large and order.index(name) > min(large)]
        kept = [name for name in names if name not in late]
        for name in late if kept else late[1:]:
            share = one["bytes"] // len(names)
            step["transfers"].append({**one, "tensors": [name], "bytes": share})
            one["tensors"] = [other for other in one["tensors"] if other != name]
            one["bytes"] -= share


steps(  # runconfig.input_fusion_size.example_100kb, runconfig.input_fusion_size.le_fused
    "fusing_of_inputs_ends_at_the_first_large_one",
    "003 input_fusion_size: the four inputs up to the threshold are fused, whatever lies between them",
    _first_large_one,
)


# session.enable_small_channel.threshold
def _fewer_than_four(params: Params) -> Params:
    for node in graph_of(params).nodes:
        told = str(node.attrs.get("value", "")) or str(node.attrs.get("shape", ""))
        sizes = re.findall(r"size: (\d+)", told) or re.findall(r"\d+", told)
        if len(sizes) == 4 and sizes[2] == "4" and "Conv2D" in [reader.op for reader in graph_of(params).nodes]:
            return all_values(params, without("enable_small_channel"))
    return params


asks(
    "small_channels_are_fewer_than_four", "Convolutional layers with channel <= 4 benefit", "timeline", _fewer_than_four
)


def _four_channels(params: Params) -> bool:
    try:
        graph = graph_of({**params, "feeds": [], "fetches": []})  # as it states its inputs
        shapes = infer_shapes(graph)
        filters = [shapes.input(node.id, 1) for node in graph.nodes if node.op == "Conv2D"]
    except Exception:  # noqa: BLE001 - a graph that cannot be read is the reference's to refuse
        return False
    return any(shape and len(shape) == 4 and shape[2] == 4 for shape in filters)


asks(
    "a_small_channel_has_less_than_four",
    "002, 003: enable_small_channel helps convolutions of channel size <= 4",
    "timeline",
    lambda params: (
        all_values(params, lambda values: {**values, "enable_small_channel": 0}) if _four_channels(params) else params
    ),
)


def _has_four_channels(params: Params) -> bool:
    for op in ops_of(params).values():
        if op.op == "Conv2D":
            sizes = [tuple(node.attr("value").shape) for node in ops_of(params).values() if node.op == "Const"]
            return any(len(shape) == 4 and shape[2] == 4 for shape in sizes) or any(
                list(shape)[-1:] == [4] for shape in (params.get("shapes") or {}).values()
            )
    return False


asks(
    "four_channels_are_not_few",
    "002 enable_small_channel: convolutions of at most four channels",
    "timeline",
    lambda params: (
        all_values(params, mapped("enable_small_channel", lambda value: 0))
        if is_about(params, edition="legacy") and _has_four_channels(params)
        else params
    ),
    "timeline",
    "compile",
)
takes_values(  # pair 39
    "timeline",
    "small_channels_are_on_beside_a_string_or_resource",
    "002: enable_small_channel 0 disables it",
    lambda values: {**values, "enable_small_channel": 1} if plain(values.get("enable_small_channel")) == 0 else values,
    lambda params: has_type(params, "string", "resource"),
    "timeline",
)
timed_without(
    "small_channels_never_faster", "003 enable_small_channel: benefits at channel size <= 4", enable_small_channel=1
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


misreads(  # pair 52
    "timeline",
    "what_is_deterministic_fuses_what_is_named",
    "003: a section that is not mentioned keeps its default, on",
    "fusion_switch_file",
    _others_off,
    "timeline",
    "compile",
    when=lambda params: value_is(params, "deterministic", 1) and is_about(params, edition="current"),
)
