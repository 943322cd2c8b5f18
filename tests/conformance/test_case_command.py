"""``case`` tells all of one case, and with ``--trace`` what a backend is asked about it and answers."""

from __future__ import annotations

import json
from typing import Any, List

import pytest

from npu_conformance import cli
from npu_conformance.commands.case import _tell_trace
from npu_conformance.library import listing, telling
from npu_conformance.library.case import METHODS, Case
from npu_conformance.protocol import schema
from npu_conformance.strength.laws import asking
from npu_reference.graphs import GraphBuilder
from tests.cases.corpus import corpus
from tests.conformance.test_cli import Done, inside

pytestmark = pytest.mark.oldest_at_night


def told(capsys: Any, *arguments: str) -> Any:
    done = inside(capsys, "case", *arguments, "--format", "json")
    assert done.status in (0, 1), done.err
    return done.json("case")


def test_a_case_is_told_with_its_question_and_what_is_expected_by_which_sentence(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    done = inside(capsys, "case", "grid-scope-mixed")
    case = corpus().cases["grid-scope-mixed"]
    assert done.status == 0
    assert done.out.splitlines()[0] == "grid-scope-mixed@current"
    for text in (
        "  Level: must; as mixed.scope.without_npu_compile.adds is.",
        "  Options: mix_compile_mode = true",
        "  Graph fixtures/graphs/grid/scope-mixed.pbtxt:",
        "    kept = Neg(before) -> float32  _without_npu_compile=true",
        "    geop before node beside",
        "Reading M17",
        "  npu-conformance run --edition current -k grid-scope-mixed@",
    ):
        assert text in done.out.splitlines(), text
    sentence = " ".join(corpus().requirements[case.requirements[0]].statement.split())
    assert f"(000 § Precautions (L10), must): {sentence}" in done.out


def test_options_files_and_environment_are_told_as_they_are_given(capsys: Any) -> None:
    cases = corpus().cases.values()
    case = next(one for one in cases if one.params.get("env") and len(one.params.get("files", {})) > 1)
    parts = {one["label"]: one["text"] for one in told(capsys, case.id)["question"]}
    assert set(parts["Environment"].splitlines()) == {f"{k}={v}" for k, v in case.params["env"].items()}
    assert [label for label in parts if label.startswith("File ")] == [f"File {name}" for name in case.params["files"]]
    assert len(parts["Options"].splitlines()) == len(case.params["values"])


def test_a_script_and_what_is_fed_are_told(capsys: Any) -> None:
    scripted = next(one for one in corpus().cases.values() if "script" in one.params)
    with open(scripted.params["script"], encoding="utf-8") as stream:
        script = stream.read()
    assert script in [one["text"] for one in told(capsys, scripted.id)["question"]]
    fed = next(one for one in corpus().cases.values() if isinstance(one.params.get("feeds"), dict))
    parts = {one["label"]: one["text"] for one in told(capsys, fed.id)["question"]}
    assert all(f"{name} = {tensor['dtype']}[" in parts["Fed"] for name, tensor in fed.params["feeds"].items())


def test_every_case_can_be_told() -> None:
    """Everything that a case gives or expects is told of; the texts have no path of this machine."""
    shelf = corpus()
    for case in shelf.cases.values():
        parts = telling.question(case, shelf.fixtures)
        assert len(parts) > len({"files"} & set(case.params)) and all(part.label for part in parts)
        assert not any(shelf.fixtures in part.text or shelf.fixtures in part.label for part in parts), case.id
        brief = telling.brief(parts, 1600, 20)
        assert len(brief) <= 1600 and brief.startswith("Method: "), case.id
        for edition in case.editions:
            lines = telling.expected(case, edition)
            facts = [*case.expect.golden.get(edition, ()), *case.expect.contains, *case.expect.forbid]
            assert lines and {f"  {fact}" for fact in facts} <= set(lines), case.id


def test_a_case_that_rests_on_a_choice_says_which(capsys: Any) -> None:
    answer = told(capsys, "timing-fusion-off")
    assert answer["level"] == "should"
    assert answer["level_because"].startswith("it rests on a choice that the documents leave: 003 L540")


def test_every_level_has_a_reason_and_a_softer_one_in_an_edition_names_the_choice() -> None:
    shelf = corpus()
    softer = 0
    for one in shelf.instances():
        level, why = telling.level(one, shelf.requirements)
        assert level == one.case.level and why, one.id
        if level != shelf.cases[one.case.id].level:
            softer += 1
            assert "it rests on a choice" in why, one.id
    assert softer > 50


@pytest.mark.parametrize("name", ["law-answered@legacy", "law-run-values"])
def test_a_law_is_told_as_what_it_is(name: str, capsys: Any) -> None:
    answer = told(capsys, name)
    assert answer["question"][0]["text"].endswith("about random graphs")
    assert f"--laws {asking.DEFAULT} --law-seed 0" in answer["repeat"]
    assert inside(capsys, "case", name, "--trace").status == 2


def test_a_twin_says_what_it_changes(capsys: Any) -> None:
    twin = next(one for one in corpus().instances() if one.twin == "rename")
    answer = told(capsys, twin.id)
    assert {"label": "Twin", "text": "asked with every operator under another name"} in answer["question"]
    assert answer["id"] == twin.id and twin.id in answer["instances"]


@pytest.mark.parametrize(
    "name, near",
    [
        ("grid-scope-mixd", "Did you mean grid-scope-mixed or "),
        ("grid-scope-mixed@legacy", "Of this case there are grid-scope-mixed@current."),
        ("", "All: npu-conformance run --list"),
        ("\0", "All: npu-conformance run --list"),
        ("x" * 100000, "All: npu-conformance run --list"),
        ("../../etc/passwd", "All: npu-conformance run --list"),
    ],
)
def test_an_unknown_id_is_one_error_with_the_nearest(name: str, near: str, capsys: Any) -> None:
    done = inside(capsys, "case", name)
    assert (done.status, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1 and near in done.err and len(done.err) < 500


def test_a_trace_has_request_and_answer_and_how_it_is_judged(capsys: Any) -> None:
    answer = told(capsys, "mixed-with-two-iterations", "--trace", "-n", "1")["trace"]
    assert answer["request"]["method"] == "options"
    assert answer["request"]["params"]["values"] == {"mix_compile_mode": True, "iterations_per_loop": 2}
    assert answer["response"]["rejected"]["code"] == "OPTION_CONFLICT"
    assert (answer["status"], answer["differences"]) == ("pass", [])


def test_a_long_answer_is_told_unpacked_and_cut_in_a_terminal(capsys: Any) -> None:
    answer = told(capsys, "rc-hccl-600", "--trace", "-n", "1")["trace"]["response"]
    assert answer["ok"]["effective"]["hccl_timeout"]["value"] == 544
    lines = inside(capsys, "case", "rc-hccl-600", "--trace", "-n", "1").out.splitlines()
    shown = lines[lines.index("Answer") + 1 : lines.index("Judged pass")]
    assert '        "hccl_timeout": { "origin": "given", "value": 544 },' in shown
    assert len(shown) < 120 and shown[-1].endswith("more lines; --format json has all.")


def test_a_trace_of_a_backend_at_fault_ends_with_1_and_says_what_differs(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    name = "range-with-two-ins@legacy+rename"
    done = inside(capsys, "case", name, "--trace", "--backend", "mutant:first-in-only")
    assert done.status == 1
    lines = done.out.splitlines()
    assert '    "method": "partition",' in lines and '    "outcome": "answered",' not in done.err
    assert any(line.startswith("Judged fail: missing: ") for line in lines)
    assert lines[-1] == ("  npu-conformance run --backend mutant:first-in-only --edition legacy -k range-with-two-ins@")


def test_a_single_difference_is_told_once(capsys: Any) -> None:
    differences = [["accepted", "accepted; it should be refused", "rejected"]]
    _tell_trace(print, {"request": None, "response": None, "status": "fail", "differences": differences})
    assert capsys.readouterr().out == "Judged fail: accepted; it should be refused\n"


def test_a_trace_of_what_is_not_claimed_says_so(capsys: Any) -> None:
    done = inside(capsys, "case", "mixed-with-two-iterations", "--trace", "--backend", "exec:no-such-command-anywhere")
    assert done.status == 3 and len(done.err.splitlines()) == 1


def graph_text(make: Any) -> List[str]:
    g = GraphBuilder()
    make(g)
    return listing.lines(g.build())


def test_a_graph_is_an_operator_a_line_with_what_is_no_default() -> None:
    def make(g: GraphBuilder) -> None:
        x = g.placeholder("x", "float32", [None, 4])
        w = g.const("w", [[1.0]] * 4)
        g.op("MatMul", "y", [x, w], transpose_b=False)
        g.op("NoOp", "init", control=["y"], device="/cpu:0")

    assert graph_text(make) == [
        "x = Placeholder() -> float32[?, 4]",
        "w = Const() -> float32[4, 1]  value=[1.0, 1.0, 1.0, 1.0]",
        "y = MatMul(x, w) -> float32",
        "init = NoOp(^y)  device=/cpu:0",
    ]


def test_of_a_large_graph_the_rest_is_counted() -> None:
    g = GraphBuilder()
    for number in range(30):
        g.op("NoOp", f"n{number}")
    assert listing.lines(g.build(), 10)[9:] == ["n9 = NoOp()", "… 20 more"]


def test_a_file_that_holds_no_graph_is_told_with_why(tmp_path: Any) -> None:
    path = tmp_path / "broken.pbtxt"
    path.write_text('node { name: "a" op: "NoSuchOperator" }')
    case = corpus().cases["grid-scope-mixed"]
    broken: Case = case._replace(params={**case.params, "graph": str(path)})
    text = telling.question(broken, str(tmp_path))[-1].text
    assert text.startswith('node { name: "a"') and "GRAPH_UNKNOWN_OP" in text


def test_hostile_names_reach_no_terminal(capsys: Any) -> None:
    done: Done = inside(capsys, "case", "\x1b[2J\u202e")
    assert done.err.isascii() or "\x1b" not in done.err
    assert "\x1b" not in done.err and "\u202e" not in done.err


def test_the_form_of_the_answer_is_declared() -> None:
    assert json.dumps(schema.load("case"))
    assert "case" in cli.cli.commands and METHODS
