"""What operators of GEOPs leave while they run."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import types

import numpy as np
import pytest
import tensorflow as tf

from npu_reference import NpuError
from npu_reference.device import faults
from npu_reference.dumps import form, reading, writing
from npu_reference.options.typed import DataDump
from npu_reference.runtime import ranks
from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.execution import threads
from npu_reference.runtime.execution.dumping import data_dump, write_order
from npu_reference.runtime.sessions import iterations_per_run
from tests.runtime.dumped_runs import config, tensors

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def graph():
    with v1.Graph().as_default() as default:
        yield default


def test_every_output_is_dumped_as_it_is_fetched(tmp_path):
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, v1.constant(np.arange(6, dtype=np.float32).reshape(3, 2)), name="y")
    z = v1.nn.softmax(y, name="z")
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        for step in range(2):
            fetched = session.run([y, z], {x: np.full([2, 3], step, np.float32)})
            found = tensors(tmp_path)
            for name, value in zip(("y:0", "z:0"), fetched):
                np.testing.assert_array_equal(found[step, name, 0], value)


@pytest.mark.parametrize("kept", [True, False])
def test_what_a_quantisation_reads_is_dumped_where_compilation_keeps_it(tmp_path, kept):
    """The documents let a backend keep it without quant_dumpable, too: no case asks that it is gone."""
    x = v1.placeholder(tf.float32, [2], name="x")
    quantised = tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(x, name="before"), name="quantise")
    wanted = DataDump(str(tmp_path), None, "all", before_quantisation=kept)
    with overriding(current_overrides()._replace(dump=wanted)), v1.Session(config=config()) as session:
        session.run(quantised, {x: [1.0, 2.0]})
    found = {label for _, label, _ in tensors(tmp_path)}
    assert ("before:0" in found) == ("quantise input 0" in found) == kept and "quantise:0" in found


def test_a_reference_is_dumped_as_it_was_before_the_operator_wrote_to_it(tmp_path):
    weight = v1.get_variable("weight", [2], initializer=v1.ones_initializer(), use_resource=False)
    step = v1.assign_add(weight, [1.0, 2.0], name="step")
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path), dump_mode="all")) as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
    found = tensors(tmp_path, op="step")
    assert list(found[0, "step input 0", 0]) == [1.0, 1.0]
    assert list(found[0, "step:0", 0]) == [2.0, 3.0]


def test_what_an_operator_read_of_a_variable_is_dumped_as_it_was_then(tmp_path, graph):
    """What reads a variable by reference has its memory, which the optimizer writes to in the same step."""
    rng = np.random.RandomState(0)
    size = 48
    values = (rng.randn(4, size * size) / 7).astype(np.float32)
    weights = [
        v1.get_variable(f"w{k}", initializer=values[k].reshape(size, size), use_resource=False) for k in range(3)
    ]
    flat = v1.get_variable("flat", initializer=values[3], use_resource=False)
    y = v1.placeholder(tf.float32, [size, size], name="x")
    for weight in [*weights, v1.reshape(flat, [size, size], name="folded")]:
        y = v1.tanh(v1.matmul(y, weight))  # its gradient reads what comes of the product: it comes first
    train = v1.train.GradientDescentOptimizer(0.5).minimize(v1.reduce_mean(y))
    steps = 8
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path), dump_mode="all")) as session:
        session.run(v1.global_variables_initializer())
        for _ in range(steps):
            session.run([y, train], {"x:0": rng.randn(size, size)})
    for name in ("MatMul", "MatMul_1", "MatMul_2", "MatMul_3"):
        found = tensors(tmp_path, op=name)
        for step in range(steps):
            one, other, out = (found[step, f"{name}{end}", 0] for end in (" input 0", " input 1", ":0"))
            np.testing.assert_allclose(one @ other, out, rtol=1e-3, atol=1e-3)
        if name == "MatMul_3":
            folded = tensors(tmp_path, op="folded")
            for step in range(steps):
                np.testing.assert_array_equal(folded[step, "folded:0", 0], found[step, f"{name} input 1", 0])


def test_every_turn_of_a_loop_has_its_own_file(tmp_path):
    if tf.__version__ >= "2":
        v1.disable_control_flow_v2()
    _, doubled = v1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [v1.constant(0), v1.constant(1.0)])
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        assert session.run(doubled) == 8.0
    values = {turn: float(value) for (_, name, turn), value in tensors(tmp_path, op="*mul*").items()}
    assert values == {0: 2.0, 1: 4.0, 2: 8.0}


def test_turns_of_a_loop_with_a_branch_and_a_loop_in_it_are_in_their_order(tmp_path):
    if tf.__version__ >= "2":
        v1.disable_control_flow_v2()

    def turn(i, a):
        a = v1.cond(tf.equal(i % 2, 0), lambda: tf.add(a, 10.0, name="even"), lambda: tf.identity(a))
        inner = lambda j, b: (j + 1, tf.multiply(b, 2.0, name="inner"))  # noqa: E731
        _, a = v1.while_loop(lambda j, b: tf.less(j, 2, name="again"), inner, [0, a])
        return i + 1, tf.subtract(a, 1.0, name="outer")

    _, out = v1.while_loop(lambda i, a: i < 3, turn, [v1.constant(0), v1.placeholder(tf.float32, [], name="x")])
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        assert session.run(out, {"x:0": 1.0}) == 723.0
    told = {}
    for (_, label, _turn), value in sorted(tensors(tmp_path).items()):
        told.setdefault(label.rpartition("/")[2], []).append(float(value))
    assert told["outer:0"] == [43.0, 171.0, 723.0]
    assert told["even:0"] == [11.0, 181.0]
    assert told["inner:0"] == [22.0, 44.0, 86.0, 172.0, 362.0, 724.0]
    assert told["again:0"] == [1.0, 1.0, 0.0] * 3


def test_what_follows_a_loop_waits_for_the_dumps_of_its_last_condition(tmp_path, monkeypatch):
    if tf.__version__ >= "2":
        v1.disable_control_flow_v2()
    bound = []
    wait = write_order.wait_for_turns
    monkeypatch.setattr(data_dump, "wait_for_turns", lambda body: (wait(body), bound.append(body)))
    again, turn = lambda i, a: tf.less(i, 3, name="again"), lambda i, a: (i + 1, tf.multiply(a, 2.0, name="turn"))
    _, out = v1.while_loop(again, turn, [v1.constant(0), v1.placeholder(tf.float32, [], name="x")])
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        assert session.run(out, {"x:0": 1.0}) == 8.0
    (body,) = [body for body in bound if any(node.op == "Exit" for node in body.node_def)]
    nodes = {node.name: node for node in body.node_def}

    def awaited(op):
        ends = [one for node in body.node_def if node.op == op for one in node.input if one.startswith("^")]
        return {text.split("/")[-2] for end in ends for text in nodes[end[1:]].input}

    assert awaited("Exit") == {"again"}
    assert {"again", "turn"} <= awaited("NextIteration")


def test_a_thread_of_tensorflows_gets_its_state_of_python_once(tmp_path, monkeypatch):
    taken = []
    own = ctypes.pythonapi.PyGILState_Ensure
    kept = types.SimpleNamespace(PyGILState_Ensure=lambda: (taken.append(threading.get_ident()), own()))
    monkeypatch.setattr(threads, "_KEPT", threading.local())
    monkeypatch.setattr(threads, "ctypes", types.SimpleNamespace(pythonapi=kept))
    out = v1.placeholder(tf.float32, [3], name="x")
    for _ in range(20):
        out = tf.nn.relu(out)
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        for _ in range(3):
            session.run(out, {"x:0": [1.0, 2.0, 3.0]})
    assert len(reading.files(str(tmp_path))) == 60
    assert 0 < len(taken) == len(set(taken))


def test_a_branch_that_is_not_taken_leaves_nothing(tmp_path):
    if tf.__version__ >= "2":
        v1.disable_control_flow_v2()
    x = v1.placeholder(tf.float32, [], name="x")
    out = v1.cond(x > 0.0, lambda: v1.exp(x, name="taken"), lambda: v1.log(x, name="left"))
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        session.run(out, {x: 1.0})
    ops = {label for _, label, _ in tensors(tmp_path)}
    assert "cond/taken:0" in ops and "cond/left:0" not in ops


def test_at_the_devices_precision_the_dump_has_the_devices_dtypes(tmp_path):
    x = v1.placeholder(tf.float32, [2, 2], name="x")
    y = tf.matmul(x, x, name="y")
    given = current_overrides()._replace(device_precision="on", dump=DataDump(str(tmp_path), None, "all"))
    with overriding(given), v1.Session(config=config(precision_mode="force_fp16", graph_run_mode=0)) as session:
        value = session.run(y, {x: [[1.0, 2.0], [3.0, 4.0]]})
    found = tensors(tmp_path, op="y")
    assert {array.dtype.name for array in found.values()} == {"float16"}
    np.testing.assert_array_equal(found[0, "y:0", 0].astype(np.float32), value)


def test_a_dump_changes_no_value_and_no_partition(tmp_path):
    x = v1.placeholder(tf.float32, [4], name="x")
    y = tf.reduce_sum(tf.nn.relu(x) * 3.0)
    values = []
    for folder in (None, tmp_path):
        given = current_overrides()._replace(dump=folder and DataDump(str(folder), None, "all"))
        with overriding(given), v1.Session(config=config()) as session:
            values.append(session.run(y, {x: [1.0, -1.0, 2.5, 0.1]}))
    assert values[0] == values[1]


def test_a_full_disk_ends_the_run_with_one_error_and_half_a_step_is_not_there(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    y = tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"))
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        session.run(y, {"x:0": [1.0, 2.0]})
        monkeypatch.setattr(writing, "_write", full)
        with pytest.raises(NpuError, match="No space left") as caught:
            session.run(y, {"x:0": [1.0, 2.0]})
        assert caught.value.code == "OUTPUT"
        monkeypatch.undo()
        session.run(y, {"x:0": [1.0, 2.0]})
    assert {file.step for file in reading.files(str(tmp_path))} == {0, 2}


def test_what_ran_before_a_failure_is_dumped(tmp_path):
    ids = v1.placeholder(tf.int32, [1], name="ids")
    table = tf.nn.relu(v1.placeholder(tf.float32, [3], name="x"), name="rows")
    taken = tf.gather(table, ids, name="taken")
    made = v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path)))
    with made as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(taken, {"x:0": [1.0, 2.0, 3.0], ids: [9]})
    assert list(tensors(tmp_path)[0, "rows:0", 0]) == [1.0, 2.0, 3.0]


def test_a_disk_that_was_asked_to_be_full_ends_the_run_and_keeps_whole_steps(tmp_path):
    y = tf.nn.relu(v1.placeholder(tf.float32, [100], name="x"))
    given = current_overrides()._replace(faults=faults.parse([{"kind": "disk_full", "after": 1000}]))
    with overriding(given):
        session = v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path)))
    with session:
        session.run(y, {"x:0": np.ones(100)})
        with pytest.raises(NpuError, match="This fault was asked for") as caught:
            for _ in range(5):
                session.run(y, {"x:0": np.ones(100)})
    assert caught.value.code == "OUTPUT"
    assert [file.step for file in reading.files(str(tmp_path))] == [0, 1]


# -- several, and what ends early -----------------------------------------------------------------------------------


def test_two_sessions_that_dump_into_one_folder_do_not_mix(tmp_path):
    y = tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"), name="y")
    options = config(enable_dump=True, dump_path=str(tmp_path))
    with v1.Session(config=options) as one, v1.Session(config=options) as other:
        for step in range(2):
            one.run(y, {"x:0": [1.0, step]})
            other.run(y, {"x:0": [2.0, step]})
    times = sorted(os.listdir(str(tmp_path)))
    assert len(times) == 2
    for number, time in enumerate(times, 1):
        found = tensors(tmp_path / time)
        assert {key: list(value) for key, value in found.items()} == {
            (step, "y:0", 0): [float(number), float(step)] for step in range(2)
        }
    assert {turn for _, _, turn in tensors(tmp_path)} == {0}


def test_ranks_that_dump_at_once_have_folders_of_their_own(tmp_path):
    def work(rank):
        with v1.Graph().as_default():
            y = tf.nn.relu(v1.placeholder(tf.float32, [1], name="x"), name="y")
            with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
                for _ in range(3):
                    session.run(y, {"x:0": [float(rank)]})

    ranks.as_ranks(2, work)
    files = reading.files(str(tmp_path))
    told = set()
    for one in files:
        (value,) = np.frombuffer(form.read(one.path).data("output", 0), "<f4").tolist()
        told.add((one.relative.split(os.sep)[1], one.step, value))
    assert told == {(str(rank), step, float(rank)) for rank in range(2) for step in range(3)}


def test_the_folder_is_that_of_the_sessions_device(tmp_path):
    y = tf.nn.relu(v1.placeholder(tf.float32, [1], name="x"))
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path), session_device_id=3)) as session:
        session.run(y, {"x:0": [1.0]})
    assert [one.relative.split(os.sep)[1] for one in reading.files(str(tmp_path))] == ["3"]


def test_iterations_of_a_device_loop_are_steps(tmp_path):
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer(), use_resource=False)
    step = iterations_per_run.repeated(v1.assign_add(weight, 1.0, name="step"), 4)
    options = config(enable_dump=True, dump_path=str(tmp_path), dump_step="1|3", iterations_per_loop=4)
    with v1.Session(config=options) as session:
        session.run(weight.initializer)
        session.run(step)
    assert {key[0]: float(value) for key, value in tensors(tmp_path, op="step").items()} == {1: 2.0, 3: 4.0}


def test_a_run_that_is_interrupted_leaves_its_step_and_nothing_aside(tmp_path, monkeypatch):
    y = tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"), name="y")
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        base = type(session).__mro__[1]
        original = base._call_tf_sessionrun

        def interrupted(self, *args):
            original(self, *args)
            raise KeyboardInterrupt

        session.run(y, {"x:0": [0.0, 1.0]})
        monkeypatch.setattr(base, "_call_tf_sessionrun", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.run(y, {"x:0": [1.0, 1.0]})
        monkeypatch.undo()
        session.run(y, {"x:0": [2.0, 1.0]})
    assert {one.step for one in reading.files(str(tmp_path))} == {0, 1, 2}
    assert [name for name in os.listdir(str(tmp_path)) if name.startswith(".")] == []


def test_the_end_of_the_program_takes_away_what_a_session_left_aside(tmp_path):
    y = tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"))
    session = v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path)))
    session.run(y, {"x:0": [0.0, 1.0]})
    aside = [name for name in os.listdir(str(tmp_path)) if name.startswith(writing.ASIDE)]
    assert len(aside) == 1
    writing._end()
    assert not (tmp_path / aside[0]).exists()
    session.close()


# -- functions -----------------------------------------------------------------------------------------------------


def function_of(*names):
    """``a * 2 + 1`` as a function that a graph calls by its name (TF 1) or through PartitionedCall (TF 2)."""

    def body(a):
        return tf.add(tf.multiply(a, 2.0, name=names[0]), 1.0, name=names[1])

    if tf.__version__ >= "2":
        return tf.function(body)
    from tensorflow.python.framework import function

    return function.Defun(tf.float32, func_name="called")(body)


def test_operators_of_a_function_are_dumped_for_every_call_of_it(tmp_path):
    called = function_of("twice", "more")
    x = v1.placeholder(tf.float32, [2], name="x")
    y = called(called(x))
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        for step in range(2):
            assert list(session.run(y, {x: [1.0, 2.0 + step]})) == [7.0, 11.0 + 4 * step]
    found = tensors(tmp_path, op="*twice")
    assert sorted(step for step, _, _ in found) == [0, 0, 1, 1]
    assert len({label for _, label, _ in found}) == 2
    assert sorted(list(value) for (step, _, _), value in found.items() if step == 0) == [[2.0, 4.0], [6.0, 10.0]]
    labels = {label for _, label, _ in tensors(tmp_path)}
    assert len(labels) == 4, "a call has no task of its own"


@pytest.mark.parametrize("again", [False, True])
def test_operators_of_a_v2_loop_are_dumped_turn_by_turn(tmp_path, again):
    v1.enable_control_flow_v2()
    try:
        _, doubled = v1.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.multiply(a, 2.0, name="doubled")),
            [v1.constant(0), v1.placeholder(tf.float32, [], name="x")],
        )
        other = tf.negative(doubled)
    finally:
        v1.disable_control_flow_v2()
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        if again:  # another signature with the same loop
            session.run(other, {"x:0": 5.0})
        assert session.run(doubled, {"x:0": 1.0}) == 8.0
    found = tensors(tmp_path, op="*/body/doubled*")
    (label,) = {label for _, label, _ in found}
    assert [float(found[0, label, turn]) for turn in range(3)] == [2.0, 4.0, 8.0]
    turns = sorted(turn for _, _, turn in tensors(tmp_path, op="*/cond/Less*"))
    assert turns == [0, 1, 2, 3], "of the same loop in two models, the last"


def test_only_the_branch_of_a_v2_condition_that_is_taken_is_dumped(tmp_path):
    v1.enable_control_flow_v2()
    try:
        x = v1.placeholder(tf.float32, [], name="x")
        out = v1.cond(x > 0.0, lambda: v1.exp(x, name="taken"), lambda: v1.log(x, name="left"))
    finally:
        v1.disable_control_flow_v2()
    with v1.Session(config=config(enable_dump=True, dump_path=str(tmp_path))) as session:
        session.run(out, {x: 1.0})
    labels = {label for _, label, _ in tensors(tmp_path)}
    assert any("/branch1/taken" in label for label in labels), labels
    assert not any("left" in label for label in labels)


def test_operators_of_a_function_have_the_devices_dtypes(tmp_path):
    called = function_of("twice", "more")
    x = v1.placeholder(tf.float32, [2], name="x")
    given = current_overrides()._replace(device_precision="on", dump=DataDump(str(tmp_path), None, "all"))
    with overriding(given), v1.Session(config=config(precision_mode="force_fp16", graph_run_mode=0)) as session:
        session.run(called(x), {x: [1.0, 2.0]})
    assert {array.dtype.name for array in tensors(tmp_path, op="*twice").values()} == {"float16"}
