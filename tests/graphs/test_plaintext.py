"""The fast reading of text means what the parser of protocol buffers says, and leaves to it what it does not know."""

from __future__ import annotations

import pathlib
import random
from typing import Any, List, Tuple

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.files import resources
from npu_reference.graphs import plaintext, readers

FILES = sorted(pathlib.Path(resources.fixtures()).rglob("*.pbtxt"))
SMALL = sorted(FILES, key=lambda path: path.stat().st_size)[: len(FILES) // 2]

#: Words that the two may take differently.
OTHERS = [
    "[", "]", ",", ";", "<", "'a'", "-", "1e999", "01", "0x1", "1f", "inf", "nan", "{",
    "}", '"', '"a" "b"', "true", "True",
    "DT_FLOAT", "99999999999999999999", "# x\n", "-0",
]  # fmt: skip


def read(text: str, name: str = "GraphDef") -> Tuple[bool, Any, Any]:
    """Whether it was read, what was read, and what the other parser reads; None where it refuses."""
    ours, theirs = readers.message_class(name)(), readers.message_class(name)()
    done = plaintext.fill(text, ours)
    try:
        text_format.Parse(text, theirs, allow_unknown_field=True)
    except (text_format.ParseError, ValueError, UnicodeError):
        theirs = None
    return done, ours, theirs


def named(path: pathlib.Path) -> str:
    parsed = readers._parse_text(path.read_bytes(), str(path))
    assert parsed is not None
    return parsed[0]


def test_no_fixture_needs_the_slow_parser_and_each_is_read_alike() -> None:
    for path in FILES:
        done, ours, theirs = read(path.read_text("utf-8"), named(path))
        assert done and ours == theirs, path


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(SMALL), st.integers(0, 2**32), st.sampled_from(["drop", "double", "swap", "other"]))
def test_a_text_that_is_wrong_somewhere_is_refused_or_read_alike(path: pathlib.Path, seed: int, how: str) -> None:
    tokens: List[str] = plaintext._TOKENS.findall(path.read_text("utf-8"))
    chance = random.Random(seed)
    at, to = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    if how == "drop":
        del tokens[at]
    elif how == "double":
        tokens.insert(at, tokens[at])
    elif how == "swap":
        tokens[at], tokens[to] = tokens[to], tokens[at]
    else:
        tokens[at] = chance.choice(OTHERS)
    done, ours, theirs = read("\n".join(tokens))
    assert not done or ours == theirs


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=12), st.binary(max_size=12), st.floats(), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_values_are_read_as_they_were_written(name: str, raw: bytes, real: float, whole: int, flag: bool) -> None:
    written = readers.message_class("GraphDef")()
    node = written.node.add()
    node.name = name
    node.attr["s"].s = raw
    node.attr["f"].f = real if real != real or abs(real) < 1e38 else 0.0
    node.attr["i"].i = whole
    node.attr["b"].b = flag
    for escaped in (True, False):
        text = text_format.MessageToString(written, as_utf8=not escaped)
        done, ours, theirs = read(text)
        assert repr(ours) == repr(theirs) if done else real != real or abs(real) == float("inf") or not escaped


@pytest.mark.parametrize(
    "text",
    [
        'node { name: "a" name: "b" }', "node { attr { key: \"k\" value { i: 1 b: true } } }", "node { device: [] }",
        'node { input: ["a", "b"] }', 'node < name: "a" >', "node { later: 1 }", 'node { name: "a" "b" }',
        "node { name: 'a' }", 'node { attr { value { i: 1 } key: "k" } }', "versions { producer: 07 }",
        'node { attr { key: "k" value { i: 1 } } attr { key: "k" value { b: true } } }', "versions { } versions { }",
        "node {", "}", 'node { name: "a', "versions { producer: 1.0 }", 'node { name: "\\xff" }',
    ],
)  # fmt: skip
def test_what_only_people_write_and_what_is_wrong_is_left_to_the_other_parser(text: str) -> None:
    assert not read(text)[0]


def test_a_long_text_is_left_to_the_other_parser_for_its_words_take_memory() -> None:
    comment = "#" * plaintext._MOST
    assert plaintext.fill("", readers.message_class("GraphDef")())
    assert not plaintext.fill(comment + "#", readers.message_class("GraphDef")())
