"""A small library of cases in a folder of the test's own; the shipped one, read once."""

from __future__ import annotations

from typing import Any

import pytest

from npu_conformance.library import library
from tests.cases.corpus import corpus
from tests.conformance.shelves import Shelf


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and folded lines are the same in every terminal that runs the tests."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(autouse=True)
def shipped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in this process takes the library that is here, which a second of reading would give once more."""
    read = library.load

    def load(*folders: str, **named: str) -> library.Library:
        return read(*folders, **named) if folders or named else corpus()

    monkeypatch.setattr(library, "load", load)


@pytest.fixture
def shelf(tmp_path: Any) -> Shelf:
    return Shelf(str(tmp_path / "shelf"))
