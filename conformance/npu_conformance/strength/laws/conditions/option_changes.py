"""How a condition changes what is asked: options, the environment, and files that options name."""

from __future__ import annotations

import ast
import functools
import json
import re
from typing import Any, Callable, List, Mapping, Optional

from npu_conformance.library.case import Instance
from npu_conformance.strength.laws.conditions.applicable import values_of
from npu_conformance.strength.laws.conditions.request import Request, listed_ops

__all__ = [
    "ABSENT", "DEFAULTS", "LAUNCHED", "LYING", "backwards", "defaults", "ends_of_windows", "entries", "file_of",
    "giving", "grayed", "is_listed", "json_edited", "launched", "lines_backwards", "listed_backwards", "listed_more",
    "listing_others", "lists_more", "mixes", "nowhere", "parsed", "relative", "reversed_keys", "sections_backwards",
    "spaced_lines", "to_surface", "unnamed", "with_pairs", "with_text",
]  # fmt: skip


def giving(values: Mapping[str, Any]) -> Callable[[Request], Request]:
    """Options beside; one that the case gives stays as it is."""
    return lambda asked: asked._replace(params={**asked.params, "values": {**values, **asked.params["values"]}})


def to_surface(surface: str, pre_processing: bool) -> Callable[[Request], Optional[Request]]:
    """On the other surface; enable_data_pre_proc, whose default differs, as it was in training, whose option it is."""

    def change(asked: Request) -> Optional[Request]:
        values = asked.params["values"]
        if values.get("graph_run_mode", 1) == 1:
            values = {"enable_data_pre_proc": pre_processing, **values}
        elif "IteratorGetNext" in listed_ops(asked.graph):
            return None
        return asked._replace(params={**asked.params, "surface": surface, "values": values})

    return change


#: Options of which where operators are, or in which mode, is told by what they are by default.
DEFAULTS: Mapping[str, Any] = {
    "graph_run_mode": 1, "mix_compile_mode": False, "iterations_per_loop": 1, "use_off_line": True,
    "in_out_pair_flag": True,
}  # fmt: skip


def defaults(asked: Request) -> Request:
    """What is not given, given as its default."""
    params = asked.params
    of_sessions = ("use_off_line", *(["in_out_pair_flag"] if "in_out_pair" in params["values"] else []))
    of_all = ("graph_run_mode", "mix_compile_mode", "iterations_per_loop")
    names = of_all + (of_sessions if params["surface"] == "session" else ())
    found = {name: DEFAULTS[name] for name in names}
    if params["values"].get("graph_run_mode", 1) != 1:
        del found["iterations_per_loop"]  # means nothing there (G13)
    return giving(found)(asked)


def reversed_keys(asked: Request) -> Request:
    values = dict(reversed(list(asked.params["values"].items())))
    return asked._replace(params={**asked.params, "values": values})


#: What a launch script sets of one rank of eight.
LAUNCHED = {"RANK_SIZE": "8", "RANK_ID": "3", "DEVICE_ID": "3", "JOB_ID": "10087"}


def launched(asked: Request) -> Request:
    return asked._replace(params={**asked.params, "env": {**LAUNCHED, **asked.params.get("env", {})}})


# -- lists and files --------------------------------------------------------------------------------------------------

#: Operators that no graph of a case has.
ABSENT = ("Acosh", "Atanh")


def grayed(asked: Request) -> Request:
    """What the device's list lacks stands on it as gray, which is left to the host in mixed computing, too."""
    listed = asked.params["op_list"]
    lacking = sorted(
        listed_ops(asked.graph) - listed.keys() - {one.signature.name for one in asked.graph.library.function}
    )
    gray = {op: {"isGray": True} for op in lacking if op not in ("Const", "Placeholder", "_Arg", "_Retval")}
    return asked._replace(params={**asked.params, "op_list": {**listed, **gray}})


def is_listed(one: Instance) -> bool:
    return "op_list" in one.case.params


def listed_more(asked: Request) -> Request:
    listed = {**asked.params["op_list"], **{name: {"isGray": name == ABSENT[0]} for name in ABSENT}}
    return asked._replace(params={**asked.params, "op_list": listed})


def listed_backwards(asked: Request) -> Request:
    listed = dict(reversed(list(asked.params["op_list"].items())))
    return asked._replace(params={**asked.params, "op_list": listed})


def file_of(option: str) -> Callable[[Instance], bool]:
    """Whether an option names a file that the case gives, as a text."""
    return lambda one: isinstance(one.case.params.get("files", {}).get(values_of(one).get(option)), str)


def with_text(option: str, edit: Callable[[str], Optional[str]]) -> Callable[[Request], Optional[Request]]:
    def change(asked: Request) -> Optional[Request]:
        path = asked.params["values"][option]
        text = edit(asked.params["files"][path])
        files = {**asked.params["files"], path: text}
        return None if text is None else asked._replace(params={**asked.params, "files": files})

    return change


def json_edited(edit: Callable[[Any], Any], **form: Any) -> Callable[[str], Optional[str]]:
    """An edit of a file in JSON; none of one with comments, which JSON does not have."""

    def changed(text: str) -> Optional[str]:
        try:
            content = json.loads(text)
        except ValueError:
            return None
        return json.dumps(edit(content), **form) if isinstance(content, dict) else None

    return changed


def lists_more(content: Any) -> Any:
    """A type more on either list, that nothing in the graph is of."""
    found = {name: {change: list(types) for change, types in lists.items()} for name, lists in content.items()}
    for name, absent in zip(("black-list", "white-list"), ABSENT):
        found.setdefault(name, {}).setdefault("to-add", []).append(absent)
    return found


#: A file of lists that names no type of a graph, the trustlist first.
_OTHER_LISTS = json.dumps({"white-list": {"to-add": [ABSENT[1]]}, "black-list": {"to-add": [ABSENT[0]]}})


def listing_others(asked: Request) -> Request:
    """modify_mixlist, of types that no graph has, where a mode of mixed precision is given."""
    given = giving({"modify_mixlist": "/lists/of_others.json"})(asked)
    files = {**asked.params.get("files", {}), "/lists/of_others.json": _OTHER_LISTS}
    return given._replace(params={**given.params, "files": files})


def mixes(one: Instance) -> bool:
    return any(values_of(one).get(name) in _MIXED for name in ("precision_mode", "precision_mode_v2"))


_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16")


def backwards(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: backwards(part) for key, part in reversed(list(content.items()))}
    return list(reversed(content)) if isinstance(content, list) else content


def lines_backwards(text: str) -> Optional[str]:
    """Entries of customize_dtypes, the last one first."""
    return "\n".join(reversed(text.splitlines())) + "\n"


def sections_backwards(text: str) -> Optional[str]:
    """The sections of op_precision_mode, the last one first; none of a text without two."""
    head, *sections = re.split(r"(?m)^(?=\s*\[By)", text)
    return None if len(sections) < 2 else head + "".join(f"{one.rstrip()}\n" for one in reversed(sections))


def ends_of_windows(text: str) -> Optional[str]:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def spaced_lines(text: str) -> Optional[str]:
    """With empty lines and comments (P22)."""
    return "# A comment\n\n" + text.replace("\n", "\n\n# Another\n")


def nowhere(asked: Request) -> Request:
    """A range of operators of which the graph has none."""
    return giving({"in_out_pair": "[[['zq_nowhere'], ['zq_nowhere_else']]]"})(asked)


def relative(asked: Request) -> Request:
    """Every file by its name alone, in the current directory (D8)."""
    names = {path: path.rpartition("/")[2] for path in asked.params["files"]}
    values = {
        option: names.get(value, value) if isinstance(value, str) else value
        for option, value in asked.params["values"].items()
    }
    files = {names[path]: text for path, text in asked.params["files"].items()}
    return asked._replace(params={**asked.params, "values": values, "files": files})


#: Files as the documents' samples are called, which would change much if an option named them.
LYING = {
    "op_precision.ini": "[ByOpType]\nMatMulV2=high_performance\nExp=high_performance\n",
    "modify_mixlist.json": '{"black-list": {"to-add": ["MatMulV2", "Conv2D", "Relu"]}}',
    "customize_dtypes.cfg": "OpType::Relu:InputDtype:float32,OutputDtype:float32\n",
}


def unnamed(asked: Request) -> Request:
    """Files in the current directory that no option names."""
    return asked._replace(params={**asked.params, "files": {**LYING, **asked.params.get("files", {})}})


def entries(one: Instance) -> Optional[List[Any]]:
    """The entries of in_out_pair, where it is written as Python writes it."""
    text = values_of(one).get("in_out_pair")
    return parsed(text) if isinstance(text, str) else None


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> Optional[List[Any]]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    whole = isinstance(found, list) and all(isinstance(entry, list) and len(entry) == 2 for entry in found)
    return found if whole and found else None


def with_pairs(edit: Callable[[Any], Any], write: Callable[[Any], str] = str) -> Callable[[Request], Request]:
    def change(asked: Request) -> Request:
        text = write(edit(parsed(asked.params["values"]["in_out_pair"])))
        return asked._replace(params={**asked.params, "values": {**asked.params["values"], "in_out_pair": text}})

    return change
