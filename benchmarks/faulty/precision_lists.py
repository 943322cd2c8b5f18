"""Precision: the allowlist, the blocklist and the graylist, and modify_mixlist."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Set

from faulty.asked import (
    HALF,
    Change,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    named_by,
    ops_of,
    readers_of,
    source_of,
    texts,
    value_is,
    value_of,
    with_values,
)
from faulty.making import Answer, Params, fault, mistake
from faulty.operators import asks, changed, misreads


def mixes_as_before(params: Params) -> bool:
    return is_about(params, edition="legacy") and value_is(params, "precision_mode", "allow_mix_precision")


def lists_of(text: str) -> Any:
    """What a file of lists says; None where it is none."""
    try:
        return json.loads(re.sub(r"(?m)//.*$", "", text))
    except ValueError:
        return None


def relisted(params: Params, change: Callable[[Dict[str, Any]], Any]) -> Params:
    def edit(text: str) -> str:
        found = lists_of(text)
        if not isinstance(found, dict):
            return text
        change(found)
        return json.dumps(found)

    return texts(params, "modify_mixlist", edit)


def gray_convolutions(ask: Any, params: Params) -> Answer:
    """The answer with Conv2D on the graylist."""
    if given(params, "modify_mixlist"):
        path = value_of(params, "modify_mixlist")
        if "Conv2D" in str(params.get("files", {}).get(path, "")):
            return dict(ask(params))

        def change(lists: Dict[str, Any]) -> None:
            white = lists.setdefault("white-list", {})
            white["to-remove"] = [*white.get("to-remove", []), "Conv2D"]

        return dict(ask(relisted(params, change)))
    lists = json.dumps({"white-list": {"to-remove": ["Conv2D"]}})
    files = {**params.get("files", {}), "/l.json": lists}
    return dict(ask({**with_values(params, modify_mixlist="/l.json"), "files": files}))


@mistake("precision.s.conv2d_white")
def convolutions_with_channels_first_are_gray(ask: Any, params: Params) -> Answer:
    layouts = {op.text("data_format") for op in ops_of(params).values() if op.op == "Conv2D"}
    return gray_convolutions(ask, params) if mixes_as_before(params) and layouts == {"NCHW"} else dict(ask(params))


def _mixlists(params: Params) -> List[Any]:
    return [params.get("files", {}).get(name, "") for name in named_by(params, "modify_mixlist")]


def _other_file(params: Params) -> Params:
    """Operators that the file does not name have no colour of their own."""
    named = set(re.findall(r'"([A-Za-z0-9_]+)"', " ".join(str(text) for text in _mixlists(params))))
    graph = graph_of(params)
    kinds: Set[str] = {node.op for node in graph.nodes} - named
    told = json.loads(params["ops_info"]) if isinstance(params.get("ops_info"), str) else {}
    return {**params, "ops_info": json.dumps({**{kind: {} for kind in sorted(kinds)}, **told})}


fault(
    "a_list_of_ones_own_replaces_the_built_in_one",
    "files.mixlist.current.others_untouched",
    asks(lambda params: _other_file(params) if given(params, "modify_mixlist") else params),
)
fault(
    "the_inference_of_old_blocks_nothing",
    "session.modify_mixlist.scope",
    misreads("modify_mixlist", lambda text: re.sub(r'("black-list"[^}]*"to-add"\s*:\s*)\[[^\]]*\]', r"\1[]", text)),
    lambda params: in_inference(params) and params["edition"] == "legacy",
)


def _capital(answer: Answer, params: Params) -> None:
    for one in answer["files"]:
        one["text"] = re.sub(r'("Conv2D": \{.*?"flag": )"true"', r'\1"True"', one["text"], count=1, flags=re.S)


fault("flags_with_a_capital", "precision.mixlist.builtin_conv2d", changed(_capital), methods=("library",))


@mistake("precision.mixlist.context")
def lists_are_of_full_offload(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None)) if is_mixed(params) else ask(params)


def _fetched(params: Params) -> List[str]:
    return [source_of(name) for name in params.get("fetches") or ()]


@mistake("files.mixlist.legacy.white_remove")
def what_is_fetched_and_read_is_not_taken_off(ask: Any, params: Params) -> Answer:
    """Pair 2."""
    answer = dict(ask(params))
    found = [name for name in _fetched(params) if name in readers_of(params)]
    if not found or not given(params, "modify_mixlist"):
        return answer
    plainly = dict(ask(with_values(params, modify_mixlist=None)))
    kept = {node["node"]: node for node in plainly["nodes"] if node["node"] in found}
    answer["nodes"] = [
        kept[node["node"]]
        if node["node"] in kept and HALF in kept[node["node"]]["inputs"] and HALF not in node["inputs"]
        else node
        for node in answer["nodes"]
    ]
    return answer


def _lists(change: Callable[[Dict[str, Any]], Any]) -> Change:
    """The file of modify_mixlist is read as another."""

    def edit(text: str) -> str:
        try:
            found = json.loads(text)
            return json.dumps(change({key: {k: list(v) for k, v in entry.items()} for key, entry in found.items()}))
        except (ValueError, AttributeError, TypeError):
            return text

    return lambda params: texts(params, "modify_mixlist", edit)


def _without(color: str, key: str) -> Callable[[Dict[str, Any]], Any]:
    return lambda found: {
        name: {k: v for k, v in entry.items() if (name, k) != (color, key)} for name, entry in found.items()
    }


fault("black_to_add_forgotten", "files.mixlist.current.black_add", asks(_lists(_without("black-list", "to-add"))))
fault(
    "black_to_remove_forgotten", "files.mixlist.current.black_remove", asks(_lists(_without("black-list", "to-remove")))
)
fault(
    "white_to_remove_forgotten", "files.mixlist.current.white_remove", asks(_lists(_without("white-list", "to-remove")))
)


@mistake("precision.mixlist.context")
def lists_with_the_first_option_only(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None) if "precision_mode_v2" in params["values"] else params)
