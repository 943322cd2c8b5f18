"""Runs a scenario twice, in plain TensorFlow and on the simulated device, and compares."""

from __future__ import annotations

import pytest

from npu_reference.runtime import activation
from npu_reference.runtime.trace import process_trace


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    process_trace().clear()
    yield
    activation.deactivate()
