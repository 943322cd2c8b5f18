"""The reference passes every case that needs no TensorFlow, twins included, whatever of its features it claims."""

from __future__ import annotations

import os
import random

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from tests.cases.asking import TENSORFLOW_METHODS, answered
from tests.cases.claiming import judged
from tests.cases.corpus import corpus
from tests.depth import share

HERE = [one for one in corpus().instances() if one.case.method not in TENSORFLOW_METHODS]
TOPICS = sorted({f"{one.case.area}/{one.case.topic}" for one in HERE})
if os.environ.get("NPU_TESTS_SCOPE") == "oldest":
    # The newest Python asks all for a change.
    TOPICS = share(TOPICS[::8], TOPICS)
FEATURES = sorted(set().union(*(case.needs for case in corpus().cases.values())))

#: Random sets of features that the cases of a topic are asked for, beside the least that each needs.
SETS = share(1, 5)


@pytest.mark.parametrize("topic", TOPICS)
def test_the_reference_passes_the_cases_of_the_topic_whatever_it_claims(topic, tmp_path):
    backend, drawn = ReferenceBackend(), random.Random(topic)
    failed = {}
    for one in HERE:
        if f"{one.case.area}/{one.case.topic}" != topic:
            continue
        result, outcome = answered(backend, one, str(tmp_path))
        if result.status != "pass" or result.detail:
            failed[one.id] = result.detail
        if one.twin:
            continue
        for number in range(1 + SETS):
            more = drawn.sample(FEATURES, drawn.randrange(len(FEATURES))) if number else ()
            less = judged(one, outcome, one.case.needs.union(more), str(tmp_path))
            if less.status != "pass":
                failed[one.id] = f"with no more than {sorted(one.case.needs.union(more))}: {less.detail}"
    assert not failed
