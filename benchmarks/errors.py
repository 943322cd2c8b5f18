"""Runs every operator that waits beside everything that ends a run: plain, in mixed computing and fully offloaded.

Usage: python benchmarks/errors.py [--waits TEXT] [--ends TEXT] [--relation R] [--repeat N] [--verbose]

Prints what differs from plain TensorFlow: class, message, operator and NodeDef of the error, and what the run left. The
pairs are those of `tests/runtime/waiting.py`. Exit status 1: something differs, or hangs. Some minutes for one version
of TensorFlow; the tests run a part of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

_ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [os.path.join(_ROOT, "impl"), _ROOT]

import tensorflow.compat.v1 as tf  # noqa: E402

from npu_reference.runtime.sessions import activation  # noqa: E402
from tests.runtime import waiting  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--waits", default="", help="only what waits whose name holds this")
    parser.add_argument("--ends", default="", help="only ends whose name holds this")
    parser.add_argument("--relation", default="", choices=["", *waiting.RELATIONS])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each scene in each mode")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    given = parser.parse_args()
    tf.disable_eager_execution()
    activation.activate()
    begun, count, differing, hanging = time.time(), 0, 0, 0
    for waits, ends, relation in waiting.pairs():
        if given.waits not in waits or given.ends not in ends or given.relation not in ("", relation):
            continue
        found = {mode: [] for mode in waiting.MODES}
        for _ in range(given.repeat):
            for mode in waiting.MODES:
                one = waiting.outcome(mode, waits, ends, relation)
                found[mode] += [] if one in found[mode] else [one]
        count += 1
        wrong = [
            mode
            for mode in waiting.MODES
            if not all(any(waiting.same(one, other, waits, ends) for other in found["plain"]) for one in found[mode])
        ]
        hanging += any(one.error == "hang" for mode in found for one in found[mode])
        differing += bool(wrong)
        if wrong or given.verbose or len(found["plain"]) > 1:
            print(f"{'differs' if wrong else 'equal'}: {waits} | {ends} | {relation}")
            for mode in ["plain", *wrong]:
                for one in found[mode]:
                    print(f"    {mode}: {one}")
            sys.stdout.flush()
    took = time.time() - begun
    print(f"TensorFlow {tf.__version__}: {count} pairs, {differing} differ, {hanging} hang, {took:.0f} s")
    sys.stdout.flush()
    # Runs that hang keep their threads.
    os._exit(1 if differing or hanging else 0)


if __name__ == "__main__":
    sys.exit(main())
