"""A backend that repeats what it is given and does nothing: what it passes, a verdict says little about."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.library.case import Instance
from npu_conformance.library.library import Library
from npu_conformance.observing.values import unwrapped
from npu_conformance.strength import hosting
from npu_reference.graphs import load_graph

__all__ = ["EchoBackend", "KnowingEcho", "Passed", "passed"]


#: What it answers; the other methods would be the reference's own.
_METHODS = ("options", "partition", "precision")


class EchoBackend(ReferenceBackend):
    """Claims what the reference claims: what is given is effective, every operator on the device at its dtypes."""

    name = "echo"

    def options(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        given = {name: unwrapped(value) for name, value in params["values"].items()}
        effective = {name: {"value": value, "origin": "given"} for name, value in given.items()}
        return {"effective": effective, "warnings": [], "meaning": dict(given), "directives": dict(given), "notes": []}

    def partition(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        names = [node.name for node in load_graph(params["graph"]).nodes]
        geops = [{"name": "all", "nodes": names, "args": [], "rets": [], "copies": []}] if names else []
        return {"geops": geops, "host": [], "borders": [], "min_geops": len(geops), "notes": []}

    def precision(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        graph = load_graph(params["graph"])
        nodes = [
            {
                "node": node.name,
                "inputs": [dtype.base.name for dtype in graph.input_dtypes(node.id)],
                "outputs": [dtype.base.name for dtype in graph.output_dtypes(node.id)],
            }
            for node in graph.nodes
        ]
        return {"nodes": nodes, "casts": [], "warnings": []}


class Passed(NamedTuple):
    """How many instances of an area were asked, and how many the echo passes."""

    asked: int
    passed: int


class KnowingEcho(EchoBackend):
    """An echo that also knows three defaults by heart."""

    name = "knowing echo"

    def options(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        answer = super().options(params)
        for name in ("is_tailing_optimization", "mix_compile_mode", "dynamic_input"):
            answer["effective"].setdefault(name, {"value": False, "origin": "default"})
        return answer


def passed(
    library: Library, instances: Sequence[Instance], folder: str, echo: Optional[EchoBackend] = None
) -> Dict[str, Passed]:
    """Area to what an echo passes, of the instances as written that need no TensorFlow."""
    panel = hosting.Panel([one for one in instances if not one.twin and one.case.method in _METHODS], folder)
    echo = echo or EchoBackend()
    found: Dict[str, Passed] = {}
    for one in panel.sound:
        before = found.get(one.case.area, Passed(0, 0))
        result = panel.result(echo, one)
        found[one.case.area] = Passed(before.asked + 1, before.passed + (result is None or result.status == "pass"))
    return found


def _main() -> None:
    from npu_conformance.files import scratch
    from npu_conformance.library import library

    shelf, folder = library.load(), scratch.Scratch("npu-conformance-")
    try:
        found = passed(shelf, shelf.instances(), folder.path)
    finally:
        folder.close()
    for area, one in sorted(found.items()):
        print(f"{area}: {one.passed} of {one.asked}")
    print(f"all: {sum(one.passed for one in found.values())} of {sum(one.asked for one in found.values())}")


if __name__ == "__main__":
    _main()
