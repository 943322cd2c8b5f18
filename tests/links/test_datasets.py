"""The main process of a server reads the dataset and sends its data to the other devices, which only receive.

`local_rank_id` and `local_device_list` ask for this. The tests count what is read, sent and received, so that no data
is read twice and none is sent to a device that the options do not name.
"""

from __future__ import annotations

import pytest

from tests.links.test_collectives_in_a_step import spans, step

MAIN = {"local_rank_id": 0, "local_device_list": "0,1"}
OTHER = {"local_rank_id": 1, "local_device_list": "0,1"}
ON_DEVICE = {"enable_data_pre_proc": True}


def sent(found):
    return [(copy.device, copy.bytes) for copy in found.compiled.transfers if copy.device >= 0]


def received(found):
    """Bytes that the step's own device gets of the dataset."""
    return sum(copy.bytes for copy in found.compiled.transfers if copy.device < 0 and "next:0" in copy.tensors)


@pytest.mark.parametrize("more", [{}, ON_DEVICE], ids=["host", "device"])
@pytest.mark.parametrize("surface", ["session", "runconfig"])
def test_the_main_process_reads_once_and_sends_to_the_other_device(more, surface):
    # session.local_rank_id.main_dedup, runconfig.local_rank_id.main, runconfig.local_device_list.pair
    found = step("data_parallel", 2, {**MAIN, **more}, surface=surface)
    element = 1024 * 1024 * 4
    assert found.dataset() == {"reads": 1, "receives": 0, "sent": [{"device": 1, "bytes": element, "times": 1}]}
    assert sent(found) == [(1, element)] and received(found) == element


@pytest.mark.parametrize("more", [{}, ON_DEVICE], ids=["host", "device"])
@pytest.mark.parametrize("surface", ["session", "runconfig"])
def test_the_others_read_no_dataset_and_get_the_same_data(more, surface):
    # session.local_rank_id.others_receive, runconfig.local_rank_id.shared_preproc
    found = step("data_parallel", 2, {**OTHER, **more}, surface=surface)
    assert found.dataset() == {"reads": 0, "receives": 1, "sent": []}
    assert received(found) == 1024 * 1024 * 4 and not sent(found)


def test_without_the_options_every_process_reads_its_own_dataset():
    found = step("data_parallel", 2, {})
    assert found.dataset() == {"reads": 1, "receives": 0, "sent": []}


def test_a_graph_without_a_dataset_sends_nothing():
    found = step("every_collective", 2, MAIN, targets=["gather"], feeds=["x:0"])
    assert found.dataset() == {} and not sent(found)


def test_its_own_device_is_no_other_device():
    found = step("data_parallel", 4, {**MAIN, "local_device_list": "0,1,2,3"})
    assert [device for device, _ in sent(found)] == [1, 2, 3]
    found = step("data_parallel", 4, {**MAIN, "local_device_list": "0,1,2,3", "session_device_id": 2})
    assert [device for device, _ in sent(found)] == [0, 1, 3]


def test_without_a_list_the_main_process_keeps_its_data():
    # T15
    assert not sent(step("data_parallel", 2, {"local_rank_id": 0}))


def test_data_for_others_goes_beside_its_own_and_nothing_waits_for_it():
    main, alone = step("data_parallel", 2, MAIN), step("data_parallel", 2, {})
    assert spans(main, "forward0") == spans(alone, "forward0")
    tasks = [(task, span) for task, span in zip(main.timeline.tasks, main.timeline.spans) if task.kind == "send"]
    assert [task.engine for task, _ in tasks] == ["pcie_h2d"] and tasks[0][1].start == 0


def test_a_loop_sends_every_iteration():
    found = step("data_parallel", 2, {**MAIN, "iterations_per_loop": 4, **ON_DEVICE}, surface="runconfig")
    assert found.dataset() == {
        "reads": 4, "receives": 0, "sent": [{"device": 1, "bytes": 4 << 20, "times": 4}],
    }  # fmt: skip
    assert found.timeline_json()["dataset"] == found.dataset()
