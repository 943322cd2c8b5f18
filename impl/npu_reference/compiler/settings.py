"""Which of the options decide what is compiled and scheduled, for one graph."""

from __future__ import annotations

from typing import Optional

from npu_reference.graphs import ITERATIONS_MARK, Graph
from npu_reference.options.resolution import Resolution
from npu_reference.options.typed import CompilerSettings

__all__ = ["settings_of"]


def settings_of(resolution: Resolution, graph: Optional[Graph] = None) -> CompilerSettings:
    """The settings that effective options stand for, for a graph that may say how often it runs in a launch.

    On the session surface set_iteration_per_loop alone makes a loop, by a mark on the operation that it returns; the
    option is there to verify it (session.iterations_per_loop.set_by_api).
    """
    asked = (
        [] if graph is None else [node.attr(ITERATIONS_MARK) for node in graph.nodes if node.has_attr(ITERATIONS_MARK)]
    )
    marked = [number for number in asked if isinstance(number, int)]
    settings = resolution.typed.compiler
    return settings._replace(loops=max(*marked, 1)) if marked else settings
