"""Shapes inferred without TensorFlow are those that TensorFlow infers, in every recorded model."""

from __future__ import annotations

import os

import pytest
import tensorflow.compat.v1 as tf

from npu_reference.graphs import graph_from_def, infer_shapes
from tests.models.recorded_models import GRAPHS, load

pytestmark = pytest.mark.tensorflow

#: Part of the shapes known to TensorFlow that may be unknown here: there was none at the time of writing, in 1.15 as
#: in 2.21; other versions may learn of an operator.
MOST_UNKNOWN = 0.01

#: The tiny models have the operators of the full ones, but for the third version of batch normalization in 1.15.
MODELS = sorted(
    name[: -len(".pb.gz")]
    for name in os.listdir(GRAPHS)
    if name.endswith(".pb.gz") and ("_tiny" not in name or name.startswith("resnet50_tiny_v3"))
)
NEW = tuple(int(part) for part in tf.__version__.split(".")[:2]) >= (2, 21)


def told(shape):
    return None if shape.rank is None else tuple(shape.as_list())


def contradicts(ours, theirs):
    if ours is None or theirs is None:
        return False
    return len(ours) != len(theirs) or any(None not in pair and pair[0] != pair[1] for pair in zip(ours, theirs))


def less(ours, theirs):
    """Whether TensorFlow knows something of the shape that is unknown here."""
    if theirs is None or ours is None:
        return theirs is not None
    return any(a is None and b is not None for a, b in zip(ours, theirs))


@pytest.mark.parametrize("name", [name for name in MODELS if NEW or "tf221" not in name])
def test_shapes_of_a_model_are_those_of_tensorflow(name):
    graph_def, _ = load(name)
    graph = graph_from_def(graph_def)
    shapes = infer_shapes(graph)
    known, missing = 0, []
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph_def, name="")
    for operation in imported.get_operations():
        for slot, output in enumerate(operation.outputs):
            ours, theirs = shapes.of(graph.index[operation.name], slot), told(output.shape)
            assert not contradicts(ours, theirs), (output.name, operation.type, ours, theirs)
            known += theirs is not None
            if less(ours, theirs):
                missing.append((output.name, operation.type, ours, theirs))
    assert known and len(missing) <= MOST_UNKNOWN * known, missing
