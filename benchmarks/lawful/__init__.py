"""Lawful backends: the reference, with one thing done otherwise that the five documents leave open.

Each names the sentence that leaves the choice. They were written from the documents, without a look at any case. The
suite must call every one conformant: `python benchmarks/lawful_backends.py`.
"""

from __future__ import annotations

import importlib
from typing import Dict

from faulty import making

__all__ = ["LAWFUL"]

#: By name, in the order written; `sentence` is what leaves the choice.
LAWFUL: Dict[str, making.Faulty] = {}

_MODULES = (
    "options",
    "options_effects",
    "refusals",
    "precision",
    "partition",
    "mixed",
    "run",
    "timeline",
    "tuning",
    "artifacts_kernels",
    "artifacts_results",
    "readings",
    "sampled",
)

with making.into(LAWFUL):
    for _name in _MODULES:
        importlib.import_module(f"lawful.{_name}")
