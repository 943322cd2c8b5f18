"""Several ranks on the timing plane: what a session of one compiles knows the others, their groups and their splits."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from hccl.split import api as split
from npu_bridge.hccl import hccl_ops
from npu_reference.runtime import ranks
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.test_ranks import alone, config

v1 = tf.compat.v1

__all__ = ["alone"]


def profiled(rank, group=None):
    """The step of a session that sums three gradients over its ranks."""
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [64, 64], name="x")
        told = {} if group is None else {"group": group}
        sums = [hccl_ops.allreduce(v1.exp(x * float(number + 1)), "sum", **told) for number in range(3)]
        with v1.Session(config=config(hcom_parallel=True)) as session:
            feeds = {x: np.full((64, 64), 0.001 * (rank + 1), np.float32)}
            values = session.run(sums, feeds)
            engine = engine_of(session)
            ((signature, plan),) = engine._plans.items()
            found = engine.compiling.of(signature, plan.partition, dict.fromkeys(signature.feeds, feeds[x]))
    return found, values


def collectives(found):
    assert found.profile is not None, found.reason
    told = found.profile.communication()
    return told["ranks"], [(len(one["nodes"]), one["engine"]) for one in told["collectives"]]


@pytest.mark.parametrize(("size", "engine"), [(2, "hccs"), (6, "pcie")])
def test_collectives_of_a_running_session_go_over_the_links_of_its_ranks(size, engine):
    results = ranks.as_ranks(size, profiled)
    for found, values in results:
        assert collectives(found) == (size, [(2, engine), (1, engine)])
        assert all((value == other).all() for value, other in zip(values, results[0][1]))


def test_gradients_are_split_as_the_script_says():
    def work(rank):
        split.set_split_strategy_by_idx([0, 1, 2])
        return profiled(rank)[0]

    assert {tuple(collectives(found)[1]) for found in ranks.as_ranks(2, work)} == {((1, "hccs"),) * 3}


def test_groups_of_the_script_are_known():
    def work(rank):
        ranks.create_group("all", 2, [0, 1])
        return profiled(rank, "all")[0]

    assert {collectives(found)[0] for found in ranks.as_ranks(2, work)} == {2}


def test_one_rank_alone_has_no_links():
    assert collectives(profiled(0)[0]) == (1, [(1, "sdma")] * 3)
