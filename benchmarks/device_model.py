"""The model of the device beside the rates that were published for one Ascend 910 and for eight.

Usage: python benchmarks/device_model.py [--device NAME] [--page docs/device.md]

ResNet-50 is the recorded training graph of the fixtures, with its biases and TensorFlow 1's batch normalization;
BERT-Large is made here, operator by operator, with the gradients of its matrices. The published rates are MindSpore's,
whose graphs are others: what is compared is an order of magnitude. CPU seconds are of the timing plane alone.

For several devices every gradient goes through an AllReduce before it is applied, as NPUDistributedOptimizer makes it,
split as HCCL does by default. Efficiency is the rate of all of them to as many times the rate of one.
"""

from __future__ import annotations

import argparse
import os
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
GRADIENT = {"ResourceApplyMomentum": 3, "ResourceApplyAdam": 9}


def data_parallel(graph):
    """The graph with every gradient summed over all ranks before it is applied."""
    definition = graph.to_def()
    for node in list(definition.node):
        if node.op in GRADIENT:
            place = GRADIENT[node.op]
            summed = definition.node.add(name=f"{node.name}/allreduce", op="HcomAllReduce", input=[node.input[place]])
            summed.attr["T"].CopyFrom(node.attr["T"])
            summed.attr["reduction"].s = b"sum"
            summed.attr["group"].s = b"hccl_world_group"
            summed.attr["fusion"].i = 1
            node.input[place] = summed.name
    return graph_from_def(definition)


def resnet50():
    """(graph, feeds, targets, shapes) of the recorded training step."""
    graph = load_graph(os.path.join(_ROOT, "fixtures", "graphs", "models", "resnet50.pb.gz"))
    return graph, ["images:0", "labels:0"], ["train"], {"images": (256, 224, 224, 3), "labels": (256,)}


def bert_large(layers=24, hidden=1024, heads=16, inner=4096, length=128, batch=96, words=30522):
    """(graph, feeds, targets, shapes) of a training step: forward, gradients of matrices, what lies between, Adam."""
    g = GraphBuilder()
    rows = batch * length
    net = _Net(g)
    x = g.placeholder("tokens", "float32", [rows, hidden])
    slope = g.placeholder("slope", "float32", [rows, hidden])
    for number in range(layers):
        name = f"layer{number}"
        q, k, v = (net.dense(f"{name}/{part}", x, hidden, hidden, slope) for part in "qkv")
        split = g.const(f"{name}/split", [batch * heads, length, hidden // heads], "int32")
        q, k, v = (g.op("Reshape", f"{name}/{part}/heads", [one, split]) for part, one in zip("qkv", (q, k, v)))
        scores = g.op("BatchMatMulV2", f"{name}/scores", [q, k], adj_y=True)
        weights = net.dropped(f"{name}/weights", g.op("Softmax", f"{name}/softmax", [scores]))
        mixed = g.op("BatchMatMulV2", f"{name}/mixed", [weights, v])
        for part, (a, b, left) in {
            "weights_grad": (mixed, v, False), "v_grad": (weights, mixed, True), "q_grad": (weights, k, False),
            "k_grad": (weights, q, True),
        }.items():  # fmt: skip
            made = g.op("BatchMatMulV2", f"{name}/{part}", [a, b], adj_x=left, adj_y=part == "weights_grad")
            net.ends.append(made)
        net.ends.append(g.op("Mul", f"{name}/softmax_grad", [weights, scores]))
        joined = g.op("Reshape", f"{name}/joined", [mixed, g.const(f"{name}/rows", [rows, hidden], "int32")])
        out = net.dense(f"{name}/out", joined, hidden, hidden, slope)
        x = net.normed(f"{name}/norm1", g.op("AddV2", f"{name}/add1", [x, net.dropped(f"{name}/drop1", out)]))
        wide = net.dense(f"{name}/wide", x, hidden, inner, None)
        for op in ("Pow3", "Tanh", "Gelu"):
            wide = g.op({"Pow3": "Square", "Tanh": "Tanh", "Gelu": "Sigmoid"}[op], f"{name}/gelu_{op}", [wide])
        net.ends.append(g.op("SigmoidGrad", f"{name}/gelu_grad", [wide, wide]))
        narrow = net.dense(f"{name}/narrow", wide, inner, hidden, slope)
        x = net.normed(f"{name}/norm2", g.op("AddV2", f"{name}/add2", [x, net.dropped(f"{name}/drop2", narrow)]))
    net.dense("head", x, hidden, words // 8, None)  # one word in eight is masked (assumed: 20 of 128, padded)
    g.op("NoOp", "train", [], control=net.ends)
    return g.build(), ["tokens:0", "slope:0"], ["train"], {}


class _Net:
    """Layers with their gradients; ``ends`` are what the step waits for."""

    def __init__(self, builder):
        self.g, self.ends = builder, []

    def dense(self, name, x, inputs, outputs, slope):
        g = self.g
        weights = g.op("VarHandleOp", f"{name}/w", [], dtype="float32", shape=[inputs, outputs])
        bias = g.op("VarHandleOp", f"{name}/b", [], dtype="float32", shape=[outputs])
        read = g.op("ReadVariableOp", f"{name}/w/read", [weights], dtype="float32")
        product = g.op("MatMul", f"{name}/product", [x, read])
        added = g.op("ReadVariableOp", f"{name}/b/read", [bias], dtype="float32")
        added = g.op("BiasAdd", f"{name}/add", [product, added])
        back = slope if slope is not None and outputs == inputs else added
        self.ends.append(g.op("MatMul", f"{name}/x_grad", [back, read], transpose_b=True))
        slopes = g.op("MatMul", f"{name}/w_grad", [x, back], transpose_a=True)
        self.adam(f"{name}/w", weights, slopes, [inputs, outputs])
        self.adam(f"{name}/b", bias, g.op("BiasAddGrad", f"{name}/b_grad", [back]), [outputs])
        return added

    def adam(self, name, variable, slope, shape):
        g = self.g
        slots = [g.op("VarHandleOp", f"{name}/{slot}", [], dtype="float32", shape=shape) for slot in ("m", "v")]
        rates = [g.const(f"{name}/rate{number}", 0.1, "float32") for number in range(6)]
        self.ends.append(g.op("ResourceApplyAdam", f"{name}/adam", [variable, *slots, *rates, slope], T="float32"))

    def dropped(self, name, x):
        mask = self.g.op("OnesLike", f"{name}/mask", [x])
        self.ends.append(self.g.op("Mul", f"{name}/grad", [x, mask]))
        return self.g.op("Mul", name, [x, mask])

    def normed(self, name, x):
        g = self.g
        axis = g.const(f"{name}/axis", [1], "int32")
        mean = g.op("Mean", f"{name}/mean", [x, axis], keep_dims=True)
        away = g.op("Sub", f"{name}/away", [x, mean])
        spread = g.op("Mean", f"{name}/spread", [g.op("Square", f"{name}/square", [away]), axis], keep_dims=True)
        found = g.op("Mul", f"{name}/scaled", [away, g.op("Rsqrt", f"{name}/root", [spread])])
        self.ends.append(g.op("Mul", f"{name}/grad", [found, away]))
        self.ends.append(g.op("Sum", f"{name}/grad_sum", [found, axis], keep_dims=True))
        return found


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="Ascend910A")
    parser.add_argument("--page", help="put the table between the page's marks")
    given = parser.parse_args()
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
