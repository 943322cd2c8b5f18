"""A script that ``lint --fix`` has ported runs on the simulated device."""

from __future__ import annotations

import subprocess
import sys

import pytest

from npu_bridge._tensorflow import HAS_ESTIMATOR
from tests.lint.reading import codes, mended

pytestmark = [pytest.mark.not_between, pytest.mark.not_newest]

SESSION = """
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()

def gelu(x):
    return 0.5 * x * (1.0 + tf.erf(x / tf.sqrt(2.0)))

def main():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.nn.dropout(gelu(x), rate=0.0) * hvd.size()
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as sess:
        print("first", sess.run(y, {x: [0.0, 100.0]}).tolist())
    with tf.Session() as sess:
        print("second", sess.run(y, {x: [0.0, 100.0]}).tolist())

main()
"""

ESTIMATOR = """
import sys
import numpy as np
import tensorflow as tf

def input_fn():
    numbers = np.ones([8, 1], np.float32)
    return tf.data.Dataset.from_tensor_slices((numbers, numbers)).repeat().batch(4)

def model_fn(features, labels, mode):
    weight = tf.get_variable("weight", [1, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(features, weight) - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

estimator = tf.estimator.Estimator(model_fn, config=tf.estimator.RunConfig(sys.argv[1]))
estimator.train(input_fn, max_steps=3)
print("step", int(estimator.get_variable_value("global_step")))
"""


def run(tmp_path, text, *arguments):
    script = tmp_path / "ported.py"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "npu_conformance", "simulate", str(script), *arguments],
        capture_output=True, cwd=str(tmp_path), timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def test_a_session_script_ported_by_fix_runs_on_the_device(tmp_path):
    ported = mended(SESSION)
    assert codes(ported) == [] and "horovod" not in ported
    out, err = run(tmp_path, ported)
    assert "first [0.0, 100.0]" in out and "second [0.0, 100.0]" in out
    assert "simulated NPU: 3 runs, 2 GEOPs" in err  # init_resource has one


@pytest.mark.skipif(not HAS_ESTIMATOR, reason="TensorFlow 2.16 and later have no Estimator to port from")
def test_an_estimator_script_ported_by_fix_runs_on_the_device(tmp_path):
    ported = mended(ESTIMATOR)
    assert codes(ported) == []
    out, _ = run(tmp_path, ported, str(tmp_path / "model"))
    assert "step 3" in out
