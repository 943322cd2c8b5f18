"""The command `profile` with several ranks: what it prints, what it refuses, and the links in the trace and the page.

The other tests of this folder call the simulation itself. These hold the arguments, the texts and the JSON of the
command to it, and to the schema `profile`.
"""

from __future__ import annotations

import json

import pytest

from npu_conformance import cli
from npu_conformance.protocol import schema
from tests.links.test_rank_tables import TABLE

GRAPH = "fixtures/graphs/timing/data_parallel.pbtxt"


@pytest.fixture
def ask(capsys):
    def run(*words):
        with pytest.raises(SystemExit) as ended:
            cli.main(["profile", GRAPH, "--feed", "other:0", "--fetch", "train", *words])
        return ended.value.code, capsys.readouterr()

    return run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(TABLE))
    return str(path)


def answer(asked):
    code, told = asked
    assert code == 0
    found = json.loads(told.out)
    assert schema.fault(found, schema.load("profile"), schema.load("profile")) is None
    return found


def test_collectives_and_what_goes_over_the_links_are_told(ask):
    found = answer(ask("--ranks", "8", "--format", "json"))["communication"]
    assert found["ranks"] == 8 and [one["algorithm"] for one in found["collectives"]] == ["hierarchical"] * 2
    assert found["links"] == {"hccs": 2 * 8 * 3 * (16 << 20) // 4, "pcie": 8 * (16 << 20) // 4}
    assert 0 < found["alone_ns"] <= sum(one["busy_ns"] for one in found["collectives"])
    code, told = ask("--ranks", "8")
    assert code == 0 and "devices: 8 send 192MiB over hccs, 32MiB over pcie a step" in told.out
    table = told.out[told.out.index("Collective ") : told.out.index("devices:")]
    assert max(len(line) for line in table.splitlines()) <= 80


def test_the_rate_of_all_is_compared_with_that_of_one(ask):
    found = answer(ask("--ranks", "8", "--format", "json", "--compare", "hcom_parallel=False"))
    alone = answer(ask("--format", "json"))
    assert found["communication"]["efficiency"] == alone["step_ns"] / found["step_ns"] < 1
    assert found["compared"][0]["efficiency"] < found["communication"]["efficiency"]
    assert alone["communication"]["efficiency"] is None
    assert "of 8 times the rate of one" in ask("--ranks", "8")[1].out


def test_an_algorithm_can_be_asked_for(ask):
    ring = answer(ask("--ranks", "8", "--algorithm", "ring", "--format", "json"))
    assert {one["algorithm"] for one in ring["communication"]["collectives"]} == {"ring"}
    assert ring["step_ns"] > answer(ask("--ranks", "8", "--format", "json"))["step_ns"]
    code, told = ask("--ranks", "6", "--algorithm", "hierarchical")
    assert code == 2 and "groups of one size" in told.err


def test_one_device_says_nothing_of_links(ask):
    code, told = ask()
    assert code == 0 and "devices:" not in told.out
    found = answer(ask("--format", "json"))["communication"]
    assert found["ranks"] == 1 and found["links"] == {}


def test_a_rank_table_says_how_many_there_are_and_where(ask, table):
    found = answer(ask("--rank-table", table, "--format", "json"))["communication"]
    assert found["ranks"] == 8 and set(found["links"]) == {"hccs", "pcie", "roce"}


def test_the_trace_shows_the_links_of_rank_0(ask, tmp_path):
    path = tmp_path / "trace.json"
    assert ask("--ranks", "8", "--trace", str(path))[0] == 0
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"]
    assert names[:3] == ["hccs 0 to 1", "hccs 0 to 2", "hccs 0 to 3"] and "pcie 0 to any" in names
    last = {}
    for event in events:
        if event["ph"] == "X" and event["cat"] in ("hccs", "pcie") and "reduces" in event["args"]:
            key = event["pid"], event["tid"]
            assert event["args"]["start_ns"] >= last.get(key, 0)
            last[key] = event["args"]["end_ns"]
    assert len(last) == len(names)


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["--split", "idx:0,3"], [1, 3]), (["--split", "size:100"], [4]), (["--split", "size:25,25,25,25"], [1, 1, 1, 1])],
)
def test_gradients_are_split_as_asked(ask, words, expected):
    found = answer(ask("--ranks", "2", "--format", "json", *words))["communication"]["collectives"]
    assert [len(one["nodes"]) for one in found] == expected


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--split", "half"], "--split"), (["--split", "idx:a"], "--split"), (["--split", "idx:3,1"], "--split"),
        (["--split", "size:50"], "--split"), (["--split", "idx:9"], "no gradient 9"),
        (["--split", "size:nan,50"], "--split"), (["--group", "pair"], "--group"), (["--group", "p:0,x"], "--group"),
        (["--rank-table", "missing.json"], "--rank-table"), (["--rank-table", GRAPH], "no JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_the_argument(ask, words, named):
    code, told = ask("--ranks", "2", *words)
    assert code == 2 and named in told.err


def test_as_many_ranks_as_the_table_has(ask, table):
    code, told = ask("--ranks", "4", "--rank-table", table)
    assert code == 2 and "the rank table has 8" in told.err


def test_the_page_draws_the_links_and_lists_the_collectives(ask, tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    path = tmp_path / "page.html"
    assert ask("--ranks", "8", "--html", str(path))[0] == 0
    text = path.read_text(encoding="utf-8")
    assert "hccs 0 to 1" in text and "pcie any to 0" in text and "<h2>Collectives</h2>" in text
    from npu_conformance.report import profile_page

    monkeypatch.setattr(profile_page, "_USES", 3)  # of more the collectives alone are drawn
    assert ask("--ranks", "8", "--html", str(path))[0] == 0
    assert "hccs 0 to 1" not in path.read_text(encoding="utf-8")
