"""What holds of every partition, whatever the graph: tried on random typed graphs with loops, branches, variables."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.catalog import OpList
from npu_reference.graphs import graph_from_def
from npu_reference.options.typed import PartitionSettings
from npu_reference.partition import build, partition
from tests import strategies
from tests.partition.inlining import Flat

pytestmark = pytest.mark.not_oldest

OPS = OpList.built_in()
BUDGET = settings(max_examples=60)

both_modes = st.tuples(st.booleans(), st.booleans()).map(
    lambda flags: PartitionSettings(mix=flags[0], variables_on_host=flags[1])
)
flavours = st.sampled_from(["tf1", "tf2"])


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours)
def test_every_operator_is_in_one_geop_or_on_the_host_with_a_reason(graph, options, flavour):
    result = partition(graph, options, flavour=flavour)
    places = [name for geop in result.geops for name in (graph.nodes[i].name for i in geop.nodes)]
    places += [entry.node for entry in result.host]
    assert sorted(places) == sorted(node.name for node in graph.nodes)
    for entry in result.host:
        assert entry.witness[0].node == entry.node and entry.witness[0].why and entry.remedy


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours)
def test_no_operator_in_a_geop_is_unsupported_or_marked(graph, options, flavour):
    for geop in partition(graph, options, flavour=flavour).geops:
        for i in geop.nodes:
            node = graph.nodes[i]
            if node.op == "Const":
                continue
            entry = OPS.get(node.op)
            assert entry is not None or node.op in graph.functions, node
            if options.mix:
                assert entry is None or not entry.is_gray, node
                assert node.attr("_without_npu_compile") is not True


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours)
def test_the_quotient_graph_is_acyclic_so_every_geop_is_convex(graph, options, flavour):
    result = partition(graph, options, flavour=flavour)
    graph_from_def(build(graph, result))  # which refuses a cycle, an unknown input and a wrong type


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours)
def test_arguments_and_returns_are_the_tensors_that_cross_and_nothing_else(graph, options, flavour):
    result = partition(graph, options, flavour=flavour)
    home = result.assignment
    copied = {(copy.node, number) for number, geop in enumerate(result.geops) for copy in geop.copies}
    args = [set() for _ in result.geops]
    rets = [set() for _ in result.geops]
    for source, slot, target in zip(graph.edges.src, graph.edges.src_slot, graph.edges.dst):
        if slot >= 0 and home[source] != home[target] and (source, home[target]) not in copied:
            if home[target] >= 0:
                args[home[target]].add((source, slot))
            if home[source] >= 0:
                rets[home[source]].add((source, slot))
    for number, geop in enumerate(result.geops):
        assert [(a.node, a.slot) for a in geop.args] == list(dict.fromkeys((a.node, a.slot) for a in geop.args))
        assert {(a.node, a.slot) for a in geop.args} == args[number]
        assert {(r.node, r.slot) for r in geop.rets} == rets[number]
        for tensor in (*geop.args, *geop.rets):
            assert tensor.dtype is graph.output_dtypes(tensor.node)[tensor.slot].base


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours)
def test_inlining_the_geops_gives_the_graph_back(graph, options, flavour):
    result = partition(graph, options, flavour=flavour)
    flat = Flat(graph, result, build(graph, result))
    assert flat.op == {node.name: node.op for node in graph.nodes}
    edges = graph.edges
    for node in graph.nodes:
        inputs = [
            (graph.nodes[edges.src[e]].name, edges.src_slot[e])
            for e in sorted(graph.in_edges(node.id), key=lambda e: edges.dst_slot[e])
            if edges.src_slot[e] >= 0
        ]
        assert flat.inputs[node.name] == inputs
        home = result.assignment[node.id]
        for e in graph.in_edges(node.id):
            if edges.src_slot[e] < 0 and result.assignment[edges.src[e]] == home:
                assert graph.nodes[edges.src[e]].name in flat.controls[node.name]


@BUDGET
@given(strategies.closed_graphs(), both_modes, flavours, st.randoms(use_true_random=False))
def test_renaming_operators_changes_nothing_but_names(graph, options, flavour, rng):
    renamed, names = rename(graph, rng)
    first, second = (partition(g, options, flavour=flavour) for g in (graph, renamed))
    assert first.assignment == second.assignment
    assert [names[entry.node] for entry in first.host] == [entry.node for entry in second.host]
    assert [entry.reason for entry in first.host] == [entry.reason for entry in second.host]


def rename(graph, rng):
    order = list(range(len(graph.nodes)))
    rng.shuffle(order)
    names = {node.name: f"op{order[node.id]}" for node in graph.nodes}
    renamed = graph.to_def()
    for node in renamed.node:
        node.name = names[node.name]
        inputs = []
        for text in node.input:
            head, _, tail = text.lstrip("^").rpartition(":")
            base, slot = (head, ":" + tail) if head in names else (text.lstrip("^"), "")
            inputs.append(("^" if text[0] == "^" else "") + names[base] + slot)
        del node.input[:]
        node.input.extend(inputs)
    return graph_from_def(renamed), names


@BUDGET
@given(strategies.closed_graphs(), flavours)
def test_the_minimum_is_a_lower_bound_in_mixed_computing(graph, flavour):
    result = partition(graph, PartitionSettings(mix=True), flavour=flavour)
    assert result.min_geops <= len(result.geops)
    assert (result.min_geops == 0) == (not result.geops)


@BUDGET
@given(strategies.closed_graphs(), flavours)
def test_full_offload_gives_one_geop_at_most(graph, flavour):
    assert len(partition(graph, PartitionSettings(), flavour=flavour).geops) <= 1


@BUDGET
@given(strategies.closed_graphs(strategies.DEVICE_KINDS), both_modes, flavours)
def test_plain_graphs_are_divided_exactly_as_the_adapter_divides_them(graph, options, flavour):
    if not options.mix and any(node.attr("_without_npu_compile") for node in graph.nodes):
        return  # M17: the documents differ
    ours, adapters = (partition(graph, options, policy=p, flavour=flavour) for p in ("documented", "adapter"))
    assert ours.assignment == adapters.assignment


@pytest.mark.parametrize("policy", ["documented", "adapter"])
def test_the_same_graph_gives_the_same_bytes_in_any_order_of_calls(policy):
    rng = random.Random(1)
    graph = strategies.build(
        [strategies.Step(rng.choice(strategies.DEVICE_KINDS), (rng.randint(0, 7),) * 3) for _ in range(60)]
    ).build()
    first = partition(graph, PartitionSettings(mix=True), policy=policy)
    partition(graph, PartitionSettings(), policy=policy)
    second = partition(graph, PartitionSettings(mix=True), policy=policy)
    assert first.to_json() == second.to_json()
    assert build(graph, first).SerializeToString(deterministic=True) == build(graph, second).SerializeToString(
        deterministic=True
    )
