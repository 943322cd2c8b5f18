"""The reference passes every case that needs no TensorFlow, twins included."""

from __future__ import annotations

import pytest
from asking import TENSORFLOW_METHODS, ask
from corpus import corpus

from npu_conformance.backends.reference import ReferenceBackend

CASES = [name for name, case in corpus().cases.items() if case.method not in TENSORFLOW_METHODS]


@pytest.mark.parametrize("name", CASES)
def test_the_reference_passes(name, tmp_path):
    instances = [instance for instance in corpus().instances() if instance.case.id == name]
    assert instances
    for instance in instances:
        result = ask(ReferenceBackend(), instance, str(tmp_path))
        assert result.status == "pass", f"{instance.id}: {result.detail}"
