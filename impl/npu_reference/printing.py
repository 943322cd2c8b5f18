"""Decides how text that is not ours appears where people read it: one line, bounded, nothing a terminal would obey."""

from __future__ import annotations

from typing import Sequence

__all__ = ["clipped", "counted", "listed", "printable", "shorten"]


def printable(text: object) -> str:
    """``text`` with everything escaped that moves a cursor, turns the direction of reading, or cannot be encoded.

    That is what Unicode calls not printable: controls, ESC, line ends, formats as U+202E, lone surrogates.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in whole)


def counted(number: int, word: str) -> str:
    """How many there are of what ``word`` names: ``1 copy``, ``2 copies``."""
    plural = f"{word[:-1]}ies" if word.endswith(("ry", "py")) else f"{word}es" if word.endswith("ss") else f"{word}s"
    return f"{number} {word if number == 1 else plural}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def shorten(text: str, bound: int = 120) -> str:
    """``text`` printable, its middle left out beyond ``bound`` characters."""
    return printable(clipped(text, bound))


def clipped(text: str, bound: int) -> str:
    """``text`` with its middle left out beyond ``bound`` characters, and otherwise as it is."""
    if len(text) <= bound:
        return text
    half = (bound - 1) // 2
    return text[:half] + "…" + text[-half:]
