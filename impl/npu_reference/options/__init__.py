"""Every option of the adapter, declared once: effective values, errors and warnings for what a user gives."""

from __future__ import annotations

from npu_reference.options.assignments import parse_assignments
from npu_reference.options.classes import CLASSES, OptionTypeError, OptionValueError, construct
from npu_reference.options.declaration import EDITIONS, SURFACES, Facet, Option
from npu_reference.options.layers import merge
from npu_reference.options.outcome import Effective, Warning_
from npu_reference.options.resolution import Resolution
from npu_reference.options.resolve import resolve
from npu_reference.options.runconfig import run_config
from npu_reference.options.schema import schema
from npu_reference.options.table import OPTIONS

__all__ = [
    "CLASSES", "EDITIONS", "OPTIONS", "SURFACES", "Effective", "Facet", "Option", "OptionTypeError", "OptionValueError",
    "Resolution", "Warning_", "construct", "merge", "parse_assignments", "resolve", "run_config", "schema",
]  # fmt: skip
