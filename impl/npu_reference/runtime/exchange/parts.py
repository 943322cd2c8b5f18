"""What a rank brings to a collective, what must be the same on all ranks, and how it is said when it is not."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from npu_reference.printing import shorten

__all__ = ["KINDS", "BrokenExchange", "Part", "described", "differs"]

#: Collectives of all members of a group, then what two ranks do with each other.
KINDS = ("allreduce", "allgather", "broadcast", "reduce", "reduce_scatter", "alltoallv", "send", "receive")


class BrokenExchange(Exception):
    """A collective that cannot be completed.

    Attributes:
        kind: ``mismatch`` (ranks ask for different things), ``lost`` (a rank is gone), ``absent`` (a rank never came),
            ``standstill`` (every rank waits for another), ``value`` (no rank can have asked for this).
        ranks: whose fault it is: those that are gone or differ, smallest first.
        text: the whole, one sentence.
    """

    def __init__(self, kind: str, ranks: Sequence[int], text: str) -> None:
        super().__init__(text)
        self.kind, self.ranks, self.text = kind, tuple(sorted(ranks)), text


class Part(NamedTuple):
    """What one rank brings.

    Attributes:
        kind: one of :data:`KINDS`.
        name: of the operator, as the script's graph has it.
        group: name of the group.
        members: its ranks among all, in the group's order; of a send and its receive, the sender and the receiver.
        dtypes, shapes: of the tensors brought; of a receive those that are awaited.
        reduction: ``sum``, ``prod``, ``max`` or ``min``; empty where nothing is reduced.
        root: its rank in the group; 0 where there is none.
        tag: tells several sends between two ranks apart.
        alone: whether the rank does nothing else while it waits for this.
    """

    kind: str
    name: str
    group: str
    members: Tuple[int, ...]
    dtypes: Tuple[str, ...]
    shapes: Tuple[Tuple[int, ...], ...]
    reduction: str = ""
    root: int = 0
    tag: int = 0
    alone: bool = False

    def key(self) -> Tuple[Any, ...]:
        """Parts with equal keys belong to one collective; operators know each other by their names."""
        if self.kind in ("send", "receive"):
            return ("pair", self.group, self.members, self.tag)
        return ("all", self.group, self.members, self.name)

    def to_json(self) -> Dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Part:
        """The part that :meth:`to_json` gave; ValueError for anything else."""
        try:
            part = cls(
                str(body["kind"]), str(body["name"]), str(body["group"]),
                tuple(int(rank) for rank in body["members"]),
                tuple(str(name) for name in body["dtypes"]),
                tuple(tuple(int(size) for size in shape) for shape in body["shapes"]),
                str(body["reduction"]), int(body["root"]), int(body["tag"]), bool(body["alone"]),
            )  # fmt: skip
        except (KeyError, TypeError) as error:
            raise ValueError(f"no part of a collective: {error}") from None
        if part.kind not in KINDS:
            raise ValueError(f"no kind of collective: {part.kind!r}")
        return part


def described(part: Part) -> str:
    """A part in a few words: ``allreduce(sum) of grads/a float32 [2, 3]``."""
    tensors = ", ".join(
        f"{dtype} [{', '.join(str(size) for size in shape)}]" for dtype, shape in zip(part.dtypes[:3], part.shapes[:3])
    )
    more = f" and {len(part.dtypes) - 3} more" if len(part.dtypes) > 3 else ""
    how = part.reduction or ("" if part.kind not in ("broadcast",) else f"from {part.root}")
    if part.kind == "reduce":
        how = f"{part.reduction} to {part.root}"
    return f"{part.kind}{'(' + how + ')' if how else ''} of {shorten(part.name, 120)}: {tensors}{more}"


def differs(mine: Part, rank: int, theirs: Part, other: int) -> Optional[BrokenExchange]:
    """What keeps two parts from being one collective; None if nothing does."""
    if {mine.kind, theirs.kind} == {"send", "receive"}:
        same = mine.dtypes == theirs.dtypes and mine.shapes == theirs.shapes
    else:
        sizes = [_comparable(mine), _comparable(theirs)]
        same = mine._replace(shapes=(), alone=False) == theirs._replace(shapes=(), alone=False) and (
            sizes[0] == sizes[1]
        )
    if same:
        return None
    sides: List[Tuple[int, Part]] = sorted([(rank, mine), (other, theirs)], key=lambda side: side[0])
    text = "; ".join(f"rank {number} has {described(part)}" for number, part in sides)
    return BrokenExchange("mismatch", [rank, other], f"{text}.")


def _comparable(part: Part) -> Tuple[Tuple[int, ...], ...]:
    """What of the shapes must agree."""
    if part.kind == "alltoallv":
        return ()
    return part.shapes
