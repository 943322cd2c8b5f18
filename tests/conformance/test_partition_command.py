"""`npu-conformance partition` in CI: what is demanded is checked, explained and drawn."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from npu_reference.graphs import GraphBuilder, load_graph, write_graph
from tests.conformance.test_cli import CASES, inside

CHAIN = os.path.join(CASES, "pyfunc_chain.pbtxt")
PLAIN = os.path.join(CASES, "plain_chain.pbtxt")
MIX = ("-o", "mix_compile_mode=true")


def ask(capsys, graph, *more):
    return inside(capsys, "partition", graph, *MIX, *more)


def answer(capsys, graph, *more):
    return ask(capsys, graph, "--format", "json", *more).json("partition")


# --require-offload


@pytest.mark.parametrize("wanted", ["Mul", "mul", "AddV2", "add"])
def test_an_operator_that_is_offloaded_passes_by_type_and_by_name(capsys, wanted):
    done = ask(capsys, CHAIN, "--require-offload", wanted)
    assert done.status == 0
    assert f"passed --require-offload {wanted}" in done.out
    assert done.out.endswith("Verdict: passed\n")


@pytest.mark.parametrize("wanted", ["PyFunc", "mid", "all"])
def test_an_operator_that_stays_on_the_host_fails_with_its_reason_and_remedy(capsys, wanted):
    done = ask(capsys, CHAIN, "--require-offload", wanted)
    assert done.status == 1
    assert f"failed --require-offload {wanted}" in done.out
    unfolded = " ".join(done.out.split())
    assert "mid (PyFunc): NOT_SUPPORTED, the built-in operator list has no entry for PyFunc" in unfolded
    assert "remedy for NOT_SUPPORTED: Compute it in Python" in done.out
    assert done.out.endswith("Verdict: failed\n")


def test_all_asks_for_no_feed_fetch_or_constant_of_the_host(capsys, tmp_path):
    g = GraphBuilder()
    g.op("Relu", "y", [g.placeholder("x", "float32", [2])])
    g.const("unused", 1.0, "float32")
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    assert ask(capsys, path, "--require-offload", "all").status == 0
    assert ask(capsys, path, "--feed", "x:0", "--fetch", "y:0", "--require-offload", "all").status == 0


def test_every_demand_is_judged_and_one_that_fails_decides(capsys):
    found = answer(capsys, CHAIN, "--require-offload", "mul", "--require-offload", "PyFunc", "--max-geops", "2")
    assert [check["passed"] for check in found["checks"]] == [True, False, True]
    assert found["verdict"] == "failed"


@pytest.mark.parametrize(("wanted", "meant"), [("Pyfunc", "PyFunc"), ("Zzzz", "without an output"), ("mul:0", "Mul")])
def test_a_name_that_is_nowhere_is_bad_input_with_the_nearest_one(capsys, wanted, meant):
    done = ask(capsys, CHAIN, "--require-offload", wanted)
    assert done.status == 2
    assert "[USAGE]" in done.err and meant.lower() in done.err.lower()
    assert done.out == ""


def test_a_long_list_of_culprits_is_counted_beyond_the_first(capsys, tmp_path):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    for number in range(30):
        g.py_func(f"host{number}", [x], ["float32"])
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    done = ask(capsys, path, "--require-offload", "PyFunc")
    assert "30 of 30 stay on the host" in done.out and "and 10 more operators" in done.out


# --max-geops


def test_more_geops_than_allowed_name_the_host_operators_between_them(capsys):
    assert ask(capsys, CHAIN, "--max-geops", "2").status == 0
    done = ask(capsys, CHAIN, "--max-geops", "1")
    assert done.status == 1
    assert "at least 2 necessary" in done.out
    assert "GeOp_0 and GeOp_1 are separated by mid (PyFunc)" in done.out


def test_geops_that_nothing_separates_say_so(capsys, tmp_path):
    """x feeds two tails behind two host operators: the adapter's merging leaves tails apart that could be joined."""
    graph = os.path.join(CASES, "parallel_chains.pbtxt")
    found = answer(capsys, graph)
    if len(found["geops"]) == found["min_geops"]:
        pytest.fail("the fixture no longer shows what the test is about")
    done = ask(capsys, graph, "--max-geops", str(found["min_geops"]))
    assert done.status == 1


@pytest.mark.parametrize("value", ["-1", "few"])
def test_a_bound_that_is_no_count_is_bad_input(capsys, value):
    assert ask(capsys, CHAIN, "--max-geops", value).status == 2


def test_without_demands_there_is_no_verdict_to_print(capsys):
    done = ask(capsys, CHAIN)
    assert done.status == 0 and "Verdict" not in done.out
    assert answer(capsys, CHAIN)["verdict"] == "passed"


# what is explained


def test_what_would_help_and_what_separates_are_in_text_and_json(capsys):
    found = answer(capsys, CHAIN)
    assert found["blame"] == [{"op": "PyFunc", "nodes": 1, "geops_saved": 1, "copies_saved": 2, "bytes_saved": None}]
    assert found["separations"] == [{"before": "GeOp_0", "after": "GeOp_1", "path": ["mid"]}]
    text = ask(capsys, CHAIN).out
    assert "If the device had" in text and "GeOp_0 → mid → GeOp_1" in text
    assert "each tensor once (M24)" in text


def test_blame_is_left_out_where_it_is_not_wanted(capsys):
    assert answer(capsys, CHAIN, "--blame", "0")["blame"] == []


def test_blame_is_left_out_of_a_graph_that_is_too_large_unless_asked_for(capsys, monkeypatch):
    monkeypatch.setattr("npu_conformance.commands.partition._BLAME_NODES", 2)
    done = ask(capsys, CHAIN, "--format", "json")
    assert done.json("partition")["blame"] == [] and "--blame N" in done.err
    assert len(answer(capsys, CHAIN, "--blame", "3")["blame"]) == 1


def test_constants_that_float16_cannot_hold_are_in_text_and_json(capsys, tmp_path):
    g = GraphBuilder()
    g.op("AddV2", "y", [g.placeholder("x", "float32", [2]), g.const("mask", -1e9, "float32")])
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    assert ("FP16_OVERFLOW", "mask") in {(note["code"], note["subject"]) for note in answer(capsys, path)["notes"]}
    assert "FP16_OVERFLOW mask: the constant -1e+09 is beyond 65504" in ask(capsys, path).out


def test_text_fits_a_terminal_of_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(CASES)
    done = ask(capsys, "many_reasons.pbtxt", "--require-offload", "all", "--max-geops", "0")
    assert done.status == 1
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_placeholders_are_no_device_operators_and_the_answer_says_so(capsys):
    found = answer(capsys, PLAIN)
    assert {"x"} == {entry["node"] for entry in found["host"] if entry["reason"] == "FEED"}
    assert ("PLACEHOLDER_AS_FEED", "x") in {(note["code"], note["subject"]) for note in found["notes"]}


def test_fetches_prune_the_graph_as_a_session_run_does(capsys):
    found = answer(capsys, PLAIN, "--feed", "x:0", "--fetch", "add:0")
    named = {name for geop in found["geops"] for name in geop["nodes"]} | {entry["node"] for entry in found["host"]}
    assert named == {"_arg_x_0_0", "add", "_retval_add_0_0"}


# --graph-out


@pytest.mark.parametrize("ending", ["pb", "pbtxt", "pb.gz"])
def test_the_graph_is_written_with_every_place_as_an_attribute(capsys, tmp_path, ending):
    path = str(tmp_path / f"out.{ending}")
    assert ask(capsys, CHAIN, "--graph-out", path).status == 0
    nodes = {node.name: node for node in load_graph(path).nodes}
    assert {name: node.text("_geop") for name, node in nodes.items()} == {
        "x": "", "add": "GeOp_0", "mid": "", "mul": "GeOp_1",
    }  # fmt: skip
    assert nodes["mul"].text("_XlaCluster") == "GeOp_1"  # what TensorBoard colours by
    assert nodes["mul"].device == "/device:NPU:0" and nodes["mid"].device == "/device:CPU:0"
    assert nodes["mid"].text("_host_reason") == "NOT_SUPPORTED"
    assert "no entry for PyFunc" in nodes["mid"].text("_host_witness")
    assert nodes["mid"].text("_host_remedy")


def test_copies_and_given_devices_are_kept_as_attributes(capsys, tmp_path):
    g = GraphBuilder()
    c = g.const("c", [1.0, 2.0], "float32")
    before = g.op("AddV2", "before", [g.placeholder("x", "float32", [2]), c], device="/device:GPU:1")
    g.op("AddV2", "after", [g.py_func("host", [before], ["float32"]), c])
    given, path = str(tmp_path / "in.pb"), str(tmp_path / "out.pb")
    write_graph(g.build(), given)
    assert ask(capsys, given, "--graph-out", path).status == 0
    nodes = {node.name: node for node in load_graph(path).nodes}
    assert nodes["c"].attr("_copied_to") == (b"GeOp_1",)
    assert nodes["before"].text("_given_device") == "/device:GPU:1"


def test_a_graph_of_no_known_form_is_refused_and_nothing_is_left(capsys, tmp_path):
    done = ask(capsys, CHAIN, "--graph-out", str(tmp_path / "out.txt"))
    assert done.status == 2 and "[OUTPUT]" in done.err
    assert os.listdir(str(tmp_path)) == []


# Bytes


def test_bytes_of_borders_follow_from_shapes_that_are_stated_and_given(capsys, tmp_path):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [None, 3])
    text = g.py_func("mid", [g.op("Relu", "before", [x])], ["float32"])
    g.op("Relu", "after", [text])
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)

    def sizes(*more):
        return {border["source"]: border["bytes"] for border in answer(capsys, path, *more)["borders"]}

    assert sizes()["before:0"] is None
    assert sizes("--batch", "4")["before:0"] == 4 * 3 * 4
    assert sizes("--shape", "x:5,3")["before:0"] == 5 * 3 * 4
    assert sizes("--batch", "4")["mid:0"] is None  # what Python returns is not known
    fed = sizes("--batch", "4", "--feed", "x:0", "--fetch", "after:0")
    assert fed["_arg_x_0_0:0"] == fed["before:0"] == 4 * 3 * 4


def test_a_shape_of_what_the_graph_does_not_have_is_refused(capsys):
    done = ask(capsys, PLAIN, "--shape", "nowhere:1")
    assert done.status == 2 and "no such node" in done.err


# what to ask next


def training(tmp_path, name="graph.pb"):
    """A product with a weight, its loss, the step of a gradient descent, an initialiser, and a saver."""
    g = GraphBuilder()
    x, w = g.placeholder("x", "float32", [None, 3]), g.variable("w", "float32", [3, 4])
    g.op("NoOp", "init", control=[g.op("Assign", "w/Assign", [w, g.const("w/zeros", [[0.0] * 4] * 3, "float32")]).name])
    product = g.op("MatMul", "product", [x, g.op("Identity", "w/read", [w])])
    host = g.py_func("py", [product], ["float32"])
    loss = g.op("Mean", "model/loss", [host, g.const("axes", [0, 1], "int32")])
    g.op("Relu", "other_end", [product])
    grad = g.op("Fill", "gradients/ones", [g.const("gradients/shape", [3, 4], "int32"), loss])
    step = g.op("ApplyGradientDescent", "step", [w, g.const("rate", 0.1, "float32"), grad])
    g.op("NoOp", "train", control=[step.name])
    path = str(tmp_path / name)
    write_graph(g.build(), path)
    return path


def test_without_fetches_the_train_op_and_the_loss_are_proposed_as_lines_to_paste(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training(tmp_path, "my graph.pb")
    found = answer(capsys, "my graph.pb", "--batch", "4", "--op-list", write_ops(tmp_path))
    begin = "npu-conformance partition 'my graph.pb' -o mix_compile_mode=true --op-list ops.json --batch 4"
    assert found["proposals"] == [
        {"kind": "train", "fetch": "train", "feeds": ["x:0"], "command": f"{begin} --feed x:0 --fetch train"},
        {"kind": "loss", "fetch": "model/loss:0", "feeds": ["x:0"],
         "command": f"{begin} --feed x:0 --fetch model/loss:0"},
    ]  # fmt: skip
    text = ask(capsys, "my graph.pb").out
    assert "# the train op" in text
    pasted = " ".join(text.replace("\\\n", " ").split())
    assert "npu-conformance partition 'my graph.pb' -o mix_compile_mode=true --feed x:0 --fetch train " in pasted


def write_ops(tmp_path):
    ops = [
        "MatMul",
        "Identity",
        "Const",
        "VariableV2",
        "Assign",
        "Mean",
        "Relu",
        "Fill",
        "ApplyGradientDescent",
        "NoOp",
    ]
    text = ", ".join(f'"{op}": {{"isGray": false, "isHeavy": false}}' for op in ops)
    (tmp_path / "ops.json").write_text(f"{{{text}}}")
    return "ops.json"


def test_where_nothing_is_trained_the_ends_behind_most_of_the_graph_are_proposed(capsys, tmp_path):
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    g.op("Relu", "near", [x])
    g.op("Neg", "far", [g.op("Abs", "between", [x])])
    g.const("alone", 1.0, "float32")
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    assert [(one["kind"], one["fetch"]) for one in answer(capsys, path)["proposals"]] == [
        ("output", "far:0"), ("output", "near:0"),
    ]  # fmt: skip


def test_a_graph_with_fetches_named_or_made_gets_no_proposal(capsys, tmp_path):
    path = training(tmp_path)
    assert answer(capsys, path, "--feed", "x:0", "--fetch", "train")["proposals"] == []
    out = str(tmp_path / "closed.pb")
    ask(capsys, path, "--feed", "x:0", "--fetch", "train", "--graph-out", out)
    assert answer(capsys, out)["proposals"] == []


@pytest.mark.parametrize(
    ("more", "meant"),
    [
        (("--fetch", "trian"), "'train'"),
        (("--fetch", "TRAIN"), "'train'"),
        (("--fetch", "loss:0"), "'model/loss:0'"),
        (("--fetch", "train", "--feed", "X:0"), "'x:0'"),
        (("--require-offload", "Matmul"), "MatMul"),
        (("--require-offload", "prodcut"), "product"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest_one(capsys, tmp_path, more, meant):
    done = ask(capsys, training(tmp_path), *more)
    assert done.status == 2 and f"Did you mean {meant}?" in done.err


def test_the_last_line_says_what_runs_on_the_device_and_what_to_change_first(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    path = training(tmp_path)
    words = ("--feed", "x:0", "--fetch", "train", "--op-list", write_ops(tmp_path))
    last = ask(capsys, path, *words, "--batch", "2").out.splitlines()[-1]
    # 2 x 3 x 4 multiplications and additions, against 12 elements at most of any other operator
    assert last.startswith("On the device: 80.0 % of 5 compute operators (100 % of the operations), in ")
    assert "Change first: PyFunc (1 operator on the host; without: 1 GEOP less" in last
    assert "Compute it in Python before the run and feed it, or build it of operators the device has" in last
    found = answer(capsys, path, *words, "--batch", "2")["conclusion"]
    assert found["compute_operators"] == 5 and found["compute_operators_on_device"] == 4
    assert found["operations"] == found["operations_on_device"] >= 48
    unknown = answer(capsys, path, *words)["conclusion"]
    assert unknown["operations"] is None and "operations)" not in unknown["line"]


def test_what_full_offload_leaves_behind_is_cured_by_an_option_that_can_be_pasted(capsys):
    done = inside(capsys, "partition", CHAIN, "--require-offload", "all")
    assert "paste: -o mix_compile_mode=true" in done.out
    found = inside(capsys, "partition", CHAIN, "--require-offload", "all", "--format", "json").json("partition")
    groups = {group["reason"]: group for group in found["checks"][0]["groups"]}
    assert groups["SMALLER_REGION"]["nodes"] and groups["SMALLER_REGION"]["paste"] == "-o mix_compile_mode=true"
    assert groups["NOT_SUPPORTED"]["nodes"] == ["mid"] and groups["NOT_SUPPORTED"]["paste"] == ""


def test_an_option_that_would_not_help_is_not_pasted(capsys):
    said = ask(capsys, os.path.join(CASES, "fanned_text.pbtxt"), "--require-offload", "AsString").out
    assert "without mix_compile_mode it would stay" in said and "Change first" not in said and "paste: " not in said


def test_a_graph_that_is_all_on_the_device_has_nothing_to_change(capsys):
    line = answer(capsys, PLAIN, "--feed", "x:0", "--fetch", "mul:0")["conclusion"]["line"]
    assert line == "On the device: 100 % of 3 compute operators, in 1 GEOP (the fewest possible). Nothing to change."


def test_notes_that_say_the_same_are_told_once_with_their_number(capsys, tmp_path):
    g = GraphBuilder()
    value = g.placeholder("x", "float32", [2])
    for number in range(12):
        value = g.op("AddV2", f"add{number}", [value, g.const(f"epsilon{number}", 1e-12, "float32")])
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    text = " ".join(ask(capsys, path).out.split())
    assert text.count("FP16_UNDERFLOW") == 1
    assert "FP16_UNDERFLOW 12 times, epsilon0 first: the constant 1e-12 is zero in float16" in text
    assert len([note for note in answer(capsys, path)["notes"] if note["code"] == "FP16_UNDERFLOW"]) == 12


def test_bytes_that_are_unknown_name_the_input_to_give_a_size(capsys, tmp_path):
    path = training(tmp_path)
    assert answer(capsys, path)["open_inputs"] == ["x:N,3"]
    text = " ".join(ask(capsys, path).out.split())
    assert "Sizes follow from --batch N, or --shape x:N,3" in text
    g = GraphBuilder()
    g.op("Relu", "y", [g.placeholder("x", "float32", [2, 3])])
    known = str(tmp_path / "known.pb")
    write_graph(g.build(), known)
    assert answer(capsys, known)["open_inputs"] == [] and "Sizes follow" not in ask(capsys, known).out


def test_a_pipe_has_no_width_an_item_is_a_line_and_no_name_is_broken(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    name = "scope/" * 40 + "operator"
    g = GraphBuilder()
    value = g.op("Relu", name, [g.py_func("py/" + name, [g.placeholder("x", "float32", [2])], ["float32"])])
    g.op("Neg", "end", [value])
    path = str(tmp_path / "graph.pb")
    write_graph(g.build(), path)
    lines = ask(capsys, path, "--require-offload", "all").out.splitlines()
    assert any(line.lstrip().startswith("GeOp_0") and name in line for line in lines)
    assert any(f"py/{name} (PyFunc): NOT_SUPPORTED" in line for line in lines)
    assert not [line for line in lines if line != line.rstrip()]


def test_a_small_graph_is_answered_without_what_it_does_not_need(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("COLUMNS")  # a pipe of a certain width is written like a terminal
    graph = tmp_path / "graph.pbtxt"
    graph.write_text('node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }\n')
    program = (
        "import sys\n"
        "from npu_conformance import cli\n"
        "try:\n"
        f"    cli.main(['partition', {str(graph)!r}, '-o', 'mix_compile_mode=true'])\n"
        "except SystemExit as ended:\n"
        "    assert ended.code == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    loaded = set(done.stderr.decode().split())
    needless = {  # what other packages load besides depends on their versions
        "numpy", "jinja2", "tensorflow", "rich", "jsonschema", "gzip", "multiprocessing", "asyncio", "tomllib", "tomli",
        "npu_conformance.backends.reference", "npu_conformance.protocol.messages", "npu_conformance.protocol.schema",
        "npu_conformance.files.output", "npu_conformance.library", "npu_reference.precision.api",
        "npu_reference.compiler", "npu_reference.hardware",
    }  # fmt: skip
    assert sorted(needless & loaded) == []
    ours = len([name for name in loaded if name.startswith("npu_")])
    assert ours <= 170, "to load a module takes as long as to place a hundred operators"
