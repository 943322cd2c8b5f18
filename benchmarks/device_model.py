"""The model of the device beside the rates that were published for one Ascend 910 and for eight.

Usage: python benchmarks/device_model.py [--device NAME] [--page docs/device.md] [--cross-validate]

benchmarks/published_times.csv has what was published, with its source and doubts. ``anchor`` rows have a graph here and
no doubt that it was the device that set the rate: the statistics are of these, and the constants of convolutions are
calibrated on them. ``shown`` rows are compared and not counted. The graphs are training steps of Keras' applications,
of BERT, an LSTM and recommendation models, recorded with TensorFlow; most published rates are MindSpore's and
PyTorch's, whose graphs are others. Rates of inference are of the forward part, as the offline compiler leaves it.
Published runs take their images from a queue that is filled beside the step, so copies from the host are left out here.
CPU seconds are of the timing plane alone.

For several devices every gradient goes through an AllReduce before it is applied, as NPUDistributedOptimizer makes it,
split as HCCL does by default. Efficiency is the rate of all of them to as many times the rate of one.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import lzma
import math
import os
import re
import sys
import time

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference.compiler import tiles  # noqa: E402
from npu_reference.compiler.tasks import costs_of  # noqa: E402
from npu_reference.device.timing import profile  # noqa: E402
from npu_reference.device.timing.known import stem  # noqa: E402
from npu_reference.graphs import arg_shapes, close_over, graph_from_def, load_graph, parse_graph  # noqa: E402
from npu_reference.graphs.tensors import small_integers, tensor_proto  # noqa: E402
from npu_reference.hardware import load  # noqa: E402
from npu_reference.options import resolve  # noqa: E402
from npu_reference.partition import partition  # noqa: E402

RECORDED = os.path.join(_ROOT, "benchmarks", "graphs")

#: What --cross-validate tries: times that the gradient of a convolution takes longer than a plain product, a depthwise
#: convolution, and its gradient.
SLOWER = ((2.8, 3.4, 4.0, 4.8), (4.0, 8.0, 16.0), (30.0, 40.0, 60.0))

#: What is fed, by class of network, beside images and labels: shapes without the batch.
FED = {"recurrent": {"words": (500,), "labels": ()}, "embedding": {"ids": (39,), "weights": (39,), "labels": (1,)}}

#: The model's name of a device that was published.
NAMES = {"Ascend 910": "Ascend910A", "Ascend 310": "Ascend310", "Ascend 310P3": "Ascend310P3"}

#: Small batches and larger ones, which the errors are told of, too.
SIZES = ("batches to 32", "larger batches")

#: Published efficiency of several devices (MindSpore r0.6 benchmark page).
SCALING = {"ResNet-50, batch 256": {8: 0.98, 16: 0.96}, "BERT-Large, sequences of 128, batch 96": {8: 0.96}}

#: Which input of an optimizer's operator is the gradient.
GRADIENT = {"ResourceApplyMomentum": 3, "ResourceApplyAdam": 9, "ApplyMomentum": 3, "ApplyAdam": 9}


def data_parallel(graph):
    """The graph with every gradient summed over all ranks before it is used: for its norm where gradients are clipped
    by their global norm, which L2Loss reads, else by the optimizer."""
    definition = graph.to_def()
    applied = [node for node in definition.node if node.op in GRADIENT]
    norms = [node.input[0] for node in definition.node if node.op == "L2Loss"]
    clipped = len(norms) == len(applied)
    gradients = dict.fromkeys(norms if clipped else [node.input[GRADIENT[node.op]] for node in applied])
    dtypes = {node.name: node.attr["T"] for node in definition.node}
    readers = [node for node in definition.node if not clipped and node.op in GRADIENT] or list(definition.node)
    for node in readers:
        for place, source in enumerate(node.input):
            if source in gradients:
                node.input[place] = f"{source.replace(':', '_')}/allreduce"
    for source in gradients:
        summed = definition.node.add(name=f"{source.replace(':', '_')}/allreduce", op="HcomAllReduce", input=[source])
        summed.attr["T"].CopyFrom(dtypes[source.split(":")[0]])
        summed.attr["reduction"].s = b"sum"
        summed.attr["group"].s = b"hccl_world_group"
        summed.attr["fusion"].i = 1
    return graph_from_def(definition)


def offline(graph):
    """(the forward part of a training step, its result) as the offline compiler leaves it: weights are constants, batch
    normalization is a bias, nothing is dropped out, and convolutions pad themselves."""
    definition = graph.to_def()
    nodes = {node.name: node for node in definition.node}
    result = next(node.input[0] for node in definition.node if node.op == "SparseSoftmaxCrossEntropyWithLogits")
    for node in definition.node:
        if node.op.startswith("FusedBatchNormV") or re.search("dropout/(mul_1|selectv2)$", node.name.lower()):
            kept = [node.input[0], node.input[2]] if "Batch" in node.op else [node.input[int(node.op == "SelectV2")]]
            _turned(node, "BiasAdd" if "Batch" in node.op else "Identity", kept, T=1)
        elif node.op == "ReadVariableOp":
            sizes = [size.size for size in nodes[node.input[0]].attr["shape"].shape.dim]
            held = tensor_proto(0.0, "float32", sizes)
            _turned(node, "Const", [], dtype=1).attr["value"].tensor.CopyFrom(held)
        elif node.op in ("Conv2D", "DepthwiseConv2dNative") and nodes[node.input[0]].op == "Pad":
            source, padding = nodes[node.input[0]].input
            node.input[0], node.attr["padding"].s = source, b"EXPLICIT"
            node.attr["explicit_paddings"].list.i[:] = small_integers(nodes[padding].attr["value"].tensor, 8)
    waiting, needed = [result.split(":")[0]], set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            nodes[name].input[:] = [source for source in nodes[name].input if not source.startswith("^")]
            waiting += [source.split(":")[0] for source in nodes[name].input]
    for number in reversed([at for at, node in enumerate(definition.node) if node.name not in needed]):
        del definition.node[number]
    return graph_from_def(definition), f"{result}:0"


def _turned(node, op, inputs, **types):
    """A node as another operator."""
    node.op, node.input[:] = op, inputs
    node.attr.clear()
    for key, value in types.items():
        node.attr[key].type = value
    return node


def resnet50():
    """(graph, feeds, targets, shapes) of the recorded training step."""
    graph = load_graph(os.path.join(_ROOT, "fixtures", "graphs", "models", "resnet50.pb.gz"))
    return graph, ["images:0", "labels:0"], ["train"], {"images": (256, 224, 224, 3), "labels": (256,)}


def bert_large(batch=96, length=128, masked=20):
    """(graph, feeds, targets, shapes) of the recorded pre-training step, with the adapter's own dropout."""
    graph = load_graph(os.path.join(_ROOT, "fixtures", "graphs", "timing", "bert_large.pb.gz"))
    words, picked = (batch, length), (batch, masked)
    shapes = {
        "input_ids": words, "input_mask": words, "segment_ids": words, "masked_positions": picked,
        "masked_ids": picked, "next_sentence": (batch,),
    }  # fmt: skip
    return graph, [f"{name}:0" for name in shapes], ["train"], shapes


def rate(net, device, examples, ranks=1, **more):
    """(examples a second of one device, CPU seconds, tasks) of one step."""
    found, seconds = profiled(net, device, ranks, **more)
    return examples / found.step * 1e9, seconds, len(found.timeline.tasks)


def profiled(net, device, ranks=1, **more):
    """(the profile of one step, CPU seconds)."""
    graph, feeds, targets, shapes = net
    options = resolve({"precision_mode": "allow_mix_precision", **more}, env={})
    sizes = arg_shapes(graph, feeds, shapes)
    asked = ([], targets) if targets == ["train"] else (targets, [])
    divided = partition(close_over(graph, feeds, *asked), options, shapes=sizes)
    began = time.process_time()
    found = profile(divided, options, device, sizes, ranks=ranks)
    return found, time.process_time() - began


class Row:
    """A published rate a second of one device, and what the model gives."""

    def __init__(self, told):
        self.name, self.group, self.counted = told["network"], told["class"], told["use"] == "anchor"
        self.device, self.forward = NAMES[told["device"]], told["class"].endswith("inference")
        self.graph, self.batch, self.devices = told["graph"], int(told["batch"]), int(told["devices"])
        self.side = int(told["input"].split("x")[0]) if "x" in told["input"] else 0
        rate = float(told["rate"])
        self.published = 1000 * self.batch / rate if told["unit"] == "ms/step" else rate / self.devices
        self.found, self.nanoseconds, self.model = None, 0, 0.0

    def run(self, device):
        """Profile it; published runs do not wait for copies from the host."""
        graph, feeds, targets, shapes = self.net()
        options, ranks = {}, self.devices
        if self.forward:
            graph, result = offline(graph)
            feeds, targets, shapes = feeds[:1], [result], {"images": shapes["images"]}
            device, ranks = load(self.device), 1
            options = {"precision_mode": "force_fp16", "graph_run_mode": 0, "enable_small_channel": 1}
        elif self.devices > 1:
            graph, options = data_parallel(graph), {"hcom_parallel": True}
        self.found = profiled((graph, feeds, targets, shapes), device, ranks, **options)[0]
        copies = sum(task.before + task.duration for task in self.found.timeline.tasks if task.kind in ("h2d", "d2h"))
        self.nanoseconds = self.found.timeline.end - copies
        self.model = self.batch / self.nanoseconds * 1e9
        return self

    def net(self):
        if self.group == "transformer":
            graph, *rest = bert_large(self.batch)
            return (graph if self.graph == "bert_large" else recorded(self.graph), *rest)
        fed = FED.get(self.group, {"images": (self.side, self.side, 3), "labels": ()})
        shapes = {name: (self.batch, *shape) for name, shape in fed.items()}
        return recorded(self.graph), [f"{name}:0" for name in fed], ["train"], shapes

    def computing(self):
        """Nanoseconds of all kernels, one after the other, with the constants as they are."""
        made = self.found.compiled
        return sum(
            one.duration + one.launch for one in costs_of(made.fused, made.device, made.settings, made.exchanges)
        )

    @property
    def error(self):
        return math.log(self.model / self.published)


def recorded(name):
    """A recorded graph by its name."""
    with open(os.path.join(RECORDED, f"{name}.pb.xz"), "rb") as stream:
        return parse_graph(lzma.decompress(stream.read()))


def published():
    """The rows of the file that have a graph."""
    with open(os.path.join(_ROOT, "benchmarks", "published_times.csv"), encoding="utf-8") as stream:
        return [Row(told) for told in csv.DictReader(stream) if told["use"]]


def geometric(errors):
    """By which factor errors (logarithms) are off on average."""
    return math.exp(sum(map(abs, errors)) / len(errors))


def spearman(some):
    """How well the model ranks the rates, from -1 to 1."""
    orders = [sorted(some, key=key) for key in (lambda one: one.published, lambda one: one.model)]
    count, apart = len(some), sum((orders[0].index(one) - orders[1].index(one)) ** 2 for one in some)
    return 1 - 6 * apart / (count * (count * count - 1))


def compared(device):
    """Every published row with what the model gives."""
    found = []
    for row in published():
        began = time.process_time()
        found.append(row.run(device))
        print(f"{row.name}, batch {row.batch}: {time.process_time() - began:.1f} s of CPU", file=sys.stderr)
    return found


def rows(device, found=None):
    """The table of anchors, those that are not counted in brackets, and what holds of each class."""
    found = found or compared(device)
    yield "| net, batch | devices | published | model | ratio |"
    yield "|---|---|---|---|---|"
    for row in found:
        name = f"{row.name}, {row.batch}" if row.counted else f"({row.name}, {row.batch})"
        ratio = row.model / row.published
        devices = f"{row.devices} {row.device}" if row.forward else row.devices
        yield f"| {name} | {devices} | {row.published:.0f} | {row.model:.0f} | {ratio:.2f} |"
    yield ""
    yield "| class | nets | error | bias | ratios |"
    yield "|---|---|---|---|---|"
    counted = [row for row in found if row.counted]
    for group in [*dict.fromkeys(row.group for row in counted), *SIZES, "all"]:
        some = [row for row in counted if group in (row.group, "all", SIZES[row.batch > 32])]
        errors = [row.error for row in some]
        bias, least, most = math.exp(sum(errors) / len(errors)), math.exp(min(errors)), math.exp(max(errors))
        spread = f"{least:.2f} to {most:.2f}"
        yield f"| {group} | {len(some)} | {geometric(errors):.2f} | {bias:.2f} | {spread} |"


def operators(found):
    """What the published steps that are counted are made of, for what the model knows about."""
    kernels = (kernel for row in found if row.counted for kernel in row.found.compiled.fused.kernels)
    return sorted({stem(op) for kernel in kernels for op in kernel.ops or (kernel.type,)})


def cross_validated(found):
    """What the error would be on rows that the constants of convolutions were not fitted to, halves both ways."""
    counted = [row for row in found if row.counted]
    kept = tiles._GRADIENT, tiles._DEPTHWISE
    errors = {}
    before = [row.computing() for row in counted]
    for gradient, forward, backward in itertools.product(*SLOWER):
        tiles._GRADIENT, tiles._DEPTHWISE = gradient, (forward, backward)
        tiles._best.cache_clear()
        errors[gradient, forward, backward] = [
            math.log(row.batch * 1e9 / (row.nanoseconds + row.computing() - was) / row.published)
            for row, was in zip(counted, before)
        ]
    tiles._GRADIENT, tiles._DEPTHWISE = kept
    tiles._best.cache_clear()
    unseen = []
    for half in (0, 1):
        best = min(errors, key=lambda tried: geometric(errors[tried][half::2]))
        unseen += zip(counted[1 - half :: 2], errors[best][1 - half :: 2])
        yield f"fitted to half {half + 1}: gradients {best[0]}, depthwise {best[1]}, its gradients {best[2]}"
    best = min(errors, key=lambda tried: geometric(errors[tried]))
    yield f"fitted to all: {best}, error {geometric(errors[best]):.2f}"
    for row, error in unseen:
        row.model = row.published * math.exp(error)
    error, order = geometric([error for _, error in unseen]), spearman([row for row, _ in unseen])
    yield f"of what was not fitted to: error {error:.2f}, rank correlation {order:.2f}"


def scaling(device):
    """The table of efficiencies: as published, and of the model with hcom_parallel and without."""
    yield "| net | devices | published | model | error | without `hcom_parallel` |"
    yield "|---|---|---|---|---|---|"
    for (name, efficiencies), net in zip(SCALING.items(), (resnet50(), bert_large())):
        together = (data_parallel(net[0]), *net[1:])
        alone, _, _ = rate(together, device, 1)
        for ranks, published in efficiencies.items():
            model, seconds, _ = rate(together, device, 1, ranks, hcom_parallel=True)
            serial, _, _ = rate(together, device, 1, ranks, hcom_parallel=False)
            print(f"{name}, {ranks} devices: {seconds:.2f} s of CPU", file=sys.stderr)
            found, other = model / alone, serial / alone
            error = 100 * (found / published - 1)
            yield f"| {name} | {ranks} | {published:.2f} | {found:.3f} | {error:+.1f} % | {other:.3f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="Ascend910A")
    parser.add_argument("--page", help="put the table between the page's marks")
    parser.add_argument("--cross-validate", action="store_true", help="fit constants to halves, too (minutes)")
    given = parser.parse_args()
    device = load(given.device)
    found = compared(device)
    tables = {"anchors": "\n".join(rows(device, found)), "scaling": "\n".join(scaling(device))}
    print("\n\n".join(tables.values()), "\n\noperators:", *operators(found))
    counted = [row for row in found if row.counted]
    print(f"\nrank correlation {spearman(counted):.2f}, with what is not counted {spearman(found):.2f}")
    if given.cross_validate:
        print("\n".join(cross_validated(found)))
    if given.page:
        with open(given.page, encoding="utf-8") as stream:
            page = stream.read()
        for mark, text in tables.items():
            before, rest = page.split(f"<!-- {mark} -->")
            page = f"{before}<!-- {mark} -->\n{text}\n<!-- /{mark} -->{rest.split(f'<!-- /{mark} -->')[1]}"
        with open(given.page, "w", encoding="utf-8") as stream:
            stream.write(page)


if __name__ == "__main__":
    main()
