"""The laws of `run` see wrong values wherever they come from; the backends here compute graphs without TensorFlow."""

from __future__ import annotations

import json
import os
import struct
import sys

import pytest

from npu_conformance.backends.reference import tensorflow_version
from npu_conformance.judging import judge
from npu_conformance.observing import tensors
from npu_conformance.running import runner
from npu_conformance.strength.laws import asking, examples, run_laws
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from tests.conformance.test_laws import Lanes

CLAIMS = judge.Claims(frozenset({"run"}), frozenset({"legacy", "current"}), frozenset({"run"}))
RULES = {
    "AddV2": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Maximum": max,
    "AddN": lambda *parts: sum(parts),
    "Neg": lambda a: -a,
    "PartitionedCall": lambda a: -a,
    "Relu": lambda a: max(a, 0.0),
    "Identity": lambda a: a,
    "AsString": lambda a: a,
    "StringToNumber": lambda a: a,
}


class Plain:
    """Computes the graphs of the laws; subclasses get one thing wrong."""

    def reset(self, params):
        return {}

    def run(self, params):
        self.graph, self.params = load_graph(params["graph"]), params
        self.feeds = {
            name: tensors.values(one["dtype"], tensors.decode_bytes(one)) for name, one in params["feeds"].items()
        }
        self.state = {}
        for name in params["init"]:
            self.start(name)
        for _ in range(params.get("steps", 1)):
            found = self.step(params["fetches"])
        return {"fetches": {name: wire(value) for name, value in found.items()}}

    def start(self, name):
        self.done = {}
        self.value(self.graph.index[name], 0)

    def step(self, fetches):
        self.done = {}
        found = {}
        for name in fetches:
            node, _, slot = name.partition(":")
            value = self.value(self.graph.index[node], int(slot or 0))
            if slot:
                found[name] = value
        return found

    def value(self, node, slot):
        one = self.graph.nodes[node]
        if f"{one.name}:{slot}" in self.feeds:
            return self.fed(f"{one.name}:{slot}")
        if (node, slot) not in self.done:
            if one.op == "Exit":
                enter = self.before(self.before(self.before(node)))
                self.done[node, slot] = [part + 3 for part in self.reads(enter)[0]]
            else:
                self.done[node, slot] = self.compute(one, node, slot)
        return self.done[node, slot]

    def fed(self, tensor):
        return self.feeds[tensor]

    def reads(self, node):
        edges = self.graph.edges
        ins = self.graph.in_edges(node)
        for edge in (one for one in ins if edges.src_slot[one] < 0):
            self.value(edges.src[edge], 0)
        data = sorted((one for one in ins if edges.src_slot[one] >= 0), key=lambda one: edges.dst_slot[one])
        return [self.value(edges.src[one], edges.src_slot[one]) for one in data]

    def compute(self, one, node, slot):
        if one.op == "Merge":
            return self.merged(one, node)
        reads = self.reads(node)
        if one.op == "Const":
            return list(struct.unpack("<2f", one.attr("value").tensor_content))
        if one.op == "VarHandleOp":
            return [one.name]
        if one.op == "AssignVariableOp":
            self.state[reads[0][0]] = reads[1]
            return []
        if one.op == "AssignAddVariableOp":
            self.state[reads[0][0]] = [a + b for a, b in zip(self.state[reads[0][0]], reads[1])]
            return []
        if one.op == "ReadVariableOp":
            return self.state[reads[0][0]]
        if one.op == "Switch":
            return reads[0]
        return [self.rule(one)(*parts) for parts in zip(*reads)]

    def merged(self, one, node):
        [taken] = self.reads(self.before(self.before(node)))[1]
        return self.value(self.before(node, int(taken)), 0)

    def before(self, node, place=0):
        edges = self.graph.edges
        return next(edges.src[one] for one in self.graph.in_edges(node) if edges.dst_slot[one] == place)

    def rule(self, one):
        return RULES[one.op]


def wire(value):
    return tensors.encode(tensors.from_case({"dtype": "float32", "shape": [len(value)], "data": value}, "y"))


def broken(factory, tmp_path, graphs=300):
    """Laws that a backend breaks, by name, with their results; the report is in tmp_path."""
    chosen = tuple(one for one in asking.instances() if asking.law_of(one) in run_laws.RUN)
    plan = asking.Plan(graphs, 0, chosen, str(tmp_path))
    records = asking.run(plan, "here", Lanes(factory, tmp_path), CLAIMS)
    again = asking.records(plan, CLAIMS, asking.load(str(tmp_path)))
    assert [record.result for record in again] == [record.result for record in records], "answers can be judged again"
    return {asking.law_of(one.instance).name: one.result for one in records if one.result.status == "fail"}


@pytest.fixture(autouse=True)
def as_found(request, monkeypatch):
    """Examples stay as they are found, but where a test is about them."""
    if "small" not in request.fixturenames:
        monkeypatch.setattr(examples, "FRESH_SHRINKS", 0)


@pytest.fixture
def small():
    """Examples are made small."""


def test_a_backend_that_computes_what_is_there_keeps_every_law(tmp_path):
    assert broken(Plain, tmp_path) == {}


class KeepsNothing(Plain):
    """An operator that is kept on the host gives nothing."""

    def compute(self, one, node, slot):
        kept = f"'{one.name}'" in str(self.params["values"].get("in_out_pair", ""))
        return [0.0, 0.0] if kept else super().compute(one, node, slot)


class FrontendDiffers(Plain):
    """Without the device Relu is forgotten."""

    def rule(self, one):
        alone = self.params["values"].get("use_off_line") is False
        return RULES["Identity"] if alone and one.op == "Relu" else RULES[one.op]


class WholeDiffers(Plain):
    """In full offload Neg is forgotten."""

    def rule(self, one):
        whole = self.params["values"].get("mix_compile_mode") is False
        return RULES["Identity"] if whole and one.op == "Neg" else RULES[one.op]


class Mixes(Plain):
    """Fetches are given in the order of their names, whatever was asked."""

    def step(self, fetches):
        found = super().step(fetches)
        return dict(zip(found, [found[name] for name in sorted(found)])) if fetches != sorted(fetches) else found


class KnowsNames(Plain):
    """An addition is known by its name."""

    def rule(self, one):
        return RULES["Maximum"] if one.op == "AddV2" and not one.name.startswith("addv2") else RULES[one.op]


class IgnoresFeeds(Plain):
    """Only placeholders can be fed."""

    def value(self, node, slot):
        if self.graph.nodes[node].op == "Placeholder":
            return self.feeds[f"{self.graph.nodes[node].name}:0"]
        kept, self.feeds = self.feeds, {name: one for name, one in self.feeds.items() if name.startswith(("x", "cond"))}
        found = super().value(node, slot)
        self.feeds = kept
        return found


class PassesOnce(Plain):
    """What passes an Identity loses its sign."""

    def rule(self, one):
        return abs if one.op == "Identity" and one.name.endswith("_passed") else RULES[one.op]


class Forgets(Plain):
    """Every step begins with the first state."""

    def step(self, fetches):
        for name in self.params["init"]:
            self.start(name)
        return super().step(fetches)


class ReadsEarly(Plain):
    """A variable is read before it is added to."""

    def compute(self, one, node, slot):
        before = dict(self.state)
        found = super().compute(one, node, slot)
        return before.get("handle", found) if one.op == "ReadVariableOp" else found


class RefusesBranches(Plain):
    """No conditions."""

    def merged(self, one, node):
        raise NpuError("GRAPH_UNKNOWN_OP", one.name, "no Merge", "none")


@pytest.mark.parametrize(
    ("backend", "law"),
    [
        (KeepsNothing, "run-partition"),
        (FrontendDiffers, "run-partition"),
        (WholeDiffers, "run-partition"),
        (Mixes, "run-fetches"),
        (KnowsNames, "run-renaming"),
        (IgnoresFeeds, "run-feeding"),
        (PassesOnce, "run-identities"),
        (Forgets, "run-repeating"),
        (ReadsEarly, "run-values"),
        (RefusesBranches, "run-answered"),
    ],
)
def test_a_faulty_backend_breaks_the_law_it_is_about(backend, law, tmp_path):
    assert law in broken(backend, tmp_path)


def test_every_law_has_a_backend_that_breaks_it():
    [mark] = test_a_faulty_backend_breaks_the_law_it_is_about.pytestmark
    assert {law for _, law in mark.args[1]} == {law.name for law in run_laws.RUN}


def test_a_run_of_the_usual_length_sees_most_of_them(tmp_path):
    seen = sum(bool(broken(one, tmp_path, asking.DEFAULT)) for one in (FrontendDiffers, Mixes, KnowsNames, Forgets))
    assert seen >= 3


def test_a_smallest_graph_is_left_with_the_requests_that_show_it(tmp_path, small):
    assert "run-partition" in broken(FrontendDiffers, tmp_path)
    [path] = [one for one in os.listdir(str(tmp_path)) if one.startswith("law-run-partition-current")]
    with open(os.path.join(str(tmp_path), path), encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    graph = load_graph(os.path.join(str(tmp_path), path))
    assert [node.op for node in graph.nodes if node.op != "Placeholder"] == ["Relu"], "a Relu of what is fed"
    first, other = (json.loads(line.partition(": ")[2]) for line in lines if line.startswith(("# first:", "# by the")))
    assert first["feeds"] == other["feeds"] and first["fetches"] == other["fetches"]
    assert other["values"] == {"precision_mode": first["values"]["precision_mode"], "use_off_line": False}


def test_the_values_of_a_drawn_graph_are_whole_and_exact():
    for number in range(200):
        made = run_laws.program(run_laws.draw(f"values/{number}"))
        if made is not None:
            values = [one for value in made.expected(2).values() for one in value]
            assert all(one == int(one) and abs(one) < 2**24 for one in values)


def test_the_graphs_of_a_seed_are_the_same_in_every_version_of_python():
    drawn = [run_laws.draw(f"run/0/{number}") for number in range(3)]
    assert [[step.kind for step in steps] for steps in drawn] == PINNED


PINNED = [
    ["call", "condition", "state", "host", "condition", "while"],
    ["many", "host", "while"],
    ["binary", "state", "unary", "while", "binary", "many"],
]


@pytest.mark.skipif(tensorflow_version() is None, reason="the reference runs graphs with TensorFlow")
def test_the_reference_keeps_the_laws_of_run(tmp_path):
    chosen = tuple(one for one in asking.instances() if asking.law_of(one) in run_laws.RUN)
    plan = asking.Plan(asking.DEFAULT, 0, chosen, str(tmp_path))
    records = asking.run(plan, "reference", runner.Settings(python=sys.executable), CLAIMS)
    assert {record.result.status for record in records} == {"pass"}
