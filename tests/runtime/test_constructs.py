"""Constructs of real scripts, each of which TensorFlow builds in its own peculiar way."""

from __future__ import annotations

import numpy as np
import tensorflow.compat.v1 as tf

from tests.runtime.comparing import compare, control_flow

VALUES = np.array([0.1, 0.7, -1.0], dtype=np.float32)


def results(config, *runs):
    """Initialize everything; then the value of each run, a fetch or a (fetch, feeds) pair."""
    with tf.Session(config=config) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return [session.run(*run) if isinstance(run, tuple) else session.run(run) for run in runs]


def on_host(function, tensor):
    result = tf.py_func(function, [tensor], tensor.dtype)
    result.set_shape(tensor.get_shape())
    return result


def test_accumulating_through_a_temporary_variable():
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])
        return results(config, (tf.accumulate_n([tf.exp(x), tf.sin(x), x * 2.0]), {x: VALUES}))

    compare(scenario)


def test_sparse_gradients_of_a_partitioned_embedding():
    def scenario(config):
        ids = tf.placeholder(tf.int32, [None])
        table = tf.get_variable(
            "table",
            [10, 4],
            initializer=tf.random_normal_initializer(seed=2),
            partitioner=tf.fixed_size_partitioner(2),
            use_resource=False,
        )
        loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids, partition_strategy="div")))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        feed = {ids: [1, 7, 7]}
        return [value[0] for value in results(config, ([loss, train], feed), ([loss], feed))]

    compare(scenario)


def test_a_sampler_with_several_outputs_goes_on_in_its_stream():
    def scenario(config):
        x = tf.placeholder(tf.int64, [3, 1])
        sampled, expected, sampled_expected = tf.nn.log_uniform_candidate_sampler(x, 1, 4, True, 30, seed=5)
        y = [sampled * 2, expected * 2.0, sampled_expected + 1.0]
        feed = {x: [[1], [2], [3]]}
        return results(config, (y, feed), (y[:2], feed), (y, feed))

    compare(scenario)


def test_seeded_dropout_under_hooks_that_fetch_more_now_and_then():
    def scenario(config):
        x = tf.placeholder(tf.float32, [3, 3])
        w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
        loss = tf.reduce_mean(tf.square(tf.nn.dropout(tf.matmul(x, w), rate=0.5, seed=4)))
        train = tf.train.RMSPropOptimizer(0.1).minimize(loss)
        norm = tf.global_norm(tf.gradients(loss, [w]))
        feed = {x: np.eye(3) + VALUES}
        runs = [([loss, train], feed), ([loss, train, norm], feed), ([loss, train], feed), ([loss, train, norm], feed)]
        return [[part for part in value if part is not None] for value in results(config, *runs)]

    compare(scenario)


def test_a_function_with_a_host_operator_inside():
    def scenario(config):
        @tf.function
        def inner(a):
            b = tf.numpy_function(lambda v: v + np.float32(1), [tf.exp(a)], tf.float32)
            b.set_shape([3])
            return b * 2.0

        @tf.function
        def device(a):
            return tf.exp(a) * 2.0

        x = tf.placeholder(tf.float32, [3])
        y = tf.square(inner(x * 2.0)) + device(x)
        return results(config, (y, {x: VALUES}), ([device(x), tf.gradients(device(x), x)], {x: VALUES}))

    compare(scenario)


def test_a_custom_gradient_on_the_host():
    def scenario(config):
        @tf.custom_gradient
        def function(a):
            return tf.square(a), lambda dy: dy * on_host(lambda v: v * np.float32(3), a)

        x = tf.placeholder(tf.float32, [3])
        y = function(tf.exp(x))
        return results(config, ([y, tf.gradients(y, x)], {x: VALUES}))

    compare(scenario)


def test_streaming_metrics_in_local_variables():
    def scenario(config):
        labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
        accuracy, update = tf.metrics.accuracy(labels, predictions)
        area, area_update = tf.metrics.auc(labels, tf.cast(predictions, tf.float32))
        feed = {labels: [1, 0, 1], predictions: [1, 1, 1]}
        return results(config, ([update, area_update], feed), [accuracy, area], ([update, area_update], feed), accuracy)

    compare(scenario)


def test_a_host_value_is_assigned_to_a_reference_variable_in_a_branch():
    def scenario(config):
        v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=False)
        go = tf.placeholder(tf.bool, [])
        host = on_host(lambda a: a + np.float32(1), tf.identity(v))
        y = tf.cond(go, lambda: tf.assign(v, host), lambda: tf.identity(v)) * 3.0
        return results(config, (y, {go: True}), (y, {go: False}), v)

    with control_flow(1):  # branches of version 2 take no references
        compare(scenario)


def test_scattering_counting_and_reshaping_reference_variables():
    def scenario(config):
        v = tf.get_variable("v", [5, 2], initializer=tf.ones_initializer(), use_resource=False)
        count = tf.get_variable("c", [], tf.int32, initializer=tf.zeros_initializer(), use_resource=False)
        free = tf.get_variable("free", initializer=tf.constant([1.0]), validate_shape=False, use_resource=False)
        x = tf.placeholder(tf.float32, [None])
        return results(
            config,
            tf.scatter_update(v, [1, 3], tf.exp(tf.zeros([2, 2])) * 3.0),
            tf.scatter_nd_add(v, [[0], [4]], tf.ones([2, 2])),
            v,
            tf.count_up_to(count, 5),
            count,
            (tf.assign(free, tf.exp(x), validate_shape=False), {x: [1.0, 2.0]}),
            free + 0.0,
        )

    compare(scenario)


def test_a_conditional_accumulator_averages_gradients():
    def scenario(config):
        accumulator = tf.ConditionalAccumulator(tf.float32, shape=[3])
        x = tf.placeholder(tf.float32, [3])
        apply = accumulator.apply_grad(tf.exp(x))
        taken = accumulator.take_grad(2) * 2.0
        tf.get_variable("unused", [])
        return results(config, (apply, {x: VALUES}), (apply, {x: -VALUES}), taken)

    compare(scenario)


def test_cases_of_both_kinds():
    def scenario(config):
        n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [3])
        y = tf.switch_case(n, [lambda: tf.exp(x), lambda: tf.sin(x), lambda: x * 3.0]) + 1.0
        z = tf.case([(tf.equal(n, 0), lambda: x), (tf.equal(n, 1), lambda: -x)], default=lambda: x * 9.0)
        return results(config, *[([y, z], {n: k, x: VALUES}) for k in range(3)])

    compare(scenario)


def test_a_host_operator_in_the_inner_of_two_branches():
    def scenario(config):
        a, b, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [3])

        def inner():
            return tf.sqrt(on_host(lambda v: v * np.float32(2), tf.exp(x)))

        y = tf.cond(a, lambda: tf.cond(b, inner, lambda: tf.sin(x)) * 2.0, lambda: x) + 1.0
        flags = [(p, q) for p in (True, False) for q in (True, False)]
        return results(config, *[(y, {a: p, b: q, x: VALUES}) for p, q in flags])

    compare(scenario)


def test_a_tensor_array_is_written_by_a_host_operator_in_a_loop():
    def scenario(config):
        x = tf.placeholder(tf.float32, [None, 3])
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)

        def body(n, written):
            return n + 1, written.write(n, on_host(lambda v: v, tf.exp(x[n])))

        _, array = tf.while_loop(lambda n, _: n < tf.shape(x)[0], body, [0, array])
        return results(config, (array.stack() * 2.0, {x: np.stack([VALUES, -VALUES])}))

    compare(scenario)


def test_batches_from_a_queue_of_examples():
    def scenario(config):
        example = tf.train.limit_epochs(tf.constant([1.0, 2.0, 3.0]), num_epochs=6)
        y = tf.train.batch([example], 3) * 2.0
        with tf.Session(config=config) as session:
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            values = [session.run(y) for _ in range(2)]
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=20, ignore_live_threads=True)
            return values

    compare(scenario)


def test_a_saved_model_and_a_frozen_graph_are_loaded_again(tmp_path):
    def scenario(config):
        folder = str(tmp_path / f"model{len(list(tmp_path.iterdir()))}")
        x = tf.placeholder(tf.float32, [3], name="x")
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        y = tf.add(tf.exp(x), w, name="y")
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
            frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["y"])
        values = []
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            tf.saved_model.load(session, ["serve"], folder)
            values.append(session.run("y:0", {"x:0": VALUES}))
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            again, fed = tf.import_graph_def(frozen, return_elements=["y:0", "x:0"])
            values.append(session.run(again, {fed: VALUES}))
        return values

    compare(scenario)
