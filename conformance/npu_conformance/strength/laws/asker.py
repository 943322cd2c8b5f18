"""Asks a worker the questions of one part, and gives up where it ends badly too often."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional

from npu_conformance.files import descriptors, output, packing, scratch
from npu_conformance.judging import judge
from npu_conformance.library import twins
from npu_conformance.protocol import client, outcomes, requests
from npu_conformance.strength.laws import scheduling
from npu_conformance.strength.laws.plans import DEFAULT, PARTS, Plan
from npu_reference.errors import NpuError
from npu_reference.graphs import Graph

__all__ = ["RUN_SECONDS", "SECONDS", "Asker", "ended_badly"]

SECONDS = 10.0  # for one small graph (assumed)
RUN_SECONDS = 60.0  # for a small graph that TensorFlow runs, which may have to be imported first (assumed)
#: Bytes that the answers to the questions of one part may take in their file, and how many times that unpacked. Those
#: of the reference take up to 2.02 MiB of one part, in four runs with TensorFlow 2.21 of other graphs each.
_ROOM, _TIMES = 5 << 19, 8

_BAD_ENDINGS = 2  # a backend that crashes or hangs this often in one part is asked no more in it (assumed)


class Asker:
    """Asks the questions of one part, or all, in one worker at a time.

    Args:
        part: which part; None for the questions of all.
        progress: called after every random graph.
    """

    def __init__(
        self,
        plan: Plan,
        worker: client.Client,
        claims: judge.Claims,
        part: Optional[int] = None,
        progress: Optional[Callable[[], None]] = None,
    ) -> None:
        self.plan, self.worker, self.claims, self.part, self.progress = plan, worker, claims, part, progress
        self._bad = 0
        self._most = self._room = _ROOM * max(plan.graphs // DEFAULT, 1)

    @property
    def done(self) -> bool:
        """Whether the backend is asked no more."""
        return self._bad >= _BAD_ENDINGS

    def forgive(self) -> None:
        """Ask again, whatever was before."""
        self._bad = 0
        self._room = self._most

    def asks(self, number: int, together: int = 1) -> bool:
        """Whether the question of this number, of whatever kind, is one of its part, and of the plan's third.

        Args:
            together: so many questions in succession are of the same third.
        """
        return self._has(number) and self.plan.takes(number // together)

    def asks_about(self, path: str, number: int, together: int = 1) -> bool:
        """The same of the question of this number about a graph of the library: all about one are of the same part, so
        that it is read once."""
        return self.has_graph(path) and self.plan.takes(number // together)

    def has_graph(self, path: str) -> bool:
        """Whether the questions about this graph of the library are of its part."""
        return self._has(scheduling.part_of(path, PARTS))

    def _has(self, number: int) -> bool:
        return self.part is None or number % PARTS == self.part

    @property
    def folder(self) -> str:
        """Where the files of one question lie; it is there."""
        folder = os.path.join(self.worker.folder, "case")
        for one in (self.worker.folder, folder):
            scratch.folder(one)
        return folder

    def method(self, method: str, params: Mapping[str, Any], kept: bool = True) -> Optional[client.Outcome]:
        """What came of one request; None where the backend is asked no more. One that is not kept takes no room."""
        if self.done:
            return None
        room = self._room
        outcome = self.request(method, params, RUN_SECONDS if method == "run" else SECONDS)
        self._room = self._room if kept else room
        return None if outcome is None else requests.without_paths(outcome, self.worker.folder, self.worker.folder)

    def about(
        self,
        method: str,
        graph: Graph,
        params: Mapping[str, Any],
        seconds: float = SECONDS,
        twin: Optional[twins.Twin] = None,
    ) -> Optional[client.Outcome]:
        """What came of asking about a graph that is in memory, in the names that it had before it became this `twin`;
        None where the backend is asked no more."""
        if self.done:
            return None
        path = os.path.join(self.folder, "graph.pb")
        descriptors.write(path, graph.to_def().SerializeToString(deterministic=True))
        outcome = self.request(method, {**params, "graph": path}, seconds)
        if outcome is None:
            return None
        return requests.read_back(requests.without_paths(outcome, self.worker.folder, self.folder), twin)

    def request(
        self, method: str, params: Mapping[str, Any], seconds: float = SECONDS, after: bool = False
    ) -> Optional[client.Outcome]:
        """One request; the worker forgets what was before, unless this comes right `after` it. None where it does not
        start any more."""
        known = self.worker.known(method, params)
        if known is not None:
            return self._bearable(known)
        try:
            if self.worker.served and not after:
                outcome = self.worker.request("reset", {}, SECONDS)
                if ended_badly(outcome):
                    self.worker.fresh()
            outcome = self.worker.request(method, params, seconds)
        except NpuError as error:
            if error.code != "BACKEND_UNAVAILABLE":
                raise
            self._bad = _BAD_ENDINGS
            return None
        outcome = self._bearable(outcome)
        self._bad += ended_badly(outcome)
        return outcome

    def _bearable(self, outcome: client.Outcome) -> client.Outcome:
        """The outcome, which is kept until all laws are judged; nonsense where there is no more room."""
        text = output.dumps(outcomes.outcome_json(outcome))
        self._room -= max(len(packing.pack(text)), len(text) // _TIMES)
        if self._room >= 0:
            return outcome
        most = f"{self._most / (1 << 20):g} MiB, or {_TIMES * self._most >> 20} MiB unpacked"
        return client.Nonsense(f"answers about laws take more than {most}: this one is not kept")


def ended_badly(outcome: Optional[client.Outcome]) -> bool:
    """Whether the worker crashed, hung or said what nobody can read."""
    return isinstance(outcome, (client.Crashed, client.TimedOut, client.Nonsense))
