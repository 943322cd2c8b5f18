"""Runs every case that executes something again and again on a machine that is kept busy, and says what did not pass.

Usage: python benchmarks/load.py [--repeats 30] [--busy 8] [-k EXPR] [--spec SPEC] [--minutes 120] [--summary FILE]

A verdict must not depend on load. Beside the cases run `--busy` processes that compute without end, each of a priority
like ours. Each repetition is a run in fresh workers; every status but `pass` and `unsupported` is printed with its
detail as it comes. Ends after `--minutes`, whatever is left. Exit status 1 if anything did not pass.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import platform
import sys
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance")]

from npu_conformance.library import library, selection  # noqa: E402
from npu_conformance.running import lanes, runner  # noqa: E402


def spin(parent):
    """Computes until its parent has died."""
    while os.getppid() == parent:
        sum(range(1_000_000))


def cases(shelf, keyword):
    """The instances that run something, and those that those need."""
    wanted = selection.select(shelf, areas=(), editions=(), keyword=keyword, more=())
    return [instance for instance in wanted if instance.case.method == "run"]


def report(counts, odd, done, arguments, seconds):
    """The summary, line by line."""
    yield f"{done} of {arguments.repeats} repetitions, {arguments.busy} busy processes on {os.cpu_count()} processors"
    yield f"Python {platform.python_version()}, {arguments.spec}, {seconds:.0f} s"
    for status, number in sorted(counts.items()):
        yield f"{status}: {number}"
    for name, number in sorted(odd.items()):
        yield f"  {number} times {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--busy", type=int, default=8)
    parser.add_argument("--spec", default="reference")
    parser.add_argument("-k", dest="keyword", default="")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--summary", help="where to write the summary as well")
    arguments = parser.parse_args()
    shelf = library.load()
    instances = cases(shelf, arguments.keyword)
    print(f"{len(instances)} instances run something", flush=True)
    counts, odd, done, began = collections.Counter(), collections.Counter(), 0, time.monotonic()
    spinners = [multiprocessing.Process(target=spin, args=(os.getpid(),), daemon=True) for _ in range(arguments.busy)]
    for spinner in spinners:
        spinner.start()
    try:
        for repeat in range(arguments.repeats):
            if time.monotonic() - began > arguments.minutes * 60:
                break
            for record in runner.run(shelf, instances, arguments.spec, lanes.Settings()).records:
                counts[record.result.status] += 1
                if record.result.status not in ("pass", "unsupported"):
                    odd[f"{record.result.status} {record.instance.id}"] += 1
                    print(f"{repeat}: {record.instance.id} {record.result.status}: {record.result.detail}", flush=True)
            done += 1
    finally:
        for spinner in spinners:
            spinner.terminate()
    lines = list(report(counts, odd, done, arguments, time.monotonic() - began))
    print("\n".join(lines))
    if arguments.summary:
        with open(arguments.summary, "w", encoding="ascii") as stream:
            stream.write("\n".join(lines) + "\n")
    return 1 if odd or not counts["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
