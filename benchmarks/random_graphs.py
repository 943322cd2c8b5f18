"""Tries every law of partitioning on many random graphs, with references, strings, loops, branches and functions.

Usage: python benchmarks/random_graphs.py [--count 10000] [--seed 0] [--processes 1] [--log FILE] [--summary FILE]

Of each graph, under a mode and a flavour that its number chooses: the laws that a backend is asked
(npu_conformance.laws), the partitioned graph built and read again with its types, GEOPs inlined, operators renamed,
the partition made twice, and, under policy "adapter", groups compared with a naive transcription of the adapter's
rules. A graph that breaks one is made small and written beside the log. The log has a line a chunk of graphs: a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import platform
import sys
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

import google.protobuf  # noqa: E402

import npu_reference  # noqa: E402
from npu_conformance import twins  # noqa: E402
from npu_conformance.laws.checks import LAWS, Question, read  # noqa: E402
from npu_conformance.laws.graphs import draw, request  # noqa: E402
from npu_conformance.laws.shrink import shrink  # noqa: E402
from npu_reference.catalog import OpList  # noqa: E402
from npu_reference.errors import NpuError  # noqa: E402
from npu_reference.graphs import graph_from_def, write_graph  # noqa: E402
from npu_reference.partition import adapter, build, documented, partition  # noqa: E402
from npu_reference.partition.introsort import sort_by_size_descending  # noqa: E402
from npu_reference.partition.settings import Settings  # noqa: E402
from tests.partition import naive  # noqa: E402
from tests.partition.inlining import Flat  # noqa: E402

CHUNK = 500  # graphs between two lines of the log
_SMALL = 120  # nodes up to which the naive transcription is asked: it is cubic
_OPS = OpList.built_in()
_LISTED = _OPS.to_json()


class Broken(Exception):
    """A law does not hold: its name and how."""

    def __init__(self, law, fault):
        super().__init__(f"{law}: {fault}")
        self.law = law


def choice(number):
    """(settings, flavour) of a graph: mixed computing twice as often as full offload, variables on the host a third."""
    return Settings(mix=number % 3 != 0, variables_on_host=number % 9 in (1, 3, 8)), ("tf1", "tf2")[number % 2]


def examine(asked, number, counts):
    """Raise Broken where a law does not hold of the graph; count what was met."""
    graph, (options, flavour) = asked.closed, choice(number)
    result = partition(graph, options, flavour=flavour)
    answer = result.to_json()
    reading = read(Question(graph, _LISTED, options.mix), answer)
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
    if not result.min_geops <= len(result.geops) <= max(planned.contracted, len(result.geops) if planned.notes else 0):
        raise Broken("counts", f"{result.min_geops} <= {len(result.geops)} <= {planned.contracted} is wrong")
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


def broken_by(steps, number):
    """The Broken (or other error) of a graph, None where all laws hold."""
    asked = request(steps)
    if asked is None:
        return None
    try:
        examine(asked, number, collections.Counter())
    except Exception as error:  # noqa: BLE001 any error is a finding
        return error
    return None


def chunk(task):
    """Examine one chunk: a line of the log."""
    seed, first, count, folder = task
    counts, broken = collections.Counter(), []
    started, clock = time.time(), time.process_time()
    for number in range(first, first + count):
        steps = draw(f"{seed}/{number}")
        asked = request(steps)
        if asked is None:
            counts["placeholders alone"] += 1
            continue
        try:
            examine(asked, number, counts)
        except Exception as error:  # noqa: BLE001 any error is a finding
            kind = type(error), getattr(error, "law", "")
            small = shrink(steps, lambda some: _kind(broken_by(some, number)) == kind)  # noqa: B023 used at once
            path = os.path.join(folder, f"random-graph-{seed}-{number}.pbtxt")
            write_graph(request(small).closed, path)
            broken.append({"number": number, "law": kind[1], "error": str(error), "graph": os.path.basename(path)})
    return {
        "seed": seed,
        "first": first,
        "graphs": count,
        "cpu": round(time.process_time() - clock, 2),
        "seconds": round(time.time() - started, 2),
        "counts": dict(sorted(counts.items())),
        "broken": broken,
    }


def _kind(error):
    return type(error), getattr(error, "law", "")


def explore(count, seed=0, processes=1, log=None, tell=lambda line: None):
    """Examine `count` graphs; the lines of the log, in order."""
    lines = {}
    if log and os.path.exists(log):
        with open(log, encoding="utf-8") as stream:
            for text in stream:
                if text.endswith("\n"):  # the last may be cut off
                    line = json.loads(text)
                    if line["seed"] == seed and line["first"] + line["graphs"] <= count:
                        lines[line["first"]] = line
    folder = os.path.dirname(os.path.abspath(log)) if log else "."
    tasks = [(seed, first, min(CHUNK, count - first), folder) for first in range(0, count, CHUNK) if first not in lines]
    pool = multiprocessing.get_context("fork").Pool(processes) if processes > 1 else None
    try:
        for line in pool.imap_unordered(chunk, tasks) if pool else map(chunk, tasks):
            lines[line["first"]] = line
            if log:
                with open(log, "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line, sort_keys=True) + "\n")
            tell(line)
    finally:
        if pool:
            pool.terminate()
    return [lines[first] for first in sorted(lines)]


def summary(lines):
    """What a whole run found, as text; the same on every machine but for versions and seconds."""
    counts = collections.Counter()
    for line in lines:
        counts.update(line["counts"])
    broken = [one for line in lines for one in line["broken"]]
    total = sum(line["graphs"] for line in lines)
    texts = [
        f"{total} random graphs, seeds {lines[0]['seed']}/0 to {lines[0]['seed']}/{total - 1}",
        f"laws broken: {len(broken)}",
        *(f"  {one['number']}: {one['error']} ({one['graph']})" for one in broken),
        f"npu-conformance {npu_reference.__version__}, Python {platform.python_version()}, "
        f"protobuf {google.protobuf.__version__}, {platform.system()} {platform.machine()}",
        f"{sum(line['cpu'] for line in lines):.0f} s of CPU",
        "laws: " + ", ".join(name for name, law in LAWS.items() if law.faults),
        "  and typed functions, inlining of the built graph, renaming, repeating, transcription",
        *(f"{counts[name]:>10}  {name}" for name in sorted(counts)),
    ]
    return "\n".join(texts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log", help="a line of JSON a chunk; an existing one is continued")
    parser.add_argument("--summary", help="where the summary is written, beside standard output")
    args = parser.parse_args()
    done = [0]

    def tell(line):
        done[0] += line["graphs"]
        print(f"\r{done[0]} graphs, {len(line['broken'])} broken in the last", end="", file=sys.stderr, flush=True)

    text = summary(explore(args.count, args.seed, args.processes, args.log, tell))
    print(file=sys.stderr)
    print(text, end="")
    if args.summary:
        with open(args.summary, "w", encoding="utf-8") as stream:
            stream.write(text)
    return 1 if "laws broken: 0\n" not in text else 0


if __name__ == "__main__":
    sys.exit(main())
