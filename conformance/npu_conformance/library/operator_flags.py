"""What the documents leave to the hardware, in the operator information of a case: lists and kernels of operators."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from npu_conformance.files import resources
from npu_reference.errors import NpuError

__all__ = ["kernels_of", "operator_flags", "with_flags", "with_kernels", "with_kernels_of"]

#: Operator information with the lists of all operators, which the documents leave to the hardware (003 L415).
_FLAGS = "operator_flags.json"


@functools.lru_cache(maxsize=1)
def operator_flags() -> Mapping[str, Any]:
    """The list of every operator, by operator, as operator information has it."""
    with open(os.path.join(resources.fixtures(), _FLAGS), encoding="utf-8") as stream:
        flags: Mapping[str, Any] = json.load(stream)
    return flags


@functools.lru_cache(maxsize=None)
def with_flags(text: str) -> str:
    """Operator information with the list of every operator that it says nothing of; as it is where it is malformed."""
    own = _read(text)
    return text if own is None else json.dumps({**operator_flags(), **own}, indent=0) + "\n"


def _read(text: str) -> Optional[Dict[str, Any]]:
    """What a text of operator information says; None where it is malformed."""
    pairs: List[List[Tuple[str, Any]]] = []

    def kept(members: List[Tuple[str, Any]]) -> Dict[str, Any]:
        pairs.append(members)
        return dict(members)

    try:
        own = json.loads(text, object_pairs_hook=kept)
    except ValueError:
        return None
    return own if isinstance(own, dict) and all(len(dict(members)) == len(members) for members in pairs) else None


def kernels_of(ops: Iterable[str]) -> Dict[str, Any]:
    """Operator information with the kernels and lists of what operators become, before and after graph fusion."""
    catalog = _built_in()
    known = filter(None, map(catalog.get, ops))
    names = {kernel.ge_op for one in known for kernel in (one, one.after_fusion()) if kernel.columns}
    return {name: _entries()[name] for name in sorted(names & _entries().keys())}


def with_kernels(text: str, path: str) -> str:
    """Operator information with the kernels of a graph's operators, of which it gives none (003 L459)."""
    from npu_reference.graphs import load_graph

    try:
        graph = load_graph(path)
    except NpuError:
        return text  # it is refused
    return with_kernels_of(text, graph.nodes, graph.empty_def().library)


def with_kernels_of(text: str, nodes: Iterable[Any], functions: Any) -> str:
    """The same of nodes and of a FunctionDefLibrary."""
    own = _read(text)
    if own is None or not all(isinstance(entry, dict) for entry in own.values()):
        return text
    bodies = (node.op for function in functions.function for node in function.node_def)
    for name, entry in kernels_of({*(node.op for node in nodes), *bodies}).items():
        given = own.get(name)
        if given is None:
            own[name] = entry
        elif not any("put" in key for key in given):  # what it leaves out of the rest is left out
            own[name] = {**given, **{key: tensor for key, tensor in entry.items() if "put" in key}}
    return json.dumps(own, indent=0) + "\n"


@functools.lru_cache(maxsize=1)
def _built_in() -> Any:
    from npu_reference.catalog import Catalog

    return Catalog.built_in()


@functools.lru_cache(maxsize=1)
def _entries() -> Mapping[str, Any]:
    from npu_reference.artifacts import library  # which brings the compiler along

    entries: Mapping[str, Any] = library.entries(_built_in())
    return entries
