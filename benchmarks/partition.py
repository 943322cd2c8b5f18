"""Measures partitioning over families of graphs: CPU time, memory and how they grow.

Usage: python benchmarks/partition.py [--sizes 10000,100000] [--host 0,0.01,0.1] [--family NAME] [--policy P] [--memory]

Each line is one graph: seconds of CPU for reading the GraphDef, for partitioning and for the JSON answer, GEOPs, their
proven minimum; with --memory the peak of resident memory, each graph in a process of its own. The exponent is the
slope of log time over log size from the smallest to the largest size.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "impl"))

from npu_reference.catalog import OpList
from npu_reference.graphs import message_class, parse_graph
from npu_reference.options import resolve
from npu_reference.partition import partition

#: The device's operators; Exp, which it lacks here, is the host's.
_OPS = OpList.parse('{"Relu": {}, "AddN": {}, "MatMul": {}}')


class Writer:
    """A GraphDef written node by node; `host` is the share of operators the device lacks."""

    def __init__(self, host, seed):
        self.graph = message_class("GraphDef")()
        self.graph.versions.producer = 134
        self.host, self.random, self.count = host, random.Random(seed), 0

    def add(self, *sources):
        node = self.graph.node.add(name=f"n{self.count}")
        self.count += 1
        node.attr["T"].type = 1
        if not sources:
            node.op = "Placeholder"
            del node.attr["T"]
            node.attr["dtype"].type = 1
        elif self.random.random() < self.host:
            node.op = "Exp"
            sources = sources[:1]
        else:
            node.op = "AddN"
            node.attr["N"].i = len(sources)
        node.input.extend(f"n{source}" for source in sources)
        return self.count - 1


def chain(w, size):
    """One path with a skip over every third operator, as in a residual network."""
    last = [w.add()]
    while w.count < size:
        last.append(w.add(last[-1], last[-3]) if len(last) % 3 == 0 else w.add(last[-1]))


def grid(w, size):
    """A square in which every operator reads its left and its upper neighbour."""
    side = max(2, int(math.sqrt(size)))
    row = [w.add()]
    for _ in range(side - 1):
        row.append(w.add(row[-1]))
    for _ in range(side - 1):
        below = [w.add(row[0])]
        for above in row[1:]:
            below.append(w.add(below[-1], above))
        row = below


def transformer(w, size):
    """Layers of twelve heads each, with residual connections and a backward pass that reads every activation."""
    stack, value = [], w.add()
    while w.count < size // 2:
        heads = []
        for _ in range(12):
            q, k, v = w.add(value), w.add(value), w.add(value)
            heads.append(w.add(w.add(q, k), v))
        value = w.add(w.add(*heads), value)
        stack.append((value, heads))
    gradient = value
    for activation, heads in reversed(stack):
        parts = [w.add(gradient, head) for head in heads]
        gradient = w.add(w.add(*parts), activation)


def random_dag(w, size):
    """Every operator reads one to three of the forty before it."""
    w.add()
    while w.count < size:
        here = w.count
        sources = {w.random.randint(max(0, here - 40), here - 1) for _ in range(w.random.randint(1, 3))}
        w.add(*sorted(sources))


FAMILIES = {"chain": chain, "grid": grid, "transformer": transformer, "random": random_dag}


def measure(family, size, host, policy):
    """One graph: a dict of what it is and what it took."""
    writer = Writer(host, size)
    FAMILIES[family](writer, size)
    data = writer.graph.SerializeToString()
    del writer
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    options = resolve({"mix_compile_mode": True})
    clock = [time.process_time()]
    graph = parse_graph(data)
    clock.append(time.process_time())
    result = partition(graph, options, policy=policy, op_list=_OPS)
    clock.append(time.process_time())
    length = len(json.dumps(result.to_json()))
    clock.append(time.process_time())
    return {
        "family": family,
        "host": host,
        "nodes": len(graph.nodes),
        "read": clock[1] - clock[0],
        "partition": clock[2] - clock[1],
        "json": clock[3] - clock[2],
        "json_bytes": length,
        "geops": len(result.geops),
        "least": result.min_geops,
        "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "before_kb": before,
    }


def in_own_process(family, size, host, policy):
    command = [sys.executable, os.path.abspath(__file__), "--one", family, str(size), str(host), "--policy", policy]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="10000,30000,100000")
    parser.add_argument("--host", default="0,0.01,0.1")
    parser.add_argument("--family", choices=sorted(FAMILIES))
    parser.add_argument("--policy", default="documented")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        family, size, host = args.one
        print(json.dumps(measure(family, int(size), float(host), args.policy)))
        return
    run = in_own_process if args.memory else measure
    sizes = [int(size) for size in args.sizes.split(",")]
    print(f"{'family':12}{'host':>6}{'nodes':>10}{'read s':>9}{'part. s':>9}{'json s':>8}", end="")
    print(f"{'GEOPs':>8}{'least':>8}{'MB':>7}")
    for family in [args.family] if args.family else FAMILIES:
        for host in (float(share) for share in args.host.split(",")):
            rows = [run(family, size, host, args.policy) for size in sizes]
            for row in rows:
                memory = f"{row['peak_kb'] / 1024:7.0f}" if args.memory else ""
                print(
                    f"{family:12}{host:6.2f}{row['nodes']:10}{row['read']:9.2f}{row['partition']:9.2f}"
                    f"{row['json']:8.2f}{row['geops']:8}{row['least']:8}{memory}",
                    flush=True,
                )
            if len(rows) > 1:
                first, last = rows[0], rows[-1]
                slope = math.log(last["partition"] / first["partition"]) / math.log(last["nodes"] / first["nodes"])
                print(f"{'':12}{'':6}{'exponent':>10}{'':9}{slope:9.2f}", flush=True)


if __name__ == "__main__":
    main()
