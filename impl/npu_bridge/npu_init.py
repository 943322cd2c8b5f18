"""Everything a script needs of the adapter with one star import, as document 000 does it.

What that import gives is the table of :mod:`npu_reference.surface`; here is what is defined nowhere else.
"""

from __future__ import annotations

import atexit  # noqa: F401 - the star import gives it
import os  # noqa: F401 - the star import gives it
import sys
import types
from typing import Any, List, Optional, Tuple

from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2  # noqa: F401 - the star import gives them
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.client import session  # noqa: F401 - the star import gives it
from tensorflow.python.training import session_run_hook  # noqa: F401 - the star import gives it

from npu_bridge._names import module_getattr
from npu_bridge._session_config import npu_entry, switch_jit_off, switch_rewrites_off
from npu_bridge._tensorflow import run_config_class, tensorflow_for, v1
from npu_bridge.estimator import npu_ops
from npu_bridge.estimator.npu.npu_callbacks import NPUBroadcastGlobalVariablesCallback
from npu_bridge.estimator.npu.npu_hook import NPUBroadcastGlobalVariablesHook
from npu_bridge.estimator.npu.npu_optimizer import NPUDistributedOptimizer, npu_distributed_optimizer_wrapper
from npu_reference import surface
from npu_reference.options.classes import OptionTypeError
from npu_reference.runtime import ranks
from npu_reference.runtime.config import names_npu
from npu_reference.runtime.observing.log import LOG

__all__ = list(surface.star_names())


def npu_config_proto(config_proto: Any = None) -> Any:
    """A copy of a ConfigProto, or a new one, that makes its session an NPU session.

    For what is no ConfigProto a new one is made, as the adapter does, with a warning.
    """
    config = v1.ConfigProto(allow_soft_placement=True)
    if isinstance(config_proto, config_pb2.ConfigProto):
        config.CopyFrom(config_proto)
    elif config_proto is not None:
        LOG.warning("npu_config_proto: a %s is no ConfigProto; a new one is made", type(config_proto).__name__)
    if not names_npu(config):
        npu_entry(config)
    switch_rewrites_off(config)
    return config


def npu_session_config_init(session_config: Any = None) -> Any:
    """The same as :func:`npu_config_proto`."""
    return npu_config_proto(session_config)


def npu_run_config_init(run_config: Any = None) -> Any:
    """The same tf.estimator.RunConfig, or a new one, whose sessions are NPU sessions.

    Its other fields stay. Subclasses are as good, that of ``TPUEstimator`` among them.

    Raises:
        OptionTypeError: it is no RunConfig.
    """
    kind = run_config_class()
    if run_config is None:
        run_config = kind()
    if not isinstance(run_config, kind):
        raise OptionTypeError(
            "OPTION_TYPE", "run_config", f"a {type(run_config).__name__} is no RunConfig.", "Give a RunConfig."
        )
    # RunConfig.replace() would make a new object, and scripts keep using the one they gave.
    field = "_session_config" if "_session_config" in vars(run_config) else "session_config"
    vars(run_config)[field] = npu_config_proto(run_config.session_config)
    return run_config


def npu_graph_options(graph_options: Any = None) -> Any:
    """The GraphOptions given, or new ones, with XLA off, which the device does not use."""
    graph_options = config_pb2.GraphOptions() if graph_options is None else graph_options
    switch_jit_off(graph_options.optimizer_options)
    return graph_options


def npu_optimizer_options(optimizer_options: Any = None) -> Any:
    """The OptimizerOptions given, or new ones, with XLA off, which the device does not use."""
    optimizer_options = config_pb2.OptimizerOptions() if optimizer_options is None else optimizer_options
    switch_jit_off(optimizer_options)
    return optimizer_options


def set_keras_session_npu_config(config: Optional[Any] = None) -> Any:
    """Make Keras run in a new NPU session, which is returned; document 000 configures it as in sess.run mode."""
    new = v1.Session(config=npu_config_proto(config))
    v1.keras.backend.set_session(new)
    return new


def npu_clear_session(config: Optional[Any] = None) -> None:
    """Clear what Keras holds, its default graph too, and give it a new NPU session."""
    v1.keras.backend.clear_session()
    set_keras_session_npu_config(config)


def init_resource(config: Optional[Any] = None) -> Tuple[Any, Any]:
    """A new NPU session in which the device has been made ready, and the operation that gives it back."""
    opened = v1.Session(config=npu_config_proto(config))
    with opened.graph.as_default():
        ready, shutdown = npu_ops.initialize_system(), npu_ops.shutdown_system()
    opened.run(ready)
    return opened, shutdown


def shutdown_resource(sess: Any, npu_shutdown: Any) -> None:
    """Give the device back: run what :func:`init_resource` returned beside the session."""
    sess.run(npu_shutdown)


def close_session(sess: Any) -> None:
    """Close a session."""
    sess.close()


def npu_tf_optimizer(opt: Any) -> Any:
    """NPUDistributedOptimizer around a tf.train.Optimizer."""
    return NPUDistributedOptimizer(opt)


def npu_keras_optimizer(opt: Any) -> Any:
    """A Keras optimizer ready for distributed training, which with one device it is."""
    return npu_distributed_optimizer_wrapper(opt)


def npu_hooks_append(hooks_list: Any = ()) -> List[Any]:
    """The hooks with NPUBroadcastGlobalVariablesHook at their end; the same list, if it is one."""
    hooks = hooks_list if isinstance(hooks_list, list) else list(hooks_list or ())
    hooks.append(NPUBroadcastGlobalVariablesHook(0, ranks.rank_id()))
    return hooks


def npu_callbacks_append(callbacks_list: Any = ()) -> List[Any]:
    """The callbacks with NPUBroadcastGlobalVariablesCallback at their end; the same list, if it is one."""
    callbacks = callbacks_list if isinstance(callbacks_list, list) else list(callbacks_list or ())
    callbacks.append(NPUBroadcastGlobalVariablesCallback(0))
    return callbacks


def get_npu_rank_size() -> int:
    """How many ranks there are: ``RANK_SIZE``, else 1."""
    return ranks.rank_size()


def get_npu_rank_id() -> int:
    """The rank of this process: ``RANK_ID``, else 0."""
    return ranks.rank_id()


def get_npu_local_rank_id() -> int:
    """The rank of this process inside its server."""
    return ranks.local_rank_id()


def get_npu_local_rank_size() -> int:
    """How many ranks the server of this process has."""
    return ranks.local_rank_size()


class _KerasBackend(types.ModuleType):
    """The backend of TensorFlow's Keras, loaded when something is asked of it and not with the adapter."""

    def __getattr__(self, name: str) -> Any:
        return getattr(v1.keras.backend, name)


backend = _KerasBackend("backend")

#: Grappler's rewrites with their switches, by the names of tf.config.optimizer.set_experimental_options.
experimental_options = {
    "disable_model_pruning": False,
    **dict.fromkeys(
        ("function_optimization", "constant_folding", "shape_optimization", "arithmetic_optimization",
         "loop_optimization", "dependency_optimization", "layout_optimizer"),
        RewriterConfig.ON,
    ),
}  # fmt: skip


class NpuEmptyHook(v1.train.SessionRunHook):
    """A session hook without any effect."""


_elsewhere = module_getattr(__name__)


def __getattr__(name: str) -> Any:
    if name == "tf":
        return tensorflow_for(sys._getframe(1).f_globals)
    return _elsewhere(name)
