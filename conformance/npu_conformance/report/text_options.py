"""Decides how the answer of ``options`` looks: what was given, changed or refused first, the rest if asked for."""

from __future__ import annotations

from typing import Any, List, Mapping, Sequence, Tuple

import click

__all__ = ["complaint", "options", "refusal"]

_REFUSED = "default (refused)"
_COLOURS = {_REFUSED: "red", "given": "", "default": "", "environment": "yellow", "file": "yellow", "forced": "yellow"}

#: A row of the table: option, value, origin, rule.
_Row = Tuple[str, str, str, str]


def refusal(error: Mapping[str, Any]) -> str:
    """An error of the answer on one line, with the requirement or rule behind it in brackets."""
    return _printable(f"error[{error['code']}] {error['message']}{_behind(error)}")


def complaint(warning: Mapping[str, Any]) -> str:
    """A warning of the answer on one line; the option's name stands in it once."""
    message, option = warning["message"], warning["option"]
    text = message if option in message else f"{option}: {message}"
    return _printable(f"{text}{_behind(warning)}")


def _behind(told: Mapping[str, Any]) -> str:
    rule = told.get("requirement") or told.get("rule")
    return f" [{rule}]" if rule else ""


def options(answer: Mapping[str, Any], misnamed: Sequence[str], given: Sequence[str], every: bool) -> None:
    """Names that are no options, the table, warnings, notes, and how many options are as they are by default.

    One line an item, whatever the width: a line that is too long for a terminal is folded by it, and a name that goes
    through a pipe is never broken.

    Args:
        answer: the JSON answer.
        misnamed: codes of warnings about names, which come first.
        given: names as they were given.
        every: whether the options that have their defaults are shown, too.
    """
    first = [warning for warning in answer["warnings"] if warning["code"] in misnamed]
    for warning in first:
        _tell("warning", "yellow", complaint(warning))
    refused = {error["subject"] for error in answer["errors"]}
    changed, rest = _rows(answer["effective"], refused, set(given))
    _table([*changed, *rest] if every else changed)
    for warning in answer["warnings"]:
        if warning not in first:
            _tell("warning", "yellow", complaint(warning))
    for note in answer["notes"]:
        _tell("note", "blue", complaint(note))
    if rest and not every:
        click.echo(click.style(f"{len(rest)} options have their defaults; --all shows them.", dim=True))


def _rows(effective: Mapping[str, Any], refused: Any, given: Any) -> Tuple[List[_Row], List[_Row]]:
    changed: List[_Row] = []
    rest: List[_Row] = []
    for name, one in effective.items():
        value = "(unset)" if one["value"] is None else _printable(str(one["value"]))
        row = (name, value, _REFUSED if name in refused else one["origin"], one["rule"])
        (changed if name in refused or name in given or one["origin"] != "default" else rest).append(row)
    return changed, rest


def _table(rows: Sequence[_Row]) -> None:
    if not rows:
        return
    head = ("Option", "Value", "Origin", "Rule")
    widths = [min(max(len(row[column]) for row in (head, *rows)), 40) for column in range(3)]
    click.echo(click.style(_line(head, widths), bold=True))
    for row in rows:
        click.echo(click.style(_line(row, widths), fg=_COLOURS.get(row[2]) or None, bold=row[2] != "default"))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths)]
    return "  ".join([*cells, row[3]]).rstrip()


def _tell(word: str, colour: str, text: str) -> None:
    click.echo(click.style(word, fg=colour) + " " + text)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
