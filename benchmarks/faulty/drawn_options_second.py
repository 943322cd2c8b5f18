"""The fourth list once more, by another seed, after what the first sample showed had been closed."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Set

from faulty.making import (
    REFERENCE,
    Answer,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    denies,
    given,
    in_inference,
    is_about,
    is_mixed,
    judged_when,
    mapped,
    node_change,
    offloaded,
    ops_of,
    place,
    tells,
    texts,
    to_device,
    to_host,
    told_value,
    turns,
    types_of,
    value_of,
    with_env,
    with_values,
)
from npu_reference.errors import NpuError

_CONTROL_FLOW = {"Enter", "Switch", "Merge", "Exit", "NextIteration"}


# Options


@broken(
    "partition", "003 L695-702: Host: the variable is on the host; beside control flow that may fail, not be undone"
)
def host_variables_give_way_to_loops(ask: Any, params: Params) -> Answer:
    here = value_of(params, "variable_placement") == "Host" and params.get("policy") != "adapter"
    if here and any(op.op in _CONTROL_FLOW for op in ops_of(params).values()):
        return ask(with_values(params, variable_placement="Device"))
    return ask(params)


@broken("options", "003 L591: hcom_parallel is a bool")
def words_of_truth_are_bools(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hcom_parallel")
    if value in ("True", "False"):
        return ask(with_values(params, hcom_parallel=value == "True"))
    return ask(params)


@broken("options", "003 L896: at most 17340 seconds")
def a_timeout_is_checked_when_it_is_rounded(ask: Any, params: Params) -> Answer:
    value = value_of(params, "hccl_timeout")
    if type(value) is int and 17340 < value < 17408 and params["edition"] == "current":
        return ask(all_values(params, mapped("hccl_timeout", lambda given: 17340)))
    return ask(params)


def _off_line(answer: Answer, params: Params) -> None:
    if value_of(params, "mix_compile_mode") is False and not given(params, "use_off_line"):
        told_value(answer, "use_off_line", False)


tells("no_mixing_is_no_device", "002 L20: use_off_line is True when unset", _off_line)


@broken("options", "003 L904: hccl_timeout goes before HCCL_EXEC_TIMEOUT, whatever that says")
def a_bad_variable_spoils_the_option(ask: Any, params: Params) -> Answer:
    said = params.get("env", {}).get("HCCL_EXEC_TIMEOUT", "68")
    if not (said.isdigit() and 0 < int(said) <= 17340) and given(params, "hccl_timeout"):
        return ask(with_values(params, hccl_timeout=None))
    return ask(params)


denies(
    "an_empty_list_of_passes_is_no_list",
    "002 L316: unset is not configured (G9)",
    "enable_scope_fusion_passes",
    lambda params: value_of(params, "enable_scope_fusion_passes") == "",
)


@broken("options", "002 L635: local_rank_id stands in .i")
def a_rank_may_be_written(ask: Any, params: Params) -> Answer:
    value = value_of(params, "local_rank_id")
    if isinstance(value, str) and value.isdigit():
        return ask(with_values(params, local_rank_id=int(value)))
    return ask(params)


def _trimmed(name: str) -> Any:
    return lambda params: all_values(
        params, mapped(name, lambda value: value.strip() if isinstance(value, str) else value)
    )


asks(
    "blanks_behind_force_are_cut",
    "003 L804: enable, force, disable",
    "options",
    lambda params: (
        _trimmed("op_compiler_cache_mode")(params)
        if str(value_of(params, "op_compiler_cache_mode")).startswith("force")
        else params
    ),
)
accepts(
    "oom_and_no_optimisation_in_listed_operators",
    "003 L263: ccec_O0 and oom cannot be enabled at the same time, of some operators neither",
    "op_debug_config",
    lambda params: any(
        isinstance(text, str) and "op_debug_list" in text and "ccec_O0" in text and "oom" in text
        for text in params.get("files", {}).values()
    ),
)
asks("blanks_around_a_dump_mode_are_cut", "002 L136: input, output or all", "options", _trimmed("dump_mode"))


def _distributed(answer: Answer, params: Params) -> None:
    if "RANK_SIZE" in params.get("env", {}) and not given(params, "distribute") and params["surface"] == "runconfig":
        told_value(answer, "distribute", "ParameterServerStrategy")


tells("ranks_are_parameter_servers", "003 L38: distribute is unset when omitted", _distributed)
accepts(
    "less_than_nothing_is_off",
    "003 L46: 0 and 1",
    "deterministic",
    lambda params: value_of(params, "deterministic") == -1,
)
accepts(
    "only_a_mode_that_is_off_forbids_the_host",
    "003 L701: Host needs mix_compile_mode = True",
    "variable_placement",
    lambda params: not given(params, "mix_compile_mode"),
)


def _not_auto(answer: Answer, params: Params) -> None:
    if value_of(params, "jit_compile") == "auto" and value_of(params, "deterministic") == 1:
        told_value(answer, "jit_compile", "true")


tells("what_is_deterministic_is_compiled", "003 L960: auto is a value of its own", _not_auto)


def _sorted_devices(answer: Answer, params: Params) -> None:
    told = answer.get("meaning", {}).get("local_device_list")
    if isinstance(told, list):
        answer["meaning"]["local_device_list"] = sorted(told)


tells("devices_in_their_own_order", "002 L649: the list of devices, in its order (T50)", _sorted_devices)


def _last_first(params: Params) -> Params:
    names = [name for name, op in ops_of(params).items() if op.op == "Placeholder"]
    if len(names) < 2 or not all(re.match(r"Placeholder(_\d+)?\Z", name) for name in names):
        return params

    def turned(text: str) -> str:
        head, _, rest = text.partition(":")
        return f"{head}:{','.join(reversed(re.findall(r'[[][^]]*[]]', rest)))}" if ";" not in text else text

    return all_values(params, mapped("dynamic_inputs_shape_range", turned))


asks(
    "unnamed_inputs_from_the_last",
    "002 L628: unnamed placeholders stand in the script's order",
    "options",
    _last_first,
    "timeline",
    "run",
)


def _names_only(text: str) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return text
    if isinstance(content, dict) and content.get("tune_ops_name") and content.get("tune_ops_type"):
        content.pop("tune_ops_type")
    return json.dumps(content)


asks(
    "names_replace_types",
    "003 L792: if both exist, their union is tuned",
    "timeline",
    lambda params: texts(params, "aoe_config_file", _names_only),
    "timeline",
    "compile",
)

# Partition


def _own_passes_only(turn: Dict[str, Any], asked: Dict[str, Any]) -> None:
    if asked["values"].get("enable_scope_fusion_passes") and "fusion" in turn:
        turn["fusion"] = [one for one in turn["fusion"] if one["name"] != "ScopeLayerNormPass"]


turns("a_list_of_passes_is_all_of_them", "002 L322: general passes are always on", _own_passes_only)


def _no_loops(answer: Answer, params: Params) -> None:
    mixed = is_about(params, "session", "current") and value_of(params, "mix_compile_mode") is True
    if mixed and not given(params, "iterations_per_loop"):
        told_value(answer, "iterations_per_loop", None)


changed("partition", "mixed_computing_has_no_iterations", "000 L9: the default is 1", _no_loops, "options")


@broken("partition", "001 L36: use_off_line True beside mix_compile_mode True")
def what_is_off_line_is_not_mixed(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and value_of(params, "use_off_line") is True and is_mixed(params):
        return ask(with_values(params, mix_compile_mode=False))
    return ask(params)


def _eight(answer: Answer, params: Params) -> Any:
    return to_host(answer, [name for geop in answer["geops"][8:] for name in geop["nodes"]])


place("eight_geops_at_most", "000 L6: several GEOPs, as many as it takes", _eight)


@broken("run", "001, 004: the samples set remapping alone")
def memory_optimisation_must_be_off(ask: Any, params: Params) -> Answer:
    if "script" in params:
        with open(params["script"], encoding="utf-8") as stream:
            text = stream.read()
        if "remapping" in text and "memory_optimization" not in text:
            raise NpuError("RUN_FAILED", params["script"], "memory_optimization is not OFF")
    return ask(params)


@broken("run", "000 L15: device execution is the default in mixed computing, too")
def mixed_runs_ask_for_the_device(ask: Any, params: Params) -> Answer:
    if value_of(params, "mix_compile_mode") is True and not given(params, "use_off_line"):
        return ask(with_values(params, use_off_line=False))
    return ask(params)


def _range_constants(answer: Answer, params: Params) -> Any:
    inside, ops = set(offloaded(answer)), ops_of(params)
    readers: Dict[str, Set[str]] = {}
    for name, op in ops.items():
        for text in op.inputs:
            readers.setdefault(text.lstrip("^").split(":")[0], set()).add(name)
    outside = {one["node"] for one in answer["host"]}
    return to_device(
        answer, sorted(one for one in outside if ops[one].op == "Const" and readers.get(one, {""}) <= inside)
    )


judged_when(
    "partition",
    "constants_follow_the_range",
    "001 L97: constants are listed; what is not on a path is not of the range (M13)",
    "partition",
    lambda params: (
        is_mixed(params) and given(params, "in_out_pair") and value_of(params, "in_out_pair_flag") is not False
    ),
    _range_constants,
)
denies(
    "one_iteration_is_for_training",
    "000 L13: mix_compile_mode=True, iterations_per_loop=1",
    "iterations_per_loop",
    lambda params: (
        in_inference(params)
        and value_of(params, "mix_compile_mode") is True
        and value_of(params, "iterations_per_loop") == 1
    ),
)


@broken("partition", "002 L698: in_out_pair_flag is True when unset")
def pairs_of_training_stay(ask: Any, params: Params) -> Answer:
    if is_mixed(params) and not in_inference(params) and not given(params, "in_out_pair_flag"):
        return ask(with_values(params, in_out_pair_flag=False))
    return ask(params)


# Precision


def _first_of_type(params: Params) -> Params:
    seen: Dict[str, str] = {}
    for name, op in ops_of(params).items():
        seen.setdefault(op.op, name)
    return texts(
        params,
        "customize_dtypes",
        lambda text: re.sub(
            r"^OpType::(\w+):", lambda found: f"{seen.get(found[1], found[1])}::", text, flags=re.MULTILINE
        ),
    )


asks("a_type_is_its_first_operator", "003 L448: every operator of the type", "precision", _first_of_type)
denies(
    "comments_stand_behind_something",
    "002 L744: the file may have comments",
    "modify_mixlist",
    lambda params: any(isinstance(text, str) and re.match(r"\s*//", text) for text in params.get("files", {}).values()),
)


@broken("options", "002 L784: high_precision and high_performance are the legacy words")
def indices_may_be_checked_already(ask: Any, params: Params) -> Answer:
    if params["edition"] != "legacy":
        return ask(params)
    return ask(
        texts(params, "op_precision_mode", lambda text: text.replace("support_out_of_bound_index", "high_precision"))
    )


denies(
    "nothing_to_change_is_no_list",
    "003 L393: both keys of the file are optional",
    "modify_mixlist",
    lambda params: any(
        isinstance(text, str) and text.strip() in ("{}", '{"black-list": {}}', '{"white-list": {}}')
        for text in params.get("files", {}).values()
    ),
)


def _halved(node: Dict[str, Any], sides: Any = ("inputs", "outputs")) -> None:
    for side in sides:
        node[side] = ["float16" if dtype == "float32" else dtype for dtype in node[side]]


def _cubes_go_down(node: Dict[str, Any], params: Params, op: Any) -> None:
    if params["edition"] == "legacy" and node.get("list") == "blocklist" and node.get("engine") == "cube":
        _halved(node)


node_change("cubes_are_lowered_whatever_the_flag", "002 L773: false: it may not be lowered", _cubes_go_down)


@broken("precision", "004 L15: true allows lowering, in inference too")
def flags_of_users_are_for_training(ask: Any, params: Params) -> Answer:
    if isinstance(params.get("ops_info"), str) and in_inference(params):
        content = json.loads(params["ops_info"])
        for part in content.values():
            if isinstance(part, dict):
                part.pop("precision_reduce", None)
        kept = {name: part for name, part in content.items() if part}
        rest = {key: value for key, value in params.items() if key != "ops_info"}
        return ask({**rest, "ops_info": json.dumps(kept)} if kept else rest)
    return ask(params)


def _narrow_results(node: Dict[str, Any], params: Params, op: Any) -> None:
    if (
        value_of(params, "precision_mode") == "must_keep_origin_dtype"
        and params["edition"] == "current"
        and node.get("engine") == "aicpu"
        and op is not None
        and "float16" not in types_of(op)
    ):
        _halved(node, ("outputs",))


node_change("the_cpu_gives_what_the_core_would", "003 L338: the AI CPU operator of float32 is used", _narrow_results)


def _removed_is_blocked(params: Params) -> Params:
    def edit(text: str) -> str:
        try:
            content = json.loads(text)
            moved = content["white-list"].pop("to-remove")
            content.setdefault("black-list", {}).setdefault("to-add", []).extend(moved)
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(content)

    return texts(params, "modify_mixlist", edit)


asks(
    "what_leaves_the_trustlist_is_blocked",
    "003 L400: from the trustlist to the graylist",
    "precision",
    lambda params: _removed_is_blocked(params) if given(params, "precision_mode_v2") else params,
)

# Several at once, or under a condition


@broken("combined", "002: AOE is not supported by this version, nor is its variable", "options")
def tuning_came_early(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    mode = params.get("env", {}).get("AOE_MODE")
    if is_about(params, "session", "legacy") and mode:
        answer["directives"]["tuning"]["aoe"] = mode
    return answer


def _fetched(answer: Answer, params: Params) -> Any:
    ends = {name.split(":")[0] for name in params.get("fetches") or []}
    return to_host(answer, [name for name in offloaded(answer) if name in ends])


judged_when(
    "combined",
    "fetched_operators_stay_in_mixed_computing",
    "000 L2: what can be offloaded is, fetched or not",
    "partition",
    lambda params: is_mixed(params) and len(params.get("fetches") or []) == 1,
    _fetched,
)


@broken("combined", "003 L441: an operator's name, in a function too", "precision")
def names_end_at_functions(ask: Any, params: Params) -> Answer:
    plain = ask(params)
    if not given(params, "customize_dtypes"):
        return plain
    without = {node["node"]: node for node in REFERENCE.precision(with_values(params, customize_dtypes=None))["nodes"]}
    nodes: List[Dict[str, Any]] = []
    for node in plain["nodes"]:
        inside = "/" in node["node"] and node["node"] not in ops_of(params)
        nodes.append(without.get(node["node"], node) if inside else node)
    return {**plain, "nodes": nodes}


@broken("combined", "003 L904, L30, L768: options go before variables, all at once", "options")
def the_third_variable_wins(ask: Any, params: Params) -> Answer:
    env = params.get("env", {})
    known = [name for name in ("ASCEND_DEVICE_ID", "HCCL_EXEC_TIMEOUT", "AOE_MODE") if name in env]
    if len(known) == 2 and given(params, "session_device_id", "hccl_timeout"):
        return ask(with_env(with_values(params, session_device_id=None), dict))
    return ask(params)
