"""Graphs are written whole or not at all, and the same graph gives the same bytes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npu_reference import NpuError
from npu_reference.graphs import Graph, GraphBuilder, load_graph, write_graph


def _graph() -> Graph:
    g = GraphBuilder()
    g.op("Relu", "y", [g.placeholder("x", "float32", [2])], attrs_={"_z": 1, "_a": "é\n"})
    return g.build()


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt", "g.pb.gz", "g.pbtxt.gz"])
def test_what_is_written_reads_back_as_the_same_graph(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_graph(_graph(), path)
    first = path.read_bytes()
    assert load_graph(path).to_bytes() == _graph().to_bytes()
    write_graph(_graph().to_def(), str(path))
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == [name]


def test_an_ending_that_is_no_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NpuError, match=r"OUTPUT.*Use \.pb"):
        write_graph(_graph(), tmp_path / "g.txt")
    assert not os.listdir(tmp_path)


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "g.pb").mkdir()
    for target in (tmp_path / "g.pb", tmp_path / "absent" / "g.pb"):
        with pytest.raises(NpuError, match=r"OUTPUT.*cannot be written"):
            write_graph(_graph(), target)
    assert os.listdir(tmp_path) == ["g.pb"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    write_graph(_graph(), tmp_path / "g.pb")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "g.pb").stat().st_mode == (tmp_path / "other").stat().st_mode
