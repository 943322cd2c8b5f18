"""Programs that are killed while they write leave nothing that is torn, profiles, dumps and kernels alike."""

from __future__ import annotations

import collections
import os

import pytest
from benchmarks import killed

pytestmark = pytest.mark.oldest_at_night


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program that is killed is forked")
@pytest.mark.parametrize(
    ("kind", "tries", "found"), [("profiles", 4, "trees"), ("dumps", 4, "files"), ("kernels", 6, "entries")]
)
def test_a_program_that_is_killed_leaves_nothing_torn_that_another_takes(kind, tries, found, tmp_path):
    counts = collections.Counter()
    assert [fault for seed in range(tries) for fault in killed.attempt(kind, tmp_path, seed, counts)] == []
    assert counts[found]
