"""Runs in parts: what a later part sees, computes, draws, is refused."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.runtime.observing.log import listening
from tests.runtime.comparing import compare, control_flow, npu, plain

VALUES = np.array([1.0, 2.0], dtype=np.float32)


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
