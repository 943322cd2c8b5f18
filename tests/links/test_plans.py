"""Which messages a collective consists of: the steps, the bytes, the links, and the time that follows.

Examples hold the plans to the formulas of docs/device.md. Laws on random topologies hold them to what no network can
do: a rank sends only what it has, and no link carries more than its rate.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.device.links import KINDS, bytes_by_kind, choose, passages, plan, time, topology
from npu_reference.errors import NpuError
from npu_reference.hardware import built_in
from tests.links.strategies import collectives, topologies

LAWS = settings(max_examples=60, deadline=None)
DEVICE = built_in()
KIND = st.sampled_from(["allreduce", "broadcast", "allgather", "reduce_scatter", "reduce"])


@st.composite
def plans(draw):
    where = draw(topologies())
    algorithm = draw(collectives(where))
    kind = draw(KIND)
    elements = draw(st.integers(0, 5000))
    root = draw(st.integers(0, where.size - 1))
    return where, plan(kind, algorithm, where, elements, draw(st.sampled_from([1, 2, 4])), root=root)


def test_devices_of_a_group_are_joined_by_hccs_groups_by_pcie_and_servers_by_roce():
    where = topology(16)
    assert [where.link(0, other) for other in (1, 3, 4, 7, 8, 15)] == ["hccs", "hccs", "pcie", "pcie", "roce", "roce"]
    assert where.link(5, 6) == "hccs" and where.of([0, 9]).link(0, 1) == "roce"


def test_a_collective_goes_over_a_mesh_in_a_group_and_over_levels_beyond():
    assert [choose("allreduce", 1 << 20, topology(size)) for size in (1, 2, 4, 8, 16)] == [
        "mesh", "mesh", "mesh", "hierarchical", "hierarchical",
    ]  # fmt: skip
    assert choose("allreduce", 1 << 20, topology(6)) == "ring"
    assert choose("allreduce", 1 << 10, topology(6)) == "halving_doubling"
    assert choose("allreduce", 1, topology(4, per_server=1)) == "halving_doubling"
    assert choose("allreduce", 1, topology(3, per_server=1)) == "ring"
    assert [choose(kind, 1, topology(8)) for kind in ("send", "receive", "alltoallv")] == ["direct"] * 2 + ["pairwise"]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_times_in_a_group_are_those_of_the_formulas(size):
    # docs/device.md: ring 2(p-1)a + 2(p-1)/p n b, halving and doubling 2 log2(p) a + the same, mesh 2a + 2 n b / p.
    elements, where = size * 60_000, topology(size)
    a, n = DEVICE.hccs_latency * 1000, elements * 4 / DEVICE.hccs
    found = {name: time(plan("allreduce", name, where, elements, 4), DEVICE, where) for name in ("ring", "mesh")}
    assert found["ring"] == 2 * (size - 1) * (a + n / size)
    assert found["mesh"] == 2 * (a + n / size)
    if size != 3:
        halving = time(plan("allreduce", "halving_doubling", where, elements, 4), DEVICE, where)
        assert halving == 2 * math.log2(size) * a + 2 * (size - 1) / size * n


def test_eight_devices_exchange_a_quarter_between_the_groups():
    where = topology(8)
    messages = plan("allreduce", "hierarchical", where, 8000, 4)
    assert bytes_by_kind(messages, where) == {"hccs": 2 * 8 * 3 * 8000, "pcie": 8 * 8000}
    assert max(message.step for message in messages) == 2
    quarter = 8000.0
    hccs = DEVICE.hccs_latency * 1000 + quarter / DEVICE.hccs
    pcie = DEVICE.pcie_latency * 1000 + quarter / DEVICE.pcie
    assert time(messages, DEVICE, where) == pytest.approx(2 * hccs + pcie, abs=3)


@LAWS
@given(plans())
def test_no_link_carries_two_messages_at_once_and_none_beyond_its_rate(made):
    where, messages = made
    rates = {"hccs": DEVICE.hccs, "pcie": DEVICE.pcie, "roce": DEVICE.roce}
    busy = {}
    for passage in passages(messages, DEVICE, where):
        assert passage.free - passage.start >= passage.message.bytes / rates[passage.links[0].kind]
        for link in passage.links:
            assert passage.start >= busy.get(link, 0)
            busy[link] = passage.free
            assert link.src in (-1, passage.message.src) and link.dst in (-1, passage.message.dst)


@LAWS
@given(plans())
def test_a_rank_sends_only_what_has_reached_it(made):
    where, messages = made
    arrived = [
        (passage.message.dst, passage.message.step, passage.arrived) for passage in passages(messages, DEVICE, where)
    ]
    for passage in passages(messages, DEVICE, where):
        before = [at for dst, step, at in arrived if dst == passage.message.src and step < passage.message.step]
        assert passage.start >= max(before or [0])


@LAWS
@given(plans(), st.sampled_from(["hccs", "pcie", "roce"]), st.floats(1, 50))
def test_a_faster_link_is_never_slower(made, kind, factor):
    where, messages = made
    faster = DEVICE.changed(**{kind: getattr(DEVICE, kind) * factor})
    assert time(messages, faster, where) <= time(messages, DEVICE, where)
    nearer = DEVICE.changed(**{f"{kind}_latency": getattr(DEVICE, f"{kind}_latency") / factor})
    assert time(messages, nearer, where) <= time(messages, DEVICE, where)


@LAWS
@given(topologies(), st.data())
def test_no_allreduce_beats_the_bytes_that_every_rank_must_receive(where, data):
    elements = data.draw(st.integers(0, 5000))
    messages = plan("allreduce", data.draw(collectives(where)), where, elements, 4)
    # A rank must learn of every element, once reduced or part by part; at best over all its ways at once.
    for rank in range(where.size):
        received = sum(message.bytes for message in messages if message.dst == rank)
        assert received >= 4 * elements * (where.size - 1) // where.size - 4 * where.size
        ways = sum(where.link(rank, other) == "hccs" for other in range(where.size) if other != rank)
        best = ways * DEVICE.hccs + DEVICE.pcie + DEVICE.roce
        assert time(messages, DEVICE, where) >= received / best


@LAWS
@given(plans())
def test_messages_come_in_steps_are_never_empty_and_have_the_bytes_of_their_chunk(made):
    where, messages = made
    assert [message.step for message in messages] == sorted(message.step for message in messages)
    widths = {message.bytes / sum(stop - start for start, stop in message.chunk) for message in messages}
    assert len(widths) <= 1
    for message in messages:
        assert message.bytes > 0 and message.src != message.dst
        assert all(before[1] < after[0] for before, after in zip(message.chunk, message.chunk[1:]))
    assert sum(bytes_by_kind(messages, where).values()) == sum(message.bytes for message in messages)


@LAWS
@given(topologies(), st.data())
def test_an_allreduce_moves_the_bytes_of_a_reduce_scatter_and_an_allgather(where, data):
    algorithm = data.draw(st.sampled_from(["mesh", "ring", "double_ring"]))
    elements = data.draw(st.integers(0, 400)) * where.size
    parts = [
        bytes_by_kind(plan(kind, algorithm, where, elements, 4), where) for kind in ("reduce_scatter", "allgather")
    ]
    whole = bytes_by_kind(plan("allreduce", algorithm, where, elements, 4), where)
    assert whole == {kind: parts[0][kind] + parts[1][kind] for kind in whole}


@pytest.mark.parametrize("kind", KINDS)
def test_one_rank_sends_nothing(kind):
    if kind in ("send", "receive"):
        with pytest.raises(ValueError, match="with itself"):
            plan(kind, "direct", topology(1), 4, 4)
        return
    assert plan(kind, "mesh", topology(1), 4, 4, counts=[[4]]) == ()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("sum", "mesh", 4, 1, 4), "kind"), (("allreduce", "tree", 4, 1, 4), "algorithm"),
        (("alltoallv", "ring", 4, 1, 4), "algorithm"), (("allreduce", "hierarchical", 6, 1, 4), "groups of one size"),
        (("allreduce", "mesh", 4, -1, 4), "elements"), (("alltoallv", "mesh", 4, 1, 4), "counts"),
    ],
)  # fmt: skip
def test_what_no_collective_is_is_refused(arguments, named):
    kind, algorithm, size, elements, width = arguments
    with pytest.raises(NpuError, match=named):
        plan(kind, algorithm, topology(size), elements, width)


@pytest.mark.parametrize("algorithm", ["mesh", "ring", "double_ring"])
def test_messages_that_would_be_too_many_are_refused_before_they_are_made(algorithm):
    with pytest.raises(NpuError, match=f"{algorithm} among 1024 ranks has"):
        plan("allreduce", algorithm, topology(1024), 1, 1)


@pytest.mark.parametrize("size", [127, 1000, 1024])
def test_what_is_chosen_never_has_too_many_messages(size):
    for where in (topology(size), topology(size, per_server=5)):
        assert len(plan("allreduce", choose("allreduce", 1 << 30, where), where, size, 1)) <= 1 << 18


@pytest.mark.parametrize("size", [0, -1, 1025])
def test_there_is_at_least_one_rank_and_there_are_not_too_many(size):
    with pytest.raises(ValueError, match="RANK_SIZE"):
        topology(size)
