"""What each rank holds after a collective: bit for bit numpy's reduction, in the order that docs/device.md states.

Sums of floats depend on their order, so a result that is only nearly right hides a wrong order. The laws run over
random topologies, algorithms and dtypes.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference.device.links import collective, topology
from npu_reference.errors import NpuError
from tests.links.strategies import collectives, order, topologies

pytestmark = pytest.mark.tensorflow_version

numpy = pytest.importorskip("numpy")

LAWS = settings(max_examples=80, deadline=None)
COMBINE = {"sum": numpy.add, "prod": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}


def data_of(draw, where, shape, dtype):
    """A buffer for every rank, of numbers whose sums differ with their order."""
    random = numpy.random.RandomState(draw(st.integers(0, 2**31)))
    if numpy.dtype(dtype).kind == "f":
        return [
            (random.standard_normal(shape) * 10.0 ** random.randint(-3, 3, shape)).astype(dtype)
            for _ in range(where.size)
        ]
    return [random.randint(-100, 100, shape).astype(dtype) for _ in range(where.size)]


DTYPES = st.sampled_from(["float16", "float32", "int8", "int16", "int32", "int64"])


def evaluated(tree, buffers, combine):
    if isinstance(tree, int):
        return buffers[tree]
    one, other = (evaluated(part, buffers, combine) for part in tree)
    with numpy.errstate(all="ignore"):
        return combine(one, other)


def stated(algorithm, where, buffers, combine):
    """The reduction in the order of the page, each shard in its own."""
    flat = [buffer.reshape(-1) for buffer in buffers]
    count, parts = flat[0].size, []
    bounds = [count * part // where.size for part in range(where.size + 1)]
    for shard, (start, stop) in enumerate(zip(bounds, bounds[1:])):
        middle = (start + stop) // 2
        for half, (first, last) in enumerate(((start, middle), (middle, stop))):
            tree = order(algorithm, where, shard, bool(half))
            parts.append(evaluated(tree, [one[first:last] for one in flat], combine))
    return numpy.concatenate(parts).reshape(buffers[0].shape)


@LAWS
@given(topologies(), st.data())
def test_every_rank_has_numpys_reduction_in_the_stated_order(where, data):
    algorithm = data.draw(collectives(where))
    reduction = data.draw(st.sampled_from(sorted(COMBINE)))
    buffers = data_of(data.draw, where, (data.draw(st.integers(0, 40)),), data.draw(DTYPES))
    results, _ = collective("allreduce", algorithm, where, buffers, reduction=reduction)
    expected = stated(algorithm, where, buffers, COMBINE[reduction])
    for result in results:
        assert result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


def test_orders_do_differ():
    buffers = [numpy.array([value], "float32") for value in (1e8, 1.0, -1e8, 1.0)]
    found = {
        name: float(collective("allreduce", name, topology(4), buffers)[0][0][0])
        for name in ("mesh", "halving_doubling")
    }
    assert found == {"mesh": 1.0, "halving_doubling": 2.0}


@LAWS
@given(topologies(), st.data())
def test_an_allreduce_is_a_reduce_scatter_and_an_allgather(where, data):
    algorithm = data.draw(collectives(where))
    buffers = data_of(data.draw, where, (where.size * data.draw(st.integers(1, 3)), 2), data.draw(DTYPES))
    whole, _ = collective("allreduce", algorithm, where, buffers)
    parts, _ = collective("reduce_scatter", algorithm, where, buffers)
    assert all(part.shape == (buffers[0].shape[0] // where.size, 2) for part in parts)
    joined, _ = collective("allgather", algorithm, where, parts)
    for one, other in zip(whole, joined):
        assert one.shape == other.shape and one.tobytes() == other.tobytes()


@LAWS
@given(topologies(), st.data())
def test_what_is_reduced_to_one_rank_is_what_all_would_have(where, data):
    algorithm = data.draw(collectives(where))
    root = data.draw(st.integers(0, where.size - 1))
    buffers = data_of(data.draw, where, (9,), data.draw(DTYPES))
    results, _ = collective("reduce", algorithm, where, buffers, root=root)
    expected = stated(algorithm, where, buffers, numpy.add)
    assert results[root].tobytes() == expected.tobytes()
    for rank, result in enumerate(results):
        assert rank == root or result.tobytes() == buffers[rank].tobytes()


@LAWS
@given(topologies(), st.data())
def test_a_broadcast_gives_all_ranks_what_one_had(where, data):
    algorithm, root = data.draw(collectives(where)), data.draw(st.integers(0, where.size - 1))
    buffers = data_of(data.draw, where, (2, data.draw(st.integers(0, 20))), data.draw(DTYPES))
    results, _ = collective("broadcast", algorithm, where, buffers, root=root)
    assert all(
        result.tobytes() == buffers[root].tobytes() and result.shape == buffers[root].shape for result in results
    )


@LAWS
@given(topologies(), st.data())
def test_alltoallv_gives_each_rank_its_part_of_every_other(where, data):
    size = where.size
    counts = data.draw(
        st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=size, max_size=size)
    )
    buffers = [numpy.arange(sum(row), dtype="int32") + 1000 * rank for rank, row in enumerate(counts)]
    results, messages = collective(
        "alltoallv", data.draw(st.sampled_from(["pairwise", "mesh"])), where, buffers, counts=counts
    )
    for rank, result in enumerate(results):
        parts = [buffers[src][sum(counts[src][:rank]) : sum(counts[src][: rank + 1])] for src in range(size)]
        assert result.tolist() == numpy.concatenate(parts).tolist()
    assert sum(message.bytes for message in messages) == 4 * sum(
        count for src, row in enumerate(counts) for dst, count in enumerate(row) if src != dst
    )


def test_alltoallv_takes_and_puts_where_it_is_told():
    buffers = [numpy.array([9, 1, 2], "int32"), numpy.array([3, 9, 4], "int32")]
    results, _ = collective(
        "alltoallv", "mesh", topology(2), buffers,
        counts=[[1, 1], [1, 1]], send_at=[[1, 2], [0, 2]], receive_at=[[0, 2], [0, 1]],
    )  # fmt: skip
    assert [result.tolist() for result in results] == [[1, 0, 3], [2, 4]]


def test_send_and_receive_move_one_ranks_data_to_another():
    buffers = [numpy.full(3, float(rank), "float32") for rank in range(4)]
    for kind in ("send", "receive"):
        results, messages = collective(kind, "direct", topology(4), buffers, root=1, peer=3)
        assert [result[0] for result in results] == [0, 1, 2, 1]
        assert [(message.src, message.dst, message.bytes) for message in messages] == [(1, 3, 12)]


def test_what_is_given_stays_as_it_is():
    buffers = [numpy.ones(4, "float32") for _ in range(4)]
    results, _ = collective("allreduce", "ring", topology(4), buffers)
    results[0][:] = 7
    assert all(buffer.tolist() == [1, 1, 1, 1] for buffer in buffers) and results[1].tolist() == [4, 4, 4, 4]


def test_sums_of_float16_are_rounded_each_time_and_integers_wrap():
    halves = [numpy.array([value], "float16") for value in (2048, 1, 1, 1)]
    assert collective("allreduce", "mesh", topology(4), halves)[0][0].tolist() == [2048.0]
    bytes_ = [numpy.array([100], "int8")] * 2
    assert collective("allreduce", "mesh", topology(2), bytes_)[0][0].tolist() == [-56]


@pytest.mark.parametrize(
    ("kind", "buffers", "named"),
    [
        ("allreduce", [[1.0], [1.0]], "3 ranks have 2 buffers"),
        ("allreduce", [[1.0], [1.0, 2.0], [1.0]], "rank 1 has float64"),
        ("reduce_scatter", [[1.0, 2.0]] * 3, "cannot share 2 rows"),
        ("allgather", [1.0] * 3, "scalar"),
        ("allreduce", [["a"]] * 3, "cannot be communicated"),
        ("alltoallv", [[1.0]] * 3, "counts"),
    ],
)
def test_what_cannot_be_communicated_is_refused(kind, buffers, named):
    with pytest.raises(NpuError, match=named):
        collective(kind, "mesh", topology(3), [numpy.array(buffer) for buffer in buffers])


def test_a_reduction_that_is_none_is_refused():
    with pytest.raises(ValueError, match="reduction"):
        collective("allreduce", "mesh", topology(2), [numpy.ones(1)] * 2, reduction="mean")
