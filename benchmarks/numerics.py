"""Measures what device precision costs: training steps of the recorded ResNet-50, beside plain TensorFlow.

Usage: python benchmarks/numerics.py [--model resnet50] [--steps 6] [--batch 1] [--mode allow_mix_precision]

Three sessions in one process - plain TensorFlow, the simulated device with device precision off, and on - take turns,
one step each, so that whatever else the machine does meets all three alike. Printed are the median seconds of a step,
and each against plain TensorFlow. Exit status 1: device precision on costs more than 3 times plain TensorFlow, or off
more than 1.3 times.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import statistics
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [ROOT, os.path.join(ROOT, "impl")]

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from fixtures.programs.models import sidecar as sidecars  # noqa: E402
from npu_reference.runtime.config import current_overrides, overriding  # noqa: E402
from npu_reference.runtime.sessions import activation  # noqa: E402

LIMITS = {"off": 1.3, "on": 3.0}
GRAPHS = os.path.join(ROOT, "fixtures", "graphs", "models")


def config(mode):
    """Of a session: plain TensorFlow, or the device's with a precision mode."""
    made = tf.ConfigProto()
    rewrite = made.graph_options.rewrite_options
    rewrite.remapping = rewrite.OFF
    if mode is not None:
        entry = rewrite.custom_optimizers.add(name="NpuOptimizer")
        entry.parameter_map["mix_compile_mode"].b = True
        entry.parameter_map["precision_mode"].s = mode.encode()
    return made


def fed(item, batch):
    """Values for one of the model's feeds; a batch larger than the recorded one repeats it."""
    values = sidecars.draw(item, 0)
    return np.concatenate([values] * batch) if batch > 1 else values


def prepared(sidecar, session, batch):
    """Run everything that comes before training; answers one training step."""
    initial = {item.tensor: sidecars.draw(item) for item in sidecar.seeded}
    for order, step in enumerate(sidecar.runs):
        feeds = {tensor: fed(sidecar.feed_of(tensor), batch) for tensor in step.feeds}
        feeds.update(initial if order == 0 else {})
        if order + 1 < len(sidecar.runs):
            session.run([list(step.fetches), list(step.targets)], feeds)
    return lambda: session.run([list(step.fetches), list(step.targets)], feeds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--mode", default="allow_mix_precision")
    args = parser.parse_args()
    with gzip.open(os.path.join(GRAPHS, args.model + ".pb.gz")) as file:
        graph_def = tf.GraphDef.FromString(file.read())
    sidecar = sidecars.read(os.path.join(GRAPHS, args.model + ".toml"))
    activation.activate()
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    steps, seconds = {}, {"plain": [], "off": [], "on": []}
    for side in seconds:
        with overriding(current_overrides()._replace(device_precision="off" if side == "plain" else side)):
            session = tf.Session(graph=graph, config=config(None if side == "plain" else args.mode))
            steps[side] = prepared(sidecar, session, args.batch)
    for turn in range(args.steps + 1):
        for side, step in steps.items():
            start = time.perf_counter()
            step()
            if turn:  # the first one plans
                seconds[side].append(time.perf_counter() - start)
    medians = {side: statistics.median(found) for side, found in seconds.items()}
    machine = f"TensorFlow {tf.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"
    print(f"{args.model}, batch {args.batch}, {args.mode}, {machine}")
    passed = True
    for side, median in medians.items():
        ratio = median / medians["plain"]
        limit = LIMITS.get(side)
        passed = passed and (limit is None or ratio <= limit)
        print(f"{side:6}{median:9.3f} s a step {ratio:7.2f}" + ("" if limit is None else f"   at most {limit}"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
