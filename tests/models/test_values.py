"""Partitioning and transfers change nothing: every recorded model gives TensorFlow's own bits on the simulated device.

Compared are all fetches of all steps and every variable afterwards, device precision off, in the TensorFlow version
that runs the test. Both sides run without grappler: it reorders fp32 arithmetic (BERT's loss differs in its last bit
with and without it, in plain TensorFlow), and what it sees is the whole graph on one side and single functions on the
other. Initial values are fed, so no generator's state matters; generators have tests of their own at the end.
"""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from npu_reference.runtime.sessions import activation
from tests.depth import at_night
from tests.models import recorded_models
from tests.models.simulating import MODELS, RECORDINGS, must_offload, on_device, plain, simulated

pytestmark = [pytest.mark.tensorflow, pytest.mark.oldest_at_night, pytest.mark.between_at_night]

TINY = ["resnet50_tiny_v3", *(f"{model}_tiny{recording}" for model in MODELS for recording in RECORDINGS)]
#: A change asks every second one of what each is asked in mixed computing.
SOME = [at_night(name) if number % 2 else name for number, name in enumerate(TINY)]


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    yield
    activation.deactivate()


_OWN_VALUES = {}


def own_values(name):
    """TensorFlow's own values of a small model, computed once."""
    if name not in _OWN_VALUES:
        with tempfile.TemporaryDirectory() as folder:
            _OWN_VALUES[name] = recorded_models.run(name, plain(), folder)
    return _OWN_VALUES[name]


@pytest.mark.parametrize("name", TINY)
def test_a_small_model_gives_the_same_bits_in_mixed_computing(name, tmp_path):
    values, offloaded = on_device(name, tmp_path)
    assert recorded_models.differences(own_values(name), values) == []
    assert must_offload(name) <= {run for run, any_geop in offloaded.items() if any_geop}


@pytest.mark.parametrize("name", SOME)
def test_a_small_model_gives_the_same_bits_in_full_offload(name, tmp_path):
    values, offloaded = on_device(name, tmp_path, mix_compile_mode=False)
    assert recorded_models.differences(own_values(name), values) == []
    assert any(offloaded.values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", SOME)
def test_a_small_model_gives_the_same_bits_with_variables_on_the_host(name, tmp_path):
    values, offloaded = on_device(name, tmp_path, variable_placement="Host")
    assert recorded_models.differences(own_values(name), values) == []
    assert any(offloaded.values())


@pytest.mark.nightly
@pytest.mark.parametrize("name", TINY)
def test_a_small_model_computes_something_that_can_differ(name):
    """The comparisons above would also hold for a model that does nothing, or that gives nothing but NaN."""
    seen = own_values(name)
    assert all(np.isfinite(value).all() for value in seen.values() if value.dtype == np.float32)
    if "yolo" in name:
        assert (seen["detect#0/counts:0"] > 0).any()
        return
    _, sidecar = recorded_models.load(name)
    finals = [value for key, value in seen.items() if key.startswith("variable/")]
    starts = {item.tensor: recorded_models.sidecars.draw(item) for item in sidecar.seeded}
    unmoved = [tensor for tensor, start in starts.items() if any(np.array_equal(start, final) for final in finals)]
    assert unmoved == []


def losses(config, runs):
    """BERT's losses with half of the activations dropped, for runs that ask for different things."""
    graph_def, sidecar = recorded_models.load("bert_base_tiny")
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    feeds = {
        tensor: recorded_models.sidecars.draw(sidecar.feed_of(tensor)) for tensor in sidecar.run_named("train").feeds
    }
    feeds["dropout_rate:0"] = np.float32(0.5)
    with tf.Session(graph=graph, config=config) as session:
        session.run("init", {item.tensor: recorded_models.sidecars.draw(item) for item in sidecar.seeded})
        return [session.run(["loss:0", *targets], feeds)[0].tobytes() for targets in runs]


@pytest.mark.parametrize("mixed", [True, at_night(False)])
def test_seeded_dropout_drops_the_same_as_long_as_the_same_is_asked_for(mixed):
    runs = [["train"]] * 3
    own = losses(plain(), runs)
    assert losses(simulated(mix_compile_mode=mixed), runs) == own
    assert len(set(own)) == 3


@pytest.mark.parametrize("mixed", [True, at_night(False)])
def test_a_generator_inside_a_geop_goes_on_when_something_else_is_asked_for(mixed):
    """A GEOP is a function of its own for each signature of session.run, but a seeded generator is one for all."""
    alternating = [[], ["train"], []]
    own = losses(plain(), alternating)
    assert losses(simulated(mix_compile_mode=mixed), alternating) == own
    assert own[0] != own[2]
