"""The tables of options of documents 002 and 003, and what their lists say, by the documents alone.

Nothing of the suite or the reference is imported.
"""

import re

GB = 1 << 30


def one_of(*words):
    return lambda value: value in words


def between(low, high=None, *special):
    return lambda value: value in special or (value >= low and (high is None or value <= high))


def shaped(expression):
    return lambda value: re.fullmatch(expression, value, re.A) is not None


def anything(value):
    return True


PLAIN = r"(/?[a-zA-Z0-9_.\-]*)*"
CHINESE = r"(/?[a-zA-Z0-9_.\-\u3400-\u4dbf\u4e00-\u9fff]*)*"
MODES = ("allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision")
# Document 002: field, default, domain, and the default of online inference where it is another.
TABLE_002 = {
    "use_off_line": ("b", True, anything),
    "enable_data_pre_proc": ("b", False, anything),
    "iterations_per_loop": ("i", None, between(1)),
    "profiling_mode": ("b", False, anything),
    "profiling_options": ("s", None, anything),
    "enable_dump": ("b", False, anything),
    "dump_path": ("s", None, anything),
    "dump_step": ("s", None, anything),
    "dump_mode": ("s", "output", one_of("input", "output", "all")),
    "precision_mode": ("s", "allow_fp32_to_fp16", one_of(*MODES), "force_fp16"),
    "variable_format_optimize": ("b", True, anything),
    "mix_compile_mode": ("b", False, anything),
    "hcom_parallel": ("b", False, anything),
    "graph_memory_max_size": ("s", str(26 * GB), anything),
    "variable_memory_max_size": ("s", str(5 * GB), anything),
    "auto_tune_mode": ("s", None, shaped(r"(RL|GA)(\s*,\s*(RL|GA))*")),
    "stream_max_parallel_num": ("s", "DNN_VM_TF:1,DNN_V100:1", anything),
    "is_tailing_optimization": ("b", False, anything),
    "graph_run_mode": ("i", 1, one_of(0, 1)),
    "op_debug_level": ("i", 0, between(0, 4)),
    "enable_scope_fusion_passes": ("s", None, anything),
    "enable_exception_dump": ("i", 0, one_of(0, 1)),
    "op_select_implmode": ("s", "high_performance", one_of("high_precision", "high_performance")),
    "optypelist_for_implmode": ("s", None, anything),
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
    "dynamic_inputs_shape_range": ("s", None, anything),
    "local_rank_id": ("i", None, anything),
    "local_device_list": ("s", None, anything),
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
OBJECTS = {
    "distribute": "ParameterServerStrategy", "memory_config": "MemoryConfig", "dump_config": "DumpConfig",
    "profiling_config": "ProfilingConfig", "experimental_config": "ExperimentalConfig",
}  # fmt: skip
SET_BY = {
    "dump_config": {name: name for name in ("enable_dump", "dump_path", "dump_step", "dump_mode")},
    "profiling_config": {"enable_profiling": "profiling_mode", "profiling_options": "profiling_options"},
}
NOT_ON_RUNCONFIG = {
    "use_off_line", "profiling_mode", "profiling_options", "enable_dump", "dump_path", "dump_step", "dump_mode",
    "input_shape", "dynamic_dims", "dynamic_node_type", "in_out_pair_flag", "in_out_pair",
}  # fmt: skip
UNSUPPORTED = {
    "legacy": {"enable_dump_debug", "dump_debug_mode", "aoe_mode", "work_path", "op_execute_timeout"},
    "current": {"enable_reduce_precision"},
}
NEVER = {"distribute_config", "device_type"}
DEPRECATED = {
    "enable_data_pre_proc", "variable_format_optimize", "op_debug_level", "op_select_implmode",
    "optypelist_for_implmode", "dynamic_input", "dynamic_graph_execute_mode", "dynamic_inputs_shape_range",
    "graph_memory_max_size", "variable_memory_max_size",
}  # fmt: skip
MEMORY = {"graph_memory_max_size", "variable_memory_max_size"}
# What means nothing in the other run mode, and what is only listed for one.
BOUND = {
    "iterations_per_loop": 1, "input_shape": 0, "dynamic_dims": 0, "dynamic_node_type": 0, "quant_dumpable": 0,
    "graph_max_parallel_model_num": 0,
}  # fmt: skip
LISTED = {
    **BOUND, "enable_data_pre_proc": 1, "dump_step": 1, "variable_format_optimize": 1, "hcom_parallel": 1,
    "auto_tune_mode": 1, "is_tailing_optimization": 1, "enable_exception_dump": 1, "hccl_timeout": 1,
    "op_wait_timeout": 1, "buffer_optimize": 0, "in_out_pair_flag": 0, "in_out_pair": 0,
}  # fmt: skip
LISTED_003 = {"iterations_per_loop": None, "variable_format_optimize": None}
FIELDS = {bool: "b", int: "i", float: "f", str: "s"}
MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")
# Fusion patterns that no document's sample switches and a network cannot do without, and scope passes the samples name.
STAY_ON = {"ConstToAttrPass"}
IMPLEMENTED = {"Pooling", "SoftmaxV2", "LRN", "ROIAlign"}
SCOPE_PASSES = {"ScopeLayerNormPass", "ScopeClipBoxesPass"}
KNOWN_PASSES = {
    "RequantFusionPass", "ConvToFullyConnectionFusionPass", "SoftmaxFusionPass", "NotRequantFusionPass",
    "SplitConvConcatFusionPass", "ConvConcatFusionPass", "MatMulBiasAddFusionPass", "PoolingFusionPass",
    "ZConcatv2dFusionPass", "ZConcatExt2FusionPass", "TfMergeSubFusionPass", "TbePool2dQuantFusionPass", "ALL",
}  # fmt: skip
# Where a document only advises.
ADVICE = {
    "hcom_parallel": (True,), "stream_max_parallel_num": None, "is_tailing_optimization": (True,), "jit_compile": None,
    "external_weight": (True,), "enable_small_channel": (1,), "dynamic_inputs_shape_range": None,
    "precision_mode": MIXED, "precision_mode_v2": MIXED,
}  # fmt: skip
ADVICE_BOTH = {"op_compiler_cache_mode": ("enable",), "op_precision_mode": None, "precision_mode": MIXED}


def table(surface, edition):
    found = dict(TABLE_002)
    if edition == "current":
        found.update(TABLE_003)
        for name in (*MEMORY, "auto_tune_mode"):
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
            found["precision_mode"] = found["precision_mode"][:3]  # the same default whatever the mode
            found.update(dict.fromkeys(OBJECTS, ("o", None, anything)))
    return found
