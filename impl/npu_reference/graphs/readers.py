"""minimal; replaced below"""

from __future__ import annotations

import gzip
from typing import Any, Optional

from ..errors import NpuError
from .graph import Graph, assemble
from .proto import message_class


def parse_graph(data: bytes, *, subject: str = "<graph>") -> Graph:
    graph_def = message_class("GraphDef")()
    try:
        graph_def.ParseFromString(data)
    except Exception:
        raise NpuError("GRAPH_FORMAT", subject, "bad") from None
    return assemble(graph_def, subject)


def load_graph(path: Any, *, tag: Optional[str] = None) -> Graph:
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return parse_graph(data, subject=str(path))


def graph_from_def(graph_def: Any, *, subject: str = "<graph>") -> Graph:
    """A Graph of any protobuf GraphDef message, TensorFlow's own included; the message is copied."""
    own = message_class("GraphDef")()
    if isinstance(graph_def, message_class("GraphDef")):
        own.CopyFrom(graph_def)
        return assemble(own, subject)
    return parse_graph(graph_def.SerializeToString(), subject=subject)
