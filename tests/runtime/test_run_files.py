"""Profiles and tuning of running sessions: files where the options say, whole, and what was found used again."""

from __future__ import annotations

import csv
import json

import numpy as np
import tensorflow.compat.v1 as tf

from npu_reference.runtime.config import Overrides, overriding
from npu_reference.runtime.execution import run_files
from npu_reference.runtime.observing.trace import process_trace
from tests.runtime.comparing import npu


def profiled(folder, close=True, **options):
    told = {
        "output": str(folder),
        "training_trace": "on",
        "task_trace": "on",
        "fp_point": "y",
        "bp_point": "z",
        **options,
    }
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 32], name="x")
        y = tf.matmul(x, x, transpose_b=True, name="y")
        z = tf.matmul(y, y, name="z")
        session = tf.Session(config=npu(profiling_mode=True, profiling_options=json.dumps(told)))
        for _ in range(2):
            session.run(z, {x: np.ones((4, 32), np.float32)})
        if close:
            session.close()
    return session


def rows(folder, table):
    (path,) = folder.glob(f"PROF_*/mindstudio_profiler_output/{table}_*.csv")
    with open(path) as file:
        return list(csv.DictReader(file))


def test_a_session_leaves_its_profile_when_it_is_closed(tmp_path):
    profiled(tmp_path)
    steps = rows(tmp_path, "step_trace")
    assert [row["Iteration ID"] for row in steps] == ["1", "2"]
    names = {row["Op Name"] for row in rows(tmp_path, "op_summary")}
    assert {"y", "z"} <= names


def test_a_session_that_nobody_closes_leaves_it_at_the_end_of_the_program(tmp_path):
    session = profiled(tmp_path, close=False)
    assert list(tmp_path.iterdir()) == []
    run_files.end()
    assert len(rows(tmp_path, "step_trace")) == 2
    session.close()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_profile_that_cannot_be_written_ends_no_script(tmp_path, caplog):
    folder = tmp_path / "out"
    folder.mkdir()
    session = profiled(folder, close=False)
    folder.rmdir()
    session.close()
    assert "the output directory" in caplog.text
    assert not folder.exists()


def tuned(folder, **options):
    values = {"work_path": str(folder), **options}
    process_trace().restart()
    with overriding(Overrides(values=values, surface="runconfig", clock=True)), tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3300, 2100], name="x")
        w = tf.placeholder(tf.float32, [2100, 2100], name="w")
        y = tf.matmul(x, w, name="y")
        with tf.Session(config=npu()) as session:
            session.run(y.op, {x: np.zeros((3300, 2100), np.float32), w: np.zeros((2100, 2100), np.float32)})
    time = process_trace().runs[-1].time
    return time.end_ns - time.start_ns


def test_what_tuning_found_makes_the_next_run_faster(tmp_path):
    first = tuned(tmp_path, aoe_mode="2")
    assert {"aoe_bank.json", "aoe_config.json", "aoe_result_opat.json"} <= {path.name for path in tmp_path.iterdir()}
    assert tuned(tmp_path) < first


def test_a_bank_that_is_torn_is_told_and_not_used(tmp_path, caplog):
    first = tuned(tmp_path)
    (tmp_path / "aoe_bank.json").write_text('{"version": 1, "tiles"')
    assert tuned(tmp_path) == first
    assert "aoe_bank.json" in caplog.text
