"""Every device operator of the fixture models gets an assignment, and the counts are the recorded ones."""

from __future__ import annotations

from typing import Dict, List

import pytest

from tests.depth import at_night
from tests.precision import model_summaries

pytestmark = pytest.mark.not_oldest

_RECORDED: Dict[str, List[str]] = {}
for _line in model_summaries.read():
    _RECORDED.setdefault(_line.split(" ", 1)[0], []).append(_line)

#: Recomputed here; the others are recorded, and differ from these in the version of TensorFlow only.
_RECOMPUTED = ("bert_base", "lstm", "lstm_tf221", "resnet50", "text_pipeline", "yolo", "yolo_tf221")


@pytest.mark.parametrize("model", [one if one in ("lstm", "yolo") else at_night(one) for one in _RECOMPUTED])
def test_the_counts_of_a_model_are_the_recorded_ones(model: str) -> None:
    assert list(model_summaries.lines(model)) == _RECORDED[model]


def test_no_operator_of_a_model_is_without_an_engine() -> None:
    assert sorted(_RECORDED) == model_summaries.models()
    for line in model_summaries.read():
        assert "unset" not in line


@pytest.mark.parametrize("model", ["bert_base", "lstm", "resnet50", "yolo"])
def test_every_mode_but_must_keep_assigns_a_training_model(model: str) -> None:
    refused = [line.split(":")[0].split(" ", 1)[1] for line in _RECORDED[model] if "PRECISION_" in line]
    convolutions = ["current must_keep_origin_dtype", "legacy must_keep_origin_dtype"]
    assert refused == (convolutions if model in ("resnet50", "yolo") else [])  # A9: Conv2D has no float32 kernel


def test_the_modes_differ_on_every_training_model() -> None:
    for model in ("bert_base", "lstm", "resnet50", "yolo"):
        current = [line.split(": ", 1)[1] for line in _RECORDED[model] if " current " in line]
        assert len(set(current)) == 5
