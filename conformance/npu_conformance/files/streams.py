"""Decides what becomes of the three standard streams where one is closed, full, or cannot encode what is said."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TextIO

from npu_reference.printing import printable

__all__ = ["give_up_output", "is_of_output", "is_plain", "prepare", "say", "without_colour"]

_OF_WRITING = frozenset([errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT, errno.EAGAIN])


def prepare(script: bool = False) -> None:
    """Makes descriptors 0 to 2 and the streams on them usable; what cannot be encoded is escaped from then on.

    Args:
        script: whether a user's script writes to stdout, which is left as Python has it.
    """
    with contextlib.suppress(OSError):
        while True:
            # A closed one would be given to the next file or pipe, and whoever prints would write into that.
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor > 2:
                os.close(descriptor)
                break
            os.set_inheritable(descriptor, True)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None and not (script and name == "stdout"):
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  for the whole process
    for stream in (sys.stderr,) if script else (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def is_plain() -> bool:
    """Whether the terminal cannot move its cursor, nor show styles: TERM says so."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


def without_colour() -> bool:
    """Whether nothing printed may be coloured, even on a terminal (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR")) or is_plain()


def say(text: str, red: str = "") -> None:
    """One line on stderr, its beginning ``red`` on a terminal; nothing where that cannot be written."""
    try:
        shown = red if without_colour() or not getattr(sys.stderr, "isatty", bool)() else f"\x1b[31m{red}\x1b[0m"
        sys.stderr.write(shown + printable(text) + "\n")
        sys.stderr.flush()
    except OSError:
        _nowhere(sys.stderr)
    except (ValueError, AttributeError):
        pass  # somebody closed it


def is_of_output(error: OSError) -> bool:
    """Whether an error that nobody handled is one of writing to stdout: it names no file, and is one of writing."""
    return error.filename is None and error.errno in _OF_WRITING


def give_up_output() -> None:
    """Lets stdout lead nowhere from now on."""
    _nowhere(sys.stdout)


def _nowhere(stream: TextIO) -> None:
    """The interpreter flushes its streams once more at its end, and would end with another status if that failed."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
