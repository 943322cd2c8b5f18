"""A worker that hangs costs bounded time: a lane asks it less and less, and then no more of that method."""

from __future__ import annotations

from typing import Any, Collection, List, Tuple

import pytest

from npu_conformance.judging import judge
from npu_conformance.protocol import client
from npu_conformance.running import lanes
from tests.conformance.shelves import Shelf

pytestmark = pytest.mark.oldest_at_night

_FEATURES = frozenset(("options", "effective", "partition"))


class Hanging:
    """A client whose worker answers the questions of some numbers, from 1, and no others in time."""

    def __init__(self, room: str, answered: Collection[int] = ()) -> None:
        self.folder = room
        self.answered = answered
        self.asked: List[Tuple[str, float]] = []
        self.served = 0

    def room(self) -> str:
        return self.folder

    def fresh(self) -> None:
        """It is as it was."""

    def request(self, method: str, params: Any, seconds: float) -> client.Outcome:
        self.asked.append((method, seconds))
        if len(self.asked) in self.answered:
            return client.UnsupportedOutcome("not this one")
        return client.TimedOut(seconds, "")


@pytest.fixture
def instances(shelf: Shelf) -> Any:
    return {one.case.id: one for one in shelf.load().instances()}


def lane_of(worker: Hanging, shelf: Shelf) -> lanes.Lane:
    claims = judge.Claims(frozenset(("small",)), frozenset(("current",)), _FEATURES)
    return lanes.Lane(worker, claims, shelf.load().fixtures)  # type: ignore[arg-type]


def test_a_worker_that_hangs_is_asked_for_less_time_and_then_no_more(shelf: Shelf, instances: Any) -> None:
    worker, one = Hanging(shelf.path("")), instances["small-options"]
    lane = lane_of(worker, shelf)
    found = [lane.record(one).result for _ in range(40)]
    assert [result.status for result in found] == ["timeout"] * 20 + ["not-run"] * 20
    assert "20 questions in succession" in found[-1].detail
    full = one.case.seconds
    assert [seconds for _, seconds in worker.asked] == [full] * 6 + [full / 2, full / 4] + [full / 8] * 15


def test_other_methods_are_asked_all_the_same(shelf: Shelf, instances: Any) -> None:
    worker = Hanging(shelf.path(""))
    lane = lane_of(worker, shelf)
    for _ in range(25):
        lane.record(instances["small-options"])
    assert lane.record(instances["small-partition"]).result.status == "timeout"
    assert worker.asked[-1] == ("partition", instances["small-partition"].case.seconds)


def test_whoever_answers_again_has_all_the_time_there_is(shelf: Shelf, instances: Any) -> None:
    worker, one = Hanging(shelf.path(""), answered=(10,)), instances["small-options"]
    lane = lane_of(worker, shelf)
    for _ in range(8):
        lane.record(one)
    full = one.case.seconds
    assert [seconds for _, seconds in worker.asked[-4:]] == [full / 8, full / 8, full, full]
