"""npu_bridge is only there once switched on: in a checkout and in an installed wheel alike."""

from __future__ import annotations

import pytest

import npu_reference

pytestmark = pytest.mark.tensorflow

npu_reference.activate()


@pytest.fixture(autouse=True)
def switched_on():
    """Another test of the same process may have switched it off again."""
    npu_reference.activate()
