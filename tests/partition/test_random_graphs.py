"""Random graphs keep every law, and those that break one are found and made small."""

from __future__ import annotations

import collections

import pytest

from npu_conformance.strength.laws.graphs import KINDS, REORDER, Step, draw, request
from npu_conformance.strength.laws.shrink import shrink
from npu_reference.partition.policies import adapter
from tests.depth import share
from tests.partition import lawful

pytestmark = pytest.mark.not_oldest

_BUDGET = share(150, 2000)


def test_random_graphs_keep_every_law():
    counts = collections.Counter()
    for number in range(_BUDGET):
        asked = request(draw(f"ci/{number}"))
        if asked is not None:
            lawful.examine(asked, number, counts)
    # The budget says something only if what it met is of every sort.
    assert counts["graphs with several GEOPs"] > _BUDGET / 8
    assert counts["compared with the transcription"] > _BUDGET * 0.6
    for reason in ("FRAME", "CONDITIONAL", "REF_EDGE", "RESOURCE_EDGE", "STRING_EDGE", "FUNCTION", "HOST_CONST"):
        assert counts[f"host because {reason}"], reason


def test_a_seed_draws_the_graph_it_has_always_drawn():
    # In every version of Python, and in later ones of this program: reports name graphs by their seeds.
    assert draw("0/0")[:2] == [Step("outputs", (3, 4, 6), after=5), Step("unary", (1, 1, 6), kept=True)]
    assert {step.kind for number in range(200) for step in draw(f"0/{number}")} == {*KINDS, REORDER}


def test_a_partition_unlike_the_transcription_is_found(monkeypatch):
    plan = adapter.plan

    def first_alone(graph, *rest):
        made = plan(graph, *rest)
        apart = max(made.group, default=-1) + 1
        return made._replace(group=[apart if node == made.group.index(0) else home for node, home in
                                    enumerate(made.group)] if 0 in made.group else made.group)  # fmt: skip

    monkeypatch.setattr(adapter, "plan", first_alone)
    with pytest.raises(lawful.Broken, match="transcription"):
        for number in range(20):
            asked = request(draw(f"ci/{number}"))
            if asked is not None:
                lawful.examine(asked, number, collections.Counter())


def test_shrinking_leaves_only_what_a_fault_needs():
    steps = [Step("while", (3, 4, 5)), *[Step("unary", (i, 7, 2), after=2, kept=True) for i in range(9)]]
    steps.insert(4, Step("host", (5, 6, 7), kept=True))

    def fails(some):
        return any(step.kind == "host" for step in some) and any(step.kind == "while" for step in some)

    assert shrink(steps, fails) == [Step("while", (0, 0, 0)), Step("host", (0, 0, 0))]


def test_shrinking_asks_no_more_often_than_it_may():
    asked = []

    def fails(some):
        asked.append(tuple(some))
        return True

    shrink(draw("0/3"), fails, budget=7)
    assert len(asked) <= 7 and len(set(asked)) == len(asked)
