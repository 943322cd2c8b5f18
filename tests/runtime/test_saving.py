"""Checkpoints, monitored sessions, hooks and summaries."""

from __future__ import annotations

import glob

import numpy as np
import tensorflow.compat.v1 as tf

from npu_reference.runtime.observing.trace import process_trace
from tests.runtime.comparing import compare, npu


def model():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 3.0))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    return x, w, loss, step, train


DATA = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)


def test_a_saver_saves_and_restores(tmp_path):
    def scenario(config):
        x, w, _, _, train = model()
        saver = tf.train.Saver()
        init = tf.global_variables_initializer()
        path = str(tmp_path / f"model{len(list(tmp_path.iterdir()))}")
        with tf.Session(config=config) as session:
            session.run(init)
            session.run(train, {x: DATA})
            saver.save(session, path)
            kept = session.run(w)
            session.run(train, {x: DATA})
        with tf.Session(config=config) as session:
            saver.restore(session, path)
            restored = session.run(w)
            session.run(train, {x: DATA})
            return kept, restored, session.run(w), session.run(tf.global_variables())

    compare(scenario)


def test_a_checkpoint_of_the_device_is_one_of_tensorflow(tmp_path):
    with tf.Graph().as_default():
        x, w, _, _, train = model()
        saver = tf.train.Saver()
        with tf.Session(config=npu()) as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {x: DATA})
            path = saver.save(session, str(tmp_path / "model"), global_step=1)
            expected = session.run(w)
        with tf.Session() as session:
            tf.train.import_meta_graph(path + ".meta", import_scope="again")
            saver.restore(session, path)
            np.testing.assert_array_equal(session.run(w), expected)


class Recorder(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss = loss
        self.seen = []

    def before_run(self, run_context):
        return tf.train.SessionRunArgs([self.loss])

    def after_run(self, run_context, run_values):
        self.seen.append(run_values.results[0])


def test_a_monitored_training_session_with_hooks_summaries_and_restart(tmp_path):
    def scenario(config):
        folder = str(tmp_path / f"run{len(list(tmp_path.iterdir()))}")
        seen = []
        for last_step in (3, 6):
            with tf.Graph().as_default():
                tf.set_random_seed(1)
                x, w, loss, _, train = model()
                tf.summary.scalar("loss", loss)
                tf.summary.histogram("w", w)
                recorder = Recorder(loss)
                hooks = [tf.train.StopAtStepHook(last_step=last_step), recorder]
                with tf.train.MonitoredTrainingSession(
                    checkpoint_dir=folder,
                    hooks=hooks,
                    config=config,
                    save_checkpoint_steps=1,
                    save_summaries_steps=1,
                    log_step_count_steps=None,
                ) as session:
                    while not session.should_stop():
                        session.run(train, {x: DATA})
                seen.append(list(recorder.seen))
        written = []
        for path in sorted(glob.glob(folder + "/events*")):
            for event in tf.train.summary_iterator(path):
                written += [(event.step, value.simple_value) for value in event.summary.value if value.tag == "loss"]
        return seen, written, tf.train.load_variable(folder, "w"), tf.train.load_variable(folder, "global_step")

    compare(scenario)


def test_merged_summaries_are_computed_on_the_host():
    def scenario(config):
        x = tf.placeholder(tf.float32, [3])
        tf.summary.scalar("mean", tf.reduce_mean(tf.exp(x)))
        merged = tf.summary.merge_all()
        with tf.Session(config=config) as session:
            return tf.Summary.FromString(session.run(merged, {x: [1.0, 2.0, 3.0]})).value[0].simple_value

    compare(scenario)


def test_a_supervisor_style_loop_runs_scaffold_operators():
    def scenario(config):
        x, w, loss, _, train = model()
        scaffold = tf.train.Scaffold(init_op=tf.global_variables_initializer())
        creator = tf.train.ChiefSessionCreator(scaffold, config=config)
        with tf.train.MonitoredSession(creator) as session:
            session.run(train, {x: DATA})
            return session.run([w, loss], {x: DATA})

    compare(scenario)
    assert process_trace().totals.sessions == 1
