"""Measures what dumping and profiling cost, and how long `inspect --against` takes to find a planted wrong operator.

Usage: python benchmarks/dumps.py cost [--model resnet50] [--steps 6] [--batch 1] [--side dumped|profiled]
       python benchmarks/dumps.py script [--model resnet50] [--steps 200] [--rounds 3] [--side dumped|profiled]
       python benchmarks/dumps.py find [--model bert_base]

`cost`: two sessions of the simulated device in one process take turns, one step each: without a dump, and with the
outputs of every operator dumped. A third turn writes files of the same sizes from one buffer and does nothing else,
which is what the file system alone asks for (TMPDIR chooses it). Exit status 1: the dump costs more than twice the run
without, and more than a quarter over run and plain files together. `script`: the same of a whole script with steps of a
few milliseconds, as processes of their own, with their start; with `--model`, of a program that restores a recorded
model and trains it for `--steps` steps. `--side profiled`: with a profile instead of a dump, and of `cost` with what it
takes to write the profile at the session's end beside it.
`find`: a model is dumped as it is, and with one operator in its middle replaced by another; the two dumps are compared.
Exit status 1: the comparison takes ten seconds or longer, or names another operator.

What is not measured is the same for all sides. ext4 passes over the places of files that were deleted in the last
minutes, one by one, whenever it makes a file: ten times the price. So nothing is deleted before the end on a disk, and
every side has a folder in which files are made at the usual price (told); only what scripts leave in memory goes after
each turn. Before a turn the disk has written all that is due, and a file as large as a step has been written and given
up: the first touch of a virtual machine's memory is its host's work. What a disk cannot take at once waits in
memory, up to a tenth of it: longer dumps than that go at the disk's pace.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import gzip
import json
import os
import platform
import resource
import shutil
import statistics
import struct
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
from npu_reference.options.typed import DataDump  # noqa: E402
from npu_reference.runtime.config import current_overrides, overriding  # noqa: E402
from npu_reference.runtime.execution import run_files  # noqa: E402
from npu_reference.runtime.scripts.simulate import simulate  # noqa: E402
from npu_reference.runtime.sessions import activation  # noqa: E402

COST, OVER_FLOOR, SECONDS = {"dumped": 2.0, "profiled": 1.3}, 1.25, 10.0

#: Seconds that an empty file may take where files are made at the usual price; files that are made to know it, folders.
USUAL, PROBES, MOST_PROBED = 60e-6, 100, 20
MOST_TOUCHED = 3 << 30
FS_IOC_SETFLAGS, FS_TOPDIR_FL = 0x40086602, 0x00020000
SCRIPT = os.path.join(ROOT, "fixtures", "scripts", "resnet_loss_scaling.py")

#: What is planted: an operator of the first kind in the middle of the model becomes one of the second.
WRONG = (("Tanh", "Sigmoid"), ("Erf", "Tanh"), ("Relu", "Softplus"))


def read(model):
    with gzip.open(os.path.join(GRAPHS, model + ".pb.gz")) as file:
        graph_def = tf.GraphDef.FromString(file.read())
    return graph_def, sidecars.read(os.path.join(GRAPHS, model + ".toml"))


def session(graph_def, sidecar, batch, folder=None, side="dumped"):
    """A session and one training step of it, which leaves a dump, or a profile, in a folder where one is given."""
    wanted = DataDump(folder, None, "output") if folder is not None and side == "dumped" else None
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    made = config("allow_mix_precision")
    if folder is not None and side == "profiled":
        values = made.graph_options.rewrite_options.custom_optimizers[0].parameter_map
        values["profiling_mode"].b = True
        values["profiling_options"].s = profile(folder).encode()
    with overriding(current_overrides()._replace(device_precision="off", dump=wanted)):
        made = tf.Session(graph=graph, config=made)
    return made, prepared(sidecar, made, batch)


def profile(folder):
    return json.dumps({"output": folder, "training_trace": "on", "task_trace": "on", "aicpu": "on"})


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
        for one in wall:
            print(f"{one:10}{wall[one]:9.3f} s {what}{cpu[one]:9.3f} s of processor")
        ratio, most = wall[side] / wall["without"], COST[side]
        print(f"ratio     {ratio:9.2f}   at most {most:g}; of processor time {cpu[side] / cpu['without']:.2f}")
        if "files" not in wall:
            return 0 if ratio <= most else 1
        floor = wall["without"] + wall["files"]
        over = wall["dumped"] / floor
        print(f"floor     {floor / wall['without']:9.2f}   run and plain files; the dump is {over:.2f} of it")
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
    return place


class Shelf:
    """Folders for what is measured."""

    def __init__(self, base):
        self.base, self.in_memory, self.prices, self.places = base, _in_memory(base), [], []
        with contextlib.suppress(OSError), open(base) as folder:  # ext4: what is made in there spreads over the disk
            fcntl.ioctl(folder, FS_IOC_SETFLAGS, struct.pack("i", FS_TOPDIR_FL))

    def folder(self):
        """A folder in which making files has the usual price."""
        found = []
        while len(found) < MOST_PROBED and (not found or min(found)[0] > USUAL):
            place = tempfile.mkdtemp(dir=self.base)
            found.append((self._price(place), place))
        price, place = min(found)
        self.prices.append(price)
        self.places.append(place)
        os.mkdir(os.path.join(place, "used"))
        return os.path.join(place, "used")

    @staticmethod
    def _price(place):
        """Seconds of processor that it takes to make an empty file in a new folder of a place."""
        probe = tempfile.mkdtemp(dir=place)
        used = processor(resource.RUSAGE_SELF)
        for number in range(PROBES):
            os.close(os.open(os.path.join(probe, f"empty.{number}"), os.O_WRONLY | os.O_CREAT))
        return (processor(resource.RUSAGE_SELF) - used) / PROBES

    def used(self, folder):
        """What a turn left is no longer needed."""
        if self.in_memory:
            for name in os.listdir(folder):
                shutil.rmtree(os.path.join(folder, name))

    def settle(self, size):
        """Bring disk and memory into the same state before every turn."""
        if not self.in_memory:
            os.sync()
        piece = bytes(1 << 20)
        with tempfile.TemporaryFile(dir=self.base, buffering=0) as scratch:
            for _ in range(min(size, MOST_TOUCHED) >> 20):
                scratch.write(piece)

    def tell(self):
        where = "in memory" if self.in_memory else "on a disk"
        after = max(map(self._price, self.places))
        first = max(self.prices)
        print(f"files {where}; an empty one takes {first * 1e6:.0f} us of processor, {after * 1e6:.0f} at the end")


def _in_memory(path):
    with open("/proc/mounts", encoding="utf-8") as lines:
        mounts = [line.split()[1:3] for line in lines]
    own = os.path.abspath(path)
    around = [(len(place), kind) for place, kind in mounts if os.path.commonpath([place, own]) == place]
    return max(around)[1] in ("tmpfs", "ramfs")


def machine():
    return f"TensorFlow {tf.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"


def cost(args) -> int:
    graph_def, sidecar = read(args.model)
    turns = Turns()
    with tempfile.TemporaryDirectory() as base:
        shelf = Shelf(base)
        folder, beside = shelf.folder(), shelf.folder()
        sides = {"without": session(graph_def, sidecar, args.batch), args.side: None}
        sides[args.side] = session(graph_def, sidecar, args.batch, folder, args.side)
        steps = {side: step for side, (_, step) in sides.items()}
        for step in steps.values():  # the first one plans
            step()
        sizes = []
        if args.side == "dumped":
            sizes = sizes_of(folder)[-1]
            buffer = memoryview(np.random.RandomState(0).bytes(max(sizes)))
            steps["files"] = functools.partial(plain_files, beside, sizes, buffer)
        for _ in range(args.steps):
            for side, step in steps.items():
                shelf.settle(sum(sizes))
                turns.take(side, step)
        print(f"{args.model}, batch {args.batch}, {machine()}")
        if args.side == "dumped":
            print(f"a step has {len(sizes)} files, {sum(sizes) >> 20} MiB")
            shelf.tell()
        else:
            turns.take("ending", sides[args.side][0].close)
        return turns.tell("a step", args.side)


def script(args) -> int:
    """A dump, or a profile, of a whole script."""
    turns, sizes = Turns(), []
    with tempfile.TemporaryDirectory() as base:
        shelf = Shelf(base)
        for _ in range(args.rounds):
            for side in ("without", args.side):
                folder = shelf.folder()
                command = [sys.executable, os.path.abspath(__file__), "child", "--steps", str(args.steps)]
                command += ["--folder", folder, "--side", side, "--model", args.model]
                shelf.settle(MOST_TOUCHED)
                run = functools.partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)
                turns.take(side, run, who=resource.RUSAGE_CHILDREN)
                sizes = sizes_of(folder)
                shelf.used(folder)
            if args.side == "dumped":
                buffer, folder = memoryview(bytes(max(map(max, sizes)))), shelf.folder()
                shelf.settle(MOST_TOUCHED)
                turns.take("files", lambda: [plain_files(folder, step, buffer) for step in sizes])  # noqa: B023
                shelf.used(folder)
        files, size = sum(map(len, sizes)), sum(map(sum, sizes))
        what = args.model or os.path.basename(SCRIPT)
        print(f"{what}, {args.steps} steps, {machine()}; {files} files, {size >> 20} MiB")
        shelf.tell()
        return turns.tell("a run", args.side)


def child(args) -> int:
    """The script as it is, dumped, or with an option more in its config, in a copy of its own; or a recorded model."""
    if args.model:
        activation.activate()
        graph_def, sidecar = read(args.model)
        made, step = session(graph_def, sidecar, args.batch, None if args.side == "without" else args.folder, args.side)
        for _ in range(args.steps):
            step()
        made.close()
        return 0
    wanted = DataDump(args.folder, None, "output") if args.side == "dumped" else None
    with open(SCRIPT, encoding="utf-8") as file:
        text = file.read()
    if args.side == "profiled":
        place = 'custom_op.name = "NpuOptimizer"\n'
        assert place in text
        more = 'custom_op.parameter_map["profiling_mode"].b = True\n'
        more += f'custom_op.parameter_map["profiling_options"].s = {profile(args.folder).encode()!r}\n'
        text = text.replace(place, place + more)
    with tempfile.TemporaryDirectory() as folder, overriding(current_overrides()._replace(dump=wanted)):
        copy = os.path.join(folder, os.path.basename(SCRIPT))
        with open(copy, "w", encoding="utf-8") as file:
            file.write(text)
        simulate(copy, ["--steps", str(args.steps)], device_precision="off")
        run_files.end()
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
