"""Kills programs that leave files, at random moments, and says whether anything torn was left that a later one trusts.

Usage: python benchmarks/killed_writers.py [--tries N] [--seed N]

A try forks a program that compiles models
with kernel files, a cache, external weights and fusion results in one folder, over and over, and kills it (SIGKILL)
after a random time. Then every file is looked at by itself, and another program compiles the same models: what it takes
from the cache must be whole. Nothing is written outside a temporary folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference.artifacts.binaries import seal_of  # noqa: E402
from tests.artifacts.making import Machine, apart, dense  # noqa: E402

VALUES = {
    "op_compiler_cache_mode": "enable", "op_compiler_cache_dir": "/k", "external_weight": True,
    "export_compile_stat": 2,
}  # fmt: skip
_LONGEST = 0.25  # seconds a program lives at most; it leaves all files several times in that


def program(machine: Machine, seed: int) -> None:
    """Compiles for ever, in an order of its own."""
    order = random.Random(seed)
    while True:
        leaving = machine.program()
        for _ in range(4):
            rows, weight = order.randrange(1, 5), order.choice([0.25, 0.5, 0.75])
            machine.compile(apart(rows), program=leaving, session=1, **order.choice([{}, {"op_debug_level": 1}]))
            machine.compile(dense(weight, 64), program=leaving, session=2, op_compiler_cache_mode="enable")
        leaving.end()


def faults(folder: Path) -> Iterator[str]:
    """What is torn among the files that have their names."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith("."):
            continue
        data = path.read_bytes()
        weight = re.match(r"weight_([0-9a-f]{64})\Z", path.name)
        if weight and hashlib.sha256(data).hexdigest() != weight.group(1):
            yield f"{path.name} is no such weight"
        if path.suffix == ".json":
            try:
                value = json.loads(data.decode("utf-8"))
            except ValueError:
                yield f"{path.name} is torn"
                continue
            if "seal" in value and value["seal"] != seal_of(value):
                yield f"{path.name} is not as it was written"
            code = path.with_suffix(".o")
            told = value.get("sha256") if code.exists() else None
            if told is not None and hashlib.sha256(code.read_bytes()).hexdigest() != told:
                yield f"{code.name} is not what its description says"


def one(folder: Path, seed: int) -> Dict[str, int]:
    """A program killed at a random moment; counts of what was found."""
    chance = random.Random(seed)
    machine = Machine(folder, **VALUES)
    child = os.fork()
    if child == 0:
        try:
            program(machine, seed)
        finally:
            os._exit(1)
    time.sleep(chance.uniform(0.0, _LONGEST))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = {"torn": 0, "aside": 0, "entries": 0, "refused": 0, "taken": 0}
    for fault in faults(folder):
        found["torn"] += 1
        print(f"try {seed}: {fault}", flush=True)
    found["aside"] = len(list(folder.rglob("*.part")))
    found["entries"] = len(list(folder.rglob("kernel_cache/**/*.json")))
    later = Machine(folder, **VALUES)
    later.programs = 1_000_000
    leaving = later.program()
    for rows in range(1, 5):
        left = later.compile(apart(rows), program=leaving, session=1)
        found["taken"] += left.hits
        found["refused"] += sum(note.code == "CACHE_ENTRY" for note in left.notes)
    leaving.end()
    return found


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    totals: Dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="npu-killed-") as outer:
        for number in range(asked.tries):
            # A folder is used ten times, so that what one try left is what the next one finds.
            folder = Path(outer) / str(number // 10)
            folder.mkdir(exist_ok=True)
            for name, count in one(folder, asked.seed + number).items():
                totals[name] = totals.get(name, 0) + count
    print(f"{asked.tries} programs killed: " + ", ".join(f"{count} {name}" for name, count in totals.items()))
    return 1 if totals["torn"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
