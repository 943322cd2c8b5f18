"""The binary form of dumps: what is written is read back, by ours and by protobuf's own reader, and nothing else is."""

from __future__ import annotations

import os
import struct

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from npu_reference import NpuError
from npu_reference.dumps import form, names
from npu_reference.dumps.dtypes import BY_NAME

_KINDS = {"text": 9, "bytes": 12, "uint64": 4, "int32": 5, "enum": 5, "uint32": 13}

#: The messages as the field's tools declare them; enums are numbers on the wire.
_MESSAGES = {
    "Shape": [("dim", 1, "uint64", True)],
    "OriginalOp": [("name", 1, "text", False), ("output_index", 2, "uint32", False)],
    "OpAttr": [("name", 1, "text", False), ("value", 2, "text", False)],
    "Workspace": [("type", 1, "enum", False), ("data", 2, "bytes", False), ("size", 3, "uint64", False)],
    "OpOutput": [
        ("data_type", 1, "enum", False), ("format", 2, "enum", False), ("shape", 3, "Shape", False),
        ("original_op", 4, "OriginalOp", False), ("data", 5, "bytes", False), ("size", 6, "uint64", False),
        ("original_shape", 7, "Shape", False), ("sub_format", 8, "int32", False),
    ],
    "OpInput": [
        ("data_type", 1, "enum", False), ("format", 2, "enum", False), ("shape", 3, "Shape", False),
        ("data", 4, "bytes", False), ("size", 5, "uint64", False), ("original_shape", 6, "Shape", False),
        ("sub_format", 7, "int32", False),
    ],
    "DumpData": [
        ("version", 1, "text", False), ("dump_time", 2, "uint64", False), ("output", 3, "OpOutput", True),
        ("input", 4, "OpInput", True), ("op_name", 6, "text", False), ("attr", 7, "OpAttr", True),
        ("space", 8, "Workspace", True),
    ],
}  # fmt: skip


def dump_data():
    """The message class of protobuf's own, made without a compiler."""
    file = descriptor_pb2.FileDescriptorProto(name="dump_data.proto", package="dumped", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for label, number, kind, repeated in fields:
            field = message.field.add(name=label, number=number, label=3 if repeated else 1)
            if kind in _KINDS:
                field.type = _KINDS[kind]
            else:
                field.type, field.type_name = 11, f".dumped.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName("dumped.DumpData")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


DUMP_DATA = dump_data()


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(sorted(BY_NAME)))
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    size = BY_NAME[dtype].size
    for dim in shape:
        size *= dim
    return form.Tensor(dtype, shape, size, draw(st.sampled_from(["ND", "NHWC", "NCHW"])))


descriptions = st.builds(
    form.Description,
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=20),
    st.integers(0, 2**63),
    st.lists(tensors(), max_size=3).map(tuple),
    st.lists(tensors(), max_size=3).map(lambda found: tuple(one._replace(source="a/b", slot=2) for one in found)),
    st.lists(st.builds(form.Buffer, st.just("workspace"), st.integers(0, 40)), max_size=2).map(tuple),
)


def written(description):
    inputs = [bytes(range(256)) * 20 for _ in description.inputs]
    outputs = [bytes(reversed(range(256))) * 20 for _ in description.outputs]
    ends = [data[: one.size] for data, one in zip(inputs, description.inputs)]
    return b"".join(
        form.encode(description, ends, [data[: one.size] for data, one in zip(outputs, description.outputs)])
    )


@settings(max_examples=60)
@given(descriptions)
def test_what_is_written_is_what_protobuf_itself_reads(description) -> None:
    data = written(description)
    length = struct.unpack("<Q", data[:8])[0]
    message = DUMP_DATA.FromString(data[8 : 8 + length])
    assert (message.op_name, message.dump_time) == (description.op_name, description.time)
    assert [one.size for one in message.output] == [one.size for one in description.outputs]
    assert [tuple(one.shape.dim) for one in message.input] == [one.shape for one in description.inputs]
    assert [one.data_type for one in message.input] == [BY_NAME[one.dtype].number for one in description.inputs]
    assert [one.original_op.output_index for one in message.output] == [2] * len(description.outputs)
    assert [(one.name, one.value) for one in message.attr] == list(description.attrs)


@settings(max_examples=60)
@given(descriptions)
def test_what_protobuf_writes_is_what_we_read(description) -> None:
    data = written(description)
    length = struct.unpack("<Q", data[:8])[0]
    again = DUMP_DATA.FromString(data[8 : 8 + length]).SerializeToString()
    assert form.decode(again) == description


@settings(max_examples=40)
@given(descriptions, st.data())
def test_a_file_that_is_cut_off_is_no_dump(tmp_path_factory, description, data) -> None:
    whole = written(description)
    path = str(tmp_path_factory.mktemp("cut") / "f")
    with open(path, "wb") as stream:
        stream.write(whole)
    assert form.read(path).description == description
    with open(path, "wb") as stream:
        stream.write(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(NpuError) as caught:
        form.read(path)
    assert caught.value.code == "DUMP_FILE"


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_description_or_one_clear_error(data) -> None:
    try:
        form.decode(data)
    except NpuError as error:
        assert error.code == "DUMP_FILE"


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 8, struct.pack("<Q", 1 << 62) + b"x" * 40, struct.pack("<Q", 0) + b"x"]
)
def test_what_is_no_dump_is_told_by_its_first_bytes(tmp_path, data) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(NpuError, match="no dump file"):
        form.read(str(path))


def test_a_folder_or_a_pipe_is_no_dump(tmp_path) -> None:
    os.mkfifo(str(tmp_path / "pipe"))
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing"):
        with pytest.raises(NpuError):
            form.read(str(path))


def test_names_are_those_of_the_documented_layout() -> None:
    # D1
    name = names.file_name("MatMul", "a/b.c d\\e", 3, 0, 17)
    assert name == "MatMul.a_b_c_d_e.3.0.17"
    assert names.parse(name) == names.FileName("MatMul", "a_b_c_d_e", 3, 0, 17)
    assert names.parse("MatMul.x.3.17") == names.FileName("MatMul", "x", 3, None, 17)
    for other in ("op_cache.ini", "a.b.c.d", "mapping.csv", "MatMul.x.3.17.1.2", ""):
        assert names.parse(other) is None


def test_a_name_too_long_for_a_file_stands_in_the_mapping() -> None:
    name = names.file_name("MatMul", "layer" * 80, 1, 0, 2)
    short = names.mapped(name)
    assert short.isdigit()
    assert names.mapping_lines([name]) == f"{short},{name}\n"


@given(st.integers(2**49, 2**56 - 1))
def test_what_is_kept_of_an_operator_and_a_time_make_the_beginning_of_its_file(time) -> None:
    tensor = form.Tensor("float32", (2, 3), 24, "ND", "op", 1)
    description = form.Description("op", time, (tensor,), (tensor, tensor))
    start = form.encode(description, [], [])[0]
    assert form.opening(description._replace(time=0)) + form.packed(time) == start
    assert form.decode(start[8:]) == description._replace(inputs=(tensor._replace(source="", slot=0),))
