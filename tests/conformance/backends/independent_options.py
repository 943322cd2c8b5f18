"""Options by the documents alone, in the standard library: a second implementation of the tables of 002 and 003.

It claims all of `options`: values, warnings, what texts and files mean (independent_texts), what the device is told,
and advice. Nothing of the suite or the reference is imported.
"""

import json
import posixpath
import re
import sys

import independent_texts as texts
from independent_texts import Bad, Refused

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

TEXTS = {
    "stream_max_parallel_num": texts.streams, "input_shape": texts.input_shape, "dynamic_dims": texts.dynamic_dims,
    "dump_step": texts.dump_step, "dynamic_inputs_shape_range": texts.shape_range, "in_out_pair": texts.in_out_pair,
    "enable_scope_fusion_passes": texts.names, "optypelist_for_implmode": texts.names,
    "auto_tune_mode": texts.names, "local_device_list": texts.numbers, "graph_memory_max_size": texts.product,
    "variable_memory_max_size": texts.product,
}  # fmt: skip
FILES = {
    "fusion_switch_file": texts.fusion_switch, "modify_mixlist": texts.mixlist,
    "op_precision_mode": texts.op_precision, "customize_dtypes": texts.customize_dtypes,
    "op_debug_config": texts.op_debug, "aoe_config_file": texts.aoe_config,
}  # fmt: skip
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


class Request:
    """One question: what is given, and what comes of it."""

    def __init__(self, params):
        self.surface, self.edition = params["surface"], params["edition"]
        self.current, self.runconfig = self.edition == "current", self.surface == "runconfig"
        self.env, self.disk = params.get("env", {}), texts.Disk(params.get("files"))
        self.known = table(self.surface, self.edition)
        self.warnings, self.meaning, self.effective, self.advice = [], {}, {}, []
        self.values = self.given(params["values"])
        for name, keys in SET_BY.items():
            arguments = self.values.get(name, {}).get("arguments", {})
            self.values.update({keys[key]: value for key, value in arguments.items() if key in keys})
        self.mode = self.values.get("graph_run_mode", 1)

    def warn(self, code, *names):
        for name in names:
            if name in self.asked:
                self.warnings.append({"option": name, "code": code})

    def given(self, raw_values):
        values = {}
        self.asked = {name for name, raw in raw_values.items() if raw not in (None, "")}
        for name, raw in raw_values.items():
            field, value = None, raw
            if isinstance(raw, dict) and set(raw) == {"field", "value"}:
                field, value = raw["field"], raw["value"]
            if value == "None" and name in self.known and self.known[name][0] == "s":
                self.warn("undocumented", name)
                continue
            if self.outside(name) or value in (None, ""):
                continue
            self.hold(name, value, field)
            values[name] = value
        return values

    def outside(self, name):
        """Whether no such option takes effect here; then it is said why."""
        if name in UNSUPPORTED[self.edition] | NEVER:
            self.warn("unsupported", name)
        elif self.current and self.runconfig and name in MEMORY:
            self.warn("deprecated", name)
            self.warn("no_effect", name)
        elif name not in self.known:
            elsewhere = name in TABLE_003 or name in TABLE_002 or name in OBJECTS
            self.warn("not_in_edition" if elsewhere else "unknown", name)
        else:
            return False
        return True

    def hold(self, name, value, field):
        kind, _, domain = self.known[name][:3]
        own = "o" if isinstance(value, dict) else FIELDS.get(type(value))
        if own != kind or field not in (None, own) or (own == "o" and value.get("class") != OBJECTS[name]):
            raise Refused("OPTION_TYPE", name, f"{value!r} is no value of {name}")
        if not domain(value):
            raise Refused("OPTION_VALUE", name, f"{value!r} is outside the domain of {name}")

    def read(self):
        """What texts, files and objects say."""
        name = "stream_max_parallel_num"  # the one text that has a default
        self.meaning[name] = texts.streams(self.known[name][1], self.edition)
        for name, value in self.values.items():
            try:
                if name in TEXTS:
                    self.meaning[name] = TEXTS[name](value, self.edition)
                elif name in FILES:
                    text = self.disk.text(name, value)
                    if text is not None:
                        self.meaning[name] = FILES[name](text, self.edition)
                elif name == "profiling_options" and self.values.get("profiling_mode"):
                    self.meaning[name] = texts.profiling(value)
                elif name in OBJECTS and name != "distribute":
                    self.meaning[name] = value.get("arguments", {})
            except Bad as error:
                raise Refused("OPTION_FILE" if name in FILES else "OPTION_SYNTAX", name, str(error)) from None


def options(params):
    asked = Request(params)
    asked.read()
    defaults(asked)
    rules(asked)
    told(asked)
    return {
        "effective": asked.effective,
        "warnings": asked.warnings,
        "meaning": {name: value for name, value in asked.meaning.items() if name not in MEMORY},
        "directives": directives(asked),
        "notes": [{"option": name} for name in asked.advice],
    }


def defaults(asked):
    """The effective value of every option: given, of the environment, or the documents' default."""
    env, current, values = asked.env, asked.current, asked.values
    for name, (_, default, _, *inference) in asked.known.items():
        value = inference[0] if inference and asked.mode == 0 else default
        asked.effective[name] = {"value": value, "origin": "default"}
    if asked.runconfig:
        asked.effective["use_off_line"] = {"value": True, "origin": "forced"}
    asked.effective["debug_dir"]["value"] = "."
    if current:
        asked.effective["work_path"]["value"] = "."
    if "HOME" in env:
        asked.effective["op_compiler_cache_dir"]["value"] = env["HOME"] + "/atc_data"
    from_env = [("ASCEND_DEVICE_ID", "session_device_id", device_number)]
    if current:
        from_env += [
            ("HCCL_EXEC_TIMEOUT", "hccl_timeout", int), ("AOE_MODE", "aoe_mode", str),
            ("ASCEND_WORK_PATH", "debug_dir", str),
            ("ASCEND_CACHE_PATH", "op_compiler_cache_dir", lambda path: path + "/kernel_cache_host"),
        ]  # fmt: skip
    for variable, name, convert in from_env:
        if variable in env and name not in values:
            asked.effective[name] = {"value": convert(env[variable]), "origin": "environment"}
    for name, value in values.items():
        if BOUND.get(name, asked.mode) == asked.mode:
            asked.effective[name] = {"value": value, "origin": "given"}


def device_number(text):
    if not text.isdigit():
        raise Refused("OPTION_VALUE", "ASCEND_DEVICE_ID", "a device is a number from 0 on")
    return int(text)


def refuse(name, why):
    raise Refused("OPTION_CONFLICT", name, why)


def drop(asked, name, code):
    """What is given has no effect beside the rest."""
    if name in asked.values:
        asked.effective[name] = {"value": None, "origin": "default"}
        asked.warn(code, name)


def force(asked, name, value):
    if asked.effective[name]["value"] != value:
        asked.warn("overridden", name)
    asked.effective[name] = {"value": value, "origin": "forced"}


def rules(asked):
    values, mode = asked.values, asked.mode
    mixed = values.get("mix_compile_mode") is True
    if values.get("in_out_pair") and not mixed:
        refuse("in_out_pair", "in_out_pair needs mixed computing")
    if mixed and values.get("iterations_per_loop", 1) != 1:
        refuse("iterations_per_loop", "must be 1 in mixed computing")
    if values.get("variable_placement") == "Host" and not mixed:
        refuse("variable_placement", "Host needs mixed computing")
    scenarios(asked)
    precision(asked)
    shapes(asked, mixed)
    dumps(asked)
    cache(asked)
    timeouts(asked)
    if values.get("iterations_per_loop", 1) > 1 and not asked.effective["enable_data_pre_proc"]["value"]:
        asked.warn("incomplete", "enable_data_pre_proc")
        if "enable_data_pre_proc" not in values:
            asked.warnings.append({"option": "enable_data_pre_proc", "code": "incomplete"})
    if ("local_rank_id" in values) != ("local_device_list" in values):
        asked.warn("incomplete", "local_rank_id", "local_device_list")
    if asked.current and mode == 0 and values.get("enable_small_channel", 1) == 0:
        force(asked, "enable_small_channel", 1)
    if "input_fusion_size" in values:
        size = min(max(values["input_fusion_size"], 0), 33554432)
        if size != values["input_fusion_size"]:
            asked.effective["input_fusion_size"]["value"] = size
            asked.warn("adjusted", "input_fusion_size")
    if values.get("use_off_line") is False and len(values) > 1:
        asked.warn("no_effect", "use_off_line")
    if not asked.current and sum(texts.product(asked.effective[name]["value"]) for name in MEMORY) > 31 * GB:
        refuse("graph_memory_max_size", "graph and variable memory together are at most 31 GB")


def scenarios(asked):
    listed = {**LISTED, **(LISTED_003 if asked.current else {"enable_small_channel": 0})}
    for name, needs in (BOUND if asked.runconfig and asked.current else listed).items():
        if name in asked.values and needs is not None and needs != asked.mode:
            asked.warn("training_only" if needs else "inference_only", name)
    if asked.current and asked.values.get("precision_mode") == "force_fp16" and asked.mode == 1:
        asked.warn("inference_only", "precision_mode")
    if asked.current and asked.runconfig:
        asked.warn("deprecated", *sorted(DEPRECATED & set(asked.values)))
        asked.warn("experimental", *({"jit_compile", "experimental_config"} & set(asked.values)))
        if asked.mode == 1 and asked.values.get("enable_small_channel") == 1:
            asked.warn("advice", "enable_small_channel")
    if not asked.current and asked.mode == 0 and asked.values.get("enable_small_channel") == 0:
        asked.warn("advice", "enable_small_channel")
    if asked.runconfig and not asked.current:
        asked.warn("undocumented", "auto_tune_mode")
    if asked.values.get("op_compiler_cache_mode") == "force":
        asked.warn("advice", "op_compiler_cache_mode")
    if asked.values.get("op_debug_level", 0) not in (0, 3) and (asked.mode == 1 or asked.values["op_debug_level"] == 2):
        asked.warn("advice", "op_debug_level")


def precision(asked):
    values = asked.values
    chosen = values.get("precision_mode_v2", values.get("precision_mode"))
    if "precision_mode" in values and "precision_mode_v2" in values:
        refuse("precision_mode_v2", "cannot be used together with precision_mode")
    if "precision_mode_v2" in values:
        asked.effective["precision_mode"] = {"value": None, "origin": "default"}
    if chosen in ("must_keep_origin_dtype", "origin"):
        drop(asked, "customize_dtypes", "no_effect")
    if "modify_mixlist" in values and chosen not in MIXED:
        refuse("modify_mixlist", "needs mixed precision")
    types = asked.meaning.get("optypelist_for_implmode", [])
    if not set(types) <= IMPLEMENTED:
        asked.meaning["optypelist_for_implmode"] = [one for one in types if one in IMPLEMENTED]
        asked.warn("part_ignored", "optypelist_for_implmode")
    if "optypelist_for_implmode" in values and not {"op_select_implmode", "op_precision_mode"} & set(values):
        refuse("optypelist_for_implmode", "needs op_select_implmode")
    if "op_precision_mode" in values:
        drop(asked, "op_select_implmode", "overridden")
        drop(asked, "optypelist_for_implmode", "overridden")
        modes = asked.meaning.get("op_precision_mode", {})
        if any("keep_fp16" in by.values() for by in modes.values()):
            asked.warn("advice", "op_precision_mode")


def shapes(asked, mixed):
    values = asked.values
    parts = [name for name in ("input_shape", "dynamic_dims", "dynamic_node_type") if name in values]
    if asked.mode == 0 and parts:
        if len(parts) < 3:
            refuse("input_shape" if "input_shape" in parts else "dynamic_dims", "the three belong together")
        if mixed:
            refuse("input_shape", "profiles and mixed computing exclude each other")
        free = sum(sizes.count(-1) for sizes in asked.meaning["input_shape"].values())
        if any(len(profile) != free for profile in asked.meaning["dynamic_dims"]):
            refuse("dynamic_dims", f"a profile needs {free} sizes")
    dynamic = values.get("dynamic_input") is True
    if asked.current and values.get("compile_dynamic_mode") and (dynamic or (parts and asked.mode == 0)):
        refuse("compile_dynamic_mode", "cannot be used together with dynamic inputs")
    if not dynamic:
        drop(asked, "dynamic_graph_execute_mode", "no_effect")
        drop(asked, "dynamic_inputs_shape_range", "no_effect")
    elif parts and asked.mode == 0:
        drop(asked, "dynamic_inputs_shape_range", "overridden")
    elif values.get("dynamic_graph_execute_mode") == "lazy_recompile":
        asked.warn("undocumented", "dynamic_graph_execute_mode")
        drop(asked, "dynamic_inputs_shape_range", "overridden")
    elif "dynamic_graph_execute_mode" not in values:
        asked.warn("incomplete", "dynamic_input")
    engines = asked.values.get("stream_max_parallel_num", "")
    if any(name in engines for name in texts.ENGINES["legacy" if asked.current else "current"]):
        asked.warn("undocumented", "stream_max_parallel_num")


def dumps(asked):
    values = asked.values
    if values.get("enable_dump"):
        if not values.get("dump_path"):
            refuse("dump_path", "enable_dump needs dump_path")
        asked.disk.folder("dump_path", values["dump_path"])
    else:
        asked.warn("no_effect", "dump_path", "dump_step", "dump_mode")
    if values.get("profiling_mode"):
        output = asked.meaning.get("profiling_options", {}).get("output")
        if output:
            asked.disk.folder("profiling_options", output)
        options_told = asked.meaning.get("profiling_options", {})
        if asked.mode == 0 and "training_trace" in options_told:
            options_told["training_trace"] = "off"  # 002: online inference does not support it
        raw = json.loads(values.get("profiling_options", "{}"))
        if any(options_told[key] != value for key, value in raw.items()):
            asked.warn("adjusted", "profiling_options")
    else:
        asked.warn("no_effect", "profiling_options")
    if asked.current and "NPU_COLLECT_PATH" in asked.env:
        force(asked, "enable_exception_dump", 1)
    aoe = asked.effective.get("aoe_mode", {}).get("value")
    if "work_path" in values and aoe:
        asked.disk.folder("work_path", values["work_path"])
    if "aoe_config_file" in values:
        if not aoe:
            asked.warn("no_effect", "aoe_config_file")
        for feature, needs in (("deeper_opat", "2"), ("nonhomo_split", "1")):
            if feature in asked.meaning.get("aoe_config_file", {}).get("feature", []) and aoe != needs:
                refuse("aoe_config_file", f"{feature} needs aoe_mode {needs}")


def cache(asked):
    values, effective = asked.values, asked.effective
    level = values.get("op_debug_level", 0)
    debug = asked.meaning.get("op_debug_config", {})
    chosen = debug.get("op_debug_config", [])
    if "oom" in chosen and level == 2:
        refuse("op_debug_config", "oom cannot be used together with op_debug_level 2")
    if "oom" in chosen and "NPU_COLLECT_PATH" in asked.env:
        refuse("op_debug_config", "oom cannot be enabled while NPU_COLLECT_PATH is configured")
    off = level != 0 if asked.current else level not in (0, 3)
    if (off or (chosen and "op_debug_list" not in debug)) and effective["op_compiler_cache_mode"]["value"] != "disable":
        force(asked, "op_compiler_cache_mode", "disable")
    if values.get("op_compiler_cache_mode") == "disable":
        asked.warn("no_effect", "op_compiler_cache_dir")
    if not asked.runconfig and asked.current:
        for name in ("fusion_switch_file", "op_compiler_cache_dir"):
            if not re.fullmatch(PLAIN, values.get(name, ""), re.A):
                asked.warn("undocumented", name)
    switched = asked.meaning.get("fusion_switch_file", {})
    for section in switched.values():
        for name in STAY_ON & set(section):
            if section[name] == "off":
                section[name] = "on"
                asked.warn("part_ignored", "fusion_switch_file")
        if not set(section) <= KNOWN_PASSES | STAY_ON:
            asked.warn("part_ignored", "fusion_switch_file")
    if not set(asked.meaning.get("enable_scope_fusion_passes", ())) <= SCOPE_PASSES:
        asked.warn("part_ignored", "enable_scope_fusion_passes")
    if asked.current:
        limits, origin = cache_limits(asked)
        for name, value in zip(("max_op_cache_size", "remain_cache_size_ratio"), limits):
            effective[name] = {"value": value, "origin": origin}


def cache_limits(asked):
    folder = asked.effective["op_compiler_cache_dir"]["value"]
    body = asked.disk.files.get(posixpath.normpath(f"{folder}/op_cache.ini"))
    if isinstance(body, str):
        found = texts.op_cache(body)
        if found:
            return found, "file"
        asked.warn("file_ineffective", "op_compiler_cache_dir")
    size, ratio = asked.env.get("ASCEND_MAX_OP_CACHE_SIZE"), asked.env.get("ASCEND_REMAIN_CACHE_SIZE_RATIO")
    found = texts.cache_limits(size or "500", ratio or "50") if size or ratio else None
    return (found, "environment") if found else ((500, 50), "default")


def timeouts(asked):
    effective = asked.effective
    if not asked.current:
        return
    written = effective["hccl_timeout"]["value"]
    counted = max(68, written // 68 * 68)
    if counted != written:
        effective["hccl_timeout"]["value"] = counted
        asked.warn("adjusted", "hccl_timeout")
    wait = asked.values.get("stream_sync_timeout", -1)
    if wait != -1 and wait <= written * 1000:
        if int(asked.env.get("RANK_SIZE", "1")) > 1:
            refuse("stream_sync_timeout", "must be greater than hccl_timeout in a cluster")
        asked.warn("advice", "stream_sync_timeout")


def told(asked):
    """Options of which a document only advises something."""
    chosen = {**ADVICE_BOTH, **(ADVICE if asked.runconfig else {})}
    for name, when in sorted(chosen.items()):
        if name in asked.values and (when is None or asked.values[name] in when):
            asked.advice.append(name)


def directives(asked):
    """What graph compilation and the device are told."""
    value = {name: one["value"] for name, one in asked.effective.items()}
    debug = asked.meaning.get("op_debug_config", {}).get("op_debug_config", [])
    level = value["op_debug_level"] or 0
    engines = asked.meaning.get("stream_max_parallel_num", {})
    aicpu, aicore = (engines.get(name, 1) for name in texts.ENGINES[asked.edition])
    modes = asked.meaning.get("op_precision_mode", {})
    implementation = {"type": modes.get("ByOpType", {}), "name": modes.get("ByNodeName", {}), "others": None}
    if not modes and value["op_select_implmode"]:
        if "optypelist_for_implmode" in asked.values:
            types = asked.meaning["optypelist_for_implmode"]
            implementation["type"] = dict.fromkeys(types, value["op_select_implmode"])
        else:
            implementation["others"] = value["op_select_implmode"]
    memory = [texts.product(value[name]) if value.get(name) else None for name in sorted(MEMORY)]
    return {
        "buffer_optimize": "on" if value["buffer_optimize"] == "l2_optimize" else "off",
        "ccec": ["-O0"] * (level == 2 or "ccec_O0" in debug) + ["-g"] * (level == 2 or "ccec_g" in debug),
        "engines": {"AI_CPU": aicpu, "AI_Core": aicore},
        "implementation": implementation,
        "memory": dict(zip(("graph_bytes", "variable_bytes"), memory)),
        "shapes": shapes_told(asked, value),
        "timeouts": {
            name: value.get(option)
            for name, option in (
                ("hccl_seconds", "hccl_timeout"), ("op_wait_seconds", "op_wait_timeout"),
                ("op_execute_seconds", "op_execute_timeout"), ("stream_sync_milliseconds", "stream_sync_timeout"),
                ("event_sync_milliseconds", "event_sync_timeout"),
            )
            if option in value
        },
        "tuning": {"auto_tune": asked.meaning.get("auto_tune_mode", []), "aoe": value.get("aoe_mode")},
    }  # fmt: skip


def shapes_told(asked, value):
    if value.get("input_shape") and value.get("dynamic_dims"):
        told_shapes = {"kind": "profiles", "source": "placeholder" if value["dynamic_node_type"] else "dataset"}
        for number, profile in enumerate(asked.meaning["dynamic_dims"]):
            rest = iter(profile)
            told_shapes[f"profile {number}"] = {
                name: [next(rest) if size == -1 else size for size in sizes]
                for name, sizes in asked.meaning["input_shape"].items()
            }
        return told_shapes
    if value.get("dynamic_inputs_shape_range"):
        return {"kind": "ranges", **asked.meaning["dynamic_inputs_shape_range"]}
    return {"kind": "dynamic" if value.get("dynamic_input") or value.get("compile_dynamic_mode") else "fixed"}


FEATURES = ["options", "meaning", "directives", "advice"]


def hello(params):
    return {
        "protocol": 1,
        "backend": {"name": "independent options", "version": "1"},
        "capabilities": {"areas": ["options"], "editions": ["legacy", "current"], "features": FEATURES},
    }


METHODS = {"hello": hello, "options": options, "reset": lambda params: {}, "shutdown": lambda params: {}}


def answer(request):
    """The answer to one request of the protocol."""
    try:
        if request["method"] in METHODS:
            return {"id": request["id"], "ok": METHODS[request["method"]](request["params"])}
        return {"id": request["id"], "unsupported": {"feature": request["method"]}}
    except Refused as error:
        return {"id": request["id"], "rejected": error.body}


def main():
    for line in sys.stdin:
        try:
            request = json.loads(line)
            found = answer({"id": request["id"], "method": request["method"], "params": request["params"]})
        except (ValueError, KeyError, TypeError):
            request, found = {}, {"id": None, "error": {"message": "no request"}}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        if request.get("method") == "shutdown":
            return


if __name__ == "__main__":
    main()
