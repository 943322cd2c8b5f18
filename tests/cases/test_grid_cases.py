"""The cases that come in rows have a row for every operator that another one can wait for."""

from __future__ import annotations

import pytest

from fixtures.programs import placement_grid, precision_grid
from npu_reference.graphs import load_graph
from npu_reference.graphs.ops import OPS
from npu_reference.partition.structure import hidden
from npu_reference.precision import operators

pytestmark = pytest.mark.not_oldest


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
