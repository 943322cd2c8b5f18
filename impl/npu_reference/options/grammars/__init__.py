"""The little languages inside option texts: each a parser that says where it stopped, and a writer."""

from __future__ import annotations

from npu_reference.options.grammars.scanner import GrammarError

__all__ = ["GrammarError"]
