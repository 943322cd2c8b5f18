"""The worker speaks protocol 1 and survives whatever is sent to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, List

import pytest

from npu_conformance.backends import reference, worker
from npu_conformance.files import resources
from npu_conformance.protocol import client
from npu_conformance.protocol import messages as protocol
from tests.cases.corpus import corpus
from tests.conformance.shelves import QUICK

GRAPH = os.path.join(resources.fixtures(), "graphs", "cases", "pyfunc_chain")


def talk(*lines: Any, spec: str = "reference") -> List[dict]:
    """Answers to some lines, each a request or raw bytes, from one worker that must end with status 0."""
    raw = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    command = [sys.executable, "-m", "npu_conformance", "worker", spec]
    done = subprocess.run(command, input=raw, capture_output=True, env=client.environment(QUICK.env), timeout=60)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def ask(method: str, identifier: int = 1, **params: Any) -> dict:
    return {"id": identifier, "method": method, "params": params}


PLAIN = {"surface": "session", "edition": "current"}


@pytest.mark.parametrize("ending", [".pb", ".pbtxt"])
def test_protocol_lines_get_the_answers_of_the_design_for_either_form_of_a_graph(ending: str) -> None:
    op_list = {"Relu": {"isGray": False, "isHeavy": False}, "Add": {"isGray": False, "isHeavy": False}}
    hello, options, partition, shutdown = talk(
        ask("hello", protocol=1),
        ask("options", 2, values={"mix_compile_mode": True}, **PLAIN),
        ask("partition", 3, graph=GRAPH + ending, values={"mix_compile_mode": True}, op_list=op_list, **PLAIN),
        ask("shutdown", 4),
    )
    assert hello["ok"]["protocol"] == 1
    assert set(hello["ok"]["capabilities"]) == {"areas", "editions", "features"}
    assert options["ok"]["effective"]["mix_compile_mode"] == {"value": True, "origin": "given"}
    assert set(partition["ok"]) == {"geops", "host", "borders", "min_geops", "notes"}
    assert set(partition["ok"]["host"][0]) == {"node", "op", "reason", "witness", "remedy"}
    assert shutdown == {"id": 4, "ok": {}}
    for answer, method in ((hello, "hello"), (options, "options"), (partition, "partition")):
        assert protocol.answer_fault(answer, method, answer["id"]) is None


def test_what_a_line_leaves_out_has_its_default_and_an_operator_list_may_be_a_file(tmp_path: Any) -> None:
    listed = {"Relu": {"isGray": False, "isHeavy": False}, "Add": {"isGray": True, "isHeavy": False}}
    path = tmp_path / "op_list.json"
    path.write_text(json.dumps(listed), encoding="ascii")
    values = {"mix_compile_mode": True}
    whole, short, bad = talk(
        ask("partition", 1, graph=GRAPH + ".pb", values=values, op_list=listed, **PLAIN),
        ask("partition", 2, graph=GRAPH + ".pb", values=values, op_list=str(path)),
        ask("partition", 3, graph=GRAPH + ".pb", op_list=str(tmp_path / "none.json")),
    )
    assert short["ok"] == whole["ok"]
    assert (bad["id"], bad["rejected"]["code"]) == (3, "OP_LIST")


def test_op_list_decides_what_is_offloaded() -> None:
    def nodes(op_list: dict) -> int:
        values = {"mix_compile_mode": True}
        answer = talk(ask("partition", graph=GRAPH + ".pb", values=values, op_list=op_list, **PLAIN))[0]
        return sum(len(geop["nodes"]) for geop in answer["ok"]["geops"])

    assert nodes({}) == 0
    assert nodes({"Add": {}, "AddV2": {}, "Mul": {}, "Placeholder": {}}) > 0


def test_what_a_user_gave_wrong_is_rejected_with_code_message_and_subject() -> None:
    answers = talk(
        ask("options", values={"mix_compile_mode": "yes"}, **PLAIN),
        ask("partition", graph="/no/such/graph.pb", values={}, **PLAIN),
    )
    assert [answer["rejected"]["code"] for answer in answers] == ["OPTION_TYPE", "GRAPH_FILE"]
    assert answers[0]["rejected"]["subject"] == "mix_compile_mode"


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b"[" * 100000 + b"\n", b'{"id": 1}\n', b"null\n",
        b'{"id": "x", "method": "hello", "params": {}}\n', b" " * 64 + b"x\n", b"x" * (17 << 20) + b"\n",
    ],
)  # fmt: skip
def test_a_malformed_line_is_answered_by_error_and_the_worker_lives_on(line: bytes) -> None:
    first, second = talk(line, ask("reset", 7))
    assert set(first) == {"id", "error"}
    assert second == {"id": 7, "ok": {}}


def test_malformed_parameters_are_an_error_of_their_request() -> None:
    answers = talk(
        ask("options", 5, values=3, **PLAIN),
        ask("partition", 6, values={}, **PLAIN),
        ask("options", 7, values={}, surface="window", edition="current"),
        ask("hello", 8, protocol=2),
    )
    assert [answer["id"] for answer in answers] == [5, 6, 7, 8]
    assert all("malformed request" in answer["error"]["message"] for answer in answers)


def test_an_unknown_method_and_an_unknown_field_do_no_harm() -> None:
    unknown, known = talk(ask("fly", 1), ask("options", 2, values={}, colour="red", **PLAIN))
    assert unknown == {"id": 1, "unsupported": {"feature": "fly"}}
    assert "ok" in known


def test_blank_lines_and_the_end_of_input_are_fine() -> None:
    assert talk(b"\n", b"  \n") == []


@pytest.mark.parametrize(
    "spec", ["py:no_such_module:attr", "py:miniatures:NoSuchClass", "mutant:no-such", "nonsense", "exec:true"]
)
def test_a_backend_that_cannot_be_loaded_is_one_line_on_stderr(spec: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "npu_conformance", "worker", spec],
        input=b"", capture_output=True, env=client.environment(QUICK.env), timeout=60,
    )  # fmt: skip
    assert done.returncode in (2, 3)
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"error[BACKEND_")


def test_every_request_of_the_shipped_cases_follows_the_protocol(tmp_path) -> None:
    from npu_conformance.protocol import requests

    declared = protocol.methods()
    seen = set()
    for instance in corpus().instances():
        if instance.twin or (instance.case.id in seen):
            continue
        seen.add(instance.case.id)
        params = requests.prepare(instance, str(tmp_path)).params
        message = {"id": 1, "method": instance.case.method, "params": params}
        assert protocol.request_fault(message) is None
        assert instance.case.method in declared
        assert instance.case.id not in protocol.encode(message).decode()


@pytest.mark.parametrize(
    "params",
    [
        {"env": []},
        {"env": {"A": 1}},
        {"files": False},
        {"files": {"a": 1}},
        {"op_list": []},
        {"op_list": None},
        {"values": []},
    ],
)
@pytest.mark.parametrize("method", ["partition", "precision", "options"])
def test_parameters_of_the_wrong_kind_are_malformed_whatever_the_method(method: str, params: dict) -> None:
    if method == "options" and "op_list" in params:
        return
    whole = {"graph": GRAPH + ".pb", "values": {"mix_compile_mode": True}, **PLAIN, **params}
    message, _ = worker._answer(reference.ReferenceBackend(), protocol.encode(ask(method, **whole)))
    assert "malformed request: params." in message["error"]["message"], message


@pytest.mark.parametrize("name", ["a\0b", "\udc80", "x" * 5000, "/dev/zero", "/"])
def test_an_operator_list_whose_file_is_none_is_refused(name: str) -> None:
    line = json.dumps(ask("partition", graph=GRAPH + ".pb", values={}, op_list=name, **PLAIN)).encode()
    message, _ = worker._answer(reference.ReferenceBackend(), line)
    if "\udc80" in name:
        assert "half a character" in message["error"]["message"]
    else:
        assert message["rejected"]["code"] == "OP_LIST"
        assert len(message["rejected"]["message"]) < 1000


def test_a_tensor_beyond_64_bits_has_no_bytes_and_the_answer_is_json(tmp_path) -> None:
    from npu_reference.graphs import GraphBuilder, write_graph

    g = GraphBuilder()
    g.py_func("host", [g.op("Relu", "relu", [g.placeholder("x", "float32", [1 << 62] * 254)])], ["float32"])
    path = str(tmp_path / "large.pb")
    write_graph(g.build(), path)
    answers = [
        worker._answer(
            reference.ReferenceBackend(),
            protocol.encode(ask(method, graph=path, values={"mix_compile_mode": True}, **PLAIN)),
        )[0]
        for method in ("partition", "precision")
    ]
    for message, method in zip(answers, ("partition", "precision")):
        assert protocol.answer_fault(protocol.decode(protocol.encode(message)), method, 1) is None
    assert [border["bytes"] for border in answers[0]["ok"]["borders"]] == [None, None]
