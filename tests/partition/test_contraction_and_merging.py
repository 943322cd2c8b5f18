"""Contraction and merging give the adapter's result: they are compared with naive transcriptions of its rules."""

from __future__ import annotations

import random

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder
from npu_reference.partition import partition
from npu_reference.partition.clustering.antichains import share
from npu_reference.partition.clustering.bitsets import BitSets
from npu_reference.partition.clustering.contract import contract
from npu_reference.partition.clustering.introsort import sort_by_size_descending
from npu_reference.partition.clustering.merge import (
    Clusters,
    _lists_by_column,
    _lists_by_row,
    comparability,
    keep_largest_group,
    merge_pairs,
    merge_pairs_loosely,
)
from npu_reference.partition.explaining.minimum import least_geops
from tests.partition import naive
from tests.partition.graphs_for_tests import closed, sets

pytestmark = pytest.mark.not_oldest


def random_graph(seed, most=40):
    """(count, edges in a random order with node numbers unrelated to the topology, candidates)."""
    rng = random.Random(seed)
    count = rng.randint(2, most)
    window, fan = rng.choice([3, 8, 40]), rng.choice([1, 2, 3])
    names = list(range(count))
    if rng.random() < 0.7:
        rng.shuffle(names)
    edges = []
    for head in range(1, count):
        for _ in range(rng.randint(0, fan)):
            edges.append((names[rng.randint(max(0, head - window), head - 1)], names[head]))
    if rng.random() < 0.5:
        rng.shuffle(edges)
    host = rng.choice([0.0, 0.1, 0.2, 0.4])
    return count, edges, [int(rng.random() >= host) for _ in range(count)]


def fast(graph, flavour, **more):
    count, edges, candidate = graph
    return contract(count, [a for a, _ in edges], [b for _, b in edges], candidate, flavour=flavour, **more)


def labels(contraction):
    return [contraction.label[root] for root in contraction.root]


def sorter(clusters, sizes):
    """Sorts clusters as the adapter does, given the size of each."""
    size = dict(zip(clusters, sizes))
    return lambda some: sort_by_size_descending(some, [size[cluster] for cluster in some])


@pytest.mark.parametrize("flavour", ["tf1", "tf2"])
def test_contraction_gives_every_cluster_the_adapters_members_and_index(flavour):
    for seed in range(400):
        graph = random_graph(seed)
        expected, _ = naive.contract(*graph, flavour=flavour)
        assert labels(fast(graph, flavour)) == expected, seed


@pytest.mark.parametrize("flavour", ["tf1", "tf2"])
def test_edges_that_bind_nothing_and_edges_never_tried_are_replayed_too(flavour):
    for seed in range(400):
        graph = random_graph(seed)
        rng = random.Random(seed)
        every = range(len(graph[1]))
        untied = {edge for edge in every if rng.random() < 0.15}
        untried = {edge for edge in every if rng.random() < 0.15}
        expected, _ = naive.contract(*graph, flavour=flavour, untied=untied, untried=untried)
        assert labels(fast(graph, flavour, untied=untied, untried=untried)) == expected, seed


@pytest.mark.parametrize("flavour", ["tf1", "tf2"])
def test_merging_in_mixed_computing_joins_the_pairs_the_adapter_joins(flavour):
    for seed in range(300):
        graph = random_graph(seed, most=60)
        contraction = fast(graph, flavour)
        clusters = Clusters(contraction, graph[2])
        index = [contraction.label[root] for root in clusters.roots]
        expected_label, cycles = naive.contract(*graph, flavour=flavour)
        by_size = sorter(index, clusters.sizes)
        expected = naive.merge_pairs(expected_label, cycles, graph[2], by_size)
        assert {index[i]: index[into] for i, into in enumerate(merge_pairs(clusters))} == expected, seed


def test_lists_built_by_row_and_by_column_name_the_same_pairs():
    for seed in range(200):
        graph = random_graph(seed, most=60)
        comparable = comparability(Clusters(fast(graph, "tf1"), graph[2]))
        rows = _lists_by_row(comparable, 10**9)
        columns = _lists_by_column(comparable)
        every = range(len(comparable))
        assert [[rows[i] >> j & 1 for j in every] for i in every] == [
            [columns[j] >> i & 1 for j in every] for i in every
        ]


@pytest.mark.parametrize("leaf_bits", [1, 3, 8, 64])
def test_sets_that_share_find_the_same_pairs_whatever_the_size_of_a_leaf(leaf_bits):
    for seed in range(200):
        graph = random_graph(seed, most=120)
        clusters = Clusters(fast(graph, "tf2"), graph[2])
        comparable = comparability(clusters)
        lists = _lists_by_row(comparable, 10**9)
        every = range(len(clusters))
        incomparable = [[j for j in every if not comparable[i] >> j & 1] for i in every]
        listed = [[j for j in every if lists[i] >> j & lists[j] >> i & 1] for i in every]
        for loosely, expected in ((False, listed), (True, incomparable)):
            shared = share(clusters.contraction, clusters.roots, BitSets(len(clusters), leaf_bits), loosely=loosely)
            assert [list(shared.of(i)) for i in every] == expected, seed


def test_merging_many_clusters_with_sets_that_share_gives_what_plain_ones_give(monkeypatch):
    for width, host in ((3, 0.5), (40, 0.3), (700, 0.3)):
        rng = random.Random(width)
        count = 4000
        edges = [(rng.randint(max(0, head - width), head - 1), head) for head in range(1, count) for _ in range(2)]
        candidate = [int(rng.random() >= host) for _ in range(count)]
        clusters = Clusters(fast((count, edges, candidate), "tf1"), candidate)
        marks = [frozenset(str(rng.randint(0, 9)) if rng.random() < 0.1 else "") for _ in range(len(clusters))]
        merges = (merge_pairs, merge_pairs_loosely, lambda some: merge_pairs(some, marks))  # noqa: B023 used at once
        for merge in merges:
            monkeypatch.setattr("npu_reference.partition.clustering.merge._PLAIN_MOST", len(clusters))
            plain = merge(clusters)
            monkeypatch.setattr("npu_reference.partition.clustering.merge._PLAIN_MOST", 0)
            assert merge(clusters) == plain


def test_sets_are_given_up_early_where_they_share_too_little():
    rng = random.Random(1)
    count = 6000
    edges = [(rng.randrange(head), head) for head in range(1, count) for _ in range(2)]
    candidate = [int(rng.random() >= 0.3) for _ in range(count)]
    clusters = Clusters(fast((count, edges, candidate), "tf1"), candidate)
    sets = BitSets(len(clusters), 8)
    assert share(clusters.contraction, clusters.roots, sets) is None
    assert sets.steps < 1000 * len(clusters)


def test_full_offload_keeps_the_largest_cluster_and_all_that_is_unreachable_from_it():
    for seed in range(300):
        graph = random_graph(seed, most=60)
        contraction = fast(graph, "tf1")
        clusters = Clusters(contraction, graph[2])
        index = [contraction.label[root] for root in clusters.roots]
        by_size = sorter(index, clusters.sizes)
        expected_label, cycles = naive.contract(*graph)
        expected = naive.keep_largest_group(expected_label, cycles, graph[2], by_size)
        kept = {index[i] for i, into in enumerate(keep_largest_group(clusters)) if into >= 0}
        assert kept == expected, seed


def test_the_minimum_is_at_most_the_merged_which_is_at_most_the_contracted_count():
    for seed in range(300):
        count, edges, candidate = graph = random_graph(seed, most=60)
        clusters = Clusters(fast(graph, "tf1"), candidate)
        merged = len(set(merge_pairs(clusters)))
        least = least_geops(count, [a for a, _ in edges], [b for _, b in edges], candidate)
        assert least <= merged <= len(clusters), seed
        assert (least > 0) == any(candidate)


def test_a_cycle_is_reported_and_not_contracted():
    with pytest.raises(NpuError) as caught:
        contract(2, [0, 1], [1, 0], [1, 1])
    assert caught.value.code == "GRAPH_CYCLE"


def test_the_work_of_contraction_grows_with_the_number_of_edges_and_not_with_its_square():
    work = []
    for count in (2000, 8000):
        rng = random.Random(count)
        edges = [(rng.randint(max(0, head - 40), head - 1), head) for head in range(1, count) for _ in range(3)]
        candidate = [int(rng.random() >= 0.1) for _ in range(count)]
        work.append(fast((count, edges, candidate), "tf1").work / len(edges))
    assert work[1] < 1.5 * work[0], work


def test_equal_sizes_keep_the_order_of_the_librarys_own_sort():
    # Up to sixteen elements the sort is an insertion sort, which is stable; above it is not.
    assert sort_by_size_descending(list("abcdef"), [1, 2, 2, 1, 3, 1]) == ["e", "b", "c", "a", "d", "f"]
    many = sort_by_size_descending(list(range(40)), [1] * 40)
    assert sorted(many) == list(range(40))
    assert many != list(range(40))


def test_contraction_keeps_clusters_that_share_a_mark_apart_as_the_transcription_does():
    for seed in range(300):
        count, edges, candidate = graph = random_graph(seed)
        rng = random.Random(seed)
        marks = {i: frozenset(rng.sample("stuv", rng.randint(1, 2))) for i in range(count) if rng.random() < 0.4}
        for flavour in ("tf1", "tf2"):
            expected, _ = naive.contract(count, edges, candidate, flavour=flavour, marks=marks)
            assert labels(fast(graph, flavour, marks=marks)) == expected, (seed, flavour)


def _two_heads(*marks):
    """Two clusters that nothing joins, each first operator with its `_StartNodeName`."""
    g = GraphBuilder()
    for name, mark in zip("ab", marks):
        value = g.op("Relu", f"{name}1", [g.placeholder(f"x_{name}", "float32", [2])], attrs_={"_StartNodeName": mark})
        g.op("Relu", f"{name}2", [value])
    return closed(g, ["x_a", "x_b"], ["a2:0", "b2:0"])


@pytest.mark.parametrize("mix", [True, False])
def test_clusters_of_one_start_node_are_not_merged_in_mixed_computing_in_any_job_but_localhost(mix):
    def geops(job, *marks):
        values = {"mix_compile_mode": mix, "job": job}
        return sets(partition(_two_heads(*marks), values, policy="adapter"))

    joined = [["a1", "a2", "b1", "b2"]]
    apart = [["a1", "a2"], ["b1", "b2"]] if mix else joined
    assert geops("localhost", "s;", "s;") == joined
    assert geops("chief", "s;", "t;") == joined
    assert geops("chief", "s;", "s;") == apart
    assert geops("chief", "s;", "t;s;") == apart  # every start node of a list counts
    assert geops("chief", ";", ";") == joined


@pytest.mark.parametrize("mix", [True, False])
def test_neighbours_that_share_a_start_node_are_not_contracted_in_mixed_computing(mix):
    g = GraphBuilder()
    a = g.op("Relu", "a", [g.placeholder("x", "float32", [2])], attrs_={"_StartNodeName": "s;"})
    b = g.op("Relu", "b", [a])
    g.op("Relu", "c", [b], attrs_={"_StartNodeName": "t;s;"})
    found = partition(closed(g, ["x"], ["c:0"]), {"mix_compile_mode": mix, "job": "chief"}, policy="adapter")
    assert sets(found) == ([["a", "b"], ["c"]] if mix else [["a", "b", "c"]])
