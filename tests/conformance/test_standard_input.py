"""``-`` is standard input, of every command that reads one file."""

from __future__ import annotations

import io
import json
import os
import pathlib
import sys
import tempfile

import pytest

from npu_conformance import cli
from npu_conformance.commands import shared
from tests.lint.planted import SESSION

pytestmark = pytest.mark.not_oldest

GRAPH = sorted((pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "graphs" / "timing").glob("*.pb*"))[0]
WRONG = SESSION + 'custom_op.parameter_map["mix_compile_mod"].b = True\n'


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """A command with something on standard input: its status, what it prints and says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(data, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as caught:
            cli.main(list(arguments))
        printed = capsys.readouterr()
        assert os.listdir(str(tmp_path)) == []  # nothing is left
        return int(caught.value.code or 0), printed.out, printed.err

    return run


@pytest.mark.parametrize("command", ["partition", "precision", "profile"])
def test_a_graph_from_standard_input_is_answered_as_the_file(command, call):
    data = GRAPH.read_bytes()
    status, out, _ = call(b"", command, str(GRAPH), "--format", "json")
    assert status == 0
    piped = call(data, command, "-", "--format", "json")
    assert piped[:2] == (0, out.replace(json.dumps(str(GRAPH))[1:-1], "-"))


@pytest.mark.parametrize("command", ["partition", "precision"])
def test_lines_to_paste_name_standard_input_as_it_was_named(command, call):
    status, out, _ = call(GRAPH.read_bytes(), command, "-")
    assert status == 0 and "npu-conformance-stdin-" not in out


def test_standard_input_that_is_no_graph_is_one_line(call):
    status, out, err = call(b"\x00nothing", "partition", "-")
    assert (status, out) == (2, "") and err.startswith("error[GRAPH_") and err.count("\n") == 1


def test_options_come_one_a_line_beside_those_named(call):
    data = b"# what we train with\nprecision_mode=allow_mix_precision\r\n\n  hccl_timeout=600\n"
    status, out, _ = call(data, "options", "-", "hccl_timeout=680", "--format", "json")
    given = {name: one["value"] for name, one in json.loads(out)["effective"].items() if one["origin"] == "given"}
    assert status == 0 and given == {"precision_mode": "allow_mix_precision", "hccl_timeout": 680}


@pytest.mark.parametrize("data", [b"\xff\xfe", b"precision_mode\n"], ids=["no text", "no assignment"])
def test_lines_that_are_no_options_are_one_line(data, call):
    status, out, err = call(data, "options", "-")
    assert (status, out) == (2, "") and err.startswith("error[USAGE]") and err.count("\n") == 1


def test_a_script_is_linted_under_the_name_it_is_given(call):
    assert call(WRONG.encode(), "lint", "-")[1].startswith(f"stdin.py:{SESSION.count(chr(10)) + 1}:25 W101 [!] ")
    assert call(WRONG.encode(), "lint", "-", "--stdin-filename", "src/train.py")[1].startswith("src/train.py:")
    status, out, _ = call(WRONG.encode(), "lint", "--diff", "--unsafe-fixes", "-")
    assert status == 1 and '\n+custom_op.parameter_map["mix_compile_mode"].b = True\n' in out
    assert call(SESSION.encode(), "lint", "-")[0] == 0


def test_a_mended_script_has_no_file_to_go_to(call):
    status, out, err = call(WRONG.encode(), "lint", "--fix", "-")
    assert (status, out) == (2, "") and "standard input cannot be written back" in err


def test_more_than_is_read_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"12345")))
    with pytest.raises(shared.NpuError, match="more than 4 bytes"):
        shared.read_stdin(4)
