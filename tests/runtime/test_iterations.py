"""Several iterations in one session.run: what is fetched, read, counted and raised (documents 002, 003)."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.errors import NpuError
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions.iterations_per_run import repeated
from tests.runtime.comparing import npu


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def offload(**options):
    return npu(mix_compile_mode=False, enable_data_pre_proc=True, **options)


def training(dataset):
    """A step that adds an element to a sum, and counts."""
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    total = tf.get_variable("total", [], tf.int64, tf.zeros_initializer(), use_resource=True)
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([tf.assign_add(total, element)]):
        train = tf.assign_add(step, 1)
    return element, total, step, train


def test_a_run_reads_several_elements_and_answers_what_the_last_iteration_gave():
    element, total, step, train = training(tf.data.Dataset.range(100))
    loop = repeated(train, 4)
    with tf.Session(config=offload()) as session:
        session.run(tf.global_variables_initializer())
        process_trace().clear()
        assert session.run([loop, element])[1] == 3
        assert session.run([loop, element])[1] == 7
        assert session.run([step, total]) == [8, sum(range(8))]
    assert len(process_trace().runs) == 3


def test_a_dataset_that_ends_inside_a_loop_ends_the_run_and_keeps_what_was_done():
    _, total, step, train = training(tf.data.Dataset.range(6))
    loop = repeated(train, 4)
    with tf.Session(config=offload()) as session:
        session.run(tf.global_variables_initializer())
        session.run(loop)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(loop)
        assert session.run([step, total]) == [6, 15]


def test_feeds_are_the_same_in_every_iteration_and_metadata_is_of_the_last():
    x = tf.placeholder(tf.float32, [])
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True)
    loop = repeated([tf.assign_add(total, x), tf.no_op()], 3)
    metadata = tf.RunMetadata()
    with tf.Session(config=offload()) as session:
        session.run(total.initializer)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(loop, {x: np.float32(2)}, options=options, run_metadata=metadata)
        assert session.run(total) == 6.0
    assert metadata.step_stats.dev_stats


def test_hooks_see_one_run_a_loop():
    _, _, step, train = training(tf.data.Dataset.range(100))
    loop = repeated(train, 5)
    seen = []

    class Watch(tf.train.SessionRunHook):
        def before_run(self, context):
            return tf.train.SessionRunArgs(step)

        def after_run(self, context, values):
            seen.append(int(values.results))

    hooks = [Watch(), tf.train.StopAtStepHook(last_step=15)]
    with tf.train.MonitoredTrainingSession(config=offload(), hooks=hooks) as session:
        while not session.should_stop():
            session.run(loop)
        assert len(seen) == 3


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "2"])
def test_only_a_positive_number_of_iterations_is_taken(number):
    with pytest.raises(NpuError, match="iterations_per_loop"):
        repeated(tf.no_op(), number)
