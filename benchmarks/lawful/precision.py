"""Lawful backends that choose dtypes, lists, kernels or words of precision otherwise, where the documents allow it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from faulty.asked import value_of
from faulty.making import REFERENCE, Answer, Ask, Params

from lawful.kinds import claims_less, lawful, misreads, refuses
from npu_reference.catalog import Catalog
from npu_reference.catalog.ops_info import parse_ops_info
from npu_reference.errors import NpuError
from npu_reference.precision.decide import Walk

__all__ = ["with_library"]

_COMPILED = ("precision", "timeline", "compile")
_LIBRARY = ("precision", "timeline", "compile", "library")


# Graylisted operators


@contextlib.contextmanager
def _with_members(members: Mapping[str, Any]) -> Iterator[None]:
    """The reference decides by these methods within."""
    before = {name: getattr(Walk, name) for name in members}
    for name, member in members.items():
        setattr(Walk, name, member)
    try:
        yield
    finally:
        for name, member in before.items():
            setattr(Walk, name, member)


def _is_mixed_precision(params: Params) -> bool:
    return re.search("allow_mix_precision|mixed_float16", json.dumps(params)) is not None


def _decides(name: str, sentence: str, **members: Any) -> None:
    """Registers a backend that decides operators by other methods, in mixed precision."""

    def fault(ask: Ask, params: Params) -> Answer:
        if not _is_mixed_precision(params):
            return ask(params)
        with _with_members(members):
            answer: Answer = getattr(REFERENCE, ask.args[0])(params)  # type: ignore[attr-defined]
            return dict(answer)

    lawful("precision", name, sentence, fault, *_COMPILED)


_follows = Walk._follows
_given = Walk._given


def _heard(self: Any, node: int, descriptor: Any, inputs: Tuple[str, ...]) -> List[Tuple[str, str]]:
    """What each upstream operator of a graylisted one gives it, in the order of its inputs: name and dtype."""
    voices = self._voices(node, descriptor, len(inputs))
    return [
        (self.graph.nodes[src].name, self._given(src, slot))
        for k, (src, slot) in enumerate(self.wiring.inputs[node])
        if inputs[k] == "float32" and voices[k] and not self.is_source(src, node)
    ]


def _follows_any(self: Any, node: int, descriptor: Any, inputs: Tuple[str, ...]) -> Tuple[bool, str]:
    if self._updates_variable(node):
        return _follows(self, node, descriptor, inputs)
    half = [name for name, given in _heard(self, node, descriptor, inputs) if given == "float16"]
    return (True, f"{half[0]} gives float16") if half else _follows(self, node, descriptor, inputs)


_decides(
    "a_graylisted_operator_follows_any_upstream_operator_that_is_lowered",
    "003 L425 'follows the same mixed precision processing as the upstream operator': of several it says nothing",
    _follows=_follows_any,
)


def _follows_first(self: Any, node: int, descriptor: Any, inputs: Tuple[str, ...]) -> Tuple[bool, str]:
    if self._updates_variable(node):
        return _follows(self, node, descriptor, inputs)
    heard = _heard(self, node, descriptor, inputs)
    if not heard:
        return _follows(self, node, descriptor, inputs)
    return heard[0][1] == "float16", f"{heard[0][0]} gives {heard[0][1]}"


_decides(
    "a_graylisted_operator_follows_its_first_upstream_operator",
    "003 L425 'follows the same mixed precision processing as the upstream operator': of several it says nothing",
    _follows=_follows_first,
)


def _follows_none(self: Any, node: int, descriptor: Any, inputs: Tuple[str, ...]) -> Tuple[bool, str]:
    if self._updates_variable(node) or _heard(self, node, descriptor, inputs):
        return _follows(self, node, descriptor, inputs)
    voices = self._voices(node, descriptor, len(inputs))
    lowered = any(voice and dtype == "float32" for voice, dtype in zip(voices, inputs))
    return lowered, "no upstream operator keeps it from being lowered"


_decides(
    "a_graylisted_operator_without_upstream_operators_is_lowered",
    "003 L425 'follows the same mixed precision processing as the upstream operator': where there is none it is open",
    _follows=_follows_none,
)


def _given_by_permission(self: Any, src: int, slot: int) -> str:
    decided = self.decided[src]
    if decided is not None and decided.list == "trustlist":
        return "float16"
    return _given(self, src, slot)


_decides(
    "a_graylisted_operator_is_lowered_behind_any_trustlisted_one",
    "002 L774 'if the operator before supports being lowered, this one does as well', whatever dtype that one gives",
    _given=_given_by_permission,
)


# The operator library of other hardware


def with_library(area: str, name: str, sentence: str, entries: Callable[[], Dict[str, Any]], *methods: str) -> None:
    """Registers a backend with an operator library of its own, over which the request's file is laid as ever."""
    kept = functools.lru_cache(maxsize=None)(entries)

    def fault(ask: Ask, params: Params) -> Answer:
        given = params.get("ops_info")
        laid: Dict[str, Any] = {}
        if isinstance(given, str):
            try:
                parse_ops_info(given, "ops_info")
                laid = json.loads(given)
            except (NpuError, ValueError):
                return ask(params)  # it is refused
        own = dict(kept())
        for op, entry in laid.items():  # without a list it is gray (003 L417)
            own[op] = {**own.get(op, {}), "precision_reduce": {}, **entry}
            own[op] = {key: value for key, value in own[op].items() if value != {}}
        return ask({**params, "ops_info": json.dumps(own, sort_keys=True)})

    lawful(area, name, sentence, fault, *(methods or _LIBRARY))


def _flags() -> Dict[str, str]:
    """The list of every kernel of the built-in library that has AI Core dtypes."""
    catalog, found = Catalog.built_in(), {}
    for op in catalog:
        known = catalog.get(op)
        if known is None or not known.columns:
            continue
        found[known.ge_op] = known.flag or "graylist"
        if known.fused is not None:
            found[known.fused.kernel] = known.fused.flag or "graylist"
    return found


def _flagged(flag: str) -> Dict[str, Any]:
    return {"precision_reduce": {"flag": flag}} if flag else {}


#: What loops are made of: they carry the dtypes that enter them.
_LOOPS = ("Enter", "NextIteration", "Merge", "Switch", "Exit", "LoopCond")


def _nothing_blocked() -> Dict[str, Any]:
    return {kernel: _flagged("") for kernel, flag in _flags().items() if flag == "blocklist" and kernel not in _LOOPS}


with_library(
    "precision", "no_operator_is_blocklisted_by_itself",
    "003 L415 'the configuration should be based on the actual hardware environment and the built-in tuning policies'",
    _nothing_blocked
)  # fmt: skip


def _all_gray() -> Dict[str, Any]:
    flags = _flags().items()
    return {kernel: _flagged("") for kernel, flag in flags if flag == "trustlist" and kernel != "Conv2D"}


with_library(
    "precision", "Conv2D_alone_is_trustlisted_by_itself",
    "003 L417 gives Conv2D as an example of the built-in tuning policy, and no other operator", _all_gray
)  # fmt: skip


def _all_trusted() -> Dict[str, Any]:
    return {
        kernel: _flagged("true") for kernel, flag in _flags().items() if flag == "graylist" and kernel not in _LOOPS
    }


with_library(
    "precision", "no_operator_is_graylisted_by_itself",
    "003 L417 'you can query the built-in tuning policy of each operator': it is the hardware's", _all_trusted
)  # fmt: skip


def _wide_products() -> Dict[str, Any]:
    found, flags = {}, _flags()
    for op in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        known = Catalog.built_in().get(op)
        if known is not None:
            own = _flagged({"trustlist": "true", "blocklist": "false"}.get(flags.get(known.ge_op, ""), ""))
            tensors = ("input0", "input1", "output0")
            found[known.ge_op] = {**own, **{one: {"dtype": "float16,float"} for one in tensors}}
    return found


with_library(
    "precision", "matrix_products_have_float32_kernels",
    "003 L459 'the operator precisions supported in the operator information library': it is the hardware's",
    _wide_products
)  # fmt: skip


def _wide_functions() -> Dict[str, Any]:
    found, flags = {}, _flags()
    for op in ("Exp", "Log", "Sqrt", "Rsqrt", "Tanh", "Sigmoid", "Softplus", "Erf", "Sin", "Cos", "Pow"):
        known = Catalog.built_in().get(op)
        if known is not None and known.columns:
            own = _flagged({"trustlist": "true", "blocklist": "false"}.get(flags.get(known.ge_op, ""), ""))
            column = known.columns[0]
            tensors = [f"input{k}" for k in range(len(column.inputs))]
            tensors += [f"output{k}" for k in range(len(column.outputs))]
            found[known.ge_op] = {**own, **{one: {"dtype": "float"} for one in tensors}}
    return found


with_library(
    "precision", "transcendental_functions_have_float32_kernels_alone",
    "003 L459 'the operator precisions supported in the operator information library': it is the hardware's",
    _wide_functions
)  # fmt: skip


# What is told


def _dtypes_alone(answer: Answer) -> None:
    for key in ("casts", "warnings", "notes", "summary"):
        answer.pop(key, None)
    answer["nodes"] = [
        {"node": one["node"], "inputs": one["inputs"], "outputs": one["outputs"]} for one in answer["nodes"]
    ]


claims_less(
    "precision", "dtypes_alone_are_told",
    "the documents say which dtypes operators have; that lists, engines or casts can be seen is not said",
    ("engines", "lists", "impl_modes", "casts", "notices"), _dtypes_alone, "precision"
)  # fmt: skip


def _answers(name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """Registers a backend that tells of precision otherwise."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        change(answer, params)
        return answer

    lawful("precision", name, sentence, fault, "precision")


def _own_engines(answer: Answer, params: Params) -> None:
    for node in answer["nodes"]:
        if node.get("engine") in ("local", "rts", "hccl", "unset"):
            node["engine"] = "runtime"


_answers(
    "what_has_no_kernel_to_choose_is_of_an_engine_of_its_own",
    "003 L650 names the engines of AI CPU and AI Core, and none for operators that have no kernel", _own_engines
)  # fmt: skip


def _more_warnings(answer: Answer, params: Params) -> None:
    own = {"code": "precision_of_operator", "message": "computed in float16."}
    halves = [node["node"] for node in answer["nodes"] if "float16" in (*node["inputs"], *node["outputs"])]
    answer["warnings"] = [*answer.get("warnings", []), *({**own, "subject": name} for name in halves)]


_answers(
    "every_operator_in_float16_is_warned_of",
    "003 L350 'it may result in performance or precision problems on particular operators': no word of messages",
    _more_warnings,
)


def _other_warnings(answer: Answer, params: Params) -> None:
    answer["warnings"] = [{**one, "code": "W" + str(len(one["code"]))} for one in answer.get("warnings", [])]


_answers(
    "warnings_of_precision_have_other_codes",
    "003 L461 'you need to obtain logs to locate the fault': the documents have no codes of these", _other_warnings
)  # fmt: skip


def _other_order(answer: Answer, params: Params) -> None:
    answer["nodes"] = list(reversed(answer["nodes"]))
    answer["casts"] = list(reversed(answer.get("casts", [])))


_answers(
    "operators_and_casts_come_in_another_order", "the documents give the operators of a graph no order", _other_order
)


def _few_modes(answer: Answer, params: Params) -> None:
    if value_of(params, "op_precision_mode") is not None:
        return
    for node in answer["nodes"]:
        if node.get("kernel") not in ("Pooling", "SoftmaxV2", "LRN", "ROIAlign"):
            node["impl_mode"] = None


_answers(
    "four_kernels_have_a_choice_of_implementations",
    "003 L1058 'certain operators' have both implementations, L1070 'Pooling, SoftmaxV2, LRN, and ROIAlign'",
    _few_modes,
)


# What is refused


@functools.lru_cache(maxsize=1 << 10)
def _told_precision(request: str) -> Optional[Answer]:
    try:
        return REFERENCE.precision(json.loads(request))
    except NpuError:
        return None


def _precision_of(params: Params, values: Mapping[str, Any]) -> Answer:
    """What the reference tells of the precision of a request's operators; nothing where it refuses it."""
    keys = ("graph", "surface", "edition", "env", "files", "op_list", "ops_info", "feeds", "fetches")
    asked: Dict[str, Any] = {key: params[key] for key in keys if key in params}
    if not os.path.isfile(params["graph"]):
        return {"nodes": []}
    with open(params["graph"], "rb") as stream:
        mark = hash(stream.read())  # files are written over by other graphs
    return _told_precision(json.dumps({**asked, "values": values, "mark": mark}, sort_keys=True)) or {"nodes": []}


def _is_mode(values: Mapping[str, Any], *modes: str) -> bool:
    told = {"values": values}
    return value_of(told, "precision_mode") in modes or value_of(told, "precision_mode_v2") in modes


def _is_instead(node: Mapping[str, Any]) -> bool:
    """Whether an operator is the AI CPU's since the AI Core's kernel has not the dtypes that are kept."""
    return node["engine"] == "aicpu" and "so the AI CPU's kernel is used" in node["why"]


def _kept_elsewhere(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if params["edition"] != "current" or not _is_mode(values, "must_keep_origin_dtype", "origin"):
        return None
    for node in _precision_of(params, values)["nodes"]:
        if _is_instead(node):
            return str(node["node"])
    return None


refuses(
    "precision", "the_AI_CPU_has_no_kernel_of_what_the_AI_Core_has",
    "003 L338 'the AI CPU operator of float32 is used. If the AI CPU operator is not supported, an error is reported'",
    "PRECISION_NO_KERNEL", _kept_elsewhere, _COMPILED
)  # fmt: skip


_get = Catalog.get


def _with_convolutions(self: Catalog, tf_op: str) -> Any:
    found = _get(self, tf_op)
    if found is None or re.match("Conv2D|Conv3D|DepthwiseConv2d", tf_op) is None or found.has_aicpu:
        return found
    return found._replace(has_aicpu=True, aicpu_libraries=("TFKernel",), aicpu_dtypes=("float16", "float32"))


def _computes_convolutions(ask: Ask, params: Params) -> Answer:
    if params["edition"] != "current":
        return ask(params)  # document 004 ends the training
    Catalog.get = _with_convolutions  # type: ignore[method-assign]
    try:
        answer: Answer = getattr(REFERENCE, ask.args[0])(params)  # type: ignore[attr-defined]
    finally:
        Catalog.get = _get  # type: ignore[method-assign]
    return dict(answer)


lawful(
    "precision", "the_AI_CPU_has_convolutions_in_float32",
    "003 L338 'the AI CPU operator of float32 is used': which operators the AI CPU has is the hardware's",
    _computes_convolutions, "precision"
)  # fmt: skip


def _blocked_half(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if not _is_mode(values, "allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16"):
        return None
    for node in _precision_of(params, values)["nodes"]:
        if _is_instead(node) and "blocklist" in node["why"]:
            return str(node["node"])
    return None


refuses(
    "precision", "a_blocklisted_operator_without_a_float32_kernel_is_refused_in_mixed_precision",
    "003 L424 'the precision of operators on the blocklist cannot be reduced'; the AI CPU is named of force_fp32 alone",
    "PRECISION_NO_KERNEL", _blocked_half, _COMPILED
)  # fmt: skip


def _unsupported_mode(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if value_of({"values": values}, "op_precision_mode") is None:
        return None
    codes = [one["code"] for one in _precision_of(params, values).get("warnings", ())]
    return "op_precision_mode" if "op_precision_unsupported" in codes else None


refuses(
    "precision", "an_implementation_that_an_operator_does_not_have_is_refused",
    "003 L623 'you can view the precision or performance mode supported by an operator': of others nothing is said",
    "OPTION_FILE", _unsupported_mode, _COMPILED
)  # fmt: skip


# The lists of mixed precision

Lists = Dict[str, Any]


def _relisted(name: str, sentence: str, change: Callable[[Lists], Lists]) -> None:
    """Registers a backend that reads the file of modify_mixlist as another one."""

    def edit(text: str) -> str:
        try:
            found = json.loads(re.sub(r"//[^\n\"]*(?=\n|\Z)", "", text))
        except ValueError:
            return text
        if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
            return text
        wanted = change(json.loads(json.dumps(found)))
        return text if wanted == found else json.dumps(wanted)

    misreads("precision", name, sentence, "modify_mixlist", edit, "options", "precision", "timeline", "compile")


def _types(lists: Lists, name: str, move: str) -> List[Any]:
    found = lists.get(name, {}).get(move, [])
    return found if isinstance(found, list) else []


def _added_then_removed(lists: Lists) -> Lists:
    for name in ("black-list", "white-list"):
        again = _types(lists, name, "to-remove")
        both = [one for one in _types(lists, name, "to-add") if one in again]
        if both:
            lists[name]["to-add"] = [one for one in _types(lists, name, "to-add") if one not in both]
            # what is added first and then removed is gray, from wherever it came
            other = "white-list" if name == "black-list" else "black-list"
            moved = [one for one in both if one not in _types(lists, other, "to-remove")]
            lists.setdefault(other, {})["to-remove"] = [*_types(lists, other, "to-remove"), *moved]
    return lists


_relisted(
    "a_type_that_is_added_to_a_list_and_removed_from_it_is_graylisted",
    "003 L395 to L413 do not say which of to-remove and to-add comes first", _added_then_removed
)  # fmt: skip


def _black_before_white(lists: Lists) -> Lists:
    black = _types(lists, "black-list", "to-add")
    white = _types(lists, "white-list", "to-add")
    if any(one in black for one in white):
        lists["white-list"]["to-add"] = [one for one in white if one not in black]
    return lists


_relisted(
    "a_type_that_is_added_to_both_lists_is_blocklisted",
    "003 L400, L409 do not say what becomes of a type in both to-add", _black_before_white
)  # fmt: skip


def _known_keys(lists: Lists) -> Lists:
    known = {name: one for name, one in lists.items() if name in ("black-list", "white-list")}
    return {
        name: {move: types for move, types in one.items() if move in ("to-remove", "to-add")}
        for name, one in known.items()
    }


_relisted(
    "other_keys_of_a_mixlist_are_read_over",
    "003 L393 'you can specify the operator types as shown below': what another key does is not said", _known_keys
)  # fmt: skip
