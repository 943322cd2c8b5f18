"""Recorded models train at float16 almost as at float32: loops, gradients and functions are rewritten soundly."""

from __future__ import annotations

import numpy as np
import pytest

from npu_reference.runtime.config import current_overrides, overriding
from tests.depth import at_night
from tests.device.arithmetic import config
from tests.models import recorded_models


@pytest.mark.parametrize(
    "model, mix",
    [at_night("lstm_tiny", True), ("lstm_tiny", False), ("resnet50_tiny", True), at_night("text_pipeline_tiny", False)],
)
def test_losses_stay_near_those_of_float32(model, mix, tmp_path):
    import tensorflow.compat.v1 as tf

    plain = tf.ConfigProto()
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    exact = recorded_models.run(model, plain, str(tmp_path))
    with overriding(current_overrides()._replace(device_precision="on")):
        mixed = config(mix_compile_mode=mix, precision_mode="allow_mix_precision")
        found = recorded_models.run(model, mixed, str(tmp_path))
    # Later steps tell how chaotic training is, batch normalization over two images most of all.
    losses = [name for name in exact if name.endswith(("#0/loss:0", "#1/loss:0"))]
    assert losses
    for name in losses:
        np.testing.assert_allclose(found[name], exact[name], rtol=5e-3, err_msg=name)
    assert any(not np.array_equal(found[name], exact[name]) for name in losses)  # it did round
