"""Activation functions: those of npu_bridge."""

from __future__ import annotations

from typing import Any

from npu_reference.surface import attribute_of

__all__ = ["gelu"]


def gelu(x: Any) -> Any:
    """The Gaussian error linear unit of a tensor."""
    from npu_bridge.estimator.npu_unary_ops import npu_unary_ops

    return npu_unary_ops.gelu(x)


__getattr__ = attribute_of(__name__)
