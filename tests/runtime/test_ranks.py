"""Several ranks in one process: what their sessions compute together, and what they are told when they cannot."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

from npu_bridge import npu_init
from npu_bridge.estimator.npu.npu_strategy import NPUStrategy
from npu_bridge.hccl import hccl_ops
from npu_reference.device.faults import parse
from npu_reference.runtime import ranks
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.exchange import joining
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.operators.rank_calls import Communicator
from tests.depth import at_night
from tests.runtime.comparing import control_flow

pytestmark = [pytest.mark.between_at_night, pytest.mark.newest_at_night]

v1 = tf.compat.v1

#: Of weights of about 1 after five steps, where float32 is added in another order (stated in docs/runtime.md).
TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in ("RANK_SIZE", "RANK_ID", "RANK_TABLE_FILE", "NPU_REFERENCE_EXCHANGE"):
        monkeypatch.delenv(name, raising=False)
    ranks.forget_groups()
    process_trace().clear()
    yield
    ranks.forget_groups()


def config(**values):
    made = npu_init.npu_config_proto()
    options = made.graph_options.rewrite_options.custom_optimizers[0].parameter_map
    for name, value in values.items():
        if isinstance(value, bool):
            options[name].b = value
        elif isinstance(value, int):
            options[name].i = value
        else:
            options[name].s = tf.compat.as_bytes(value)
    return made


def in_ranks(size, build, **values):
    """What each rank's session gives for what ``build(rank)`` returns."""

    def work(rank):
        with v1.Graph().as_default():
            wanted = build(rank)
            with v1.Session(config=config(**values)) as session:
                session.run(v1.global_variables_initializer())
                return session.run(wanted)

    return ranks.as_ranks(size, work)


def brought(rank, dtype=np.float32):
    return (np.arange(6).reshape(6, 1) * (rank + 1) + rank).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.int8])
def test_collectives_give_what_numpy_gives(dtype):
    given = [brought(rank, dtype) for rank in range(3)]

    def build(rank):
        x = v1.constant(given[rank])
        one = [hccl_ops.allreduce(x, name) for name in ("sum", "prod", "max", "min")]
        others = [hccl_ops.allgather(x, 3), hccl_ops.reduce_scatter(x, "sum", 3), hccl_ops.reduce(x, "max", 2)]
        return [*one, *others, *hccl_ops.broadcast([x, x + x], 1)]

    reductions = [
        np.add.reduce(given, dtype=dtype), np.multiply.reduce(given, dtype=dtype),
        np.maximum.reduce(given), np.minimum.reduce(given),
    ]  # fmt: skip
    for rank, found in enumerate(in_ranks(3, build)):
        for mine, numpys in zip(found, reductions):
            np.testing.assert_array_equal(mine, numpys)
        np.testing.assert_array_equal(found[4], np.concatenate(given))
        np.testing.assert_array_equal(found[5], reductions[0][2 * rank : 2 * rank + 2])
        np.testing.assert_array_equal(found[6], reductions[2] if rank == 2 else given[rank])
        np.testing.assert_array_equal(found[7], given[1])
        np.testing.assert_array_equal(found[8], given[1] + given[1])


def test_groups_have_ranks_of_their_own():
    def build(rank):
        npu_init.create_group("even", 2, [0, 2])
        npu_init.create_group("backwards", 3, [2, 1, 0])
        x = v1.constant([float(rank)])
        gathered = hccl_ops.allgather(x, 3, group="backwards")
        return [gathered, hccl_ops.allreduce(x, "sum", group="even")] if rank != 1 else [gathered]

    first, second, third = in_ranks(3, build)
    assert first[0].tolist() == second[0].tolist() == third[0].tolist() == [2.0, 1.0, 0.0]
    assert first[1].tolist() == third[1].tolist() == [2.0]


def test_tensors_go_from_rank_to_rank():
    def build(rank):
        x = v1.constant([[float(rank)] * 2])
        if rank == 0:
            return [hccl_ops.send(x + 5.0, 3, 1)]
        return [hccl_ops.receive([1, 2], v1.float32, 3, 0)]

    assert in_ranks(2, build)[1][0].tolist() == [[5.0, 5.0]]


def test_parts_of_tensors_go_to_all_ranks():
    """Rank r sends r + 1 elements to each rank; each puts them one after the other."""

    def build(rank):
        count = rank + 1
        data = v1.constant(np.arange(2 * count, dtype=np.float32) + 10 * rank)
        return hccl_ops.all_to_all_v(data, [count, count], [0, count], [1, 2], [0, 1])

    assert [one.tolist() for one in in_ranks(2, build)] == [[0.0, 10.0, 11.0], [1.0, 12.0, 13.0]]


def test_a_matrix_of_counts_says_which_parts_go_to_which_rank():
    """Rank 0 sends one element to itself and two to rank 1, rank 1 sends three and none."""

    def build(rank):
        data = v1.constant(np.arange(3, dtype=np.float32) + 10 * rank)
        return hccl_ops.all_to_all_v_c(data, v1.constant([[1, 2], [3, 0]], v1.int64), rank)

    assert [one.tolist() for one in in_ranks(2, build)] == [[0.0, 10.0, 11.0, 12.0], [1.0, 2.0]]


def test_a_matrix_of_counts_is_for_this_rank():
    with pytest.raises(ValueError, match="is not this rank"):
        hccl_ops.all_to_all_v_c(v1.constant([1.0]), v1.constant([[1]], v1.int64), 1)


def test_gradients_are_those_of_the_sum_of_all_ranks_losses():
    def build(rank):
        x = v1.constant(brought(rank))
        weight = float(rank + 1)
        losses = [
            v1.reduce_sum(hccl_ops.allreduce(x, "sum")) * weight,
            v1.reduce_sum(hccl_ops.allgather(x, 2)) * weight,
            v1.reduce_sum(hccl_ops.reduce_scatter(x, "sum", 2)) * weight,
            v1.reduce_sum(hccl_ops.broadcast([x], 1)[0]) * weight,
        ]
        return [v1.gradients(loss, x)[0] for loss in losses]

    ones = np.ones([6, 1], np.float32)
    for rank, (summed, gathered, scattered, spread) in enumerate(in_ranks(2, build)):
        np.testing.assert_array_equal(summed, 3 * ones)
        np.testing.assert_array_equal(gathered, 3 * ones)
        np.testing.assert_array_equal(scattered, np.concatenate([ones[:3], 2 * ones[:3]]))
        np.testing.assert_array_equal(spread, (3 if rank == 1 else 0) * ones)


def test_gradients_in_a_group_are_of_its_ranks_losses():
    """Of the ranks 0 and 2, whose losses weigh 1 and 3."""

    def build(rank):
        npu_init.create_group("ends", 2, [0, 2])
        x = v1.constant(brought(rank))
        if rank == 1:
            return [x]
        weight, group = float(rank + 1), {"group": "ends"}
        losses = [
            hccl_ops.allreduce(x, "sum", **group), hccl_ops.allgather(x, 2, **group),
            hccl_ops.reduce_scatter(x, "sum", 2, **group), hccl_ops.broadcast([x], 1, **group)[0],
            hccl_ops.reduce(x, "sum", 1, **group),
        ]  # fmt: skip
        return [v1.gradients(v1.reduce_sum(loss) * weight, x)[0] for loss in losses]

    ones = np.ones([6, 1], np.float32)
    found = in_ranks(3, build)
    for rank in (0, 2):
        summed, gathered, scattered, spread, reduced = found[rank]
        np.testing.assert_array_equal(summed, 4 * ones)
        np.testing.assert_array_equal(gathered, 4 * ones)
        np.testing.assert_array_equal(scattered, np.concatenate([ones[:3], 3 * ones[:3]]))
        np.testing.assert_array_equal(spread, (4 if rank == 2 else 0) * ones)
        # Who is not the root gets the sum's share, and what it gave itself.
        np.testing.assert_array_equal(reduced, (3 if rank == 2 else 3 + 1) * ones)


def test_a_collective_runs_once_a_run_whatever_its_input_is():
    """Neither folded, since its input is constant, nor shared with another of the same input."""

    def build(rank):
        one = v1.constant([1.0])
        return [hccl_ops.allreduce(one, "sum"), hccl_ops.allreduce(one, "sum")]

    assert [value.tolist() for value in in_ranks(2, build)[0]] == [[2.0], [2.0]]
    kinds = [len(record.collectives) for record in process_trace().runs if record.geops]
    assert kinds == [2, 2]


@pytest.mark.parametrize("mixed", [False, True])
def test_collectives_in_loops_and_conditions_run_as_often_as_these_do(mixed):
    def build(rank):
        def turn(count, total):
            return count + 1, total + hccl_ops.allreduce(v1.constant([1.0]), "sum")

        return v1.while_loop(lambda count, total: count < 3, turn, [0, v1.constant([0.0])])[1]

    assert [one.tolist() for one in in_ranks(2, build, mix_compile_mode=mixed)] == [[6.0], [6.0]]


@pytest.mark.parametrize("mixed", [False, True])
def test_collectives_beside_a_branch_of_version_1_run_whichever_side_is_taken(mixed):
    def build(rank):
        x = v1.constant([rank + 1.0])
        taken, not_taken = (v1.placeholder_with_default(side, []) for side in (True, False))

        def deep():
            return v1.cond(not_taken, lambda: hccl_ops.allreduce(x, "sum"), lambda: hccl_ops.allreduce(x, "max"))

        sides = [v1.cond(side, deep, lambda: x * 0.0) for side in (taken, not_taken)]
        return [*sides, hccl_ops.allreduce(x * 2.0, "sum"), hccl_ops.allreduce(x * 3.0, "sum")]

    with control_flow(1):  # before there are threads, which share what it says
        found = in_ranks(2, build, mix_compile_mode=mixed)
    assert [[one.item() for one in values] for values in found] == [[2.0, 0.0, 6.0, 9.0]] * 2


@pytest.mark.parametrize("where", ["device", "host"])
def test_turns_of_a_loop_of_version_1_come_to_collectives_one_after_the_other(where):
    def host(x):
        return tf.ensure_shape(v1.py_func(lambda a: a, [x], tf.float32), x.shape) if where == "host" else x

    def build(rank):
        def inner(i, total):
            return i + 1, total + v1.cast(i, tf.float32) * hccl_ops.allreduce(host(v1.cast(i, tf.float32) * x), "sum")

        def turn(i, total):
            nested = v1.while_loop(lambda j, _: j < 4, inner, [0, v1.zeros_like(x)])[1]
            even = v1.cond(v1.equal(i % 2, 0), lambda: hccl_ops.allreduce(x, "sum"), lambda: v1.zeros_like(x))
            return inner(i, total + nested + even)

        def test(i, total):
            return hccl_ops.allreduce(v1.cast(i, tf.float32), "max") < 9.0

        x = v1.constant([rank + 1.0])
        loop = v1.while_loop(test, turn, [0, v1.zeros_like(x)], parallel_iterations=20)[1]
        other = v1.while_loop(lambda i, _: i < 20, inner, [0, v1.zeros_like(x)], parallel_iterations=20)[1]
        return [loop, other, hccl_ops.allreduce(x, "min")]

    # 3 * (0 + 1 + … + 64) of the turns, 9 nested loops of 3 * 14, 5 even turns of 3.
    wanted = [[3.0 * 204 + 9 * 3 * 14 + 5 * 3], [3.0 * 2470], [1.0]]
    with control_flow(1):  # before there are threads, which share what it says
        found = in_ranks(2, build, mix_compile_mode=where == "host")
    assert [[one.tolist() for one in values] for values in found] == [wanted] * 2


def test_gradients_of_collectives_in_loops_and_branches_of_version_1():
    def build(rank):
        def product(i, a):
            return i + 1, a * 0.1 * hccl_ops.allreduce(w * (v1.cast(i, tf.float32) + 1.0), "sum")

        w = v1.constant([rank + 1.0])
        loop = v1.while_loop(lambda i, a: i < 3, product, [0, v1.constant([1.0])])[1]
        branch = v1.cond(w[0] > 0.0, lambda: hccl_ops.allreduce(w, "sum") * w, lambda: w)
        return [loop, v1.gradients(loop, w)[0], branch, v1.gradients(branch, w)[0]]

    with control_flow(1):  # before there are threads, which share what it says
        first, second = in_ranks(2, build)
    # 6 * (0.1 * 3)**3 of both ranks' losses, by either weight; 3 * w, by w: 3 from one's own, and both weights.
    np.testing.assert_allclose(np.ravel(first), [0.162, 0.324, 3.0, 6.0], rtol=1e-5)
    np.testing.assert_allclose(np.ravel(second), [0.162, 0.324, 6.0, 6.0], rtol=1e-5)


# Training -----------------------------------------------------------------------------------------------------------

NUMBERS = np.random.RandomState(3)
ROWS, TARGETS = NUMBERS.randn(32, 4).astype(np.float32), NUMBERS.randn(32, 1).astype(np.float32)


def trained(rank, size, wrap, sparse=False):
    with v1.Graph().as_default():
        x, y = v1.placeholder(v1.float32, [None, 4]), v1.placeholder(v1.float32, [None, 1])
        start = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
        # Ranks start apart: the hook makes them one.
        first = v1.get_variable("first", initializer=v1.constant(start + rank))
        second = v1.get_variable("second", initializer=v1.constant(start.reshape(8, 4)[:, :1]))
        table = v1.get_variable("table", initializer=v1.constant(start.reshape(8, 4)[:, 1:2]))
        hidden = v1.nn.relu(v1.matmul(x, first))
        picked = v1.nn.embedding_lookup(table, [1, 1, 4]) if sparse else table
        loss = v1.reduce_mean(v1.square(v1.matmul(hidden, second) + v1.reduce_sum(picked) - y))
        train = wrap(v1.train.MomentumOptimizer(0.02, 0.9)).minimize(loss)
        part = slice(rank * 32 // size, (rank + 1) * 32 // size)
        hooks = [npu_init.NPUBroadcastGlobalVariablesHook(0, rank)]
        with v1.train.MonitoredTrainingSession(config=config(), hooks=hooks) as session:
            for _ in range(5):
                session.run(train, {x: ROWS[part], y: TARGETS[part]})
            return session.run([first, second, table])


WRAPPERS = {
    "npu_tf_optimizer": npu_init.npu_tf_optimizer,
    "wrapper": npu_init.npu_distributed_optimizer_wrapper,
    "sharded": lambda optimizer: npu_init.NPUDistributedOptimizer(optimizer, True),
    "NPUOptimizer": lambda optimizer: npu_init.NPUOptimizer(optimizer, is_distributed=True),
    "loss scaled": lambda optimizer: npu_init.NPULossScaleOptimizer(
        npu_init.npu_tf_optimizer(optimizer), npu_init.FixedLossScaleManager(8.0), is_distributed=True
    ),
}


@pytest.mark.parametrize(
    ("wrapper", "size"), [*((name, 2) for name in sorted(WRAPPERS)), at_night("npu_tf_optimizer", 8)], ids=str
)
def test_training_on_parts_of_a_batch_is_training_of_one_device_on_the_whole(wrapper, size):
    sparse = wrapper == "npu_tf_optimizer" and size == 2
    one = trained(0, 1, lambda optimizer: optimizer, sparse)
    for together in ranks.as_ranks(size, lambda rank: trained(rank, size, WRAPPERS[wrapper], sparse)):
        for mine, alone_ in zip(together, one):
            np.testing.assert_allclose(mine, alone_, rtol=0, atol=TOLERANCE)


def test_a_rank_whose_numbers_overflow_keeps_all_from_the_step():
    def build(rank):
        weight = v1.get_variable("weight", initializer=2.0)
        manager = npu_init.ExponentialUpdateLossScaleManager(4.0, 1000, 1)
        optimizer = npu_init.NPULossScaleOptimizer(
            npu_init.npu_tf_optimizer(v1.train.GradientDescentOptimizer(0.5)), manager, is_distributed=True
        )
        big = v1.constant(3e38 if rank == 1 else 1.0)
        train = optimizer.minimize(v1.reduce_sum(weight * big * 4.0))
        with v1.control_dependencies([train]):
            return [v1.identity(weight.read_value() if hasattr(weight, "read_value") else weight)]

    found = in_ranks(2, build)
    assert found[0][0] == found[1][0]


def test_a_strategy_reduces_over_ranks():
    def build(rank):
        strategy = NPUStrategy()
        value = v1.constant(float(rank))
        return [
            v1.constant(strategy.num_replicas_in_sync),
            strategy.extended.reduce_to(v1.distribute.ReduceOp.SUM, value, value),
            strategy.extended.reduce_to(v1.distribute.ReduceOp.MEAN, value, value),
        ]

    assert [list(map(float, one)) for one in in_ranks(2, build)] == [[2.0, 1.0, 0.5]] * 2


def test_gradients_are_communicated_in_the_parts_that_a_split_makes():
    def build(rank):
        npu_init.set_split_strategy_by_idx([0, 2])
        weights = [v1.get_variable(f"w{k}", initializer=v1.ones([4])) for k in range(4)]
        loss = v1.add_n([v1.reduce_sum(weight) for weight in weights])
        return npu_init.npu_tf_optimizer(v1.train.GradientDescentOptimizer(0.1)).minimize(loss)

    in_ranks(2, build)
    parts = [[one.part for one in record.collectives] for record in process_trace().runs if record.collectives]
    assert parts == [[0, 1, 1, 2]] * 2


# What cannot be completed -------------------------------------------------------------------------------------------


def refusals(size, build, **values):
    """What each rank's session raised."""

    def work(rank):
        with v1.Graph().as_default():
            wanted = build(rank)
            with v1.Session(config=config(**values)) as session:
                try:
                    return session.run(wanted)
                except tf.errors.OpError as error:
                    return error

    return ranks.as_ranks(size, work)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: hccl_ops.allreduce(v1.concat([x, x], 0), "sum"),
        lambda x: hccl_ops.allreduce(v1.cast(x, v1.float16), "sum"),
        lambda x: hccl_ops.allreduce(x, "max"),
        lambda x: hccl_ops.allreduce(x, "sum", group="hccl_world_group") if False else hccl_ops.allgather(x, 2),
    ],
    ids=["shape", "dtype", "reduction", "kind"],
)
def test_ranks_that_differ_are_told_of_both_and_of_the_tensor(other):
    def build(rank):
        x = v1.constant([1.0, 2.0])
        return hccl_ops.allreduce(x, "sum") if rank == 0 else other(x)

    for error in refusals(2, build):
        assert error.code == "COLLECTIVE_MISMATCH", str(error)
        assert "rank 0" in str(error) and "rank 1" in str(error) and "HcomAllReduce" in str(error)


def test_ranks_that_come_to_collectives_in_another_order_are_told():
    def build(rank):
        x = v1.constant([1.0])
        with v1.name_scope("a" if rank == 0 else "b"):
            y = hccl_ops.allreduce(x, "sum")
        with v1.name_scope("b" if rank == 0 else "a"):
            return hccl_ops.allreduce(y, "sum")

    for error in refusals(2, build):
        assert error.code == "COLLECTIVE_MISMATCH" and "a/HcomAllReduce" in str(error) and "b/Hcom" in str(error)


def test_a_rank_that_fails_ends_the_others_wait_in_the_documented_time():
    def build(rank):
        x = v1.constant([1.0])
        if rank == 1:
            with v1.control_dependencies([v1.Assert(False, ["no"])]):
                x = v1.identity(x)
        return hccl_ops.allreduce(x, "sum")

    first, second = refusals(2, build, hccl_timeout=600)
    assert first.code == "COLLECTIVE_TIMEOUT" and "544 s" in str(first) and "rank 1" in str(first)
    assert "no" in str(second) and not hasattr(second, "code")


def test_a_rank_whose_session_is_never_run_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "2")
    monkeypatch.setenv("HCCL_CONNECT_TIMEOUT", "1")
    monkeypatch.setattr(joining, "_MEETINGS", {})
    # Something else runs in this process, as far as is known, which could let rank 1 come.
    monkeypatch.setattr(ranks, "nobody_else", lambda: None)
    with v1.Graph().as_default():
        y = hccl_ops.allreduce(v1.constant([1.0]), "sum")
        late = pytest.raises(tf.errors.OpError, match="rank 1 has not come")
        with v1.Session(config=config(session_device_id=0)) as session, late:
            session.run(y)


def test_a_thread_that_only_lacks_a_processor_is_not_taken_to_wait_for_another(monkeypatch):
    end = threading.Event()
    waiting = threading.Thread(target=end.wait)
    waiting.start()
    try:
        monkeypatch.setattr(ranks, "_could_go_on", lambda: True)
        assert ranks.nobody_else() is None
    finally:
        end.set()
        waiting.join()


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize(
    ("fault", "completed"),
    [({"after": 1}, 1), ({"rank": 0}, 0), ({"seconds": 67.0}, 3), ({"seconds": 600.0}, 0)],
    ids=["after one", "rank 0", "late", "too late"],
)
def test_a_lost_peer_ends_every_rank_after_the_timeout_and_a_late_one_does_not(fault, completed, clock):
    """hccl_timeout 135 takes effect as 68 s."""

    def work(rank):
        with v1.Graph().as_default():
            y = hccl_ops.allreduce(v1.placeholder_with_default([1.0], [1]), "sum")
            with v1.Session(config=config(hccl_timeout=135)) as session:
                said = []
                for _ in range(3):
                    try:
                        said.append(session.run(y).tolist())
                    except tf.errors.OpError as error:
                        said.append(error)
                return said

    surroundings = current_overrides()._replace(faults=parse([{"kind": "lost_peer", **fault}]), clock=clock)
    with overriding(surroundings):
        for said in ranks.as_ranks(2, work):
            assert said[:completed] == [[2.0]] * completed
            for error in said[completed:]:
                assert error.code == "COLLECTIVE_TIMEOUT" and "68 s" in str(error) and "asked for" in str(error)


def test_each_device_has_a_clock_of_its_own_and_collectives_take_time():
    def build(rank):
        x = v1.placeholder_with_default(v1.ones([1000, 1000]), [1000, 1000])
        return [hccl_ops.allreduce(x, "sum")]

    with overriding(current_overrides()._replace(clock=True)):
        in_ranks(2, build)
        together = [record.time for record in process_trace().runs if record.collectives]
        in_ranks(1, build)
        alone_ = process_trace().runs[-1].time
    assert [time.device for time in sorted(together, key=lambda time: time.device)] == [0, 1]
    assert together[0].end_ns - together[0].start_ns == together[1].end_ns - together[1].start_ns
    assert together[0].end_ns - together[0].start_ns > alone_.end_ns - alone_.start_ns


@pytest.mark.parametrize(
    ("value", "seconds"), [(None, 1836), (1, 68), (67, 68), (68, 68), (135, 68), (136, 136), (600, 544), (17340, 17340)]
)
def test_collectives_wait_in_steps_of_68_seconds(value, seconds):
    assert Communicator(None, value)._seconds == seconds


# Sessions on devices of their own -----------------------------------------------------------------------------------


def test_sessions_of_one_process_are_ranks_by_their_devices(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "2")
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(v1.float32, [2])
        y = hccl_ops.allreduce(x * 2.0, "sum")
    found = {}

    def run(device):
        with v1.Session(graph=graph, config=config(session_device_id=device)) as session:
            found[device] = session.run(y, {x: [device, 1.0]}).tolist()

    threads = [threading.Thread(target=run, args=(device,)) for device in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [2.0, 4.0], 1: [2.0, 4.0]}
    assert sorted((record.device, record.rank) for record in process_trace().runs) == [(0, 0), (1, 1)]


def test_session_device_id_goes_before_the_environment_and_each_session_keeps_its_own(monkeypatch):
    monkeypatch.setenv("ASCEND_DEVICE_ID", "3")
    with v1.Graph().as_default():
        x = v1.constant(1.0) + v1.placeholder_with_default(1.0, [])
        sessions = [v1.Session(config=config(session_device_id=device)) for device in (1, 7)] + [
            v1.Session(config=config())
        ]
        for session in [*sessions, *reversed(sessions)]:
            session.run(x)
        for session in sessions:
            session.close()
    assert [record.device for record in process_trace().runs] == [1, 7, 3, 3, 7, 1]


def test_a_device_that_is_not_there_is_refused_before_anything_is_made():
    with v1.Graph().as_default(), pytest.raises(ValueError, match="there is no device 8"):
        v1.Session(config=config(session_device_id=8))


# Data sets ----------------------------------------------------------------------------------------------------------


def read_together(devices, size, mixed):
    def work(rank):
        read = []

        def rows():
            for number in range(7):
                read.append(number)
                yield np.float32(100 * rank + number), str(number)

        with v1.Graph().as_default():
            data = v1.data.Dataset.from_generator(rows, (tf.float32, tf.string), ((), ()))
            iterator = v1.data.make_initializable_iterator(data)
            number, text = iterator.get_next()
            doubled, given = number * 2, []
            options = {"local_rank_id": rank, "local_device_list": devices, "mix_compile_mode": mixed}
            with v1.Session(config=config(**options)) as session:
                for _ in range(2):  # epochs
                    session.run(iterator.initializer)
                    with pytest.raises(tf.errors.OutOfRangeError):
                        while True:
                            given.append(session.run([doubled, text]))
            return len(read), [float(one) / 2 for one, _ in given], [int(text) for _, text in given]

    return ranks.as_ranks(size, work)


@pytest.mark.parametrize("mixed", [False, True])
def test_the_main_process_reads_for_all_and_no_element_goes_to_two(mixed):
    main, other, last = read_together("0,1,2", 3, mixed)
    assert (main[0], other[0], last[0]) == (14, 0, 0)
    assert main[1] == [0.0, 3.0] * 2 and other[1] == [1.0, 4.0] * 2 and last[1] == [2.0, 5.0] * 2
    assert all(numbers == texts for _, numbers, texts in (main, other, last))


def test_a_device_that_no_rank_is_on_cannot_be_sent_to():
    with pytest.raises(ValueError, match="no rank of this server is on device 5"):
        read_together("0,5", 2, True)
