"""Measures the assignment of precision over large graphs: CPU time of every mode, without TensorFlow.

Usage: python benchmarks/precision.py [--nodes 100000] [--out FILE]

Three graphs of about --nodes operators: a fixture model (BERT, a training step) repeated beside itself, one chain of
gray operators behind a white one, and while loops in a row whose back edges were moved to the trustlist, so that what
enters each has to be followed again. Exit status 1: a mode took more than 3 seconds of CPU per 100 000 operators.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(_ROOT, "impl"))

from npu_reference.graphs import GraphBuilder, graph_from_def, load_graph  # noqa: E402
from npu_reference.options import resolve  # noqa: E402
from npu_reference.partition import partition  # noqa: E402
from npu_reference.precision import assign  # noqa: E402

#: Seconds of CPU per 100 000 operators.
LIMIT = 3.0

_MODES = ("allow_fp32_to_fp16", "force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_mix_precision")
_WHITE_LOOPS = '{"black-list": {"to-remove": ["Enter"]}, "white-list": {"to-add": ["NextIteration"]}}'


def model(size):
    """A fixture model, as often as it takes."""
    one = load_graph(os.path.join(_ROOT, "fixtures", "graphs", "models", "bert_base.pb.gz")).to_def()
    whole = type(one)()
    whole.versions.CopyFrom(one.versions)
    for copy in range(-(-size // len(one.node))):
        for node in one.node:
            added = whole.node.add()
            added.CopyFrom(node)
            added.name = f"m{copy}/{node.name}"
            for k, text in enumerate(node.input):
                added.input[k] = f"^m{copy}/{text[1:]}" if text.startswith("^") else f"m{copy}/{text}"
            for value in added.attr.values():
                if value.WhichOneof("value") == "list":
                    for k, name in enumerate(value.list.s):
                        value.list.s[k] = name.replace(b"loc:@", b"loc:@m%d/" % copy)
    return graph_from_def(whole)


def chain(size):
    """One white operator and a chain of gray ones."""
    g = GraphBuilder()
    value = g.op("MatMul", "white", [g.placeholder("x", "float32", [4, 4]), g.placeholder("w", "float32", [4, 4])])
    for k in range(size):
        value = g.op("AddV2", f"gray{k}", [value, value])
    return g.build()


def loops(size):
    """While loops in a row, eight operators each."""
    g = GraphBuilder()
    value = g.op("MatMul", "white", [g.placeholder("x", "float32", [4, 4]), g.placeholder("w", "float32", [4, 4])])
    axes = g.placeholder("axes", "int32", [2])
    limit = g.const("limit", 10.0, "float32")
    for k in range(size // 13):
        inside = [limit, axes]
        value = g.while_loop(
            f"loop{k}",
            [value],
            lambda v, limit, axes: g.op("Less", None, [g.op("Max", None, [v, axes]), limit]),
            lambda v, *_: [g.op("Abs", None, [v])],
            invariants=inside,
        )[0]
    return g.build()


def measured(graph, mode, lists=None):
    """Seconds of CPU and what came out, for one mode."""
    values = {"precision_mode": mode, "graph_run_mode": 0 if mode == "force_fp16" else 1}
    files = {}
    if lists is not None and mode == "allow_mix_precision":
        values["modify_mixlist"], files = "/lists.json", {"/lists.json": lists}
    options = resolve(values, env={}, files=files)
    divided = partition(graph, resolve({}, env={}))
    start = time.process_time()
    found = assign(divided, options)
    seconds = time.process_time() - start
    return seconds, len(found.nodes), len(found.casts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    lines, slow = [], 0
    for name, build, lists in (("model", model, None), ("chain", chain, None), ("loops", loops, _WHITE_LOOPS)):
        graph = build(arguments.nodes)
        for mode in _MODES:
            seconds, operators, casts = measured(graph, mode, lists)
            per = seconds / max(operators, 1) * 100_000
            slow += per > LIMIT
            lines.append({"graph": name, "mode": mode, "operators": operators, "casts": casts, "cpu_s": seconds})
            told = f"{operators:8} operators {casts:7} casts {seconds:6.2f} s of CPU {per:6.2f} s/100k"
            print(f"{name:6} {mode:24} {told}")
    head = {"python": platform.python_version(), "tensorflow": "tensorflow" in sys.modules, "limit_s_per_100k": LIMIT}
    if arguments.out:
        with open(arguments.out, "w", encoding="ascii") as stream:
            json.dump({**head, "lines": lines}, stream, indent=1)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
