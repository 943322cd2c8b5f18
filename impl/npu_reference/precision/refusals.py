"""One error for all operators that no kernel computes as demanded: how many of which type, and what would mend them."""

from __future__ import annotations

import json
from typing import Dict, List, NamedTuple, Optional, Sequence

from npu_reference.catalog import Descriptor
from npu_reference.errors import NpuError
from npu_reference.precision.decide import Walk
from npu_reference.precision.modes import MIX, Mode

__all__ = ["refusal"]

_NAMED = 3  # operators of one type named


class _Refused(NamedTuple):
    name: str
    op: str
    kernel: str
    keep: bool
    gray: bool
    error: NpuError


def refusal(walks: Sequence[Walk]) -> Optional[NpuError]:
    """The error of everything that was refused in these graphs, or None.

    Its subject is the first operator's, its reason counts the others by type, its remedy is for all of them.
    """
    found = [one for walk in walks for one in _of(walk)]
    if not found:
        return None
    first = found[0].error
    same = [one for one in found if one.error.code == first.code]
    types: Dict[str, List[str]] = {}
    for one in found:
        types.setdefault(one.op, []).append(one.name)
    reason = first.reason
    if len(found) > 1:
        order = sorted(types, key=lambda op: (-len(types[op]), op))
        counts = ", ".join(f"{op} {len(types[op])} ({_named(types[op])})" for op in order)
        reason = f"{reason}; {len(found)} operators are refused: {counts}"
    remedy = first.remedy if first.code == "PRECISION_DTYPES" else _remedy(same, walks[0].policy.mode)
    return NpuError(first.code, first.subject, reason, remedy)


def _of(walk: Walk) -> List[_Refused]:
    found = []
    for node in walk.wiring.order:
        error = walk.refused.get(node)
        if error is None:
            continue
        one = walk.graph.nodes[node]
        descriptor = walk.policy.catalog.get(one.op) or Descriptor(one.op, one.op, "host")
        kernel = walk.kernel(node, descriptor)
        found.append(_Refused(walk.prefix + one.name, one.op, kernel, walk.kept(node), walk.is_gray(descriptor), error))
    return found


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _remedy(found: Sequence[_Refused], mode: Mode) -> str:
    """What to write instead, as it is written."""
    kept = [one.name for one in found if one.keep]
    if len(kept) == len(found):
        return f"Take {_named(kept)} out of keep_dtype_scope."
    if mode.rule == MIX:
        black = sorted({one.kernel for one in found if not one.keep and not one.gray})
        gray = sorted({one.kernel for one in found if not one.keep and one.gray})
        moves = {"black-list": {"to-remove": black}, "white-list": {"to-add": gray}}
        said = json.dumps({name: move for name, move in moves.items() if any(move.values())})
        what = "Take the types off the blocklist" if black else "Let the types be lowered"
        return f"{what} with a modify_mixlist file that says {said}."
    given = "precision_mode_v2=mixed_float16" if mode.v2 else "precision_mode=allow_fp32_to_fp16"
    return f"Give {given}, which takes the precision that a kernel has."
