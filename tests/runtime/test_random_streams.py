"""Random operators: seeded ones have one stream, whatever runs them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare, control_flow, npu, plain

RANDOM = {
    "uniform": lambda: tf.random_uniform([3], seed=11),
    "normal": lambda: tf.random_normal([3], 1.0, 2.0, seed=11),
    "half": lambda: tf.cast(tf.random_normal([3], dtype=tf.float16, seed=11), tf.float32),
    "truncated": lambda: tf.truncated_normal([3], seed=11),
    "integers": lambda: tf.cast(tf.random_uniform([3], 0, 9, tf.int32, seed=11), tf.float32),
    "gamma": lambda: tf.random_gamma([3], 2.0, seed=11),
    "poisson": lambda: tf.random_poisson(4.0, [3], seed=11),
    "shuffle": lambda: tf.random_shuffle(tf.range(8.0), seed=11)[:3],
    "multinomial": lambda: tf.cast(tf.random.categorical(tf.zeros([1, 5]), 3, seed=11), tf.float32)[0],
}


@pytest.mark.parametrize("kind", sorted(RANDOM))
def test_seeded_random_operators_have_one_stream_for_all_signatures(kind):
    def scenario(config):
        noise = RANDOM[kind]()
        y, z = noise * 2.0, tf.exp(noise * 0.1) + 1.0
        with tf.Session(config=config) as session:
            return [session.run(fetch) for fetch in (y, z, [y, z], noise, y)]

    compare(scenario)


def test_seeded_random_operators_in_loops_and_branches_go_on_in_their_stream():
    def scenario(config):
        go = tf.placeholder(tf.bool, [])
        y = tf.while_loop(
            lambda n, _: n < 3, lambda n, a: (n + 1, a + tf.random_uniform([2], seed=3)), [0, tf.zeros([2])]
        )
        z = tf.cond(go, lambda: tf.random_normal([2], seed=4), lambda: tf.zeros([2])) + 1.0
        with tf.Session(config=config) as session:
            return [session.run([y[1], z], {go: go_on}) for go_on in (True, False, True)]

    with control_flow(1):
        compare(scenario)


def test_threads_draw_from_generators_without_waiting_for_each_other_forever():
    with tf.Graph().as_default():
        draws = [tf.random_uniform([2, 2], seed=k) * 2.0 for k in range(1, 9)]
        total = tf.add_n(draws)
        with tf.Session(config=npu(plain(inter_op_parallelism_threads=2))) as session:
            threads = [threading.Thread(target=session.run, args=(total,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert not any(thread.is_alive() for thread in threads)


def test_random_operators_on_the_host_have_one_stream_for_all_signatures():
    from npu_bridge.estimator.npu import npu_scope

    def scenario(config):
        with npu_scope.without_npu_compile_scope():
            noise = tf.random_uniform([3], seed=11)
        y, z = tf.exp(noise), tf.square(noise)
        with tf.Session(config=config) as session:
            return [session.run(fetch) for fetch in (y, z, [y, z], y)]

    compare(scenario)


def test_dropout_and_shuffling_follow_the_graph_seed():
    def scenario(config):
        x = tf.placeholder(tf.float32, [8])
        y = tf.nn.dropout(x, rate=0.5) + tf.random_shuffle(x)
        with tf.Session(config=config) as session:
            return [session.run(y, {x: np.arange(8)}) for _ in range(2)]

    compare(scenario)
