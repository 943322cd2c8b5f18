"""Reads one script as the command does, for tests."""

from __future__ import annotations

from npu_conformance.lint.registry import LintSettings, rules
from npu_conformance.lint.running import LintTask, check_text

__all__ = ["answer", "codes", "findings", "mended"]


def answer(text, edition="current", path="script.py", mend=False, only=(), unsafe=True):
    """The answer for a script given as text or bytes; ``only`` names the rules, by default all."""
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    chosen = tuple(only) or tuple(rule.code for rule in rules())
    return check_text(str(path), data, LintTask(chosen, LintSettings(edition), mend, unsafe=unsafe))


def findings(text, edition="current", path="script.py"):
    """All findings of a script."""
    return answer(text, edition, path).findings


def codes(text, edition="current", path="script.py"):
    """Line and code of every finding."""
    return [(one.line, one.code) for one in findings(text, edition, path)]


def mended(text, edition="current", path="script.py", only=(), unsafe=True):
    """The script after mending, as text; as it was where nothing changed."""
    found = answer(text, edition, path, True, only, unsafe)
    data = found.before if found.after is None else found.after
    return (data or (text if isinstance(text, bytes) else text.encode("utf-8"))).decode("utf-8")
