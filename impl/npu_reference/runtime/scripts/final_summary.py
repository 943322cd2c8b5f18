"""What is said of a script at its end: what stays on the host and why, and what to change first."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from npu_reference.errors import NpuError
from npu_reference.partition import Reason, blame, only_initialises
from npu_reference.printing import counted, shorten
from npu_reference.runtime.observing.account import Account, SessionAccount, SignatureAccount

__all__ = ["TOLD_FAULTS", "Change", "HostGroup", "first_change", "host_groups", "lines"]

#: Operators of graphs beyond this size are not weighed: a partition of it takes a second, and each is one (assumed).
_WEIGHED_NODES = 20000
_WEIGHED = 3  # operator types (assumed)
_SHOWN = 3  # reasons, and operator types of each, in the lines at the end (assumed)

#: What is on the host in every run, and no matter of anybody's script.
_ALWAYS = (Reason.FEED, Reason.FETCH)

#: How the remedy begins of what loses nothing by staying on the host, and is not worth a line.
_NEEDLESS = "None needed"
_INITIALISES = "None needed: the run only initialises iterators."

#: The operator by which loss scaling asks whether anything overflowed.
_READS_OVERFLOW = "NpuGetFloatStatus"

#: Characters of why a time is not known, in the lines at the end.
_WHY = 160


#: Kinds of faults of which an account knows whether they happened: those of operators.
TOLD_FAULTS = (
    "hang", "unmatched_flag", "lost_event", "stalled_stream", "stalled_event", "out_of_bounds", "overflow",
    "kernel_failure",
)  # fmt: skip


class HostGroup(NamedTuple):
    """Operators that stay on the host for one reason and have one remedy, over all signatures, each counted once a
    session.

    ``ops``: operator type to count, the most frequent first.
    """

    reason: Reason
    operators: int
    ops: Tuple[Tuple[str, int], ...]
    remedy: str

    @property
    def needless(self) -> bool:
        return self.remedy.startswith(_NEEDLESS)

    def to_json(self) -> Dict[str, Any]:
        return {"reason": self.reason.value, "operators": self.operators, "ops": dict(self.ops), "remedy": self.remedy}


class Change(NamedTuple):
    """What would change most of one signature, as a sentence, and the signature's session, fetches and targets.

    ``run``: the signature in a few words.
    """

    session: int
    run_of: Tuple[str, ...]
    text: str
    run: str = ""

    def to_json(self) -> Dict[str, Any]:
        return {"session": self.session, "run_of": list(self.run_of), "text": self.text}


def host_groups(account: Account) -> List[HostGroup]:
    """What stays on the host, by reason and remedy: the most frequent first, and last what loses nothing by it."""
    seen = set()
    ops: Dict[Tuple[Reason, str], Counter[str]] = {}
    causes: Dict[Tuple[Reason, str], Counter[str]] = {}
    for session in account.sessions:
        for signature in session.signatures.values():
            idle = only_initialises(signature.partition)
            for entry in signature.partition.host:
                key = (session.number, entry.node)
                if entry.reason in _ALWAYS or entry.op in ("_Arg", "_Retval") or key in seen:
                    continue
                seen.add(key)
                excluded = idle and entry.reason is Reason.GRAPH_EXCLUDED
                remedy = _INITIALISES if excluded else entry.remedy
                ops.setdefault((entry.reason, remedy), Counter())[entry.op] += 1
                if len(entry.witness) > 1:
                    causes.setdefault((entry.reason, remedy), Counter())[entry.witness[-1].node] += 1
    groups = [
        HostGroup(
            reason,
            sum(found.values()),
            tuple(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
            _naming(remedy, causes.get((reason, remedy), Counter())),
        )
        for (reason, remedy), found in ops.items()
    ]
    return sorted(groups, key=lambda one: (one.needless, -one.operators, one.reason.value, one.remedy))


def _naming(remedy: str, causes: Counter[str]) -> str:
    """A remedy that speaks of the last operator of a witness, which is not shown here, with that operator's name."""
    if not causes:
        return remedy
    first = min(causes, key=lambda node: (-causes[node], node))
    others = len(causes) - 1
    more = "" if not others else f" and {counted(others, 'other')}"
    return remedy.replace("the operator named last", f"'{first}'{more}")


def first_change(account: Account) -> Optional[Change]:
    """The operator type whose absence would save most GEOPs where most was run; None where nothing would."""
    for session, signature in _by_weight(account):
        if len(signature.partition.geops) < 2 or len(signature.partition.graph.nodes) > _WEIGHED_NODES:
            continue
        try:
            ranking = blame(signature.partition, session.settings.resolution, most=_WEIGHED)
        except NpuError:
            continue  # without the operator the graph would be refused: nothing to advise
        for one in ranking:
            if one.geops_saved > 0:
                had = len(signature.partition.geops)
                count = f"{one.nodes} {one.op}" if one.nodes > 1 else one.op
                left = had - one.geops_saved
                text = f"if the device had {count}, there would be {counted(left, 'GEOP')} instead of {had}"
                return Change(session.number, signature.fetches + signature.targets, text, _run_name(signature))
    return None


def _by_weight(account: Account) -> List[Tuple[SessionAccount, SignatureAccount]]:
    """Signatures, those first that ran most operators."""
    pairs = [(session, one) for session in account.sessions for one in session.signatures.values()]
    return sorted(pairs, key=lambda pair: -max(pair[1].runs, 1) * len(pair[1].partition.graph.nodes))


def lines(account: Account) -> List[str]:
    """A few lines for a person; none where everything ran on the device."""
    groups = [group for group in host_groups(account) if not group.needless]
    found = []
    for group in groups[:_SHOWN]:
        names = ", ".join(f"{count} {op}" if count > 1 else op for op, count in group.ops[:_SHOWN])
        more = ", …" if len(group.ops) > _SHOWN else ""
        found.append(f"on the host: {names}{more} ({group.reason.value}). {group.remedy}")
    rest = groups[_SHOWN:]
    if rest:
        reasons = ", ".join(dict.fromkeys(group.reason.value for group in rest))
        found.append(f"on the host: {sum(group.operators for group in rest)} more ({reasons})")
    change = first_change(account)
    if change is not None:
        found.append(f"change first: in runs of {change.run} {change.text}.")
    return found + _overflow(account) + _clock(account)


def _overflow(account: Account) -> List[str]:
    """Who scales a loss is told that nothing overflows where GEOPs compute as the host does."""
    for session in account.sessions:
        if session.settings.device_precision == "off" and any(
            node.op == _READS_OVERFLOW
            for signature in session.signatures.values()
            for node in signature.partition.graph.nodes
        ):
            return [
                "loss scaling: with device precision off no step counts as overflowed, so that none is left out and the"
                " scale never falls. --device-precision on computes, and overflows, as the device does."
            ]
    return []


def _clock(account: Account) -> List[str]:
    """Time on the device's clock, where one is kept."""
    found = [one for session in account.sessions for one in session.signatures.values() if one.time is not None]
    timed = [one for one in found if one.time.profile is not None]
    if not timed:
        return []
    total = sum(one.device_ns for one in found)
    longest = max(timed, key=lambda one: one.device_ns)
    name = _run_name(longest)
    text = f"on the device's clock: {total / 1e6:.3f} ms, by its model and not measured"
    if len(found) > 1:
        text += f"; most of it, {longest.device_ns / 1e6:.3f} ms, in {counted(longest.runs, 'run')} of {name}"
    untimed = [one for one in found if one.time.profile is None and one.partition.geops]
    if untimed:
        more = f" and {len(untimed) - 1} more" if len(untimed) > 1 else ""
        why = shorten(untimed[0].time.reason.rstrip("."), _WHY)
        return [f"{text}; no time is known of runs of {_run_name(untimed[0])}{more} ({why})."]
    return [text + "."]


def _run_name(one: SignatureAccount) -> str:
    """A signature in a few words: its first fetches, and its first target, which tells training from evaluation."""
    shown = one.fetches[: 2 if one.fetches else 0] + one.targets[: 1 if one.fetches else 2]
    return ", ".join(shown) + (", …" if len(shown) < len(one.fetches) + len(one.targets) else "")
