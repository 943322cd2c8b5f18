"""Measures a whole run of the suite against the reference, and the start of short commands.

Usage: python benchmarks/run.py [--repeat 1] [--starts]

Prints wall and processor seconds of each, and ratios: of short commands to a program of click that only tells its
version, of a run to a thorough one and to one without laws, and of one worker's wall time to two's. Short commands are
asked in turn, 15 times each, and the median is told; --starts measures nothing else. Ratios are of one run on one
machine; seconds of a machine that others use too say little. Exit status 1: two workers are less than 1.7 times as
fast as one on at least two processors, or a start takes half a second of a processor.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple

RATIO, START = 1.7, 0.5

GRAPH = os.path.join(os.path.dirname(__file__), "..", "fixtures", "graphs", "artifacts", "clip_boxes.pbtxt")

BARE = """
import click
@click.group()
@click.version_option("1")
def main():
    pass
main(["--version"])
"""

#: Commands that are to answer at once.
SHORT = {
    "--version": ["--version"], "--help": ["--help"], "options": ["options", "mix_compile_mode=true"],
    "partition": ["partition", GRAPH, "-o", "mix_compile_mode=true"], "explain": ["explain", "A19"],
    "lint": ["lint", __file__],
}  # fmt: skip

#: Runs, by what is said of them.
RUNS = {
    "run -n 1": ["-n", "1"],
    "run -n 2": ["-n", "2"],
    "run -n 1 --laws 0": ["-n", "1", "--laws", "0"],
    "run -n 1 --thorough": ["-n", "1", "--thorough"],
}


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
    return min((measured(words) for _ in range(repeat)), key=lambda one: one[1])


def starts(times: int = 15) -> Dict[str, Tuple[float, float]]:
    """Medians of short commands, asked in turn: the speed of a machine that others use changes within seconds."""
    asked = {"nothing": [sys.executable, "-c", "pass"], "bare click": [sys.executable, "-c", BARE]}
    asked.update((name, command(*words)) for name, words in SHORT.items())
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the first of each compiles, for the others that count
    found = [{name: measured(words) for name, words in asked.items()} for _ in range(times + 1)][1:]
    walls, used = ({name: statistics.median(one[name][place] for one in found) for name in asked} for place in (0, 1))
    return {name: (walls[name], used[name]) for name in asked}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=1, help="the best of so many")
    parser.add_argument("--starts", action="store_true", help="short commands only")
    given = parser.parse_args()
    found = starts()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in () if given.starts else RUNS.items():
            found[name] = best(command("run", *words, "--out", os.path.join(folder, name)), given.repeat)
    print(f"{'':20} {'wall s':>8} {'processor s':>12}")
    for name, (wall, used) in found.items():
        print(f"{name:20} {wall:8.3f} {used:12.3f}")

    def ratio(one: str, other: str, place: int = 1) -> float:
        return found[one][place] / found[other][place]

    for name in SHORT:
        print(f"{name} takes {ratio(name, 'bare click'):.2f} times as long as a bare program of click")
    slow_start = max(found[name][1] for name in SHORT) >= START
    if given.starts:
        return int(slow_start)
    for other in ("run -n 1 --thorough", "run -n 1 --laws 0"):
        print(f"a run takes {ratio('run -n 1', other):.2f} of the processor that {other} takes")
    faster = ratio("run -n 1", "run -n 2", 0)
    print(f"two workers are {faster:.2f} times as fast as one; {os.cpu_count()} processors")
    return int(slow_start or ((os.cpu_count() or 1) >= 2 and faster < RATIO))


if __name__ == "__main__":
    sys.exit(main())
