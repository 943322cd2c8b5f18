"""The documents' samples, run unchanged: what each prints, and where its operators ran."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Set

import pytest
import tensorflow as tf

from tests.depth import at_night

pytestmark = [pytest.mark.not_between, pytest.mark.newest_at_night]

SCRIPTS = Path(__file__).resolve().parents[2] / "fixtures" / "scripts"
TF1 = tf.__version__.startswith("1.")

RUN = (
    "import sys; sys.path[:0] = {path!r};"
    "from npu_reference.runtime import simulate; simulate({script!r}, trace_file={trace!r})"
)

#: Script to the one line it prints, whatever the TensorFlow.
LINES = {
    "doc000_session": "doc000_session: [0.0, 25.0, 40.0]",
    "doc000_estimator": (
        "doc000_estimator: step 30, weight 3.000, loss 0.000, error 0.000,"
        " predictions ['-6.00', '-3.00', '3.00', '6.00']"
    ),
    "doc000_keras": (
        "doc000_keras: weight 3.000, first loss 22.500, last loss 0.000, predictions ['-6.00', '-3.00', '3.00', '6.00']"
    ),
    # mixed.fused_bn_v3.horizon_workaround: TensorFlow 2 has no other kind, and does not ask the horizon.
    "doc000_fused_bn": f"doc000_fused_bn: FusedBatchNorm{'' if TF1 else 'V3'}, mean 0.000, deviation 1.000",
    "doc001_enable": "doc001_enable: [9.0, 6.0, 6.0]",
    "doc001_in_out_pair_true": "doc001_in_out_pair_true: [5.34375, 9.0625, 3.546875, 8.125]",
    "doc001_in_out_pair_false": "doc001_in_out_pair_false: [13.078125, 15.1875, 17.4375, 20.25]",
    "doc002_call": "doc002_call: [2.0, 8.0]",
    "doc002_in_out_pair_true": "doc002_in_out_pair_true: [1.875, 10.0, 60.0]",
    "doc002_in_out_pair_false": "doc002_in_out_pair_false: [1.875, 10.0, 60.0]",
    "doc004_estimator": "doc004_estimator: step 20, weight 2.00, loss 0.00",
    "doc004_session": "3.5",
    "dropout_training": "dropout_training: accuracy above 0.95",
    "dynamic_rnn_training": "dynamic_rnn_training: accuracy above 0.9",
}


#: Asked at night alone: a test without a process of its own does the same, or a sample that stays is much like it.
NIGHTLY = {
    *("doc000_keras", "doc000_fused_bn", "doc001_enable", "doc001_in_out_pair_false", "doc002_in_out_pair_true"),
    *("doc002_in_out_pair_false", "doc004_estimator", "doc004_session", "dynamic_rnn_training"),
}


class Outcome(NamedTuple):
    """What one script printed and where its operators ran."""

    lines: List[str]
    trace: Dict

    def device(self) -> Set[str]:
        """Nodes that were in a GEOP in any run."""
        return {node for run in self.trace["runs"] for geop in run["partition"]["geops"] for node in geop["nodes"]}

    def host(self) -> Dict[str, str]:
        """Node to reason, for those that stayed on the host in any run."""
        return {host["node"]: host["reason"] for run in self.trace["runs"] for host in run["partition"]["host"]}


_OUTCOMES: Dict[str, Outcome] = {}


@pytest.fixture
def outcome(request, tmp_path) -> Outcome:
    """The outcome of a script, in a process of its own as a user would run it; once per script."""
    name = request.param
    if name not in _OUTCOMES:
        trace = tmp_path / "trace.json"
        code = RUN.format(path=sys.path, script=str(SCRIPTS / f"{name}.py"), trace=str(trace))
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            cwd=str(tmp_path),
            env=dict(os.environ, PYTHONIOENCODING="utf-8"),
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        _OUTCOMES[name] = Outcome(done.stdout.decode("utf-8").splitlines(), json.loads(trace.read_text()))
    return _OUTCOMES[name]


def asked(name, *more):
    return at_night(name, *more, id=name) if name in NIGHTLY else pytest.param(name, *more, id=name)


def of(*names):
    return pytest.mark.parametrize("outcome", [asked(name) for name in names], indirect=True)


@pytest.mark.parametrize(("outcome", "line"), [asked(*row) for row in sorted(LINES.items())], indirect=["outcome"])
def test_a_sample_prints_its_result_and_ran_on_the_device(outcome, line):
    # TensorFlow runs a script just as well when nothing took its session over, so the trace is asked too.
    assert outcome.lines == [line]
    totals = outcome.trace["totals"]
    assert totals["geop_launches"] > 0 and totals["geops"] > 0
    assert {run["engine"] for run in outcome.trace["runs"]} == {"simulated"}


def test_every_sample_of_the_folder_is_tested():
    documents = {name for name in LINES if name.startswith("doc")}
    assert {path.stem for path in SCRIPTS.glob("doc00*.py")} == {*documents, "doc000_operator_retaining"}


@of("doc000_session", "doc001_enable")
def test_the_py_func_stays_on_the_host_between_two_geops(outcome):
    # mixed.purpose.host_fallback, mixed.session.example, mixed.zh.enable
    (run,) = outcome.trace["runs"]
    assert run["geops"] == 2
    assert outcome.host().keys() & {"clipped", "turned"}
    assert outcome.device() >= {"before", "after"} or outcome.device() >= {"doubled", "total"}


@of("doc000_operator_retaining")
def test_operators_retained_run_on_the_host_and_the_rest_on_the_device(outcome):
    # mixed.retain.example_add_mul_host, .example_rest_device, .example_numerics
    (printed,) = outcome.lines
    assert math.isfinite(float(printed)) and float(printed) >= 0
    scoped = {"Mul", "Mul/y", "Add", "Add/y"}
    assert {node for node, reason in outcome.host().items() if node in scoped} == scoped
    assert {"random_normal/RandomStandardNormal", "Abs", "Sum"} <= outcome.device()


@of("doc001_in_out_pair_true")
def test_the_first_range_of_document_001_is_the_device_part(outcome):
    # in_out_pair.yolo_true_example, in_out_pair.truncated_names_not_prefixes
    in_range = {
        "import/conv2d_1/con", "import/conv2d_1/Relu", "boxes", "while_1/strided_sli", "concat", "scaled", "moved",
        "while_1/high", "while_1/low", "while_1/grown", "score", "strided_slice_13",
        "while_1/Const", "while_1/Const_2", "while_1/Const_4", "zeros_7", "zeros_4", "Const_6", "ConstantFolding/whi",
    }  # fmt: skip
    assert in_range <= outcome.device()
    assert {"Cast", "Reshape", "pixels", "report"} <= set(outcome.host())


@of("doc001_in_out_pair_false")
def test_the_second_range_of_document_001_is_the_host_part(outcome):
    # in_out_pair.yolo_false_example, in_out_pair.arg_nodes
    in_range = {
        "_arg_tf_image_string_0_0", "Cast", "image", "framed", "scaled", "moved", "sized", "strided_slice_1",
        "strided_slice_2", "strided_slice_3", "strided_slice_4",
    }  # fmt: skip
    assert in_range <= set(outcome.host())
    assert outcome.device() >= {"import/grey", "import/active", "import/report"}


_HEADS = {"import/conv2d_59/BiasAdd", "import/conv2d_67/BiasAdd", "import/conv2d_75/BiasAdd"}
_TRUNK = {"import/conv2d_1/convolution", "import/conv2d_1/Relu", "import/half", "import/quarter"}
_OUTSIDE = {"pixels", "total_0", "total_1", "total_2"}


@of("doc002_in_out_pair_true")
def test_the_range_of_document_002_runs_on_the_device(outcome):
    # in_out_pair.session.example_true
    assert outcome.device() >= _TRUNK | _HEADS and set(outcome.host()) >= _OUTSIDE


@of("doc002_in_out_pair_false")
def test_the_range_of_document_002_stays_on_the_host(outcome):
    # in_out_pair.session.example_false
    assert set(outcome.host()) >= _TRUNK | _HEADS and outcome.device() >= _OUTSIDE


@of("doc000_estimator")
def test_the_estimator_keeps_its_py_func_on_the_host_and_trains_on_the_device(outcome):
    # mixed.estimator.example
    assert "PyFunc" in outcome.host() and "MatMul" in outcome.device()


@of("doc002_call")
def test_the_example_call_of_document_002_is_offloaded_as_a_whole(outcome):
    # mixed.default.full_offload: one GEOP a run, and nothing of the host
    assert [run["geops"] for run in outcome.trace["runs"]] == [1, 1]
    assert {"product", "largest", "weight"} <= outcome.device()


@of("dropout_training")
def test_dropout_trains_with_its_mask_drawn_on_the_device(outcome):
    assert outcome.device() >= {"DropOutGenMask", "DropOutDoMask", "Gelu", "gradients/Gelu_grad/GeluGrad"}
    assert set(outcome.host().values()) == {"FEED", "FETCH"}


@of("dynamic_rnn_training")
def test_the_lstm_and_its_gradient_are_one_operator_each(outcome):
    names = {"dynamic_rnn/DynamicRnn", "gradients/dynamic_rnn/DynamicRnn_grad/DynamicRnnGrad"}
    assert outcome.device() >= names


@of("doc000_keras")
def test_keras_runs_in_the_session_it_was_given(outcome):
    # mixed.keras.same_as_session
    assert any("MatMul" in node for node in outcome.device())
