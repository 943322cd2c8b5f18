"""Where data comes from: datasets, queues, feeds of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare


def drained(session, fetch):
    values = []
    while True:
        try:
            values.append(session.run(fetch))
        except tf.errors.OutOfRangeError:
            return values


def test_an_initializable_iterator_feeds_geops_and_starts_again():
    def scenario(config):
        start = tf.placeholder(tf.int64, [])
        dataset = tf.data.Dataset.range(start, start + 5).map(lambda n: tf.cast(n, tf.float32) * 2.0).batch(2)
        iterator = tf.data.make_initializable_iterator(dataset)
        y = tf.square(iterator.get_next()) + 1.0
        with tf.Session(config=config) as session:
            session.run(iterator.initializer, {start: 0})
            first = drained(session, y)
            session.run(iterator.initializer, {start: 3})
            return first, drained(session, y)

    compare(scenario)


def test_a_one_shot_iterator_goes_on_over_signatures():
    def scenario(config):
        iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10).map(lambda n: tf.cast(n, tf.float32)))
        n = iterator.get_next()
        y, z = n * 10.0, n + 0.5
        with tf.Session(config=config) as session:
            return [session.run(fetch) for fetch in (y, z, [y, z], n, y)]

    compare(scenario)


@pytest.mark.parametrize("pre_proc", [False, True])
def test_an_iterator_may_be_offloaded_with_its_getnext(pre_proc):
    def scenario(config):
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).batch(2))
        y = iterator.get_next() * 3
        with tf.Session(config=config) as session:
            session.run(iterator.initializer)
            return drained(session, y)

    compare(scenario, enable_data_pre_proc=pre_proc)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_distribution_strategy_iterates_a_dataset_over_signatures(mixed):
    def scenario(config):
        dataset = tf.data.Dataset.range(6).map(lambda n: tf.cast(n, tf.float32)).repeat()
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            iterator = strategy.make_dataset_iterator(dataset)
            n = iterator.get_next()
        y, z = n * 10.0, n + 0.5
        start = iterator.initializer
        with tf.Session(config=config) as session:
            session.run(start() if callable(start) else start)
            return [session.run(fetch) for fetch in (y, z, [y, z], n, y)]

    compare(scenario, mix_compile_mode=mixed)


def test_a_reinitializable_iterator_switches_datasets():
    def scenario(config):
        train = tf.data.Dataset.range(3)
        check = tf.data.Dataset.range(10, 12)
        iterator = tf.data.Iterator.from_structure(tf.data.get_output_types(train), tf.data.get_output_shapes(train))
        y = tf.cast(iterator.get_next(), tf.float32) * 0.5
        starts = [iterator.make_initializer(train), iterator.make_initializer(check)]
        with tf.Session(config=config) as session:
            out = []
            for start in starts + starts:
                session.run(start)
                out.append(drained(session, y))
            return out

    compare(scenario)


def test_a_feedable_iterator_takes_string_handles():
    def scenario(config):
        datasets = [tf.data.Dataset.range(4), tf.data.Dataset.range(100, 104)]
        iterators = [tf.data.make_one_shot_iterator(dataset) for dataset in datasets]
        handle = tf.placeholder(tf.string, [])
        feedable = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
        y = feedable.get_next() * 2 + 1
        with tf.Session(config=config) as session:
            handles = session.run([iterator.string_handle() for iterator in iterators])
            return [session.run(y, {handle: handles[k]}) for k in (0, 1, 1, 0)]

    compare(scenario)


def test_queue_runners_and_a_coordinator():
    def scenario(config):
        values = tf.train.limit_epochs(tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2)), num_epochs=2)
        queue = tf.FIFOQueue(16, [tf.float32], shapes=[[4, 2]])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([values])]))
        y = tf.reduce_sum(queue.dequeue() * 2.0)
        with tf.Session(config=config) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            results = drained(session, y)
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=20)
            return results

    compare(scenario)


def test_a_queue_is_the_same_for_whoever_enqueues_and_dequeues():
    def scenario(config):
        queue = tf.FIFOQueue(8, [tf.float32], shapes=[[]])
        x = tf.placeholder(tf.float32, [])
        enqueue, dequeue, size = queue.enqueue([x * 2.0]), queue.dequeue() + 1.0, queue.size()
        with tf.Session(config=config) as session:
            for value in (1.0, 2.0, 3.0):
                session.run(enqueue, {x: value})
            return session.run(dequeue), session.run([dequeue, size][:1]), session.run(size)

    compare(scenario)


def test_enqueue_and_dequeue_in_one_run_do_not_wait_for_each_other_forever():
    def scenario(config):
        queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]])
        x = tf.placeholder(tf.float32, [])
        enqueue = queue.enqueue([x * 2.0])
        y = queue.dequeue() * 10.0
        with tf.Session(config=config) as session:
            return session.run([enqueue, y], {x: 4.0}, options=tf.RunOptions(timeout_in_ms=20000))

    compare(lambda config: scenario(config)[1])


def test_a_lookup_table_on_the_host_serves_the_device():
    def scenario(config):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([1.0, 2.0])), -1.0
        )
        words = tf.placeholder(tf.string, [None])
        y = tf.reduce_sum(table.lookup(words) * 3.0)
        with tf.Session(config=config) as session:
            session.run(tf.tables_initializer())
            return session.run(y, {words: ["a", "b", "c"]}), session.run([y, table.size()], {words: np.array(["b"])})

    compare(scenario)


def test_intermediate_tensors_can_be_fed():
    def scenario(config):
        x = tf.placeholder_with_default([1.0, 2.0], [None], name="x")
        y = tf.exp(x, name="y")
        z = tf.add(y, 1.0, name="z")
        host = tf.py_func(lambda a: -a, [z], tf.float32, name="host")
        end = tf.multiply(host, y, name="end")
        with tf.Session(config=config) as session:
            return [
                session.run(end),
                session.run(end, {x: [0.0]}),
                session.run(end, {y: [3.0, 4.0]}),
                session.run(end, {z: [5.0], y: [2.0]}),
                session.run([end, host], {host: [7.0, 8.0]}),
                session.run(end),
            ]

    compare(scenario)


def test_the_value_of_a_variable_can_be_fed():
    def scenario(config):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
        y = v * 3.0
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            return session.run(y), session.run(y, {v: [5.0, 6.0]})

    compare(scenario)


def test_sparse_feeds_and_fetches():
    def scenario(config):
        sparse = tf.sparse_placeholder(tf.float32, [2, 3])
        dense = tf.sparse.to_dense(sparse) * 2.0
        scaled = tf.SparseTensor(sparse.indices, sparse.values * 3.0, sparse.dense_shape)
        value = tf.SparseTensorValue([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
        with tf.Session(config=config) as session:
            result, back = session.run([dense, scaled], {sparse: value})
            return result, back.indices, back.values, back.dense_shape

    compare(scenario)


def test_strings_are_fed_and_fetched():
    def scenario(config):
        words = tf.placeholder(tf.string, [None])
        joined = tf.strings.join([words, words])
        sizes = tf.cast(tf.strings.length(joined), tf.float32) * 0.5
        with tf.Session(config=config) as session:
            return session.run([joined, sizes], {words: ["é", "bc"]})

    compare(scenario)


def test_a_tensor_handle_stays_in_the_session():
    def scenario(config):
        a = tf.constant([1.0, 2.0]) * 2.0
        with tf.Session(config=config) as session:
            handle = session.run(tf.get_session_handle(a))
            holder, value = tf.get_session_tensor(handle.handle, tf.float32)
            return session.run(value + 1.0, {holder: handle.handle})

    compare(scenario)
