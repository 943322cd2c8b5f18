"""A small library of cases in a folder of the test's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.shelves import Shelf


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and folded lines are the same in every terminal that runs the tests."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def shelf(tmp_path: Any) -> Shelf:
    return Shelf(str(tmp_path / "shelf"))
