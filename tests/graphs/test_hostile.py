"""Whatever a file holds, reading it gives a graph or one NpuError."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npu_reference import NpuError
from npu_reference.graphs import (
    GraphBuilder,
    close_over,
    frames,
    infer_shapes,
    load_graph,
    message_class,
    parse_graph,
    readers,
    textform,
)
from npu_reference.graphs.graph import bytes_of
from npu_reference.graphs.readers import _graph, _unpack


def _message() -> Any:
    g = GraphBuilder()
    f = g.function("f", {"a": "float32"}, {"b": "float32"})
    f.returns(b=f.op("Relu", "r", [f.args["a"]]))
    x = g.placeholder("x", "float32", [2, None])
    g.op("f", "call", [x])
    g.py_func("p", [x], ["string"])
    start = g.const("start", [1, 2])
    g.while_loop("w", [start], lambda n: g.op("Identity", "c", [g.const("t", True, control=[n])]), lambda n: [n])
    return g.to_def()


def _saved() -> bytes:
    saved = message_class("SavedModel")(saved_model_schema_version=1)
    saved.meta_graphs.add().graph_def.CopyFrom(_message())
    return saved.SerializeToString()


_BINARY = _message().SerializeToString(deterministic=True)
_TEXT = text_format.MessageToString(_message()).encode("utf-8")
_SEEDS = [_BINARY, _TEXT, _saved(), gzip.compress(_BINARY)]


def _use(data: bytes) -> None:
    """Read and ask everything; only NpuError may come out, with a message of one line and bounded length."""
    try:
        graph = _graph(_unpack(data, "g"), "g", None)
        for node in graph.nodes:
            graph.output_dtypes(node.id)
            graph.static_bytes(node.id, 0)
            dict(node.attrs)
        for function in graph.functions.values():
            function.body  # noqa: B018
        frames(graph)
        close_over(graph, [], [], [node.name for node in graph.nodes])
    except NpuError as error:
        text = str(error)
        assert "\n" not in text
        assert len(text) < 1000


@settings(max_examples=150)
@given(seed=st.sampled_from(_SEEDS), share=st.floats(0, 1))
def test_a_file_cut_off_anywhere(seed: bytes, share: float) -> None:
    _use(seed[: int(len(seed) * share)])


@settings(max_examples=300)
@given(
    seed=st.sampled_from(_SEEDS),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_bytes_changed_anywhere(seed: bytes, flips: Any) -> None:
    data = bytearray(seed)
    for share, value in flips:
        data[int(len(data) * share)] = value
    _use(bytes(data))


@settings(max_examples=150)
@given(data=st.binary(max_size=200))
@example(b"\x0a")
@example(b"\x08\x01")
@example(b"\x08\x01\x12\x00\x12\x00")
@example(b"node")
@example(b"node {" * 200)
@example(b"node { name: '\\777\\xzz' }")
@example(b"node { attr { value { f: 1e999 } } }")
@example(b"node < name: 'a' op: 'NoOp' >")
@example(b"node: [ { name: 'a' op: 'NoOp' } ]")
def test_random_bytes(data: bytes) -> None:
    _use(data)
    _use(b"\x1f\x8b" + data)


@settings(max_examples=100)
@given(text=st.text(alphabet="node{}<>[]:'\"#\\ \nameopi0123x_-.,;", max_size=120))
def test_random_text(text: str) -> None:
    _use(b"node { " + text.encode("utf-8"))


@settings(max_examples=60)
@given(name=st.text(max_size=12), op=st.text(max_size=8), text=st.text(max_size=12))
def test_random_names(name: str, op: str, text: str) -> None:
    graph_def = message_class("GraphDef")()
    graph_def.node.add(name="a", op="NoOp")
    try:
        graph_def.node.add(name=name, op=op, input=[text])
    except UnicodeError:  # lone surrogates are no text to protocol buffers
        return
    _use(graph_def.SerializeToString())


def test_a_message_nested_too_deeply_in_binary_form() -> None:
    inner = b""
    for _ in range(300):
        inner = b"\x52" + _length(b"\x12" + _length(b"\x0a\x01k\x12" + _length(inner)))  # func.attr.value…
    node = b"\x0a\x01a\x12\x04NoOp\x2a" + _length(b"\x0a\x01k\x12" + _length(inner))
    _use(b"\x0a" + _length(node))


def _length(data: bytes) -> bytes:
    size, prefix = len(data), b""
    while size > 0x7F:
        prefix += bytes([size & 0x7F | 0x80])
        size >>= 7
    return prefix + bytes([size]) + data


def test_reading_what_is_no_file(tmp_path: Any) -> None:
    for path in (tmp_path / ("x" * 300), str(tmp_path / "a\0b"), tmp_path / "absent" / "g.pb", bytes(tmp_path)):
        try:
            load_graph(path)
        except NpuError as error:
            assert error.code == "GRAPH_FILE"
        else:
            raise AssertionError(path)


def test_parse_graph_takes_graph_defs_only() -> None:
    assert len(parse_graph(_BINARY)) > 5


def test_a_string_that_is_never_closed_is_named_without_a_stack_that_grows_with_it() -> None:
    # One that is matched whole keeps fifty bytes for each of these characters.
    for inside in (b"x" * (1 << 20), b"\\x" * (1 << 19), b"\\" * ((1 << 20) + 1)):
        for quote in (b'"', b"'"):
            tracemalloc.start()
            with pytest.raises(NpuError) as caught:
                _graph(b"node {\n  name: " + quote + inside, "g.pbtxt", None)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert str(caught.value) == "[GRAPH_FORMAT] g.pbtxt:2:9: a string is not closed on its line"
            assert most < 8 << 20


def test_a_string_longer_than_the_bound_is_to_be_saved_in_binary_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textform, "MAX_TEXT_STRING", 1 << 16)
    with pytest.raises(
        NpuError, match=r"GRAPH_LIMIT\] g:1:14: a string has more than 65536 characters. Save it in binary"
    ):
        _graph(b'node { name: "' + b"\\101" * (1 << 15) + b'" }', "g", None)
    short = b'node { name: "' + b"\\101" * (1 << 12) + b'" op: "NoOp" device: \'"\\\'#{\' }  # "'
    assert _graph(short, "g", None).nodes[0].name == "A" * (1 << 12)


def test_blanks_without_end_are_stopped_at_the_bound_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_TEXT_BYTES", 1 << 22)
    bomb = gzip.compress(b" " * (1 << 26))
    tracemalloc.start()
    with pytest.raises(NpuError, match="unpacks to more than 4194304 bytes"):
        _unpack(bomb, "g")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 16 << 20


def test_a_shape_attribute_that_is_a_function_states_no_shape() -> None:
    message = message_class("GraphDef")()
    node = message.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    node.attr["shape"].func.name = "f"
    graph = parse_graph(message.SerializeToString())
    assert graph.static_shape(0, 0) is None
    assert graph.static_bytes(0, 0) is None


def test_sizes_beyond_64_bits_are_unknown_and_never_multiplied_out() -> None:
    g = GraphBuilder()
    x = g.placeholder("x", "float32", [1 << 62] * 20000)
    g.op("Reshape", "flat", [x, g.const("size", [-1])])
    g.op("Relu", "relu", [x])
    graph = g.build()
    shapes = infer_shapes(graph)
    for name in ("x", "flat", "relu"):
        assert graph.static_bytes(graph.index[name], 0) is None
        assert shapes.bytes(graph.index[name], 0) is None
    assert bytes_of(4, [0, 1 << 62, 1 << 62]) == 0
    assert bytes_of(4, [1 << 60]) == 1 << 62
    assert bytes_of(4, [1 << 61]) is None
