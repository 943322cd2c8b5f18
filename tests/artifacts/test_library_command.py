"""The command that writes the built-in operator information library, and what it takes back."""

from __future__ import annotations

import json
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance import cli
from npu_conformance.protocol import schema
from npu_reference.catalog import Catalog
from npu_reference.errors import NpuError

PATH = "opp/built-in/op_impl/ai_core/tbe/config/ascend910/aic-ascend910-ops-info.json"


def ran(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["library", *map(str, arguments)])
    return ended.value.code


def test_the_file_is_where_an_installation_has_it_and_cannot_be_written(tmp_path, capsys):
    assert ran(tmp_path) == 0
    path = tmp_path / PATH
    assert stat.S_IMODE(path.stat().st_mode) == 0o444 and str(path) in capsys.readouterr().out
    assert ran(tmp_path) == 0, "what is there already is as good"


def test_a_file_that_was_edited_is_left_alone(tmp_path, capsys):
    ran(tmp_path)
    os.chmod(str(tmp_path / PATH), 0o644)
    (tmp_path / PATH).write_text("{}")
    assert ran(tmp_path) == 2 and "may be yours" in capsys.readouterr().err
    assert (tmp_path / PATH).read_text() == "{}"


def test_what_was_edited_is_taken_back(tmp_path, capsys):
    ran(tmp_path / "one", "--edition", "legacy")
    (path,) = (tmp_path / "one").rglob("aic-ascend910-ops-info.json")
    assert "op_impl/built-in" in str(path)
    told = json.loads(path.read_text())
    told["Relu"]["precision_reduce"] = {"flag": "false"}
    edited = tmp_path / "mine.json"
    edited.write_text(json.dumps(told))
    assert ran(tmp_path / "two", "--ops-info", edited) == 0
    assert json.loads((tmp_path / "two" / PATH).read_text())["Relu"]["precision_reduce"] == {"flag": "false"}


def test_the_answer_in_json_follows_its_schema(tmp_path, capsys):
    assert ran(tmp_path, "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    declared = schema.load("library")
    assert schema.fault(answer, declared, declared) is None and answer["files"] == [str(tmp_path / PATH)]


def test_a_directory_that_cannot_be_is_one_error(tmp_path, capsys):
    (tmp_path / "opp").write_text("")
    assert ran(tmp_path) == 2 and capsys.readouterr().err.startswith("error[OUTPUT]")


def asked(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(["precision", "fixtures/graphs/cases/plain_chain.pbtxt", *map(str, arguments)])
    return ended.value.code


def test_a_file_that_an_editor_gave_a_mark_and_other_line_ends_is_taken_back(tmp_path, capsys):
    ran(tmp_path)
    capsys.readouterr()
    text = (tmp_path / PATH).read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "mine.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert asked("--ops-info", tmp_path / "mine.json") == 0
    own = capsys.readouterr().out
    assert asked() == 0 and capsys.readouterr().out == own


@pytest.mark.parametrize("option", ["--ops-info", "--op-list"])
@pytest.mark.parametrize("name", ["", "missing", ".", "\udcff", "x" * 5000])
def test_a_file_that_is_none_is_refused_and_never_passed_over(capsys, option, name):
    assert asked(option, name) == 2
    told = capsys.readouterr().err
    assert told.startswith("error[OP") and told.count("\n") == 1 and "cannot be read" in told


def test_the_library_is_written_into_a_directory_that_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ran("") == 2 and "it is no path" in capsys.readouterr().err
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
def test_a_pipe_in_its_place_keeps_nobody_waiting(tmp_path, capsys):
    (tmp_path / PATH).parent.mkdir(parents=True)
    os.mkfifo(str(tmp_path / PATH))
    assert ran(tmp_path) == 2 and "may be yours" in capsys.readouterr().err


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_an_edited_library_is_read_or_refused_at_one_place(data):
    text = '{"Relu": {"precision_reduce": {"flag": "false"}, "input0": {"dtype": "float16,float"}}}'
    at = data.draw(st.integers(0, len(text)))
    word = data.draw(
        st.sampled_from(['"', "{", "}", ",", ":", "[", "\0", "NaN", "1e999", '"Relu": {},', "\ud800", "é"])
    )
    changed = text[:at] + word + text[at + data.draw(st.integers(0, 9)) :]
    try:
        Catalog.built_in().with_ops_info(changed, "mine.json")
    except NpuError as problem:
        assert problem.code == "OPS_INFO_FILE" and problem.subject.startswith("mine.json: ")
