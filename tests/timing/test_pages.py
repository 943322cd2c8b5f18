"""What is said of the device's model stays what the model says: the table of parameters, the anchors, the command."""

from __future__ import annotations

import json
import os
import sys

import pytest

from npu_conformance import cli
from npu_conformance.protocol import schema
from npu_reference.device.timing.known import KNOWN, PUBLISHED, of_class
from npu_reference.graphs import GraphBuilder, write_graph
from npu_reference.hardware import built_in, page
from tests.timing.networks import mlp

pytestmark = pytest.mark.not_oldest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def guide():
    with open(os.path.join(ROOT, "docs", "device.md"), encoding="utf-8") as stream:
        return stream.read()


def test_the_table_of_parameters_is_that_of_the_declarations():
    assert page.inserted(guide()) == guide()


@pytest.mark.nightly
def test_the_rates_beside_the_published_ones_are_those_of_the_model(monkeypatch):
    """A change of the model shows here, as a change of the page."""
    monkeypatch.setattr(sys, "path", [os.path.join(ROOT, "benchmarks"), *sys.path])
    import device_model

    written = guide().split("<!-- anchors -->")[1].split("<!-- /anchors -->")[0].strip()
    found = device_model.compared(built_in())
    assert written == "\n".join(device_model.rows(built_in(), found))
    assert set(device_model.operators(found)) == PUBLISHED


def test_the_errors_that_answers_tell_are_those_of_the_page():
    written = guide().split("<!-- anchors -->")[1].split("<!-- /anchors -->")[0]
    rows = dict(line.strip("| ").split(" | ", 1) for line in written.splitlines() if line.startswith("| "))
    for name, error in KNOWN.items():
        nets, _, _, ratios = rows[name].split(" | ")
        assert (int(nets), ratios) == (error.nets, f"{error.least:.2f} to {error.most:.2f}")


def test_a_class_of_one_or_two_networks_has_the_error_of_all():
    name, found = of_class("embedding")
    assert (name, found.nets, found.least) == ("different", sum(one.nets for one in KNOWN.values()), 0.67)
    assert of_class("dense") == ("dense", KNOWN["dense"])


@pytest.fixture
def graph(tmp_path):
    path = str(tmp_path / "mlp.pbtxt")
    write_graph(mlp()[0], path)
    return path


def told(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["profile", *words])
    return ended.value.code, capsys.readouterr()


def test_the_json_answer_keeps_to_its_schema(graph, capsys):
    words = ["--fetch", "relu2:0", "--compare", "precision_mode=allow_mix_precision", "--format", "json"]
    code, said = told(capsys, graph, *words)
    answer = json.loads(said.out)
    assert code == 0 and schema.fault(answer, schema.load("profile"), schema.load("profile")) is None
    assert answer["simulated"] is True and len(answer["compared"]) == 1


def test_the_trace_is_events_that_viewers_of_chrome_traces_take(graph, tmp_path, capsys):
    """Complete events with begin and length, named processes, a counter of bytes."""
    path = tmp_path / "trace.json"
    assert told(capsys, graph, "--fetch", "relu2:0", "--trace", str(path))[0] == 0
    trace = json.loads(path.read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    assert trace["otherData"]["simulated"] is True and {event["ph"] for event in events} == {"M", "X", "C"}
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0
            assert event["args"]["end_ns"] - event["args"]["start_ns"] == round(event["dur"] * 1000)


def test_the_text_fits_a_terminal_and_says_what_it_is(graph, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, said = told(capsys, graph, "--fetch", "relu2:0")
    assert code == 0 and "by its model and not measured" in said.out.replace("\n  ", " ")
    assert max(map(len, said.out.splitlines())) <= 80


def test_the_page_holds_every_task_and_escapes_names(graph, tmp_path, capsys):
    path = tmp_path / "page.html"
    assert told(capsys, graph, "--fetch", "relu2:0", "--html", str(path))[0] == 0
    text = path.read_text(encoding="utf-8")
    assert (
        "matmul2" in text
        and "simulated" in text
        and "</script><" not in text.split('id="data"')[1].split("</script>")[0]
    )


def test_a_step_says_when_its_dataset_is_likely_slower_than_it(tmp_path, capsys):
    """Text, JSON and page: of little work for what the host reads, and not of much, nor of what is fed."""
    from tests.timing.test_runs import reads_dataset

    path, page = str(tmp_path / "dataset.pbtxt"), tmp_path / "page.html"
    write_graph(reads_dataset(batch=4096, layers=2)[0], path)
    code, said = told(capsys, path, "--fetch", "train", "--html", str(page))
    words = "likely bound by its input pipeline: a step takes 16,777,216 bytes of a dataset"
    assert code == 0 and words in " ".join(said.out.split()) and words in page.read_text(encoding="utf-8")
    write_graph(reads_dataset(layers=600)[0], path)
    code, said = told(capsys, path, "--fetch", "train", "--format", "json")
    answer = json.loads(said.out)
    assert schema.fault(answer, schema.load("profile"), schema.load("profile")) is None
    assert answer["pipeline"]["bytes"] == 64 * 512 * 8 and not answer["pipeline"]["likely"]
    write_graph(mlp(batch=4096, layers=1)[0], path)
    assert json.loads(told(capsys, path, "--fetch", "relu0:0", "--format", "json")[1].out)["pipeline"] is None


def test_a_step_says_which_operators_the_model_knows_least_about(graph, tmp_path, capsys):
    """Text, JSON and page: what the AI CPU does first, and nothing of a step of what was published."""
    path, page = str(tmp_path / "sorted.pbtxt"), tmp_path / "page.html"
    g = GraphBuilder()
    g.op("Erfc", "erfc", [g.op("MatrixInverse", "inverse", [g.placeholder("m", "float32", [1024, 1024])])])
    write_graph(g.build(), path)
    code, said = told(capsys, path, "--fetch", "erfc:0", "--html", str(page), "--format", "json")
    rows = json.loads(said.out)["least_known"]
    assert code == 0 and [(row["op"], row["why"]) for row in rows] == [("MatrixInverse", "aicpu"), ("Erfc", "general")]
    assert 0 < rows[1]["share"] < rows[0]["share"] < 1 and rows[0]["says"] in page.read_text(encoding="utf-8")
    said = " ".join(told(capsys, path, "--fetch", "erfc:0")[1].out.split())
    assert "least known: MatrixInverse" in said and rows[1]["says"] in said
    assert "least known: nothing" in told(capsys, graph, "--fetch", "relu2:0")[1].out


@pytest.mark.parametrize(
    "words, code",
    [
        (["--device", "Ascend9"], "DEVICE_FILE"),
        (["--shape", "nobody:1"], "USAGE"),
        (["-o", "precision_mode=none"], "OPTION_VALUE"),
        (["--html", "/nowhere/at/all.html"], "OUTPUT"),
    ],
)
def test_bad_input_is_one_line_and_status_2(graph, capsys, words, code):
    status, said = told(capsys, graph, *words)
    assert status == 2 and said.err.count("\n") == 1 and said.err.startswith(f"error[{code}]")


def test_steps_beside_each_other_are_compared_as_often_asked_for(graph, capsys):
    """runconfig.graph_max_parallel_model_num.effect."""
    words = ["--surface", "runconfig", "-o", "graph_run_mode=0", "--compare", "graph_max_parallel_model_num=4"]
    code, said = told(capsys, graph, "--fetch", "relu2:0", *words, "--format", "json")
    answer = json.loads(said.out)
    assert code == 0 and answer["concurrent"] == {"steps": 4, "at_once": 1}
    assert answer["compared"][0]["step_ns"] < answer["step_ns"]
    assert schema.fault(answer, schema.load("profile"), schema.load("profile")) is None


def test_the_trace_of_a_loop_has_its_iterations_and_one_launch(graph, tmp_path, capsys):
    path = tmp_path / "trace.json"
    words = ["--surface", "runconfig", "-o", "iterations_per_loop=3", "--trace", str(path)]
    assert told(capsys, graph, "--fetch", "relu2:0", *words)[0] == 0
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert {event["args"].get("iteration", 0) for event in events if event["ph"] == "X"} == {0, 1, 2}
    assert sum(event.get("cat") == "launch" for event in events) == 1
    assert all(event["tid"] >= 0 for event in events)


def test_the_text_says_what_was_counted_of_loops_and_of_steps_at_once(tmp_path, capsys):
    from tests.timing.test_control import called

    path = str(tmp_path / "loop.pbtxt")
    write_graph(called("While", 10)[0], path)
    words = ["--surface", "runconfig", "-o", "graph_run_mode=0", "-o", "graph_max_parallel_model_num=4"]
    code, said = told(capsys, path, "--fetch", "end:0", *words)
    assert code == 0 and "loops: w 10 turns" in said.out and "4 steps asked for at once take" in said.out
