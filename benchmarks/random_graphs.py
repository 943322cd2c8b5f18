"""Tries every law of partitioning on many random graphs, with references, strings, loops, branches and functions.

Nodes of half the graphs stand in the file in a random order, topological or not.

Usage: python benchmarks/random_graphs.py [--count 10000] [--seed 0] [--processes 1] [--log FILE] [--summary FILE]

Of each graph, under a mode and a flavour that its number chooses: the laws that a backend is asked
(npu_conformance.strength.laws), the partitioned graph built and read again with its types, GEOPs inlined, operators
renamed, nodes reversed, the partition made twice, and, under policy "adapter", groups compared with a naive
transcription of the adapter's rules. A graph that breaks one is made small and written beside the log. The log has a
line a chunk of graphs: a run that was stopped goes on where it was.
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
from npu_conformance.strength.laws.graphs import draw, request  # noqa: E402
from npu_conformance.strength.laws.partitions.laws import LAWS  # noqa: E402
from npu_conformance.strength.laws.shrink import shrink  # noqa: E402
from npu_reference.graphs import write_graph  # noqa: E402
from tests.partition.lawful import examine  # noqa: E402

CHUNK = 500  # graphs between two lines of the log


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
        "  and typed functions, inlining of the built graph, renaming, reordering, repeating, transcription",
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
