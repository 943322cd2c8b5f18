"""The reference passes every case that needs no TensorFlow, twins included."""

from __future__ import annotations

import os

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from tests.cases.asking import TENSORFLOW_METHODS, ask
from tests.cases.corpus import corpus
from tests.depth import share

HERE = [one for one in corpus().instances() if one.case.method not in TENSORFLOW_METHODS]
TOPICS = sorted({f"{one.case.area}/{one.case.topic}" for one in HERE})
if os.environ.get("NPU_TESTS_SCOPE") == "oldest":
    # The newest Python asks all for a change.
    TOPICS = share(TOPICS[::2], TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_reference_passes_the_cases_of_the_topic(topic, tmp_path):
    backend = ReferenceBackend()
    failed = {}
    for one in HERE:
        if f"{one.case.area}/{one.case.topic}" == topic:
            result = ask(backend, one, str(tmp_path))
            if result.status != "pass":
                failed[one.id] = result.detail
    assert not failed
