"""What files of compilation say: structure and invariants of their content, a reader for each kind, never its bytes."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, Optional

from npu_conformance.observing.left_files import content
from npu_conformance.observing.naming import brief

__all__ = ["json_object"]


def json_object(data: bytes) -> Optional[Dict[str, Any]]:
    """The JSON object that a file holds; None where it holds none."""
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_GRAPH = re.compile(r"session_and_graph_id_[0-9]+_[0-9]+")


@content("fusion results", r"(.*/)?([0-9]*)fusion_result\.json")
def _fusion_result(data: bytes) -> Iterator[str]:
    value = json_object(data)
    if value is None:
        yield "is no JSON object"
        return
    graphs = sorted((key for key in value if _GRAPH.fullmatch(key)), key=lambda key: (len(key), key))
    for key in sorted(set(value) - set(graphs)):
        yield f"key {key}"
    for number, key in enumerate(graphs):
        yield f"graph {number} session_and_graph_id"
        sections = value[key] if isinstance(value[key], dict) else {}
        for section, passes in sorted(sections.items()):
            yield f"graph {number} {section}"
            for name, counts in sorted(passes.items()) if isinstance(passes, dict) else ():
                yield from _counts(f"graph {number} {brief(section)} {brief(name)}", counts)


def _counts(where: str, counts: Any) -> Iterator[str]:
    numbers: Dict[str, int] = {}
    for key, value in sorted(counts.items()) if isinstance(counts, dict) else ():
        if re.fullmatch(r"[0-9]{1,18}", str(value)) and not isinstance(value, bool):
            numbers[key] = int(value)
            yield f"{where} {key} {numbers[key]}"
        else:
            yield f"{where} {key} is no number"
    if numbers.get("effect_times", 0) > numbers.get("match_times", 0):
        yield f"{where} takes effect more often than it matches"
    if numbers.get("repository_hit_times", 0) > numbers.get("effect_times", 0):
        yield f"{where} repository is hit more often than a pass takes effect"


@content("limits of the cache", r"(.*/)?op_cache\.ini")
def _op_cache_ini(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            yield " = ".join(part.strip() for part in text.split("="))


_OOM_CALL = re.compile(r"CheckInvalidAccessOfDDR\s*\(", re.IGNORECASE)
_OOM = re.compile(
    r"if\s*\(\s*access_offset\s*<\s*0\s*\|\|\s*access_offset\s*\+\s*access_extent\s*>\s*"
    r"ddr_size\s*\)\s*\{\s*if\s*\(\s*read_or_write\s*==\s*1\s*\)\s*\{\s*trap\s*\(\s*0X5A5A0001\s*\)\s*;\s*\}\s*else\s*\{"
    r"\s*trap\s*\(\s*0X5A5A0002\s*\)",
    re.IGNORECASE,
)
_FLAGS = [f"set_flag(PIPE_MTE3,PIPE_MTE2,EVENT_ID{event})" for event in range(4)]
_FLAGS += [f"pipe_barrier(PIPE_{pipe})" for pipe in ("MTE3", "MTE2", "M", "V", "MTE1", "ALL")]
_FLAGS += [f"wait_flag(PIPE_MTE3,PIPE_MTE2,EVENT_ID{event})" for event in range(4)]


@content("code of a kernel", r".*\.cce")
def _cce(data: bytes) -> Iterator[str]:
    code = data.decode("utf-8", "replace")
    check = _OOM_CALL.search(code)
    if check is not None and _OOM.search(code, check.end()):
        yield "has the oom check"
    elif "CheckInvalidAccessOfDDR" in code or "5A5A000" in code.upper():
        yield "has another oom check"
    plain = re.sub(r"\s+", "", code)
    places, at = [], 0
    for call in _FLAGS:
        at = plain.find(call, at)
        places.append(at)
        if at < 0:
            break
    if places[-1] >= 0:
        yield "has the flag check"
    elif any(call in plain for call in _FLAGS):
        yield "has another flag check"


@content("description", r".*/kernel_meta/.*\.json|kernel_meta/.*\.json")
def _described(data: bytes) -> Iterator[str]:
    yield "is no JSON object" if json_object(data) is None else "is a JSON object"
