"""The modules that write pages of the documentation are commands, and take no option for a file's name."""

from __future__ import annotations

import importlib

import pytest

from npu_conformance.library import library
from tests.cases.corpus import corpus

pytestmark = pytest.mark.not_oldest

MODULES = [
    "npu_conformance.lint.page",
    "npu_conformance.strength.mutants_page",
    "npu_reference.hardware.page",
    "npu_reference.options.page",
    "npu_reference.surface.page",
]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("module", MODULES)
def test_help_is_help(module, empty, capsys):
    assert importlib.import_module(module).main(["--help"]) == 0
    assert f"Usage: python -m {module} [OPTIONS] [PATH]" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--chek"], ["a.md", "b.md"]], ids=["an unknown option", "two paths"])
@pytest.mark.parametrize("module", MODULES)
def test_what_is_no_path_is_refused_and_nothing_written(module, words, empty, capsys):
    assert importlib.import_module(module).main(words) == 2
    assert "Error: " in capsys.readouterr().err


@pytest.mark.parametrize("module", MODULES)
def test_a_page_that_cannot_be_written_is_one_line(module, empty, capsys, monkeypatch):
    monkeypatch.setattr(library, "load", corpus)
    assert importlib.import_module(module).main(["absent/page.md"]) == 1
    assert len([line for line in capsys.readouterr().err.splitlines() if line.startswith("Error: ")]) == 1


def test_suspects_are_asked_for_by_their_ids_and_help_is_help(capsys):
    main = importlib.import_module("npu_conformance.strength.suspects").main
    assert main(["--help"]) == 0 and "usage: " in capsys.readouterr().out
    assert main(["--al"]) == 2 and "[USAGE] --al" in capsys.readouterr().err
