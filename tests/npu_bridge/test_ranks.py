"""Ranks, groups and splits: what the environment says, rank 0 of 1 where it says nothing."""

from __future__ import annotations

import json

import pytest

from hccl.manage import api as manage
from hccl.split import api as split
from npu_bridge import npu_init
from npu_reference.runtime import ranks


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("RANK_SIZE", "RANK_ID", "RANK_TABLE_FILE"):
        monkeypatch.delenv(name, raising=False)
    ranks.forget_groups()
    yield
    ranks.forget_groups()


SAYS = [
    (manage.get_rank_size, 1, 16),
    (manage.get_rank_id, 0, 9),
    (manage.get_local_rank_id, 0, 1),
    (manage.get_local_rank_size, 1, 8),
    (npu_init.get_rank_size, 1, 16),
    (npu_init.get_rank_id, 0, 9),
    (npu_init.get_local_rank_id, 0, 1),
    (npu_init.get_npu_rank_size, 1, 16),
    (npu_init.get_npu_rank_id, 0, 9),
    (npu_init.get_npu_local_rank_id, 0, 1),
]


@pytest.mark.parametrize(("ask", "alone", "of_sixteen"), SAYS)
def test_a_rank_is_0_of_1_unless_the_environment_says_otherwise(ask, alone, of_sixteen, monkeypatch):
    assert ask() == alone
    monkeypatch.setenv("RANK_SIZE", "16")
    monkeypatch.setenv("RANK_ID", "9")
    assert ask() == of_sixteen


def test_the_group_of_all_ranks_can_be_named():
    assert manage.get_rank_size(group="hccl_world_group") == 1 and manage.get_rank_id("hccl_world_group") == 0


def test_a_rank_table_tells_the_servers(monkeypatch, tmp_path):
    servers = [["0", "1", "2"], ["3", "4"]]
    table = {"server_list": [{"device": [{"rank_id": rank} for rank in server]} for server in servers]}
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    monkeypatch.setenv("RANK_TABLE_FILE", str(path))
    monkeypatch.setenv("RANK_SIZE", "5")
    monkeypatch.setenv("RANK_ID", "4")
    assert (manage.get_local_rank_id(), manage.get_local_rank_size()) == (1, 2)


@pytest.mark.parametrize(
    ("variable", "value"), [("RANK_ID", "-1"), ("RANK_ID", "a"), ("RANK_SIZE", "0"), ("RANK_SIZE", "1.5")]
)
def test_a_variable_that_is_no_number_is_refused(variable, value, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=variable):
        manage.get_rank_id() + manage.get_rank_size()


def test_a_group_has_its_own_ranks(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "8")
    monkeypatch.setenv("RANK_ID", "5")
    manage.create_group("half", 4, [1, 3, 5, 7])
    assert manage.get_rank_size("half") == 4 and manage.get_rank_id(group="half") == 2
    assert manage.get_world_rank_from_group_rank("half", 3) == 7
    assert manage.get_group_rank_from_world_rank(7, "half") == 3
    assert manage.get_local_rank_size("half") == 4
    manage.destroy_group("half")
    with pytest.raises(ValueError, match="there is no group 'half'"):
        manage.get_rank_size("half")


@pytest.mark.parametrize(
    "arguments",
    [
        ("hccl_world_group", 1, [0]), ("", 1, [0]), ("g" * 128, 1, [0]), (3, 1, [0]), ("g", 2, [0]), ("g", 2, [0, 0]),
        ("g", 0, []), ("g", 1, [-1]), ("g", 1, "0"), ("g", 1, [True]),
    ],
)  # fmt: skip
def test_a_group_that_cannot_be_is_refused(arguments):
    with pytest.raises((ValueError, TypeError), match=r"group|rank_ids"):
        manage.create_group(*arguments)


@pytest.mark.parametrize("group", ["other", "hccl_world_group"])
def test_a_group_that_is_not_there_cannot_be_destroyed(group):
    with pytest.raises(ValueError, match="group"):
        manage.destroy_group(group)


def test_splits_that_can_be_are_taken():
    assert split.set_split_strategy_by_idx([8, 56]) is None
    assert split.set_split_strategy_by_idx(idxList=[20, 100, 159], group="hccl_world_group") is None
    assert npu_init.set_split_strategy_by_size([60, 30, 10]) is None
    assert split.set_split_strategy_by_size(dataSizeList=[96.54, 3.46]) is None


@pytest.mark.parametrize(
    ("use", "given"),
    [
        (split.set_split_strategy_by_idx, []),
        (split.set_split_strategy_by_idx, [56, 8]),
        (split.set_split_strategy_by_idx, [-1]),
        (split.set_split_strategy_by_idx, list(range(9))),
        (split.set_split_strategy_by_idx, "8"),
        (split.set_split_strategy_by_size, [60, 30]),
        (split.set_split_strategy_by_size, [120, -20]),
        (split.set_split_strategy_by_size, ["100"]),
    ],
)
def test_a_split_that_cannot_be_is_refused(use, given):
    with pytest.raises((ValueError, TypeError), match=r"idxList|dataSizeList"):
        use(given)
