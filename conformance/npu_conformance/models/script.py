"""Decides what ``simulate`` answers of a script: its sessions, their options, and what became of each signature."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from npu_conformance.models import precise, script_profile
from npu_reference.errors import NpuError

__all__ = ["ScriptTold", "answer", "partition_answer", "precision_answer", "tell"]


class ScriptTold(NamedTuple):
    """What a page needs beside the answer: the account that the answer was made of."""

    answer: Mapping[str, Any]
    account: Any


def tell(account: Any, script: str, status: int, nodes: bool = False) -> ScriptTold:
    """The answer of ``simulate`` for the account of a script that ended with a status."""
    return ScriptTold(answer(account, script, status, nodes), account)


def answer(account: Any, script: str, status: int, nodes: bool = False) -> Dict[str, Any]:
    """The JSON answer.

    Args:
        account: of :mod:`npu_reference.runtime.observing.account`.
        script: its file.
        status: the script's exit status.
        nodes: whether every operator is told of.
    """
    from npu_reference.runtime.scripts import final_summary

    change = final_summary.first_change(account)
    failure = account.failure
    return {
        "script": script,
        "status": status,
        "failure": None if failure is None else _failure(failure),
        "sessions": [_session(session, nodes) for session in account.sessions],
        "more_sessions": account.more,
        "host": [group.to_json() for group in final_summary.host_groups(account)],
        "change_first": None if change is None else change.to_json(),
    }


def _failure(failure: Any) -> Dict[str, Any]:
    return {
        "kind": failure.kind,
        "code": failure.code,
        "message": failure.message,
        "places": [place._asdict() for place in failure.places],
    }


def _session(session: Any, nodes: bool) -> Dict[str, Any]:
    settings = session.settings
    resolution = settings.resolution
    return {
        "session": session.number,
        "surface": resolution.surface,
        "edition": resolution.edition,
        "device_precision": settings.device_precision,
        "options": {
            name: {"value": one.value, "origin": one.origin, "rule": one.rule}
            for name, one in resolution.effective.items()
        },
        "warnings": [notice._asdict() for notice in settings.notices],
        "runs": session.runs,
        "signatures": [_signature(one, session, nodes) for one in session.signatures.values()],
        "more_signatures": session.more,
    }


def _signature(one: Any, session: Any, listed: bool) -> Dict[str, Any]:
    parts = one.partition
    reasons: Dict[str, int] = {}
    for entry in parts.host:
        if entry.op not in ("_Arg", "_Retval"):
            reasons[entry.reason.value] = reasons.get(entry.reason.value, 0) + 1
    nodes = sum(1 for node in parts.graph.nodes if node.op not in ("_Arg", "_Retval"))
    precision = precision_answer(one, session)
    return {
        "feeds": list(one.feeds),
        "fetches": list(one.fetches),
        "targets": list(one.targets),
        "runs": one.runs,
        "operators": nodes,
        "on_device": sum(1 for at in parts.assignment if at >= 0),
        "geops": len(parts.geops),
        "min_geops": parts.min_geops,
        "host": reasons,
        "bytes": dict(one.bytes),
        "copies": [copy.to_json() for copy in one.copies],
        "notes": list(one.notes),
        "precision": None if precision is None else precision["summary"],
        "clock": None if one.time is None else script_profile.clock_answer(one),
        **({"nodes": _nodes(parts, precision)} if listed else {}),
    }


def _nodes(parts: Any, precision: Optional[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Every operator in the graph's order: where it ran, the dtypes of its outputs (on the device as assigned), and why
    it stayed on the host."""
    assigned = {} if precision is None else {row["node"]: row for row in precision["nodes"]}
    host = {entry.node: entry for entry in parts.host}
    rows = []
    for node, at in zip(parts.graph.nodes, parts.assignment):
        if node.op not in ("_Arg", "_Retval"):
            row, entry = assigned.get(node.name, {}), host.get(node.name)
            dtypes = row.get("outputs", [dtype.name for dtype in parts.graph.output_dtypes(node.id)])
            told = {"node": node.name, "op": node.op, "where": parts.geops[at].name if at >= 0 else "host"}
            told.update(engine=row.get("engine"), dtypes=list(dtypes), reason=entry and entry.reason.value)
            rows.append({**told, "why": entry and " ← ".join(f"{step.node}: {step.why}" for step in entry.witness)})
    return rows


def partition_answer(one: Any, session: Any) -> Dict[str, Any]:
    """The answer of ``partition`` for one signature, as its page takes it."""
    from npu_reference.partition import blame, separations

    parts = one.partition
    ranking: List[Any] = []
    if len(parts.geops) > 1 and len(parts.graph.nodes) <= _WEIGHED_NODES:
        try:
            ranking = blame(parts, session.settings.resolution, most=_WEIGHED)
        except NpuError:
            ranking = []  # without some operator the graph would be refused
    return {
        **parts.to_json(),
        "separations": [apart.to_json() for apart in separations(parts)],
        "blame": [entry.to_json() for entry in ranking],
        "checks": [],
        "verdict": "passed",
    }


#: As for the command `partition`, but several signatures wait for it (assumed).
_WEIGHED = 3
_WEIGHED_NODES = 20000


def precision_answer(one: Any, session: Any) -> Optional[Dict[str, Any]]:
    """The answer of ``precision`` for one signature; None where the options allow no assignment."""
    from npu_reference.precision import assign
    from npu_reference.precision.flops import work_of

    resolution = session.settings.resolution
    try:
        assignment = assign(one.partition, resolution, entries=())
    except NpuError:
        return None
    work = work_of(one.partition, assignment, {})
    return precise.answer([precise.PrecisionRequest(one.partition, assignment, resolution, work, None)])
