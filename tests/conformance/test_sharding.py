"""Shards are a whole divided: every instance once, whole cases, about the same cost, the same on every machine."""

from __future__ import annotations

import random
from typing import Any, Dict, List

import pytest

from npu_conformance.commands import shared
from npu_conformance.files import output
from npu_conformance.library import sharding
from npu_conformance.library.case import Instance
from npu_conformance.report import junit, results, verify, write
from npu_conformance.strength.laws import asking
from npu_reference.errors import NpuError
from tests.cases.corpus import corpus
from tests.conformance.shelves import Shelf, hosted, judged
from tests.depth import at_night

pytestmark = pytest.mark.not_oldest

_INSTANCES = corpus().instances()
_EVERYTHING = _INSTANCES + asking.instances()


def shards(count: int, instances: List[Instance], seconds: Any = None) -> List[List[Instance]]:
    return [sharding.share(instances, sharding.Shard(number, count), seconds) for number in range(1, count + 1)]


def recorded() -> Dict[str, float]:
    """Times that differ a lot, and not of everything."""
    drawn = random.Random(3)
    return {one.id: drawn.choice([0.0, 0.001, 0.02, 1.5]) for one in _INSTANCES if drawn.random() < 0.9}


@pytest.mark.parametrize("count", [1, 2, 3, 8, at_night(50)])
@pytest.mark.parametrize("timed", [False, True])
def test_shards_partition_the_whole(count: int, timed: bool) -> None:
    found = shards(count, _EVERYTHING, recorded() if timed else None)
    together = [one.id for part in found for one in part]
    assert sorted(together) == sorted(one.id for one in _EVERYTHING)
    order = {one.id: number for number, one in enumerate(_EVERYTHING)}
    for part in found:
        assert [order[one.id] for one in part] == sorted(order[one.id] for one in part)


def test_shards_keep_cases_whole_and_beside_what_they_require() -> None:
    where: Dict[str, int] = {}
    for number, part in enumerate(shards(8, _INSTANCES)):
        for one in part:
            assert where.setdefault(one.case.id, number) == number
    for one in _INSTANCES:
        assert all(where[name] == where[one.case.id] for name in one.case.requires)


def test_shards_do_not_depend_on_the_order_or_on_laws() -> None:
    shuffled = list(_INSTANCES)
    random.Random(5).shuffle(shuffled)
    for one, other, lawful in zip(shards(8, _INSTANCES), shards(8, shuffled), shards(8, _EVERYTHING)):
        ids = sorted(instance.id for instance in one)
        assert ids == sorted(instance.id for instance in other)
        assert ids == sorted(instance.id for instance in lawful if instance.case.topic != "laws")


def test_all_laws_are_in_one_shard() -> None:
    assert sum(any(one.case.topic == "laws" for one in part) for part in shards(8, _EVERYTHING)) == 1


def test_shards_cost_about_the_same_as_declared() -> None:
    costs = [sum(one.case.seconds for one in part) for part in shards(8, _INSTANCES)]
    assert max(costs) <= 1.1 * min(costs)


def test_shards_take_about_the_same_time_as_recorded() -> None:
    seconds = recorded()
    taken = [sum(seconds.get(one.id, 0.38) for one in part) for part in shards(8, _INSTANCES, seconds)]
    assert max(taken) <= 1.1 * min(taken)


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "3/0", "-1/8", "3/8/2", "a/b", "1/99999", "٣/8", "3/8\n"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(NpuError) as raised:
        sharding.parse(text)
    assert raised.value.code == "USAGE"


def reported(shelf: Shelf, name: str, selection: Dict[str, Any], instances: List[Instance]) -> str:
    """Folder of the report of a part of the small library."""
    from npu_conformance.running import runner
    from tests.conformance.shelves import QUICK

    loaded = shelf.load()
    report = runner.run(loaded, instances, hosted("Honest"), QUICK, selection=selection)
    with output.replaced_folder(shelf.path(name)) as aside:
        write.write(loaded, report, aside)
    return shelf.path(name)


@pytest.mark.parametrize("timed", [False, True])
def test_the_report_of_a_shard_is_verified_as_the_shard_it_is(shelf: Shelf, timed: bool) -> None:
    loaded = shelf.load()
    part = sharding.share(loaded.instances(), sharding.Shard(2, 2))
    selection: Dict[str, Any] = {"areas": [], "editions": [], "keyword": "", "shard": "2/2"}
    if timed:
        selection["cases"] = sorted({one.case.id for one in part})
    folder = reported(shelf, "right", selection, part)
    assert verify.verify(loaded, folder).faults == ()
    less = reported(shelf, "less", selection, part[:-1])
    assert any("has no record" in fault for fault in verify.verify(loaded, less).faults)
    assert results.read(folder).header["selection"]["shard"] == "2/2"


def test_recorded_times_are_those_of_the_run(shelf: Shelf) -> None:
    report = judged(shelf, hosted("Honest"))
    shelf.write("before/junit.xml", junit.document(shelf.load(), report))
    assert junit.seconds(shelf.path("before")) == {
        record.instance.id: float(f"{record.seconds:.3f}") for record in report.records
    }


@pytest.mark.parametrize("content", [None, "", "<testsuites/>", "\udcff"])
def test_times_that_are_not_there_are_refused(shelf: Shelf, content: Any) -> None:
    if content is not None:
        path = shelf.write("before/junit.xml", "")
        with open(path, "wb") as stream:
            stream.write(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(NpuError) as raised:
        junit.seconds(shelf.path("before"))
    assert raised.value.code == "OUTPUT"


def test_workers_are_as_many_as_processors_unless_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared.os, "sched_getaffinity", lambda of: {0, 3, 5}, raising=False)
    assert shared.worker_settings(None, 1.0, (), "").jobs == 3
    assert shared.worker_settings(1, 1.0, (), "").jobs == 1
    monkeypatch.setattr(shared.os, "sched_getaffinity", lambda of: set(range(999)))
    assert shared.processors() == 256
    monkeypatch.delattr(shared.os, "sched_getaffinity")
    monkeypatch.setattr(shared.os, "cpu_count", lambda: None)
    assert shared.processors() == 1
