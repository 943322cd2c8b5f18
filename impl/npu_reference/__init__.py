"""Reference implementation of Ascend's TensorFlow adapter, executed on a simulated NPU.

Importing this package never imports TensorFlow.
"""

from __future__ import annotations

from .errors import NpuError

try:
    from ._built import VERSION as __version__  # of a wheel or an sdist
except ImportError:
    from . import version

    __version__ = version.of_checkout()

__all__ = ["NpuError", "__version__", "activate", "deactivate"]


def activate() -> None:
    """Switch the simulated device on in this process.

    ``import npu_bridge`` then finds the drop-in package, and a session whose
    config names ``NpuOptimizer`` runs its GEOPs on the simulated device.
    Raises NpuError ``TENSORFLOW_MISSING`` without TensorFlow. Idempotent.
    """
    from npu_reference.runtime.sessions import activation

    activation.activate()


def deactivate() -> None:
    """Undo :func:`activate`; sessions already open keep running as they are."""
    from npu_reference.runtime.sessions import activation

    activation.deactivate()
