"""Decides how names from a file appear in a message: on one line, printable and not too long."""

from __future__ import annotations

__all__ = ["shorten"]


def shorten(text: str, bound: int = 120) -> str:
    """``text`` without control or unencodable characters, its middle left out beyond ``bound`` characters."""
    if len(text) > bound:
        half = (bound - 1) // 2
        text = text[:half] + "…" + text[-half:]
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
