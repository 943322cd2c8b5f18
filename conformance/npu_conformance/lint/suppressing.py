"""Which findings a file's comments silence: ``# npu: ignore``, ``# npu: ignore[CODE, …]``, ``# npu: ignore-file``."""

from __future__ import annotations

import io
import re
import tokenize
from typing import Dict, List, Optional, Tuple

__all__ = ["Silence", "silence"]

_COMMENT = re.compile(r"#\s*npu:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[^\]]*)\])?(?![\w-])")

#: Codes silenced; None silences all.
Codes = Optional[Tuple[str, ...]]


class Silence:
    """The comments of one file; a code silences those that begin with it."""

    def __init__(self, whole: List[Codes], lines: Dict[int, List[Codes]]) -> None:
        self._whole = whole
        self._lines = lines

    def covers(self, line: int, code: str) -> bool:
        """Whether a finding is silenced by the file, or by a comment in its line."""
        return any(codes is None or code.startswith(codes) for codes in (*self._whole, *self._lines.get(line, ())))


def silence(text: str) -> Silence:
    """The comments of a text; those in string literals are none."""
    whole: List[Codes] = []
    lines: Dict[int, List[Codes]] = {}
    if "npu:" in text and _COMMENT.search(text):
        readable = text.partition("\0")[0]  # behind that Python's tokenizer fails with a SystemError
        try:
            for token in tokenize.generate_tokens(io.StringIO(readable, newline=None).readline):
                found = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
                if found is None:
                    continue
                codes = _codes(found.group("codes"))
                if found.group("file"):
                    whole.append(codes)
                else:
                    lines.setdefault(token.start[0], []).append(codes)
        except (tokenize.TokenError, SyntaxError):
            pass  # of a file that cannot be read, what was read counts
    return Silence(whole, lines)


def _codes(text: Optional[str]) -> Codes:
    if text is None:
        return None
    return tuple(code.strip() for code in text.split(",") if code.strip()) or ("-",)
