"""Small graphs that several tests of partitioning share, and short ways to ask for their partition."""

from __future__ import annotations

from npu_reference.graphs import GraphBuilder, close_over
from npu_reference.options import resolve
from npu_reference.partition import partition


def mixed(graph, **more):
    """The partition in mixed computing, options and keywords of `partition` alike in `more`."""
    return divide(graph, mix_compile_mode=True, **more)


def divide(graph, policy="documented", flavour="tf1", op_list=None, **values):
    given = {name: value if not isinstance(value, list) else str(value) for name, value in values.items()}
    return partition(graph, resolve(given), policy=policy, flavour=flavour, op_list=op_list)


def sets(result):
    """The GEOPs as sorted lists of names, constants left out."""
    graph = result.graph
    return [sorted(graph.nodes[i].name for i in geop.nodes if graph.nodes[i].op != "Const") for geop in result.geops]


def host(result):
    return {entry.node: entry for entry in result.host}


def codes(result):
    return [note.code for note in result.notes]


def chain(*ops, feeds=("x",)):
    """x -> a -> b -> …: 'd' for an operator of the device, 'h' for a PyFunc; nodes are called a, b, c, …"""
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    for name, kind in zip("abcdefghij", "".join(ops)):
        value = g.op("Relu", name, [value]) if kind == "d" else g.py_func(name, [value], ["float32"])[0]
    last = "abcdefghij"[len("".join(ops)) - 1]
    return close_over(g.build(), [f"{name}:0" for name in feeds], [f"{last}:0"])


def closed(g, feeds, fetches, targets=()):
    return close_over(g.build(), feeds, fetches, targets)
