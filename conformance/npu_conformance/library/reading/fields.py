"""The keys of a case's tables, each of the type that it must have."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Tuple

from npu_reference.errors import NpuError

__all__ = ["Fields"]


class Fields:
    """Reads keys; every fault names the place that is read: file, case and key.

    Args:
        where: the file, and the case as far as it is known.
    """

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, reason: str, remedy: str = "") -> NpuError:
        return NpuError("CASE_FILE", f"{self.where}: {key}" if key else self.where, reason, remedy)

    def no_unknown(self, table: Mapping[str, Any], allowed: Any, prefix: str) -> None:
        unknown = sorted(set(table) - set(allowed))
        if unknown:
            raise self.fail(
                f"{prefix}.{unknown[0]}".lstrip("."), "unknown key", f"Known are {', '.join(sorted(allowed))}."
            )

    def text(self, table: Mapping[str, Any], key: str, required: bool = False) -> str:
        value = table.get(key, "")
        if not isinstance(value, str) or (required and not value.strip()):
            raise self.fail(key, "must be a text" if not required else "a non-empty text is required")
        return value

    def texts(self, table: Mapping[str, Any], key: str, prefix: str = "") -> Tuple[str, ...]:
        if key not in table:
            return ()
        value = table[key]
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.fail(prefix + key, "must be a list of texts")
        if len(set(value)) != len(value):
            raise self.fail(prefix + key, "holds an entry twice")
        return tuple(value)

    def table(self, table: Mapping[str, Any], key: str, prefix: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(prefix + key, "must be a table")
        return value

    def choice(self, table: Mapping[str, Any], key: str, allowed: Sequence[str], default: Optional[str]) -> str:
        value = table.get(key, default)
        if value not in allowed:
            raise self.fail(key, f"{value!r} is none of {', '.join(allowed)}")
        return str(value)

    def choices(
        self, table: Mapping[str, Any], key: str, allowed: Sequence[str], default: Sequence[str]
    ) -> Tuple[str, ...]:
        values = self.texts(table, key) if key in table else tuple(default)
        for value in values:
            if value not in allowed:
                raise self.fail(key, f"{value!r} is none of {', '.join(allowed)}")
        if key == "editions" and not values:
            raise self.fail(key, "at least one is required")
        return tuple(name for name in allowed if name in values)
