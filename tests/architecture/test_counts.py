"""What a reader has to find the way in does not grow: figures of `benchmarks/counts.py`, which may fall."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

pytestmark = pytest.mark.not_oldest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Lines of Python in all.
MOST = 205_700
#: Modules of more than 600 lines, where they are tables, programs of graphs, or tests.
MOST_LONG = 1


@pytest.fixture(scope="module")
def found():
    if not (ROOT / ".git").exists():
        pytest.skip("an unpacked archive: what belongs to it, only git knows")
    spec = importlib.util.spec_from_file_location("counts", str(ROOT / "benchmarks" / "counts.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.counts(ROOT)


def test_no_class_name_of_a_distribution_means_two_things(found):
    assert found.twice == {}


def test_modules_are_short_and_few_are_long(found):
    assert len(found.long) <= MOST_LONG, found.long


def test_there_is_not_more_python_than_there_was(found):
    assert sum(found.lines.values()) <= MOST
