"""What a collective operator communicates, how gradients are split for it, and what ranks there are to do so with."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.options.classes import OptionTypeError, OptionValueError

__all__ = ["MC2", "WORLD", "Collective", "Exchange", "Network", "Split", "collective_of"]

#: The group of all ranks (HCCL).
WORLD = "hccl_world_group"

#: Operator -> kind of collective.
_KINDS = {
    "HcomAllReduce": "allreduce", "HcomAllGather": "allgather", "HcomReduce": "reduce",
    "HcomReduceScatter": "reduce_scatter", "HcomBroadcast": "broadcast", "HcomSend": "send",
    "HcomReceive": "receive", "HcomAllToAllV": "alltoallv", "HcomAllToAllVC": "alltoallv",
}  # fmt: skip

#: These multiply matrices and exchange between devices in one kernel: document 003 § op_debug_level, § op_debug_config.
MC2 = frozenset(
    [
        "MatMulAllReduce", "MatMulAllReduceAddRmsNorm", "AllGatherMatMul", "MatMulReduceScatter",
        "AlltoAllAllGatherBatchMatMul", "BatchMatMulReduceScatterAlltoAll",
    ]
)  # fmt: skip

#: Most segments that gradients are split into (HCCL).
_SEGMENTS = 8


class Collective(NamedTuple):
    """What one collective does: kind, reduction, root or peer rank, group, and with which others it is fused."""

    kind: str
    reduction: str
    root: int
    peer: int
    group: str
    fusion: int
    fusion_id: int
    dtypes: Tuple[str, ...]
    ranks: int  # as its node says, 0 where it does not
    apart: bool = False  # whether it goes in the stream of collectives


class Exchange(NamedTuple):
    """How a collective goes over the links.

    Attributes:
        algorithm: its name; engine: the slowest kind of link it uses, ``sdma`` on one device.
        duration: nanoseconds; messages: how many; bytes: over each kind of link.
        passages: when each message is on its links, from the collective's begin.
    """

    algorithm: str
    engine: str
    duration: int
    messages: int
    bytes: Tuple[Tuple[str, int], ...]
    passages: Tuple[Any, ...] = ()


class Split(NamedTuple):
    """How gradients are split into segments, in the order in which they are computed.

    ``indices``: the last gradient of every segment; else ``shares``: percentages of their bytes.
    """

    indices: Tuple[int, ...] = ()
    shares: Tuple[float, ...] = (96.54, 3.46)  # HCCL's default

    @classmethod
    def by_index(cls, given: Any, subject: str = "idxList") -> Split:
        """As ``set_split_strategy_by_idx`` takes it. OptionTypeError, OptionValueError where no such split can be."""
        if not isinstance(given, (list, tuple, range)) or any(
            isinstance(index, bool) or not isinstance(index, int) or index < 0 for index in given
        ):
            reason = f"{str(given)[:80]} is no list of ints from 0 on."
            raise OptionTypeError("OPTION_TYPE", subject, reason, "Give such a list.")
        if not 1 <= len(given) <= _SEGMENTS or list(given) != sorted(set(given)):
            reason = f"{list(given)} does not ascend in 1 to {_SEGMENTS} steps."
            raise OptionValueError("OPTION_VALUE", subject, reason, "Give the index of the last gradient of each part.")
        return cls(tuple(given), ())

    @classmethod
    def by_size(cls, given: Any, subject: str = "dataSizeList") -> Split:
        """As ``set_split_strategy_by_size`` takes it. OptionTypeError, OptionValueError as :meth:`by_index`."""
        numbers = isinstance(given, (list, tuple)) and all(isinstance(share, (int, float)) for share in given)
        if not numbers or any(isinstance(share, bool) for share in given):
            reason = f"{str(given)[:80]} is no list of numbers."
            raise OptionTypeError("OPTION_TYPE", subject, reason, "Give percentages.")
        if not 1 <= len(given) <= _SEGMENTS or any(share < 0 for share in given) or not abs(sum(given) - 100) <= 1e-3:
            reason = f"{list(given)} are not 1 to {_SEGMENTS} shares of 100 %."
            raise OptionValueError("OPTION_VALUE", subject, reason, "Give percentages whose sum is 100.")
        return cls((), tuple(given))


class Network(NamedTuple):
    """The ranks that run the graph together.

    Attributes:
        size: how many they are.
        splits: how gradients of a group are split; HCCL's own way where it does not say.
        price: the exchange of a collective of so many bytes.
    """

    size: int
    splits: Mapping[str, Split]
    price: Callable[[Collective, int], Exchange]


def collective_of(op: str, attribute: Callable[[str], Any], dtypes: Sequence[str]) -> Optional[Collective]:
    """What an operator communicates; None for one that does not.

    Args:
        attribute: its node's attributes by name, None where there is none. A real adapter's node has them by their
            own names, one that calls a marked function with ``_npu_`` before.
    """
    kind = _KINDS.get(op)
    if kind is None:
        return None

    def told(name: str, default: Any) -> Any:
        found = attribute(name)
        found = attribute(f"_npu_{name}") if found is None else found
        found = found.decode("utf-8", "replace") if isinstance(found, bytes) else found
        return found if isinstance(found, type(default)) and not isinstance(found, bool) else default

    root = told("src_rank", 0) if kind == "receive" else told("root_rank", 0)
    return Collective(
        kind, told("reduction", "sum"), root, told("dest_rank", 0), told("group", WORLD),
        told("fusion", 1 if kind == "allreduce" else 0), told("fusion_id", -1), tuple(sorted(set(dtypes))),
        told("rank_size", 0),
    )  # fmt: skip
