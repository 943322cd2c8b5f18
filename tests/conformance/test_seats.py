"""Lanes in processes of their own: what one of them meets costs it alone, and none outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Optional

import pytest

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.running import lanes, runner, seats
from npu_reference.errors import NpuError
from tests.conformance.shelves import BACKENDS, QUICK, Shelf, details, hosted, judged, spoken, statuses

pytestmark = pytest.mark.oldest_at_night

MINIATURES = os.path.join(BACKENDS, "miniatures.py")
TWO = QUICK._replace(jobs=2)
CLAIMS = judge.Claims(frozenset(["small"]), frozenset(["current"]), frozenset(["options", "partition"]))
TERMS = seats.Terms(CLAIMS, "", None, False)


def test_one_lane_needs_no_process_of_its_own_and_several_have_one_each() -> None:
    with seats.seat(spoken("Honest"), QUICK) as alone, seats.seat(spoken("Honest"), TWO) as beside:
        assert isinstance(alone, seats.InProcessSeat) and isinstance(beside, seats.Apart)
        assert alone.hello() == beside.hello()


def test_a_backend_that_does_not_start_says_why_through_its_lane(shelf: Shelf) -> None:
    said = []
    for settings in (QUICK, TWO):
        with pytest.raises(NpuError) as caught:
            judged(shelf, spoken("NoSuchMiniature"), settings)
        said.append((caught.value.code, caught.value.message))
    assert said[0] == said[1] and said[0][0] == "BACKEND_UNAVAILABLE"


def test_an_answer_that_ends_what_judges_it_costs_its_case_and_nothing_else(shelf: Shelf) -> None:
    report = judged(shelf, spoken("KillsItsJudge"), TWO)
    assert statuses(report) == {
        "small-options": "pass", "small-partition": "harness-error", "small-partition-again": "harness-error",
        "small-what-follows": "pass",
    }  # fmt: skip
    assert set(details(report)) == {"the process that judges ended: signal 9"}
    assert report.verdict == "not conformant"


def test_what_is_heard_is_told_in_the_order_in_which_it_comes(shelf: Shelf) -> None:
    heard: List[Any] = []
    judged(shelf, hosted("Honest"), TWO, progress=heard.append)
    assert sorted(one.instance.case.id for one in heard) == sorted(shelf.load().cases)


class Ends(seats.Seat):
    """A lane whose process ends at every unit, after it had begun or before."""

    def __init__(self, ready: bool) -> None:
        self.ready, self.asked = ready, 0

    def begin(self, terms: seats.Terms) -> None:
        pass

    def share(self, common: Any) -> None:
        self.shared = common

    def do(self, unit: seats.Unit, heard: seats.Heard) -> Any:
        self.asked += 1
        raise seats.Gone("signal 9", self.ready)

    def renew(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass


def worked(shelf: Shelf, place: seats.Seat, parts: int = 0) -> Dict[str, Any]:
    """What one lane makes of the small library and of parts beside it."""
    lost: List[str] = []

    def part(common: Any, worker: Optional[client.Client], tick: Any) -> None:
        raise AssertionError("asked without a worker")

    beside = runner.Further(None, [part] * parts, lost.append, lost.append, lambda start: [])
    work = runner._Work(TERMS)
    work.complete(list(enumerate(shelf.load().instances())), beside)
    work.lane(place)
    return {"found": [work.found[number].result.status for number in sorted(work.found)], "lost": lost}


def test_a_part_that_ends_its_lane_twice_is_lost_and_everything_else_is_asked(shelf: Shelf) -> None:
    place = Ends(ready=True)
    made = worked(shelf, place, parts=1)
    assert made == {"found": ["harness-error"] * 4, "lost": ["the process that judges ended: signal 9"]}
    assert place.asked == 2 + 1 + 4  # the part twice, the cases together and each by itself


def test_a_lane_that_does_not_start_any_more_is_given_up(shelf: Shelf) -> None:
    place = Ends(ready=False)
    assert worked(shelf, place)["found"] == ["harness-error"] * 4
    assert place.asked == runner._START_FAILURES


class EndsOnce(Ends):
    """A lane whose process ends at one unit, and does what it is given before and after."""

    def __init__(self, at: int) -> None:
        super().__init__(ready=True)
        self.at = at

    def do(self, unit: seats.Unit, heard: seats.Heard) -> Any:
        if self.asked == self.at:
            return super().do(unit, heard)
        self.asked += 1
        for number, instance in () if callable(unit) else unit:
            heard(number, lanes.plain(instance, "pass", ""))
        return "part"


@pytest.mark.parametrize(("at", "asked"), [(0, 3 + 2), (1, 3 + 2), (2, 3 + 1)])
def test_a_lane_that_ends_within_a_chain_does_the_rest_of_it_and_everything_once(
    monkeypatch: pytest.MonkeyPatch, shelf: Shelf, at: int, asked: int
) -> None:
    monkeypatch.setattr(runner, "_CHUNK", 2)
    taken: List[Any] = []
    told: List[Any] = []
    beside = runner.Further(None, [print], taken.append, taken.append, lambda start: [], same=lambda one: 0)
    work, place = runner._Work(TERMS, told.append), EndsOnce(at)
    work.complete(list(enumerate(shelf.load().instances())), beside)
    assert [len(one.units) for one in work.units if isinstance(one, runner.Chain)] == [3] == [3] * len(work.units)
    work.lane(place)
    assert (taken, place.asked) == (["part"], asked)
    assert [work.found[number].result.status for number in range(4)] == ["pass"] * len(told)


class Waits(EndsOnce):
    """A lane that lets the rest be known once it has asked something, and tells what it was given."""

    def __init__(self, work: runner._Work, rest: Callable[[], Any]) -> None:
        super().__init__(at=-1)
        self.work, self.rest = work, rest
        self.done: List[Any] = []

    def do(self, unit: seats.Unit, heard: seats.Heard) -> Any:
        self.done.append("part" if callable(unit) else [number for number, _ in unit])
        if len(self.done) == 1:
            assert self.work.complete(*self.rest()) > 0
        return super().do(unit, heard)


def test_what_is_asked_before_the_rest_is_known_is_asked_once_and_parts_get_what_they_share(shelf: Shelf) -> None:
    pairs = list(enumerate(shelf.load().instances()))
    taken: List[Any] = []
    beside = runner.Further("shared", [print], taken.append, taken.append, lambda start: [])
    work = runner._Work(TERMS)
    work.begin([[pairs[2]], [pairs[1]]])
    place = Waits(work, lambda: (pairs, beside))
    work.lane(place)
    assert place.done == [[2], "part", [0, 1, 3]] and (taken, place.shared) == (["part"], "shared")
    assert sorted(work.found) == [0, 1, 2, 3]


def test_a_lane_waits_for_the_rest_and_ends_where_all_is_over(shelf: Shelf) -> None:
    pairs = list(enumerate(shelf.load().instances()))
    for end in (False, True):
        work, place = runner._Work(TERMS), EndsOnce(at=-1)
        lane = threading.Thread(target=work.lane, args=(place,))
        lane.start()
        if end:
            work.end()
        else:
            work.complete(pairs)
        lane.join(60.0)
        assert not lane.is_alive() and len(work.found) == (0 if end else 4)


def running(folder: str) -> str:
    return subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, check=True).stdout.decode()


def stopped(tmp_path: Any, number: int) -> Any:
    """How a run of two lanes ends whose backend sends it a signal."""
    place = tmp_path / "temporary"
    place.mkdir()
    spec = f"exec:{sys.executable} {MINIATURES} StopsTheSuiteAbove {int(number)} {tmp_path / 'asked'}"
    # Lanes have the standard error of the run: its end is theirs.
    return subprocess.run(
        [sys.executable, "-m", "npu_conformance", "run", "-n", "2", "--backend", spec, "--out", "report"],
        capture_output=True, cwd=str(place), timeout=60,
        env={**client.environment(QUICK.env), "TMPDIR": str(place)},
        preexec_fn=lambda: number == signal.SIGKILL or signal.signal(number, signal.SIG_DFL),
    )  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_of_several_lanes_that_is_stopped_ends_them_and_leaves_nothing(tmp_path: Any, number: int) -> None:
    done = stopped(tmp_path, number)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (130, [b"interrupted"])
    assert os.listdir(str(tmp_path / "temporary")) == []
    assert str(tmp_path) not in running(str(tmp_path))


@pytest.mark.nightly
def test_lanes_of_a_run_that_was_killed_end_with_it(tmp_path: Any) -> None:
    done = stopped(tmp_path, signal.SIGKILL)
    assert done.returncode == -signal.SIGKILL
    assert str(tmp_path) not in running(str(tmp_path))
    left = os.listdir(str(tmp_path / "temporary"))
    assert [name for name in left if not name.startswith(".npu-report-")] == []
