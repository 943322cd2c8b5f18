"""Notebooks as Jupyter writes them, for tests."""

from __future__ import annotations

import json

__all__ = ["TEXT", "cells", "notebook"]

#: A cell of text between those of code.
TEXT = object()


def cells(*texts):
    """The cells of a notebook: of code each text, of Markdown :data:`TEXT`."""
    found = []
    for text in texts:
        if text is TEXT:
            found.append({"cell_type": "markdown", "metadata": {}, "source": ["# A title\n", "with a line"]})
        else:
            found.append({
                "cell_type": "code", "execution_count": 3, "metadata": {"scrolled": True},
                "outputs": [{"data": {"text/plain": ["1e-05"]}, "metadata": {}, "output_type": "execute_result"}],
                "source": text.splitlines(keepends=True),
            })  # fmt: skip
    return found


def notebook(*texts, indent=1, ascii_only=False, language="python", **more):
    """The bytes of a notebook with these cells."""
    whole = {
        "cells": cells(*texts),
        "metadata": {"kernelspec": {"display_name": "x", "language": language, "name": "x"}},
        "nbformat": 4,
        "nbformat_minor": 5,
        **more,
    }
    return (json.dumps(whole, indent=indent, ensure_ascii=ascii_only) + "\n").encode("utf-8")
