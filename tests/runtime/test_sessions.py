"""Every way to run a session: structures, callables, threads, several sessions, sessions left alone."""

from __future__ import annotations

import collections
import gc
import itertools
import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2

from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import assert_same, compare, npu, plain

VALUES = np.array([1.0, 2.0], dtype=np.float32)


def chain():
    """Two device operators with a host operator between them."""
    x = tf.placeholder(tf.float32, [2], name="x")
    before = tf.square(x, name="before")
    host = tf.py_func(lambda a: a + np.float32(1), [before], tf.float32, name="host")
    host.set_shape([2])
    return x, before, host, tf.multiply(host, 10.0, name="after")


def test_fetches_may_be_nested_structures():
    Pair = collections.namedtuple("Pair", "left right")

    def scenario(config):
        x, before, host, after = chain()
        fetches = {"a": [after, (before,)], "b": Pair(host, "before:0"), "op": after.op, "again": after, "fed": x}
        with tf.Session(config=config) as session:
            result = session.run(fetches, {x: VALUES})
            return result["a"], tuple(result["b"]), result["op"], result["again"], result["fed"], session.run([], {})

    compare(scenario)


def test_operators_can_be_run_for_their_effect_wherever_they_are():
    def scenario(config):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
        add = tf.assign_add(v, 1.0).op
        with tf.control_dependencies([add]):
            group = tf.group(tf.assign_add(v, 10.0), name="group")
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            results = [session.run(add), session.run(group), session.run([group, add])]
            return results, session.run(v)

    compare(scenario)


def test_callables_with_and_without_feeds():
    def scenario(config):
        x, _, _, after = chain()
        constant = tf.exp(tf.constant(VALUES)) * 2.0
        with tf.Session(config=config) as session:
            fed = session.make_callable([after, {"k": after}], [x])
            alone = session.make_callable(constant)
            nested = session.make_callable({"c": [constant]})
            effect = session.make_callable(constant.op)
            observed = session.make_callable(constant, accept_options=True)
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            values = [fed(VALUES), alone(), nested(), effect(), observed(options=options, run_metadata=metadata)]
            assert metadata.step_stats.dev_stats
            return values

    compare(scenario)


@pytest.mark.parametrize("make", [plain, npu])
def test_a_callable_that_fetches_nothing_is_refused_when_it_is_called(make):
    with tf.Graph().as_default():
        chain()
        with tf.Session(config=make()) as session:
            assert session.run([]) == []
            for nothing in (session.make_callable([]), session.make_callable({})):
                with pytest.raises(tf.errors.InvalidArgumentError, match="at least one target"):
                    nothing()


@pytest.mark.parametrize("make", [plain, npu])
def test_a_callable_of_a_closed_session_is_cancelled_where_a_run_of_it_is_refused(make):
    with tf.Graph().as_default():
        x, _, _, after = chain()
        constant = tf.exp(tf.constant(VALUES))
        with tf.Session(config=make()) as session:
            free, fed = session.make_callable(constant), session.make_callable(after, [x])
        with pytest.raises(tf.errors.CancelledError, match="closed"):
            free()
        for refused in (lambda: fed(VALUES), lambda: session.run(constant)):
            with pytest.raises(RuntimeError, match="closed"):
                refused()


def test_callables_from_options_as_keras_makes_them():
    from tensorflow.core.protobuf import config_pb2

    def scenario(config):
        x = chain()[0]
        source = tf.constant([3.0, 4.0], name="source") * 1.0
        options = config_pb2.CallableOptions(feed=["x:0"], fetch=["after:0", "before:0"], target=["host"])
        connected = config_pb2.CallableOptions(fetch=["after:0"])
        connection = connected.tensor_connection.add()
        connection.from_tensor, connection.to_tensor = source.name, x.name
        with tf.Session(config=config) as session:
            return [
                session._make_callable_from_options(options)(VALUES),
                session._make_callable_from_options(connected)(),
            ]

    compare(scenario)


def test_callables_refuse_what_tensorflow_refuses():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            a, b = tf.placeholder(tf.float32, [], name="a"), tf.placeholder(tf.float32, [], name="b")
            total = tf.add(a, b, name="total")
            with tf.Session(config=config) as session:

                def made(feeds, fetches, connected=(), session=session):
                    options = config_pb2.CallableOptions(feed=feeds, fetch=fetches)
                    for source, to in connected:
                        options.tensor_connection.add(from_tensor=source, to_tensor=to)
                    return session._make_callable_from_options(options)

                for feeds, fetches, connected in (
                    (["a:0", "b:0"], ["a:0"], ()), (["a:0", "a:0"], ["total:0"], ()),
                    (["a:0", "b:0"], ["total:0"], [("b:0", "a:0")]),
                ):  # fmt: skip
                    with pytest.raises(tf.errors.InvalidArgumentError):
                        made(feeds, fetches, connected)
                call = made(["a:0", "b:0"], [total.name])
                for values in ([1.0], [1.0, 2.0, 3.0]):
                    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 2 feed tensors"):
                        call(*[np.float32(value) for value in values])
                assert call(np.float32(1.0), np.float32(2.0)) == [3.0]
            with pytest.raises(tf.errors.CancelledError):
                made(["a:0", "b:0"], ["total:0"])


def test_an_interactive_session_is_the_default_session():
    def scenario(config):
        x, _, _, after = chain()
        session = tf.InteractiveSession(config=config)
        try:
            return after.eval({x: VALUES}), tf.exp(tf.constant(1.0)).eval()
        finally:
            session.close()

    compare(scenario)


def test_a_session_in_a_with_statement_is_the_default_session():
    def scenario(config):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        with tf.Session(config=config) as session:
            assert tf.get_default_session() is session
            v.initializer.run()
            return (v * 2.0).eval(), session.graph is v.graph

    compare(scenario)


def test_a_graph_may_grow_between_runs():
    def scenario(config):
        x, _, _, after = chain()
        results = []
        with tf.Session(config=config) as session:
            grown = after
            for k in range(4):
                results.append(session.run(grown, {x: VALUES}))
                grown = tf.tanh(grown * 0.1) + float(k)
            v = tf.get_variable("late", [2], initializer=tf.ones_initializer())
            session.run(v.initializer)
            results.append(session.run([v + after, after], {x: VALUES}))
        return results

    compare(scenario)


def test_the_users_graph_is_not_touched():
    with tf.Graph().as_default() as graph:
        x, _, _, after = chain()
        before = graph.as_graph_def().SerializeToString(deterministic=True)
        graph.finalize()
        with tf.Session(config=npu()) as session:
            session.run(after, {x: VALUES})
        assert graph.as_graph_def().SerializeToString(deterministic=True) == before


def test_threads_run_side_by_side():
    def scenario(config):
        x, _, _, after = chain()
        heads = [after + float(k) for k in range(4)]
        results = [None] * 8
        with tf.Session(config=config) as session:

            def work(k):
                for _ in range(5):
                    results[k] = session.run(heads[k % 4], {x: VALUES * k})

            threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return results

    runs = compare(scenario)
    assert len(runs) == 40


def test_two_sessions_of_one_graph_have_their_own_variables():
    def scenario(config):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        add = tf.assign_add(v, 1.0)
        with tf.Session(config=config) as one, tf.Session(config=config) as two:
            one.run(v.initializer)
            two.run(v.initializer)
            one.run(add)
            one.run(add)
            two.run(add)
            return one.run(v), two.run(v)

    runs = compare(scenario)
    assert len({run.session for run in runs}) == 2


def test_a_plain_session_beside_a_simulated_one_stays_plain():
    with tf.Graph().as_default():
        x, _, _, after = chain()
        with tf.Session(config=npu()) as simulated, tf.Session() as ordinary, tf.Session(config=plain()) as configured:
            assert engine_of(simulated) is not None
            assert engine_of(ordinary) is None and engine_of(configured) is None
            values = [session.run(after, {x: VALUES}) for session in (simulated, ordinary, configured)]
    assert_same(values[0], values[1])
    assert_same(values[0], values[2])
    assert [run.geops for run in process_trace().runs] == [2]


def test_methods_of_other_sessions_do_what_they_did():
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        total = a + b
        with tf.Session() as session:
            assert session.make_callable(total, [a, b])(1.0, 2.0) == 3.0
            assert session.make_callable(tf.constant(4.0))() == 4.0
            handle = session.partial_run_setup([total], [a, b])
            assert session.partial_run(handle, total, {a: 1.0, b: 5.0}) == 6.0
            assert [device.device_type for device in session.list_devices()].count("CPU") == 1
    assert process_trace().runs == []


def test_devices_are_listed_as_before():
    with tf.Graph().as_default(), tf.Session() as ordinary, tf.Session(config=npu()) as simulated:
        names = [[device.name for device in session.list_devices()] for session in (ordinary, simulated)]
    assert names[0] == names[1]


def test_device_requests_are_placed_on_the_one_device_there_is():
    def scenario(config):
        config.allow_soft_placement = True
        with tf.device("/device:GPU:0"):
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
            y = tf.exp(v)
        with tf.device("/cpu:0"):
            host = tf.py_func(lambda a: a, [y], tf.float32)
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            return session.run(host * 2.0)

    compare(scenario)


def test_a_remote_session_is_left_to_tensorflow():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        x = chain()[0]
        y = tf.exp(x)
        with tf.Session(server.target, config=npu()) as session:
            assert engine_of(session) is None
            assert_same(session.run(y, {x: VALUES}), np.exp(VALUES))
    assert process_trace().runs == []


def test_a_closed_session_refuses_to_run():
    with tf.Graph().as_default():
        x, _, _, after = chain()
        session = tf.Session(config=npu())
        session.run(after, {x: VALUES})
        session.close()
        session.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(after, {x: VALUES})


def test_reset_clears_the_variables_of_sessions():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
            session = tf.Session(config=config)
            session.run(v.initializer)
            tf.Session.reset("")
            with pytest.raises((RuntimeError, tf.errors.OpError)):
                session.run(v + 1.0)
            session.close()


def test_sessions_are_freed_with_their_last_reference():
    import weakref

    with tf.Graph().as_default():
        x, _, _, after = chain()
        session = tf.Session(config=npu())
        session.run(after, {x: VALUES})
        engine = weakref.ref(engine_of(session))
        session.close()
        del session
    gc.collect()
    assert engine() is None


def test_an_open_session_survives_deactivation():
    with tf.Graph().as_default():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        y = v * 3.0
        session = tf.Session(config=npu())
        session.run(v.initializer)
        activation.deactivate()
        assert session.run(y) == 3.0
        assert engine_of(tf.Session(config=npu())) is None
        session.close()
    assert not hasattr(tf.Session._do_run, "__wrapped__"), "with the last session the methods are TensorFlow's again"
    assert len(process_trace().runs) == 2


def test_a_session_with_threads_of_its_own_can_end_while_a_generator_has_not():
    with tf.Graph().as_default():
        rows = tf.data.Dataset.from_generator(lambda: itertools.repeat(VALUES), tf.float32, [2])
        iterator = tf.data.make_initializable_iterator(rows)
        doubled = iterator.get_next() * 2.0
        pools = set()
        for _ in range(2):
            with tf.Session(config=npu(plain(use_per_session_threads=True, inter_op_parallelism_threads=1))) as session:
                session.run(iterator.initializer)
                assert session.run(doubled).tolist() == [2.0, 4.0]
                pools.add(engine_of(session)._inner._config.session_inter_op_thread_pool[0].global_name)
        assert len(pools) == 1


def test_a_graph_that_grows_between_runs_is_read_only_as_far_as_a_run_reaches(monkeypatch):
    from npu_reference import graphs

    read = []
    whole = graphs.graph_from_def
    monkeypatch.setattr(
        graphs, "graph_from_def", lambda given, **more: read.append(len(given.node)) or whole(given, **more)
    )
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tails = [tf.square(tf.square(x)) for _ in range(30)]
        with tf.Session(config=npu()) as session:
            for number in range(5):
                y = tf.multiply(x, float(number))
                assert_same(session.run(y, {x: VALUES}), VALUES * number)
            assert read == [3] * 5
            # Asked again before it has grown, it is read whole, once for all that follow.
            for tail in tails[:3]:
                assert_same(session.run(tail, {x: VALUES}), VALUES**4)
            assert read[5:] == [len(graph.get_operations())]
