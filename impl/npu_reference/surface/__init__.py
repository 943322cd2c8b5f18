"""The names of the adapter's Python API: which there are, where, and what each does on one simulated device."""

from __future__ import annotations

from npu_reference.surface.declaration import KINDS, MIRRORS, NO_EFFECT, REFUSED, SIMULATED, STAR, STATUSES, Name
from npu_reference.surface.lookup import canonical, find, is_module, lookup, names_of, nearest, packages, star_names
from npu_reference.surface.modules import MODULES, OPEN
from npu_reference.surface.refusing import (
    MissingName,
    NameRefused,
    Refused,
    attribute_of,
    missing,
    of_library,
    refusal,
    where,
)
from npu_reference.surface.table import NAMES

__all__ = [
    "KINDS", "MIRRORS", "MODULES", "MissingName", "NAMES", "NO_EFFECT", "Name", "NameRefused", "OPEN", "REFUSED",
    "Refused", "SIMULATED", "STAR", "STATUSES", "attribute_of", "canonical", "find", "is_module", "lookup", "missing",
    "names_of", "nearest", "of_library", "packages", "refusal", "star_names", "where",
]  # fmt: skip
