"""What the timing plane knows of a signature that runs: sizes as fed, as inferred, and of what crossed."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.hardware import built_in
from npu_reference.runtime.execution import compiling
from npu_reference.runtime.execution.plan import Signature
from npu_reference.runtime.observing.trace import TracedCopy
from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import npu


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def timed(session, feeds, fetches, copies=()):
    """What is known of a signature that has run."""
    session.run(fetches, feeds)
    engine = engine_of(session)
    fed = {tensor.name: value for tensor, value in feeds.items()}
    signature = Signature(tuple(sorted(fed)), tuple(fetch.name for fetch in fetches), ())
    plan = engine._plan(signature)
    return engine.compiling.of(signature, plan.partition, fed, copies)


def test_a_placeholder_of_unknown_batch_has_the_size_it_is_fed():
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.matmul(x, tf.ones([8, 8]), name="y")
    with tf.Session(config=npu()) as session:
        small = timed(session, {x: np.ones([2, 8], np.float32)}, [y])
        large = timed(session, {x: np.ones([4, 8], np.float32)}, [y])
    assert small.reason == large.reason == ""
    sizes = [found.profile.compiled.transfers[0].bytes for found in (small, large)]
    assert sizes == [64, 128]


def test_the_same_sizes_are_compiled_once(monkeypatch):
    calls = []
    real = compiling.profile
    monkeypatch.setattr(compiling, "profile", lambda *args: calls.append(args) or real(*args))
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.exp(x, name="y")
    with tf.Session(config=npu()) as session:
        for length in (2, 3, 2, 3):
            timed(session, {x: np.ones([length], np.float32)}, [y])
    assert len(calls) == 2


def test_sizes_that_only_a_run_tells_are_taken_from_what_crossed():
    x = tf.placeholder(tf.float32, [2], name="x")
    host = tf.py_func(lambda a: np.ones([3, 4], np.float32), [x], tf.float32, name="host")
    host.set_shape([None, 4])
    y = tf.exp(host, name="y")
    feeds = {x: np.ones([2], np.float32)}
    with tf.Session(config=npu()) as session:
        before = timed(session, feeds, [y])
        after = timed(session, feeds, [y], [TracedCopy("host:0", "h2d", 48)])
    assert before.profile is None and before.error.code == "DEVICE_SIZES"
    assert "host" in before.reason
    assert [copy.bytes for copy in after.profile.compiled.transfers] == [48, 48]


def test_an_operator_that_the_model_does_not_have_breaks_no_run():
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.py_func(lambda a: a, [x], tf.float32, name="host")
    y.set_shape(None)
    with tf.Session(config=npu()) as session:
        found = timed(session, {x: np.float32(1)}, [tf.exp(y, name="y")])
    assert found.profile is None and found.reason


def test_only_so_many_signatures_are_kept():
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.exp(x, name="y")
    with tf.Session(config=npu()) as session:
        timed(session, {x: np.ones([1], np.float32)}, [y])
        engine = engine_of(session)
        signature = Signature(("x:0",), ("y:0",), ())
        parts = engine._plan(signature).partition
        known = compiling.Compiling(engine._settings.resolution, built_in(), session.graph)
        for length in range(1, 100):
            assert known.of(signature, parts, {"x:0": np.ones([length], np.float32)}).profile
    assert len(known._known) == compiling._KEPT
