"""Which list of mixed precision an operator is on: the library's flag, as modify_mixlist moves it."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Tuple

from npu_reference.catalog import Catalog
from npu_reference.options.files.mixlist import Mixlist
from npu_reference.precision.model import PrecisionNote

__all__ = ["UNLISTED", "Colour", "Lists", "matches"]

#: The flag of a kernel of the AI Core that has no entry: it is gray (P5).
UNLISTED = ""

_MAX_NOTES = 20


class Colour(NamedTuple):
    """A list, and the sentence that says why."""

    list: Optional[str]
    why: str


def matches(name: str, kernel: str, catalog: Catalog) -> bool:
    """Whether a type in a file means operators of a kernel: by its name, or by TensorFlow's name of an operator that
    has this kernel and no other (P11)."""
    return name == kernel or set(catalog.kernels_of(name)) == {kernel}


class Lists:
    """Colours of operators; remembers which names of the file were met on the list they were to leave."""

    def __init__(self, catalog: Catalog, mixlist: Optional[Mixlist]) -> None:
        self._catalog = catalog
        self._moves = mixlist or Mixlist()
        self._known: Dict[Tuple[str, Optional[str]], Colour] = {}
        self.notes: List[PrecisionNote] = []

    def colour(self, kernel: str, flag: Optional[str]) -> Colour:
        """The list of an operator with that kernel and flag; None: its only kernel is one of no list."""
        key = (kernel, flag)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._moved(kernel, flag)
        return found

    def _moved(self, kernel: str, flag: Optional[str]) -> Colour:
        if flag is None:
            return Colour(None, "")
        found = Colour(flag or "graylist", _BUILT_IN[flag])
        moves = self._moves
        for types, colour, words in (
            (moves.black_remove, "blocklist", "black-list"),
            (moves.white_remove, "trustlist", "white-list"),
        ):
            if not self._names(types, kernel):
                continue
            if found.list == colour:
                found = Colour("graylist", f"graylist: {words} to-remove")
            else:  # P7
                message = f"{kernel} is not on the {words}, so its to-remove changes nothing."
                self._note("mixlist_not_listed", message, kernel)
        # P8, P9: removed first, then added
        if self._names(moves.black_add, kernel):
            found = Colour("blocklist", "blocklist: black-list to-add")
        if self._names(moves.white_add, kernel):
            found = Colour("trustlist", "trustlist: white-list to-add")
        return found

    def _names(self, types: Tuple[str, ...], kernel: str) -> bool:
        return any(matches(name, kernel, self._catalog) for name in types)

    def _note(self, code: str, message: str, subject: str) -> None:
        note = PrecisionNote(code, message, subject)
        if note not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(note)


_BUILT_IN = {
    "blocklist": "blocklist: precision_reduce false",
    "trustlist": "trustlist: precision_reduce true",
    "graylist": "graylist: no precision_reduce",
    UNLISTED: "graylist: the library has no entry of it",
}
