"""Measures what dumping costs, and how long `inspect --against` takes to find a planted wrong operator.

Usage: python benchmarks/dumps.py cost [--model resnet50] [--steps 6] [--batch 1]
       python benchmarks/dumps.py find [--model bert_base]

`cost`: two sessions of the simulated device in one process take turns, one step each: without a dump, and with the
outputs of every operator dumped. Exit status 1: the dump costs more than twice the run without. `find`: a model is
dumped as it is, and with one operator in its middle replaced by another; the two dumps are compared. Exit status 1: the
comparison takes ten seconds or longer, or names another operator.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import platform
import statistics
import sys
import tempfile
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [ROOT, os.path.join(ROOT, "impl"), os.path.join(ROOT, "conformance")]

import tensorflow.compat.v1 as tf  # noqa: E402
from benchmarks.numerics import GRAPHS, config, prepared  # noqa: E402

from fixtures.programs.models import sidecar as sidecars  # noqa: E402
from npu_conformance.inspecting import dumps  # noqa: E402
from npu_conformance.inspecting.registry import Inspected  # noqa: E402
from npu_reference.dumps.settings import DataDump  # noqa: E402
from npu_reference.runtime.config import current_overrides, overriding  # noqa: E402
from npu_reference.runtime.sessions import activation  # noqa: E402

COST, SECONDS = 2.0, 10.0

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


def cost(args) -> int:
    graph_def, sidecar = read(args.model)
    with tempfile.TemporaryDirectory() as folder:
        steps = {"without": session(graph_def, sidecar, args.batch)[1]}
        steps["dumped"] = session(graph_def, sidecar, args.batch, folder)[1]
        seconds = {side: [] for side in steps}
        for turn in range(args.steps + 1):
            for side, step in steps.items():
                start = time.perf_counter()
                step()
                if turn:  # the first one plans
                    seconds[side].append(time.perf_counter() - start)
        files = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
        size = sum(map(os.path.getsize, files))
    medians = {side: statistics.median(found) for side, found in seconds.items()}
    ratio = medians["dumped"] / medians["without"]
    machine = f"TensorFlow {tf.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"
    told = f"{len(files)} files, {size >> 20} MiB in {args.steps + 1} steps"
    print(f"{args.model}, batch {args.batch}, {machine}; {told}")
    for side, median in medians.items():
        print(f"{side:8}{median:9.3f} s a step")
    print(f"ratio   {ratio:9.2f}   at most {COST}")
    return 0 if ratio <= COST else 1


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
        start = time.perf_counter()
        found = dumps.DUMP.compare(Inspected(folders["wrong"], {}), folders["right"], dumps.LIMITS)
        seconds = time.perf_counter() - start
    first = found["first"]["op"] if found["first"] else "none"
    print(f"{args.model}: {planted} is {other} instead of {kind}; first to depart: {first}")
    print(f"{found['compared']} tensors, {len(found['departing'])} depart, {seconds:.1f} s   below {SECONDS:g}")
    return 0 if first == planted and seconds < SECONDS else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("cost", "find"))
    parser.add_argument("--model", default="")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=1)
    args = parser.parse_args()
    activation.activate()
    args.model = args.model or {"cost": "resnet50", "find": "bert_base"}[args.what]
    return {"cost": cost, "find": find}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
