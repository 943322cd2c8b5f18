"""The adapter's distribution strategy, of one replica."""

from __future__ import annotations

from npu_bridge._names import module_getattr
from npu_bridge._tensorflow import v1
from npu_reference.runtime.ranks import require_one

__all__ = ["NPUStrategy"]


class NPUStrategy(v1.distribute.OneDeviceStrategy):
    """A strategy of one replica, whose sessions are an NPU's where their config says so.

    Raises:
        OptionValueError: there are several devices, which are not simulated.
    """

    def __init__(self, device: str = "/cpu:0") -> None:
        require_one("NPUStrategy")
        super().__init__(device)


__getattr__ = module_getattr(__name__)
