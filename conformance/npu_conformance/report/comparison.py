"""Compares two runs: which instances came out otherwise, and which only one of them has."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from npu_conformance.judging import judge
from npu_conformance.protocol import schema
from npu_conformance.report import results

__all__ = ["Comparison", "compare", "answer"]


class Comparison(NamedTuple):
    """changed: (instance, status before, status after); only_before, only_after: instances of one run."""

    before: str
    after: str
    changed: Tuple[Tuple[str, str, str], ...]
    only_before: Tuple[str, ...]
    only_after: Tuple[str, ...]

    @property
    def worse(self) -> List[Tuple[str, str, str]]:
        """Changes to a worse status."""
        return [change for change in self.changed if judge.ORDER.index(change[2]) < judge.ORDER.index(change[1])]


def compare(before: str, after: str) -> Comparison:
    """Compares two report folders.

    Raises:
        NpuError: OUTPUT when one has no complete results.jsonl.
    """
    first, second = results.read(before), results.read(after)
    old = {record["id"]: record["status"] for record in first.records}
    new = {record["id"]: record["status"] for record in second.records}
    changed = [(name, old[name], new[name]) for name in old if name in new and old[name] != new[name]]
    return Comparison(
        _name(first.header),
        _name(second.header),
        tuple(changed),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name not in old),
    )


def _name(header: Mapping[str, Any]) -> str:
    backend = header.get("backend", {}).get("backend", {})
    return f"{backend.get('name', '?')} {backend.get('version', '')}".rstrip()


def answer(found: Comparison) -> Dict[str, Any]:
    """What ``compare --format json`` prints."""
    return {
        "schema": schema.header("compare"),
        "before": found.before,
        "after": found.after,
        "changed": [{"id": name, "before": old, "after": new} for name, old, new in found.changed],
        "worse": len(found.worse),
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
    }
