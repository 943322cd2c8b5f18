"""The work of reading, partitioning and answering grows with the graph, not with its square: counted, not timed."""

from __future__ import annotations

import json
import sys
import tracemalloc

import pytest

from npu_reference.graphs import parse_graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.partition.clustering.antichains import share
from npu_reference.partition.clustering.bitsets import BitSets
from npu_reference.partition.clustering.contract import contract
from npu_reference.partition.clustering.merge import Clusters, merge_pairs
from tests.depth import at_night
from tests.partition.families import FAMILIES, OPS, Writer

pytestmark = pytest.mark.not_oldest

_SIZES = (700, 2800)
#: n log n between the two sizes is a factor of 1.21 a node, a square would be one of 4.
_MOST = 1.3

_SIZES_OF_MERGING = (5000, 20000)

each_family = pytest.mark.parametrize("family", sorted(FAMILIES))
each_share = pytest.mark.parametrize("host", [0.0, at_night(0.01), 0.1])


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


def clusters_of(family, host, size):
    graph = parse_graph(made(family, host, size))
    candidate = [int(node.op == "AddN") for node in graph.nodes]
    return Clusters(contract(len(graph.nodes), graph.edges.src, graph.edges.dst, candidate), candidate)


#: Half of the operators on the host: small graphs then have many clusters. A grid's are wide: its sets share little.
_MANY = 0.5


@pytest.mark.parametrize("family, most", [("chain", 1.2), ("random", 1.2), at_night("transformer", 2.0)])
def test_the_words_that_merging_works_on_grow_with_the_clusters_and_their_logarithm(family, most):
    steps, kept = [], []
    for size in _SIZES_OF_MERGING:
        clusters = clusters_of(family, _MANY, size)
        sets = BitSets(len(clusters), 32)
        found = share(clusters.contraction, clusters.roots, sets)
        assert found is not None, "the sets share too little"
        for index in range(len(clusters)):
            list(found.of(index))
        steps.append(sets.steps / len(clusters) / (sets.depth + 1))
        kept.append(len(sets.bits) / len(clusters) / (sets.depth + 1))
    # A row of one bit a cluster would be a factor of 4 here, of 2.8 by level.
    assert steps[1] < most * steps[0], steps
    assert kept[1] < 1.2 * kept[0], kept


@pytest.mark.parametrize("family", ["chain", "random", at_night("transformer")])
def test_many_clusters_of_a_long_graph_are_merged_without_whole_rows(family, monkeypatch):
    monkeypatch.setattr("npu_reference.partition.clustering.merge._PLAIN_MOST", 500)
    monkeypatch.setattr("npu_reference.partition.clustering.merge.comparability", None)  # makes a row a cluster
    clusters = clusters_of(family, _MANY, 8000)
    assert len(clusters) > 500
    assert len(merge_pairs(clusters)) == len(clusters)


def test_the_memory_of_merging_grows_with_the_clusters(monkeypatch):
    # Operations on whole rows are few however long the rows are, so calls do not show them: their memory does.
    monkeypatch.setattr("npu_reference.partition.clustering.merge._PLAIN_MOST", 0)
    work = []
    for size in _SIZES_OF_MERGING:
        clusters = clusters_of("chain", _MANY, size)
        tracemalloc.start()
        try:
            merge_pairs(clusters)
            work.append(tracemalloc.get_traced_memory()[1] / len(clusters))
        finally:
            tracemalloc.stop()
    assert work[1] < 1.5 * work[0], work
