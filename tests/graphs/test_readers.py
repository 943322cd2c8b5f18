"""Every form of a graph file is read, told apart by what is in it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Sequence

import pytest
from google.protobuf import text_format

from npu_reference import NpuError
from npu_reference.graphs import (
    Graph,
    GraphBuilder,
    graph_from_def,
    load_graph,
    message_class,
    parse_graph,
    readers,
    textform,
)


def _graph() -> Graph:
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [2])
    g.op("Relu", "y", [x], control=[g.const("c", 1.5)])
    return g.build()


def _meta(graph: Graph, tags: Sequence[str] = (), **fields: Any) -> Any:
    meta = message_class("MetaGraphDef")()
    meta.graph_def.CopyFrom(graph.to_def())
    meta.meta_info_def.tags.extend(tags)
    meta.meta_info_def.tensorflow_version = "1.15.5"
    return meta


def _saved(*metas: Any) -> Any:
    saved = message_class("SavedModel")(saved_model_schema_version=1)
    saved.meta_graphs.extend(metas)
    return saved


def _bytes(message: Any, form: str) -> bytes:
    data = message.SerializeToString()
    if "text" in form:
        data = text_format.MessageToString(message).encode("utf-8")
    return gzip.compress(data) if "gz" in form else data


def _names(graph: Graph) -> Sequence[str]:
    return [node.name for node in graph.nodes]


@pytest.mark.parametrize("form", ["binary", "binary gz", "text", "text gz"])
@pytest.mark.parametrize("kind", ["GraphDef", "MetaGraphDef", "SavedModel"])
@pytest.mark.parametrize("name", ["graph.pb", "graph.meta", "no_ending"])
def test_a_graph_is_read_whatever_its_form_and_name(tmp_path: Path, form: str, kind: str, name: str) -> None:
    graph = _graph()
    message = {"GraphDef": graph.to_def(), "MetaGraphDef": _meta(graph), "SavedModel": _saved(_meta(graph, ["serve"]))}
    path = tmp_path / name
    path.write_bytes(_bytes(message[kind], form))
    assert _names(load_graph(path)) == ["x", "c", "y"]


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_saved_model_is_read_from_its_directory(tmp_path: Path, name: str) -> None:
    form = "text" if name.endswith("txt") else "binary"
    (tmp_path / name).write_bytes(_bytes(_saved(_meta(_graph(), ["serve"])), form))
    assert len(load_graph(str(tmp_path))) == 3


def test_a_directory_without_a_saved_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NpuError, match=r"GRAPH_FILE.*holds no saved_model\.pb"):
        load_graph(tmp_path)


class TestTags:
    def _directory(self, tmp_path: Path) -> Path:
        g = GraphBuilder()
        g.placeholder("train")
        metas = [_meta(_graph(), ["serve"]), _meta(_graph(), ["serve", "tpu"]), _meta(g.build(), ["train"])]
        (tmp_path / "saved_model.pb").write_bytes(_saved(*metas).SerializeToString())
        return tmp_path

    def test_several_graphs_need_a_tag_and_the_error_lists_them(self, tmp_path: Path) -> None:
        with pytest.raises(NpuError) as caught:
            load_graph(self._directory(tmp_path))
        assert "holds 3 graphs, tagged 'serve', 'serve,tpu', 'train'" in str(caught.value)

    def test_a_tag_chooses(self, tmp_path: Path) -> None:
        assert _names(load_graph(self._directory(tmp_path), tag="train")) == ["train"]

    def test_exactly_these_tags_win_over_more(self, tmp_path: Path) -> None:
        assert len(load_graph(self._directory(tmp_path), tag="serve")) == 3
        assert len(load_graph(self._directory(tmp_path), tag="tpu, serve")) == 3

    def test_an_unknown_tag_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(NpuError, match="none is tagged 'other'"):
            load_graph(self._directory(tmp_path), tag="other")

    def test_a_graph_def_has_no_tags(self, tmp_path: Path) -> None:
        path = tmp_path / "g.pb"
        path.write_bytes(_graph().to_bytes())
        with pytest.raises(NpuError, match="is a GraphDef and has no tag"):
            load_graph(path, tag="serve")


def test_one_node_with_a_library_is_a_graph_and_no_meta_graph(tmp_path: Path) -> None:
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("Relu", "r", [f.args["a"]]))
    g.placeholder("x")
    path = tmp_path / "g.pb"
    path.write_bytes(g.build().to_bytes())
    graph = load_graph(path)
    assert (_names(graph), list(graph.functions)) == (["x"], ["f"])


def test_fields_newer_than_the_package_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "g.pbtxt"
    path.write_text('node { name: "x" op: "NoOp" brand_new { deep: 1 deep: 2 } } also_new: "y"')
    assert _names(load_graph(path)) == ["x"]


def test_gzip_files_may_have_several_members(tmp_path: Path) -> None:
    data = _graph().to_bytes()
    path = tmp_path / "g.pb.gz"
    path.write_bytes(gzip.compress(data[:10]) + gzip.compress(data[10:]))
    assert len(load_graph(path)) == 3


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NpuError, match=r"GRAPH_FILE.*absent\.pb.*No such file"):
        load_graph(tmp_path / "absent.pb")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is empty"),
        (b"hello world", "none of its top-level fields is one of a graph"),
        (b"\x00\x01\x02\x03", "at byte 0 a field has the number 0"),
        (b"\x0a\xff\x01x", "at byte 0 field 1 is 254 bytes longer"),
        (b"\x1f\x8b\x08\x00", "gzip data is cut off"),
        (b"\x1f\x8b\x08\x00" + bytes(6) + b"\xff" * 9, "gzip data is corrupt"),
        (b"node { name: 'x' op: 'NoOp' \xff }", ":1:29: the text is not UTF-8"),
        (b"node {\n  name: x\n}", ":2:"),
        (b"node { name: 'x' op: 'NoOp'", ":1:"),
        (b"node { name: 'x' attr { key: 'T' value { i: 99999999999999999999 } } }", "1:45"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_place(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "g"
    path.write_bytes(data)
    with pytest.raises(NpuError) as caught:
        load_graph(path)
    assert caught.value.code == "GRAPH_FORMAT"
    assert message in str(caught.value)


def test_a_graph_cut_off_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "g.pb"
    path.write_bytes(_graph().to_bytes()[:-3])
    with pytest.raises(NpuError, match="no serialized GraphDef: at byte"):
        load_graph(path)


def test_text_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.pbtxt"
    path.write_text("node {" + "attr { value { func {" * 40 + "\n\n {" + "} } }" * 40 + "} }")
    with pytest.raises(NpuError, match=r"GRAPH_LIMIT.*g\.pbtxt:1:\d+.*nest deeper than 100"):
        load_graph(path)


def test_brackets_in_strings_and_comments_are_no_nesting(tmp_path: Path) -> None:
    path = tmp_path / "g.pbtxt"
    path.write_text(f"# {'{' * 200}\nnode {{ name: 'x' op: 'NoOp' device: '{'{' * 200}' }}")
    assert load_graph(path).nodes[0].device == "{" * 200


def test_a_gzip_bomb_is_stopped_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_UNPACKED_BYTES", 1 << 21)
    path = tmp_path / "bomb.pb.gz"
    path.write_bytes(gzip.compress(bytes(1 << 24)))
    with pytest.raises(NpuError, match=r"GRAPH_LIMIT.*unpacks to more than"):
        load_graph(path)


def test_a_file_beyond_the_bound_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_BYTES", 10)
    path = tmp_path / "g.pb"
    path.write_bytes(_graph().to_bytes())
    with pytest.raises(NpuError, match=r"GRAPH_LIMIT.*the bound is 10"):
        load_graph(path)


def test_text_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textform, "MAX_TEXT_BYTES", 10)
    path = tmp_path / "g.pbtxt"
    path.write_text("node { name: 'x' op: 'NoOp' }")
    with pytest.raises(NpuError, match=r"GRAPH_LIMIT.*binary form"):
        load_graph(path)


def test_a_message_of_another_pool_is_taken_over() -> None:
    class Foreign:
        """Stands for TensorFlow's own GraphDef, which shares nothing with ours but its bytes."""

        def SerializeToString(self) -> bytes:
            return _graph().to_bytes()

    assert _names(graph_from_def(Foreign())) == ["x", "c", "y"]


def test_our_own_message_is_copied() -> None:
    message = _graph().to_def()
    graph = graph_from_def(message)
    message.node[0].name = "changed"
    assert graph.nodes[0].name == "x"
    assert _names(parse_graph(graph.to_bytes())) == ["x", "c", "y"]
