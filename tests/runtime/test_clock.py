"""Runs on the device's virtual clock: what they cost, what ends them, and what faults make of them."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_conformance.protocol import messages
from npu_reference.device import faults
from npu_reference.errors import DeviceError, NpuError
from npu_reference.hardware import built_in
from npu_reference.runtime.config import Overrides, overriding
from npu_reference.runtime.execution import compiling, virtual_clock
from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.scripts import runner
from npu_reference.runtime.scripts.tensor_codec import to_wire
from npu_reference.runtime.sessions.iterations_per_run import repeated
from tests.runtime.comparing import npu

SECOND = 10**9


@pytest.fixture(autouse=True)
def fresh():
    virtual_clock.restart()
    with tf.Graph().as_default():
        yield


def around(*asked, **fields):
    return overriding(Overrides(clock=True, faults=faults.parse_text(asked), **fields))


def net():
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    return x, tf.matmul(tf.exp(x, name="before"), tf.ones([8, 8]), name="y")


def times():
    return [record.time for record in process_trace().runs]


def run(x, y, *, runs=1, batch=4, **options):
    with tf.Session(config=npu(**options)) as session:
        return [session.run(y, {x: np.ones([batch, 8], np.float32)}) for _ in range(runs)]


def test_without_a_clock_a_run_has_no_time():
    run(*net())
    assert times() == [None] and "time" not in process_trace().to_json()["runs"][0]


def test_the_clock_of_a_device_goes_on_from_run_to_run_and_from_session_to_session():
    x, y = net()
    with around():
        run(x, y, runs=2)
        run(x, y)
    found = times()
    assert found[0].start_ns == 0 and found[0].end_ns > 0
    assert [one.start_ns for one in found[1:]] == [one.end_ns for one in found[:-1]]
    assert len({one.end_ns - one.start_ns for one in found}) == 1


def test_each_device_has_its_own_clock():
    x, y = net()
    with around():
        run(x, y, session_device_id=0)
        run(x, y, session_device_id=1)
    assert [(one.device, one.start_ns) for one in times()] == [(0, 0), (1, 0)]


def test_values_are_the_same_with_and_without_a_clock():
    x, y = net()
    plain = run(x, y)[0]
    with around():
        np.testing.assert_array_equal(plain, run(x, y)[0])


def test_a_record_tells_transfers_launches_and_memory():
    with around():
        run(*net())
    told = process_trace().to_json()["runs"][0]["time"]
    assert told["launches"] == 1 and told["iterations"] == 1 and told["peak_bytes"] > 0
    assert told["transfers"]["h2d"] == [128] and len(told["transfers"]["d2h"]) == 1
    json.dumps(told)


def test_a_run_that_the_model_cannot_time_runs_and_says_why():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(tf.py_func(lambda a: a, [x], tf.float32, name="host"), name="y")
    with around(), tf.Session(config=npu()) as session:
        session.run(y, {x: np.ones(2)})
    assert times()[0].profile is None and "host" in process_trace().to_json()["runs"][0]["time"]["reason"]


def test_a_defect_of_the_model_ends_no_run_and_is_told(monkeypatch):
    def broken(*_):
        raise KeyError("lost")

    monkeypatch.setattr(compiling, "profile", broken)
    told = []
    with around(), listening(told.append):
        assert run(*net())[0].shape == (4, 8)
    assert "KeyError" in times()[0].reason and [entry for entry in told if "KeyError" in entry.text]


def test_a_step_that_does_not_fit_the_device_runs_and_is_told():
    told = []
    small = built_in().changed(hbm=1 << 10)
    x, y = net()
    with around(device=small), listening(told.append):
        run(x, y, runs=2, batch=1000)
    assert len([entry for entry in told if "bytes are needed" in entry.text]) == 1


def test_sizes_that_only_the_run_tells_give_its_time_afterwards():
    x = tf.placeholder(tf.float32, [2], name="x")
    host = tf.py_func(lambda a: np.ones([3], np.float32), [x], tf.float32, name="host")
    host.set_shape([None])
    with around(), tf.Session(config=npu()) as session:
        session.run(tf.exp(host, name="y"), {x: np.ones(2)})
    assert times()[0].profile is not None


def test_a_loop_has_one_launch_and_the_time_of_its_iterations():
    """session.iterations_per_loop.effect, runconfig.iterations_per_loop.effect"""
    v = tf.get_variable("v", [8, 8], initializer=tf.zeros_initializer(), use_resource=True)
    train = tf.assign_add(v, tf.matmul(v, v) + 1.0).op
    loop = repeated(train, 10)
    with around(), tf.Session(config=npu(mix_compile_mode=False)) as session:
        session.run(tf.global_variables_initializer())
        process_trace().clear()
        session.run(train)
        session.run(loop)
    one, ten = times()
    assert (one.launches, one.iterations, ten.launches, ten.iterations) == (1, 1, 1, 10)
    short, long = one.end_ns - one.start_ns, ten.end_ns - ten.start_ns
    assert short < long < 10 * short


def test_a_hang_ends_the_run_as_an_internal_error_with_its_moment():
    x, y = net()
    with around("hang:before@2"), tf.Session(config=npu(op_execute_timeout=90)) as session:
        session.run(y, {x: np.ones([4, 8])})
        with pytest.raises(tf.errors.InternalError, match="op_execute_timeout") as caught:
            session.run(y, {x: np.ones([4, 8])})
        assert isinstance(caught.value, DeviceError) and caught.value.after_ns // SECOND == 90
        assert caught.value.number == "507014" and "asked for" in str(caught.value)
        session.run(y, {x: np.ones([4, 8])})


def test_a_failed_run_changes_no_variable():
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    add = tf.assign_add(v, 1.0)
    name = next(op.name for op in tf.get_default_graph().get_operations() if op.type == "AssignAddVariableOp")
    config = npu(op_execute_timeout=1, mix_compile_mode=False)
    with around(f"hang:{name}@2"), tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(add)
        with pytest.raises(tf.errors.InternalError):
            session.run(add)
        assert session.run(v) == 1.0


def test_a_fault_needs_no_time_to_be_known():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(tf.py_func(lambda a: a, [x], tf.float32, name="host"), name="y")
    config = npu(op_execute_timeout=90)
    with around("hang:y"), tf.Session(config=config) as session, pytest.raises(DeviceError) as caught:
        session.run(y, {x: np.ones(2)})
    assert caught.value.after_ns == 90 * SECOND


def test_the_executions_of_an_operator_are_counted_over_all_that_runs_it():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.exp(x, name="y")
    z = tf.sqrt(y, name="z")
    feed = {x: np.ones(2)}
    with around("hang:y@3,seconds=5"), tf.Session(config=npu()) as session:
        for fetch in (y, x * 2.0, z, z):
            session.run(fetch, feed)
    assert [one.late_ns // SECOND for one in times()] == [0, 0, 0, 5]


def test_what_nobody_on_the_device_notices_is_told_once():
    told = []
    x, y = net()
    with around("out_of_bounds:before"), listening(told.append):
        run(x, y, runs=2)
    assert len([entry for entry in told if "without oom" in entry.text]) == 1


def test_an_overflow_that_was_asked_for_leaves_its_step_out():
    from npu_bridge import npu_init as bridge

    x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
    manager = bridge.FixedLossScaleManager(2**3, enable_overflow_check=True)
    optimizer = bridge.NPULossScaleOptimizer(tf.train.GradientDescentOptimizer(1.0), manager)
    counter = tf.train.get_or_create_global_step()
    train = optimizer.minimize(tf.multiply(v, x, name="product"), global_step=counter)
    fields = {"device_precision": "on"}
    with around("overflow:product@2", **fields), tf.Session(
        config=npu(precision_mode="allow_mix_precision")
    ) as session:
        session.run(tf.global_variables_initializer())
        steps = []
        for _ in range(3):
            session.run(train, {x: 1.0})
            steps.append(int(session.run(counter)))
    assert steps == [1, 1, 2]


def test_a_fault_of_an_operator_on_the_host_is_refused():
    x = tf.placeholder(tf.float32, [2], name="x")
    host = tf.py_func(lambda a: a, [x], tf.float32, name="host")
    with around("hang:host"), tf.Session(config=npu()) as session, pytest.raises(NpuError, match="on the host"):
        session.run(host, {x: np.ones(2)})


def test_an_overflow_without_a_flag_is_refused():
    x, y = net()
    with around("overflow:before"), pytest.raises(NpuError, match="device precision"):
        run(x, y)


def test_legacy_memory_limits_hold_for_what_the_step_needs():
    """session.graph_memory_max_size.meaning: above the bound it fails, below it passes"""
    x, y = net()
    with around(edition="legacy"):
        run(x, y, graph_memory_max_size=str(1 << 20))
        with pytest.raises(NpuError, match="graph_memory_max_size") as caught:
            run(x, y, batch=1 << 16, graph_memory_max_size=str(1 << 20))
    assert caught.value.code == "DEVICE_MEMORY"


def test_the_protocols_run_tells_what_it_is_asked_for():
    graph = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "graphs", "cases", "plain_chain.pbtxt")
    tensor = to_wire("x:0", np.ones(4, np.float32))
    params = {"graph": graph, "surface": "session", "edition": "current", "values": {}, "feeds": {"x:0": tensor}}
    params.update(fetches=["mul:0"], steps=2)
    plain = runner.run_graph(params)
    assert not {"timeline", "memory", "transfers"} & set(plain)
    told = runner.run_graph({**params, "tell": ["timeline", "memory", "transfers"]})
    assert messages.answer_fault({"id": 1, "ok": told}, "run", 1) is None
    first, second = told["timeline"]
    assert first["tasks"] and second["same_as"] == 0 and "tasks" not in second
    assert second["start_ns"] == first["run_ns"] > 0 == first["start_ns"]
    assert [copy["direction"] for copy in told["transfers"][0]] == ["h2d", "d2h"]
    assert told["memory"][0] == told["memory"][1] and told["memory"][0]["peak"] > 0
    with pytest.raises(NpuError) as caught:
        runner.run_graph({**params, "faults": [{"kind": "hang", "node": "mull"}]})
    assert caught.value.code == "FAULT_VALUE" and "mul" in caught.value.remedy
