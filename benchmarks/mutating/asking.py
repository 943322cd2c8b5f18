"""Asking cases and laws whether they see a change."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set

from changes import AREAS, Mutant, place_of

from mutating.changed import backend_with
from mutating.lines import IMPORT, Lines, digest, forget, joined, listed
from mutating.processes import STUMBLED, forked, limit
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.library import library
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import asking, examples

__all__ = ["Asker"]

_SECONDS = 60  # of processor time, of one question; who takes longer is seen (assumed)
_SECONDS_OF_LAWS = 300  # of all questions of the laws of one method, the same
_BYTES = 4 << 30  # of memory, the same
_BYTES_TENSORFLOW = 32 << 30  # of addresses, most of them never used
_TOGETHER = ("timeline", "compile", "library")  # methods whose coverage is kept in one file
_GRAPHS = 40  # random graphs for the laws: fewer than in a run


class Asked(NamedTuple):
    """An instance as the reference answers it: seconds, and the lines of the reference it runs through, by file."""

    seconds: float
    lines: Dict[str, List[int]]


class Asker:
    """Judges mutants, each in a process forked off this one.

    Args:
        folder: takes the graphs of requests, and what cases leave.
        areas: of the mutants.
        tensorflow: whether runs are asked, by the TensorFlow of this Python.
        coverage: a file that keeps which lines a case runs through, made anew when code or cases have changed; None
            asks without knowing.
        first: ids of instances that are tried before all others, by name of the mutant.
        only: parts of ids; instances without any of them are not asked, nor laws. Empty: all are.
    """

    def __init__(
        self,
        folder: str,
        areas: Sequence[str],
        tensorflow: bool = False,
        coverage: Optional[str] = None,
        first: Optional[Dict[str, str]] = None,
        only: Sequence[str] = (),
    ) -> None:
        self.folder, self.tensorflow, self.first, self.only = folder, tensorflow, dict(first or {}), only
        self.shelf = library.load()
        self.methods = [
            m for m in dict.fromkeys(m for a in areas for m in AREAS[a].methods) if m != "run" or tensorflow
        ]
        if tensorflow:
            importlib.import_module("tensorflow")  # before any child: each would take seconds for it
        # In a child: what it imports there, a change could not reach any more.
        claims = judge.Claims.of(json.loads(forked(lambda: json.dumps(ReferenceBackend().hello({"protocol": 1})))))
        # Cases of a version of TensorFlow that is not this one see every change, as no run asks them.
        self.instances = [
            one
            for one in self.shelf.instances()
            if not one.twin and one.case.method in self.methods and judge.applicable(one, claims) is None
        ]
        if only:
            self.instances = [one for one in self.instances if any(part in one.id for part in only)]
        self.kills: Counter = Counter()
        self._whole: Optional[hosting.Panel] = None
        self.asked: Dict[str, Asked] = self._recorded(coverage) if coverage else {}
        names = set(self.first.values())
        named = [one for one in self.instances if one.id in names]
        # Of runs the reference is not asked: a process that has run a session must not be forked.
        self._known = [
            hosting.Panel([one for one in named if (one.case.method == "run") is runs], folder, unasked=runs)
            for runs in (False, True)
        ]

    # -- what cases run through

    def _recorded(self, path: str) -> Dict[str, Asked]:
        methods = sorted({*self.methods, *(_TOGETHER if set(_TOGETHER) & set(self.methods) else ())})
        key = f"{digest()} {self.tensorflow} {' '.join(methods)}"
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                kept = json.load(stream)
            if kept["of"] == key:
                return {name: Asked(*one) for name, one in kept["asked"].items()}
        found = json.loads(forked(lambda: json.dumps(self._record(methods))))
        with open(path, "w", encoding="utf-8") as stream:
            json.dump({"of": key, "asked": found}, stream)
        return {name: Asked(*one) for name, one in found.items()}

    def _record(self, methods: Sequence[str]) -> Dict[str, Any]:
        os.chdir(self.folder)
        instances = [one for one in self.shelf.instances() if not one.twin and one.case.method in methods]
        panel = hosting.Panel(instances, self.folder, unasked=True)
        found: Dict[str, Any] = {}
        with Lines(self.folder) as lines:
            backend = backend_with(None)
        imported: Dict[str, Set[int]] = {}
        for told in (lines.found, lines.imported):
            joined(imported, told)
        # Ranks are forked off this process, which must have run no session until then.
        for one in sorted(instances, key=lambda one: not _of_ranks(one)):
            forget()
            with Lines(self.folder) as lines:
                start = time.process_time()
                message = panel.message(backend, one)
                seconds = time.process_time() - start
            joined(imported, lines.imported)
            if panel.judged(one, message).status == "pass":
                found[one.id] = (round(seconds, 3), listed(lines.found))
        found[IMPORT] = (0.0, listed(imported))
        return found

    def ordered(self, mutant: Mutant) -> List[Any]:
        """Instances for a mutant: those that come through the line; through its file, if it is in no function."""
        inside = place_of(mutant.path)
        first, last = mutant.lines
        if last and self.asked and any(first <= line <= last for line in self.asked[IMPORT].lines.get(inside, [])):
            last = 0  # an import runs through it, and all that comes later may show it
        found = []
        for one in self.instances:
            if one.case.method not in AREAS[mutant.area].methods or (self.asked and one.id not in self.asked):
                continue
            through = self.asked[one.id].lines.get(inside, []) if self.asked else []
            if not self.asked or any(first <= line <= last for line in through) or (not last and through):
                found.append(one)
        if not last and not found:  # a file of tables, which no case runs through
            methods = AREAS[mutant.area].methods
            found = [one for one in self.instances if one.case.method in methods and one.id in self.asked]
        random.Random(0).shuffle(found)  # cases that see the same stand together in the library
        methods = AREAS[mutant.area].methods

        def worth(one: Any) -> float:
            """What it has seen for what it costs."""
            seconds = self.asked[one.id].seconds if self.asked else 1.0
            return (self.kills[one.id] + 0.2) / (seconds + 0.02)

        found.sort(key=lambda one: (one.case.method == "run", -worth(one), methods.index(one.case.method)))
        return found

    def reached(self, mutant: Mutant) -> int:
        """How many instances come through the changed line; -1 where it is in no function, or nothing is known."""
        if not self.asked or not mutant.lines[1]:
            return -1
        inside = place_of(mutant.path)
        first, last = mutant.lines
        cases = [one for name, one in self.asked.items() if name != IMPORT]
        return sum(any(first <= n <= last for n in one.lines.get(inside, [])) for one in cases)

    # -- asking

    def panel(self) -> hosting.Panel:
        """All instances that need no TensorFlow, with the reference's own answers."""
        if self._whole is None:
            self._whole = hosting.Panel([one for one in self.instances if one.case.method != "run"], self.folder)
        return self._whole

    def seen(self, mutant: Mutant) -> str:
        """What sees the mutant: the id of an instance, a law, or how it ended; empty when nothing does."""
        if mutant.name not in self.first:
            self.panel()  # here, where every child finds it
        said = forked(lambda: self._seen(mutant))
        if said.startswith(STUMBLED):
            print(f"{mutant.name}  {said}", file=sys.stderr, flush=True)
            return ""
        self.kills[said] += 1
        return said

    def _seen(self, mutant: Mutant) -> str:
        most = _BYTES_TENSORFLOW if self.tensorflow else _BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        limit(_SECONDS)
        os.chdir(self.folder)
        try:
            backend = backend_with(mutant)
        except Exception as error:  # noqa: BLE001
            return f"does not start: {type(error).__name__}"
        limit(0)
        for panel in self._known:
            for one in [one for one in panel.sound if one.id == self.first.get(mutant.name)]:
                asked = functools.partial(self._of_all, panel, backend, [one])
                said = forked(asked) if one.case.method == "run" and not _of_ranks(one) else asked()
                if said:
                    return said
        chosen = self.ordered(mutant)
        alone = [one for one in chosen if not _of_ranks(one)]
        if len(alone) == len(chosen):
            return self._all_seen(mutant, backend, alone)
        # Ranks are forked off this process, which runs no session itself: a copy of one that has may never wake up.
        said = forked(lambda: self._all_seen(mutant, backend, alone))
        runs = hosting.Panel(chosen, self.folder, unasked=True)
        return said or self._of_all(runs, backend, [one for one in chosen if _of_ranks(one)])

    def _all_seen(self, mutant: Mutant, backend: Any, chosen: Sequence[Any]) -> str:
        """What of these instances, or else of the laws, sees the mutant."""
        panel = self.panel()
        sound = {one.id for one in panel.sound}
        runs = hosting.Panel([one for one in chosen if one.case.method == "run"], self.folder, unasked=True)
        for one in chosen:
            said = self._of_all(panel if one.id in sound else runs, backend, [one])
            if said:
                return said
        for method in () if self.only else AREAS[mutant.area].methods:
            law = self._law(backend, method)
            if law:
                return law
        return ""

    def _of_all(self, panel: hosting.Panel, backend: Any, chosen: Sequence[Any]) -> str:
        for one in chosen:
            limit(_SECONDS)
            for found in panel.failures(backend, [one]):
                return found.id
        limit(0)
        return ""

    def _law(self, backend: Any, method: str) -> str:
        chosen = tuple(one for one in asking.instances() if one.case.method == method)
        if not chosen:
            return ""
        claims = judge.Claims.of(backend.hello({"protocol": 1}))
        here: Any = hosting.Here(backend, self.folder)
        examples.SHRINKS = examples.FRESH_SHRINKS = 0
        plan = asking.Plan(_GRAPHS, 0, chosen, self.folder, self.shelf)
        limit(_SECONDS_OF_LAWS)
        records = asking.run(plan, "here", here, claims)
        limit(0)
        return next((record.instance.id for record in records if record.result.status == "fail"), "")


def _of_ranks(one: Any) -> bool:
    return "ranks" in one.case.params
