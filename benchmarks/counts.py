"""Counts what a reader has to find the way in: lines of Python, long modules, class names that stand twice.

Usage: python benchmarks/counts.py

Counts the files that git tracks below the checkout that holds this program. `tests/architecture/test_counts.py` holds
the figures: they may fall.
"""

from __future__ import annotations

import ast
import collections
import pathlib
import subprocess
import sys
from typing import Dict, List, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: A module of more lines is hard to keep in mind.
LONG = 600
#: Folders whose classes are imported together.
DISTRIBUTIONS = ("impl/npu_reference", "conformance/npu_conformance", "impl/npu_bridge")

__all__ = ["Counts", "counts", "tracked"]


class Counts(NamedTuple):
    """Figures of a checkout.

    lines: of Python, by top folder; long: modules of more than :data:`LONG` lines, and how many they have; twice:
    class names that a distribution has in several modules, with the modules.
    """

    lines: Dict[str, int]
    long: Dict[str, int]
    twice: Dict[str, List[str]]


def tracked(root: pathlib.Path = ROOT) -> List[str]:
    """The Python files of a checkout, as git knows them."""
    done = subprocess.run(["git", "ls-files", "-z", "*.py"], cwd=root, stdout=subprocess.PIPE, check=True)
    return [name for name in done.stdout.decode("utf-8").split("\0") if name and (root / name).is_file()]


def counts(root: pathlib.Path = ROOT) -> Counts:
    """The figures of a checkout."""
    lines: Dict[str, int] = collections.Counter()
    long: Dict[str, int] = {}
    where: Dict[str, Dict[str, List[str]]] = {name: collections.defaultdict(list) for name in DISTRIBUTIONS}
    for name in tracked(root):
        text = (root / name).read_text("utf-8")
        length = text.count("\n")
        lines[name.partition("/")[0]] += length
        if length > LONG:
            long[name] = length
        for distribution, classes in where.items():
            if name.startswith(distribution + "/"):
                for node in ast.parse(text).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        classes[node.name].append(name)
    twice = {
        f"{distribution} {name}": found
        for distribution, classes in where.items()
        for name, found in classes.items()
        if len(found) > 1
    }
    return Counts(dict(lines), long, twice)


def main() -> int:
    found = counts()
    print(f"Python: {sum(found.lines.values()):,} lines")
    for folder, number in sorted(found.lines.items(), key=lambda item: -item[1]):
        print(f"  {folder:12} {number:8,}")
    print(f"modules of more than {LONG} lines: {len(found.long)}")
    for name, number in sorted(found.long.items(), key=lambda item: -item[1]):
        print(f"  {number:5} {name}")
    print(f"public classes of one name in a distribution: {len(found.twice)}")
    for name, places in sorted(found.twice.items()):
        print(f"  {name}: {', '.join(places)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
