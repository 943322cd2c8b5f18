"""When a step ends that a fault delays: which timeout it is, and after exactly which time of the virtual clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_reference.device import faults, watchdogs
from npu_reference.errors import DeviceError, NpuError
from npu_reference.graphs import GraphBuilder
from npu_reference.options import resolve
from tests.timing.networks import mlp, step, two_engines

SECOND = 10**9
CONFIG = {"oom.cfg": "op_debug_config = oom\n", "flag.cfg": "op_debug_config = check_flag\n"}


def endured(*asked, network=None, iterations=1, executed=None, known=True, rank=0, **values):
    """What becomes of a step with faults, as the command line writes them."""
    graph, feeds, fetches = network or mlp()
    values.setdefault("surface", "runconfig")
    found = step(graph, feeds, fetches, files=CONFIG, **values)
    surface = values.pop("surface")
    resolution = resolve(values, surface=surface, edition="current", env={}, files=CONFIG)
    return watchdogs.endure(
        found if known else None,
        found.partition,
        resolution,
        faults.parse_text(asked),
        iterations=iterations,
        executed=executed,
        rank=rank,
    )


def ended(*asked, **values):
    with pytest.raises(DeviceError) as caught:
        endured(*asked, **values)
    return caught.value


def start_of(node, network=None, **values):
    graph, feeds, fetches = network or mlp()
    found = step(graph, feeds, fetches, surface="runconfig", **values)
    for task, span in zip(found.timeline.tasks, found.timeline.spans):
        if task.kernel >= 0 and node in found.compiled.fused.kernels[task.kernel].members:
            return span
    raise AssertionError(node)


def test_without_faults_a_step_is_as_it_was():
    found = endured(op_execute_timeout=1, stream_sync_timeout=1000)
    assert found.run_ns == found.profile.timeline.end and found.late == 0 and found.notes == ()


@pytest.mark.parametrize("seconds", [1, 90, 547])
def test_a_hanging_kernel_ends_after_exactly_op_execute_timeout(seconds):
    """runconfig.op_execute_timeout.effect"""
    error = ended("hang:matmul1", op_execute_timeout=seconds)
    assert (error.code, error.subject, error.number) == ("DEVICE_TIMEOUT", "op_execute_timeout", "507014")
    assert error.after_ns == start_of("matmul1").start + seconds * SECOND
    assert "matmul1" in error.reason and faults.ASKED in error.reason


def test_a_kernel_that_ends_in_time_ends_no_run():
    found = endured("hang:matmul1,seconds=90", op_execute_timeout=91)
    assert found.late == 90 * SECOND
    assert ended("hang:matmul1,seconds=90", op_execute_timeout=90).option == "op_execute_timeout"


def test_a_hanging_kernel_of_the_ai_cpu_has_the_ai_cpus_number():
    error = ended("hang:MatrixInverse1_0", network=two_engines(), op_execute_timeout=5)
    assert error.number == "507017"


def test_synchronising_the_stream_fails_after_exactly_stream_sync_timeout():
    """runconfig.stream_sync_timeout.effect: a hang of 60 s, and 1000 ms"""
    error = ended("hang:matmul1,seconds=60", stream_sync_timeout=1000)
    launch = next(s for t, s in zip(*step(*mlp()).timeline[:2]) if t.kind == "launch")
    assert (error.subject, error.number) == ("stream_sync_timeout", "507046")
    assert error.after_ns == launch.end + SECOND
    assert ended("stalled_stream", stream_sync_timeout=1000).after_ns == launch.end + SECOND


def test_without_a_limit_a_run_ends_when_its_hang_ends():
    """runconfig.stream_sync_timeout.minus_one, runconfig.event_sync_timeout.minus_one"""
    for fault in ("hang:matmul1", "stalled_stream", "stalled_event"):
        found = endured(f"{fault},seconds=600", stream_sync_timeout=-1, event_sync_timeout=-1)
        assert found.late == 600 * SECOND


def test_synchronising_an_event_fails_after_event_sync_timeout():
    """runconfig.event_sync_timeout.effect"""
    error = ended("stalled_event,seconds=60", event_sync_timeout=1000)
    assert (error.subject, error.number) == ("event_sync_timeout", "507047")
    assert error.after_ns // SECOND == 1


def test_a_lost_event_ends_after_op_wait_timeout():
    """runconfig.op_wait_timeout.effect, and its default of 120 s"""
    error = ended("lost_event:matmul1", op_wait_timeout=1)
    assert (error.subject, error.number) == ("op_wait_timeout", "107019")
    assert error.after_ns // SECOND == 1
    assert ended("lost_event:matmul1").after_ns // SECOND == 120
    assert endured("lost_event:matmul1,seconds=119").late == 119 * SECOND


def test_streams_that_wait_for_a_hanging_kernel_wait_no_longer_than_op_wait_timeout():
    error = ended(
        "hang:MatrixInverse1_3",
        network=two_engines(),
        stream_max_parallel_num="AIcoreEngine:2,DNN_VM_AICPU:2",
        op_wait_timeout=3,
    )
    assert error.option == "op_wait_timeout"


def test_the_first_limit_that_is_exceeded_ends_the_run():
    error = ended("hang:matmul1", op_execute_timeout=2, stream_sync_timeout=1000)
    assert error.option == "stream_sync_timeout"
    error = ended("hang:matmul1", op_execute_timeout=1, stream_sync_timeout=2000)
    assert error.option == "op_execute_timeout"


@pytest.mark.parametrize("fault", ["hang:matmul1", "stalled_stream", "stalled_event"])
def test_what_would_wait_for_ever_says_so_at_once(fault):
    error = ended(fault)
    assert error.code == "DEVICE_ENDLESS" and "for ever" in error.reason and "_timeout" in error.remedy


def test_oom_notices_one_byte_past_the_end_and_not_the_end_itself():
    """runconfig.op_debug_config.oom.boundary, .error_code, .effect"""
    error = ended("out_of_bounds:matmul1", op_debug_config="oom.cfg")
    assert error.code == "DEVICE_FAULT" and "EZ9999" in error.reason and "0X5A5A0002" in error.reason
    assert error.subject == "matmul1"
    assert "legal" in endured("out_of_bounds:matmul1,past=0", op_debug_config="oom.cfg").notes[0]


def test_without_oom_nothing_notices_and_the_note_tells_what_is_overwritten():
    assert "padding" in endured("out_of_bounds:matmul1").notes[0]
    note = endured("out_of_bounds:matmul1,past=4096").notes[0]
    assert "padding" not in note and "without oom" in note


def test_unmatched_signals_end_at_the_operator_where_check_flag_looks():
    """runconfig.op_debug_config.check_flag.error"""
    for limit in ({}, {"op_execute_timeout": 5}, {"stream_sync_timeout": 5000}):
        error = ended("unmatched_flag:matmul1", op_debug_config="flag.cfg", **limit)
        assert error.code == "DEVICE_TIMEOUT"
        for text in ("Aicore kernel execute failed", "kernel_name=matmul1", "rtStreamSynchronizeWithTimeout execute"):
            assert text in error.reason
        assert (error.after_ns is None) == (not limit)
    assert "nothing notices" in endured("unmatched_flag:matmul1").notes[0]


def test_a_kernel_that_cannot_be_compiled_is_named():
    error = ended("kernel_failure:matmul1")
    assert (error.code, error.subject, error.number) == ("KERNEL_FAILURE", "matmul1", "E40021")


def test_a_fault_of_an_operator_that_is_not_in_the_step_changes_nothing():
    found = endured("hang:elsewhere", "kernel_failure:elsewhere")
    assert found.late == 0


def test_a_fault_of_an_operator_that_no_kernel_computes_is_refused():
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [4])
    g.op("Exp", "y", [g.op("Identity", "same", [x])])
    with pytest.raises(NpuError) as caught:
        endured("hang:same", network=(g.build(), ["x:0"], ["y:0"]))
    assert caught.value.code == "FAULT_VALUE" and "no kernel" in caught.value.reason


def test_of_a_loop_only_the_iteration_that_is_meant_is_late():
    once = endured("hang:matmul1@13,seconds=1", iterations=10, executed={"matmul1": 10})
    assert once.late == SECOND
    assert endured("hang:matmul1,seconds=1", iterations=10).late == 10 * SECOND
    assert endured("hang:matmul1@13,seconds=1", iterations=10).late == 0
    plain = endured(iterations=10)
    assert once.run_ns == plain.run_ns + SECOND
    error = ended("hang:matmul1@13", iterations=10, executed={"matmul1": 10}, op_execute_timeout=1)
    launch = 0
    assert error.after_ns > start_of("matmul1").start + launch + SECOND


@pytest.mark.parametrize("kind", ["stalled_stream", "stalled_event"])
def test_a_host_that_stalls_does_so_in_every_iteration_unless_one_is_named(kind):
    assert endured(f"{kind},seconds=1", iterations=10).late == 10 * SECOND
    assert endured(f"{kind}@3,seconds=1", iterations=10).late == SECOND


def test_a_loop_is_launched_once():
    one, ten = endured(iterations=1).run_ns, endured(iterations=10).run_ns
    launch = sum(t.duration for t in step(*mlp()).timeline.tasks if t.kind == "launch")
    assert one < ten <= 10 * one - 9 * launch


def test_where_no_time_is_known_faults_have_theirs():
    error = ended("hang:matmul1", known=False, op_execute_timeout=7)
    assert error.after_ns == 7 * SECOND
    assert endured("hang:matmul1,seconds=3", known=False).run_ns == 3 * SECOND
    assert endured(known=False).run_ns is None


def test_a_fault_of_another_rank_is_another_devices():
    assert endured("hang:matmul1,rank=1").late == 0
    assert ended("hang:matmul1,rank=1", rank=1, op_execute_timeout=1).code == "DEVICE_TIMEOUT"


def test_overflow_is_told_to_who_keeps_the_status():
    assert endured("overflow:matmul1").overflows == (("matmul1", None),)
    assert endured("overflow:matmul1@3", iterations=4).overflows == (("matmul1", 2),)
    assert endured("overflow:matmul1@3").overflows == ()


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200))
def test_a_run_ends_in_time_exactly_where_its_delay_is_within_the_limit(seconds, limit, sync):
    """The law of both watchdogs: no limit exceeded, no error; else the earlier one, at its moment."""
    values = {"op_execute_timeout": limit, "stream_sync_timeout": sync * 1000}
    fault = f"hang:relu2,seconds={seconds}"
    if seconds < min(limit, sync):
        assert endured(fault, **values).late == seconds * SECOND
    else:
        error = ended(fault, **values)
        assert error.after_ns // SECOND == min(limit, sync)
