"""What a run asks beside the cases: a third of it, unless it is thorough."""

from __future__ import annotations

import collections
import json
import os
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Tuple
from unittest import mock

import pytest

from npu_conformance import cli
from npu_conformance.judging import judge
from npu_conformance.report import failing, results, summary
from npu_conformance.strength.laws import asking, scheduling
from npu_conformance.strength.laws.asker import Asker
from npu_conformance.strength.laws.kinds import KINDS, precision_lists
from npu_conformance.strength.laws.plans import PARTS, THIRDS, Asked, shelved
from tests.cases.corpus import corpus

pytestmark = pytest.mark.oldest_at_night

#: A question: its kind and number.
Question = Tuple[str, int]


class Mute(Asker):
    """Asks nobody."""

    def request(self, *given: Any, **named: Any) -> None:
        return None


class Nobody:
    """A worker that no request reaches."""

    def __init__(self, folder: str) -> None:
        self.folder, self.served = folder, 0


CLAIMS = judge.Claims(
    frozenset(one.case.area for one in (*corpus().instances(), *asking.instances())),
    frozenset(("legacy", "current")),
    frozenset(need for one in (*corpus().instances(), *asking.instances()) for need in one.case.needs),
)


def asked(folder: str, law_seed: int, thorough: bool) -> Tuple[asking.Plan, List[Asked]]:
    """All that a run asks for the laws."""
    seed, third = asking.drawn_by(law_seed, thorough)
    plan = asking.Plan(asking.DEFAULT, seed, tuple(asking.instances()), folder, corpus(), third)
    _, _, editions, methods = asking.Questions(plan, CLAIMS).common
    worker: Any = Nobody(folder)

    def found() -> Iterator[Asked]:
        for part in range(PARTS):
            for name in methods:
                questions = KINDS[name].ask(Mute(plan, worker, CLAIMS, part), editions, methods[name])
                yield from (question for question, _ in questions)

    with mock.patch.object(scheduling, "difference", lambda *given: ""):
        return plan, sorted(found(), key=lambda one: one.number)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Dict[Optional[int], Tuple[asking.Plan, List[Asked]]]:
    """What a thorough run asks, by None, and what the three others do that together are as it."""
    folder = str(tmp_path_factory.mktemp("depth"))
    found: Dict[Optional[int], Tuple[asking.Plan, List[Asked]]] = {None: asked(folder, 2, True)}
    found.update((third, asked(folder, 2 * THIRDS + third, False)) for third in range(THIRDS))
    return found


def names(found: List[Asked]) -> FrozenSet[Question]:
    return frozenset((one.kind, one.number) for one in found)


@pytest.mark.nightly
def test_three_seeds_in_succession_ask_all_that_a_thorough_run_asks(runs: Any) -> None:
    every = names(runs[None][1])
    thirds = [names(runs[third][1]) for third in range(THIRDS)]
    assert frozenset().union(*thirds) == every
    shelf = shelved(runs[None][0])
    twice = {one for one, times in collections.Counter(one for third in thirds for one in third).items() if times > 1}
    assert twice == {
        ("listed", number) for number in precision_lists._widest(shelf.listed)
    }  # beside it the library is asked


@pytest.mark.nightly
def test_a_third_is_about_a_third(runs: Any) -> None:
    every = collections.Counter(one.kind for one in runs[None][1])
    for third in range(THIRDS):
        found = collections.Counter(one.kind for one in runs[third][1])
        assert found.keys() == every.keys()
        assert 0.25 < sum(found.values()) / sum(every.values()) < 0.42, (third, found)


@pytest.mark.nightly
def test_every_run_asks_every_law_in_each_edition(runs: Any) -> None:
    for third in range(THIRDS):
        plan, found = runs[third]
        for instance in plan.instances:
            law = asking.law_of(instance).name
            concerned = (one for one in found if one.edition == instance.edition)
            assert any(asking.concerns(plan, law, one) for one in concerned), (third, instance.id)


def test_a_seed_says_which_third() -> None:
    assert asking.drawn_by(7, True) == (7, None)
    assert [asking.drawn_by(seed, False) for seed in (0, 1, 2, 3, 7)] == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 1)]


@pytest.mark.nightly
def test_a_plan_knows_the_whole_of_what_it_asks(runs: Any) -> None:
    for plan, found in runs.values():
        assert asking.whole(plan, found)
        assert not asking.whole(plan, [one for one in found if (one.kind, one.number) != _a_graph(found)])


def _a_graph(found: List[Asked]) -> Question:
    return next(("graph", one.number) for one in found if one.kind == "graph")


SELECTED = ("-k", "law-acyclic", "--edition", "current", "-n", "1")


def selection(out: str, *more: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """What a run records of itself: its selection, and its statement."""
    with pytest.raises(SystemExit):
        cli.main(["run", *SELECTED, *more, "--out", out])
    with open(os.path.join(out, "statement.json"), encoding="utf-8") as stream:
        statement = json.load(stream)
    return results.read(out).header["selection"], statement


@pytest.mark.nightly
def test_the_report_says_how_much_was_asked(tmp_path: Any, capsys: Any) -> None:
    out = str(tmp_path / "third")
    third, statement = selection(out, "--law-seed", "4")
    assert (third["laws"], third["law_seed"], third["thorough"]) == (asking.DEFAULT, 4, False)
    assert statement["selection"] == third
    assert "laws were asked of a third, that of --law-seed 4; --thorough asks all" in capsys.readouterr().err
    assert results.failures(out).thorough is False  # so that --failed asks the same again
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", out])
    assert ended.value.code == 0
    every, _ = selection(str(tmp_path / "every"), "--laws", "1")
    assert every["thorough"] is True and "a third" not in capsys.readouterr().err


def test_the_command_that_repeats_a_law_asks_as_much() -> None:
    law = asking.instances(["current"])[0]
    assert failing.command(law, "reference", (None, 4)).endswith(f"--law-seed 4 --edition current -k {law.case.id}@")
    assert "--laws 40 --law-seed 7" in failing.command(law, "reference", (40, 7))


def test_a_run_of_a_third_is_no_statement_about_the_whole_suite() -> None:
    report: Any = mock.Mock(records=[mock.Mock(instance=one) for one in corpus().instances()])
    with mock.patch.object(summary, "counts"), mock.patch.object(summary, "must", return_value=(1, 1)):
        for told in ({}, {"thorough": True}, {"thorough": False}, {"thorough": 1}):
            report.header = collections.defaultdict(dict, selection=told)
            assert summary.statement(corpus(), report, b"")["whole_suite"] is (told.get("thorough", True) is True)
