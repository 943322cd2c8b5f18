"""Compares what a program does on the device with what TensorFlow alone does."""

from __future__ import annotations

import json

from benchmarks.differential import running
from benchmarks.differential.language import walk

REPEATS = 12  # of TensorFlow alone, where it may answer otherwise each time

#: TensorFlow says so now and then of a function that is called in a branch or loop of version 1, at random.
_LOST = "does not have value"

_CHANGES = ("assign", "assign_add", "enqueue", "dequeue", "next")


def parts(outcome):
    """What is compared, each by itself: name to value."""
    found = {f"run {number}": run for number, run in enumerate(outcome["runs"])}
    found["calls"] = outcome["calls"]
    found.update(outcome["state"])
    return found


def difference(prepared, mode, expected=None, stage=lambda text: None):
    """How the device differs from TensorFlow; None where it does not.

    TensorFlow itself may answer in several ways, as where operators beside each other fail: each part of an answer has
    to be one that it gave.

    Args:
        prepared: a ``running.Program``.
        expected: what TensorFlow alone does, where that is known.

    Returns:
        (a dict with ``mode``, ``kind``, ``part``, ``expected`` and ``got``, or None; whether TensorFlow varied).
    """
    seen = [parts(expected or prepared.outcome("plain"))]
    stage(mode)
    got = parts(prepared.outcome(mode))
    for attempt in range(REPEATS + 1):
        # Of an answer that has fewer parts, since a run failed otherwise, the run itself is what differs.
        wrong = [part for part in got if not _given(part, [one.get(part) for one in seen], got[part])]
        runs = [part for part in wrong if part.startswith("run ")]
        open_ = [part for part in wrong if any(_is_open(prepared.program, part, one, got[part]) for one in seen)]
        wrong = [part for part in wrong if part not in open_]
        if not wrong:
            return None, attempt > 0 or bool(open_)
        if attempt < REPEATS:
            stage("plain")
            seen.append(parts(prepared.outcome("plain")))
            if any(_LOST in str(got[part]) for part in runs):
                stage(mode)
                got = parts(prepared.outcome(mode))
    part = wrong[0]
    found = {"mode": mode, "kind": _kind(part, seen[0].get(part), got[part]), "part": part}
    return {**found, "expected": seen[0].get(part), "got": got[part]}, False


def differs_so(program, found):
    """Whether a program differs as ``found`` says of another; one that cannot be built or begun does not."""
    try:
        other = difference(running.Program(program), found["mode"])[0]
    except Exception:  # noqa: BLE001 what was left out was needed for the program to be one
        return False
    return other is not None and other["kind"] == found["kind"]


def _is_open(program, part, expected, got):
    """Whether a part that differs may: TensorFlow alone has a fault there, or docs/runtime.md says so.

    - TensorFlow 2.21 ends some functions in branches of version 1 with an InternalError about a Retval.
    - It ends a graph that mixes frames when it runs it; the device says which node it is before anything runs.
    - After a partial run that fails it cancels all further runs of the session, so that nobody can read a variable.
    - It cancels what runs beside a call before it hears what failed in it. The device makes a run again to learn what
      that was, but for one that changes something, which it cannot.
    """
    runs = [run for name, run in expected.items() if name.startswith("run ")]
    if any(run[1] == "InternalError" and _LOST in run[3] for run in runs):
        return True
    expected = expected.get(part)
    if "CancelledError" in str(expected) and any(run["how"] == "partial" for run in program["runs"]):
        return True
    if not part.startswith("run ") or expected is None or expected[:1] != ["error"]:
        return False
    if got[:2] == ["error", "SessionRefused GRAPH_FORMAT"]:
        return expected[3].startswith("has inputs from different frames")
    if got[:2] != ["error", "CancelledError"]:
        return False
    return any(one["do"] in _CHANGES or one.get("stateful") for one in walk(program["block"]))


def _given(part, seen, got):
    """Whether TensorFlow gave an answer; how often a function is called is not compared where it varies."""
    if part != "calls" or len(seen) == 1:
        return any(_same(one, got) for one in seen)
    counts = [[one.get(name) for one in (got, *seen)] for name in {name for one in (got, *seen) for name in one}]
    return all(len(set(own)) == 1 or len(set(own[1:])) > 1 for own in counts)


def _same(left, right):
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _kind(part, expected, got):
    """A short name of a difference: what has the same one has, as a rule, the same cause."""
    if not part.startswith("run"):
        return f"other {part.split()[0]}"
    if expected[0] == "values":
        return "other values" if got[0] == "values" else f"{got[1]} instead of values"
    if got[0] == "values":
        return f"values instead of {expected[1]}"
    if expected[1] != got[1]:
        return f"{got[1]} instead of {expected[1]}"
    return "another operator's error" if expected[2] != got[2] else "another message"


def examine(program, stage=lambda text: None):
    """A program in every mode: the line of the log that tells of it, without its number."""
    stage("plain")
    prepared = running.Program(program)
    expected = prepared.outcome("plain")
    failed = sum(run[0] == "error" for run in expected["runs"])
    line = {"failed": failed, "refused": len(prepared.built.refused), "varied": False, "differences": []}
    for mode in running.MODES:
        found, varied = difference(prepared, mode, expected, stage)
        line["varied"] |= varied
        if found is not None:
            line["differences"].append(found)
    return line
