"""What a process does that was forked off this one, and that it comes back to no code of the other's."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Callable, NoReturn

__all__ = ["act_and_leave"]

_BROKEN = 70  # EX_SOFTWARE of sysexits.h


def act_and_leave(act: Callable[[], int]) -> NoReturn:
    """Do what a copy is for and end the process with the status it gives, without what others want done at exit."""
    status = _BROKEN
    try:
        status = act()
    except BaseException:  # noqa: BLE001 - nothing may return into the code of the process that was copied
        with suppress(BaseException):
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
    finally:
        os._exit(status)
