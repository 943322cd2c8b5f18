"""The laws see what is wrong with a backend on random graphs, leave a small example, and can be judged again."""

from __future__ import annotations

import json
import lzma
import os
import re
from pathlib import Path

import pytest

from npu_conformance import cli
from npu_conformance.backends import mutants as mutation
from npu_conformance.backends.mutants.edits import merged, to_device
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.strength import hosting
from npu_conformance.strength.laws import asking, examples
from npu_conformance.strength.laws.asking import LAWS
from npu_conformance.strength.laws.conditions import applicable
from npu_conformance.strength.laws.partitions import reading
from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, load_graph, write_graph
from tests.cases.corpus import corpus
from tests.depth import at_night

pytestmark = pytest.mark.oldest_at_night


@pytest.fixture(autouse=True)
def as_found(request, monkeypatch):
    """Examples stay as they are found, but where a test is about them: making them small takes seconds."""
    if "small" not in request.fixturenames:
        monkeypatch.setattr(examples, "SHRINKS", 0)
        monkeypatch.setattr(examples, "FRESH_SHRINKS", 0)


@pytest.fixture
def small():
    """Examples are made small."""


class InProcess:
    """A client that asks a backend of this process; `fresh` forgets its state as a new worker does."""

    def __init__(self, factory, folder):
        self.factory, self.folder = factory, str(folder)
        self.served = 0
        self.backend = factory()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def fresh(self):
        self.backend, self.served = self.factory(), 0

    def known(self, method, params):
        """No answer is kept."""

    def request(self, method, params, seconds):
        self.served += 1
        try:
            return client.Answered(json.loads(json.dumps(getattr(self.backend, method)(params))))
        except NpuError as error:
            return client.Rejected({"code": error.code, "message": error.message, "subject": error.subject})


class Lanes:
    """Stands for runner.Settings."""

    def __init__(self, factory, folder):
        self.factory, self.folder = factory, folder

    def client(self, spec):
        return InProcess(self.factory, self.folder)


def broken(factory, tmp_path, graphs=12, features=None):
    """Names of the laws that a backend breaks; the report is in tmp_path."""
    claims = claims_of(features)
    plan = asking.Plan(graphs, 0, tuple(asking.instances(["current"])), str(tmp_path))
    records = asking.run(plan, "here", Lanes(factory, tmp_path), claims)
    again = asking.records(plan, claims, asking.load(str(tmp_path)))
    assert [record.result for record in again] == [record.result for record in records]
    assert len(records) == len(LAWS)
    return {asking.law_of(one.instance).name: one.result for one in records if one.result.status == "fail"}


def claims_of(features=None):
    claimed = judge.Claims.of(ReferenceBackend().hello({"protocol": 1}))
    return claimed if features is None else claimed._replace(features=frozenset(features))


def test_the_reference_keeps_every_law(tmp_path):
    assert broken(ReferenceBackend, tmp_path, graphs=30) == {}


@pytest.mark.parametrize(
    "mutant, laws",
    [
        ("one-geop", {"acyclic", "counts", "arguments", "borders"}),
        ("merges-around-the-host", {"acyclic"}),
        ("py-func-on-device", {"device-operators"}),
        ("full-offload-in-two", {"counts", "arguments"}),
    ],
)
def test_a_mutant_of_mixed_computing_breaks_the_laws_it_is_about(mutant, laws, tmp_path):
    assert laws <= set(broken(lambda: mutation.make(mutant), tmp_path))


class Edited(ReferenceBackend):
    """The reference with one edit of its answers."""

    edit = staticmethod(lambda answer, params: answer)

    def partition(self, params):
        return self.edit(super().partition(params), params)


def edited(edit):
    return type("Edited", (Edited,), {"edit": staticmethod(edit)})


def first_geop(answer, **fields):
    """The answer with fields of its first GEOP edited."""
    if not answer["geops"]:
        return answer
    geop = answer["geops"][0]
    made = {key: function(geop[key]) for key, function in fields.items()}
    return {**answer, "geops": [{**geop, **made}, *answer["geops"][1:]]}


def kept(answer, wanted):
    """The answer with the operators of that name, or part of one, on the host."""
    geops = [{**g, "nodes": [n for n in g["nodes"] if wanted not in n]} for g in answer["geops"]]
    gone = [n for g in answer["geops"] for n in g["nodes"] if wanted in n]
    return {**answer, "geops": geops, "host": [*answer["host"], *({"node": n, "reason": "GRAY"} for n in gone)]}


#: Laws about cases, which need a library.
OF_CASES = ("partition-conditions", "placed-in-company")

FAULTS = {
    "an operator that could go is kept": (lambda a, p: kept(a, "addn"), "offloaded"),
    "a loop is cut": (lambda a, p: kept(a, "/add"), "whole"),
    "a reference crosses": (lambda a, p: kept(a, "assign"), "whole"),
    "an operator is left out": (lambda a, p: first_geop(a, nodes=lambda n: n[1:]), "placed-once"),
    "an operator is in two places": (
        lambda a, p: {**a, "host": [*a["host"], *({"node": g["nodes"][0], "reason": "GRAY"} for g in a["geops"])]},
        "placed-once",
    ),
    "a marked operator is offloaded": (
        lambda a, p: to_device(a, [h["node"] for h in a["host"] if h["reason"] == "SCOPE"]),
        "device-operators",
    ),
    "a gray operator is offloaded": (
        lambda a, p: to_device(a, [h["node"] for h in a["host"] if h["reason"] == "GRAY"]),
        "device-operators",
    ),
    "reasons are kept to itself": (lambda a, p: {**a, "host": [{**h, "reason": ""} for h in a["host"]]}, "reasons"),
    "all GEOPs are one": (lambda a, p: merged(a, [range(len(a["geops"]))]) if len(a["geops"]) > 1 else a, "acyclic"),
    "an argument is missing": (lambda a, p: first_geop(a, args=lambda n: n[1:]), "arguments"),
    "a return is missing": (lambda a, p: first_geop(a, rets=lambda n: n[1:]), "inlining"),
    "a return stands twice": (lambda a, p: first_geop(a, rets=lambda n: n + n[:1]), "arguments"),
    "a border has another type": (
        lambda a, p: {**a, "borders": [{**b, "dtype": "float64"} for b in a["borders"]]},
        "borders",
    ),
    "a border is missing": (lambda a, p: {**a, "borders": a["borders"][1:]}, "borders"),
    "the minimum is too high": (lambda a, p: {**a, "min_geops": len(a["geops"]) + 1}, "counts"),
    "each operator is a GEOP of its own": (
        lambda a, p: {**a, "geops": [{**g, "nodes": [n]} for g in a["geops"] for n in g["nodes"]]},
        "counts",
    ),
    "long names are kept on the host": (
        lambda a, p: {**a, "host": [{**h, "reason": "GRAY"} if h["node"].startswith("zq") else h for h in a["host"]]},
        "renaming",
    ),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_law_sees_the_fault_it_forbids(fault, tmp_path):
    edit, law = FAULTS[fault]
    found = broken(edited(edit), tmp_path)
    assert law in found, found


@pytest.mark.parametrize("waits", [False, True])
def test_a_constant_is_where_it_is_needed_but_behind_what_it_waits_for(waits, tmp_path):
    g = GraphBuilder()
    host = g.op(
        "Relu", "host", [g.op("Relu", "before", [g.placeholder("x", "float32", [2])])], _without_npu_compile=True
    )
    constant = g.const("constant", [1.0, 2.0], "float32", control=[host] if waits else [])
    g.op("Relu", "behind", [g.op("AddV2", "sum", [constant, g.placeholder("y", "float32", [2])])])
    path = tmp_path / "graph.pb"
    write_graph(g.build(), path)
    params = {"surface": "session", "edition": "current", "values": {"mix_compile_mode": True}, "graph": str(path)}
    answer = ReferenceBackend().partition(params)
    assert answer["min_geops"] == (2 if waits else 1)
    question = reading.LawQuestion(load_graph(path), None, mixed=True)
    least = LAWS["minimum"].faults
    assert least(reading.read(question, answer)) == []
    assert least(reading.read(question, {**answer, "min_geops": answer["min_geops"] - 1})) != []


def test_a_conditional_that_is_cut_is_seen(tmp_path):
    found = broken(edited(lambda a, p: kept(a, "/true")), tmp_path, graphs=80)
    assert "a conditional is cut" in found["whole"].detail


def test_a_backend_that_remembers_breaks_repetition(tmp_path):
    class Remembers(ReferenceBackend):
        """Says more of a graph the more it was asked before."""

        def __init__(self):
            self.asked = 0

        def partition(self, params):
            self.asked += 1
            answer = super().partition(params)
            return {**answer, "host": [{**h, "reason": f"AFTER_{self.asked}"} for h in answer["host"]]}

    assert "repeating" in broken(Remembers, tmp_path, graphs=6)


def test_a_refusal_breaks_only_the_law_that_every_graph_is_answered(tmp_path):
    class Refuses(ReferenceBackend):
        """Refuses graphs with a loop."""

        def partition(self, params):
            if any(node.op == "Enter" for node in load_graph(params["graph"]).nodes):
                raise NpuError("GRAPH_CYCLE", "graph", "loops are not for me")
            return super().partition(params)

    found = broken(Refuses, tmp_path, graphs=40)
    assert set(found) == {"answered"} and "loops are not for me" in found["answered"].detail


def test_the_example_left_is_the_smallest_and_says_how_it_was_asked(tmp_path, small):
    edit, _ = FAULTS["a gray operator is offloaded"]
    assert "device-operators" in broken(edited(edit), tmp_path, graphs=40)
    path = tmp_path / "law-device-operators-current.pbtxt"
    head = path.read_text().split("node {")[0]
    graph = load_graph(str(path))
    assert "npu-conformance partition" in head and "mix_compile_mode=True" in head and "--fetch" in head
    assert sorted(node.op for node in graph.nodes) == ["AsString", "Placeholder"]


def test_parts_asked_in_any_order_by_any_workers_give_the_same_answers(tmp_path):
    plans = []
    for name, backwards in (("one", False), ("other", True)):
        (tmp_path / name).mkdir()
        plan = asking.Plan(20, 0, tuple(asking.instances()), str(tmp_path / name))
        questions = asking.Questions(plan, claims_of())
        for part in questions.parts[::-1] if backwards else questions.parts:
            questions.take(part(questions.common, InProcess(ReferenceBackend, tmp_path / name), None))
        results = [one.result for one in questions.records(lambda: InProcess(ReferenceBackend, tmp_path))]
        plans.append((results, (tmp_path / name / asking.FILE).read_bytes()))
    assert plans[0] == plans[1]


def test_a_backend_that_starts_no_more_ends_the_questions_and_not_the_run(tmp_path):
    class Gone(InProcess):
        def request(self, method, params, seconds):
            raise NpuError("BACKEND_UNAVAILABLE", "here", "was stopped")

    plan = asking.Plan(16, 0, tuple(asking.instances(["current"])), str(tmp_path))
    questions = asking.Questions(plan, claims_of())
    for part in questions.parts:
        questions.take(part(questions.common, Gone(ReferenceBackend, tmp_path), None))
    found = {
        asking.law_of(one.instance).name: one.result
        for one in questions.records(lambda: Gone(ReferenceBackend, tmp_path))
    }
    assert found["answered"].status == "fail" and "asked no more" in found["answered"].detail
    assert "pass" not in {result.status for result in found.values()}, "a law holds of answers, not of questions"


def test_laws_that_a_backend_does_not_show_are_unsupported_and_never_pass(tmp_path):
    claims = claims_of({"partition"})
    plan = asking.Plan(10, 0, tuple(asking.instances(["current"])), str(tmp_path))
    records = asking.run(plan, "here", Lanes(ReferenceBackend, tmp_path), claims)
    statuses = {asking.law_of(one.instance).name: one.result.status for one in records}
    assert {name for name, status in statuses.items() if status == "unsupported"} == {
        name
        for name, law in LAWS.items()
        if law.method != "partition" or law.needs or name in OF_CASES  # which are about a library's
    }
    assert set(statuses.values()) == {"pass", "unsupported"}


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    return ended.value.code


@pytest.mark.nightly  # by day a tutorial runs both
def test_the_command_judges_by_laws_and_verify_judges_again(tmp_path, capsys):
    out = str(tmp_path / "report")
    selection = ["--area", "partition", "-k", "law-acyclic or law-counts", "--edition", "current"]
    assert run("run", "--backend", "mutant:one-geop", "--laws", "20", *selection, "--out", out) == 1
    lines = [json.loads(line) for line in (tmp_path / "report" / "results.jsonl").read_text().splitlines()]
    assert [(line["id"], line["status"]) for line in lines[1:-1]] == [
        ("law-acyclic@current", "fail"),
        ("law-counts@current", "fail"),
    ]
    assert lines[0]["selection"]["laws"] == 20 and lines[-1]["verdict"] == "not conformant"
    assert os.path.exists(os.path.join(out, "law-acyclic-current.pbtxt"))
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "--laws 20 --law-seed 0" in page and "would wait for itself" in page
    capsys.readouterr()
    run("verify", out)
    assert "The results hold" in capsys.readouterr().out
    # Answers that somebody bettered afterwards do not hold.
    answers = tmp_path / "report" / asking.FILE
    told = lzma.decompress(answers.read_bytes())
    answers.write_bytes(lzma.compress(told.replace(b'"min_geops": 2', b'"min_geops": 1')))
    assert run("verify", out) == 1
    assert "law-counts@current" in capsys.readouterr().out


def test_laws_without_their_area_are_a_usage_error(tmp_path, capsys):
    assert run("run", "--area", "mixed", "--laws", "5", "--out", str(tmp_path / "r")) == 2
    assert "the areas partition, precision, options and run" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_run_that_says_nothing_of_laws_is_judged_by_them_and_a_fresh_seed_is_told(tmp_path, capsys):
    selection = ["-k", "law-acyclic or law-options-order", "--edition", "current", "--out", str(tmp_path / "r")]
    assert run("run", *selection, "--law-seed", "fresh", "--laws", "8") == 0
    told = capsys.readouterr().err
    with open(tmp_path / "r" / "results.jsonl", encoding="utf-8") as stream:
        asked = json.loads(stream.readline())["selection"]
    assert asked["laws"] == 8 and f"--law-seed {asked['law_seed']}" in told
    assert run("run", "-k", "law-options-order", "--edition", "current", "--out", str(tmp_path / "s")) == 0
    with open(tmp_path / "s" / "results.jsonl", encoding="utf-8") as stream:
        assert json.loads(stream.readline())["selection"]["laws"] == asking.DEFAULT


def test_a_seed_that_is_none_is_a_usage_error(tmp_path, capsys):
    assert run("run", "--law-seed", "-1", "--out", str(tmp_path / "r")) == 2
    assert "is no seed" in capsys.readouterr().err


class Disordered(ReferenceBackend):
    """Lets the first of the options decide what another does: the order of the keys counts."""

    def options(self, params):
        answer = super().options(params)
        if list(params["values"])[:1] > list(params["values"])[1:2]:
            answer["effective"]["mix_compile_mode"]["origin"] = "forced"
        return answer


@pytest.mark.nightly
def test_the_laws_of_options_and_of_precision_see_what_is_wrong(tmp_path):
    class Uncast(ReferenceBackend):
        def precision(self, params):
            return {**super().precision(params), "casts": []}

    shelf = corpus()

    def failed(factory, method):
        asked = tuple(one for one in asking.instances(["current"]) if one.case.method == method)
        plan = asking.Plan(30, 0, asked, str(tmp_path), shelf)
        made = asking.run(plan, "here", Lanes(factory, tmp_path), claims_of())
        assert [one.result for one in asking.records(plan, claims_of(), asking.load(str(tmp_path)))] == [
            one.result for one in made
        ]
        return {asking.law_of(one.instance).name for one in made if one.result.status == "fail"}

    # Which of the two tells of a company depends on who is in it, and so on the cases that there are.
    assert {"options-order"} <= failed(Disordered, "options") <= {"options-beside", "options-order"}
    assert failed(Uncast, "precision") == {"precision-casts"}
    assert failed(ReferenceBackend, "options") == set()  # of precision: whatever runs the reference


def relisted(change):
    """The reference with other files of lists: a text, as the change makes it."""

    class Relisted(ReferenceBackend):
        def precision(self, params):
            files = {
                name: change(text) if isinstance(text, str) else text for name, text in params.get("files", {}).items()
            }
            return super().precision({**params, "files": files} if files else params)

    return Relisted


class OnTheAiCore(ReferenceBackend):
    """Says of everything on the AI CPU that the AI Core computes it."""

    def precision(self, params):
        answer = super().precision(params)
        nodes = [{**n, "engine": "vector"} if n.get("engine") == "aicpu" else n for n in answer["nodes"]]
        return {**answer, "nodes": nodes}


class Lowered(ReferenceBackend):
    """Lowers what the AI Core has in float32 alone."""

    def precision(self, params):
        answer = super().precision(params)
        half = {"inputs": ["float16"], "outputs": ["float16"]}
        return {**answer, "nodes": [{**n, **half} if n["op"] == "Dawsn" else n for n in answer["nodes"]], "casts": []}


class Unmoved(ReferenceBackend):
    """Lowers no gray operator of one type, and its own casts are right."""

    def precision(self, params):
        answer = super().precision(params)
        kept = {"inputs": ["float32", "float32"], "outputs": ["float32"]}
        return {**answer, "nodes": [{**n, **kept} if n["op"] == "AddV2" else n for n in answer["nodes"]], "casts": []}


class OnTheAiCpu(ReferenceBackend):
    """Has the AI CPU compute what the AI Core has in both types."""

    def precision(self, params):
        answer = super().precision(params)
        nodes = [{**n, "engine": "aicpu"} if n["op"] == "AddV2" else n for n in answer["nodes"]]
        return {**answer, "nodes": nodes}


@pytest.mark.parametrize(
    "factory, law",
    [
        pytest.param(Unmoved, "precision-gray", id="leaves gray operators as they are"),
        at_night(OnTheAiCpu, "precision-modes", id="keeps the AI Core from what it supports"),
        at_night(relisted(lambda text: "{}"), "precision-lists", id="reads no list"),
        at_night(
            relisted(lambda text: text.replace("black", "?").replace("white", "black").replace("?", "white")),
            "precision-lists",
            id="takes one list for the other",
        ),
        pytest.param(OnTheAiCore, "precision-kernels", id="takes what it has no kernel for"),
        at_night(Lowered, "precision-kernels", id="lowers what is there in float32 alone"),
    ],
)
def test_the_laws_of_lists_and_kernels_see_what_breaks_them(factory, law, tmp_path):
    chosen = tuple(one for one in asking.instances(["legacy"]) if asking.law_of(one).name == law)
    plan = asking.Plan(2, 0, chosen, str(tmp_path), corpus())
    made = asking.run(plan, "here", Lanes(factory, tmp_path), claims_of())
    again = asking.records(plan, claims_of(), asking.load(str(tmp_path)))
    assert [one.result for one in again] == [one.result for one in made]
    assert law in {asking.law_of(one.instance).name for one in made if one.result.status == "fail"}


def test_the_table_of_laws_in_the_guide_is_the_one_declared():
    guide = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "run.md")
    with open(guide, encoding="utf-8") as stream:
        table = stream.read().split("<!-- laws -->")[1].split("<!-- /laws -->")[0]
    rows = [tuple(cell.strip(" `") for cell in line.split("|")[1:3]) for line in table.strip().splitlines()[2:]]
    assert rows == [(law.name, law.title) for law in LAWS.values()]


def test_a_backend_of_this_process_has_all_that_laws_ask_of_a_client(tmp_path):
    # What is missing would end every law, and whoever judges so would take each backend for a faulty one.
    sources = Path(asking.__file__).parent.rglob("*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in sources)
    here = hosting.Here(ReferenceBackend(), str(tmp_path))
    assert set(re.findall(r"\bworker\.(\w+)", source)) <= set(dir(here))
    assert here.known("options", {}) is None


def test_a_mode_of_none_in_its_field_is_no_mode() -> None:
    """What has no mode has that of the run mode (A6), so a law may not change the run mode beside it."""
    named = {one.id: applicable.has_mode(one) for one in corpus().instances()}
    assert not named["legacy-precision-none-in-its-field@legacy"] and not named["precision-unset@current"]
    assert named["precision-allow-fp32-to-fp16@current"]
