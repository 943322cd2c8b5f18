"""Partitioning and transfers change nothing: every recorded model gives TensorFlow's own bits on the simulated device.

Compared are all fetches of all steps and every variable afterwards, device precision off, in the TensorFlow version
that runs the test. Both sides run without grappler: it reorders fp32 arithmetic (BERT's loss differs in its last bit
with and without it, in plain TensorFlow), and what it sees is the whole graph on one side and single functions on the
other. Initial values are fed, so no generator's state matters; what random operators do is in docs/runtime.md.
"""

from __future__ import annotations

import numpy as np
import pytest
import recorded_models
import tensorflow.compat.v1 as tf

from npu_reference.runtime import activation
from npu_reference.runtime.trace import process_trace

LEGACY = tf.__version__.startswith("1.")

MODELS = ["resnet50", "bert_base", "yolo", "lstm", "text_pipeline"]

#: TensorFlow 1.15 cannot import what 2.21 recorded: VarHandleOp, MatMul and datasets have attributes it does not know.
RECORDINGS = [""] if LEGACY else ["", "_tf221"]

TINY = ["resnet50_tiny_v3", *(f"{model}_tiny{recording}" for model in MODELS for recording in RECORDINGS)]
FULL = [f"{model}{recording}" for model in MODELS for recording in RECORDINGS]


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    yield
    activation.deactivate()


def plain():
    config = tf.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def simulated(**options):
    config = plain()
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add()
    optimizer.name = "NpuOptimizer"
    for name, value in {"use_off_line": True, "mix_compile_mode": True, **options}.items():
        if isinstance(value, bool):
            optimizer.parameter_map[name].b = value
        else:
            optimizer.parameter_map[name].s = value.encode()
    return config


def check(name, folder, **options):
    """Runs a model both ways; gives TensorFlow's values and how many GEOPs each simulated run had."""
    expected = recorded_models.run(name, plain(), str(folder))
    process_trace().clear()
    got = recorded_models.run(name, simulated(**options), str(folder))
    assert recorded_models.differences(expected, got) == []
    return expected, [run.geops for run in process_trace().runs]


@pytest.mark.parametrize("name", TINY)
def test_a_small_model_gives_the_same_bits_in_mixed_computing(name, tmp_path):
    expected, geops = check(name, tmp_path)
    assert any(geops), "no GEOP ran: TensorFlow alone gave these values"
    floats = [value for value in expected.values() if getattr(value, "dtype", None) == np.float32]
    assert floats and all(np.isfinite(value).all() for value in floats)


@pytest.mark.parametrize("name", FULL)
def test_a_full_size_model_gives_the_same_bits_in_mixed_computing(name, tmp_path):
    _, geops = check(name, tmp_path)
    assert any(geops)


@pytest.mark.parametrize("name", TINY)
def test_a_small_model_gives_the_same_bits_in_full_offload(name, tmp_path):
    _, geops = check(name, tmp_path, mix_compile_mode=False)
    assert any(geops)


@pytest.mark.parametrize("name", TINY)
def test_a_small_model_gives_the_same_bits_with_variables_on_the_host(name, tmp_path):
    _, geops = check(name, tmp_path, variable_placement="Host")
    assert any(geops)


@pytest.mark.parametrize("name", TINY)
def test_a_training_step_moves_what_it_trains(name, tmp_path):
    """The comparison above would also hold for a model that does nothing."""
    seen = recorded_models.run(name, plain(), str(tmp_path))
    _, sidecar = recorded_models.load(name)
    if "yolo" in name:
        assert (seen["detect#0/counts:0"] > 0).any()
        return
    start = {item.tensor: recorded_models.sidecars.draw(item) for item in sidecar.seeded}
    finals = [value for key, value in seen.items() if key.startswith("variable/") and isinstance(value, np.ndarray)]
    unchanged = [
        tensor
        for tensor, value in start.items()
        if any(value.shape == final.shape and (value == final).all() for final in finals)
    ]
    assert unchanged == []
