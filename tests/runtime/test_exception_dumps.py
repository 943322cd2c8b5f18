"""What operators of GEOPs leave when one of them fails."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tensorflow as tf

from npu_reference import NpuError
from npu_reference.device import faults
from npu_reference.dumps import form, reading
from npu_reference.runtime.config import current_overrides, overriding
from tests.runtime.dumped_runs import config

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def graph():
    with v1.Graph().as_default() as default:
        yield default


def exception_of(folder, op):
    (one,) = [file for file in reading.files(str(folder)) if file.name.op_name == op]
    return form.read(one.path)


def test_an_exception_dump_has_the_inputs_of_the_operator_that_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weight = v1.get_variable("weight", [3, 2], initializer=v1.ones_initializer())
    rows = tf.matmul(v1.placeholder(tf.float32, [None, 3], name="x"), weight, name="rows")
    taken = tf.gather(rows, v1.placeholder(tf.int32, [None], name="ids") + 1, name="taken")
    with v1.Session(config=config(enable_exception_dump=1)) as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(taken, {"x:0": [[1.0, 2.0, 3.0]], "ids:0": [0, 6]})
    record = exception_of(tmp_path / "extra-info" / "data-dump" / "0", "taken")
    assert [one.shape for one in record.description.inputs] == [(1, 2), (2,), ()]
    assert np.frombuffer(record.data("input", 0), "<f4").tolist() == [6.0, 6.0]
    assert np.frombuffer(record.data("input", 1), "<i4").tolist() == [1, 7]


def test_inputs_that_a_random_draw_made_are_said_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = v1.random.uniform([2], 5, 9, tf.int32, seed=3)
    taken = tf.gather(tf.nn.relu(v1.placeholder(tf.float32, [3], name="x")), drawn, name="taken")
    made = v1.Session(config=config(enable_exception_dump=1))
    with made as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(taken, {"x:0": [1.0, 2.0, 3.0]})
    description = exception_of(tmp_path / "extra-info" / "data-dump" / "0", "taken").description
    assert "random_uniform" in description.attr("note")
    assert [one.size for one in description.inputs] == [0, 0, 0]


def test_the_end_of_a_dataset_is_no_exception_of_an_operator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    item = v1.data.make_one_shot_iterator(tf.data.Dataset.range(1)).get_next() + 1
    with v1.Session(config=config(enable_exception_dump=1)) as session:
        session.run(item)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(item)
    assert os.listdir(str(tmp_path)) == []


FAILING = {
    # what fails: operator of the dump (TF 1, TF 2), its index
    "call": ("called/taken", "PartitionedCall/taken"),
    "nested": ("called_1/called/taken", "PartitionedCall/PartitionedCall/taken"),
    "second": ("called_1/taken", "PartitionedCall_1/taken"),
    "condition": ("cond.1/branch1/chosen", "cond.1/branch1/chosen"),
    "loop": ("while.1/body/chosen", "while.1/body/chosen"),
    "old condition": ("cond/chosen", "cond/chosen"),
    "old loop": ("while/chosen", "while/chosen"),
    "old condition in a call": ("called/cond/chosen", "PartitionedCall/cond.1/branch1/chosen"),
    "check": ("called/checked", "StatefulPartitionedCall/checked"),
}


def in_function(body, *types, name="called"):
    if tf.__version__ >= "2":
        return tf.function(body)
    from tensorflow.python.framework import function

    return function.Defun(*types, func_name=name)(body)


def failing(kind, x, ids):
    """Something that gathers from ``2 * x``, the last time out of range."""
    gathering = in_function(lambda a, i: tf.gather(a * 2.0, i, name="taken") * 1.0, tf.float32, tf.int32)
    chosen = lambda i: tf.identity(tf.gather(x * 2.0, i, name="chosen"))  # noqa: E731
    new = kind in ("condition", "loop")
    (v1.enable_control_flow_v2 if new else v1.disable_control_flow_v2)()
    try:
        if kind == "call":
            return gathering(x, ids)
        if kind == "nested":
            around = in_function(lambda a, i: gathering(a, i) + 1.0, tf.float32, tf.int32, name="called_1")
            return around(x, ids)
        if kind == "second":
            return gathering(x, ids - 9) + gathering(x, ids)
        if kind.endswith("condition"):
            return v1.cond(x[0] > 0.0, lambda: chosen(ids), lambda: tf.identity(x[:1]))
        if kind.endswith("loop"):
            turn = lambda i, a: (i + 3, a + chosen(ids - 9 + i))  # noqa: E731
            return v1.while_loop(lambda i, a: i < 30, turn, [v1.constant(0), v1.zeros([1])])[1]
        if kind == "check":
            checked = lambda a: v1.debugging.check_numerics(v1.log(a), "", name="checked")  # noqa: E731
            body = lambda a, i: checked(a - 5.0 * tf.cast(i, tf.float32)) * 1.0  # noqa: E731
            return in_function(body, tf.float32, tf.int32)(x, ids)

        def branching(a, i):
            return v1.cond(a[0] > 0.0, lambda: tf.gather(a * 2.0, i, name="chosen"), lambda: a[:1])

        return in_function(branching, tf.float32, tf.int32)(x, ids)
    finally:
        v1.disable_control_flow_v2()


@pytest.mark.parametrize("kind", sorted(FAILING))
def test_an_operator_that_fails_in_a_function_a_branch_or_a_loop_leaves_what_it_read(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    x = v1.placeholder(tf.float32, [3], name="x")
    ids = v1.placeholder(tf.int32, [1], name="ids")
    out = failing(kind, x, ids)
    with v1.Session(config=config(enable_exception_dump=1)) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(out, {x: [1.0, 2.0, 3.0], ids: [9]})
    files = reading.files(str(tmp_path / "extra-info" / "data-dump" / "0"))
    assert len(files) == 2
    for one in files:
        record = form.read(one.path)
        assert record.description.op_name == FAILING[kind][tf.__version__ >= "2"]
        assert record.description.attr("note") is None
        if kind == "check":
            assert np.isnan(np.frombuffer(record.data("input", 0), "<f4")).all()
            continue
        assert np.frombuffer(record.data("input", 0), "<f4").tolist() == [2.0, 4.0, 6.0]
        # Turns of a loop are beside each other; of those that failed it is the first.
        assert np.frombuffer(record.data("input", 1), "<i4").tolist() == [3 if kind.endswith("loop") else 9]
        assert [(one.shape, one.size) for one in record.description.outputs] == [((1,), 4)]


def test_the_names_of_exception_dumps_in_functions_are_those_of_data_dumps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = v1.placeholder(tf.float32, [3], name="x")
    ids = v1.placeholder(tf.int32, [1], name="ids")
    out = failing("condition", x, ids)
    options = config(enable_exception_dump=2, enable_dump=True, dump_path=str(tmp_path))
    with v1.Session(config=options) as session:
        session.run(out, {x: [1.0, 2.0, 3.0], ids: [1]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(out, {x: [1.0, 2.0, 3.0], ids: [9]})
    files = [one for one in reading.files(str(tmp_path)) if "chosen" in one.name.op_name]
    assert len(files) == 2
    assert len({(one.name.op_type, one.name.op_name, one.name.task) for one in files}) == 1


def test_a_function_that_keeps_failing_does_not_make_the_graph_of_its_session_grow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = v1.placeholder(tf.float32, [3], name="x")
    ids = v1.placeholder(tf.int32, [1], name="ids")
    out = failing("call", x, ids)
    sizes = []
    with v1.Session(config=config(enable_exception_dump=2)) as session:
        for step in range(4):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(out, {x: [1.0, 2.0, 3.0], ids: [9 + step]})
            sizes.append(dict(session._npu_reference_engine._shadow.sent))
    read = [form.read(one.path).data("input", 1) for one in reading.files(str(tmp_path))]
    assert [np.frombuffer(one, "<i4")[0] for one in read] == [9, 10, 11, 12]
    assert sizes[1:] == sizes[:1] * 3


def test_in_functions_an_exception_dump_has_the_devices_dtypes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = v1.placeholder(tf.float32, [3], name="x")
    ids = v1.placeholder(tf.int32, [1], name="ids")
    out = failing("call", x, ids)
    options = config(precision_mode="force_fp16", graph_run_mode=0, enable_exception_dump=1)
    given = current_overrides()._replace(device_precision="on")
    with overriding(given), v1.Session(config=options) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(out, {x: [1.0, 2.0, 3.0], ids: [9]})
    (one,) = reading.files(str(tmp_path))
    description = form.read(one.path).description
    assert [tensor.dtype for tensor in description.inputs][:2] == ["float16", "int32"]
    assert description.outputs[0].dtype == "float16"


def test_a_fault_in_a_function_leaves_what_the_operator_would_have_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = v1.placeholder(tf.float32, [3], name="x")
    ids = v1.placeholder(tf.int32, [1], name="ids")
    out = failing("call", x, ids)
    node = FAILING["call"][tf.__version__ >= "2"]
    given = current_overrides()._replace(clock=True, faults=faults.parse([{"kind": "hang", "node": node}]))
    with overriding(given):
        made = v1.Session(config=config(enable_exception_dump=1))
    with made as session, pytest.raises(NpuError, match=node) as caught:
        session.run(out, {x: [1.0, 2.0, 3.0], ids: [1]})
    assert caught.value.code == "DEVICE_ENDLESS"
    record = exception_of(tmp_path / "extra-info", node.replace("/", "_"))
    assert record.description.op_name == node
    assert np.frombuffer(record.data("input", 0), "<f4").tolist() == [2.0, 4.0, 6.0]
    assert np.frombuffer(record.data("input", 1), "<i4").tolist() == [1]


@pytest.mark.parametrize("referenced", [False, True])
def test_a_dump_of_a_failure_writes_to_no_variable_again(tmp_path, monkeypatch, referenced):
    monkeypatch.chdir(tmp_path)
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer(), use_resource=not referenced)
    x = v1.placeholder(tf.float32, [3], name="x")
    with v1.control_dependencies([v1.assign_add(weight, 1.0)]):
        rows = tf.identity(x)
    taken = tf.gather(rows, v1.placeholder(tf.int32, [1], name="ids"), name="taken")
    with v1.Session(config=config(enable_exception_dump=1)) as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(taken, {"x:0": [1.0, 2.0, 3.0], "ids:0": [9]})
        assert session.run(weight) == 1.0
    assert "ssign" in exception_of(tmp_path / "extra-info" / "data-dump" / "0", "taken").description.attr("note")


def test_a_function_that_writes_to_a_variable_is_not_run_again(tmp_path, monkeypatch):
    if tf.__version__ < "2":
        pytest.skip("a Defun of TensorFlow 1 takes no variable")
    monkeypatch.chdir(tmp_path)
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer(), use_resource=True)

    @tf.function
    def body(a, i):
        weight.assign_add(1.0)
        return tf.gather(a, i, name="taken")

    out = body(v1.placeholder(tf.float32, [3], name="x"), v1.placeholder(tf.int32, [1], name="ids"))
    with v1.Session(config=config(enable_exception_dump=1)) as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(out, {"x:0": [1.0, 2.0, 3.0], "ids:0": [9]})
        assert session.run(weight) <= 1.0
    (one,) = reading.files(str(tmp_path))
    assert one.name.op_name == "StatefulPartitionedCall_taken"
    assert "AssignAdd" in form.read(one.path).description.attr("note")


def test_an_exception_dump_that_cannot_be_written_leaves_the_scripts_own_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "extra-info").write_text("a file")
    taken = tf.gather(v1.placeholder(tf.float32, [3], name="x"), v1.placeholder(tf.int32, [1], name="ids"))
    made = v1.Session(config=config(enable_exception_dump=1))
    with made as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(taken, {"x:0": [1.0, 2.0, 3.0], "ids:0": [6]})
    assert (tmp_path / "extra-info").read_text() == "a file"


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_of_exception_dumps_that_is_not_there_is_told_before_anything_fails(
    tmp_path, monkeypatch, caplog, there
):
    folder = tmp_path / "collected"
    monkeypatch.setenv("NPU_COLLECT_PATH", str(folder))
    if there:
        folder.mkdir()
    with caplog.at_level("WARNING"), v1.Session(config=config()):
        pass
    told = [record.getMessage() for record in caplog.records if "NPU_COLLECT_PATH" in record.getMessage()]
    assert bool(told) != there
    assert all(f"{folder} is no folder" in text for text in told)


@pytest.mark.parametrize("check, kind", [("oom", "out_of_bounds"), ("check_flag", "unmatched_flag")])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_fault_that_a_check_finds_leaves_an_exception_dump(tmp_path, monkeypatch, check, kind, mode):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "debug.cfg").write_text(f"op_debug_config = {check}\n")
    y = tf.matmul(v1.placeholder(tf.float32, [2, 2], name="x"), v1.constant(np.eye(2, dtype=np.float32)), name="y")
    given = current_overrides()._replace(clock=True, faults=faults.parse([{"kind": kind, "node": "y"}]))
    with overriding(given):
        made = v1.Session(config=config(enable_exception_dump=mode, op_debug_config="debug.cfg"))
    with made as session, pytest.raises(NpuError) as caught:
        session.run(y, {"x:0": [[1.0, 2.0], [3.0, 4.0]]})
    # A signal that nobody sets makes the kernel wait until the watchdog ends it.
    assert caught.value.code == {"oom": "DEVICE_FAULT", "check_flag": "DEVICE_TIMEOUT"}[check]
    folder = tmp_path / "extra-info" / "data-dump" / "0"
    assert folder.exists() == bool(mode)
    if mode:
        record = exception_of(folder, "y")
        assert np.frombuffer(record.data("input", 0), "<f4").tolist() == [1.0, 2.0, 3.0, 4.0]
        assert (record.description.inputs[0].shape is None) == (mode == 2)
