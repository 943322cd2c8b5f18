"""What `inspect` shows of dumps, and where it says that two of them depart."""

from __future__ import annotations

import os
import re
import struct

import pytest

from npu_conformance.inspecting import dumps
from npu_conformance.inspecting.registry import Inspected
from npu_reference.dumps import form, names
from npu_reference.dumps.writing import Target
from tests.conformance.test_inspect_folders import answer, run

np = pytest.importorskip("numpy")


def dump(folder, *ops, step=0, dtype="float32"):
    """A dump of operators ``(name, values)``, a task each, in the order given."""
    os.makedirs(str(folder), exist_ok=True)
    target = Target(str(folder))
    target.open()
    files = target.step("GeOp_0", 1, step)
    for task, (op, values) in enumerate(ops, 1):
        array = np.asarray(values, dtype)
        tensor = form.Tensor(dtype, array.shape, array.nbytes, "ND", op, 0)
        time = target.clock.stamp()
        parts = form.encode(form.Description(op, time, (), (tensor,)), [], [array.tobytes()])
        files.write(names.file_name("Relu", op, task, 0, time), parts)
    files.publish()
    target.close()
    return str(folder)


def test_a_tensor_is_told_with_its_range_its_zeros_and_what_is_not_finite(tmp_path, capsys):
    folder = dump(tmp_path / "a", ("layer/y", [[0.0, np.nan], [np.inf, 3.0]]))
    code, found = answer(capsys, folder)
    (row,) = found["content"]["tensors"]
    assert code == 0 and found["kind"] == "dump" and found["content"]["simulated"]
    assert (row["op"], row["step"], row["shape"], row["dtype"]) == ("layer/y", 0, [2, 2], "float32")
    assert (row["min"], row["max"], row["mean"], row["nan"], row["inf"], row["zeros"]) == (0, 3, 1.5, 1, 1, 0.25)
    _, out, _ = run(capsys, folder)
    assert "layer/y:0" in out and "simulated" in out


def test_step_and_op_choose(tmp_path, capsys):
    folder = dump(tmp_path / "a", ("a/x", [1.0]), ("b/x", [2.0]))
    dump(tmp_path / "a", ("a/x", [3.0]), step=4)
    _, found = answer(capsys, folder, "--step", "4")
    assert [row["max"] for row in found["content"]["tensors"]] == [3.0]
    _, found = answer(capsys, folder, "--op", "b/*")
    assert [row["op"] for row in found["content"]["tensors"]] == ["b/x"]


def test_one_tensor_is_shown_and_exported(tmp_path, capsys):
    folder = dump(tmp_path / "a", ("a[0]", [1.5, 2.5]))
    target = str(tmp_path / "t.npy")
    code, found = answer(capsys, folder, "--tensor", "a[0]:0", "--export", target)
    assert code == 0 and found["tensor"]["values"] == ["1.5", "2.5"]
    assert np.load(target).tolist() == [1.5, 2.5]


def test_the_first_operator_that_departs_is_named_in_the_order_of_execution(tmp_path, capsys):
    right = dump(tmp_path / "r", ("z", [1.0, 2.0]), ("m", [1.0, 1.0]), ("a", [5.0, 5.0]))
    wrong = dump(tmp_path / "w", ("z", [1.0, 2.0]), ("m", [1.0, -1.0]), ("a", [5.0, -5.0]))
    code, found = answer(capsys, wrong, "--against", right)
    assert code == 1
    assert found["comparison"]["first"]["op"] == "m"
    assert [row["op"] for row in found["comparison"]["departing"]] == ["m", "a"]
    assert found["comparison"]["equal"] == 1
    _, out, _ = run(capsys, wrong, "--against", right)
    assert "first to depart: m (Relu), step 0: cosine" in out


@pytest.mark.parametrize(
    ("mine", "theirs", "why"),
    [
        ([1.0, 2.0], [1.0, 2.001], ""),
        ([1.0, 2.0], [1.0, 2.1], "error"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], "shape"),
        ([1.0, np.nan], [1.0, 2.0], "NaN or infinity"),
        ([1.0, np.nan], [1.0, np.nan], ""),
        ([0.0, 0.0], [0.0, 0.0], ""),
        ([0.0, 0.0], [0.0, 1e-3], "cosine"),
        ([3e38, 3e38], [3e38, -3e38], "cosine"),
    ],
)
def test_why_a_tensor_departs(tmp_path, capsys, mine, theirs, why):
    folders = [dump(tmp_path / side, ("op", values)) for side, values in (("a", mine), ("b", theirs))]
    _, found = answer(capsys, folders[0], "--against", folders[1])
    first = found["comparison"]["first"]
    assert (first["why"] if first else "") == why


def test_units_of_last_place_count_floats_between_two_values(tmp_path, capsys):
    one = struct.unpack("<f", struct.pack("<I", 0x3F800000))[0]
    next_but_one = struct.unpack("<f", struct.pack("<I", 0x3F800002))[0]
    folders = [dump(tmp_path / side, ("op", [v, -0.0])) for side, v in (("a", one), ("b", next_but_one))]
    _, found = answer(capsys, folders[0], "--against", folders[1], "--error", "0")
    assert found["comparison"]["first"]["ulp"] == 2


def test_integers_depart_when_they_are_not_equal(tmp_path, capsys):
    folders = [dump(tmp_path / side, ("op", values), dtype="int32") for side, values in (("a", [1000]), ("b", [1001]))]
    assert answer(capsys, folders[0], "--against", folders[1])[1]["comparison"]["first"]["why"] == "value"


def test_what_only_one_dump_has_is_named(tmp_path, capsys):
    first = dump(tmp_path / "a", ("x", [1.0]), ("y", [1.0]))
    second = dump(tmp_path / "b", ("x", [1.0]), ("z", [1.0]))
    code, found = answer(capsys, first, "--against", second)
    assert code == 0
    assert (found["comparison"]["only_here"], found["comparison"]["only_there"]) == (["y:0"], ["z:0"])


def test_two_dumps_that_have_nothing_in_common_are_not_alike(tmp_path, capsys):
    first, second = dump(tmp_path / "a", ("x", [1.0])), dump(tmp_path / "b", ("z", [1.0]))
    code, found = answer(capsys, first, "--against", second)
    assert code == 1 and found["comparison"]["compared"] == 0
    assert "nothing is compared" in run(capsys, first, "--against", second)[1]
    (tmp_path / "empty").mkdir()
    code, out, err = run(capsys, first, "--against", str(tmp_path / "empty"))
    assert code == 2 and not out and "holds no dump" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["missing"], ["."], ["d", "--tensor", "none"], ["d", "--export", "x.npy"], ["d", "--cosine", "0.5"],
        ["d", "--tensor", "op", "--against", "d"], ["d", "--against", "missing"],
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_one_line(tmp_path, capsys, monkeypatch, arguments):
    dump(tmp_path / "d", ("op", [1.0]))
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty if arguments == ["."] else tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2 and not out
    assert err.startswith("error[") and err.count("\n") == 1


def test_a_file_that_was_cut_off_is_a_line_with_its_name_and_hides_no_other(tmp_path, capsys):
    folder = dump(tmp_path / "a", ("op", [1.0, 2.0]), ("whole", [3.0]))
    other = dump(tmp_path / "b", ("op", [1.0, 2.0]), ("whole", [3.0]))
    (path,) = [os.path.join(place, name) for place, _, found in os.walk(folder) for name in found if ".op." in name]
    os.truncate(path, os.path.getsize(path) - 1)
    code, content = answer(capsys, folder)
    assert code == 0 and [row["op"] for row in content["content"]["tensors"]] == ["whole"]
    (flaw,) = content["content"]["flaws"]
    assert "cut off" in flaw["why"] and os.path.basename(path) in flaw["file"]
    code, out, _ = run(capsys, folder)
    assert code == 0 and re.search(r"^flaw: ", out, re.M) and "whole:0" in out
    for pair in ((folder, other), (other, folder)):
        code, compared = answer(capsys, pair[0], "--against", pair[1])
        assert code == 1, "what cannot be read is not equal"
        assert [os.path.basename(one["file"]) for one in compared["comparison"]["flaws"]] == [os.path.basename(path)]
        assert compared["comparison"]["compared"] == 1 and compared["comparison"]["first"] is None
    code, _, err = run(capsys, folder, "--tensor", "op")
    assert code == 2 and "cut off" in err


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float16", "float32"), ("float16", "float16")])
def test_large_tensors_are_measured_in_pieces_to_the_same_end(tmp_path, dtypes):
    draw = np.random.RandomState(7)
    mine = draw.standard_normal(200_001).astype(np.float32)
    theirs = mine + 0.01 * draw.standard_normal(mine.size).astype(np.float32)
    pair = [one_tensor(tmp_path / str(at), values, dtypes[at]) for at, values in enumerate((mine, theirs))]
    fast = dumps._measured_fast(*pair)
    slow = dumps._measured_wide(*[dumps.array(one) for one in pair])
    for name in ("cosine", "max_abs", "relative"):
        assert fast[name] == pytest.approx(slow[name], rel=1e-5)


def test_what_is_too_large_for_squares_is_measured_another_way(tmp_path):
    pair = [one_tensor(tmp_path / str(at), [1e30, factor * 1e30], "float32") for at, factor in enumerate((2.0, 2.1))]
    assert dumps._measured_fast(*pair) is None
    assert dumps._measured(*pair)["cosine"] == pytest.approx(0.9998, abs=1e-3)


def test_equal_bytes_are_compared_without_statistics(tmp_path, capsys, monkeypatch):
    values = np.random.RandomState(1).standard_normal(100_003).astype(np.float32)
    folders = [dump(tmp_path / side, ("op", values)) for side in "ab"]
    monkeypatch.setattr(dumps, "_measured_fast", None)
    monkeypatch.setattr(dumps, "_measured_wide", None)
    code, found = answer(capsys, folders[0], "--against", folders[1])
    assert code == 0 and found["comparison"]["equal"] == 1


@pytest.mark.parametrize("place", [0, 65536, 100_002])
def test_one_bit_that_differs_anywhere_is_found(tmp_path, capsys, place):
    values = np.zeros(100_003, np.uint8)
    right = dump(tmp_path / "a", ("op", values), dtype="uint8")
    values[place] = 1
    code, found = answer(capsys, right, "--against", dump(tmp_path / "b", ("op", values), dtype="uint8"))
    assert code == 1 and found["comparison"]["first"]["why"] == "value"


def test_an_operator_of_two_models_is_held_against_the_same_model(tmp_path, capsys):
    folders = []
    for side in "ab":
        folders.append(str(tmp_path / side))
        os.makedirs(folders[-1])
        target = Target(folders[-1])
        target.open()
        for number in (1, 2):
            files = target.step("GeOp", number, 0)
            array = np.full([3], float(number), np.float32)
            tensor, time = form.Tensor("float32", (3,), 12, "ND", "loss", 0), target.clock.stamp()
            parts = form.encode(form.Description("loss", time, (), (tensor,)), [], [array.tobytes()])
            files.write(names.file_name("Relu", "loss", 1, 0, time), parts)
            files.publish()
        target.close()
    code, found = answer(capsys, folders[0], "--against", folders[1])
    assert code == 0 and found["comparison"]["equal"] == 2 and not found["comparison"]["only_there"]


def one_tensor(folder, values, dtype):
    (found,) = dumps.tensors(Inspected(dump(folder, ("op", values), dtype=dtype), {}))
    return found
