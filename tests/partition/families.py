"""Families of graphs of any size, for measuring how partitioning grows: chains, grids, transformers, random DAGs."""

from __future__ import annotations

import math
import random

from npu_reference.catalog import OpList
from npu_reference.graphs import message_class

__all__ = ["FAMILIES", "OPS", "Writer"]

#: The device's operators; Exp, which it lacks here, is the host's.
OPS = OpList.parse('{"Relu": {}, "AddN": {}, "MatMul": {}}')


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
            node.attr["shape"].shape.dim.add(size=2)
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
