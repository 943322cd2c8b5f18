"""What an answer says, and answers that are changed."""

from __future__ import annotations

import base64
import copy
from typing import Any, Callable, Dict, Iterable, List, Mapping

from faulty.asked import ops_of, value_of
from faulty.making import Answer, Files, Params


def to_host(answer: Answer, moved: Iterable[str], reason: str = "NOT_SUPPORTED") -> Answer:
    """The partition with these operators on the host."""
    found, gone = copy.deepcopy(answer), set(moved)
    there = [name for geop in found["geops"] for name in geop["nodes"] if name in gone]
    for geop in found["geops"]:
        geop["nodes"] = [name for name in geop["nodes"] if name not in gone]
    found["geops"] = [geop for geop in found["geops"] if geop["nodes"]]
    found["host"] += [{"node": name, "op": "", "reason": reason} for name in there]
    return found


def told_value(answer: Answer, name: str, value: Any, origin: str = "") -> None:
    if name in answer["effective"]:
        answer["effective"][name] = {"value": value, "origin": origin or answer["effective"][name].get("origin")}


def offloaded(answer: Answer) -> List[str]:
    return [name for geop in answer["geops"] for name in geop["nodes"]]


def to_device(answer: Answer, moved: List[str]) -> Answer:
    """The partition with these operators in the first GEOP, or in one of their own."""
    answer["host"] = [one for one in answer["host"] if one["node"] not in moved]
    if moved and answer["geops"]:
        answer["geops"][0]["nodes"] = sorted({*answer["geops"][0]["nodes"], *moved})
    elif moved:
        answer["geops"] = [{"name": "GeOp_0", "nodes": sorted(moved), "args": [], "rets": [], "copies": []}]
    return answer


def encoded(text: str) -> Dict[str, str]:
    """A file of a text, as it is told."""
    return {"b64": base64.b64encode(text.encode()).decode()}


def decoded(file: Mapping[str, Any]) -> str:
    return base64.b64decode(file["b64"]).decode()


def retyped(node: Dict[str, Any], before: str, after: str, *sides: str) -> None:
    """An operator of `precision` with another dtype, on both sides unless some are named."""
    for side in sides or ("inputs", "outputs"):
        node[side] = [after if dtype == before else dtype for dtype in node[side]]


def has_function(node: Mapping[str, Any], params: Params) -> bool:
    """Whether an operator of `precision` lies in the body of a function."""
    return "/" in node["node"] and node["node"] not in ops_of(params)


def hush(answer: Answer, option: str, code: str = "") -> None:
    """No warning of an option is left, or none of this code."""
    answer["warnings"] = [
        one for one in answer["warnings"] if one["option"] != option or code not in ("", one.get("code"))
    ]


def warn(answer: Answer, option: str, code: str) -> None:
    answer["warnings"] = [*answer["warnings"], {"option": option, "code": code}]


def decoded_or_empty(file: Mapping[str, Any]) -> str:
    try:
        return decoded(file) if "b64" in file else ""
    except UnicodeDecodeError:
        return ""


def halved(node: Dict[str, Any], old: str = "float32", new: str = "float16") -> None:
    for side in ("inputs", "outputs"):
        node[side] = [new if dtype == old else dtype for dtype in node[side]]


def renamed_files(files: Files, change: Callable[[str], str]) -> Files:
    return {change(name): file for name, file in files.items()}


def told_given(answer: Answer, params: Params, *names: str) -> None:
    """These options are told as they were given, and nothing is said of them."""
    for name in names:
        told_value(answer, name, value_of(params, name), "given")
    silent = ("overridden", "adjusted", "inference_only", "unsupported")
    answer["warnings"] = [one for one in answer["warnings"] if one["option"] not in names or one["code"] not in silent]


def answer_to(ask: Any, params: Params, other: Params) -> Answer:
    """The answer to another question, in which files that the user gave are told as they are."""
    if other == params:
        return dict(ask(params))
    right, found = ask(params), ask(other)
    names = {name.lstrip("/") for name in params.get("files", {})} | {"aoe_config.json"}
    for one in params.get("turns") or ():
        names |= {name.lstrip("/") for name in one.get("files") or {}}
    told = [(right.get("base", {}), found.get("base", {})), *zip(right.get("turns", ()), found.get("turns", ()))]
    told += [(step, found["variants"][name]) for name, step in right.get("variants", {}).items()]
    for true, wrong in told:
        for key in ("files", "left"):
            for name in names & set(true.get(key) or {}) & set(wrong.get(key) or {}):
                wrong[key][name] = true[key][name]
    return dict(found)


def to_own_geop(answer: Answer, moved: List[str]) -> None:
    """These operators in a GEOP of their own."""
    answer["host"] = [one for one in answer["host"] if one["node"] not in moved]
    if moved:
        answer["geops"].append({"name": "GeOp_own", "nodes": sorted(moved), "args": [], "rets": [], "copies": []})


def first_key(told: Any) -> Any:
    return {key: told[key] for key in list(told)[:1]}


def misread(ask: Any, params: Params, asked: Params) -> Answer:
    """The answer to a request whose files read otherwise; those files lie there as they were given."""
    answer: Answer = ask(asked)
    pairs = [(params, asked), *zip(params.get("turns") or (), asked.get("turns") or ())]
    for before, after in pairs:
        for name, text in (before.get("files") or {}).items():
            other = (after.get("files") or {}).get(name)
            if not isinstance(text, str) or text == other:
                continue
            for turn in answer.get("turns", ()):
                for key in ("files", "left"):
                    found = turn.get(key, {}).get(name.lstrip("/"), {})
                    if "b64" in found and decoded(found) == other:
                        turn[key][name.lstrip("/")] = encoded(text)
                    elif isinstance(other, str) and found.get("bytes") == len(other.encode()):
                        turn[key][name.lstrip("/")] = {"bytes": len(text.encode())}
    return answer
