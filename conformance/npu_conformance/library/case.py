"""What a case is, and what it is asked as: values only."""

from __future__ import annotations

from typing import Any, FrozenSet, Mapping, NamedTuple, Optional, Tuple

__all__ = ["COSTS", "Case", "Expect", "Instance", "METHODS", "TWINS"]

METHODS = ("options", "partition", "precision", "timeline", "compile", "library", "run")
TWINS = ("rename", "reorder")
#: Seconds one request of a case may take (assumed; generous for a loaded machine).
COSTS = {"fast": 10.0, "normal": 60.0, "slow": 300.0}


class Expect(NamedTuple):
    """What a case asserts about an answer; patterns know ``*`` only.

    observe: (aspect, subject pattern) pairs whose facts must be exactly ``golden``.
    golden: expected facts by edition, the case's part of the golden file.
    compare: variant -> measure -> the words allowed, see :data:`timeline.MEASURES`.
    """

    observe: Tuple[Tuple[str, str], ...]
    golden: Mapping[str, Tuple[str, ...]]
    contains: Tuple[str, ...]
    forbid: Tuple[str, ...]
    any_of: Tuple[Tuple[str, ...], ...]
    bounds: Mapping[str, Tuple[Optional[int], Optional[int]]]
    values: Mapping[str, Mapping[str, Any]]
    finite: Tuple[str, ...]
    rejected: Optional[Tuple[Tuple[str, ...], str, str]]
    ignorable: bool = False  # an answer will do as well as the refusal, if the other assertions hold of it
    unset: FrozenSet[Tuple[str, str]] = frozenset()  # (edition, option) without a value, and a default by a document
    error: bool = True  # a document calls it an error; else what is refused may be ignored with a warning
    after: Optional[int] = None
    names: str = ""  # what stands in the code, the subject or the message of the error
    compare: Mapping[str, Mapping[str, Tuple[str, ...]]] = {}


class Case(NamedTuple):
    """One case of a case file; see docs/write-a-case.md for every field."""

    id: str
    title: str
    area: str
    topic: str
    requirements: Tuple[str, ...]
    readings: Tuple[str, ...]
    level: str
    editions: Tuple[str, ...]
    method: str
    needs: FrozenSet[str]
    twins: Tuple[str, ...]
    control: str
    requires: Tuple[str, ...]
    cost: str
    why: str
    params: Mapping[str, Any]
    expect: Expect

    @property
    def seconds(self) -> float:
        return COSTS[self.cost]


class Instance(NamedTuple):
    """A case in one edition, as written or as a twin."""

    case: Case
    edition: str
    twin: str

    @property
    def id(self) -> str:
        return f"{self.case.id}@{self.edition}" + (f"+{self.twin}" if self.twin else "")
