"""Decides what ``profile SCRIPT`` answers: where the device's time of a whole script goes, over all of its runs."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from npu_conformance.models import precise, profiling
from npu_reference.errors import NpuError

__all__ = ["ScriptSignature", "answer", "clock_answer", "is_script", "signatures", "trace"]

_DEAREST = 10
_MOST_EVENTS = 200000  # of a trace: what Perfetto opens in a moment (assumed)


class ScriptSignature(NamedTuple):
    """One signature that ran: its session and account, and its time of the last run."""

    session: Any
    account: Any

    @property
    def name(self) -> str:
        names = [*self.account.fetches, *self.account.targets]
        return f"session {self.session.number}: " + ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def is_script(path: str) -> bool:
    """Whether this is a script rather than a graph."""
    return path.endswith(".py")


def signatures(account: Any) -> List[ScriptSignature]:
    """Those that ran on the device, the dearest first."""
    found = [
        ScriptSignature(session, one)
        for session in account.sessions
        for one in session.signatures.values()
        if one.time is not None and one.partition.geops
    ]
    return sorted(found, key=lambda one: (-one.account.device_ns, one.name))


def answer(account: Any, script: str, status: int, other: Sequence[Mapping[str, Any]] = ()) -> Dict[str, Any]:
    """The JSON answer.

    Args:
        other: option values laid over those of each session, whose steps are told beside.
    """
    ranked = signatures(account)
    timed = [one for one in ranked if one.account.time.profile is not None]
    return {
        "simulated": True,
        "script": script,
        "status": status,
        "device": timed[0].account.time.profile.compiled.device.name if timed else None,
        "device_ns": sum(one.account.device_ns for one in ranked),
        "runs": sum(one.account.runs for one in ranked),
        "engines": _engines(timed),
        "types": _types(timed),
        "dearest": _dearest(timed),
        "peak": max([one.account.time.profile.memory.peak for one in timed] or [0]),
        "signatures": [_signature(one, other) for one in ranked],
    }


def _signature(one: ScriptSignature, other: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    found: Dict[str, Any] = {"name": one.name, **clock_answer(one.account)}
    profile = one.account.time.profile
    if profile is None:
        return found
    told = profile.to_json()
    found.update({key: told[key] for key in ("critical_path", "memory", "engines", "pipeline")})
    found["compared"] = [_compared(one, values) for values in other]
    return found


def clock_answer(account: Any) -> Dict[str, Any]:
    """What a signature cost the device, in nanoseconds and bytes; ``reason`` where the model knows no time of it."""
    time = account.time
    found: Dict[str, Any] = {"runs": account.runs, "device_ns": account.device_ns}
    if time.profile is None:
        return {**found, "reason": time.reason}
    copies = time.profile.compiled.transfers
    found.update(
        run_ns=time.end_ns - time.start_ns,
        launches=time.launches,
        iterations=time.iterations,
        peak=time.profile.memory.peak,
        transfers={way: sum(1 for copy in copies if copy.direction == way) for way in ("h2d", "d2h")},
    )
    return found


def _weighed(timed: Iterable[ScriptSignature]) -> Iterable[Tuple[Any, int]]:
    """Profiles, with how many iterations of each have run."""
    for one in timed:
        yield one.account.time.profile, one.account.runs * one.account.time.iterations


def _engines(timed: Sequence[ScriptSignature]) -> Dict[str, Dict[str, int]]:
    found: Dict[str, Dict[str, int]] = {}
    for profile, times in _weighed(timed):
        for name, row in profile.engines().items():
            entry = found.setdefault(name, {"tasks": 0, "busy_ns": 0})
            entry["tasks"] += row["tasks"] * times
            entry["busy_ns"] += row["busy_ns"] * times
    return dict(sorted(found.items(), key=lambda item: (-item[1]["busy_ns"], item[0])))


def _types(timed: Sequence[ScriptSignature]) -> List[Dict[str, Any]]:
    found: Dict[Tuple[str, str], Dict[str, Any]] = {}
    for profile, times in _weighed(timed):
        for row in profile.types():
            key = (row["type"], row["engine"])
            entry = found.setdefault(key, {"type": key[0], "engine": key[1]})
            for name, value in row.items():
                if name not in entry or name not in ("type", "engine"):
                    entry[name] = entry.get(name, 0) + value * times
    return sorted(found.values(), key=lambda row: (-(row["busy_ns"] + row["launch_ns"]), row["type"], row["engine"]))


def _dearest(timed: Sequence[ScriptSignature]) -> List[Dict[str, Any]]:
    rows = []
    for one in timed:
        times = one.account.runs * one.account.time.iterations
        for row in one.account.time.profile.dearest(_DEAREST):
            rows.append({**row, "times": times, "all_ns": (row["busy_ns"] + row["launch_ns"]) * times, "of": one.name})
    return sorted(rows, key=lambda row: (-row["all_ns"], row["node"], row["of"]))[:_DEAREST]


def _compared(one: ScriptSignature, values: Mapping[str, Any]) -> Dict[str, Any]:
    """The signature's step under other options: the graph is divided again, at the sizes of its last run."""
    from npu_reference.device.timing import profile
    from npu_reference.options import resolve
    from npu_reference.partition import partition

    before = one.account.time.profile
    settings = one.session.settings
    resolution = settings.resolution
    given = {name: each.value for name, each in resolution.effective.items() if each.origin == "given"}
    options = precise.given(resolution)
    try:
        changed = resolve({**given, **values}, surface=resolution.surface, edition=resolution.edition)
        changed.raise_first()
        options = precise.given(changed)
        shapes = dict(one.account.time.shapes)
        divided = partition(one.account.partition.graph, changed, op_list=settings.op_list, shapes=shapes)
        after = profile(divided, changed, before.compiled.device, shapes)
    except NpuError as error:
        return {"options": options, "error": {"code": error.code, "message": error.message}}
    return {
        "options": options,
        "step_ns": after.step,
        "faster": before.step / after.step if after.step else None,
        "peak": after.memory.peak,
        "kernels": len(after.compiled.fused.kernels),
        "transfers": len(after.compiled.transfers),
    }


def trace(records: Sequence[Any]) -> Dict[str, Any]:
    """All runs on the device's clock as Chrome trace events, as :func:`npu_conformance.models.profiling.trace` has a
    step's; one iteration of each run, the first so many events. Devices beyond the first have processes of their own.
    """
    events: List[Dict[str, Any]] = []
    heads: Dict[Tuple[int, str, int], Dict[str, Any]] = {}
    device = ""
    left_out = 0
    for record in records:
        time = record.time
        if time is None or time.profile is None:
            continue
        step = profiling.trace(profiling.ProfileRequest(time.profile, None))
        device = step["otherData"]["device"]
        if len(events) + len(step["traceEvents"]) > _MOST_EVENTS:
            left_out += 1
            continue
        for event in step["traceEvents"]:
            pid = event["pid"] + 100 * time.device
            if event["ph"] == "M":
                heads.setdefault((pid, event["name"], event["tid"]), {**event, "pid": pid})
                continue
            moved = {**event, "pid": pid, "ts": event["ts"] + time.start_ns / 1000}
            if event["ph"] == "X":
                moved["args"] = {**event["args"], "session": record.session, "run": record.run}
            events.append(moved)
    return {
        "displayTimeUnit": "ns",
        "otherData": {"simulated": True, "device": device, "runs_left_out": left_out},
        "traceEvents": [*heads.values(), *events],
    }
