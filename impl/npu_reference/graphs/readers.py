"""Reads graphs from files: tells the forms apart by their content and gives a checked Graph or one NpuError."""

from __future__ import annotations

import functools
import os
import re
import warnings
import zlib
from typing import Any, Iterable, Optional, Tuple

from ..errors import NpuError
from .graph import Graph, assemble
from .limits import MAX_BYTES, MAX_TEXT_BYTES, MAX_UNPACKED_BYTES
from .names import shorten
from .printed import read_printed
from .proto import message_class
from .textform import decode, looks_like_text, parse_text, top_level_names
from .wire import BrokenWire, broken_at, fields

__all__ = ["graph_from_def", "load_graph", "parse_graph", "parse_plain"]

_FORMS = "A graph is a GraphDef, MetaGraphDef or SavedModel, as .pb or .pbtxt, either also as .gz."

_UNPACKED = "Unpack it; a .pb may be larger."

_SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")

_BLANK = re.compile(rb"\s*\Z").match  # without the copy that strip makes

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20

#: Texts no longer than this are remembered in binary form: reading text takes a hundred times as long (assumed).
_REMEMBERED = 64 << 10

#: MetaGraphDef.object_graph_def; none of the three messages has a field beyond.
_LAST_FIELD = 7

#: Field names that only one of the messages has at its top level.
_TEXT_NAMES = {
    "GraphDef": ("node", "library", "versions", "version"),
    "MetaGraphDef": ("meta_info_def", "graph_def", "saver_def", "collection_def", "signature_def", "asset_file_def"),
    "SavedModel": ("saved_model_schema_version", "meta_graphs"),
}


def load_graph(path: Any, *, tag: Optional[str] = None) -> Graph:
    """The graph in a file, or in a SavedModel's directory.

    Args:
        path: .pb, .pbtxt, .meta, either gzipped, or a SavedModel's directory; the content decides, not the name.
        tag: which graph of a SavedModel that has several; several tags separated by commas.

    Raises NpuError GRAPH_FILE, GRAPH_FORMAT, GRAPH_LIMIT, and what checking the graph raises (``graph.assemble``).
    """
    subject = os.fspath(path)
    if isinstance(subject, bytes):
        subject = os.fsdecode(subject)
    if "\0" in subject:
        raise NpuError("GRAPH_FILE", shorten(subject), "a file's name cannot hold a zero byte")
    place = _saved_model_file(subject) if os.path.isdir(subject) else subject
    return _graph(_unpack(_read(place), place), place, tag)


def parse_plain(data: bytes, subject: str) -> Graph:
    """A checked Graph of what a file of any form but gzip holds; raises as :func:`load_graph`."""
    return _graph(data, subject, None)


def parse_graph(data: bytes, *, subject: str = "<graph>") -> Graph:
    """A checked Graph of a serialized GraphDef; raises as :func:`load_graph`."""
    return assemble(_parse_binary(data, "GraphDef", subject), subject)


def graph_from_def(graph_def: Any, *, subject: str = "<graph>") -> Graph:
    """A checked Graph of any protobuf GraphDef message, TensorFlow's own included, which is copied."""
    own = message_class("GraphDef")
    if isinstance(graph_def, own):
        copy = own()
        copy.CopyFrom(graph_def)
        return assemble(copy, subject)
    return parse_graph(graph_def.SerializeToString(), subject=subject)


def _saved_model_file(directory: str) -> str:
    for name in _SAVED_MODEL_FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    raise NpuError("GRAPH_FILE", directory, "the directory holds no saved_model.pb or saved_model.pbtxt")


def _read(path: str) -> bytes:
    try:
        size = os.stat(path).st_size
        if size > MAX_BYTES:
            raise NpuError("GRAPH_LIMIT", path, f"the file has {size} bytes, the bound is {MAX_BYTES}")
        with open(path, "rb") as stream:
            # A device or pipe has no size to look at, so the bound holds for reading too.
            data = stream.read(MAX_BYTES + 1) if size == 0 else stream.read()
    except OSError as error:
        raise NpuError("GRAPH_FILE", path, f"it cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise NpuError("GRAPH_LIMIT", path, f"the file has more than {MAX_BYTES} bytes")
    return data


def _unpack(data: bytes, subject: str) -> bytes:
    """The content of a gzip file of one or more members; anything else as it is."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    unpacked: Any = bytearray()  # grows in place: parts and what they are joined to would be twice as much
    while data.startswith(_GZIP_MAGIC):
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            try:
                part = member.decompress(data, _CHUNK)
            except zlib.error as error:
                reason = f"the gzip data is corrupt after {len(unpacked)} unpacked bytes: {error}"
                raise NpuError("GRAPH_FORMAT", subject, reason) from None
            unpacked += part
            bound = MAX_TEXT_BYTES if looks_like_text(unpacked) else MAX_UNPACKED_BYTES
            if len(unpacked) > bound:
                raise NpuError("GRAPH_LIMIT", subject, f"it unpacks to more than {bound} bytes", _UNPACKED)
            data = member.unconsumed_tail
            if not part and not data and not member.eof:
                reason = f"the gzip data is cut off after {len(unpacked)} unpacked bytes"
                raise NpuError("GRAPH_FORMAT", subject, reason)
        data = member.unused_data
    return unpacked


def _graph(data: bytes, subject: str, tag: Optional[str]) -> Graph:
    name, message = _parse_any(data, subject)
    if name == "SavedModel":
        return assemble(_choose(message.meta_graphs, subject, tag).graph_def, subject)
    if tag is not None and name == "GraphDef":
        raise NpuError("GRAPH_FORMAT", subject, f"it is a GraphDef and has no tag '{shorten(tag)}'")
    if name == "MetaGraphDef":
        message = (message if tag is None else _choose([message], subject, tag)).graph_def
    return assemble(message, subject)


def _parse_any(data: bytes, subject: str) -> Tuple[str, Any]:
    """The name of the message ``data`` holds and the message, told by the content."""
    if _BLANK(data):
        # An empty message is a graph without nodes to protocol buffers, and a failed copy to everybody else.
        raise NpuError("GRAPH_FORMAT", subject, "it is empty", _FORMS)
    if looks_like_text(data):
        found = _parse_short_text(bytes(data)) if len(data) <= _REMEMBERED else None
        if found is not None:
            message = message_class(found[0])()
            message.ParseFromString(found[1])
            return found[0], message
        parsed = _parse_text(data, subject)
        if parsed is not None:
            return parsed
    form = _binary_form(data)
    if form is None:
        raise NpuError("GRAPH_FORMAT", subject, _why_not_binary(data), _FORMS)
    return form, _parse_binary(data, form, subject)


def _parse_text(data: bytes, subject: str) -> Optional[Tuple[str, Any]]:
    """The name of the message in text form and the message; None where no field at its top is one of a graph."""
    text = decode(data, subject)
    graph = message_class("GraphDef")()
    given = read_printed(text, graph)
    if given is not None and not given.isdisjoint(_TEXT_NAMES["GraphDef"]):
        return "GraphDef", graph
    names = top_level_names(text, subject)
    for name, own in _TEXT_NAMES.items():
        if any(field in own for field in names):
            return name, parse_text(text, message_class(name)(), subject)
    return None


@functools.lru_cache(maxsize=256)
def _parse_short_text(data: bytes) -> Optional[Tuple[str, bytes]]:
    """The name of the message in text form and its binary form: by the content alone, and nothing that could change.

    None for what is no such text: who wants to know why reads it again.
    """
    try:
        parsed = _parse_text(data, "")
        return None if parsed is None else (parsed[0], parsed[1].SerializeToString(deterministic=True))
    except (NpuError, ValueError):
        return None


def _why_not_binary(data: bytes) -> str:
    if looks_like_text(data):
        return "it is text, and none of its top-level fields is one of a graph"
    broken = broken_at(data)
    if broken is not None:
        return f"it is no serialized graph: at byte {broken.offset} {broken}"
    return "it is no serialized graph"


def _binary_form(data: bytes) -> Optional[str]:
    """Which message the first fields make this; None where they make it none.

    A GraphDef repeats field 1, its nodes, of which each names an operator in its field 2. A MetaGraphDef has one field
    1, about itself, and one field 2, a GraphDef. A SavedModel begins with a number and repeats MetaGraphDefs.
    """
    ones = twos = 0
    two = b""
    try:
        for field in fields(data):
            if field.number == 1 and field.wire_type == 0:
                return "SavedModel"
            if field.number > _LAST_FIELD:
                return None
            if field.wire_type == 2 and field.number == 1:
                ones += 1
            elif field.wire_type == 2 and field.number == 2:
                twos += 1
                two = data[field.start : field.end]
            if ones > 1:
                return "GraphDef"
    except BrokenWire:
        return "GraphDef" if ones and not twos else None
    # A GraphDef of a single node with a function library has the same fields.
    if twos == 1 and (_is_graph(two) or (ones and not _is_graph(data))):
        return "MetaGraphDef"
    return "GraphDef"


def _is_graph(data: bytes) -> bool:
    """Whether the first field 1 looks like a node: a message with a name and an operator."""
    try:
        for field in fields(data):
            if field.number == 1 and field.wire_type == 2:
                seen = {inner.number for inner in fields(data[field.start : field.end]) if inner.wire_type == 2}
                return {1, 2} <= seen
    except BrokenWire:
        pass
    return False


def _parse_binary(data: bytes, name: str, subject: str) -> Any:
    from google.protobuf.message import DecodeError

    message = message_class(name)()
    data = bytes(data)
    try:
        with warnings.catch_warnings(record=True) as stopped:
            # protobuf 3 merely warns where it stops in the middle
            warnings.simplefilter("always", RuntimeWarning)
            message.ParseFromString(data)
        whole = not stopped
    except (DecodeError, UnicodeError, ValueError, TypeError):
        whole = False
    if not whole:
        broken = broken_at(data)
        where = f"at byte {broken.offset} {broken}" if broken else "a message within is cut off or corrupt"
        raise NpuError("GRAPH_FORMAT", subject, f"it is no serialized {name}: {where}", _FORMS)
    return message


def _choose(meta_graphs: Iterable[Any], subject: str, tag: Optional[str]) -> Any:
    """The MetaGraphDef whose tags are those asked for, or the only one."""
    candidates = list(meta_graphs)
    if not candidates:
        raise NpuError("GRAPH_FORMAT", subject, "the SavedModel holds no graph")
    if tag is None and len(candidates) == 1:
        return candidates[0]
    names = [",".join(sorted(candidate.meta_info_def.tags)) for candidate in candidates]
    listed = ", ".join(f"'{shorten(name)}'" for name in names)
    if tag is None:
        reason = f"the SavedModel holds {len(names)} graphs, tagged {listed}"
        raise NpuError("GRAPH_FORMAT", subject, reason, "Say which by its tags.")
    wanted = {part.strip() for part in tag.split(",")}
    exact = [c for c in candidates if set(c.meta_info_def.tags) == wanted]
    chosen = exact or [c for c in candidates if wanted <= set(c.meta_info_def.tags)]
    if len(chosen) != 1:
        how = "none is" if not chosen else f"{len(chosen)} are"
        raise NpuError("GRAPH_FORMAT", subject, f"it holds graphs tagged {listed}; {how} tagged '{shorten(tag)}'")
    return chosen[0]
