"""Scopes that mark every node built inside them, and by that decide where or how it runs.

The marks are node attributes, so they travel with the graph. All nodes built in the scope carry them,
constants made by helper functions too (M18); gradients built elsewhere do not (M19).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from npu_bridge._tensorflow import v1

__all__ = ["KEEP_DTYPE", "WITHOUT_NPU_COMPILE", "keep_dtype_scope", "without_npu_compile_scope"]

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
def _marked(attribute: str, value: v1.AttrValue) -> Iterator[None]:
    # TensorFlow has no public way to add an attribute to all nodes of a block.
    with v1.get_default_graph()._attr_scope({attribute: value}):
        yield
