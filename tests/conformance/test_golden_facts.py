"""Golden graphs hold dtypes and a step too; many models are asked at once, and each has its own answer."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from npu_conformance import cli
from npu_conformance.models import golden
from npu_conformance.models.golden import GoldenQuestion
from npu_conformance.models.golden.changes import NAMED_DTYPES
from npu_conformance.protocol import schema
from npu_conformance.report import golden_page
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, write_graph
from tests.conformance.test_golden_graph import chain

pytestmark = pytest.mark.oldest_at_night

OPTIONS = {"precision_mode": "allow_mix_precision"}


def dense(path, layers=2, width=64):
    """x -> MatMul -> Relu, a few times, written to `path`; all sizes known."""
    g = GraphBuilder()
    tensor = g.placeholder("x", "float32", [32, width])
    for number in range(layers):
        weight = g.const(f"w{number}", [[0.5] * width] * width, "float32")
        tensor = g.op("Relu", f"relu{number}", [g.op("MatMul", f"dense{number}", [tensor, weight])])
    write_graph(g.build(), str(path))
    return str(path)


def told(model, **more):
    return [change.text for change in golden.check(model, **more)]


def asked_otherwise(model, **changed):
    """The record of `model` says it was asked otherwise: what then differs is what the option changes."""
    path = golden.record_path(model)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **changed})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def model(tmp_path):
    path = dense(tmp_path / "model.pb")
    golden.update(path, GoldenQuestion(OPTIONS, facts=golden.FACTS))
    return path


def invoke(*arguments):
    return CliRunner().invoke(cli.cli, list(arguments), standalone_mode=False)


def test_what_is_recorded_is_what_is_read(model):
    found = golden.recorded(model)
    assert found == golden.observe_model(model, found.question)
    assert found.precision["dense0"].inputs == ("float16", "float16")
    assert found.step["time ns"] > 0 and found.kernels


def test_operators_that_get_another_dtype_are_told_with_the_slots(model):
    asked_otherwise(model, values={"precision_mode": "allow_fp32_to_fp16"})
    assert "relu0: float16 -> float32 of input 0 and output 0" in told(model)
    assert not [text for text in told(model) if text.startswith("dense0: GEOP")]


def test_dtypes_of_many_operators_are_counted_beyond_the_first(tmp_path):
    path = dense(tmp_path / "deep.pb", layers=NAMED_DTYPES + 2, width=16)
    golden.update(path, GoldenQuestion(OPTIONS, facts=golden.FACTS))
    asked_otherwise(path, values={"precision_mode": "allow_fp32_to_fp16"})
    assert "and 2 more operators: float16 -> float32 of input 0 and output 0" in told(path)


def test_json_and_the_page_have_every_name_that_a_change_counts(tmp_path):
    path = dense(tmp_path / "deep.pb", layers=NAMED_DTYPES + 2, width=16)
    golden.update(path, GoldenQuestion(OPTIONS, facts=golden.FACTS))
    asked_otherwise(path, values={"precision_mode": "allow_fp32_to_fp16"})
    page = tmp_path / "moved.html"
    words = ["golden", "check", path, "--format", "json", "--html", str(page)]
    answer = json.loads(CliRunner().invoke(cli.cli, words, standalone_mode=False).output)
    assert schema.fault(answer, schema.load("golden"), schema.load("golden")) is None
    names = answer["names"][path]["and 2 more operators: float16 -> float32 of input 0 and output 0"]
    assert names == [f"relu{layer}" for layer in (NAMED_DTYPES, NAMED_DTYPES + 1)]
    assert "<details><summary>2 names</summary>" in page.read_text("utf-8")


def test_the_page_says_on_both_sides_what_a_change_is_of():
    found = golden_page.sides("a: b/c: float16 -> float32 of inputs 0, 1; engine cube -> vector")
    assert found == ["a: b/c", "float16; engine cube", "float32 of inputs 0, 1; engine vector"]
    assert golden_page.sides("x: GEOP 3 -> host, REF_EDGE via v; w") == ["x", "GEOP 3", "host, REF_EDGE via v; w"]


def test_a_slower_step_is_told_with_the_kernels_it_lies_in_and_a_tolerance_forgives_it(tmp_path, model):
    dense(tmp_path / "model.pb", layers=3)
    found = told(model)
    assert [text for text in found if text.startswith("a step's time: ") and "(+" in text]
    assert [text for text in found if text.startswith("kernels MatMul") and " on cube: 2 in " in text]
    assert not [text for text in told(model, tolerance=1000.0) if " us (" in text or " bytes (" in text]


def test_a_step_that_is_no_longer_known_is_a_change_with_the_reason(tmp_path):
    path = chain(tmp_path / "model.pb", host_op="Tanh")
    golden.update(path, GoldenQuestion({"mix_compile_mode": True}, facts=golden.FACTS))
    chain(tmp_path / "model.pb")
    assert [text for text in told(path) if text.startswith("a step's time and memory: known -> unknown, middle")]


def test_records_of_the_first_form_are_compared_by_what_they_hold(model):
    path = golden.record_path(model)
    kept = [line.partition(" as ")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    facts = [line for line in kept if line.startswith(("node", "count")) and not line.startswith("count casts")]
    old = {"values": OPTIONS, "surface": "session", "edition": "current", "policy": "documented", "flavour": "tf1"}
    question = json.dumps({**old, "feeds": [], "fetches": []})
    path.write_text("\n".join(["npu-conformance golden graph 1", question, *facts]) + "\n", encoding="utf-8")
    assert told(model) == []


def test_without_facts_named_all_are_recorded_that_the_sizes_allow(tmp_path, model):
    g = GraphBuilder()
    g.op("Relu", "relu", [g.placeholder("x", "float32", [None, 4])])
    write_graph(g.build(), str(tmp_path / "open.pb"))
    said = invoke("golden", "update", model, str(tmp_path / "open.pb"))
    assert said.return_value == 0
    assert "(placement, precision, step)" in said.output
    assert "(placement, precision; no step: x: its sizes are open." in said.output
    wanted = invoke("golden", "update", str(tmp_path / "open.pb"), "--facts", "placement,step")
    assert wanted.return_value == 2 and "[DEVICE_SIZES]" in wanted.output
    batch = invoke("golden", "update", str(tmp_path / "open.pb"), "--batch", "4")
    assert "(placement, precision, step)" in batch.output


def test_a_record_made_again_is_asked_as_before(model):
    before = golden.record_path(model).read_bytes()
    assert invoke("golden", "update", "--again", model).return_value == 0
    assert golden.record_path(model).read_bytes() == before
    both = invoke("golden", "update", "--again", model, "-o", "mix_compile_mode=true")
    assert isinstance(both.exception, NpuError) and both.exception.code == "USAGE"


def test_files_of_the_user_are_found_from_the_folder_of_the_model_and_told_when_they_change(
    tmp_path, monkeypatch, model
):
    (tmp_path / "elsewhere").mkdir()
    listed = tmp_path / "ops.json"
    listed.write_text('{"MatMul": {}, "Relu": {}, "Const": {}}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = invoke("golden", "update", "model.pb", "--op-list", "ops.json", "--facts", "placement")
    assert said.return_value == 0, said.output
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert told("../model.pb") == []
    listed.write_text('{"MatMul": {}, "Const": {}}', encoding="utf-8")
    assert "op_list: the file has other contents than when this was recorded" in told("../model.pb")


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_many_models_answer_in_their_order_whoever_is_first_and_errors_stay_their_own(tmp_path, model, jobs):
    other = chain(tmp_path / "other.pb")
    golden.update(other, GoldenQuestion({"mix_compile_mode": True}))
    chain(tmp_path / "other.pb", host_op="Tanh")
    names = [model, str(tmp_path / "none.pb"), other]
    said = invoke("golden", "check", "-n", jobs, "--format", "json", *names)
    answer = json.loads(said.output.splitlines()[-1])
    declared = schema.load("golden")
    assert schema.fault(answer, declared, declared) is None
    assert said.return_value == 2
    assert list(answer["changes"]) == sorted([model, other]) and answer["changes"][model] == []
    assert "there is no such file" in answer["errors"][names[1]]


def test_a_folder_stands_for_all_that_is_recorded_below_it(tmp_path, monkeypatch, model):
    below = tmp_path / "below"
    below.mkdir()
    golden.update(chain(below / "other.pb"), GoldenQuestion({"mix_compile_mode": True}))
    chain(tmp_path / "unrecorded.pb")
    monkeypatch.chdir(tmp_path)
    said = invoke("golden", "check", "-n", "1", ".")
    assert said.return_value == 0
    assert [line for line in said.output.splitlines() if line.endswith("unchanged")] == [
        "./model.pb: unchanged", "./below/other.pb: unchanged",
    ]  # fmt: skip
    assert invoke("golden", "check", "--recorded", "unrecorded.pb", "model.pb.golden.txt").return_value == 0
    (tmp_path / "empty").mkdir()
    assert "nothing is recorded below" in str(invoke("golden", "check", "empty").exception)


def test_moves_are_annotations_of_a_workflow(tmp_path):
    path = chain(tmp_path / "model.pb", host_op="Tanh")
    golden.update(path, GoldenQuestion({"mix_compile_mode": True}))
    chain(tmp_path / "model.pb")
    said = invoke("golden", "check", "--format", "github", path)
    assert said.return_value == 1
    assert said.output.startswith(f"::error file={path},title=golden graph moved::")
    assert "%0Amiddle: GEOP 1 -> host, NOT_SUPPORTED" in said.output
    assert len(said.output.splitlines()) == 1


@pytest.mark.parametrize(
    "line", ["node a geop 1 as float16", "inside f/a b as float16 float16 cube - -", "step time ns = soon", "made up"]
)
def test_a_damaged_fact_is_refused_by_line(model, line):
    path = golden.record_path(model)
    lines = [*path.read_text(encoding="utf-8").splitlines()[:2], line]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(NpuError) as caught:
        golden.check(model)
    assert caught.value.code == "CASE_FILE" and ":3" in caught.value.subject
