"""A graph that is asked about again is not read again, unless its file has changed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, List

import pytest

from npu_reference.errors import NpuError
from npu_reference.graphs import GraphBuilder, close_over, closed_graph, load_graph, remembered, write_graph


def written(path: Path, op: str = "Relu") -> Path:
    builder = GraphBuilder()
    x = builder.placeholder("x", "float32", [2])
    builder.op(op, "y", [x])
    write_graph(builder.build(), str(path))
    return path


def test_what_was_read_is_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: List[Any] = []
    real = remembered.parse_plain
    monkeypatch.setattr(remembered, "parse_plain", lambda data, subject: reads.append(subject) or real(data, subject))
    for name in ("g.pb", "g.pbtxt"):
        path = written(tmp_path / name)
        first = closed_graph(path, ["x:0"], ["y:0"])
        assert closed_graph(str(path), ["x:0"], ["y:0"]) is first and reads.pop() == str(path) and not reads
        expected = close_over(load_graph(path), ["x:0"], ["y:0"])
        assert (first.to_bytes(), first.subject) == (expected.to_bytes(), expected.subject)
        assert closed_graph(path).to_bytes() == load_graph(path).to_bytes()
        assert closed_graph(path, (), (), ["y"]).to_bytes() == close_over(load_graph(path), (), (), ["y"]).to_bytes()
        reads.clear()


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "g.pb"
    for op in ("Relu", "Neg", "Relu"):
        assert closed_graph(written(path, op), ["x:0"], ["y:0"]).node("y").op == op


def test_what_is_no_small_plain_file_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "g.pb.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "g.pb").read_bytes()))
    assert closed_graph(packed).to_bytes() == closed_graph(tmp_path / "g.pb").to_bytes()
    assert closed_graph(packed) is not closed_graph(packed)
    monkeypatch.setattr(remembered, "_LARGEST", 10)
    assert closed_graph(tmp_path / "g.pb") is not closed_graph(tmp_path / "g.pb")


@pytest.mark.parametrize("content", [None, b"", b"\n", b"no graph", b'node { name: "a" op: "Nonesuch" }'])
def test_what_is_refused_is_refused_each_time_in_the_same_words(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "g.pbtxt"
    if content is not None:
        path.write_bytes(content)
    said = []
    for read in (load_graph, closed_graph, closed_graph):
        with pytest.raises(NpuError) as caught:
            read(path)
        said.append(str(caught.value))
    assert said == said[:1] * 3
