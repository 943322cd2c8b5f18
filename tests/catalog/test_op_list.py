"""The operator list: built in, or from a user's JSON in the adapter's form."""

from __future__ import annotations

import json

import pytest

from npu_reference.catalog import OpEntry, OpList
from npu_reference.errors import NpuError


def test_the_built_in_list_has_compute_operators_and_no_host_callbacks():
    ops = OpList.built_in()
    for op in ("Conv2D", "MatMul", "Relu", "While", "If", "VariableV2", "VarHandleOp", "FusedBatchNormV3"):
        assert ops.get(op) == OpEntry(is_gray=False, is_heavy=False), op
    for op in ("PyFunc", "EagerPyFunc", "ScalarSummary", "SaveV2", "RestoreV2", "IteratorGetNext", "ReadFile"):
        assert ops.get(op) is None, op


def test_string_and_variant_operators_are_gray():  # M1
    ops = OpList.built_in()
    for op in ("StringJoin", "AsString", "DecodeJpeg", "TensorListStack", "PrintV2"):
        assert ops.get(op).is_gray, op


def test_a_list_survives_being_written_and_read():
    ops = OpList.built_in()
    again = OpList.parse(json.dumps(ops.to_json()))
    assert list(again) == list(ops)
    assert all(again.get(op) == ops.get(op) for op in ops)


def test_flags_default_to_false_and_other_keys_are_ignored():
    ops = OpList.parse('{"A": {}, "B": {"isGray": true, "note": 1}, "C": {"isHeavy": true}}')
    assert [ops.get(op) for op in "ABC"] == [OpEntry(), OpEntry(True, False), OpEntry(False, True)]
    assert ops.get("D") is None


@pytest.mark.parametrize(
    "text, part",
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "a list, not an object"),
        ("3", "a number, not an object"),
        ('{"A": true}', "a truth value, not an object"),
        ('{"A": {"isGray": 1}}', "isGray is a number"),
        ('{"A": {"isGray": true, "isGray": false}}', "isGray is given twice"),
        ('{"A": {}, "A": {}}', "listed twice"),
        ('{"": {}}', "no name"),
        ("[" * 100000, "nested too deeply"),
    ],
)
def test_a_malformed_list_is_one_error_that_says_where(text, part):
    with pytest.raises(NpuError) as caught:
        OpList.parse(text, "ops.json")
    assert caught.value.code == "OP_LIST"
    assert part in caught.value.reason
    assert caught.value.subject.startswith("ops.json")


def test_a_missing_file_and_a_binary_one_are_errors(tmp_path):
    for path, content in ((tmp_path / "missing.json", None), (tmp_path / "binary.json", b"\xff\xfe{")):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(NpuError) as caught:
            OpList.load(str(path))
        assert caught.value.code == "OP_LIST"
