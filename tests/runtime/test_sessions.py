"""Every way to run a session: structures, callables, partial runs, threads, several sessions, sessions left alone."""

from __future__ import annotations

import collections
import gc
import threading

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2

from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import assert_same, compare, control_flow, npu, plain

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


def test_partial_runs_compute_everything_once():
    def scenario(config):
        calls = []

        def once(a):
            calls.append(1)
            return a + np.float32(1)

        a, b = tf.placeholder(tf.float32, [2], name="a"), tf.placeholder(tf.float32, [2], name="b")
        host = tf.py_func(once, [a * 2.0], tf.float32)
        host.set_shape([2])
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=True)
        counted = count.assign_add(1.0, read_value=True)
        with tf.control_dependencies([counted]):
            first = tf.exp(host) + tf.random_uniform([2], seed=5)
        second = first * b + host
        with tf.Session(config=config) as session:
            session.run(count.initializer)
            handle = session.partial_run_setup([first, second], [a, b])
            one = session.partial_run(handle, first, {a: VALUES})
            two = session.partial_run(handle, second, {b: VALUES})
            return one, two, session.run(count), len(calls)

    compare(scenario)


def test_partial_runs_keep_scalars_strings_and_branches():
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=False)
        updated = tf.assign_add(v, a)
        branch = tf.cond(a > 0.0, lambda: tf.exp(a), lambda: a * 2.0)
        text = tf.as_string(a * 2.0)
        first = updated * 2.0
        last = first * b + branch + tf.string_to_number(text)
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            handle = session.partial_run_setup([first, branch, last], [a, b])
            values = [session.partial_run(handle, first, {a: 1.5}), session.partial_run(handle, branch)]
            return values, session.partial_run(handle, last, {b: 3.0}), session.run(v)

    compare(scenario)


@pytest.mark.parametrize("version", (1, 2))
def test_a_later_part_differentiates_the_loop_of_an_earlier_one(version):
    def scenario(config):
        with control_flow(version):
            a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
            loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.sin(x) * a), [tf.constant(0), a])[1]
            slope = tf.gradients(loop * b, a)[0]
        with tf.Session(config=config) as session:
            handle = session.partial_run_setup([loop, slope], [a, b])
            return session.partial_run(handle, loop, {a: 1.3}), session.partial_run(handle, slope, {b: 2.0})

    compare(scenario, rtol=1e-5)
    compare(scenario, rtol=1e-5, mix_compile_mode=False)


@pytest.mark.parametrize("version", (1, 2))
def test_a_later_part_reads_what_an_earlier_one_wrote_to_an_array(version):
    def scenario(config):
        with control_flow(version):
            a, place = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
            array = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, a).write(1, a + 1.0)
            first = array.read(0)
            last = array.write(2, a * 3.0).read(place) + first
        with tf.Session(config=config) as session:
            handle = session.partial_run_setup([first, last], [a, place])
            return session.partial_run(handle, first, {a: 1.5}), session.partial_run(handle, last, {place: 1})

    compare(scenario)


def test_a_later_part_takes_a_temporary_variable_away():
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        held = tf.raw_ops.TemporaryVariable(shape=[], dtype=tf.float32, var_name="held")
        stored = tf.raw_ops.Assign(ref=held, value=a + 1.0)
        first = tf.identity(stored)
        with tf.control_dependencies([first]):
            last = tf.raw_ops.DestroyTemporaryVariable(ref=stored, var_name="held") * b
        with tf.Session(config=config) as session:
            handle = session.partial_run_setup([first, last], [a, b])
            return session.partial_run(handle, first, {a: 1.5}), session.partial_run(handle, last, {b: 2.0})

    compare(scenario)
    compare(scenario, mix_compile_mode=False)


@pytest.mark.parametrize("make", [plain, npu])
def test_a_part_that_fails_ends_its_run(make):
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        checked, other = tf.check_numerics(tf.log(a), "no number"), b * 2.0
        with tf.Session(config=make()) as session:
            handle = session.partial_run_setup([checked, other], [a, b])
            with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
                session.partial_run(handle, checked, {a: -1.0})
            with pytest.raises(tf.errors.OpError):
                session.partial_run(handle, other, {b: 1.0})


@pytest.mark.parametrize("mixed", [True, False])
def test_a_later_part_takes_the_reference_that_a_writer_of_an_earlier_one_gave(mixed):
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        v = tf.Variable([1.0, 2.0], use_resource=False)
        stored = tf.assign(v, tf.stack([a, a]))
        first, last = stored * 2.0, tf.scatter_add(tf.assign_add(stored, tf.stack([b, b])), [0], [b])
        with control_flow(1):
            chosen = tf.cond(b > 0.0, lambda: tf.assign_sub(stored, [1.0, 2.0]) * b, lambda: stored + 1.0)
        results = []
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            for second in (last, chosen):
                handle = session.partial_run_setup([first, second], [a, b])
                results += [session.partial_run(handle, first, {a: 3.0}), session.partial_run(handle, second, {b: 5.0})]
            return [*results, session.run(v)]

    compare(scenario, mix_compile_mode=mixed)


def test_a_later_part_reads_what_is_in_a_variable_then():
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        v = tf.Variable(1.0, use_resource=False)
        stored, changed = tf.assign(v, a), tf.assign(v, 10.0)
        first, last = stored * 2.0, stored * b
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            handle = session.partial_run_setup([first, last], [a, b])
            one = session.partial_run(handle, first, {a: 3.0})
            session.run(changed)
            return one, session.partial_run(handle, last, {b: 2.0})

    compare(scenario)


def test_what_an_earlier_part_computed_is_fetched_later_and_not_computed_again():
    def scenario(config):
        a = tf.placeholder(tf.float32, [])
        v = tf.Variable(1.0, use_resource=False)
        added, drawn = tf.assign_add(v, a), tf.random_uniform([])
        first = added * 2.0 + drawn
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            handle = session.partial_run_setup([first, added, drawn], [a])
            one = session.partial_run(handle, first, {a: 3.0})
            two, three = session.partial_run(handle, added), session.partial_run(handle, drawn)
            np.testing.assert_allclose(one, two * 2.0 + three, rtol=1e-6)
            return two, session.run(v)

    compare(scenario)


def test_who_waits_for_what_is_fed_and_could_be_computed_waits_for_the_operator():
    def scenario(config):
        a = tf.placeholder(tf.float32, [])
        given = tf.identity(a * 1.0)
        with tf.control_dependencies([given]):
            first = a + 1.0
        last = a * given
        with tf.Session(config=config) as session:
            handle = session.partial_run_setup([first, last], [a, given])
            return session.partial_run(handle, first, {a: 3.0}), session.partial_run(handle, last, {given: 2.0})

    compare(scenario)


def test_who_waits_for_a_placeholder_that_is_not_fed_yet_is_refused_where_tensorflow_waits_for_ever():
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [], name="late")
        with tf.control_dependencies([b]):
            first = a + 1.0
        with tf.Session(config=npu()) as session:
            handle = session.partial_run_setup([first, a * b], [a, b])
            with pytest.raises(tf.errors.InvalidArgumentError, match="late:0"):
                session.partial_run(handle, first, {a: 3.0})
            assert session.partial_run(handle, first, {a: 3.0, b: 2.0}) == 4.0


def test_what_is_drawn_again_in_a_later_part_is_told():
    said = []
    with tf.Graph().as_default(), control_flow(1), listening(said.append):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])

        def turn(i, x):
            return i + 1, tf.sin(x) * tf.random_uniform([], name="draw")

        loop = tf.while_loop(lambda i, x: i < 3, turn, [tf.constant(0), a])[1]
        slope = tf.gradients(loop * b, a)[0]
        with tf.Session(config=npu()) as session:
            handle = session.partial_run_setup([loop, slope], [a, b])
            session.partial_run(handle, loop, {a: 1.3})
            session.partial_run(handle, slope, {b: 2.0})
    assert ["while/draw/RandomUniform" in entry.text for entry in said if entry.code == "computed_again"] == [True]


def test_partial_runs_refuse_what_tensorflow_refuses():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
            first, second = a + 1.0, a * b
            with tf.Session(config=config) as session:
                handle = session.partial_run_setup([first, second], [a, b])
                assert session.partial_run(handle, first, {a: 2.0}) == 3.0
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.partial_run(handle, second, {a: 2.0})
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.partial_run("no handle", second, {b: 2.0})


def test_a_part_that_is_refused_has_fed_nothing_and_a_run_lasts_until_all_is_fed():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            a, b, c = [tf.placeholder(tf.float32, []) for _ in range(3)]
            first, second, other = a + 1.0, a * b, c * 2.0
            with tf.Session(config=config) as session:
                handle = session.partial_run_setup([first, second], [a, b])
                for fetch, feeds in ((other, {a: 1.0}), (first, {a: 1.0, c: 1.0}), ([first, second], {a: 1.0})):
                    with pytest.raises(tf.errors.InvalidArgumentError):
                        session.partial_run(handle, fetch, feeds)
                assert session.partial_run(handle, [first, second], {a: 2.0, b: 5.0}) == [3.0, 10.0]
                with pytest.raises(tf.errors.InvalidArgumentError, match="setup"):
                    session.partial_run(handle, first)
                handle = session.partial_run_setup([first], [a, b])
                assert session.partial_run(handle, first, {a: 2.0}) == 3.0
                with pytest.raises(tf.errors.InvalidArgumentError, match="already been fetched"):
                    session.partial_run(handle, first)
                assert session.partial_run(handle, [], {b: 2.0}) == []


def test_what_is_fed_in_parts_hides_no_feed_that_it_comes_of():
    for config in (plain(), npu()):
        with tf.Graph().as_default():
            a = tf.placeholder(tf.float32, [], name="a")
            given = tf.multiply(a, 2.0)
            last = given + 1.0
            with tf.Session(config=config) as session:
                handle = session.partial_run_setup([last], [a, given])
                with pytest.raises(tf.errors.InvalidArgumentError, match="a:0"):
                    session.partial_run(handle, last, {given: 7.0})
                assert session.partial_run(handle, last, {given: 7.0, a: 1.0}) == 8.0


def test_a_reference_that_a_writer_hands_on_may_be_fed_in_parts():
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        v = tf.Variable(4.0, use_resource=False)
        grown = tf.assign_add(v, a)
        first, last = grown * 2.0, grown + b
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            handle = session.partial_run_setup([first, last], [grown, b])
            one = session.partial_run(handle, first, {grown: 7.0})
            return one, session.partial_run(handle, last, {b: 2.0}), session.run(v)

    with tf.Graph().as_default():
        assert scenario(npu()) == scenario(plain()) == (14.0, 9.0, 4.0)


@pytest.mark.parametrize("value", [1.5, 0.5])
def test_a_later_part_writes_to_the_variable_that_a_branch_or_an_index_has_chosen(value):
    def scenario(config):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        kept = [tf.Variable(4.0 + number, use_resource=False) for number in range(3)]
        either = tf.cond(a > 1.0, lambda: tf.assign_add(kept[0], 1.0), lambda: tf.assign_sub(kept[1], 1.0))
        inner = tf.raw_ops.RefSelect(index=tf.cast(a, tf.int32), inputs=[kept[2]._ref(), either])
        found = []
        with tf.Session(config=config) as session:
            for chosen in (either, inner):
                session.run([one.initializer for one in kept])
                first, last = chosen * 2.0, tf.assign_add(chosen, b) * 1.0
                handle = session.partial_run_setup([first, last], [a, b])
                found.append(session.partial_run(handle, first, {a: value}))
                found += [session.partial_run(handle, last, {b: 3.0}), *session.run(kept)]
        return found

    with tf.Graph().as_default(), control_flow(1):
        assert scenario(npu()) == scenario(plain())


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
