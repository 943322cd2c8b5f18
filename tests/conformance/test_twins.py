"""A twin asks the same in other names or another order, and its answer reads like the original's."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.judging import judge
from npu_conformance.library import selection, twins
from npu_conformance.library.case import Instance
from npu_conformance.protocol import client, requests
from npu_conformance.running import runner
from npu_reference.graphs import load_graph
from tests.cases.corpus import corpus
from tests.conformance.shelves import QUICK, Shelf, hosted

GRAPH = """
node { name: "scope/v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
node { name: "up" op: "AssignAdd" input: "scope/v" input: "c:0" input: "^c" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_class" value { list { s: "loc:@scope/v" s: "other" } } } }
"""  # noqa: E501


def twin(shelf: Shelf, kind: str, name: str = "graph.pbtxt") -> twins.Twin:
    os.makedirs(shelf.path("work"), exist_ok=True)
    return twins.make(kind, shelf.write(name, GRAPH), shelf.path("work"))


def read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def test_renaming_changes_every_mention_of_a_node_and_nothing_else(shelf: Shelf) -> None:
    made = twin(shelf, "rename")
    names, graph = made.names, load_graph(made.graph)
    assert sorted(names) == ["c", "scope/v", "up"]
    assert [node.op for node in graph.nodes] == ["VariableV2", "Const", "AssignAdd"]
    up = graph.nodes[2]
    assert [made.back(text) for text in up.inputs] == ["scope/v", "c:0", "^c"]
    text = read(made.graph)
    assert f"loc:@{names['scope/v']}" in text
    assert "other" in text
    assert '"c"' not in text


def test_renaming_reverses_the_alphabetical_order(shelf: Shelf) -> None:
    names = [node.name for node in load_graph(twin(shelf, "rename").graph).nodes]
    assert names == sorted(names, reverse=True)


def test_reordering_keeps_every_node(shelf: Shelf) -> None:
    graph = load_graph(twin(shelf, "reorder").graph)
    assert [node.name for node in graph.nodes] == ["up", "c", "scope/v"]


def test_a_twin_keeps_the_form_of_its_original(shelf: Shelf) -> None:
    assert twin(shelf, "rename").graph.endswith(".pbtxt")
    with open(shelf.path("graph.pb"), "wb") as stream:
        stream.write(load_graph(shelf.path("graph.pbtxt")).to_bytes())
    binary = twins.make("reorder", shelf.path("graph.pb"), shelf.path("work"))
    assert binary.graph.endswith(".pb")


def test_parameters_that_name_nodes_are_rewritten(shelf: Shelf) -> None:
    made = twin(shelf, "rename")
    pairs = "[[['c', \"scope/v\", 'unknown', 'c:0'], ['up']]]"
    params = {
        "graph": "x", "values": {"in_out_pair": pairs, "other": "c"}, "fetches": ["up:0", "up", "nothing:0"],
        "init": ["c"], "feeds": {"c:0": 1},
    }  # fmt: skip
    found = made.forward(params)
    assert found["graph"] == made.graph
    assert found["values"]["other"] == "c"
    assert made.back(found["values"]["in_out_pair"]) == pairs
    assert "'c'" not in found["values"]["in_out_pair"]
    assert "'c:0'" in found["values"]["in_out_pair"]
    assert found["fetches"] == [made.names["up"] + ":0", made.names["up"], "nothing:0"]
    assert found["init"] == [made.names["c"]]
    assert list(found["feeds"]) == [made.names["c"] + ":0"]
    assert params["values"]["in_out_pair"] == pairs


def test_names_built_around_a_renamed_one_are_read_back(shelf: Shelf) -> None:
    made = twin(shelf, "rename")
    answer = {"geops": [{"nodes": [f"_arg_{made.names['c']}_0_0"], "args": [f"{made.names['up']}_0_arg"]}], "host": []}
    assert made.back(answer) == {"geops": [{"nodes": ["_arg_c_0_0"], "args": ["up_0_arg"]}], "host": []}


@settings(max_examples=50)
@given(st.recursive(st.text(max_size=5) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=8))  # fmt: skip  # noqa: E501
def test_reading_back_leaves_alone_what_no_twin_named(value: object) -> None:
    assert twins.Twin("", {}, []).back(value) == value


class ByName:
    """Offloads the alphabetically first node only: an answer that depends on names."""

    def __init__(self, names: list) -> None:
        first = sorted(names)[0]
        self.answer = {"geops": [{"nodes": [first]}], "host": [{"node": name} for name in names if name != first]}


def test_a_backend_whose_answer_depends_on_names_passes_the_case_and_fails_its_twin(shelf: Shelf) -> None:
    shelf.write(
        "cases/small/topic.toml",
        '[[case]]\nid = "one"\ntitle = "One"\nrequirements = ["small.one"]\nmethod = "partition"\ntwins = ["rename"]\n'
        'editions = ["current"]\nparams = { graph = "small.pbtxt" }\nexpect = { observe = ["placement"] }\n',
    )
    shelf.write("golden/small/topic.txt", "one | device a\none | host b\none | host x\n")
    plain, renamed = shelf.load().instances()

    def status(instance: Instance) -> str:
        os.makedirs(shelf.path("work"), exist_ok=True)
        prepared = requests.prepare(instance, shelf.path("work"))
        names = [node.name for node in load_graph(prepared.params["graph"]).nodes]
        outcome = client.Answered(ByName(names).answer)
        return judge.judge(instance, requests.read_back(outcome, prepared.twin)).status

    assert (status(plain), status(renamed)) == ("pass", "fail")


def test_a_twin_of_a_graph_that_cannot_be_read_is_the_suites_own_fault(shelf: Shelf) -> None:
    text = read(shelf.path("cases/small/topic.toml"))
    shelf.write(
        "cases/small/topic.toml", text.replace('id = "small-partition"', 'id = "small-partition"\ntwins = ["reorder"]')
    )
    shelf.write("fixtures/small.pbtxt", "node {")
    loaded = shelf.load()
    chosen = selection.select(loaded, keyword="+reorder")
    report = runner.run(loaded, chosen, hosted("Honest"), QUICK)
    assert [record.result.status for record in report.records] == ["harness-error"]
    assert "GRAPH_FORMAT" in report.records[0].result.detail


@pytest.mark.parametrize("case", ["mixed-pyfunc-stays-on-host", "mixed-diamond-around-host-is-cut"])
def test_the_reference_answers_every_twin_of_a_shipped_case_alike(case: str) -> None:
    loaded = corpus()
    report = runner.run(loaded, selection.select(loaded, keyword=case), "reference")
    facts = {record.instance.twin: record.result.facts for record in report.records}
    assert set(facts) >= {"", "rename", "reorder"}
    assert len({json.dumps(one) for one in facts.values()}) == 1
