"""Everything a script needs of the adapter with one star import, as document 000 does it."""

from __future__ import annotations

from typing import Any, Optional

from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

from npu_bridge._session_config import npu_entry, switch_rewrites_off
from npu_bridge._tensorflow import v1
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu import npu_scope, util
from npu_bridge.estimator.npu.npu_config import (
    DumpConfig,
    ExperimentalConfig,
    MemoryConfig,
    NPURunConfig,
    ProfilingConfig,
)
from npu_bridge.estimator.npu.npu_estimator import NPUEstimator, NPUEstimatorSpec
from npu_bridge.estimator.npu.npu_hook import NPUCheckpointSaverHook, NPUOutputTensorHook
from npu_bridge.estimator.npu.npu_loss_scale_manager import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)
from npu_bridge.estimator.npu.npu_loss_scale_optimizer import NPULossScaleOptimizer
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer, NPUOptimizer
from npu_bridge.estimator.npu.npu_scope import keep_dtype_scope, without_npu_compile_scope
from npu_bridge.estimator.npu.ranks import get_local_rank_id
from npu_bridge.estimator.npu.util import set_graph_exec_config, set_iteration_per_loop
from npu_reference.runtime.config import names_npu

__all__ = [
    "DumpConfig",
    "ExperimentalConfig",
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
    "MemoryConfig",
    "NPUCheckpointSaverHook",
    "NPUDistributedOptimizer",
    "NPUEstimator",
    "NPUEstimatorSpec",
    "NPULossScaleOptimizer",
    "NPUOptimizer",
    "NPUOutputTensorHook",
    "NPURunConfig",
    "ProfilingConfig",
    "RewriterConfig",
    "close_session",
    "get_local_rank_id",
    "keep_dtype_scope",
    "npu_config_proto",
    "npu_ops",
    "npu_scope",
    "set_graph_exec_config",
    "set_iteration_per_loop",
    "set_keras_session_npu_config",
    "util",
    "without_npu_compile_scope",
]


def npu_config_proto(config_proto: Any = None) -> Any:
    """A copy of a ConfigProto, or a new one, that makes its session an NPU session."""
    config = v1.ConfigProto(allow_soft_placement=True)
    if config_proto is not None:
        config.CopyFrom(config_proto)
    if not names_npu(config):
        npu_entry(config)
    switch_rewrites_off(config)
    return config


def set_keras_session_npu_config(config: Optional[Any] = None) -> Any:
    """Make Keras run in a new NPU session, which is returned; document 000 configures it as in sess.run mode."""
    session = v1.Session(config=npu_config_proto(config))
    v1.keras.backend.set_session(session)
    return session


def close_session(sess: Any) -> None:
    """Close a session."""
    sess.close()
