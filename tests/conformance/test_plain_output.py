"""NO_COLOR and TERM=dumb are honoured by every command, and plain progress tells the time left."""

from __future__ import annotations

import io
import os
import pathlib
import re
import sys
from types import SimpleNamespace

import pytest

from npu_conformance import cli
from npu_conformance.running import progress
from tests.lint.planted import SESSION

pytestmark = pytest.mark.not_oldest

GRAPH = sorted((pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "graphs" / "timing").glob("*.pbtxt"))[0]
#: Every command that styles what it prints, in its own way.
COMMANDS = [
    ("options", "hccl_timeout=600", "hcll=1"), ("explain", "A19"), ("case", "rc-hccl-600"), ("partition", str(GRAPH)),
    ("precision", str(GRAPH)), ("profile", str(GRAPH)), ("lint", "wrong.py"), ("mutants", "--list"), ("options",),
    ("partition", str(GRAPH), "--max-geops", "0"), ("partition", str(GRAPH), "-o", "mix_compile_mod=1"),
]  # fmt: skip


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def shown(monkeypatch, words, **variables):
    """All that a command writes to a terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **variables}.items():
        monkeypatch.setenv(name, value)
    screen = Screen()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", screen)
        patched.setattr(sys, "stderr", screen)
        with pytest.raises(SystemExit):
            cli.main(list(words))
    return screen.getvalue()


def colours(text):
    """The parameters of every escape sequence that sets a foreground or background."""
    found = []
    for part in text.split("\x1b[")[1:]:
        numbers = [int(one) for one in part.partition("m")[0].split(";") if one.isdigit()]
        found += [one for one in numbers if 30 <= one <= 49 or 90 <= one <= 107]
    return found


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(os.path.basename(word) for word in words))
def test_nothing_is_coloured_where_that_is_not_wanted(words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.py").write_text(SESSION + 'custom_op.parameter_map["mix_compile_mod"].b = True\n')
    assert colours(shown(monkeypatch, words, NO_COLOR="1")) == []
    assert "\x1b" not in shown(monkeypatch, words, TERM="dumb")


def test_a_terminal_has_colours_unless_it_is_told_otherwise(monkeypatch):
    assert "\x1b[" in shown(monkeypatch, ("options", "hccl_timeout=600", "hcll=1"))
    assert "\x1b[" in shown(monkeypatch, ("options", "hccl_timeout=600", "hcll=1"), NO_COLOR="")


def test_the_word_that_says_how_it_ended_is_coloured_and_what_follows_is_not(monkeypatch):
    demands = ("--max-geops", "0", "--max-geops", "9", "-o", "mix_compile_mod=1")
    told = shown(monkeypatch, ("partition", str(GRAPH), *demands), COLUMNS="400")
    for words, colour in (("passed ", 32), ("warning", 33)):
        assert re.search(rf"\x1b\[{colour}m{words}\x1b\[0m[-\[]", told)
    told = shown(monkeypatch, ("partition", str(GRAPH), "--max-geops", "0"), COLUMNS="40")
    assert "\x1b[31mfailed \x1b[0m--max-geops 0" in told
    assert shown(monkeypatch, ("explain", "no such word")).startswith("\x1b[31merror\x1b[0m[USAGE]")


@pytest.mark.parametrize(
    "each, first", [(0.5, "about 45 s left"), (0.001, "about 1 s left"), (5.0, "about 8 min left"),
                    (120.0, "about 3.0 h left")],
)  # fmt: skip
def test_plain_progress_tells_the_time_left_but_at_the_end(each, first, monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.bar(100) as advance:
        for _ in range(100):
            now[0] += each
            advance(None)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == f"judged 10 of 100, {first}" and lines[-1] == "judged 100 of 100"


def test_a_bar_cuts_the_name_of_a_case_and_no_count(monkeypatch):
    screen = Screen()
    for name, value in (("TERM", "xterm"), ("COLUMNS", "88")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.bar(3290) as advance:
        advance(SimpleNamespace(name="a-name-of-more-letters-than-there-is-room-for"))
    assert "   1/3290\x1b" in screen.getvalue() and "ma-name-of-more" in screen.getvalue()


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(monkeypatch):
    screen = Screen()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.bar(1) as advance:
        advance(None)
    assert screen.getvalue() == "judged 1 of 1\n"
