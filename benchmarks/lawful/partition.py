"""Lawful backends that divide graphs, or tell of it, otherwise: the documents say little of how GEOPs come about."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from faulty.asked import is_mixed, value_of
from faulty.making import Answer, Ask, Params

from lawful.kinds import claims_less, lawful, refuses
from npu_conformance.backends.reference import ReferenceBackend
from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import OPS
from npu_reference.partition.borders.checks import violations
from npu_reference.partition.policies import documented

__all__ = ["PLANNED", "lists_operators", "partition_of", "plans", "tells_partition"]

PLANNED = ("partition", "precision", "timeline", "compile")

_Planner = documented._Planner


@contextlib.contextmanager
def _with_members(members: Mapping[str, Any]) -> Iterator[None]:
    """The reference plans by these methods within."""
    before = {name: getattr(_Planner, name) for name in members}
    for name, member in members.items():
        setattr(_Planner, name, member)
    try:
        yield
    finally:
        for name, member in before.items():
            setattr(_Planner, name, member)


def plans(
    area: str, name: str, sentence: str, when: Callable[[Params], bool] = lambda params: True, **members: Any
) -> None:
    """Registers a backend that plans by other methods where `when` holds."""
    backend = ReferenceBackend()  # it remembers divisions of its own

    def fault(ask: Ask, params: Params) -> Answer:
        if not when(params):
            return ask(params)
        backend.__dict__.pop("_kept", None)  # options of another edition may give the same settings
        with _with_members(members):
            answer: Answer = getattr(backend, ask.args[0])(params)  # type: ignore[attr-defined]
        return dict(json.loads(json.dumps(answer)))

    lawful(area, name, sentence, fault, *PLANNED)


def tells_partition(area: str, name: str, sentence: str, change: Callable[[Answer, Params], Any]) -> None:
    """Registers a backend that tells of a division otherwise."""

    def fault(ask: Ask, params: Params) -> Answer:
        answer = ask(params)
        change(answer, params)
        return answer

    lawful(area, name, sentence, fault, "partition")


@functools.lru_cache(maxsize=1 << 10)
def _told_partition(request: str) -> Optional[Answer]:
    from faulty.making import REFERENCE

    try:
        return REFERENCE.partition(json.loads(request))
    except NpuError:
        return None


def partition_of(params: Params, values: Mapping[str, Any]) -> Answer:
    """How the reference divides a request's graph; nothing where it refuses it."""
    keys = ("graph", "surface", "edition", "env", "files", "op_list", "flavour", "feeds", "fetches")
    asked: Dict[str, Any] = {key: params[key] for key in keys if key in params}
    files = {name: text for name, text in (params.get("files") or {}).items() if isinstance(text, str)}
    if not os.path.isfile(params["graph"]):
        return {"geops": [], "host": [], "notes": []}
    with open(params["graph"], "rb") as stream:
        mark = hash(stream.read())  # files are written over by other graphs
    found = _told_partition(json.dumps({**asked, "files": files, "values": values, "mark": mark}, sort_keys=True))
    return found or {"geops": [], "host": [], "notes": []}


# What is told


def _names(answer: Answer, params: Params) -> None:
    renamed = {geop["name"]: f"npu_subgraph_{number * 7 + 11}" for number, geop in enumerate(answer["geops"])}
    for geop in answer["geops"]:
        geop["name"] = renamed[geop["name"]]
    for border in answer.get("borders", ()):
        border["consumers"] = [renamed.get(one, one) for one in border.get("consumers", ())]


tells_partition("partition", "GEOPs_have_other_names", "000 'multiple GEOPs': they have no names", _names)


def _order(answer: Answer, params: Params) -> None:
    for geop in answer["geops"]:
        for key in ("nodes", "args", "rets", "copies"):
            geop[key] = list(reversed(geop.get(key, [])))
    for key in ("geops", "host", "borders", "notes"):
        answer[key] = list(reversed(answer.get(key, [])))


tells_partition(
    "partition", "GEOPs_and_their_operators_come_in_another_order",
    "000 'partitions the entire graph into multiple GEOPs': they have no order", _order
)  # fmt: skip

_OPTIONAL = ("signature", "copies", "borders", "min_geops", "notes", "reasons")


def _nodes_alone(answer: Answer) -> None:
    answer["geops"] = [{"nodes": geop["nodes"]} for geop in answer["geops"]]
    answer["host"] = [{"node": one["node"]} for one in answer["host"]]
    for key in ("borders", "min_geops", "notes"):
        answer.pop(key, None)


claims_less(
    "partition", "nothing_but_the_place_of_operators_is_told",
    "000 says that operators are offloaded or not, and of nothing else that it can be seen", _OPTIONAL, _nodes_alone,
    "partition"
)  # fmt: skip


def _own_reasons(answer: Answer) -> None:
    for one in answer["host"]:
        one["reason"] = "no kernel for " + one.get("op", "")


claims_less(
    "partition", "reasons_are_told_in_words_of_its_own",
    "000 'unoffloadable operators': reasons have no names in the documents", ("reasons",), _own_reasons, "partition"
)  # fmt: skip


def _other_notes(answer: Answer, params: Params) -> None:
    answer["notes"] = [{**one, "code": "N" + one["code"].lower()} for one in answer.get("notes", [])]
    for one in answer["host"]:
        answer["notes"].append({"code": "on_host", "subject": one["node"], "message": "runs on the host."})


tells_partition(
    "partition", "more_is_noted_of_a_division_by_codes_of_its_own",
    "000 has no word of messages about a division, nor of none", _other_notes
)  # fmt: skip


def _over_the_host(answer: Answer, params: Params) -> None:
    found: List[Dict[str, Any]] = []
    for one in answer.get("borders", []):
        ways = ("d2h", "h2d") if one["direction"] == "d2d" else (one["direction"],)
        for way in ways:
            if not any((had["source"], had["direction"]) == (one["source"], way) for had in found):
                found.append({**one, "direction": way})
    answer["borders"] = found


tells_partition(
    "partition", "what_goes_from_one_GEOP_to_another_passes_the_host",
    "000 'data transfer for unoffloadable operators is performed via memcpy': between GEOPs it is open",
    _over_the_host
)  # fmt: skip


def _unknown_bytes(answer: Answer, params: Params) -> None:
    answer["min_geops"] = None
    for one in answer.get("borders", []):
        one["bytes"] = None


tells_partition(
    "partition", "neither_sizes_of_transfers_nor_the_fewest_GEOPs_are_known",
    "000 says that data are transferred, not how many bytes; and no least number of GEOPs", _unknown_bytes
)  # fmt: skip


# More GEOPs

_group = _Planner._group


def _renumbered(labels: Sequence[Any]) -> List[int]:
    """Groups counted from 0 by their first operator; None is the host."""
    numbers: Dict[Any, int] = {}
    return [-1 if label is None else numbers.setdefault(label, len(numbers)) for label in labels]


def _if_it_runs(planner: Any, before: List[int], after: List[int]) -> List[int]:
    problems = violations(planner.graph, planner.wires, after, planner._copies(after), planner.around)
    return before if problems else after


def _parted(planner: Any, part_of: Callable[[int], Any]) -> List[int]:
    """The groups, each in parts where what comes of it can run: its operators by what `part_of` says of them."""
    found: List[int] = _group(planner)
    if not planner.settings.mix:
        return found
    for home in range(max(found, default=-1) + 1):
        labels = [
            None if own < 0 else (own, part_of(node)) if own == home else (own, None) for node, own in enumerate(found)
        ]
        # the other groups keep their order, so that those still to come are found by their numbers
        order = {label: k for k, label in enumerate(sorted({one for one in labels if one is not None}, key=repr))}
        count = max(found, default=-1) + 1
        first = next((label for label in labels if label is not None and label[0] == home), None)
        numbers: Dict[Any, int] = {first: home}
        for label in order:
            if label[0] != home:
                numbers[label] = label[0]
            elif label != first:
                numbers[label] = count
                count += 1
        found = _if_it_runs(planner, found, [-1 if label is None else numbers[label] for label in labels])
    return _renumbered([None if own < 0 else own for own in found])


def _by_components(self: Any) -> List[int]:
    count = len(self.graph.nodes)
    parent = list(range(count))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    before = _group(self)
    for source, target in zip(self.wires.src, self.wires.dst):
        if before[source] >= 0 and before[source] == before[target]:
            parent[root(source)] = root(target)
    return _parted(self, root)


plans(
    "partition", "regions_that_nothing_joins_are_GEOPs_of_their_own",
    "000 'partitions the entire graph into multiple GEOPs': no least number is promised", _group=_by_components
)  # fmt: skip


def _in_halves(self: Any) -> List[int]:
    nodes, wires = self.graph.nodes, self.wires
    count = len(nodes)
    waiting, level = [0] * count, [0] * count
    readers: List[List[int]] = [[] for _ in range(count)]
    for source, target in zip(wires.src, wires.dst):
        if nodes[source].op not in ("NextIteration", "RefNextIteration"):
            waiting[target] += 1
            readers[source].append(target)
    ready = [node for node in range(count) if not waiting[node]]
    for node in ready:
        for target in readers[node]:
            level[target] = max(level[target], level[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    members: Dict[int, List[int]] = {}
    before = _group(self)
    for node, home in enumerate(before):
        members.setdefault(home, []).append(level[node])
    middle = {home: sorted(found)[len(found) // 2] for home, found in members.items()}
    return _parted(self, lambda node: level[node] >= middle[before[node]])


plans(
    "partition", "every_GEOP_is_two_one_behind_the_other",
    "000 'partitions the entire graph into multiple GEOPs': no greatest size and no least number is promised",
    _group=_in_halves
)  # fmt: skip


def _one_by_one(self: Any) -> List[int]:
    return _parted(self, lambda node: node)


plans(
    "partition", "every_operator_is_a_GEOP_of_its_own_where_that_runs",
    "000 'partitions the entire graph into multiple GEOPs': that neighbours share one is not said", _group=_one_by_one
)  # fmt: skip


# Constants, and what computes nothing

_copies = _Planner._copies


def _variables_alone(self: Any, groups: Sequence[int]) -> Any:
    return _copies(self, groups)._replace(constants=set())


plans(
    "partition", "constants_are_transferred_instead_of_copied",
    "000 'data transfer ... is performed via memcpy': no document says that a constant is copied into a GEOP",
    _copies=_variables_alone
)  # fmt: skip


def _isolated_offloaded(self: Any) -> List[int]:
    found = _group(self)
    if not self.settings.mix:
        return found
    for node in range(len(found)):
        if found[node] < 0 and self.candidate[node] and self.graph.nodes[node].op in ("NoOp", "Identity"):
            after = list(found)
            after[node] = max(after, default=-1) + 1
            found = _if_it_runs(self, found, after)
    return found


plans(
    "partition", "an_Identity_or_NoOp_by_itself_is_offloaded",
    "000 'after identifying offloadable operators': an Identity is one as well", _group=_isolated_offloaded
)  # fmt: skip


def _constants_offloaded(self: Any) -> List[int]:
    found = _group(self)
    if not self.settings.mix or self.settings.ranges:
        return found
    for node in self.graph.nodes:
        if node.op != "Const" or found[node.id] >= 0 or self.candidate[node.id]:
            continue
        plain = self.graph.output_dtypes(node.id)[0].base.name not in ("string", "resource", "variant")
        marked = node.attr("_without_npu_compile") is True
        waits = any(True for _ in self.graph.in_edges(node.id))
        if plain and not marked and not waits and self.op_list.get("Const") is not None:
            after = list(found)
            after[node.id] = max(after, default=-1) + 1
            found = _if_it_runs(self, found, after)
            if found[node.id] >= 0:
                self.candidate[node.id] = 1
                self.cause.pop(node.id, None)
    return found


plans(
    "partition", "constants_that_the_host_reads_are_offloaded",
    "000 'after identifying offloadable operators': a constant is one, whoever reads it", _group=_constants_offloaded
)  # fmt: skip


# The operators of other hardware


def lists_operators(
    area: str,
    name: str,
    sentence: str,
    change: Callable[[Dict[str, Any]], Dict[str, Any]],
    methods: Sequence[str],
    mixed: bool = False,
) -> None:
    """Registers a backend with an operator list of its own where the request gives none."""
    made = functools.lru_cache(maxsize=None)(lambda: change(OpList.built_in().to_json()))

    def fault(ask: Ask, params: Params) -> Answer:
        if "op_list" in params or "script" in params or (mixed and not is_mixed(params)):
            return ask(params)
        return ask({**params, "op_list": made()})

    lawful(area, name, sentence, fault, *methods)


_RARE = ("Exp", "Log", "Sqrt", "Rsqrt", "Tanh", "Sigmoid", "Pad", "PadV2", "Tile", "Split", "SplitV", "Stack", "Pack",
         "Unpack", "Gather", "TopKV2", "Cumsum", "Pow", "Floor", "Select", "SelectV2", "OneHot", "Round", "Erf",
         "Softplus", "Where", "RandomUniform", "RandomStandardNormal", "ArgMax", "LogSoftmax")  # fmt: skip


def _smaller(listed: Dict[str, Any]) -> Dict[str, Any]:
    return {op: entry for op, entry in listed.items() if op not in _RARE}


lists_operators(
    "mixed", "fewer_operators_can_be_offloaded_in_mixed_computing",
    "000 'unsupported operators (such as py_func)': which others the hardware lacks is not said", _smaller,
    (*PLANNED, "run"), mixed=True
)  # fmt: skip

#: types.proto numbers of strings, resources and variants, which stay in the framework.
_HOST_TYPES = (7, 20, 21)
_HOST_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "Placeholder", "PlaceholderV2", "Bitcast")


def _larger(listed: Dict[str, Any]) -> Dict[str, Any]:
    found = dict(listed)
    for op in _numeric_operators():
        found.setdefault(op, {"isGray": False, "isHeavy": False})
    return found


@functools.lru_cache(maxsize=None)
def _numeric_operators() -> Tuple[str, ...]:
    """Operators without state whose tensors are never strings, resources or variants."""
    found = []
    for name in OPS.names():
        one = OPS.get(name)
        if one is None or one.is_stateful or not one.outputs or name in _HOST_OPS:
            continue
        if name.startswith(("_", "Xla", "TPU", "Mkl", "Collective", "Nccl")) or "Dataset" in name:
            continue
        functions = any("func" in attr.type for attr in one.attrs.values())
        if not functions and all(_is_numeric(one, arg) for arg in (*one.inputs, *one.outputs)):
            found.append(name)
    return tuple(found)


def _is_numeric(op_def: Any, arg: Any) -> bool:
    if arg.is_ref or arg.type_list_attr:
        return False
    if arg.dtype is not None:
        return arg.dtype.number not in _HOST_TYPES
    allowed = op_def.attrs[arg.type_attr].allowed
    return allowed is not None and bool(allowed.list.type) and not set(allowed.list.type) & set(_HOST_TYPES)


lists_operators(
    "mixed", "every_operator_on_numbers_can_be_offloaded",
    "000 'unsupported operators (such as py_func)', 'resource operators': others the hardware may have", _larger,
    ("partition", "precision")
)  # fmt: skip


# Full offload


def _replanned_in_full(self: Any) -> List[int]:
    settings = self.settings
    self.settings = settings._replace(mix=True)
    try:
        return _group(self)
    finally:
        self.settings = settings


def _copies_in_full(self: Any, groups: Sequence[int]) -> Any:
    settings = self.settings
    self.settings = settings._replace(mix=True)
    try:
        return _copies(self, groups)
    finally:
        self.settings = settings


def _is_full(params: Params) -> bool:
    return not is_mixed(params)


plans(
    "partition", "full_offload_offloads_every_region",
    "003 L145 'in full offload mode, all compute operators are offloaded': beside an unsupported one it says nothing",
    _is_full, _group=_replanned_in_full, _copies=_copies_in_full
)  # fmt: skip


def _unsupported_in_full(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    told = {"values": values}
    if value_of(told, "mix_compile_mode") is True or value_of(told, "use_off_line") is False:
        return None
    for one in partition_of(params, values)["host"]:
        kept = any(word in one["op"] for word in ("Summary", "Save", "Restore", "Checkpoint", "Dataset", "Iterator"))
        if one["reason"] == "NOT_SUPPORTED" and not kept:
            return "mix_compile_mode"
    return None


refuses(
    "partition", "full_offload_refuses_an_operator_that_is_not_supported",
    "000 'mixed computing is provided for scenarios where the computation graph contains unsupported operators'",
    "OPTION_CONFLICT", _unsupported_in_full, PLANNED
)  # fmt: skip


def _scope_in_full(params: Params, values: Mapping[str, Any]) -> Optional[str]:
    if value_of({"values": values}, "mix_compile_mode") is True:
        return None
    codes = [one["code"] for one in partition_of(params, values)["notes"]]
    return "mix_compile_mode" if "SCOPE_WITHOUT_MIX" in codes else None


refuses(
    "mixed", "without_npu_compile_scope_is_refused_in_full_offload",
    "000 'in mixed computing mode ... without_npu_compile_scope': what it does in full offload is not said",
    "OPTION_CONFLICT", _scope_in_full, PLANNED
)  # fmt: skip
