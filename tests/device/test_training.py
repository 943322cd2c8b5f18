"""Small networks train in mixed precision as in float32, with loss scaling where float16 is too narrow for them."""

from __future__ import annotations

import json
import os

import pytest

from npu_reference.runtime.config import current_overrides, overriding
from npu_reference.runtime.scripts.runner import execute

pytestmark = [pytest.mark.not_oldest, pytest.mark.not_between, pytest.mark.newest_at_night]

_SCRIPTS = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "scripts"))

#: How far the accuracy of mixed precision may be below that of float32 (assumed; both reach 1.0 when trained longer).
MARGIN = 0.02


def trained(script, *args, precision="on"):
    with overriding(current_overrides()._replace(device_precision=precision)):
        output = execute(os.path.join(_SCRIPTS, script), args, "current")
    return json.loads(output.strip().splitlines()[-1])


@pytest.mark.parametrize(
    "script, input, steps, skipped",
    [
        ("resnet_loss_scaling.py", "underflow", 25, 0),
        ("resnet_loss_scaling.py", "overflow", 40, 2),
        ("transformer_loss_scaling.py", "underflow", 30, 0),
        ("transformer_loss_scaling.py", "overflow", 30, 1),
    ],
)
def test_a_network_that_float16_is_too_narrow_for_trains_with_loss_scaling_only(script, input, steps, skipped):
    # precision.s.allow_mix_loss_scaling
    arguments = ("--input", input, "--steps", str(steps))
    float32 = trained(script, *arguments, "--loss-scaling", "off", precision="off")
    scaled = trained(script, *arguments)
    unscaled = trained(script, *arguments, "--loss-scaling", "off")
    assert float32["accuracy"] > 0.8
    assert scaled["accuracy"] > float32["accuracy"] - MARGIN and scaled["skipped"] == skipped
    assert unscaled["accuracy"] < 0.3
