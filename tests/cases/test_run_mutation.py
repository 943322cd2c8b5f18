"""Random changes of the reference that runs alone show: those that were seen once stay seen; TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

tensorflow = pytest.importorskip("tensorflow")

MUTATION = Path(__file__).resolve().parents[2] / "benchmarks" / "mutation.py"
AREAS = ("dumps", "numerics", "runtime", "surface")

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.both_between,
    # The changes are of the reference, not of TensorFlow: one version of it will do.
    pytest.mark.skipif(
        not tensorflow.__version__.startswith("2.15.") or not hasattr(os, "fork"), reason="asked with TensorFlow 2.15"
    ),
]


@pytest.mark.nightly
def test_changes_that_were_seen_in_runs_are_still_seen():
    # A process of its own: one that has run a session must not be forked.
    # Some of each area, always the same: without --count all are asked.
    command = [sys.executable, str(MUTATION), "--tensorflow", "--seen", "--count", "6", "--seconds", "inf"]
    command += [word for area in AREAS for word in ("--area", area)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = json.loads(done.stdout.strip().splitlines()[-1])
    assert last["asked"] == last["of"] > 15, done.stdout
    assert done.returncode == 0 and last["unseen"] == 0, done.stdout
