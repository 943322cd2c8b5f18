"""Plants small mistakes in the source, one at a time, and asks whether a test command sees each.

Usage: python benchmarks/planted.py [--count 60] [--seed 0] [--only N ...] [--near] [--out FILE] -- COMMAND ...

Mistakes are changes of one place, drawn by the seed: those of the reference as `mutation.py` draws them, without the
changes that were reviewed as changing no answer or as left open by the documents, and one in five of the suite's own
code. Each is made in a copy of this checkout, whose packages the command imports (`PYTHONPATH`). With `--near` only the
tests near the mistake are asked, by the same command with their folders: what they see the whole command sees, so the
count is a lower bound. `--only` asks the mistakes of these numbers. A line a mistake says what was changed, whether the
command failed, by which test, and after how many seconds; the last line counts. Exit status 1: fewer than nine of ten
were seen.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, NamedTuple, Sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import changes
import mutation

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Of five mistakes, how many are in the suite's own code.
OF_THE_SUITE = 5
#: Rooms of the suite whose code decides what a user sees.
ROOMS = ("judging", "library", "lint", "models", "observing", "protocol", "report", "running", "commands", "inspecting")
SHARE = 0.9
#: Tests of a room that has no folder of its name, and those that see most of the reference's mistakes.
NEAR = {"compiler": "timing", "hardware": "timing", "surface": "npu_bridge", "lint": "lint"}
CASES = "tests/cases/test_reference.py"


class Planted(NamedTuple):
    """A mistake: the file, relative to the checkout, its new text, and words that say what changed."""

    path: str
    text: str
    words: str


def planted(path: pathlib.Path, index: int) -> Planted:
    """The change of that number in a file, made in its text, so that everything else stays as it stands."""
    source = path.read_text("utf-8")
    finder = changes.Finder()
    finder.visit(ast.parse(source))
    node, kind, part = finder.found[index]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        node = node.test
        new = f"(not ({segment(source, node)}))"
    else:
        new = ast.unparse(ast.fix_missing_locations(changes.replaced(node, kind, part)))
        new = f"({new})" if isinstance(node, (ast.Compare, ast.BoolOp)) else new
    rows = source.encode("utf-8").split(b"\n")
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row) + 1)
    begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    raw = source.encode("utf-8")
    text = (raw[:begin] + new.encode("utf-8") + raw[end:]).decode("utf-8")
    ast.parse(text)
    words = f"{path.relative_to(ROOT)}:{node.lineno} [{kind}] {segment(source, node)[:60]!r} -> {new[:60]!r}"
    return Planted(str(path.relative_to(ROOT)), text, " ".join(words.split()))


def segment(source: str, node: ast.AST) -> str:
    return ast.get_source_segment(source, node) or ""


def drawn(seed: int, count: int, areas: Sequence[str]) -> List[Planted]:
    """Mistakes by the seed: areas in turn, then the suite's own rooms."""
    draw = random.Random(f"planted/{seed}")
    known = {name for name, kind in mutation.reviewed().items() if kind in ("equivalent", "silent")}
    pools = {area: [one for one in changes.mutants(area) if one.name not in known] for area in areas}
    found: List[Planted] = []
    ours = [
        (path, index) for room in ROOMS for path in sorted((ROOT / "conformance/npu_conformance" / room).rglob("*.py"))
        for index in range(places(path))
    ]  # fmt: skip
    while len(found) < count:
        if ours and len(found) % OF_THE_SUITE == OF_THE_SUITE - 1:
            path, index = draw.choice(ours)
        else:
            one = draw.choice(pools[areas[len(found) % len(areas)]])
            path, index = pathlib.Path(one.path), one.index
        found.append(planted(path.resolve(), index))
    return found


def places(path: pathlib.Path) -> int:
    finder = changes.Finder()
    finder.visit(ast.parse(path.read_text("utf-8")))
    return len(finder.found)


def near(path: str) -> List[str]:
    """The tests near a file of the checkout."""
    package, room = path.split("/")[1:3]
    name = NEAR.get(room, room) if package == "npu_reference" else NEAR.get(room, package.replace("npu_c", "c"))
    return [f"tests/{name}", CASES] if (ROOT / "tests" / name).is_dir() else [CASES]


def asked(one: Planted, command: Sequence[str], copy: pathlib.Path) -> Dict[str, object]:
    """What the command says of the copy with the mistake, which is taken out again."""
    path = copy / one.path
    before = path.read_text("utf-8")
    path.write_text(one.text, "utf-8")
    paths = os.pathsep.join(str(copy / room) for room in ("impl", "conformance"))
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=copy, env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    finally:
        path.write_text(before, "utf-8")
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    by = next((line for line in lines if line.startswith(("FAILED ", "ERROR ", "E   "))), lines[-1] if lines else "")
    seconds = round(time.monotonic() - began, 1)
    return {"mistake": one.words, "seen": done.returncode != 0, "by": by[:150] if done.returncode else "", "s": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", action="append", choices=sorted(changes.AREAS))
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mistakes, from 0")
    parser.add_argument("--near", action="store_true", help="ask the tests near a mistake alone")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    chosen = drawn(given.seed, given.count, given.area or list(changes.AREAS))
    rows: List[Dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="npu-planted-") as folder:
        copy = pathlib.Path(folder) / "checkout"
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        for name in names.decode("utf-8").split("\0")[:-1]:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
        for number in given.only or range(len(chosen)):
            one = chosen[number]
            command = [*given.command, *near(one.path)] if given.near else given.command
            rows.append({"number": number, **asked(one, command, copy)})
            print(json.dumps(rows[-1]), flush=True)
            if given.out:
                given.out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    seen = sum(bool(row["seen"]) for row in rows)
    print(f"{seen} of {len(rows)} seen")
    return int(seen < SHARE * len(rows))


if __name__ == "__main__":
    sys.exit(main())
