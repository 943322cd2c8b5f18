"""Folders that somebody else made: `inspect` shows what can be shown, follows no link, and never ends in a crash."""

from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_conformance.inspecting import profiles, registry, tree, weights
from npu_conformance.protocol import schema
from npu_reference.dumps import form
from npu_reference.dumps import reading as dump_reading
from npu_reference.errors import NpuError
from tests.conformance.test_inspect_folders import answer, cached, machine, profile, run

pytestmark = pytest.mark.oldest_at_night

#: What stands in place of a file: none of it may end in more than a sentence.
CONTENTS = {
    "nothing": b"", "zeros": b"\0" * 4096, "no text": bytes(range(256)) * 8, "a number": b"1" * 100_000,
    "deep": b"[" * 100_000, "deep objects": b'{"a":' * 50_000, "a list": b"[1, 2]", "not a number": b'{"a": NaN}',
    "one long line": b"a," * 200_000, "an open quote": b'"' + b"x\n" * 100_000, "commas": b",,,\n" * 1000,
    "control": 'Op Name,OP Type\n"\x1b[2J\x07\u202eevil",x\n'.encode(),
}  # fmt: skip

#: A file of each kind of folder.
PLACES = [
    "PROF_000001_A/mindstudio_profiler_output/op_summary_1.csv",
    "PROF_000001_A/mindstudio_profiler_output/task_time_1.csv",
    "PROF_000001_A/mindstudio_profiler_output/step_trace_1.csv",
    "PROF_000001_A/device_0/info.json.0",
    "kernel_cache/ascend910/te_matmul_" + "0" * 64 + ".json",
    "kernel_cache/ascend910/.npu-uses",
    "kernel_cache/op_cache.ini",
    "kernel_meta/te_matmul_" + "0" * 64 + ".json",
    "kernel_meta/te_matmul_" + "0" * 64 + "_compute.json",
    "fusion_result.json",
    "tmp_weight_1_0/weight_" + "0" * 64,
    "aoe_bank.json",
    "aoe_result_opat.json",
    "aic-ascend910-ops-info.json",
]  # fmt: skip


def put(folder, place, data):
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if place.endswith(".json") and "te_matmul" in place and "_compute" not in place:
        path.with_suffix(".o").write_bytes(b"x")
    if place.endswith("info.json.0"):
        (path.parent.parent / "host").mkdir()
    return path


def looked(folder):
    """The content of every kind of folder that is found, each what the schema says and nothing a terminal obeys."""
    found = [one.kind.look(registry.Inspected(one.folder, {})) for one in registry.find(str(folder))]
    json.dumps(found, allow_nan=False)
    return found


@pytest.mark.parametrize("place", PLACES)
def test_a_file_that_holds_anything_is_told_of(tmp_path, place):
    for content in CONTENTS:
        put(tmp_path / content, place, CONTENTS[content])
        assert looked(tmp_path / content), content


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_whole_folder_with_one_byte_changed_is_told_of(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "whole"
    if not folder.exists():
        profile(folder / "p")
        cached(folder)
        machine(folder, op_debug_level=4, debug_dir="/d", external_weight=True).compile()
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path = data.draw(st.sampled_from(paths))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.one_of(st.just(b""), st.binary(min_size=1, max_size=4)))
    path.write_bytes(whole[:at] + change + whole[at + max(len(change), 1) :] if change else whole[:at])
    try:
        assert len(looked(folder)) >= 4
    finally:
        path.write_bytes(whole)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="links")
@pytest.mark.parametrize("place", PLACES)
def test_no_link_is_followed(tmp_path, place):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret-of-somebody")
    inside = tmp_path / "inside"
    path = put(inside, place, b"x")
    path.unlink()
    path.symlink_to(outside / "secret")
    (inside / "around").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "x").mkdir()
    (inside / "x" / "fusion_result.json").write_text("{}")
    told = json.dumps(looked(inside))
    assert "secret-of-somebody" not in told


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
@pytest.mark.parametrize("place", PLACES)
def test_a_pipe_keeps_nobody_waiting(tmp_path, place):
    path = put(tmp_path, place, b"x")
    path.unlink()
    os.mkfifo(str(path))
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "fusion_result.json").write_text("{}")
    assert looked(tmp_path)


@pytest.mark.parametrize("name", ["a\x1b[31mred", "b\nline", "c\u202eright", os.fsdecode(b"\xff\xfe"), "d" * 200])
def test_names_reach_no_terminal_as_they_are(tmp_path, capsys, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "fusion_result.json").write_text(
        json.dumps({name: {"ub_fusion": {"\x1b[2Jpass\n": {"match_times": "1"}}}})
    )
    rows = 'Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"\x1b[2J\u202eop",T\x07,AI_CORE,1,2\n'
    (folder / "op_summary_1.csv").write_text(rows, encoding="utf-8")
    code, out, err = run(capsys, str(tmp_path))
    assert code == 0 and not err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", out)
    assert answer(capsys, str(tmp_path))[0] == 0


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e999", "x", "", "1e17", "１"])
def test_a_time_that_is_none_is_left_out(tmp_path, text):
    rows = f"Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\na,T,AI_CORE,1,2\nb,T,AI_CORE,3,{text}\n"
    (tmp_path / "op_summary_1.csv").write_text(rows, encoding="utf-8")
    (content,) = looked(tmp_path)
    assert content["operators"][-1]["op"] in ("a", "b") and content["wall_us"] >= 2


@pytest.mark.parametrize("head", ["=cmd,Task Type", "Op Name,Task Duration(us)", ""])
def test_a_table_of_somebody_elses_is_said_to_be_none(tmp_path, head):
    put(tmp_path, PLACES[0], head.encode() + b"\na,1\n")
    (content,) = looked(tmp_path)
    assert "has no column Task" in content["flaws"][0]["why"]


def test_bounds_are_told_and_not_crossed(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "_MOST_ROWS", 3)
    monkeypatch.setattr(profiles, "_MOST_NAMES", 2)
    rows = "".join(f"op{number},T,AI_CORE,{number},1\n" for number in range(9))
    head = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
    (tmp_path / "op_summary_1.csv").write_text(head + rows, encoding="utf-8")
    (content,) = looked(tmp_path)
    assert [row["op"] for row in content["operators"]] == ["(others)", "op0", "op1"] or len(content["operators"]) == 3
    assert "rows" in content["flaws"][0]["why"]
    monkeypatch.setattr(weights, "_MOST_BYTES", 3)
    put(tmp_path, "tmp_weight_1_0/weight_" + "0" * 64, b"more than three")
    assert looked(tmp_path)[-1]["files"][0]["state"] == "unchecked"
    monkeypatch.setattr(tree, "_MOST_NAMES", 2)
    with pytest.raises(NpuError) as caught:
        registry.find(str(tmp_path))
    assert caught.value.code == "INSPECT_FOLDER"


def test_nothing_is_written_or_touched(tmp_path):
    profile(tmp_path / "p")
    cached(tmp_path)

    def state():
        return {
            str(path): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in sorted(tmp_path.rglob("*")) if path.is_file()
        }  # fmt: skip

    before = state()
    looked(tmp_path)
    assert state() == before


def test_names_and_descriptions_of_dumps_are_markup_nowhere(tmp_path, capsys):
    place = tmp_path / "20260101000000" / "0" / "GeOp_0" / "1" / "0"
    place.mkdir(parents=True)
    for task, op in enumerate(("<script>alert(1)</script>", "\x1b[31mred\u202e", "'\"><img src=x onerror=alert(1)>")):
        tensor = form.Tensor("float32", (1,), 4, "ND", op, 0)
        parts = form.encode(form.Description(op, 1, (), (tensor,), (), (form.SIMULATED,)), [], [b"\0" * 4])
        (place / f"Add.op{task}.{task}.0.{task + 1}").write_bytes(b"".join(bytes(part) for part in parts))
    (place / "<img src=x onerror=alert(1)>.c.3.0.3").write_bytes(b"torn")
    code, out, _ = run(capsys, str(tmp_path), "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert code == 0 and "\x1b" not in out and "\u202e" not in out
    assert not any(tag in page for tag in ("<script>alert(1)", "<img src=x", "\x1b"))


@pytest.mark.parametrize("name", ["missing", "file", "x" * 5000])
def test_what_is_no_folder_is_one_sentence(tmp_path, capsys, name):
    (tmp_path / "file").write_text("x")
    code, out, err = run(capsys, os.path.join(str(tmp_path), name))
    assert code == 2 and not out and err.startswith("error[INSPECT_FOLDER]") and err.count("\n") == 1


def test_the_schema_says_what_several_folders_look_like(tmp_path, capsys, monkeypatch):
    profile(tmp_path / "p")
    cached(tmp_path)
    put(tmp_path / "d", "Relu.x.1.1.5", b"no dump at all")
    monkeypatch.setattr(dump_reading, "MAX_FILES", 0)
    _, found = answer(capsys, str(tmp_path))
    assert schema.fault(found, schema.load("inspect"), schema.load("inspect")) is None
    wrong = [one for one in found["folders"] if "error" in one]
    assert [one["kind"] for one in wrong] == ["dump"] and wrong[0]["error"]["code"] == "DUMP_FILE"
