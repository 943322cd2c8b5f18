"""How TensorFlow is imported."""

from __future__ import annotations

import gc
import importlib
from typing import Any, List

import pytest

from npu_reference.runtime import tf_api


def test_nothing_is_collected_while_tensorflow_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    collects: List[bool] = []
    real = importlib.import_module

    def spied(name: str, *given: Any) -> Any:
        collects.append(gc.isenabled())
        return real(name, *given)

    monkeypatch.setattr(tf_api.importlib, "import_module", spied)
    assert tf_api._load().version == tf_api.tensorflow().version
    assert collects == [False] * 3 and gc.isenabled()
