"""Which rank this process is among how many, and in which groups: what launch scripts say in the environment.

One process drives one simulated device. A script may ask for its place among several; what would need the others is
refused (:func:`require_one`).
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Sequence, Tuple

from npu_reference.device.links import rank_table
from npu_reference.options.classes import OptionTypeError, OptionValueError

__all__ = [
    "WORLD",
    "check_split_by_index",
    "check_split_by_size",
    "create_group",
    "destroy_group",
    "forget_groups",
    "group_rank_of",
    "local_rank_id",
    "local_rank_size",
    "rank_id",
    "rank_size",
    "require_one",
    "world_rank_of",
]

#: The group of all ranks (HCCL).
WORLD = "hccl_world_group"

#: Devices of a server where no rank table tells; assumed, as of an Atlas 800.
_DEVICES = 8

#: Most segments that gradients are split into (HCCL).
_SEGMENTS = 8

#: Longest name of a group, in bytes, without the end character (HCCL).
_LONGEST_NAME = 127

#: Groups of this process: name -> its ranks among all, in the group's order.
_GROUPS: Dict[str, Tuple[int, ...]] = {}


def rank_size(group: str = WORLD) -> int:
    """How many ranks a group has: of all, ``RANK_SIZE``, 1 where it is unset."""
    if group != WORLD:
        return len(_members(group))
    size = _number("RANK_SIZE", 1)
    if size < 1:
        raise OptionValueError("OPTION_VALUE", "RANK_SIZE", "there is at least one rank.", "Set 1, or unset it.")
    return size


def rank_id(group: str = WORLD) -> int:
    """The rank of this process in a group: among all, ``RANK_ID``, 0 where it is unset."""
    rank = _number("RANK_ID", 0)
    return rank if group == WORLD else _place(group, rank)


def local_rank_id(group: str = WORLD) -> int:
    """The rank of this process inside its server (document 002, local_rank_id): 0 is the main process.

    ``RANK_TABLE_FILE`` lists the servers; without it each has 8 devices. In a group only its members count.

    Raises:
        OptionValueError: a variable that is no rank, or a table that cannot be read or does not list the rank.
    """
    rank = rank_id()
    if group != WORLD:
        _place(group, rank)
    return _on_server(group, rank).index(rank)


def local_rank_size(group: str = WORLD) -> int:
    """How many ranks of a group are on this process's server."""
    return len(_on_server(group, rank_id()))


def create_group(group: str, rank_num: int, rank_ids: Sequence[int]) -> None:
    """Remember a group.

    Args:
        group: its name, at most 127 bytes.
        rank_num: how many ranks it has.
        rank_ids: their ranks among all, in the group's order.

    Raises:
        OptionTypeError, OptionValueError: no such group can be.
    """
    if not isinstance(group, str) or not group or len(group.encode("utf-8")) > _LONGEST_NAME:
        raise OptionTypeError(
            "OPTION_TYPE", "group", f"{str(group)[:80]!r} is no name.", "Give 1 to 127 bytes of text."
        )
    if group == WORLD or group in _GROUPS:
        raise OptionValueError("OPTION_VALUE", "group", f"there is a group {group!r} already.", "Give another name.")
    ranks = _ranks("rank_ids", rank_ids)
    if rank_num != len(ranks) or not ranks or len(set(ranks)) != len(ranks):
        reason = f"{rank_num} ranks cannot be {list(ranks)}."
        raise OptionValueError("OPTION_VALUE", "rank_ids", reason, "Give rank_num different ranks.")
    _GROUPS[group] = ranks


def destroy_group(group: str) -> None:
    """Forget a group; that of all ranks stays."""
    if group == WORLD:
        raise OptionValueError("OPTION_VALUE", "group", "the group of all ranks stays.", "Name one of your own.")
    _members(group)
    del _GROUPS[group]


def forget_groups() -> None:
    """Forget all groups, as a new process has none."""
    _GROUPS.clear()


def world_rank_of(group: str, group_rank_id: int) -> int:
    """The rank among all of a rank of a group."""
    members = tuple(range(rank_size())) if group == WORLD else _members(group)
    if isinstance(group_rank_id, bool) or not isinstance(group_rank_id, int) or not 0 <= group_rank_id < len(members):
        reason = f"{group_rank_id!r} is no rank of {group!r}, which has {len(members)}."
        raise OptionValueError("OPTION_VALUE", "group_rank_id", reason)
    return members[group_rank_id]


def group_rank_of(world_rank_id: int, group: str) -> int:
    """The rank in a group of a rank among all."""
    if group != WORLD:
        return _place(group, world_rank_id)
    return world_rank_of(WORLD, world_rank_id)


def check_split_by_index(idxList: Sequence[int], group: str = WORLD) -> None:
    """Where gradients are split for communication: after which ones, ascending. One device communicates nothing.

    Raises:
        OptionTypeError, OptionValueError: no such split can be.
    """
    _check_group(group)
    ends = _ranks("idxList", idxList)
    if not 1 <= len(ends) <= _SEGMENTS or list(ends) != sorted(set(ends)):
        reason = f"{list(ends)} does not ascend in 1 to {_SEGMENTS} steps."
        raise OptionValueError("OPTION_VALUE", "idxList", reason, "Give the index of the last gradient of each part.")


def check_split_by_size(dataSizeList: Sequence[float], group: str = WORLD) -> None:
    """How gradients are split for communication: in which percentages of their size. One device communicates nothing.

    Raises:
        OptionTypeError, OptionValueError: no such split can be.
    """
    _check_group(group)
    shares = dataSizeList
    numbers = isinstance(shares, (list, tuple)) and all(isinstance(s, (int, float)) for s in shares)
    if not numbers or any(isinstance(share, bool) for share in shares):
        reason = f"{str(shares)[:80]} is no list of numbers."
        raise OptionTypeError("OPTION_TYPE", "dataSizeList", reason, "Give percentages.")
    if not 1 <= len(shares) <= _SEGMENTS or any(share < 0 for share in shares) or abs(sum(shares) - 100) > 1e-3:
        reason = f"{list(shares)} are not 1 to {_SEGMENTS} shares of 100 %."
        raise OptionValueError("OPTION_VALUE", "dataSizeList", reason, "Give percentages whose sum is 100.")


def require_one(what: str, group: str = WORLD) -> None:
    """Refuse what needs the other devices of a group, rather than leave it out silently.

    Args:
        what: the name that was used, for the message.
        group: among whom.

    Raises:
        OptionValueError: the group has more than one rank.
    """
    size = rank_size(group)
    if size == 1:
        return
    where = "RANK_SIZE" if group == WORLD else f"group {group!r}"
    reason = f"{what} is asked for among {size} devices, and only one is simulated."
    raise OptionValueError("OPTION_VALUE", where, reason, "Unset RANK_SIZE or set it to 1; make groups of one rank.")


def _number(variable: str, default: int) -> int:
    text = os.environ.get(variable, "") or str(default)
    if not (text.isdigit() and len(text) < 10):
        kind = "rank" if variable == "RANK_ID" else "number of ranks"
        raise OptionValueError(
            "OPTION_VALUE", variable, f"{text[:80]!r} is no {kind}.", f"Set a number from {default} on."
        )
    return int(text)


def _check_group(group: str) -> None:
    if group != WORLD:
        _members(group)


def _members(group: str) -> Tuple[int, ...]:
    if group not in _GROUPS:
        raise OptionValueError(
            "OPTION_VALUE", "group", f"there is no group {str(group)[:80]!r}.", "Call create_group first."
        )
    return _GROUPS[group]


def _place(group: str, rank: int) -> int:
    members = _members(group)
    if rank not in members:
        raise OptionValueError("OPTION_VALUE", "group", f"rank {rank} is not in {group!r}, which is {list(members)}.")
    return members.index(rank)


def _ranks(argument: str, given: Any) -> Tuple[int, ...]:
    if not isinstance(given, (list, tuple, range)) or any(
        isinstance(rank, bool) or not isinstance(rank, int) or rank < 0 for rank in given
    ):
        reason = f"{str(given)[:80]} is no list of ints from 0 on."
        raise OptionTypeError("OPTION_TYPE", argument, reason, "Give such a list.")
    return tuple(given)


def _on_server(group: str, rank: int) -> List[int]:
    """The ranks of a group that share the server of ``rank``."""
    path = os.environ.get("RANK_TABLE_FILE", "")
    if path:
        server = _server_of(path, rank)
    else:
        first = rank - rank % _DEVICES
        server = list(range(first, max(min(first + _DEVICES, rank_size()), rank + 1)))
    return server if group == WORLD else [member for member in _members(group) if member in server]


def _server_of(path: str, rank: int) -> List[int]:
    server = rank_table.read(path).server_of(rank)
    if server is None:
        raise OptionValueError("OPTION_VALUE", "RANK_TABLE_FILE", f"no server of {path!r} has the rank {rank}.")
    return server.ranks
