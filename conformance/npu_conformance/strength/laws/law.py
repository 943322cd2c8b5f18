"""What a law is."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

__all__ = ["Law"]


class Law(NamedTuple):
    """One law.

    Attributes:
        name: as records and files name it.
        title: what holds, in one sentence.
        requirements: what of the documents it follows from.
        needs: features without which an answer does not show it.
        faults: what an answer says against it; None for laws about two answers, which are compared as facts.
        method: the method of the protocol that answers.
        on_cases: whether it is judged of the answers for the graphs of the cases, too.
        area: its row of a report; that of its method where none is named.
    """

    name: str
    title: str
    requirements: Tuple[str, ...]
    needs: Tuple[str, ...]
    faults: Optional[Callable[[Any], List[str]]]
    method: str = "partition"
    on_cases: bool = False
    area: str = ""
