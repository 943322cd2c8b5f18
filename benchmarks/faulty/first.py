"""The first table: 89 mistakes, most of them of options."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List

from faulty.making import REFERENCE as _REFERENCE
from faulty.making import Answer, Params, broken
from faulty.making import facets as _facets
from faulty.making import plain as _plain
from faulty.making import to_host as _to_host
from faulty.making import with_values as _with
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def
from npu_reference.options import OPTIONS

# -- options: types and domains


@broken("options", "a bool is an int on the session surface")
def bool_is_an_int(ask: Any, params: Params) -> Answer:
    facets = _facets(params)
    found = {}
    for name, value in params["values"].items():
        plain = _plain(value)
        if params["surface"] == "session" and name in facets and facets[name].field == "i" and plain in (True, False):
            value = int(plain)
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "an int is a bool on the session surface")
def int_is_a_bool(ask: Any, params: Params) -> Answer:
    facets = _facets(params)
    found = {}
    for name, value in params["values"].items():
        plain = _plain(value)
        if params["surface"] == "session" and name in facets and facets[name].field == "b" and type(plain) is int:
            value = bool(plain)
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "a number in .i is read as the text of an option that takes .s")
def number_is_a_text(ask: Any, params: Params) -> Answer:
    facets = _facets(params)
    found = {}
    for name, value in params["values"].items():
        plain = _plain(value)
        if name in facets and facets[name].field == "s" and type(plain) is int and params["surface"] == "session":
            value = str(plain)
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "a float without a fraction is an int")
def whole_float_is_an_int(ask: Any, params: Params) -> Answer:
    found = {}
    for name, value in params["values"].items():
        plain = _plain(value)
        if type(plain) is float and plain == int(plain) and params["surface"] == "session":
            value = int(plain)
        found[name] = value
    return ask({**params, "values": found})


def _lenient(name: str, edition: str, surface: str, *values: Any) -> None:
    """Registers a backend that takes these values of an option as if nothing had been given."""

    def fault(ask: Any, params: Params) -> Answer:
        here = params["surface"] == surface and params["edition"] == edition
        if here and any(_plain(params["values"].get(name)) == value for value in values):
            given = _plain(params["values"][name])
            answer = ask(_with(params, **{name: None}))
            answer["effective"][name] = {"value": given, "origin": "given"}
            return answer
        return ask(params)

    fault.__name__ = f"takes_{name}_{surface}_{edition}"
    broken("options", f"{name} takes {values}")(fault)


_lenient("op_debug_level", "current", "session", 5, -1, 4711)
_lenient("dump_mode", "current", "session", "both", "ALL", "Output", "unknown", "none")
_lenient("op_wait_timeout", "current", "runconfig", 0, -1)
_lenient("op_execute_timeout", "current", "runconfig", 0, -1)
_lenient("stream_sync_timeout", "current", "runconfig", 0, -2)
_lenient("event_sync_timeout", "current", "runconfig", 0, -2)
_lenient("enable_exception_dump", "legacy", "session", 2)
_lenient("jit_compile", "current", "session", "yes", "True", "AUTO")
_lenient("aoe_mode", "current", "session", "3", "0", "5")
_lenient("dynamic_node_type", "current", "session", 2, -1)
_lenient("graph_run_mode", "current", "session", 2, -1, 3)


@broken("options", "numbers are read as Python reads them: 1_000, +5, full-width digits")
def numbers_of_python(ask: Any, params: Params) -> Answer:
    found = {}
    for name, value in params["values"].items():
        plain = _plain(value)
        texts = (
            "stream_max_parallel_num",
            "local_device_list",
            "graph_memory_max_size",
            "variable_memory_max_size",
            "dump_step",
            "input_shape",
            "dynamic_dims",
            "dynamic_inputs_shape_range",
        )
        if name in texts and isinstance(plain, str):
            value = plain.replace("_0", "0").replace("+", "")
            if isinstance(value, str) and "DNN" in plain:
                value = plain.replace("+", "").replace(":1_0", ":10")
        found[name] = value
    return ask({**params, "values": found})


@broken("options", "tuples are taken in in_out_pair as lists are")
def tuples_in_pairs(ask: Any, params: Params) -> Answer:
    text = _plain(params["values"].get("in_out_pair"))
    if isinstance(text, str) and "(" in text:
        return ask(_with(params, in_out_pair=text.replace("(", "[").replace(")", "]").replace(",]", "]")))
    return ask(params)


# -- options: what follows from a value


def _directive(name: str, change: Callable[[Any], Any], topic: str, surface: str = "runconfig") -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if params["surface"] == surface:
            answer["directives"][topic] = change(answer["directives"][topic])
        return answer

    fault.__name__ = name
    broken("options", name)(fault)


def _scaled(key: str) -> Callable[[Any], Any]:
    return lambda told: {**told, key: told[key] * 1000 if told.get(key) else told.get(key)}


_directive("hccl_timeout_in_milliseconds", _scaled("hccl_seconds"), "timeouts")
_directive("op_wait_timeout_in_milliseconds", _scaled("op_wait_seconds"), "timeouts")
_directive("op_execute_timeout_in_milliseconds", _scaled("op_execute_seconds"), "timeouts")
_directive("event_timeout_forgotten", lambda told: {**told, "event_sync_milliseconds": -1}, "timeouts")
_directive("stream_timeout_forgotten", lambda told: {**told, "stream_sync_milliseconds": -1}, "timeouts")
_directive("never_optimizes_buffers", lambda told: "off", "buffer_optimize")
_directive("always_optimizes_buffers", lambda told: "on", "buffer_optimize")
_directive("no_compiler_switches", lambda told: [], "ccec")
_directive("always_one_stream", lambda told: {"AI_CPU": 1, "AI_Core": 1}, "engines")
_directive("engines_swapped", lambda told: dict(zip(told, list(told.values())[::-1])), "engines")
_directive("no_implementation_mode", lambda told: {**told, "others": None}, "implementation")
_directive("no_implementation_by_type", lambda told: {**told, "type": {}}, "implementation")
_directive("no_implementation_by_name", lambda told: {**told, "name": {}}, "implementation")
_directive("no_tuning", lambda told: {**told, "aoe": None}, "tuning")
_directive("shapes_always_fixed", lambda told: {"kind": "fixed"}, "shapes")
_directive("memory_in_kilobytes", lambda told: {k: v // 1024 if v else v for k, v in told.items()}, "memory", "session")
_directive("session_aoe_is_lost", lambda told: {**told, "aoe": None}, "tuning", "session")
_directive("session_execute_timeout_lost", lambda told: {**told, "op_execute_seconds": None}, "timeouts", "session")


def _meaning(name: str, option: str, change: Callable[[Any], Any], surface: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        if params["surface"] == surface and option in answer["meaning"]:
            answer["meaning"][option] = change(answer["meaning"][option])
        return answer

    fault.__name__ = name
    broken("options", name)(fault)


def _first_section(told: Any) -> Any:
    return {key: told[key] for key in list(told)[:1]}


_meaning("session_switches_of_graph_fusion_only", "fusion_switch_file", _first_section, "session")
_meaning("session_white_list_forgotten", "modify_mixlist", _first_section, "session")
_meaning("session_precision_file_by_type_only", "op_precision_mode", lambda told: {**told, "ByNodeName": {}}, "session")
_meaning("session_profiles_of_one", "dynamic_dims", lambda told: told[:1], "session")
_meaning("session_dump_steps_of_one", "dump_step", lambda told: told[:1], "session")
_meaning("passes_of_one", "enable_scope_fusion_passes", lambda told: told[:1], "runconfig")
_meaning("devices_of_one", "local_device_list", lambda told: told[:1], "runconfig")
_meaning("one_debugged_operator", "op_debug_config", lambda told: {**told, "op_debug_list": {}}, "runconfig")


@broken("options", "the environment is never looked at on the session surface")
def session_ignores_environment(ask: Any, params: Params) -> Answer:
    return ask({**params, "env": {}} if params["surface"] == "session" else params)


@broken("options", "HCCL_EXEC_TIMEOUT wins over the option in a session")
def environment_wins_in_a_session(ask: Any, params: Params) -> Answer:
    if params["surface"] == "session" and "HCCL_EXEC_TIMEOUT" in params.get("env", {}):
        return ask(_with(params, hccl_timeout=None))
    return ask(params)


@broken("options", "ASCEND_DEVICE_ID wins over session_device_id")
def device_of_the_environment(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    if params.get("env", {}).get("ASCEND_DEVICE_ID") and "session_device_id" in params["values"]:
        answer["effective"]["session_device_id"] = {
            "value": int(params["env"]["ASCEND_DEVICE_ID"]),
            "origin": "environment",
        }
    return answer


@broken("options", "a default is told as if it had been given")
def defaults_are_given(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    for name in ("jit_compile", "stream_sync_timeout", "event_sync_timeout", "op_wait_timeout"):
        if name in answer["effective"] and answer["effective"][name]["origin"] == "default":
            answer["effective"][name]["origin"] = "given"
    return answer


def _default(option: str, value: Any, surface: str, edition: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        entry = answer["effective"].get(option)
        here = params["surface"] == surface and params["edition"] == edition
        if here and entry is not None and entry["origin"] == "default":
            entry["value"] = value
        return answer

    fault.__name__ = f"default_of_{option}_{surface}_{edition}"
    broken("options", f"the default of {option} is {value}")(fault)


_default("op_compiler_cache_mode", "disable", "session", "current")
_default("op_compiler_cache_mode", "enable", "session", "legacy")
_default("enable_exception_dump", 0, "session", "current")
_default("op_wait_timeout", None, "session", "current")
_default("dump_mode", "all", "session", "current")
_default("jit_compile", "true", "session", "current")
_default("input_fusion_size", 0, "session", "current")


@broken("options", "an unknown key is refused")
def unknown_keys_refused(ask: Any, params: Params) -> Answer:
    for name in params["values"]:
        if name not in OPTIONS and params["surface"] == "runconfig":
            raise NpuError("OPTION_VALUE", name, "unknown")
    return ask(params)


# -- partition


@broken("partition", "one branch of a v1 conditional's end goes to the host with all behind it")
def behind_a_merge_on_the_host(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    graph = _REFERENCE.graph(params)
    if not params["values"].get("mix_compile_mode"):
        return answer
    wired: Dict[str, List[str]] = {
        node.name: [i.lstrip("^").split(":")[0] for i in node.inputs] for node in graph.nodes
    }
    behind = {node.name for node in graph.nodes if node.op in ("Merge", "RefMerge")}
    for _ in wired:
        more = {name for name, reads in wired.items() if behind & set(reads)} - behind
        if not more:
            break
        behind |= more
    return _to_host(answer, behind)


def _of_op(name: str, sentence: str, *ops: str) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        graph = _REFERENCE.graph(params)
        return _to_host(answer, {node.name for node in graph.nodes if node.op in ops})

    fault.__name__ = name
    broken("partition", sentence)(fault)


_of_op("switch_on_the_host", "Switch stays on the host", "Switch")
_of_op("merge_on_the_host", "Merge stays on the host", "Merge")
_of_op("loops_on_the_host", "While stays on the host", "While", "StatelessWhile")
_of_op("if_on_the_host", "functional If stays on the host", "If", "StatelessIf")
_of_op("calls_on_the_host", "called functions stay on the host", "PartitionedCall", "StatefulPartitionedCall")
_of_op("frames_on_the_host", "v1 loops stay on the host", "Enter", "Exit", "NextIteration", "LoopCond")
_of_op("variables_on_the_host", "variables stay on the host", "VariableV2", "VarHandleOp", "ReadVariableOp")


@broken("partition", "borders are not told")
def no_borders(ask: Any, params: Params) -> Answer:
    return {**ask(params), "borders": []}


@broken("partition", "borders of one direction only")
def borders_down_only(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["borders"] = [one for one in answer["borders"] if one["direction"] != "d2d"]
    return answer


@broken("partition", "borders have the dtype float32 always")
def borders_are_float32(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["borders"] = [{**one, "dtype": "float32"} for one in answer["borders"]]
    return answer


@broken("partition", "GEOPs have neither arguments nor returns")
def no_signature(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "args": [], "rets": []} for one in answer["geops"]]
    return answer


@broken("partition", "constants are never copied")
def no_copies(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    answer["geops"] = [{**one, "copies": []} for one in answer["geops"]]
    return answer


@broken("partition", "the least number of GEOPs is their number")
def least_is_all(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    return {**answer, "min_geops": len(answer["geops"])}


@broken("partition", "the least number of GEOPs is one")
def least_is_one(ask: Any, params: Params) -> Answer:
    return {**ask(params), "min_geops": 1}


@broken("partition", "control edges order nothing")
def control_edges_dropped(ask: Any, params: Params) -> Answer:
    class Uncontrolled(ReferenceBackend):
        def graph(self, params: Params) -> Any:
            definition = super().graph(params).to_def()
            for node in definition.node:
                kept = [text for text in node.input if not text.startswith("^")]
                del node.input[:]
                node.input.extend(kept)
            return graph_from_def(definition)

    return Uncontrolled().partition(params)


@broken("partition", "every GEOP of a component is split at its largest fan-out: clusters are not merged")
def unmerged(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    found = copy.deepcopy(answer)
    found["geops"] = []
    for geop in answer["geops"]:
        if len(geop["nodes"]) > 3 and params["values"].get("mix_compile_mode"):
            middle = len(geop["nodes"]) // 2
            found["geops"] += [{**geop, "nodes": geop["nodes"][:middle]}, {**geop, "nodes": geop["nodes"][middle:]}]
        else:
            found["geops"].append(geop)
    return found


@broken("partition", "under policy adapter everything is as documented")
def adapter_as_documented(ask: Any, params: Params) -> Answer:
    return ask({**params, "policy": "documented"})


@broken("partition", "policy adapter never refuses")
def adapter_never_refuses(ask: Any, params: Params) -> Answer:
    try:
        return ask(params)
    except NpuError:
        if params.get("policy") == "adapter":
            return {"geops": [], "host": [], "borders": [], "min_geops": 0, "notes": []}
        raise


@broken("partition", "of several in_out_pair entries the last alone counts")
def last_pair_only(ask: Any, params: Params) -> Answer:
    text = params["values"].get("in_out_pair")
    if isinstance(text, str):
        try:
            entries = json.loads(text.replace("'", '"'))
            return ask(_with(params, in_out_pair=str(entries[-1:])))
        except (ValueError, TypeError):
            pass
    return ask(params)


# -- precision


def _moded(name: str, sentence: str, change: Callable[[Params], Params]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        return ask(change(params))

    fault.__name__ = name
    broken("precision", sentence)(fault)


def _mode_is(wanted: str, given: str, edition: str) -> Callable[[Params], Params]:
    def change(params: Params) -> Params:
        if params["edition"] == edition and params["values"].get("precision_mode") == given:
            return _with(params, precision_mode=wanted)
        return params

    return change


_moded(
    "legacy_force_fp16_is_allow", "force_fp16 of 002 is allow", _mode_is("allow_fp32_to_fp16", "force_fp16", "legacy")
)
_moded(
    "legacy_force_fp32_is_keep", "force_fp32 of 002 keeps", _mode_is("must_keep_origin_dtype", "force_fp32", "legacy")
)
_moded(
    "legacy_keep_is_allow",
    "must_keep of 002 is allow",
    _mode_is("allow_fp32_to_fp16", "must_keep_origin_dtype", "legacy"),
)
_moded("legacy_mix_is_force_fp16", "mixed of 002 forces", _mode_is("force_fp16", "allow_mix_precision", "legacy"))
_moded(
    "current_force_fp32_is_keep", "force_fp32 of 003 keeps", _mode_is("must_keep_origin_dtype", "force_fp32", "current")
)


def _precise(name: str, sentence: str, change: Callable[[Dict[str, Any], Params], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        answer = ask(params)
        answer["nodes"] = [change(node, params) or node for node in answer["nodes"]]
        return answer

    fault.__name__ = name
    broken("precision", sentence)(fault)


def _as_graph(node: Dict[str, Any], params: Params) -> Dict[str, Any]:
    graph = _REFERENCE.graph(params)
    at = graph.index.get(node["node"])
    if at is None:
        return node
    inputs = [one.base.name for one in graph.input_dtypes(at)]
    outputs = [one.base.name for one in graph.output_dtypes(at)]
    return {**node, "inputs": inputs, "outputs": outputs}


_precise(
    "functions_keep_their_dtypes",
    "what functions compute is never lowered",
    lambda node, params: (
        {
            **node,
            "inputs": [one.replace("float16", "float32") for one in node["inputs"]],
            "outputs": [one.replace("float16", "float32") for one in node["outputs"]],
        }
        if "/" in node["node"] and node["node"] not in _REFERENCE.graph(params).index
        else node
    ),
)
_precise(
    "vectors_keep_their_dtypes",
    "only cube operators are lowered by force_fp16",
    lambda node, params: (
        _as_graph(node, params) if node["engine"] == "vector" and "force_fp16" in str(params["values"]) else node
    ),
)
_precise(
    "merges_keep_their_dtypes",
    "Switch, Merge and loops have the graph's dtype",
    lambda node, params: (
        _as_graph(node, params) if node["op"] in ("Switch", "Merge", "Enter", "Exit", "NextIteration") else node
    ),
)
_precise(
    "variables_are_lowered",
    "variables are held in float16 under force_fp16",
    lambda node, params: (
        {**node, "outputs": ["float16" if one == "float32" else one for one in node["outputs"]]}
        if node["op"] in ("VariableV2", "ReadVariableOp") and "force_fp16" in str(params["values"])
        else node
    ),
)


@broken("precision", "no casts are told")
def no_casts(ask: Any, params: Params) -> Answer:
    return {**ask(params), "casts": []}


@broken("precision", "casts up are not told")
def no_casts_up(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    return {**answer, "casts": [one for one in answer["casts"] if one["from"] != "float16"]}


@broken("precision", "casts inside functions are not told")
def no_casts_in_functions(ask: Any, params: Params) -> Answer:
    answer = ask(params)
    index = _REFERENCE.graph(params).index
    return {**answer, "casts": [one for one in answer["casts"] if one["target"].rpartition(":")[0] in index]}


@broken("precision", "white to-add of a file is not looked at in the legacy edition")
def legacy_white_list_ignored(ask: Any, params: Params) -> Answer:
    path = params["values"].get("modify_mixlist")
    text = params.get("files", {}).get(path)
    if params["edition"] == "legacy" and isinstance(text, str):
        try:
            lists = json.loads(text)
            lists.get("white-list", {}).pop("to-add", None)
            return ask({**params, "files": {**params["files"], path: json.dumps(lists)}})
        except (ValueError, AttributeError):
            pass
    return ask(params)


@broken("precision", "the precision mode is not looked at where graph_run_mode is 0")
def inference_ignores_the_mode(ask: Any, params: Params) -> Answer:
    if params["values"].get("graph_run_mode") == 0:
        return ask(_with(params, precision_mode=None, precision_mode_v2=None))
    return ask(params)
