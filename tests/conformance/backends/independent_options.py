"""Options by the documents alone, in the standard library: a second implementation of the tables of 002 and 003.

It knows names, types, domains, defaults, scenarios, the few rules between options and the environment. It looks into no
file, tells no meaning, no directive and no advice, and warns of nothing: it claims just that. Nothing of the suite or
the reference is imported.
"""

import json
import re
import sys

GB = 1 << 30


class Refused(Exception):
    """A value that cannot be."""

    def __init__(self, code, subject, message):
        super().__init__(message)
        self.body = {"code": code, "subject": subject, "message": message}


def one_of(*words):
    return lambda value: value in words


def between(low, high=None, *special):
    return lambda value: value in special or (value >= low and (high is None or value <= high))


def shaped(expression):
    return lambda value: re.fullmatch(expression, value, re.A) is not None


def anything(value):
    return True


NAMES = r"[^,\s][^,]*(\s*,\s*[^,\s][^,]*)*"
DIM = r"\s*(-1|[0-9]+|[0-9]+\s*~\s*[0-9]+)\s*"
GROUP = rf"(getnext|data):\s*\[({DIM}(,{DIM})*)?\](,\s*\[({DIM}(,{DIM})*)?\])*"
PLAIN = r"(/?[a-zA-Z0-9_.\-]*)*"
CHINESE = r"(/?[a-zA-Z0-9_.\-\u3400-\u4dbf\u4e00-\u9fff]*)*"
MODES = ("allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision")
BYTES = r"\s*[0-9]+(\s*\*\s*[0-9]+)*\s*"

# Document 002: field, default, domain, and the default of online inference where it is another.
TABLE_002 = {
    "use_off_line": ("b", True, anything),
    "enable_data_pre_proc": ("b", False, anything),
    "iterations_per_loop": ("i", None, between(1)),
    "profiling_mode": ("b", False, anything),
    "profiling_options": ("s", None, anything),
    "enable_dump": ("b", False, anything),
    "dump_path": ("s", None, anything),
    "dump_step": ("s", None, shaped(r"[0-9]+(-[0-9]+)?(\|[0-9]+(-[0-9]+)?)*")),
    "dump_mode": ("s", "output", one_of("input", "output", "all")),
    "precision_mode": ("s", "allow_fp32_to_fp16", one_of(*MODES), "force_fp16"),
    "variable_format_optimize": ("b", True, anything),
    "mix_compile_mode": ("b", False, anything),
    "hcom_parallel": ("b", False, anything),
    "graph_memory_max_size": ("s", str(26 * GB), shaped(BYTES)),
    "variable_memory_max_size": ("s", str(5 * GB), shaped(BYTES)),
    "auto_tune_mode": ("s", None, shaped(r"(RL|GA)(\s*,\s*(RL|GA))*")),
    "stream_max_parallel_num": ("s", "DNN_VM_TF:1,DNN_V100:1", anything),
    "is_tailing_optimization": ("b", False, anything),
    "graph_run_mode": ("i", 1, one_of(0, 1)),
    "op_debug_level": ("i", 0, between(0, 4)),
    "enable_scope_fusion_passes": ("s", None, shaped(NAMES)),
    "enable_exception_dump": ("i", 0, one_of(0, 1)),
    "op_select_implmode": ("s", "high_performance", one_of("high_precision", "high_performance")),
    "optypelist_for_implmode": ("s", None, shaped(NAMES)),
    "input_shape": ("s", None, anything),
    "dynamic_dims": ("s", None, anything),
    "dynamic_node_type": ("i", None, one_of(0, 1)),
    "buffer_optimize": ("s", "l2_optimize", one_of("l2_optimize", "off_optimize")),
    "enable_small_channel": ("i", 0, one_of(0, 1)),
    "fusion_switch_file": ("s", None, shaped(CHINESE)),
    "op_compiler_cache_mode": ("s", "disable", one_of("enable", "disable", "force")),
    "op_compiler_cache_dir": ("s", None, shaped(CHINESE)),
    "debug_dir": ("s", None, anything),
    "dynamic_input": ("b", False, anything),
    "dynamic_graph_execute_mode": ("s", None, one_of("dynamic_execute", "lazy_recompile")),
    "dynamic_inputs_shape_range": ("s", None, shaped(rf"\s*{GROUP}(;\s*{GROUP})?\s*")),
    "local_rank_id": ("i", None, anything),
    "local_device_list": ("s", None, shaped(r"[0-9]+(\s*,\s*[0-9]+)*")),
    "session_device_id": ("i", None, between(0)),
    "modify_mixlist": ("s", None, anything),
    "op_precision_mode": ("s", None, anything),
    "in_out_pair_flag": ("b", True, anything),
    "in_out_pair": ("s", None, anything),
    "hccl_timeout": ("i", None, between(1)),
    "op_wait_timeout": ("i", None, between(1)),
}

# What document 003 states otherwise, or besides.
TABLE_003 = {
    "deterministic": ("i", 0, one_of(0, 1)),
    "external_weight": ("b", False, anything),
    "input_fusion_size": ("i", 131072, anything),
    "ac_parallel_enable": ("s", "0", one_of("0", "1")),
    "compile_dynamic_mode": ("b", False, anything),
    "enable_exception_dump": ("i", 2, between(0, 2)),
    "op_debug_config": ("s", None, anything),
    "export_compile_stat": ("i", 1, between(0, 2)),
    "precision_mode": (
        "s", "allow_fp32_to_fp16", one_of(*MODES, "allow_mix_precision_fp16", "cube_fp16in_fp32out"), "force_fp16"
    ),
    "precision_mode_v2": ("s", None, one_of("fp16", "origin", "cube_fp16in_fp32out", "mixed_float16")),
    "customize_dtypes": ("s", None, anything),
    "quant_dumpable": ("s", "0", one_of("0", "1")),
    "variable_placement": ("s", "Device", one_of("Device", "Host")),
    "iterations_per_loop": ("i", 1, between(1)),
    "graph_max_parallel_model_num": ("i", 1, between(1, 2**31 - 1)),
    "aoe_mode": ("s", None, one_of("1", "2", "4")),
    "work_path": ("s", None, anything),
    "aoe_config_file": ("s", None, anything),
    "op_compiler_cache_mode": ("s", "enable", one_of("enable", "disable", "force")),
    "hccl_timeout": ("i", 1836, between(1, 17340)),
    "op_wait_timeout": ("i", 120, between(1)),
    "op_execute_timeout": ("i", None, between(1)),
    "stream_sync_timeout": ("i", -1, between(1, None, -1)),
    "event_sync_timeout": ("i", -1, between(1, None, -1)),
    "jit_compile": ("s", "auto", one_of("auto", "true", "false")),
    "enable_small_channel": ("i", 0, one_of(0, 1), 1),
    "op_select_implmode": ("s", None, one_of("high_precision", "high_performance")),
    "op_debug_level": ("i", 0, between(0, 4)),
    "stream_max_parallel_num": ("s", "DNN_VM_AICPU:1,AIcoreEngine:1", anything),
}  # fmt: skip
NOT_ON_RUNCONFIG = {
    "use_off_line", "profiling_mode", "profiling_options", "enable_dump", "dump_path", "dump_step", "dump_mode",
    "auto_tune_mode", "input_shape", "dynamic_dims", "dynamic_node_type", "in_out_pair_flag", "in_out_pair",
}  # fmt: skip
UNSUPPORTED_002 = {
    "enable_dump_debug", "dump_debug_mode", "aoe_mode", "work_path", "distribute_config", "device_type",
    "op_execute_timeout",
}  # fmt: skip
BOUND = {
    "iterations_per_loop": 1, "input_shape": 0, "dynamic_dims": 0, "dynamic_node_type": 0, "quant_dumpable": 0,
    "graph_max_parallel_model_num": 0,
}  # fmt: skip
FIELDS = {bool: "b", int: "i", float: "f", str: "s"}


def table(surface, edition):
    found = dict(TABLE_002)
    if edition == "current":
        found.update(TABLE_003)
        for name in ("graph_memory_max_size", "variable_memory_max_size", "auto_tune_mode"):
            found.pop(name)
        found["hcom_parallel"] = ("b", None, anything)  # document 003 states no default
    if surface == "runconfig":
        for name in NOT_ON_RUNCONFIG:
            found.pop(name, None)
        found["enable_data_pre_proc"] = ("b", True, anything)
        if edition == "current":
            found["variable_format_optimize"] = ("b", None, anything)
            found["fusion_switch_file"] = ("s", None, shaped(PLAIN))
            found["op_compiler_cache_dir"] = ("s", None, shaped(PLAIN))
            found["op_debug_level"] = ("i", None, between(0, 4))
    return found


def given(params, known):
    values = {}
    for name, raw in params["values"].items():
        field, value = None, raw
        if isinstance(raw, dict) and set(raw) == {"field", "value"}:
            field, value = raw["field"], raw["value"]
        if name not in known or (params["edition"] == "legacy" and name in UNSUPPORTED_002) or value in (None, ""):
            continue
        kind = FIELDS.get(type(value), "o")
        if kind != known[name][0] or field not in (None, kind):
            raise Refused("OPTION_TYPE", name, f"{value!r} is no value of {name}")
        if not known[name][2](value):
            raise Refused("OPTION_VALUE", name, f"{value!r} is outside the domain of {name}")
        values[name] = value
    return values


def options(params):
    known = table(params["surface"], params["edition"])
    current = params["edition"] == "current"
    env = params.get("env", {})
    values = given(params, known)
    mode = values.get("graph_run_mode", 1)
    values = {name: value for name, value in values.items() if BOUND.get(name, mode) == mode}
    effective = {}
    for name, (_, default, _, *inference) in known.items():
        value = inference[0] if inference and mode == 0 else default
        effective[name] = {"value": value, "origin": "default"}
    if params["surface"] == "runconfig":
        effective["use_off_line"] = {"value": True, "origin": "forced"}
    if "HOME" in env:
        effective["op_compiler_cache_dir"]["value"] = env["HOME"] + "/atc_data"
    for variable, name, convert in (("HCCL_EXEC_TIMEOUT", "hccl_timeout", int), ("AOE_MODE", "aoe_mode", str)):
        if current and variable in env and name not in values:
            effective[name] = {"value": convert(env[variable]), "origin": "environment"}
    for name, value in values.items():
        effective[name] = {"value": value, "origin": "given"}
    rules(values, effective, mode, current)
    return {"effective": effective, "warnings": []}


def rules(values, effective, mode, current):
    if values.get("in_out_pair") and not values.get("mix_compile_mode"):
        raise Refused("OPTION_CONFLICT", "in_out_pair", "in_out_pair needs mixed computing")
    if values.get("mix_compile_mode") and values.get("iterations_per_loop", 1) != 1:
        raise Refused("OPTION_CONFLICT", "iterations_per_loop", "must be 1 in mixed computing")
    if values.get("enable_dump") and not values.get("dump_path"):
        raise Refused("OPTION_CONFLICT", "dump_path", "enable_dump needs dump_path")
    if "precision_mode" in values and "precision_mode_v2" in values:
        raise Refused("OPTION_CONFLICT", "precision_mode_v2", "cannot be used together with precision_mode")
    if values.get("variable_placement") == "Host" and not values.get("mix_compile_mode"):
        raise Refused("OPTION_CONFLICT", "variable_placement", "Host needs mixed computing")
    if "optypelist_for_implmode" in values and not {"op_select_implmode", "op_precision_mode"} & set(values):
        raise Refused("OPTION_CONFLICT", "optypelist_for_implmode", "needs op_select_implmode")
    if current and effective["hccl_timeout"]["value"] is not None:
        effective["hccl_timeout"]["value"] = max(68, effective["hccl_timeout"]["value"] // 68 * 68)
    if current and mode == 0 and values.get("enable_small_channel") == 0:
        effective["enable_small_channel"] = {"value": 1, "origin": "forced"}
    if "dynamic_graph_execute_mode" in values and not values.get("dynamic_input"):
        effective["dynamic_graph_execute_mode"] = {"value": None, "origin": "default"}
    if "op_precision_mode" in values:
        for name in ("op_select_implmode", "optypelist_for_implmode"):
            if name in values:
                effective[name] = {"value": None, "origin": "default"}


def hello(params):
    return {
        "protocol": 1,
        "backend": {"name": "independent options", "version": "1"},
        "capabilities": {"areas": ["options"], "editions": ["legacy", "current"], "features": ["options"]},
    }


def main():
    methods = {"hello": hello, "options": options, "reset": lambda params: {}, "shutdown": lambda params: {}}
    for line in sys.stdin:
        try:
            request = json.loads(line)
            answer = {"id": request["id"]}
        except (ValueError, KeyError, TypeError):
            print(json.dumps({"id": None, "error": {"message": "no request"}}), flush=True)
            continue
        try:
            if request["method"] in methods:
                answer["ok"] = methods[request["method"]](request["params"])
            else:
                answer["unsupported"] = {"feature": request["method"]}
        except Refused as error:
            answer["rejected"] = error.body
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        if request["method"] == "shutdown":
            return


if __name__ == "__main__":
    main()
