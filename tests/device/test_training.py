"""Small networks train in mixed precision as in float32, with loss scaling where their gradients need it."""

from __future__ import annotations

import json
import os

import pytest

from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.runner import execute

_SCRIPTS = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "scripts"))

#: How far the accuracy of mixed precision may be below that of float32 (assumed; both reach 1.0 when trained longer).
MARGIN = 0.02


def trained(script, *args, precision="on"):
    with overriding(current_overrides()._replace(device_precision=precision)):
        output = execute(os.path.join(_SCRIPTS, script), args, "current")
    return json.loads(output.strip().splitlines()[-1])


@pytest.mark.parametrize("script, steps", [("resnet_loss_scaling.py", "25"), ("transformer_loss_scaling.py", "40")])
def test_a_network_with_small_gradients_trains_with_loss_scaling_only(script, steps):
    # precision.s.allow_mix_loss_scaling
    arguments = ("--input", "underflow", "--steps", steps)
    float32 = trained(script, *arguments, "--loss-scaling", "off", precision="off")
    scaled = trained(script, *arguments)
    unscaled = trained(script, *arguments, "--loss-scaling", "off")
    assert float32["accuracy"] > 0.8
    assert scaled["accuracy"] > float32["accuracy"] - MARGIN and scaled["skipped"] == 0
    assert unscaled["accuracy"] < 0.3


def test_a_step_that_overflows_is_left_out():
    found = trained("resnet_loss_scaling.py", "--input", "overflow", "--steps", "25")
    assert found["skipped"] == 1 and found["loss_scale"] == 2.0**10
    assert found["accuracy"] > 0.9
