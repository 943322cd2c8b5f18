"""Runs random TensorFlow 1 programs plain, in mixed computing and fully offloaded, and tells where they differ.

Usage: python -m benchmarks.differential [--programs 100] [--seed 0] [--first 0] [--seconds 0] [--shrink]
           [--log FILE] [--summary FILE] [--show N]

Values are compared bit for bit (nothing is rewritten by Grappler), and so are what is left in variables, queues and
iterators, how often Python functions were called, and the class, operator and first line of an error. Program N depends
on the seed and N alone. The log has a JSON line a program. Programs run in child processes with bounds on memory and
time; one that does not end, or ends its process, is a finding unless TensorFlow alone does the same. A finding is
printed as a script that shows it, small with --shrink. Exit status 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import os
import platform
import resource
import select
import subprocess
import sys
import tempfile
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), _ROOT]

from benchmarks.differential.drawing import draw  # noqa: E402
from benchmarks.differential.language import shown  # noqa: E402

BATCH = 100  # programs of one child
LIMIT = 60.0  # seconds of one program
SHRINKING = 90.0  # seconds of making one small
MEMORY = 10 << 30  # address space of a child
RESIDENT = 2 << 20  # KiB after which a child makes room for the next

_SCRIPT = """\
{listing}
import json

from benchmarks.differential import comparing

PROGRAM = json.loads(r'''{program}''')
print(json.dumps(comparing.examine(PROGRAM), indent=1))
"""


def script(program):
    """A script that shows what a program does; it runs from the root of the repository."""
    return _SCRIPT.format(listing="\n".join(f"# {line}" for line in shown(program)), program=json.dumps(program))


# -- a child -----------------------------------------------------------------------------------------------------------


def child(args):
    """Examine programs one by one; a JSON line for each, and one before each that says what begins."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(line):
        stream.write(json.dumps(line, sort_keys=True) + "\n")
        stream.flush()

    import tensorflow.compat.v1 as tf

    tf.logging.set_verbosity(tf.logging.FATAL)
    tf.disable_v2_behavior()
    import logging

    logging.disable(logging.ERROR)
    from benchmarks.differential import comparing
    from benchmarks.differential.shrinking import shrink

    for number in range(args.first, args.first + args.programs):
        program, begun = draw(f"{args.seed}/{number}"), time.process_time()
        line = comparing.examine(program, lambda text, number=number: tell({"begins": number, "stage": text}))
        line.update(number=number, cpu=round(time.process_time() - begun, 2))
        tell({"begins": number, "stage": "shrinking"})
        if args.shrink:
            for found in line["differences"]:
                found["program"] = shrink(program, functools.partial(comparing.differs_so, found=found), SHRINKING)
        tell(line)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > RESIDENT:
            break


# -- who starts them ---------------------------------------------------------------------------------------------------


def examined(args):
    """The lines of the log, as they come."""
    begun, number, end = time.monotonic(), args.first, args.first + args.programs
    while number < end and not (args.seconds and time.monotonic() - begun > args.seconds):
        for line in _batch(args, number, min(BATCH, end - number)):
            number = line["number"] + 1
            yield line
            if args.seconds and time.monotonic() - begun > args.seconds:
                break


def _batch(args, first, count):
    """One child; if it hangs or dies, a line about the program that it was at, and no more."""
    command = [sys.executable, "-m", "benchmarks.differential", "--child", "--seed", args.seed]
    command.extend(["--first", str(first), "--programs", str(count), *(["--shrink"] if args.shrink else [])])
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory(prefix="differential") as folder, tempfile.TemporaryFile() as errors:
        env["TMPDIR"] = folder
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=env, cwd=_ROOT)
        at, held = {"begins": first, "stage": "plain"}, b""
        try:
            while True:
                limit = LIMIT + (2 * SHRINKING if at["stage"] == "shrinking" else 0)
                if not select.select([process.stdout], [], [], limit)[0]:
                    yield _ended(at, "hang")
                    return
                read = os.read(process.stdout.fileno(), 1 << 16)
                if not read:
                    if process.wait() != 0:
                        errors.seek(0)
                        yield _ended(at, f"ended by {process.returncode}", errors.read().decode("utf-8", "replace"))
                    return
                held += read
                *whole, held = held.split(b"\n")
                for text in whole:
                    line = json.loads(text)
                    if "begins" in line:
                        at = line
                    else:
                        yield line
                        at = {"begins": line["number"] + 1, "stage": "plain"}
        finally:
            process.kill()
            process.wait()


def _ended(at, kind, text=""):
    line = {"number": at["begins"], "failed": 0, "refused": 0, "varied": False, "cpu": 0.0, "differences": []}
    found = {"mode": at["stage"], "kind": kind, "part": "process", "expected": "", "got": text[-2000:]}
    # What TensorFlow alone does not survive says nothing of the device.
    return {**line, "outside": found} if at["stage"] == "plain" else {**line, "differences": [found]}


def summary(lines, seed):
    """What a whole run found, as text."""
    kinds = collections.Counter(f"{one['mode']}: {one['kind']}" for line in lines for one in line["differences"])
    numbers = [line["number"] for line in lines]
    versions = subprocess.run(
        [sys.executable, "-c", "import tensorflow; print(tensorflow.__version__)"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    texts = [
        f"{len(lines)} random programs, seeds {seed}/{min(numbers, default=0)} to {seed}/{max(numbers, default=0)}, "
        "each plain, in mixed computing and fully offloaded",
        f"programs that differ: {sum(bool(line['differences']) for line in lines)}",
        *(f"  {count} {kind}" for kind, count in sorted(kinds.items())),
        f"programs of which a run fails: {sum(bool(line['failed']) for line in lines)}",
        f"programs to which TensorFlow alone gives several answers: {sum(line['varied'] for line in lines)}",
        f"programs that TensorFlow alone does not survive: {sum('outside' in line for line in lines)}",
        f"TensorFlow {versions.stdout.decode().strip()}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}; {sum(line['cpu'] for line in lines):.0f} s of CPU",
    ]
    return "\n".join(texts) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.differential", description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--seconds", type=float, default=0, help="end after so many; 0: no bound")
    parser.add_argument("--shrink", action="store_true", help="make programs that differ small")
    parser.add_argument("--log", help="a line of JSON a program")
    parser.add_argument("--summary", help="where the summary is written, beside standard output")
    parser.add_argument("--show", type=int, metavar="N", help="print program N as a script, and run nothing")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.show is not None:
        print(script(draw(f"{args.seed}/{args.show}")), end="")
        return 0
    if args.child:
        child(args)
        return 0
    lines = []
    log = open(args.log, "w", encoding="utf-8") if args.log else None  # noqa: SIM115 closed below
    try:
        for line in examined(args):
            lines.append(line)
            if log:
                log.write(json.dumps(line, sort_keys=True) + "\n")
                log.flush()
            for found in line["differences"]:
                told = {key: found[key] for key in ("mode", "kind", "part", "expected", "got")}
                print(f"# program {args.seed}/{line['number']}: {json.dumps(told)[:3000]}")
                print(script(found.get("program") or draw(f"{args.seed}/{line['number']}")), flush=True)
    finally:
        if log:
            log.close()
    text = summary(lines, args.seed)
    print(text, end="")
    if args.summary:
        with open(args.summary, "w", encoding="utf-8") as stream:
            stream.write(text)
    return 1 if any(line["differences"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
