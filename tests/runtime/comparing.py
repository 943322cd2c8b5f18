"""What the tests of this folder share: configs, and the comparison of a scenario with plain TensorFlow."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, List

import numpy as np
import tensorflow.compat.v1 as tf

from npu_reference.runtime.observing.trace import RunRecord, process_trace

TF1 = tf.__version__.startswith("1.")


def plain(**fields):
    """A config without NpuOptimizer; without remapping, which merges operators where it sees the whole graph."""
    config = tf.ConfigProto(**fields)
    rewrite = config.graph_options.rewrite_options
    rewrite.remapping = type(rewrite).OFF
    return config


def npu(config=None, **options):
    """A config that names NpuOptimizer; mixed computing unless said otherwise."""
    config = config or plain()
    entry = config.graph_options.rewrite_options.custom_optimizers.add()
    entry.name = "NpuOptimizer"
    for name, value in {"mix_compile_mode": True, **options}.items():
        if isinstance(value, bool):
            entry.parameter_map[name].b = value
        elif isinstance(value, int):
            entry.parameter_map[name].i = value
        else:
            entry.parameter_map[name].s = value.encode()
    return config


@contextmanager
def control_flow(version):
    """Build conditions and loops the way of version 1 or 2."""
    switch = {1: tf.disable_control_flow_v2, 2: tf.enable_control_flow_v2}
    before = 2 if tf.control_flow_v2_enabled() else 1
    switch[version]()
    try:
        yield
    finally:
        switch[before]()


def compare(scenario: Callable[[Any], Any], *, rtol: float = 1e-6, **options: Any) -> List[RunRecord]:
    """Run a scenario in plain TensorFlow and on the device: values must be equal, and GEOPs must have run.

    Args:
        scenario: takes a ConfigProto, builds and runs a graph, and answers nested values.
        rtol: relative tolerance; TensorFlow's grappler sees whole graphs on one side and functions on the other.
        options: of NpuOptimizer.

    Returns:
        The records of the device's runs.
    """
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        expected = scenario(plain())
    process_trace().clear()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        got = scenario(npu(**options))
    runs = process_trace().runs
    assert_same(expected, got, rtol)
    assert any(run.geops for run in runs), "no GEOP ran: these are TensorFlow's own values"
    assert all(copy.bytes is not None for run in runs for copy in run.copies), "a copy of unknown size"
    return runs


def assert_same(expected: Any, got: Any, rtol: float = 1e-6, where: str = "result") -> None:
    """Nested values are equal; floating-point ones within a tolerance."""
    if isinstance(expected, dict):
        assert expected.keys() == got.keys(), where
        for key in expected:
            assert_same(expected[key], got[key], rtol, f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(expected) == len(got), where
        for position, (left, right) in enumerate(zip(expected, got)):
            assert_same(left, right, rtol, f"{where}[{position}]")
    elif isinstance(expected, float) or getattr(expected, "dtype", np.dtype(object)).kind in "fc":
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, err_msg=where)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=where)
