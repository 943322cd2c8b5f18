"""The graphs of the conformance cases, too, give TensorFlow's own bits on the simulated device."""

from __future__ import annotations

import contextlib
import glob
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.python.eager import context

from fixtures.programs.models.python_functions import register
from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation
from tests.models import recorded_models

pytestmark = [pytest.mark.tensorflow, pytest.mark.oldest_at_night, pytest.mark.between_at_night]

CASES = os.path.join(recorded_models.ROOT, "fixtures", "graphs", "cases")
#: Some have an operator that fails by design.
NAMES = sorted(
    name
    for name in (os.path.basename(path) for path in glob.glob(os.path.join(CASES, "*.pb*")))
    if not name.startswith("failing")
)

#: What cannot be equal, and why.
UNEQUAL = {"retaining_random.pbtxt": "its generators have no seed: TensorFlow does not agree with itself either"}
#: Updates of one variable that nothing orders, when a run asks for all results: either may come first.
UNORDERED = {
    "shared_variable_in_range.pbtxt", "dumped_sides.pbtxt", "host_counters.pbtxt", "host_counters_of_all_bits.pbtxt",
}  # fmt: skip

#: Feeds that must be something in particular; n grows in loops that end when it is large.
PARTICULAR = {"n:0": 2, "axis:0": 0, "preprocess/shape:0": [-1], "default:0": -1}

#: For a size that a graph leaves open: that of the sizes beside it.
UNKNOWN = 3

WORDS = [b"good", b"bad", b"red", b"wine"]
IMAGE = np.arange(6 * 5 * 3, dtype=np.uint8).reshape(6, 5, 3)


def doubled(values):
    """Stands for every Python function of the cases; EagerPyFunc gives it a tensor, in graph mode of TensorFlow 1."""
    with context.eager_mode() if hasattr(values, "numpy") else contextlib.nullcontext():
        return values + values


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    yield
    activation.deactivate()


def loaded(name):
    graph_def = tf.GraphDef()
    with open(os.path.join(CASES, name), "rb") as file:
        data = file.read()
    if name.endswith(".pbtxt"):
        text_format.Parse(data.decode(), graph_def)
    else:
        graph_def.ParseFromString(data)
    return graph_def


def config(**options):
    made = tf.ConfigProto(allow_soft_placement=True)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    if options:
        optimizer = made.graph_options.rewrite_options.custom_optimizers.add()
        optimizer.name = "NpuOptimizer"
        for option, value in options.items():
            optimizer.parameter_map[option].b = value
    return made


def fed(placeholder, turn):
    """A value for a placeholder: the same in every run that is compared, another at each turn."""
    dtype = placeholder.outputs[0].dtype
    shape = [UNKNOWN if size is None else size for size in placeholder.outputs[0].shape.as_list()]
    tensor = placeholder.outputs[0].name
    if tensor in PARTICULAR:
        return np.asarray(PARTICULAR[tensor], dtype.as_numpy_dtype)
    if tensor == "tf_image_string:0":
        with tf.Graph().as_default(), tf.Session() as session:
            return session.run(tf.image.encode_png(IMAGE))
    kind = "choice" if dtype == tf.string else "normal"
    words = tuple(word.decode() for word in WORDS)
    described = recorded_models.sidecars.Feed(tensor, dtype.name, (), tuple(shape), kind, 0.5, 1.0, words)
    return recorded_models.sidecars.draw(described, turn)


def set_to_twos(variable):
    """The initialiser of a variable whose graph has none."""
    dtype, shape = tf.as_dtype(variable.get_attr("dtype")), tf.TensorShape(variable.get_attr("shape"))
    twos = tf.fill(shape.as_list(), tf.cast(2, dtype))  # ones would square to ones, and loops never end
    if variable.type == "VariableV2":
        return tf.raw_ops.Assign(ref=variable.outputs[0], value=twos)
    return tf.raw_ops.AssignVariableOp(resource=variable.outputs[0], value=twos)


def filled(table):
    """The initialiser of a table: 0 to 3 become themselves."""
    keys, entries = (
        tf.constant([0, 1, 2, 3], tf.as_dtype(table.get_attr(side))) for side in ("key_dtype", "value_dtype")
    )
    return tf.raw_ops.LookupTableImportV2(table_handle=table.outputs[0], keys=keys, values=entries)


def started(iterator):
    """The initialiser of an iterator: two batches of numbers in the shapes that it declares."""
    (dtype,), (shape,) = iterator.get_attr("output_types"), iterator.get_attr("output_shapes")
    size = [2, *(known or UNKNOWN for known in tf.TensorShape(shape).as_list())]
    numbers = np.arange(1, 1 + np.prod(size)).reshape(size).astype(tf.as_dtype(dtype).as_numpy_dtype)
    dataset = tf.data.Dataset.from_tensor_slices(numbers)
    return tf.raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=iterator.outputs[0])


def prepared(name):
    """The graph of a case, how to initialise it, its placeholders, and its results: what nothing else reads."""
    graph_def = loaded(name)
    alive = register(graph_def, [doubled])
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        operations = graph.get_operations()
        initial = [operation for operation in operations if operation.name == "init"]
        by_itself = bool(initial)
        for operation in operations:
            if operation.type in ("VarHandleOp", "VariableV2") and not by_itself:
                initial.append(set_to_twos(operation))
            elif operation.type == "HashTableV2":
                initial.append(filled(operation))
            elif operation.type == "IteratorV2":
                initial.append(started(operation))
    placeholders = [operation for operation in operations if operation.type == "Placeholder"]
    results = [
        operation.outputs[0]
        for operation in operations
        if operation.outputs and not any(output.consumers() for output in operation.outputs)
    ]
    return graph, alive, initial, placeholders, results


def reached(operation):
    """Every operator that runs after this one."""
    seen, todo = set(), [operation]
    while todo:
        current = todo.pop()
        later = [reader for output in current.outputs for reader in output.consumers()] + current._control_outputs
        todo.extend(found for found in later if found not in seen)
        seen.update(later)
    return seen


def unordered(name):
    """The accesses of one variable, one of them a write with a result, that no edge orders."""
    graph_def = loaded(name)
    alive = register(graph_def, [doubled])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    found = set()
    for variable in graph.get_operations():
        if variable.type in ("VarHandleOp", "VariableV2"):
            users = {reader for reader in variable.outputs[0].consumers() if reader.outputs}
            for writer in users:
                if writer.type.startswith(("Assign", "Apply", "Scatter")):
                    later = reached(writer)
                    others = (user for user in users if user is not writer and user not in later)
                    found.update((writer.name, user.name) for user in others if writer not in reached(user))
    del alive
    return sorted(found)


def values(name, settings):
    """All results of two turns."""
    graph, _alive, initial, placeholders, results = prepared(name)
    seen = {}
    with tf.Session(graph=graph, config=settings) as session:
        if initial:
            session.run(initial)
        for turn in range(2):
            feeds = {placeholder.outputs[0]: fed(placeholder, turn) for placeholder in placeholders}
            for tensor, value in zip(results, session.run(results, feeds)):
                seen[f"{turn}/{tensor.name}"] = np.asarray(value)
    return seen


@pytest.mark.parametrize("mixed", [True, False], ids=["mixed", "full"])
@pytest.mark.parametrize("name", sorted(set(NAMES) - set(UNEQUAL) - UNORDERED))
def test_a_case_graph_gives_the_same_bits(name, mixed):
    assert unordered(name) == [], "TensorFlow itself does not always give the same"
    own = values(name, config())
    process_trace().clear()
    ours = values(name, config(use_off_line=True, mix_compile_mode=mixed))
    assert any(run.geops for run in process_trace().runs), "no GEOP ran"
    assert own and set(own) == set(ours)
    for key in own:
        if name.startswith("random_"):
            assert ours[key].tobytes() in sums_in_any_order(name, int(key[0]))
        else:
            assert recorded_models.differences({key: own[key]}, {key: ours[key]}) == []


@pytest.mark.parametrize("name", sorted(UNORDERED))
def test_a_graph_is_left_out_for_writes_that_nothing_orders(name):
    assert unordered(name) != []


def sums_in_any_order(name, turn):
    """All that TensorFlow gives for the AddN at the end of a graph.

    The kernel writes into the first input whose buffer nobody else holds, and begins with that one: the order of the
    sum follows from who else reads the inputs, and a border of a GEOP is a reader.
    """
    graph, _alive, _, placeholders, results = prepared(name)
    (result,) = results
    with tf.Session(graph=graph, config=config()) as session:
        inputs = session.run(list(result.op.inputs), {item.outputs[0]: fed(item, turn) for item in placeholders})
    graph = tf.Graph()
    with graph.as_default():
        fed_inputs = [tf.placeholder(tf.float32, value.shape) for value in inputs]
        # Nobody else holds the result of a Neg; TensorFlow holds what it was fed.
        sums = [
            tf.add_n(
                [tf.negative(tf.negative(item)) if own == position else item for own, item in enumerate(fed_inputs)]
            )
            for position in range(len(inputs))
        ]
    with tf.Session(graph=graph, config=config()) as session:
        return {value.tobytes() for value in session.run(sums, dict(zip(fed_inputs, inputs)))}


@pytest.mark.parametrize("name", sorted(UNEQUAL))
def test_a_graph_that_is_not_compared_differs_from_itself_in_tensorflow_alone(name):
    first, second = values(name, config()), values(name, config())
    assert recorded_models.differences(first, second) != [], UNEQUAL[name]
    assert set(values(name, config(use_off_line=True, mix_compile_mode=True))) == set(first)
