"""Gives hostile inputs to everything that reads what others wrote, and says what answers otherwise than it should.

Usage: python benchmarks/fuzz.py [--count 200000] [--seed 0] [--first 0] [--processes 1] [--kind K] [--summary FILE]

Kinds: option values and grammars; graphs (.pb, .pbtxt, .gz); operator lists, operator information, option files, lists
of known failures; lines that the worker reads; answers that the suite reads and judges; command lines. Of each only an
NpuError, an answer of the protocol, or an exit status of the design may come, within ten seconds and 3 GiB. Input N
depends on the seed and N alone. A finding is made small and printed with what it does; exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import platform
import random
import resource
import signal
import sys
import tempfile
import time

from fuzzing import ROOT

sys.path[:0] = [os.path.join(ROOT, "impl"), os.path.join(ROOT, "conformance"), ROOT]

from fuzzing.doors import KINDS, prepared  # noqa: E402
from fuzzing.trying import SECONDS, hang, shown, small, tried  # noqa: E402

CHUNK = 2000  # inputs of one process
MEMORY = 3 << 30


def input_of(kinds, seed, number, only):
    r = random.Random(f"{seed}/{number}")
    names = [only] if only else list(KINDS)
    name = r.choices(names, [KINDS[one][1] for one in names])[0]
    return name, kinds[name].make(r)


def chunk(state, seed, first, count, only, at, results):
    """Tries some inputs; says which, so that a death has its number."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, hang)
    counts, findings = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="npu-fuzz-") as folder:
        os.chdir(folder)
        kinds = {name: kind({**state, "folder": folder}) for name, (kind, _) in KINDS.items()}
        for number in range(first, first + count):
            at.value = number
            name, given = input_of(kinds, seed, number, only)
            counts[name] += 1
            fault = tried(kinds[name], given)
            if fault:
                findings.append((number, name, fault, shown(small(kinds[name], given, fault))))
        os.chdir(ROOT)
    results.send((counts, findings))


def run(arguments):
    """All chunks; yields (counts, findings) of each as it ends."""
    context = multiprocessing.get_context("fork")
    state = prepared()
    todo = list(range(arguments.first, arguments.first + arguments.count, CHUNK))
    running = []
    while todo or running:
        while todo and len(running) < arguments.processes:
            first = todo.pop(0)
            count = min(CHUNK, arguments.first + arguments.count - first)
            ours, theirs = context.Pipe(False)
            at = context.Value("q", first)
            process = context.Process(
                target=chunk, args=(state, arguments.seed, first, count, arguments.kind, at, theirs)
            )
            process.start()
            theirs.close()
            running.append((process, ours, at))
        process, ours, at = running.pop(0)
        try:
            if not ours.poll(CHUNK * SECONDS / 5):
                process.kill()
                raise EOFError
            yield ours.recv()
        except EOFError:
            process.join()
            yield collections.Counter(), [(at.value, "?", f"its process ended with {process.exitcode}", "")]
        process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--summary", help="where to write the summary as well")
    arguments = parser.parse_args()
    counts, findings, began = collections.Counter(), [], time.monotonic()
    for some, found in run(arguments):
        counts.update(some)
        findings += found
        for number, name, fault, given in found:
            print(f"{arguments.seed}/{number} {name}: {fault}\n  {given}", flush=True)
    lines = [
        f"{sum(counts.values())} inputs from {arguments.first} of seed {arguments.seed}",
        f"Python {platform.python_version()}, {time.monotonic() - began:.0f} s",
        *[f"{name}: {number}" for name, number in sorted(counts.items())],
        f"findings: {len(findings)}",
    ]
    print("\n".join(lines))
    if arguments.summary:
        with open(arguments.summary, "w", encoding="ascii") as stream:
            stream.write("\n".join(lines) + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
