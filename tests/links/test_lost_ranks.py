"""A rank that comes late to a collective, or not at all: what the other ranks do, and after exactly which time.

`hccl_timeout` decides when the others fail. The tests hold its rounding, its default and its unit in each edition,
since a wrong value shows in a real cluster only after minutes.
"""

from __future__ import annotations

import pytest

from npu_reference.device.faults import parse
from npu_reference.device.watchdogs import endure
from npu_reference.errors import DeviceError
from npu_reference.options import resolve
from tests.links.test_collectives_in_a_step import collectives, step

SECOND = 10**9


def suffer(faults, ranks=2, surface="runconfig", edition="current", rank=0, **values):
    """What comes of a step of several devices with faults: the end, or the error."""
    found = step("data_parallel", ranks, values, surface=surface, edition=edition)
    options = resolve(values, surface=surface, edition=edition, env={})
    return found, lambda: endure(found, found.partition, options, parse(faults), rank=rank)


@pytest.mark.parametrize(
    ("told", "seconds"), [(1, 68), (67, 68), (68, 68), (135, 68), (136, 136), (600, 544), (1800, 1768), (17340, 17340)]
)
@pytest.mark.parametrize("ranks", [2, 8, 16])
def test_a_collective_that_misses_a_rank_fails_after_hccl_timeout(told, seconds, ranks):
    # runconfig.hccl_timeout.purpose, .quantize, .floor68, .boundary, .example600
    found, run = suffer([{"kind": "lost_peer"}], ranks, hccl_timeout=told)
    with pytest.raises(DeviceError, match=r"EI0002") as caught:
        run()
    assert caught.value.code == "COLLECTIVE_TIMEOUT" and caught.value.subject == "hccl_timeout"
    first = collectives(found)[0]
    assert caught.value.after_ns == first[3][0] + seconds * SECOND
    assert first[0][0] in str(caught.value) and f"{seconds} s" in str(caught.value)


def test_by_default_it_fails_after_1836_seconds():
    _, run = suffer([{"kind": "lost_peer"}])
    with pytest.raises(DeviceError, match="1836 s"):
        run()


def test_in_the_legacy_edition_seconds_are_not_counted_in_steps():
    # session.hccl_timeout.unit, T3
    found, run = suffer([{"kind": "lost_peer"}], surface="session", edition="legacy", hccl_timeout=600)
    with pytest.raises(DeviceError) as caught:
        run()
    assert caught.value.after_ns == collectives(found)[0][3][0] + 600 * SECOND


def test_a_rank_that_is_late_but_in_time_makes_the_step_as_much_longer():
    found, run = suffer([{"kind": "lost_peer", "seconds": 5}], hccl_timeout=68)
    endured = run()
    assert endured.profile.timeline.end >= found.timeline.end + 5 * SECOND


def test_a_rank_that_is_lost_later_leaves_the_collectives_before_it():
    found, run = suffer([{"kind": "lost_peer", "after": 1}], hccl_timeout=68)
    with pytest.raises(DeviceError) as caught:
        run()
    assert caught.value.after_ns == collectives(found)[1][3][0] + 68 * SECOND


def test_one_device_waits_for_nobody():
    found, run = suffer([{"kind": "lost_peer"}], 1, hccl_timeout=68)
    assert run().profile.timeline.end == found.timeline.end
