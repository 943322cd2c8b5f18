"""Every file that a user names is read alike: a pipe is refused at once, a mark and other line ends are read over."""

from __future__ import annotations

import os

import pytest

from npu_conformance.models.precise import read_ops_info
from npu_reference import hardware
from npu_reference.catalog import OpList
from npu_reference.device import faults
from npu_reference.device.links import rank_table
from npu_reference.errors import NpuError

READERS = {
    "op list": OpList.load, "operator information": read_ops_info, "device": hardware.load, "faults": faults.parse,
    "rank table": rank_table.read,
}  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name")
@pytest.mark.parametrize("kind", READERS)
def test_a_pipe_a_directory_and_other_encodings_are_one_error_that_names_the_file(kind, tmp_path):
    os.mkfifo(str(tmp_path / "pipe.toml"))
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "latin.toml").write_bytes(b'{"\xe9": 1}')
    (tmp_path / "wide.toml").write_bytes("{}".encode("utf-16"))
    for name in ("pipe", "folder", "latin", "wide", "missing"):
        with pytest.raises((NpuError, ValueError)) as caught:
            READERS[kind](str(tmp_path / f"{name}.toml"))
        assert str(caught.value).count(f"{name}.toml") == 1 and "\n" not in str(caught.value)


def test_an_operator_list_may_have_a_mark_and_other_line_ends(tmp_path):
    (tmp_path / "ops.json").write_bytes(b'\xef\xbb\xbf{"Relu": {},\r\n"Exp": {"isGray": true}}\r\n')
    assert list(OpList.load(str(tmp_path / "ops.json"))) == ["Exp", "Relu"]


def test_a_number_of_any_length_is_as_wrong_in_a_list_as_any_other():
    with pytest.raises(NpuError) as caught:
        OpList.parse('{"Relu": ' + "9" * 10000 + "}")
    assert (caught.value.subject, caught.value.reason[:22]) == ("<op_list>: Relu", "its entry is a number,")
