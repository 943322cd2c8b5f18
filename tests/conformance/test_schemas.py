"""Every schema of the package means the same to our own validator and to a full one."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.files import resources
from npu_conformance.protocol import messages as protocol
from npu_conformance.protocol import schema

NAMES = sorted(name[: -len(".json")] for name in os.listdir(resources.schemas()))


def keywords(node: Any, names_are_free: bool = False) -> Iterator[str]:
    """Keywords used anywhere; below ``properties`` and ``$defs`` names are free."""
    if isinstance(node, dict):
        for key, value in node.items():
            if not names_are_free:
                yield key
            if key not in ("const", "enum", "required") or names_are_free:
                yield from keywords(value, not names_are_free and key in ("properties", "$defs", "methods", "lines"))
    elif isinstance(node, list):
        for value in node:
            yield from keywords(value)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_uses_only_keywords_that_our_validator_knows(name: str) -> None:
    free = {"params", "ok"}  # the two schemas of a method
    assert set(keywords(schema.load(name))) - schema.KEYWORDS - free == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_file_is_valid_json_with_an_id_of_its_own(name: str) -> None:
    assert schema.load(name)["$id"] == f"npu-conformance/{name}"
    assert schema.load(name)["title"]


simple = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=2), st.just([]), st.just({}))
partition_like = st.fixed_dictionaries(
    {},
    optional={
        "geops": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "nodes": st.one_of(simple, st.lists(simple, max_size=2)),
                    "copies": st.lists(simple, max_size=2),
                },
            ),
            max_size=2,
        ),
        "host": st.lists(st.fixed_dictionaries({}, optional={"node": simple, "reason": simple}), max_size=2),
        "min_geops": simple,
        "borders": st.lists(
            st.fixed_dictionaries({}, optional={"source": simple, "direction": st.sampled_from(["d2h", "x"])}),
            max_size=2,
        ),
    },
)


_validator = jsonschema.Draft202012Validator


@settings(max_examples=200)
@given(partition_like)
def test_our_validator_and_jsonschema_agree_on_answers(value: Any) -> None:
    root = schema.load("protocol-1")
    full = {"$ref": "#/$defs/partition", "$defs": root["$defs"]}
    valid = _validator(full).is_valid(value)
    assert (protocol.ok_fault("partition", value) is None) == valid


@pytest.mark.parametrize(
    "value, fault",
    [
        ({"geops": []}, "ok: has no 'host'"),
        ({"geops": [{"nodes": ["a", ""]}], "host": []}, "ok.geops[0].nodes[1]: is empty"),
        ({"geops": [{"nodes": ["a", 1]}], "host": []}, "ok.geops[0].nodes[1]: 1 is not of type string"),
        ({"geops": [], "host": [], "min_geops": -1}, "ok.min_geops: -1 is below 0"),
        ({"geops": [], "host": [], "min_geops": True}, "ok.min_geops: true is not of type ['integer', 'null']"),
    ],
)
def test_a_fault_is_said_with_its_path(value: Any, fault: str) -> None:
    assert protocol.ok_fault("partition", value) == fault


@settings(max_examples=100)
@given(
    st.recursive(
        simple,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=10,
    )
)
def test_what_is_encoded_is_decoded(value: Any) -> None:
    line = protocol.encode({"id": 1, "ok": value})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert protocol.decode(line) == json.loads(json.dumps({"id": 1, "ok": value}))


@pytest.mark.parametrize("line", [b"", b"\xff", b"[1]", b'"text"', b"{", b"NaN", b'{"a": NaN}', b"[" * 200000])
def test_what_is_no_message_is_a_fault_and_nothing_worse(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolFault):
        protocol.decode(line)


@pytest.mark.parametrize(
    "line", [b'{"id": 1, "id": 2}', b'{"id": 1, "ok": [{"a": {"id": 1, "id": 18446744073709551615}}]}']
)
def test_a_key_that_stands_twice_is_a_fault_since_readers_disagree_which_counts(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolFault, match='the key "id" stands twice in one object'):
        protocol.decode(line)


def test_a_message_that_is_too_long_or_no_json_is_not_sent() -> None:
    for value in ("x" * protocol.MAX_LINE, float("nan"), b"bytes", {1, 2}):
        with pytest.raises(protocol.ProtocolFault):
            protocol.encode({"id": 1, "ok": value})


@pytest.mark.parametrize(
    "line, begins",
    [
        (b"Welcome to the board!\n", "the line begins 'Welcome to the board!'"),
        ("Gerät 0 bereit\r\n".encode(), "the line begins 'Gerät 0 bereit'"),
        (b"\xff\xfe{\n", r"the line begins '\xff\xfe{'"),
        (b"x" * 200 + b"\n", f"the line begins '{'x' * 60}'"),
        (b"\n", "the line is empty"),
    ],
)
def test_what_is_no_json_is_quoted(line: bytes, begins: str) -> None:
    with pytest.raises(protocol.ProtocolFault) as caught:
        protocol.decode(line)
    assert str(caught.value).startswith("not JSON: ") and str(caught.value).endswith(f"; {begins}")
