"""Options by the documents alone, in the standard library: a second implementation of the tables of 002 and 003.

It claims all of `options`: values (independent_tables), warnings, what texts and files mean (independent_texts), what
the device is told, and advice. Nothing of the suite or the reference is imported.
"""

import json
import posixpath
import re
import sys

import independent_tables as tables
import independent_texts as texts
from independent_texts import Bad, Refused

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


class Request:
    """One question: what is given, and what comes of it."""

    def __init__(self, params):
        self.surface, self.edition = params["surface"], params["edition"]
        self.current, self.runconfig = self.edition == "current", self.surface == "runconfig"
        self.env, self.disk = params.get("env", {}), texts.Disk(params.get("files"))
        self.known = tables.table(self.surface, self.edition)
        self.warnings, self.meaning, self.effective, self.advice = [], {}, {}, []
        self.values = self.given(params["values"])
        for name, keys in tables.SET_BY.items():
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
        if name in tables.UNSUPPORTED[self.edition] | tables.NEVER:
            self.warn("unsupported", name)
        elif self.current and self.runconfig and name in tables.MEMORY:
            self.warn("deprecated", name)
            self.warn("no_effect", name)
        elif name not in self.known:
            elsewhere = name in tables.TABLE_003 or name in tables.TABLE_002 or name in tables.OBJECTS
            self.warn("not_in_edition" if elsewhere else "unknown", name)
        else:
            return False
        return True

    def hold(self, name, value, field):
        kind, _, domain = self.known[name][:3]
        own = "o" if isinstance(value, dict) else tables.FIELDS.get(type(value))
        if own != kind or field not in (None, own) or (own == "o" and value.get("class") != tables.OBJECTS[name]):
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
                elif name in tables.OBJECTS and name != "distribute":
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
        "meaning": {name: value for name, value in asked.meaning.items() if name not in tables.MEMORY},
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
        if tables.BOUND.get(name, asked.mode) == asked.mode:
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
    sizes = [texts.product(asked.effective[name]["value"]) for name in tables.MEMORY if not asked.current]
    if sum(sizes) > 31 * tables.GB:
        refuse("graph_memory_max_size", "graph and variable memory together are at most 31 GB")


def scenarios(asked):
    listed = {**tables.LISTED, **(tables.LISTED_003 if asked.current else {"enable_small_channel": 0})}
    for name, needs in (tables.BOUND if asked.runconfig and asked.current else listed).items():
        if name in asked.values and needs is not None and needs != asked.mode:
            asked.warn("training_only" if needs else "inference_only", name)
    if asked.current and asked.values.get("precision_mode") == "force_fp16" and asked.mode == 1:
        asked.warn("inference_only", "precision_mode")
    if asked.current and asked.runconfig:
        asked.warn("deprecated", *sorted(tables.DEPRECATED & set(asked.values)))
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
    if "modify_mixlist" in values and chosen not in tables.MIXED:
        refuse("modify_mixlist", "needs mixed precision")
    types = asked.meaning.get("optypelist_for_implmode", [])
    if not set(types) <= tables.IMPLEMENTED:
        asked.meaning["optypelist_for_implmode"] = [one for one in types if one in tables.IMPLEMENTED]
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
            if not re.fullmatch(tables.PLAIN, values.get(name, ""), re.A):
                asked.warn("undocumented", name)
    switched = asked.meaning.get("fusion_switch_file", {})
    for section in switched.values():
        for name in tables.STAY_ON & set(section):
            if section[name] == "off":
                section[name] = "on"
                asked.warn("part_ignored", "fusion_switch_file")
        if not set(section) <= tables.KNOWN_PASSES | tables.STAY_ON:
            asked.warn("part_ignored", "fusion_switch_file")
    if not set(asked.meaning.get("enable_scope_fusion_passes", ())) <= tables.SCOPE_PASSES:
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
    chosen = {**tables.ADVICE_BOTH, **(tables.ADVICE if asked.runconfig else {})}
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
    memory = [texts.product(value[name]) if value.get(name) else None for name in sorted(tables.MEMORY)]
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
