"""Every law of partitioning, tried on one random graph: the outer ones of an answer, and those that need the inside."""

from __future__ import annotations

import collections

from npu_conformance.library import twins
from npu_conformance.strength.laws.partitions.laws import LAWS
from npu_conformance.strength.laws.partitions.reading import LawQuestion, read
from npu_reference.catalog import OpList
from npu_reference.errors import NpuError
from npu_reference.graphs import graph_from_def
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition import build, partition
from npu_reference.partition.clustering.introsort import sort_by_size_descending
from npu_reference.partition.policies import adapter, documented
from npu_reference.partition.reasons import Reason
from tests.partition import naive
from tests.partition.inlining import Flat

__all__ = ["Broken", "choice", "examine", "transcribed"]

_SMALL = 120  # nodes up to which the naive transcription is asked: it is cubic
_OPS = OpList.built_in()
_LISTED = {op: entry for op, entry in _OPS.to_json().items() if op != "StringJoin"}  # it is never offloaded


class Broken(Exception):
    """A law does not hold: its name and how."""

    def __init__(self, law, fault):
        super().__init__(f"{law}: {fault}")
        self.law = law


def choice(number):
    """(settings, flavour) of a graph: mixed computing twice as often as full offload, variables on the host a third."""
    return PartitionSettings(mix=number % 3 != 0, variables_on_host=number % 9 in (1, 3, 8)), ("tf1", "tf2")[number % 2]


def examine(asked, number, counts):
    """Raise Broken where a law does not hold of the graph; count what was met."""
    graph, (options, flavour) = asked.closed, choice(number)
    result = partition(graph, options, flavour=flavour)
    answer = result.to_json()
    reading = read(LawQuestion(graph, _LISTED, options.mix, False, options.variables_on_host), answer)
    for law in LAWS.values():
        faults = law.faults(reading) if law.faults else []
        if faults:
            raise Broken(law.name, faults[0])
    counts["GEOPs"] += len(result.geops)
    counts["graphs with several GEOPs"] += len(result.geops) > 1
    counts["nodes"] += len(graph.nodes)
    for entry in result.host:
        counts[f"host because {entry.reason.value}"] += 1
    _built(graph, result)
    _same_again(graph, options, flavour, result, answer)
    planned = documented.plan(graph, options, _OPS, flavour)
    if not result.min_geops <= len(result.geops) <= planned.contracted:
        raise Broken("counts", f"{result.min_geops} <= {len(result.geops)} <= {planned.contracted} is wrong")
    _grounded(planned)
    _in_another_order(graph, options, flavour, planned, counts)
    _as_transcribed(graph, options, flavour, counts)


def _built(graph, result):
    built = build(graph, result)
    graph_from_def(built)  # refuses cycles, unknown inputs and wrong types
    for geop, function in zip(result.geops, (f for g in result.geops for f in _named(built, g.name))):
        for key, given in (("input_arg", geop.args), ("output_arg", geop.rets)):
            types = [arg.type for arg in getattr(function.signature, key)]
            if types != [tensor.dtype.number for tensor in given]:
                raise Broken("typed", f"{key} of {geop.name}: {types}")
    flat = Flat(graph, result, built)
    if flat.op != {node.name: node.op for node in graph.nodes}:
        raise Broken("inlining", "other operators come back")
    edges = graph.edges
    for node in graph.nodes:
        data = [e for e in graph.in_edges(node.id) if edges.src_slot[e] >= 0]
        data.sort(key=lambda e: edges.dst_slot[e])
        if flat.inputs[node.name] != [(graph.nodes[edges.src[e]].name, edges.src_slot[e]) for e in data]:
            raise Broken("inlining", f"{node.name} has other inputs")
        home = result.assignment[node.id]
        waits = [e for e in graph.in_edges(node.id) if edges.src_slot[e] < 0]
        inside = {graph.nodes[edges.src[e]].name for e in waits if result.assignment[edges.src[e]] == home}
        if not inside <= set(flat.controls[node.name]):
            raise Broken("inlining", f"{node.name} has lost a control input")


def _named(built, name):
    return [function for function in built.library.function if function.signature.name == name]


def _same_again(graph, options, flavour, result, answer):
    if partition(graph, options, flavour=flavour).to_json() != answer:
        raise Broken("repeating", "the second answer differs")
    definition = graph.to_def()
    names, _ = twins.rename(definition)
    other = partition(graph_from_def(definition), options, flavour=flavour)
    same = list(other.assignment) == list(result.assignment) and [
        (names.get(entry.node, entry.node), entry.reason) for entry in result.host
    ] == [(entry.node, entry.reason) for entry in other.host]
    if not same:
        raise Broken("renaming", "other names give another partition")


def _grounded(planned):
    """Every chain of causes ends in one that stands by itself."""
    for node in planned.cause:
        seen = set()
        while node >= 0 and node in planned.cause:
            if node in seen:
                raise Broken("witness", f"{planned.graph.nodes[node].name} would be its own cause")
            seen.add(node)
            node = planned.cause[node].via


def _in_another_order(graph, options, flavour, planned, counts):
    """The order of the file decides which clusters are joined, and nothing else: not what can go, nor why not."""
    reverse = graph.empty_def()
    reverse.node.extend(node.proto for node in reversed(graph.nodes))
    other = documented.plan(graph_from_def(reverse), options, _OPS, flavour)
    if _cut(planned) or _cut(other):  # which clusters are joined decides whether a reference would cross
        counts["references between regions"] += 1
    elif _told(planned, options.mix) != _told(other, options.mix):
        raise Broken("reordering", "another order of nodes gives other candidates, reasons or host operators")


def _cut(planned):
    shared = (Reason.REF_EDGE, Reason.RESOURCE_EDGE, Reason.VARIANT_EDGE)
    return any(cause.reason in shared and cause.via < 0 for cause in planned.cause.values())


def _told(planned, mix):
    nodes = planned.graph.nodes
    causes = {
        nodes[i].name: (cause.reason, cause.detail, nodes[cause.via].name if cause.via >= 0 else "")
        for i, cause in planned.cause.items()
    }
    candidates = {node.name for node in nodes if planned.candidate[node.id]}
    # Of regions of one size full offload keeps one, by order.
    return causes, candidates, {node.name for node in nodes if planned.group[node.id] < 0} if mix else ()


def _as_transcribed(graph, options, flavour, counts):
    """The groups of the adapter's policy are those of the naive transcription of its rules."""
    if len(graph.nodes) > _SMALL:
        counts["too large for the transcription"] += 1
        return
    try:
        planned = adapter.plan(graph, options, _OPS, flavour)
    except NpuError as error:
        counts[f"refused under policy adapter: {error.code}"] += 1
        return
    expected = transcribed(planned, options, flavour)
    found = collections.defaultdict(set)
    for node, home in enumerate(planned.group):
        if home >= 0:
            found[home].add(node)
    if {frozenset(members) for members in found.values()} != expected:
        raise Broken("transcription", "the naive transcription gives other groups")
    counts["compared with the transcription"] += 1


def transcribed(planned, options, flavour):
    """The groups of a plan's candidates, as sets of nodes, by the naive transcription."""
    nodes, wires, candidate = planned.graph.nodes, planned.wires, list(planned.candidate)
    edges = list(zip(wires.src, wires.dst))
    untied = {e for e, source in enumerate(wires.src) if nodes[source].op in ("NextIteration", "RefNextIteration")}
    label, cycles = naive.contract(len(nodes), edges, candidate, flavour=flavour, untied=untied)
    size = collections.Counter(label[node] for node in range(len(nodes)) if candidate[node])
    if size and max(size.values()) == 1:
        candidate = [int(c and nodes[i].op not in ("NoOp", "Identity")) for i, c in enumerate(candidate)]

    def by_size(some):
        return sort_by_size_descending(some, [size[cluster] for cluster in some])

    if options.mix:
        into = naive.merge_pairs(label, cycles, candidate, by_size)
    else:
        kept = naive.keep_largest_group(label, cycles, candidate, by_size)
        into = dict.fromkeys(kept, "kept")
    found = collections.defaultdict(set)
    for node in range(len(nodes)):
        if candidate[node] and label[node] in into:
            found[into[label[node]]].add(node)
    return {frozenset(members) for members in found.values()}
