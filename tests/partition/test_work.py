"""A partition does nothing twice that it needs once: counted, for clocks say nothing on a machine others use too."""

from __future__ import annotations

from npu_reference.graphs import GraphBuilder, graph
from npu_reference.options import resolve
from npu_reference.partition import partition
from npu_reference.partition.policies import documented


def counted(monkeypatch, place, name):
    calls = []
    real = getattr(place, name)

    def call(*given):
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(place, name, call)
    return calls


def sums(length):
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [4])
    for k in range(length):
        value = g.op("AddN", f"sum{k}", [[value, value]])
        value = g.op("Mul" if k % 2 else "PyFunc", f"step{k}", [value, value] if k % 2 else [[value]], **(
            {} if k % 2 else {"token": "t", "Tin": ["float32"], "Tout": ["float32"]}
        ))  # fmt: skip
    return g.build()


def test_a_division_is_looked_at_once(monkeypatch):
    looks = [counted(monkeypatch, documented, name) for name in ("violations", "copy_constants", "copy_variables")]
    assert partition(sums(4), resolve({"mix_compile_mode": True})).geops
    assert [len(found) for found in looks] == [1, 1, 1]


def test_types_of_outputs_are_worked_out_once_for_an_operator_and_a_type(monkeypatch):
    given = sums(12)
    calls = counted(monkeypatch, graph, "arg_dtypes")
    for node in given.nodes:
        if node.op == "AddN":  # whose inputs are a list: its output is not
            given.output_dtypes(node.id)
    assert len(calls) == 1
