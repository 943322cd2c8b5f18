"""Changes the reference at random, one small change at a time, and asks whether the suite would call it conformant.

Usage: python benchmarks/mutation.py [--seed N] [--count N] [--area AREA]... [--coverage FILE] [--tensorflow]

A change is one of a comparison, a constant, a condition, an element of a literal, a statement. Each is judged as a
vendor's backend would be, in a process forked off a warm one: by cases, those first that have seen most, then by the
laws; the first that fails ends it. With `--coverage`, cases that do not come through the changed line are not asked.
With `--tensorflow`, by a Python that has it, runs on the device are asked as well: some areas are seen by them alone.
Those that nobody sees are looked up in `results/mutation/`, a file for each area, where each has been reviewed:
`equivalent` (no answer changes), `silent` (no document says which is right) or `hole` (a document forbids it, and the
suite is blind). What is not reviewed counts as a hole. A `scope` there is a function, a file or a folder of which
nothing is drawn, since no document speaks of it or no answer shows it. Printed is the score by area: killed of killed
and holes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from changes import AREAS, ROOT, Mutant, drawn, entries, mutants, seen_before

for _room in ("impl", "conformance"):
    sys.path.insert(0, os.path.join(ROOT, _room))

from mutating.asking import Asker  # noqa: E402

__all__ = [
    "AREAS", "Mutant", "Score", "drawn", "entries", "judged", "main", "mutants", "reviewed", "scores", "seen_before",
]  # fmt: skip


class Score(NamedTuple):
    """Of an area: changes seen, holes, not reviewed, equivalent, and where all documents are silent."""

    killed: int
    holes: int
    unreviewed: int
    equivalent: int
    silent: int

    @property
    def share(self) -> float:
        """Percent of what the documents forbid that is seen; what is not reviewed counts as a hole."""
        forbidden = self.killed + self.holes + self.unreviewed
        return 100.0 * self.killed / forbidden if forbidden else 100.0


def reviewed() -> Dict[str, str]:
    """Name of a survivor to its class."""
    return {one["name"]: one["class"] for one in entries("survivor")}


def judged(
    chosen: Sequence[Mutant],
    seconds: float,
    report: Any = None,
    tensorflow: bool = False,
    coverage: Optional[str] = None,
    first: Optional[Dict[str, str]] = None,
    only: Sequence[str] = (),
) -> List[Tuple[Mutant, str]]:
    """(mutant, what sees it) of as many as the time allows; arguments as of :class:`Asker`."""
    found: List[Tuple[Mutant, str]] = []
    areas = list(dict.fromkeys(one.area for one in chosen))
    with tempfile.TemporaryDirectory(prefix="npu-mutation-") as folder:
        asker = Asker(folder, areas, tensorflow, coverage, first, only)
        end = time.monotonic() + seconds
        for one in chosen:
            if time.monotonic() > end:
                break
            found.append((one, asker.seen(one)))
            if report is not None:
                report(*found[-1], asker.reached(one))
    return found


def scores(found: Sequence[Tuple[Mutant, str]], known: Dict[str, str]) -> Dict[str, Score]:
    """Area to its score."""
    made = {}
    for area in dict.fromkeys(one.area for one, _ in found):
        of = Counter("killed" if seen else known.get(one.name, "") for one, seen in found if one.area == area)
        made[area] = Score(of["killed"], of["hole"], of[""], of["equivalent"], of["silent"])
    return made


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Prints the score by area, and survivors that nobody has reviewed; 1 when there are some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, help="changes of each area (40; with --seen all)")
    parser.add_argument("--area", action="append", choices=sorted(AREAS), help="only this area; may be repeated")
    parser.add_argument("--tensorflow", action="store_true", help="ask runs, too, by the TensorFlow of this Python")
    parser.add_argument("--coverage", metavar="FILE", help="keeps which lines a case runs through (asked once)")
    parser.add_argument("--name", action="append", help="only this change; may be repeated")
    parser.add_argument("--case", action="append", help="ask only cases with this in their id; may be repeated")
    parser.add_argument("--seen", action="store_true", help="ask those again that are listed as seen, and no others")
    parser.add_argument("--told", action="store_true", help="say of those that are seen by what")
    parser.add_argument("--seconds", type=float, default=600.0, help="time after which no more are judged (600)")
    given = parser.parse_args(arguments)
    areas = given.area or [name for name, area in AREAS.items() if given.tensorflow or area.methods != ("run",)]
    chosen = [] if given.seen else drawn(given.seed, areas, 40 if given.count is None else given.count)
    if given.name:
        chosen = [one for area in areas for one in mutants(area) if one.name in given.name]
    listed = {one["name"]: one.get("by", "") for area in areas for one in entries("seen", area)} if given.seen else {}
    if given.seen:
        chosen = [one for area in areas for one in seen_before(area, given.count, given.seed)]
    known = reviewed()

    def report(one: Mutant, seen: str, reached: int) -> None:
        print("." if seen else "?", end="", file=sys.stderr, flush=True)
        if not seen and one.name not in known:
            through = f"  through {reached} cases" if reached >= 0 else ""
            print(f"unseen  {one.name}  line {one.line}  {one.change}{through}", flush=True)
        elif seen and given.told:
            print(f"seen    {one.name}  by {seen}", flush=True)

    found = judged(chosen, given.seconds, report, given.tensorflow, given.coverage, listed, given.case or ())
    made = scores(found, known)
    print(
        f"\n{'area':10} {'asked':>5} {'killed':>6} {'holes':>5} {'not reviewed':>12} {'equivalent':>10} {'silent':>6}"
        f" {'score':>6}"
    )
    for area, one in made.items():
        asked = sum(one)
        print(f"{area:10} {asked:5} {one.killed:6} {one.holes:5} {one.unreviewed:12} {one.equivalent:10} {one.silent:6}"
              f" {one.share:5.1f}%")  # fmt: skip
    unseen = sum(not seen for _, seen in found)
    print(json.dumps({"seed": given.seed, "asked": len(found), "of": len(chosen), "unseen": unseen}))
    return 1 if any(one.unreviewed for one in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
