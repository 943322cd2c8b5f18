"""What is suggested to a script that does not use the adapter yet, and what ``--fix`` makes of it."""

# ruff: noqa: E501  pairs in rows
from __future__ import annotations

import pytest

from tests.lint.reading import codes, findings, mended

ENTRY = (
    "custom_op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
    'custom_op.name = "NpuOptimizer"\n'
    'custom_op.parameter_map["use_off_line"].b = True\n'
    "config.graph_options.rewrite_options.remapping = RewriterConfig.OFF\n"
    "config.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF\n"
)
TF = "import tensorflow as tf\n"
BOTH = TF + "from npu_bridge.npu_init import *\n"

PAIRS = {
    "a session with a configuration": (
        TF + "config = tf.ConfigProto(allow_soft_placement=True)  # soft\nsess = tf.Session(config=config)\n",
        BOTH + "config = tf.ConfigProto(allow_soft_placement=True)  # soft\n" + ENTRY + "sess = tf.Session(config=config)\n",
    ),
    "a session without one": (
        TF + "with tf.Session() as sess:\n    pass\n",
        BOTH + "config = tf.ConfigProto()\n" + ENTRY + "with tf.Session(config=config) as sess:\n    pass\n",
    ),
    "a session of version 1 in version 2": (
        "import tensorflow.compat.v1 as tf\ns = tf.InteractiveSession()\n",
        "import tensorflow.compat.v1 as tf\nfrom npu_bridge.npu_init import *\nconfig = tf.ConfigProto()\n"
        + ENTRY + "s = tf.InteractiveSession(config=config)\n",
    ),
    "a session whose configuration comes from elsewhere": (
        TF + "def f(cfg):\n    return tf.Session(graph=g, config=cfg)\n",
        BOTH + "def f(cfg):\n    return tf.Session(graph=g, config=npu_config_proto(config_proto=cfg))\n",
    ),
    "a session in an expression": (
        TF + "make = lambda: tf.Session(graph=g,)\n",
        BOTH + "make = lambda: tf.Session(graph=g, config=npu_config_proto(),)\n",
    ),
    "a monitored session": (
        TF + "with tf.train.MonitoredTrainingSession(hooks=hooks) as s:\n\tpass\n",
        BOTH + "config = tf.ConfigProto()\n" + ENTRY
        + "with tf.train.MonitoredTrainingSession(hooks=hooks, config=config) as s:\n\tpass\n",
    ),
    "names of the script's own stay": (
        "import util\n" + TF + "sess = tf.Session(config=tf.ConfigProto())\n",
        "import util\n" + TF + "from npu_bridge.npu_init import npu_config_proto\n"
        "sess = tf.Session(config=npu_config_proto(config_proto=tf.ConfigProto()))\n",
    ),
    "an Estimator": (
        TF + "rc = tf.estimator.RunConfig('m', save_summary_steps=1)\ne = tf.estimator.Estimator(f, config=rc)\n",
        BOTH + "rc = NPURunConfig(model_dir='m', save_summary_steps=1)\ne = NPUEstimator(f, config=rc)\n",
    ),
    "an Estimator without a configuration": (
        TF + "e = tf.estimator.Estimator(model_fn=f)\n",
        BOTH + "e = NPUEstimator(model_fn=f, config=NPURunConfig())\n",
    ),
    "an Estimator whose configuration comes from elsewhere": (
        TF + "def g(rc):\n    return tf.estimator.Estimator(f, config=rc)\n",
        BOTH + "def g(rc):\n    return tf.estimator.Estimator(f, config=npu_run_config_init(run_config=rc))\n",
    ),
    "a TPUEstimator": (
        TF + "e = tf.contrib.tpu.TPUEstimator(use_tpu=False, config=rc)\n",
        BOTH + "e = tf.contrib.tpu.TPUEstimator(use_tpu=False, config=npu_run_config_init(run_config=rc))\n",
    ),
    "Keras": (
        TF + "import numpy\n\nm = tf.keras.Sequential()\nm.compile(optimizer='sgd')\nm.fit(x)\n",
        BOTH + "import numpy\nconfig = tf.ConfigProto()\n" + ENTRY
        + "tf.keras.backend.set_session(tf.Session(config=config))\n\nm = tf.keras.Sequential()\nm.compile(optimizer='sgd')\nm.fit(x)\n",
    ),
    "Keras by itself": (
        "import keras\nm = keras.models.Sequential()\nm.compile(optimizer='sgd')\nm.fit(x)\n",
        "import keras\nfrom npu_bridge.npu_init import *\nset_keras_session_npu_config()\n"
        "m = keras.models.Sequential()\nm.compile(optimizer='sgd')\nm.fit(x)\n",
    ),
    "Horovod": (
        TF + "import horovod.tensorflow as hvd\nhvd.init()\nopt = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.1 * hvd.size()))\n"
        "hooks = [hvd.BroadcastGlobalVariablesHook(0)]\n",
        BOTH + "npu_sess, npu_shutdown = init_resource()\n"
        "opt = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer(0.1 * get_rank_size()))\n"
        "hooks = [NPUBroadcastGlobalVariablesHook(0, get_rank_id())]\n",
    ),
    "dropout by rate": (
        TF + "y = tf.nn.dropout(x, rate=1 - keep, name='d')\nz = tf.nn.dropout(x, rate=a + b)\n",
        BOTH + "y = npu_ops.dropout(x, keep_prob=keep, name='d')\nz = npu_ops.dropout(x, keep_prob=1 - (a + b))\n",
    ),
    "a GELU": (
        TF + 'def gelu(x):\n  """Smooth."""\n  cdf = 0.5 * (1.0 + tf.tanh(x))\n  return x * cdf\n',
        BOTH + 'def gelu(x):\n  """Smooth."""\n  return npu_unary_ops.gelu(x)\n',
    ),
    "batches": (
        TF + "ds = tf.data.TFRecordDataset(f).map(g).batch(batch_size=8)\nds = ds.padded_batch(4, s)\n",
        TF + "ds = tf.data.TFRecordDataset(f).map(g).batch(batch_size=8, drop_remainder=True)\n"
        "ds = ds.padded_batch(4, s, drop_remainder=True)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS, ids=lambda name: name.replace(" ", "-"))
def test_a_script_is_ported_as_the_documents_do_it(name):
    before, after = PAIRS[name]
    assert mended(before) == after
    assert codes(after) == [], "what --fix writes is right"


def test_a_suggestion_names_the_line_and_what_to_add():
    found = findings(TF + "\nconfig = tf.ConfigProto()\nsess = tf.Session(config=config)\n")
    assert [(one.line, one.code) for one in found] == [(4, "S401")]
    assert "at line 4" in found[0].message and '.name = "NpuOptimizer"' in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "from npu_bridge.npu_init import *\ny = tf.nn.dropout(x, 0.5)\nsess = tf.Session()\n",  # ported already
        "import npu_device\nimport tensorflow as tf\ny = tf.nn.dropout(x, 0.5)\n",
        TF + "with tf.GradientTape() as t:\n    y = tf.nn.dropout(x, 0.5)\n",  # TensorFlow 2
        "import torch\ny = torch.nn.Dropout(0.5)\nq.batch(3)\n",
        TF + "b = queue.batch(3)\ndataset.batch(3, True)\ndataset.batch(3, drop_remainder=False)\nmodel.fit(x)\n",
        TF + "class Session:\n    pass\ns = Session()\n",
        "def f(tf):\n    return tf.Session()\n",
        TF + "dataset.batch(**options)\n",
    ],
)
def test_nothing_is_suggested_where_there_is_nothing_to_port(text):
    assert codes(text) == []


def test_all_suggestions_of_a_large_script_are_made_in_one_go():
    before, after = [], []
    for name in ("dropout by rate", "a GELU", "batches"):
        before.append(PAIRS[name][0][len(TF) :])
        after.append(PAIRS[name][1].replace("from npu_bridge.npu_init import *\n", "")[len(TF) :])
    assert mended(TF + "".join(before)) == BOTH + "".join(after)


def test_an_import_goes_above_a_line_that_uses_it_itself():
    line = "import tensorflow as tf; sess = tf.Session({}); print(sess.run(tf.constant(1)))\n"
    wanted = "from npu_bridge.npu_init import *\n" + line.format("config=npu_config_proto()")
    assert mended("import os\n" + line.format("")) == "import os\n" + wanted
    assert codes(wanted) == []


def test_a_session_whose_arguments_are_out_of_sight_is_told_without_a_promise_to_mend_it():
    text = "import tensorflow as tf\ndef run(**given):\n    return tf.Session(**given)\n"
    (one,) = findings(text)
    assert (one.code, one.fixable) == ("S401", False)
    assert mended(text) == text


BATCH = "tf.data.TFRecordDataset(f).batch(8)"
EVALUATED = {
    "a variable": f"eval_dataset = {BATCH}\n",
    "what it is called on": "d = validation_ds.batch(tf.shape(x)[0])\n",
    "a function": f"def test_input_fn():\n    return {BATCH}\n",
    "a class": f"class Predictor:\n    def data(self):\n        return {BATCH}\n",
    "the branch that trains not": f"def data(is_training):\n    if is_training:\n        d = {BATCH[:-1]}, True)\n    else:\n        d = {BATCH}\n",
    "a mode": f"if mode == tf.estimator.ModeKeys.PREDICT:\n    d = {BATCH}\n",
    "a mode that is not training": f"if mode != tf.estimator.ModeKeys.TRAIN:\n    d = {BATCH}\n",
    "a function for either": f"def input_fn(is_training, files):\n    return {BATCH}\n",
    "a call of evaluate": f"d = {BATCH}\nmodel.evaluate(d)\n",
    "a call of predict by a function": f"def make():\n    return {BATCH}\nfor p in estimator.predict(lambda: make()):\n    pass\n",
}
TRAINED = {
    "a variable": f"train_dataset = {BATCH}\n",
    "a function": f"def train_input_fn(mode):\n    d = {BATCH}\n",
    "a branch": f"def data(is_training):\n    if is_training:\n        d = {BATCH}\n",
    "the other branch": f"def data(mode):\n    if mode == 'eval':\n        pass\n    else:\n        d = {BATCH}\n",
    "a denial": f"def data(testing):\n    if not testing:\n        d = {BATCH}\n",
    "nothing": f"latest = {BATCH}\n",
}


@pytest.mark.parametrize("name", EVALUATED, ids=lambda name: name.replace(" ", "-"))
def test_an_open_batch_that_may_be_evaluated_is_a_hint_without_a_fix(name):
    (one,) = [one for one in findings(TF + EVALUATED[name]) if one.code == "S407"]
    assert (one.severity, one.fixable) == ("hint", False)
    assert "drop_remainder" not in one.message and "drop_remainder" not in mended(TF + EVALUATED[name])


@pytest.mark.parametrize("name", TRAINED, ids=lambda name: name.replace(" ", "-"))
def test_an_open_batch_of_training_is_a_suggestion(name):
    (one,) = [one for one in findings(TF + TRAINED[name]) if one.code == "S407"]
    assert (one.severity, one.fixable, one.unsafe) == ("suggestion", True, True)
