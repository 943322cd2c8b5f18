"""What document 000's one import and the older documents' separate imports bring."""

from __future__ import annotations

import pytest
import tensorflow as tf

v1 = tf.compat.v1


def star_import():
    names = {}
    exec("from npu_bridge.npu_init import *", names)
    return names


@pytest.mark.parametrize(
    "name",
    [
        "DumpConfig",
        "ExperimentalConfig",
        "MemoryConfig",
        "NPUDistributedOptimizer",
        "NPUEstimator",
        "NPUEstimatorSpec",
        "NPUOptimizer",
        "NPURunConfig",
        "ProfilingConfig",
        "RewriterConfig",
        "npu_ops",
        "npu_scope",
        "set_iteration_per_loop",
    ],
)
def test_the_star_import_brings(name):
    # mixed.estimator.star_import, mixed.session.star_import_rewriter
    assert name in star_import()


def test_the_rewriter_config_is_tensorflows_own():
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

    assert star_import()["RewriterConfig"] is RewriterConfig


def test_the_older_imports_work():
    # mixed.zh.imports_legacy, and document 004's import of NPURunConfig
    from npu_bridge.estimator import npu_ops
    from npu_bridge.estimator.npu import npu_scope
    from npu_bridge.estimator.npu.npu_config import NPURunConfig

    assert npu_scope.without_npu_compile_scope and npu_ops and NPURunConfig is star_import()["NPURunConfig"]


@pytest.mark.parametrize("name", ["MemoryConfig", "DumpConfig", "ProfilingConfig", "ExperimentalConfig"])
def test_helper_classes_need_no_arguments(name):
    # api.npu_bridge.npu_init.classes
    assert repr(star_import()[name]()).startswith(name + "(")


def test_npu_config_proto_makes_a_session_an_npu_session_once():
    names = star_import()
    given = v1.ConfigProto(log_device_placement=True)
    config = names["npu_config_proto"](names["npu_config_proto"](given))
    assert [entry.name for entry in config.graph_options.rewrite_options.custom_optimizers] == ["NpuOptimizer"]
    assert config.graph_options.rewrite_options.remapping == names["RewriterConfig"].OFF
    assert config.log_device_placement
    assert not given.graph_options.rewrite_options.custom_optimizers, "the given config was changed"
