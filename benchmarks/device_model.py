"""The model of the device beside the rates that were published for one Ascend 910 and for eight.

Usage: python benchmarks/device_model.py [--device NAME] [--page docs/device.md] [--operators N]

Both are training graphs recorded with TensorFlow 1.15: ResNet-50 with its biases and TensorFlow 1's batch
normalization, BERT-Large with the adapter's dropout. The published rates are MindSpore's, whose graphs are others:
what is compared is an order of magnitude. CPU seconds are of the timing plane alone.

For several devices every gradient goes through an AllReduce before it is applied, as NPUDistributedOptimizer makes it,
split as HCCL does by default. Efficiency is the rate of all of them to as many times the rate of one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference.device.timing import profile  # noqa: E402
from npu_reference.graphs import GraphBuilder, arg_shapes, close_over, graph_from_def, load_graph  # noqa: E402
from npu_reference.hardware import load  # noqa: E402
from npu_reference.options import resolve  # noqa: E402
from npu_reference.partition import partition  # noqa: E402

#: Published rates a second on one device (MindSpore r0.6 benchmark page).
PUBLISHED = {"ResNet-50, batch 256": (256, 2115), "BERT-Large, sequences of 128, batch 96": (96, 269)}


#: Published efficiency of several devices (same page).
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
    graph, feeds, targets, shapes = net
    options = resolve({"precision_mode": "allow_mix_precision", **more}, env={})
    sizes = arg_shapes(graph, feeds, shapes)
    divided = partition(close_over(graph, feeds, [], targets), options, shapes=sizes)
    began = time.process_time()
    found = profile(divided, options, device, sizes, ranks=ranks)
    return examples / found.step * 1e9, time.process_time() - began, len(found.timeline.tasks)


def rows(device):
    """The table of anchors."""
    yield "| net | published | model | error | tasks |"
    yield "|---|---|---|---|---|"
    for (name, (examples, published)), net in zip(PUBLISHED.items(), (resnet50(), bert_large())):
        found, seconds, tasks = rate(net, device, examples)
        print(f"{name}: {seconds:.2f} s of CPU", file=sys.stderr)
        yield f"| {name} | {published} | {found:.0f} | {100 * (found / published - 1):+.0f} % | {tasks} |"


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


def chain(operators, width=64):
    """(CPU seconds, tasks, digest of the answer) of a net of so many operators, the same in every version of Python."""
    draw = random.Random(1)
    g = GraphBuilder()
    ends = [g.placeholder("x", "float32", [width, width])]
    for number in range(operators):
        op = draw.choice(("MatMul", "Add", "Relu", "Exp", "Mul", "Tanh"))
        other = ends[-1 - draw.randrange(min(len(ends), 5))]
        ends.append(g.op(op, f"n{number}", [ends[-1], other] if op in ("MatMul", "Add", "Mul") else [ends[-1]]))
    graph, feeds = g.build(), ["x:0"]
    options = resolve({"precision_mode": "allow_mix_precision"}, env={})
    sizes = arg_shapes(graph, feeds, {})
    divided = partition(close_over(graph, feeds, [f"n{operators - 1}:0"], []), options, shapes=sizes)
    began = time.process_time()
    found = profile(divided, options, load("Ascend910A"), sizes)
    seconds = time.process_time() - began
    told = json.dumps(found.timeline_json(), sort_keys=True)
    return seconds, len(found.timeline.tasks), hashlib.sha256(told.encode()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="Ascend910A")
    parser.add_argument("--page", help="put the table between the page's marks")
    parser.add_argument("--operators", type=int, help="time a net of so many operators instead")
    given = parser.parse_args()
    if given.operators:
        seconds, tasks, digest = chain(given.operators)
        print(f"{given.operators} operators: {seconds:.2f} s of CPU, {tasks} tasks, answer {digest}")
        return
    device = load(given.device)
    tables = {"anchors": "\n".join(rows(device)), "scaling": "\n".join(scaling(device))}
    print("\n\n".join(tables.values()))
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
