"""The laws of effects in company: what a case asserts of files and of time holds beside what no document relates to it.

A condition is declared once: what it changes of a question, which questions it fits, and how an answer reads without
it. Cases are asked once more, each under several conditions at a time, and judged by their own goldens.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import posixpath
import re
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from npu_conformance.files import resources
from npu_conformance.judging import judge
from npu_conformance.library.library import Instance, Library
from npu_conformance.protocol import client
from npu_conformance.strength.laws.checks import Law
from npu_conformance.strength.laws.relations import conflicting
from npu_reference.graphs import load_graph, write_graph

__all__ = [
    "EFFECTS", "CONDITIONS", "Condition", "Kept", "Question", "asked_for", "effects", "fault", "fitting", "question",
    "questions", "read_back",
]  # fmt: skip

Params = Dict[str, Any]
Answer = Dict[str, Any]
_Fits = Callable[["Question"], bool]
_Lay = Callable[[Params], Params]
_Back = Callable[[Answer], Answer]

#: Where everything lies that conditions name: no case has anything there.
_HERE = "company"


class Question(NamedTuple):
    """A case as conditions look at it.

    Attributes:
        options: every option it gives a value, in whatever turn or variant.
        said: what it asserts, a line each; of what is observed in full the aspect and its subject.
    """

    instance: Instance
    params: Mapping[str, Any]
    options: FrozenSet[str]
    said: str

    @property
    def turns(self) -> Sequence[Mapping[str, Any]]:
        return self.params.get("turns") or [{}]

    @property
    def env(self) -> FrozenSet[str]:
        return frozenset(self.params.get("env", {})).union(*(one.get("env") or {} for one in self.turns))


class Condition(NamedTuple):
    """What is laid over a question.

    Attributes:
        name: as reports show it.
        sources: requirements or readings that say what it does, and so what it leaves alone.
        fits: whether no document relates it to what is asked.
        lay: the question under it.
        back: the answer without it; what it is given may be changed.
        places: of conditions that have a place in common one at most is laid.
        dear: laid only where it shows something new: more is compiled for it, or it hides how things are without it.
        fully: every detail of a case is asked under one of this name; its own, where nothing is said.
        roughly: laid over every option or file, and not over every detail: it costs many questions.
        moves: whether files lie elsewhere than they do by themselves.
        graph: what it changes in the graph's definition.
    """

    name: str
    sources: Tuple[str, ...]
    fits: _Fits
    lay: _Lay
    back: _Back
    places: Tuple[str, ...] = ()
    dear: bool = False
    fully: str = ""
    moves: bool = False
    graph: Optional[Callable[[Any], None]] = None
    roughly: bool = False

    @property
    def over(self) -> str:
        """Under which name every detail is asked; none where details are not."""
        return self.fully or ("" if self.dear or self.roughly else self.name)


class Kept(NamedTuple):
    """A question with the conditions that it is asked under, by name."""

    instance: Instance
    conditions: Tuple[str, ...]


def question(instance: Instance) -> Question:
    """A case's question as conditions look at it."""
    params, expect = instance.case.params, instance.case.expect
    laid = [params["values"], *(one.get("values") or {} for one in params.get("turns") or ())]
    laid += list((params.get("variants") or {}).values())
    said = [*expect.contains, *expect.forbid, *(line for group in expect.any_of for line in group), *expect.bounds]
    said += [f"{aspect}:{subject}" for aspect, subject in expect.observe]
    said += [f"compare {measure}" for measures in expect.compare.values() for measure in measures]
    return Question(instance, params, frozenset(name for one in laid for name in one), "\n".join(said))


# -- which questions fit ----------------------------------------------------------------------------------------------


def _all(*fits: _Fits) -> _Fits:
    return lambda one: all(each(one) for each in fits)


def _unlike(*options: str, said: str = "") -> _Fits:
    """None of the options is given, and nothing is said of what the pattern finds."""
    pattern = re.compile(said) if said else None
    return lambda one: one.options.isdisjoint(options) and (pattern is None or pattern.search(one.said) is None)


def _gives(*options: str) -> _Fits:
    return lambda one: not one.options.isdisjoint(options)


def _lacks(*variables: str) -> _Fits:
    return lambda one: one.env.isdisjoint(variables)


def _compiles(one: Question) -> bool:
    return one.instance.case.method == "compile"


def _tells_time(one: Question) -> bool:
    return one.instance.case.method == "timeline"


def _leaves_files(one: Question) -> bool:
    return one.instance.case.area == "artifacts"


def _tabled(one: Question) -> bool:
    """A document has its options: none has NPURunConfig's earlier table."""
    return (one.params["surface"], one.instance.edition) != ("runconfig", "legacy")


def _in_003(one: Question) -> bool:
    return (one.params["surface"], one.instance.edition) == ("runconfig", "current")


def _has_surface(surface: str) -> _Fits:
    return lambda one: (one.params["surface"], one.instance.edition) == (surface, "current")


def _has_session(one: Question) -> bool:
    return bool(one.params["surface"] == "session")


def _laid(one: Question) -> Sequence[Mapping[str, Any]]:
    return tuple((one.params.get("variants") or {}).values())


def _one_program(one: Question) -> bool:
    return len(one.turns) == 1 and not one.params.get("models")


def _accepted(one: Question) -> bool:
    return one.instance.case.expect.rejected is None


# -- how questions change ---------------------------------------------------------------------------------------------


def _giving(values: Mapping[str, Mapping[str, Any]], files: Optional[Mapping[str, Any]] = None) -> _Lay:
    """Gives values, by surface, and files; what is given already stays."""

    def lay(params: Params) -> Params:
        found = {**params, "values": {**values[params["surface"]], **params["values"]}}
        return {**found, "files": {**files, **params.get("files", {})}} if files else found

    return lay


def _on_both(**values: Any) -> Mapping[str, Mapping[str, Any]]:
    return {"session": values, "runconfig": values}


def _set(env: Mapping[str, str], files: Optional[Mapping[str, Any]] = None) -> _Lay:
    """Sets variables of the environment, and gives files."""

    def lay(params: Params) -> Params:
        found = {**params, "env": {**env, **params.get("env", {})}}
        return {**found, "files": {**files, **params.get("files", {})}} if files else found

    return lay


def _of_both(first: _Lay, second: _Lay) -> _Lay:
    return lambda params: second(first(params))


#: Options whose value is a directory, and whose value is a file.
_DIRECTORIES = ("op_compiler_cache_dir", "debug_dir", "work_path")
_FILES = ("fusion_switch_file", "op_debug_config", "aoe_config_file", "op_precision_mode")
_OUTPUTS = ("profiling_options", "profiling_config")
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


def _everywhere(params: Params, options: Sequence[str], change: Callable[[str], str]) -> Params:
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

    _everywhere(params, (*_DIRECTORIES, *_FILES), keep)
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
_OF_DIRECTORIES = ("ASCEND_WORK_PATH", "ASCEND_CACHE_PATH", "NPU_COLLECT_PATH")


def _relative(params: Params) -> Params:
    """With names that count from the current directory, which stands for the machine's root as well; variables' too."""
    env = params.get("env", {})
    named = {name: env[name] for name in _OF_DIRECTORIES if env.get(name, "").startswith("/")}
    told = _told_paths(params) | set(named.values())
    found = _everywhere(params, (*_DIRECTORIES, *_FILES), lambda path: path.lstrip("/"))
    if named:
        found["env"] = {**env, **{name: path.lstrip("/") for name, path in named.items()}}
    below = tuple(f"{path.rstrip('/')}/" for path in told)
    return _of_files(found, lambda name: name.lstrip("/") if name in told or f"{name}/".startswith(below) else name)


#: A folder whose name has every kind of character that documents 002 and 003 allow in paths.
_FOLDER = {"legacy": "Named_by-002.\u4e2d\u6587", "current": "Named_by-003.x"}


def _elsewhere(params: Params) -> Params:
    """With every directory and file that an option names in a folder of another name."""
    folder, told = _FOLDER[params["edition"]], _told_paths(params)
    below = tuple(f"{path.rstrip('/')}/" for path in told)

    def change(path: str) -> str:
        return f"/{folder}{path}" if path.startswith("/") else path

    found = _everywhere(params, (*_DIRECTORIES, *_FILES), change)
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


def _other_order(params: Params) -> Params:
    """With files and values told in the opposite order."""
    return _rewritten({**params, "values": _reversed(params["values"])}, _turned_round)


def _rewritten(params: Params, change: Callable[[str], str]) -> Params:
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


def _choosing_nothing(params: Params) -> Params:
    """With an empty text for what a profile is not asked for."""

    def more(values: Mapping[str, Any]) -> Dict[str, Any]:
        found = _lacking(values)
        chosen = {**json.loads(values["profiling_options"]), **dict.fromkeys(found, "")} if found else {}
        return {**values, "profiling_options": json.dumps(chosen)} if found else dict(values)

    found = {**params, "values": more(params["values"])}
    if params.get("variants"):
        found["variants"] = {name: more(values) for name, values in params["variants"].items()}
    return found


def _lacking(values: Mapping[str, Any]) -> List[str]:
    """What the options of a session's profile do not say whether to collect."""
    try:
        told = json.loads(values.get("profiling_options", ""))
    except (TypeError, ValueError):
        return []
    return [name for name in _COLLECTORS if name not in told] if isinstance(told, dict) and "output" in told else []


def _spaced(text: str) -> str:
    """A text of options with other white space: what JSON allows between its words, empty lines and ends of lines."""
    try:
        return json.dumps(json.loads(text), indent="\t").replace("\n", "\r\n")
    except ValueError:
        return "\n" + "".join(f"{line.strip()} \t\n\n" for line in text.splitlines())


def _has_files(one: Question) -> bool:
    """There is a file of configuration, whose own lines nothing asks for."""
    files = [*(one.params.get("files") or {}), *(name for turn in one.turns for name in turn.get("files") or {})]
    return any(name.endswith((".cfg", ".json", ".ini")) for name in files) and "op_cache.ini" not in one.said


def _after_another(params: Params) -> Params:
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


def _in_inference(params: Params) -> Params:
    """In online inference; where no precision is given, with that of training."""
    given = {"graph_run_mode": 0, **params["values"]}
    if not {"precision_mode", "precision_mode_v2"} & set(given):
        given["precision_mode"] = "allow_fp32_to_fp16"
    return {**params, "values": given}


#: Options that documents 002 and 003 both have, with one meaning in the current edition.
_ON_BOTH_SURFACES = frozenset({
    "buffer_optimize", "debug_dir", "dynamic_graph_execute_mode", "dynamic_input", "dynamic_inputs_shape_range",
    "enable_data_pre_proc", "enable_exception_dump", "enable_scope_fusion_passes", "enable_small_channel",
    "fusion_switch_file", "graph_run_mode", "hccl_timeout", "hcom_parallel", "is_tailing_optimization",
    "local_device_list", "local_rank_id", "mix_compile_mode", "modify_mixlist",
    "op_compiler_cache_dir", "op_compiler_cache_mode", "op_debug_level", "op_precision_mode", "op_select_implmode",
    "op_wait_timeout", "optypelist_for_implmode", "precision_mode", "session_device_id", "stream_max_parallel_num",
    "variable_format_optimize",
})  # fmt: skip

#: Options that the environment may say instead, with the variable.
_VARIABLES: Mapping[str, str] = {"aoe_mode": "AOE_MODE", "session_device_id": "ASCEND_DEVICE_ID"}


def _by_environment(params: Params) -> Params:
    """With what is given said by variables of the environment."""
    values = dict(params["values"])
    env = {variable: str(values.pop(option)) for option, variable in _VARIABLES.items() if option in values}
    return {**params, "values": values, "env": {**params.get("env", {}), **env}}


def _once(one: Question) -> bool:
    """The question gives what the environment may say instead, and no turn or variant gives it otherwise.

    Document 003 sets AOE_MODE beside a training script, and says nothing of online inference (T38).
    """
    if "graph_run_mode" in one.options:
        return False
    laid = [*(turn.get("values") or {} for turn in one.turns), *(one.params.get("variants") or {}).values()]
    return bool(set(_VARIABLES) & set(one.params["values"])) and not any(set(_VARIABLES) & set(each) for each in laid)


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


def _of_other_surface(values: Mapping[str, Any], surface: str) -> Dict[str, Any]:
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


def _on_other_surface(params: Params) -> Params:
    """By NPURunConfig what a session has, and the other way round; a variant is given whole."""
    surface, base = params["surface"], {**_BY_SURFACE[params["surface"]], **params["values"]}
    found = {**params, "surface": _OTHER_SURFACE[surface], "values": _of_other_surface(base, surface)}
    if params.get("turns"):
        found["turns"] = [
            {**one, "values": _of_other_surface(one["values"], surface)} if one.get("values") else one
            for one in params["turns"]
        ]
    if params.get("variants"):
        found["variants"] = {
            name: _whole(found["values"], _of_other_surface({**base, **values}, surface))
            for name, values in params["variants"].items()
        }
    return found


def _whole(base: Mapping[str, Any], values: Mapping[str, Any]) -> Dict[str, Any]:
    """What is laid over the values of a base so that these come of it."""
    return {**dict.fromkeys(base), **values}


def _on_both_surfaces(one: Question) -> bool:
    """Both documents have every option that the question gives, with one meaning; none names its field."""
    laid = [one.params["values"], *(turn.get("values") or {} for turn in one.turns)]
    laid += list((one.params.get("variants") or {}).values())
    plain = not any(isinstance(value, dict) and "class" not in value for values in laid for value in values.values())
    objects = _IN_OBJECTS if one.params["surface"] == "session" else _OF_OBJECTS
    in_turns = any(objects & set(turn.get("values") or {}) for turn in one.turns)
    return plain and not in_turns and one.options <= _ON_BOTH_SURFACES | objects


def _after_steps(params: Params) -> Params:
    """After a step that had none of these values, and one that had them all."""
    given = params["values"]
    variants = {name: {**given, **values} for name, values in (params.get("variants") or {}).items()}
    return {**params, "values": {}, "variants": {f"{_HERE}-first": given, _HERE: given, **variants}}


def _from_last_step(answer: Answer) -> Answer:
    """The answer whose base is the step that came last of those with its values."""
    steps = dict(answer.get("variants", {}))
    steps.pop(f"{_HERE}-first", None)
    base = steps.pop(_HERE, {"rejected": _UNANSWERED})
    return {"base": base, **({"variants": steps} if steps else {})}


_OF_MODEL = ("graph", "feeds", "fetches", "shapes")


def _with_other_first(params: Params) -> Params:
    """The model of the question is the second one of its session."""
    own = {key: params[key] for key in _OF_MODEL if key in params}
    others = {key: value for key, value in params.items() if key not in _OF_MODEL}
    return {**others, **_other_model(), "models": [own]}


def _with_own_flow(graph: Any) -> None:
    """A variable, a text, a loop and a call of a function beside the graph, which nothing computes with: run as a
    target, on the host where that is asked for."""

    def add(name: str, op: str, *inputs: str, **types: int) -> Any:
        node = graph.node.add(name=f"{_HERE}/{name}", op=op, input=[one.replace("/", f"{_HERE}/") for one in inputs])
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
    add("enter", "Enter", "/never", T=_TYPES["bool"]).attr["frame_name"].s = _HERE.encode()
    add("merge", "Merge", "/enter", "/next", T=_TYPES["bool"]).attr["N"].i = 2
    add("goes_on", "LoopCond", "/merge")
    add("switch", "Switch", "/merge", "/goes_on", T=_TYPES["bool"])
    add("body", "Identity", "/switch:1", T=_TYPES["bool"])
    add("next", "NextIteration", "/body", T=_TYPES["bool"])
    add("exit", "Exit", "/switch", T=_TYPES["bool"])
    function = graph.library.function.add()
    function.signature.name = f"{_HERE}_same"
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


def _targeted(params: Params) -> Params:
    return {**params, "fetches": [*params["fetches"], f"{_HERE}/target"]}


#: A name scope in letters of either case.
_SCOPE = f"{_HERE}/Scope_1/"


def _scoped(graph: Any) -> None:
    """Every operator in a name scope."""
    for node in graph.node:
        node.name = _SCOPE + node.name
        inputs = [f"^{_SCOPE}{one[1:]}" if one.startswith("^") else _SCOPE + one for one in node.input]
        del node.input[:]
        node.input.extend(inputs)
        if "_class" in node.attr:
            near = node.attr["_class"].list.s
            near[:] = [one.replace(b"loc:@", f"loc:@{_SCOPE}".encode()) for one in near]


def _named_in_scope(params: Params) -> Params:
    found = dict(params)
    for key in ("feeds", "fetches"):
        if key in params:
            found[key] = [_SCOPE + one for one in params[key]]
    if "shapes" in params:
        found["shapes"] = {_SCOPE + name: shape for name, shape in params["shapes"].items()}
    if "faults" in params:
        found["faults"] = [{**one, "node": _SCOPE + one["node"]} if "node" in one else one for one in params["faults"]]
    return found


def _out_of_scope(answer: Any) -> Any:
    """The answer without the scope before names; files are told by their bytes."""
    if isinstance(answer, dict):
        return {key: one if key in ("files", "left") else _out_of_scope(one) for key, one in answer.items()}
    if isinstance(answer, list):
        return [_out_of_scope(one) for one in answer]
    return answer[len(_SCOPE) :] if isinstance(answer, str) and answer.startswith(_SCOPE) else answer


def _names_no_operator(one: Question) -> bool:
    """No option or file names an operator; what does by its type does not matter."""
    files = [one.params.get("files") or {}, *(turn.get("files") or {} for turn in one.turns)]
    texts = "\n".join(text for each in files for text in each.values() if isinstance(text, str))
    return re.search(r"ByNodeName|op_debug_list|tune_ops_name|::(In|Out)put", texts) is None


# -- how answers are read ---------------------------------------------------------------------------------------------


def _told(answer: Answer) -> Iterator[Dict[str, Any]]:
    """What of an answer has files: turns, or steps, or a run."""
    if "turns" in answer:
        yield from answer["turns"]
    elif "base" not in answer:
        yield answer
    else:
        yield answer["base"]
        yield from answer.get("variants", {}).values()


def _copied(answer: Mapping[str, Any]) -> Answer:
    """An answer whose turns or steps may be changed, and nothing in them."""
    if "turns" in answer:
        return {**answer, "turns": [dict(one) for one in answer["turns"]]}
    if "base" not in answer:
        return dict(answer)
    variants = {name: dict(one) for name, one in answer.get("variants", {}).items()}
    return {**answer, "base": dict(answer["base"]), **({"variants": variants} if variants else {})}


def _same(answer: Answer) -> Answer:
    return answer


def _renamed(change: Callable[[str], Optional[str]]) -> _Back:
    """The answer with other names of files; one without a name is left out."""

    def back(answer: Answer) -> Answer:
        for one in _told(answer):
            for key in ("files", "left"):
                if one.get(key):
                    named = [(change(name), file) for name, file in one[key].items()]
                    one[key] = {name: file for name, file in named if name is not None}
        return answer

    return back


def _without(pattern: str) -> _Back:
    """The answer without the files whose name has the pattern."""
    search = re.compile(pattern).search
    return _renamed(lambda name: None if search(name) else name)


def _without_first(answer: Answer) -> Answer:
    return {**answer, "turns": answer["turns"][1:]}


def _without_other_model(answer: Answer) -> Answer:
    """Without kernels, and their files, of operators that the case's own model does not have."""
    for turn in answer["turns"]:
        own = [one for one in turn.get("kernels", ()) if one["nodes"] and _of_company(one["nodes"])]
        stems = tuple(one["kernel"] for one in own if one["kernel"])
        if own:
            turn["kernels"] = [one for one in turn["kernels"] if one not in own]
        if stems:
            for key in ("files", "left"):
                if turn.get(key):
                    turn[key] = {
                        name: file for name, file in turn[key].items() if not posixpath.basename(name).startswith(stems)
                    }
    return answer


def _of_company(nodes: Sequence[str]) -> bool:
    return all(node.startswith(f"{_HERE}/") for node in nodes)


# -- the conditions ---------------------------------------------------------------------------------------------------

_OWN = _without(rf"\A{_HERE}/(?!a/)")
_PROFILE = json.dumps({"output": f"/{_HERE}", "task_trace": "on", "aicpu": "on"})
_PROFILED: Mapping[str, Mapping[str, Any]] = {
    "session": {"profiling_mode": True, "profiling_options": _PROFILE},
    "runconfig": {
        "profiling_config": {
            "class": "ProfilingConfig",
            "arguments": {"enable_profiling": True, "profiling_options": _PROFILE},
        }
    },
}
_DUMP = {"enable_dump": True, "dump_path": f"/{_HERE}", "dump_mode": "all"}
_DUMPED: Mapping[str, Mapping[str, Any]] = {
    "session": _DUMP,
    "runconfig": {"dump_config": {"class": "DumpConfig", "arguments": _DUMP}},
}

#: Values that documents 002 and 003 give as defaults, those of both editions of a surface first.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "session": {
        "graph_run_mode": 1, "mix_compile_mode": False, "use_off_line": True, "op_debug_level": 0,
        "enable_dump": False, "profiling_mode": False, "iterations_per_loop": 1, "is_tailing_optimization": False,
        "enable_data_pre_proc": False, "dynamic_input": False, "buffer_optimize": "l2_optimize",
        "enable_small_channel": 0, "dump_mode": "output",
    },
    "session legacy": {
        "hcom_parallel": False, "variable_format_optimize": True, "enable_exception_dump": 0,
        "stream_max_parallel_num": "DNN_VM_TF:1,DNN_V100:1", "op_compiler_cache_mode": "disable",
        "graph_memory_max_size": "27917287424", "variable_memory_max_size": "5368709120",
    },
    "session current": {
        "hcom_parallel": True, "enable_exception_dump": 2, "op_wait_timeout": 120,
        "stream_max_parallel_num": "DNN_VM_AICPU:1,AIcoreEngine:1", "op_compiler_cache_mode": "enable",
    },
    "runconfig": {
        "graph_run_mode": 1, "mix_compile_mode": False, "export_compile_stat": 1, "external_weight": False,
        "op_debug_level": 0, "deterministic": 0, "jit_compile": "auto", "input_fusion_size": 131072,
        "iterations_per_loop": 1, "is_tailing_optimization": False, "enable_data_pre_proc": True,
        "op_compiler_cache_mode": "enable", "hcom_parallel": True, "buffer_optimize": "l2_optimize",
        "enable_small_channel": 0, "quant_dumpable": "0", "enable_exception_dump": 2, "variable_placement": "Device",
        "ac_parallel_enable": "0", "compile_dynamic_mode": False, "dynamic_input": False, "op_wait_timeout": 120,
        "stream_max_parallel_num": "DNN_VM_AICPU:1,AIcoreEngine:1", "graph_max_parallel_model_num": 1,
    },
}  # fmt: skip


def _with_defaults(params: Params) -> Params:
    """With what is not given given as its default, but for what documents relate to what is given."""
    surface, values = params["surface"], params["values"]
    turns = [one.get("values") or {} for one in [*(params.get("turns") or ()), *_variants(params)]]
    bears = set().union(*(conflicting(surface).names(one) for one in [values, *turns]))
    known = {**_DEFAULTS[surface], **_DEFAULTS.get(f"{surface} {params['edition']}", {})}
    return {**params, "values": {**{key: one for key, one in known.items() if key not in bears}, **values}}


def _variants(params: Params) -> List[Params]:
    return [{"values": one} for one in (params.get("variants") or {}).values()]


#: Engines that work in parallel, by the names that they have in an edition.
_SIDE_BY_SIDE: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "legacy": _on_both(stream_max_parallel_num="DNN_VM_TF:10,DNN_V100:2"),
    "current": {
        "session": {"stream_max_parallel_num": "DNN_VM_AICPU:10,AIcoreEngine:2"},
        "runconfig": {"stream_max_parallel_num": "DNN_VM_AICPU:10,AIcoreEngine:2", "ac_parallel_enable": "1"},
    },
}

#: Options of other subjects, which leave no file and change no kernel and no order.
_UNRELATED: Mapping[str, Mapping[str, Any]] = {
    "session": {
        "op_wait_timeout": 77, "graph_memory_max_size": str(20 * 1024**3), "variable_memory_max_size": str(8 * 1024**3),
        "hccl_timeout": 1700, "enable_exception_dump": 1,
    },
    "runconfig": {
        "op_wait_timeout": 77, "op_execute_timeout": 90, "event_sync_timeout": 60000, "hccl_timeout": 1700,
        "quant_dumpable": "1", "enable_exception_dump": 1, "input_fusion_size": 1024, "variable_placement": "Device",
    },
}  # fmt: skip

_OF_CACHE = ("op_compiler_cache_mode", "op_compiler_cache_dir")
_OF_KERNELS = ("op_debug_level", "op_debug_config", "debug_dir")
_OF_TUNING = ("aoe_mode", "work_path", "aoe_config_file", "auto_tune_mode")
_OF_PROFILES = ("profiling_mode", *_OUTPUTS)
_UNANSWERED = {"code": "NOT_ANSWERED", "subject": _HERE, "message": "a variant that was asked for is not answered"}
_CACHE = r"kernel_cache|op_cache|atc_data"
_TRACED = r"training_trace|forward|backward|updates|augmentation|aggregation"

#: Files of other options, about what no case has, or as it is by itself: of either age of documents.
_FILES_OF_OTHERS: Mapping[str, Any] = {
    f"/{_HERE}/files/op_precision.ini": "Nowhere=high_precision\n",
    f"/{_HERE}/files/fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"SoftmaxFusionPass": "on"}}}),
}
_SWITCHES = f"/{_HERE}/files/op_debug.cfg"
_NAMED_OF_OTHERS = dict(zip(("op_precision_mode", "fusion_switch_file"), _FILES_OF_OTHERS))

#: Files that lie in the folder of a program, and are nobody's: some called as files of the samples are, which no option
#: names.
_OF_NOBODY: Mapping[str, str] = {
    "kernel_meta/notes.txt": "{}\n",
    "fusion_result.txt": "{}\n",
    "op_precision.ini": "MatMulV2=high_precision\n",
    "fusion_switch.cfg": json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}),
    "test0.cfg": "op_debug_config = ccec_g,dump_cce\n",
    "tuning_config.cfg": json.dumps({"tune_ops_name": ["nowhere"]}),
    "ops_info.json": json.dumps({"black-list": {"to-add": ["MatMulV2"]}}),
}

#: In the order in which they are laid; what one gives, those after it leave alone.
CONDITIONS: Tuple[Condition, ...] = (
    *(
        Condition(
            name,  # with what is document 003's alone nothing can be laid beside it
            ("runconfig.mix_compile_mode.session_equivalence", "precision.g.session_same", "G16"),
            _all(_accepted, _has_surface(surface), _on_both_surfaces, _lacks("AOE_MODE"),
                 _unlike(said="fusion_result")),
            _on_other_surface,
            _same,
            ("results", "weights", "tuning"),
            fully="surface",
        )
        for name, surface in (("by NPURunConfig", "session"), ("by a session", "runconfig"))
    ),
    Condition(
        "by the environment",
        ("env.AOE_MODE.fallback", "env.ASCEND_DEVICE_ID.lower", "T14"),
        _all(_accepted, _in_003, _once, _lacks(*_VARIABLES.values())),
        _by_environment,
        _same,
        ("results", "weights", "tuning", "device"),
    ),
    Condition(
        "names of every kind of character",
        ("session.op_compiler_cache_dir.charset", "runconfig.op_compiler_cache_dir.charset", "B1"),
        _all(_accepted, _gives(*_DIRECTORIES, *_FILES, *_OUTPUTS)),
        _elsewhere,
        _renamed(lambda name: re.sub(r"\A(Named_by-00[23]\.[^/]+)/", "", name)),
    ),
    Condition(
        "relative names",
        ("runconfig.work_path.relative", "session.profiling_options.output.relative", "D8"),
        lambda one: not one.options.isdisjoint((*_DIRECTORIES, *_FILES, *_OUTPUTS))
        or not one.env.isdisjoint(_OF_DIRECTORIES),
        _relative,
        _same,
        dear=True,
    ),
    Condition(
        "slashes at the end",
        ("session.profiling_options.output.dest", "session.op_compiler_cache_dir.exists"),
        _all(_accepted, _gives(*_DIRECTORIES, *_OUTPUTS)),
        lambda params: _everywhere(params, _DIRECTORIES, lambda path: f"{path.rstrip('/')}/"),
        _same,
    ),
    Condition(
        "a cache of its own",
        ("session.op_compiler_cache_mode.enable", "session.op_compiler_cache_dir.created"),
        _all(_tabled, _one_program, _unlike(*_OF_CACHE, "op_debug_level", "op_debug_config", said=_CACHE)),
        _giving(_on_both(op_compiler_cache_mode="enable", op_compiler_cache_dir=f"/{_HERE}")),
        _OWN,
        ("kernels",),
        roughly=True,
    ),
    Condition(
        "kernel files of level 4",  # no cache beside it
        ("session.op_debug_level.4.files", "session.debug_dir.contents"),
        _all(
            _compiles, _tabled, _unlike(*_OF_KERNELS, *_OF_CACHE, said=rf"{_CACHE}|kernel_meta|reused|cached|kernels:")
        ),
        _giving(_on_both(op_debug_level=4, debug_dir=f"/{_HERE}")),
        _OWN,
        ("kernels",),
        roughly=True,
    ),
    Condition(
        "no cache",
        ("session.op_compiler_cache_mode.disable",),
        _all(_compiles, _tabled, _unlike(*_OF_CACHE, said=rf"{_CACHE}|reused|cached|kernels:")),
        _giving(_on_both(op_compiler_cache_mode="disable")),
        _same,
        ("kernels",),
        roughly=True,
    ),
    Condition(
        "a directory for files of debugging",
        ("session.debug_dir.contents",),
        _all(_tabled, _unlike(*_OF_KERNELS, said="kernel_meta")),
        _giving(_on_both(debug_dir=f"/{_HERE}")),
        _OWN,
        moves=True,
    ),
    Condition(
        "fusion results at once",
        ("runconfig.export_compile_stat.2",),
        _all(_in_003, _unlike("export_compile_stat", said="fusion_result")),
        _giving(_on_both(export_compile_stat=2)),
        _without(r"(\A|/)fusion_result\.json\Z"),
        ("results",),
        roughly=True,
    ),
    Condition(
        "no fusion results",
        ("runconfig.export_compile_stat.0",),
        _all(_compiles, _in_003, _unlike("export_compile_stat", said="fusion_result")),
        _giving(_on_both(export_compile_stat=0)),
        _same,
        ("results",),
        roughly=True,
    ),
    Condition(
        "weights in files",
        ("runconfig.external_weight.true_all_const", "runconfig.external_weight.numerics"),
        _all(_in_003, _unlike("external_weight", said="constant|weight")),
        _giving(_on_both(external_weight=True)),
        _without(r"(\A|/)tmp_weight_"),
        ("weights",),
        roughly=True,
    ),
    Condition(
        "a profile",
        ("session.profiling_mode.true", "session.profiling_options.output.dest"),
        _all(_tabled, _leaves_files, _unlike(*_OF_PROFILES, "iterations_per_loop", said="profile")),
        _giving(_PROFILED, {f"/{_HERE}/": ""}),
        _OWN,
    ),
    Condition(
        "tuning",  # of what is compiled afterwards
        ("runconfig.aoe_mode.2", "runconfig.work_path.contents", "T26"),
        _all(_in_003, _one_program, _lacks("AOE_MODE"), _unlike(*_OF_TUNING, said="tun|speed|repository")),
        _giving(_on_both(aoe_mode="2", work_path=f"/{_HERE}"), {f"/{_HERE}/": ""}),
        _OWN,
        ("tuning",),
        roughly=True,
    ),
    Condition(
        "dumps",
        ("session.enable_dump.true", "session.dump_path.precreated"),
        _all(_tabled, _unlike("enable_dump", "dump_config", "dump_path")),
        _giving(_DUMPED, {f"/{_HERE}/": ""}),
        _OWN,
    ),
    Condition(
        "online inference",  # with the precision of training; what documents list for training alone is left out
        ("session.graph_run_mode.0", "A6", "A28"),
        _all(
            _tabled,
            _lacks("AOE_MODE"),
            _unlike(
                "graph_run_mode", "iterations_per_loop", "enable_small_channel", "variable_format_optimize",
                "hcom_parallel", "is_tailing_optimization", "enable_data_pre_proc",
                "hccl_timeout", "op_wait_timeout", "op_execute_timeout", *_OF_TUNING, said=_TRACED,
            ),
        ),
        _in_inference,
        _same,
        ("mode",),
        fully="mode",
    ),
    Condition(
        "mixed computing",  # of what the device computes anyway; a graph in pieces has copies of its own
        ("session.mix_compile_mode.true",),
        _all(
            _tabled,
            _unlike(
                "mix_compile_mode", "use_off_line", "iterations_per_loop", "input_shape", "dynamic_dims",
                said=r"\bmoved",
            ),
        ),
        _giving(_on_both(mix_compile_mode=True)),
        _same,
        ("mixed",),
        fully="mixed",
    ),
    Condition(
        "the third device",
        ("session.session_device_id.effect", "session.session_device_id.over_env"),
        _all(_tabled, _lacks("ASCEND_DEVICE_ID"), _unlike("session_device_id", "local_rank_id", said="ran_on")),
        _of_both(_giving(_on_both(session_device_id=3)), _set({"ASCEND_DEVICE_ID": "5"})),
        _same,
        ("device",),
    ),
    Condition(
        "a launched rank",
        ("T51",),
        _all(
            lambda one: "ranks" not in one.params,
            _lacks("RANK_ID", "RANK_SIZE", "DEVICE_ID"),
            _unlike("local_rank_id", said=r"ran_on|\bdevice \d"),
        ),
        _set({"RANK_SIZE": "1", "RANK_ID": "0", "DEVICE_ID": "3", "JOB_ID": "10087"}),
        _same,
    ),
    Condition(
        "a work path in the environment",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.debug_dir.priority", "files.fusion_result.path_env"),
        _lacks("ASCEND_WORK_PATH"),
        _set({"ASCEND_WORK_PATH": f"/{_HERE}/a"}, {f"/{_HERE}/a/": ""}),
        _renamed(lambda name: re.sub(rf"\A{_HERE}/a/(FE/\d+/?)?", "", name)),
        moves=True,
    ),
    Condition(
        "a cache path in the environment",
        ("runconfig.op_compiler_cache_dir.priority",),
        _all(_gives("op_compiler_cache_dir"), _lacks("ASCEND_CACHE_PATH")),
        _set({"ASCEND_CACHE_PATH": f"/{_HERE}/c"}),
        _same,
        moves=True,
    ),
    Condition(
        "another home",
        ("runconfig.op_compiler_cache_dir.priority", "session.op_compiler_cache_dir.default"),
        _all(_one_program, _lacks("HOME")),
        _set({"HOME": f"/{_HERE}/h"}),
        _without(rf"\A{_HERE}/h/"),
        moves=True,
    ),
    Condition(
        "a path of collections",  # oom is refused beside it
        ("env.NPU_COLLECT_PATH.uses", "D31"),
        _all(_compiles, _lacks("NPU_COLLECT_PATH"), _unlike("op_debug_config", said="kernel_meta")),
        _set({"NPU_COLLECT_PATH": f"/{_HERE}/n"}),
        _without(rf"(\A|/)kernel_meta/|\A{_HERE}/n(/|\Z)"),
    ),
    Condition(
        "a folder with files of others",
        ("C15", "D30", "runconfig.fusion_switch_file.default", "runconfig.op_debug_config.default"),
        lambda one: True,
        lambda params: {**params, "files": {**_OF_NOBODY, **params.get("files", {})}},
        _renamed(lambda name: None if name in _OF_NOBODY else name),
    ),
    Condition(
        "an earlier program",
        ("files.fusion_result.keys", "session.op_compiler_cache_mode.disable"),
        _all(_compiles, _accepted, _tabled, _unlike(said="size")),
        _after_another,
        _without_first,
        dear=True,
    ),
    Condition(
        "a killed program",
        ("runconfig.export_compile_stat.1", "D26"),
        _all(_compiles, _unlike(said=r"\bleft|fusion_result|\bin \S|contents|repository")),
        lambda params: {**params, "turns": [{**one, "ends": "killed"} for one in params.get("turns") or [{}]]},
        _same,
    ),
    Condition(
        "another model before",
        ("runconfig.external_weight.sharing", "D18"),
        _all(_compiles, lambda one: not one.params.get("models"),
             _unlike(said=r"fusion_result|filler|reused none compiled none")),
        _with_other_first,
        _without_other_model,
        ("graph", "names"),
        dear=True,
    ),
    Condition(
        "steps before",  # what the device is to do wrong may be of an operator that is on the host without them
        ("session.session_device_id.per_session",),
        _all(_tells_time, _accepted, lambda one: not ("mix_compile_mode" in one.options and "faults" in one.params)),
        _after_steps,
        _from_last_step,
        dear=True,
        fully="steps",
    ),
    Condition(
        "a variable, a text, a loop and a call in the graph",
        ("mixed.default.full_offload", "M2", "M4"),
        _all(lambda one: bool(one.params.get("fetches")) and not one.params.get("models"),
             _unlike("external_weight", "variable_memory_max_size", "graph_memory_max_size", said="constant|weight")),
        _targeted,
        _same,
        ("graph",),
        graph=_with_own_flow,
    ),
    Condition(
        "a name scope around the graph",
        ("files.customize_dtypes.name_with_slash", "in_out_pair.names_no_port"),
        _all(lambda one: one.instance.case.method != "run" and not one.params.get("models"), _accepted,
             _names_no_operator,
             _unlike("in_out_pair", "input_shape", "dynamic_dims", "enable_scope_fusion_passes", *_OF_TUNING,
                     *_OF_PROFILES, said=r"Scope\w+Pass|profile|passes:")),
        _named_in_scope,
        _out_of_scope,
        ("names",),
        graph=_scoped,
    ),
    Condition(
        "another order",
        ("session.table.unlisted_reserved", "files.op_debug_cfg.line", "files.op_cache_ini.section"),
        lambda one: True,
        _other_order,
        _same,
    ),
    Condition(
        "white space in files",
        ("files.mixlist.current.is_json", "files.fusion_switch.current.grammar", "P22"),
        _has_files,
        lambda params: _rewritten(params, _spaced),
        _same,
    ),
    Condition(
        "an empty choice in a profile",
        ("session.profiling_options.task_trace.junk_is_off", "session.profiling_options.aicpu.junk_is_off"),
        _all(_accepted, _has_session, lambda one: any(map(_lacking, (one.params["values"], *_laid(one))))),
        _choosing_nothing,
        _same,
    ),
    Condition(
        "files of other options",
        ("runconfig.op_precision_mode.file", "files.fusion_switch.current.missing_section", "P23"),
        _all(_tabled, _unlike(*_NAMED_OF_OTHERS, "op_select_implmode", "optypelist_for_implmode")),
        _giving(_on_both(**_NAMED_OF_OTHERS), _FILES_OF_OTHERS),
        _OWN,
        ("implementation",),
        roughly=True,
    ),
    Condition(
        "another implementation of operators",  # of what is compared with itself
        ("session.op_select_implmode.high_precision",),
        _all(_tabled, lambda one: one.instance.case.method != "run",
             _unlike("op_precision_mode", "op_select_implmode", "optypelist_for_implmode", said="tun|reused|cached")),
        _giving(_on_both(op_select_implmode="high_precision")),
        _same,
        ("implementation",),
        roughly=True,
    ),
    Condition(
        "a pass for scopes that there are none of",
        ("session.enable_scope_fusion_passes.grammar", "session.enable_scope_fusion_passes.default"),
        _all(_tabled, _unlike("enable_scope_fusion_passes", said=r"Scope\w+Pass|passes:")),
        _giving(_on_both(enable_scope_fusion_passes="ScopeClipBoxesPass")),
        _same,
    ),
    Condition(
        "switches of the kernel compiler",  # no cache beside them
        ("runconfig.op_debug_config.ccec_g", "runconfig.op_compiler_cache_mode.debug_cfg_no_list"),
        _all(_compiles, _in_003,
             _unlike(*_OF_KERNELS, *_OF_CACHE, said=rf"{_CACHE}|kernel_meta|reused|cached|kernels:")),
        _giving(_on_both(op_debug_config=_SWITCHES), {_SWITCHES: "op_debug_config = ccec_g\n"}),
        _OWN,
        ("kernels",),
    ),
    Condition(
        "iterations on the device",  # of what is compiled: who starts a step is another matter
        ("runconfig.iterations_per_loop.example", "runconfig.iterations_per_loop.effect"),
        _all(_compiles, _in_003, _accepted,
             _unlike("iterations_per_loop", "mix_compile_mode", "graph_run_mode", "enable_data_pre_proc",
                     "dynamic_input", *_OF_PROFILES)),
        _giving(_on_both(iterations_per_loop=1000)),
        _same,
        ("mode", "mixed"),
        roughly=True,
    ),
    Condition(
        "options of other subjects",
        ("session.op_wait_timeout.scope", "runconfig.quant_dumpable.0"),
        _all(_tabled, lambda one: "faults" not in one.params,
             _unlike("graph_run_mode", "hccl_timeout", "stream_sync_timeout", "graph_memory_max_size",
                     "variable_memory_max_size", said="moved|transfers|memory|exception_dump")),
        _giving(_UNRELATED),
        _same,
    ),
    Condition(
        "input shapes that are generalised",
        ("runconfig.compile_dynamic_mode.true",),
        _all(_compiles, _in_003, _accepted,
             _unlike("compile_dynamic_mode", "jit_compile", "dynamic_input", "input_shape", "op_debug_config",
                     "op_debug_level", *_OF_TUNING, said=r"reused|cached|kernels:|UBFusion|ub_fusion")),
        _giving(_on_both(compile_dynamic_mode=True)),
        _same,
        ("kernels",),
        roughly=True,
    ),
    Condition(
        "deterministic computing",  # slower, but of each step that is compared
        ("runconfig.deterministic.1", "runconfig.deterministic.perf"),
        _all(_in_003, _unlike("deterministic")),
        _giving(_on_both(deterministic=1)),
        _same,
    ),
    Condition(
        "engines side by side",  # of what is compiled: when it runs is another matter
        ("session.stream_max_parallel_num.effect", "runconfig.ac_parallel_enable.streams"),
        _all(_compiles, _tabled, _unlike("stream_max_parallel_num", "ac_parallel_enable")),
        lambda params: _giving(_SIDE_BY_SIDE[params["edition"]])(params),
        _same,
    ),
    Condition(
        "gradients that are merged late",
        ("session.is_tailing_optimization.true", "session.hcom_parallel.true"),
        _all(_compiles, _tabled, _unlike("is_tailing_optimization", "hcom_parallel", "graph_run_mode")),
        _giving(_on_both(is_tailing_optimization=True, hcom_parallel=True)),
        _same,
        ("mode",),
        roughly=True,
    ),
    Condition(
        "formats of variables that are kept",  # which kernels convert them is not said
        ("session.variable_format_optimize.false",),
        _all(_compiles, _tabled,
             _unlike("variable_format_optimize", "graph_run_mode", said=r"reused|cached|kernels:|compiled")),
        _giving(_on_both(variable_format_optimize=False)),
        _same,
        ("mode",),
        roughly=True,
    ),
    Condition(
        "defaults that are given",
        ("session.graph_run_mode.default", "runconfig.export_compile_stat.default"),
        _tabled,
        _with_defaults,
        _same,
    ),
)  # fmt: skip


def _second(params: Params) -> Params:
    """What the question gives is given in the second of two programs, the first of which gives nothing."""
    given = {key: params[key] for key in ("values", "env") if params.get(key)}
    return {**params, "values": {}, "env": {}, "turns": [{}, given]}


#: What is refused is so in a later program, too; nothing else is laid over it.
SECOND = Condition(
    "in the second of two programs",
    ("session.table.unlisted_reserved",),
    _all(_compiles, lambda one: not _accepted(one)),
    _second,
    _same,
)
_OF = {one.name: one for one in (*CONDITIONS, SECOND)}


#: What runs are asked under: whatever else that changes is left, and leaves values, errors and dumps alone.
_OF_RUNS = frozenset({
    "by NPURunConfig", "by a session", "a cache of its own", "a directory for files of debugging", "weights in files",
    "online inference", "a work path in the environment", "a cache path in the environment", "another home",
    "a folder with files of others", "another order", "white space in files", "files of other options",
    "options of other subjects", "deterministic computing", "defaults that are given", "a launched rank", "tuning",
    "dumps", "a variable, a text, a loop and a call in the graph",
})  # fmt: skip


def fitting(asked: Question) -> List[Condition]:
    """The conditions that no document relates to a question."""
    runs = asked.instance.case.method == "run"
    return [one for one in CONDITIONS if (not runs or one.name in _OF_RUNS) and one.fits(asked)]


def effects(instance: Instance) -> FrozenSet[str]:
    """What a case is about: the options and files of its requirements, each with the method that shows it."""
    found = set()
    for requirement in instance.case.requirements:
        room, subject, *_ = requirement.split(".")
        found.add(f"{instance.case.method} {subject if room in ('session', 'runconfig') else room + '.' + subject}")
    return frozenset(found)


def details(instance: Instance) -> FrozenSet[str]:
    """What of its effects a case is about: a value, a mode, an order; a step that ends in an error is another."""
    ends = any(_ENDS.match(line) for line in instance.case.expect.contains)
    return frozenset(".".join(one.split(".")[1:3]) + ", in an error" * ends for one in instance.case.requirements)


#: How a case says that a step ends in an error.
_ENDS = re.compile(r"ended \S+ [A-Z]")


def usable(library: Library, draw: str = "0") -> List[Instance]:
    """The cases that may be asked under conditions, cheap ones first, and those of a price in an order of a draw."""
    found = [
        one
        for one in library.instances()
        if one.case.method in _METHODS and one.case.level == "must" and not one.twin and not _is_own(one)
    ]
    return sorted(found, key=lambda one: (_price(one), _digest(draw, one.id)))


_METHODS = ("compile", "timeline", "run")


def _is_own(one: Instance) -> bool:
    """Whether a run is a script's, or of several ranks: what conditions give it the script may give itself."""
    return one.case.method == "run" and not {"script", "args", "ranks"}.isdisjoint(one.case.params)


def _digest(draw: str, text: str) -> bytes:
    return hashlib.sha256(f"effects/{draw}/{text}".encode()).digest()


class _Fitting(NamedTuple):
    """A case, what it shows, in full and in detail, and the conditions that fit it."""

    instance: Instance
    shown: FrozenSet[str]
    small: FrozenSet[str]
    found: Sequence[Condition]


def questions(library: Library, seed: int = 0, rounds: int = 1) -> List[Kept]:
    """Questions that show every effect under every condition that fits it, and every detail of one under some: few; and
    of the other cases a part that the seed draws, or in rounds after the first all, under what they have not met."""
    fit = [_Fitting(one, effects(one), details(one), fitting(question(one))) for one in usable(library, f"{seed}")]
    chosen = _few(fit)
    met = {(kept.instance.case.id, name) for kept in chosen for name in kept.conditions}
    asked = {kept.instance.case.id for kept in chosen}
    for number in range(rounds):
        for one in _each_once(fit, f"{seed}/{number}"):
            name = one.instance.case.id
            drawn = one.instance.case.method != "run" and _digest(f"{seed}", name)[0] % _PART == 0
            if number or (name not in asked and drawn):
                new = {(name, condition.name) for condition in one.found if number or not condition.dear} - met
                laid = _together(one.found, frozenset((name,)), frozenset(), new, f"{seed}/{number}/{name}")
                if number == 0 or any((name, condition) in new for condition in laid):
                    met.update((name, condition) for condition in laid)
                    chosen.append(Kept(one.instance, laid))
    return chosen


def refused(library: Library, draw: str = "0") -> List[Kept]:
    """What options or precisions are refused for, asked where something is compiled, or shows what the option does: one
    question of each option and error, beside operators of every kind, in a later program or after another model.

    No session of them is made, so that nothing can be compiled in it.
    """
    found: Dict[Tuple[Any, ...], Instance] = {}
    shown: Dict[str, Dict[str, int]] = {}
    for one in library.instances():
        case, rejected = one.case, one.case.expect.rejected
        if rejected is None and case.method in _SHOWING:
            for name in case.params["values"]:
                of = shown.setdefault(name, {})
                of[case.method] = of.get(case.method, 0) + 1
        if rejected is None or one.twin or case.level != "must" or case.expect.ignorable:
            continue
        plain = case.method == "options" and set(rejected[0]) != {"OPTION_FILE"}  # here other folders are there
        if plain or (case.method == "precision" and rejected[0][0].startswith("PRECISION_")):
            key = (*rejected[:2], case.params["surface"], one.edition, case.requirements[0] if not plain else "")
            first = found.setdefault(key, one)
            if _digest(draw, one.id) < _digest(draw, first.id):
                found[key] = one
    kept = []
    for key, one in found.items():
        number = _digest(draw, one.id)[0]
        if one.case.method == "precision":
            kept += [_asked_of(one, "compile", number, laid) for laid in ((), (_OTHER_MODEL,))]
            continue
        of = shown.get(key[1].strip("*"), {})
        most = max(sorted(of), key=lambda method: of[method], default="compile")
        if most != "compile" or number % 2:
            kept.append(_asked_of(one, most, number, (_FLOW,) if number % 4 else ()))
        if most == "compile" or number % 2 == 0:
            kept.append(_asked_of(one, "compile", number, (SECOND.name,) if number % 3 else ()))
    return kept


def _asked_of(one: Instance, method: str, number: int, laid: Tuple[str, ...]) -> Kept:
    """What is refused, asked of another method; of a graph, where the case has none."""
    asked = {"feeds": [], "fetches": [], **one.case.params}
    if "graph" not in asked:
        name, asked["feeds"], asked["fetches"] = _COMPILED[number % len(_COMPILED)]
        asked["graph"] = os.path.join(resources.fixtures(), "graphs", "artifacts", f"{name}.pbtxt")
    needs = one.case.needs - {one.case.method} | {method}
    return Kept(one._replace(case=one.case._replace(method=method, params=asked, needs=needs)), laid)


#: What asks about a graph, and is not executed.
_SHOWING = ("compile", "timeline", "partition", "precision")
_OTHER_MODEL, _FLOW = "another model before", "a variable, a text, a loop and a call in the graph"

#: Graphs that options are refused for, with what is fed and fetched: of float16, and of float32.
_COMPILED: Tuple[Tuple[str, List[str], List[str]], ...] = (
    ("apart", ["x:0", "w:0", "y:0"], ["product:0", "total:0"]),
    ("company", ["company/x:0", "company/y:0"], ["company/most:0"]),
    ("dense", ["x:0"], ["relu:0"]),
)


def _each_once(fit: Sequence[_Fitting], draw: str) -> List[_Fitting]:
    """Every case in one of its editions."""
    found: Dict[str, _Fitting] = {}
    for one in sorted(fit, key=lambda one: _digest(draw, one.instance.id)):
        found.setdefault(one.instance.case.id, one)
    return list(found.values())


def _few(fit: Sequence[_Fitting]) -> List[Kept]:
    """Few questions that show every effect under every condition that fits it, and every detail of one under some."""
    left = {(effect, condition.name) for _, shown, _, found in fit for effect in shown for condition in found}
    left.update((detail, name) for _, _, small, found in fit for detail in small for name in _details_under(found))
    chosen: List[Kept] = []
    least = float(max((len(shown) * len(found) for _, shown, _, found in fit), default=1))
    while left:
        most = 0.0
        fit = [entry for entry in fit if _shows(*entry[1:], left)]
        for instance, shown, small, found in fit:
            laid = _together(found, shown, small, left, instance.id)
            gained = left.intersection((effect, name) for effect in shown for name in laid)
            under = _details_under([_OF[name] for name in laid])
            gained.update(left.intersection((detail, name) for detail in small for name in under))
            worth = len(gained) / _price(instance)
            if gained and worth >= least:
                left -= gained
                chosen.append(Kept(instance, laid))
            else:
                most = max(most, worth)
        least = min(least * _LESS, most)
    return chosen


#: How much less a question may show in the next round (assumed: few rounds, and nearly as few questions as one by one).
_LESS = 0.5

#: Of the cases that show nothing new one in so many is asked in a run (assumed: what is wrong may show in one alone).
_PART = 12

_LARGE = 4096  # bytes of a graph's text that cost as much as one more program (assumed)


def _price(instance: Instance) -> int:
    """How dear a question is: programs and steps, and what is large."""
    params = instance.case.params
    size = len(params.get("turns") or [{}]) + len(params.get("variants") or ()) + params.get("concurrent", 1)
    size += params.get("steps", 0)
    return size + (2 if "ranks" in params else 0) + os.path.getsize(params["graph"]) // _LARGE


def _shows(
    shown: FrozenSet[str], small: FrozenSet[str], found: Sequence[Condition], left: Set[Tuple[str, str]]
) -> bool:
    """Whether anything is left that a question shows."""
    return any((detail, name) in left for detail in small for name in _details_under(found)) or any(
        (effect, one.name) in left for effect in shown for one in found
    )


def _details_under(found: Sequence[Condition]) -> List[str]:
    """What details are asked under: some condition, and each that is laid over all of them."""
    return ["", *(one.over for one in found if one.over)]


def _together(
    found: Sequence[Condition], shown: FrozenSet[str], small: FrozenSet[str], left: Set[Tuple[str, str]], draw: str
) -> Tuple[str, ...]:
    """Most conditions that may be laid at once: of those of one place the one that shows most that is left.

    Of those that show nothing new one in four is left out, of those under which files lie elsewhere one in two: what is
    wrong may show where another one is not.
    """
    drawn = dict(zip((one.name for one in found), itertools.cycle(_digest("", draw))))
    gains = {
        one.name: sum((effect, one.name) in left for effect in shown)
        + sum((detail, one.over) in left for detail in small if one.over)
        for one in found
    }
    taken: Set[str] = set()
    kept: Set[str] = set()
    for one in sorted(found, key=lambda each: -gains[each.name]):
        idle = not gains[one.name] and (one.dear or drawn[one.name] % (2 if one.moves else 4) == 0)
        if not idle and taken.isdisjoint(one.places):
            kept.add(one.name)
            taken.update(one.places)
    return tuple(one.name for one in found if one.name in kept)


# -- asking and judging -----------------------------------------------------------------------------------------------


def asked_for(conditions: Sequence[str], params: Mapping[str, Any], folder: str = "") -> Params:
    """The request of a question under conditions; a graph that they change is written into a folder."""
    found: Params = dict(params)
    for name in conditions:
        found = _OF[name].lay(found)
    changes = tuple(name for name in conditions if _OF[name].graph is not None)
    if changes and folder:
        found["graph"] = os.path.join(folder, f"{_HERE}.pb")
        write_graph(_changed(params["graph"], changes), found["graph"])  # whatever a backend has put in its place
    return found


@functools.lru_cache(maxsize=64)
def _changed(path: str, conditions: Tuple[str, ...]) -> Any:
    graph = load_graph(path).to_def()
    for name in conditions:
        change = _OF[name].graph
        if change is not None:
            change(graph)
    return graph


def read_back(conditions: Sequence[str], outcome: client.Outcome) -> client.Outcome:
    """What came of it, read without the conditions."""
    if not isinstance(outcome, client.Answered):
        return outcome
    last = (outcome.ok.get("turns") or [{}])[-1]
    if SECOND.name in conditions and last.get("rejected"):
        return client.Rejected(last["rejected"])
    answer = _copied(outcome.ok)
    for name in reversed(conditions):
        answer = _OF[name].back(answer)
    return client.Answered(answer)


def fault(kept: Kept, outcome: client.Outcome, claims: judge.Claims) -> str:
    """How the answer to a case under its conditions is not what the case asserts; empty where it is."""
    result = judge.judge(kept.instance, read_back(kept.conditions, outcome), None, claims)
    return "" if result.status in ("pass", "unsupported") else f"{result.status}: {result.detail}"


EFFECTS = [
    Law("files-in-company", "What compilation leaves is left beside effects that no document relates to it, too",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.debug_dir.priority"), (), None, "compile", area="artifacts"),
    Law("time-in-company", "Profiles, tuning and the order of a step are as they are beside what no document relates",
        ("session.profiling_mode.true", "runconfig.work_path.contents"), (), None, "timeline", area="timing"),
    Law("placed-in-company", "What options are refused for is refused where operators are placed",
        ("session.mix_compile_mode.type",), (), None, "partition"),
    Law("precise-in-company", "What options are refused for is refused where dtypes are told",
        ("session.precision_mode.type",), (), None, "precision"),
    Law("runs-in-company", "Values, errors and dumps of a run are as they are beside what no document relates",
        ("env.ASCEND_WORK_PATH.uses", "runconfig.external_weight.numerics"), (), None, "run", area="run"),
]  # fmt: skip
