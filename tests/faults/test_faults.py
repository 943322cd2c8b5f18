"""What users write of faults, and what no device has by itself."""

from __future__ import annotations

import io
import json
import pathlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npu_reference.device import faults
from npu_reference.errors import CATALOGUE, DeviceError, NpuError


def refusal(read, *arguments):
    with pytest.raises(NpuError) as caught:
        read(*arguments)
    assert caught.value.code == "FAULT_VALUE"
    return caught.value.message


def test_a_device_has_no_fault_by_itself():
    assert faults.parse(None) == faults.parse([]) == faults.parse_text([]) == faults.NONE


def test_a_fault_is_read_from_the_protocol_from_a_file_and_from_the_command_line(tmp_path):
    entry = {"kind": "hang", "node": "dense/MatMul", "at": 2, "seconds": 60}
    (tmp_path / "faults.json").write_text(json.dumps([entry]), encoding="utf-8")
    expected = faults.Faults((faults.Fault("hang", "dense/MatMul", at=2, seconds=60),))
    assert faults.parse([entry]) == faults.parse(tmp_path / "faults.json") == expected
    assert faults.parse_text(["hang:dense/MatMul@2,seconds=60"]) == expected
    assert faults.parse_text([str(tmp_path / "faults.json")]) == expected


_ENTRIES = st.sampled_from(sorted(faults.KINDS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"kind": st.just(kind)},
        optional={
            field: {
                "node": st.from_regex(r"[A-Za-z0-9.][A-Za-z0-9_./>-]{0,20}", fullmatch=True),
                "seconds": st.integers(0, 10**6),
            }.get(field, st.integers(1, 10**6))
            for field in ("rank", *faults.KINDS[kind].takes)
        },
    )
)


@given(st.lists(_ENTRIES, max_size=3))
@example([{"kind": "disk_full", "rank": 1000000}])
@example([{"kind": "hang", "seconds": 0.25}])
def test_what_is_told_of_a_fault_reads_as_that_fault(entries):
    read = faults.parse(entries)
    assert faults.parse(read.to_json()) == read
    assert faults.parse_text([fault.text for fault in read.items]) == read


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "hang"}, "a list of faults"),
        (["hang"], "a fault is an object"),
        ([{"node": "a"}], "it has no kind"),
        ([{"kind": "hangs"}], "Did you mean hang?"),
        ([{"kind": ["hang"]}], "no kind of fault"),
        ([{"kind": "hang", "bytes": 1}], "hang has no field 'bytes'"),
        ([{"kind": "hang", "node": 3}], "node is 3"),
        ([{"kind": "hang", "node": "a:0"}], "not the name of an operator"),
        ([{"kind": "hang", "at": 0}], "from 1"),
        ([{"kind": "hang", "at": True}], "at is True"),
        ([{"kind": "hang", "seconds": -1}], "from 0"),
        ([{"kind": "hang", "seconds": float("nan")}], "seconds is nan"),
        ([{"kind": "lost_peer", "after": 1.5}], "whole number"),
        ([{"kind": "hang"}] * 101, "101 faults"),
    ],
)
def test_what_is_no_fault_is_refused_with_what_would_be_right(given, says):
    assert says in refusal(faults.parse, given)


@pytest.mark.parametrize("text", ["", "hang@", "hang:", "hang@x", "hang,seconds", "hang,seconds=x", "hang@1,at=2"])
def test_what_the_command_line_cannot_mean_is_refused(text):
    refusal(faults.parse_text, [text])


@pytest.mark.parametrize("content", [b"[", b"\xff", b"[" * 100000, b" " * (1 << 21)])
def test_a_file_that_holds_no_list_is_refused(tmp_path, content):
    path = tmp_path / "faults.json"
    path.write_bytes(content)
    assert "faults.json" in refusal(faults.parse, str(path))
    assert "cannot be read" in refusal(faults.parse, str(tmp_path / "absent.json"))


def test_a_file_with_a_key_twice_is_refused(tmp_path):
    path = tmp_path / "faults.json"
    path.write_text('[{"kind": "hang", "node": "a", "node": "b"}]')
    assert 'the key "node" stands twice' in refusal(faults.parse, str(path))


def test_an_operator_that_is_not_there_is_told_with_the_nearest():
    read = faults.parse([{"kind": "hang", "node": "dense/MatMull"}])
    assert "dense/MatMul" in refusal(read.check_nodes, ["dense/MatMul", "x"])
    read.check_nodes(["dense/MatMull"])


def test_every_text_of_a_fault_says_that_it_was_asked_for():
    fault = faults.parse([{"kind": "hang", "rank": 3}]).items[0]
    assert fault.asked == "This fault was asked for: hang,rank=3."
    assert fault.of(3) and not fault.of(0)


def test_a_full_disk_takes_what_fits_and_says_what_a_disk_says():
    disk = faults.parse([{"kind": "disk_full", "after": 5}]).disk()
    stream = io.BytesIO()
    disk.write(stream, b"abc")
    with pytest.raises(OSError, match="No space left") as caught:
        disk.write(stream, b"defg")
    assert stream.getvalue() == b"abcde"
    assert caught.value.errno == 28 and faults.ASKED in str(caught.value)
    faults.NONE.disk().write(stream, b"fgh")
    assert stream.getvalue() == b"abcdefgh"


def test_an_error_of_the_device_tells_its_number_and_its_moment():
    error = DeviceError("DEVICE_TIMEOUT", "op_execute_timeout", "late.", number="507014", after_ns=90 * 10**9)
    assert error.to_json()["after_ns"] == 90 * 10**9 and error.to_json()["number"] == "507014"
    assert "option" not in error.to_json()
    assert {"DEVICE_TIMEOUT", "DEVICE_ENDLESS", "DEVICE_FAULT", "COLLECTIVE_TIMEOUT"} <= set(CATALOGUE)


def test_the_table_of_faults_in_the_guide_is_the_declared_one():
    guide = pathlib.Path(__file__).parents[2].joinpath("docs", "device.md").read_text(encoding="utf-8")
    rows = guide.split("<!-- faults -->\n")[1].split("<!-- /faults -->")[0].splitlines()
    assert rows == [
        f"| `{kind.name}` | {kind.meaning} | {', '.join(f'`{field}`' for field in kind.takes)} |"
        for kind in faults.KINDS.values()
    ]
