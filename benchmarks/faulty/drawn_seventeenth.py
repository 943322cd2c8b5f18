"""What comes to mind first of requirements that a seed drew (20261128), over all areas, in the order in which it drew.

Written from the documents and the inventory without a look at cases, laws, graphs or earlier lists. A comment at each
names its requirement.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Callable, Dict, List, Mapping, Optional

from faulty.making import (
    REFERENCE,
    Answer,
    Params,
    all_values,
    asks,
    behind,
    broken,
    changed,
    given,
    graph_of,
    in_inference,
    is_about,
    mapped,
    misreads,
    plain,
    readers_of,
    regraphed,
    source_of,
    steps,
    text_of,
    texts,
    told_value,
    value_is,
    value_of,
    where,
    with_pairs,
    with_settings,
    with_values,
)
from npu_reference.errors import NpuError

_ALL = ("options", "partition", "precision", "timeline", "compile", "run")
_COMPILED = ("precision", "timeline", "compile", "run")

Change = Callable[[Params], Params]
When = Callable[[Params], bool]


_SESSION, _RUNCONFIG = where("session", "legacy"), where("runconfig", "current")


def _refuses(name: str, sentence: str, option: str, when: When, area: str = "options") -> None:
    """What a document allows is refused, whatever is asked."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if when(params):
            raise NpuError("OPTION_VALUE", option, "is out of range")
        return dict(answer)

    fault.__name__ = name
    broken(area, sentence, *_ALL)(fault)


def _takes(name: str, sentence: str, option: str, when: When, change: Change) -> None:
    """What a document refuses is taken, whatever is asked, and works as what `change` makes of the question."""

    def fault(ask: Any, params: Params) -> Answer:
        try:
            return dict(ask(params))
        except NpuError as error:
            if error.subject != option or not when(params):
                raise
            answer = dict(ask(change(params)))
        if "effective" in answer:
            answer["effective"] = {
                **answer["effective"],
                option: {"value": value_of(params, option), "origin": "given"},
            }
        return answer

    fault.__name__ = name
    broken("options", sentence, *_ALL)(fault)


def _quietly(area: str, name: str, sentence: str, change: Change, *methods: str, shown: bool = True) -> None:
    """Another question is answered, but files are, and where `shown` options too, as they were given."""

    def fault(ask: Any, params: Params) -> Answer:
        wanted = change(params)
        if wanted == params:
            return dict(ask(params))
        before = ask(params)
        answer = dict(ask(wanted))
        for key in ("effective", "warnings", "notes"):
            if shown and "effective" in before and key in before:
                answer[key] = before[key]
        for turn, first in zip(answer.get("turns", ()), before.get("turns", ())):
            for key in ("files", "left"):
                for file in set(first.get(key, {})) & set(turn.get(key, {})):
                    if file.endswith(("op_cache.ini", ".cfg")):
                        turn[key][file] = first[key][file]
        return answer

    fault.__name__ = name
    broken(area, sentence, *methods)(fault)


def _by_default(name: str, sentence: str, option: str, value: Callable[[Params], Any], *methods: str) -> None:
    """An option that is not given has another value, which is told."""

    def fault(ask: Any, params: Params) -> Answer:
        wanted = None if given(params, option) else value(params)
        if wanted is None:
            return dict(ask(params))
        answer = dict(ask(with_values(params, **{option: wanted})))
        if "effective" in answer:
            told_value(answer, option, wanted, "default")
        return answer

    fault.__name__ = name
    broken("options", sentence, *methods)(fault)


def _of(option: str, change: Callable[[Any], Any], when: When = lambda params: True) -> Change:
    """The question with an option's value changed, in every variant and turn."""
    return lambda params: all_values(params, mapped(option, change)) if when(params) else params


def _nodes_of(params: Params) -> Dict[str, Mapping[str, Any]]:
    """What precision says of the operators."""
    keys = ("graph", "surface", "edition", "values", "env", "files", "op_list", "ops_info", "feeds", "fetches")
    return {one["node"]: one for one in _precision(json.dumps({key: params[key] for key in keys if key in params}))}


@functools.lru_cache(maxsize=64)
def _precision(request: str) -> List[Mapping[str, Any]]:
    try:
        return list(REFERENCE.precision(json.loads(request))["nodes"])
    except NpuError:
        return []


def _interrupted(name: str, sentence: str, which: Callable[[Params], List[str]]) -> None:
    """Compilation ends at operators for which the documents name a kernel."""

    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if "graph" in params:
            for node in which(params):
                raise NpuError("PRECISION_NO_KERNEL", node, "has no kernel of the dtype demanded")
        return dict(answer)

    fault.__name__ = name
    broken("precision", sentence, *_COMPILED)(fault)


def _json(change: Callable[[Dict[str, Any]], Any]) -> Callable[[str], str]:
    """A file of JSON, with comments, changed."""

    def edit(text: str) -> str:
        try:
            found = json.loads(re.sub(r"//[^\n]*", "", text))
            change(found)
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(found)

    return edit


asks(  # runconfig.enable_exception_dump.example
    "the_common_exception_dump_has_become_the_lite_one",
    "003 enable_exception_dump: 1: the common ExceptionDump",
    "options",
    _of("enable_exception_dump", lambda value: 2 if value == 1 and value is not True else value, _RUNCONFIG),
    *_ALL,
)
_refuses(  # runconfig.precision_mode.example
    "mixed_precision_is_for_training_alone",
    '003 precision_mode: NPURunConfig(precision_mode="allow_mix_precision")',
    "precision_mode",
    lambda params: (
        _RUNCONFIG(params) and in_inference(params) and value_is(params, "precision_mode", "allow_mix_precision")
    ),
)
_by_default(  # session.dump_mode.default
    "a_dump_without_a_mode_has_inputs_and_outputs",
    "002 dump_mode: output by default",
    "dump_mode",
    lambda params: "all" if _SESSION(params) and value_is(params, "enable_dump", True) else None,
    "options",
    "timeline",
    "run",
)


def _every_operator(answer: Answer, params: Params) -> None:
    mode = value_of(params, "op_select_implmode")
    if not is_about(params, "", "current") or mode is None:
        return
    if given(params, "optypelist_for_implmode") or given(params, "op_precision_mode"):
        return
    for node in answer["nodes"]:
        if node.get("impl_mode") is None and node.get("engine") in ("cube", "vector"):
            node["impl_mode"] = mode


changed(  # runconfig.op_select_implmode.some_ops
    "precision",
    "every_operator_of_the_ai_core_has_the_chosen_implementation",
    "003 op_select_implmode: certain operators have either implementation",
    _every_operator,
)


def _bound(params: Params, wanted: Callable[[List[str]], Optional[List[str]]]) -> Params:
    """The question with the ranges of placeholders given to these, in this order, instead of those sorted as text."""
    text = value_of(params, "dynamic_inputs_shape_range")
    if "graph" not in params or not isinstance(text, str):
        return params
    names = [node.name for node in graph_of({**params, "feeds": []}).nodes if node.op == "Placeholder"]
    order = wanted(names)
    found = re.search(r"data:((?:\[[^\]]*\]\s*,?\s*)+)", text)
    ranges = re.findall(r"\[[^\]]*\]", found[1]) if found else []
    if order is None or found is None or len(ranges) != len(names):
        return params
    made = ",".join(ranges[order.index(name)] for name in sorted(names))
    return all_values(params, mapped("dynamic_inputs_shape_range", lambda value: value.replace(found[1], made)))


def _is_automatic(name: str) -> bool:
    return re.fullmatch(r"Placeholder(_\d+)?", name) is not None


asks(  # runconfig.dynamic_inputs_shape_range.name_advice
    "many_named_placeholders_take_ranges_as_the_script_orders_them",
    "003 dynamic_inputs_shape_range: placeholders with names are in the alphabetical order of their names",
    "timeline",
    lambda params: _bound(
        params, lambda names: names if len(names) > 10 and not any(map(_is_automatic, names)) else None
    ),
    "timeline",
    "compile",
    "run",
)


def _whole_type(params: Params) -> Params:
    if "graph" not in params:
        return params
    types = {node.name: node.op for node in graph_of(params).nodes}

    def change(text: str) -> str:
        return re.sub(
            r"(?m)^\s*([\w./-]+)::(?=\s*InputDtype)",
            lambda found: f"OpType::{types[found[1]]}:" if found[1] in types else found[0],
            text,
        )

    return texts(params, "customize_dtypes", change)


def _by_name_for_all(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(_whole_type(params)))
    except NpuError:
        return dict(ask(params))


_by_name_for_all.__name__ = "dtypes_of_one_operator_hold_for_all_of_its_type"
# precision.customize.override
broken("precision", "003 customize_dtypes: others follow precision_mode", *_COMPILED)(_by_name_for_all)


def _newer_order(answer: Answer, params: Params) -> None:
    if params["edition"] == "legacy":
        for file in answer["files"]:
            file["path"] = file["path"].replace("op_impl/built-in", "built-in/op_impl")


changed(  # precision.s.builtin_file
    "precision",
    "the_built_in_policy_lies_where_the_newer_edition_has_it",
    "002 modify_mixlist: opp/op_impl/built-in/ai_core/tbe/config/ascend910",
    _newer_order,
    "library",
)
_quietly(  # runconfig.enable_data_pre_proc.true
    "partition",
    "the_queue_goes_to_the_device_for_the_sake_of_loops_alone",
    "003 enable_data_pre_proc: True: GetNext is offloaded",
    lambda params: (
        with_values(params, enable_data_pre_proc=False)
        if _RUNCONFIG(params)
        and value_of(params, "enable_data_pre_proc") in (None, True)
        and value_of(params, "iterations_per_loop") in (None, 1)
        else params
    ),
    "partition",
    "timeline",
    "run",
)


def _has_marks(params: Params) -> bool:
    if "graph" not in params or given(params, "mix_compile_mode"):
        return False
    return any("_without_npu_compile" in node.attrs for node in graph_of(params).nodes)


asks(  # mixed.default.full_offload
    "a_marked_operator_turns_mixed_computing_on",
    "000: without mixed computing every compute operator is offloaded",
    "partition",
    lambda params: with_values(params, mix_compile_mode=True) if _has_marks(params) else params,
    "partition",
    "precision",
    "timeline",
    "run",
)


def _words(params: Params, option: str) -> List[str]:
    """What the line op_debug_config of a file says."""
    found = re.search(r"(?m)^\s*op_debug_config\s*=(.*)$", text_of(params, option))
    return [one.strip() for one in found[1].split(",")] if found else []


_refuses(  # files.op_debug_cfg.example1
    "debugging_information_and_memory_checks_exclude_each_other",
    "003 op_debug_config: ccec_g and oom are a sample, ccec_O0 and oom are not to be together",
    "op_debug_config",
    lambda params: {"ccec_g", "oom"} <= set(_words(params, "op_debug_config")),
)


def _older_limit(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    seconds = value_of(params, "op_execute_timeout")
    if not _SESSION(params) or type(seconds) is not int or seconds <= 0:
        return dict(answer)
    if "directives" in answer:
        told_value(answer, "op_execute_timeout", seconds, "given")
        answer["directives"]["timeouts"]["op_execute_seconds"] = seconds
        return dict(answer)
    kept = ("op_execute_timeout", "graph_run_mode", "mix_compile_mode", "precision_mode")
    values = {name: value for name, value in params["values"].items() if name in kept}
    newer = {**params, "edition": "current", "values": values, "variants": {}}
    try:
        found = ask(newer)
    except NpuError as error:
        if error.subject == "op_execute_timeout":
            raise
        return dict(answer)
    if found.get("base", {}).get("rejected", {}).get("subject") == "op_execute_timeout":
        answer["base"] = found["base"]
    return dict(answer)


_older_limit.__name__ = "an_unsupported_limit_of_operators_works"
# session.op_execute_timeout.unsupported
broken("options", "002 op_execute_timeout: not supported", "options", "timeline", "run")(_older_limit)
asks(  # in_out_pair.session.example_true
    "of_several_ends_of_a_range_the_last_one_counts",
    "002 in_out_pair: a range from one operator to three",
    "in_out_pair",
    lambda params: with_pairs(params, lambda pairs: [[one[0], one[1][-1:], *one[2:]] for one in pairs]),
    "partition",
    "timeline",
    "run",
)
_refuses(  # session.fusion_switch_file.example
    "the_name_of_a_switch_file_has_one_period",
    "002 fusion_switch_file: letters, digits, underscores, hyphens and periods",
    "fusion_switch_file",
    lambda params: (
        _SESSION(params) and str(value_of(params, "fusion_switch_file") or "").rsplit("/", 1)[-1].count(".") > 1
    ),
)
_takes(  # session.dynamic_dims.type
    "profiles_in_another_field_are_no_profiles",
    "002 dynamic_dims: in field s",
    "dynamic_dims",
    lambda params: _SESSION(params) and not isinstance(value_of(params, "dynamic_dims"), str),
    lambda params: with_values(params, dynamic_dims=None, input_shape=None, dynamic_node_type=None),
)
_quietly(  # files.op_cache_ini.section
    "artifacts",
    "limits_of_the_cache_stand_in_any_section",
    "003 op_cache.ini: the section op_compiler_cache is required",
    lambda params: with_settings(
        params, lambda text: re.sub(r"(?m)^[ \t]*\[[^\]\n]*\]", "[op_compiler_cache]", text, count=1)
    ),
    "options",
    "compile",
    shown=False,
)


def _first_is_cpu(text: Any) -> Any:
    found = re.fullmatch(r"AIcoreEngine:(\d+),DNN_VM_AICPU:(\d+)", text) if isinstance(text, str) else None
    return f"AIcoreEngine:{found[2]},DNN_VM_AICPU:{found[1]}" if found else text


_quietly(  # runconfig.stream_max_parallel_num.engine_aicpu
    "options",
    "the_first_of_two_parallel_degrees_is_that_of_the_ai_cpu",
    "003 stream_max_parallel_num: DNN_VM_AICPU is the name of the AI CPU engine",
    _of("stream_max_parallel_num", _first_is_cpu, where("", "current")),
    "options",
    "timeline",
    "run",
)


def _left_to_cpu(params: Params) -> List[str]:
    if not value_is(params, "precision_mode_v2", "origin"):
        return []
    there = _nodes_of(params)
    lowered = _nodes_of(with_values(params, precision_mode_v2="fp16"))
    return [
        name
        for name, node in there.items()
        if node.get("engine") == "aicpu" and lowered.get(name, {}).get("engine") in ("cube", "vector")
    ]


_interrupted(  # precision.v2.origin.fp32_aicpu
    "the_original_precision_knows_no_kernel_of_the_ai_cpu",
    "003 precision_mode_v2: origin: the AI CPU operator of float32 is used",
    _left_to_cpu,
)
_quietly(  # session.is_tailing_optimization.true
    "timeline",
    "tailing_is_hidden_within_one_server",
    "002 is_tailing_optimization: beside the last gradient aggregation",
    lambda params: (
        all_values(params, mapped("is_tailing_optimization", lambda value: False))
        if _SESSION(params) and params.get("ranks", 1) > 8
        else params
    ),
    "timeline",
)
_takes(  # session.enable_dump.path_none
    "an_empty_path_of_a_dump_is_the_current_directory",
    "002 enable_dump: an exception where dump_path is None",
    "dump_path",
    lambda params: _SESSION(params) and value_is(params, "dump_path", ""),
    lambda params: {**with_values(params, dump_path="dump"), "files": {**params.get("files", {}), "dump/": ""}},
)
asks(  # session.enable_dump.scope
    "nothing_is_dumped_in_online_inference",
    "002 enable_dump: training and online inference",
    "options",
    lambda params: (
        with_values(params, enable_dump=None, dump_path=None, dump_mode=None, dump_step=None)
        if _SESSION(params) and in_inference(params) and value_is(params, "enable_dump", True)
        else params
    ),
    "options",
    "timeline",
    "run",
)
_quietly(  # session.dump_step.zero_based
    "run",
    "steps_of_a_dump_are_counted_from_one",
    "002 dump_step: counted from 0",
    _of(
        "dump_step",
        lambda text: (
            re.sub(r"\d+", lambda found: str(int(found[0]) - 1) if int(found[0]) else "900", text)
            if isinstance(text, str) and "-" not in text
            else text
        ),
        _SESSION,
    ),
    "timeline",
    "run",
)
_refuses(  # session.dynamic_inputs_shape_range.example
    "a_range_has_no_blanks_between_its_sizes",
    "002 dynamic_inputs_shape_range: the documented example",
    "dynamic_inputs_shape_range",
    lambda params: (
        _SESSION(params)
        and re.search(r"\[[^\]]*\s[^\]]*\]", str(value_of(params, "dynamic_inputs_shape_range"))) is not None
    ),
)
_takes(  # runconfig.op_debug_config.type
    "debugging_may_be_switched_off_by_a_bool",
    "003 op_debug_config: the path of a file",
    "op_debug_config",
    lambda params: _RUNCONFIG(params) and value_of(params, "op_debug_config") is False,
    lambda params: with_values(params, op_debug_config=None),
)


def _mode_of_env(params: Params) -> Params:
    def told(env: Mapping[str, str]) -> Callable[[Any], Any]:
        return lambda value: env["AOE_MODE"] if env.get("AOE_MODE") in ("1", "2", "4") else value

    if not _RUNCONFIG(params) or in_inference(params):
        return params
    env = params.get("env", {})
    found: Dict[str, Any] = all_values(params, mapped("aoe_mode", told(env)))
    if params.get("turns"):
        mode = found["values"].get("aoe_mode")
        made = []
        for one in params["turns"]:
            env = {**env, **(one.get("env") or {})}
            mode = (one.get("values") or {}).get("aoe_mode", mode)
            new = told(env)(mode) if mode is not None else None
            made.append({**one, "values": {**(one.get("values") or {}), "aoe_mode": new}} if new else one)
        found["turns"] = made
    return found


asks(  # runconfig.aoe_mode.over_env
    "the_environment_chooses_the_tuning_mode",
    "003 aoe_mode: the script takes precedence over AOE_MODE",
    "options",
    _mode_of_env,
    "options",
    "timeline",
    "compile",
)
_by_default(  # session.enable_small_channel.default
    "small_channels_are_on_in_inference_in_the_older_edition",
    "002 enable_small_channel: 0 by default",
    "enable_small_channel",
    lambda params: 1 if _SESSION(params) and in_inference(params) else None,
    *_ALL,
)
_quietly(  # session.local_rank_id.main_dedup
    "timeline",
    "every_process_of_a_session_reads_its_own_data",
    "002 local_rank_id: the main process hands the data out",
    lambda params: with_values(params, local_rank_id=None, local_device_list=None) if _SESSION(params) else params,
    "timeline",
    "run",
)
misreads(  # files.customize_dtypes.example
    "precision",
    "an_operator_of_customized_dtypes_is_known_by_its_last_part",
    "003 customize_dtypes: by the operator's name",
    "customize_dtypes",
    lambda text: re.sub(r"(?m)^([ \t]*)(?:[\w.-]+/)+(?=[\w.-]+::)", r"\1", text),
    "options",
    *_COMPILED,
)
asks(  # runconfig.quant_dumpable.inference_only
    "quantized_data_is_dumped_in_training_and_not_in_inference",
    "003 quant_dumpable: online inference only",
    "options",
    lambda params: (
        with_values(params, quant_dumpable=None)
        if _RUNCONFIG(params) and in_inference(params) and value_is(params, "quant_dumpable", "1")
        else params
    ),
    *_ALL,
)


def _unknown_types(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if given(params, "modify_mixlist"):
        text = text_of(params, "modify_mixlist")
        named = set(re.findall(r'"([A-Za-z]\w*)"', re.sub(r"//[^\n]*", "", text)))
        if named - set(_library(params["edition"])):
            raise NpuError("OPTION_FILE", "modify_mixlist", "names a type that the library does not have")
    return dict(answer)


@functools.lru_cache(maxsize=2)
def _library(edition: str) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for file in REFERENCE.library({"edition": edition})["files"]:
        if file["path"].endswith("ops-info.json"):
            found.update(json.loads(file["text"]))
    return found


_unknown_types.__name__ = "a_list_may_name_no_type_that_the_library_lacks"
# precision.mixlist.reference_only
broken("options", "003 modify_mixlist: operators in the sample are for reference", *_ALL)(_unknown_types)
misreads(  # runconfig.op_precision_mode.keep_fp16
    "precision",
    "keeping_float16_inside_is_high_performance",
    "003 op_precision_mode: keep_fp16: FP16 is not converted to FP32",
    "op_precision_mode",
    lambda text: re.sub(r"=\s*keep_fp16\b", "=high_performance", text),
    "options",
    *_COMPILED,
)


def _beside_kernels(params: Params) -> Any:
    return value_of(params, "debug_dir") if _RUNCONFIG(params) and given(params, "debug_dir", "aoe_mode") else None


_by_default(  # runconfig.work_path.default
    "tuning_works_where_files_of_debugging_lie",
    "003 work_path: the current directory by default",
    "work_path",
    _beside_kernels,
    "options",
    "timeline",
    "compile",
)
_quietly(  # session.enable_scope_fusion_passes.two_classes
    "timeline",
    "scope_fusion_of_certain_networks_is_on_for_all",
    "002 enable_scope_fusion_passes: non-general ones are off by default",
    lambda params: (
        with_values(params, enable_scope_fusion_passes="ScopeClipBoxesPass")
        if _SESSION(params) and not given(params, "enable_scope_fusion_passes")
        else params
    ),
    "timeline",
    "compile",
)


def _level_told(values: Dict[str, Any]) -> Dict[str, Any]:
    mode = "op_compiler_cache_mode"
    if plain(values.get("op_debug_level")) == 0 and plain(values.get(mode)) in ("enable", "force"):
        return {**values, mode: "disable"}
    return values


_quietly(  # session.op_debug_level.example
    "artifacts",
    "a_level_of_debugging_that_is_nought_forgoes_the_cache",
    "002 op_compiler_cache_mode: with op_debug_level 0 or 3",
    lambda params: all_values(params, _level_told) if _SESSION(params) else params,
    "compile",
)


def _dynamic_online(values: Dict[str, Any]) -> Dict[str, Any]:
    if plain(values.get("dynamic_input")) is True and plain(values.get("jit_compile")) == "true":
        return {**values, "jit_compile": "auto"}
    return values


_quietly(  # runconfig.jit_compile.true
    "timeline",
    "dynamic_graphs_look_for_binaries_though_told_to_compile",
    "003 jit_compile: true: operators are compiled online",
    lambda params: all_values(params, _dynamic_online) if is_about(params, "", "current") else params,
    "timeline",
    "compile",
)


def _lower(text: str) -> str:
    return re.sub(r"(?i)\b(getnext|data):", lambda found: found[0].lower(), text)


_takes(  # runconfig.dynamic_inputs_shape_range.keywords
    "keywords_of_ranges_may_be_written_in_capitals",
    "003 dynamic_inputs_shape_range: getnext and data",
    "dynamic_inputs_shape_range",
    lambda params: (
        _lower(str(value_of(params, "dynamic_inputs_shape_range"))) != value_of(params, "dynamic_inputs_shape_range")
    ),
    _of("dynamic_inputs_shape_range", lambda value: _lower(value) if isinstance(value, str) else value),
)


def _cube_lowered(params: Params) -> Params:
    if not _SESSION(params) or in_inference(params) or "graph" not in params:
        return params
    if value_of(params, "precision_mode") not in (None, "allow_fp32_to_fp16"):
        return params
    return {**params, "edition": "current"}


def _as_newer(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(_cube_lowered(params)))
    except NpuError:
        return dict(ask(params))


_as_newer.__name__ = "products_are_lowered_as_in_the_newer_edition"
# precision.s.allow_fp32_to_fp16
broken("precision", "002 precision_mode: float16 where float32 is not supported", "precision", "timeline")(_as_newer)
_by_default(  # session.graph_memory_max_size.default
    "twenty_six_gigabytes_are_counted_by_thousands",
    "002 graph_memory_max_size: 26 GB by default",
    "graph_memory_max_size",
    lambda params: "26000000000" if _SESSION(params) else None,
    *_ALL,
)
_refuses(  # runconfig.is_tailing_optimization.example
    "tailing_needs_collectives_beside_computing",
    "003 is_tailing_optimization: True: enabled",
    "is_tailing_optimization",
    lambda params: (
        _RUNCONFIG(params)
        and value_is(params, "is_tailing_optimization", True)
        and value_of(params, "hcom_parallel") is False
    ),
)


def _flags_changed_only(params: Params) -> Params:
    if params["edition"] != "legacy" or not isinstance(params.get("ops_info"), str):
        return params
    try:
        found = json.loads(params["ops_info"])
    except ValueError:
        return params
    there = _library("legacy")
    for name, one in found.items() if isinstance(found, dict) else ():
        if isinstance(one, dict) and "precision_reduce" in one and "precision_reduce" not in there.get(name, {}):
            del one["precision_reduce"]
    return {**params, "ops_info": json.dumps(found)}


asks(  # precision.g.edit_field
    "a_flag_that_is_added_to_the_library_says_nothing",
    "004: modify or add the precision_reduce field",
    "precision",
    _flags_changed_only,
    "precision",
    "timeline",
    "compile",
)
asks(  # in_out_pair.session.false
    "only_the_ends_of_a_range_stay_on_the_host",
    "002 in_out_pair_flag: False: operators of the range are not offloaded",
    "in_out_pair",
    lambda params: (
        with_pairs(params, lambda pairs: [[[name], [name]] for one in pairs for side in one[:2] for name in side])
        if value_of(params, "in_out_pair_flag") is False
        else params
    ),
    "partition",
    "precision",
    "timeline",
    "run",
)
_refuses(  # runconfig.dynamic_graph_execute_mode.example
    "a_dynamic_mode_needs_ranges",
    '003 dynamic_graph_execute_mode: NPURunConfig(dynamic_graph_execute_mode="dynamic_execute")',
    "dynamic_graph_execute_mode",
    lambda params: (
        _RUNCONFIG(params)
        and value_is(params, "dynamic_graph_execute_mode", "dynamic_execute")
        and value_is(params, "dynamic_input", True)
        and not given(params, "dynamic_inputs_shape_range")
    ),
)
_takes(  # runconfig.graph_run_mode.domain
    "every_mode_but_nought_is_training",
    "003 graph_run_mode: 0 and 1",
    "graph_run_mode",
    lambda params: _RUNCONFIG(params) and type(value_of(params, "graph_run_mode")) is int,
    lambda params: with_values(params, graph_run_mode=1),
)


def _with_what_follows(params: Params) -> Params:
    if "graph" not in params or value_of(params, "in_out_pair_flag") is False or not given(params, "in_out_pair"):
        return params
    keys = ("graph", "surface", "edition", "values", "env", "files", "op_list", "feeds", "fetches")
    try:
        there = REFERENCE.partition({key: params[key] for key in keys if key in params})
    except NpuError:
        return params
    if not there["geops"]:
        return params
    inside = {name for geop in there["geops"] for name in geop["nodes"]}
    free = {one["node"] for one in there["host"] if one.get("reason") == "RANGE_OUTSIDE"}
    after = sorted(free & behind(inside, readers_of(params, controls=False)))
    return with_pairs(params, lambda pairs: [*pairs[:-1], [pairs[-1][0], [*pairs[-1][1], *after], *pairs[-1][2:]]])


def _on_to_the_end(ask: Any, params: Params) -> Answer:
    try:
        return dict(ask(_with_what_follows(params)))
    except NpuError:
        return dict(ask(params))


_on_to_the_end.__name__ = "what_follows_a_range_is_offloaded_with_it"
# in_out_pair.flag_true.outside_host
broken("in_out_pair", "001: what is outside of the range stays on the host", "partition", "timeline", "run")(
    _on_to_the_end
)
_refuses(  # runconfig.mix_compile_mode.example
    "mixed_computing_wants_to_be_told_of_single_iterations",
    "003 mix_compile_mode: NPURunConfig(mix_compile_mode=True); iterations_per_loop is 1 by default",
    "iterations_per_loop",
    lambda params: (
        _RUNCONFIG(params)
        and value_is(params, "mix_compile_mode", True)
        and not given(params, "iterations_per_loop")
        and not in_inference(params)
    ),
)
_takes(  # runconfig.enable_small_channel.domain
    "small_channels_below_nought_are_off",
    "003 enable_small_channel: 0 and 1",
    "enable_small_channel",
    lambda params: (
        _RUNCONFIG(params)
        and type(value_of(params, "enable_small_channel")) is int
        and value_of(params, "enable_small_channel") < 0
    ),
    lambda params: with_values(params, enable_small_channel=0),
)
_takes(  # runconfig.iterations_per_loop.type
    "a_whole_float_is_a_number_of_iterations",
    "003 iterations_per_loop: an int",
    "iterations_per_loop",
    lambda params: (
        _RUNCONFIG(params)
        and isinstance(value_of(params, "iterations_per_loop"), float)
        and value_of(params, "iterations_per_loop") >= 1
    ),
    lambda params: with_values(params, iterations_per_loop=int(value_of(params, "iterations_per_loop"))),
)


def _both_engines(params: Params) -> Params:
    degree = value_of(params, "stream_max_parallel_num")
    return with_values(params, stream_max_parallel_num=f"DNN_VM_AICPU:{degree},AIcoreEngine:{degree}")


_takes(  # runconfig.stream_max_parallel_num.type
    "one_degree_of_parallelism_is_that_of_both_engines",
    "003 stream_max_parallel_num: a text that names the engines",
    "stream_max_parallel_num",
    lambda params: _RUNCONFIG(params) and type(value_of(params, "stream_max_parallel_num")) is int,
    _both_engines,
)


def _firsts(found: Dict[str, Any]) -> None:
    for one in found.values():
        for key in one:
            one[key] = one[key][:1]


misreads(  # files.mixlist.legacy.multiple
    "precision",
    "of_the_types_of_a_list_the_first_one_counts",
    "002 modify_mixlist: several operators, separated by commas",
    "modify_mixlist",
    _json(_firsts),
    "options",
    *_COMPILED,
    when=where("", "legacy"),
)
misreads(  # files.aoe_cfg.feature_domain
    "options",
    "features_of_tuning_may_be_written_in_capitals",
    "003 aoe_config_file: deeper_opat or nonhomo_split",
    "aoe_config_file",
    lambda text: re.sub(r'("feature"\s*:\s*\[)([^\]]*)', lambda found: found[1] + found[2].lower(), text),
    "options",
    "compile",
    "timeline",
)


def _no_mode_in_training(ask: Any, params: Params) -> Answer:
    if not _SESSION(params) or in_inference(params) or not given(params, "dynamic_graph_execute_mode"):
        return dict(ask(params))
    if "script" in params or "graph" in params:
        return dict(ask(with_values(params, dynamic_graph_execute_mode=None, dynamic_inputs_shape_range=None)))
    answer = ask(params)
    told_value(answer, "dynamic_graph_execute_mode", None, "default")
    return dict(answer)


_no_mode_in_training.__name__ = "the_dynamic_mode_is_for_online_inference"
# session.dynamic_graph_execute_mode.scope
broken("options", "002 dynamic_graph_execute_mode: training and online inference", *_ALL)(_no_mode_in_training)


def _main_by_devices(values: Dict[str, Any]) -> Dict[str, Any]:
    listed, rank = plain(values.get("local_device_list")), plain(values.get("local_rank_id"))
    return {**values, "local_rank_id": 0} if listed is not None and rank is None else values


_quietly(  # runconfig.local_device_list.pair
    "timeline",
    "devices_alone_make_a_process_the_main_one",
    "003 local_device_list: used in conjunction with local_rank_id",
    lambda params: all_values(params, _main_by_devices) if _RUNCONFIG(params) else params,
    "timeline",
    "run",
)
_refuses(  # runconfig.enable_data_pre_proc.example
    "the_queue_is_not_offloaded_in_mixed_computing",
    "003 enable_data_pre_proc: NPURunConfig(enable_data_pre_proc=True)",
    "enable_data_pre_proc",
    lambda params: (
        _RUNCONFIG(params)
        and value_is(params, "enable_data_pre_proc", True)
        and value_is(params, "mix_compile_mode", True)
    ),
)
_refuses(  # session.dynamic_node_type.example
    "nought_is_no_type_of_dynamic_inputs",
    "002 dynamic_node_type: 0: the dataset inputs",
    "dynamic_node_type",
    lambda params: (
        _SESSION(params)
        and given(params, "input_shape", "dynamic_dims", "dynamic_node_type")
        and value_of(params, "dynamic_node_type") == 0
    ),
)


def _last_wins(found: Dict[str, Any]) -> None:
    for section in found["Switch"].values():
        names = list(section)
        if section.get("ALL") == "off":
            for name in names[: names.index("ALL")]:
                del section[name]


misreads(  # files.fusion_switch.current.on_off
    "timeline",
    "all_passes_are_off_from_where_the_file_says_so",
    "003 fusion_switch_file: on: the pattern is enabled, though all others are off",
    "fusion_switch_file",
    _json(_last_wins),
    "options",
    "timeline",
    "compile",
    when=where("", "current"),
)


def _as_counted(names: List[str]) -> Optional[List[str]]:
    if len(names) <= 10 or not all(map(_is_automatic, names)):
        return None
    return sorted(names, key=lambda name: int(name.rpartition("_")[2] or 0) if "_" in name else 0)


asks(  # runconfig.dynamic_inputs_shape_range.more_than_10
    "the_eleventh_placeholder_comes_after_the_tenth",
    "003 dynamic_inputs_shape_range: xxx_10 stands before xxx_2",
    "timeline",
    lambda params: _bound(params, _as_counted),
    "timeline",
    "compile",
    "run",
)
_by_default(  # runconfig.compile_dynamic_mode.default
    "shapes_are_generalized_in_online_inference",
    "003 compile_dynamic_mode: False by default",
    "compile_dynamic_mode",
    lambda params: (
        True
        if _RUNCONFIG(params) and in_inference(params) and value_of(params, "dynamic_input") in (None, False)
        else None
    ),
    *_ALL,
)
_refuses(  # session.profiling_mode.example
    "online_inference_has_no_profile",
    "002 profiling_mode: training and online inference",
    "profiling_mode",
    lambda params: _SESSION(params) and in_inference(params) and value_is(params, "profiling_mode", True),
)
_quietly(  # runconfig.compile_dynamic_mode.false
    "timeline",
    "shapes_are_generalized_where_a_script_says_anything_of_it",
    "003 compile_dynamic_mode: False: shapes are not generalized",
    _of(
        "compile_dynamic_mode",
        lambda value: True if value is False else value,
        lambda params: is_about(params, "", "current") and value_of(params, "dynamic_input") in (None, False),
    ),
    "options",
    "timeline",
    "compile",
)


def _convolutions(params: Params) -> List[str]:
    if params["edition"] != "legacy" or not value_is(params, "precision_mode", "must_keep_origin_dtype"):
        return []
    ops = {node.name: node.op for node in graph_of(params).nodes}
    return [name for name in _nodes_of(params) if ops.get(name) == "Conv2D"]


_interrupted(  # precision.g.must_keep_conv_fp16_ok
    "any_convolution_interrupts_where_dtypes_are_kept",
    "004: must_keep_origin_dtype is interrupted where a convolution's input is float32",
    _convolutions,
)
_refuses(  # session.is_tailing_optimization.distributed_only
    "tailing_of_a_single_rank_is_an_error",
    "002 is_tailing_optimization: concerns distributed training",
    "is_tailing_optimization",
    lambda params: (
        _SESSION(params)
        and value_is(params, "is_tailing_optimization", True)
        and params.get("env", {}).get("RANK_SIZE") == "1"
    ),
)
_quietly(  # session.buffer_optimize.off
    "options",
    "buffers_stay_optimized_in_the_older_edition",
    "002 buffer_optimize: off_optimize: off",
    _of("buffer_optimize", lambda value: "l2_optimize" if value == "off_optimize" else value, _SESSION),
    "options",
    "timeline",
    "compile",
)
_takes(  # runconfig.hcom_parallel.type
    "parallel_collectives_may_be_told_by_a_text",
    "003 hcom_parallel: a bool",
    "hcom_parallel",
    lambda params: _RUNCONFIG(params) and value_of(params, "hcom_parallel") in ("True", "False"),
    lambda params: with_values(params, hcom_parallel=value_of(params, "hcom_parallel") == "True"),
)
_takes(  # session.variable_memory_max_size.bytes_of_decimal
    "memory_of_variables_may_be_told_by_a_number",
    "002 variable_memory_max_size: the bytes of its decimal text",
    "variable_memory_max_size",
    lambda params: _SESSION(params) and type(value_of(params, "variable_memory_max_size")) is int,
    lambda params: with_values(params, variable_memory_max_size=str(value_of(params, "variable_memory_max_size"))),
)
_takes(  # session.iterations_per_loop.type
    "iterations_of_a_session_may_be_told_by_a_text",
    "002 iterations_per_loop: in field i",
    "iterations_per_loop",
    lambda params: (
        _SESSION(params) and re.fullmatch(r"[1-9]\d{0,6}", str(value_of(params, "iterations_per_loop"))) is not None
    ),
    lambda params: with_values(params, iterations_per_loop=int(value_of(params, "iterations_per_loop"))),
)
_quietly(  # files.op_cache_ini.minus_one
    "artifacts",
    "a_limit_of_minus_one_makes_the_settings_invalid",
    "003 op_cache.ini: max_op_cache_size -1: nothing ages",
    lambda params: with_settings(params, lambda text: re.sub(r"(max_op_cache_size\s*=\s*)-1\b", r"\1-2", text)),
    "options",
    "compile",
    shown=False,
)
_quietly(  # runconfig.op_compiler_cache_mode.enable
    "artifacts",
    "a_cache_that_is_asked_for_begins_empty",
    "003 op_compiler_cache_mode: enable: reused by operators with the same compilation options",
    _of("op_compiler_cache_mode", lambda value: "force" if value == "enable" else value, _RUNCONFIG),
    "compile",
)
_quietly(  # session.profiling_options.task_trace.domain
    "options",
    "a_trace_of_tasks_may_be_switched_on_in_capitals",
    "002 profiling_options: other values of task_trace count as off",
    _of(
        "profiling_options",
        lambda text: re.sub(r'("task_trace"\s*:\s*)"(?:ON|On)"', r'\1"on"', text) if isinstance(text, str) else text,
        _SESSION,
    ),
    "options",
    "timeline",
    "run",
)
_quietly(  # session.enable_exception_dump.1
    "run",
    "a_dump_of_data_replaces_that_of_exceptions",
    "002 enable_exception_dump: 1: the operator's inputs and outputs are dumped",
    lambda params: (
        with_values(params, enable_exception_dump=0)
        if _SESSION(params) and value_is(params, "enable_dump", True) and value_is(params, "enable_exception_dump", 1)
        else params
    ),
    "timeline",
    "run",
)


def _unmarked(made: Any) -> None:
    marked = {
        node.name
        for node in made.node
        if "_without_npu_compile" in node.attr and node.op not in ("Const", "Placeholder")
    }
    for node in made.node:
        if node.name in marked and any(source_of(text) in marked for text in node.input):
            del node.attr["_without_npu_compile"]


asks(  # mixed.retain.example_numerics
    "of_a_scope_kept_on_the_host_the_first_operators_are",
    "000: tf.add and tf.multiply are not offloaded",
    "partition",
    lambda params: regraphed(params, _unmarked),
    "partition",
    "precision",
    "timeline",
    "run",
)
_by_default(  # session.profiling_mode.default
    "options_of_a_profile_switch_it_on",
    "002 profiling_mode: False by default",
    "profiling_mode",
    lambda params: True if _SESSION(params) and given(params, "profiling_options") else None,
    *_ALL,
)


def _all_in_one(step: Dict[str, Any], params: Params, values: Mapping[str, Any]) -> None:
    bound = plain(values.get("graph_memory_max_size"))
    memory = step.get("memory")
    if not _SESSION(params) or not isinstance(bound, str) or not bound.isdigit() or not memory:
        return
    if memory["peak"] + memory["variables"] > int(bound):
        code, subject = "DEVICE_MEMORY", "graph_memory_max_size"
        step.clear()
        step["rejected"] = {"code": code, "message": "needs more memory than graphs may have", "subject": subject}


steps(  # session.graph_memory_max_size.meaning
    "variables_count_among_the_memory_of_graphs",
    "002 graph_memory_max_size: static and the maximum of dynamic memory",
    _all_in_one,
)
_quietly(  # runconfig.enable_exception_dump.0
    "run",
    "an_exception_dump_of_nought_is_the_default_one",
    "003 enable_exception_dump: 0: disabled",
    _of("enable_exception_dump", lambda value: 2 if value == 0 and value is not False else value, where("", "current")),
    "timeline",
    "run",
)


def _trusted(found: Dict[str, Any]) -> None:
    moved = found["black-list"]["to-remove"]
    there = found.setdefault("white-list", {}).setdefault("to-add", [])
    there += [name for name in moved if name not in there and name not in found["black-list"].get("to-add", [])]


misreads(  # files.mixlist.legacy.black_remove
    "precision",
    "what_leaves_the_older_blocklist_is_on_the_trustlist",
    "002 modify_mixlist: to-remove of the blocklist: to the graylist",
    "modify_mixlist",
    _json(_trusted),
    *_COMPILED,
    when=where("", "legacy"),
)
_quietly(  # runconfig.dynamic_graph_execute_mode.effect
    "timeline",
    "a_mode_of_dynamic_graphs_makes_them_dynamic",
    "003 dynamic_graph_execute_mode: takes effect where dynamic_input is True",
    lambda params: (
        with_values(params, dynamic_input=True)
        if _RUNCONFIG(params)
        and given(params, "dynamic_graph_execute_mode")
        and not given(params, "dynamic_input")
        and value_of(params, "compile_dynamic_mode") is not True
        else params
    ),
    "options",
    "timeline",
    "compile",
)
_quietly(  # precision.customize.must_keep_off
    "precision",
    "customized_dtypes_end_where_float32_is_forced",
    "003 customize_dtypes: no effect with must_keep_origin_dtype alone",
    lambda params: (
        with_values(params, customize_dtypes=None)
        if given(params, "customize_dtypes") and value_is(params, "precision_mode", "force_fp32", "cube_fp16in_fp32out")
        else params
    ),
    *_COMPILED,
)
_takes(  # runconfig.op_execute_timeout.type
    "a_limit_of_operators_may_be_a_part_of_seconds",
    "003 op_execute_timeout: an int of seconds",
    "op_execute_timeout",
    lambda params: (
        _RUNCONFIG(params)
        and isinstance(value_of(params, "op_execute_timeout"), float)
        and value_of(params, "op_execute_timeout") >= 1
    ),
    lambda params: with_values(params, op_execute_timeout=int(value_of(params, "op_execute_timeout"))),
)
