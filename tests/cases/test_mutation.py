"""Random changes of the reference: a few of each area, all of them reviewed, and the score they may not fall below."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 9) or not hasattr(os, "fork"), reason="changes are made in syntax trees of Python 3.9 on"
)

#: How many of each area are asked, and percent of what documents forbid that must be seen: raised when the score rises.
COUNT, LEAST = 4, 80.0
CLASSES = {"equivalent", "silent", "hole"}


@pytest.fixture(scope="module")
def mutation():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import mutation as module
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def test_changes_have_names_of_their_own_and_a_seed_draws_the_same(mutation):
    for area in mutation.AREAS:
        names = [one.name for one in mutation.mutants(area)]
        assert len(names) > 50 and len(names) == len(set(names)), area
    assert mutation.drawn(3, ["options"], 5) == mutation.drawn(3, ["options"], 9)[:5]


def test_every_survivor_was_reviewed_with_a_reason(mutation):
    from npu_conformance.files import toml_file

    entries = toml_file.load(mutation.REVIEWED)["survivor"]
    assert {one["class"] for one in entries} <= CLASSES
    assert all(one["why"] for one in entries)
    assert len({one["name"] for one in entries}) == len(entries)


def test_what_the_documents_forbid_is_seen(mutation):
    chosen = mutation.drawn(0, list(mutation.AREAS), COUNT)
    found = mutation.judged(chosen, 600.0)
    known = mutation.reviewed()
    unread = [one.name for one, seen in found if not seen and one.name not in known]
    assert not unread, "read these changes, and say in benchmarks/results/mutation.toml what they are"
    total = [sum(column) for column in zip(*mutation.scores(found, known).values())]
    assert mutation.Score(*total).share >= LEAST
