"""Laws about the tensors that cross borders."""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from npu_conformance.strength.laws.partitions.reading import COPIED, HOST, LawReading, crossing_name
from npu_reference.graphs import Graph

__all__ = ["arguments", "borders", "inlined"]


def _crossing(reading: LawReading, geop: int) -> Tuple[Set[str], Set[str]]:
    """The tensors that enter and leave a GEOP, by name; a fed tensor by the name of what it replaces."""
    edges = reading.question.graph.edges
    enter, leave = set(), set()
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        if slot < 0 or reading.home[source] == reading.home[target] or reading.copied(source, reading.home[target]):
            continue
        if reading.home[target] == geop:
            enter.add(crossing_name(f"{reading.name(source)}:{slot}"))
        if reading.home[source] == geop:
            leave.add(crossing_name(f"{reading.name(source)}:{slot}"))
    return enter, leave


def arguments(reading: LawReading) -> List[str]:
    faults = []
    for number, geop in enumerate(reading.answer["geops"]):
        enter, leave = _crossing(reading, number)
        for key, expected, word in (("args", enter, "argument"), ("rets", leave, "return")):
            given = [crossing_name(name) for name in geop.get(key, [])]
            where = f"of the GEOP of {geop['nodes'][0]}" if geop["nodes"] else f"of GEOP {number}"
            faults += [f"{name} crosses the border and is no {word} {where}" for name in sorted(expected - set(given))]
            faults += [f"{name} is an {word} {where} and crosses no border" for name in sorted(set(given) - expected)]
            faults += [f"{name} is {word} {where} twice" for name in sorted({n for n in given if given.count(n) > 1})]
    return faults


def borders(reading: LawReading) -> List[str]:
    """Borders are the tensors that cross, each once a direction, of the type the graph gives them."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    expected: Dict[Tuple[str, str], str] = {}
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        here, there = reading.home[source], reading.home[target]
        if slot < 0 or here == there or reading.copied(source, there):
            continue
        direction = "h2d" if here == HOST else "d2h" if there == HOST else "d2d"
        name = crossing_name(f"{reading.name(source)}:{slot}")
        expected[name, direction] = graph.output_dtypes(source)[slot].base.name
    given: Dict[Tuple[str, str], Optional[str]] = {}
    faults = []
    for border in reading.answer.get("borders", ()):
        key = crossing_name(border["source"]), border["direction"]
        if key in given:
            faults.append(f"{key[0]} crosses {key[1]} twice in one step")
        given[key] = border.get("dtype")
        size = _bytes(graph, key[0])
        if size is not None and border.get("bytes") not in (None, size):
            faults.append(f"{key[0]} crosses with {border['bytes']} bytes, of which its shape and dtype need {size}")
    for name, way in [key for key in expected if key not in given and key[1] == "d2d"]:
        if {(name, "d2h"), (name, "h2d")} <= given.keys():  # by way of the host, which no document forbids
            dtype = expected.pop((name, way))
            expected.update({(name, "d2h"): dtype, (name, "h2d"): dtype})
    # What is fed may be told as no border: a placeholder computes nothing, and no document places it.
    fed = {key for key in expected if key[1] == "h2d" and _is_fed(graph, key[0])}
    faults += [f"{name} crosses {way} and is no border" for name, way in sorted(set(expected) - set(given) - fed)]
    faults += [f"{name} is a border {way} and does not cross" for name, way in sorted(set(given) - set(expected))]
    for key, dtype in sorted(expected.items()):
        if given.get(key) not in (None, dtype):
            faults.append(f"{key[0]} crosses as {given[key]}, the graph says {dtype}")
    return faults


def _is_fed(graph: Graph, tensor: str) -> bool:
    node = graph.index.get(tensor.rpartition(":")[0])
    return node is not None and graph.nodes[node].op in ("Placeholder", "PlaceholderV2")


def _bytes(graph: Graph, tensor: str) -> Optional[int]:
    """Size of a placeholder's tensor, in bytes; None of what the graph leaves open, and of other operators."""
    name, _, slot = tensor.rpartition(":")
    node = graph.nodes[graph.index[name]] if name in graph.index else None
    if node is None or node.op != "Placeholder":
        return None
    shape, size = node.attr("shape"), graph.output_dtypes(node.id)[int(slot)].base.size
    if not isinstance(shape, tuple) or size is None or any(one is None or one < 0 for one in shape):
        return None
    for one in shape:
        size *= one
    return size


def inlined(reading: LawReading) -> List[str]:
    """Each GEOP in place of its call: every input of every operator is found again, by the name of one tensor."""
    graph, edges = reading.question.graph, reading.question.graph.edges
    geops = reading.answer["geops"]
    args = [{crossing_name(name) for name in geop.get("args", ())} for geop in geops]
    rets = [{crossing_name(name) for name in geop.get("rets", ())} for geop in geops]
    faults = []
    for source, slot, target in zip(edges.src, edges.src_slot, edges.dst):
        here, there = reading.home[source], reading.home[target]
        if slot < 0 or here == there or reading.copied(source, there):
            continue
        name = crossing_name(f"{reading.name(source)}:{slot}")
        if there != HOST and name not in args[there]:
            faults.append(f"{reading.name(target)} does not find its input {name} again: its GEOP has no such argument")
        if here != HOST and name not in rets[here]:
            faults.append(f"{reading.name(target)} does not find its input {name} again: no GEOP returns it")
    for node, number in sorted(reading.copies or ()):
        op = graph.nodes[node].op
        if op not in COPIED or reading.home[node] == number:
            faults.append(f"the GEOP of {geops[number]['nodes'][0]} has a copy of {reading.name(node)} ({op})")
    return faults
