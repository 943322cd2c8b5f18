"""Compares policy "adapter" with every recorded partition of the adapter's own pass, and the time of both.

Usage: python benchmarks/oracle.py
"""

from __future__ import annotations

import json
import os
import sys
import time

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(_ROOT, "impl"))

from npu_reference.catalog import OpList  # noqa: E402
from npu_reference.errors import NpuError  # noqa: E402
from npu_reference.graphs import load_graph  # noqa: E402
from npu_reference.partition import partition  # noqa: E402

_FOLDER = os.path.join(_ROOT, "fixtures", "oracle")


def facts_of(result):
    geops = [(result.node_names(g), [a.name for a in g.args], [r.name for r in g.rets]) for g in result.geops]
    return sorted(geops), sorted(entry.node for entry in result.host)


def main() -> int:
    with open(os.path.join(_FOLDER, "cases.json"), encoding="utf-8") as stream:
        cases = json.load(stream)
    op_list = OpList.load(os.path.join(_FOLDER, "op_list.json"))
    differ, ours, adapters = [], 0.0, 0.0
    for name, case in sorted(cases.items()):
        graph = load_graph(os.path.join(_FOLDER, "graphs", case["graph"]))
        start = time.process_time()
        try:
            got = facts_of(partition(graph, case["params"], policy="adapter", op_list=op_list))
        except NpuError as error:
            got = error.reason
        ours += time.process_time() - start
        adapters += case.get("wall_ms", 0.0) / 1000
        if case["status"]:
            expected = case["status"].get("abort") or case["status"]["message"]
        else:
            expected = sorted((g["nodes"], g["args"], g["rets"]) for g in case["geops"]), case["host"]
        if got != expected:
            differ.append(name)
    agree = len(cases) - len(differ)
    print(f"{agree} of {len(cases)} recorded partitions agree: GEOPs, arguments, returns, host, errors")
    print(f"CPU time here {ours:.2f} s; the adapter's own pass took {adapters:.2f} s by the clock when recorded")
    for name in differ:
        print(f"  differs: {name}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
