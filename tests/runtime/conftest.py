"""Runs a scenario twice, in plain TensorFlow and on the simulated device, and compares."""

from __future__ import annotations

import pytest

from npu_reference.runtime.observing.trace import process_trace
from npu_reference.runtime.sessions import activation

pytestmark = pytest.mark.tensorflow


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    process_trace().clear()
    yield
    activation.deactivate()
