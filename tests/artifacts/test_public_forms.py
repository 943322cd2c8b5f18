"""Files of a compilation, of a library and of a dump, read by what is public of their forms and nothing of ours.

fusion_result.json: the keys that ATC's --export_compile_stat describes. Operator information: document 004. Dumps:
eight bytes of length, the message DumpData (dump_data.proto: numbers of fields, dtypes and layouts), then the tensors.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct

import pytest

from npu_reference.artifacts import library
from npu_reference.dumps import form
from tests.artifacts.making import Machine, dense

#: Numbers of dtypes in dump_data.proto, with struct's letter for one element.
FLOAT, FLOAT16, INT32 = (1, "f"), (2, "e"), (7, "i")
LAYOUTS = {0: "NCHW", 1: "NHWC", 2: "ND"}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_fusion_results_have_the_described_keys_and_counts_as_texts(machine):
    program = machine.program()
    machine.compile(dense(), program=program, export_compile_stat=2)
    found = json.loads((machine.path / "fusion_result.json").read_text(encoding="utf-8"))
    assert list(found) == ["session_and_graph_id_0_0"]
    sections = found["session_and_graph_id_0_0"]
    assert set(sections) == {"graph_fusion", "ub_fusion"}
    assert sections["ub_fusion"]  # the product and its Relu are one kernel
    for section, passes in sections.items():
        for counts in passes.values():
            wanted = {"match_times", "effect_times"} | ({"repository_hit_times"} if section == "ub_fusion" else set())
            assert set(counts) == wanted and all(re.fullmatch(r"\d+", count) for count in counts.values())
            assert int(counts["effect_times"]) <= int(counts["match_times"])


def test_a_kernels_description_names_its_binary_and_has_its_digest(machine):
    machine.compile(dense(), op_debug_level=1)
    described = next(name for name in machine.files("kernel_meta") if re.search(r"[0-9a-f]\.json$", name))
    told = json.loads((machine.path / described).read_text(encoding="utf-8"))
    binary = (machine.path / described.replace(".json", told["binFileSuffix"])).read_bytes()
    assert told["binFileName"] == told["kernelName"] == described.rpartition("/")[2][: -len(".json")]
    assert hashlib.sha256(binary).hexdigest() == told["sha256"]
    assert b"simulated" in binary[:200] and "simulated" in told


def test_a_weight_file_is_the_constants_bytes_and_is_called_after_them(machine):
    machine.compile(dense(0.5, size=8), external_weight=True)
    (path,) = machine.path.glob("tmp_weight_*/weight_*")
    data = path.read_bytes()
    assert struct.unpack("<64e", data) == (0.5,) * 64  # float16, row by row
    assert path.name == f"weight_{hashlib.sha256(data).hexdigest()}"


def test_the_operator_information_has_columns_of_one_length_for_each_tensor():
    (one,) = library.files()
    entries = json.loads(one.text)
    assert re.fullmatch(r"opp/built-in/op_impl/ai_core/tbe/config/ascend910/aic-ascend910-ops-info\.json", one.path)
    assert entries["MatMulV2"]["input0"]["dtype"].split(",")[0] in ("float16", "float")
    assert entries["Relu"]["output0"]["dtype"]
    for name, entry in entries.items():
        columns = {len(part["dtype"].split(",")) for key, part in entry.items() if re.fullmatch(r"(in|out)put\d+", key)}
        assert len(columns) <= 1, name
        assert set(entry.get("precision_reduce", {"flag": "true"})["flag"].split()) <= {"true", "false"}


# -- a reader of protobuf's wire form, and of a dump by its published message ------------------------------------------


def fields(data):
    """Number of a field and its value, as they come: whole numbers and bytes are all that a dump has."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        assert tag & 7 in (0, 2), "a dump has no other kind of field"
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint()
            at += size
            yield tag >> 3, data[at - size : at]


def tensor(data, size_field):
    """dtype number, layout, shape and bytes of an OpOutput or OpInput; each says its size in a field of its own."""
    found = dict(fields(data))
    shape = []
    for number, value in fields(found.get(3, b"")):
        assert number == 1
        packed, at = [], 0
        while at < len(value):  # numbers below 128, as those of this test are
            packed.append(value[at])
            at += 1
        shape += packed
    return found[1], LAYOUTS[found.get(2, 0)], tuple(shape), found[size_field]


def test_a_dump_is_read_by_its_published_message(tmp_path):
    described = form.Description(
        "tower/dense/MatMul", 1_700_000_000_000_000,
        (form.Tensor("float16", (2, 3), 12), form.Tensor("int32", (), 4)),
        (form.Tensor("float32", (1, 2, 2, 1), 16, "NHWC", "tower/dense/MatMul", 0),),
    )  # fmt: skip
    inputs = [struct.pack("<6e", *range(6)), struct.pack("<i", -7)]
    outputs = [struct.pack("<4f", 0.5, 1.5, -2.0, 0.0)]
    path = tmp_path / "MatMulV2.tower_dense_MatMul.3.4.1700000000000000"
    path.write_bytes(b"".join(form.encode(described, inputs, outputs)))
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    message, rest = list(fields(data[8 : 8 + length])), data[8 + length :]
    by_number = {}
    for number, value in message:
        by_number.setdefault(number, []).append(value)
    assert by_number[6] == [b"tower/dense/MatMul"] and by_number[2] == [1_700_000_000_000_000]
    ins = [tensor(value, 5) for value in by_number[4]]
    outs = [tensor(value, 6) for value in by_number[3]]
    assert ins == [(FLOAT16[0], "ND", (2, 3), 12), (INT32[0], "ND", (), 4)]
    assert outs == [(FLOAT[0], "NHWC", (1, 2, 2, 1), 16)]
    values, at = [], 0
    for (_, _, _, size), (_, letter) in zip([*ins, *outs], (FLOAT16, INT32, FLOAT)):
        values.append(struct.unpack(f"<{size // struct.calcsize(letter)}{letter}", rest[at : at + size]))
        at += size
    assert at == len(rest)
    assert values == [(0.0, 1.0, 2.0, 3.0, 4.0, 5.0), (-7,), (0.5, 1.5, -2.0, 0.0)]
    attributes = [dict(fields(value)) for value in by_number[7]]
    assert {1: b"simulated", 2: b"npu_reference"} in attributes
