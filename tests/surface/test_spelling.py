"""What a misspelt name probably means."""

from __future__ import annotations

import difflib
from typing import Any, List

import pytest

from npu_reference import spelling
from npu_reference.spelling import did_you_mean, like, nearest

GRAPH = ["x", "train", "tower/model/loss", "tower/model/loss_grad/weights"]
OPTIONS = ["mix_compile_mode", "precision_mode", "precision_mode_v2", "0", "1"]


@pytest.mark.parametrize(
    ("word", "words", "meant"),
    [
        ("trian", GRAPH, "train"),
        ("TRAIN", GRAPH, "train"),
        ("loss", GRAPH, "tower/model/loss"),
        ("modle/loss", GRAPH, "tower/model/loss"),
        ("tower/model/los", GRAPH, "tower/model/loss"),
        ("loss:0", GRAPH, "tower/model/loss"),
        ("import/train", GRAPH, "train"),
        ("import/tower/Model/loss:1", GRAPH, "tower/model/loss"),
        ("nothing_like_it", GRAPH, ""),
        ("", GRAPH, ""),
        ("precision-mode", OPTIONS, "precision_mode"),
        ("mix_compile", OPTIONS, "mix_compile_mode"),
        ("precison_mode", OPTIONS, "precision_mode"),
        ("10", OPTIONS, ""),
        ("-1", OPTIONS, ""),
        ("precision", OPTIONS, "precision_mode"),
    ],
)
def test_a_word_means_the_name_that_is_alike_but_for_case_or_scopes_goes_on_behind_it_or_is_spelt_so(
    word: str, words: List[str], meant: str
) -> None:
    assert nearest(word, words) == nearest(word, list(reversed(words))) == meant


def test_of_very_many_names_those_of_about_the_length_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: List[int] = []

    def counted(text: str, names: Any, *more: Any) -> List[str]:
        compared.append(len(list(names)))
        return []

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    assert nearest("node_x", [f"scope/node_{i}" for i in range(60000)]) == ""
    assert compared and max(compared) <= 10000


def test_a_word_of_megabytes_is_compared_with_nothing() -> None:
    assert nearest("train" * 1000000, GRAPH) == ""


def test_spellings_alone_know_neither_case_nor_beginnings() -> None:
    assert like("mix", OPTIONS, 0.8) == "" and like("TRAIN", GRAPH, 0.7) == ""
    assert like("precison_mode", OPTIONS, 0.8) == "precision_mode"


def test_a_remedy_is_a_sentence_and_says_something_else_where_nothing_is_near() -> None:
    assert did_you_mean("trian", GRAPH) == "Did you mean train?"
    assert did_you_mean("other", GRAPH, "See the list.") == "See the list."


def test_the_same_question_is_compared_by_letters_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[Any] = []
    real = spelling.like

    def counted(*given: Any) -> str:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(spelling, "like", counted)
    spelling._nearest_again.cache_clear()
    assert [nearest("precison_mode", ["precision_mode", "graph_run_mode"]) for _ in range(3)] == ["precision_mode"] * 3
    assert len(calls) == 1
