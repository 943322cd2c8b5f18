"""Facts are canonical: free of names and orders that a backend chooses, one a line, sorted, ASCII."""

from __future__ import annotations

import base64
import json
import os
import re
import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from npu_conformance.observing import observe
from npu_conformance.protocol import messages as protocol

PARTITION = {
    "geops": [
        {
            "name": "GeOp1_7",
            "nodes": ["mul", "add"],
            "args": ["x_0_arg"],
            "rets": ["mul_0_retval"],
            "copies": [{"node": "v", "name": "v_copied", "kind": "variable"}],
        },
        {"name": "GeOp1_3", "nodes": ["z"], "args": ["py:0"], "rets": [], "copies": ["w"]},
    ],
    "host": [{"node": "py", "op": "PyFunc", "reason": "NOT_SUPPORTED", "witness": [], "remedy": "none"}],
    "borders": [{"source": "mul:0", "dtype": "float32", "direction": "d2h", "consumers": ["py"], "bytes": 8}],
    "min_geops": 2,
    "notes": [{"code": "SMALL", "message": "whatever", "subject": "z"}],
}


def test_the_facts_of_a_partition() -> None:
    assert observe.facts("partition", PARTITION) == [
        "border d2h mul:0 float32",
        "device add",
        "device mul",
        "device z",
        "geop add arg x:0",
        "geop add copy v",
        "geop add node add",
        "geop add node mul",
        "geop add ret mul:0",
        "geop z arg py:0",
        "geop z copy w",
        "geop z node z",
        "geops 2",
        "host py",
        "host py because NOT_SUPPORTED",
        "min_geops 2",
        "note SMALL z",
    ]


def test_a_partition_with_the_least_a_backend_may_say() -> None:
    answer = {"geops": [{"nodes": ["a"]}], "host": [{"node": "b"}]}
    assert protocol.ok_fault("partition", answer) is None
    assert observe.facts("partition", answer) == ["device a", "geop a node a", "geops 1", "host b"]


def test_the_facts_of_options() -> None:
    answer = {
        "effective": {"b": {"value": {"y": [1, None], "x": "\u540d"}, "origin": "given"}, "a": {"value": True}},
        "warnings": [{"option": "z", "code": "unknown"}, {"option": "z", "code": "unknown"}],
    }
    assert observe.facts("options", answer) == [
        "effective a = true",
        'effective b = {"x": "\\\\u540d", "y": [1, null]}',
        "origin b = given",
        "warning z unknown",
    ]


def tensor(dtype: str, shape: list, raw: bytes) -> dict:
    return {"dtype": dtype, "shape": shape, "b64": base64.b64encode(raw).decode()}


def test_the_facts_of_a_run() -> None:
    answer = {
        "fetches": {"y:0": tensor("float32", [2], struct.pack("<2f", 1.0, -0.0))},
        "trace": [
            {"engine": None, "geops": 0, "copies": [], "partition": None},
            {
                "engine": "simulated",
                "geops": 1,
                "copies": [
                    {"tensor": "x:0", "direction": "h2d", "bytes": 8},
                    {"tensor": "u:0", "direction": "d2h", "bytes": None},
                    {"tensor": "never:0", "direction": "d2h", "bytes": 0, "times": 0},
                ],
                "partition": {"geops": [{"nodes": ["y"]}], "host": [{"node": "x"}]},
            },
        ],
        "log": [{"level": "warning", "code": "OLD", "subject": "opt", "message": "free text"}],
        "output": "cost 1.0\n",
        "files": {"dump/1": {"b64": ""}},
    }
    assert protocol.ok_fault("run", answer) is None
    assert observe.facts("run", answer) == [
        "engine ran",
        "fetch y:0 float32 [2] 3f800000 80000000",
        "file dump/1 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "log warning OLD opt",
        "printed cost 1.0",
        "run 0 geops 0",
        "run 1 copy d2h u:0 ?",
        "run 1 copy h2d x:0 8",
        "run 1 device y",
        "run 1 geops 1",
        "run 1 host x",
    ]


def test_the_facts_of_a_precision_assignment() -> None:
    answer = {
        "nodes": [
            {
                "node": "conv", "op": "Conv2D", "kernel": "Conv2D", "geop": "GeOp1_0", "engine": "cube",
                "inputs": ["float16", "float16"], "outputs": ["float16"], "list": "trustlist", "impl_mode": None,
                "why": "free text",
            },
            {"node": "pool", "inputs": ["float32"], "outputs": ["float32"], "engine": "aicpu", "impl_mode": "keep"},
            {"node": "zero", "inputs": [], "outputs": ["int32"]},
        ],
        "casts": [{"source": "x:0", "target": "conv:0", "from": "float32", "to": "float16"}] * 2,
        "warnings": [{"code": "FP16_RANGE", "subject": "c", "message": "free text"}],
    }  # fmt: skip
    assert protocol.ok_fault("precision", answer) is None
    assert observe.facts("precision", answer) == [
        "cast x:0 -> conv:0 float32 float16",
        "dtypes conv float16 float16 -> float16",
        "dtypes pool float32 -> float32",
        "dtypes zero -> int32",
        "engine conv cube",
        "engine pool aicpu",
        "impl_mode pool keep",
        "list conv trustlist",
        "notice FP16_RANGE c",
    ]


def test_a_session_without_the_engine_shows() -> None:
    assert "engine absent" in observe.facts("run", {"fetches": {}, "trace": [{"engine": None, "geops": 0}]})


def test_every_fact_is_of_a_declared_aspect_of_its_method() -> None:
    for fact in observe.observations("partition", PARTITION):
        assert observe.ASPECTS[fact.aspect].method == "partition"


names = st.text(min_size=1, max_size=8)
partitions = st.fixed_dictionaries(
    {
        "geops": st.lists(st.fixed_dictionaries({"nodes": st.lists(names, min_size=1, max_size=5)}), max_size=4),
        "host": st.lists(st.fixed_dictionaries({"node": names}), max_size=4),
    }
)


@settings(max_examples=60)
@given(partitions)
def test_facts_are_one_line_of_printable_ascii_and_sorted(answer: dict) -> None:
    facts = observe.facts("partition", answer)
    assert facts == sorted(facts)
    assert all(re.fullmatch(r"[ -~]+", fact) for fact in facts)


@settings(max_examples=60)
@given(partitions, st.randoms(use_true_random=False))
def test_facts_do_not_depend_on_any_order_or_geop_name(answer: dict, random) -> None:
    other = json.loads(json.dumps(answer))
    random.shuffle(other["geops"])
    random.shuffle(other["host"])
    for number, geop in enumerate(other["geops"]):
        random.shuffle(geop["nodes"])
        geop["name"] = f"other{number}"
    assert observe.facts("partition", answer) == observe.facts("partition", other)


def test_the_table_of_aspects_in_the_guide_is_the_one_declared() -> None:
    path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "write-a-case.md")
    with open(path, encoding="utf-8") as stream:
        table = stream.read().split("## Aspects and their facts")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| (?:`([\w.]+)` )?\|$", table, re.MULTILINE)
    assert dict(rows) == {aspect.name: aspect.feature for aspect in observe.ASPECTS.values()}
