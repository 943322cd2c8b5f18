"""The device is switched on, and every test has a graph of its own."""

from __future__ import annotations

import pytest

from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation

pytestmark = pytest.mark.tensorflow


@pytest.fixture(autouse=True)
def switched_on():
    import tensorflow.compat.v1 as tf

    activation.activate()
    process_trace().clear()
    with tf.Graph().as_default():
        yield
    activation.deactivate()
