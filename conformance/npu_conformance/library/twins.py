"""Makes the twin of a case whose answer must not depend on names or node order, and reads its answer back."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from typing import Any, Callable, Container, Dict, List, Mapping, NamedTuple, Optional, Tuple

from npu_conformance.files import descriptors

__all__ = ["Twin", "make", "rename"]

#: A name no graph of a case has, found again wherever a backend builds another name around it.
_TOKEN = re.compile(r"zq(\d{7})z")
_KEPT = ("_arg_", "_retval_")  # names the adapter reads a meaning from
_QUOTED = re.compile(r"(['\"])([^'\"]+)\1")


class Twin(NamedTuple):
    """A rewritten graph, how to rewrite what names its nodes, and how to read an answer back."""

    graph: str
    names: Mapping[str, str]
    originals: List[str]

    def forward(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        """The parameters of the case with the twin's graph and names; tensors stay the same objects."""
        found = dict(params)
        found["graph"] = self.graph
        for key in ("fetches", "init"):
            if key in found:
                found[key] = [self._port(name) for name in found[key]]
        feeds = found.get("feeds")
        if isinstance(feeds, dict):
            found["feeds"] = {self._port(name): tensor for name, tensor in feeds.items()}
        elif feeds is not None:
            found["feeds"] = [self._port(name) for name in feeds]
        if "shapes" in found:
            found["shapes"] = {self._port(name): shape for name, shape in found["shapes"].items()}
        if "faults" in found:
            found["faults"] = [
                {**fault, "node": self._port(fault["node"])} if "node" in fault else fault for fault in found["faults"]
            ]
        pairs = found["values"].get("in_out_pair")
        if isinstance(pairs, str):
            text = _QUOTED.sub(lambda match: match[1] + self.names.get(match[2], match[2]) + match[1], pairs)
            found["values"] = {**found["values"], "in_out_pair": text}
        return found

    def back(self, value: Any) -> Any:
        """``value`` with the twin's names replaced by the case's, in every text and key."""
        if isinstance(value, str):
            return _TOKEN.sub(self._original, value)
        if isinstance(value, dict):
            return {self.back(key): self.back(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.back(item) for item in value]
        return value

    def _port(self, name: str) -> str:
        node, colon, slot = name.partition(":")
        return self.names.get(node, node) + colon + slot

    def _original(self, match: re.Match[str]) -> str:
        number = int(match[1])
        return self.originals[number] if number < len(self.originals) else match[0]


def make(kind: str, graph: str, folder: Optional[str] = None) -> Twin:
    """The twin of a graph file.

    Args:
        kind: ``rename`` or ``reorder``.
        graph: path of the graph.
        folder: where the rewritten graph is written; without it, only :meth:`Twin.back` is of use.
    Raises:
        NpuError: GRAPH_* when the graph cannot be read.
    """
    content, names, originals = _rewritten(kind, graph, _signs(graph))
    path = ""
    if folder is not None:
        path = os.path.join(folder, kind + (".pbtxt" if _is_text(graph) else ".pb"))
        descriptors.write(path, content)
    return Twin(path, names, originals)


def _signs(graph: str) -> bytes:
    """The digest of a graph's file; nothing of what is none, which reading it says."""
    try:
        with open(graph, "rb") as stream:
            return hashlib.sha256(stream.read()).digest()
    except OSError:
        return b""


@functools.lru_cache(maxsize=128)
def _rewritten(kind: str, graph: str, digest: bytes) -> Tuple[bytes, Mapping[str, str], List[str]]:
    """The twin's file, and its names: editions and cases ask about the same graphs."""
    from npu_reference.graphs import load_graph

    definition = load_graph(graph).to_def()
    names, originals = _REWRITES[kind](definition)
    return _bytes(definition, _is_text(graph)), names, originals


def _is_text(path: str) -> bool:
    return path.endswith((".pbtxt", ".pbtxt.gz"))


def _bytes(definition: Any, text: bool) -> bytes:
    """The twin in the form of its original: a backend may read only one."""
    if not text:
        content: bytes = definition.SerializeToString(deterministic=True)
        return content
    from google.protobuf import text_format

    return text_format.MessageToString(definition).encode("utf-8")


def rename(definition: Any, kept: Container[str] = ()) -> Tuple[Dict[str, str], List[str]]:
    """Rename the nodes of a GraphDef, but for `kept`: in alphabetical order the new names are in reverse node order.

    Returns (old name to new, the old names in the order of the numbers in the new ones).
    """
    originals = [node.name for node in definition.node][::-1]
    names = {
        name: f"zq{number:07d}z"
        for number, name in enumerate(originals)
        if not name.startswith(_KEPT) and name not in kept
    }
    for node in definition.node:
        node.name = names.get(node.name, node.name)
        for position, text in enumerate(node.input):
            node.input[position] = _input(text, names)
        if "_class" in node.attr:
            entries = node.attr["_class"].list.s
            for position, entry in enumerate(entries):
                entries[position] = _colocation(entry, names)
    return names, originals


def _input(text: str, names: Mapping[str, str]) -> str:
    control = "^" if text.startswith("^") else ""
    node, colon, slot = text[len(control) :].partition(":")
    return control + names.get(node, node) + colon + slot


def _colocation(entry: bytes, names: Mapping[str, str]) -> bytes:
    prefix = b"loc:@"
    if not entry.startswith(prefix):
        return entry
    name = entry[len(prefix) :].decode("utf-8", "surrogateescape")
    return prefix + names.get(name, name).encode("utf-8", "surrogateescape")


def _reorder(definition: Any) -> Any:
    """The nodes in reverse order."""
    nodes = list(definition.node)[::-1]
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del definition.node[:]
    definition.node.extend(copies)
    return {}, []


_REWRITES: Dict[str, Callable[[Any], Any]] = {"rename": rename, "reorder": _reorder}
