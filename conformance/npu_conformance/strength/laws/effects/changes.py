"""How a condition changes what is asked: values, files, the environment, the graph, what comes before."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from npu_conformance.files import resources
from npu_conformance.protocol import client
from npu_conformance.strength.laws.effects.request import HERE, Answer, EffectQuestion, Lay, Params

__all__ = [
    "DIRECTORIES", "FILES", "OF_DIRECTORIES", "OUTPUTS", "VARIABLES", "after_another", "after_steps", "by_environment",
    "choosing_nothing", "elsewhere", "everywhere", "from_last_step", "giving", "has_files", "in_inference",
    "is_divided", "is_refused", "lacking", "named_in_scope", "names_no_operator", "of_both", "on_both",
    "on_both_surfaces", "on_other_surface", "once", "other_order", "out_of_scope", "relative", "rewritten", "scoped",
    "setting", "spaced", "targeted", "with_other_first", "with_own_flow",
]  # fmt: skip


#: Options that documents 002 and 003 have for training alone, and one that they fix in online inference.
OF_TRAINING = frozenset({
    "aoe_mode", "auto_tune_mode", "distribute", "dump_debug_mode", "dump_step", "op_wait_timeout", "work_path",
    "enable_data_pre_proc", "enable_dump_debug", "enable_exception_dump", "enable_small_channel", "hccl_timeout",
    "hcom_parallel", "is_tailing_optimization", "iterations_per_loop", "op_execute_timeout", "variable_format_optimize",
})  # fmt: skip


def told(params: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """All values of a question: its own, and those of its turns and variants."""
    turns = [one.get("values") or {} for one in params.get("turns") or ()]
    return [params["values"], *turns, *(params.get("variants") or {}).values()]


def beside(given: Mapping[str, Any], params: Params) -> Dict[str, Any]:
    """The values and what else is given, of which nothing is for training alone beside online inference."""
    trains = all(one.get("graph_run_mode") != 0 for one in told(params))
    return {**{name: value for name, value in given.items() if trains or name not in OF_TRAINING}, **params["values"]}


def giving(values: Mapping[str, Mapping[str, Any]], files: Optional[Mapping[str, Any]] = None) -> Lay:
    """Gives values, by surface, and files; what is given already stays."""

    def lay(params: Params) -> Params:
        found = {**params, "values": beside(values[params["surface"]], params)}
        return {**found, "files": {**files, **params.get("files", {})}} if files else found

    return lay


def on_both(**values: Any) -> Mapping[str, Mapping[str, Any]]:
    return {"session": values, "runconfig": values}


def setting(env: Mapping[str, str], files: Optional[Mapping[str, Any]] = None) -> Lay:
    """Sets variables of the environment, and gives files."""

    def lay(params: Params) -> Params:
        found = {**params, "env": {**env, **params.get("env", {})}}
        return {**found, "files": {**files, **params.get("files", {})}} if files else found

    return lay


def of_both(first: Lay, second: Lay) -> Lay:
    return lambda params: second(first(params))


#: Options whose value is a directory, and whose value is a file.
DIRECTORIES = ("op_compiler_cache_dir", "debug_dir", "work_path")
FILES = ("fusion_switch_file", "op_debug_config", "aoe_config_file", "op_precision_mode")
OUTPUTS = ("profiling_options", "profiling_config")
_OUTPUT = re.compile(r'("output"\s*:\s*")(/[^"]*)(")')


def _paths(values: Any, options: Sequence[str], change: Callable[[str], str]) -> Any:
    """Values with other paths: of some options, and of a profile's output."""
    if isinstance(values, dict):
        return {
            name: change(one) if name in options and isinstance(one, str) else _paths(one, options, change)
            for name, one in values.items()
        }
    if isinstance(values, str):
        return _OUTPUT.sub(lambda found: found[1] + change(found[2]) + found[3], values)
    return values


def everywhere(params: Params, options: Sequence[str], change: Callable[[str], str]) -> Params:
    """A question with other paths in its options, in all turns and variants."""
    found = {**params, "values": _paths(params["values"], options, change)}
    if params.get("turns"):
        found["turns"] = [
            {**one, "values": _paths(one["values"], options, change)} if one.get("values") else one
            for one in params["turns"]
        ]
    if params.get("variants"):
        found["variants"] = _paths(params["variants"], options, change)
    return found


def _told_paths(params: Params) -> Set[str]:
    """The absolute paths that options of a question name."""
    found: Set[str] = set()

    def keep(path: str) -> str:
        found.add(path)
        return path

    everywhere(params, (*DIRECTORIES, *FILES), keep)
    return {path for path in found if path.startswith("/")}


def _of_files(params: Params, change: Callable[[str], str]) -> Params:
    """A question whose files have other names, in all turns."""

    def named(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            change(name): {**file, "link": change(file["link"])} if isinstance(file, dict) and "link" in file else file
            for name, file in files.items()
        }

    found = {**params, "files": named(params["files"])} if params.get("files") else dict(params)
    if params.get("turns"):
        found["turns"] = [{**one, "files": named(one["files"])} if one.get("files") else one for one in params["turns"]]
    return found


#: Variables that are a directory.
OF_DIRECTORIES = ("ASCEND_WORK_PATH", "ASCEND_CACHE_PATH", "NPU_COLLECT_PATH")


def relative(params: Params) -> Params:
    """With names that count from the current directory, which stands for the machine's root as well; variables' too."""
    env = params.get("env", {})
    named = {name: env[name] for name in OF_DIRECTORIES if env.get(name, "").startswith("/")}
    told = _told_paths(params) | set(named.values())
    found = everywhere(params, (*DIRECTORIES, *FILES), lambda path: path.lstrip("/"))
    if named:
        found["env"] = {**env, **{name: path.lstrip("/") for name, path in named.items()}}
    below = tuple(f"{path.rstrip('/')}/" for path in told)
    return _of_files(found, lambda name: name.lstrip("/") if name in told or f"{name}/".startswith(below) else name)


#: A folder whose name has every kind of character that documents 002 and 003 allow in paths.
_FOLDER = {"legacy": "Named_by-002.\u4e2d\u6587", "current": "Named_by-003.x"}


def elsewhere(params: Params) -> Params:
    """With every directory and file that an option names in a folder of another name."""
    folder, told = _FOLDER[params["edition"]], _told_paths(params)
    below = tuple(f"{path.rstrip('/')}/" for path in told)

    def change(path: str) -> str:
        return f"/{folder}{path}" if path.startswith("/") else path

    found = everywhere(params, (*DIRECTORIES, *FILES), change)
    found = _of_files(found, lambda name: change(name) if name in told or f"{name}/".startswith(below) else name)
    if any(one.get("damage") for one in found.get("turns") or ()):
        inside = tuple(one.lstrip("/") for one in below)
        found["turns"] = [
            {
                **turn,
                "damage": [
                    {**one, "files": f"{folder}/{one['files']}" if one["files"].startswith(inside) else one["files"]}
                    for one in turn.get("damage", ())
                ],
            }
            for turn in found["turns"]
        ]
    return found


def _turned_round(text: str) -> str:
    """A text of options with its lines in the opposite order, or the keys of its JSON."""
    try:
        return json.dumps(_reversed(json.loads(text)), indent=3)
    except ValueError:
        pass
    lines = [line for line in text.splitlines() if line.strip()]
    head = [line for line in lines if line.lstrip().startswith(("[", "#"))]
    return "\n".join([*head, *(line for line in reversed(lines) if line not in head)]) + "\n"


def _reversed(value: Any) -> Any:
    return {key: _reversed(value[key]) for key in reversed(list(value))} if isinstance(value, dict) else value


def other_order(params: Params) -> Params:
    """With files and values told in the opposite order."""
    return rewritten({**params, "values": _reversed(params["values"])}, _turned_round)


def rewritten(params: Params, change: Callable[[str], str]) -> Params:
    """With other texts in the files of configurations, in all turns."""

    def written(files: Mapping[str, Any]) -> Dict[str, Any]:
        return {
            name: change(text) if isinstance(text, str) and name.endswith((".cfg", ".json", ".ini")) else text
            for name, text in files.items()
        }

    found = dict(params)
    if params.get("files"):
        found["files"] = written(params["files"])
    if params.get("turns"):
        found["turns"] = [
            {**one, "files": written(one["files"])} if one.get("files") else one for one in params["turns"]
        ]
    return found


#: What collects nothing where it is neither on nor off.
_COLLECTORS = ("task_trace", "aicpu")


def choosing_nothing(params: Params) -> Params:
    """With an empty text for what a profile is not asked for."""

    def more(values: Mapping[str, Any]) -> Dict[str, Any]:
        found = lacking(values)
        chosen = {**json.loads(values["profiling_options"]), **dict.fromkeys(found, "")} if found else {}
        return {**values, "profiling_options": json.dumps(chosen)} if found else dict(values)

    found = {**params, "values": more(params["values"])}
    if params.get("variants"):
        found["variants"] = {name: more(values) for name, values in params["variants"].items()}
    return found


def lacking(values: Mapping[str, Any]) -> List[str]:
    """What the options of a session's profile do not say whether to collect."""
    try:
        told = json.loads(values.get("profiling_options", ""))
    except (TypeError, ValueError):
        return []
    return [name for name in _COLLECTORS if name not in told] if isinstance(told, dict) and "output" in told else []


def spaced(text: str) -> str:
    """A text of options with other white space: what JSON allows between its words, empty lines and ends of lines."""
    try:
        return json.dumps(json.loads(text), indent="\t").replace("\n", "\r\n")
    except ValueError:
        return "\n" + "".join(f"{line.strip()} \t\n\n" for line in text.splitlines())


def has_files(one: EffectQuestion) -> bool:
    """There is a file of configuration, whose own lines nothing asks for."""
    files = [*(one.params.get("files") or {}), *(name for turn in one.turns for name in turn.get("files") or {})]
    return any(name.endswith((".cfg", ".json", ".ini")) for name in files) and "op_cache.ini" not in one.said


def after_another(params: Params) -> Params:
    """After a program that had none of these values, and left nothing."""
    first, *rest = params.get("turns") or [{}]
    given = {**params["values"], **first.get("values", {})}
    quiet: Dict[str, Any] = {"op_compiler_cache_mode": "disable"}
    if params["surface"] == "runconfig":
        quiet["export_compile_stat"] = 0
    nothing = dict.fromkeys(quiet)
    before = {"values": {**dict.fromkeys(params["values"]), **quiet}}
    return {**params, "turns": [before, {**first, "values": {**nothing, **given}}, *rest]}


def _other_model() -> Params:
    return {
        "graph": os.path.join(resources.fixtures(), "graphs", "artifacts", "company.pbtxt"),
        "feeds": ["company/x:0", "company/y:0"],
        "fetches": ["company/most:0"],
    }


def in_inference(params: Params) -> Params:
    """In online inference; where no precision is given, with that of training."""
    given = beside(params["values"], {"values": {"graph_run_mode": 0}})
    if not {"precision_mode", "precision_mode_v2"} & set(given):
        given["precision_mode"] = "allow_fp32_to_fp16"
    return {**params, "values": given}


#: Options that documents 002 and 003 both have, with one meaning and the same values.
_ON_BOTH_SURFACES = frozenset({
    "buffer_optimize", "debug_dir", "dynamic_graph_execute_mode", "dynamic_input", "dynamic_inputs_shape_range",
    "enable_data_pre_proc", "enable_scope_fusion_passes", "enable_small_channel", "fusion_switch_file",
    "graph_run_mode", "hccl_timeout", "hcom_parallel", "is_tailing_optimization", "local_device_list", "local_rank_id",
    "mix_compile_mode", "op_compiler_cache_dir", "op_compiler_cache_mode", "op_debug_level", "op_select_implmode",
    "op_wait_timeout", "optypelist_for_implmode", "precision_mode", "session_device_id", "variable_format_optimize",
})  # fmt: skip

#: Options that the environment may say instead, with the variable.
VARIABLES: Mapping[str, str] = {"aoe_mode": "AOE_MODE", "session_device_id": "ASCEND_DEVICE_ID"}


def by_environment(params: Params) -> Params:
    """With what is given said by variables of the environment."""
    values = dict(params["values"])
    env = {variable: str(values.pop(option)) for option, variable in VARIABLES.items() if option in values}
    return {**params, "values": values, "env": {**params.get("env", {}), **env}}


def once(one: EffectQuestion) -> bool:
    """The question gives what the environment may say instead, and no turn or variant gives it otherwise.

    Document 003 sets AOE_MODE beside a training script, and says nothing of online inference (T38).
    """
    if "graph_run_mode" in one.options:
        return False
    laid = [*(turn.get("values") or {} for turn in one.turns), *(one.params.get("variants") or {}).values()]
    return bool(set(VARIABLES) & set(one.params["values"])) and not any(set(VARIABLES) & set(each) for each in laid)


#: Options of a session that NPURunConfig has as arguments of an object: option, class, and the arguments that they are.
_OBJECTS: Tuple[Tuple[str, str, Mapping[str, str]], ...] = (
    ("profiling_config", "ProfilingConfig",
     {"profiling_mode": "enable_profiling", "profiling_options": "profiling_options"}),
    ("dump_config", "DumpConfig", {name: name for name in ("enable_dump", "dump_path", "dump_step", "dump_mode")}),
)  # fmt: skip
_IN_OBJECTS = frozenset(name for _, _, arguments in _OBJECTS for name in arguments)
_OF_OBJECTS = frozenset(option for option, _, _ in _OBJECTS)
_OTHER_SURFACE = {"session": "runconfig", "runconfig": "session"}

#: Options whose default is another one on each surface: what they are by themselves is given there.
_BY_SURFACE: Mapping[str, Mapping[str, Any]] = {
    "session": {"enable_data_pre_proc": False},
    "runconfig": {"enable_data_pre_proc": True},
}


def of_other_surface(values: Mapping[str, Any], surface: str) -> Dict[str, Any]:
    """Values of a surface as the other one has them."""
    found = dict(values)
    for option, kind, arguments in _OBJECTS:
        if surface == "session":
            inside = {of: found.pop(name) for name, of in arguments.items() if name in found}
            if inside:
                found[option] = {"class": kind, "arguments": inside}
        elif option in found:
            inside = (found.pop(option) or {}).get("arguments", {})
            found.update({name: inside[of] for name, of in arguments.items() if of in inside})
    return found


def on_other_surface(params: Params) -> Params:
    """By NPURunConfig what a session has, and the other way round; a variant is given whole."""
    surface, base = params["surface"], beside(_BY_SURFACE[params["surface"]], params)
    found = {**params, "surface": _OTHER_SURFACE[surface], "values": of_other_surface(base, surface)}
    if params.get("turns"):
        found["turns"] = [
            {**one, "values": of_other_surface(one["values"], surface)} if one.get("values") else one
            for one in params["turns"]
        ]
    if params.get("variants"):
        found["variants"] = {
            name: _whole(found["values"], of_other_surface({**base, **values}, surface))
            for name, values in params["variants"].items()
        }
    return found


def _whole(base: Mapping[str, Any], values: Mapping[str, Any]) -> Dict[str, Any]:
    """What is laid over the values of a base so that these come of it."""
    return {**dict.fromkeys(base), **values}


def on_both_surfaces(one: EffectQuestion) -> bool:
    """Both documents have every option that the question gives, with one meaning; none names its field."""
    laid = told(one.params)
    plain = not any(isinstance(value, dict) and "class" not in value for values in laid for value in values.values())
    objects = _IN_OBJECTS if one.params["surface"] == "session" else _OF_OBJECTS
    in_turns = any(objects & set(turn.get("values") or {}) for turn in one.turns)
    alike = one.params["surface"] == "session" or all(map(_means_one_thing, laid))
    return plain and not in_turns and alike and one.options <= _ON_BOTH_SURFACES | objects


def _means_one_thing(values: Mapping[str, Any]) -> bool:
    """What document 003 says of these, document 002 says of a session, too."""
    modes = ("force_fp16", "must_keep_origin_dtype", "allow_mix_precision")
    for_training = values.get("graph_run_mode") == 0 and OF_TRAINING & set(of_other_surface(values, "runconfig"))
    return values.get("precision_mode", modes[0]) in modes and not for_training


def after_steps(params: Params) -> Params:
    """After a step that had none of these values, and one that had them all."""
    given = params["values"]
    variants = {name: {**given, **values} for name, values in (params.get("variants") or {}).items()}
    return {**params, "values": {}, "variants": {f"{HERE}-first": given, HERE: given, **variants}}


def from_last_step(answer: Answer) -> Answer:
    """The answer whose base is the step that came last of those with its values."""
    steps = dict(answer.get("variants", {}))
    steps.pop(f"{HERE}-first", None)
    base = steps.pop(HERE, {"rejected": _UNANSWERED})
    return {"base": base, **({"variants": steps} if steps else {})}


def is_refused(outcome: Optional[client.Outcome], divided: Optional[client.Outcome] = None) -> bool:
    """Whether anything is refused, of a program or a step that is asked for, too."""
    if not isinstance(outcome, client.Answered):
        return isinstance(outcome, client.Rejected)
    parts = [*outcome.ok.get("turns", ()), outcome.ok.get("base", {}), *outcome.ok.get("variants", {}).values()]
    return any("rejected" in part for part in parts)


def is_divided(outcome: Optional[client.Outcome], divided: Optional[client.Outcome]) -> bool:
    """Whether mixed computing makes of a graph anything but one GEOP, as far as the backend says."""
    if not isinstance(divided, client.Answered) or len(divided.ok["geops"]) != 1:
        return True
    return any(one.get("op", "_Arg") not in _ON_THE_HOST for one in divided.ok["host"])


#: What stays on the host of a graph that is one GEOP.
_ON_THE_HOST = frozenset({"_Arg", "_Retval", "Identity", "IteratorGetNext", "IteratorV2", "Placeholder"})


_OF_MODEL = ("graph", "feeds", "fetches", "shapes")


def with_other_first(params: Params) -> Params:
    """The model of the question is the second one of its session."""
    own = {key: params[key] for key in _OF_MODEL if key in params}
    others = {key: value for key, value in params.items() if key not in _OF_MODEL}
    return {**others, **_other_model(), "models": [own]}


def with_own_flow(graph: Any) -> None:
    """A variable, a text, a loop and a call of a function beside the graph, which nothing computes with: run as a
    target, on the host where that is asked for."""

    def add(name: str, op: str, *inputs: str, **types: int) -> Any:
        node = graph.node.add(name=f"{HERE}/{name}", op=op, input=[one.replace("/", f"{HERE}/") for one in inputs])
        for key, dtype in types.items():
            node.attr[key].type = dtype
        return node

    handle = add("variable", "VarHandleOp", dtype=_TYPES["float"])
    handle.attr["shape"].shape.dim.add(size=2)
    add("same", "Identity", "/variable", T=_TYPES["resource"])
    for name, dtype, value in (("text", "string", b"of nobody"), ("never", "bool", False), ("whole", "int", 7)):
        tensor = add(name, "Const", dtype=_TYPES[dtype]).attr["value"].tensor
        tensor.dtype = _TYPES[dtype]
        tensor.tensor_shape.SetInParent()
        getattr(tensor, f"{dtype}_val").append(value)
    add("enter", "Enter", "/never", T=_TYPES["bool"]).attr["frame_name"].s = HERE.encode()
    add("merge", "Merge", "/enter", "/next", T=_TYPES["bool"]).attr["N"].i = 2
    add("goes_on", "LoopCond", "/merge")
    add("switch", "Switch", "/merge", "/goes_on", T=_TYPES["bool"])
    add("body", "Identity", "/switch:1", T=_TYPES["bool"])
    add("next", "NextIteration", "/body", T=_TYPES["bool"])
    add("exit", "Exit", "/switch", T=_TYPES["bool"])
    function = graph.library.function.add()
    function.signature.name = f"{HERE}_same"
    for arguments, name in ((function.signature.input_arg, "x"), (function.signature.output_arg, "y")):
        arguments.add(name=name, type=_TYPES["int"])
    function.node_def.add(name="inner", op="Identity", input=["x"]).attr["T"].type = _TYPES["int"]
    function.ret["y"] = "inner:output:0"
    call = add("call", "PartitionedCall", "/whole")
    call.attr["f"].func.name = function.signature.name
    for key in ("Tin", "Tout"):
        call.attr[key].list.type.append(_TYPES["int"])
    add("target", "NoOp", "^/same", "^/exit", "^/call").attr["_without_npu_compile"].b = True


#: Types as protocol buffers count them.
_TYPES = {"float": 1, "int": 3, "string": 7, "bool": 10, "resource": 20}


def targeted(params: Params) -> Params:
    return {**params, "fetches": [*params["fetches"], f"{HERE}/target"]}


#: A name scope in letters of either case.
_SCOPE = f"{HERE}/Scope_1/"


def scoped(graph: Any) -> None:
    """Every operator in a name scope."""
    for node in graph.node:
        node.name = _SCOPE + node.name
        inputs = [f"^{_SCOPE}{one[1:]}" if one.startswith("^") else _SCOPE + one for one in node.input]
        del node.input[:]
        node.input.extend(inputs)
        if "_class" in node.attr:
            near = node.attr["_class"].list.s
            near[:] = [one.replace(b"loc:@", f"loc:@{_SCOPE}".encode()) for one in near]


def named_in_scope(params: Params) -> Params:
    found = dict(params)
    for key in ("feeds", "fetches"):
        if key in params:
            found[key] = [_SCOPE + one for one in params[key]]
    if "shapes" in params:
        found["shapes"] = {_SCOPE + name: shape for name, shape in params["shapes"].items()}
    if "faults" in params:
        found["faults"] = [{**one, "node": _SCOPE + one["node"]} if "node" in one else one for one in params["faults"]]
    return found


def out_of_scope(answer: Any) -> Any:
    """The answer without the scope before names; files are told by their bytes."""
    if isinstance(answer, dict):
        return {key: one if key in ("files", "left") else out_of_scope(one) for key, one in answer.items()}
    if isinstance(answer, list):
        return [out_of_scope(one) for one in answer]
    return answer[len(_SCOPE) :] if isinstance(answer, str) and answer.startswith(_SCOPE) else answer


def names_no_operator(one: EffectQuestion) -> bool:
    """No option or file names an operator; what does by its type does not matter."""
    files = [one.params.get("files") or {}, *(turn.get("files") or {} for turn in one.turns)]
    texts = "\n".join(text for each in files for text in each.values() if isinstance(text, str))
    return re.search(r"ByNodeName|op_debug_list|tune_ops_name|::(In|Out)put", texts) is None


_UNANSWERED = {"code": "NOT_ANSWERED", "subject": HERE, "message": "a variant that was asked for is not answered"}
