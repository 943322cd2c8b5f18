"""Random changes of the reference: those that were seen once stay seen, and every survivor was reviewed."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
IMPL = Path(__file__).resolve().parents[2] / "impl"

pytestmark = [
    pytest.mark.not_oldest,
    pytest.mark.skipif(
        sys.version_info < (3, 9) or not hasattr(os, "fork"), reason="changes are made in syntax trees of Python 3.9 on"
    ),
]

#: Of each area, changes that were seen once and are asked again.
SEEN = 8

CLASSES = {"equivalent", "silent", "hole"}


def _imported(name):
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def mutation():
    return _imported("mutation")


@pytest.fixture(scope="module")
def changes(mutation):
    """Those of every area, by name."""
    found = {}
    for area in mutation.AREAS:
        of_area = mutation.mutants(area)
        found[area] = {one.name: one for one in of_area}
        assert len(found[area]) == len(of_area), area
    return found


def test_changes_have_names_of_their_own_and_a_seed_draws_the_same(mutation, changes):
    assert all(len(named) > 50 for named in changes.values())
    assert mutation.drawn(3, ["options"], 5) == mutation.drawn(3, ["options"], 9)[:5]


def test_a_condition_that_loses_all_parts_but_one_is_that_part():
    module = _imported("changes")
    # A conjunction of one is no syntax: such a change would not start, and count as seen.
    tree = ast.parse("found = first and second and third")
    finder = module.Finder()
    finder.visit(tree)
    at = next(index for index, (_, kind, part) in enumerate(finder.found) if (kind, part) == ("condition", 2))
    assert ast.unparse(module.with_change(tree, at)) == "found = third"


def test_every_survivor_was_reviewed_with_a_reason(mutation):
    entries = mutation.entries("survivor")
    assert {one["class"] for one in entries} <= CLASSES
    assert all(one["why"] for one in entries)
    assert len({one["name"] for one in entries}) == len(entries)


def test_what_was_reviewed_is_a_change_of_today(mutation, changes):
    # Code that changes takes what was said of it along: review its changes anew, or take them out.
    for area, named in changes.items():
        reviewed = mutation.entries("survivor", area) + mutation.entries("seen", area)
        assert not [one["name"] for one in reviewed if one["name"] not in named], area


def test_a_scope_is_a_place_of_which_nothing_is_drawn(mutation, changes):
    scopes = mutation.entries("scope")
    assert all(one["class"] in ("equivalent", "silent") and one["why"] for one in scopes)
    for one in scopes:
        path, _, function = one["place"].partition(":")
        place = next((found for found in (IMPL / "npu_reference" / path, IMPL / path) if found.exists()), IMPL)
        assert place != IMPL, one["place"]
        assert all(f" {name}" in place.read_text("utf-8") for name in function.split(".") if name), one["place"]
    drawn = [name for named in changes.values() for name in named]
    assert not [name for name in drawn if name.startswith(("device/links/", "compiler/bounds.py"))]


@pytest.mark.nightly
def test_changes_that_were_seen_are_still_seen(mutation):
    # Some of each area, always the same; all are asked by `benchmarks/mutation.py --seen`. What runs alone see is asked
    # with TensorFlow: test_run_mutation.py.
    areas = [name for name, area in mutation.AREAS.items() if area.methods != ("run",)]
    chosen = [one for area in areas for one in mutation.seen_before(area, SEEN)]
    assert len(chosen) > 50
    first = {one["name"]: one["by"] for one in mutation.entries("seen") if "by" in one}
    found = mutation.judged(chosen, float("inf"), first=first)
    assert [one.name for one, _ in found] == [one.name for one in chosen]
    blind = [one.name for one, seen in found if not seen]
    assert not blind, "a document forbids these changes, and the suite saw them once"


def test_a_change_that_is_slow_since_the_machine_is_busy_is_not_seen(monkeypatch):
    processes = _imported("mutating.processes")

    def waits():
        processes.limit(1)
        time.sleep(1.5)
        processes.limit(0)
        return ""

    def works():
        processes.limit(1)
        while True:
            pass

    def hangs():
        processes.limit(1)
        time.sleep(60)
        return ""

    assert processes.forked(waits) == ""
    assert processes.forked(works) == "ended without a word"
    monkeypatch.setattr(processes, "HUNG", 2)
    assert processes.forked(hangs) == "ended without a word"


@pytest.mark.nightly
def test_an_error_of_the_suite_itself_is_not_a_change_that_it_has_seen(mutation, tmp_path):
    asker = mutation.Asker(str(tmp_path), ["tuning"], only=["tune-"])
    change = mutation.drawn(0, ["tuning"], 1)[0]

    def stumbles(mutant):
        raise KeyError("of ours")

    asker._seen = stumbles
    assert asker.seen(change) == ""

    def ends(mutant):
        exec(compile("raise KeyError('of the change')", "/npu_reference/tuning/search.py", "exec"))

    asker._seen = ends
    assert asker.seen(change) == "ended: KeyError"
