"""Kills processes that write dumps, at random moments, and reads what they left: nothing torn may be taken for a dump.

Usage: python benchmarks/kill_dumps.py [--tries 200] [--seed 1] [--device 10]

Every try starts a process of its own group that writes steps of a data dump and exception dumps without end, and ends
it with SIGKILL after a random time. `--device N` of the tries run a session of the simulated device, which needs
TensorFlow; the others write the same files directly. Whatever a reader then finds must be whole: every file as long as
it says, every step with all its operators. The next dump into the folder must take away what lies aside. Exit status 1:
something is torn.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [os.path.join(ROOT, "impl")]

from npu_reference import NpuError  # noqa: E402
from npu_reference.dumps import form, names, reading  # noqa: E402
from npu_reference.dumps.writing import ASIDE, Target, write_alone  # noqa: E402

OPERATORS = 40
BYTES = 20_000


def write(folder: str) -> None:
    """Steps and exception dumps without end."""
    target = Target(folder)
    target.open()
    data = bytes(BYTES)
    tensor = form.Tensor("uint8", (BYTES,), BYTES, "ND", "op", 0)
    print("ready", flush=True)
    for step in range(1_000_000):
        files = target.step("GeOp_0", 1, step)
        for task in range(1, OPERATORS + 1):
            stamp = target.clock.stamp()
            parts = form.encode(form.Description(f"op{task}", stamp, (), (tensor,)), [], [data])
            files.write(names.file_name("Relu", f"op{task}", task, 0, stamp), parts)
        files.publish()
        write_alone(folder, ("extra-info", "data-dump", "0"), names.exception_name("Relu", "op", 1, stamp), parts)


def run(folder: str) -> None:
    """The same by a session of the simulated device."""
    import tensorflow.compat.v1 as tf

    from npu_reference.dumps.settings import DataDump
    from npu_reference.runtime.config import current_overrides, overriding
    from npu_reference.runtime.sessions import activation

    activation.activate()
    tf.disable_eager_execution()
    x = out = tf.placeholder(tf.float32, [5000])
    for _ in range(OPERATORS):
        out = tf.nn.relu(out)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer")
    with overriding(current_overrides()._replace(dump=DataDump(folder, None, "output"))):
        session = tf.Session(config=config)
    print("ready", flush=True)
    while True:
        session.run(out, {x: [1.0] * 5000})


def judged(folder: str) -> tuple:
    """How many steps and files are there, and what is wrong with them."""
    wrong, steps = [], {}
    found = reading.files(folder)
    for one in found:
        try:
            form.read(one.path)
        except NpuError as error:
            wrong.append(f"{one.relative}: {error}")
        if one.step is not None:
            steps.setdefault(os.path.dirname(one.path), []).append(one)
    wrong += [f"{place} has {len(files)} files" for place, files in steps.items() if len(files) != OPERATORS]
    aside = [name for name in os.listdir(folder) if name.startswith(ASIDE)]
    target = Target(folder)
    target.open()
    target.close()
    left = [name for name in os.listdir(folder) if name.startswith(ASIDE)]
    wrong += [f"{name} is still there" for name in left]
    return len(steps), len(found), len(aside), wrong


def attempt(what: str, folder: str, seconds: float) -> None:
    command = [sys.executable, os.path.abspath(__file__), "--child", what, "--folder", folder]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        child.stdout.readline()  # begun
        time.sleep(seconds)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", type=int, default=10)
    parser.add_argument("--child", choices=("write", "run"))
    parser.add_argument("--folder")
    args = parser.parse_args()
    if args.child:
        {"write": write, "run": run}[args.child](args.folder)
        return 0
    draw = random.Random(args.seed)
    totals, torn = [0, 0, 0], []
    for number in range(args.tries):
        with tempfile.TemporaryDirectory(prefix="npu-kill-") as folder:
            attempt("run" if number < args.device else "write", folder, draw.uniform(0.0, 0.15))
            *counts, wrong = judged(folder)
            totals = [total + count for total, count in zip(totals, counts)]
            torn += [f"try {number}: {text}" for text in wrong]
    print(f"{args.tries} tries ({args.device} of them sessions), seed {args.seed}")
    print(f"found {totals[0]} steps and {totals[1]} files; {totals[2]} folders left aside, taken away by the next dump")
    print(f"{len(torn)} torn")
    for text in torn[:20]:
        print(text)
    return 1 if torn else 0


if __name__ == "__main__":
    sys.exit(main())
