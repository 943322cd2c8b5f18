"""The work of reading, partitioning and answering grows with the graph, not with its square: counted, not timed."""

from __future__ import annotations

import json
import sys

import pytest

from npu_reference.graphs import parse_graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.partition.contract import contract
from tests.partition.families import FAMILIES, OPS, Writer

_SIZES = (700, 2800)
#: n log n between the two sizes is a factor of 1.21 a node, a square would be one of 4.
_MOST = 1.3

each_family = pytest.mark.parametrize("family", sorted(FAMILIES))
each_share = pytest.mark.parametrize("host", [0.0, 0.01, 0.1])


def made(family, host, size):
    writer = Writer(host, 1)
    FAMILIES[family](writer, size)
    return writer.graph.SerializeToString()


def calls(function):
    """Functions called, Python's own included, which is the same on every machine."""
    count = 0

    def hear(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@each_share
@each_family
def test_the_calls_of_the_whole_way_grow_with_the_nodes(family, host):
    options = resolve({"mix_compile_mode": True})
    partition(parse_graph(made(family, host, 50)), options, op_list=OPS)  # what is read once a process
    work = []
    for size in _SIZES:
        data = made(family, host, size)
        nodes = []

        def whole(data=data, nodes=nodes):
            graph = parse_graph(data)
            nodes.append(len(graph.nodes))
            json.dumps(partition(graph, options, op_list=OPS).to_json())

        work.append(calls(whole) / nodes[0])
    assert work[1] < _MOST * work[0], work


@each_share
@each_family
def test_the_steps_of_contraction_grow_with_the_edges(family, host):
    work = []
    for size in _SIZES:
        graph = parse_graph(made(family, host, size))
        candidate = [int(node.op == "AddN") for node in graph.nodes]
        work.append(contract(len(graph.nodes), graph.edges.src, graph.edges.dst, candidate).work / len(graph.edges.src))
    assert work[1] < _MOST * work[0], work
