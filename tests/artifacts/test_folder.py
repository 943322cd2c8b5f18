"""Files are left whole or not at all, inside the directory that was named."""

from __future__ import annotations

import os

import pytest

from npu_reference.artifacts import Folder, FolderPlace
from npu_reference.device import faults
from npu_reference.errors import NpuError


def left(path):
    return sorted(str(one.relative_to(path)) for one in path.rglob("*") if not one.is_dir())


def test_a_missing_directory_is_made_with_those_below_it(tmp_path):
    Folder(str(tmp_path / "a" / "b"), "debug_dir", "kernel_meta").write("k.o", iter([b"one", b"two"]))
    assert (tmp_path / "a" / "b" / "kernel_meta" / "k.o").read_bytes() == b"onetwo"


def test_the_named_directory_may_be_a_link_but_none_below_it(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real")
    Folder(str(tmp_path / "named"), "debug_dir").write("k.o", iter([b"x"]))
    (tmp_path / "real" / "kernel_meta").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NpuError) as caught:
        Folder(str(tmp_path / "named"), "debug_dir", "kernel_meta").write("k.o", iter([b"x"]))
    assert (caught.value.code, caught.value.subject) == ("FILES_LEFT", "debug_dir")
    assert left(tmp_path / "elsewhere") == [] and (tmp_path / "real" / "k.o").exists()


def test_a_link_at_the_name_of_a_file_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "k.o").symlink_to(tmp_path / "precious")
    folder = Folder(str(tmp_path), "debug_dir")
    assert folder.read("k.o") is None
    folder.write("k.o", iter([b"x"]))
    assert (tmp_path / "precious").read_text() == "mine" and folder.read("k.o") == b"x"


def test_removing_a_link_leaves_what_it_leads_to(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "k.o").symlink_to(tmp_path / "precious")
    Folder(str(tmp_path), "debug_dir").remove("k.o")
    assert left(tmp_path) == ["precious"]


@pytest.mark.parametrize("place", ["file", "file/below", "nul\0byte"])
def test_a_directory_that_cannot_be_is_one_clear_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(NpuError) as caught:
        Folder(os.path.join(str(tmp_path), place), "op_compiler_cache_dir", shown=place).write("k.o", iter([b"x"]))
    assert caught.value.code == "FILES_LEFT" and caught.value.subject == "op_compiler_cache_dir"
    assert caught.value.remedy and str(tmp_path) not in caught.value.reason


def test_a_directory_at_the_name_of_a_file_is_refused_and_kept(tmp_path):
    (tmp_path / "k.o").mkdir()
    with pytest.raises(NpuError):
        Folder(str(tmp_path), "debug_dir").write("k.o", iter([b"x"]))
    assert (tmp_path / "k.o").is_dir() and left(tmp_path) == []


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    whole = Folder(str(tmp_path), "debug_dir")
    whole.write("k.o", iter([b"before"]))
    full = Folder(str(tmp_path), "debug_dir", disk=faults.parse([{"kind": "disk_full", "after": 10}]).disk())
    with pytest.raises(NpuError, match="No space left"):
        full.write("k.o", iter([b"12345678", b"12345678"]))
    assert whole.read("k.o") == b"before" and left(tmp_path) == ["k.o"]


def test_a_writer_that_fails_midway_leaves_nothing(tmp_path):
    def pieces():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Folder(str(tmp_path), "debug_dir").write("k.o", pieces())
    assert left(tmp_path) == []


def test_what_a_killed_writer_left_long_ago_goes_and_what_is_young_or_foreign_stays(tmp_path):
    for name in (".npu-0123456789abcdef.part", ".npu-fedcba9876543210.part", ".npu-mine.part"):
        (tmp_path / name).write_text("half")
    os.utime(str(tmp_path / ".npu-0123456789abcdef.part"), (0, 0))
    os.utime(str(tmp_path / ".npu-mine.part"), (0, 0))
    Folder(str(tmp_path), "debug_dir").make()
    assert left(tmp_path) == [".npu-fedcba9876543210.part", ".npu-mine.part"]


@pytest.mark.parametrize(
    "name, inside", [("/home/x", "home/x"), ("x", "x"), ("../../x", "x"), ("/../../etc", "etc"), (".", "")]
)
def test_no_name_leads_out_of_a_place_with_a_root(tmp_path, name, inside):
    root = str(tmp_path)
    assert os.path.normpath(FolderPlace(root, root).path(name)) == os.path.normpath(os.path.join(root, inside))


def test_files_of_a_folder_are_regular_ones(tmp_path):
    (tmp_path / "a.o").write_text("12")
    (tmp_path / "b.o").symlink_to(tmp_path / "a.o")
    (tmp_path / "c.o").mkdir()
    os.mkfifo(str(tmp_path / "d.o"))
    folder = Folder(str(tmp_path), "debug_dir")
    assert [(one.name, one.size) for one in folder.files()] == [("a.o", 2)]
    assert folder.read("d.o") is None and folder.read("missing") is None
