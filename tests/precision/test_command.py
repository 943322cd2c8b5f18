"""The command ``precision``: the summary first, in 80 columns; JSON by its schema; bad input is status 2."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import pytest

import npu_reference
from npu_conformance.cli import main
from npu_conformance.protocol import schema
from npu_reference.graphs import GraphBuilder, write_graph
from tests.precision.programs import matmul

MIX = ["-o", "precision_mode=allow_mix_precision"]


@pytest.fixture(autouse=True)
def piped(monkeypatch: Any) -> None:
    """What tests read has no width, whatever runs them."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def model(tmp_path: Any) -> str:
    """A small network with a long name in it."""
    g = GraphBuilder()
    value = g.op("Relu", "a/rather/long/scope/" * 6 + "relu", [matmul(g, "white")])
    g.op("AddV2", "large", [value, g.const("big", 1e9, "float32")])
    g.op("Log", "log", [value])
    path = str(tmp_path / "model.pb")
    write_graph(g.build(), path)
    return path


def run(capsys: Any, *arguments: str) -> Tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["precision", *arguments])
    told = capsys.readouterr()
    return int(stopped.value.code or 0), told.out, told.err


LONG = "a/rather/long/scope/" * 6 + "relu"


def test_the_text_begins_with_the_summary_and_fits_80_columns(capsys: Any, model: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(capsys, model, *MIX, "--compare", "precision_mode=force_fp32")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith("model.pb: 5 operators on the device, allow_mix_precision (current)")
    # A name is whole however long, and so is a path in a command to be pasted.
    assert max(len(line) for line in lines if LONG not in line and model not in line) <= 80
    assert "  " + LONG in lines  # a name is whole, on a line of its own
    assert "fp16_overflow big: the constant 1e+09" in out
    assert "allow_mix_precision to force_fp32: 3 of 5 operators changed" in out


def test_what_is_piped_has_one_item_a_line_and_whole_names(capsys: Any, model: str) -> None:
    lines = run(capsys, model, *MIX, "--compare", "precision_mode=force_fp32")[1].splitlines()
    assert [line.split() for line in lines if LONG in line] == [["Relu", "1", "vector", "fp16", "vector", "fp32", LONG]]
    every = run(capsys, model, *MIX, "--all")[1].splitlines()
    row = f"{LONG}  Relu  vector graylist  float16 > float16  graylist: no precision_reduce: its producer white"
    assert [line for line in every if line.startswith(LONG)] == [row + " gives float16"]


def test_all_tells_every_operator_with_its_reason(capsys: Any, model: str) -> None:
    out = run(capsys, model, *MIX, "--all")[1]
    assert "float16 > float16  graylist: no precision_reduce: its producer white gives" in out
    assert "float32 > float32  blocklist: precision_reduce false" in out


def test_json_follows_its_schema(capsys: Any, model: str) -> None:
    status, out, _ = run(capsys, model, *MIX, "--compare", "precision_mode_v2=origin", "--surface", "runconfig",
                         "--format", "json")  # fmt: skip
    answer: Dict[str, Any] = json.loads(out)
    declared = schema.load("precision")
    assert status == 0 and schema.fault(answer, declared, declared) is None
    made_by = f"npu-conformance {npu_reference.__version__}"
    assert answer["schema"] == {"name": "npu-conformance/precision", "version": 1, "made_by": made_by}
    changed = answer["compared"][0]["changed"]
    assert [row["node"] for row in changed if row["op"] == "MatMul"] == ["white"]
    assert changed[0]["before"]["inputs"] == ["float16", "float16"]


def test_work_is_counted_with_given_shapes(capsys: Any, tmp_path: Any) -> None:
    g = GraphBuilder()
    x, w = g.placeholder("x", "float32"), g.placeholder("w", "float32", [8, 4])
    g.op("Log", "log", [g.op("MatMul", "matmul", [x, w])])
    path = str(tmp_path / "model.pb")
    write_graph(g.build(), path)
    told = "work: unknown: 1 of 1 operator of the cube unit, which make nearly all of it, wait for sizes; "
    assert told + "give --shape x:?,… with a number for each ?" in run(capsys, path, *MIX)[1]
    work = json.loads(run(capsys, path, *MIX, "--shape", "x:16,8", "--format", "json")[1])["work"]
    assert work["flops"] == {"float16": 2 * 16 * 4 * 8, "float32": 16 * 4}
    assert work["unknown_operators"] == 0


def test_work_is_that_of_one_example_unless_a_batch_says_how_many(capsys: Any, tmp_path: Any) -> None:
    g = GraphBuilder()
    x, w = g.placeholder("x", "float32", [None, 8]), g.placeholder("w", "float32", [8, 4])
    g.op("Log", "log", [g.op("MatMul", "matmul", [x, w])])
    path = str(tmp_path / "model.pb")
    write_graph(g.build(), path)

    def work(*more: str) -> Any:
        return json.loads(run(capsys, path, *MIX, *more, "--format", "json")[1])["work"]

    assert (work()["flops"]["float16"], work()["batch"]) == (2 * 4 * 8, 1)
    assert (work("--batch", "16")["flops"]["float16"], work("--batch", "16")["batch"]) == (16 * 2 * 4 * 8, 16)
    assert (work("--shape", "x:2,8")["flops"]["float16"], work("--shape", "x:2,8")["batch"]) == (2 * 2 * 4 * 8, None)
    assert work("--feed", "x:0", "--fetch", "log:0", "--batch", "16")["flops"]["float16"] == 16 * 2 * 4 * 8
    assert "a step of one example" in " ".join(run(capsys, path, *MIX)[1].split())


def _images(tmp_path: Any, shape: Any) -> str:
    g = GraphBuilder()
    image, kernel = g.placeholder("images", "float32", shape), g.placeholder("kernel", "float32", [3, 3, 3, 8])
    conv = g.op("Conv2D", "conv", [image, kernel], strides=[1] * 4, padding="SAME")
    g.op("MatMul", "head", [g.placeholder("x", "float32", [4, 8]), g.placeholder("w", "float32", [8, 4])])
    g.op("Log", "log", [conv])
    path = str(tmp_path / "images.pb")
    write_graph(g.build(), path)
    return path


def test_no_share_is_told_while_work_of_the_cube_unit_is_unknown(capsys: Any, tmp_path: Any) -> None:
    path = _images(tmp_path, [None, None, None, 3])
    line = next(text for text in run(capsys, path, *MIX, "--batch", "8")[1].splitlines() if text.startswith("work"))
    assert "%" not in line
    assert "1 of 2 operators of the cube unit" in line and line.endswith(
        "--shape images:8,?,?,3 with a number for each ?"
    )
    work = json.loads(run(capsys, path, *MIX, "--batch", "8", "--format", "json")[1])["work"]
    assert work["waiting_for"] == [{"node": "images", "shape": [8, None, None, 3]}]
    known = run(capsys, path, *MIX, "--shape", "images:8,4,4,3")[1]
    assert "% of" in known and "wait for sizes" not in known


def test_a_batch_is_asked_for_where_it_is_all_that_is_open(capsys: Any, tmp_path: Any) -> None:
    path = _images(tmp_path, [None, 4, 4, 3])
    assert "images leave only the first size open: give --batch N" in run(capsys, path, *MIX, "--shape", "x:4,8")[1]
    assert "wait for sizes" not in run(capsys, path, *MIX, "--shape", "x:4,8", "--batch", "2")[1]


def test_a_feed_is_asked_for_by_its_own_name(capsys: Any, tmp_path: Any) -> None:
    path = _images(tmp_path, [None, None, None, 3])
    told = run(capsys, path, *MIX, "--feed", "images:0", "--fetch", "log:0")[1]
    assert "--shape images:1,?,?,3" in told


def test_the_page_is_one_file_that_refers_to_nothing(capsys: Any, model: str, tmp_path: Any) -> None:
    page = tmp_path / "page.html"
    status = run(capsys, model, *MIX, "--html", str(page), "--compare", "precision_mode=force_fp32")[0]
    if status:
        assert not page.exists()  # without the report extra
        return
    text = page.read_text(encoding="utf-8")
    links = set(re.findall(r'href="([^"]*)"', text))
    assert "src=" not in text and links <= {"data:,", "#content", "#about-page", "#top"}
    assert "simulated" in text and "precision_mode=allow_mix_precision" in text.replace("<wbr>", "")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-o", "precision_mode=fp99"], "precision_mode"),
        (["-o", "precision_mode=allow_mix_precision", "--shape", "x"], "--shape"),
        (["--shape", "nowhere:1"], "no such node"),
        (["--ops-info", "/nowhere/aic-ascend910-ops-info.json"], "OPS_INFO_FILE"),
        (["--compare", "precision_mode=fp99"], "precision_mode"),
        (["--compare", "unsaid"], "unsaid"),
        (["-o", "precision_mode=must_keep_origin_dtype", "--ops-info", "INFO"], "line 2"),
    ],
)
def test_bad_input_is_status_2_and_one_line(
    capsys: Any, model: str, tmp_path: Any, more: List[str], words: str
) -> None:
    info = tmp_path / "aic-ascend910-ops-info.json"
    info.write_text('{\n "Relu": 1}', encoding="utf-8")
    status, out, err = run(capsys, model, *(str(info) if one == "INFO" else one for one in more))
    assert (status, out) == (2, "")
    assert words in err and len(err.splitlines()) == 1


def test_a_refused_operator_is_status_2(capsys: Any, tmp_path: Any) -> None:
    g = GraphBuilder()
    image, kernel = g.placeholder("image", "float32", [1, 4, 4, 1]), g.placeholder("kernel", "float32", [1, 1, 1, 1])
    g.op("Conv2D", "conv", [image, kernel], strides=[1] * 4, padding="SAME")
    path = str(tmp_path / "conv.pb")
    write_graph(g.build(), path)
    status, _, err = run(capsys, path, "-o", "precision_mode=must_keep_origin_dtype")
    assert status == 2 and err.startswith("error[PRECISION_NO_KERNEL] conv (Conv2D):")
    assert err.endswith("Give precision_mode=allow_fp32_to_fp16, which takes the precision that a kernel has.\n")


def test_it_does_not_import_tensorflow(model: str) -> None:
    program = "import sys; from npu_conformance.cli import main\n"
    program += "try: main(['precision', sys.argv[1]])\nexcept SystemExit: pass\n"
    program += "assert 'tensorflow' not in sys.modules and 'numpy' not in sys.modules"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program, model], check=True, stdout=subprocess.DEVNULL, env=env)


def test_without_a_fetch_some_are_proposed_as_for_partition(capsys):
    model = "fixtures/graphs/models/resnet50_tiny.pb.gz"
    with pytest.raises(SystemExit):
        main(["precision", model])
    assert "--fetch train" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["precision", model, "--fetch", "train"])
    assert "No fetch is named" not in capsys.readouterr().out
