"""Measures partitioning over families of graphs: CPU time, memory, and how they grow, beside protobuf and TensorFlow.

Usage: python benchmarks/partition.py [--sizes 10000,100000,1000000] [--host 0,0.01,0.1] [--family NAME] [--policy P]
                                      [--tensorflow-most 100000] [--quick] [--out FILE]

Each line is one graph, in a process of its own: seconds of CPU for parsing the protobuf alone, for reading it as a
Graph, for partitioning and for the JSON answer, and the peak of resident memory. Where TensorFlow is installed, the
same file goes to tf.import_graph_def, and to a session that builds its executors twice, without and with XLA's
auto-clustering (global_jit_level ON_2): the difference is what clustering costs. Nothing is compiled or run.

The exponent is the slope of log seconds over log nodes from the smallest to the largest size. --quick measures small
graphs in a few seconds. Exit status 1: a limit is exceeded (they stand at the end of what is printed).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(_ROOT, "impl"), _ROOT]

import google.protobuf  # noqa: E402

import npu_reference  # noqa: E402
from npu_reference.graphs import message_class, parse_graph  # noqa: E402
from npu_reference.options import resolve  # noqa: E402
from npu_reference.partition import partition  # noqa: E402
from tests.partition.families import FAMILIES, OPS, Writer  # noqa: E402

#: (family, host share, nodes, seconds of partitioning, MB): what must hold on any machine of today.
LIMITS = (("random", 0.1, 100_000, 5.0, 1024), ("random", 0.01, 1_000_000, 30.0, 6144))
EXPONENT = 1.15


# -- what runs in a process of its own ----------------------------------------------------------------------------


def make(family, size, host, path):
    """Write the graph of a family."""
    writer = Writer(host, size)
    FAMILIES[family](writer, size)
    with open(path, "wb") as stream:
        stream.write(writer.graph.SerializeToString())
    return {"nodes": writer.count}


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def protobuf_alone(path):
    """Seconds of CPU to parse the message, and nothing else."""
    data, graph_def = read(path), message_class("GraphDef")
    start = time.process_time()
    message = graph_def.FromString(data)
    return {"parse": time.process_time() - start, "nodes": len(message.node), "mb": peak_mb()}


def ours(path, policy):
    data = read(path)
    options = resolve({"mix_compile_mode": True})
    message_class("GraphDef")  # the messages' classes are made once a process
    clock = [time.process_time()]
    graph = parse_graph(data)
    clock.append(time.process_time())
    result = partition(graph, options, policy=policy, op_list=OPS)
    clock.append(time.process_time())
    length = len(json.dumps(result.to_json()))
    clock.append(time.process_time())
    return {
        "nodes": len(graph.nodes),
        "read": clock[1] - clock[0],
        "partition": clock[2] - clock[1],
        "json": clock[3] - clock[2],
        "json_bytes": length,
        "geops": len(result.geops),
        "least": result.min_geops,
        "mb": peak_mb(),
    }


def tensorflow(path):
    """Seconds of CPU of TensorFlow's own import, of building executors, and of the same with auto-clustering."""
    os.environ["TF_XLA_FLAGS"] = "--tf_xla_cpu_global_jit"
    import tensorflow.compat.v1 as tf

    data = read(path)
    message = tf.GraphDef.FromString(data)
    start = time.process_time()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
    found = {"import": time.process_time() - start, "version": tf.__version__}
    from tensorflow.core.protobuf import config_pb2

    asked = config_pb2.CallableOptions(feed=["n0:0"], fetch=[message.node[len(message.node) - 1].name + ":0"])
    for name, level in (("executors", 0), ("clustered", 2)):
        config = tf.ConfigProto(inter_op_parallelism_threads=1)
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.optimizer_options.global_jit_level = level
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(graph=graph, config=config) as session:
            session.run("n0:0", {"n0:0": [0.0, 0.0]})  # the session now has the graph
            start = time.process_time()
            session._make_callable_from_options(asked)
            found[name] = time.process_time() - start
    found["mb"] = peak_mb()
    return found


_PARTS = {"make": make, "protobuf": protobuf_alone, "ours": ours, "tensorflow": tensorflow}


def part(name, *arguments):
    """What a part gives, in a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), "--part", json.dumps([name, *arguments])]
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    if done.returncode:
        return {"error": f"ended with status {done.returncode}"}
    return json.loads(done.stdout.decode().splitlines()[-1])


# -- the whole run ------------------------------------------------------------------------------------------------


def measure(family, size, host, policy, tensorflow_most):
    """One graph: a dict of what it is and what it took, TensorFlow's share where it is asked."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.pb")
        if "error" in part("make", family, size, host, path):
            sys.exit("the graph cannot be made")
        row = {"family": family, "host": host, **part("ours", path, policy)}
        if "error" in row:
            sys.exit(f"{family} {size} {host}: {row['error']}")
        row["parse"] = part("protobuf", path)["parse"]
        row["tf"] = part("tensorflow", path) if row["nodes"] <= tensorflow_most * 1.01 else None
    row["all"] = row["read"] + row["partition"] + row["json"]
    return row


def slope(rows, key):
    first, last = rows[0], rows[-1]
    return math.log(max(last[key], 1e-9) / max(first[key], 1e-9)) / math.log(last["nodes"] / first["nodes"])


def header(tf):
    text = f"{'family':12}{'host':>6}{'nodes':>10}{'parse':>8}{'read':>8}{'partition':>10}{'json':>7}{'MB':>7}"
    text += f"{'GEOPs':>8}{'least':>8}"
    return text + (f"{'import':>9}{'executors':>10}{'+cluster':>9}{'TF MB':>7}" if tf else "")


def line(row, tf):
    text = f"{row['family']:12}{row['host']:6.2f}{row['nodes']:10}{row['parse']:8.2f}{row['read']:8.2f}"
    text += f"{row['partition']:10.2f}{row['json']:7.2f}{row['mb']:7.0f}{row['geops']:8}{row['least']:8}"
    found = row["tf"]
    if not tf or found is None:
        return text
    if "error" in found:
        return f"{text}  TensorFlow {found['error']}"
    cluster = found["clustered"] - found["executors"]
    return f"{text}{found['import']:9.2f}{found['executors']:10.2f}{cluster:9.2f}{found['mb']:7.0f}"


def ratios(rows):
    """How our whole way compares with the others', at the largest size at which each was measured."""
    texts = ["", "ratios of CPU time (read + partition + json over the other)"]
    texts.append(f"{'family':12}{'host':>6}{'nodes':>10}{'parsing':>9}{'import':>9}{'partition/clustering':>22}")
    best = {}
    for row in rows:
        if (row["tf"] is not None and "error" not in row["tf"]) or (row["family"], row["host"]) not in best:
            best[row["family"], row["host"]] = row
    for (family, host), row in best.items():
        text = f"{family:12}{host:6.2f}{row['nodes']:10}{row['all'] / max(row['parse'], 1e-9):9.1f}"
        found = row["tf"]
        if found and "error" not in found:
            cluster = found["clustered"] - found["executors"]
            text += f"{row['all'] / max(found['import'], 1e-9):9.2f}{row['partition'] / max(cluster, 1e-9):22.2f}"
        texts.append(text)
    return texts


def verdicts(rows, slopes):
    """The limits that this run can speak of, and whether they hold."""
    found = []
    for family, host, nodes, seconds, megabytes in LIMITS:
        for row in rows:
            if (row["family"], row["host"]) == (family, host) and abs(row["nodes"] - nodes) < nodes / 100:
                held = row["partition"] <= seconds and row["mb"] <= megabytes
                found.append((held, f"{family} {host:.0%} {nodes}: {row['partition']:.2f} s of {seconds:g}, "
                                    f"{row['mb']:.0f} MB of {megabytes}"))  # fmt: skip
    for (family, host), exponent in slopes.items():
        found.append((exponent <= EXPONENT, f"{family} {host:.0%}: exponent {exponent:.2f} of {EXPONENT}"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--host", default="0,0.01,0.1")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--policy", default="documented")
    parser.add_argument("--tensorflow-most", type=int, default=100_000, help="larger graphs TensorFlow is not given")
    parser.add_argument("--quick", action="store_true", help="2000 and 8000 nodes, 10 % host, without limits")
    parser.add_argument("--out", help="write what is printed to this file as well")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        name, *arguments = json.loads(args.part)
        print(json.dumps(_PARTS[name](*arguments)))
        return 0
    printed = []

    def say(text):
        print(text, flush=True)
        printed.append(text)

    tf = importlib.util.find_spec("tensorflow") is not None
    sizes = [2000, 8000] if args.quick else [int(size) for size in args.sizes.split(",")]
    shares = [0.1] if args.quick else [float(share) for share in args.host.split(",")]
    say(
        f"npu-conformance {npu_reference.__version__}, Python {platform.python_version()}, protobuf "
        f"{google.protobuf.__version__}, {platform.system()} {platform.machine()}; policy {args.policy}; "
        "seconds are of CPU"
    )
    say(header(tf))
    rows, slopes, version = [], {}, ""
    for family in args.family or FAMILIES:
        for host in shares:
            some = []
            for size in sizes:
                some.append(measure(family, size, host, args.policy, args.tensorflow_most if tf else 0))
                say(line(some[-1], tf))
                version = (some[-1]["tf"] or {}).get("version", version)
            rows += some
            if len(some) > 1:
                slopes[family, host] = slope(some, "partition")
                say(f"{'':18}exponent: partition {slopes[family, host]:.2f}, all {slope(some, 'all'):.2f}, "
                    f"protobuf {slope(some, 'parse'):.2f}")  # fmt: skip
    for text in ratios(rows):
        say(text)
    say(f"TensorFlow {version}" if version else "TensorFlow is not installed: nothing to compare with but protobuf")
    held = [] if args.quick else verdicts(rows, slopes)
    for good, text in held:
        say(f"{'holds' if good else 'EXCEEDED'}: {text}")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as stream:
            stream.write("\n".join(printed) + "\n")
    return 0 if all(good for good, _ in held) else 1


if __name__ == "__main__":
    sys.exit(main())
