"""Size changes nothing: models of full size give TensorFlow's own bits, as the small ones of test_values.py do."""

from __future__ import annotations

import pytest

from npu_reference.runtime.sessions import activation
from tests.models import recorded_models
from tests.models.simulating import MODELS, RECORDINGS, must_offload, on_device, plain

pytestmark = [pytest.mark.tensorflow, pytest.mark.not_oldest, pytest.mark.not_between, pytest.mark.newest_at_night]

#: BERT-base is half a minute and 4 GB a test: one recording of it is enough.
FULL = [
    f"{model}{recording}"
    for model in MODELS
    for recording in RECORDINGS
    if (model, recording) != ("bert_base", "_tf221")
]


@pytest.fixture(autouse=True)
def switched_on():
    activation.activate()
    yield
    activation.deactivate()


@pytest.mark.parametrize("name", FULL)
def test_a_full_size_model_gives_the_same_bits_in_mixed_computing(name, tmp_path):
    own = recorded_models.run(name, plain(), str(tmp_path))
    values, offloaded = on_device(name, tmp_path)
    assert recorded_models.differences(own, values) == []
    assert must_offload(name) <= {run for run, any_geop in offloaded.items() if any_geop}
