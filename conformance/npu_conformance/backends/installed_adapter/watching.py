"""What session.run calls had where, as TensorFlow's RunMetadata tells it."""

import contextlib
import importlib
import json
import os
import re
import runpy
import sys

#: What an adapter puts behind the name of an operator that it copies.
_COPY = re.compile(r"__[A-Za-z]*[0-9]+\Z")

#: Sides of an answer to ``run`` of which an installed adapter tells nothing, or only some (placement of operators that
#: TensorFlow has optimised away), and what else is unseen where a run gave no partition graphs.
UNSEEN_OF_RUNS = ["transfers", "log", "run_placement"]
UNSEEN_PLACES = ["engine", "run_geops"]


class Trace(list):
    """Records of session.run calls, in their order; None for one of which nothing is known."""


class Watch:
    """While it is entered, every session.run appends to `trace` what ran where; None where that cannot be told.

    The adapter replaces what it takes by calls of functions. So what TensorFlow ran itself is a node of its partition
    graphs, and what led to the output of such a call and is none was on the device.
    """

    def __init__(self, v1, trace):
        self.v1, self.trace, self.within = v1, trace, False
        self.base = next(kind for kind in v1.Session.__mro__ if "run" in vars(kind))

    def __enter__(self):
        self.original = original = self.base.run
        watch = self

        def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
            if watch.within or run_metadata is not None:
                return original(session, fetches, feed_dict, options, run_metadata)
            asked, metadata = watch.v1.RunOptions(), watch.v1.RunMetadata()
            if options is not None:
                asked.CopyFrom(options)
            asked.output_partition_graphs = True
            watch.within = True
            try:
                found = original(session, fetches, feed_dict, asked, metadata)
            finally:
                watch.within = False
            try:
                watch.trace.append(record(session.graph, fetches, feed_dict, metadata))
            except Exception:  # noqa: BLE001  what cannot be read of a run is not told, and disturbs nobody
                watch.trace.append(None)
            return found

        self.base.run = run
        return self

    def __exit__(self, *error):
        self.base.run = self.original


def told(trace):
    """The members of an answer that say what ran where."""
    if trace is None or any(one is None for one in trace):
        return {"unseen": UNSEEN_PLACES + UNSEEN_OF_RUNS}
    return {"trace": trace, "unseen": UNSEEN_OF_RUNS}


def record(graph, fetches, feeds, metadata):
    """One run in the protocol's form; None where partition graphs do not say what became of an operator."""
    nodes = {node.name: node for node in graph.as_graph_def().node}
    ran = {}
    for part in metadata.partition_graphs:
        for node in part.node:
            plain_name = _COPY.sub("", node.name)  # an adapter may run a copy of the graph under names of its own
            copied = node.name not in nodes and plain_name in nodes and nodes[plain_name].op == node.op
            ran[plain_name if copied else node.name] = node
    if not ran:
        return None
    calls = {name for name, node in ran.items() if name not in nodes and any(
        value.WhichOneof("value") == "func" for value in node.attr.values())}  # fmt: skip
    fed = {named(graph, key).partition(":")[0] for key in feeds or {}}
    asked = [named(graph, one) for one in flat(fetches)]
    # Tensors that come out of a call: those that are fetched or computed on, and are nobody's who ran.
    waiting = [name.partition(":")[0] for name in asked]
    for name, node in ran.items():
        if name not in nodes:
            continue
        for place, text in enumerate(node.input):
            if operator(text) in calls and place < len(nodes[name].input):
                waiting.append(operator(nodes[name].input[place]))
    device, seen = set(), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in fed or name not in nodes or name in ran:
            continue
        seen.add(name)
        device.add(name)
        waiting.extend(operator(text) for text in nodes[name].input)
    if device and not calls:
        return None  # optimised away by TensorFlow
    host = [name for name in ran if name not in calls and not name.startswith(("_send_", "_recv_"))]
    return {
        "engine": "adapter" if calls else None,
        "geops": len(calls),
        "copies": [],
        "partition": {
            "geops": [{"nodes": sorted(device)}] if device else [],
            "host": [{"node": name} for name in sorted(host)],
        },
    }


def operator(text):
    """The operator of an input as a NodeDef names it."""
    return text.lstrip("^").partition(":")[0]


def named(graph, one):
    """The name of what a fetch or a feed stands for."""
    return graph.as_graph_element(one, allow_tensor=True, allow_operation=True).name


def flat(fetches):
    """The single things in a structure of fetches."""
    if isinstance(fetches, dict):
        return [one for part in fetches.values() for one in flat(part)]
    if isinstance(fetches, (list, tuple)):
        return [one for part in fetches for one in flat(part)]
    return [] if fetches is None else [fetches]


def read_trace(path):
    """What a watched script wrote; None where it wrote nothing."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None
    finally:
        with contextlib.suppress(OSError):
            os.remove(path)


def watch_script(seen, words):
    """Runs a script as its interpreter would, and writes what its runs had where."""
    trace = Trace()
    sys.argv = words
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    v1 = importlib.import_module("tensorflow").compat.v1
    importlib.import_module("npu_bridge")  # it may replace methods of sessions, before this does
    try:
        with Watch(v1, trace):
            runpy.run_path(words[0], run_name="__main__")
    finally:
        with open(seen, "w", encoding="utf-8") as stream:
            json.dump(trace, stream)
