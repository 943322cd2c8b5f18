"""Which instances a run is about is decided by area, edition and an expression over ids."""

from __future__ import annotations

import pytest

from npu_conformance.library import selection
from npu_reference.errors import NpuError
from tests.conformance.shelves import Shelf


def chosen(shelf: Shelf, **more) -> list:
    return [instance.case.id for instance in selection.select(shelf.load(), **more)]


ALL = ["small-options", "small-partition", "small-partition-again", "small-what-follows"]


@pytest.mark.parametrize(
    "keyword, ids",
    [
        ("", ALL),
        ("partition", ALL[1:3]),
        ("partition and not again", ALL[1:2]),
        ("options or again", [ALL[0], ALL[2]]),
        ("not (options or again)", [ALL[1], ALL[3]]),
        ("not not options", [ALL[0]]),
        ("small.two", [ALL[0], ALL[3]]),
        ("@current and partition@", ALL[1:2]),
        ("nothing", []),
    ],
)
def test_an_expression_selects_by_parts_of_ids(shelf: Shelf, keyword: str, ids: list) -> None:
    assert chosen(shelf, keyword=keyword) == ids


def test_area_and_edition_select_too(shelf: Shelf) -> None:
    assert chosen(shelf, areas=["small"], editions=["current"]) == ALL
    assert chosen(shelf, editions=["legacy"]) == []


@pytest.mark.parametrize("keyword", ["(", ")", "a (", "and", "a and", "not", "a b", "or a", "()", "( " * 2000])
def test_a_malformed_expression_is_refused(shelf: Shelf, keyword: str) -> None:
    with pytest.raises(NpuError) as caught:
        chosen(shelf, keyword=keyword)
    assert caught.value.code == "USAGE"


def test_an_area_that_does_not_exist_is_refused_with_those_that_do(shelf: Shelf) -> None:
    with pytest.raises(NpuError) as caught:
        chosen(shelf, areas=["large"])
    assert "Areas are small." in caught.value.message
