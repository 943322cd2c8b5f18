"""Faulty backends written by hand by the documents' sentences, each the reference with one mistake.

`making` says how one is declared, `operators` has the kinds of mistakes, and `asked` and `answered` read and change
requests and answers. Every other module holds the backends of one area, the first word of its name. No case was
looked at when they were written.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Dict

if TYPE_CHECKING:
    from faulty.making import Faulty

__all__ = ["MODULES", "load"]

#: The modules that hold backends, in the order of the results.
MODULES = (
    "options_caches",
    "options_debugging",
    "options_devices",
    "options_dumps",
    "options_fusion",
    "options_implementations",
    "options_modes",
    "options_precision",
    "options_profiling",
    "options_ranges",
    "options_shapes",
    "options_timeouts",
    "options_tuning",
    "partition_geops",
    "partition_operators",
    "partition_ranges",
    "partition_variables",
    "precision_dtypes",
    "precision_functions",
    "precision_library",
    "precision_lists",
    "precision_modes",
    "run_dumps",
    "run_errors",
    "run_sessions",
    "run_values",
    "timeline_devices",
    "timeline_kernels",
    "timeline_limits",
    "timeline_profiles",
    "artifacts_cache_limits",
    "artifacts_caches",
    "artifacts_debug_levels",
    "artifacts_debug_lists",
    "artifacts_files",
    "artifacts_fusion",
    "combined",
)


def load() -> Dict[str, Faulty]:
    """Every faulty backend by its name."""
    making = importlib.import_module("faulty.making")
    for name in MODULES:
        making.AREA.append(name.partition("_")[0])
        importlib.import_module(f"faulty.{name}")
    table: Dict[str, Faulty] = making.FAULTY
    return table
