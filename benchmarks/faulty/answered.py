"""What an answer says, and answers that are changed."""

from __future__ import annotations

import base64
import copy
from typing import Any, Callable, Dict, Iterable, List, Mapping

from faulty.making import Answer, Files


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


def hush(answer: Answer, option: str, code: str = "") -> None:
    """No warning of an option is left, or none of this code."""
    answer["warnings"] = [
        one for one in answer["warnings"] if one["option"] != option or code not in ("", one.get("code"))
    ]


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


def first_key(told: Any) -> Any:
    return {key: told[key] for key in list(told)[:1]}
