"""The cases that come in rows are current, and have a row for every operator that another one can wait for."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from fixtures.programs import casegen, placement_grid, precision_grid, related_grid
from npu_reference.graphs import load_graph
from npu_reference.graphs.ops import OPS
from npu_reference.partition.structure import hidden
from npu_reference.precision import operators
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest


def content(path, stored):
    return gzip.decompress(stored) if path.suffix == ".gz" else stored


@pytest.mark.parametrize("maker", [placement_grid, precision_grid])
def test_the_files_are_what_their_program_makes(maker):
    made = {path: text.encode("ascii") if isinstance(text, str) else text for path, text in maker.rendered().items()}
    stale = [path for path in made if content(path, path.read_bytes()) != content(path, made[path])]
    assert not stale, f"run -m {maker.__name__}"
    assert set(maker.GRAPHS.iterdir()) <= set(made), "no program makes these any more"


@pytest.mark.parametrize("maker", [related_grid])
def test_the_cases_are_what_their_program_makes(maker):
    stale = [path for path, text in maker.rendered().items() if path.read_text("ascii") != text]
    assert not stale, f"run -m {maker.__name__}"


@pytest.mark.parametrize("maker", [placement_grid, precision_grid])
def test_every_graph_is_asked_about(maker):
    used = {Path(case.params["graph"]).name for case in corpus().cases.values() if "graph" in case.params}
    assert {path.name for path in maker.GRAPHS.iterdir() if path.suffix != ".json"} <= used


def test_every_operator_that_others_wait_for_has_a_row():
    asked = {node.op for path in placement_grid.GRAPHS.glob("*.pbtxt") for node in load_graph(str(path)).nodes}
    known = {name + age for name in hidden._ROLES for age in ("", "V2", "V3") if OPS.get(name + age) is not None}
    assert len(known) > 50
    # Peeking at a map is not in order, and stores of other ages are filled alike.
    assert not sorted(known - asked)


def test_every_operator_that_calls_functions_or_is_read_through_has_a_row():
    asked = {node.op for path in precision_grid.GRAPHS.glob("*.pbtxt") for node in load_graph(str(path)).nodes}
    # TensorFlow makes _If and _While itself, of references is RefIdentity alone, and Unsqueeze is Ascend's own name.
    elsewhere = {"_If", "_While", "RefIdentity", "RefExit", "Unsqueeze"}
    assert not sorted((operators.CALLS | operators.TRANSPARENT | operators.FOLLOWERS) - asked - elsewhere)


def test_one_module_alone_says_what_a_case_is_and_writes_files_of_cases():
    writes = re.compile(r"\[\[case\]\]|\[case\.(params|expect)|class Case|/ ?\"golden\"")
    programs = Path(casegen.__file__).parent.rglob("*.py")
    found = {path.name for path in programs if writes.search(path.read_text("utf-8"))}
    assert found == {"casegen.py"}
