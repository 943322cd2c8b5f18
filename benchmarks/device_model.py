"""The model of the device beside the two rates that were published for one Ascend 910.

Usage: python benchmarks/device_model.py [--device NAME] [--page docs/device.md]

Both are training graphs recorded with TensorFlow 1.15: ResNet-50 with its biases and TensorFlow 1's batch
normalization, BERT-Large with the adapter's dropout. The published rates are MindSpore's, whose graphs are others:
what is compared is an order of magnitude. CPU seconds are of the timing plane alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(_ROOT, "impl"), os.path.join(_ROOT, "conformance"), _ROOT]

from npu_reference.device.timing import profile  # noqa: E402
from npu_reference.graphs import arg_shapes, close_over, load_graph  # noqa: E402
from npu_reference.hardware import load  # noqa: E402
from npu_reference.options import resolve  # noqa: E402
from npu_reference.partition import partition  # noqa: E402

#: Published rates a second on one device (MindSpore r0.6 benchmark page).
PUBLISHED = {"ResNet-50, batch 256": (256, 2115), "BERT-Large, sequences of 128, batch 96": (96, 269)}


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


def rate(net, device, examples):
    """(examples a second, CPU seconds, tasks) of one step."""
    graph, feeds, targets, shapes = net
    options = resolve({"precision_mode": "allow_mix_precision"}, env={})
    sizes = arg_shapes(graph, feeds, shapes)
    divided = partition(close_over(graph, feeds, [], targets), options, shapes=sizes)
    began = time.process_time()
    found = profile(divided, options, device, sizes)
    return examples / found.step * 1e9, time.process_time() - began, len(found.timeline.tasks)


def rows(device):
    """The table of anchors."""
    yield "| net | published | model | error | tasks |"
    yield "|---|---|---|---|---|"
    for (name, (examples, published)), net in zip(PUBLISHED.items(), (resnet50(), bert_large())):
        found, seconds, tasks = rate(net, device, examples)
        print(f"{name}: {seconds:.2f} s of CPU", file=sys.stderr)
        yield f"| {name} | {published} | {found:.0f} | {100 * (found / published - 1):+.0f} % | {tasks} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="Ascend910A")
    parser.add_argument("--page", help="put the table between the page's marks")
    given = parser.parse_args()
    text = "\n".join(rows(load(given.device)))
    print(text)
    if given.page:
        with open(given.page, encoding="utf-8") as stream:
            page = stream.read()
        before, rest = page.split("<!-- anchors -->")
        with open(given.page, "w", encoding="utf-8") as stream:
            stream.write(f"{before}<!-- anchors -->\n{text}\n<!-- /anchors -->{rest.split('<!-- /anchors -->')[1]}")


if __name__ == "__main__":
    main()
