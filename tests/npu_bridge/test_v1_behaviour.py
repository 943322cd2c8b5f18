"""Importing npu_bridge switches TensorFlow 2 to version 1 behaviour, where that is still possible."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.between_at_night, pytest.mark.newest_at_night]

PREPARE = "import npu_reference; npu_reference.activate(); import tensorflow as tf; "


def run(code):
    done = subprocess.run([sys.executable, "-c", PREPARE + code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip(), done.stderr.decode()


def test_graph_mode_is_on_after_the_import():
    out, log = run(
        "import npu_bridge; v = tf.compat.v1; print(v.executing_eagerly(), v.placeholder(tf.float32).op.type)"
    )
    assert out == "False Placeholder" and "eagerly" not in log


def test_a_script_that_has_run_something_eagerly_is_only_warned():
    out, log = run(
        "eager = tf.compat.v1.executing_eagerly(); tf.constant(1.0) + 1.0; import npu_bridge;"
        "print(eager == tf.compat.v1.executing_eagerly(), eager)"
    )
    same, eager = out.split()
    assert same == "True"
    assert (eager == "True") == ("disable_v2_behavior" in log)
