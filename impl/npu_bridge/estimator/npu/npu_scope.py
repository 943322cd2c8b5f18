"""Scopes that mark every node built inside them, and by that decide where or how it runs.

The marks are node attributes, so they travel with the graph. All nodes built in the scope carry them,
constants made by helper functions too (M18); gradients built elsewhere do not (M19).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_bridge.estimator.npu.npu_config import NpuExecutePlacement
from npu_reference.options.classes import OptionTypeError

__all__ = [
    "KEEP_DTYPE",
    "WITHOUT_NPU_COMPILE",
    "disable_autofuse",
    "keep_dtype_scope",
    "limit_core_num_scope",
    "npu_graph_slice_scope",
    "npu_mem_type_scope",
    "npu_optimizer_scope",
    "npu_qos_label_scope",
    "npu_recompute_scope",
    "npu_stage_scope",
    "npu_variable_scope",
    "npu_weight_prefetch_scope",
    "op_specified_engine_scope",
    "without_npu_compile_scope",
]

#: Attribute of nodes that mixed computing leaves on the host.
WITHOUT_NPU_COMPILE = "_without_npu_compile"

#: Attribute of nodes that keep the precision they have in the graph.
KEEP_DTYPE = "_keep_dtype"


@contextmanager
def without_npu_compile_scope() -> Iterator[None]:
    """Leave the operators built inside on the host when mixed computing is on (document 000).

    >>> with npu_scope.without_npu_compile_scope():
    ...     y = tf.add(x, 1.0)
    """
    with _marked(WITHOUT_NPU_COMPILE, v1.AttrValue(b=True)):
        yield


@contextmanager
def keep_dtype_scope() -> Iterator[None]:
    """Keep the graph's dtypes for the operators built inside, whatever the precision mode (document 003)."""
    with _marked(KEEP_DTYPE, v1.AttrValue(i=1)):
        yield


@contextmanager
def npu_variable_scope(placement: NpuExecutePlacement = NpuExecutePlacement.ALL) -> Iterator[None]:
    """Place the variables built inside: ``HOST`` leaves them on the host, any other placement on the device.

    As with ``variable_placement``, that holds in mixed computing, and the operators that change such a variable
    stay on the host with it. Other operators built inside are not concerned.

    Raises:
        OptionTypeError: no NpuExecutePlacement.
    """
    if not isinstance(placement, NpuExecutePlacement):
        reason = f"{placement!r} is no NpuExecutePlacement."
        raise OptionTypeError("OPTION_TYPE", "placement", reason, "Give NpuExecutePlacement.HOST or .ALL.")
    if placement is not NpuExecutePlacement.HOST:
        yield
        return
    with _marked(WITHOUT_NPU_COMPILE, lambda node: v1.AttrValue(b=True) if node.op in _VARIABLES else None):
        yield


#: Operators that are a variable.
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


@contextmanager
def npu_weight_prefetch_scope(buffer_pool_id: int = 0, buffer_pool_size: int = 536870912) -> Iterator[None]:
    """Load weights used inside ahead of time, which changes no result; the simulated device does not."""
    del buffer_pool_id, buffer_pool_size
    yield


@contextmanager
def disable_autofuse() -> Iterator[None]:
    """Do not fuse the operators built inside, which changes no result; the simulated device fuses none."""
    yield


@contextmanager
def npu_stage_scope(stage: int) -> Iterator[None]:
    """Build a stage of the graph that other stages may run beside, which changes no result; here none does."""
    del stage
    yield


@contextmanager
def npu_mem_type_scope() -> Iterator[None]:
    """Choose the kind of memory of what is built inside; the simulated device has one."""
    yield


@contextmanager
def op_specified_engine_scope(engine_name: str, kernel_lib_name: str) -> Iterator[None]:
    """Choose the engine of what is built inside, which changes no result; the simulated device chooses by itself."""
    del engine_name, kernel_lib_name
    yield


@contextmanager
def npu_qos_label_scope(label: int) -> Iterator[None]:
    """Label what is built inside for the device's quality of service, which the simulated one does not have."""
    del label
    yield


@contextmanager
def npu_optimizer_scope() -> Iterator[None]:
    """Mark what is built inside as the optimizer's, which changes no result."""
    yield


@contextmanager
def npu_recompute_scope() -> Iterator[None]:
    """Let outputs of what is built inside be computed again, to save memory; the simulated device keeps them."""
    yield


@contextmanager
def npu_graph_slice_scope(slice_num: Optional[int] = None) -> Iterator[None]:
    """Let what is built inside be cut into slices, to save memory; the simulated device does not."""
    del slice_num
    yield


@contextmanager
def limit_core_num_scope(op_aicore_num: str = "0", op_vectorore_num: str = "0") -> Iterator[None]:
    """Limit the cores for what is built inside, which changes no result; the simulated device uses all."""
    del op_aicore_num, op_vectorore_num
    yield


@contextmanager
def _marked(attribute: str, value: Any) -> Iterator[None]:
    # TensorFlow has no public way to add an attribute to all nodes of a block.
    with v1.get_default_graph()._attr_scope({attribute: value}):
        yield


__getattr__ = module_getattr(__name__)
