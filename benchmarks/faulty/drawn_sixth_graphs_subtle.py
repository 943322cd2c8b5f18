"""A sixth list, second half: mistakes of the partition, precision and runs that show under one more condition."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any, Dict, List, Mapping

from faulty.making import (
    Answer,
    Files,
    Params,
    accepts,
    all_values,
    asks,
    broken,
    changed,
    decoded,
    dumped,
    encoded,
    given,
    graph_of,
    has_function,
    in_inference,
    is_about,
    is_mixed,
    left,
    mapped,
    node_change,
    offloaded,
    ops_of,
    place,
    regraphed,
    rescripted,
    retyped,
    steps,
    texts,
    to_device,
    to_host,
    value_is,
    value_of,
    with_pairs,
    without,
)
from npu_reference.errors import NpuError

# Partition

asks(
    "a_range_has_one_last_operator",
    "002 in_out_pair: the first and the last operators of a part",
    "partition",
    lambda params: with_pairs(params, lambda pairs: [[pair[0], pair[-1][:1]] for pair in pairs]),
)


def _data_of_the_host(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    return to_host(
        answer, [name for name in offloaded(answer) if name in ops and ops[name].op == "IteratorGetNext"], "DATASET"
    )


place(
    "data_are_the_hosts_in_mixed_computing",
    "003 enable_data_pre_proc True: GetNext is offloaded, beside mix_compile_mode too",
    _data_of_the_host,
)


@broken("partition", "003 variable_placement Device: variables are on the device, of integers too")
def counters_are_variables_of_the_host(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if not value_is(params, "variable_placement", "Device"):
        return answer
    moved = [
        node.name
        for node in graph_of(params).nodes
        if node.op in ("VarHandleOp", "VariableV2", "Variable") and getattr(node.attr("dtype"), "name", "") == "int64"
    ]
    return to_host(answer, moved, "VARIABLE_PLACEMENT")


def _called_back(answer: Answer, params: Params) -> Any:
    if not given(params, "in_out_pair"):
        return None
    ops = ops_of(params)
    moved = [
        one["node"]
        for one in answer["host"]
        if one["node"] in ops
        and ops[one["node"]].op in ("PyFunc", "PyFuncStateless", "EagerPyFunc")
        and ops[one["node"]].attr("_without_npu_compile") is True
    ]
    return to_device(answer, moved) if moved else None


place(
    "the_scope_decides_alone_beside_a_pair",
    "000 without_npu_compile_scope: never moves an operator of the host to the device",
    _called_back,
)


@broken("partition", "000: without mixed computing every compute operator is offloaded, of 64 bits too")
def long_numbers_are_the_hosts(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if is_mixed(params) or params.get("policy") == "adapter" or value_of(params, "use_off_line") is False:
        return answer
    ops = ops_of(params)
    moved = [name for name in offloaded(answer) if name in ops and getattr(ops[name].attr("T"), "name", "") == "int64"]
    return to_host(answer, moved)


def _calls(answer: Answer, params: Params) -> Any:
    ops = ops_of(params)
    calls = [
        one["node"]
        for one in answer["host"]
        if one.get("reason") == "FUNCTION"
        and one["node"] in ops
        and ops[one["node"]].op in ("PartitionedCall", "StatefulPartitionedCall")
    ]
    return to_device(answer, calls) if calls else None


place("nobody_looks_into_functions", "000: py_func stays on the host, in a function too", _calls)

# Precision


def _listed_colours(text: str, params: Params, ask: Any) -> str:
    found = re.search(r'"black-list"\s*:\s*\{[^}]*?"to-remove"\s*:\s*\[', text)
    if not found:
        return text
    answer = ask(all_values(params, without("modify_mixlist")))
    black = sorted({node["kernel"] for node in answer["nodes"] if node.get("list") == "blocklist" and node["kernel"]})
    names = [name for name in black if f'"{name}"' not in text]
    head, tail = text[: found.end()], text[found.end() :]
    separator = ", " if names and tail.lstrip()[:1] != "]" else ""
    return head + ", ".join(f'"{name}"' for name in names) + separator + tail


@broken("precision", "002 modify_mixlist: operators not listed keep their colour")
def one_removed_all_removed(ask: Any, params: Params) -> Answer:
    if params["edition"] != "legacy" or not given(params, "modify_mixlist"):
        return ask(params)
    return ask(texts(params, "modify_mixlist", lambda text: _listed_colours(text, params, ask)))


@broken("precision", "003 customize_dtypes: several dtypes in the order of the inputs, by type too")
def types_have_one_dtype(ask: Any, params: Params) -> Answer:
    def change(text: str) -> str:
        return re.sub(r"(?im)^(OpType:.*?InputDtype:)([^,:\s]*)(?:,(?!\s*OutputDtype)[^,:\s]*)+", r"\1\2", text)

    return ask(texts(params, "customize_dtypes", change))


def _cubes_of_functions(node: Dict[str, Any], params: Params, op: Any) -> None:
    modes = (value_of(params, "precision_mode"), value_of(params, "precision_mode_v2"))
    lowers = modes in ((None, None), ("allow_fp32_to_fp16", None)) and not in_inference(params)
    if lowers and params["edition"] == "current" and node["engine"] == "cube" and has_function(node, params):
        retyped(node, "float16", "float32")


node_change(
    "cubes_of_functions_stay_single",
    "003 allow_fp32_to_fp16: cube operators use float16, in functions too",
    _cubes_of_functions,
)


@broken("precision", "004 must_keep_origin_dtype: a float16 Conv2D is computed at float16, in either layout")
def half_convolutions_have_one_layout(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params["edition"] == "legacy" and value_is(params, "precision_mode", "must_keep_origin_dtype"):
        for op in ops_of(params).values():
            if (
                op.op == "Conv2D"
                and op.text("data_format") == "NCHW"
                and getattr(op.attr("T"), "name", "") == "float16"
            ):
                raise NpuError("PRECISION_NO_KERNEL", op.name, "has no kernel at float16")
    return answer


asks(
    "the_second_name_of_mixed_has_no_lists",
    "003 precision_mode_v2 mixed_float16: the counterpart of allow_mix_precision_fp16, its lists too",
    "precision",
    lambda params: (
        all_values(params, without("modify_mixlist"))
        if value_is(params, "precision_mode_v2", "mixed_float16")
        else params
    ),
)


def _no_scope(graph: Any) -> None:
    for nodes in (graph.node, *(one.node_def for one in graph.library.function)):
        for node in nodes:
            node.attr.pop("_keep_dtype", None)


asks(
    "all_of_half_is_all_of_it",
    "003 keep_dtype_scope: kept beside every mode of precision_mode_v2",
    "precision",
    lambda params: regraphed(params, _no_scope) if value_is(params, "precision_mode_v2", "fp16") else params,
)
asks(
    "a_text_of_none_is_half",
    "002 precision_mode None: the same as allow_fp32_to_fp16",
    "precision",
    lambda params: (
        all_values(params, mapped("precision_mode", lambda value: "force_fp16" if value == "None" else value))
        if params["edition"] == "legacy"
        else params
    ),
)

# Options

accepts(
    "a_dump_has_dumps_of_its_own",
    "003 enable_exception_dump: 0, 1 or 2, whatever else is dumped",
    "enable_exception_dump",
    lambda params: is_about(params, "runconfig") and given(params, "dump_config"),
)
accepts(
    "inference_mixes_by_its_list",
    "002 modify_mixlist: for allow_mix_precision, in inference too",
    "modify_mixlist",
    lambda params: params["edition"] == "legacy" and in_inference(params) and not given(params, "precision_mode"),
)

# Time


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


@broken("timeline", "002 enable_small_channel 0: off, in inference too", "timeline")
def small_channels_are_on_in_inference(ask: Any, params: Params) -> Answer:
    if in_inference(params) and params["edition"] == "legacy":
        return ask(all_values(params, mapped("enable_small_channel", lambda value: 1)))
    return ask(params)


@broken("timeline", "003 variable_format_optimize False: not converted, in mixed computing too", "timeline")
def formats_are_optimised_beside_the_host(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        mixes = value_is({"values": values}, "mix_compile_mode", True)
        return mapped("variable_format_optimize", lambda value: True)(values) if mixes else values

    return ask(all_values(params, change))


def _first_iteration(files: Files, params: Params) -> Files:
    def one(name: str, file: Mapping[str, Any]) -> Mapping[str, Any]:
        if "step_trace" not in name or "b64" not in file:
            return file
        return encoded("".join(decoded(file).splitlines(keepends=True)[:2]))

    return {name: one(name, file) for name, file in files.items()}


left("one_iteration_is_traced", "002 training_trace: the traces of iterations, all of them", _first_iteration)


def _profile_text(params: Params, change: Any) -> Dict[str, Any]:
    """The request with what a profile is told changed, whichever way it is told."""

    def edit(values: Dict[str, Any]) -> Dict[str, Any]:
        found = mapped("profiling_options", lambda value: change(value) if isinstance(value, str) else value)(values)
        config = found.get("profiling_config")
        if isinstance(config, dict) and isinstance(config.get("arguments", {}).get("profiling_options"), str):
            arguments = {**config["arguments"], "profiling_options": change(config["arguments"]["profiling_options"])}
            found["profiling_config"] = {**config, "arguments": arguments}
        return found

    return all_values(params, edit)


def _one_group(text: str) -> str:
    both = "ArithmeticUtilization" in text and re.search(r'"aicpu"\s*:\s*"on"', text)
    return text.replace("ArithmeticUtilization", "PipeUtilization") if both else text


@broken("timeline", "002 aic_metrics ArithmeticUtilization: its columns, beside aicpu too", "timeline", "run")
def the_ai_cpu_has_its_own_metrics(ask: Any, params: Params) -> Answer:
    return ask(_profile_text(params, _one_group))


def _traced(text: str) -> str:
    trained = re.search(r'"training_trace"\s*:\s*"on"', text)
    return re.sub(r'("task_trace"\s*:\s*)"off"', r'\1"on"', text) if trained else text


@broken("timeline", "002 task_trace off: no task records, beside training_trace too", "timeline", "run")
def a_training_trace_has_tasks(ask: Any, params: Params) -> Answer:
    return ask(_profile_text(params, _traced))


# Files of compilation


@broken("artifacts", "003 jit_compile auto: static shapes are compiled, without a cache too", "compile")
def what_is_not_cached_is_prebuilt(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        uncached = values.get("op_compiler_cache_mode") == "disable"
        return (
            {**values, "jit_compile": "false"} if uncached and values.get("jit_compile", "auto") == "auto" else values
        )

    return ask(all_values(params, change))


# Runs


@broken("run", "003 quant_dumpable: means something where data are dumped")
def what_is_quantised_is_dumped(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        return {**values, "enable_dump": True} if values.get("dump_path") and not values.get("enable_dump") else values

    if value_is(params, "quant_dumpable", "1") and in_inference(params):
        return ask(all_values(params, lambda values: dumped(values, change)))
    return ask(params)


@broken(
    "precision",
    "003 support_out_of_bound_index: gather, scatter and segment operators verify their indices",
    "precision",
    "timeline",
    "compile",
)
def scatters_are_not_verified(ask: Any, params: Params) -> Answer:
    def change(text: str) -> str:
        return re.sub(r"(?m)^\s*\w*(?:Scatter|Segment)\w*\s*=\s*support_out_of_bound_index.*$", "", text)

    return ask(texts(params, "op_precision_mode", change))


@broken("run", "002 enable_exception_dump 0: nothing is dumped, whatever folder is named")
def a_folder_asks_for_the_dump(ask: Any, params: Params) -> Answer:
    if params["edition"] == "legacy" and params.get("env", {}).get("NPU_COLLECT_PATH"):
        return ask({**params, "values": {**params["values"], "enable_exception_dump": 1}})
    return ask(params)


def _added_again(answer: Answer, params: Params) -> None:
    if str(value_of(params, "deterministic")) != "0" or params.get("steps", 1) < 2:
        return
    for tensor in answer["fetches"].values():
        if tensor["dtype"] == "float32" and "b64" in tensor:
            numbers = [number for (number,) in struct.iter_unpack("<f", base64.b64decode(tensor["b64"]))]
            content = b"".join(struct.pack("<f", number * 2) for number in numbers)
            tensor["b64"] = base64.b64encode(content).decode()


changed("run", "sums_begin_where_they_ended", "003 deterministic 0: results differ by the order alone", _added_again)


@broken("run", "002 dump_step unset: every iteration, in inference too")
def inference_is_dumped_once(ask: Any, params: Params) -> Answer:
    def change(values: Dict[str, Any]) -> Dict[str, Any]:
        asked = values.get("enable_dump") and not values.get("dump_step")
        return {**values, "dump_step": "0"} if asked else values

    return ask(all_values(params, lambda values: dumped(values, change)) if in_inference(params) else params)


@broken("run", "002 dump_step: iterations separated by |, of any size")
def steps_have_one_digit(ask: Any, params: Params) -> Answer:
    def change(text: Any) -> Any:
        kept = [one for one in str(text).split("|") if len(one) == 1 or "-" in one]
        return "|".join(kept) if kept else text

    return ask(all_values(params, lambda values: dumped(values, mapped("dump_step", change))))


@broken("run", "000: memory_optimization is switched off, or is not: the outputs are the same")
def unoptimised_memory_is_demanded(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if "script" in params:
        found: List[str] = []
        rescripted(params, lambda text: found.append(text) or text)
        if "NpuOptimizer" in found[0] and "mix_compile_mode" in found[0] and "memory_optimization" not in found[0]:
            raise NpuError("RUN_FAILED", params["script"], "memory_optimization is not OFF")
    return answer
