"""Which operator types a ``modify_mixlist`` file moves between the black, gray and white list (files.mixlist.*)."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Tuple

from npu_reference.options.domains import echo
from npu_reference.options.grammars.json_text import Pairs, key_error, parse_json
from npu_reference.options.grammars.scanner import ScannerNote, few

__all__ = ["EXAMPLE", "Mixlist", "parse", "write"]

EXAMPLE = '{"black-list": {"to-add": ["Cast"]}, "white-list": {"to-remove": ["Conv2D"]}}'
_FORM = f"Write lists of operator types, such as {EXAMPLE}."
_LISTS = ("black-list", "white-list")
_MOVES = ("to-remove", "to-add")


class Mixlist(NamedTuple):
    """Operator types to be moved, in the order written, each once."""

    black_remove: Tuple[str, ...] = ()
    black_add: Tuple[str, ...] = ()
    white_remove: Tuple[str, ...] = ()
    white_add: Tuple[str, ...] = ()
    notes: Tuple[ScannerNote, ...] = ()


def parse(text: str) -> Mixlist:
    """The moves of a list file. ``//`` comments are read over (B21).

    Raises:
        GrammarError: another structure or key (P31), or a type to be added to both lists (P6).
    """
    document = parse_json(text, comments=True)
    moves: Dict[Tuple[str, str], Tuple[str, ...]] = {}
    for name, section in _object(document, text, (), _LISTS):
        for move, types in _object(section, text, (name,), _MOVES):
            moves[name, move] = _types(types, text, (name, move))
    black_remove, black_add, white_remove, white_add = (
        moves.get((name, move), ()) for name in _LISTS for move in _MOVES
    )
    white = set(white_add)
    for name in black_add:
        if name in white:
            raise key_error(f"{name} is to be added to both lists.", text, ("white-list", "to-add", name), _FORM)
    notes = [
        ScannerNote(f"{name} is removed from the {colour} list and added to it again, so it stays.", "advice")  # P8
        for colour, removed, added in (("black", black_remove, black_add), ("white", white_remove, white_add))
        for name in _both(removed, added)
    ]
    return Mixlist(black_remove, black_add, white_remove, white_add, few(notes))


def _both(removed: Tuple[str, ...], added: Tuple[str, ...]) -> List[str]:
    again = set(added)
    return [name for name in removed if name in again]


def _object(value: Any, text: str, path: Tuple[str, ...], keys: Tuple[str, ...]) -> Tuple[Tuple[str, Any], ...]:
    if not isinstance(value, Pairs):
        raise key_error("it is no JSON object.", text, path, _FORM)
    seen = set()
    for key, _ in value.pairs:
        if key not in keys:  # P31
            raise key_error(f"key {echo(key)} is none of {', '.join(keys)}.", text, (*path, key), _FORM)
        if key in seen:
            raise key_error(f"key {key} is given twice.", text, (*path, key), _FORM)
        seen.add(key)
    return value.pairs


def _types(value: Any, text: str, path: Tuple[str, ...]) -> Tuple[str, ...]:
    if not isinstance(value, list):
        raise key_error("it is no list of operator types.", text, path, _FORM)
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise key_error("an item is no operator type.", text, path, _FORM)
    return tuple(dict.fromkeys(value))


def write(mixlist: Mixlist) -> str:
    """The text that :func:`parse` reads as ``mixlist``."""
    sections = {
        "black-list": {"to-remove": mixlist.black_remove, "to-add": mixlist.black_add},
        "white-list": {"to-remove": mixlist.white_remove, "to-add": mixlist.white_add},
    }
    document = {
        name: {move: list(types) for move, types in section.items() if types}
        for name, section in sections.items()
        if any(section.values())
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
