"""Trying an input within limits, and making one small that is answered wrongly."""

from __future__ import annotations

import base64
import os
import signal
import traceback

__all__ = ["SECONDS", "hang", "shown", "small", "tried"]


SECONDS = 10  # of one input
SHRINKS = 300  # attempts at making a finding small


class Hang(BaseException):
    """No answer in time; no handler of what is tried may take it for an error of the input."""


def limit(seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)


def hang(number, frame):
    raise Hang(f"no answer within {SECONDS} s, at {frame.f_code.co_filename}:{frame.f_lineno}")


def tried(kind, given):
    """What is wrong, in one line with the place; nothing where nothing is."""
    try:
        limit(SECONDS)
        kind.use(given)
    except (Exception, Hang) as error:  # noqa: BLE001  each is a finding
        limit(0)
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {os.path.basename(last.filename)}:{last.lineno}: {str(error)[:300]}"
    finally:
        limit(0)
    return ""


def smaller(given):
    """Inputs with a part left out, the largest parts first."""
    if isinstance(given, (bytes, str)):
        size = len(given) // 2
        while size:
            for at in range(0, len(given), size):
                yield given[:at] + given[at + size :]
            size //= 2
    elif isinstance(given, list):
        for at, one in enumerate(given):
            for less in smaller(one):
                yield [*given[:at], less, *given[at + 1 :]]
    elif isinstance(given, dict):
        for key in given:
            yield {name: one for name, one in given.items() if name != key}
        for key, one in given.items():
            for less in smaller(one):
                yield {**given, key: less}


def small(kind, given, fault):
    """The input made small, with the same sort of fault."""
    sort, left = fault.split(":")[0], SHRINKS
    again = True
    while again and left:
        again = False
        for less in smaller(given):
            left -= 1
            if tried(kind, less).split(":")[0] == sort:
                given, again = less, True
                break
            if not left:
                break
    return given


def shown(given):
    if isinstance(given, bytes):
        return "b64:" + base64.b64encode(given[:3000]).decode("ascii")
    return ascii(given)[:3000]
