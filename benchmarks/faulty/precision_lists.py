"""Precision: the allowlist, the blocklist and the graylist, and modify_mixlist."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Set

from faulty.answered import retyped
from faulty.asked import (
    DTYPES,
    FLOAT,
    HALF,
    WITH_DTYPES,
    asks_without,
    given,
    graph_of,
    in_inference,
    is_about,
    is_mixed,
    named_by,
    ops_of,
    plain,
    readers_of,
    source_of,
    texts,
    value_is,
    value_of,
    where,
    with_values,
    without,
)
from faulty.making import Answer, Params, broken
from faulty.mistakes import asks, changed, misreads, node_change
from faulty.mistakes_graphs import decided_otherwise, each_node, library_flags, reads_values

_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
decided_otherwise(
    "branches_have_the_lists_as_built",
    "002 modify_mixlist: the lists of the network",
    _BRANCHES,
    lambda params: given(params, "modify_mixlist"),
    asks_without("modify_mixlist"),
)


def _one_of_each(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict):
        return text
    for lists in found.values():
        if isinstance(lists, dict):
            lists.update({key: one[:1] for key, one in lists.items() if isinstance(one, list)})
    return json.dumps(found)


asks(
    "run_config_reads_one_name_of_a_list",
    "002 modify_mixlist: several operators are elements of the list",
    "precision",
    lambda params: texts(params, "modify_mixlist", _one_of_each) if is_about(params, "runconfig") else params,
    "precision",
)


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


@broken("precision", "002 Conv2D: precision_reduce is true")
def convolutions_are_gray(ask: Any, params: Params) -> Answer:
    return gray_convolutions(ask, params) if mixes_as_before(params) else dict(ask(params))


def _trusted_behind_half(node: Dict[str, Any], params: Params, op: Any) -> None:
    if op is None or node.get("list") != "trustlist" or not is_about(params, edition="current"):
        return
    ops = ops_of(params)
    sources = [ops[name.split(":")[0]] for name in op.inputs if name.split(":")[0] in ops]
    if all(source.op in ("Placeholder", "Const", "_Arg", "VariableV2", "ReadVariableOp") for source in sources):
        retyped(node, "float16", "float32")


node_change("what_may_be_reduced_follows", "003 trustlist: precision is reduced", _trusted_behind_half)


@broken("precision", "002 Conv2D: precision_reduce is true, whatever the layout")
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


asks(  # files.mixlist.current.others_untouched
    "a_list_of_ones_own_replaces_the_built_in_one",
    "003 modify_mixlist: operators that are not listed stay as they are",
    "precision",
    lambda params: _other_file(params) if given(params, "modify_mixlist") else params,
    "precision",
)


def _last_list_moves(text: str) -> str:
    try:
        found = json.loads(re.sub(r"//.*", "", text))
        first, gone = next(iter(found)), found["black-list"]["to-remove"]
        if first == "white-list":
            found["white-list"]["to-add"] = [one for one in found["white-list"]["to-add"] if one not in gone]
    except (ValueError, KeyError, StopIteration, TypeError):
        return text
    return json.dumps(found)


misreads(
    "precision",
    "the_list_that_comes_last_decides",
    "002, 003 modify_mixlist, P9: out of the blocklist and onto the trustlist, in any order",
    "modify_mixlist",
    _last_list_moves,
    "precision",
)
misreads(
    "precision",
    "the_inference_of_old_blocks_nothing",
    "002 modify_mixlist: training and online inference",
    "modify_mixlist",
    lambda text: re.sub(r'("black-list"[^}]*"to-add"\s*:\s*)\[[^\]]*\]', r"\1[]", text),
    "precision",
    when=lambda params: in_inference(params) and params["edition"] == "legacy",
)
# precision.mixlist.context
reads_values(
    "precision",
    "mixed_float16_has_no_lists_of_the_user",
    "Mixed precision for modify_mixlist is enabled by precision_mode_v2 or precision_mode",
    lambda values: (
        without("modify_mixlist")(values) if plain(values.get("precision_mode_v2")) == "mixed_float16" else values
    ),
    *DTYPES,
)


def _is_mixing(params: Params) -> bool:
    return value_of(params, "precision_mode") in ("allow_mix_precision", "allow_mix_precision_fp16")


def _named_with_slash(node: Dict[str, Any], params: Params, op: Any) -> None:
    gray = node.get("list") == "graylist" and _is_mixing(params) and is_about(params, edition="legacy")
    if gray and op is not None and any("/" in name for name in op.inputs):
        retyped(node, HALF, FLOAT)


node_change(
    "operators_of_another_scope_are_not_upstream", "002: a gray operator follows the one before it", _named_with_slash
)


def _stays(node: Dict[str, Any], params: Params, op: Any) -> None:
    if given(params, "local_device_list") and node.get("list") == "graylist":
        for side in ("inputs", "outputs"):
            node[side] = ["float32" if one == "float16" else one for one in node[side]]


node_change("gray_operators_of_servers_stay", "002 precision_reduce: a gray operator follows the one before", _stays)


def _mixlist(params: Params, change: Callable[[Any], Any]) -> Params:
    def edit(text: str) -> str:
        try:
            content = json.loads(text)
            return json.dumps(change(content) or content)
        except (ValueError, AttributeError, TypeError):
            return text

    return texts(params, "modify_mixlist", edit)


def _first_removed(content: Dict[str, Any]) -> None:
    for color in content.values():
        if isinstance(color.get("to-remove"), list):
            color["to-remove"] = color["to-remove"][:1]


asks(
    "one_operator_is_removed_from_a_list",
    "002 L744: several operators are elements of an array",
    "precision",
    lambda params: _mixlist(params, _first_removed),
)


def _capital(answer: Answer, params: Params) -> None:
    for one in answer["files"]:
        one["text"] = re.sub(r'("Conv2D": \{.*?"flag": )"true"', r'\1"True"', one["text"], count=1, flags=re.S)


changed("precision", "flags_with_a_capital", '003 L419: "flag":"true"', _capital, "library")


def _third_gray(answer: Answer, params: Params) -> None:
    ops, gray = ops_of(params), {node["node"] for node in answer["nodes"] if node.get("list") == "graylist"}
    for node in answer["nodes"]:
        op = ops.get(node["node"])
        before = op.inputs[0].split(":")[0] if op is not None and op.inputs else ""
        if params["edition"] == "legacy" and node["node"] in gray and before in gray and "float32" in node["inputs"]:
            retyped(node, "float32", "float16")


changed(
    "precision", "permission_comes_back", "002 L774: if the one before may not, this one may not either", _third_gray
)


@broken("precision", "003 L388: when mixed precision is enabled, in mixed computing too")
def lists_are_of_full_offload(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None)) if is_mixed(params) else ask(params)


def _json(change: Callable[[Dict[str, Any]], Any]) -> Callable[[str], str]:
    """A file of JSON, with comments, changed."""

    def edit(text: str) -> str:
        try:
            found = json.loads(re.sub(r"//[^\n]*", "", text))
            change(found)
        except (ValueError, KeyError, TypeError, AttributeError):
            return text
        return json.dumps(found)

    return edit


def _firsts(found: Dict[str, Any]) -> None:
    for one in found.values():
        for key in one:
            one[key] = one[key][:1]


misreads(  # files.mixlist.legacy.multiple
    "precision",
    "of_the_types_of_a_list_the_first_one_counts",
    "002 modify_mixlist: several operators, separated by commas",
    "modify_mixlist",
    _json(_firsts),
    "options",
    *WITH_DTYPES,
    when=where("", "legacy"),
)


def _fetched(params: Params) -> List[str]:
    return [source_of(name) for name in params.get("fetches") or ()]


@broken("precision", "002: white-list.to-remove takes a type off the white list", "precision")
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


def _gray_chain(answer: Answer, params: Params) -> None:
    gray = [node for node in answer["nodes"] if node.get("list") == "graylist"]
    for node in gray[2:]:
        retyped(node, "float16", "float32")


changed("precision", "third_graylisted_keeps", "003: graylist: the same as the upstream operator", _gray_chain)


def _lists(name: str, sentence: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    def fault(ask: Any, params: Params) -> Answer:
        path = plain(params["values"].get("modify_mixlist"))
        text = params.get("files", {}).get(path) if isinstance(path, str) else None
        if isinstance(text, str):
            try:
                found = json.loads(text)
                changed_to = change({key: {k: list(v) for k, v in entry.items()} for key, entry in found.items()})
            except (ValueError, AttributeError, TypeError):
                return ask(params)
            return ask({**params, "files": {**params["files"], path: json.dumps(changed_to)}})
        return ask(params)

    fault.__name__ = name
    broken("precision", sentence)(fault)


_LISTS = "003 modify_mixlist: to-add, to-remove"


def _without(color: str, key: str) -> Callable[[Dict[str, Any]], Any]:
    return lambda found: {
        name: {k: v for k, v in entry.items() if (name, k) != (color, key)} for name, entry in found.items()
    }


_lists("black_to_add_forgotten", _LISTS, _without("black-list", "to-add"))
_lists("black_to_remove_forgotten", _LISTS, _without("black-list", "to-remove"))
_lists("white_to_remove_forgotten", _LISTS, _without("white-list", "to-remove"))
_lists("white_to_add_forgotten", _LISTS, _without("white-list", "to-add"))
_lists(
    "first_type_of_a_list",
    _LISTS,
    lambda found: {name: {k: v[:1] for k, v in entry.items()} for name, entry in found.items()},
)


@broken("precision", "003 modify_mixlist: used when mixed precision is enabled, by either option")
def lists_with_the_first_option_only(ask: Any, params: Params) -> Answer:
    return ask(with_values(params, modify_mixlist=None) if "precision_mode_v2" in params["values"] else params)


library_flags("flags_are_all_true", "004: false forbids precision reduction", lambda flag: "true")
each_node(
    "white_is_told_as_gray",
    "003: true is the trustlist",
    lambda node, params: {**node, "list": "graylist"} if node.get("list") == "trustlist" else None,
)


def _first_gray(answer: Answer, params: Params) -> None:
    graph = graph_of(params)
    for node in answer["nodes"]:
        if node.get("list") == "graylist" and node["node"] in graph.index:
            origin = graph.nodes[graph.index[node["node"]]]
            sources = [str(one).split(":")[0].lstrip("^") for one in origin.inputs]
            if sources and all(
                one in graph.index and graph.nodes[graph.index[one]].op in ("Placeholder", "Const") for one in sources
            ):
                for side in ("inputs", "outputs"):
                    node[side] = ["float16" if one == "float32" else one for one in node[side]]


changed(
    "precision",
    "first_graylisted_reduced",
    "003: graylist: as the upstream operator, of which there is none",
    _first_gray,
)


def _no_gray(node: Dict[str, Any], params: Params, origin: Any) -> None:
    if node.get("list") == "graylist":
        node["list"] = "blocklist"


node_change("graylist_is_blocklist", "003: not specified: graylist", _no_gray)


def _but_the_last(found: re.Match[str]) -> str:
    names = re.findall(r'"[^"]*"', found.group(2))
    return found.group(1) + ", ".join(names[:-1] if len(names) > 2 else names) + "]"


misreads(  # files.mixlist.current.multiple
    "precision",
    "the_last_of_a_long_list_is_dropped",
    "002 modify_mixlist: several operators, separated by commas",
    "modify_mixlist",
    lambda text: re.sub(r'("to-add"\s*:\s*\[)([^\]]*)\]', _but_the_last, text),
    "options",
    "precision",
)


def blocked_to_aicpu(answer: Answer, params: Params) -> None:
    forced = ("force_fp32", "cube_fp16in_fp32out")
    if not (value_is(params, "precision_mode", *forced) or value_is(params, "precision_mode_v2", *forced)):
        return
    for node in answer["nodes"]:
        if node.get("list") == "blocklist" and node.get("engine") == "vector" and "float32" in node["inputs"]:
            node["engine"] = "aicpu"


# precision.cube.vector_black_aicpu, precision.cube.vector_force_fp32
changed(
    "precision",
    "all_of_the_blocklist_goes_to_the_aicpu",
    "Operators of the blocklist that lack float32 are computed by the AI CPU.",
    blocked_to_aicpu,
)
