"""Finding the operators whose float16 costs most accuracy."""

from __future__ import annotations

import json
import os

import pytest

from npu_reference.errors import NpuError
from npu_reference.runtime.scripts.bisection import bisect

_SCRIPT = """
import numpy as np
import tensorflow as tf
from npu_bridge.npu_init import *

x = tf.placeholder(tf.float32, [64], name="x")
harmless = tf.nn.relu(tf.square(x, name="small"))
lossy = tf.add(harmless, 4096.0, name="lossy")
result = tf.reduce_sum(tf.exp(harmless, name="exp")) + tf.reduce_sum(tf.subtract(lossy, 4096.0, name="back"))

config = tf.ConfigProto()
entry = config.graph_options.rewrite_options.custom_optimizers.add()
entry.name = "NpuOptimizer"
entry.parameter_map["precision_mode"].s = b"force_fp16"
entry.parameter_map["graph_run_mode"].i = 0
with tf.Session(config=config) as session:
    print(session.run(FETCH, {x: np.linspace(0, 1, 64)}))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(_SCRIPT.replace("FETCH", "result"))
    return str(path)


def test_the_operator_that_loses_most_is_found_first(script):
    found = bisect(script, executions=14, most=2)
    assert {"lossy", "back"} >= {suspect.nodes[0] for suspect in found.suspects if len(suspect.nodes) == 1}
    assert found.suspects[0].nodes[0] in ("lossy", "back") and found.suspects[0].error > 0.01
    assert found.noise == 0 and found.error > 0.01 and found.executions <= 14
    json.dumps(found.to_json(), allow_nan=False)


def test_the_command_prints_what_its_schema_says(script, capsys):
    from npu_conformance import cli
    from npu_conformance.files import resources
    from npu_conformance.protocol import schema

    with pytest.raises(SystemExit) as left:
        cli.main(["precision", script, "--bisect", "--executions", "6", "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert left.value.code == 0
    with open(os.path.join(resources.schemas(), "bisection.json"), encoding="utf-8") as file:
        declared = json.load(file)
    assert schema.fault(answer, declared, declared) is None
    with pytest.raises(SystemExit) as left:
        cli.main(["precision", script, "--bisect", "--executions", "6"])
    assert left.value.code == 0 and "operators at fp16" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        cli.main(["precision", "/nowhere.py", "--bisect"])
    assert left.value.code == 2


def test_a_script_that_fetches_no_numbers_is_refused(script):
    with open(script, "w") as file:
        file.write(_SCRIPT.replace("FETCH", "result.op"))
    with pytest.raises(NpuError) as refused:
        bisect(script)
    assert refused.value.code == "RUN_FAILED"


def test_too_few_executions_are_refused(script):
    with pytest.raises(NpuError) as refused:
        bisect(script, executions=2)
    assert refused.value.code == "USAGE"
