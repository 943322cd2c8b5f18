"""What goes wrong is told in the script's own terms, as exceptions its authors know."""

from __future__ import annotations

import functools
import re
import time

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from benchmarks.differential.running import first_line
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import function
from tensorflow.python.ops import control_flow_ops

from npu_reference.errors import NpuError
from npu_reference.runtime import tf_api
from npu_reference.runtime.execution.collective_order import calls_in_order
from npu_reference.runtime.observing.log import listening
from npu_reference.runtime.observing.trace import process_trace
from tests.runtime.comparing import TF1, control_flow, npu, plain


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default():
        yield


def opened(config):
    """What is logged when a session is made."""
    heard = []
    with listening(heard.append):
        tf.Session(config=config).close()
    return heard


def failing(names):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.placeholder(tf.float32, [None, 3], name="y")
    with tf.name_scope("layer"):
        return x, y, tf.matmul(x, y, name=names) + 1.0


def test_an_error_in_a_geop_names_the_users_operator():
    x, y, z = failing("product")
    with tf.Session(config=npu()) as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(z, {x: np.ones([2, 2]), y: np.ones([4, 3])})
    assert caught.value.op is tf.get_default_graph().get_operation_by_name("layer/product")
    assert caught.value.node_def.op == "MatMul"
    assert "in GEOP GeOp" in caught.value.message
    assert "__npu" not in caught.value.message and "function_node" not in caught.value.message


def cancelled(monkeypatch, times):
    """TensorFlow says of the first runs that they were cancelled, as it may where a call fails beside others."""
    base = tf.Session.__mro__[1]
    run, made = base._call_tf_sessionrun, []

    def call(*args):
        made.append(args)
        if len(made) <= times:
            raise tf.errors.CancelledError(None, None, "")
        return run(*args)

    monkeypatch.setattr(base, "_call_tf_sessionrun", call)
    return made


def test_a_run_that_was_cancelled_for_an_operator_is_told_by_that_operator(monkeypatch):
    x, y, z = failing("product")
    feeds = {x: np.ones([2, 2]), y: np.ones([4, 3])}
    with tf.Session(config=npu()) as session:
        made = cancelled(monkeypatch, 3)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(z, feeds)
    assert len(made) == 4
    assert caught.value.op is tf.get_default_graph().get_operation_by_name("layer/product")


def test_of_a_run_that_was_cancelled_only_what_changes_nothing_is_made_again(monkeypatch):
    x, y, z = failing("product")
    count = tf.get_variable("count", [], tf.float32, tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([count.assign_add(1.0)]):
        z = tf.identity(z)
    with tf.Session(config=npu()) as session:
        session.run(count.initializer)
        made = cancelled(monkeypatch, 1)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(z, {x: np.ones([2, 2]), y: np.ones([4, 3])})
        assert (len(made), caught.value.op.name, session.run(count)) == (2, "layer/product", 0.0)


def test_of_the_calls_in_a_body_one_runs_at_a_time():
    def body(name, nodes, returned):
        function = graph.library.function.add()
        function.signature.name = name
        for text in nodes:
            node, op, *inputs = text.split()
            function.node_def.add(name=node, op=op, input=inputs)
        function.ret["out"] = returned
        return {node.name: list(node.input) for node in function.node_def}

    def inputs():
        return {f.signature.name: {node.name: list(node.input) for node in f.node_def} for f in graph.library.function}

    graph = tf.GraphDef()
    leaf = body("leaf", ["a Abs x", "b Abs a:y:0"], "b:y:0")
    body("inner", ["two leaf one:out:0", "one leaf x", "three leaf x", "sum Add two:out:0 three:out:0"], "sum:z:0")
    body("GeOp0_0", ["first inner x", "unread inner x", "other leaf x", "sum Add first:out:0 other:out:0"], "sum:z:0")
    branching = body("GeOp0_1", ["s Switch x p", "one leaf s:0", "two leaf x", "m Merge one two"], "m:output:0")
    host = body("host", ["one leaf x", "two leaf x", "sum Add one:out:0 two:out:0"], "sum:z:0")
    calls_in_order(graph, ["GeOp0_0", "GeOp0_1"])
    found = inputs()
    assert found["GeOp0_0"] == {
        "first": ["x"], "unread": ["x"], "other": ["x", "^first"], "sum": ["first:out:0", "other:out:0"]
    }  # fmt: skip
    assert found["inner"]["one"] == ["x"] and found["inner"]["sum"] == ["two:out:0", "three:out:0"]
    assert found["inner"]["two"] == ["one:out:0", "^one"] and found["inner"]["three"] == ["x", "^two"]
    assert (found["leaf"], found["GeOp0_1"], found["host"]) == (leaf, branching, host)
    before = graph.SerializeToString(deterministic=True)
    calls_in_order(graph, ["GeOp0_0", "GeOp0_1"])
    assert graph.SerializeToString(deterministic=True) == before


def test_an_error_on_the_host_names_the_users_operator():
    def fail(_):
        raise ValueError("no such luck")

    x = tf.placeholder(tf.float32, [2])
    host = tf.py_func(fail, [tf.exp(x)], tf.float32, name="unlucky")
    caught = pytest.raises(tf.errors.InvalidArgumentError, match="no such luck")
    with tf.Session(config=npu()) as session, caught as found:
        session.run(host, {x: [1.0, 2.0]})
    assert found.value.op.name == "unlucky"
    assert "in GEOP" not in found.value.message


def test_a_feed_that_is_missing_is_reported_as_tensorflow_does():
    x, y, z = failing("product")
    expected, got = told(lambda session: session.run(z, {x: np.ones([2, 2])}))
    assert got == expected and got[1] is y.op and "You must feed a value for placeholder" in got[2]


def test_feeds_of_the_wrong_shape_or_graph_never_reach_the_device():
    x, y, z = failing("product")
    with tf.Session(config=npu()) as session:
        with pytest.raises(ValueError, match="shape"):
            session.run(z, {x: np.ones([2, 5]), y: np.ones([2, 3])})
        with tf.Graph().as_default():
            foreign = tf.constant(1.0)
        with pytest.raises(ValueError, match="not an element of this graph"):
            session.run(foreign)
        with pytest.raises(TypeError):
            session.run(3)
    assert process_trace().runs == []


def test_a_session_works_on_after_an_error():
    x, y, z = failing("product")
    with tf.Session(config=npu()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(z, {x: np.ones([2, 2]), y: np.ones([4, 3])})
        assert session.run(z, {x: np.ones([1, 2]), y: np.ones([2, 3])}).tolist() == [[3.0, 3.0, 3.0]]
    assert len(process_trace().runs) == 1


def test_a_refused_option_ends_the_making_of_the_session():
    """G10, G11: before anything runs, as an invalid argument that names the option."""
    with pytest.raises(NpuError) as caught:
        tf.Session(config=npu(mix_compile_mode="True"))
    assert isinstance(caught.value, tf.errors.InvalidArgumentError) and isinstance(caught.value, ValueError)
    assert (caught.value.code, caught.value.subject) == ("OPTION_TYPE", "mix_compile_mode")
    assert "mix_compile_mode" in str(caught.value) and "mix_compile_mode" in caught.value.message


@pytest.mark.parametrize(
    "options,match",
    [
        ({"iterations_per_loop": 10}, "iterations_per_loop"),  # document 000: in mixed computing it must be 1
        ({"mix_compile_mode": False, "in_out_pair": "[[['a'],['b']]]"}, "in_out_pair"),  # M11
    ],
)
def test_options_that_do_not_go_together_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        tf.Session(config=npu(**options))


def test_a_range_that_cannot_be_offloaded_fails_the_first_run():
    """M12"""
    x = tf.placeholder(tf.float32, [2], name="x")
    first = tf.exp(x, name="first")
    host = tf.py_func(lambda a: a, [first], tf.float32, name="host")
    host.set_shape([2])
    last = tf.add(host, 1.0, name="last")
    caught = pytest.raises(tf.errors.InvalidArgumentError)
    with tf.Session(config=npu(in_out_pair="[[['first'],['last']]]")) as session, caught as found:
        session.run(last, {x: [1.0, 2.0]})
    assert found.value.code == "RANGE_UNSUPPORTED" and "host" in str(found.value)


@pytest.mark.parametrize("value,match", [({"list": {"i": [1]}}, "list"), ({"s": b"\xff\xfe"}, "UTF-8")])
def test_a_value_without_meaning_is_refused(value, match):
    config = npu(in_out_pair="")
    parameters = config.graph_options.rewrite_options.custom_optimizers[0].parameter_map
    parameters["in_out_pair"].CopyFrom(type(parameters["in_out_pair"])(**value))
    with pytest.raises(NpuError, match=match):
        tf.Session(config=config)


def test_an_edition_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("NPU_REFERENCE_EDITION", "future")
    with pytest.raises(NpuError, match="future"):
        tf.Session(config=npu())


def test_remapping_that_is_not_off_is_forced_off_with_one_warning():
    """G6"""
    config = npu(tf.ConfigProto())
    heard = [entry for entry in opened(config) if "remapping" in entry.subject]
    assert [(entry.level, entry.code) for entry in heard] == [("warning", "remapping_forced_off")]
    rewrite = config.graph_options.rewrite_options
    assert rewrite.remapping == type(rewrite).DEFAULT, "the script's own config is not changed"
    assert [entry for entry in opened(npu()) if "remapping" in entry.subject] == []


def test_of_several_entries_the_last_one_holds_and_the_difference_is_told():
    """G3"""
    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(lambda a: a, [tf.exp(x)], tf.float32)
    config = npu(npu(variable_placement="Host"), mix_compile_mode=True, variable_placement="Device")
    heard = [entry for entry in opened(config) if entry.code == "several_values"]
    assert [entry.subject for entry in heard] == ["variable_placement"]
    with tf.Session(config=npu(npu(mix_compile_mode=True), mix_compile_mode=False)) as session:
        session.run(y, {x: [1.0, 2.0]})


def test_an_unknown_key_is_one_warning_and_one_that_was_only_touched_none():
    """G1"""
    config = npu(mix_compile_mod=True)
    config.graph_options.rewrite_options.custom_optimizers[0].parameter_map["variable_placement"]
    assert [(entry.code, entry.subject) for entry in opened(config)] == [("unknown", "mix_compile_mod")]


@pytest.mark.parametrize("name", ["NPUOptimizer", "npu_optimizer", "NpuOptimiser", "SomethingElse"])
def test_a_misspelt_optimizer_runs_plain_tensorflow_with_a_hint_and_another_without(name):
    """G5"""
    config = plain()
    config.graph_options.rewrite_options.custom_optimizers.add().name = name
    hints = [(entry.code, "NpuOptimizer" in entry.text) for entry in opened(config)]
    assert hints == ([] if name == "SomethingElse" else [("near_spelling", True)])


def test_without_tensorflow_there_is_one_clear_error(monkeypatch):
    import importlib

    def missing(name, *rest):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(tf_api, "_LOADED", [])
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(NpuError) as caught:
        tf_api.tensorflow()
    assert caught.value.code == "TENSORFLOW_MISSING" and "pip install" in caught.value.remedy


def test_use_off_line_false_leaves_everything_on_the_host():
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(x) + 1.0
    with tf.Session(config=npu(plain(), mix_compile_mode=False, use_off_line=False)) as session:
        np.testing.assert_allclose(session.run(y, {x: [0.0, 0.0]}), [2.0, 2.0])
    (run,) = process_trace().runs
    assert run.geops == 0 and run.copies == () and run.host > 0


# contrib's are the only libraries at hand, and they left with TensorFlow 1.
if TF1:

    def test_operators_of_a_loaded_library_stay_on_the_host():
        """An operator no list knows is no error for a session that TensorFlow could run."""
        from tensorflow.contrib import resampler

        data = tf.placeholder(tf.float32, [1, 2, 2, 1])
        y = resampler.resampler(tf.exp(data), tf.constant([[0.5, 0.5]])) * 2.0
        values = []
        for config in (plain(), npu()):
            with tf.Session(config=config) as session:
                values.append(session.run(y, {data: np.arange(4).reshape(1, 2, 2, 1)}))
        np.testing.assert_allclose(values[1], values[0])
        (run,) = process_trace().runs
        assert run.geops == 2
        assert "Resampler" in {entry.op for entry in run.partition.host}


def told(run, **options):
    """Of a run that fails, plain and on the device: class, operator, and what it says."""
    found = []
    for config in (plain(), npu(**options)):
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with tf.Session(config=config) as session, pytest.raises(tf.errors.OpError) as caught:
            run(session)
        found.append((type(caught.value), caught.value.op, first_line(caught.value.message)))
    return found


def referred(value):
    variable = tf.Variable(value, use_resource=False, name="scope/v")
    return getattr(variable, "_ref", lambda: variable)()


def counting(limit, step, begin):
    return tf.while_loop(lambda i: i < limit(), lambda i: i + step(), [begin()])


def either(value, chosen=True):
    return tf.cond(tf.identity(chosen), value, lambda: tf.constant(2.0))


#: What reads the reference of a variable: it takes what gives the reference, and what gives a number.
READERS = {
    "host": lambda v, one: tf.py_func(lambda a: a, [v()], tf.float32),
    "body": lambda v, one: counting(one, v, one),
    "condition": lambda v, one: counting(v, one, one),
    "first value": lambda v, one: counting(one, one, v),
    "body in a body": lambda v, one: counting(one, lambda: counting(one, v, one), one),
    "body in a branch": lambda v, one: either(lambda: counting(one, v, one)),
    "body that waits": lambda v, one: (lambda queue: counting(one, lambda: v() + queue.dequeue(), one))(
        tf.FIFOQueue(1, [tf.float32], [[]])
    ),
    "fetch beside what waits": lambda v, one: [v(), tf.FIFOQueue(1, [tf.float32], [[]]).dequeue() * 2.0],
    "call beside what waits": lambda v, one: function.Defun(tf.float32, func_name="called")(lambda x: x + 1.0)(v())
    + tf.FIFOQueue(1, [tf.float32], [[]]).dequeue(),
    "branch": lambda v, one: either(lambda: v() + 1.0),
    "branch not taken": lambda v, one: either(lambda: v() + 1.0, False),
    "branch in a body": lambda v, one: counting(one, lambda: either(lambda: v() + 1.0), one),
    "which branch": lambda v, one: tf.cond(referred(True), one, one),
    "one of several branches": lambda v, one: tf.switch_case(tf.identity(1), [one, lambda: v() + 1.0]),
    "which of several branches": lambda v, one: tf.switch_case(referred(1), [one, lambda: tf.constant(2.0)]),
    "Merge": lambda v, one: control_flow_ops.merge([v(), v()])[0],
}  # fmt: skip


@pytest.mark.parametrize("reader", [name for name in READERS if TF1 or "body" not in name])
def test_a_variable_without_a_value_fails_at_who_reads_its_reference(reader):
    """TensorFlow 1 names a loop for what it puts in its place, and 2 builds none whose body reads a reference."""
    v = referred(1.0)
    with control_flow(2):
        value = READERS[reader](lambda: v, lambda: tf.constant(1.0))
    # After a run before it a GEOP has another name than its partition gives it.
    expected, got = told(lambda session: [session.run(run) for run in (tf.exp(tf.identity(1.0)), value)])
    assert got == expected and expected[0] is tf.errors.FailedPreconditionError
    assert expected[1] or not TF1 or "fetch" in reader


@pytest.mark.parametrize("options", [{"mix_compile_mode": False}, {}, {"variable_placement": "Host"}], ids=str)
def test_what_fails_before_a_reference_is_read_is_told(options):
    x, y, z = failing("product")
    v, number = referred(1.0), tf.strings.to_number(tf.py_func(lambda: time.sleep(0.2) or b"text", [], tf.string))
    for value in (z * v, tf.py_func(lambda a, b: a, [number, v], tf.float32)):
        run = functools.partial(tf.Session.run, fetches=value, feed_dict={x: np.ones([2, 2]), y: np.ones([4, 3])})
        expected, got = told(run, **options)
        assert got == expected and got[0] is tf.errors.InvalidArgumentError


def test_an_error_says_what_plain_tensorflow_says():
    x, y, z = failing("product")
    feeds = {x: np.ones([2, 2], np.float32), y: np.ones([4, 3], np.float32)}
    asked = config_pb2.CallableOptions(feed=[x.name, y.name], fetch=[z.name])

    @function.Defun(tf.float32, tf.float32)
    def multiplied(a, b):
        return tf.matmul(a, b, name="inside")

    called = multiplied(x, y)
    for run in (
        lambda session: session.run(z, feeds),
        lambda session: session.run(called, feeds),
        lambda session: session._make_callable_from_options(asked)(*feeds.values()),
    ):
        expected, got = told(run)
        assert got == expected and got[0] is tf.errors.InvalidArgumentError


@pytest.mark.parametrize("options", [{}, {"mix_compile_mode": False}], ids=["mixed", "full"])
@pytest.mark.parametrize("untaken", ["a_host", "z_host", "a_device", "z_device"])
def test_a_fetch_of_a_branch_not_taken_has_the_number_that_tensorflow_gives_it(untaken, options):
    """TensorFlow counts what is fetched by the order of names, and those of the partitioned graph are others."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="m")
        taken, _ = control_flow_ops.switch(x, tf.constant(False), name="s")
        _, not_taken = control_flow_ops.switch(x, tf.constant(False), name="t")
        if untaken.endswith("host"):
            other = tf.py_func(lambda a: a, [not_taken], tf.float32, name=untaken)
        else:
            other = tf.negative(not_taken, name=untaken)
        fetches = [tf.exp(x, name="f"), other, tf.square(x, name="y"), tf.negative(taken)]
        said = []
        for config in (plain(), npu(**options)):
            with tf.Session(config=config) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(fetches, {x: 1.0})
            said.append(re.findall(r"Retval\[\d\] does not have value", raised.value.message))
    assert said[0] == said[1] and said[0]
