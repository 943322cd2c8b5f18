"""Laws of signatures: whatever ran before, whatever operators are called, values are TensorFlow's."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npu_reference.runtime.sessions.interception import engine_of
from tests.runtime.comparing import npu, plain

#: A few seconds; a soak asks for more.
EXAMPLES = int(os.environ.get("NPU_TESTS_RUNTIME_EXAMPLES", "12"))
LAW = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 12, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

#: Names that are scopes of one another, in every order.
NAMES = ["a", "b", "a/a", "a/b", "b/a", "a/a/b", "a/b/a", "b/a/b", "a_1", "a/b_1", "GeOp_0", "GeOp_0/a", "npu_probe"]
KINDS = ["add", "mul", "host", "pair", "ref", "count", "resource"]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@st.composite
def programs(draw):
    """Operators with exact names, and the signatures that are run one after another."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(3, 9))]
    steps = []
    for number, name in enumerate(names):
        readable = st.integers(-1, number - 1)
        steps.append((name, draw(st.sampled_from(KINDS)), draw(readable), draw(readable)))
    tensors = st.integers(0, len(names) - 1)
    runs = draw(
        st.lists(
            st.tuples(st.lists(tensors, min_size=1, max_size=3, unique=True), st.none() | tensors),
            min_size=2, max_size=6,
        )
    )  # fmt: skip
    return steps, runs


def build(steps):
    """The tensor of each step, and the operators that initialise."""
    tensors, initial = [], []
    start = tf.constant(2.0, name="start")
    for name, kind, left, right in steps:
        x, y = (start if i < 0 else tensors[i] for i in (left, right))
        exact = name + "/"  # TensorFlow takes a name that ends so as it is
        if kind == "add":
            made = tf.add(x, y, name=exact)
        elif kind == "mul":
            made = tf.multiply(x, y, name=exact)
        elif kind == "host":
            made = tf.py_func(lambda a: np.float32(a % 97 + 1), [x], tf.float32, name=exact)
            made.set_shape([])
        elif kind == "pair":
            with tf.control_dependencies([y]):
                made = tf.identity(x, name=exact)
        elif kind == "resource":
            variable = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v" + name, name=f"{name}_handle")
            initial.append(tf.raw_ops.AssignVariableOp(resource=variable, value=3.0))
            with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=variable, value=x)]):
                made = tf.raw_ops.ReadVariableOp(resource=variable, dtype=tf.float32, name=exact)
        else:
            dtype = tf.int32 if kind == "count" else tf.float32
            variable = tf.raw_ops.VariableV2(shape=[], dtype=dtype, name=exact)
            initial.append(tf.assign(variable, tf.cast(5, dtype)))
            added = tf.assign_add(variable, tf.cast(tf.floormod(x, 7.0), dtype))
            made = tf.cast(added, tf.float32) + 1.0
        tensors.append(made)
    return tensors, initial


def unoptimized():
    """TensorFlow as the graph says: its grappler may fold a constant that a later run feeds."""
    config = plain()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def outcome(session, fetches, feed):
    try:
        return [float(value) for value in session.run(fetches, feed)]
    except tf.errors.OpError as error:
        return type(error).__name__


@pytest.mark.parametrize("mixed", [True, False])
def test_values_do_not_depend_on_names_or_on_what_was_run_before(mixed):
    @LAW
    @given(programs())
    def law(program):
        steps, runs = program
        with tf.Graph().as_default() as graph, np.errstate(all="ignore"):
            tensors, initial = build(steps)
            with tf.Session(config=unoptimized()) as beside, tf.Session(config=npu(mix_compile_mode=mixed)) as device:
                for session in (beside, device):
                    session.run(initial)
                for wanted, fed in runs:
                    feed = {} if fed is None else {tensors[fed]: np.float32(1.5)}
                    fetches = [tensors[i] for i in wanted if tensors[i] not in list(feed)] or [
                        graph.get_tensor_by_name("start:0")
                    ]
                    np.testing.assert_equal(outcome(device, fetches, feed), outcome(beside, fetches, feed))

    law()


def shared():
    """Kinds of state; each answers (setting up, operators that share it), every pair of which may run together."""

    def queue():
        made = tf.FIFOQueue(9, tf.float32, shapes=[[]], name="q")
        return [made.enqueue_many([[1.0, 2.0, 3.0]])], [
            made.dequeue(),
            made.enqueue([4.0]),
            made.size(),
            made.dequeue(),
        ]

    def full_queue():
        made = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
        put = made.enqueue([4.0])
        with tf.control_dependencies([put]):
            after = tf.square(tf.constant(3.0))
        return [made.enqueue([1.0])], [made.dequeue() * 2.0, after]

    def section():
        from tensorflow.python.ops.critical_section_ops import CriticalSection

        made, variable = (
            CriticalSection(name="c"),
            tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True),
        )

        def body():
            with tf.control_dependencies([tf.assign_add(variable, 1.0)]):
                return variable.read_value() * 0.0 + 1.0

        return [variable.initializer], [made.execute(body) for _ in range(4)]

    def staging():
        from tensorflow.python.ops.data_flow_ops import StagingArea

        made = StagingArea([tf.float32], [[]], shared_name="s")
        return [made.put([tf.constant(1.0)])], [
            made.put([tf.exp(tf.constant(1.0))]),
            tf.square(made.get()[0]),
            made.size(),
        ]

    def accumulator():
        made = tf.ConditionalAccumulator(tf.float32, [], name="acc")
        return [made.apply_grad(1.0)], [
            made.apply_grad(tf.exp(0.0)),
            made.take_grad(1) * 0.0,
            made.num_accumulated() * 0,
        ]

    def barrier():
        made = tf.PriorityQueue(2, [tf.float32], [[]], name="p")
        return [made.enqueue([1, 1.0])], [made.enqueue([2, tf.exp(1.0)]), made.dequeue()[1] * 0.0, made.size() * 0]

    return [queue, full_queue, section, staging, accumulator, barrier]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("mixed", [True, False])
def test_operators_that_share_state_never_wait_for_their_own_geop(number, mixed):
    @settings(LAW, max_examples=max(3, EXAMPLES // 4))
    @given(st.data())
    def law(data):
        with tf.Graph().as_default():
            first, operators = shared()[number]()
            # Joined operators are what a GEOP could hold together.
            chosen = data.draw(st.lists(st.sampled_from(operators), min_size=2, max_size=3, unique_by=id))
            fetches = [tf.exp(tf.cast(one, tf.float32)) if isinstance(one, tf.Tensor) else one for one in chosen]
            options = tf.RunOptions(timeout_in_ms=20000)
            with tf.Session(config=plain()) as beside, tf.Session(config=npu(mix_compile_mode=mixed)) as device:
                ended = []
                for session in (beside, device):
                    session.run(first)
                    session.run(tf.no_op())
                    ended.append([value is None for value in session.run(fetches, options=options)])
                assert ended[0] == ended[1]

    law()


@pytest.mark.parametrize("mixed", [True, False])
def test_what_a_signature_adds_does_not_grow_with_those_before_it(mixed):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session(config=npu(mix_compile_mode=mixed)) as session:
        sent = engine_of(session)._shadow.sent
        added = []
        for _ in range(12):
            before = dict(sent)
            host = tf.py_func(lambda a: a, [tf.square(x)], tf.float32)
            session.run(tf.reduce_sum(tf.exp(host) + 1.0), {x: [1.0, 2.0]})
            session.run(tf.constant(1.0), {x: [1.0, 2.0]})
            added.append({name: sent[name] - before[name] for name in sent})
        assert added[-1] == added[1], added
        if hasattr(tf.Graph, "_remove_function"):
            assert not engine_of(session)._shadow.graph.as_graph_def().library.function


def test_equal_geops_of_several_signatures_share_a_body():
    x = tf.placeholder(tf.float32, [2], name="x")
    first = tf.py_func(lambda a: a, [tf.square(x)], tf.float32)
    first.set_shape([2])
    second = tf.exp(first) + 1.0
    later = tf.py_func(lambda a: a, [second], tf.float32)
    with tf.Session(config=npu()) as session:
        sent = engine_of(session)._shadow.sent
        session.run(second, {x: [1.0, 2.0]})
        functions = sent["functions"]
        session.run(later, {x: [1.0, 2.0]})
        session.run([later, tf.constant(2.0)], {x: [1.0, 2.0]})
        assert sent["functions"] == functions
