"""Text as printers write it is read as protocol buffers' own parser reads it, and all other text is left to that."""

from __future__ import annotations

import glob
import os
import types
from typing import Any, List, Optional, Set

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from npu_reference.errors import NpuError
from npu_reference.graphs import limits, printed, readers
from npu_reference.graphs.printed import read_printed
from npu_reference.graphs.proto import message_class
from tests.strategies import graphs

pytestmark = [pytest.mark.not_oldest, pytest.mark.newest_at_night]

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures")
SHIPPED = sorted(glob.glob(os.path.join(FIXTURES, "**", "*.pbtxt"), recursive=True))

FULL = """\
# A comment.

node {
  name: "x"
  op: "Placeholder"
  attr {
    key: "shape"
    value {
      shape {
        dim {
          size: -1
        }
      }
    }
  }
}
node {
  name: "c\\303\\251"
  op: "Const"  \t
  input: "^x"
  input: "x:1"
  attr {
    key: "value"
    value {
      tensor {
        dtype: DT_FLOAT
        tensor_shape {
        }
        tensor_content: "\\000\\x01\\n\\"\\\\e"
        float_val: -1.5e-05
        float_val: 2
      }
    }
  }
  attr {
    key: "zwei \u00fc"
    value {
      b: false
    }
  }
}
library {
  function {
    signature {
      name: "f"
    }
    ret {
      key: "y"
      value: "z:0"
    }
    arg_attr {
      key: 3
      value {
      }
    }
  }
}
versions {
  producer: 27
}
"""


def parsed(text: str) -> Any:
    """What protocol buffers' own parser makes of a text; None where it refuses it."""
    message = message_class("GraphDef")()
    try:
        text_format.Parse(text, message, allow_unknown_field=True)
    except Exception:  # noqa: BLE001  it lets out whatever its parts raise
        return None
    return message


def agrees(text: str) -> Optional[Set[str]]:
    """The names that were read at the top, which are none where the parser has to be asked."""
    message = message_class("GraphDef")()
    names = read_printed(text, message)
    assert names is None or parsed(text) == message
    return names


def test_line_ends_of_windows_are_those_of_printers_too() -> None:
    plain, windows = message_class("GraphDef")(), message_class("GraphDef")()
    names = read_printed(FULL, plain)
    assert names is not None
    assert read_printed(FULL.replace("\n", "\r\n"), windows) == names
    assert windows == plain


def test_graphs_of_the_suite_need_no_other_parser() -> None:
    for path in SHIPPED:
        with open(path, encoding="utf-8") as stream:
            names = agrees(stream.read())
        assert names is not None and "node" in names, path


def test_every_kind_of_field_is_read() -> None:
    assert agrees(FULL) == {"node", "library", "versions"}
    assert agrees(FULL[:-1]) == {"node", "library", "versions"}  # without a line's end at the end


@given(graphs())
def test_what_is_printed_is_read(graph: Any) -> None:
    assert agrees(text_format.MessageToString(graph.to_def())) is not None


LINES = FULL.split("\n")
PUT = """\
node {
}
name: "y"
size: 007
size: 0x1f
b: True
b: 1
i: 0
f: inf
f: 1.0f
s: 'x'
dim: {
input: ["a", "b"]
type: 1
type: DT_NONE
value {
key: "shape"
unknown: 3
# more
op: "a" "b"
name: "\\x"
name: "\\377"
size: 9223372036854775808
producer: -2147483649
versions <
>
float_val: 1e999
half_val: -0
min_consumer: 1 # why
name: "\r"
\t
}}
dim {}
"""
WORDS = PUT.split("\n")


EDIT = st.tuples(st.integers(0, len(LINES)), st.sampled_from(["put", "drop", "twice"]), st.sampled_from(WORDS))


@given(st.lists(EDIT, min_size=1, max_size=3))
def test_what_is_read_is_what_the_parser_reads(edits: Any) -> None:
    lines: List[str] = list(LINES)
    for at, how, word in edits:
        lines[at : at + (how == "drop")] = {"put": [word], "drop": [], "twice": lines[at : at + 1] * 2}[how]
    agrees("\n".join(lines))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "behind", ['  name: "f"', "          size: -1", "  producer: 27", '    key: "shape"', '    key: "y"']
)
def test_a_line_in_any_place_is_read_as_the_parser_reads_it(behind: str, word: str) -> None:
    at = LINES.index(behind) if behind in LINES else next(n for n, one in enumerate(LINES) if behind.strip() in one)
    agrees("\n".join([*LINES[: at + 1], word, *LINES[at + 1 :]]))
    agrees("\n".join([*LINES[:at], word, *LINES[at + 1 :]]))


@pytest.mark.parametrize(
    "text",
    [
        'node { name: "x" }\n',
        'node {\n  name: "x"\n',
        'node {\n  name: "x"\n  name: "x"\n}\n',
        "versions {\n}\nversions {\n}\n",
        "}\n",
        'node {\n  attr {\n    key: "a"\n    value {\n      i: 1\n      b: true\n    }\n  }\n}\n',
        'node {\n  attr {\n    value {\n      i: 1\n    }\n    key: "a"\n  }\n}\n',
        'node {\n  attr {\n    key: "a"\n  }\n}\n',
    ],
)
def test_what_no_printer_writes_is_left_to_the_parser(text: str) -> None:
    assert read_printed(text, message_class("GraphDef")()) is None


def nested(depth: int) -> str:
    """A graph whose messages nest so deep."""
    head = ["node {", "attr {", 'key: "f"', "value {"] + ["func {", "attr {", 'key: "f"', "value {"] * (depth // 3)
    return "\n".join(head + ["}"] * (3 + 3 * (depth // 3)))


def test_bounds_of_the_text_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_printed(nested(limits.MAX_TEXT_DEPTH // 2), message_class("GraphDef")()) is not None
    assert read_printed(nested(limits.MAX_TEXT_DEPTH), message_class("GraphDef")()) is None
    with pytest.raises(NpuError, match="nest deeper"):
        readers._parse_text(nested(limits.MAX_TEXT_DEPTH).encode("ascii"), "g")
    monkeypatch.setattr(printed, "MAX_TEXT_STRING", 20)
    for name, read in (("x" * 9, True), ("x" * 30, False), ("\\101" * 30, False)):
        found = read_printed(f'node {{\nname: "{name}"\n}}\n', message_class("GraphDef")())
        assert (found is not None) == read


@pytest.mark.parametrize("kind, value", [(1, 1.0), (2, 1.0), (5, 1)])
def test_fields_of_numbers_are_known_without_names_of_their_types_in_cpp(kind: int, value: Any) -> None:
    """protobuf 4.21, the last that works on Python 3.7, has none of those."""
    names = {"STRING": 9, "BYTES": 12, "BOOL": 8, "ENUM": 14, "DOUBLE": 1, "FLOAT": 2, "GROUP": 10}
    field = types.SimpleNamespace(type=kind, **{f"TYPE_{name}": number for name, number in names.items()})
    found = printed._converter(field)(printed._LINE.match("x: 1"))
    assert (found, type(found)) == (value, type(value))
