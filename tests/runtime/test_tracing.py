"""What the trace says of a run: GEOPs, host operators, and every crossing with its bytes."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import RunRecord, Trace, TracedCopy, process_trace
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import control_flow, npu


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def crossings(run):
    return sorted((copy.direction, copy.tensor, copy.bytes) for copy in run.copies)


def last_run():
    return process_trace().runs[-1]


def test_a_host_operator_between_geops_costs_one_copy_each_way():
    """mixed.transfer.memcpy"""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    before = tf.exp(x, name="before")
    host = tf.py_func(lambda a: a.sum(axis=1), [before], tf.float32, name="host")
    host.set_shape([2])
    after = tf.multiply(host, 2.0, name="after")
    with tf.Session(config=npu()) as session:
        session.run(after, {x: np.ones([2, 3])})
    assert crossings(last_run()) == [
        ("d2h", "after:0", 8),
        ("d2h", "before:0", 24),
        ("h2d", "host:0", 8),
        ("h2d", "x:0", 24),
    ]
    assert (last_run().geops, last_run().host) == (2, 1)


def test_tensors_inside_a_geop_are_not_copied():
    """mixed.transfer.only_boundaries"""
    x = y = tf.placeholder(tf.float32, [4], name="x")
    for _ in range(6):
        y = tf.sin(y)
    with tf.Session(config=npu()) as session:
        session.run(y, {x: np.ones(4)})
    assert crossings(last_run()) == [("d2h", y.name, 16), ("h2d", "x:0", 16)]


def test_one_copy_however_many_consumers():
    """M24"""
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.exp(x, name="y")
    hosts = [tf.py_func(lambda a, k=k: a + np.float32(k), [y], tf.float32) for k in range(3)]
    for host in hosts:
        host.set_shape([4])
    end = tf.add_n([host * x for host in hosts], name="end")
    with tf.Session(config=npu()) as session:
        session.run([end, y], {x: np.ones(4)})
    run = last_run()
    assert len(run.copies) == len({(copy.tensor, copy.direction) for copy in run.copies})
    assert [copy.tensor for copy in run.copies if copy.direction == "d2h"].count("y:0") == 1
    assert [copy.tensor for copy in run.copies if copy.direction == "h2d"].count("x:0") == 1


def test_sizes_are_those_of_each_run():
    x = tf.placeholder(tf.float32, [None], name="x")
    middle = tf.boolean_mask(tf.exp(x), x > 0.0)
    host = tf.py_func(lambda a: np.repeat(a, 2), [middle], tf.float32, name="host")
    end = tf.reduce_sum(host * 2.0, name="end")
    with tf.Session(config=npu()) as session:
        for values, kept in (([1.0, -1.0, 2.0], 2), ([1.0] * 5, 5), ([-1.0], 0)):
            session.run(end, {x: np.array(values, np.float32)})
            sizes = {copy.tensor: copy.bytes for copy in last_run().copies}
            assert sizes["x:0"] == 4 * len(values)
            assert sizes["host:0"] == 8 * kept
            assert sizes["end:0"] == 4


def test_types_count_with_their_own_width():
    x = tf.placeholder(tf.float32, [3], name="x")
    fetches = [tf.cast(x, dtype, name=dtype.name) for dtype in (tf.float16, tf.int32, tf.int64, tf.bool)]
    with tf.Session(config=npu()) as session:
        session.run(fetches, {x: np.ones(3)})
    sizes = {copy.tensor: copy.bytes for copy in last_run().copies if copy.direction == "d2h"}
    assert sizes == {"float16:0": 6, "int32:0": 12, "int64:0": 24, "bool:0": 3}


def test_a_geop_in_a_host_loop_crosses_at_every_turn():
    x = tf.placeholder(tf.float32, [3], name="x")

    def body(n, a):
        b = tf.py_func(lambda v: v, [a], tf.float32)
        b.set_shape([3])
        return n + 1, tf.while_loop(lambda k, _: k < 2, lambda k, c: (k + 1, tf.exp(c) * 0.1), [0, b])[1]

    with control_flow(1):
        y = tf.while_loop(lambda n, _: n < 3, body, [0, x])[1]
    with tf.Session(config=npu()) as session:
        session.run(y, {x: np.ones(3)})
    assert all(copy.bytes is not None for copy in last_run().copies)
    repeated = [copy for copy in last_run().copies if copy.times > 1]
    assert all(copy.times == 3 and copy.bytes % copy.times == 0 for copy in repeated)


def test_runs_are_numbered_within_their_session():
    y = tf.exp(tf.constant([1.0]))
    with tf.Session(config=npu()) as one, tf.Session(config=npu()) as two:
        for session in (one, two, one):
            session.run(y)
    runs = [(run.session, run.run) for run in process_trace().runs]
    first = runs[0][0]
    assert runs == [(first, 1), (first + 1, 1), (first, 2)]


def test_a_full_trace_names_host_operators_and_what_ran_inside_geops():
    x = tf.placeholder(tf.float32, [2], name="x")
    host = tf.py_func(lambda a: a, [tf.exp(x, name="inner")], tf.float32, name="host")
    metadata = tf.RunMetadata()
    with tf.Session(config=npu()) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(host, {x: [1.0, 2.0]}, options=options, run_metadata=metadata)
    nodes = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert any(name.split(":")[0] == "host" for name in nodes)
    assert last_run().geops == 1


def test_a_record_is_plain_json():
    import json

    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session(config=npu()) as session:
        session.run(tf.exp(x, name="y"), {x: [1.0, 2.0]})
    record = json.loads(json.dumps(last_run().to_json()))
    assert record["engine"] == "simulated" and record["geops"] == 1
    assert record["copies"] == [
        {"tensor": "x:0", "direction": "h2d", "bytes": 8},
        {"tensor": "y:0", "direction": "d2h", "bytes": 8},
    ]
    assert record["partition"]["geops"][0]["nodes"] == ["y"]


def test_the_trace_keeps_the_last_runs_and_all_sums():
    trace = Trace(kept=3)
    for run in range(5):
        trace.add(RunRecord(1, run, 2, 1, (TracedCopy("x:0", "h2d", 10), TracedCopy("y:0", "d2h", None)), None))
    assert [record.run for record in trace.runs] == [2, 3, 4]
    totals = trace.totals
    assert (totals.runs, totals.geop_launches, totals.h2d, totals.unsized) == (5, 10, 50, 5)
    assert "5 runs" in totals.summary() and "50 bytes copied h2d" in totals.summary()
    trace.clear()
    assert trace.totals.runs == 0 and trace.runs == []


@pytest.mark.nightly
def test_planning_ten_thousand_operators_takes_about_a_second():
    import time

    y = tf.placeholder(tf.float32, [4], name="x")
    for n in range(3300):
        y = tf.add(tf.multiply(y, 1.0), 1.0)
        if n % 100 == 99:
            y = tf.py_func(lambda a: a, [y], tf.float32)
            y.set_shape([4])
    from npu_reference.runtime.execution.plan import Signature

    with tf.Session(config=npu()) as session:
        start = time.process_time()
        plan = engine_of(session)._plan(Signature(("x:0",), (y.name,), ()))
        spent = time.process_time() - start
    assert len(plan.geops) == 33
    print(f"planned in {spent:.2f} s")
    # Importing into TensorFlow is most of it; the bound leaves room for a busy machine.
    assert spent < 10


def test_a_partition_is_logged_with_the_reasons_for_its_host_operators():
    x = tf.placeholder(tf.float32, [2], name="x")
    host = tf.py_func(lambda a: a, [tf.exp(x)], tf.float32, name="host")
    heard = []
    with listening(heard.append, logging.INFO), tf.Session(config=npu()) as session:
        for _ in range(2):
            session.run(host, {x: [1.0, 2.0]})
    told = [entry for entry in heard if entry.code == "partitioned"]
    assert [(entry.level, entry.subject) for entry in told] == [("info", "run of host:0")]
    assert "1 GEOP, 1 operator on the host; " in told[0].text
    assert last_run().partition.host[0].reason.value in told[0].text


def test_bodies_of_geops_can_be_rewritten_before_they_run():
    """The seam at which device precision will work."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.add(tf.exp(x, name="inner"), 1.0, name="y")
    seen = []

    def sine_for_exponential(body, geop):
        seen.append(geop)
        for node in body.node_def:
            if node.op == "Exp":
                node.op = "Sin"

    with tf.Session(config=npu()) as session:
        engine_of(session).hooks.insert(0, sine_for_exponential)
        np.testing.assert_allclose(session.run(y, {x: [0.0, 1.0]}), np.sin([0.0, 1.0]) + 1.0, rtol=1e-6)
    assert seen == [entry.name for entry in last_run().partition.geops]
