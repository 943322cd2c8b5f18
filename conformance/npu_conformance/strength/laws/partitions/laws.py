"""The laws: what must hold of the answer to `partition` for any graph, and what an answer says against each.

A law is judged from the graph and the answer alone. Names of feeds and fetches are the adapter's own when an answer has
them (`_arg_x_0_0` stands for `x:0`); operators that only stand for a feed or a fetch may be left out of it.
"""

from __future__ import annotations

from typing import Mapping

from npu_conformance.strength.laws.law import Law
from npu_conformance.strength.laws.partitions.counting import counted, least_needed
from npu_conformance.strength.laws.partitions.crossing import arguments, borders, inlined
from npu_conformance.strength.laws.partitions.cutting import acyclic, whole_parts
from npu_conformance.strength.laws.partitions.placing import offloaded, only_device_operators, placed_once, reasoned

__all__ = ["LAWS"]

_ALL = [
    Law("answered", "Every well-formed graph is partitioned", ("mixed.partition.geop_split",), (), None),
    Law("placed-once", "Every operator is in one GEOP or on the host", ("mixed.partition.identify_first",), (),
        placed_once, on_cases=True),
    Law("device-operators", "No host operator is in a GEOP",
        ("mixed.purpose.host_fallback", "mixed.scope.without_npu_compile.adds"), (), only_device_operators),
    Law("reasons", "Every operator on the host has a reason", ("mixed.partition.identify_first",), ("reasons",),
        reasoned),
    Law("acyclic", "The graph of GEOPs is acyclic, so every GEOP is convex", ("mixed.partition.geop_acyclic",), (),
        acyclic, on_cases=True),
    Law("arguments", "Arguments and returns are the tensors that cross, each once",
        ("mixed.transfer.only_boundaries",), ("signature",), arguments, on_cases=True),
    Law("borders", "Borders are the tensors that cross, each once, with the graph's types",
        ("mixed.transfer.only_boundaries",), ("borders",), borders, on_cases=True),
    Law("inlining", "GEOPs put back in place give back the graph", ("mixed.partition.order_preserved",),
        ("signature",), inlined, on_cases=True),
    Law("counts", "The minimum is at most the GEOPs there are, and no two neighbours are left that could be one",
        ("mixed.partition.geop_split", "mixed.default.full_offload"), (), counted, on_cases=True),
    Law("minimum", "The least number of GEOPs is what a path through the host makes necessary",
        ("mixed.partition.geop_split",), ("min_geops",), least_needed, on_cases=True),
    Law("whole", "No loop or conditional is cut, and no reference, handle or variant crosses a border",
        ("mixed.partition.geop_acyclic",), (), whole_parts, on_cases=True),
    Law("offloaded", "What nothing keeps on the host is on the device",
        ("mixed.purpose.host_fallback", "mixed.default.full_offload"), ("op_list",), offloaded),
    Law("renaming", "Other names give the same partition", ("mixed.partition.order_preserved",), (), None),
    Law("repeating", "The same graph gives the same partition, in any order and in any process",
        ("mixed.partition.order_preserved",), (), None),
]  # fmt: skip

#: The laws of `partition` by name, in the order of reports.
LAWS: Mapping[str, Law] = {law.name: law for law in _ALL}
