"""Dumps are written whole or not at all, below the folder that was named and nowhere else."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading

import pytest

from npu_reference import NpuError
from npu_reference.dumps import form, names, reading, writing
from npu_reference.dumps.writing import ASIDE, Clock, Target, write_alone

TENSOR = form.Tensor("uint8", (3,), 3, "ND", "op", 0)


def parts(op="op", time=1):
    return form.encode(form.Description(op, time, (), (TENSOR,)), [], [b"abc"])


def opened(folder, **more):
    target = Target(str(folder), clock=Clock(lambda: 1_000_000.0), **more)
    target.open()
    return target


def visible(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def write(target, *, step=0, op="op", time=1):
    files = target.step("GeOp_0", 1, step)
    files.write(names.file_name("Relu", op, 1, 0, time), parts(op, time))
    return files


def test_nothing_is_to_be_seen_before_a_step_is_published(tmp_path) -> None:
    target = opened(tmp_path)
    files = write(target)
    assert reading.files(str(tmp_path)) == []
    files.publish()
    (found,) = reading.files(str(tmp_path))
    assert (found.model, found.model_id, found.step) == ("GeOp_0", "1", 0)
    assert form.read(found.path).data("output", 0) == b"abc"
    target.close()
    assert not [name for name in os.listdir(str(tmp_path)) if name.startswith(ASIDE)]


@pytest.mark.parametrize("most", [1, 4, 7, 8, 1 << 20])
def test_what_the_system_does_not_take_at_once_is_written_afterwards(tmp_path, monkeypatch, most) -> None:
    own = os.writev
    monkeypatch.setattr(os, "writev", lambda handle, some: own(handle, [b"".join(some)[:most]]))
    given = [b"abcd", bytearray(b"efg"), memoryview(b""), b"", memoryview(b"hijklmnop").cast("B", (3, 3))] * 40
    target = opened(tmp_path)
    files = target.step("GeOp_0", 1, 0)
    files.write("one", given)
    folder = files.publish()
    with open(os.path.join(folder, "one"), "rb") as stream:
        assert stream.read() == b"abcdefghijklmnop" * 40


def test_a_step_is_published_when_what_is_being_written_is_whole(tmp_path, monkeypatch) -> None:
    target = opened(tmp_path)
    files = write(target)
    begun, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    wait = files._lock.wait
    monkeypatch.setattr(files._lock, "wait", lambda: (waiting.set(), wait()))

    def slow(*given):
        begun.set()
        assert go_on.wait(60)
        own(*given)

    own = writing._write
    monkeypatch.setattr(writing, "_write", slow)
    other = threading.Thread(target=lambda: files.write("Relu.other.2.0.2", parts("other", 2)))
    other.start()
    assert begun.wait(60)
    last = threading.Thread(target=files.publish)
    last.start()
    assert waiting.wait(60)
    assert reading.files(str(tmp_path)) == []
    go_on.set()
    other.join(60)
    last.join(60)
    assert [form.read(one.path).description.op_name for one in reading.files(str(tmp_path))] == ["op", "other"]


def test_the_folders_are_time_device_model_number_and_step(tmp_path) -> None:
    # D1
    target = opened(tmp_path, device=3)
    write(target, step=5).publish()
    (found,) = visible(tmp_path)
    time, device, model, number, step, name = found.split("/")
    assert len(time) == 14 and time.isdigit()
    assert (device, model, number, step, name) == ("3", "GeOp_0", "1", "5", "Relu.op.1.0.1")


def test_two_sessions_never_share_a_folder(tmp_path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    write(first).publish()
    write(second).publish()
    assert len(os.listdir(str(tmp_path))) == 4  # two of time, two aside
    assert len(reading.files(str(tmp_path))) == 2


def test_a_full_disk_is_one_error_and_leaves_no_part_of_the_step(tmp_path) -> None:
    def full(size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = opened(tmp_path, disk=full)
    files = target.step("GeOp_0", 1, 0)
    with pytest.raises(NpuError, match="No space left") as caught:
        files.write("Relu.op.1.0.1", parts())
    assert caught.value.code == "OUTPUT"
    files.discard()
    assert visible(tmp_path) == []


def test_a_folder_that_went_away_is_one_error(tmp_path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    target = opened(place)
    os.rmdir(target._aside)
    os.rmdir(str(place))
    with pytest.raises(NpuError) as caught:
        target.step("GeOp_0", 1, 0)
    assert caught.value.code == "OUTPUT"


def test_what_a_dead_process_left_aside_goes_and_nothing_else_does(tmp_path) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=subprocess.PIPE, check=True)
    own = opened(tmp_path)._aside
    host = os.path.basename(own)[len(ASIDE) :].rsplit("-", 2)[0]
    left = tmp_path / f"{ASIDE}{host}-{int(dead.stdout)}-0"
    elsewhere = tmp_path / f"{ASIDE}another-machine-{int(dead.stdout)}-0"
    precious = tmp_path / "precious"
    link = tmp_path / f"{ASIDE}{host}-{int(dead.stdout)}-1"
    for folder in (left, elsewhere, precious):
        folder.mkdir()
        (folder / "file").write_text("x")
    os.symlink(str(precious), str(link))
    opened(tmp_path)
    assert not left.exists()
    assert elsewhere.exists() and (precious / "file").exists() and os.path.isdir(own)


def test_an_exception_dump_follows_no_link_out_of_its_folder(tmp_path) -> None:
    outside = tmp_path / "outside"
    base = tmp_path / "base"
    outside.mkdir()
    base.mkdir()
    os.symlink(str(outside), str(base / "extra-info"))
    with pytest.raises(NpuError, match="is a link"):
        write_alone(str(base), ["extra-info", "data-dump", "0"], "Relu.op.1.1", parts())
    assert os.listdir(str(outside)) == []


def test_an_exception_dump_makes_the_folders_it_needs(tmp_path) -> None:
    path = write_alone(str(tmp_path), ["extra-info", "data-dump", "0"], "Relu.op.1.1", parts())
    assert form.read(path).description.op_name == "op"
    assert visible(tmp_path) == ["extra-info/data-dump/0/Relu.op.1.1"]


def test_a_long_name_is_found_by_its_mapping(tmp_path) -> None:
    target = opened(tmp_path)
    write(target, op="x" * 300).publish()
    (found,) = reading.files(str(tmp_path))
    assert found.name.op_name == "x" * 300
    assert len(os.path.basename(found.path)) < 30


def test_files_come_in_the_order_of_tasks_and_models_as_they_began(tmp_path) -> None:
    target = opened(tmp_path)
    for model, number, step, ops in (("B", 1, 0, [(2, 10), (1, 11)]), ("A", 2, 0, [(1, 20)]), ("B", 1, 1, [(1, 30)])):
        files = target.step(model, number, step)
        for task, time in ops:
            files.write(names.file_name("Relu", f"{model}{task}", task, 0, time), parts(time=time))
        files.publish()
    told = [(one.name.op_name, one.step) for one in reading.files(str(tmp_path))]
    assert told == [("B1", 0), ("B2", 0), ("A1", 0), ("B1", 1)]


def test_the_clock_never_says_the_same_twice() -> None:
    clock = Clock(lambda: 5.0)
    stamps = [clock.stamp() for _ in range(100)]
    assert stamps == sorted(set(stamps))
