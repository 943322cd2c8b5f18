"""Measures a whole run of the suite against the reference: start-up, one worker, two workers.

Usage: python benchmarks/run.py [--repeat 1] [--laws 200]

Prints wall and processor seconds of each, and the ratio of one worker's wall time to two's. Ratios are of one run on
one machine; seconds of a machine that others use too say little. Exit status 1: two workers are less than 1.7 times as
fast as one on at least two processors, or start-up takes half a second.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import List, Tuple

RATIO, START = 1.7, 0.5


def command(*words: str) -> List[str]:
    return [sys.executable, "-m", "npu_conformance", *words]


def measured(words: List[str]) -> Tuple[float, float]:
    """(wall, processor) seconds of a command with all that came of it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(words: List[str], repeat: int) -> Tuple[float, float]:
    return min(measured(words) for _ in range(repeat))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=1, help="the best of so many")
    parser.add_argument("--laws", default="200")
    given = parser.parse_args()
    rows = [("--help", best(command("--help"), 3)), ("options", best(command("options", "mix_compile_mode=true"), 3))]
    with tempfile.TemporaryDirectory() as folder:
        for jobs in ("1", "2"):
            words = command("run", "-n", jobs, "--laws", given.laws, "--out", os.path.join(folder, jobs))
            rows.append((f"run -n {jobs}", best(words, given.repeat)))
    print(f"{'':12} {'wall s':>8} {'processor s':>12}")
    for name, (wall, used) in rows:
        print(f"{name:12} {wall:8.2f} {used:12.2f}")
    ratio = rows[2][1][0] / rows[3][1][0]
    print(f"two workers are {ratio:.2f} times as fast as one; {os.cpu_count()} processors")
    slow_start = max(used for _, (_, used) in rows[:2]) >= START
    return int(slow_start or ((os.cpu_count() or 1) >= 2 and ratio < RATIO))


if __name__ == "__main__":
    sys.exit(main())
