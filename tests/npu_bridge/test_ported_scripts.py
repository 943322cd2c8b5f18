"""Scripts in the styles that ported ones have, each run unchanged: what it prints, and that it ran on the device."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from npu_bridge._tensorflow import HAS_ESTIMATOR

pytestmark = [pytest.mark.not_between, pytest.mark.newest_at_night]

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "scripts" / "ported"

#: Script to the line it prints, the same in every TensorFlow.
LINES = {
    "adversarial": "adversarial: shallow (True, True, True, (64, 15)), deep (True, True, True, (64, 15))",
    "compat_v1": "compat_v1: loss 0.00",
    "estimator_run_config": "estimator_run_config: step 30, runs 30, y = 2.00 x + 1.00",
    "estimator_subclass": "estimator_subclass: step 60, right True",
    "frozen_graph": "frozen_graph: [0.52, 0.562, 0.604]",
    "keras_sessions": "keras_sessions: equal True, falls True, near True",
    "library_operators": "library_operators: fine [True, True, True], weight [0.125, 0.125]",
    "loss_scaling": "loss_scaling: rank 0 of 1, weight 2.000, step 12, fine 12, scale 8192",
    "npu_estimator_loop": "npu_estimator_loop: steps [4, 8, 12, 16], saved [0, 8, 16], weight 3.997",
    "queue_runners": "queue_runners: 12 steps, nearer True",
    "recurrent": "recurrent: error falls True, dropout keeps 1.00",
    "reinforcement": "reinforcement: policy [1, 1, 1, 1]",
    "session_configs": "session_configs: 6 ways, loss 0.4624 to 0.4624",
    "several_sessions": "several_sessions: errors fall True, last 0.000, powers [1.0, 2.0, 4.0, 8.0]",
    "star_import_only": "star_import_only: weight 1.0, seen 1.0, rank 0",
    "tpu_estimator": "tpu_estimator: step 20, weight 3.00",
}

#: tf.estimator's own classes went with TensorFlow 2.16.
NEEDS_ESTIMATOR = {"estimator_run_config", "tpu_estimator"}

#: One process for all, as each takes less time than starting TensorFlow does.
PROGRAM = """
import contextlib, io, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from npu_reference.runtime import simulate
import npu_reference
npu_reference.activate()
import tensorflow as tf

for path in sys.argv[2:]:
    out, err = io.StringIO(), io.StringIO()
    tf.compat.v1.reset_default_graph()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            trace = simulate(path, log=lambda line: None)
        except SystemExit as leaving:
            code = leaving.code
    runs = [run.engine for run in trace.runs] if not code else []
    print(json.dumps([path, code, out.getvalue(), err.getvalue()[-2000:], len(runs), sorted(set(runs))]), flush=True)
    if not code:
        trace.clear()
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What each script printed, and where its runs were."""
    names = [name for name in sorted(LINES) if HAS_ESTIMATOR or name not in NEEDS_ESTIMATOR]
    paths = [str(FOLDER / f"{name}.py") for name in names]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RANK_", "DEVICE_ID"))}
    if importlib.util.find_spec("tf_keras") is not None:
        environment["TF_USE_LEGACY_KERAS"] = "1"  # as simulate sets it in a process of its own
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(sys.path), *paths],
        capture_output=True,
        cwd=str(tmp_path_factory.mktemp("scripts")),
        env=dict(environment, PYTHONIOENCODING="utf-8"),
    )
    told = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines() if line.startswith("[")]
    assert len(told) == len(names), done.stderr.decode("utf-8", "replace")[-3000:]
    return dict(zip(names, told))


@pytest.mark.parametrize("name", sorted(LINES))
def test_a_ported_script_prints_its_result_and_ran_on_the_device(name, outcomes):
    if name not in outcomes:
        assert name in NEEDS_ESTIMATOR and not HAS_ESTIMATOR
        pytest.skip(f"TensorFlow {tf.__version__} has no tf.estimator")
    _, code, out, err, runs, engines = outcomes[name]
    assert code == 0, err
    assert out.splitlines()[-1] == LINES[name]
    assert runs > 0 and engines == ["simulated"]


def test_every_ported_script_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(LINES)
