"""Where the time of the test command goes: each tox environment created, collected and tested, with its slowest tests.

Usage: python benchmarks/ci.py [--env core ...] [--slowest 40] [--out DIR] [--slow SECONDS]

Runs one environment after the other, in the checkout that holds this file, with the tox of this interpreter. Prints, in
wall and processor seconds: creating and installing; from the start of pytest to the first test; testing; and the share
of the testing time in which at most one and a third processors were busy (the whole machine's, so it must be idle
otherwise). Then the slowest tests, and the slowest files. `--out` keeps one JSON line a test. `--slow` writes the tests
that the quickest run of them (NPU_TESTS_DEPTH=first) leaves out: those that took longest, until the others take so many
seconds together; a test that several environments run counts once. Exit status 1: an environment failed.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time
from typing import Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Below this many busy processors a moment counts as one in which only one is busy.
ONE_BUSY = 1.34
PERIOD = 0.5
#: What sees most for its time is never left out by the quickest run; what asks whom the suite sees always is.
ALWAYS = ("tests/cases/test_reference.py",)
NEVER = ("tests/cases/test_faulty_backends.py", "tests/cases/test_mutants.py")

#: Written into the folder of results and loaded by pytest there: what each test took, from the process that ran it.
PLUGIN = '''
import json, os, pathlib, resource, time

FOLDER, LINES, STARTED = pathlib.Path(os.environ["CI_RESULTS"]), [], {}


def used():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def pytest_collection_finish(session):
    LINES.append({"collected": len(session.items), "at": time.time()})


def pytest_runtest_logstart(nodeid, location):
    STARTED[nodeid] = time.time(), used()


def pytest_runtest_logfinish(nodeid, location):
    if nodeid in STARTED:
        at, cpu = STARTED.pop(nodeid)
        LINES.append({"test": nodeid, "at": at, "wall": time.time() - at, "cpu": used() - cpu})


def pytest_unconfigure(config):
    worker = os.environ.get("PYTEST_XDIST_WORKER", "" if getattr(config.option, "numprocesses", 0) else "gw0")
    if worker:
        with open(FOLDER / f"{worker}.jsonl", "w") as file:
            file.writelines(json.dumps(line) + "\\n" for line in LINES)
'''


def processor_seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Busy(threading.Thread):
    """Samples how many processors of the machine are busy, until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: List[Tuple[float, float]] = []
        self.ended = threading.Event()

    @staticmethod
    def total() -> float:
        with open("/proc/stat") as file:
            user, nice, system = (int(word) for word in file.readline().split()[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK")

    def run(self) -> None:
        at, used = time.time(), self.total()
        while not self.ended.wait(PERIOD):
            now, total = time.time(), self.total()
            self.samples.append((now, (total - used) / (now - at)))
            at, used = now, total


def timed(words: List[str], variables: Dict[str, str], log: pathlib.Path) -> Tuple[int, float, float]:
    """(exit status, wall seconds, processor seconds) of a command and its children."""
    began, used = time.time(), processor_seconds(resource.RUSAGE_CHILDREN)
    with log.open("ab") as file:
        status = subprocess.run(
            words, cwd=ROOT, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        ).returncode
    return status, time.time() - began, processor_seconds(resource.RUSAGE_CHILDREN) - used


def measured(env: str, folder: pathlib.Path) -> Tuple[dict, List[dict]]:
    """One environment's row of the table, and a line for each test that ran in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ci_plugin.py").write_text(PLUGIN)
    log = folder / "log.txt"
    tox = [sys.executable, "-m", "tox", "run", "-e", env]
    failed, wall, used = timed([*tox, "--recreate", "--notest"], {}, log)
    row = {"env": env, "create": wall, "create cpu": used, "status": failed}
    busy = Busy()
    busy.start()
    began = time.time()
    words = [*tox, "--skip-pkg-install", "-x", "testenv.pass_env+=PYTEST_ADDOPTS", "-x", "testenv.pass_env+=PYTHONPATH"]
    variables = {
        "PYTEST_ADDOPTS": "-p ci_plugin", "PYTHONPATH": str(folder), "CI_RESULTS": str(folder),
    }  # fmt: skip
    words += ["-x", "testenv.pass_env+=CI_RESULTS"]
    status, wall, used = timed(words, variables, log)
    busy.ended.set()
    busy.join()
    lines = [json.loads(line) for path in sorted(folder.glob("gw*.jsonl")) for line in path.read_text().splitlines()]
    tests = [line for line in lines if "test" in line]
    first = min((line["at"] for line in tests), default=began + wall)
    testing = [share for at, share in busy.samples if at >= first]
    row.update({
        "status": failed or status,
        "collect": first - began,
        "test": wall - (first - began),
        "test cpu": used,
        "alone": sum(share < ONE_BUSY for share in testing) / len(testing) if testing else 0.0,
        "tests": len(tests),
    })  # fmt: skip
    return row, [{"env": env, **line} for line in tests]


def printed(rows: List[dict], tests: List[dict], slowest: int) -> None:
    print(f"{'environment':12} {'create s':>9} {'cpu':>6} {'collect s':>9} {'test s':>8} {'cpu':>7}", end=" ")
    print(f"{'one busy':>8} {'tests':>6}")
    for row in rows:
        print(
            f"{row['env']:12} {row['create']:9.1f} {row['create cpu']:6.1f} {row['collect']:9.1f} {row['test']:8.1f} "
            f"{row['test cpu']:7.1f} {row['alone']:8.0%} {row['tests']:6}" + (" failed" if row["status"] else "")
        )
    files: Dict[Tuple[str, str], List[float]] = collections.defaultdict(list)
    for one in tests:
        files[one["env"], one["test"].split("::")[0]].append(one["wall"])
    for title, found in (
        (f"the {slowest} slowest tests", [(one["wall"], one["env"], one["test"]) for one in tests]),
        (f"the {slowest} slowest files", [(sum(walls), *name) for name, walls in files.items()]),
    ):
        print(f"\n{title}, in wall seconds")
        for wall, env, name in sorted(found, reverse=True)[:slowest]:
            print(f"{wall:8.1f} {env:12} {name}")


def slow(tests: List[dict], seconds: float) -> List[str]:
    """Names of the tests, longest first left out, without which the others take so many seconds.

    A test stands without its parameters, and a file without its tests, where all of them are left out.
    """
    took: Dict[str, float] = {}
    for one in tests:
        took[one["test"]] = max(took.get(one["test"], 0.0), one["wall"])
    kept = {name for name in took if name.startswith(ALWAYS)}
    total = sum(took[name] for name in kept)
    for name in sorted(set(took) - kept, key=lambda name: (took[name], name)):
        if not name.startswith(NEVER) and total + took[name] <= seconds:
            total += took[name]
            kept.add(name)
    stays = {part for name in kept for part in parts(name)}
    left = {next(part for part in parts(name) if part not in stays) for name in set(took) - kept}
    return sorted(left)


def parts(name: str) -> Tuple[str, str, str]:
    """The file of a test, the test without its parameters, and the test."""
    return name.partition("::")[0], name.partition("[")[0], name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--env", action="append", help="an environment; every one where none is given")
    parser.add_argument("--slowest", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, help="a folder for logs and one JSON line a test")
    parser.add_argument("--slow", type=float, metavar="SECONDS", help="write tests/slow.txt: the others take so long")
    given = parser.parse_args()
    listed = subprocess.run(
        [sys.executable, "-m", "tox", "list", "--no-desc", "-q"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.out or pathlib.Path(scratch)).resolve()
        rows, tests = [], []
        for env in given.env or listed.split():
            row, lines = measured(env, folder / env)
            rows.append(row)
            tests += lines
            (folder / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in tests))
            (folder / "rows.json").write_text(json.dumps(rows, indent=1))
            took = " + ".join(f"{row[part]:.0f}" for part in ("create", "collect", "test"))
            print(f"{env}: {took} s", file=sys.stderr, flush=True)
        printed(rows, tests, given.slowest)
        if given.slow:
            names = slow(tests, given.slow)
            (ROOT / "tests" / "slow.txt").write_text("".join(f"{name}\n" for name in names), "utf-8")
    return int(any(row["status"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
