"""Judges lawful backends, and says which of them the suite fails, by which cases and laws.

Usage: python benchmarks/lawful_backends.py [--area AREA ...] [--only NAME ...] [--laws N] [--recorded FILE] [--all]

Each backend of `lawful/` is the reference with one thing done otherwise that the documents leave open, so all must be
conformant. Prints a line for each that is not, and what fails it: the first ten cases and laws, all with `--all`. What
the reference answers in `run` is kept in FILE, as by `faulty_backends.py`. Exit status 1: one is not conformant.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Iterator, List

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "..", "impl"), os.path.join(_HERE, "..", "conformance")]

import faulty_backends  # noqa: E402
from faulty import making  # noqa: E402
from lawful import LAWFUL  # noqa: E402

from npu_conformance.backends.reference import tensorflow_version  # noqa: E402
from npu_conformance.judging import judge  # noqa: E402
from npu_conformance.library import library  # noqa: E402

__all__ = ["failing"]

_SHOWN = 10


def failing(one: making.Faulty, panels: faulty_backends.Panels) -> Iterator[str]:
    """The cases that a backend is asked and does not pass, with what differs, and the laws that it breaks."""
    claims = judge.Claims.of(one.backend.hello({"protocol": 1}))
    for method in _here(one):
        panel = panels.of(method)
        asked = [instance for instance in panel.sound if judge.applicable(instance, claims) is None]
        for instance in panel.failures(one.backend, asked):
            result = panel.result(one.backend, instance)
            yield f"{instance.id}: {result.detail[:200] if result else ''}"
    if panels.graphs:
        yield from faulty_backends.broken_laws(one, panels)


def _here(one: making.Faulty) -> List[str]:
    """The methods of a backend that can be asked here: runs need TensorFlow."""
    return [method for method in one.methods if method != "run" or tensorflow_version() is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--area", action="append", help="only backends of this area")
    parser.add_argument("--only", nargs="+", help="only these backends")
    parser.add_argument("--laws", type=int, default=20, help="random graphs asked for the laws; 0 asks no law")
    parser.add_argument("--recorded", help="where answers of runs are kept")
    parser.add_argument("--all", action="store_true", help="print all that fails one")
    given = parser.parse_args()
    begun, failed, asked = time.time(), 0, 0
    with faulty_backends.recorded(given.recorded), faulty_backends.Panels(library.load(), given.laws) as panels:
        for one in LAWFUL.values():
            if (given.area and one.area not in given.area) or (given.only and one.name not in given.only):
                continue
            if not _here(one):
                continue
            asked += 1
            found: List[str] = list(failing(one, panels))
            failed += bool(found)
            if found:
                print(f"{one.area} {one.name}: {len(found)} fail it; {one.sentence}")
                for line in found if given.all else found[:_SHOWN]:
                    print(f"    {line}")
            sys.stdout.flush()
    print(json.dumps({"asked": asked, "conformant": asked - failed, "seconds": round(time.time() - begun)}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
