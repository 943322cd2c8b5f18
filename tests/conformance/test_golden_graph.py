"""Golden-graph regression says what moved in a user's own graph, and nothing else."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from npu_conformance import cli
from npu_conformance.models import golden
from npu_conformance.models.golden import GoldenPlace, GoldenQuestion, GoldenRecord
from npu_conformance.models.golden.changes import NAMED_MOVES
from npu_conformance.protocol import schema
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, write_graph

MIXED = GoldenQuestion({"mix_compile_mode": True})


def chain(path, host_op="PyFunc"):
    """x -> relu -> middle -> relu, written to `path`."""
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    before = g.op("Relu", "before", [x])
    if host_op == "PyFunc":
        middle = g.op("PyFunc", "middle", [[before]], token="pyfunc_0", Tin=["float32"], Tout=["float32"])
    else:
        middle = g.op(host_op, "middle", [before])
    g.op("Relu", "after", [middle])
    write_graph(g.build(), str(path))
    return str(path)


def record(places, **counts):
    return GoldenRecord(MIXED, places, counts)


def test_an_unchanged_model_has_no_changes(tmp_path):
    model = chain(tmp_path / "model.pb")
    golden.update(model, MIXED)
    assert golden.check(model) == []


def test_the_record_is_the_same_bytes_each_time(tmp_path):
    model = chain(tmp_path / "model.pb")
    first = golden.update(model, MIXED).read_bytes()
    assert golden.update(model, MIXED).read_bytes() == first


def test_an_operator_that_moves_to_the_host_is_named_with_its_reason(tmp_path):
    model = chain(tmp_path / "model.pb", host_op="Tanh")
    golden.update(model, MIXED)
    chain(tmp_path / "model.pb")
    texts = [change.text for change in golden.check(model)]
    assert "middle: GEOP 1 -> host, NOT_SUPPORTED" in texts
    assert "geops: 1 -> 2" in texts


def test_a_new_geop_in_front_moves_no_other():
    before = record({"b": GoldenPlace(1), "c": GoldenPlace(1)}, geops=1)
    after = record({"a": GoldenPlace(1), "b": GoldenPlace(2), "c": GoldenPlace(2)}, geops=2)
    assert [change.text for change in golden.changes(before, after)] == [
        "a: not in the graph -> GEOP 1",
        "geops: 1 -> 2",
    ]


def test_a_geop_that_is_dissolved_is_one_line():
    before = record({name: GoldenPlace(1) for name in "abc"})
    after = record({name: GoldenPlace(-1, "SCOPE") for name in "abc"})
    assert [change.text for change in golden.changes(before, after)] == [
        "all 3 operators of GEOP 1 (a, ...): GEOP 1 -> host, SCOPE"
    ]


def test_a_cause_that_changes_is_a_change():
    before = record({"a": GoldenPlace(-1, "REF_EDGE", "v")})
    after = record({"a": GoldenPlace(-1, "REF_EDGE", "w")})
    assert [change.text for change in golden.changes(before, after)] == [
        "a: host, REF_EDGE via v -> host, REF_EDGE via w"
    ]


def test_many_moves_of_one_kind_are_counted_beyond_the_first():
    names = [f"n{i:03}" for i in range(NAMED_MOVES + 5)]
    before = record({**{name: GoldenPlace(1) for name in names}, "stays": GoldenPlace(1)})
    after = record({**{name: GoldenPlace(-1, "SCOPE") for name in names}, "stays": GoldenPlace(1)})
    texts = [change.text for change in golden.changes(before, after)]
    assert len(texts) == NAMED_MOVES + 1
    assert texts[-1] == "and 5 more operators: GEOP 1 -> host, SCOPE"
    assert golden.changes(before, after)[-1].names == tuple(names[NAMED_MOVES:])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "golden.txt"),
        ("something else\n", "golden.txt"),
        ("npu-conformance golden graph 1\n{]\n", ":2"),
        ('npu-conformance golden graph 1\n{"values": {}, "feeds": [], "fetches": [], "evil": 1}\n', ":2"),
        ('npu-conformance golden graph 1\n{"values": {}, "feeds": [], "fetches": []}\nnode a nowhere\n', ":3"),
        ('npu-conformance golden graph 1\n{"values": {}, "feeds": [], "fetches": []}\ncount geops = many\n', ":3"),
    ],
)
def test_a_damaged_record_is_refused_by_line(tmp_path, text, where):
    model = chain(tmp_path / "model.pb")
    golden.record_path(model).write_text(text, encoding="utf-8")
    with pytest.raises(NpuError) as caught:
        golden.check(model)
    assert caught.value.code == "CASE_FILE"
    assert where in caught.value.subject


def test_the_command_says_what_moved_and_exits_1(tmp_path):
    model = chain(tmp_path / "model.pb", host_op="Tanh")
    runner = CliRunner()
    assert runner.invoke(cli.cli, ["golden", "update", model, "-o", "mix_compile_mode=true"]).exit_code == 0
    same = runner.invoke(cli.cli, ["golden", "check", model], standalone_mode=False)
    assert same.return_value == 0 and "unchanged" in same.output
    chain(tmp_path / "model.pb")
    moved = runner.invoke(cli.cli, ["golden", "check", model], standalone_mode=False)
    assert moved.return_value == 1 and "middle: GEOP 1 -> host" in moved.output


def test_a_model_without_a_record_says_how_to_make_one(tmp_path):
    model = chain(tmp_path / "model.pb")
    with pytest.raises(NpuError, match="golden update"):
        golden.check(model)


def test_a_model_that_does_not_exist_is_told_from_one_without_a_record(tmp_path):
    with pytest.raises(NpuError) as caught:
        golden.check(str(tmp_path / "nowhere.pb"))
    assert (caught.value.code, caught.value.reason) == ("GRAPH_FILE", "there is no such file.")


def test_both_commands_answer_in_json_by_their_schema(tmp_path):
    model = chain(tmp_path / "model.pb")
    declared = schema.load("golden")
    for command, key in (("update", "recorded"), ("check", "changes")):
        answer = json.loads(CliRunner().invoke(cli.cli, ["golden", command, model, "--format", "json"]).output)
        assert schema.fault(answer, declared, declared) is None
        assert list(answer[key]) == [model]


def test_a_page_shows_of_each_model_what_moved_before_and_after(tmp_path):
    model, other = chain(tmp_path / "model<b>.pb", host_op="Tanh"), chain(tmp_path / "other.pb")
    for path in (model, other):
        golden.update(path, MIXED)
    chain(tmp_path / "model<b>.pb")
    page = tmp_path / "moved.html"
    ended = CliRunner().invoke(cli.cli, ["golden", "check", str(tmp_path), "--html", str(page)], standalone_mode=False)
    written = re.sub(r"<wbr>|&#8203;|\u200b", "", page.read_text("utf-8"))
    assert ended.return_value == 1 and "1 of 2 models are unchanged, 1 moved" in written
    assert "<td>middle</td><td>GEOP 1</td><td>host, NOT_SUPPORTED</td>" in written
    assert "<td>geops</td><td>1</td><td>2</td>" in written and "model<b>" not in written


def test_a_misspelt_option_is_told_and_refused_where_nothing_is_ignored(tmp_path):
    words = ["golden", "update", chain(tmp_path / "model.pb"), "-o", "mix_compile_mod=true"]
    told = CliRunner().invoke(cli.cli, words)
    assert told.exit_code == 0 and "Did you mean mix_compile_mode?" in told.output
    with pytest.raises(NpuError, match="Did you mean mix_compile_mode"):
        CliRunner().invoke(cli.cli, [*words, "--strict"], catch_exceptions=False, standalone_mode=False)


def test_a_model_of_a_folder_that_has_no_record_is_told_unless_it_is_left_out(tmp_path):
    golden.update(chain(tmp_path / "model.pb"), MIXED)
    new = chain(tmp_path / "new.pb")
    for words, told in (([], True), (["--recorded"], False)):
        ended = CliRunner().invoke(cli.cli, ["golden", "check", str(tmp_path), *words], standalone_mode=False)
        assert ended.return_value == 0 and (f"{new} has no record" in ended.output) == told
