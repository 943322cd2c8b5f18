"""Programs that are killed while they write profiles leave none that is torn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks import killed_profiles


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program that is killed is forked")
def test_a_program_that_is_killed_leaves_whole_trees_and_a_whole_bank(tmp_path):
    trees = 0
    for seed in range(4):
        folder = Path(tmp_path) / str(seed)
        folder.mkdir()
        killed_profiles.tried(str(folder), seed, 0.3)
        trees += len(list(folder.glob("PROF_*")))
        assert list(killed_profiles.faults(folder)) == []
    assert trees
