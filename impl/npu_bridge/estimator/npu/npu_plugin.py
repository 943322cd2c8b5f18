"""The device itself, which is always ready here; what shares memory between devices is refused by the table."""

from __future__ import annotations

from typing import Any

from npu_bridge._names import module_getattr
from npu_reference.options.classes import OptionValueError

__all__ = ["npu_close", "npu_resource_init", "npu_resource_shutdown", "set_device_sat_mode"]


def npu_resource_init(**options: Any) -> None:
    """Make the device ready, which the simulated one always is; options of a session are given to sessions."""
    del options


def npu_resource_shutdown() -> None:
    """Give the device back."""


def npu_close() -> None:
    """Give the device back."""


def set_device_sat_mode(mode: int) -> None:
    """How overflows end on the device: 0 saturates, 1 gives infinities and NaN, 2 as the device has it by itself.

    Here options decide that (docs/numerics.md).

    Raises:
        OptionValueError: another mode.
    """
    if isinstance(mode, bool) or mode not in (0, 1, 2):
        raise OptionValueError("OPTION_VALUE", "mode", f"there is no mode {mode!r}.", "Give 0, 1 or 2.")


__getattr__ = module_getattr(__name__)
