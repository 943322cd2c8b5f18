"""Keeps what Python knows of TensorFlow's threads, which costs more to make for every call than a call itself."""

from __future__ import annotations

import ctypes
import threading

__all__ = ["keep_thread"]

_KEPT = threading.local()


def keep_thread() -> None:
    """Let the calling thread's state of Python live as long as the thread.

    TensorFlow takes the GIL for every call of a Python function by ``PyGILState_Ensure``, which makes a state for a
    thread that Python did not start, and by ``PyGILState_Release``, which throws it away: with Python 3.11 nine
    microseconds of twelve. One ``PyGILState_Ensure`` more than there are releases keeps it. Python frees it at its end.
    """
    try:
        _KEPT.state  # noqa: B018 - there once the thread is kept
    except AttributeError:
        _KEPT.state = ctypes.pythonapi.PyGILState_Ensure()
