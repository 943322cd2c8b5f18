"""The order that contraction keeps: like a plain list, and cheap where everything is put into one place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_reference.partition.clustering import ordering
from npu_reference.partition.clustering.ordering import OrderList

MOVES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=60)


@pytest.fixture(params=[1 << 40, 4], ids=["wide gaps", "narrow gaps"])
def gap(request, monkeypatch):
    monkeypatch.setattr(ordering, "_GAP", request.param)


@pytest.mark.usefixtures("gap")
def test_it_orders_as_a_list_does():
    @given(st.permutations(range(12)), MOVES)
    def law(items, moves):
        plain, order = list(items), OrderList(items)
        for item, target, behind in moves:
            if item == target:
                continue
            plain.remove(item)
            plain.insert(plain.index(target) + behind, item)
            (order.move_after if behind else order.move_before)(item, target)
            assert sorted(items, key=order.rank.__getitem__) == plain
            assert len({order.rank[one] for one in items}) == len(plain)

    law()


@pytest.mark.parametrize("target", ["first", "middle", "last"])
@pytest.mark.parametrize("behind", [True, False])
def test_many_moves_to_one_place_spread_few_items_each(target, behind):
    count = 4000
    order = OrderList(range(count))
    place = {"first": 0, "middle": count // 2, "last": count - 1}[target]
    for item in range(count):
        if item != place:
            (order.move_after if behind else order.move_before)(item, place)
    assert order.spread < 4 * count * math.log2(count)
    assert len(set(order.rank[:count])) == count


def test_one_replaces_another_where_it_stood():
    order = OrderList([3, 1, 0, 2])
    order.remove(0)
    order.replace(1, 0)
    assert order.rank[3] < order.rank[0] < order.rank[2]
