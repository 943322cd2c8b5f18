"""Exploring finds differences that are planted, makes them small, and leaves cases that show them."""

from __future__ import annotations

import json
import os
import sys

import pytest

from npu_conformance import cli
from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.commands.shared import seed_of
from npu_conformance.protocol import client
from npu_conformance.strength import hosting
from npu_conformance.strength.exploring import drafts, questions, searching
from npu_reference.errors import NpuError
from npu_reference.graphs import load_graph
from tests.cases.corpus import corpus
from tests.conformance.test_laws import InProcess

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]


class Told(InProcess):
    """A client that says hello as the reference does, and may end as a worker ends."""

    def hello(self):
        self.fresh()
        return self.backend.hello({"protocol": 1})

    def request(self, method, params, seconds):
        try:
            return super().request(method, params, seconds)
        except Ends as ended:
            return ended.outcome


class Ends(Exception):
    """Stands for the end of a worker."""

    def __init__(self, outcome):
        super().__init__()
        self.outcome = outcome


class Lanes:
    """Stands for lanes.Settings."""

    def __init__(self, factory, folder):
        self.factory, self.folder = factory, folder

    def client(self, spec):
        return Told(self.factory, self.folder)


def explore(factory, folder, most, methods=questions.METHODS, seed=0):
    plan = searching.SearchPlan(1e6, seed, tuple(methods), most=most)
    return searching.explore(corpus(), "here", Lanes(factory, folder), plan)


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """Explores, each backend once for all tests."""
    known = {}

    def of(factory, most, *methods):
        key = (factory, most, methods)
        if key not in known:
            known[key] = explore(factory, tmp_path_factory.mktemp("worker"), most, methods or questions.METHODS)
        return known[key]

    return of


class Options(ReferenceBackend):
    """The reference with one change of its effective values."""

    def options(self, params):
        answer = super().options(params)
        self.change(params, answer["effective"])
        return answer

    def change(self, params, effective):
        raise NotImplementedError


class CountsNoSteps(Options):
    """hccl_timeout is what was given."""

    def change(self, params, effective):
        given = params["values"].get("hccl_timeout")
        if isinstance(given, int) and effective["hccl_timeout"]["origin"] == "given":
            effective["hccl_timeout"]["value"] = given


class MistakesDumps(Options):
    """With a dump and profiling together the mode of the dump is lost."""

    def change(self, params, effective):
        if params["values"].get("enable_dump") and params["values"].get("dump_mode"):
            effective["dump_mode"]["value"] = "output!"


class TakesAll(ReferenceBackend):
    """No word is refused."""

    def options(self, params):
        try:
            return super().options(params)
        except NpuError as error:
            if error.subject != "buffer_optimize":
                raise
            rest = {name: value for name, value in params["values"].items() if name != "buffer_optimize"}
            return super().options({**params, "values": rest})


class RefusesTuning(ReferenceBackend):
    """No tuning."""

    def options(self, params):
        if params["values"].get("aoe_mode") is not None and params["edition"] == "current":
            raise NpuError("OPTION_VALUE", "aoe_mode", "no tuning", "none")
        return super().options(params)


class KeepsRelu(ReferenceBackend):
    """A Relu behind an addition stays on the host."""

    def partition(self, params):
        answer = super().partition(params)
        graph = load_graph(params["graph"])
        lost = {
            node.name
            for node in graph.nodes
            if node.op == "Relu"
            and any(graph.nodes[graph.index[one]].op == "AddV2" for one in node.inputs if one in graph.index)
        }
        for geop in answer["geops"]:
            answer["host"] += [
                {"node": name, "op": "Relu", "reason": "UNSUPPORTED_OP"} for name in geop["nodes"] if name in lost
            ]
            geop["nodes"] = [name for name in geop["nodes"] if name not in lost]
        return answer


class Halves(ReferenceBackend):
    """AddN is computed in float16, whatever the mode."""

    def precision(self, params):
        answer = super().precision(params)
        for one in answer["nodes"]:
            if one["op"] == "AddN":
                one["inputs"] = ["float16" for _ in one["inputs"]]
        return answer


class Dies(ReferenceBackend):
    """A while loop ends the worker."""

    def partition(self, params):
        if any(node.op == "LoopCond" for node in load_graph(params["graph"]).nodes):
            raise Ends(client.Crashed(-11, ""))
        return super().partition(params)


class Hangs(ReferenceBackend):
    """Never answers about dtypes."""

    def precision(self, params):
        raise Ends(client.TimedOut(10.0, ""))


class NothingComesBack(ReferenceBackend):
    """Forgets the copies to the host."""

    def timeline(self, params):
        answer = super().timeline(params)
        for step in [answer["base"], *answer["variants"].values()]:
            if "transfers" in step:
                step["transfers"] = [one for one in step["transfers"] if one["direction"] == "h2d"]
        return answer


class NeverWaits(ReferenceBackend):
    """Knows no op_wait_timeout."""

    def timeline(self, params):
        def without(values):
            return {name: value for name, value in values.items() if name != "op_wait_timeout"}

        variants = {name: without(values) for name, values in params.get("variants", {}).items()}
        return super().timeline({**params, "values": without(params["values"]), "variants": variants})


def cause(result):
    return {one.difference.cause for one in result.findings}


def test_the_reference_differs_from_itself_in_nothing(explored):
    found = explored(ReferenceBackend, 90)
    assert found.findings == () and found.asked == 90 and found.left < 9


@pytest.mark.parametrize(
    ("backend", "method", "about", "values"),
    [
        (CountsNoSteps, "options", ("options", "value", "hccl_timeout"), {"hccl_timeout"}),
        (MistakesDumps, "options", ("options", "value", "dump_mode"), {"enable_dump", "dump_mode", "dump_path"}),
        (TakesAll, "options", ("options", "accepted", "buffer_optimize"), {"buffer_optimize"}),
        (RefusesTuning, "options", ("options", "refused", "aoe_mode"), {"aoe_mode"}),
    ],
)
def test_a_planted_difference_of_options_is_found_and_made_small(backend, method, about, values, explored):
    rare = len(values) > 2  # so many options that one question seldom has them all
    [found] = explored(backend, 2500 if rare else 1000, method).findings
    assert found.difference.cause == about and found.difference.level == "must" and found.times >= 1
    assert set(found.question.params["values"]) == values and not found.question.params.get("env")


def test_a_planted_difference_of_placement_is_found_and_made_small(explored):
    found = explored(KeepsRelu, 100, "partition")
    [placed] = [one for one in found.findings if one.difference.cause[1] == "placement"]
    assert placed.difference.cause == ("partition", "placement", "Relu") and placed.times >= 1
    assert [step.kind for step in placed.question.steps] == ["binary", "unary"]
    assert placed.question.params["values"] in ({}, {"mix_compile_mode": True})


def test_a_planted_difference_of_dtypes_is_found_and_made_small(explored):
    [found] = explored(Halves, 12, "precision").findings
    assert found.difference.cause == ("precision", "dtypes", "AddN")
    assert [step.kind for step in found.question.steps] == ["many"]


def test_planted_differences_of_steps_are_found_and_made_small(explored):
    found = explored(NothingComesBack, 12, "timeline").findings
    assert found and all(one.difference.cause[:2] == ("timeline", "copies") for one in found)
    assert all(one.question.requirements for one in found)
    assert any(not one.question.params["values"] for one in found), "no option is needed to see it"
    found = explored(NeverWaits, 300, "timeline").findings
    causes = {one.difference.cause[1] for one in found}
    assert "end" in causes and causes <= {"end", "accepted"}, "of an option that nobody knows, no value is refused"
    assert all("op_wait_timeout" in str(one.question.params) for one in found)


class Slow(Halves):
    """Each question takes a second."""

    now = 0.0

    def precision(self, params):
        Slow.now += 1
        return super().precision(params)


@pytest.mark.parametrize("seconds", [20.0, 200.0])
def test_making_small_has_a_share_of_the_time_and_no_more(seconds, tmp_path):
    Slow.now = 0.0
    plan = searching.SearchPlan(seconds, 0, ("precision",))
    found = searching.explore(corpus(), "here", Lanes(Slow, tmp_path), plan, clock=lambda: Slow.now)
    assert found.findings and 0.7 * seconds < found.asked <= 0.8 * seconds
    again = 2 * len(found.findings)  # each is asked once more as it was, and once as small as it is
    assert found.asked < Slow.now <= seconds + again + 1
    assert all(len(one.question.steps) == 1 for one in found.findings) == (seconds > 100)


def test_a_worker_that_dies_is_a_finding_and_exploring_goes_on(explored):
    found = explored(Dies, 15, "partition")
    [one] = found.findings
    assert one.difference.cause == ("partition", "ended", "crashed")
    assert [step.kind for step in one.question.steps] == ["while"]
    assert found.asked == 15


def test_a_method_that_never_answers_is_asked_no_more(explored):
    found = explored(Hangs, 30)
    assert cause(found) == {("precision", "ended", "timedout")} and found.stopped == ("precision",)
    assert found.findings[0].times == 5


class Moody(CountsNoSteps):
    """Wrong until it is started anew."""

    started = 0

    def __init__(self):
        super().__init__()
        Moody.started += 1
        self.wrong = Moody.started <= 2  # as it is made, and for its hello

    def change(self, params, effective):
        if self.wrong:
            super().change(params, effective)


def test_what_a_fresh_worker_does_not_show_is_unstable(explored):
    Moody.started = 0
    [found] = explored(Moody, 600, "options").findings
    assert found.difference.cause == ("options", "unstable", "hccl_timeout")


def test_the_same_seed_finds_the_same_in_the_same_order(explored, tmp_path):
    assert explore(Halves, tmp_path, 12, ["precision"]) == explored(Halves, 12, "precision")
    given = questions.material(corpus())
    assert _drawn(given, 0) == _drawn(given, 0) != _drawn(given, 1)


def _drawn(given, seed):
    return [questions.draw(seed, number, questions.METHODS, ("legacy", "current"), given) for number in range(6)]


@pytest.mark.parametrize(
    ("backend", "method", "most"),
    [
        (CountsNoSteps, "options", 1000),
        (TakesAll, "options", 1000),
        (RefusesTuning, "options", 1000),
        (KeepsRelu, "partition", 100),
        (Halves, "precision", 12),
        (Dies, "partition", 15),
        (NothingComesBack, "timeline", 12),
        (NeverWaits, "timeline", 300),
    ],
)
def test_a_draft_is_a_case_that_the_reference_passes_and_the_backend_does_not(
    backend, method, most, explored, tmp_path
):
    found = explored(backend, most, method)
    folder = tmp_path / "drafts"
    folder.mkdir()
    made = drafts.of(found.findings)
    drafts.write(made, str(folder), found.claims)
    shelf = drafts.load(str(folder))
    assert sorted(shelf.cases) == sorted(one.id for one in made) and made
    for one in shelf.instances():
        assert one.case.why, "the documents' sentence"
        assert hosting.ask(ReferenceBackend(), one, str(tmp_path)).status == "pass"
        assert hosting.ask(backend(), one, str(tmp_path)).status == "fail"


def test_questions_are_the_same_in_every_version_of_python():
    given = questions.material(corpus())
    asked = [questions.draw(0, number, questions.METHODS, ("legacy", "current"), given) for number in range(4)]
    assert [one.method for one in asked] == ["options", "partition", "precision", "timeline"]
    assert [one.edition for one in asked] == EDITIONS
    assert asked[1].steps and asked[2].params["values"]["precision_mode"]


EDITIONS = ["current", "current", "legacy", "current"]


# -- the command ------------------------------------------------------------------------------------------------------


def status(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["explore", *arguments])
    return ended.value.code


DYING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "options":
        sys.exit(3)
    ok = {"protocol": 1, "backend": {"name": "d", "version": "1"},
          "capabilities": {"areas": ["options"], "editions": ["current"], "features": ["options"]}}
    print(json.dumps({"id": asked["id"], "ok": ok if asked["method"] == "hello" else {}}), flush=True)
"""


def test_the_command_tells_finds_and_asks_again(tmp_path, capsys):
    program = tmp_path / "dying.py"
    program.write_text(DYING)
    out = str(tmp_path / "drafts")
    spec = f"exec:{sys.executable} {program}"
    assert status("--backend", spec, "--seconds", "300", "--questions", "20", "--out", out, "--format", "json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["questions"] == 5 and answer["stopped"] == ["options"] and answer["findings"][0]["kind"] == "ended"
    assert status("--backend", spec, "--again", out) == 1
    assert status("--backend", "reference", "--again", out) == 0
    assert "pass" in capsys.readouterr().out


def test_the_command_says_when_nothing_was_found(tmp_path, capsys):
    out = str(tmp_path / "drafts")
    assert status("--seconds", "300", "--questions", "6", "--out", out) == 0
    assert "6 questions of seed 0" in capsys.readouterr().out and os.path.isfile(os.path.join(out, drafts.MARK))


def test_bad_use_is_told_and_nothing_is_touched(tmp_path, capsys):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("x")
    assert status("--questions", "1", "--out", str(mine)) == 2
    assert status("--seed", "x") == 2
    assert status("--again", str(mine)) == 2
    assert status("--backend", "nobody:knows", "--questions", "1") == 2
    assert os.listdir(str(mine)) == ["thesis.tex"]
    assert capsys.readouterr().err.count("error[") == 4


def test_a_seed_is_a_number_or_drawn_afresh():
    assert seed_of("--seed", "7") == 7 and seed_of("--seed", "fresh") != seed_of("--seed", "fresh")
