"""Measures what dumping costs, and how long `inspect --against` takes to find a planted wrong operator.

Usage: python benchmarks/dumps.py cost [--model resnet50] [--steps 6] [--batch 1]
       python benchmarks/dumps.py script [--steps 200] [--rounds 3] [--side dumped|profiled]
       python benchmarks/dumps.py find [--model bert_base]

`cost`: two sessions of the simulated device in one process take turns, one step each: without a dump, and with the
outputs of every operator dumped. A third turn writes files of the same sizes from one buffer and does nothing else,
which is what the file system alone asks for (TMPDIR chooses it). Exit status 1: the dump costs more than twice the run
without, and more than a quarter over run and plain files together. `script`: the same of a whole script with steps of a
few milliseconds, as processes of their own, with their start; `--side profiled`: with a profile instead of a dump.
`find`: a model is dumped as it is, and with one operator in its middle replaced by another; the two dumps are compared.
Exit status 1: the comparison takes ten seconds or longer, or names another operator.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [ROOT, os.path.join(ROOT, "impl"), os.path.join(ROOT, "conformance")]

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from benchmarks.numerics import GRAPHS, config, prepared  # noqa: E402

from fixtures.programs.models import sidecar as sidecars  # noqa: E402
from npu_conformance.inspecting import dumps  # noqa: E402
from npu_conformance.inspecting.registry import Inspected  # noqa: E402
from npu_reference.dumps.settings import DataDump  # noqa: E402
from npu_reference.runtime.config import current_overrides, overriding  # noqa: E402
from npu_reference.runtime.execution import recording  # noqa: E402
from npu_reference.runtime.scripts.simulate import simulate  # noqa: E402
from npu_reference.runtime.sessions import activation  # noqa: E402

COST, OVER_FLOOR, SECONDS = {"dumped": 2.0, "profiled": 1.3}, 1.25, 10.0
SCRIPT = os.path.join(ROOT, "fixtures", "scripts", "resnet_loss_scaling.py")

#: What is planted: an operator of the first kind in the middle of the model becomes one of the second.
WRONG = (("Tanh", "Sigmoid"), ("Erf", "Tanh"), ("Relu", "Softplus"))


def read(model):
    with gzip.open(os.path.join(GRAPHS, model + ".pb.gz")) as file:
        graph_def = tf.GraphDef.FromString(file.read())
    return graph_def, sidecars.read(os.path.join(GRAPHS, model + ".toml"))


def session(graph_def, sidecar, batch, folder=None):
    """One training step of a session, which dumps into a folder where one is given."""
    wanted = None if folder is None else DataDump(folder, None, "output")
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    with overriding(current_overrides()._replace(device_precision="off", dump=wanted)):
        made = tf.Session(graph=graph, config=config("allow_mix_precision"))
    return made, prepared(sidecar, made, batch)


class Turns:
    """Seconds of the sides that take turns: by the wall's clock, and of the processor."""

    def __init__(self):
        self.wall, self.cpu = {}, {}

    def take(self, side, work, counted=True, who=resource.RUSAGE_SELF):
        used, start = processor(who), time.perf_counter()
        work()
        if counted:
            self.wall.setdefault(side, []).append(time.perf_counter() - start)
            self.cpu.setdefault(side, []).append(processor(who) - used)

    def tell(self, what, side="dumped") -> int:
        """Print medians and ratios; answers the exit status."""
        wall = {side: statistics.median(found) for side, found in self.wall.items()}
        cpu = {side: statistics.median(found) for side, found in self.cpu.items()}
        for side in wall:
            print(f"{side:8}{wall[side]:9.3f} s {what}{cpu[side]:9.3f} s of processor")
        ratio, most = wall[side] / wall["without"], COST[side]
        print(f"ratio   {ratio:9.2f}   at most {most:g}; of processor time {cpu[side] / cpu['without']:.2f}")
        if "files" not in wall:
            return 0 if ratio <= most else 1
        floor = wall["without"] + wall["files"]
        over = wall["dumped"] / floor
        print(f"floor   {floor / wall['without']:9.2f}   run and plain files; the dump is {over:.2f} of it")
        return 0 if ratio <= most or over <= OVER_FLOOR else 1


def processor(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def sizes_of(folder):
    """Sizes of the files of every step, in the order in which the steps were written."""
    places = sorted((place for place, _, names in os.walk(folder) if names), key=os.path.getmtime)
    return [[os.path.getsize(os.path.join(place, name)) for name in sorted(os.listdir(place))] for place in places]


def plain_files(folder, sizes, buffer):
    place = tempfile.mkdtemp(dir=folder)
    for number, size in enumerate(sizes):
        handle = os.open(os.path.join(place, f"Operator.with_a_name_of_its_own.{number}"), os.O_WRONLY | os.O_CREAT)
        os.write(handle, buffer[:size])
        os.close(handle)


def machine():
    return f"TensorFlow {tf.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"


def cost(args) -> int:
    graph_def, sidecar = read(args.model)
    turns = Turns()
    with tempfile.TemporaryDirectory() as base:
        folder, beside = os.path.join(base, "dump"), os.path.join(base, "plain")
        os.mkdir(folder)
        os.mkdir(beside)
        plain = session(graph_def, sidecar, args.batch)[1]
        dumped = session(graph_def, sidecar, args.batch, folder)[1]
        plain(), dumped()  # the first one plans
        sizes = sizes_of(folder)[-1]
        buffer = memoryview(np.random.RandomState(0).bytes(max(sizes)))
        for _ in range(args.steps):
            turns.take("without", plain)
            turns.take("dumped", dumped)
            turns.take("files", lambda: plain_files(beside, sizes, buffer))
    print(f"{args.model}, batch {args.batch}, {machine()}; a step has {len(sizes)} files, {sum(sizes) >> 20} MiB")
    return turns.tell("a step")


def script(args) -> int:
    """A dump, or a profile, of a whole script."""
    turns = Turns()
    for _ in range(args.rounds):
        for side in ("without", args.side):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, os.path.abspath(__file__), "child", "--steps", str(args.steps)]
                command += ["--folder", folder, "--side", side]
                run = functools.partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)
                turns.take(side, run, who=resource.RUSAGE_CHILDREN)
                sizes = sizes_of(folder)
                if side == "dumped":
                    buffer = memoryview(bytes(max(map(max, sizes))))
                    turns.take("files", lambda: [plain_files(folder, step, buffer) for step in sizes])  # noqa: B023
    print(f"{os.path.basename(SCRIPT)}, {args.steps} steps, {machine()}; {sum(map(len, sizes))} files")
    return turns.tell("a run", args.side)


def child(args) -> int:
    """The script as it is, dumped, or with an option more in its config, in a copy of its own."""
    wanted = DataDump(args.folder, None, "output") if args.side == "dumped" else None
    with open(SCRIPT, encoding="utf-8") as file:
        text = file.read()
    if args.side == "profiled":
        place = 'custom_op.name = "NpuOptimizer"\n'
        assert place in text
        told = json.dumps({"output": args.folder, "training_trace": "on", "task_trace": "on", "aicpu": "on"})
        more = 'custom_op.parameter_map["profiling_mode"].b = True\n'
        more += f'custom_op.parameter_map["profiling_options"].s = {told.encode()!r}\n'
        text = text.replace(place, place + more)
    with tempfile.TemporaryDirectory() as folder, overriding(current_overrides()._replace(dump=wanted)):
        copy = os.path.join(folder, os.path.basename(SCRIPT))
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text)
        simulate(copy, ["--steps", str(args.steps)], device_precision="off")
        recording.end()
    return 0


def find(args) -> int:
    graph_def, sidecar = read(args.model)
    kind, other = next(pair for pair in WRONG if any(node.op == pair[0] for node in graph_def.node))
    named = [node.name for node in graph_def.node if node.op == kind]
    planted = named[len(named) // 2]
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack():
        folders = {}
        for side in ("right", "wrong"):
            folders[side] = os.path.join(place, side)
            os.mkdir(folders[side])
            if side == "wrong":
                next(node for node in graph_def.node if node.name == planted).op = other
            made, step = session(graph_def, sidecar, 1, folders[side])
            step()
            made.close()
        size = sum(map(sum, sizes_of(folders["wrong"])))
        used, start = processor(resource.RUSAGE_SELF), time.perf_counter()
        found = dumps.DUMP.compare(Inspected(folders["wrong"], {}), folders["right"], dumps.LIMITS)
        seconds, used = time.perf_counter() - start, processor(resource.RUSAGE_SELF) - used
    first = found["first"]["op"] if found["first"] else "none"
    print(f"{args.model}: {planted} is {other} instead of {kind}; first to depart: {first}")
    print(f"{found['compared']} tensors, {size >> 20} MiB a dump, {len(found['departing'])} depart")
    print(f"{seconds:.1f} s   below {SECONDS:g}; {used:.1f} s of processor")
    return 0 if first == planted and seconds < SECONDS else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("cost", "script", "find", "child"))
    parser.add_argument("--model", default="")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--side", choices=("without", "dumped", "profiled"), default="dumped")
    args = parser.parse_args()
    if args.steps is None:
        args.steps = 6 if args.what == "cost" else 200
    args.model = args.model or {"cost": "resnet50", "find": "bert_base"}.get(args.what, "")
    if args.what in ("cost", "find"):
        activation.activate()
    return {"cost": cost, "script": script, "find": find, "child": child}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
