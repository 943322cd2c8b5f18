"""Kills programs that leave profiles and tuning files, at random moments, and says whether anything torn was left.

Usage: python benchmarks/killed_profiles.py [--tries N] [--seed N]

A try forks a program that writes profile trees and a bank of tiles into one folder, over and over, and kills it
(SIGKILL) after a random time. Then every tree that has its name must hold just what its name says, and the bank must be
whole. Nothing is written outside a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence, Tuple

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference import profiling, tuning  # noqa: E402
from npu_reference.hardware import built_in  # noqa: E402
from npu_reference.profiling.collected import Collected  # noqa: E402
from tests.timing.networks import mlp, step  # noqa: E402

_LONGEST = 0.15  # seconds a program lives at most; it leaves all files several times in that


@lru_cache(maxsize=1)
def made_before() -> Tuple[Any, ...]:
    """Steps of a few nets: made once, so that programs spend their lives writing."""
    return tuple(step(*mlp(layers=layers, batch=330, width=210)) for layers in (1, 2, 4))


def program(folder: str, seed: int) -> None:
    """Leaves files for ever, of one of a few nets at a time."""
    order, steps = random.Random(seed), made_before()
    plan = tuning.TuningPlan("2", folder, None, None, True)
    while True:
        made = order.choice(steps)
        wanted = Collected(folder, True, True, True, "", "", order.choice(["Memory", "PipeUtilization"]))
        profiling.write(folder, profiling.files([profiling.ProfiledRun(made)], wanted))
        tuned = tuning.tune([made.compiled], plan)
        for name, content in tuning.result_files(plan, tuned, built_in(), {}).items():
            tuning.write(os.path.join(folder, name), content)


def faults(folder: Path) -> Iterator[str]:
    """What is torn among what has its name."""
    for tree in sorted(folder.glob("PROF_*")):
        content = {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        number = int(tree.name.split("_")[1])
        if profiling.tree.name_of(number, content) != tree.name:
            yield f"{tree.name} does not hold what its name says"
    _, complaint = tuning.read(str(folder), built_in())
    if complaint is not None:
        yield complaint


def tried(folder: str, seed: int, longest: float = _LONGEST) -> None:
    """One program, killed."""
    made_before()
    child = os.fork()
    if child == 0:
        try:
            program(folder, seed)
        finally:
            os._exit(1)
    time.sleep(random.Random(seed).uniform(0.0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    found, trees = [], 0
    for number in range(given.tries):
        with tempfile.TemporaryDirectory(prefix="npu-killed-") as folder:
            tried(folder, given.seed + number)
            tried(folder, given.seed + number + given.tries)  # a second one goes on where the first was killed
            trees += len(list(Path(folder).glob("PROF_*")))
            found += list(faults(Path(folder)))
    print(f"{given.tries} tries, {trees} trees, {len(found)} torn")
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
