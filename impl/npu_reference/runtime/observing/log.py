"""Where the runtime says what it does: the logger ``npu_reference``, every entry with a code and a subject."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import Callable, Iterator, NamedTuple

__all__ = ["LOG", "LogEntry", "Notice", "listening", "say"]

LOG = logging.getLogger("npu_reference")


class Notice(NamedTuple):
    """Something to say later: a code, what it is about, one sentence."""

    code: str
    subject: str
    message: str


class LogEntry(NamedTuple):
    """What a listener gets: level ``info``, ``warning`` or ``error``, code, subject and the whole text.

    ``said`` is the text without the session it concerns.
    """

    level: str
    code: str
    subject: str
    text: str
    said: str = ""


def say(level: int, notice: Notice, *, session: int = 0) -> None:
    """Log a notice; with the number of the session it concerns, if it is one's."""
    where = f"session {session}: " if session else ""
    # Texts about an option begin with its name, since commands show them without a subject.
    named = notice.subject and notice.message.startswith((f"{notice.subject} ", f"{notice.subject}: "))
    subject = f"{notice.subject}: " if notice.subject and not named else ""
    extra = {"npu_code": notice.code, "npu_subject": notice.subject, "npu_said": notice.message}
    LOG.log(level, "%s%s%s", where, subject, notice.message, extra=extra)


class _Listener(logging.Handler):
    def __init__(self, level: int, hear: Callable[[LogEntry], None]) -> None:
        super().__init__(level)
        self._hear = hear

    def emit(self, record: logging.LogRecord) -> None:
        code, subject = getattr(record, "npu_code", ""), getattr(record, "npu_subject", "")
        said = getattr(record, "npu_said", record.getMessage())
        self._hear(LogEntry(record.levelname.lower(), code, subject, record.getMessage(), said))


@contextmanager
def listening(hear: Callable[[LogEntry], None], level: int = logging.WARNING) -> Iterator[None]:
    """Hand every entry from ``level`` on to ``hear``, and to nobody else."""
    listener = _Listener(level, hear)
    propagate, before = LOG.propagate, LOG.level
    LOG.addHandler(listener)
    LOG.propagate = False
    if not LOG.isEnabledFor(level):
        LOG.setLevel(level)
    try:
        yield
    finally:
        LOG.removeHandler(listener)
        LOG.propagate = propagate
        LOG.setLevel(before)
