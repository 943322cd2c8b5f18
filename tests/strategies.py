"""Hypothesis strategies for random graphs, typed and well formed.

They draw lists of the steps of `npu_conformance.strength.laws.graphs`.

Hypothesis may drop steps and lower numbers: failing graphs come out small.
"""

from __future__ import annotations

from typing import Any, List, Sequence

from hypothesis import assume
from hypothesis import strategies as st

from npu_conformance.strength.laws.graphs import DEVICE_KINDS, KINDS, REORDER, Step, build, request
from npu_reference.graphs import Graph, graph_from_def

__all__ = ["DEVICE_KINDS", "KINDS", "Step", "build", "closed_graphs", "dags", "graphs", "reordered", "steps"]


def steps(kinds: Sequence[str] = KINDS, max_size: int = 20, kept: bool = True) -> st.SearchStrategy[List[Step]]:
    """Lists of steps of these kinds; ``kept`` allows marks that keep an operator on the host."""
    pick = st.integers(0, 7)
    step = st.builds(
        Step,
        kind=st.sampled_from(list(kinds)),
        picks=st.tuples(pick, pick, pick),
        # Most operators wait for nothing and are not marked.
        after=st.sampled_from([0, 0, 0, 0, 1, 2, 5]),
        kept=st.sampled_from([False] * 7 + [True]) if kept else st.just(False),
    )
    return st.lists(step, min_size=1, max_size=max_size)


@st.composite
def graphs(draw: Any, kinds: Sequence[str] = KINDS, max_size: int = 20, kept: bool = True) -> Graph:
    """Graphs as a script builds them."""
    return build(draw(steps(kinds, max_size, kept))).build()


def dags(max_size: int = 20) -> st.SearchStrategy[Graph]:
    """Plain graphs of device and host operators."""
    return graphs(DEVICE_KINDS, max_size)


@st.composite
def closed_graphs(draw: Any, kinds: Sequence[str] = KINDS, max_size: int = 20, kept: bool = True) -> Graph:
    """Graphs as the pass sees them: all placeholders fed, and what nobody reads fetched or run."""
    reorder = st.builds(Step, kind=st.just(REORDER), picks=st.tuples(*[st.integers(0, 7)] * 3))
    order = draw(st.lists(reorder, max_size=1))
    found = request([*draw(steps(kinds, max_size, kept)), *order])
    assume(found is not None)  # the pass never sees a graph of placeholders alone
    return found.closed


@st.composite
def reordered(draw: Any, graph: Graph) -> Graph:
    """The same graph with its nodes in another order."""
    graph_def = graph.to_def()
    nodes = list(graph_def.node)
    order = draw(st.permutations(range(len(nodes))))
    del graph_def.node[:]
    graph_def.node.extend(nodes[i] for i in order)
    return graph_from_def(graph_def, subject=graph.subject)
