"""Writes graphs, the same bytes for the same graph, and never half a file."""

from __future__ import annotations

import io
import os
from typing import Any, Union

from ..errors import NpuError
from .graph import Graph
from .textout import graph_to_text

__all__ = ["write_graph", "graph_to_text"]


def write_graph(graph: Union[Graph, Any], path: Any) -> None:
    """Write a Graph or GraphDef message in the form ``path``'s ending asks for: .pb .pbtxt .pb.gz .pbtxt.gz.

    Written aside and renamed, so a reader never sees half of it. NpuError OUTPUT for another ending or an unwritable
    place.
    """
    target = os.fspath(path)
    plain = target[:-3] if target.endswith(".gz") else target
    graph_def = graph.to_def() if isinstance(graph, Graph) else graph
    if plain.endswith((".pbtxt", ".prototxt")):
        data = graph_to_text(graph_def).encode("utf-8")
    elif plain.endswith(".pb"):
        data = graph_def.SerializeToString(deterministic=True)
    else:
        raise NpuError("OUTPUT", target, "its ending is no form of a graph", "Use .pb, .pbtxt, .pb.gz or .pbtxt.gz.")
    if plain != target:
        import gzip  # here, since few who read graphs write any

        buffer = io.BytesIO()
        # Neither name nor time of writing in the header: they would change the bytes.
        with gzip.GzipFile("", "wb", 9, buffer, mtime=0) as packed:
            packed.write(data)
        data = buffer.getvalue()
    _replace(target, data)


def _replace(target: str, data: bytes) -> None:
    import tempfile  # here for the same reason

    directory = os.path.dirname(target) or "."
    aside = ""
    try:
        handle, aside = tempfile.mkstemp(prefix=".", suffix=".part", dir=directory)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        # mkstemp makes private files; give what an ordinary open would have given
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)
        os.replace(aside, target)
    except OSError as error:
        if aside and os.path.exists(aside):
            os.unlink(aside)
        raise NpuError("OUTPUT", target, f"it cannot be written: {error.strerror or error}") from None
