"""Which operators of a script cost most accuracy by being computed at float16, found by running it again and again."""

from __future__ import annotations

import heapq
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from npu_reference.errors import NpuError
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.observing.observers import watching
from npu_reference.runtime.scripts.runner import execute
from npu_reference.runtime.sessions import activation

__all__ = ["Bisection", "Suspect", "bisect"]

#: Elements of fetched values that are kept of one execution; what is fetched later does not count (assumed enough).
_MOST_ELEMENTS = 8_000_000

#: The relative error of a value that is not finite, or absurd.
_WORST = 1e3


class Suspect(NamedTuple):
    """Operators that cost accuracy when they alone are at float16.

    Attributes:
        nodes: in graph order; one, where there were enough executions to find it.
        op: TensorFlow's operator of the first.
        error: relative error of the script's fetches with only these at float16.
    """

    nodes: Tuple[str, ...]
    op: str
    error: float

    def to_json(self) -> Dict[str, Any]:
        return {"nodes": list(self.nodes), "op": self.op, "error": self.error}


class Bisection(NamedTuple):
    """What running a script both ways has shown.

    Attributes:
        error: relative error of its fetches at the dtypes assigned, against TensorFlow's.
        noise: the same between two executions of TensorFlow; errors near it say nothing.
        lowered: operators computed at float16.
        executions: of the script.
        suspects: worst first.
    """

    error: float
    noise: float
    lowered: int
    executions: int
    suspects: Tuple[Suspect, ...]

    def to_json(self) -> Dict[str, Any]:
        return {
            "error": self.error,
            "noise": self.noise,
            "lowered": self.lowered,
            "executions": self.executions,
            "suspects": [suspect.to_json() for suspect in self.suspects],
        }


def bisect(
    script: str,
    argv: Sequence[str] = (),
    *,
    edition: Optional[str] = None,
    most: int = 5,
    executions: int = 40,
    values: Any = None,
) -> Bisection:
    """Find the operators of a script whose float16 costs most accuracy.

    The script runs as TensorFlow computes, then at the dtypes assigned, then with half of the lowered operators at
    float16 and all others at float32, and so on into the half that errs more, until single operators are left. What is
    compared is what its runs fetch, so it should fetch its loss, and draw the same numbers each time.

    Args:
        script: its file, a script that makes device sessions.
        argv: its arguments.
        edition: of the options.
        most: single operators to find.
        executions: of the script, at most; at least 4.
        values: options of the session surface that replace those of the script's config.

    Raises:
        NpuError: SCRIPT_FILE; RUN_FAILED where it fails, uses no device session or fetches no numbers; USAGE.
    """
    if executions < 4 or most < 1:
        raise NpuError("USAGE", "bisect", "it needs at least 4 executions and 1 operator.", "Give more.")
    trials = _Trials(script, argv, edition, values)
    trials.reference = trials.run("off", frozenset()).seen
    if not any(values.size for values in trials.reference):
        raise NpuError("RUN_FAILED", script, "its device sessions fetch no numbers.", "Fetch the loss, for instance.")
    noise = trials.error(trials.run("off", frozenset()))
    whole = trials.run("on", frozenset())
    error, ops = trials.error(whole), whole.lowered
    suspects = _narrow(trials, tuple(ops), error, most, executions) if ops else ()
    return Bisection(
        error, noise, len(ops), trials.count, tuple(Suspect(nodes, ops[nodes[0]], size) for size, nodes in suspects)
    )


def _narrow(
    trials: _Trials, nodes: Tuple[str, ...], error: float, most: int, executions: int
) -> List[Tuple[float, Tuple[str, ...]]]:
    """Best first: the group that errs most is split next."""
    everything = frozenset(nodes)
    waiting: List[Tuple[float, int, Tuple[str, ...]]] = [(-error, 0, nodes)]
    found: List[Tuple[float, Tuple[str, ...]]] = []
    order = 0
    while waiting and len(found) < most:
        negative, _, group = heapq.heappop(waiting)
        if len(group) == 1:
            found.append((-negative, group))
            continue
        if trials.count + 2 > executions:
            heapq.heappush(waiting, (negative, order, group))
            break
        middle = len(group) // 2
        for half in (group[:middle], group[middle:]):
            order += 1
            size = trials.error(trials.run("on", everything - frozenset(half)))
            heapq.heappush(waiting, (-size, order, half))
    rest = [(-negative, group) for negative, _, group in sorted(waiting)][: most - len(found)]
    return sorted([*found, *rest], key=lambda pair: -pair[0])


class _Seen(NamedTuple):
    """One execution: float fetches in order, and operators at float16 with their TensorFlow operator."""

    seen: List[Any]
    lowered: Dict[str, str]


class _Trials:
    """Executions of one script, compared with the first."""

    def __init__(self, script: str, argv: Sequence[str], edition: Optional[str], values: Any) -> None:
        self.script, self.argv, self.edition, self.values = script, list(argv), edition, values
        self.reference: List[Any] = []
        self.count = 0

    def run(self, precision: str, exact: FrozenSet[str]) -> _Seen:
        self.count += 1
        found = _Seen([], {})
        left = [_MOST_ELEMENTS]
        noted: Dict[Any, int] = {}

        def watch(names: Sequence[str], values: Sequence[Any], numerics: Any) -> None:
            del names
            for value in values:
                array = np.asarray(value)
                if array.dtype.kind == "f" and array.size <= left[0]:
                    left[0] -= array.size
                    found.seen.append(array.astype(np.float64))
            if numerics is not None:
                known = noted.get(numerics, 0)
                noted[numerics] = len(numerics.assignments)
                _note_lowered(found.lowered, numerics.assignments[known:])

        activation.activate()
        around = current_overrides()._replace(device_precision=precision, exact=exact)
        if self.values is not None:
            around = around._replace(values=self.values)
        with overriding(around), watching(watch):
            execute(self.script, self.argv, self.edition)
        return found

    def error(self, trial: _Seen) -> float:
        """The root of the mean square of the fetches' relative errors."""
        errors = [_relative(given, wanted) for given, wanted in zip(trial.seen, self.reference)]
        if len(trial.seen) != len(self.reference):
            errors.append(_WORST)
        return float(np.sqrt(np.mean(np.square(errors)))) if errors else 0.0


def _note_lowered(lowered: Dict[str, str], assignments: Sequence[Any]) -> None:
    for assignment in assignments:
        for node in assignment.nodes:
            if node.engine in ("cube", "vector", "aicpu") and "float16" in (*node.inputs, *node.outputs):
                lowered.setdefault(node.node, node.op)


def _relative(given: Any, wanted: Any) -> float:
    if given.shape != wanted.shape:
        return _WORST
    if not np.isfinite(wanted).all():
        return 0.0  # nothing to compare with
    size = float(np.linalg.norm(wanted)) + 1e-30
    error = float(np.linalg.norm(given - wanted)) / size
    return min(error, _WORST) if np.isfinite(error) else _WORST
